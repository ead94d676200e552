"""JSON and CSV have all digits of a figure; only text is rounded. Tools, reports and searches against DuckDB over the tables."""

import collections
import csv
import io
import json
import re

import duckdb
import pytest

import kernel_names
from conftest import DATA
from server import Server

CAPTURES = {"gpt": DATA / "xplane" / "jax_gpt_python_h200.xplane.pb", "nccl": DATA / "kineto" / "nccl_gpu_rank.json.gz"}
EXACT_DIGITS = 13  # a column of quotients with fewer significant digits in all rows is rounded
QUOTIENTS = re.compile(r"%|percent|StdDev|_ratio$|_share$|_rate$|intensity|efficiency|_bw$|p_value", re.IGNORECASE)


@pytest.fixture(scope="module")
def place(kymo, tmp_path_factory):
    place = tmp_path_factory.mktemp("digits")
    for name, path in CAPTURES.items():
        kymo.ok("view", path, "--ingest-only", "--display-name", name, "--data-path", place)
    return place


@pytest.fixture(scope="module")
def server(kymo, place):
    server = Server(kymo, "--data-path", place)
    yield server
    server.stop()


def tables(place, profile):
    database = duckdb.connect()
    for path in (place / "profiles" / "global" / f"{profile}@latest").glob("*.parquet"):
        database.execute(f"CREATE VIEW \"{path.stem}\" AS FROM '{path}'")
    return database


def csv_tables(text):
    """The tables of a CSV answer: their names are on a line of their own if there are several, with an empty line between them."""
    lines = list(csv.reader(io.StringIO(text)))
    blocks, block = [], []
    for line in [*lines, []]:
        if line:
            block.append(line)
        elif block:
            blocks.append(block)
            block = []
    return [block[1:] if len(block[0]) == 1 and len(block) > 1 and len(block[1]) > 1 else block for block in blocks]


def numbers(rows):
    """{column: its numbers} of a table in JSON."""
    found = collections.defaultdict(list)
    for row in rows:
        for key, value in row.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                found[key].append(value)
    return found


def significant(number):
    return len(repr(abs(number)).split("e")[0].replace(".", "").strip("0"))


def check_digits(context, rows):
    for column, values in numbers(rows).items():
        fractions = {value for value in values if not float(value).is_integer()}
        if QUOTIENTS.search(column) and len(fractions) >= 6:  # of fewer, all may be short
            assert max(map(significant, fractions)) >= EXACT_DIGITS, (context, column, sorted(fractions)[:5])


def check_same(context, rows, lines):
    """A table in JSON and in CSV has the same numbers, digit by digit."""
    assert len(lines) == len(rows) + 1, context
    for row, line in zip(rows, lines[1:]):
        for key, cell in zip(lines[0], line):
            value = row[key]
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                assert type(value)(cell) == value, (context, key)


@pytest.mark.slow
@pytest.mark.parametrize("profile", CAPTURES)
def test_tools_have_all_digits(server, profile):
    checked = 0
    for tool in server.get("tools")["tools"]:
        for table in tool["tables"]:
            ask = f"profiles/{profile}/tools/{tool['name']}?table={table}&format="
            answer, lines = server.ask("GET", ask + "json"), server.ask("GET", ask + "csv")
            if answer.status != 200 or not answer.json[table]:
                continue
            check_digits((tool["name"], table), answer.json[table])
            check_same((tool["name"], table), answer.json[table], list(csv.reader(io.StringIO(lines.body.decode()))))
            checked += 1
    assert checked > 10


@pytest.mark.parametrize("profile", CAPTURES)
def test_summaries_are_those_of_duckdb_to_the_last_digit(kymo, place, profile):
    ask = ("stats", profile, "--data-path", place)
    reports = kymo.json(*ask, "--format", "json")
    lines = dict(zip(reports, csv_tables(kymo.ok(*ask, "--format", "csv"))))
    for name, rows in reports.items():
        check_digits(name, rows)
        check_same(name, rows, lines[name])
    database = tables(place, profile)
    oracle = database.execute(
        "SELECT name, avg(duration_ns), median(duration_ns), stddev_samp(duration_ns ORDER BY duration_ns) FROM GpuKernel GROUP BY name").fetchall()
    expected = {kernel_names.key(name): (mean, median, deviation or 0) for name, mean, median, deviation in oracle}
    assert {kernel_names.key(row["Name"]): (row["Avg (ns)"], row["Med (ns)"], row["StdDev (ns)"]) for row in reports["cuda_gpu_kern_sum"]} == expected
    # The deviation is summed in a fixed order: the same on any number of threads, run after run.
    assert all(kymo.json(*ask, "cuda_gpu_kern_sum", "--format", "json") == reports["cuda_gpu_kern_sum"] for _ in range(3))


@pytest.mark.parametrize("profile", CAPTURES)
def test_sums_of_searches_and_selections_are_those_of_duckdb(server, place, profile):
    database = tables(place, profile)
    sums = ("count(*), (sum(duration_ns::HUGEINT * 1000 + duration_fraction_ps))::DOUBLE / 1000,"
            " (avg(duration_ns::HUGEINT * 1000 + duration_fraction_ps))::DOUBLE / 1000 FROM SystemProfileEvents")
    found = server.get(f"profiles/{profile}/search", q="duration>=0ns", limit=1)
    for name in found["names"]:
        if name["kind"] in ("host", "stream"):
            expected = database.execute(f"SELECT {sums} e JOIN Track l ON l.id = e.track_id JOIN Track d ON d.id = l.parent_id"
                                        " WHERE e.name = ? AND if(d.role = 'host', 'host', l.role) = ?", [name["name"], name["kind"]]).fetchone()  # fmt: skip
            assert (name["count"], name["total_ns"], name["mean_ns"]) == expected
    track, = database.execute("SELECT track_id FROM SystemProfileEvents GROUP BY ALL ORDER BY count(*) DESC LIMIT 1").fetchone()
    body = {"tracks": [track], "from": "-1000000000000000", "to": "1000000000000000"}
    expected = database.execute(f"SELECT {sums} WHERE track_id = {track} AND occurrence_count IS NULL").fetchone()
    answer = server.post(f"profiles/{profile}/selection", body)
    assert (answer["count"], answer["total_ns"]) == expected[:2]


def test_a_comparison_has_the_digits_of_its_figures_in_both_formats(kymo, place):
    ask = ("diff", "gpt", "nccl", "--data-path", place)
    rows = json.loads(kymo.ok(*ask, "--format", "json"))["rows"]
    lines = list(csv.reader(io.StringIO(kymo.ok(*ask, "--format", "csv"))))
    check_digits("diff", [row for row in rows if row["kind"] == "kernels"])
    check_same("diff", rows, lines)
