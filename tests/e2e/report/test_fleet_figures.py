"""Figures of runs of many ranks: what the report prints, as JSON, text and Markdown, and what the server answers, is what plain DuckDB finds
over the Parquet files of the results by the queries of the catalog."""

import json
import math
import re
import struct
import subprocess
import time

import duckdb
import pytest

from conftest import DATA
from server import Server

PLANTED = ["--ranks", 16, "--steps", 40, "--machine-ranks", 4, "--tensor", 2, "--pipeline", 2, "--jobs", 2, "--clocks", "1e6:5", "--straggler", "kernel:5:1.3:10",
           "--lost-start", "3:7", "--lost-rank", 9, "--outlier", "20:2.0", "--slow-link", "dp_1:2.5"]
RUNS = ["planted", "real", "alone"]
SECTIONS = {"Slow ranks": "slow_ranks", "What if": "what_if", "Critical path": "critical_path", "Collectives that ranks wait in most": "skews",
            "Bandwidths": "bandwidths", "Clocks": "clocks", "Longest steps": "longest_steps"}
SCALES = {"ps": 1e-3, "ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "%": 0.01, "GB/s": 1,
          "byte": 1, "bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "": 1}


@pytest.fixture(scope="module")
def dataset(kymo, gen_run, tmp_path_factory):
    """A synthetic run with faults, one of two real ranks of many, and one of a rank alone, of which little can be known."""
    dataset = tmp_path_factory.mktemp("figures") / "runs"
    subprocess.run([gen_run, "--run", "planted", *map(str, PLANTED), dataset], check=True)
    for rank, name in enumerate(["recommender_rank", "recommender_rank1"]):
        kymo.ok("fleet", "add", dataset, DATA / "kineto" / f"{name}.json.gz", "--run", "real", "--rank", rank)
    kymo.ok("fleet", "add", dataset, DATA / "xplane" / "jax_matmul_h200.xplane.pb", "--run", "alone", "--rank", 0)
    kymo.ok("fleet", "report", dataset)
    return dataset


@pytest.fixture(scope="module")
def server(kymo, dataset, tmp_path_factory):
    server = Server(kymo, dataset, "--data-path", tmp_path_factory.mktemp("data"), command="serve")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def groups(server):
    return [group for group in server.get("figures")["groups"] if group["of"] == "run"]


class Run:
    """The results of a run in a DuckDB of its own, and the queries of the catalog."""

    def __init__(self, server, dataset, name):
        self.server, self.dataset, self.name = server, dataset, name
        self.tables = duckdb.connect()
        for file in (dataset / "_analysis" / name).glob("*.parquet"):
            self.tables.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM '{file}'")

    def rows(self, group, query=None):
        self.tables.execute(query or self.server.get(f"runs/runs/{self.name}/figures/{group}")["query"])
        columns = [column[0] for column in self.tables.description]
        return [dict(zip(columns, row)) for row in self.tables.fetchall()]


@pytest.fixture(params=RUNS)
def run(request, server, dataset):
    return Run(server, dataset, request.param)


@pytest.fixture
def report(kymo, run):
    return lambda *options: kymo.ok("fleet", "report", run.dataset, "--run", run.name, *options)


def same(shown, found):
    if found is None or shown is None or isinstance(found, (str, bool)):
        return shown == found
    return math.isclose(shown, found, rel_tol=1e-12, abs_tol=1e-9)


def fits(text, value):
    """Whether a value is what a text of some digits stands for."""
    if value is None:
        return text == "-"
    if isinstance(value, (str, bool)):
        return text == str(value)[:60] or text == str(value).lower()
    digits, decimals, exponent, unit = re.fullmatch(r"([+-]?[\d,]+(?:\.(\d+))?(?:e([+-]\d+))?)(?: (\S+))?", text).groups()
    shown, step = float(digits.replace(",", "")), 10.0 ** (int(exponent or 0) - len(decimals or ""))
    if text == "0":
        return value == 0
    low, high = (shown - 0.5 * step) * SCALES[unit or ""], (shown + 0.5 * step) * SCALES[unit or ""]
    return value == shown if isinstance(value, int) and not unit else low - 1e-9 * abs(low) - 1e-9 <= value <= high + 1e-9 * abs(high) + 1e-9


def test_the_report_as_json_is_what_the_queries_find(run, report):
    (printed,) = json.loads(report("--format", "json", "--sql"))
    (whole,) = run.rows("run")
    assert all(same(printed[column], value) for column, value in whole.items())
    for section in ["findings", *SECTIONS.values()]:
        rows = run.rows(f"run.{section}")
        assert len(printed[section]) == len(rows)
        for shown, row in zip(printed[section], rows):
            row["evidence"] = json.loads(row["evidence"]) if "evidence" in row else None
            row["device"] = row.get("device_idx", row.get("device"))
            assert all(same(value, row[column]) if column != "evidence" else value == row[column] for column, value in shown.items()), (shown, row)
    assert {"findings", *SECTIONS.values()} == {key for key, value in printed.items() if isinstance(value, list)}


SUMMARY = [
    r"((?P<ranks>\d+) of (?P<world_size>\d+)|(?P<all_ranks>\d+)) ranks? on (?P<machines>\d+) machines?(, (?P<device_name>[^;]+))?; (?P<steps>\d+) steps?"
    r" \((?P<first_step>\d+) to (?P<last_step>\d+)\), (?P<duration_ns>.+)",
    r"Step time (?P<step_ns>.+) \(median; (?P<shortest_ns>.+) to (?P<longest_ns>.+)\)",
    r"Of the median rank: computes (?P<compute_ns>.+), communicates without computing (?P<exposed_ns>[^,]+), (while computing (?P<overlap_ns>[^,]+), )?"
    r"copies (?P<copy_ns>.+), waits for its host (?P<idle_host_ns>.+), idle otherwise (?P<idle_rest_ns>.+)",
    r"(?P<matched_collectives>\d+) collectives? of (?P<matched_steps>\d+) steps? matched over ranks(; in them a rank waits for others (?P<waited_ns>.+) per step)?",
    r"(?P<apart_collectives>\d+) more are left out: ranks do not end them together, so they may be different ones",
    r"Clocks are aligned to (?P<clock_error_ns>.+) \(largest error\)",
]


def check_summary(lines, whole):
    """Each sentence, and that it says what is known: nothing unknown is shown as 0."""
    shown = {}
    for line in lines:
        (match,) = filter(None, (re.fullmatch(pattern, line) for pattern in SUMMARY))
        shown |= {column.removeprefix("all_"): text for column, text in match.groupdict().items() if text is not None}
    for column, text in shown.items():
        assert text == whole[column] if column == "device_name" else fits(text, int(whole[column]) if float(whole[column]).is_integer() and "_ns" not in column else whole[column]), (column, text)
    left_out = {column for column, value in whole.items() if value is None or column in ("world_size", "overlap_ns", "apart_collectives")}
    assert whole.keys() - shown.keys() <= left_out | {"communication_ns", "straggler_count", "replay_error_ns", "lanes"}
    assert not {column for column in shown if whole[column] is None}


def check_cost(text, row):
    cost, share, hours = re.fullmatch(r"costs (.+) per step \((.+ %) of the step time\), (\S+) rank-hours in all", text).groups()
    assert fits(cost, row["cost_ns"]) and fits(share, row["cost_share"])
    assert float(hours) == pytest.approx(row["rank_hours"], rel=6e-3)


def check_findings(text, rows):
    """Numbered sentences; what costs nothing that is known says nothing of costs."""
    found = re.split(r"^ {0,2}\d+\. ", text, flags=re.M)[1:]
    assert len(found) == len(rows)
    for part, row in zip(found, rows):
        title, *lines = part.strip().split("\n")
        assert title == row["title"]
        if row["cost_ns"] is not None:
            check_cost(lines.pop(0).strip(), row)
        assert " ".join(line.strip() for line in lines) == f"{row['statement']} {row['advice']}"


def check_table(rows_of_text, rows, what):
    head, *lines = rows_of_text
    assert len(lines) == len(rows), what
    names = [re.sub(r"_ns$", "", name).replace("_", " ") for name in rows[0]]
    assert head == names, what
    for cells, row in zip(lines, rows):
        for cell, (column, value) in zip(cells, row.items(), strict=True):
            assert fits(cell, value), (what, column, cell, value)


def test_the_report_as_text_is_what_the_queries_find(run, report):
    head, *parts = re.split(r"\n\n(?=[A-Z])", report().rstrip("\n"))
    title, *lines = head.split("\n")
    assert title == f"Run {run.name}"
    (whole,) = run.rows("run")
    check_summary([line.strip() for line in lines], whole)
    assert parts[0].startswith("Findings\n")
    findings = run.rows("run.findings")
    if findings:
        check_findings(parts[0].removeprefix("Findings\n"), findings)
    else:
        assert parts[0] == "Findings\n  None."
    shown = set()
    for part in parts[1:]:
        title, note, *lines = part.split("\n")
        shown.add(SECTIONS[title])
        check_table([re.split(r" {2,}", line.strip()) for line in lines], run.rows(f"run.{SECTIONS[title]}"), title)
    assert shown == {section for section in SECTIONS.values() if run.rows(f"run.{section}")}


def test_the_report_as_markdown_is_what_the_queries_find(run, report):
    head, *parts = re.split(r"\n+## ", report("--format", "markdown").rstrip("\n"))
    (whole,) = run.rows("run")
    check_summary([line.removeprefix("- ") for line in head.split("\n\n")[1].split("\n")], whole)
    for line, row in zip([line for line in parts[0].split("\n") if re.match(r"\d+\. ", line)], run.rows("run.findings"), strict=True):
        title, cost, text = re.fullmatch(r"\d+\. \*\*(.+?)\*\*( costs .+? in all)?\. (.+)", line).groups()
        assert (title, text) == (row["title"], f"{row['statement']} {row['advice']}")
        assert (cost is None) == (row["cost_ns"] is None)
        if cost:
            check_cost(cost.strip(), row)
    for part in parts[1:]:
        title = part.split("\n")[0]
        table = [[cell.strip().replace("\\_", "_") for cell in line.strip("|").split("|")] for line in part.split("\n") if line.startswith("|")]
        check_table([table[0], *table[2:]], run.rows(f"run.{SECTIONS[title]}"), title)


def test_every_group_has_definitions_and_rows_that_its_keys_tell_apart(server, dataset, groups):
    run = Run(server, dataset, "planted")
    assert len(groups) > 15
    for group in groups:
        rows = run.rows(group["id"])
        assert rows, group["id"]
        assert {figure["column"] for figure in group["figures"]} <= rows[0].keys(), group["id"]
        assert all(figure["text"] and figure["formula"] for figure in group["figures"])
        keys = [key for key in group["keys"] if key != "*"]
        assert group["keys"] == ["*"] or len({tuple(row[key] for key in keys) for row in rows}) == len(rows), (group["id"], "keys tell rows apart")


@pytest.mark.parametrize("name", ["planted", "real"])
def test_the_pages_of_a_run_get_what_the_queries_find(dataset, server, name):
    run = Run(server, dataset, name)
    url = f"runs/runs/{name}"
    deadline = time.monotonic() + 60
    while (answer := server.ask("GET", f"{url}/lanes")).status == 202 and time.monotonic() < deadline:
        time.sleep(0.02)
    shape = answer.json

    def compare(shown, group, more=()):
        """Records of an answer with the rows of a group, by its keys; columns of the same name are equal."""
        keys = [key for key in next(one for one in server.get("figures")["groups"] if one["id"] == group)["keys"]]
        rows = {tuple(row[key] for key in keys): row for row in run.rows(group)}
        compared = 0
        for record in shown:
            record = {**record, **dict(more)}
            row = rows[tuple(record[key] for key in keys)]
            for column in record.keys() & row.keys():
                assert same(record[column], row[column]), (group, column, record, row)
                compared += 1
        assert compared > len(shown) * len(keys)

    compare(shape["lanes"], "run.lanes")
    compare(shape["steps"], "run.steps")
    compare(shape["clusters"], "run.clusters")
    step = run.rows("run.path")[0]["step"] if name == "planted" else 551
    answer = server.get(f"{url}/steps/{step}", collective=0)
    compare(answer["step"], "run.steps")
    compare(answer["collectives"], "run.collectives", {"step": step}.items())
    compare(answer["arrivals"], "run.arrivals", {column: answer["collectives"][0][column] for column in ("step", "communicator", "operation", "sender", "receiver", "sequence", "occurrence")}.items())
    if name == "planted":
        compare(answer["path"], "run.path", {"step": step}.items())
    compare(server.get(f"{url}/steps/{step}/lanes", lanes="0,1")["lanes"], "run.lane_steps", {"step": step}.items())


def test_scales_and_cells_of_heat_maps_are_what_the_queries_find(dataset, server):
    run = Run(server, dataset, "planted")
    url = "runs/runs/planted"
    scales = {row["measure"]: row for row in run.rows("run.scales")}
    lanes = server.get(f"{url}/lanes", order="slowest")["lanes"]
    steps = [one["step"] for one in server.get(f"{url}/lanes")["steps"]]
    for measure, scale in scales.items():
        body = server.ask("GET", f"{url}/heatmap?measure={measure}&order=slowest&width=5&height=4").body
        rows, columns, *_ = struct.unpack_from("<2I", body)
        values = struct.unpack_from(f"<{2 * rows * columns + 2}f", body, 8)
        assert values[-2:] == pytest.approx((scale["low_ns"], scale["high_ns"]), rel=1e-5)  # of 32-bit numbers
        assert measure == "copy" or scale["low_ns"] < scale["high_ns"]  # which is the same everywhere
        for row, column in [(0, 0), (0, 3), (3, 4)]:
            first, last = (-(-row * len(lanes) // rows), -(-(row + 1) * len(lanes) // rows) - 1)
            begin, end = (-(-column * len(steps) // columns), -(-(column + 1) * len(steps) // columns) - 1)
            query = server.get(f"{url}/figures/run.cell", measure=measure, order="slowest", first_lane=first, last_lane=last, first_step=steps[begin], last_step=steps[end])["query"]
            ((cell),) = run.rows("run.cell", query)
            assert (values[row * columns + column], values[rows * columns + row * columns + column]) == pytest.approx((cell["max_ns"], cell["mean_ns"]), rel=1e-5, abs=0.5)


def test_queries_of_runs_are_printed_run_and_refused(kymo, dataset, server):
    query = kymo.ok("figures", "run.slow_ranks", dataset / "planted")
    assert [row["rank"] for row in kymo.json("sql", dataset / "planted", query, "--format", "json")] == [5]
    assert server.get("runs/runs/planted/figures/run.slow_ranks")["query"].strip() == query.strip()
    assert "Late steps as a share of its steps" in kymo.ok("figures", "run.slow_ranks.late_share")
    assert "No such file" in kymo.refuses("figures", "run.slow_ranks", "nothing")
    assert "is not a run of many ranks" in kymo.refuses("figures", "run.slow_ranks", dataset.parent)
    assert "has no run none" in kymo.refuses("figures", "run.slow_ranks", dataset / "none")
    assert "none" in kymo.refuses("sql", dataset / "none", "FROM Step")
    for path, word in [("runs/runs/planted/figures/nothing", "no group"), ("runs/runs/planted/figures/summary", "of profiles, not of runs"), ("runs/runs/none/figures/run", "no run")]:
        answer = server.ask("GET", path)
        assert answer.status == 404 and word in answer.error
    answer = server.ask("GET", "profiles/runs%2Frun=real%2Frank=0/figures/run.steps")
    assert answer.status == 404 and "of runs, not of profiles" in answer.error
