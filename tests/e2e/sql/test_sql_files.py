"""SQL over profiles on any path, with damaged or missing tables, into files."""

import json
import os
import pathlib
import random
import shutil
import subprocess

import pyarrow
import pyarrow.parquet
import pytest

from conftest import peak_memory
from sql_profile import PARTS, make_profile, profile, rows_of, write

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
