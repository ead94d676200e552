"""kymo diff of two runs of many ranks: changes planted in synthetic runs are found and no others, and figures are those worked out in
Python from the Parquet files."""

import collections
import csv
import io
import shutil
import statistics
import subprocess
import time

import pyarrow.parquet
import pytest

from conftest import DATA
from server import Server
from test_diff import benjamini_hochberg, changes, diff, mann_whitney, rows_of

RANKS, STEPS = 16, 24
SHAPE = ["--ranks", RANKS, "--machine-ranks", 4, "--tensor", 2, "--pipeline", 2, "--steps", STEPS, "--microbatches", 2]
PARTS = {
    "compute": "compute_ns", "exposed communication": "exposed_communication_ns", "copies": "copy_ns",
    "idle: waits for the host": "idle_host_ns", "idle: between kernels": "idle_kernel_ns", "idle: other": "idle_other_ns",
}
SLOWER_KERNEL = [word for rank in range(RANKS) for word in ("--straggler", f"kernel:{rank}:1.08")]


def make(gen_run, dataset, name, *options, seed=1):
    subprocess.run([gen_run, "--run", name, "--seed", str(seed), "--jobs", "2", *map(str, SHAPE), *map(str, options), dataset], check=True)


@pytest.fixture(scope="module")
def dataset(gen_run, tmp_path_factory):
    """Runs of equal parameters and runs with a change."""
    path = tmp_path_factory.mktemp("runs") / "runs"
    for seed in range(1, 6):
        make(gen_run, path, f"sound {seed}", seed=seed)
    make(gen_run, path, "kernel", *SLOWER_KERNEL, seed=6)
    make(gen_run, path, "rank", "--straggler", "compute:5:1.2", seed=7)
    make(gen_run, path, "collective", "--slow-operation", "allgather:1.5", seed=8)
    make(gen_run, path, "warm/up", "--outlier", "0:1.8", "--outlier", "1:1.3", seed=9)
    return path


def table(dataset, name, run):
    """Rows of a table, with their ranks."""
    rows = []
    for path in sorted((dataset / name / f"run={run}").glob("*/*/*.parquet")):
        rank = int(path.parent.name.removeprefix("rank="))
        rows += [row | {"rank": rank} for row in pyarrow.parquet.ParquetFile(path).read().to_pylist()]
    return rows


class Run:
    """What is compared of a run, worked out once more."""

    def __init__(self, dataset, run):
        self.dataset, self.run = dataset, run
        self.by_step = collections.defaultdict(list)
        for row in table(dataset, "RankStep", run):
            self.by_step[row["step"]].append(row)
        self.steps = sorted(self.by_step)
        times = [self.mean(step, "duration_ns") for step in self.steps]
        middle = statistics.median(times)
        limit = middle + max(3 * 1.4826 * statistics.median([abs(time - middle) for time in times]), middle / 10)
        while self.mean(self.steps[0], "duration_ns") > limit:
            self.steps.pop(0)

    def mean(self, step, column):
        return statistics.fmean(row[column] for row in self.by_step[step])

    def values(self, column):
        return [self.mean(step, column) for step in self.steps]

    def kernels(self):
        """{(name, class): values of steps, per rank}"""
        found = collections.defaultdict(lambda: dict.fromkeys(self.steps, 0))
        for row in table(self.dataset, "RankKernel", self.run):
            if row["step"] in found[row["name"], row["class"]]:
                found[row["name"], row["class"]][row["step"]] += row["total_ns"] / len(self.by_step[row["step"]])
        return {key: list(values.values()) for key, values in found.items()}

    def excess(self):
        """{rank: values of steps}: own time less the median over ranks of the same program."""
        programs = collections.defaultdict(list)
        for rows in self.by_step.values():
            for row in rows:
                programs[row["rank"]].append(row["collective_count"])
        found = collections.defaultdict(list)
        for step in self.steps:
            own = {row["rank"]: row["duration_ns"] - row["exposed_communication_ns"] for row in self.by_step[step]}
            for rank, ns in own.items():
                found[rank].append(ns - statistics.median(own[other] for other in own if programs[other] == programs[rank]))
        return found

    def collectives(self):
        """{(operation, kind of communicator): ([transfers], [waits]) of steps, per rank}"""
        matches = collections.defaultdict(list)
        for row in table(self.dataset, "RankCollective", self.run):
            is_transfer = row["operation"] in ("send", "recv")
            pair = (row["rank"], row["peer"])[:: 1 if row["operation"] == "send" else -1] if is_transfer else None
            operation = "sendrecv" if is_transfer else row["operation"]
            matches[row["communicator"], operation, pair, row["step"], row["occurrence"]].append(row["duration_ns"])
        found = collections.defaultdict(lambda: [dict.fromkeys(self.steps, 0), dict.fromkeys(self.steps, 0)])
        for (communicator, operation, _, step, _), durations in matches.items():
            if step not in self.by_step or step not in self.steps:
                continue
            lanes = len(self.by_step[step])
            transfers, waits = found[operation, communicator.split("_")[0]]
            transfers[step] += len(durations) * min(durations) / lanes
            waits[step] += (sum(durations) - len(durations) * min(durations)) / lanes
        return {key: [list(values.values()) for values in both] for key, both in found.items()}


def expect_row(row, a, b):
    assert [row["a"], row["b"]] == pytest.approx([statistics.fmean(a), statistics.fmean(b)], rel=1e-9, abs=1e-3), row["name"]
    assert row["p_value"] == pytest.approx(mann_whitney(a, b), rel=1e-6, abs=1e-12), row["name"]


@pytest.mark.slow
def test_figures_are_those_of_brute_force(kymo, dataset):
    document = diff(kymo, dataset / "sound 1", dataset / "rank")
    a, b = Run(dataset, "sound 1"), Run(dataset, "rank")
    assert (document["of"], document["a"]["ranks"], document["test"]) == ("runs", RANKS, "Mann-Whitney U test")
    steps = {row["name"]: row for row in rows_of(document, "steps")}
    columns = PARTS | {
        "step time": "duration_ns", "communication": "communication_ns", "idle": "idle_ns", "communication beside compute": "overlap_ns"}
    for name, column in columns.items():
        expect_row(steps[name], a.values(column), b.values(column))
    kernels = {row["name"]: row for kind in ("kernels", "copies") for row in rows_of(document, kind)}
    other = b.kernels()
    for (name, _), values in a.kernels().items():
        expect_row(kernels.pop(name), values, next(found for (known, _), found in other.items() if known == name))
    assert not kernels
    ranks = {row["name"]: row for row in rows_of(document, "ranks")}
    left, right = a.excess(), b.excess()
    assert len(ranks) == RANKS
    for rank in range(RANKS):
        expect_row(ranks[f"rank {rank}"], left[rank], right[rank])
    adjusted = benjamini_hochberg([mann_whitney(left[rank], right[rank]) for rank in range(RANKS)])
    assert [ranks[f"rank {rank}"]["p_adjusted"] for rank in range(RANKS)] == pytest.approx(adjusted, rel=1e-6, abs=1e-12)
    found = {(row["name"], row["layer"].split()[0]): row for row in rows_of(document, "collectives")}
    other = b.collectives()
    for (operation, kind), (transfers, waits) in a.collectives().items():
        expect_row(found.pop((operation, kind)), transfers, other[operation, kind][0])
        expect_row(found.pop((f"waiting in {operation}", kind)), waits, other[operation, kind][1])
    assert not found


@pytest.mark.slow
def test_contributions_add_up_to_the_change_of_the_step_time(kymo, dataset):
    document = diff(kymo, dataset / "sound 1", dataset / "collective")
    step, parts = document["step_time"], document["contributions"]
    assert [part["name"] for part in parts] == list(PARTS)
    assert sum(part["difference_ns"] for part in parts) == pytest.approx(step["difference_ns"], abs=1)
    for part in parts:
        if "rows" in part:
            told = sum(row["difference_ns"] for row in part["rows"]) + part["others_ns"] + part["rest_ns"]
            assert told == pytest.approx(part["difference_ns"], abs=1e-3)
    exposed = parts[1]
    assert exposed["rows"][0]["name"] == "allgather"
    assert abs(exposed["rest_ns"]) < 1e-3 * exposed["a_ns"]  # nothing overlaps in synthetic runs


@pytest.mark.slow
@pytest.mark.parametrize("other", [2, 5])  # 3 and 4: below, beside what was planted
def test_equal_runs_have_no_changes(kymo, dataset, other):
    document = diff(kymo, dataset / "sound 1", dataset / f"sound {other}", "--fail-above", "0")
    assert {row["change"] for row in document["rows"]} == {"same"}
    assert {row["matched"] for row in document["rows"]} == {"exact"}
    assert document["step_time"]["significance"] in ("not significant", "negligible")


@pytest.mark.slow
def test_a_slower_kernel_of_all_ranks_is_found(kymo, dataset):
    document = diff(kymo, dataset / "sound 2", dataset / "kernel")
    # The stages of the pipeline wait longer for one another, in the kernel that communicates.
    assert changes(document, "kernels") == {"slower": {"sm90_xmma_gemm_bf16_128x256", "ncclDevKernel"}}
    assert {name for names in changes(document, "collectives").values() for name in names} <= {"waiting in sendrecv", "waiting in barrier"}
    assert {kind: changes(document, kind) for kind in ("ranks", "machines", "copies")} == {"ranks": {}, "machines": {}, "copies": {}}
    assert document["contributions"][0]["rows"][0]["name"] == "sm90_xmma_gemm_bf16_128x256"
    assert document["step_time"]["significance"] == "significant"
    result = kymo.run("diff", dataset / "sound 2", dataset / "kernel", "--fail-above", "2", "--by", "steps")
    assert result.returncode == 1 and "% longer, more than 2 %" in result.stderr
    assert kymo.run("diff", dataset / "kernel", dataset / "sound 2", "--fail-above", "2").returncode == 0


@pytest.mark.sanitized
def test_a_slow_rank_is_found_and_the_others_wait(kymo, dataset):
    document = diff(kymo, dataset / "sound 3", dataset / "rank")
    assert changes(document, "ranks") == {"slower": {"rank 5"}}
    row = rows_of(document, "ranks")[0]
    assert (row["layer"], row["change"]) == ("node1", "slower")
    assert row["ratio"] == pytest.approx(1.2, abs=0.01)
    slower = changes(document, "collectives")
    assert set(slower) == {"slower"} and all(name.startswith("waiting in ") for name in slower["slower"])
    assert "own time of the slowest rank" in changes(document, "steps")["slower"]
    assert "own time of the median rank" not in changes(document, "steps")["slower"]


@pytest.mark.slow
def test_a_slower_collective_is_found_with_its_bandwidth(kymo, dataset):
    document = diff(kymo, dataset / "sound 4", dataset / "collective")
    assert changes(document, "collectives") == {"slower": {"allgather"}}
    assert {kind: changes(document, kind) for kind in ("ranks", "machines", "copies")} == {"ranks": {}, "machines": {}, "copies": {}}
    row = rows_of(document, "collectives")[0]
    assert row["ratio"] == pytest.approx(1.5, abs=0.01)
    assert row["bus_bandwidth_a"] / row["bus_bandwidth_b"] == pytest.approx(1.5, abs=0.02)
    assert "GB/s" in kymo.ok("diff", dataset / "sound 4", dataset / "collective")


@pytest.mark.slow
def test_steps_of_warming_up_are_left_out(kymo, dataset):
    document = diff(kymo, dataset / "sound 5", dataset / "warm/up")
    assert [step["number"] for step in document["b"]["steps"] if step["left_out"]] == [0, 1]
    assert len(Run(dataset, "warm%2Fup").steps) == STEPS - 2
    assert {row["change"] for row in document["rows"]} == {"same"}


@pytest.mark.slow
def test_steps_are_read_of_most_ranks_and_ranks_by_blocks(kymo, gen_run, tmp_path):
    """150 steps are 64 blocks; rank 3 was recorded from step 4 on, the others from step 0 or, most of them, 2."""
    late = [word for rank in range(8) for word in ("--lost-start", f"{rank}:{4 if rank == 3 else 2}") if rank != 7]
    for name, options in (("a", late), ("b", ["--straggler", "host:2:1.1"])):
        subprocess.run([gen_run, "--run", name, "--ranks", "8", "--machine-ranks", "4", "--tensor", "2", "--steps", "150", *options, tmp_path / "runs"],
                       check=True)
    document = diff(kymo, tmp_path / "runs" / "a", tmp_path / "runs" / "b")
    assert [step["number"] for step in document["a"]["steps"]] == list(range(2, 150))
    assert changes(document, "ranks") == {"slower": {"rank 2"}}
    steps = [step["number"] for step in document["b"]["steps"]]
    blocks = collections.defaultdict(list)
    for position, value in enumerate(Run(tmp_path / "runs", "b").excess()[2]):
        blocks[position * 64 // len(steps)].append(value)
    assert rows_of(document, "ranks")[0]["b"] == pytest.approx(statistics.fmean(map(statistics.fmean, blocks.values())), rel=1e-9)


@pytest.mark.slow
def test_runs_of_other_sizes_are_compared_without_their_ranks(kymo, gen_run, dataset, tmp_path):
    subprocess.run([gen_run, "--run", "half", "--ranks", "8", "--machine-ranks", "4", "--tensor", "2", "--pipeline", "2", "--microbatches", "2",
                    "--steps", str(STEPS), tmp_path / "half"], check=True)
    document = diff(kymo, dataset / "sound 1", tmp_path / "half")
    assert document["note"] == "The runs have different numbers of ranks: ranks are not compared one by one."
    assert not rows_of(document, "ranks")
    matched = {row["name"]: (row["matched"], row["layer"]) for row in rows_of(document, "collectives")}
    assert matched["allgather"] == ("layers differ", "dp of 2") and matched["allreduce"] == ("exact", "tp of 2")


@pytest.mark.slow
def test_ranks_on_other_machines_are_matched(kymo, dataset, tmp_path):
    shutil.copytree(dataset, tmp_path / "runs", ignore=shutil.ignore_patterns("_analysis"))
    for name in ("Rank", "RankStep", "RankCollective", "RankKernel"):
        folder = tmp_path / "runs" / name / "run=rank"
        (folder / "instance=node1").rename(folder / "instance=spare")
    document = diff(kymo, dataset / "sound 1", tmp_path / "runs" / "rank")
    row = rows_of(document, "ranks")[0]
    assert (row["name"], row["layer"], row["matched"], row["change"]) == ("rank 5", "spare", "layers differ", "slower")
    assert {row["name"] for row in rows_of(document, "machines")} == {"node0", "node2", "node3"}
    assert "rank 5 on spare (on another machine)" in kymo.ok("diff", dataset / "sound 1", tmp_path / "runs" / "rank")


@pytest.mark.slow
def test_all_formats_tell_the_same(kymo, dataset):
    a, b = dataset / "sound 1", dataset / "rank"
    document = diff(kymo, a, b, "--top", "3")
    rows = list(csv.DictReader(io.StringIO(kymo.ok("diff", a, b, "--top", "3", "--format", "csv"))))
    assert [(row["kind"], row["name"], float(row["difference"])) for row in rows] == [
        (row["kind"], row["name"], row["difference"]) for row in document["rows"]]
    text, markdown = kymo.ok("diff", a, b), kymo.ok("diff", a, b, "--format", "markdown")
    assert text.startswith(f"A  {a}: {STEPS} steps, {RANKS} ranks, {RANKS} devices NVIDIA H200\n")
    assert "Ranks, own time over that of the median rank (1 slower, 0 faster" in text
    [rank] = [row for row in document["rows"] if row["kind"] == "ranks" and row["change"] == "slower"]
    [own] = [row["a"] for row in document["rows"] if row["kind"] == "steps" and row["name"] == "own time of the median rank"]
    [line] = [line for line in text.splitlines() if "rank 5 on node1" in line]
    assert rank["ratio"] == pytest.approx(1 + rank["difference"] / own) and "Of median" in text
    assert f"{100 * rank['difference'] / own:+.1f} %" in line
    assert "rank 5 on node1" in text and "`rank 5 on node1`" in markdown
    only = diff(kymo, a, b, "--by", "ranks", "--top", "1")["rows"]
    assert [row["kind"] for row in only] == ["ranks", "ranks"]  # one that changed, one that did not


@pytest.mark.slow
def test_captures_of_pytorch_are_compared_with_their_operators(kymo, tmp_path):
    """Two ranks of 128, two steps: too few for a test, so that only figures are compared."""
    ranks = [DATA / "kineto" / f"recommender_{name}.json.gz" for name in ("rank", "rank1")]
    kymo.ok("fleet", "add", tmp_path / "runs", *ranks, "--run", "both")
    kymo.ok("fleet", "add", tmp_path / "runs", ranks[0], "--run", "one")
    document = diff(kymo, tmp_path / "runs" / "both", tmp_path / "runs" / "one")
    assert document["note"] == "Too few steps to tell changes from chance: each run needs three."
    expected, steps = collections.Counter(), table(tmp_path / "runs", "RankStep", "both")
    lanes = collections.Counter(row["step"] for row in steps)
    for rank in (0, 1):
        numbers = {row["id"]: row["number"] for row in table(tmp_path / "runs", "Step", "both") if row["rank"] == rank}
        for name in ("GpuKernel", "GpuCopy"):
            for row in table(tmp_path / "runs", name, "both"):
                if row["rank"] == rank and row["step_id"] is not None:
                    expected[row["framework_op"] or "(no operator known)"] += row["duration_ns"] / lanes[numbers[row["step_id"]]] / len(lanes)
    found = collections.Counter()
    for row in rows_of(document, "operators"):
        found[row["name"]] += row["a"]
    assert {name: ns for name, ns in found.items() if ns} == pytest.approx(dict(expected), rel=1e-6)
    assert any(row["shape"] for row in rows_of(document, "operators"))
    assert document["step_time"]["a_ns"] == pytest.approx(statistics.fmean(
        statistics.fmean(row["duration_ns"] for row in steps if row["step"] == step) for step in lanes))


@pytest.mark.slow
def test_what_cannot_be_compared_is_said(kymo, dataset, gen_run, tmp_path):
    runs = "collective, kernel, rank, sound 1, sound 2, sound 3, sound 4, sound 5, warm/up"
    assert f"has 9 runs, name one as DATASET/RUN: {runs}" in kymo.refuses("diff", dataset, dataset / "rank")
    assert f"has no run none; its runs are: {runs}" in kymo.refuses("diff", dataset / "rank", dataset / "none")
    capture = DATA / "kineto" / "compare_base.json.gz"
    for pair in ((dataset / "rank", capture), (capture, dataset / "rank")):
        message = kymo.refuses("diff", *pair)
        assert f"{dataset / 'rank'} is a run of many ranks and {capture} is not: compare a run with a run, or a profile with a profile" in message
    make(gen_run, tmp_path / "runs", "cut")
    victim = next((tmp_path / "runs" / "RankKernel" / "run=cut").glob("*/rank=3/*.parquet"))
    victim.write_bytes(victim.read_bytes()[:-100])
    message = kymo.refuses("diff", tmp_path / "runs", dataset / "rank")
    assert "a file of a rank cannot be read; add the rank again with --force, or remove it" in message and str(victim) in message


@pytest.mark.slow
def test_the_server_answers_what_the_command_prints(kymo, dataset, tmp_path):
    server = Server(kymo, str(dataset), "--data-path", str(tmp_path))
    try:
        for form in ("json", "csv", "markdown"):
            target = f"diff?a=runs/sound%201&b=runs/warm%2Fup&top=2&format={form}"
            answer = server.ask("GET", target)
            while answer.status == 202:
                time.sleep(0.02)
                answer = server.ask("GET", target)
            printed = kymo.ok("diff", dataset / "sound 1", dataset / "warm/up", "--top", "2", "--format", form)
            assert answer.status == 200 and answer.body.decode().replace("runs/", f"{dataset}/") == printed
        assert server.ask("GET", "diff?a=runs/none&b=runs/rank").error == "dataset 'runs' has no run 'none'"
        assert server.ask("GET", "diff?a=runs/rank").error == '"b" must name a profile or a run'
        assert server.ask("GET", "diff?a=runs/rank&b=gpt").error == "a run of many ranks is compared with a run, a profile with a profile"
    finally:
        server.stop()
