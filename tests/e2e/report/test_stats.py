"""kymo stats: the summaries of Nsight Systems, against figures computed from the captures themselves."""

import collections
import csv
import gzip
import io
import json
import re
import signal
import statistics
import subprocess
import time

import pytest

import kernel_names
import xspace
from conftest import DATA
from test_torch import Trace

NCCL = DATA / "kineto" / "nccl_gpu_rank.json.gz"
MATMUL = DATA / "xplane" / "jax_matmul_h200.xplane.pb"
TPU = DATA / "xplane" / "tpu_inference.xplane.pb"
SPREAD = ["Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"]
COPIES = {"HtoD": "Host-to-Device", "DtoH": "Device-to-Host", "DtoD": "Device-to-Device"}


def spread(values):
    deviation = statistics.stdev(values) if len(values) > 1 else 0
    return [statistics.fmean(values), statistics.median(values), min(values), max(values), deviation]


def check_summary(rows, groups, name, count="Instances"):
    """Rows of a summary are those of the groups: {name: durations}, by total time."""
    durations = {kernel_names.key(key): values for key, values in groups.items()}
    assert {kernel_names.key(row[name]): (row["Total Time (ns)"], row[count]) for row in rows} == {
        key: (sum(values), len(values)) for key, values in durations.items()
    }
    for row in rows:
        assert [row[column] for column in SPREAD] == pytest.approx(spread(durations[kernel_names.key(row[name])]))
    whole = sum(map(sum, groups.values()))
    assert [row["Time (%)"] for row in rows] == pytest.approx([100 * row["Total Time (ns)"] / whole for row in rows])
    assert sum(row["Time (%)"] for row in rows) == pytest.approx(100)
    assert [row["Total Time (ns)"] for row in rows] == sorted((sum(v) for v in groups.values()), reverse=True)


class Kineto:
    """A capture of torch.profiler, read by Python's own JSON reader."""

    def __init__(self, path):
        document = json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_text())
        events = [e for e in document["traceEvents"] if e.get("ph") == "X"]
        zero = min(e["ts"] for e in events)
        self.events = [
            e | {"from": round((e["ts"] - zero) * 1000), "ns": round(e["dur"] * 1000), "args": e.get("args", {})} for e in events
        ]

    def of(self, *categories):
        return [e for e in self.events if e.get("cat") in categories]

    def groups(self, *categories, key=lambda event: event["name"]):
        groups = collections.defaultdict(list)
        for event in self.of(*categories):
            groups[key(event)].append(event["ns"])
        return groups


@pytest.fixture(scope="module")
def nccl(kymo):
    return Kineto(NCCL), kymo.json("stats", NCCL, "--format", "json")


def copy_name(event):
    if event["cat"] == "gpu_memset":
        return "[CUDA memset]"
    return f"[CUDA memcpy {COPIES[re.search('HtoD|DtoH|DtoD', event['name'])[0]]}]"


@pytest.mark.slow
def test_kernels_copies_and_calls_are_those_of_the_capture(nccl):
    capture, reports = nccl
    check_summary(reports["cuda_gpu_kern_sum"], capture.groups("kernel"), "Name")
    check_summary(reports["cuda_api_sum"], capture.groups("cuda_runtime", "cuda_driver"), "Name", "Num Calls")
    check_summary(reports["cuda_gpu_mem_time_sum"], capture.groups("gpu_memcpy", "gpu_memset", key=copy_name), "Operation", "Count")
    check_summary(reports["nvtx_pushpop_sum"], capture.groups("user_annotation"), "Range")
    waits = {name: v for name, v in capture.groups("cuda_runtime").items() if name.endswith("Synchronize")}
    check_summary(reports["cuda_api_sync_sum"], waits, "Name", "Num Calls")
    shapes = collections.Counter()
    for event in capture.of("kernel"):
        shape = [tuple(event["args"][key]) for key in ("grid", "block")]
        shapes[(kernel_names.key(event["name"]), *shape)] += event["ns"]
    assert shapes == {
        (kernel_names.key(row["Name"]), *(tuple(map(int, row[key].split())) for key in ("GridXYZ", "BlockXYZ"))): row["Total Time (ns)"]
        for row in reports["cuda_gpu_kern_gb_sum"]
    }
    sizes = collections.defaultdict(list)
    for event in capture.of("gpu_memcpy", "gpu_memset"):
        sizes[copy_name(event)].append(event["args"]["bytes"] / 1e6)
    for row in reports["cuda_gpu_mem_size_sum"]:
        values = sizes.pop(row["Operation"])
        assert row["Count"] == len(values) and row["Total (MB)"] == pytest.approx(sum(values))
        assert [row[c.replace("ns", "MB")] for c in SPREAD] == pytest.approx(spread(values))
    assert not sizes


def test_one_ranking_of_the_gpu_has_the_totals_of_the_others(nccl):
    _, reports = nccl
    totals = collections.Counter()
    for row in reports["cuda_api_gpu_sum"]:
        totals[row["Category"]] += row["Total Time (ns)"]
    for category, report in (("CUDA_KERNEL", "cuda_gpu_kern_sum"), ("MEMORY_OPER", "cuda_gpu_mem_time_sum"), ("CUDA_API", "cuda_api_sum")):
        assert totals[category] == sum(row["Total Time (ns)"] for row in reports[report])
    assert {row["Category"] for row in reports["cuda_gpu_sum"]} == {"CUDA_KERNEL", "MEMORY_OPER"}
    assert sum(row["Total Time (ns)"] for row in reports["cuda_gpu_sum"]) == totals["CUDA_KERNEL"] + totals["MEMORY_OPER"]


def test_time_from_launch_to_end_is_split(nccl):
    capture, reports = nccl
    calls = {e["args"]["correlation"]: e for e in capture.of("cuda_runtime", "cuda_driver")}
    groups = collections.defaultdict(list)
    for kernel in capture.of("kernel"):
        call = calls[kernel["args"]["correlation"]]
        end = call["from"] + call["ns"]
        groups[call["tid"], call["name"], kernel_names.key(kernel["name"])].append(
            (kernel["from"] + kernel["ns"] - call["from"], call["ns"], max(kernel["from"] - end, 0), kernel["ns"])
        )
    rows = reports["cuda_kern_exec_sum"]
    assert len(rows) == len(groups)
    for row in rows:
        values = groups[row["TID"], row["API Name"], kernel_names.key(row["Kernel Name"])]
        assert row["Count"] == len(values)
        queued = [v[2] for v in values if v[2] > 0]
        assert row["QCount"] == pytest.approx(len(queued), abs=1)  # times of the JSON are rounded
        for letter, part in (("T", [v[0] for v in values]), ("A", [v[1] for v in values]), ("K", [v[3] for v in values])):
            shown = [row[f"{letter}{c}"] for c in SPREAD]
            assert shown == pytest.approx(spread(part), rel=1e-3, abs=2)


def test_ranges_are_projected_on_the_gpu(nccl):
    capture, reports = nccl
    calls = {e["args"]["correlation"]: e for e in capture.of("cuda_runtime", "cuda_driver")}
    work = [(calls[w["args"]["correlation"]], w) for w in capture.of("kernel", "gpu_memcpy", "gpu_memset")]
    projected, kernels = collections.defaultdict(list), collections.Counter()
    for span in capture.of("user_annotation"):
        inside = [
            w for call, w in work
            if (call["pid"], call["tid"]) == (span["pid"], span["tid"]) and span["from"] <= call["from"] < span["from"] + span["ns"]
        ]  # fmt: skip
        if inside:
            last = max(w["from"] + w["ns"] for w in inside)
            projected[span["name"]].append((last - min(w["from"] for w in inside), len(inside)))
        for w in inside:
            if w["cat"] == "kernel":
                kernels[span["name"], w["name"]] += 1
    rows = reports["nvtx_gpu_proj_sum"]
    assert {r["Range"]: (r["Range Instances"], r["Total GPU Ops"]) for r in rows} == {
        name: (len(values), sum(ops for _, ops in values)) for name, values in projected.items()
    }
    for row in rows:
        assert row["Total Proj Time (ns)"] == pytest.approx(sum(ns for ns, _ in projected[row["Range"]]), abs=10)
    shown = collections.Counter()
    for row in reports["nvtx_kern_sum"]:
        shown[row["NVTX Range"], row["Kernel Name"]] += row["Kern Inst"]
    assert shown == kernels


def test_nccl_overlaps_with_computation(nccl):
    capture, reports = nccl

    def union(spans):
        points = set()
        for span in spans:
            points.update(range(span["from"] // 100, (span["from"] + span["ns"]) // 100))
        return points

    communicates = union(e for e in capture.of("kernel") if "nccl" in e["name"].lower())
    computes = union(e for e in capture.of("kernel") if "nccl" not in e["name"].lower())
    (row,) = reports["nccl_gpu_overlap_sum"]
    assert row["NCCL Time (ns)"] == pytest.approx(100 * len(communicates), rel=0.01)
    assert row["Compute Time (ns)"] == pytest.approx(100 * len(computes), rel=0.01)
    assert row["Overlap Time (ns)"] == pytest.approx(100 * len(communicates & computes), rel=0.01)
    assert row["Overlap Time (ns)"] + row["Exposed NCCL Time (ns)"] == row["NCCL Time (ns)"]
    assert row["NCCL Overlapped (%)"] == pytest.approx(100 * row["Overlap Time (ns)"] / row["NCCL Time (ns)"])


def low_parts(work):
    """Times in which less than half is covered by work, in 30 parts: (share, length), neighbors merged."""
    first, last = min(e["from"] for e in work), max(e["from"] + e["ns"] for e in work)
    width = -(-(last - first) // 30)
    merged, found, is_open = [], [], False
    for start, end in sorted((e["from"], e["from"] + e["ns"]) for e in work):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    for start in range(first, last, width):
        end = min(start + width, last)
        busy = sum(max(0, min(b, end) - max(a, start)) for a, b in merged)
        is_low = busy < 0.5 * (end - start)
        if is_low and is_open:
            found[-1] = found[-1][0] + busy, found[-1][1] + end - start
        elif is_low:
            found.append((busy, end - start))
        is_open = is_low
    return [(100 * busy / length, length) for busy, length in found]


def test_low_utilization_is_that_of_parts_of_the_time(kymo, nccl):
    capture, _ = nccl
    rows = kymo.json("stats", NCCL, "gpu_time_util", "--format", "json")
    expected = sorted(low_parts(capture.of("kernel", "gpu_memcpy", "gpu_memset")))
    assert len(rows) == len(expected) > 0
    for row, (share, length) in zip(rows, expected):
        assert row["In-Use (%)"] == pytest.approx(share, abs=0.01) and row["Duration (ns)"] == pytest.approx(length, abs=100)


def test_kernels_of_an_xplane_are_those_of_its_streams(kymo):
    (gpu,) = (p for p in xspace.load(MATMUL).planes if p.name == b"/device:GPU:0")
    stats = {e.key: e.value.name.decode() for e in gpu.stat_metadata}
    names = {e.key: e.value.name.decode() for e in gpu.event_metadata}
    groups = collections.defaultdict(list)
    for line in gpu.lines:
        for event in line.events if line.name.startswith(b"Stream") else []:
            if "kernel_details" in {stats[s.metadata_id] for s in event.stats}:
                groups[names[event.metadata_id]].append(event.duration_ps)
    reports = kymo.json("stats", MATMUL, "--format", "json")
    rows = reports["cuda_gpu_kern_sum"]
    assert {r["Name"]: r["Instances"] for r in rows} == {name: len(v) for name, v in groups.items()}
    for row in rows:
        assert row["Total Time (ns)"] == pytest.approx(sum(groups[row["Name"]]) / 1000, abs=row["Instances"])
    operations = reports["hlo_op_sum"]
    assert sum(r["Instances"] for r in operations) <= sum(r["Instances"] for r in rows)
    assert sum(r["Time (%)"] for r in operations) == pytest.approx(100)


@pytest.fixture
def made(tmp_path):
    """A thread that waits, copies and launches late; times in microseconds."""
    trace = Trace(tmp_path / "made.pt.trace.json")
    at = {"copy": "Memcpy HtoD (Pageable -> Device)"}
    for number, (call, ts, dur) in enumerate(
        [("cudaLaunchKernel", 0, 10), ("cudaLaunchKernel", 5000, 10), ("cudaLaunchKernel", 12000, 10),
         ("cudaMemcpyAsync", 20000, 10), ("cudaMemcpy", 21000, 500), ("cudaMemset", 22000, 10), ("cudaLaunchKernel", 23000, 10)]
    ):  # fmt: skip
        trace.add("cuda_runtime", call, ts, dur, correlation=number)
    trace.add("cuda_runtime", "cudaDeviceSynchronize", 10, 3000)
    trace.kernel(20, 1000, 0, name="void ns::first<float, (int)3>(float*)")
    trace.kernel(5020, 1000, 1, name="second")  # launched after the wait for the first
    trace.kernel(12020, 1000, 2, name="third")  # launched late, nobody waited
    trace.kernel(20020, 50, 3, name=at["copy"], cat="gpu_memcpy", bytes=1000)
    trace.kernel(21020, 400, 4, name=at["copy"], cat="gpu_memcpy", bytes=2000)
    trace.kernel(22020, 5, 5, name="Memset (Device)", cat="gpu_memset", bytes=10)
    trace.kernel(23020, 5, 6, name="fourth")
    return trace.write()


def test_gaps_have_a_cause(kymo, made):
    rows = kymo.json("stats", made, "gpu_gaps", "--format", "json")
    assert [r["Duration (ns)"] for r in rows] == sorted((r["Duration (ns)"] for r in rows), reverse=True)
    causes = {(r["Start (ns)"], r["Duration (ns)"]): (r["Cause"], r["Waited In"]) for r in rows}
    assert causes[1020000, 4000000] == ("synchronization", "cudaDeviceSynchronize")
    assert causes[6020000, 6000000] == ("nothing launched", None)
    assert causes[21420000, 600000] == ("copy", "cudaMemcpy")
    busy = kymo.json("stats", made, "gpu_time_util", "--format", "json")
    assert busy and all(r["In-Use (%)"] < 50 for r in busy)
    assert sum(r["Duration (ns)"] for r in busy) <= 23025000


def test_rules_list_their_events(kymo, made):
    reports = kymo.json("stats", made, "cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync", "cuda_api_sync", "--format", "json")
    assert {name: [(r["API Name"], r["Duration (ns)"]) for r in rows] for name, rows in reports.items()} == {
        "cuda_memcpy_async": [("cudaMemcpyAsync", 50000)],
        "cuda_memcpy_sync": [("cudaMemcpy", 400000)],
        "cuda_memset_sync": [("cudaMemset", 5000)],
        "cuda_api_sync": [("cudaDeviceSynchronize", 3000000)],
    }


def test_csv_text_and_units_say_the_same(kymo, made):
    (row,) = [r for r in csv.DictReader(io.StringIO(kymo.ok("stats", made, "cuda_gpu_kern_sum:base", "--format", "csv", "--timeunit", "us")))
              if r["Name"] == "first"]  # fmt: skip
    assert float(row["Total Time (us)"]) == 1000
    text = kymo.ok("stats", made, "gpukernsum:base", "--timeunit", "ms")
    assert text.startswith("CUDA GPU Kernel Summary (cuda_gpu_kern_sum)\n")
    line = next(line for line in text.splitlines() if line.endswith("  first"))
    assert line.split() == ["33.3", "1.000", "1", "1.000", "1.000", "1.000", "1.000", "0.000", "first"]
    assert kymo.ok("stats", made, "cuda_gpu_trace", "--limit", 2, "--format", "csv").count("\n") == 3
    parts = kymo.ok("stats", made, "--format", "csv").split("\n\n")
    names = [part.splitlines()[0] for part in parts]
    assert "cuda_gpu_kern_sum" in names and "nccl_sum" not in names


def stop_at(kymo, capture, scratch, moment, number):
    """Stops kymo stats as soon as there is a file of that name; its exit status."""
    process = subprocess.Popen([kymo.path, "stats", capture], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={"TMPDIR": str(scratch), "PATH": "/usr/bin"})  # fmt: skip
    while process.poll() is None and not list(scratch.glob(moment)):
        time.sleep(0.001)
    process.send_signal(number)
    return process.wait(60)


@pytest.mark.parametrize("moment", ["*/.profile.partial", "*/profile"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_command_that_is_told_to_stop_leaves_nothing_behind(kymo, tmp_path, number, moment):
    codes = set()
    for _ in range(10):
        codes.add(stop_at(kymo, NCCL, tmp_path, moment, number))
        assert list(tmp_path.iterdir()) == []
        if codes != {0}:
            break
    assert codes & {-number, 130}


def test_what_does_not_apply_is_blank_in_text(kymo, made):
    rows = kymo.json("stats", made, "gpu_gaps", "cuda_gpu_trace", "--format", "json")
    assert any(row["Waited In"] is None for row in rows["gpu_gaps"])
    assert any(None in row.values() for row in rows["cuda_gpu_trace"])
    text = kymo.ok("stats", made, "gpu_gaps", "cuda_gpu_trace")
    assert "NULL" not in text
    header, *lines = text.split("\n\n")[0].splitlines()[1:-1]
    column = slice(header.index("Waited In"), header.index("Waited In") + 21)
    assert [line[column].strip() or None for line in lines] == [row["Waited In"] for row in rows["gpu_gaps"]]


@pytest.mark.sanitized
def test_every_report_is_listed_and_runs_on_any_profile(kymo, tmp_path):
    names = re.findall(r"^  (\w+) ", kymo.ok("stats", "--help-reports"), re.MULTILINE)
    assert {"cuda_gpu_kern_sum", "cuda_gpu_trace", "nvtx_gpu_proj_sum"} < set(names) and len(names) > 20
    result = kymo.run("stats", TPU, *names, "--format", "json")
    assert result.returncode == 0
    rows = json.loads(result.stdout)
    assert list(rows) == names
    empty = re.findall(r"(\w+) has no rows: \w+", result.stderr)
    assert sorted(empty) == sorted(name for name in names if not rows[name]) and "cuda_gpu_kern_sum" in empty


def test_stats_refuses_what_it_does_not_know(kymo, tmp_path):
    assert "missing argument" in kymo.refuses("stats", code=2)
    message = kymo.refuses("stats", MATMUL, "cuda_gpu_kern_sm", code=2)
    assert "unknown report cuda_gpu_kern_sm" in message and "did you mean cuda_gpu_kern_sum?" in message
    assert "no profile 'nothing'" in kymo.refuses("stats", "nothing", "--data-path", tmp_path)


@pytest.mark.slow
def test_a_profile_in_the_workspace_is_summarized_and_a_capture_leaves_nothing_behind(kymo, made, tmp_path):
    kymo.ok("view", made, "--display-name", "p", "--ingest-only", "--data-path", tmp_path / "data")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    named = kymo.ok("stats", "p", "--data-path", tmp_path / "data")
    assert kymo.ok("stats", made, env={"TMPDIR": str(scratch), "PATH": "/usr/bin"}) == named
    assert list(scratch.iterdir()) == []
