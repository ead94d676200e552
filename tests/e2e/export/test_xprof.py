"""XProf reads what Kymo converts: a copy of an XPlane file as it reads the original, a PyTorch capture as one of JAX."""

import gzip
import json
import pathlib
import platform
import subprocess
import sys
import tarfile

import pytest

import kernel_names
from conftest import DATA

pytestmark = [
    pytest.mark.plain_build, pytest.mark.slow,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="XProf is published for x86-64 alone"),
]

TOOLS = pathlib.Path(__file__).parents[1] / "xprof_tools.py"
CAPTURES = ["jax_matmul_h200", "jax_gpt_python_h200", "tpu_inference", "rocm_mi300_gemm", "tf_gpu_worker"]


def xprof(*files):
    """What XProf's tools say of files."""
    result = subprocess.run([sys.executable, TOOLS, *map(str, files)], capture_output=True, timeout=600)
    assert result.returncode == 0, result.stderr[-4000:].decode(errors="replace")
    answers = json.loads(result.stdout)
    return [answers[str(file)] for file in files]


@pytest.fixture(scope="module")
def answers(kymo, tmp_path_factory):
    """{capture: what XProf says of it and of its copy}, in one process: XProf takes long to start."""
    folder = tmp_path_factory.mktemp("copies")
    files = []
    for capture in CAPTURES:
        files += [DATA / "xplane" / f"{capture}.xplane.pb", folder / f"{capture}.xplane.pb"]
        kymo.ok("convert", *files[-2:])
    said = xprof(*files)
    return dict(zip(CAPTURES, zip(said[::2], said[1::2])))


@pytest.mark.parametrize("capture", CAPTURES)
def test_every_tool_says_the_same_of_a_converted_capture(answers, capture):
    before, after = answers[capture]
    assert before.keys() == after.keys() and len(before["trace_viewer"]) > 100
    assert [tool for tool in before if before[tool] != after[tool]] == []
    if "tf_" not in capture:
        assert any(tool.startswith("graph_viewer ") and before[tool] for tool in before), "it has programs"


def events_of(path):
    with gzip.open(path) as file:
        return [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]


def test_a_pytorch_capture_has_its_kernels_steps_and_streams_in_xprof(kymo, tmp_path):
    path, target = DATA / "kineto" / "nccl_gpu_rank.json.gz", tmp_path / "out.xplane.pb"
    kymo.ok("convert", path, target)
    [answers] = xprof(target)
    events = events_of(path)
    kernels = [event for event in events if event["cat"] == "kernel"]
    said = json.dumps(answers["kernel_stats"])
    assert len(kernels) == 2700
    assert all(json.dumps(kernel["name"])[1:-1] in said for kernel in kernels)
    trace = [json.loads(line) for line in answers["trace_viewer"] if line.startswith('{"args"')]
    lines = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace if e.get("name") == "thread_name"}
    counts = {}
    for event in trace:
        if event.get("ph") == "X":
            line = lines.get((event["pid"], event["tid"]))
            counts[line] = counts.get(line, 0) + 1
    steps = [event for event in events if event["name"].startswith("ProfilerStep#") and event["cat"] != "gpu_user_annotation"]
    assert counts["Steps"] == len(steps) == 3
    for stream in {kernel["args"]["stream"] for kernel in kernels}:
        work = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"]["stream"] == stream]
        assert counts[f"Stream #{stream}"] == len(work)


TABLE = """
import json, sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], sys.argv[2], {})
table = json.loads(data)
names = [column["id"] for column in table["cols"]]
print(json.dumps([dict(zip(names, (cell["v"] for cell in row["c"]))) for row in table["rows"]]))
"""


def table_of_xprof(path, tool):
    result = subprocess.run([sys.executable, "-c", TABLE, path, tool], capture_output=True, text=True, timeout=300)
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize("capture", ["kineto/nccl_gpu_rank.json.gz", "xplane/jax_matmul_h200.xplane.pb"])
def test_kernel_stats_of_xprof_are_those_of_kymo_stats(kymo, tmp_path, capture):
    target = tmp_path / "host.xplane.pb"
    kymo.ok("convert", DATA / capture, target)
    theirs, ours = {}, {}
    for row in table_of_xprof(target, "kernel_stats"):
        key = kernel_names.key(row["kernel_name"]), tuple(map(int, row["grid_dim"].split(","))), tuple(map(int, row["block_dim"].split(",")))
        count, total = theirs.get(key, (0, 0))
        theirs[key] = count + row["occurrences"], total + row["total_duration_us"]
    for row in kymo.json("stats", DATA / capture, "cuda_gpu_kern_gb_sum", "--format", "json"):
        key = kernel_names.key(row["Name"]), *(tuple(map(int, row[c].split())) for c in ("GridXYZ", "BlockXYZ"))
        ours[key] = row["Instances"], row["Total Time (ns)"] / 1000
    assert {key: count for key, (count, _) in theirs.items()} == {key: count for key, (count, _) in ours.items()}
    for key, (count, total) in theirs.items():
        assert total == pytest.approx(ours[key][1], abs=0.001 * count)


def test_xprof_finds_the_operations_in_cuda_graphs_of_a_recording(kymo, tmp_path):
    """Its programs are converted as well, so that XProf has costs, categories and texts: of captures by JAX it finds nothing there."""
    with tarfile.open(DATA / "gpu" / "jax_gpt_h200.tar.xz") as archive:
        archive.extractall(tmp_path)
    [session] = (path.parent for path in tmp_path.rglob("ntrace.pb"))
    target = tmp_path / "host.xplane.pb"
    kymo.ok("convert", session, target)
    theirs = {(row["program_id"], row["hlo_op_name"]): row for row in table_of_xprof(target, "hlo_stats")}
    ours = {(row["program_id"], row["hlo_op_name"]): row for row in kymo.json("tool", "hlo_stats", session, "--format", "json", "--limit", "0")["operations"]}
    assert len(theirs) > 300 and theirs.keys() <= ours.keys()
    for name, row in theirs.items():
        assert row["total_self_time"] == pytest.approx(ours[name]["total_self_time"], abs=0.001), name
        assert row["category"] == ours[name]["category"]
        assert row["hlo_op_expression"] == ours[name]["hlo_op_expression"]
