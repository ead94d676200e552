"""The compiler: every operation, data type and awkward shape, and random graphs, run on a software core and held
against NumPy. Each test writes many graphs and runs them in one process."""

import json
import resource
import subprocess

import numpy as np
import pytest
from conftest import ROOT
from graph_model import BINARY, BITS, COMPARE, DTYPES, POSITIVE, UNARY, Graph, evaluate, wide

FLOATS = ["fp32", "bf16", "fp16", "fp8e4", "fp8e5", "fp8e3"]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
SHAPES = [(), (1,), (127,), (129,), (1, 1), (128, 128), (127, 129), (1, 1000), (1009,), (3, 1, 5), (2, 3, 4, 5),
          (2, 1, 3, 1, 2, 3), (131, 3), (7, 70001), (300, 2100)]


@pytest.fixture
def holds(kymo, run_neff, tmp_path):
    """Runs graphs, and holds their outputs against what they must be."""

    def run(graphs, core=3, slack=1.0, logical=1):
        for i, graph in enumerate(graphs):
            graph.write(tmp_path / str(i))
        result = subprocess.run([run_neff, "--core", str(core), "--logical", str(logical), *(tmp_path / str(i) for i in range(len(graphs)))],
                                capture_output=True, text=True, timeout=300)
        assert result.returncode == 0, "\n".join(line for line in result.stdout.splitlines() if ": ok " not in line) + result.stderr
        wrong = {}
        for i, graph in enumerate(graphs):
            found = graph.difference(tmp_path / str(i), slack)
            if found:
                wrong[f"{i} {graph.name}"] = found
        assert wrong == {}

    return run


def values(rng, shape, dtype, positive=False):
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        info = np.iinfo(DTYPES[dtype])
        low, high = max(info.min, -1000), min(info.max, 1000)
        return rng.integers(1 if positive else low, high, shape, dtype=np.int64).astype(DTYPES[dtype])
    array = rng.uniform(0.25 if positive else -2, 2, shape)
    return array.astype(DTYPES[dtype])


def test_functions_of_every_float(holds):
    rng = np.random.default_rng(1)
    graphs = []
    for op in UNARY:
        for dtype in FLOATS if op in ("exp", "relu", "negate", "abs") else FLOATS[:3]:
            graph = Graph(f"{op} {dtype}")
            x = graph.input(values(rng, (5, 67), dtype, positive=op in POSITIVE))
            graph.output(graph.unary(op, x))
            graphs.append(graph)
    holds(graphs)


@pytest.mark.slow
def test_operations_on_two_values_of_every_type(holds):
    rng = np.random.default_rng(2)
    graphs = []
    for op in [*BINARY, *COMPARE, *BITS]:
        for dtype in FLOATS[:3] + INTEGERS + ["bool"]:
            of_floats = op in ("power", "atan2")
            if op in BITS and dtype in FLOATS or of_floats and dtype not in FLOATS or dtype == "bool" and op not in [*BITS, "equal", "not_equal"]:
                continue
            graph = Graph(f"{op} {dtype}")
            a = graph.input(values(rng, (3, 131), dtype, positive=op == "power"))
            b = graph.input(values(rng, (3, 131), dtype, positive=op in ("divide", "remainder", "power")))
            graph.output(graph.binary(op, a, b))
            graphs.append(graph)
    holds(graphs)


def test_numbers_and_broadcasts_as_operands(holds):
    rng = np.random.default_rng(3)
    graphs = []
    for op in ["add", "subtract", "divide", "max", "power", "less", "remainder"]:
        graph = Graph(op)
        x = graph.input(values(rng, (130, 70), "fp32", positive=True))
        row = graph.input(values(rng, (70,), "fp32", positive=True))
        column = graph.input(values(rng, (130, 1), "fp32", positive=True))
        one = graph.input(values(rng, (), "fp32", positive=True))
        number = np.float32(1.5)
        function = {**BINARY, **COMPARE}[op]
        for a, b in [(x, row), (row, x), (x, column), (column, x), (x, one), (one, x), (column, row)]:
            graph.output(graph.binary(op, a, b))
        graph.output(graph.op(op, x, 1.5, result=function(x.array, number)))
        graph.output(graph.op(op, 1.5, x, result=function(number, x.array)))
        graphs.append(graph)
    graph = Graph("integers")
    x = graph.input(values(rng, (130, 70), "int32", positive=True))
    graph.output(graph.op("subtract", 7, x, result=np.int32(7) - x.array))
    graph.output(graph.op("remainder", 1000, x, result=np.fmod(np.int32(1000), x.array)))
    graph.output(graph.op("shift_left", x, 3, result=x.array << 3))
    graph.output(graph.op("not", x, result=~x.array))
    graph.output(graph.op("abs", x, result=np.abs(x.array)), graph.op("sign", x, result=np.sign(x.array)))
    graph.output(graph.op("clamp", x, min=10, max=500, result=np.clip(x.array, 10, 500)))
    graphs.append(graph)
    holds(graphs)


@pytest.mark.parametrize("core", [3, 2, 4])
def test_awkward_shapes(holds, core):
    """A chain of operations, with broadcasts, selections and a reduction over each dimension."""
    rng = np.random.default_rng(4)
    graphs = []
    for shape in SHAPES if core == 3 else SHAPES[:10]:
        graph = Graph(str(shape))
        x = graph.input(values(rng, shape, "fp32"))
        y = graph.weight(values(rng, shape[-1:], "fp32")) if np.prod(shape[-1:]) < 3000 else graph.input(values(rng, shape[-1:], "fp32"))
        s = graph.binary("add", graph.unary("tanh", x), y)
        mask = graph.binary("less", s, x)
        chosen = graph.op("select", mask, s, -1, result=np.where(mask.array, s.array, np.float32(-1)))
        graph.output(s, chosen, graph.op("convert", mask, dtype="int32", result=mask.array.astype(np.int32)))
        for axis in range(len(shape)):
            graph.output(graph.reduce("max", chosen, [axis], keepdims=axis % 2 == 0))
        graph.output(graph.reduce("add", graph.unary("abs", chosen), range(len(shape))))
        graphs.append(graph)
    holds(graphs, core)


def test_reductions_of_every_type_and_size(holds):
    rng = np.random.default_rng(5)
    graphs = []
    for dtype in ["fp32", "bf16", "int32", "int64", "uint8", "bool"]:
        for op in ["add", "max", "min", "multiply", "and", "or"]:
            if op in ("and", "or") and dtype in FLOATS or dtype == "bool" and op not in ("and", "or"):
                continue
            graph = Graph(f"{op} {dtype}")
            x = graph.input(values(rng, (5, 129, 3), dtype, positive=op == "multiply"))
            for axes in [(0,), (1,), (2,), (0, 2), (0, 1, 2)] if op != "multiply" else [(0,), (2,)]:
                graph.output(graph.reduce(op, x, axes))
            graphs.append(graph)
    for shape, axes in [((3, 100003), (1,)), ((100003,), (0,)), ((70000, 5), (0,)), ((200, 30, 20), (0, 2)), ((2, 3, 2, 3, 2, 3), (1, 3, 5))]:
        graph = Graph(f"{shape} {axes}")
        x = graph.input(values(rng, shape, "fp32"))
        graph.output(graph.reduce("max", graph.unary("exp", x), axes), graph.unary("sqrt", graph.reduce("add", graph.unary("abs", x), axes)))
        graphs.append(graph)
    holds(graphs, slack=4)


def test_conversions(holds):
    rng = np.random.default_rng(6)
    graphs = []
    for source in FLOATS + INTEGERS + ["bool"]:
        graph = Graph(source)
        x = graph.input(values(rng, (129, 5), source, positive=True) if source != "bool" else values(rng, (129, 5), "bool"))
        for target in FLOATS + INTEGERS + ["bool"]:
            if np.all(np.abs(x.array.astype(np.float64)) < (100 if target in ("int8", "fp8e3") else 448 if target in FLOATS[3:] else 1000)) or target in ("fp32", "int64"):
                graph.output(graph.convert(x, target))
        graphs.append(graph)
    holds(graphs)


def test_views_and_moves(holds):
    rng = np.random.default_rng(7)
    graphs = []
    for shape in [(5,), (129, 3), (4, 130, 6), (3, 4, 5, 6), (2, 3, 2, 3, 2, 3)]:
        rank = len(shape)
        graph = Graph(f"views of {shape}")
        x = graph.input(values(rng, shape, "fp32"))
        order = list(rng.permutation(rank))
        t = graph.transpose(x, [int(i) for i in order])
        graph.output(t, graph.reshape(t, [int(np.prod(shape))]), graph.unary("exp", t))
        start = [int(rng.integers(0, s)) for s in shape]
        step = [int(rng.integers(1, 3)) for _ in shape]
        index = tuple(slice(a, None, b) for a, b in zip(start, step))
        cut = graph.op("slice", x, start=start, limit=list(shape), step=step, result=x.array[index])
        axes = [i for i in range(rank) if i % 2 == 0]
        flipped = graph.op("reverse", x, axes=axes, result=np.flip(x.array, axes))
        graph.output(cut, flipped, graph.binary("add", flipped, x), graph.unary("negate", cut))
        low, high, interior = ([int(rng.integers(-1, 3)) if s > 2 else 1 for s in shape], [int(rng.integers(0, 3)) for _ in shape], [i % 2 for i in range(rank)])
        graph.output(graph.op("pad", x, low=low, high=high, interior=interior, value=7.5, result=padded(x.array, low, high, interior, 7.5)))
        graph.output(graph.op("concatenate", x, flipped, x, axis=rank - 1, result=np.concatenate([x.array, flipped.array, x.array], rank - 1)))
        graph.output(graph.op("broadcast_to", x, shape=[2, *shape], result=np.broadcast_to(x.array, (2, *shape))))
        graph.output(graph.op("broadcast_in_dim", x, shape=[*shape, 3], axes=list(range(rank)), result=np.broadcast_to(x.array[..., None], (*shape, 3))))
        size = [max(1, s // 2) for s in shape]
        for at in ([0] * rank, [int(rng.integers(-3, s + 3)) for s in shape]):
            starts = [graph.input(np.int32(i)) for i in at]
            clamped = [min(max(i, 0), s - n) for i, s, n in zip(at, shape, size)]
            index = tuple(slice(i, i + n) for i, n in zip(clamped, size))
            part = graph.op("dynamic_slice", x, *starts, size=size, result=x.array[index])
            updated = x.array.copy()
            updated[index] = np.exp(part.array)
            graph.output(part, graph.op("dynamic_update_slice", x, graph.unary("exp", part), *starts, result=updated))
        graph.output(graph.op("iota", shape=list(shape), dtype="int32", axis=rank - 1, result=np.broadcast_to(np.arange(shape[-1], dtype=np.int32), shape)))
        graph.output(x)
        graphs.append(graph)
    for dtype in ["bf16", "int8", "int64"]:
        graph = Graph(f"moves of {dtype}")
        x = graph.input(values(rng, (33, 65), dtype))
        graph.output(graph.transpose(x, [1, 0]), graph.op("concatenate", x, x, axis=0, result=np.concatenate([x.array, x.array])))
        graphs.append(graph)
    graph = Graph("long iota")
    graph.output(graph.op("iota", shape=[100003], dtype="fp32", result=np.arange(100003, dtype=np.float32)))
    graph.output(graph.op("iota", shape=[3, 1009], dtype="int64", axis=1, result=np.broadcast_to(np.arange(1009), (3, 1009))))
    graphs.append(graph)
    holds(graphs)


def padded(x, low, high, interior, value):
    for axis in range(x.ndim):
        spread = np.full([*x.shape[:axis], (x.shape[axis] - 1) * (interior[axis] + 1) + 1, *x.shape[axis + 1:]], value, x.dtype)
        index = [slice(None)] * x.ndim
        index[axis] = slice(None, None, interior[axis] + 1)
        spread[tuple(index)] = x
        widths = [(0, 0)] * x.ndim
        widths[axis] = (max(low[axis], 0), max(high[axis], 0))
        spread = np.pad(spread, widths, constant_values=value)
        index = [slice(None)] * x.ndim
        index[axis] = slice(max(-low[axis], 0), spread.shape[axis] - max(-high[axis], 0))
        x = spread[tuple(index)]
    return x


def test_rows_by_index(holds):
    rng = np.random.default_rng(8)
    graphs = []
    for rows, width, count, dtype in [(1, 1, 1, "int32"), (50, 7, 129, "int64"), (300, 2500, 200, "int32"), (1000, 64, 1, "uint16")]:
        graph = Graph(f"{rows} x {width}, {count}")
        table = graph.input(values(rng, (rows, width), "fp32"))
        ids = graph.input(rng.integers(0, rows, count).astype(DTYPES[dtype]))
        found = graph.op("embedding", table, ids, result=table.array[ids.array])
        graph.output(found, graph.unary("tanh", graph.binary("add", found, found)))
        updates = graph.input(values(rng, (count, width), "fp32"))
        added = table.array.astype(np.float64)
        np.add.at(added, ids.array, updates.array)
        graph.output(graph.op("scatter_add", table, ids, updates, result=added.astype(np.float32)))
        graphs.append(graph)
    graph = Graph("indices of rank 2, rows of rank 2")
    table = graph.input(values(rng, (20, 3, 5), "bf16"))
    ids = graph.input(rng.integers(0, 20, (4, 9)).astype(np.int32))
    graph.output(graph.op("embedding", table, ids, result=table.array[ids.array]))
    graphs.append(graph)
    holds(graphs)


def test_an_index_that_is_no_row_is_an_error(run_neff, tmp_path):
    graph = Graph()
    table = graph.input(np.zeros((5, 3), np.float32))
    ids = graph.input(np.array([1, 5], np.int32))
    graph.output(graph.op("embedding", table, ids, result=np.zeros((2, 3), np.float32)))
    graph.write(tmp_path / "case")
    result = subprocess.run([run_neff, tmp_path / "case"], capture_output=True, text=True)
    assert result.returncode == 1 and "status 1006" in result.stdout and "out of the bounds" in result.stdout


def test_matrix_products(holds):
    rng = np.random.default_rng(9)
    graphs = []
    for m, k, n in [(1, 1, 1), (1, 127, 129), (129, 1, 3), (128, 128, 512), (130, 257, 600), (3, 1000, 1100), (300, 5000, 20), (513, 129, 127), (5, 40000, 3)]:
        for dtype in ["fp32", "bf16"] if k < 1000 else ["fp32"]:
            for ta, tb in [(False, False), (True, True)] if k < 2000 else [(False, True)]:
                graph = Graph(f"{m} x {k} x {n} {dtype} {ta} {tb}")
                a = graph.input(values(rng, (k, m) if ta else (m, k), dtype))
                b = graph.input(values(rng, (n, k) if tb else (k, n), dtype))
                product = graph.matmul(a, b, ta, tb)
                bias = graph.input(values(rng, (n,), dtype))
                graph.output(product, graph.unary("tanh", graph.binary("add", graph.matmul(a, b, ta, tb), bias)))
                graphs.append(graph)
    for left, right in [((3, 5, 7), (7, 2)), ((2, 3, 5, 7), (2, 3, 7, 4)), ((2, 1, 130, 7), (3, 7, 4)), ((5, 7), (3, 7, 4)), ((7,), (7, 4)), ((5, 7), (7,)), ((7,), (7,)), ((4, 1, 1), (4, 1, 1))]:
        graph = Graph(f"{left} x {right}")
        a, b = graph.input(values(rng, left, "fp32")), graph.input(values(rng, right, "fp32"))
        graph.output(graph.matmul(a, b))
        graphs.append(graph)
    for dtype in ["int32", "int8", "uint16", "fp16", "fp8e4", "fp8e5"]:
        graph = Graph(f"product of {dtype}")
        a, b = graph.input(values(rng, (9, 17), dtype)), graph.input(values(rng, (17, 5), dtype))
        graph.output(graph.matmul(a, b))
        graphs.append(graph)
    holds(graphs, slack=8)


def test_dots_over_any_dimensions(holds):
    rng = np.random.default_rng(10)
    graphs = []
    cases = [((2, 3, 4, 5), (5, 2, 6, 3), [0], [1], [3, 1], [0, 3]), ((4, 5), (5, 4), [], [], [0, 1], [1, 0]), ((3, 4), (5, 6), [], [], [], []),
             ((7, 2, 9), (9, 7, 3), [0], [1], [2], [0]), ((130, 4, 3), (4, 3, 140), [], [], [1, 2], [0, 1]), ((6, 130, 33), (6, 140, 33), [0], [0], [2], [2])]
    for left, right, lb, rb, lc, rc in cases:
        graph = Graph(f"{left} {right} {lc} {rc}")
        a, b = graph.input(values(rng, left, "fp32")), graph.input(values(rng, right, "fp32"))
        letters = "abcdefgh"
        l, r, fresh = [None] * len(left), [None] * len(right), iter(letters)
        for i, j in zip(lb + lc, rb + rc):
            l[i] = r[j] = next(fresh)
        l, r = [x or next(fresh) for x in l], [x or next(fresh) for x in r]
        out = [l[i] for i in lb] + [c for i, c in enumerate(l) if i not in lb + lc] + [c for i, c in enumerate(r) if i not in rb + rc]
        result = np.einsum(f"{''.join(l)},{''.join(r)}->{''.join(out)}", a.array.astype(np.float64), b.array.astype(np.float64))
        graph.output(graph.op("dot_general", a, b, lhs_batch=lb, rhs_batch=rb, lhs_contract=lc, rhs_contract=rc, result=result.astype(np.float32)))
        graphs.append(graph)
    holds(graphs, slack=8)


def attention(graph, q, k, v, causal):
    x = q.array.astype(np.float64) @ np.swapaxes(k.array.astype(np.float64), -1, -2) / np.sqrt(q.shape[-1])
    if causal:
        rows, columns = x.shape[-2:]
        x = np.where(np.arange(rows)[:, None] + columns - rows >= np.arange(columns), x, -1e30)
    x = np.exp(x - x.max(-1, keepdims=True))
    result = (x / x.sum(-1, keepdims=True)) @ v.array.astype(np.float64)
    return graph.op("attention", q, k, v, causal=causal, result=result.astype(q.array.dtype))


@pytest.mark.slow
def test_layers(holds):
    rng = np.random.default_rng(11)
    graphs = []
    for shape in [(1, 1), (130, 257), (2, 3, 700), (3, 60001)]:
        for dtype in ["fp32", "bf16"]:
            graph = Graph(f"layers {shape} {dtype}")
            x = graph.input(values(rng, shape, dtype))
            gamma, beta = graph.input(values(rng, shape[-1:], dtype)), graph.input(values(rng, shape[-1:], dtype))
            graph.output(graph.softmax(x), graph.softmax(x, 0), graph.layernorm(x, gamma, beta))
            y = x.array.astype(np.float64)
            graph.output(graph.op("rmsnorm", x, gamma, result=(y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5) * gamma.array.astype(np.float64)).astype(DTYPES[dtype])))
            graph.output(graph.op("log_softmax", x, result=(y - np.log(np.exp(y).sum(-1, keepdims=True))).astype(DTYPES[dtype])))
            graph.output(graph.op("mean", x, axes=[0], result=y.mean(0).astype(DTYPES[dtype])))
            graphs.append(graph)
    for heads, queries, keys, width, causal in [(1, 1, 1, 1, False), (3, 129, 129, 33, True), (2, 64, 200, 64, True), (2, 130, 1100, 16, False)]:
        graph = Graph(f"attention {heads} {queries} {keys} {width}")
        q, k, v = (graph.input(values(rng, (heads, n, width), "fp32")) for n in (queries, keys, keys))
        graph.output(attention(graph, q, k, v, causal))
        graphs.append(graph)
    holds(graphs, slack=8)


def random_graph(seed):
    """Operations on whatever there is, in shapes that fit together."""
    rng = np.random.default_rng(seed)
    graph = Graph(f"random {seed}")
    sizes = [int(s) for s in rng.choice([1, 2, 3, 5, 17, 31, 127, 128, 129, 200], 4)]
    values_ = [graph.input(values(rng, tuple(rng.choice(sizes, rng.integers(0, 4))), "fp32")) for _ in range(3)]

    def small(*candidates):
        found = [v for v in candidates if v.array.size < 300000]
        return found[int(rng.integers(len(found)))] if found else None

    for _ in range(int(rng.integers(5, 25))):
        x = small(*values_)
        kind = int(rng.integers(10))
        rank = x.array.ndim
        if kind <= 1:
            made = graph.unary(str(rng.choice(["tanh", "sigmoid", "relu", "square", "abs", "sin", "negate"])), x)
        elif kind <= 3:
            others = [v for v in values_ if can_broadcast(v, x)]
            made = graph.binary(str(rng.choice(["add", "subtract", "multiply", "max", "min"])), x, small(*others) or x)
        elif kind == 4 and rank:
            made = graph.reduce(str(rng.choice(["add", "max", "min"])), x, sorted(set(int(i) for i in rng.integers(0, rank, rng.integers(1, rank + 1)))), bool(rng.integers(2)))
        elif kind == 5 and rank:
            made = graph.transpose(x, [int(i) for i in rng.permutation(rank)])
        elif kind == 6:
            made = graph.reshape(x, [int(np.prod(x.shape[:1])), -1] if rank else [1])
            made.array = made.array.reshape(x.shape[0], -1) if rank else made.array
        elif kind == 7 and rank:
            made = graph.softmax(x, int(rng.integers(rank)))
        elif kind == 8 and rank >= 2:
            mates = [v for v in values_ if v.array.ndim == 2 and v.shape[0] == x.shape[-1]]
            mate = small(*mates) or graph.input(values(rng, (x.shape[-1], int(rng.choice(sizes))), "fp32"))
            scaled = graph.matmul(x, mate)
            made = graph.op("multiply", scaled, 1 / x.shape[-1], result=(scaled.array * np.float32(1 / x.shape[-1])))
        else:
            test = graph.op("greater", x, 0, result=x.array > 0)
            made = graph.op("select", test, x, 0.5, result=np.where(test.array, x.array, np.float32(0.5)))
        made.array = np.clip(made.array, -1e6, 1e6) if np.abs(made.array).max() <= 1e6 else None
        if made.array is None:
            graph.ops.pop()
            continue
        values_.append(made)
    graph.output(*values_[-4:], values_[int(rng.integers(len(values_)))])
    return graph


def can_broadcast(a, b):
    return all(x == y or x == 1 or y == 1 for x, y in zip(a.shape[::-1], b.shape[::-1])) and np.prod(np.maximum(a.array.ndim, b.array.ndim)) <= 6


@pytest.mark.parametrize("logical", [1, 2])
@pytest.mark.slow
def test_random_graphs(holds, logical):
    holds([random_graph(seed) for seed in range(60)], slack=30, logical=logical)


def test_models_are_split_over_two_cores(holds):
    """Dimensions that are divided, moved, reduced or mixed on the way to the output; outputs of one element."""
    rng = np.random.default_rng(31)
    graphs = []
    for rows in (1, 2, 3, 127, 256, 300):
        graph = Graph(f"{rows} rows")
        x, w = graph.input(values(rng, (rows, 40), "fp32")), graph.input(values(rng, (40, 24), "fp32"))
        y = graph.matmul(x, w)
        z = graph.unary("tanh", y)
        across = graph.reduce("add", z, [0], False)  # over the divided dimension
        turned = graph.transpose(z, [1, 0])
        graph.output(y, graph.softmax(z, 1), graph.softmax(z, 0), across, turned, graph.matmul(turned, z),
                     graph.reshape(z, [rows * 2, 12]), graph.reshape(z, [rows * 24]), graph.reduce("max", z, [0, 1], False),
                     graph.binary("multiply", z, across), x)
        graphs.append(graph)
    holds(graphs, slack=30, logical=2)


# Of each example: what its inputs are, and how far results in its data type may be off.
EXAMPLES = {
    "mlp": (lambda rng: {"x": rng.standard_normal((128, 256)).astype(np.float32)}, 1e-4),
    "transformer_block": (lambda rng: {"x": rng.standard_normal((128, 256)).astype(np.float32)}, 1e-4),
    "gpt12": (lambda rng: {"tokens": rng.integers(0, 1024, 128).astype(np.int32)}, 6e-2),
    "collectives": (lambda rng: {"x": rng.standard_normal((64, 32)).astype(np.float32)}, 1e-4),
}


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_built_and_give_what_numpy_gives(kymo, run_neff, tmp_path, example):
    inputs_of, tolerance = EXAMPLES[example]
    path = ROOT / "examples" / f"{example}.json"
    document = json.loads(path.read_text())
    neff = tmp_path / "model.neff"
    result = kymo.run("neff", "build", path, "-o", neff)
    assert result.returncode == 0 and f"{neff}: " in result.stderr and result.stdout == ""
    rng = np.random.default_rng(12)
    inputs = [inputs_of(rng) for _ in range(document.get("ranks", 1))]
    for rank, given in enumerate(inputs):
        for name, array in given.items():
            (tmp_path / f"{name}.{rank}.bin").write_bytes(array.tobytes())
    subprocess.run([run_neff, tmp_path], check=True, capture_output=True, timeout=300)
    for rank, expected in enumerate(evaluate(document, inputs)):
        for name, array in expected.items():
            found = np.frombuffer((tmp_path / f"{name}.{rank}.out").read_bytes(), array.dtype).reshape(array.shape)
            scale = np.abs(wide(array)).mean()
            assert np.abs(wide(found) - wide(array)).max() <= tolerance * max(scale, np.abs(wide(array)).max()), (rank, name)


def test_weights_come_from_files_numbers_and_seeds(holds, tmp_path):
    rng = np.random.default_rng(13)
    graph = Graph("weights")
    arrays = {"f": rng.standard_normal((3, 4)).astype(np.float32), "h": rng.standard_normal(5).astype(np.float16), "b": np.array(7, np.int64)}
    graph.output(graph.weight(rng.standard_normal((2, 3)).astype(np.float32)), graph.made_weight((5, 7), 3, 0.5, 1, "bf16"))
    numbers = np.array([0, -0.0, 1, -1.5, 1e-3, 0.0625, 0.1, 3.3, -7.7, 14, 1e-9, 2.0**-10, 2.0**-16, 2.0**-17, np.pi, 15.4])
    for dtype in FLOATS:
        value = graph.weight(numbers.astype(np.float32))
        graph.weights[-1] |= {"dtype": dtype, "data": numbers.tolist()}
        value.array = numbers.astype(DTYPES[dtype])
        graph.output(graph.convert(value, "fp32"))
    for dtype in INTEGERS:
        graph.output(graph.weight(values(rng, (9,), dtype)))
    graph.weights.append({"name": "v", "shape": [4], "value": 2.5})
    graph.output(graph.op("add", "v", 1, result=np.full(4, 3.5, np.float32)))
    for name, array in arrays.items():
        graph.weights.append({"name": name, "shape": array.shape, "dtype": str(array.dtype), "file": f"{name}.npy"})
        graph.output(graph.op("identity", name, result=array))
    write = graph.write

    def with_files(directory):
        write(directory)
        for name, array in arrays.items():
            np.save(directory / f"{name}.npy", array)

    graph.write = with_files
    holds([graph])


TOO_LARGE = {
    "an input": ({"inputs": [{"name": "x", "shape": [16777216, 256]}], "ops": [{"name": "y", "op": "exp", "inputs": ["x"]}]},
                 "needs 32.0 GiB of device memory"),
    "a seed": ({"weights": [{"name": "y", "shape": [1000000, 512], "init": {"seed": 1}}]}, "more than 1024 MiB in all"),
    "a number": ({"weights": [{"name": "w", "shape": [250000, 512], "value": 1}, {"name": "y", "shape": [1000000, 512], "value": 1}]},
                 "more than 1024 MiB in all"),
    "too few numbers": ({"weights": [{"name": "y", "shape": [1000000, 512], "data": [1, 2, 3]}]}, "fewer numbers than the shape"),
    "another file": ({"weights": [{"name": "y", "shape": [1000000, 512], "file": "y.npy"}]}, "not an array of fp32[1000000,512]"),
    "pieces": ({"inputs": [{"name": "x", "shape": [262144, 256], "dtype": "int8"}],
                "ops": [{"name": "y", "op": "pad", "inputs": ["x"], "interior": [0, 1]}]}, "too many pieces to be checked"),
    "histories": ({"inputs": [{"name": "x", "shape": [9000000, 2], "dtype": "int8"}],
                   "ops": [{"name": "y", "op": "concatenate", "inputs": ["x", "x"], "axis": 1}]}, "too many pieces to be checked"),
}


@pytest.mark.plain_build  # limits memory
@pytest.mark.parametrize("graph, message", [
    pytest.param(*case, id=name, marks=[pytest.mark.slow] if name == "histories" else []) for name, case in TOO_LARGE.items()])
def test_small_graphs_of_large_tensors_are_refused_before_they_take_memory(kymo, tmp_path, graph, message):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

    np.save(tmp_path / "y.npy", np.zeros(3, np.float32))
    (tmp_path / "g.json").write_text(json.dumps(graph | {"name": "g", "outputs": ["y"]}))
    result = kymo.run("neff", "build", tmp_path / "g.json", "--core", "v2", preexec_fn=limit)
    assert result.returncode == 1 and message in result.stderr, result.stderr


def test_build_says_what_is_wrong(kymo, tmp_path):
    path = tmp_path / "model.json"
    out = tmp_path / "model.neff"
    path.write_text('{"inputs": [{"name": "x", "shape": [2]}], "ops": [{"name": "y", "op": "conv", "inputs": ["x"], "source": "m.py:3"}], "outputs": ["y"]}')
    assert f'{path}: operation "y" (conv, m.py:3): this operation is not supported' in kymo.refuses("neff", "build", path)
    assert not out.exists()
    path.write_text(path.read_text().replace("conv", "tanh"))
    np.save(tmp_path / "w.npy", np.zeros(3))
    assert "unknown core version 'v9'" in kymo.refuses("neff", "build", path, "--core", "v9", code=2)
    assert "takes no --json" in kymo.refuses("neff", "build", path, "--json", code=2)
    assert kymo.run("neff", "build", path, "--core", "trn2.48xlarge").returncode == 0 and out.exists()
    assert "NC_V3" in kymo.ok("neff", "info", out)
    before = out.read_bytes()
    assert "exists; --force overwrites it" in kymo.refuses("neff", "build", path)
    assert kymo.run("neff", "build", path, "--core", "v3", "--force").returncode == 0 and out.read_bytes() == before
    path.write_text('{"weights": [{"name": "w", "shape": [3], "file": "w.npy"}], "outputs": ["w"]}')
    assert "w.npy is not an array of fp32[3]" in kymo.refuses("neff", "build", path, "--force")
    assert "not a graph" in kymo.refuses("neff", "build", tmp_path / "w.npy", "-o", tmp_path / "w.neff")
