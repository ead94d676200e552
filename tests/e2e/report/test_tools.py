"""kymo tool: XProf's analyses, against XProf where it is right, and against sums over the captures where it is not."""

import collections
import csv
import fcntl
import functools
import gzip
import io
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import urllib.parse

import duckdb
import pytest

import xspace
from conftest import DATA
from server import Server

GPT, MATMUL, TPU, ROCM, TF = CAPTURES = ["jax_gpt_python_h200", "jax_matmul_h200", "tpu_inference", "rocm_mi300_gemm", "tf_gpu_worker"]
MODULE = "jit_train_step(15913)"
needs_xprof = pytest.mark.skipif(platform.machine() != "x86_64", reason="XProf is published for x86-64 alone")
RAW = pathlib.Path(__file__).parents[1] / "xprof_raw.py"


def path_of(capture):
    return DATA / "xplane" / f"{capture}.xplane.pb"


@pytest.fixture(scope="module")
def place(kymo, tmp_path_factory):
    """A workspace with the captures as profiles."""
    place = tmp_path_factory.mktemp("tools")
    for capture in CAPTURES:
        kymo.ok("view", path_of(capture), "--ingest-only", "--display-name", capture, "--data-path", place)
    return place


@pytest.fixture(scope="module")
def server(kymo, place):
    server = Server(kymo, "--data-path", place)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def tool(server):
    """What a tool says: asked of one server, as starting the program takes longer than most answers, and once."""
    @functools.lru_cache(maxsize=None)
    def body(path):
        answer = server.ask("GET", path)
        assert answer.status == 200, answer.body
        return answer.body

    def ask(name, profile, form="gviz", **options):
        query = urllib.parse.urlencode({"format": form, **options})
        answer = body(f"profiles/{profile}/tools/{name}?{query}")
        return answer.decode() if form in ("text", "csv") else json.loads(answer)
    return ask


def test_tools_known_to_be_empty_are_those_without_an_answer(server):
    """Known from the beginnings of tables; the oracle runs every tool."""
    for profile in CAPTURES:
        listed = server.get(f"profiles/{profile}/tools")["tools"]
        answers = {tool["name"]: server.get(f"profiles/{profile}/tools/{tool['name']}?format=json") for tool in listed}
        empty = {name for name, answer in answers.items() if not any(isinstance(part, list) and part for part in answer.values())}
        # It always has a sentence, which says that there are no steps.
        if not answers["input_pipeline_analyzer"].get("steps") and not answers["input_pipeline_analyzer"].get("input_operations"):
            empty.add("input_pipeline_analyzer")
        assert {tool["name"] for tool in listed if tool["is_empty"]} == empty, profile
        assert "inference_profile" in empty and "overview_page" not in empty



@pytest.fixture(scope="module")
def xprof(tmp_path_factory):
    """What XProf says of the captures; asked once, for all processes of the tests."""
    target = tmp_path_factory.mktemp("xprof") / "answers.json"
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "xprof_answers.json"
    files = [str(path_of(capture)) for capture in CAPTURES]
    with open(f"{shared}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            result = subprocess.run([sys.executable, RAW, target, *files], capture_output=True, timeout=600)
            assert result.returncode == 0, result.stderr[-4000:].decode(errors="replace")
            target.rename(shared)
    answers = json.loads(shared.read_text())
    return {capture: answers[file] for capture, file in zip(CAPTURES, files)}


def records(table):
    ids = [column["id"] for column in table["cols"]]
    return [dict(zip(ids, (cell["v"] for cell in row["c"]))) for row in table["rows"]]


def tables_of(answer):
    return answer if isinstance(answer, list) else [answer]


TABLES = ["overview_page", "input_pipeline_analyzer", "framework_op_stats", "kernel_stats", "hlo_stats", "roofline_model",
          "perf_counters", "inference_profile"]


@needs_xprof
@pytest.mark.slow
@pytest.mark.plain_build
@pytest.mark.parametrize("capture", CAPTURES)
def test_tables_have_the_columns_and_properties_that_xprof_has(tool, xprof, capture):
    for name in TABLES:
        ours, theirs = tables_of(tool(name, capture)), tables_of(xprof[capture][name])
        assert len(ours) == len(theirs), name
        for our, their in zip(ours, theirs):
            assert our.get("cols") == their.get("cols"), name
            missing = set(their.get("p", {})) - set(our.get("p", {}))
            assert missing == set(), name
    if capture == TPU:
        ours, theirs = tool("overview_page", TPU)[0]["p"], xprof[TPU]["overview_page"][0]["p"]
        for key in (key for key in theirs if key.startswith(("host_", "device_")) and theirs[key].endswith("%")):
            assert float(ours[key][:-1]) == pytest.approx(float(theirs[key][:-1]), abs=0.35), key
        assert float(ours["idle_time_high_confidence_ps"]) == pytest.approx(float(theirs["idle_time_high_confidence_ps"]), rel=0.01)


@needs_xprof
@pytest.mark.slow
@pytest.mark.plain_build
@pytest.mark.parametrize("capture", CAPTURES)
def test_kernels_are_those_of_xprof(tool, xprof, capture):
    """Operations of kernels are found where XProf finds none, and AMD's shared memory: sums without them are equal."""
    def sums(rows):
        groups = collections.defaultdict(lambda: [0, 0])
        for row in rows:
            key = *(row[c] for c in ("kernel_name", "block_dim", "grid_dim", "registers_per_thread")), row["is_kernel_using_tensor_core"]
            key += (row["shmem_bytes"], row["occupancy_pct"]) if capture != ROCM else ()
            groups[key][0] += row["occurrences"]
            groups[key][1] += row["total_duration_us"]
        return {key: (count, pytest.approx(us)) for key, (count, us) in groups.items()}
    ours, theirs = records(tool("kernel_stats", capture)), records(xprof[capture]["kernel_stats"])
    assert sums(ours) == sums(theirs) and (theirs or capture == TPU)
    assert [row["rank"] for row in ours] == list(range(1, len(ours) + 1))


def test_kernels_on_tensor_cores_are_known_where_xprof_does_not_know_them(tool):
    [rows] = tool("kernel_stats", GPT, form="json").values()
    known = {row["kernel_name"].split("_")[0]: row["uses_tensor_cores"] for row in rows}
    assert known["nvjet"] and not known["loop"]
    assert not any(row["is_kernel_using_tensor_core"] for row in rows)


@needs_xprof
@pytest.mark.slow
@pytest.mark.plain_build
@pytest.mark.parametrize("capture", CAPTURES)
def test_memory_of_allocators_is_that_of_xprof(tool, xprof, capture):
    """XProf's times are since the start of a thread's line, ours since that of the profile; its order of equal times is any."""
    ours, theirs = tool("memory_profile", capture), xprof[capture]["memory_profile"]
    assert ours.keys() == theirs.keys()
    assert {key: ours[key] for key in ("memoryIds", "numHosts", "version", "hloModules")} == \
        {key: theirs[key] for key in ("memoryIds", "numHosts", "version", "hloModules")}
    for name, their in theirs["memoryProfilePerAllocator"].items():
        our = ours["memoryProfilePerAllocator"][name]
        assert our.keys() == their.keys()
        for profile in (our, their):
            profile["profileSummary"].pop("peakStatsTimePs")
        assert our["profileSummary"] == their["profileSummary"]
        assert our["activeAllocations"] == their["activeAllocations"]
        assert our["specialAllocations"] == their["specialAllocations"]
        for key in ("memoryProfileSnapshots", "sampledTimelineSnapshots"):
            assert len(our[key]) == len(their[key])
            for one, other in zip(our[key], their[key]):
                assert one.keys() == other.keys() and one["activityMetadata"].keys() == other["activityMetadata"].keys()


def test_memory_at_the_peak_adds_up(tool):
    """All that is alive, not only of the peak's step."""
    said = tool("memory_profile", GPT, form="json")
    for memory in said["summary"]:
        alive = [row["total_bytes"] for row in said["at_peak"] if row["memory_id"] == memory["memory_id"]]
        assert sum(alive) == memory["peak_bytes"] > 0
        assert max(row["heap_bytes"] + row["stack_bytes"] for row in said["timeline"]
                   if row["memory_id"] == memory["memory_id"]) == memory["peak_bytes"]


def kineto(path, events):
    """A trace of PyTorch: kernels on two streams that overlap, each launched by aten::mm, and events as given."""
    work = []
    for n, (stream, start, duration) in enumerate([(7, 100, 40), (20, 120, 50), (7, 200, 100)]):
        work += [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": n * 10, "dur": 8, "args": {"External id": n + 1}},
                 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": n * 10 + 1, "dur": 2,
                  "args": {"correlation": n + 1, "External id": n + 1}},
                 {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": stream, "ts": start, "dur": duration,
                  "args": {"correlation": n + 1, "External id": n + 1, "device": 0, "stream": stream}}]
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": work + events}))
    return path


def test_memory_that_pytorch_reserves_contains_what_is_in_use(kymo, tmp_path):
    def memory(at, change, allocated, reserved, address):
        return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": at,
                "args": {"Total Reserved": reserved, "Total Allocated": allocated, "Bytes": change, "Addr": address, "Device Type": 1, "Device Id": 0}}
    events = [memory(1, 100, 600, 700, 1), memory(2, 18, 618, 724, 2), memory(3, -100, 518, 900, 1)]
    path = kineto(tmp_path / "trace.json", events)
    said = json.loads(kymo.ok("tool", "memory_profile", path, "--format", "json"))
    [summary] = said["summary"]
    assert (summary["peak_bytes"], summary["heap_bytes"], summary["reserved_bytes"]) == (618, 618, 724)
    assert all(summary[key] is None for key in ("stack_bytes", "capacity_bytes", "lifetime_peak_bytes", "fragmentation_percent"))
    assert [(row["heap_bytes"], row["reserved_bytes"], row["free_bytes"], row["stack_bytes"]) for row in said["timeline"]] == [
        (600, 700, None, None), (618, 724, None, None), (518, 900, None, None)]
    assert sum(row["total_bytes"] for row in said["at_peak"]) == 618
    document = json.loads(kymo.ok("tool", "memory_profile", path, "--format", "gviz"))
    [allocator] = document["memoryProfilePerAllocator"].values()
    stats = allocator["profileSummary"]["peakStats"]
    assert stats == {"stackReservedBytes": "0", "heapAllocatedBytes": "618", "peakBytesInUse": "618", "reservedBytes": "724"}


def test_what_is_not_known_of_operations_is_blank(kymo, tmp_path):
    """PyTorch's traces have no FLOPs and bytes: neither 0 % of the peaks nor all of it wasted."""
    path = kineto(tmp_path / "trace.json", [])
    nodes = json.loads(kymo.ok("tool", "op_profile", path, "--format", "json"))["nodes"]
    for row in nodes:
        known = [row[key] for key in ("flops_percent", "hbm_percent", "wasted_percent")]
        assert known == ([0, 0, row["time_percent"]] if row["name"] == "IDLE" else [None] * 3), row
    [total] = [line for line in kymo.ok("tool", "op_profile", path).splitlines() if line.endswith(" total")]
    assert total.split() == ["100.0", "200", "us", "total"]
    roofline = json.loads(kymo.ok("tool", "roofline_model", path, "--format", "json"))["roofline"]
    assert all(row["compute_efficiency"] is row["max_mem_bw_utilization"] is row["roofline_efficiency"] is None for row in roofline)


def union(spans):
    covered, end = 0, float("-inf")
    for start, stop in sorted(spans):
        covered += max(0, stop - max(start, end))
        end = max(end, stop)
    return covered


def test_idle_time_is_the_window_without_the_union_of_all_streams(kymo, place, tool, tmp_path):
    """One definition for the tree, for the overview and for the findings, whatever runs beside something else."""
    made = tmp_path / "tables"
    kymo.ok("view", path_of(GPT), "--output-file", made, "--ingest-only")
    spans = duckdb.sql(f"""SELECT start_ts * 1000 + start_fraction_ps, end_ts * 1000 + start_fraction_ps FROM '{made}/SystemProfileEvents.parquet' e
        JOIN '{made}/Track.parquet' t ON t.id = e.track_id AND t.role = 'stream'""").fetchall()
    window = max(end for _, end in spans) - min(start for start, _ in spans)
    nodes = {tuple(row["path"]): row for row in tool("op_profile", GPT, form="json")["nodes"]}
    assert nodes[()]["time_ns"] * 1000 == pytest.approx(window, rel=1e-4)
    idle = nodes["IDLE",]["time_ns"]
    assert idle * 1000 == pytest.approx(window - union(spans), rel=2e-3)
    work = sum(row["time_ns"] for path, row in nodes.items() if len(path) == 1 and path != ("IDLE",))
    assert work + idle > 1.02 * nodes[()]["time_ns"], "operations in a graph run beside each other"
    properties = tool("overview_page", GPT)[0]["p"]
    assert float(properties["device_idle_time_percent"][:-1]) == pytest.approx(100 * idle * 1000 / window, abs=0.06)
    assert float(properties["device_duty_cycle_percent"][:-1]) == pytest.approx(100 - 100 * idle * 1000 / window, abs=0.06)
    overlapping = json.loads(kymo.ok("tool", "op_profile", kineto(tmp_path / "trace.json", []), "--format", "json"))["nodes"]
    assert {row["name"]: row["time_ns"] for row in overlapping if row["depth"] < 2} == {"total": 200_000, "IDLE": 30_000, "main": 190_000}


def test_shares_in_a_sentence_are_those_of_its_figures(tool):
    facts = {row["fact"]: row["value"] for row in tool("overview_page", GPT, form="json")["facts"]}
    rate, share, peak, busy_rate, busy_share, normalized = map(float, re.findall(r"[\d.]+(?= TFLOP|(?: for)| %)", facts["Arithmetic"]))
    assert share == pytest.approx(100 * rate / peak, abs=0.06) and busy_share == pytest.approx(100 * busy_rate / peak, abs=0.06)
    bytes_rate, bytes_share, bytes_peak, busy_bytes, busy_bytes_share = map(float, re.findall(r"\d[\d.]*", facts["Memory"]))
    assert bytes_share == pytest.approx(100 * bytes_rate / bytes_peak, abs=0.06)
    assert busy_bytes_share == pytest.approx(100 * busy_bytes / bytes_peak, abs=0.06)
    [root] = [row for row in tool("op_profile", GPT, form="json")["nodes"] if row["depth"] == 0]
    assert normalized == pytest.approx(root["flops_percent"], abs=0.06) and bytes_share == pytest.approx(root["hbm_percent"], abs=0.06)


def test_what_a_tpu_copies_from_the_hosts_memory_is_not_input(tool, kymo, place):
    """The capture has copies from and to memory space 5, and no infeed."""
    rows = json.loads(kymo.ok("sql", TPU, "SELECT avg(host_to_device_ns + device_to_host_ns) / 1e6 AS ms, sum(infeed_ns + outfeed_ns) AS feeds FROM StepBreakdown",
                              "--format", "json", "--data-path", place))
    [row] = rows
    assert row["feeds"] == 0 and row["ms"] > 100
    said = tool("input_pipeline_analyzer", TPU, form="json")
    assert "Devices wait for input 0.0 % of the step time" in said["conclusion"][0]["conclusion"]
    steps = said["steps"]
    assert all(step["infeedTimeMs"] == step["outfeedTimeMs"] == 0 for step in steps)
    assert sum(step["hostTransferTimeMs"] for step in steps) / len(steps) == pytest.approx(row["ms"])
    columns = [column["id"] for column in tool("input_pipeline_analyzer", TPU)[1]["cols"]]
    for step in tool("input_pipeline_analyzer", TPU)[1]["rows"]:
        cells = dict(zip(columns, (cell["v"] for cell in step["c"])))
        assert cells["tcInfeedTimeMs"] == 0 < cells["hostTransferTimeMs"]


@pytest.mark.parametrize("capture, events, expected", [
    (GPT, None, "Training"), (TPU, None, "Inference"), (None, [], "Inference"), (None, ["autograd::engine::evaluate_function: MmBackward0"], "Training"),
    (None, ["Optimizer.step#SGD.step"], "Training"), (TF, None, "")])
def test_a_program_with_gradients_trains(kymo, tool, tmp_path, capture, events, expected):
    """By scopes of HLO operations, PyTorch's autograd and optimizers. The capture of TensorFlow was cut: its task is not known."""
    if capture:
        table = tool("framework_op_stats", capture)[0]
    else:
        made = [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 50, "dur": 5} for name in events]
        table = json.loads(kymo.ok("tool", "framework_op_stats", kineto(tmp_path / "trace.json", made), "--format", "gviz"))[0]
    assert table["p"]["task_type"] == expected


OF_XPROF = {"source_info", "eager", "autotuned"}


def near(value, row, column):
    """The tables have whole nanoseconds of each device, XProf picoseconds: what takes no time is coarse."""
    if not isinstance(value, float):
        return value
    return pytest.approx(value, rel=1e-6 if row["total_time"] > 1e5 else 1e-2, abs=4e-3 if "time" in column else 1e-12)


def same_rows(ours, theirs, key, leave_out=()):
    index = {tuple(row[k] for k in key): row for row in records(ours)}
    for row in records(theirs):
        mine = index[tuple(row[k] for k in key)]
        for column, value in row.items():
            if column not in OF_XPROF and column not in leave_out:
                assert mine[column] == near(value, row, column), (column, row)
    return index


@needs_xprof
@pytest.mark.slow
@pytest.mark.plain_build
def test_operations_of_a_tpu_are_those_of_xprof(tool, xprof):
    ours = same_rows(tool("hlo_stats", TPU), xprof[TPU]["hlo_stats"], ("program_id", "hlo_op_name"))
    assert len(ours) == len(xprof[TPU]["hlo_stats"]["rows"]) == 17
    theirs = xprof[TPU]["roofline_model"][0]
    theirs["rows"] = [row for row in theirs["rows"] if row["c"][0]["v"] == "Total" and row["c"][1]["v"] > 0]
    same_rows(tool("roofline_model", TPU)[0], theirs, ("include_infeed_outfeed", "hlo_module_id", "operation"))
    for one, other in zip(tool("framework_op_stats", TPU), xprof[TPU]["framework_op_stats"]):
        # A device's time also begins and ends with its programs; XProf's with their operations, 0.01 % less.
        other["rows"] = [row for row in other["rows"] if row["c"][1]["v"] == "Device" and row["c"][2]["v"] != "IDLE"]
        same_rows(one, other, ("host_or_device", "type", "operation"))


def nodes(node, path=()):
    yield (*path, node["name"]), node
    for child in node["children"]:
        yield from nodes(child, (*path, node["name"]))


@needs_xprof
@pytest.mark.slow
@pytest.mark.plain_build
@pytest.mark.parametrize("group", ["program", "category", "provenance"])
def test_the_tree_of_a_tpu_is_that_of_xprof(tool, xprof, group):
    """Sums of bytes are XProf's only where it adds all of them; FLOPs inside of fusions are known here."""
    ours, theirs = tool("op_profile", TPU, group_by=group), xprof[TPU][f"op_profile {group}"]
    assert ours.keys() == theirs.keys() and ours["deviceType"] == theirs["deviceType"]
    for key in (key for key in theirs if key.startswith("by")):
        mine = dict(nodes(ours[key]))
        compared = 0
        for path, node in nodes(theirs[key]):
            compared += 1
            assert set(mine[path]) == set(node) and len(mine[path]["children"]) == len(node["children"]), path
            is_inside = "xla" in mine.get(path[:-1], {}) and "duplicate" not in path[-2]
            for metric in ("rawTime", "occurrences", "avgTimePs", "bf16Flops", "normalizedTimePs", *["rawFlops"] * (not is_inside)):
                assert mine[path]["metrics"][metric] == pytest.approx(node["metrics"][metric], rel=2e-3, abs=4000), (path, metric)
            if not node["children"] and node.get("xla"):
                assert mine[path]["metrics"]["flops"] == pytest.approx(node["metrics"]["flops"], rel=1e-3)
                assert mine[path]["xla"].keys() == node["xla"].keys()
        assert compared == len(mine) >= 30


@needs_xprof
@pytest.mark.slow
@pytest.mark.plain_build
def test_runs_of_a_program_with_one_operation_are_told_apart(tool, xprof):
    """By the executions on the host: nothing links ROCm's kernels to them."""
    ours = {(row["program_id"], row["hlo_op_name"]): row for row in records(tool("hlo_stats", ROCM))}
    theirs = records(xprof[ROCM]["hlo_stats"])
    for row in theirs:
        mine = ours[row["program_id"], row["hlo_op_name"]]
        assert (mine["occurrences"], mine["total_time"]) == (row["occurrences"], pytest.approx(row["total_time"]))
    assert sum(row["occurrences"] == 3 for row in theirs) >= 5


@pytest.mark.parametrize("capture", [GPT, MATMUL, ROCM])
def test_times_of_operations_of_a_gpu_are_those_of_its_work(tool, capture):
    """Nothing is dropped, as XProf drops what its module does not name: kernels of graphs, copies."""
    work = sum(event.duration_ps for plane in xspace.load(path_of(capture)).planes if b"/device:GPU" in plane.name
               for line in plane.lines if line.name.startswith((b"Stream", b"stream")) for event in line.events)
    [rows] = tool("hlo_stats", capture, form="json").values()
    assert sum(row["total_self_time"] for row in rows) * 1e6 == pytest.approx(work, rel=1e-6)
    tree = tool("op_profile", capture, form="json")["nodes"]
    assert sum(row["time_ns"] for row in tree if row["depth"] == 1 and row["name"] != "IDLE") * 1000 == pytest.approx(work, rel=1e-6)
    by_path = {tuple(row["path"]): row for row in tree}
    for path, row in by_path.items():
        if path:
            assert row["time_ns"] <= by_path[path[:-1]]["time_ns"]
    assert by_path[()]["time_percent"] == pytest.approx(100)
    for path, row in by_path.items():
        if row["kind"] == "instruction":
            assert by_path[path[:-1]]["kind"] == "operation" and row["time_ns"] == 0
    inside = [row["flops"] for path, row in by_path.items() if path[-2:-1] == ("fusion.410",)]
    assert capture != GPT or len(inside) > 5 and inside == sorted(inside, reverse=True)


def test_steps_add_up(tool):
    said = tool("overview_page", GPT, form="json")
    parts = [key for key in said["steps"][0] if key.endswith("TimeMs") and key != "stepTimeMs"]
    assert len(said["steps"]) == 20 and len(parts) == 10
    for step in said["steps"]:
        assert sum(step[part] for part in parts) == pytest.approx(step["stepTimeMs"])
    assert sum(row["percent"] for row in said["parts"]) == pytest.approx(100)
    pod = tool("pod_viewer", GPT)["podStatsSequence"]["podStatsMap"]
    for step, core in ((step, core) for step in pod for core in step["podStatsPerCore"].values()):
        assert sum(core["stepBreakdownUs"].values()) == pytest.approx(core["totalDurationUs"])
        assert core["stepNum"] == step["stepNum"]
    assert len(pod) == 20


@needs_xprof
@pytest.mark.slow
@pytest.mark.plain_build
def test_devices_compute_as_long_as_xprof_says(tool, xprof):
    """XProf's step is that of the device alone, and copies are computing to it; what is left is computing."""
    theirs = {row["stepnum"]: row for row in records(xprof[GPT]["overview_page"][1])}
    ours = {row["stepnum"]: row for row in records(tool("overview_page", GPT)[1])}
    assert len(theirs) >= 18
    for number, row in theirs.items():
        assert ours[number]["deviceComputeTimeMs"] == pytest.approx(row["deviceComputeTimeMs"], rel=0.01)
    keys = [set(xprof[GPT]["pod_viewer"]), set(tool("pod_viewer", GPT))]
    assert keys[0] == keys[1]


@pytest.mark.slow
def test_formats_say_the_same(tool):
    for name in [*TABLES, "op_profile", "memory_profile", "pod_viewer", "megascale_stats", "memory_viewer"]:
        said = tool(name, GPT, form="json")
        text = tool(name, GPT, limit=3, form="text")
        assert len(text.splitlines()) < 120 and bool(text) == any(said.values()), name
        assert not re.search(r"(^| )\d{4,}(\.\d+)?( |$)", text), f"{name}: all numbers have their digits in groups"
    for name, table in (("hlo_stats", "operations"), ("memory_profile", "at_peak")):
        lines = list(csv.reader(io.StringIO(tool(name, GPT, table=table, form="csv"))))
        rows = tool(name, GPT, table=table, form="json")[table]
        assert lines[0] == list(rows[0]) and len(lines) == len(rows) + 1
        assert [line[0] for line in lines[1:]] == [str(row[lines[0][0]]) for row in rows]


def test_the_roofline_is_what_operations_need_at_the_peaks(tool):
    said = tool("roofline_model", TPU, form="json")
    [device] = said["device"]
    assert device["tflops"] == 918 and device["devices"] == 4
    beside = [row for row in said["roofline"] if re.search("-(start|done)$", row["category"])]
    assert len(beside) == 24
    for row in beside:
        assert row["bound_by"] == "Unknown" and row["roofline_efficiency"] is row["hbm_bw"] is None, "it takes no time of its own"
    for row in said["roofline"]:
        if row in beside:
            continue
        uses = row["compute_efficiency"], row["max_mem_bw_utilization"]
        assert row["roofline_efficiency"] == pytest.approx(max(uses))
        assert row["bound_by"] == ("Unknown" if max(uses) == 0 else "Compute" if uses[0] >= uses[1] else "HBM")
        if row["hbm_bw"]:
            assert uses[1] == pytest.approx(row["hbm_bw"] * 1.073741824 / device["hbm_gb_per_s"])


def test_steps_of_the_roofline_have_the_work_of_the_whole(tool):
    """All operations of the capture are in steps; a step takes the time that StepBreakdown gives it."""
    rows = [row for row in tool("roofline_model", GPT, form="json")["roofline"] if row["rank"] == 0 and row["include_infeed_outfeed"]]
    [total], [mean], steps = rows[:1], rows[1:2], rows[2:]
    assert (total["step"], mean["step"], [row["step"] for row in steps]) == ("Total", "Average", [str(number) for number in range(20)])
    for rate in "model_flop_rate", "hbm_bw", "xprof_model_flop_rate":
        work = sum(row[rate] * row["total_time"] for row in steps)
        assert work == pytest.approx(total[rate] * total["total_time"]) == pytest.approx(20 * mean[rate] * mean["total_time"])
    times = {row["stepnum"]: row["stepTimeMs"] for row in tool("overview_page", GPT, form="json")["steps"]}
    assert {row["step"]: row["total_time"] / 1e3 for row in steps} == pytest.approx(times)


def test_bytes_that_are_moved_beside_operations_count_once(kymo, place, tool):
    """A TPU's trace has them with the start of a copy and with its end."""
    rows = json.loads(kymo.ok("sql", TPU, "SELECT category, sum(hbm_bytes) AS bytes FROM DeviceOperation GROUP BY 1", "--format", "json", "--data-path", place))
    by = {row["category"]: row["bytes"] for row in rows}
    assert by["copy-start"] == by["copy-done"] > 0
    [root] = [row for row in tool("op_profile", TPU, form="json")["nodes"] if row["depth"] == 0]
    assert root["hbm_bytes"] == sum(by.values()) - by["copy-done"]
    copies = [row for row in tool("op_profile", TPU, form="json")["nodes"] if row["name"].startswith("copy-start")]
    assert copies and all(row["hbm_percent"] is row["wasted_percent"] is None for row in copies), "they take no time of their own: they have no rate"


def test_collectives_have_the_bandwidths_of_nccl_tests(kymo, tmp_path):
    path = DATA / "kineto" / "nccl_gpu_rank.json.gz"
    events = [(event["args"], event["dur"]) for event in json.load(gzip.open(path))["traceEvents"] if event.get("cat") == "kernel" and "nccl" in event["name"]]
    groups = collections.defaultdict(list)
    for told, duration in events:
        size = told["In msg nelems"] * {"Float": 4, "Long": 8}[told["dtype"]]
        groups[told["Collective name"], told["dtype"], size].append(duration)
    [*rows] = json.loads(kymo.ok("tool", "collective_stats", path, "--format", "json"))["collectives"]
    assert len(rows) == len(groups) and sum(row["occurrences"] for row in rows) == len(events) == 21
    for row in rows:
        times = groups[row["operation"], row["data_type"], row["size_bytes"]]
        assert (row["occurrences"], row["ranks"], row["communicator"]) == (len(times), 2, "default_pg:0 [0, 1]")
        assert row["total_us"] == pytest.approx(sum(times), abs=0.01) and row["min_us"] == pytest.approx(min(times), abs=0.01)
        algorithm = row["size_bytes"] / (sum(times) / len(times)) / 1e3
        assert row["algorithm_gb_per_s"] == pytest.approx(algorithm, rel=1e-3)
        assert row["bus_gb_per_s"] == pytest.approx(algorithm * (2 * (2 - 1) / 2 if row["operation"] == "allreduce" else 1), rel=1e-3)


def test_a_profile_of_an_earlier_version_is_told_how_to_get_its_steps(kymo, place, tmp_path):
    shutil.copytree(place / "profiles" / "global" / f"{GPT}@latest", tmp_path / "older")
    for table in "Device", "DeviceOperation", "StepBreakdown":
        (tmp_path / "older" / f"{table}.parquet").unlink()
    assert "`kymo view CAPTURE --force` makes it again" in kymo.ok("tool", "overview_page", tmp_path / "older")
    assert "The capture has no steps" in kymo.ok("tool", "overview_page", ROCM, "--data-path", place)


@needs_xprof
@pytest.mark.slow
@pytest.mark.plain_build
def test_memory_of_a_program_is_that_of_xprof(tool, xprof):
    """But for the order of buffers of the same size, and colors."""
    ours, theirs = tool("memory_viewer", GPT, module=MODULE), xprof[GPT]["memory_viewer"]
    assert ours.keys() == theirs.keys() and len(theirs["heapSizes"]) > 300
    for key in theirs.keys() - {"maxHeapBySize", "maxHeapToBySize", "bySizeToMaxHeap", "bufferBlocks"}:
        assert ours[key] == theirs[key], key
    assert [b["logicalBufferSizeMib"] for b in ours["maxHeapBySize"]] == [b["logicalBufferSizeMib"] for b in theirs["maxHeapBySize"]]
    assert sorted(b["logicalBufferId"] for b in ours["bufferBlocks"]) == sorted(b["logicalBufferId"] for b in theirs["bufferBlocks"])


def test_a_graph_has_what_is_near_an_operation(kymo, place, tool):
    said = tool("graph_viewer", GPT, op="fusion.410", form="json")
    names = {node["name"]: number for number, node in enumerate(said["nodes"])}
    assert "gemm_fusion_dot.144" in names and said["nodes"][0].keys() >= {"x", "y", "width", "height"}
    shown = tool("graph_viewer", GPT, op="fusion.410", form="text")
    assert shown.startswith("%fusion.410 = f32[8,8,256,256]") and "%gemm_fusion_dot.144 = " in shown.split("used by")[0]
    assert len(tool("graph_viewer", GPT, form="text").splitlines()) > 5000, "the whole module"
    assert "a graph is not a table" in kymo.refuses("tool", "graph_viewer", GPT, "--data-path", place, "--format", "csv")
    assert "no module 'x'" in kymo.refuses("tool", "memory_viewer", GPT, "--data-path", place, "--module", "x")


def deep_scopes(directory):
    """A TPU whose operation is in 200 scopes, deeper than JSON is usually nested."""
    space = xspace.XSpace()
    plane = xspace.PlaneWriter(space, "/device:TPU:0")
    line = plane.line("XLA Ops")
    plane.event(line, "%add.1 = f32[8] add(%a, %b)", 0, 1_000_000)
    metadata = plane.plane.event_metadata[0].value
    for key, value in {"program_id": 7, "symbol_id": 3, "tf_op": "/".join(f"scope{i}" for i in range(200)) + ":",
                       "hlo_category": "non-fusion elementwise"}.items():
        plane.stat(metadata.stats, key, value)
    path = directory / "deep.xplane.pb"
    path.write_bytes(space.SerializeToString())
    return path


def test_scopes_may_be_deep(kymo, tmp_path):
    path = deep_scopes(tmp_path)
    said = json.loads(kymo.ok("tool", "op_profile", path, "--format", "gviz", "--group-by", "provenance"))
    assert max(len(path) for path, _ in nodes(said["byProvenance"])) > 200


def test_what_cannot_be_asked_is_refused(kymo, place):
    assert "unknown tool hlo_stat\ndid you mean hlo_stats?" in kymo.refuses("tool", "hlo_stat", GPT, code=2).lower()
    assert "missing argument" in kymo.refuses("tool", "hlo_stats", code=2)
    assert "--group-by is for op_profile" in kymo.refuses("tool", "hlo_stats", path_of(GPT), "--group-by", "source", code=2)
    assert "has no table 'x'" in kymo.refuses("tool", "hlo_stats", GPT, "--data-path", place, "--table", "x")
    assert "'; SELECT" not in kymo.ok("tool", "kernel_stats", GPT, "--data-path", place, "--host", "vm")
    said = kymo.run("tool", "kernel_stats", GPT, "--data-path", place, "--host", "x' OR 'a' = 'a")
    assert said.returncode == 0 and said.stdout == "" and "nothing to show" in said.stderr
    listed = kymo.ok("tool")
    assert all(name in listed for name in TABLES)


@pytest.mark.slow
@pytest.mark.sanitized
def test_the_command_line_and_the_server_say_the_same(kymo, place, server, tool):
    def cli(name, profile, *options):
        return kymo.ok("tool", name, profile, "--data-path", place, *options)
    listed = {entry["name"]: entry["tables"] for entry in server.get("tools")["tools"]}
    assert listed["hlo_stats"] == ["operations"] and set(TABLES) < set(listed)
    assert tool("hlo_stats", GPT, form="json") == json.loads(cli("hlo_stats", GPT, "--format", "json"))
    assert tool("op_profile", TPU, group_by="category") == json.loads(cli("op_profile", TPU, "--format", "gviz", "--group-by", "category"))
    assert tool("roofline_model", TPU, form="text", limit=5) == cli("roofline_model", TPU, "--limit", "5")
    assert tool("memory_profile", GPT, form="csv", table="at_peak") == cli("memory_profile", GPT, "--format", "csv", "--table", "at_peak")
    assert "has nothing to show" in kymo.run("tool", "megascale_stats", GPT, "--data-path", place).stderr
    answer = server.ask("GET", f"profiles/{GPT}/tools/kernel_stats?format=csv&limit=2")
    assert answer.headers["Content-Type"].startswith("text/csv") and len(answer.body.splitlines()) == 3
    assert server.ask("GET", f"profiles/{GPT}/tools/nothing").error == "no tool 'nothing'"
    assert server.ask("GET", f"profiles/{GPT}/tools/hlo_stats?format=x").status == 400
    assert server.ask("GET", f"profiles/{GPT}/tools/hlo_stats?table=x").status == 404
    assert server.ask("GET", f"profiles/{GPT}/tools/op_profile?group_by=x").status == 400
    assert server.ask("GET", "profiles/none/tools/hlo_stats").status == 404
