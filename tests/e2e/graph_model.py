"""Graphs for the compiler, evaluated with NumPy while they are written down: what a run of them must give."""

import json
import math
import pathlib

import ml_dtypes
import numpy as np

DTYPES = {
    "fp32": np.float32, "bf16": ml_dtypes.bfloat16, "fp16": np.float16, "fp8e4": ml_dtypes.float8_e4m3fn,
    "fp8e5": ml_dtypes.float8_e5m2, "fp8e3": ml_dtypes.float8_e3m4,
    "int8": np.int8, "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16,
    "int32": np.int32, "uint32": np.uint32, "int64": np.int64, "uint64": np.uint64, "bool": np.bool_,
}
NAMES = {np.dtype(v): k for k, v in DTYPES.items()}
# What one rounding may differ by, and what a chain of them may.
TOLERANCE = {"fp32": 3e-5, "bf16": 2e-2, "fp16": 3e-3, "fp8e4": 1.5e-1, "fp8e5": 3e-1, "fp8e3": 8e-2}


def is_float(array):
    return NAMES[array.dtype] in TOLERANCE


def wide(array):
    return array.astype(np.float64) if is_float(array) else array


erf = np.vectorize(math.erf, otypes=[np.float64])

UNARY = {
    "identity": lambda x: x, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "reciprocal": lambda x: 1 / x, "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)), "erf": erf, "sin": np.sin, "cos": np.cos, "tan": np.tan, "abs": np.abs,
    "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "round_even": np.rint,
    "round_away": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), "square": np.square,
    "softplus": lambda x: np.logaddexp(x, 0), "negate": np.negative,
}
POSITIVE = {"log", "log1p", "sqrt", "rsqrt", "reciprocal", "cbrt"}


def truncated_divide(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        magnitude = np.abs(a.astype(object)) // np.where(b == 0, 1, np.abs(b.astype(object)))
        result = np.where((a < 0) != (b < 0), -magnitude, magnitude)
    return np.where(b == 0, -1, result)


BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "max": np.maximum, "min": np.minimum,
    "divide": np.divide, "power": np.power, "atan2": np.arctan2, "remainder": np.fmod,
}
COMPARE = {
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
}
BITS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
REDUCE = {"add": np.add, "max": np.maximum, "min": np.minimum, "multiply": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or}


def mix(seed, index):
    mask = np.uint64(0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        z = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + (np.uint64(index) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (z ^ (z >> np.uint64(31))) & mask


def made_weight(shape, seed, scale=1.0, offset=0.0, dtype="fp32"):
    """What "init" gives."""
    index = np.arange(math.prod(shape), dtype=np.uint64)
    values = offset + scale * ((mix(seed, index) >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1)
    return values.reshape(shape).astype(DTYPES[dtype])


class Value:
    def __init__(self, name, array):
        self.name = name
        self.array = np.asarray(array)

    @property
    def dtype(self):
        return NAMES[self.array.dtype]

    @property
    def shape(self):
        return self.array.shape


class Graph:
    def __init__(self, name="graph"):
        self.name = name
        self.inputs = []
        self.weights = []
        self.ops = []
        self.outputs = []
        self.exact = True

    def input(self, array):
        value = Value(f"in{len(self.inputs)}", array)
        self.inputs.append(value)
        return value

    def weight(self, array):
        value = Value(f"w{len(self.weights)}", array)
        data = wide(value.array).tolist()
        self.weights.append({"name": value.name, "shape": value.shape, "dtype": value.dtype, "data": data})
        return value

    def made_weight(self, shape, seed, scale=1.0, offset=0.0, dtype="fp32"):
        value = Value(f"w{len(self.weights)}", made_weight(shape, seed, scale, offset, dtype))
        self.weights.append({"name": value.name, "shape": shape, "dtype": dtype, "init": {"seed": seed, "scale": scale, "offset": offset}})
        return value

    def op(self, op, *operands, result, **attributes):
        """An operation, with the array that it must give."""
        value = Value(f"{op}{len(self.ops)}", result)
        names = [o.name if isinstance(o, Value) else o for o in operands]
        self.ops.append({"name": value.name, "op": op, "inputs": names, "layer": f"/{self.name}/{op}", "source": f"model.py:{len(self.ops)}"} | attributes)
        return value

    def rounded(self, array, dtype):
        with np.errstate(over="ignore"):
            return np.asarray(array).astype(DTYPES[dtype])

    def unary(self, op, x):
        return self.op(op, x, result=self.rounded(UNARY[op](wide(x.array)), x.dtype))

    def binary(self, op, a, b):
        x, y = wide(a.array), wide(b.array)
        if op in COMPARE:
            return self.op(op, a, b, result=COMPARE[op](x, y))
        if op == "divide" and not is_float(a.array):
            return self.op(op, a, b, result=self.rounded(truncated_divide(x, y), a.dtype))
        function = BITS[op] if op in BITS else BINARY[op]
        return self.op(op, a, b, result=self.rounded(function(x, y), a.dtype))

    def reduce(self, op, x, axes, keepdims=False):
        result = REDUCE[op].reduce(wide(x.array), axis=tuple(axes), keepdims=keepdims)
        return self.op(f"reduce_{op}", x, axes=list(axes), keepdims=keepdims, result=self.rounded(result, x.dtype))

    def matmul(self, a, b, transpose_a=False, transpose_b=False):
        x = np.swapaxes(wide(a.array), -1, -2) if transpose_a else wide(a.array)
        y = np.swapaxes(wide(b.array), -1, -2) if transpose_b else wide(b.array)
        return self.op("matmul", a, b, transpose_a=transpose_a, transpose_b=transpose_b, result=self.rounded(x @ y, a.dtype))

    def softmax(self, x, axis=-1):
        y = wide(x.array)
        y = np.exp(y - y.max(axis, keepdims=True))
        return self.op("softmax", x, axis=axis, result=self.rounded(y / y.sum(axis, keepdims=True), x.dtype))

    def layernorm(self, x, gamma, beta):
        y = wide(x.array)
        y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5)
        return self.op("layernorm", x, gamma, beta, result=self.rounded(y * wide(gamma.array) + wide(beta.array), x.dtype))

    def transpose(self, x, permutation):
        return self.op("transpose", x, permutation=list(permutation), result=x.array.transpose(permutation))

    def reshape(self, x, shape):
        return self.op("reshape", x, shape=list(shape), result=x.array.reshape(shape))

    def convert(self, x, dtype):
        return self.op("convert", x, dtype=dtype, result=self.rounded(wide(x.array), dtype))

    def output(self, *values):
        self.outputs += values

    def text(self):
        return json.dumps({
            "name": self.name,
            "inputs": [{"name": v.name, "shape": v.shape, "dtype": v.dtype} for v in self.inputs],
            "weights": self.weights,
            "ops": self.ops,
            "outputs": [{"name": f"out{i}", "value": v.name} for i, v in enumerate(self.outputs)],
        })

    def write(self, directory):
        directory = pathlib.Path(directory)
        directory.mkdir(parents=True)
        (directory / "graph.json").write_text(self.text())
        for value in self.inputs:
            (directory / f"{value.name}.0.bin").write_bytes(np.ascontiguousarray(value.array).tobytes())

    def difference(self, directory, slack=1.0):
        """What is wrong with the outputs of a run, or None."""
        for i, value in enumerate(self.outputs):
            expected = value.array
            found = np.frombuffer((pathlib.Path(directory) / f"out{i}.0.out").read_bytes(), dtype=expected.dtype).reshape(expected.shape)
            if not is_float(expected):
                if not np.array_equal(found, expected):
                    return f"{value.name}: {np.argwhere(found != expected)[:4].tolist()} differ: {found[found != expected][:4]}, not {expected[found != expected][:4]}"
                continue
            a, b = wide(found), wide(expected)
            tolerance = slack * TOLERANCE[value.dtype]
            scale = np.maximum(np.abs(b), np.abs(b[np.isfinite(b)]).mean() if np.isfinite(b).any() else 1)
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * scale)
            if not same.all():
                at = tuple(np.argwhere(~same)[0])
                return f"{value.name}: {(~same).sum()} of {same.size} differ, first at {at}: {a[at]}, not {b[at]}"
        return None


def expand(items, loops=()):
    """Weights and operations with repeats written out; a weight's seed depends on the repeats it is in."""
    for item in items:
        if "repeat" in item:
            for i in range(item["repeat"]):
                yield from expand(item.get("weights", []) + item["ops"], (*loops, (item["as"], i)))
            continue
        text = json.dumps(item)
        for name, i in loops:
            for offset in (-1, 0, 1):
                text = text.replace(f"{{{name}{offset:+d}}}" if offset else f"{{{name}}}", str(i + offset))
        item = json.loads(text)
        for _, i in loops:
            if "init" in item:
                item["init"]["seed"] = int(mix(item["init"]["seed"], i))
        yield item


def evaluate(document, inputs):
    """The outputs of a graph made of the operations that the examples have; inputs are those of each rank."""
    ranks = range(document.get("ranks", 1))
    values = [dict(inputs[r]) for r in ranks]
    graphs = [Graph() for _ in ranks]
    for item in [*expand(document["weights"]), *expand(document["ops"])]:
        if "op" not in item:
            dtype, shape = item.get("dtype", "fp32"), item["shape"]
            made = made_weight(shape, **item["init"], dtype=dtype) if "init" in item else np.full(shape, item["value"], DTYPES[dtype])
            for v in values:
                v[item["name"]] = made
            continue
        operands = [[Value(n, v[n]) for n in item["inputs"]] for v in values]
        results = collective(item, [o[0].array for o in operands]) or [apply(graphs[r], item, operands[r]) for r in ranks]
        for r in ranks:
            values[r][item["name"]] = results[r]
    return [{name: v[name] for name in document["outputs"]} for v in values]


def collective(item, arrays):
    groups = item.get("groups", [list(range(len(arrays)))])
    place = {r: (g, g.index(r)) for g in groups for r in g}
    mates = [[arrays[m] for m in place[r][0]] for r in range(len(arrays))]
    axis = item.get("axis", 0)
    if item["op"] == "all_reduce":
        return [REDUCE[item.get("reduce", "add")].reduce(m).astype(arrays[0].dtype) for m in mates]
    if item["op"] == "all_gather":
        return [np.concatenate(m, axis) for m in mates]
    if item["op"] == "reduce_scatter":
        return [np.split(np.add.reduce(m), len(m), axis)[place[r][1]] for r, m in enumerate(mates)]
    if item["op"] == "all_to_all":
        return [np.concatenate([np.split(x, len(m), item["split_axis"])[place[r][1]] for x in m], item["concat_axis"]) for r, m in enumerate(mates)]
    if item["op"] == "permute":
        return [next((arrays[s] for s, t in item["pairs"] if t == r), np.zeros_like(arrays[r])) for r in range(len(arrays))]
    return None


def apply(graph, item, operands):
    x = operands[0]
    op = item["op"]
    if op == "linear":
        product = graph.matmul(*operands[:2])
        return (graph.binary("add", product, operands[2]) if len(operands) > 2 else product).array
    if op == "matmul":
        y = wide(operands[1].array)
        return graph.rounded(wide(x.array) @ (y.T if item.get("transpose_b") else y), item.get("dtype", x.dtype))
    if op == "attention":
        q, k, v = (wide(o.array) for o in operands)
        scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        scores = np.where(np.tril(np.ones(scores.shape[-2:])) == 1, scores, -np.inf)
        power = np.exp(scores - scores.max(-1, keepdims=True))
        return graph.rounded(wide(graph.rounded(power / power.sum(-1, keepdims=True), x.dtype)) @ v, x.dtype)
    if op == "embedding":
        return x.array[operands[1].array]
    if op == "reshape":
        return x.array.reshape(item["shape"])
    if op == "transpose":
        return x.array.transpose(item["permutation"])
    if op == "softmax":
        return graph.softmax(x).array
    if op == "layernorm":
        return graph.layernorm(*operands).array
    return (graph.unary(op, x) if op in UNARY else graph.binary(op, *operands)).array
