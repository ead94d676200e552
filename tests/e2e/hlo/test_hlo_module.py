"""HLO modules of captures and of JAX: their text, their costs, their memory and graphs, held against jaxlib's printer, XProf,
XLA's own cost analysis and counting by naive loops."""

import json
import math
import os
import pathlib
import platform
import random
import re
import subprocess
import sys

import pyarrow.parquet
import pytest
import wire
import zstandard
from conftest import DATA, ROOT

HERE = pathlib.Path(__file__).parent
SEEDS = sorted((ROOT / "fuzz" / "corpus" / "hlo_module").iterdir())
with_xprof = pytest.mark.skipif(platform.machine() != "x86_64", reason="XProf is published for x86-64 alone")

# Bodies of one instruction each, as HLO's text.
WINDOW = "{{size={} stride={} pad={} lhs_dilate={} rhs_dilate={}}}"


def run(program, *arguments):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout


def module_of(text):
    """A serialized module of HLO's text; in a process's own imports, as jaxlib takes long to import."""
    from jaxlib import _hlo

    return _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()


def costs_of(read_hlo, tmp_path, module):
    (tmp_path / "module.pb").write_bytes(module)
    return {cost["name"]: cost for cost in json.loads(run(read_hlo, "costs", tmp_path / "module.pb"))}


def modules_of(kymo, capture, directory):
    """The tables of a capture's modules, and the modules themselves as they were kept."""
    kymo.ok("view", capture, "--output-format", "parquet", "--output-file", directory, "--ingest-only")
    modules = pyarrow.parquet.read_table(directory / "HloModule.parquet").to_pylist()
    operations = pyarrow.parquet.read_table(directory / "HloOperation.parquet").to_pylist()
    content = (directory / "modules.hlo.zst").read_bytes()
    for module in modules:
        frame = content[module["file_offset"] : module["file_offset"] + module["file_size"]]
        module["proto"] = zstandard.ZstdDecompressor().decompressobj().decompress(frame)
    return modules, operations


def field(message, number):
    """The bytes of a field of a message."""
    at, found = 0, b""
    while at < len(message):
        tag, at = varint(message, at)
        size, at = varint(message, at) if tag & 7 in (0, 2) else ((8 if tag & 7 == 1 else 4), at)
        if tag & 7 == 0:
            continue
        if tag == number << 3 | 2:
            found = message[at : at + size]
        at += size
    return found


def varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at


def printed(module):
    """Instructions as XLA prints them, with XProf's options."""
    from jaxlib import _hlo

    options = _hlo.HloPrintOptions()
    options.print_metadata = options.print_backend_config = options.print_large_constants = False
    options.print_operand_shape = True
    text = _hlo.HloModule.from_serialized_hlo_module_proto(module).to_string(options)
    lines = (line.strip().removeprefix("ROOT ") for line in text.splitlines() if line.startswith("  "))
    return sorted(lines)


@pytest.mark.parametrize("capture", ["jax_gpt_python_h200", "jax_matmul_h200", "rocm_mi300_gemm"])
def test_modules_are_kept_as_captured_and_operations_have_the_text_that_xla_prints(kymo, tmp_path, capture):
    modules, operations = modules_of(kymo, DATA / "xplane" / f"{capture}.xplane.pb", tmp_path / "tables")
    content = (DATA / "xplane" / f"{capture}.xplane.pb").read_bytes()
    for module in modules:
        assert module["file"] == "modules.hlo.zst" and module["proto"] in content
        mine = [row for row in operations if row["module_id"] == module["id"]]
        assert len(mine) == module["operation_count"]
        assert sorted(row["expression"] for row in mine) == printed(field(module["proto"], 1))


def test_operations_name_their_operands_and_what_they_call_and_have_an_order(kymo, tmp_path):
    _, operations = modules_of(kymo, DATA / "xplane" / "jax_matmul_h200.xplane.pb", tmp_path / "tables")
    by_id = {row["id"]: row for row in operations}
    for row in operations:
        operands = [by_id[i]["name"] for i in row["operand_ids"] or []]
        told = re.findall(r" %([\w.-]+)[,)]", row["expression"].split("), ")[0] + ")") if row["operand_ids"] else []
        assert operands == told[: len(operands)] and all(by_id[i]["module_id"] == row["module_id"] for i in row["operand_ids"] or [])
        called = re.findall(r"(?:calls|to_apply)=%([\w.-]+)", row["expression"])
        assert (row["called"] or []) == called
    bodies = {name for row in operations if row["opcode"] == "fusion" for name in row["called"]}
    assert bodies and all(row["is_fused"] for row in operations if row["computation"] in bodies)
    orders = {}
    for row in operations:
        orders.setdefault((row["module_id"], row["computation"]), []).append(row["schedule_index"])
    assert all(sorted(order) == list(range(len(order))) for order in orders.values())


# What JAX makes of these has all kinds of instructions and attributes.
FUNCTIONS = """
import json, pathlib, sys
sys.path[:0] = [sys.argv[1], f"{sys.argv[1]}/.."]
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from test_hlo_module import printed
x = jnp.ones((4, 8)); i = np.int32(1)
conv = lambda x, w: lax.conv_general_dilated(x, w, (2, 1), [(1, 2), (0, 1)], lhs_dilation=(1, 2), rhs_dilation=(2, 1), feature_group_count=2)
window = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 1), "SAME")
functions = [
    (lambda x: (jnp.sort(x), lax.top_k(x, 2), jnp.cumsum(x, 1), jnp.argmax(x, 1)), x),
    (conv, jnp.ones((1, 4, 9, 9)), jnp.ones((6, 2, 3, 3))),
    (lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))), precision="highest"), jnp.ones((2, 3, 4)), jnp.ones((2, 4, 5))),
    (lambda a, b: lax.dot(a, b, precision=lax.DotAlgorithmPreset.BF16_BF16_F32), jnp.ones((3, 4)), jnp.ones((4, 5))),
    (lambda x, i: (x[i], x.at[i].add(1.0, unique_indices=True, indices_are_sorted=True)), x, jnp.array([0, 1])),
    (lambda x: (lax.pad(x, 0.0, ((1, 0, 2), (0, -1, 0))), x[1:3, ::2], x[1:3], x[::-1]), x),
    (lambda x, i: (lax.dynamic_slice(x, (i, i), (2, 2)), lax.dynamic_update_slice(x, x[:1], (i, i))), x, i),
    (lambda x, i: lax.switch(i, [jnp.sin, lambda a: a * 2, jnp.cos], lax.fori_loop(0, 5, lambda i, c: c * 2 + i, x)), x, i),
    (lambda x: lax.cond(x[0, 0] > 0, lambda a: a + 1, lambda a: a * 2, x), x),
    (lambda x: (jnp.fft.fft2(x), jnp.fft.rfft(x), jnp.exp(x * 1j).real), x),
    (lambda a: jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(a), a, lower=True), jnp.eye(4)),
    (lambda x: (window(x), jax.grad(lambda x: window(x).sum())(x)), x),
    (lambda x: (x[0, :3] + np.array([1.5, -2e-9, 1e20], np.float32), np.array([[1, 2], [3, 4]], np.int8), np.array([[1.0]], np.float32),
                np.array([True, False]), np.array([1 + 2j], np.complex64), np.array([0.1, -3], np.float16), jnp.bfloat16(0.1),
                np.arange(20), np.array([np.nan, np.inf, -np.inf], np.float32), x.astype(jnp.float8_e4m3fn) + jnp.float8_e4m3fn(1.5)), x),
    (lambda x: (lax.bitcast_convert_type(x, jnp.int32), lax.reduce_precision(x, 5, 10), lax.lt_to_p.bind(x, x), jnp.clip(x, 0, 1)), x),
    (lambda x: tuple(x + k for k in range(12)), x),
    (lambda k: jax.random.normal(k, (4,)), jax.random.key(0)),
]
out = pathlib.Path(sys.argv[2])
for n, (function, *arguments) in enumerate(functions):
    module = jax.jit(function).lower(*arguments).compiler_ir("hlo").as_serialized_hlo_module_proto()
    (out / f"text{n}.pb").write_bytes(module)
    (out / f"text{n}.txt").write_text("\\n".join(printed(module)))
# Of these, XLA's own analysis counts the same: but for transcendental functions, which it has apart.
image, kernel = jnp.ones((2, 3, 8, 8)), jnp.ones((5, 3, 3, 3))
weights = jnp.ones((8, 16))
for n, (function, *arguments) in enumerate([
    (lambda x, w: x @ w, x, weights), (lambda x: x * 2 + x / 3 - 1, x), (lambda x: x.sum(), x), (lambda x: jnp.tanh(x).max(1), x),
    (lambda x, w: ((x @ w) * 2).sum(0), x, weights), (lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"), image, kernel),
]):
    module = jax.jit(function).lower(*arguments).compiler_ir("hlo").as_hlo_module()
    (out / f"cost{n}.pb").write_bytes(module.as_serialized_hlo_module_proto())
    analysis = jax._src.lib.xla_client._xla.hlo_module_cost_analysis(jax.devices()[0].client, module)
    (out / f"cost{n}.txt").write_text(str(analysis["flops"] + analysis.get("transcendentals", 0)))
"""


@pytest.mark.slow
def test_modules_of_jax_have_the_text_that_xla_prints_and_the_operations_that_it_counts(read_hlo, tmp_path):
    subprocess.run([sys.executable, "-c", FUNCTIONS, HERE, tmp_path], check=True, capture_output=True, timeout=300,
                   env={**os.environ, "JAX_PLATFORMS": "cpu"})
    files = sorted(tmp_path.glob("text*.pb"))
    assert len(files) == 16
    for file in files:
        assert sorted(run(read_hlo, "expressions", file).splitlines()) == file.with_suffix(".txt").read_text().splitlines(), file
    for file in sorted(tmp_path.glob("cost*.pb")):
        costs = json.loads(run(read_hlo, "costs", file))
        mine = sum(cost["flops"] for cost in costs if cost["computation"] == costs[-1]["computation"])
        assert mine == float(file.with_suffix(".txt").read_text()), file


def naive_positions(size, kernel, output, stride, low, base, dilation):
    return sum(1 for o in range(output) for k in range(kernel)
               for at in [o * stride + k * dilation - low]
               if at % base == 0 and 0 <= at // base < size)  # fmt: skip


def test_convolutions_cost_what_counting_each_product_gives(read_hlo, tmp_path):
    rng = random.Random(3)
    lines, expected = [], {}
    for n in range(40):
        groups = rng.choice([1, 1, 2])
        batch, cin, cout = rng.randint(1, 3), groups * rng.randint(1, 3), groups * rng.randint(1, 3)
        spatial, count = [], 2 * batch * (cin // groups) * cout
        while len(spatial) < 2:
            size, kernel, stride = rng.randint(1, 9), rng.randint(1, 4), rng.randint(1, 3)
            low, high, base, dilation = rng.randint(-1, 3), rng.randint(0, 3), rng.randint(1, 3), rng.randint(1, 2)
            padded, wide = (size - 1) * base + 1 + low + high, (kernel - 1) * dilation + 1
            if padded >= wide:
                spatial.append((size, kernel, stride, low, high, base, dilation, (padded - wide) // stride + 1))
                count *= naive_positions(size, kernel, spatial[-1][7], stride, low, base, dilation)
        (s, k, st, lo, hi, b, d, o), (s2, k2, st2, lo2, hi2, b2, d2, o2) = spatial
        window = WINDOW.format(f"{k}x{k2}", f"{st}x{st2}", f"{lo}_{hi}x{lo2}_{hi2}", f"{b}x{b2}", f"{d}x{d2}")
        lines += [f"x{n} = f32[{batch},{s},{s2},{cin}] parameter({2 * n})", f"w{n} = f32[{k},{k2},{cin // groups},{cout}] parameter({2 * n + 1})",
                  f"c{n} = f32[{batch},{o},{o2},{cout}] convolution(x{n}, w{n}), window={window}, dim_labels=b01f_01io->b01f, feature_group_count={groups}"]
        expected[f"c{n}"] = count
    results = ", ".join(expected)
    shape = ", ".join(line.split(" = ")[1].split(" ")[0] for line in lines if " convolution(" in line)
    module = module_of("HloModule m\nENTRY e {\n" + "\n".join(lines) + f"\nROOT t = ({shape}) tuple({results})\n}}\n")
    costs = costs_of(read_hlo, tmp_path, module)
    assert {name: costs[name]["matrix_flops"] for name in expected} == expected


HAND_MADE = """
HloModule hand_made
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
body { p = (s32[], f32[64,64]) parameter(0)  i = s32[] get-tuple-element(p), index=0  one = s32[] constant(1)
  next = s32[] add(i, one)  m = f32[64,64] get-tuple-element(p), index=1
  d = f32[64,64] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}  ROOT t = (s32[], f32[64,64]) tuple(next, d) }
condition { p = (s32[], f32[64,64]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(7)
  ROOT r = pred[] compare(i, n), direction=LT }
sliced { p = f32[100,10] parameter(0)  e = f32[100,10] exponential(p)  s = f32[10,10] slice(e), slice={[0:10], [0:10]}
  ROOT m = f32[10,10] multiply(s, s) }
written { p = f32[100,10] parameter(0)  u = f32[1,10] parameter(1)  i = s32[] parameter(2)  z = s32[] constant(0)
  n = f32[1,10] negate(u)  ROOT d = f32[100,10] dynamic-update-slice(p, n, i, z) }
ENTRY main {
  x = f32[64,64] parameter(0)  c = c64[8] parameter(1)  q = s8[16,32] parameter(2)  w = s8[32,8] parameter(3)  y = f32[100,10] parameter(4)
  u = f32[1,10] parameter(5)  i = s32[] parameter(6)  zero = f32[] constant(0)  k = s32[64] parameter(7)
  sum = f32[64] reduce(x, zero), dimensions={1}, to_apply=add
  tanh = f32[64,64] tanh(x)
  less = pred[64,64] compare(x, tanh), direction=LT
  chosen = f32[64,64] select(less, x, tanh)
  whole = s32[64] add(k, k)
  product = c64[8] multiply(c, c)
  integers = s32[16,8] dot(q, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  start = (s32[], f32[64,64]) tuple(i, x)
  loop = (s32[], f32[64,64]) while(start), condition=condition, body=body, backend_config={"known_trip_count":{"n":"7"}}
  forever = (s32[], f32[64,64]) while(start), condition=condition, body=body
  part = f32[10,10] fusion(y), kind=kLoop, calls=sliced
  update = f32[100,10] fusion(y, u, i), kind=kLoop, calls=written
  left = bf16[128,512] parameter(8)  right = bf16[512,256] parameter(9)
  gemm = (bf16[128,256], s8[4096]) custom-call(left, right), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"],"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]}}}
  other = f32[4] custom-call(left), custom_call_target="whatever"
  ROOT out = (f32[64]) tuple(sum)
}
"""


def test_costs_of_a_module_made_by_hand(read_hlo, tmp_path):
    costs = costs_of(read_hlo, tmp_path, module_of(HAND_MADE))

    def flops(name):
        return costs[name]["flops"], costs[name]["matrix_flops"]

    assert flops("sum") == (64 * 63, 0) and flops("tanh") == (64 * 64, 0) and flops("less") == (64 * 64, 0)
    assert flops("chosen") == (0, 0) and flops("whole") == (0, 0), "choosing, and integers"
    assert flops("product") == (8 * 6, 0)
    assert flops("integers") == (2 * 16 * 8 * 32,) * 2 and costs["integers"]["compute_type"] == "s8"
    assert flops("loop") == (7 * 2 * 64**3,) * 2 and costs["loop"]["compute_type"] == "f32"
    assert flops("forever") == ("NaN", "NaN") and costs["forever"]["bytes_read"] == -1
    assert costs["loop"]["xla_flops"] == 2 * 64**3 + 3 + 3, "XLA counts one iteration, and integers as well"
    assert flops("part") == (100 + 100, 0) and costs["part"]["bytes_read"] == 400, "a tenth of the exponentials is needed"
    assert costs["update"]["bytes_written"] == 40 and flops("update") == (10, 0), "the rest stays as it is"
    assert costs["update"]["bytes_read"] == 40 + 4
    assert flops("gemm") == (2 * 128 * 256 * 512,) * 2 and costs["gemm"]["compute_type"] == "bf16"
    assert costs["gemm"]["bytes_written"] == 128 * 256 * 2, "without what it works in"
    assert flops("other") == ("NaN", "NaN") and costs["other"]["xla_flops"] == 0


XPROF = """
import json, os, pathlib, sys
sys.path[:0] = [sys.argv[1], f"{sys.argv[1]}/.."]
import xspace
from xprof.convert import raw_to_tool_data
directory = pathlib.Path(sys.argv[2])
work = json.loads((directory / "work.json").read_text())
space = xspace._CLASSES["XSpace"]()
space.hostnames.append(b"host")
metadata, device = space.planes.add(name=b"/host:metadata"), space.planes.add(id=1, name=b"/device:GPU:0")
metadata.stat_metadata.add(key=1).value.CopyFrom(xspace._CLASSES["XStatMetadata"](id=1, name=b"Hlo Proto"))
for number in work["modules"]:
    kind = metadata.event_metadata.add(key=number).value
    kind.id, kind.name = number, b"m(%d)" % number
    kind.stats.add(metadata_id=1).bytes_value = (directory / f"{number}.pb").read_bytes()
for key, name in enumerate([b"hlo_op", b"hlo_module", b"program_id"], 1):
    device.stat_metadata.add(key=key).value.CopyFrom(xspace._CLASSES["XStatMetadata"](id=key, name=name))
device.event_metadata.add(key=1).value.CopyFrom(xspace._CLASSES["XEventMetadata"](id=1, name=b"kernel"))
line = device.lines.add(id=7, name=b"Stream #7(Compute)", timestamp_ns=1000)
for n, (module, operation) in enumerate(work["operations"]):
    event = line.events.add(metadata_id=1, offset_ps=n * 2 * 10**9, duration_ps=10**9)
    event.stats.add(metadata_id=1).str_value = operation.encode()
    event.stats.add(metadata_id=2).str_value = b"m"
    event.stats.add(metadata_id=3).uint64_value = module
path = directory / "host.xplane.pb"
path.write_bytes(space.SerializeToString())
table = json.loads(raw_to_tool_data.xspace_to_tool_data([str(path)], "hlo_stats", {})[0])
names = [column["id"] for column in table["cols"]]
rows = [dict(zip(names, (cell.get("v") for cell in row["c"]))) for row in table["rows"]]
raw_to_tool_data.xspace_to_tool_names([str(path)])
names = {number: next(directory.glob(f"*({number}).hlo_proto.pb")).name.removesuffix(".hlo_proto.pb") for number in work["modules"]}
memory = {number: json.loads(raw_to_tool_data.xspace_to_tool_data([str(path)], "memory_viewer", {"module_name": name})[0])
          for number, name in names.items()}
options = lambda name, form: {"graph_viewer_options": {"module_name": name, "type": f"{form}_txt"}}
texts = {form: {number: raw_to_tool_data.xspace_to_tool_data([str(path)], "graph_viewer", options(name, form))[0]
                for number, name in names.items()} for form in work["forms"]}
texts = {form: {number: text if isinstance(text, str) else text.decode() for number, text in by.items()} for form, by in texts.items()}
print(json.dumps({"rows": rows, "memory": memory, "texts": texts}))
"""


def same(ours, theirs):
    """Equal, numbers but for the last digits."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float) or isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-9)
    return ours == theirs


@with_xprof
@pytest.mark.slow
@pytest.mark.plain_build
@pytest.mark.parametrize("capture", ["jax_gpt_python_h200", "jax_matmul_h200", "rocm_mi300_gemm"])
def test_costs_categories_texts_and_memory_are_xprofs(kymo, read_hlo, tmp_path, capture):
    modules, operations = modules_of(kymo, DATA / "xplane" / f"{capture}.xplane.pb", tmp_path / "tables")
    numbers = {module["id"]: module["program_id"] + 1 for module in modules}
    for module in modules:
        (tmp_path / f"{numbers[module['id']]}.pb").write_bytes(module["proto"])
    # As XProf sees them: each runs for a millisecond.
    wanted = {(numbers[row["module_id"]], row["name"]): row for row in operations}
    forms = ["short", "long"] if capture == "jax_matmul_h200" else []
    (tmp_path / "work.json").write_text(json.dumps({"modules": [*numbers.values()], "operations": [*wanted], "forms": forms}))
    result = subprocess.run([sys.executable, "-c", XPROF, HERE, tmp_path], capture_output=True, timeout=300)
    assert result.returncode == 0, result.stderr[-4000:]
    answer = json.loads(result.stdout)
    assert len(answer["rows"]) == len(wanted)
    differ = set()
    for theirs in answer["rows"]:
        ours = wanted[int(theirs["program_id"]), theirs["hlo_op_name"]]
        assert (ours["category"], ours["expression"]) == (theirs["category"], theirs["hlo_op_expression"])
        nanoseconds = theirs["total_time"] * 1000
        if not math.isclose(ours["xprof_flops"], theirs["model_flop_rate"] * nanoseconds, rel_tol=1e-5, abs_tol=1e-3):
            differ.add(f"flops of {ours['opcode']}")
        moved = theirs["measured_memory_bw"] * 1.073741824 * nanoseconds
        if not math.isclose(ours["bytes_accessed"], moved, rel_tol=1e-5, abs_tol=1e-3):
            differ.add(f"bytes of {ours['opcode']}")
    # XProf does not know calls of libraries, counts the pointers of tuples, the start of a reduction once for each result, and
    # the first index of a slice alone.
    assert differ <= {"flops of custom-call", "bytes of custom-call", "bytes of tuple", "bytes of reduce", "bytes of dynamic-slice"}
    for form, texts in answer["texts"].items():
        for number, theirs in texts.items():
            assert run(read_hlo, form, tmp_path / f"{number}.pb") == theirs
    for number, theirs in answer["memory"].items():
        ours = json.loads(run(read_hlo, "memory", tmp_path / f"{number}.pb", 0))
        for side in ours, theirs:
            side["bufferBlocks"] = [{**block, "color": ""} for block in side.get("bufferBlocks", [])]
            # Buffers of one size are in any order.
            side["maxHeapBySize"] = [item["logicalBufferSizeMib"] for item in side.get("maxHeapBySize", [])]
            places, back = side.pop("maxHeapToBySize", []), side.pop("bySizeToMaxHeap", [])
            assert [places[i] for i in back] == [*range(len(back))]
        assert same(ours, theirs), number


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.name)
def test_graphs_show_who_is_near_below_its_operands_and_beside_its_row(read_hlo, seed):
    whole = json.loads(run(read_hlo, "graph", seed))
    nodes = {node["id"]: node for node in whole["nodes"]}
    near = {id: set() for id in nodes}
    for edge in whole["edges"]:
        assert nodes[edge["from"]]["y"] < nodes[edge["to"]]["y"]
        near[edge["from"]].add(edge["to"])
        near[edge["to"]].add(edge["from"])
    rows = {}
    for node in nodes.values():
        assert 0 <= node["x"] - node["width"] / 2 + 1e-6 and node["x"] + node["width"] / 2 <= whole["width"] + 1e-6
        rows.setdefault(node["y"], []).append((node["x"] - node["width"] / 2, node["x"] + node["width"] / 2))
    for row in rows.values():
        row.sort()
        assert all(before[1] < after[0] for before, after in zip(row, row[1:]))
    if any(node["opcode"] in ("bitcast", "tuple", "constant") for node in nodes.values()):
        return  # followed by rules of their own
    for name in sorted(node["name"] for node in nodes.values())[:3]:
        around = json.loads(run(read_hlo, "graph", seed, name, 2))
        center = around["center"]
        expected = {center} | near[center] | {far for one in near[center] for far in near[one]}
        assert {node["id"] for node in around["nodes"]} == expected
        dot = run(read_hlo, "dot", seed, name, 2)
        assert dot.startswith("digraph") and all(f"n{id} [" in dot for id in expected)


def test_of_a_computation_with_more_than_is_shown_the_beginning_or_the_root(read_hlo, tmp_path):
    chain = "".join(f"  c{i} = f32[2] negate({f'c{i - 1}' if i else 'a'})\n" for i in range(20))
    (tmp_path / "module.pb").write_bytes(module_of("HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n" + chain + "  ROOT z = f32[2] negate(c19)\n}"))
    shown = lambda *more: json.loads(run(read_hlo, "graph", tmp_path / "module.pb", "", 2, *more))
    names = lambda graph: [node["name"].split(".")[0] for node in graph["nodes"]]
    whole, first, last = shown(100), shown(5), shown(5, "root")
    assert (len(whole["nodes"]), whole["is_cut"], whole["center"]) == (22, False, None)
    assert (names(first), first["is_cut"], first["total"]) == (["a", "c0", "c1", "c2", "c3"], True, 22)
    assert (names(last), last["center"]) == (["z", "c19", "c18"], last["root"]), "what is near the root"
    assert names(shown(100, "root")) == names(whole), "all of it, where all is shown"
    assert "5 of 22 instructions" in run(read_hlo, "dot", tmp_path / "module.pb", "", 2, 5), "a cut is told"


def test_neighbors_are_found_through_elements_of_tuples(read_hlo, tmp_path):
    (tmp_path / "module.pb").write_bytes(module_of("""
HloModule m
ENTRY e { a = f32[2] parameter(0)  t = (f32[2], f32[2]) custom-call(a), custom_call_target="two"  g = f32[2] get-tuple-element(t), index=0
  h = f32[2] get-tuple-element(t), index=1  ROOT s = f32[2] add(g, h) }"""))
    assert json.loads(run(read_hlo, "neighbors", tmp_path / "module.pb", "s")) == {"operand_names": ["t", "t"], "consumer_names": []}
    assert json.loads(run(read_hlo, "neighbors", tmp_path / "module.pb", "%t"))["consumer_names"] == ["s", "s"]


def test_damaged_modules_are_read_or_refused(read_hlo, tmp_path):
    content = bytearray((ROOT / "fuzz" / "corpus" / "hlo_module" / "gemm_mi300").read_bytes())
    rng = random.Random(5)
    for _ in range(8):
        content[rng.randrange(len(content))] = rng.randrange(256)
        (tmp_path / "module.pb").write_bytes(content)
        for what in "costs", "memory", "graph":
            assert subprocess.run([read_hlo, what, tmp_path / "module.pb"], capture_output=True, timeout=30).returncode in (0, 1)


def test_a_module_in_whose_calls_is_a_circle_has_no_costs_there(read_hlo, tmp_path):
    def instruction(number, opcode, callee=None):
        return wire.block(2, wire.block(1, b"%s.%d" % (opcode, number)) + wire.block(2, opcode)
                          + wire.number(35, number) + (wire.number(38, callee) if callee else b""))  # fmt: skip

    computations = b"".join(wire.block(3, wire.block(1, b"c%d" % n) + instruction(n, b"call", callee) + wire.number(5, n) + wire.number(6, n))
                            for n, callee in ((1, 2), (2, 1), (3, 1)))  # fmt: skip
    costs = costs_of(read_hlo, tmp_path, wire.block(1, b"m") + computations + wire.number(6, 3))
    assert [cost["flops"] for cost in costs.values()] == ["NaN"] * 3
