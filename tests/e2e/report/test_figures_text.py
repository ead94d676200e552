"""What commands print for people, as CSV and as JSON: each number is what plain DuckDB finds by the query of its group, to the digits printed."""

import csv
import io
import json
import re
import sys

import pytest
import scipy.stats  # that JAX needs

from conftest import DATA, ROOT
from server import Server

sys.path.insert(0, str(ROOT / "tests" / "ui"))
from check_figures import fits, rows_of, tables_of  # noqa: E402

CAPTURES = {
    "gpt": "xplane/jax_gpt_python_h200.xplane.pb", "tpu": "xplane/tpu_inference.xplane.pb", "amd": "kineto/amd_mi250.json.gz",
    "torch": "kineto/nccl_gpu_rank.json.gz", "torch-gpt": "kineto/torch_gpt_cut.json.gz", "cpu": "xplane/jax_cpu.xplane.pb",
}
# Sections of the summary: its list, and the figure that each column shows, with its unit.
RANKED = {"total": ("total_ns", "ns"), "self": ("self_ns", "ns"), "share": ("share", "fraction"), "count": ("count", ""), "max": ("max_ns", "ns")}
SECTIONS = {
    "Operations, by self time on the device": ("operations", {**RANKED, "mean": None}),
    "Kernels, by time on the device": ("kernels", RANKED),
    "Copies and memsets, by time on the device": ("copies", RANKED),
    "Host events, by self time": ("host_events", RANKED),
    "Kernel families, by time on the device": ("kernel_families", {"total": ("total_ns", "ns"), "share": ("share", "fraction"), "kernels": ("count", "")}),
    "Devices: busy time, its share of the capture, and the sum over streams": ("devices", {
        "events": ("event_count", ""), "busy": ("busy_ns", "ns"), "share": ("busy_share", "fraction"), "streams": ("sum_ns", "ns"),
        "delay p50": ("launch_delay_ns.p50", "ns"), "p99": ("launch_delay_ns.p99", "ns")}),
    "Operators, by self time on the device": ("operators", {
        "self": ("device_self_ns", "ns"), "share": ("share", "fraction"), "with calls": ("device_ns", "ns"), "+ backward": ("device_with_backward_ns", "ns"),
        "count": ("count", ""), "device work": ("device_event_count", "")}),
    "Modules of the model, by time on the device": ("modules", {
        "self": ("device_self_ns", "ns"), "share": ("share", "fraction"), "with calls": ("device_ns", "ns"), "count": ("count", "")}),
    "Host threads, busiest first: time with events": ("threads", {"events": ("event_count", ""), "busy": ("busy_ns", "ns"), "share": ("busy_share", "fraction")}),
}
IDENTIFIERS = {"PID", "TID", "Pid", "Tid", "DevId", "Device", "Device ID", "CorrId", "Ctx", "Context ID", "Strm", "Stream ID", "Next Event ID", "RangeId"}
STEP_TIMES = {"step time": "step_ns", "host time": "host_ns", "device time": "device_ns", "period": "period_ns"}
TITLES = {
    "steps": "Steps", "operators": "Operators, time on the device", "families": "Families of kernels", "kernels": "Kernels", "collectives": "Collectives",
    "copies": "Copies", "host": "Host, time of each operator and call itself", "memory": "Memory",
}
PAIRS = [("gpt", "torch"), ("gpt", "gpt"), ("tpu", "amd")]


@pytest.fixture(scope="module")
def place(kymo, tmp_path_factory):
    place = tmp_path_factory.mktemp("texts")
    for name, path in CAPTURES.items():
        kymo.ok("view", DATA / path, "--ingest-only", "--display-name", name, "--data-path", place)
    return place


@pytest.fixture(scope="module")
def query_of(kymo, place):
    """Queries of groups; the server has them without starting DuckDB for each."""
    server = Server(kymo, "--data-path", place)

    def ask(path):
        answer = server.ask("GET", path)
        assert answer.status == 200, (path, answer.body)
        return json.loads(answer.body)["query"]

    ask.server = server
    yield ask
    server.stop()


@pytest.fixture(params=CAPTURES)
def profile(request, kymo, place, query_of):
    return Profile(kymo, place, request.param, query_of)


def folder(place, name):
    return str(place / "profiles" / "global" / f"{name}@latest")


class Profile:
    def __init__(self, kymo, place, name, query_of):
        self.kymo, self.place, self.name = kymo, place, name
        self.query = lambda group: query_of(f"profiles/{name}/figures/{group}")
        self.server = query_of.server
        self.tables = tables_of(folder(place, name))

    def ok(self, command, *arguments):
        """What a command prints; it may warn of what the capture lacks."""
        result = self.kymo.run(command, *arguments, "--data-path", self.place)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def rows(self, group):
        return rows_of(self.tables, self.query(group))


def table(lines):
    """Rows of a table for people, {title: cell}: columns are apart by two spaces in every line."""
    width = max(map(len, lines))
    lines = [line.ljust(width) for line in lines]
    gaps = [at for at in range(width - 1) if all(line[at:at + 2] == "  " for line in lines)]
    edges = [0] + [at for at in gaps if at + 1 not in gaps] + [width]
    cells = [[line[a:b].strip() for a, b in zip(edges, edges[1:])] for line in lines]
    kept = [at for at, title in enumerate(cells[0]) if title or any(row[at] for row in cells)]
    return [{cells[0][at]: row[at] for at in kept} for row in cells[1:]]


def sections(text):
    """{title: lines} of what is between empty lines."""
    parts = [part.split("\n") for part in text.strip("\n").split("\n\n")]
    return {part[0]: [line for line in part[1:] if not re.match(r" *(… and|\.\.\. and|[\d,]+ rows?(,|$))", line)] for part in parts}


def check(where, text, value, unit, count=0):
    assert fits(text, value, unit, count), (where, text, value)


def test_the_summary_for_people_is_what_the_queries_find(profile):
    text = profile.kymo.run("view", DATA / CAPTURES[profile.name], "--output-format", "summary-text", "--top", "5").stdout
    summary = json.loads((profile.place / "profiles" / "global" / f"{profile.name}@latest" / "summary.json").read_text())
    (whole,) = profile.rows("summary")
    events, span = re.match(r"([\d,]+) events over ([\d.]+ \S+),", text).groups()
    check("events", events, whole["event_count"], "")
    check("span", span, whole["span_ns"], "ns")
    checked = 0
    for title, lines in sections(text).items():
        if title == "Steps":
            steps = {row["time"]: row for row in profile.rows("summary.steps")}
            for line in table(lines):
                row = steps[STEP_TIMES[line["time"]]]
                check(title, line["steps"], row["count"], "")
                for column in ("mean", "p50", "p99", "min", "max"):
                    check((title, column), line[column], row[column], "ns", 1)
        if title not in SECTIONS:
            continue
        part, columns = SECTIONS[title]
        group = profile.rows(f"summary.{part}")
        keys = {"operations": ("name", "program", "module_id"), "operators": ("name", "kind"), "kernel_families": ("family",), "devices": ("name", "host"),
                "threads": ("track_id",)}.get(part, ("name",))
        found = {tuple(row[key] for key in keys): row for row in group}
        for line, record in zip(table(lines), summary[part]):
            row = found[tuple(record[key] for key in keys)]
            for column, figure in columns.items():
                if figure and column in line:
                    check((title, line, column), line[column], row[figure[0]], figure[1], row.get("count") or row.get("event_count") or 1)
                    checked += 1
    assert checked > 15


def test_findings_for_people_are_those_of_the_table(profile):
    found = profile.rows("summary.findings")
    text = profile.ok("recommend", profile.name)
    for row, part in zip(found, re.split(r"^ +\d+\. ", text, flags=re.M)[1:], strict=True):
        words = " ".join(part.split())
        assert row["statement"] in words
        head = part.split("\n")[0]
        cost = re.search(r": ([\d.]+ [num]?s)(?:, (< )?(\d+ %))?", head)
        if cost:
            check(head, cost[1], row["cost_ns"], "ns")
        if cost and cost[3]:
            check(head, (cost[2] or "") + cost[3], row["share"], "fraction")
    shown = json.loads(profile.ok("recommend", profile.name, "--format", "json"))
    assert [(one["statement"], one["cost_ns"]) for one in shown] == [(row["statement"], row["cost_ns"]) for row in found]


def is_text(value):
    return value is None or isinstance(value, (str, bool, list))


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["gpt", "torch"], indirect=True)
def test_reports_are_what_the_queries_find_in_every_format(profile):
    """As JSON and CSV to the last digit; as text to the digits printed. What does not apply is blank."""
    defined = {f"{group['id']}.{figure['column']}" for group in profile.server.ask("GET", "figures").json["groups"] for figure in group["figures"]}
    names = re.findall(r"^  (\w+) ", profile.ok("stats", "--help-reports"), flags=re.M)
    reports = json.loads(profile.ok("stats", profile.name, *names, "--format", "json"))
    lines = profile.ok("stats", profile.name, *names, "--format", "csv").split("\n\n")
    texts = profile.ok("stats", profile.name, *names).split("\n\n")
    assert len(names) == len(reports) == len(lines) == len(texts)
    for name, cells, text in zip(names, lines, texts):
        found = profile.rows(f"stats.{name}")
        for row in found[:1]:
            undefined = {column for column, value in row.items() if isinstance(value, (int, float)) and f"stats.{name}.{column}" not in defined}
            assert undefined <= IDENTIFIERS, name
        plain = [{column: value if is_text(value) or isinstance(value, (int, float)) else float(value) for column, value in row.items()} for row in found]
        assert reports[name] == plain, name
        for row, line in zip(found, list(csv.DictReader(io.StringIO(cells.split("\n", 1)[1]))), strict=True):
            for column, value in row.items():
                assert line[column] == ("" if value is None else line[column]), (name, column)
                assert is_text(value) or type(value)(line[column]) == value, (name, column)
        if found:
            shown = table([line for line in text.split("\n")[1:] if line and not re.match(r"[\d,]+ rows?", line)])
            for row, line in zip(found, shown, strict=True):
                for column, value in row.items():
                    if column in IDENTIFIERS:
                        assert line[column].replace(",", "") == ("" if value is None else str(value)), (name, column)
                    elif not is_text(value) or value is None:
                        check((name, column, row), line[column], value, "")


def test_op_profile_for_people_is_what_the_query_finds(profile):
    text = profile.ok("tool", "op_profile", profile.name, "--limit", "6")
    if not text:
        pytest.skip("no operations of devices")
    found = {tuple(row["path"]): row for row in profile.rows("op_profile.nodes")}
    path, checked = [], 0
    for line in text.split("\n")[2:]:
        if not line.strip() or "… and" in line:
            continue
        cells, name = [line[a:b].strip() for a, b in ((0, 10), (10, 22), (22, 33), (33, 42), (42, 53))], line[55:]
        depth = (len(name) - len(name.lstrip())) // 2
        path = path[:max(0, depth - 1)] + ([name.strip()] if depth else [])
        row = found[tuple(path)]
        for cell, column in zip(cells, ("time_percent", "wasted_percent", "flops_percent", "hbm_percent")):
            check((path, column), cell, row[column], "")
        check((path, "time"), cells[4], row["time_ns"], "ns")
        checked += 1
    assert checked > 2


def is_shown_by(cells, values):
    """Whether a column of a table for people shows these values, in the unit of the query or a thousandth of it."""
    return any(all(fits(cell, None if value is None else float(value) * scale, "", 0) for cell, value in zip(cells, values)) for scale in (1, 1e-3))


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["gpt", "torch", "tpu"], indirect=True)
def test_tables_of_tools_for_people_show_what_the_queries_find(profile):
    """Each column of numbers is one of the query's; what is not known is blank."""
    checked = 0
    tools = profile.server.get("tools")["tools"]
    for tool, part in [(tool["name"], part) for tool in tools for part in tool["tables"] if tool["name"] not in ("op_profile", "graph_viewer")]:
        answer = profile.server.ask("GET", f"profiles/{profile.name}/tools/{tool}?table={part}&format=text&limit=8")
        lines = [line for line in answer.body.decode().split("\n")[1:] if line and not re.match(r"[\d,]+ rows?", line)]
        found = profile.rows(f"{tool}.{part}") if answer.status == 200 and len(lines) > 1 else []
        if not found:
            continue
        shown = table(lines)
        numbers = [column for column in found[0] if any(not is_text(row[column]) for row in found) and all(row[column] is None or not is_text(row[column]) for row in found)]
        for column in shown[0]:
            cells = [line[column] for line in shown]
            if any(re.search(r"[^-\d,. ]", cell) for cell in cells) or not any(cells):
                continue
            texts = [[row[name] for row in found[:len(cells)]] for name in found[0] if name not in numbers]
            assert cells in texts or any(is_shown_by(cells, [row[number] for row in found[:len(cells)]]) for number in numbers), (tool, column, cells)
            checked += 1
    assert checked > 6


class Pair:
    """Two profiles in a DuckDB of its own, as the schemas a and b."""

    def __init__(self, kymo, place, query_of, a, b):
        self.query = lambda group: query_of(f"diff/figures/{group}?a={a}&b={b}")
        self.ask = lambda command, *arguments: kymo.ok(command, *arguments, a, b, "--data-path", place)
        self.tables = tables_of({"a": folder(place, a), "b": folder(place, b)})

    def rows(self, group):
        return rows_of(self.tables, self.query(group))


def change(text, ratio):
    """A text like +6.0 % or x54.7 shows a ratio."""
    if text.startswith("x"):
        return fits(text[1:], ratio, "", 0)
    return fits(text, None if ratio is None else ratio - 1, "fraction", 0)


def check_verdict(pair, document, text):
    (row,) = pair.rows("diff")
    if not document["step_time"]:
        assert set(row.values()) == {None}
        return
    for column in ("a_ns", "b_ns", "difference_ns", "ratio", "median_a_ns", "median_b_ns"):
        assert document["step_time"][column] == pytest.approx(row[column], rel=1e-9, abs=1e-6), column
    times = re.search(r"^Mean step time (.*) → (.*), (.*) \((.*)\)(?:, |$)", text, flags=re.M).groups()
    for shown, column in zip((one.replace("no change", "0") for one in times), ("a_ns", "b_ns", "difference_ns")):
        check(column, shown, row[column], "ns")
    assert change(times[3].split(")")[0], row["ratio"])
    for shown, column in zip(re.search(r"^Median +(.*) → (.*)$", text, flags=re.M).groups(), ("median_a_ns", "median_b_ns")):
        check(column, shown, row[column], "ns")


def check_parts(pair, document):
    parts = {row["part"]: row for row in pair.rows("diff.parts")}
    for part in document["contributions"]:
        for column in ("a_ns", "b_ns", "difference_ns", "others_ns", "rest_ns"):
            expected = parts[part["name"]][column]
            assert part.get(column) == (None if expected is None else pytest.approx(float(expected), rel=1e-9, abs=1e-3)), (part["name"], column)


def check_tests(pair, document):
    """p-values, which no query gives, are SciPy's for the values that one gives."""
    values = {}
    for row in pair.rows("diff.values.kernels"):
        values.setdefault(tuple(row[key] for key in ("name", "layer", "shape", "matched")), {"a": [], "b": []})[row["side"]].append(row["value"])
    for row in (row for row in document["rows"] if row["kind"] == "kernels" and row["p_value"] is not None):
        sample = values[tuple(row[key] for key in ("name", "layer", "shape", "matched"))]
        expected = scipy.stats.mannwhitneyu(sample["a"], sample["b"], method="asymptotic") if document["test"].startswith("Mann") else \
            scipy.stats.ttest_ind(sample["a"], sample["b"], equal_var=False)
        assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12), row["name"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Precision loss")  # of values that hardly vary
@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_a_comparison_is_what_the_queries_over_both_profiles_find(names, kymo, place, query_of):
    pair = Pair(kymo, place, query_of, *names)
    assert pair.ask("figures", "diff.sides") == pair.query("diff.sides") + "\n"
    document = json.loads(pair.ask("diff", "--format", "json"))
    text = pair.ask("diff", "--top", "0")
    check_verdict(pair, document, text)
    check_parts(pair, document)
    assert [row["text"] for row in pair.rows("diff.warnings")] == document["warnings"]
    for row in pair.rows("diff.sides"):
        steps = document[row["side"]]["steps"]
        assert (row["steps"], row["left_out"], row["devices"]) == (len(steps), sum(step["left_out"] for step in steps), document[row["side"]]["devices"])
    steps = [(row["side"], row["position"], row["step_ns"]) for row in pair.rows("diff.step_times")]
    assert steps == [(side, at, pytest.approx(step["duration_ns"])) for side in "ab" for at, step in enumerate(document[side]["steps"])]
    printed = {title.split(" (")[0]: lines for title, lines in sections(text).items()}
    check_tests(pair, document)
    for kind in TITLES:
        found = {tuple(row[key] for key in ("name", "layer", "shape", "matched")): row for row in pair.rows(f"diff.{kind}")}
        shown = [row for row in document["rows"] if row["kind"] == kind]
        assert {tuple(row[key] for key in ("name", "layer", "shape", "matched")) for row in shown} == set(found)
        assert len(shown) == len(found), kind
        lines = table(printed[TITLES[kind]]) if TITLES[kind] in printed and printed[TITLES[kind]] else []
        changed = [row for row in shown if row["change"] != "same"]
        assert len(lines) == len(changed), kind
        for record, line in zip(changed, lines):
            row = found[tuple(record[key] for key in ("name", "layer", "shape", "matched"))]
            for title, column in (("A", "a"), ("B", "b"), ("Difference", "difference")):
                check((kind, row, column), line[title], row[column], record["unit"])
            assert change(line.get("", ""), row["ratio"]), (line, row["ratio"])
        for record in shown:
            row = found[tuple(record[key] for key in ("name", "layer", "shape", "matched"))]
            for column, value in row.items():
                expected = value if is_text(value) else pytest.approx(float(value), rel=1e-9, abs=1e-6)
                assert record[column] == expected, (kind, record["name"], column)


@pytest.mark.slow
def test_a_command_prints_the_same_digits_in_every_run(kymo, place, query_of):
    """Threads take rows in any order; sums of fractions are in an order of their own, and those of plain DuckDB, too."""
    profile = Profile(kymo, place, "gpt", query_of)
    for tool, table_name in (("op_profile", "nodes"), ("framework_op_stats", "operations")):
        answers = {profile.ok("tool", tool, "gpt", "--format", "json") for _ in range(3)}
        assert len(answers) == 1, tool
        shown = json.loads(answers.pop())[table_name]
        query = profile.query(f"{tool}.{table_name}")
        for threads in (1, 4):
            profile.tables.execute(f"SET threads = {threads}")
            for record, row in zip(shown, rows_of(profile.tables, query), strict=True):
                assert all(is_text(row[column]) or float(row[column]) == value for column, value in record.items())
