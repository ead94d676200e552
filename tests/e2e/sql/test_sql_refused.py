"""SQL that changes something, reads other files or is wrong is refused, with an explanation."""

import os
import subprocess

import pytest

from sql_profile import checksums, profile, rows_of

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
    assert "usage: kymo sql [options] PROFILE|DATASET/RUN [QUERY]" in text
    for option in ("--format", "--limit", "--data-path", "--output-file"):
        assert option in text
    assert "GROUP BY name ORDER BY ms DESC LIMIT 10" in text
    assert "\n  sql " in kymo.ok("--help")
