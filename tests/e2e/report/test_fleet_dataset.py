"""Datasets of many ranks: what is made of each rank, and that ranks are added and removed as a whole.

Figures of steps are compared with brute force over the capture as Python's json reads it, and with what HolisticTraceAnalysis says
(tests/tools/hta_figures.py); the dataset is read by DuckDB, pyarrow and pandas as it lies.
"""

import bisect
import collections
import contextlib
import gzip
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import time

import duckdb
import pyarrow.dataset
import pyarrow.parquet
import pytest

import xspace
from conftest import DATA, ROOT

KINETO = DATA / "kineto"
RANKS = [KINETO / "recommender_rank.json.gz", KINETO / "recommender_rank1.json.gz"]
NCCL = KINETO / "nccl_gpu_rank.json.gz"
TABLES = ["Rank", "RankStep", "RankCollective", "RankKernel", "Track"]
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}


@pytest.fixture(scope="module")
def dataset(kymo, tmp_path_factory):
    """Two ranks of a run, and one of another whose names have characters that paths cannot have."""
    path = tmp_path_factory.mktemp("fleet") / "runs"
    assert kymo.ok("fleet", "add", path, *RANKS, "--run", "night").count("is added\n") == 2
    kymo.ok("view", NCCL, "--output-format", "dataset", "--output-file", path, "--run", "a/b=c d%", "--instance", "nöde:1", "--rank", 7)
    return path


def table(dataset, name, where="true"):
    files = f"read_parquet('{dataset}/{name}/*/*/*/*.parquet', hive_partitioning=true, hive_types={{'rank': BIGINT, 'run': VARCHAR}})"
    return duckdb.sql(f"SELECT * FROM {files} WHERE {where} ORDER BY ALL").df().astype(object).to_dict("records")


# --- what is made of a rank ---


def events_of(path):
    """Complete events of a trace, times in whole nanoseconds since the first."""
    events = [e for e in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if e.get("ph") == "X" and "dur" in e]
    first = min(e["ts"] for e in events)
    for event in events:
        event["start"] = round((event["ts"] - first) * 1000)
        event["end"] = round((event["ts"] - first + event["dur"]) * 1000)
        event.setdefault("args", {})
    return events


def kind(event):
    if event["cat"] != "kernel":
        return "copy"
    return "communication" if "nccl" in event["name"].lower() else "compute"


def covered(spans, start, end):
    """Time of a window that spans cover, together."""
    total, to = 0, start
    for first, last in sorted(spans):
        first, last = max(first, to), min(last, end)
        total += max(0, last - first)
        to = max(to, last)
    return total


def idle_by_cause(work, launches, start, end):
    """Gaps in the device's work, in a window, by why the work after each began no earlier."""
    causes, to = collections.Counter(), float("-inf")
    for event in sorted(work, key=lambda e: e["start"]):
        if event["start"] > to:
            launch = launches.get(event["args"].get("correlation"))
            cause = "host" if launch is not None and launch > to else "kernel" if event["start"] - to < 30_000 else "other"
            causes[cause] += max(0, min(event["start"], end) - max(to, start))
        to = max(to, event["end"])
    return causes


@pytest.mark.parametrize(("capture", "run", "rank"), [(RANKS[0], "night", 0), (RANKS[1], "night", 1), (NCCL, "a/b=c d%", 7)])
def test_steps_are_what_brute_force_finds(dataset, capture, run, rank):
    events = events_of(capture)
    work = [e for e in events if e.get("cat") in DEVICE]
    launches = {e["args"]["correlation"]: e["start"] for e in events if e.get("cat") == "cuda_runtime" and "correlation" in e["args"]}
    spans = {name: [(e["start"], e["end"]) for e in work if kind(e) == name] for name in ("compute", "communication", "copy")}
    steps = [e for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"]
    rows = table(dataset, "RankStep", f"run = '{run}' AND rank = {rank}")
    assert [row["step"] for row in rows] == [int(e["name"].split("#")[1]) for e in steps]
    for row, step in zip(rows, steps):
        start, end = step["start"], step["end"]
        compute = covered(spans["compute"], start, end)
        both = covered(spans["compute"] + spans["communication"], start, end)
        busy = covered(spans["compute"] + spans["communication"] + spans["copy"], start, end)
        causes = idle_by_cause(work, launches, start, end)
        expected = {
            "start_ts": start, "end_ts": end, "duration_ns": end - start, "compute_ns": compute,
            "communication_ns": covered(spans["communication"], start, end), "exposed_communication_ns": both - compute,
            "copy_ns": busy - both, "busy_ns": busy, "idle_ns": end - start - busy,
            "idle_host_ns": causes["host"], "idle_kernel_ns": causes["kernel"],
        }  # fmt: skip
        found = {name: row[name] for name in expected}
        assert found == pytest.approx(expected, abs=2 * len(work) if capture == NCCL else 0)
        assert row["compute_ns"] + row["copy_ns"] + row["exposed_communication_ns"] + row["idle_ns"] == row["duration_ns"]
        assert row["idle_host_ns"] + row["idle_kernel_ns"] + row["idle_other_ns"] == row["idle_ns"]
        assert row["exposed_communication_ns"] + row["overlap_ns"] == row["communication_ns"]


@pytest.mark.plain_build
def test_steps_are_what_holistic_trace_analysis_says(dataset):
    expected = json.loads((KINETO / "hta.json").read_text())
    for (run, rank), name in {("night", 0): RANKS[0].name, ("night", 1): RANKS[1].name, ("a/b=c d%", 7): NCCL.name}.items():
        for row, step in zip(table(dataset, "RankStep", f"run = '{run}' AND rank = {rank}"), expected[name], strict=True):
            us = {key: value / 1000 for key, value in row.items() if key.endswith("_ns")}
            margins = step["before_us"] + step["after_us"]  # the step's time before its first work and after its last
            causes = step["idle_by_cause_us"]
            assert row["step"] == step["step"]
            assert us["compute_ns"] == pytest.approx(step["compute_us"], abs=0.1)
            assert us["exposed_communication_ns"] + us["copy_ns"] == pytest.approx(step["non_compute_us"], abs=0.1)
            assert us["idle_ns"] == pytest.approx(step["idle_us"] + margins, abs=0.1)
            assert 100 * row["overlap_ns"] / row["communication_ns"] == pytest.approx(step["overlap_percent"], abs=0.006)
            assert us["idle_kernel_ns"] == pytest.approx(causes["kernel_wait"], abs=0.1)
            in_margins = us["idle_host_ns"] - causes["host_wait"]
            assert any(in_margins == pytest.approx(part, abs=0.5) for part in (0, step["before_us"], step["after_us"], margins))


def test_collectives_have_their_communicator_and_what_they_move(dataset):
    events = [e for e in events_of(NCCL) if e.get("cat") == "kernel" and "nccl" in e["name"]]
    steps = sorted((e["start"], int(e["name"][13:])) for e in events_of(NCCL) if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation")
    seen, expected = collections.Counter(), []
    for event in sorted(events, key=lambda e: e["start"]):
        args = event["args"]
        step = steps[bisect.bisect(steps, (event["start"],)) - 1][1]
        key = (args["Collective name"], step)
        elements = max(args["In msg nelems"], args["Out msg nelems"])
        size = {"Float": 4, "Long": 8}[args["dtype"]]
        expected.append((*key, "default_pg:0 [0, 1]", seen[key], args["Group size"], elements * size, args["dtype"], args["stream"], event["start"]))
        seen[key] += 1
    rows = table(dataset, "RankCollective", "rank = 7")
    names = ["operation", "step", "communicator", "occurrence", "group_size", "bytes", "data_type", "stream_id", "start_ts"]
    found = sorted((row["start_ts"], *(row[name] for name in names[:-1])) for row in rows)
    for got, wanted in zip(found, sorted((e[-1], *e[:-1]) for e in expected), strict=True):
        assert got[0] == pytest.approx(wanted[0], abs=2) and got[1:] == wanted[1:]


@pytest.mark.plain_build
def test_collectives_without_metadata_are_named_by_the_annotation_around_their_launch(dataset):
    rows = table(dataset, "RankCollective", "run = 'night'")
    counts = collections.Counter((row["rank"], row["step"], row["operation"]) for row in rows)
    assert {key[2] for key in counts} == {"alltoall", "allreduce", "allgather"}
    for step in (551, 552):
        assert [counts[0, step, name] for name in ("alltoall", "allreduce", "allgather")] == [
            counts[1, step, name] for name in ("alltoall", "allreduce", "allgather")
        ] == [2, 2, 1]


def test_sequence_numbers_and_peers_are_kept(kymo, tmp_path):
    """As newer versions of PyTorch write them, on the kernel or only on the call that launches it."""
    facts = {"Collective name": "_allgather_base", "dtype": "BFloat16", "In msg nelems": 10, "Out msg nelems": 80, "Group size": 8,
             "Process Group Name": "3", "Process Group Description": "mesh_tp", "Process Group Ranks": "[0, 1]", "Seq": 41}
    send = {"Collective name": "send", "dtype": "Float", "In msg nelems": 6, "Out msg nelems": 6, "Group size": 2, "Process Group Name": "9",
            "Dst Rank": 5, "Seq": 2}
    host = {"ph": "X", "pid": 1, "tid": 1}
    events = [
        {**host, "cat": "cpu_op", "name": "record_param_comms", "ts": 0, "dur": 20, "args": {"External id": 1, **facts}},
        {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 5, "dur": 5, "args": {"correlation": 11, "External id": 1}},
        {**host, "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL", "pid": 0, "tid": 7, "ts": 12, "dur": 30,
         "args": {"correlation": 11, "device": 0, "stream": 7}},
        {**host, "cat": "kernel", "name": "ncclDevKernel_SendRecv", "pid": 0, "tid": 7, "ts": 50, "dur": 3,
         "args": {"correlation": 12, "device": 0, "stream": 7, **send}},
    ]  # fmt: skip
    trace = {"schemaVersion": 1, "distributedInfo": {"rank": 4, "world_size": 8}, "host_name": "node 3", "traceEvents": events}
    (tmp_path / "t.json").write_text(json.dumps(trace))
    kymo.ok("fleet", "add", tmp_path / "d", tmp_path / "t.json", "--run", "r")
    rows = table(tmp_path / "d", "RankCollective")
    names = ["instance", "rank", "communicator", "operation", "sequence", "peer", "group_size", "bytes"]
    assert sorted(tuple(None if row[n] is None or row[n] != row[n] else row[n] for n in names) for row in rows) == [
        ("node 3", 4, "9", "send", 2, 5, 2, 24), ("node 3", 4, "mesh_tp:3 [0, 1]", "allgather", 41, None, 8, 160)]  # fmt: skip


def test_collectives_of_tpus_have_the_group_of_their_device(kymo, tmp_path):
    """Two chips of rank 1 in a job of two ranks, in steps that the chips record; asynchronous operations end with their wait."""
    us = 1_000_000
    space = xspace.XSpace(hostnames=[b"host 1"])
    for chip in (0, 1):
        plane = xspace.PlaneWriter(space, f"/device:TPU:{chip}")
        steps, operations = plane.line("Steps", id=1), plane.line("XLA Ops", id=2)
        texts = {
            "fusion.1": "%fusion.1 = f32[8]{0} fusion(f32[8]{0} %p), kind=kLoop",
            "all-reduce.3": "%all-reduce.3 = f32[256]{0:T(128)} all-reduce(f32[256]{0} %x), channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), to_apply=%add",
            "all-gather-start.1": "%all-gather-start.1 = (bf16[4]{0}, bf16[8]{0}) all-gather-start(bf16[4] %y), replica_groups={{0,1},{2,3}}",
            "all-gather-done.1": "%all-gather-done.1 = bf16[8]{0} all-gather-done((bf16[4], bf16[8]) %all-gather-start.1)",
        }
        for step in range(6):
            base = step * 100 * us
            plane.event(steps, str(step), base, 90 * us)
            for name, start, duration in [("all-gather-start.1", 0, 1), ("fusion.1", 1, 40), ("all-gather-done.1", 41, 4), ("all-reduce.3", 50, 30)]:
                plane.event(operations, texts[name], base + start * us, duration * us)
        for entry in plane.plane.event_metadata:
            entry.value.display_name = next((name for name, text in texts.items() if text.encode() == entry.value.name), "").encode()
    (tmp_path / "t.xplane.pb").write_bytes(space.SerializeToString())
    kymo.ok("fleet", "add", tmp_path / "d", tmp_path / "t.xplane.pb", "--run", "r", "--rank", 1)
    rows = table(tmp_path / "d", "RankCollective", "step = 2")
    names = ["instance", "device_idx", "operation", "communicator", "group_size", "bytes", "occurrence", "start_ts"]
    assert sorted(tuple(None if row[n] is None or row[n] != row[n] else row[n] for n in names) for row in rows) == [
        ("host 1", 0, "allgather", "{2,3}", 2, 16, 0, 241000), ("host 1", 0, "allreduce", "{0,2}", 2, 1024, 0, 250000),
        ("host 1", 1, "allgather", "{2,3}", 2, 16, 0, 241000), ("host 1", 1, "allreduce", "{1,3}", 2, 1024, 0, 250000)]  # fmt: skip
    for row in table(tmp_path / "d", "RankStep"):
        assert (row["compute_ns"], row["exposed_communication_ns"], row["idle_ns"], row["duration_ns"]) == (40_000, 35_000, 15_000, 90_000)


@pytest.mark.plain_build
def test_kernels_of_a_step_add_up(dataset):
    work = [e for e in events_of(RANKS[0]) if e.get("cat") in DEVICE]
    rows = table(dataset, "RankKernel", "run = 'night' AND rank = 0")
    for step in (551, 552):
        own = [row for row in rows if row["step"] == step]
        named = [row for row in own if isinstance(row["name"], str)]
        assert len(named) == 32 and len(own) <= 32 + 3
        assert min(row["total_ns"] for row in named) >= 0
        # The device did nothing of a step in the time of the other.
        (window,) = table(dataset, "RankStep", f"run = 'night' AND rank = 0 AND step = {step}")
        sums = collections.Counter()
        for event in work:
            if window["start_ts"] <= event["start"] < window["end_ts"]:
                sums[event["name"]] += event["end"] - event["start"]
        assert {row["name"]: row["total_ns"] for row in named} == dict(sums.most_common(32))
        assert sum(row["total_ns"] for row in own) == sum(sums.values())


# --- how it is read ---


@pytest.mark.plain_build
def test_readers_of_hive_partitions_find_all_ranks(dataset):
    import pandas  # takes a second
    places = {("night", "rank-0", 0), ("night", "rank-1", 1), ("a/b=c d%", "nöde:1", 7)}
    for name in TABLES:
        with_duckdb = {(r["run"], r["instance"], r["rank"]) for r in table(dataset, name)}
        assert with_duckdb == places, name
        arrow = pyarrow.dataset.dataset(dataset / name, partitioning="hive").to_table(columns=["run", "instance", "rank"])
        assert {tuple(r.values()) for r in arrow.to_pylist()} == places
        frame = pandas.read_parquet(dataset / name)
        assert set(zip(frame["run"].astype(str), frame["instance"].astype(str), frame["rank"].astype(int))) == places


@pytest.mark.plain_build
def test_what_says_who_it_is_of_is_only_in_the_path(dataset):
    for path in dataset.rglob("*.parquet"):
        assert not {"run", "instance", "rank"} & set(pyarrow.parquet.read_schema(path).names), path


@pytest.mark.plain_build
def test_list_and_sql_show_the_ranks(kymo, dataset, tmp_path):
    rows = kymo.json("fleet", "list", dataset, "--format", "json")
    assert [(r["run"], r["rank"], r["world_size"], r["steps"]) for r in rows] == [("a/b=c d%", 7, 2, 3), ("night", 0, 128, 2), ("night", 1, 128, 2)]
    assert len(kymo.json("fleet", "list", dataset, "--run", "night", "--format", "json")) == 2
    query = "SELECT rank, sum(duration_ns) AS ns FROM RankStep WHERE run = 'night' GROUP BY rank ORDER BY rank"
    assert kymo.json("fleet", "sql", dataset, query, "--format", "json") == [{"rank": 0, "ns": 1230240000}, {"rank": 1, "ns": 1238543000}]
    listed = {r["table"]: r["rows"] for r in kymo.json("fleet", "sql", dataset, "--format", "json")}
    assert listed["Rank"] == 3 and listed["RankStep"] == 7
    assert "Permission Error" in kymo.refuses("fleet", "sql", dataset, "SELECT * FROM read_text('/etc/hostname')")
    assert "is not a dataset" in kymo.refuses("fleet", "list", tmp_path)


# --- adding and removing ---


@pytest.mark.plain_build
def test_recordings_keep_the_rank_that_the_launcher_told(kymo, tmp_path):
    """A recording is several files in a directory: one rank. A directory of recordings has a rank in each."""
    for number, names in enumerate([("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")]):
        environment = {**os.environ, **dict(zip(names, (str(number), "3"))), "KYMO_INSTANCE_ID": f"node{number}"}
        subprocess.run([kymo.path, "inspect", "-o", tmp_path / "rec", ROOT / "bin/examples/training"], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    kymo.ok("fleet", "add", tmp_path / "d", tmp_path / "rec")
    rows = kymo.json("fleet", "list", tmp_path / "d", "--format", "json")
    assert [(r["run"], r["rank"], r["instance"], r["world_size"]) for r in rows] == [("rec", n, f"node{n}", 3) for n in range(3)]


def ranks_of(dataset):
    return {tuple(path.relative_to(dataset / "Rank").parts[:3]) for path in dataset.glob("Rank/*/*/*/*.parquet")}


def check_whole(dataset):
    """Ranks are there as a whole; files of a table are of ranks that are there, but for those of a process that was killed."""
    staged = {(path.parts[-3], path.parts[-2]) for path in dataset.glob("_staging/run=*/rank=*/*")}
    for path in dataset.glob("[!_]*/run=*/*/*/*"):
        place = tuple(path.parts[-4:-1])
        assert place in ranks_of(dataset) or (place[0], place[2]) in staged, path
    for place in ranks_of(dataset):
        assert (dataset / "RankStep").joinpath(*place, "part-0.parquet").exists()
        assert (dataset / "_profile").joinpath(*place, "timeline.kymo").exists()


def test_a_rank_is_replaced_only_by_force_and_wherever_it_was(kymo, tmp_path):
    def add(*more):
        return kymo.run("fleet", "add", tmp_path / "d", RANKS[0], "--run", "r", *more)

    assert add("--instance", "a").returncode == 0
    again = add("--instance", "b")
    assert again.returncode == 1 and "rank 0 of run r is there already; use --force to replace it" in again.stderr
    for _ in range(2):  # from another instance, then in its place
        assert add("--instance", "b", "--force").returncode == 0
        assert ranks_of(tmp_path / "d") == {("run=r", "instance=b", "rank=0")}
    check_whole(tmp_path / "d")
    assert kymo.ok("fleet", "remove", tmp_path / "d", "--run", "r") == 'Removed 1 rank of run "r"\n'
    assert os.listdir(tmp_path / "d") == ["_dataset.json"]
    assert "has no run r" in kymo.refuses("fleet", "remove", tmp_path / "d", "--run", "r")


def files_below(path):
    return {file: file.stat().st_size for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("linked", ["Track/run=night", "Track/run=night/instance=rank-0", "Rank/run=night/instance=rank-0", "_profile", "_staging"])
def test_links_inside_a_dataset_lead_nowhere(kymo, dataset, tmp_path, linked):
    d, other = shutil.copytree(dataset, tmp_path / "d"), shutil.copytree(dataset, tmp_path / "other")
    staged = other / "_staging" / "run=night" / "rank=0" / "instance=x"
    staged.mkdir(parents=True)
    (staged / "letter.txt").write_text("not of d")
    assert (other / linked).exists()
    shutil.rmtree(d / linked, ignore_errors=True)
    (d / linked).symlink_to(other / linked)
    before, own = files_below(other), files_below(d)
    for command in (["remove", d, "--run", "night", "--rank", 0], ["add", d, RANKS[0], "--run", "night", "--force"]):
        assert "leads through a symbolic link" in kymo.refuses("fleet", *command)
        assert (files_below(other), files_below(d)) == (before, own)


def test_add_that_is_killed_takes_its_processes_with_it(kymo, tmp_path):
    """They hold its standard error, and wait to write into a pipe that is full."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(write, bytes(4096)):
            pass
    os.set_blocking(write, True)
    process = subprocess.Popen([kymo.path, "fleet", "add", tmp_path / "d", *RANKS, "--jobs", "2"], stdout=write, stderr=subprocess.PIPE)
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 60
    while len(children.read_text().split()) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    try:
        process.communicate(timeout=30)
    finally:
        os.close(read)
        os.close(write)


def test_what_cannot_be_added_says_why(kymo, tmp_path):
    d = tmp_path / "d"
    assert "give the number with --rank" in kymo.refuses("fleet", "add", d, KINETO / "amd_mi250.json.gz")
    shutil.copy(KINETO / "amd_mi250.json.gz", tmp_path / "run_Rank-12.json.gz")
    assert "Rank 12 of run" in kymo.ok("fleet", "add", d, tmp_path / "run_Rank-12.json.gz")
    assert "--rank takes a single capture, not 2" in kymo.refuses("fleet", "add", d, *RANKS, "--rank", 1, code=2)
    assert "must not be empty" in kymo.refuses("fleet", "add", d, RANKS[0], "--run", "")
    assert "longer than 200 bytes" in kymo.refuses("fleet", "add", d, RANKS[0], "--run", "/" * 70)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("")
    assert "has other files and is not a dataset" in kymo.refuses("fleet", "add", tmp_path / "other", RANKS[0])
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "_dataset.json").write_text('{"format": "kymo dataset", "version": 2}')
    assert "is of version 2; this program reads version 1" in kymo.refuses("fleet", "add", tmp_path / "new", RANKS[0])
    assert "takes no --instance" in kymo.refuses("fleet", "list", d, "--instance", "x", code=2)
    assert "with --run" in kymo.refuses("fleet", "remove", d, code=2)
    assert "run r has no rank 3" in kymo.refuses("fleet", "remove", d, "--run", "r", "--rank", 3)
    assert "--output-format dataset requires --output-file" in kymo.refuses("view", RANKS[0], "--output-format", "dataset", code=2)
    check_whole(d)


def test_of_two_that_add_a_rank_one_wins_and_other_ranks_are_not_disturbed(kymo, tmp_path):
    d = tmp_path / "d"

    def start(rank):
        return subprocess.Popen([kymo.path, "fleet", "add", d, RANKS[0], "--run", "r", "--rank", str(rank)], stderr=subprocess.PIPE, text=True,
                                stdout=subprocess.DEVNULL)  # fmt: skip

    running = [(rank, start(rank)) for rank in (0, 1, 1, 2, 1)]
    results = collections.defaultdict(list)
    for rank, process in running:
        message = process.communicate(timeout=120)[1]
        results[rank].append(process.returncode)
        assert process.returncode == 0 or "is being added or removed by another process" in message or "is there already" in message
    assert results[0] == results[2] == [0] and sorted(results[1]) == [0, 1, 1]
    assert {place[2] for place in ranks_of(d)} == {"rank=0", "rank=1", "rank=2"}
    assert not (d / "_staging").exists()
    check_whole(d)


@pytest.mark.plain_build
@pytest.mark.slow
def test_killed_at_any_time_it_leaves_ranks_that_are_whole(kymo, tmp_path):
    d = tmp_path / "d"
    chance = random.Random(1)
    arguments = [kymo.path, "fleet", "add", d, RANKS[0], "--run", "r", "--jobs", "1", "--force"]
    begin = time.monotonic()
    subprocess.run([*arguments, "--rank", "99"], check=True, stdout=subprocess.DEVNULL)
    whole = time.monotonic() - begin
    killed = 0
    for attempt in range(20):
        rank = attempt % 4
        process = subprocess.Popen([*arguments, "--rank", str(rank)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if attempt % 2:  # when its files are put in place
            while process.poll() is None and not (d / f"_staging/run=r/rank={rank}/instance=rank-{rank}").exists():
                pass
            time.sleep(chance.random() * 0.004)
        else:
            time.sleep(chance.random() * whole / 2)
        process.kill()
        killed += process.wait() == -9
        check_whole(d)
    assert killed >= 10
    for rank in range(4):
        kymo.ok("fleet", "add", d, RANKS[0], "--run", "r", "--rank", rank, "--force")
    assert {place[2] for place in ranks_of(d)} == {"rank=0", "rank=1", "rank=2", "rank=3", "rank=99"}
    assert not (d / "_staging").exists()
    rows = kymo.json("fleet", "sql", d, "SELECT rank, count(*) AS n FROM SystemProfileEvents GROUP BY rank ORDER BY rank", "--format", "json")
    assert len(rows) == 5 and len({row["n"] for row in rows}) == 1
    # What was killed between two files: a rank without its row is not seen, and goes with the next that is added.
    staged = d / "_staging/run=r/rank=5/instance=x"
    staged.mkdir(parents=True)
    orphan = d / "RankStep/run=r/instance=x/rank=5"
    orphan.mkdir(parents=True)
    shutil.copy(d / "RankStep/run=r/instance=rank-0/rank=0/part-0.parquet", orphan)
    assert kymo.json("fleet", "sql", d, "SELECT DISTINCT rank FROM RankStep WHERE rank = 5", "--format", "json") == []
    kymo.ok("fleet", "remove", d, "--run", "r", "--rank", 99)
    assert not orphan.exists() and not staged.exists()


def test_a_full_disk_or_a_directory_of_others_leaves_nothing_behind(kymo, tmp_path):
    d = tmp_path / "d"
    kymo.ok("fleet", "add", d, RANKS[0], "--run", "r", "--rank", 1)
    before = sorted(d.rglob("*"))

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    result = kymo.run("fleet", "add", d, RANKS[0], "--run", "r", "--rank", 2, preexec_fn=small_files)
    assert result.returncode == 1 and "File too large" in result.stderr
    assert sorted(d.rglob("*")) == before
    if os.geteuid() != 0:
        d.chmod(0o555)
        assert "Permission denied" in kymo.refuses("fleet", "add", d, RANKS[0], "--run", "r", "--rank", 2)
        d.chmod(0o755)
    assert "cannot create directory" in kymo.refuses("fleet", "add", "/proc/none", RANKS[0])
