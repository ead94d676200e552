"""Runs of many ranks with planted faults: each is found, none is invented, and figures are those of an independent reckoning."""

import collections
import json
import random
import signal
import subprocess
import time

import duckdb
import pyarrow.dataset
import pyarrow.parquet
import pytest

from conftest import DATA

# Of the first 50, these have every kind of straggler, every fault with every layout, and every pair of faults that any of them has.
SEEDS = [0, 1, 2, 3, 4, 5, 6, 10, 12, 13, 16, 21, 22, 23, 28, 31, 33, 34, 37, 38, 39, 40, 43, 47]
BLOCK = 8  # runs of a dataset, reported by one process
STEPS = 60

# Ranks, those of a machine, of a tensor group, and stages of the pipeline.
LAYOUTS = [(16, 4, 4, 1), (16, 8, 2, 2), (32, 8, 8, 2), (24, 8, 4, 3), (16, 4, 2, 1)]

RULES = {"stragglers": "straggler", "slow_links": "slow-communicator", "slow_operations": "slow-operation",
         "lost_ranks": "lost-ranks", "lost_starts": "partial-captures", "outliers": "outlier-steps"}


def straggler(chance, ranks):
    kind = chance.choice(["compute", "kernel", "host", "copy"])
    when = chance.choice(["", f":{chance.randrange(10, 45)}", f":{chance.randrange(5)}:{chance.randrange(3, 9)}"])
    return f"{kind}:{chance.randrange(ranks)}:{chance.uniform(1.06, 1.5):.2f}{when}"


def options_of(seed):
    """What is planted in the run of this seed; every fifth has nothing but unequal clocks."""
    chance = random.Random(seed)
    ranks, machine, tensor, pipeline = LAYOUTS[seed % len(LAYOUTS)]
    options = ["--ranks", ranks, "--machine-ranks", machine, "--tensor", tensor, "--pipeline", pipeline,
               "--steps", STEPS, "--seed", seed, "--clocks", f"{chance.choice([1e4, 1e6, 1e9])}:{chance.choice([0, 5, 40])}"]
    if chance.random() < 0.2:
        options += ["--noise", 0.02]
    if seed % 5 == 0:
        return options
    data = tensor * pipeline
    planted = [
        ["--straggler", straggler(chance, ranks)],
        ["--slow-link", f"dp_{chance.randrange(data)}:{chance.uniform(1.8, 4):.2f}"],
        ["--slow-operation", f"{chance.choice(['allgather', 'reduce_scatter'])}:{chance.uniform(2.5, 4):.2f}"],
        ["--lost-rank", chance.randrange(ranks)],
        ["--lost-start", f"{chance.randrange(ranks)}:{chance.randrange(3, 20)}"],
        ["--outlier", f"{chance.randrange(STEPS)}:{chance.uniform(1.4, 3):.2f}"],
        ["--drift", f"{chance.uniform(1.06, 1.2):.2f}"],
    ]
    for fault in [planted[0]] * (seed % 2) + chance.sample(planted[1:], chance.randrange(1, 3)):
        options += fault
    if seed % 10 == 3:
        other = straggler(chance, ranks)
        options += ["--straggler", other]
    return options


def plant(gen_run, dataset, name, options):
    faults = dataset.parent / f"{name}.json"
    subprocess.run([gen_run, "--run", name, "--faults-out", faults, "--jobs", "2", *map(str, options), dataset], check=True)
    return json.loads(faults.read_text())


def result(dataset, run, name):
    return pyarrow.parquet.read_table(dataset / "_analysis" / run / f"{name}.parquet").to_pylist()


def late_steps(fault, first):
    return [step for step in range(first, STEPS)
            if step >= fault["first_step"] and (step - fault["first_step"]) % fault["every"] == 0]


def expected_rules(faults):
    rules = {rule for key, rule in RULES.items() if faults[key]}
    return rules | ({"drift"} if faults["drift"] > 1 else set())


def check_straggler(fault, found, first):
    late = late_steps(fault, first)
    kind = "at times" if fault["every"] > 1 else "since" if fault["first_step"] >= first + 5 else "always"
    assert found["kind"] == kind
    assert found["cause"] == {"kernel": "compute"}.get(fault["kind"], fault["kind"])
    assert found["is_one_kernel"] == (fault["kind"] == "kernel")
    if fault["kind"] == "kernel":
        assert found["kernel"].startswith("sm90_xmma_gemm")
    assert abs(found["late_steps"] - len(late)) <= max(1, 0.1 * len(late))
    if kind == "since":
        assert abs(found["first_step"] - fault["first_step"]) <= 1
    assert found["excess_ns"] / found["expected_ns"] == pytest.approx(fault["factor"] - 1, rel=0.2, abs=0.01)


def check_clocks(clocks, faults):
    """Every machine's clock after correction against that of the first, at both ends of the run."""
    by_name = {clock["instance"]: clock for clock in clocks}
    assert len({clock["component"] for clock in clocks}) == 1
    for time in (0, STEPS * 70_000_000):
        corrected = {}
        for name, clock in by_name.items():
            truth = faults["clocks"][name]
            seen = time + truth["offset_ns"] + truth["drift_ppm"] * 1e-6 * time
            since = seen + faults["epoch_ns"] - clock["reference_ns"]
            corrected[name] = seen + clock["offset_ns"] + clock["drift_ppm"] * 1e-6 * since
        reference = corrected["node0"]
        for name, value in corrected.items():
            assert abs(value - reference) <= by_name[name]["error_ns"] + by_name["node0"]["error_ns"], (name, time)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(len(SEEDS) // BLOCK))
def test_planted_faults_are_found_and_none_is_invented(kymo, gen_run, tmp_path, some, block):
    seeds = some(SEEDS[block * BLOCK:][:BLOCK])
    dataset = tmp_path / "runs"
    planted = {f"{seed:02d}": plant(gen_run, dataset, f"{seed:02d}", options_of(seed)) for seed in seeds}
    reports = {report["run"]: report for report in kymo.json("fleet", "report", dataset, "--format", "json")}
    assert reports.keys() == planted.keys()
    for run, faults in planted.items():
        report = reports[run]
        context = (run, options_of(int(run)), [finding["title"] for finding in report["findings"]])
        assert {finding["rule"] for finding in report["findings"]} == expected_rules(faults), context
        lost = set(faults["lost_ranks"])
        found = {row["rank"]: row for row in result(dataset, run, "Straggler")}
        assert found.keys() == {fault["rank"] for fault in faults["stragglers"]} - lost, context
        for fault in faults["stragglers"]:
            first = faults["lost_starts"].get(str(fault["rank"]), 0)
            if sum(other["rank"] == fault["rank"] for other in faults["stragglers"]) == 1 and fault["rank"] not in lost:
                check_straggler(fault, found[fault["rank"]], first)
        slow = {row["communicator"] for row in result(dataset, run, "Communicator") if row["is_slow"]}
        assert slow == set(faults["slow_links"]), context
        slow = {row["operation"] for row in result(dataset, run, "Operation") if row["is_slow"]}
        assert slow == set(faults["slow_operations"]), context
        outliers = {row["step"] for row in result(dataset, run, "Step") if row["is_outlier"]}
        assert set(faults["outliers"]) <= outliers, context
        check_clocks(result(dataset, run, "Clock"), faults)
        assert report["replay_error_ns"] < 20e3


@pytest.fixture(scope="module")
def pair(kymo, gen_run, tmp_path_factory):
    """A run with a straggler, and the same run without it."""
    dataset = tmp_path_factory.mktemp("pair") / "runs"
    options = ["--ranks", 16, "--machine-ranks", 4, "--tensor", 2, "--pipeline", 2, "--steps", 40, "--clocks", "1e6:20"]
    plant(gen_run, dataset, "slow", [*options, "--straggler", "host:6:1.3"])
    plant(gen_run, dataset, "sound", options)
    kymo.ok("fleet", "report", dataset)
    return dataset


@pytest.mark.slow
@pytest.mark.sanitized
def test_what_a_replay_saves_is_what_the_run_without_the_fault_saves(pair):
    change, = [row for row in result(pair, "slow", "WhatIf") if row["kind"] == "rank"]
    steps = {run: [row["median_ns"] for row in result(pair, run, "Step")] for run in ("slow", "sound")}
    saved = sum(steps["slow"]) / 40 - sum(steps["sound"]) / 40
    assert change["rank"] == 6
    assert change["saved_ns"] == pytest.approx(saved, rel=0.1)


def test_the_critical_path_is_gapless_and_runs_through_the_straggler(pair):
    paths = collections.defaultdict(list)
    for part in result(pair, "slow", "CriticalPath"):
        paths[part["step"]].append(part)
    steps = {row["step"]: row for row in result(pair, "slow", "Step")}
    for step, parts in paths.items():
        parts.sort(key=lambda part: part["position"])
        for before, after in zip(parts, parts[1:]):
            assert after["start_ns"] == pytest.approx(before["end_ns"], abs=1)
        assert parts[-1]["end_ns"] == pytest.approx(steps[step]["end_ns"], abs=20e3)
        assert 0 <= parts[0]["start_ns"] - steps[step]["start_ns"] < 5e6
        own = collections.Counter()
        for part in parts:
            if part["kind"] == "own work":
                own[part["rank"]] += part["end_ns"] - part["start_ns"]
        assert own.most_common(1)[0][0] == 6


def matches_by_hand(dataset, run):
    """Collectives by communicator, operation, pair, step and order, in plain Python."""
    rows = pyarrow.dataset.dataset(dataset / "RankCollective", partitioning="hive").to_table(
        filter=pyarrow.dataset.field("run") == run).to_pylist()
    groups = collections.defaultdict(list)
    for row in rows:
        operation, sender, receiver = row["operation"], -1, -1
        if operation in ("send", "recv"):
            sender, receiver = (row["rank"], row["peer"]) if operation == "send" else (row["peer"], row["rank"])
            operation = "sendrecv"
        groups[row["communicator"], operation, sender, receiver, row["step"], row["occurrence"]].append(row)
    return groups


def test_collectives_are_matched_as_by_hand(pair):
    groups = matches_by_hand(pair, "slow")
    found = result(pair, "slow", "CollectiveMatch")
    factors = {"allreduce": lambda n: 2 * (n - 1) / n, "reduce_scatter": lambda n: (n - 1) / n,
               "allgather": lambda n: (n - 1) / n, "sendrecv": lambda n: 1, "barrier": lambda n: 1}
    assert len(found) == len(groups)
    for match in found:
        key = tuple(match[name] for name in ("communicator", "operation", "sender", "receiver", "step", "occurrence"))
        rows = groups[key]
        durations = {row["rank"]: row["duration_ns"] for row in rows}
        shortest = min(durations.values())
        assert match["ranks"] == len(rows) == match["group_size"]
        assert match["is_complete"]
        assert match["transfer_ns"] == shortest
        assert durations[match["last_rank"]] == shortest
        assert match["skew_ns"] == max(durations.values()) - shortest
        assert match["waited_ns"] == sum(durations.values()) - len(rows) * shortest
        assert match["algorithm_bandwidth"] == pytest.approx(rows[0]["bytes"] / shortest)
        assert match["bus_bandwidth"] == pytest.approx(rows[0]["bytes"] / shortest * factors[key[1]](len(rows)))


def test_waits_of_ranks_add_up_to_those_of_collectives(pair):
    waits = result(pair, "slow", "LaneWait")
    matches = result(pair, "slow", "CollectiveMatch")
    total = sum(match["waited_ns"] for match in matches)
    assert sum(row["waited_ns"] for row in waits) == sum(row["held_up_ns"] for row in waits) == total
    assert sum(row["came_last_count"] for row in waits) == len(matches)


def test_collectives_that_ranks_do_not_end_together_are_in_no_figure(kymo, tmp_path):
    """Two ranks of a job whose captures have few collectives with the same numbers: some that were matched ended 160 ms apart."""
    dataset = tmp_path / "runs"
    kymo.ok("fleet", "add", dataset, *(DATA / "kineto" / f"recommender_rank{name}.json.gz" for name in ("", "1")), "--run", "night")
    report, = kymo.json("fleet", "report", dataset, "--format", "json")
    key = ("communicator", "operation", "sender", "receiver", "sequence", "step", "occurrence")
    errors = {clock["instance"]: clock["error_ns"] for clock in result(dataset, "night", "Clock")}
    arrivals = collections.defaultdict(list)
    for arrival in result(dataset, "night", "Arrival"):
        arrivals[tuple(arrival[name] for name in key)].append(arrival)
    together, apart = [], []
    for match in result(dataset, "night", "CollectiveMatch"):
        rows = arrivals[tuple(match[name] for name in key)]
        spread = max(row["end_ns"] for row in rows) - min(row["end_ns"] for row in rows)
        assert match["end_spread_ns"] == spread
        limit = max(5 * max(errors[row["instance"]] for row in rows), min(row["duration_ns"] for row in rows), 20e3)
        assert match["ends_together"] == (spread <= limit)
        (together if match["ends_together"] else apart).append(match)
    assert apart and together and {match["ranks"] for match in apart} == {2}
    assert (report["matched_collectives"], report["apart_collectives"]) == (len(together), len(apart))
    waited = sum(match["waited_ns"] for match in together)
    assert sum(row["waited_ns"] for row in result(dataset, "night", "LaneWait")) == waited
    kinds = result(dataset, "night", "Communicator")
    assert sum(row["matches"] for row in kinds) == len(together) and sum(row["waited_ns"] for row in kinds) == waited
    assert max(row["max_skew_ns"] for row in kinds) == max(match["skew_ns"] for match in together)
    # A replay binds lanes by the others alone: it takes as long as their transfer, or as the lane was in it by itself.
    spans = {name: [row["end_ns"] - row["start_ns"] for row in rows] for name, rows in arrivals.items()}
    lengths = {"transfer": [min(spans[tuple(match[name] for name in key)]) for match in together],
               "unmatched collective": [span for match in apart for span in spans[tuple(match[name] for name in key)]]}
    parts = [part for part in result(dataset, "night", "CriticalPath") if part["kind"] != "own work"]
    assert {part["kind"] for part in parts} == set(lengths)
    for part in parts:
        assert min(abs(part["end_ns"] - part["start_ns"] - length) for length in lengths[part["kind"]]) < 1
    finding, = [finding for finding in report["findings"] if finding["rule"] == "collectives-apart"]
    assert finding["evidence"]["collectives"] == len(apart) and finding["cost_ns"] is None
    assert f"{len(apart)} more are left out: ranks do not end them together" in kymo.ok("fleet", "report", dataset)


@pytest.mark.slow
def test_a_slow_machine_is_one_finding(kymo, gen_run, tmp_path):
    dataset = tmp_path / "runs"
    options = ["--ranks", 16, "--machine-ranks", 4, "--tensor", 4, "--steps", 30]
    plant(gen_run, dataset, "slow", options + [word for rank in range(8, 12) for word in ("--straggler", f"compute:{rank}:1.2")])
    plant(gen_run, dataset, "sound", options)
    report, sound = kymo.json("fleet", "report", dataset, "--format", "json")
    finding, = report["findings"]
    saved = report["step_ns"] - sound["step_ns"]
    assert finding["rule"] == "slow-machine" and finding["title"] == "Machine node2 is slow in all steps"
    assert finding["cost_ns"] == pytest.approx(saved, rel=0.1)
    assert "incomplete" not in finding["statement"]
    drop_events(dataset, "run=slow/instance=node2/rank=9")
    result = kymo.run("fleet", "report", dataset, "--run", "slow", "--force", "--format", "json")
    assert "5 trace events were dropped" in result.stderr
    report, = json.loads(result.stdout)
    note = " This rests on an incomplete rank: events of rank 9 were dropped during capture."
    assert [found["statement"] for found in report["findings"]] == [finding["statement"] + note]


def drop_events(dataset, place):
    """Has the profile of a rank say that its capture dropped events."""
    profile = dataset / "_profile" / place
    profile.mkdir(parents=True, exist_ok=True)
    sentence = ("Warning: 5 trace events were dropped during capture (stored 95 out of 100 total events). Consider "
                "increasing buffer size, reducing trace duration, or filtering events.")
    (profile / "summary.json").write_text(json.dumps({"dropped_warning": sentence}))


@pytest.mark.slow
def test_results_are_made_again_only_when_ranks_change(kymo, gen_run, tmp_path):
    dataset = tmp_path / "runs"
    options = ["--ranks", 8, "--machine-ranks", 4, "--tensor", 2, "--steps", 12]
    plant(gen_run, dataset, "run", [*options, "--lost-rank", 3])
    made = dataset / "_analysis" / "run" / "RunFinding.parquet"
    report, = kymo.json("fleet", "report", dataset, "--format", "json")
    first = made.stat().st_mtime_ns
    assert report["ranks"] == 7
    kymo.ok("fleet", "report", dataset)
    assert made.stat().st_mtime_ns == first
    kymo.ok("fleet", "report", dataset, "--force")
    second = made.stat().st_mtime_ns
    assert second > first
    plant(gen_run, dataset, "run", options)
    report, = kymo.json("fleet", "report", dataset, "--format", "json")
    assert report["ranks"] == 8 and made.stat().st_mtime_ns > second
    assert [finding["rule"] for finding in report["findings"]] == []


def test_a_dataset_that_cannot_be_written_to_has_its_results_in_the_workspace(kymo, gen_run, tmp_path):
    dataset, workspace = tmp_path / "runs", tmp_path / "workspace"
    plant(gen_run, dataset, "a b", ["--ranks", 4, "--machine-ranks", 2, "--tensor", 2, "--steps", 8])
    (dataset / "_analysis").write_text("in the way")
    text = kymo.ok("fleet", "report", dataset, "--data-path", workspace)
    assert text.startswith("Run a b\n  4 ranks on 2 machines")
    assert len(list(workspace.rglob("RunFinding.parquet"))) == 1


def test_ranks_that_are_not_whole_are_not_seen(kymo, gen_run, tmp_path):
    dataset = tmp_path / "runs"
    plant(gen_run, dataset, "run", ["--ranks", 8, "--machine-ranks", 4, "--tensor", 2, "--steps", 8])
    (dataset / "Rank/run=run/instance=node1/rank=5/part-0.parquet").unlink()
    report, = kymo.json("fleet", "report", dataset, "--format", "json")
    assert report["ranks"] == report["lanes"] == 7


def test_findings_have_the_query_behind_them(kymo, pair):
    report, = kymo.json("fleet", "report", pair, "--run", "slow", "--format", "json", "--sql")
    results = duckdb.connect()
    for path in (pair / "_analysis" / "slow").glob("*.parquet"):
        results.execute(f"CREATE VIEW {path.stem} AS FROM '{path}'")
    finding = report["findings"][0]
    columns = [column[0] for column in results.execute(finding["sql"]).description]
    row = dict(zip(columns, results.execute(finding["sql"]).fetchall()[0]))
    assert row == finding["evidence"]
    assert finding["sql"] in kymo.ok("fleet", "report", pair, "--run", "slow", "--format", "markdown", "--sql")


def test_queries_are_printed_in_the_order_they_run(kymo, pair):
    queries = kymo.json("fleet", "queries")
    made = {path.stem for path in (pair / "_analysis" / "slow").glob("*.parquet")}
    assert {query["name"] for query in queries if "sql" in query} <= made
    assert all(query["purpose"] for query in queries)
    names = [query["name"] for query in queries]
    assert names.index("ClockSample") < names.index("Clock") < names.index("LaneStep")


def test_a_killed_or_interrupted_report_leaves_nothing_that_is_taken_for_results(kymo, gen_run, tmp_path):
    dataset = tmp_path / "runs"
    plant(gen_run, dataset, "run", ["--ranks", 16, "--machine-ranks", 4, "--tensor", 2, "--steps", 200])
    for number in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen([kymo.path, "fleet", "report", dataset, "--force"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        while process.poll() is None and not (dataset / "_analysis/run/Lane.parquet").exists():
            time.sleep(0.005)
        process.send_signal(number)
        assert process.communicate(timeout=60)[0] == b""
        assert process.returncode == (130 if number == signal.SIGINT else -number)
        assert not (dataset / "_analysis/run/state.json").exists()
        (dataset / "_analysis/run/Lane.parquet").unlink(missing_ok=True)
    report, = kymo.json("fleet", "report", dataset, "--format", "json")
    assert report["ranks"] == 16


def test_what_cannot_be_reported_is_said(kymo, pair, tmp_path):
    assert "not a dataset" in kymo.refuses("fleet", "report", tmp_path)
    assert "has no run night" in kymo.refuses("fleet", "report", pair, "--run", "night")
    assert "text, json, markdown" in kymo.refuses("fleet", "report", pair, "--format", "csv", code=2)
    broken = pair / "_analysis" / "sound" / "Straggler.parquet"
    broken.write_bytes(b"no table")
    assert "Straggler" in kymo.refuses("fleet", "report", pair, "--run", "sound")
    kymo.ok("fleet", "report", pair, "--run", "sound", "--force")


def test_ranks_that_behave_alike_are_grouped(kymo, gen_run, tmp_path):
    dataset = tmp_path / "runs"
    late, at_times = (3, 17, 20), (6, 9)
    plant(gen_run, dataset, "run", ["--ranks", 32, "--machine-ranks", 8, "--tensor", 4, "--steps", 80, "--lost-start", "11:20",
                                    *(word for rank in late for word in ("--straggler", f"compute:{rank}:1.25:30")),
                                    *(word for rank in at_times for word in ("--straggler", f"host:{rank}:1.6:0:5"))])
    kymo.ok("fleet", "report", dataset)
    rows = result(dataset, "run", "LaneCluster")
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["cluster"]].append(row["rank"])
    assert groups == {0: list(late), 1: list(at_times), 2: [rank for rank in range(32) if rank not in late + at_times]}
    steps = collections.defaultdict(list)
    for row in result(dataset, "run", "LaneStep"):
        steps[row["rank"]].append(row["excess_ns"])
    for row in rows:
        assert row["lanes"] == len(groups[row["cluster"]])
        means = [sum(steps[rank]) / len(steps[rank]) for rank in groups[row["cluster"]]]
        assert row["excess_ns"] == pytest.approx(sum(means) / len(means), rel=1e-4, abs=10)


@pytest.mark.slow
def test_communication_beside_compute_is_told_apart(kymo, gen_run, tmp_path):
    """With it steps are shorter, and what is planted is found all the same."""
    dataset = tmp_path / "a b" / "runs"
    options = ["--ranks", 16, "--machine-ranks", 4, "--tensor", 2, "--steps", 40, "--straggler", "host:6:1.3:10", "--clocks", "1e6:20"]
    dataset.parent.mkdir()
    plant(gen_run, dataset, "plain", options)
    faults = dataset.parent / "faults.json"
    subprocess.run([gen_run, "--run", "over/lap: 1", "--faults-out", faults, *map(str, options), "--overlap", dataset], check=True)
    overlapped, plain = kymo.json("fleet", "report", dataset, "--format", "json")
    assert overlapped["run"] == "over/lap: 1" and plain["overlap_ns"] == 0
    for row in kymo.json("fleet", "sql", dataset, "FROM RankStep", "--format", "json"):
        assert row["compute_ns"] + row["exposed_communication_ns"] + row["copy_ns"] + row["idle_ns"] == row["duration_ns"]
        assert row["communication_ns"] == row["exposed_communication_ns"] + row["overlap_ns"]
        assert (row["overlap_ns"] > 0) == (row["run"] != "plain")
    assert overlapped["overlap_ns"] > 1e6 and overlapped["step_ns"] < plain["step_ns"] - 0.5 * overlapped["overlap_ns"]
    for report in (overlapped, plain):
        assert [finding["title"] for finding in report["findings"]] == ["Rank 6 on node1 is slow since step 10"]
        assert report["replay_error_ns"] < 20e3
    assert "while computing" in kymo.ok("fleet", "report", dataset, "--run", "over/lap: 1")


def report_with_warnings(kymo, *arguments):
    done = kymo.run("fleet", "report", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


TABLES = ["Rank", "RankStep", "RankCollective", "RankKernel"]
DAMAGES = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "other": lambda data: b"no table" * 100,
    "zeros": lambda data: data[:200] + bytes(len(data) - 400) + data[-200:],
}


# A footer that is none is found when a file is opened, whatever it holds; zeros in the data when its columns are read.
DAMAGED = [*(("zeros", table) for table in TABLES), ("cut", "Rank"), ("cut", "RankStep"), ("empty", "RankCollective"), ("other", "RankKernel")]


@pytest.fixture
def whole(gen_run, tmp_path):
    """A run with a straggler, whose tables are damaged by the tests."""
    plant(gen_run, tmp_path / "runs", "r", ["--ranks", 16, "--machine-ranks", 8, "--tensor", 2, "--steps", 12, "--straggler", "kernel:1:1.4"])
    return tmp_path / "runs"


def table_of(dataset, table, rank):
    return dataset / table / f"run=r/instance=node{rank // 8}/rank={rank}/part-0.parquet"


@pytest.mark.slow
@pytest.mark.sanitized
def test_ranks_that_cannot_be_read_are_left_out_and_named(kymo, whole):
    damaged = {rank: table_of(whole, table, rank) for rank, (_, table) in enumerate(DAMAGED)}
    before = {file: file.read_bytes() for file in damaged.values()}
    for rank, (damage, _) in enumerate(DAMAGED):
        damaged[rank].write_bytes(DAMAGES[damage](before[damaged[rank]]))
    for _ in range(2):  # made, and read again
        printed, warned = report_with_warnings(kymo, whole, "--format", "json")
        report, = json.loads(printed)
        assert f"{len(DAMAGED)} ranks are left out" in warned
        finding, = report["findings"]
        assert report["ranks"] == 16 - len(DAMAGED) and finding["rule"] == "damaged-ranks"
        for rank, file in list(damaged.items())[:3]:  # a statement names some
            assert f"rank {rank}, {file.relative_to(whole)}: " in finding["statement"]
    rows = {row["rank"]: row for row in result(whole, "r", "DamagedRank")}
    assert {rank: row["file"] for rank, row in rows.items()} == {rank: str(file.relative_to(whole)) for rank, file in damaged.items()}
    assert all(row["instance"] == "node0" and len(row["reason"]) > 10 for row in rows.values())
    for file, content in before.items():
        if file != damaged[1]:
            file.write_bytes(content)
    for form in ("text", "markdown"):
        assert "Rank 1 is left out" in report_with_warnings(kymo, whole, "--format", form)[0]
    damaged[1].write_bytes(before[damaged[1]])
    report, = kymo.json("fleet", "report", whole, "--force", "--format", "json")
    assert [finding["rule"] for finding in report["findings"]] == ["straggler"] and report["ranks"] == 16


@pytest.mark.slow
def test_flipped_bits_never_stop_the_report(kymo, whole):
    """Each of three reports finds one in a table of each of twelve ranks."""
    files = [table_of(whole, TABLES[rank % 4], rank) for rank in range(12)]
    before, chance = [file.read_bytes() for file in files], random.Random(1)
    for _ in range(3):
        for file, content in zip(files, before):
            damaged = bytearray(content)
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
            file.write_bytes(damaged)
        report, = json.loads(report_with_warnings(kymo, whole, "--force", "--format", "json")[0])
        left_out = {row["rank"] for row in result(whole, "r", "DamagedRank")}
        assert left_out <= set(range(12)) and report["ranks"] == 16 - len(left_out)
        assert ("damaged-ranks" in {finding["rule"] for finding in report["findings"]}) == bool(left_out)


def test_a_run_of_damaged_ranks_only_has_no_report(kymo, gen_run, tmp_path):
    dataset = tmp_path / "runs"
    plant(gen_run, dataset, "r", ["--ranks", 4, "--machine-ranks", 2, "--tensor", 2, "--steps", 3])
    for file in dataset.glob("RankStep/**/*.parquet"):
        file.write_bytes(file.read_bytes()[:500])
    message = kymo.refuses("fleet", "report", dataset)
    assert "no rank of run r can be read" in message and "add the ranks again with --force" in message
