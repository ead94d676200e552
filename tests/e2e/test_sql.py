"""SQL over a processed profile: results, rejected statements, and damaged files."""

import csv
import fcntl
import hashlib
import io
import json
import os
import pathlib
import pty
import random
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from conftest import peak_memory

ESCAPE = "\x1b"
PARTS = 12  # enough for part 10 to sort before part 2 by name
LONG = "SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE a.range % 7 = b.range % 11"


def write(path, rows, **options):
    pyarrow.parquet.write_table(pyarrow.table(rows), path, **options)


def make_profile(folder, rows=3000):
    folder.mkdir(parents=True, exist_ok=True)
    write(
        folder / "Events.parquet",
        {
            "id": list(range(rows)),
            "name": [f"kernel {i % 17}" if i % 5 else None for i in range(rows)],
            "share": [i * 0.37 for i in range(rows)],
            "ok": [i % 2 == 0 for i in range(rows)],
            "big": [2**63 - 1 - i for i in range(rows)],
            "list": [[i, None, i + 1] for i in range(rows)],
            "record": [{"a": i, "b": f'"{i}"'} for i in range(rows)],
        },
        row_group_size=1000,
    )
    for part in range(PARTS):
        write(folder / f"Parts_{part}.parquet", {"part": [part] * 10, "row": list(range(10))})
    (folder / "notes.txt").write_text("not a table")
    (folder / "timeline.kymo").write_bytes(b"\0" * 100)
    return folder


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    return make_profile(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def oracle(profile):
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW Events AS FROM '{profile}/Events.parquet'")
    parts = [f"{profile}/Parts_{part}.parquet" for part in range(PARTS)]
    connection.execute(f"CREATE VIEW Parts AS FROM read_parquet({parts})")
    return connection


def refuse_constant(word):
    raise ValueError(f"{word} is not JSON")


def rows_of(kymo, profile, query, *arguments):
    """The rows as lists of values; requires standard JSON."""
    text = kymo.ok("sql", profile, query, "--format", "json", *arguments)
    return [list(row.values()) for row in json.loads(text, parse_constant=refuse_constant)]


def fields_of(kymo, profile, query, *arguments):
    text = kymo.ok("sql", profile, query, "--format", "csv", *arguments)
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def checksums(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


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


def test_tables_in_files_are_neither_cut_nor_coloured(kymo, profile, tmp_path):
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


class Terminal:
    """A program on a pseudo-terminal of the given width."""

    def __init__(self, command, width=80, environment=None):
        self.end, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 25, width, 0, 0))
        plain = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=other, stdout=other, stderr=other, close_fds=True,
            env=plain | (environment or {}), start_new_session=True,
        )
        os.close(other)

    def read_all(self):
        shown, deadline = b"", time.monotonic() + 60
        while time.monotonic() < deadline:
            if not select.select([self.end], [], [], 1)[0]:
                continue
            try:
                part = os.read(self.end, 65536)
            except OSError:  # the other end is closed
                break
            shown += part
        os.close(self.end)
        return shown.decode().replace("\r\n", "\n"), self.process.wait(60)


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


def test_a_terminal_gets_all_rows_when_asked_and_no_colour_when_declined(kymo, profile):
    command = [kymo.path, "sql", profile, "SELECT id, NULL FROM Events", "--limit", 0]
    shown, code = Terminal(command, environment={"NO_COLOR": "1"}).read_all()
    assert code == 0 and ESCAPE not in shown
    assert shown.splitlines()[-1] == "3,000 rows"


# Rejected statements


REFUSED = [
    "COPY Events TO '{folder}/Stolen.parquet'",
    "COPY (SELECT 1) TO '{folder}/Events.parquet' (FORMAT parquet, USE_TMP_FILE false)",
    "COPY (SELECT 1) TO '/tmp/kymo-sql-test.csv'",
    "COPY Events FROM '/etc/passwd'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/Events.parquet' (USE_TMP_FILE false)",
    "explain\tanalyze/**/copy (select 1) to '{folder}/x.csv'",
    "EXPLAIN COPY (SELECT 1) TO '{folder}/x.csv'",
    "EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1",
    "EXPLAIN (ANALYZE) COPY (SELECT 1) TO '{folder}/x.csv'",
    "EXPLAIN ANALYZE SELECT 1; COPY (SELECT 1) TO '{folder}/x.csv'",
    "EXPLAIN SET threads = 1",
    "SELECT 1; COPY (SELECT 1) TO '{folder}/x.csv'",
    "SELECT 1; SELECT 2",
    "SELECT 1;\n-- x\n;DROP VIEW Events",
    "CREATE TABLE t (i INTEGER)",
    "CREATE OR REPLACE VIEW Events AS SELECT 1",
    "CREATE TEMP TABLE t AS SELECT 1",
    "CREATE MACRO f(x) AS x",
    "CREATE SECRET (TYPE s3)",
    "INSERT INTO Events VALUES (1)",
    "UPDATE Events SET id = 1",
    "DELETE FROM Events",
    "TRUNCATE Events",
    "DROP VIEW Events",
    "ALTER VIEW Events RENAME TO e",
    "COMMENT ON VIEW Events IS 'x'",
    "MERGE INTO Events USING Parts ON false WHEN MATCHED THEN DELETE",
    "WITH x AS (DELETE FROM Events RETURNING *) FROM x",
    "SET threads = 1",
    "SET VARIABLE x = 1",
    "RESET threads",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "PRAGMA threads = 1",
    "PRAGMA enable_profiling",
    "PRAGMA version",
    "PRAGMA table_info('Events')",
    "CALL pragma_version()",
    "CALL enable_logging()",
    "ATTACH '{folder}/x.db'",
    "ATTACH ':memory:' AS other",
    "DETACH memory",
    "USE memory",
    "INSTALL httpfs",
    "FORCE INSTALL httpfs FROM 'http://localhost:1'",
    "LOAD httpfs",
    "LOAD '{folder}/x.duckdb_extension'",
    "EXPORT DATABASE '{folder}/x'",
    "IMPORT DATABASE '{folder}'",
    "BEGIN",
    "COMMIT",
    "CHECKPOINT",
    "VACUUM",
    "ANALYZE",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "DEALLOCATE p",
]


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_not_a_single_select_is_refused(kymo, profile, query):
    before = checksums(profile)
    message = kymo.refuses("sql", profile, query.format(folder=profile))
    assert any(
        words in message
        for words in ("a profile is read-only", "one statement at a time", "Parser Error")
    )
    assert checksums(profile) == before
    assert not os.path.exists("/tmp/kymo-sql-test.csv")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd', sep = ':')",
        "SELECT * FROM read_blob('/proc/self/environ')",
        "FROM '/etc/passwd'",
        "FROM read_text('{folder}/notes.txt')",
        "FROM read_text('{folder}/../../../../../../../../../etc/passwd')",
        "FROM read_text('{folder}/Events.parquet/../notes.txt')",
        "FROM glob('{folder}/*')",
        "FROM glob('/etc/*')",
        "FROM sniff_csv('/etc/passwd')",
        "FROM read_parquet('{folder}/../*/*.parquet')",
        "FROM read_parquet('http://localhost:1/x.parquet')",
        "FROM read_parquet('s3://bucket/x.parquet')",
        "FROM 'https://localhost:1/x.csv'",
        "FROM read_json('http://localhost:1/x.json')",
        "FROM parquet_metadata('/etc/passwd')",
        "FROM read_duckdb('{folder}/x.db')",
        "SELECT * FROM st_read('/etc/passwd')",
        "FROM sqlite_scan('/etc/passwd', 't')",
        "SELECT getenv('HOME')",
        "EXPLAIN ANALYZE SELECT * FROM read_text('/etc/passwd')",
    ],
)
def test_nothing_but_the_tables_can_be_read(kymo, profile, query):
    message = kymo.refuses("sql", profile, query.format(folder=profile))
    assert "Permission Error" in message or "Catalog Error" in message
    assert "root:" not in message and "not a table" not in message


@pytest.mark.parametrize(
    "query",
    [
        "FROM enable_logging()",
        "SELECT * FROM enable_logging(storage = 'file', storage_path = '/tmp/kymo-sql-log')",
        'FROM system.main."ENABLE_logging"()',
        "SELECT (SELECT count(*) FROM enable_logging())",
        "SELECT * FROM Events WHERE EXISTS (FROM enable_logging())",
        "WITH x AS (FROM enable_logging()) FROM x",
        "FROM query('FROM enable' || '_logging()')",
        "FROM json_execute_serialized_sql(json_serialize_sql('FROM enable_logging()'))",
        "FROM disable_logging()",
        "FROM force_checkpoint()",
        "EXPLAIN ANALYZE FROM enable_logging()",
    ],
)
def test_functions_that_change_the_engine_are_refused(kymo, profile, query):
    message = kymo.refuses("sql", profile, query)
    assert "is not allowed: a profile is read-only" in message or "Catalog Error" in message
    assert not os.path.exists("/tmp/kymo-sql-log")


def test_names_of_such_functions_are_fine_as_values(kymo, profile):
    query = "SELECT 'enable_logging()' AS a, '\"function_name\":\"query\"' AS query"
    assert rows_of(kymo, profile, query) == [["enable_logging()", '"function_name":"query"']]


def test_the_settings_are_locked(kymo, profile):
    query = (
        "SELECT name, value FROM duckdb_settings() WHERE name IN ('enable_external_access',"
        " 'lock_configuration', 'autoload_known_extensions', 'autoinstall_known_extensions',"
        " 'allow_community_extensions', 'allow_persistent_secrets')"
    )
    settings = dict(rows_of(kymo, profile, query))
    assert len(settings) == 6 and settings.pop("lock_configuration") == "true"
    assert set(settings.values()) == {"false"}


def test_nothing_is_left_in_the_working_or_the_temporary_directory(kymo, profile, tmp_path):
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    query = "SELECT current_setting('temp_directory')"
    place = kymo.ok("sql", profile, query, "--format", "csv", cwd=work, env=environment)
    assert place.splitlines()[1].startswith(f"{temporary}/kymo-sql-")
    kymo.ok("sql", profile, "FROM Events ORDER BY hash(id)", cwd=work, env=environment)
    assert list(work.iterdir()) == list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    "query, complaint",
    [
        ("SELEC 1", 'Parser Error: syntax error at or near "SELEC"\n\nLINE 1: SELEC 1\n        ^'),
        ("SELECT nam FROM Events", 'Candidate bindings: "name"'),
        ("SELECT * FROM Event", "Did you mean \"Events\""),
        ("SELECT summ(id) FROM Events", "Did you mean \"sum\""),
        ("SELECT CAST(name AS INTEGER) FROM Events", "Could not convert string 'kernel "),
        ("SELECT error('my words')", "my words"),
        ("SELECT ? + 1", "has parameters"),
        ("SELECT (SELECT id FROM Events)", "More than one row returned by a subquery"),
        ("", "the query is empty"),
        (" -- nothing\n;", "the query is empty"),
        ("EXPLAIN", "the query is empty"),
        ("EXPLAIN SELEC 1", 'syntax error at or near "SELEC"'),
    ],
)
def test_mistakes_are_explained_in_duckdbs_words(kymo, profile, query, complaint):
    message = kymo.refuses("sql", profile, query)
    assert complaint in message
    assert message.count("FATA[") == 1 and "query('" not in message


def test_a_long_message_keeps_its_start_and_the_place(kymo, profile):
    message = kymo.refuses("sql", profile, "SELECT round(name) FROM Events")
    assert "No function matches" in message and "round(TINYINT) -> TINYINT" in message
    assert message.rstrip().endswith("LINE 1: SELECT round(name) FROM Events\n               ^")


def test_a_query_that_is_no_text_is_refused(kymo, profile):
    result = subprocess.run(
        [kymo.path, "sql", profile, b"SELECT '\xff'"], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 1 and "the query is not UTF-8" in result.stderr


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ([], "missing argument: a profile"),
        (["x", "SELECT 1", "SELECT 2"], "unexpected argument: SELECT 2"),
        (["x", "--format", "jsno"], "did you mean json?"),
        (["x", "--limit", "-1"], "takes a number"),
        (["x", "--limti", "1"], "did you mean --limit?"),
    ],
)
def test_wrong_usage_is_told_apart_from_failure(kymo, arguments, complaint):
    assert complaint in kymo.refuses("sql", *arguments, code=2)


def test_the_help_has_options_and_examples(kymo):
    text = kymo.ok("sql", "--help")
    assert "usage: kymo sql [options] PROFILE [QUERY]" in text
    for option in ("--format", "--limit", "--data-path", "--output-file"):
        assert option in text
    assert "GROUP BY name ORDER BY ms DESC LIMIT 10" in text
    assert "\n  sql " in kymo.ok("--help")


# Files


ODD_NAMES = [
    "it's", 'say "x"', "two words", "[ab]", "a*b", "**", "*", "what?", "k=v", "é 漢", "new\nline",
    "back\\slash", "{a,b}", "~", "%20", "#1", "$HOME", "-x", "http:", "x.parquet", "[!a]", "]",
]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return make_profile(tmp_path_factory.mktemp("small"), rows=10)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_path_can_be_read(kymo, profile, small, tmp_path, name):
    folder = shutil.copytree(small, tmp_path / name)
    for other in ("a", "b", "aXb", "whatX", "deep"):  # what the name would match as a glob pattern
        shutil.copytree(profile, tmp_path / other)
    query = "SELECT (SELECT count(*) FROM Events), (SELECT count(*) FROM Parts)"
    text = kymo.ok("sql", "--format", "csv", "--", folder, query)
    assert text.splitlines()[1] == "10,120"
    text = kymo.ok("sql", "--format", "csv", "--", name + "/", "DESCRIBE Parts", cwd=tmp_path)
    assert [line.split(",")[0] for line in text.splitlines()] == ["column_name", "part", "row"]


@pytest.mark.parametrize("name", [b"\xff", b"a\\*"])
def test_a_path_that_duckdb_cannot_name_is_refused(kymo, tmp_path, name):
    folder = os.path.join(os.fsencode(tmp_path), name)
    os.rename(make_profile(tmp_path / "profile", rows=10), folder)
    result = subprocess.run([kymo.path, "sql", folder], capture_output=True, timeout=60)
    assert result.returncode == 1 and b"DuckDB cannot open it: the path" in result.stderr


@pytest.mark.parametrize("table", ["Two Words", "it's", 'q"q', "select", "1st", "a*b", "[x]", "é", "A_b", "_1"])
def test_any_table_name_can_be_used(kymo, tmp_path, table):
    write(tmp_path / f"{table}.parquet", {"x": [1, 2, 3]})
    write(tmp_path / "aXb.parquet", {"x": [4]})
    write(tmp_path / "x.parquet", {"x": [5]})
    quoted = '"' + table.replace('"', '""') + '"'
    assert rows_of(kymo, tmp_path, f"SELECT sum(x) FROM {quoted}") == [[6]]
    tables = json.loads(kymo.ok("sql", tmp_path, "--format", "json"))
    assert {"table": table, "rows": 3} in tables and len(tables) == 3


def test_a_link_to_a_profile_is_a_profile(kymo, profile, tmp_path):
    (tmp_path / "link").symlink_to(profile)
    assert kymo.ok("sql", tmp_path / "link") == kymo.ok("sql", profile)


def test_a_directory_without_tables_is_no_profile(kymo, tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / ".hidden.parquet").write_text("x")
    (tmp_path / "folder.parquet").mkdir()
    message = kymo.refuses("sql", tmp_path)
    assert str(tmp_path) in message and "arquet" in message
    assert "missing" in kymo.refuses("sql", tmp_path / "missing")


def test_an_output_file_has_what_standard_output_would_have(kymo, profile, tmp_path):
    target = tmp_path / "out"
    for format in ("table", "csv", "json"):
        arguments = ["sql", profile, "FROM Parts", "--format", format]
        assert kymo.ok(*arguments, "--output-file", target) == ""
        assert target.read_text() == kymo.ok(*arguments)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_failed_query_leaves_the_output_file_alone(kymo, profile, tmp_path):
    target = tmp_path / "out"
    target.write_text("old")
    late = "SELECT CASE WHEN i = 2999999 THEN error('too late') ELSE i END FROM range(3000000) t(i)"
    for query in ("SELECT nothing", late):
        for format in ("csv", "json"):
            arguments = ["sql", profile, query, "--format", format, "--output-file", target]
            kymo.refuses(*arguments)
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_failure_after_a_million_rows_is_still_a_failure(kymo, profile):
    query = "SELECT CASE WHEN i = 2999999 THEN error('too late') ELSE i END FROM range(3000000) t(i)"
    result = kymo.run("sql", profile, query, "--format", "csv")
    assert result.returncode == 1 and "too late" in result.stderr


@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_a_full_disk_is_an_error_and_ends_an_endless_query(kymo, profile, format):
    query = "FROM range(100000)" if format == "table" else "FROM range(1000000000000)"
    message = kymo.refuses("sql", profile, query, "--format", format, "--output-file", "/dev/full")
    assert "No space left on device" in message


def test_a_reader_that_goes_away_ends_the_query_quietly(kymo, profile):
    result = subprocess.run(
        f'"{kymo.path}" sql "{profile}" "FROM range(1000000000000)" --format csv | head -n 3',
        shell=True, capture_output=True, text=True, timeout=60,
    )
    assert result.stdout == "range\n0\n1\n" and result.stderr == ""


@pytest.mark.plain_build
@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "json"])
def test_memory_does_not_grow_with_the_answer(kymo, profile, format):
    query = "SELECT i, repeat('x', 200) || i AS t FROM range(2000000) t(i)"  # 400 MB
    command = [kymo.path, "sql", profile, query, "--format", format]
    assert peak_memory(command, stdout=subprocess.DEVNULL)[1] < 300 << 20


# Damage


def truncate(path, size):
    path.write_bytes(path.read_bytes()[:size])


@pytest.fixture
def own(profile, tmp_path):
    """A profile to damage."""
    return pathlib.Path(shutil.copytree(profile, tmp_path / "profile"))


@pytest.mark.parametrize("left", [0, 1, 4, 100, 5000, -1, -4, -8, -100])
def test_a_truncated_table_is_named_and_the_others_work(kymo, own, left):
    damaged = own / "Events.parquet"
    size = damaged.stat().st_size
    truncate(damaged, left if left >= 0 else size + left)
    for query in ("SELECT count(*) FROM Events", "DESCRIBE Events", "FROM events",
                  'SELECT 1 FROM Parts, main."Events"', "SUMMARIZE Events"):
        message = kymo.refuses("sql", own, query)
        assert f"{damaged}: the table is damaged: " in message
        assert message.count("\n") == 1
    assert rows_of(kymo, own, "SELECT count(*) FROM Parts") == [[120]]
    assert rows_of(kymo, own, "WITH Events AS (SELECT 7) FROM Events") == [[7]]


def test_the_list_tells_what_is_wrong_with_a_table(kymo, own):
    truncate(own / "Events.parquet", 1000)
    events, parts = json.loads(kymo.ok("sql", own, "--format", "json"))
    assert events["table"] == "Events" and events["rows"] is None
    assert f"{own}/Events.parquet: the table is damaged: " in events["problem"]
    assert parts == {"table": "Parts", "rows": 120, "problem": None}
    assert "is damaged" in kymo.ok("sql", own) and "is damaged" in kymo.ok("sql", own, "--format", "csv")


@pytest.mark.parametrize("part", [0, 1, PARTS - 1])
def test_a_damaged_part_of_a_table_is_named(kymo, own, part):
    damaged = own / f"Parts_{part}.parquet"
    truncate(damaged, 50)
    for query in ("FROM Parts", "SELECT count(*) FROM Parts", "SELECT sum(row) FROM PARTS"):
        assert f"{damaged}: the table is damaged: " in kymo.refuses("sql", own, query)
    events, parts = json.loads(kymo.ok("sql", own, "--format", "json"))
    assert events["rows"] == 3000
    assert parts["rows"] is None and str(damaged) in parts["problem"]


def test_a_mistake_is_not_blamed_on_a_damaged_table(kymo, own):
    truncate(own / "Parts_3.parquet", 50)
    message = kymo.refuses("sql", own, "SELECT (SELECT id FROM Events)")
    assert "More than one row" in message and "damaged" not in message


def test_a_missing_part_is_noticed(kymo, own):
    (own / "Parts_4.parquet").unlink()
    message = kymo.refuses("sql", own, "SELECT count(*) FROM Parts")
    assert "Parts_5.parquet: part 4 before it is missing" in message
    (own / "Events.parquet").rename(own / "Events_1.parquet")
    assert "Events_1.parquet: part 0" in kymo.refuses("sql", own, "FROM Events")


def test_a_part_or_a_table_that_is_there_twice_is_noticed(kymo, own):
    shutil.copy(own / "Parts_4.parquet", own / "Parts_04.parquet")
    assert "another part has the same number" in kymo.refuses("sql", own, "FROM Parts")
    (own / "Parts_04.parquet").rename(own / "Parts.parquet")
    assert "beside parts of the same table" in kymo.refuses("sql", own, "FROM Parts")
    shutil.copy(own / "Events.parquet", own / "EVENTS.parquet")
    tables = json.loads(kymo.ok("sql", own, "--format", "json"))
    problems = [t["problem"] for t in tables if t["table"] in ("Events", "EVENTS")]
    assert len(problems) == 2 and all("differ only in case" in p for p in problems)
    assert "differ only in case" in kymo.refuses("sql", own, "FROM Events")


def test_parts_that_do_not_fit_together_are_an_error(kymo, own):
    write(own / "Parts_3.parquet", {"other": ["x"]})
    message = kymo.refuses("sql", own, "SELECT sum(row) FROM Parts")
    assert "Parts_3.parquet" in message


def test_a_file_that_may_not_be_read_is_named(kymo, own):
    if os.geteuid() == 0:
        (own / "Gone.parquet").symlink_to(own / "nowhere")
        message = kymo.refuses("sql", own, "FROM Gone")
        assert "Gone.parquet" in message
    else:
        (own / "Events.parquet").chmod(0)
        assert "Events.parquet" in kymo.refuses("sql", own, "FROM Events")
    assert rows_of(kymo, own, "SELECT count(*) FROM Parts") == [[120]]


@pytest.mark.plain_build
@pytest.mark.slow
@pytest.mark.parametrize("compression", ["zstd", "snappy", "none"])
@pytest.mark.parametrize("way", ["bit", "zeros", "noise", "tail", "cut"])
def test_random_damage_is_named_or_harmless(kymo, own, compression, way):
    """Parquet checksums are optional, so a changed value can go unnoticed; but a detected error names
    the file, and a truncated file is always detected."""
    generator = random.Random(f"{compression} {way}")
    damaged = own / "Events.parquet"
    table = pyarrow.parquet.read_table(damaged)
    version = generator.choice(["1.0", "2.0"])
    pyarrow.parquet.write_table(
        table, damaged, compression=compression, row_group_size=700, data_page_version=version
    )
    whole = damaged.read_bytes()
    for _ in range(4):
        data = bytearray(whole)
        place = generator.randrange(len(data))
        if way == "bit":
            data[place] ^= 1 << generator.randrange(8)
        elif way == "zeros":
            data[place : place + 64] = bytes(len(data[place : place + 64]))
        elif way == "noise":
            for _ in range(20):
                data[generator.randrange(len(data))] = generator.randrange(256)
        elif way == "tail":  # the metadata
            data[len(data) - 1 - generator.randrange(2000)] ^= 1 << generator.randrange(8)
        else:
            del data[place:]
        damaged.write_bytes(data)
        query = "SELECT count(COLUMNS(*)), bit_xor(hash(COLUMNS(*))) FROM Events"
        for arguments in ([query], ["FROM Events", "--format", "csv"]):
            result = kymo.run("sql", own, *arguments, errors="replace")
            assert result.returncode in (0, 1), (result.returncode, result.stderr)
            assert "Sanitizer" not in result.stderr and "runtime error" not in result.stderr
            if result.returncode == 1:
                assert str(damaged) in result.stderr, result.stderr
            if way == "cut":
                assert result.returncode == 1
        tables = json.loads(kymo.ok("sql", own, "--format", "json", errors="replace"))
        assert [table["rows"] for table in tables if table["table"] == "Parts"] == [120]
    assert rows_of(kymo, own, "SELECT sum(part) FROM Parts") == [[660]]


# Ctrl-C


def interrupt(process):
    """The remaining output; kills a program that ignores the signal."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=60)
    finally:
        process.kill()


def thread_count(process):
    assert process.poll() is None
    return len(os.listdir(f"/proc/{process.pid}/task"))


@pytest.mark.parametrize(
    "query, format",
    [
        (LONG, "table"),
        ("SELECT * FROM range(1000000000000)", "csv"),
        ("SELECT sum(range) FROM range(1000000000000)", "json"),
        ("SELECT i FROM range(100000000) t(i) ORDER BY hash(i)", "csv"),
        (f"EXPLAIN ANALYZE {LONG}", "table"),
        ("SELECT * FROM range(1000000000000)", "table"),
    ],
)
def test_an_interrupted_query_ends_and_leaves_nothing(kymo, profile, tmp_path, query, format):
    process = subprocess.Popen(
        [kymo.path, "sql", profile, query, "--format", format, "--output-file", tmp_path / "out"],
        stderr=subprocess.PIPE, text=True,
    )
    while thread_count(process) < 2:  # DuckDB has started its own
        time.sleep(0.01)
    time.sleep(0.5)
    _, message = interrupt(process)
    assert process.returncode == 130
    assert message.rstrip().endswith("] interrupted")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.plain_build
@pytest.mark.slow
def test_a_query_can_be_interrupted_at_any_moment(kymo, profile):
    """Before the query starts, the signal ends the program by default."""
    for moment in range(0, 300, 20):
        process = subprocess.Popen(
            [kymo.path, "sql", profile, LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        time.sleep(moment / 1000)
        output, _ = interrupt(process)
        assert process.returncode in (130, -signal.SIGINT) and output == b""


def test_the_key_on_the_terminal_interrupts(kymo, profile):
    """On a busy machine the query may not have started: then Ctrl-C ends the program by default."""
    for patience in (1, 5, 20):
        terminal = Terminal(["setsid", "--ctty", "--wait", kymo.path, "sql", profile, LONG])
        time.sleep(patience)
        os.write(terminal.end, b"\x03")
        shown, code = terminal.read_all()
        if "interrupted" in shown:
            break
    assert "interrupted" in shown and code == 130


# Time limit, in a child process


def test_a_query_within_limits_answers_the_same(kymo, profile, tmp_path):
    query = "SELECT * FROM Events ORDER BY id LIMIT 100"
    for arguments in ([], ["--format", "csv"], ["--format", "json"], ["--limit", 3]):
        plain = kymo.ok("sql", profile, query, *arguments)
        assert kymo.ok("sql", profile, query, "--timeout", 60, *arguments) == plain
    assert kymo.ok("sql", profile, "--timeout", 60) == kymo.ok("sql", profile)
    assert kymo.ok("sql", profile, "-", "--timeout", 60, input="SELECT 1 AS a") == kymo.ok("sql", profile, "SELECT 1 AS a")
    kymo.ok("sql", profile, query, "--timeout", 60, "--output-file", tmp_path / "out", "--format", "csv")
    assert (tmp_path / "out").read_text() == kymo.ok("sql", profile, query, "--format", "csv")


def test_mistakes_within_limits_are_told_the_same(kymo, profile):
    for query in ("SELEC 1", "SELECT nosuch FROM Events", "CREATE TABLE x(i INT)", "SELECT 1; SELECT 2"):
        strip = lambda message: message.split("] ", 1)[1]  # noqa: E731
        assert strip(kymo.refuses("sql", profile, query, "--timeout", 60)) == strip(kymo.refuses("sql", profile, query))
    for timeout in (0, 86401, "x"):
        assert "--timeout" in kymo.refuses("sql", profile, "SELECT 1", "--timeout", timeout, code=2)


@pytest.mark.parametrize("query", [LONG, "SELECT * FROM range(1000000000000)"])
def test_a_query_ends_with_its_time(kymo, profile, tmp_path, query):
    begun = time.monotonic()
    message = kymo.refuses("sql", profile, query, "--timeout", 1, "--output-file", tmp_path / "out", "--format", "csv")
    assert "took more than 1 s" in message and time.monotonic() - begun < 20
    assert list(tmp_path.iterdir()) == []


@pytest.mark.plain_build
def test_memory_within_limits(kymo, profile):
    message = kymo.refuses("sql", profile, "SELECT printf('%2000000000d', 1)", "--timeout", 60)
    assert "memory" in message and "MiB" in message
    message = kymo.refuses("sql", profile, "SELECT repeat('x', 20000000) AS long", "--timeout", 60)
    assert "column long" in message and "16 MiB" in message


def test_a_query_within_limits_is_interrupted_and_leaves_nothing(kymo, profile, tmp_path):
    process = subprocess.Popen(
        [kymo.path, "sql", profile, LONG, "--timeout", "600", "--output-file", tmp_path / "out"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not children.read_text():
        time.sleep(0.01)
    child = int(children.read_text())
    time.sleep(0.5)
    _, message = interrupt(process)
    assert process.returncode == 130 and message.rstrip().endswith("] interrupted")
    assert list(tmp_path.iterdir()) == [] and not os.path.exists(f"/proc/{child}/stat")


def test_how_a_child_ended_is_known_where_such_signals_are_ignored(kymo, profile):
    ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # noqa: E731
    result = kymo.run("sql", profile, "SELECT nosuch FROM Events", "--timeout", 60, preexec_fn=ignore)
    assert result.returncode == 1 and "nosuch" in result.stderr


def test_the_command_of_the_child_is_for_the_program_alone(kymo):
    assert "internal" in kymo.run("sql-child", input="").stderr
    assert "sql-child" not in kymo.ok("--help")


# The library


def without_library(kymo, tmp_path):
    (tmp_path / "bin").mkdir()
    shutil.copy(kymo.path, tmp_path / "bin" / "kymo")
    return type(kymo)(tmp_path / "bin" / "kymo")


def fake_library(tmp_path, source):
    library = tmp_path / "libfake.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=source, text=True, check=True
    )
    return library


def refusal_with(kymo, profile, library):
    result = kymo.run("sql", profile, env=os.environ | {"KYMO_DUCKDB": str(library)})
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_without_the_library_there_is_one_line_that_helps(kymo, profile, tmp_path):
    message = without_library(kymo, tmp_path).refuses("sql", profile)
    assert "DuckDB library libduckdb.so not found; `make setup` installs it" in message
    assert message.count("\n") == 1


def test_the_library_lies_beside_the_program(kymo, profile, tmp_path):
    program = without_library(kymo, tmp_path)
    (tmp_path / "lib").mkdir()
    real = pathlib.Path(kymo.path).resolve().parents[1] / "lib" / "libduckdb.so"
    (tmp_path / "lib" / "libduckdb.so").symlink_to(real.resolve())
    assert program.ok("sql", profile) == kymo.ok("sql", profile)
    (tmp_path / "link").symlink_to(program.path)
    assert type(kymo)(tmp_path / "link").ok("sql", profile) == kymo.ok("sql", profile)


def test_a_library_that_is_named_and_not_there_is_an_error(kymo, profile):
    message = refusal_with(kymo, profile, "/nonexistent/libduckdb.so")
    assert "/nonexistent/libduckdb.so" in message and "KYMO_DUCKDB" in message


def test_a_library_that_is_none_is_an_error(kymo, profile, tmp_path):
    (tmp_path / "text.so").write_text("not a library")
    assert str(tmp_path / "text.so") in refusal_with(kymo, profile, tmp_path / "text.so")
    library = fake_library(tmp_path, "int something(void) { return 1; }")
    message = refusal_with(kymo, profile, library)
    assert str(library) in message and "not a DuckDB library" in message


@pytest.mark.parametrize("version", ["v0.9.2", "v1.1.3", "v1.3.4"])
def test_a_library_that_is_too_old_is_an_error(kymo, profile, tmp_path, version):
    source = f'const char *duckdb_library_version(void) {{ return "{version}"; }}'
    library = fake_library(tmp_path, source)
    message = refusal_with(kymo, profile, library)
    assert f"{library}: DuckDB {version} is too old, 1.4 is required" in message
    assert "`make setup` installs it" in message


def test_a_library_that_lacks_a_function_is_an_error(kymo, profile, tmp_path):
    source = 'const char *duckdb_library_version(void) { return "v3.0.0"; }'
    library = fake_library(tmp_path, source)
    message = refusal_with(kymo, profile, library)
    assert str(library) in message and "duckdb_free is missing" in message


def test_other_commands_do_not_need_the_library(kymo, tmp_path):
    program = without_library(kymo, tmp_path)
    assert "usage: kymo sql" in program.ok("sql", "--help")
    assert "sql" in program.ok("--help")
