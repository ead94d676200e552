"""A small profile of tables that PyArrow wrote, queries on it, and a terminal to show answers."""

import csv
import fcntl
import hashlib
import io
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time

import duckdb
import pyarrow
import pyarrow.parquet
import pytest


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
