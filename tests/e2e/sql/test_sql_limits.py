"""SQL that is interrupted, that takes too long or too much memory, and without DuckDB's library."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from server import busy_seconds
from sql_profile import LONG, Terminal, profile

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
    while thread_count(process) < 2 or busy_seconds(process.pid) < 0.5:  # DuckDB has started its own, and the query runs
        time.sleep(0.01)
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
    assert "took more than 1 s" in message and time.monotonic() - begun < 60
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
    while busy_seconds(child) < 0.3:  # the query runs
        time.sleep(0.01)
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
