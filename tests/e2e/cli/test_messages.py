"""What users are told when something cannot be read: what it is, what Kymo reads, and the true reason last."""

import gzip
import io
import json
import sqlite3
import struct
import sys
import tarfile
import zipfile
import zlib

import pyarrow
import pyarrow.parquet
import pytest

from conftest import DATA
from server import Server

EVENT = {"ph": "X", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "name": "x"}


def png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def archive(kind):
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as file:
            file.writestr("x.txt", "hello")
    else:
        with tarfile.open(fileobj=out, mode="w") as file:
            file.addfile(tarfile.TarInfo("x.txt"), io.BytesIO())
    return out.getvalue()


def table():
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"a": [1, 2]}), out)
    return out.getvalue()


def database():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t(a)")
    return connection.serialize()


PROTOBUF = b"\x0a\x05hello\x12\x03abc\x18\x05"
OTHERS = {
    "a.png": (png(), "PNG image"),
    "a.png.gz": (gzip.compress(png()), "PNG image"),
    "a.xplane.pb": (png(), "PNG image"),
    "python": (open(sys.executable, "rb").read(4096), "ELF program or library"),
    "notes.txt": (b"hello world\nsecond line\n", "text file"),
    "text.json": (b"hello world\n", "text file"),
    "text.xplane.pb": (b"hello world\n", "text file"),
    "page.json": (b"<!DOCTYPE html><html><body>Sign in</body></html>", "HTML page"),
    "a.zip": (archive("zip"), "zip archive"),
    "a.tar": (archive("tar"), "tar archive"),
    "a.tar.gz": (gzip.compress(archive("tar")), "tar archive"),
    "a.sqlite": (database(), "SQLite database"),
    "a.pkl": (b"\x80\x04K\x01.", "Python pickle"),
    "package.json": (b'{"name": "x", "version": 1}', "JSON without trace events"),
    "package.json.gz": (gzip.compress(b'{"name": "x", "version": 1}'), "JSON without trace events"),
    "numbers.json": (b"[1, 2, 3]", "JSON without trace events"),
    "objects.json": (b'[{"a": 1}, {"b": 2}]\n', "JSON without trace events"),
    "large.json": (json.dumps([{"a": i} for i in range(20_000)]).encode(), "JSON without trace events"),
    "a.pb": (PROTOBUF, "binary data, possibly a protobuf message of another type"),
    "random": (b"\x00\xff\x07" * 999, "binary data of an unknown kind"),
    "a.pftrace": (PROTOBUF, "Perfetto trace"),
}


def reason(kymo, *arguments):
    """The last line of a call that must fail."""
    return kymo.refuses(*arguments).splitlines()[-1]


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_kind_is_named_and_not_called_damaged(kymo, tmp_path, name):
    content, kind = OTHERS[name]
    path = tmp_path / name
    path.write_bytes(content)
    for command in (["info", path], ["view", path, "--ingest-only"], ["convert", path, tmp_path / "out.xplane.pb"],
                    ["view", path, "--output-format", "json"]):  # fmt: skip
        message = reason(kymo, *command)
        assert f"{path}: not a capture ({kind}); Kymo reads XPlane files (*.xplane.pb), " in message
        assert "damaged" not in message


@pytest.mark.parametrize("name", ["empty", "empty.json", "empty.trace.json.gz", "empty.pb"])
def test_an_empty_file_is_said_to_be_empty(kymo, tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
    assert f"{tmp_path / name}: the file is empty; Kymo reads " in reason(kymo, "info", tmp_path / name)


def test_one_table_alone_is_told_what_to_name_instead(kymo, tmp_path):
    (tmp_path / "a.parquet").write_bytes(table())
    assert "name the directory that holds SystemProfileEvents.parquet" in reason(kymo, "info", tmp_path / "a.parquet")
    assert "Parquet files, but not SystemProfileEvents.parquet" in reason(kymo, "info", tmp_path)


def test_raw_device_profiles_are_told_apart(kymo, tmp_path):
    (tmp_path / "profile.ntff").write_bytes(b"\x00\x01")
    for path in (tmp_path / "profile.ntff", tmp_path):
        assert "reads device profiles (NTFF) made with its own runtime" in reason(kymo, "info", path)


def test_a_directory_without_captures_tells_what_is_in_it(kymo, tmp_path):
    assert f"{tmp_path}: the directory is empty; Kymo reads " in reason(kymo, "info", tmp_path)
    (tmp_path / "sub").mkdir()
    assert "no captures found (sub: directory)" in reason(kymo, "info", tmp_path)
    (tmp_path / "zoo.png").write_bytes(png())
    assert "no captures found (zoo.png: PNG image)" in reason(kymo, "info", tmp_path)


def test_a_message_that_is_no_space_may_be_either(kymo, tmp_path):
    (tmp_path / "a.xplane.pb").write_bytes(PROTOBUF)
    assert "a.xplane.pb: not an XPlane file, or damaged" in reason(kymo, "info", tmp_path / "a.xplane.pb")


def test_json_under_the_name_of_a_space_is_read_as_what_it_is(kymo, tmp_path):
    (tmp_path / "a.xplane.pb").write_text(json.dumps([EVENT]))
    assert "chrome: 1 events" in kymo.ok("info", tmp_path / "a.xplane.pb")


def test_a_damaged_capture_is_still_called_damaged(kymo, tmp_path):
    whole = (DATA / "xplane" / "jax_matmul_h200.xplane.pb").read_bytes()
    (tmp_path / "a.xplane.pb").write_bytes(whole[: len(whole) // 2])
    assert "damaged or truncated" in reason(kymo, "info", tmp_path / "a.xplane.pb")
    (tmp_path / "a.json").write_text('{"traceEvents": [{"ph": "X",, }]}')
    assert "the JSON is damaged: expected a key (at byte 28)" in reason(kymo, "info", tmp_path / "a.json")


def test_of_several_files_the_bad_one_is_named(kymo, tmp_path):
    (tmp_path / "a.xplane.pb").write_bytes((DATA / "xplane" / "jax_matmul_h200.xplane.pb").read_bytes())
    (tmp_path / "b.xplane.pb").write_bytes(png())
    for command in (["info", tmp_path], ["view", tmp_path, "--ingest-only"], ["convert", tmp_path, tmp_path / "out"]):
        assert f"{tmp_path / 'b.xplane.pb'}: not a capture (PNG image)" in reason(kymo, *command)


def test_a_command_that_fails_is_the_last_thing_told(kymo, tmp_path):
    result = kymo.run("inspect", "-o", tmp_path / "out", "sh", "-c", "exit 3")
    assert result.returncode == 3
    assert result.stderr.splitlines()[-1].endswith("the command failed with exit code 3")


UPLOADS = {
    "png": ({"a.png": png()}, "a.png: not a capture (PNG image); "),
    "two texts": ({"a.txt": b"notes\n", "b.txt": b"b"}, "no captures found (a.txt: text file); "),
    "one of two": ({"a.json": json.dumps([EVENT]).encode(), "b.json": b'{"traceEvents": [{"ph": "X",, }]}'},
                   "b.json: the JSON is damaged: expected a key"),  # fmt: skip
}


def test_an_upload_that_fails_says_why(kymo, tmp_path):
    server = Server(kymo, "--data-path", tmp_path)
    for name, (files, expected) in UPLOADS.items():
        server.upload(name, files)
        entry = server.wait_for(name, "failed", "ready")
        assert entry["status"] == "failed" and entry["reason"].startswith(expected), entry
        assert str(tmp_path) not in entry["reason"]
    server.stop()
