"""Operations of devices, kernels in graphs, and the parts of steps, compared with brute force and with XProf."""

import collections
import json
import platform
import subprocess
import sys
import tarfile

import pytest

import xspace
from conftest import DATA
from test_gpu import Tables

XPLANE = DATA / "xplane"
CAPTURES = {
    "gpt": XPLANE / "jax_gpt_python_h200.xplane.pb", "matmul": XPLANE / "jax_matmul_h200.xplane.pb",
    "tpu": XPLANE / "tpu_inference.xplane.pb", "rocm": XPLANE / "rocm_mi300_gemm.xplane.pb",
    "tf": XPLANE / "tf_gpu_worker.xplane.pb", "cpu": XPLANE / "jax_cpu.xplane.pb",
    "torch": DATA / "kineto" / "nccl_gpu_rank.json.gz",
}
GPUS = ["gpt", "matmul", "rocm", "tf", "torch"]


@pytest.fixture(scope="module")
def tables(kymo, tmp_path_factory):
    made = {}

    def of(name):
        if name not in made:
            made[name] = Tables(kymo, CAPTURES[name], tmp_path_factory.mktemp(name) / "tables")
        return made[name]

    return of


# ---- Kernels in graphs ------------------------------------------------------------------------


def test_all_kernels_of_the_graphs_have_their_operation(tables):
    """318 kernels a step: equal fusions share a kernel, products are cuBLAS's."""
    operations = {row["id"]: row for row in tables("gpt").rows("HloOperation")}
    steps = collections.defaultdict(list)
    for row in sorted(tables("gpt").rows("GpuKernel"), key=lambda row: row["start_ts"]):
        steps[row["step_id"]].append(row)
    assert len(steps) == 20
    for rows in steps.values():
        assert {row["attribution"] for row in rows} == {"schedule order"}
        found = [row["operation_id"] for row in rows]
        assert len(set(found)) == len(found) == 318
        schedule = [operations[id]["schedule_index"] for id in found]
        assert schedule == sorted(schedule)
        named = [row for row in rows if not row["name"].startswith("nvjet")]
        same = [row for row in named if operations[row["operation_id"]]["name"].replace(".", "_").replace("-", "_") == row["name"]]
        assert len(named) - len(same) > 100
        library = [operations[row["operation_id"]] for row in rows if row["name"].startswith("nvjet")]
        assert len(library) == 32 and {row["category"] for row in library} == {"custom-call"}
        assert all(row["matrix_flops"] > 0 for row in library)


def hide_labels(space, drop=lambda number: False):
    """Of a converted recording: kernels of graphs say no more than the graph, as XLA's tracer has it. Those that
    are dropped are gone. Returns the operations of the others, in order of time."""
    truth = []
    for plane in space.planes:
        if not plane.name.startswith(b"/device:GPU"):
            continue
        stats = {entry.key: entry.value.name.decode() for entry in plane.stat_metadata}
        graph = max(stats) + 1
        entry = plane.stat_metadata.add(key=graph)
        entry.value.id, entry.value.name = graph, b"command_buffer_1"
        for line in plane.lines:
            kept = []
            for number, event in enumerate(line.events):
                keys = {stats[stat.metadata_id] for stat in event.stats}
                in_graph = {"cuda_graph_id", "hlo_op"} <= keys
                if in_graph and "kernel_details" in keys and drop(number):
                    continue
                kept.append(event)
                for stat in event.stats:
                    if not in_graph or stats[stat.metadata_id] != "hlo_op":
                        continue
                    operation = stats[stat.ref_value] if stat.ref_value else stat.str_value.decode()
                    if "kernel_details" in keys:
                        truth.append((event.offset_ps, operation))
                    stat.ref_value = graph
            events = [xspace._CLASSES["XEvent"].FromString(event.SerializeToString()) for event in kept]
            del line.events[:]
            line.events.extend(events)
    return [operation for _, operation in sorted(truth)]


def attributed(kymo, tmp_path, space, name):
    capture = tmp_path / f"{name}.xplane.pb"
    capture.write_bytes(space.SerializeToString())
    made = Tables(kymo, capture, tmp_path / name)
    operations = {row["id"]: row["name"] for row in made.rows("HloOperation")}
    rows = sorted(made.rows("GpuKernel"), key=lambda row: row["start_ts"])
    return [(row, operations.get(row["operation_id"])) for row in rows if row["hlo_op"] == "command_buffer_1"]


@pytest.mark.slow
def test_the_order_tells_operations_that_were_recorded_as_such(kymo, tmp_path):
    with tarfile.open(DATA / "gpu" / "jax_gpt_h200.tar.xz") as archive:
        archive.extractall(tmp_path)
    (capture,) = (tmp_path / "h200").iterdir()
    whole = tmp_path / "whole.xplane.pb"
    kymo.ok("convert", capture, whole)
    (program,) = (capture / "hlo").iterdir()
    metadata = xspace.XSpace()
    plane = metadata.planes.add(name=b"/host:metadata")
    plane.stat_metadata.add(key=1).value.MergeFrom(xspace._CLASSES["XStatMetadata"](id=1, name=b"Hlo Proto"))
    entry = plane.event_metadata.add(key=1)
    entry.value.id, entry.value.name = 1, b"jit_step(12698)"
    entry.value.stats.add(metadata_id=1, bytes_value=program.read_bytes())
    with whole.open("ab") as file:
        file.write(metadata.SerializeToString())
    space = xspace.load(whole)
    truth = hide_labels(space)
    rows = attributed(kymo, tmp_path, space, "hidden")
    assert len(rows) == len(truth) == 25 * 315
    assert [name for _, name in rows] == truth and {row["attribution"] for row, _ in rows} == {"schedule order"}
    # A kernel of one launch is missing: that launch fits no more, the others do, and nothing is wrong.
    space = xspace.load(whole)
    nodes = []
    truth = hide_labels(space, lambda number: nodes.append(number) or len(nodes) == 1000)
    rows = attributed(kymo, tmp_path, space, "cut")
    by_order = [(name, expected) for (row, name), expected in zip(rows, truth, strict=True)
                if row["attribution"] == "schedule order"]
    assert len(rows) == 25 * 315 - 1 and len(by_order) == 24 * 315
    assert all(name == expected for name, expected in by_order)


# ---- Sums of operations -----------------------------------------------------------------------


@pytest.mark.parametrize("name", GPUS)
def test_sums_of_operations_are_those_of_kernels_and_copies(tables, name):
    made = tables(name)
    work = made.rows("GpuKernel") + made.rows("GpuCopy")
    devices = {row["id"]: row for row in made.rows("Device")}
    rows = made.rows("DeviceOperation")
    assert sum(row["kernel_count"] for row in rows) == len(work)
    assert sum(row["self_ns"] for row in rows) == pytest.approx(sum(row["duration_ns"] for row in work), abs=len(work))
    expected = collections.defaultdict(lambda: [0, 0])
    for row in made.rows("GpuKernel"):
        if row["operation_id"] is not None:
            key = row["device_idx"], row["operation_id"]
            expected[key][0] += 1
            expected[key][1] += row["duration_ns"]
    found = {(devices[row["device_id"]]["device_idx"], row["operation_id"]): row
             for row in rows if row["operation_id"] is not None and row["category"] != "copy"}
    assert expected.keys() <= found.keys()
    for key, (kernels, total) in expected.items():
        assert found[key]["kernel_count"] == kernels and abs(found[key]["total_ns"] - total) <= kernels
    events = {row["id"] for row in work}
    for row in rows:
        assert row["first_event_id"] in events
        assert row["occurrence_count"] <= row["kernel_count"]
        assert row["min_ns"] <= row["total_ns"] / row["occurrence_count"] <= row["max_ns"] + 1
        assert row["tensor_core_ns"] <= row["total_ns"]
    for row in devices.values():
        own = [op for op in rows if op["device_id"] == row["id"]]
        assert abs(row["op_ns"] - sum(op["self_ns"] for op in own)) <= len(own)
        assert row["idle_ns"] == row["span_ns"] - row["busy_ns"] and row["busy_ns"] <= row["op_ns"] + 1


def test_costs_are_those_of_one_execution_times_executions(tables):
    made = tables("gpt")
    operations = {row["id"]: row for row in made.rows("HloOperation")}
    costed = 0
    for row in made.rows("DeviceOperation"):
        operation = operations.get(row["operation_id"])
        if not operation:
            continue
        assert row["occurrence_count"] == 20
        for column in ("flops", "matrix_flops", "xprof_flops", "bytes_accessed"):
            one = operation[column]
            assert (row[column] is None) == (one is None)
            costed += one is not None
            assert one is None or row[column] == pytest.approx(20 * one)
        assert (row["category"], row["expression"]) == (operation["category"], operation["expression"])
    assert costed > 318 * 3
    [device] = made.rows("Device")
    assert (device["name"], device["peak_type"], device["peak_flops"]) == ("NVIDIA H200", "bf16", 989.4e12)
    rates = [row["flops"] / row["total_ns"] * 1e9 for row in made.rows("DeviceOperation") if row["matrix_flops"]]
    assert max(rates) < device["peak_flops"]


def test_operators_of_pytorch_are_named_with_their_kernels(tables):
    made = tables("torch")
    kernels = {row["id"]: row for row in made.rows("GpuKernel") + made.rows("GpuCopy")}
    named = [row for row in made.rows("DeviceOperation") if row["attribution"] == "framework operator"]
    assert len(named) > 50
    for row in named:
        first = kernels[row["first_event_id"]]
        assert row["framework_op"] == first["framework_op"] and row["name"] == f"{row['framework_op']}/{first['name']}"


def test_operations_on_the_cpu_are_those_of_xla(tables):
    made = tables("cpu")
    [device] = made.rows("Device")
    assert device["kind"] == "CPU" and device["peak_flops"] is None
    expected = collections.defaultdict(list)
    for row in made.rows("SystemProfileEvents"):
        args = json.loads(row["extra_attributes_json"] or "{}")
        if "hlo_op" in args:
            expected[args["hlo_op"]].append(row)
    rows = {row["name"]: row for row in made.rows("DeviceOperation")}
    assert rows.keys() == expected.keys() and len(rows) == 6
    for name, events in expected.items():
        assert rows[name]["occurrence_count"] == len(events) == 5
        assert abs(rows[name]["total_ns"] - sum(event["duration_ns"] for event in events)) <= 5
        assert abs(rows[name]["self_ns"] - sum(event["self_ns"] for event in events)) <= 5
        assert rows[name]["flops"] > 0 and rows[name]["operation_id"] is not None


HLO_STATS = """
import json, sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], "hlo_stats", {})
table = json.loads(data)
names = [column["id"] for column in table["cols"]]
print(json.dumps([dict(zip(names, (cell["v"] for cell in row["c"]))) for row in table["rows"]]))
"""


def hlo_stats(capture, folder):
    copy = folder / "host.xplane.pb"
    copy.write_bytes(capture.read_bytes())
    return json.loads(subprocess.run([sys.executable, "-c", HLO_STATS, copy], capture_output=True, check=True).stdout)


@pytest.mark.slow
@pytest.mark.plain_build
@pytest.mark.skipif(platform.machine() != "x86_64", reason="XProf is published for x86-64 alone")
def test_operations_of_tpus_are_those_xprof_shows(tables, tmp_path):
    made = tables("tpu")
    summed = collections.defaultdict(lambda: collections.defaultdict(float))
    texts = {}
    for row in made.rows("DeviceOperation"):
        key = str(row["program_id"] % 2**64), row["name"]
        texts[key] = row["category"], row["expression"], row["framework_op"]
        for column in ("occurrence_count", "total_ns", "self_ns", "xprof_flops", "xprof_device_flops", "bytes_accessed", "hbm_bytes"):
            summed[key][column] += row[column] or 0
    shown = hlo_stats(CAPTURES["tpu"], tmp_path)
    assert len(shown) == len(summed) == 17
    for row in shown:
        own = summed[row["program_id"], row["hlo_op_name"]]
        category, expression, framework = texts[row["program_id"], row["hlo_op_name"]]
        assert (category, expression) == (row["category"], row["hlo_op_expression"])
        assert row["tf_op_name"] in ("", f"{framework}:") and row["core_type"] == "TensorCore"
        assert own["occurrence_count"] == row["occurrences"]
        assert own["total_ns"] == pytest.approx(row["total_time"] * 1e3, abs=4)
        assert own["self_ns"] == pytest.approx(row["total_self_time"] * 1e3, abs=4)
        gib = 1.073741824
        for column, rate, unit in [("xprof_flops", "model_flop_rate", 1), ("xprof_device_flops", "normalized_flop_rate", 1),
                                   ("bytes_accessed", "measured_memory_bw", gib), ("hbm_bytes", "hbm_bw", gib)]:
            rounding = 1e-6 + 4 / own["total_ns"]
            assert own[column] / own["total_ns"] == pytest.approx(row[rate] * unit, rel=rounding, abs=1e-9)


@pytest.mark.slow
@pytest.mark.plain_build
@pytest.mark.skipif(platform.machine() != "x86_64", reason="XProf is published for x86-64 alone")
def test_operations_of_gpus_have_all_that_xprof_shows_of_them(tables, tmp_path):
    """XProf leaves out what it finds no operation for; what it shows is the same."""
    made = tables("matmul")
    rows = {(row["program_id"], row["name"]): row for row in made.rows("DeviceOperation")}
    shown = hlo_stats(CAPTURES["matmul"], tmp_path)
    assert len(shown) == 2
    for row in shown:
        program = int(row["program_id"]) or None
        own = rows[program, row["hlo_op_name"]]
        assert own["kernel_count"] == row["occurrences"] and own["category"] == row["category"]
        assert own["total_ns"] == pytest.approx(row["total_time"] * 1e3, abs=1)
        flops = own["xprof_flops"] or 0
        assert flops / own["total_ns"] == pytest.approx(row["model_flop_rate"], rel=1e-6)


# ---- Parts of steps ---------------------------------------------------------------------------

COMPUTE = ["compute_16_ns", "compute_32_ns", "compute_other_ns"]
ORDER = [*COMPUTE, "device_to_host_ns", "device_to_device_ns", "collectives_ns", "host_to_device_ns"]
HOST = ["input_wait_ns", "host_compute_ns", "kernel_launch_ns", "compile_ns"]
MIN_GAP_PS = 3_000_000


def part_of(row, types):
    name = row["name"]
    copies = [("MemcpyH2D", 6), ("Memcpy HtoD", 6), ("MemcpyD2H", 3), ("Memcpy DtoH", 3), ("MemcpyD2D", 4), ("Memcpy DtoD", 4)]
    for prefix, part in copies:
        if name.startswith(prefix):
            return part
    if name.startswith(("MemcpyH2H", "MemcpyOther")):
        return 7
    if "nccl" in name.lower():
        return 5
    type = types.get(row.get("operation_id"))
    if type:
        return 0 if type in ("bf16", "f16") or type.startswith("f8") else 1 if type == "f32" else 2
    low = name.lower()
    if any(word in low for word in ("bf16", "bfloat16", "half", "fp16", "f16", "s16816", "h1688", "h884")):
        return 0
    return 1 if any(word in low for word in ("float", "fp32", "f32", "sgemm", "s1688")) else 2


def host_class(name):
    """Of the captures here."""
    function = name.split(" ")[-1] if name.startswith("$") else ""
    if name.startswith(("cuLaunch", "cudaLaunch", "cuGraphLaunch", "cudaGraphLaunch")):
        return 1
    if name.startswith(("cuStreamSynchronize", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cuEventSynchronize",
                        "BlockHost", "np.asarray(jax.Array)", "block_until_ready", "PjRtBuffer::Await")):
        return 2
    if name in ("cudaMemcpy", "cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2", "cuMemsetD8_v2", "cuMemsetD32_v2") or function in ("block_until_ready", "synchronize"):
        return 2
    if name in ("cudaMalloc", "cudaFree", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cudaHostAlloc"):
        return 3
    if "dataloader" in name.lower() or name.startswith("Iterator::"):
        return 4
    if name.startswith(("cuModuleLoad", "cuLibraryLoad", "XlaCompile", "backend_compile")) or function in ("backend_compile_and_load", "compile_or_get_cached"):
        return 5
    return 6 if name.startswith("$profiler.py") and function in ("start_trace", "stop_trace") else 0


def ps(row):
    start = row["start_ts"] * 1000 + row["start_fraction_ps"]
    return start, start + max(0, row["duration_ns"] * 1000 + row["duration_fraction_ps"])


class Timeline:
    """Work of a device and events of host lanes, in picoseconds."""

    def __init__(self, made, device):
        types = {row["id"]: row["compute_type"] for row in made.rows("HloOperation")}
        work = {row["id"]: row for row in made.rows("GpuKernel") + made.rows("GpuCopy") if row["device_idx"] == device}
        self.work, self.launches, self.lanes, self.tracks = [], {}, collections.defaultdict(list), {}
        events = made.rows("SystemProfileEvents")
        for row in events:
            start, end = ps(row)
            self.tracks[row["id"]] = row["track_id"], end
            if row["id"] in work:
                self.work.append((start, end, part_of(work[row["id"]], types), work[row["id"]]["launch_event_id"]))
            elif row["nc_idx"] is None and end > start:
                self.lanes[row["track_id"]].append((start, end, host_class(row["name"])))
        self.work.sort(key=lambda item: item[:2])

    def gaps(self, first, last):
        """(from, to, event that launched what ends it) of times without work."""
        reached = first
        for start, end, _, launch in self.work:
            if start > reached and start > first:
                yield reached, min(start, last), launch
            reached = max(reached, end)
            if reached >= last:
                return
        yield reached, last, None

    def parts(self, first, last):
        """Time of each part in a step, of the device."""
        near = [item for item in self.work if item[0] < last and item[1] > first]
        times = sorted({first, last, *(t for item in near for t in item[:2] if first < t < last)})
        sums = collections.Counter()
        for since, until in zip(times, times[1:]):
            kinds = [item[2] for item in near if item[0] <= since and item[1] >= until]
            sums[min(kinds) if kinds else None] += until - since
        return sums

    def host(self, lane, since, until):
        """Time of each class on a lane."""
        near = [event for event in self.lanes[lane] if event[0] < until and event[1] > since]
        times = sorted({since, until, *(t for event in near for t in event[:2] if since < t < until)})
        sums = collections.Counter()
        for a, b in zip(times, times[1:]):
            classes = [event[2] for event in near if event[0] <= a and event[1] >= b]
            sums[max(classes) if classes else None] += b - a
        return sums


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt", "matmul", "torch"])
def test_parts_of_steps_are_those_of_brute_force(tables, name):
    made = tables(name)
    [device] = [row for row in made.rows("Device") if row["busy_ns"]]
    timeline = Timeline(made, device["device_idx"])
    steps = {row["id"]: row for row in made.rows("Step")}
    events = {row["id"]: row for row in made.rows("SystemProfileEvents") if row["id"] in {s["event_id"] for s in steps.values()}}
    rows = made.rows("StepBreakdown")
    assert len(rows) == len(steps) and sum(row["compute_16_ns"] + row["compute_32_ns"] for row in rows) > 0
    main = next(iter(events.values()))["track_id"]
    begins = {row["step_id"]: row["start_ts"] for row in rows}
    for row in rows:
        assert sum(row[part] for part in [*ORDER, *HOST, "other_ns"]) == row["duration_ns"]
        step = steps[row["step_id"]]
        inside = step["device_event_count"] == 0 or (
            step["start_ts"] <= step["device_start_ts"] and step["device_end_ts"] <= step["end_ts"])
        end = step["end_ts"] if inside else step["device_end_ts"]
        assert abs(row["start_ts"] + row["duration_ns"] - end) <= 2
        earlier = [s["device_end_ts"] for s in steps.values() if s["id"] < step["id"] and s["device_event_count"]]
        start = step["start_ts"] if inside else min(step["device_start_ts"], max([step["start_ts"], *earlier]))
        assert abs(begins[row["step_id"]] - start) <= 1
        first, last = row["start_ts"] * 1000, (row["start_ts"] + row["duration_ns"]) * 1000
        expected = timeline.parts(first, last)
        for number, part in enumerate(ORDER):
            assert abs(row[part] - expected[number] / 1000) <= 3, part
        assert abs(row["idle_ns"] - expected[None] / 1000) <= 3
    window = min(row["start_ts"] for row in rows) * 1000, max(row["start_ts"] + row["duration_ns"] for row in rows) * 1000
    if any(step["origin"] == "guessed" for step in steps.values()):  # when the last one ends is not known
        window = window[0], max(step["device_end_ts"] for step in steps.values()) * 1000
    spent = [collections.Counter() for _ in rows]
    for since, until, launch in timeline.gaps(*window):
        if until - since < MIN_GAP_PS:
            continue
        lane, returned = timeline.tracks[launch] if launch is not None else (main, until)
        until = min(until, returned)
        for row, sums in zip(rows, spent):
            a = max(since, row["start_ts"] * 1000)
            b = min(until, (row["start_ts"] + row["duration_ns"]) * 1000)
            if b > a:
                sums.update(timeline.host(lane, a, b))
    for row, sums in zip(rows, spent):
        assert abs(row["kernel_launch_ns"] - sums[1] / 1000) <= 50
        assert abs(row["input_wait_ns"] - sums[4] / 1000) <= 50
        assert abs(row["compile_ns"] - sums[5] / 1000) <= 50
        assert abs(row["host_compute_ns"] - (sums[0] + sums[3]) / 1000) <= 50


def test_steps_of_tpus_and_of_hosts_add_up(tables):
    for name, steps in [("tpu", 400), ("tf", 2), ("cpu", 5)]:
        rows = tables(name).rows("StepBreakdown")
        assert len(rows) == steps
        for row in rows:
            assert sum(row[part] for part in [*ORDER, *HOST, "other_ns"]) == row["duration_ns"]
            assert all(row[part] >= 0 for part in [*ORDER, *HOST, "other_ns"])
    assert all(row["device_id"] is None and row["host_compute_ns"] > 0 for row in rows)
    rows = tables("tpu").rows("StepBreakdown")
    # Copies to and from the host's memory are most of these steps; the device computes with f32.
    assert all(row["host_to_device_ns"] + row["device_to_host_ns"] > 0.85 * row["duration_ns"] for row in rows)
    assert all(row["compute_32_ns"] > 0 and row["compute_16_ns"] == 0 for row in rows)
    # Two of eight devices have the step; they are out of phase, and each takes as long as its own work.
    made = tables("tf")
    work = [event for event in made.rows("SystemProfileEvents") if event["step_id"] is not None and event["trace_event_source"].endswith("hw")]
    tracks = {track["id"]: track for track in made.rows("Track")}
    spans = collections.defaultdict(list)
    for event in work:
        if tracks[event["track_id"]]["name"] != "Steps":
            spans[tracks[event["track_id"]]["parent_id"]].append((event["start_ts"], event["end_ts"]))
    longest = [max(end for _, end in own) - min(start for start, _ in own) for own in spans.values()]
    [step] = made.rows("Step")
    assert step["device_ns"] == pytest.approx(max(longest), abs=2) and 20 * step["device_ns"] < step["end_ts"] - step["start_ts"]


@pytest.mark.parametrize("name, expected", [
    ("gpt", ("GPU", "NVIDIA H200", "Nvidia GPU (Hopper)", "device table", 989.4e12, 1070.53056e12, 4814.304e9)),
    ("tf", ("GPU", "NVIDIA GPU (Volta)", "Nvidia GPU (Volta)", "compute capability", 125.3376e12, 125.3376e12, 898.048e9)),
    ("rocm", ("GPU", "AMD GPU (gfx942)", "AMD GPU - gfx942", "compute capability", 1307.4432e12, 1307.4432e12, 2662.4e9)),
    ("tpu", ("TPU", "TPU v6 Lite", "TPU v6 Lite", "capture", 918e12, 918e12, 1637.993152512e9)),
])
def test_devices_have_their_peaks(tables, name, expected):
    for row in tables(name).rows("Device"):
        texts = tuple(row[column] for column in ("kind", "name", "type", "peaks_from"))
        figures = [row[column] for column in ("peak_flops", "xprof_peak_flops", "hbm_bytes_per_s")]
        assert texts == expected[:4] and figures == pytest.approx(expected[4:])
