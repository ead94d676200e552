"""SQL over a processed profile: answers are those of DuckDB, in every format."""

import csv
import io
import json
import subprocess

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from sql_profile import ESCAPE, PARTS, Terminal, fields_of, make_profile, oracle, profile, rows_of, write

# Results


@pytest.mark.parametrize(
    "query",
    [
        "FROM Events ORDER BY id",
        "SELECT name, count(*), sum(id), avg(id), max(share) FROM Events GROUP BY name ORDER BY ALL",
        "SELECT * FROM Parts",
        "SELECT part, sum(row) FROM Parts GROUP BY part ORDER BY part DESC",
        "SELECT e.name, p.part FROM Events e JOIN Parts p ON e.id = p.row ORDER BY ALL",
        "SELECT sum(big) FROM Events",
        "SELECT id, lag(share) OVER (ORDER BY id) FROM Events ORDER BY share DESC LIMIT 50",
        "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i * 2 FROM t WHERE i < 1e6) FROM t",
        "(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1 DESC",
        "VALUES (1, 'a'), (2, NULL)",
        "SELECT record.a, record.b, list[1], len(list) FROM Events WHERE id < 20",
        "PIVOT Parts ON part IN (1, 2, 3) USING sum(row)",
        "SELECT 'it''s' AS \"a \"\"b\", 'é 漢 😀', '', ' x '",
        "SELECT 1 -- the end",
        "/* a */ SELECT 1 /* ; */ ;",
        ";SELECT 1;;",
        "TABLE Parts",
        "DESCRIBE Events",
        "SHOW TABLES",
        "SELECT column_name, min, max, avg, count FROM (SUMMARIZE Parts)",
        "SELECT * FROM Events WHERE false",
    ],
)
def test_answers_are_those_of_duckdb(kymo, profile, oracle, query):
    expected = oracle.execute(query)
    names = [column[0] for column in expected.description]
    assert fields_of(kymo, profile, query)[0] == names
    plain = (int, float, bool, str, list, dict, type(None))
    rows = [
        [value if isinstance(value, plain) else str(value) for value in row]
        for row in expected.fetchall()
    ]
    assert rows_of(kymo, profile, query) == rows


def test_csv_has_the_texts_of_duckdb(kymo, profile, oracle):
    query = "SELECT id, name, share, ok, big FROM Events ORDER BY hash(id)"
    expected = oracle.execute(f"SELECT COLUMNS(*)::VARCHAR FROM ({query})").fetchall()
    answer = [["" if value is None else value for value in row] for row in expected]
    assert fields_of(kymo, profile, query)[1:] == answer


def test_every_type_can_be_shown(kymo, profile):
    query = "SELECT * FROM test_all_types()"
    connection = duckdb.connect()
    (row,) = rows_of(kymo, profile, query, "--limit", 1)
    names = [column[0] for column in connection.execute(query).description]
    assert len(row) >= 40
    header, *lines = fields_of(kymo, profile, query)
    assert len(lines) == 3 and all(len(line) == len(header) for line in lines)
    assert "int_array" in names and "int_array" in header
    assert "3 rows" in kymo.ok("sql", profile, query)


@pytest.mark.slow
def test_the_order_survives_several_threads_and_row_groups(kymo, profile):
    query = "SELECT i FROM range(300000) t(i) ORDER BY hash(i)"
    expected = [row[0] for row in duckdb.execute(query).fetchall()]
    assert [row[0] for row in rows_of(kymo, profile, query)] == expected
    assert [row[0] for row in rows_of(kymo, profile, "FROM range(100000)")] == list(range(100000))


def test_parts_of_a_table_are_read_in_the_order_of_their_numbers(kymo, profile):
    assert [row[0] for row in rows_of(kymo, profile, "SELECT part FROM Parts")] == [
        part for part in range(PARTS) for _ in range(10)
    ]


def test_without_a_query_the_tables_are_listed(kymo, profile):
    assert json.loads(kymo.ok("sql", profile, "--format", "json")) == [
        {"table": "Events", "rows": 3000},
        {"table": "Parts", "rows": 10 * PARTS},
    ]
    assert kymo.ok("sql", profile, "--format", "csv") == "table,rows\nEvents,3000\nParts,120\n"
    assert kymo.ok("sql", profile) == (
        "  table   rows\n  Events  3000\n  Parts    120\n2 rows\n"
    )


def test_a_query_can_come_from_standard_input(kymo, profile):
    query = "-- two lines\nSELECT count(*) AS n\nFROM Events"
    assert kymo.ok("sql", profile, "-", "--format", "csv", input=query) == "n\n3000\n"
    result = kymo.run("sql", profile, "-", input="")
    assert result.returncode == 1 and "the query is empty" in result.stderr
    result = kymo.run("sql", profile, "-", input="SELECT 1\0, 2")
    assert result.returncode == 1 and "standard input" in result.stderr


def test_a_profile_of_the_workspace_is_found_by_its_name(kymo, tmp_path):
    make_profile(tmp_path / "profiles" / "global" / "gpt@latest")
    arguments = ["sql", "gpt", "SELECT count(*) AS n FROM Parts", "--format", "csv"]
    assert kymo.ok(*arguments, "--data-path", tmp_path, cwd=tmp_path) == "n\n120\n"
    message = kymo.refuses("sql", "other", "--data-path", tmp_path)
    assert "other" in message


def test_columns_of_the_same_name_are_all_there(kymo, profile):
    query = "SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS a"
    assert kymo.ok("sql", profile, query, "--format", "csv") == "a,a,a_1,a\n1,2,3,4\n"
    (row,) = json.loads(kymo.ok("sql", profile, query, "--format", "json"))
    assert list(row.values()) == [1, 2, 3, 4] and len(row) == 4
    assert kymo.ok("sql", profile, query).split() == "a a a_1 a 1 2 3 4 1 row".split()


def test_an_answer_without_rows_still_has_its_columns(kymo, profile):
    query = "SELECT id, name FROM Events WHERE id < 0 ORDER BY id"
    assert kymo.ok("sql", profile, query, "--format", "csv") == "id,name\n"
    assert kymo.ok("sql", profile, query, "--format", "json") == "[]\n"
    assert kymo.ok("sql", profile, query) == "  id  name\n0 rows\n"


@pytest.mark.parametrize("count", [2047, 2048, 2049, 4096, 100001])
@pytest.mark.parametrize("format", ["csv", "json", "table"])
def test_no_row_is_lost_or_doubled_between_chunks(kymo, profile, format, count):
    query = f"SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE 'long enough ' || i END AS t FROM range({count}) x(i)"
    lines = kymo.ok("sql", profile, query, "--format", format).splitlines()
    assert len(lines) == count + (1 if format == "csv" else 2)
    for i, line in enumerate(lines[1 : count + 1]):
        assert str(i) in line and ("long enough" in line) == (i % 3 != 0)


# Formats


def test_csv_is_quoted_where_it_must_be_and_tells_null_from_empty(kymo, profile):
    values = ["a,b", 'say "x"', "two\nlines", "cr\rhere", "", " ", "plain", "é", "\t"]
    columns = ", ".join("'" + v + "'" + f" AS c{i}" for i, v in enumerate(values))
    command = [kymo.path, "sql", profile, f"SELECT {columns}, NULL AS nothing", "--format", "csv"]
    text = subprocess.run(command, capture_output=True, timeout=60).stdout.decode()
    assert list(csv.reader(io.StringIO(text, newline=""), strict=True))[1] == [*values, ""]
    assert text.endswith('"a,b","say ""x""","two\nlines","cr\rhere","", ,plain,é,\t,\n')


def test_column_names_are_quoted_in_every_format(kymo, profile):
    query = 'SELECT 1 AS "a,""b""\n\x1b[2J"'
    assert fields_of(kymo, profile, query) == [['a,"b"\n\x1b[2J'], ["1"]]
    (row,) = json.loads(kymo.ok("sql", profile, query, "--format", "json"))
    assert row == {'a,"b"\n\x1b[2J': 1}
    assert ESCAPE not in kymo.ok("sql", profile, query)


def test_json_has_one_row_a_line_and_exact_numbers(kymo, profile):
    query = (
        "SELECT 9007199254740993 AS a, 170141183460469231731687303715884105727 AS b,"
        " 18446744073709551615::UBIGINT AS c, -1.50::DECIMAL(9,2) AS d, 0.1::DOUBLE AS e,"
        " 1e300::DOUBLE AS f, true AS g, NULL AS h, -9223372036854775807 - 1 AS i FROM range(3)"
    )
    text = kymo.ok("sql", profile, query, "--format", "json")
    assert len(text.splitlines()) == 5
    first = json.loads(text)[0]
    assert list(first.values()) == [
        2**53 + 1, 2**127 - 1, 2**64 - 1, -1.5, 0.1, 1e300, True, None, -(2**63),
    ]


def test_numbers_that_json_lacks_are_texts(kymo, profile):
    query = (
        "SELECT 'nan'::DOUBLE, 'inf'::DOUBLE, '-inf'::FLOAT,"
        " ['nan'::DOUBLE, 1.5, '-inf'::DOUBLE, 'inf'::DOUBLE],"
        " {'NaN': 'NaN Infinity \"', 'x\\': 'nan'::DOUBLE}"
    )
    assert rows_of(kymo, profile, query) == [
        ["NaN", "Infinity", "-Infinity", ["NaN", 1.5, "-Infinity", "Infinity"],
         {"NaN": 'NaN Infinity "', "x\\": "NaN"}]
    ]


def test_nested_values_are_json_in_every_format(kymo, profile):
    query = "SELECT [1, NULL] AS l, {'a': [{'b': 'x\ny'}]} AS s, MAP {'k': 1} AS m, [] AS e"
    values = [[1, None], {"a": [{"b": "x\ny"}]}, {"k": 1}, []]
    assert rows_of(kymo, profile, query) == [values]
    assert [json.loads(field) for field in fields_of(kymo, profile, query)[1]] == values


def test_a_column_of_json_is_json(kymo, profile):
    query = "SELECT '{\"a\" : [1,\n 2]}'::JSON AS j UNION ALL SELECT to_json('x') UNION ALL SELECT NULL"
    assert rows_of(kymo, profile, query) == [[{"a": [1, 2]}], ["x"], [None]]
    assert len(kymo.ok("sql", profile, query, "--format", "json").splitlines()) == 5


def test_a_column_of_json_in_a_file_is_json_and_checked(kymo, tmp_path):
    kind = pyarrow.json_(pyarrow.utf8())
    for name, last in (("Good", "[1]"), ("Bad", "not json")):
        storage = pyarrow.array(['{"a":\n 1}', None, last])
        array = pyarrow.ExtensionArray.from_storage(kind, storage)
        write(tmp_path / f"{name}.parquet", {"j": array})
    assert rows_of(kymo, tmp_path, "FROM Good") == [[{"a": 1}], [None], [[1]]]
    message = kymo.refuses("sql", tmp_path, "FROM Bad", "--format", "json")
    assert f"{tmp_path}/Bad.parquet: the table is damaged: " in message and "JSON" in message


def test_tables_align_numbers_to_the_right_and_mark_null(kymo, profile):
    query = "SELECT * FROM (VALUES (1, 'a', 1.5), (1000, NULL, NULL)) t(n, text, x)"
    assert kymo.ok("sql", profile, query) == (
        "     n  text     x\n     1  a      1.5\n  1000  NULL  NULL\n2 rows\n"
    )


def test_tables_in_files_are_neither_cut_nor_colored(kymo, profile, tmp_path):
    target = tmp_path / "out.txt"
    query = "SELECT repeat('x', 5000) AS t FROM range(100)"
    assert kymo.ok("sql", profile, query, "--output-file", target) == ""
    lines = target.read_text().splitlines()
    assert lines[1:-1] == ["  " + "x" * 5000] * 100 and lines[-1] == "100 rows"


def test_many_columns_make_a_table(kymo, profile):
    query = "SELECT " + ", ".join(f"{i} AS column_{i}" for i in range(300))
    header, values, count = kymo.ok("sql", profile, query).splitlines()
    assert len(header.split()) == 300 and values.split() == [str(i) for i in range(300)]


def test_values_cannot_steer_the_terminal(kymo, profile):
    query = "SELECT '\x1b]0;title\x07' AS a, 'b\nc\x7f\u0085' AS b"
    text = kymo.ok("sql", profile, query)
    assert [c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7F <= ord(c) < 0xA0] == []
    message = kymo.refuses("sql", profile, "SELECT CAST('\x1b[2J\u0085' AS INTEGER)")
    assert "Conversion Error" in message
    assert [c for c in message if (ord(c) < 0x20 and c != "\n") or 0x7F <= ord(c) < 0xA0] == []


def test_a_plan_is_drawn_on_several_lines(kymo, profile):
    for query in ("EXPLAIN FROM Events", "explain analyze SELECT sum(id) FROM Events",
                  "-- why\n/* slow */ EXPLAIN\n-- here\nSELECT 1"):
        lines = kymo.ok("sql", profile, "-", input=query).splitlines()
        assert len(lines) > 3 and any("┌" in line for line in lines)
    assert "explain_value" in kymo.ok("sql", profile, "EXPLAIN SELECT 1", "--format", "csv")


@pytest.mark.parametrize("format", ["csv", "json", "table"])
def test_a_limit_cuts_every_format(kymo, profile, format):
    arguments = ["sql", profile, "SELECT id FROM Events ORDER BY id", "--format", format]
    extra = 1 if format == "csv" else 2
    for limit, count in ((1, 1), (7, 7), (2500, 2500), (9999, 3000), (0, 3000)):
        lines = kymo.ok(*arguments, "--limit", limit).splitlines()
        assert len(lines) == count + extra
    if format == "table":
        text = kymo.ok(*arguments, "--limit", 1)
        assert text.endswith("\n1 row, 2,999 more rows; --limit 0 shows all\n")
        assert kymo.ok(*arguments, "--limit", 2999).endswith("2,999 rows, 1 more row; --limit 0 shows all\n")
        assert kymo.ok(*arguments, "--limit", 3000).endswith("3,000 rows\n")


def test_rows_left_out_are_counted_up_to_a_million(kymo, profile):
    text = kymo.ok("sql", profile, "FROM range(100000000000)", "--limit", 1)
    assert text.endswith("\n1 row, over 1,000,000 more rows; --limit 0 shows all\n")


def test_a_terminal_gets_forty_rows_within_its_width(kymo, profile):
    query = "SELECT id, repeat('x', 500) AS t, NULL AS z FROM Events"
    shown, code = Terminal([kymo.path, "sql", profile, query], width=100).read_all()
    assert code == 0
    assert f"{ESCAPE}[2m  NULL{ESCAPE}[0m" in shown
    plain = shown.replace(f"{ESCAPE}[2m", "").replace(f"{ESCAPE}[0m", "")
    assert ESCAPE not in plain
    lines = plain.splitlines()
    assert len(lines) == 42 and all(len(line) <= 100 for line in lines)
    assert "…" in lines[1]
    assert lines[-1] == "40 rows, 2,960 more rows; --limit 0 shows all"


def test_a_terminal_gets_all_rows_when_asked_and_no_color_when_declined(kymo, profile):
    command = [kymo.path, "sql", profile, "SELECT id, NULL FROM Events", "--limit", 0]
    shown, code = Terminal(command, environment={"NO_COLOR": "1"}).read_all()
    assert code == 0 and ESCAPE not in shown
    assert shown.splitlines()[-1] == "3,000 rows"
