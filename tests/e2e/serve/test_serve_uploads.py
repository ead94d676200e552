"""Uploads and the job queue: an upload becomes a profile even if the client disconnects or the
server restarts; a failed one has a reason."""

import json
import os
import signal
import socket
import subprocess
import time

import pytest

import random_space
from conftest import DATA
from server import PATIENCE, Server

GPT = DATA / "xplane" / "jax_gpt_python_h200.xplane.pb"
KINETO = (DATA / "kineto" / "compare_base.json.gz").read_bytes()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("uploads")


@pytest.fixture(scope="module")
def server(kymo, data):
    server = Server(kymo, "--data-path", data)
    yield server
    server.stop()


def leftovers(data):
    """Entries of the uploads folder except the lock."""
    return [name for name in os.listdir(data / "uploads") if name != ".lock"]


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("files", [
    {"run.xplane.pb": GPT.read_bytes()},
    {"any name": KINETO},
    {"a/b/rank0.json.gz": KINETO},
    {"logs/plugins/profile/r/h.xplane.pb": random_space.make(1).SerializeToString()},
    {"ü x.json.gz": KINETO},
])  # fmt: skip
def test_what_is_uploaded_becomes_a_profile(kymo, server, data, tmp_path, files):
    name = f"up {len(next(iter(files)))}"
    server.upload(name, files)
    entry = server.wait_for(name, "ready", "failed")
    assert entry["status"] == "ready", entry
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    source = tmp_path if "/" in next(iter(files)) else tmp_path / next(iter(files))
    out = json.loads(kymo.ok("view", source, "--output-format", "summary-json"))
    shown = server.get(f"profiles/{name.replace(' ', '%20')}/summary")
    assert shown["event_count"] == out["event_count"] == entry["events"]
    wait_until(lambda: leftovers(data) == [])


def test_a_name_that_is_taken_is_refused_unless_forced(server):
    server.upload("taken", {"x.json.gz": KINETO})
    server.wait_for("taken", "ready")
    answer = server.ask("POST", "uploads", {"name": "taken"})
    assert answer.status == 409 and "already" in answer.error
    upload = server.upload("taken", {"x.xplane.pb": GPT.read_bytes()}, process=False, force=True)
    assert server.get("profiles/taken")["events"] == 33
    server.post(f"uploads/{upload}/process", status=202)
    wait_until(lambda: server.get("profiles/taken")["events"] == 15335)


def test_a_name_that_is_being_uploaded_is_taken(server):
    upload = server.upload("claimed", {}, process=False)
    assert server.ask("POST", "uploads", {"name": "claimed"}).status == 409
    assert server.ask("DELETE", f"uploads/{upload}").status == 204
    assert server.ask("DELETE", f"uploads/{upload}").status == 404
    again = server.upload("claimed", {}, process=False)
    assert server.ask("POST", f"uploads/{again}/process").status == 409
    server.ask("DELETE", f"uploads/{again}")


def test_what_is_no_capture_fails_with_the_reason(server, data):
    upload = server.upload("bad", {"x.txt": b"no capture"})
    entry = server.wait_for("bad", "failed", "ready")
    assert entry["status"] == "failed" and entry["reason"].startswith("x.txt: not a capture (text file)")
    assert str(data) not in entry["reason"]
    answer = server.ask("GET", "profiles/bad/tracks")
    assert answer.status == 409 and "failed" in answer.error
    [listed] = [u for u in server.get("uploads")["uploads"] if u["name"] == "bad"]
    assert listed["id"] == upload and listed["status"] == "failed"
    server.post("profiles/bad/process", status=202)
    wait_until(lambda: server.get("profiles/bad")["status"] == "failed")
    good = server.upload("bad", {"x.json.gz": KINETO})
    assert good != upload
    assert server.wait_for("bad", "ready")["reason"] is None
    assert server.ask("DELETE", "profiles/bad").status == 204


def test_a_failure_keeps_the_profile_that_was_there(server):
    server.upload("kept", {"x.json.gz": KINETO})
    server.wait_for("kept", "ready")
    server.upload("kept", {"x": b"no capture"}, force=True)
    wait_until(lambda: server.get("profiles/kept")["reason"])
    entry = server.get("profiles/kept")
    assert entry["status"] == "ready" and entry["events"] == 33
    assert server.get("profiles/kept/tracks")["tracks"]
    server.ask("DELETE", "profiles/kept")
    assert server.ask("GET", "profiles/kept").status == 404


PATHS = ["..", "../x", "a/../b", "a/..%2F..%2Fx", "%2Fetc%2Fx", "a%5Cb", ".hidden", "a/.b", "a%00b",
         "a%0Ab", "%7F", "x" * 201, "/".join("abcdefghijklm"), "a//b", "/".join(["y" * 190] * 6)]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_paths_that_lead_elsewhere_are_refused(server, data, path):
    upload = server.upload("paths", {}, process=False)
    answer = server.ask("PUT", f"uploads/{upload}/files/{path}", b"x")
    assert answer.status == 400 and answer.error
    assert not [f for _, _, files in os.walk(data / "uploads" / upload) for f in files if f != "job.json"]
    server.ask("DELETE", f"uploads/{upload}")


@pytest.mark.parametrize("name", ["", "a/b", "..", ".x", "a@b", "x" * 201, "a\nb", "a\x7fb", 3, None, ["x"]])
def test_names_that_cannot_be(server, name):
    answer = server.ask("POST", "uploads", {"name": name})
    assert answer.status == 400 and "name" in answer.error


@pytest.mark.parametrize("upload", ["x", "../x", "0" * 32, "..%2F..", "0" * 31 + "G"])
def test_uploads_that_are_not_there(server, upload):
    for method, path in (("PUT", f"uploads/{upload}/files/x"), ("POST", f"uploads/{upload}/process"), ("DELETE", f"uploads/{upload}")):
        assert server.ask(method, path, b"" if method == "PUT" else None).status == 404


def test_an_upload_has_a_limit(kymo, tmp_path):
    server = Server(kymo, "--data-path", tmp_path, "--upload-limit", 1)
    upload = server.upload("large", {}, process=False)
    connection = server.connect()
    connection.putrequest("PUT", f"/api/v1/uploads/{upload}/files/x")
    connection.putheader("Content-Length", str((1 << 30) + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    # A sparse file counts, too: nothing is left for another.
    with open(tmp_path / "uploads" / upload / "job.json") as file:
        assert json.load(file)["state"] == "receiving"
    os.makedirs(tmp_path / "uploads" / upload / "files")
    with open(tmp_path / "uploads" / upload / "files" / "big", "wb") as file:
        file.truncate((1 << 30) - 1000)
    time.sleep(1.2)  # the disk is measured once a second
    assert server.ask("PUT", f"uploads/{upload}/files/x", b"x" * 500).status == 200
    assert server.ask("PUT", f"uploads/{upload}/files/y", b"y" * 500).status == 413

    def chunks():
        yield b"y" * 500

    assert server.ask("PUT", f"uploads/{upload}/files/y", chunks()).status == 413
    server.stop()


def test_the_limit_is_for_all_uploads_together(kymo, tmp_path):
    """Files being received count with their full size, whichever upload they belong to."""
    server = Server(kymo, "--data-path", tmp_path, "--upload-limit", 1)
    uploads = [server.upload(name, {}, process=False) for name in ("one", "two")]

    def begin(upload, size):
        connection = server.connect()
        connection.putrequest("PUT", f"/api/v1/uploads/{upload}/files/x{size}")
        connection.putheader("Content-Length", str(size))
        connection.endheaders(b"x" * 100)
        return connection

    half = begin(uploads[0], 600 << 20)
    wait_until(lambda: list((tmp_path / "uploads" / uploads[0]).glob("*.partial")))
    for upload in uploads:
        refused = begin(upload, 500 << 20)
        answer = refused.getresponse()
        assert answer.status == 413 and b"uploads exceed" in answer.read()
        refused.close()
    assert server.ask("PUT", f"uploads/{uploads[1]}/files/small", b"x" * 1000).status == 200
    half.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:  # aborted, and its quota is released
        second = begin(uploads[1], 500 << 20)
        second.sock.settimeout(0.5)
        try:
            assert second.sock.recv(12) == b"HTTP/1.1 413"
        except TimeoutError:  # it is being received
            break
        finally:
            second.close()
    else:
        raise AssertionError("the room was not freed")
    server.stop()


def test_a_file_that_is_cut_off_leaves_nothing(server, data):
    upload = server.upload("cut", {}, process=False)
    for sent in (0, 1, 100_000):
        with socket.create_connection(("127.0.0.1", server.port)) as peer:
            head = f"PUT /api/v1/uploads/{upload}/files/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n"
            peer.sendall(head.encode() + b"x" * sent)
            time.sleep(0.05)
    folder = data / "uploads" / upload
    wait_until(lambda: not list(folder.glob("*.partial")))
    assert not (folder / "files" / "x").exists()
    assert server.ask("PUT", f"uploads/{upload}/files/x", KINETO).status == 200
    server.post(f"uploads/{upload}/process", status=202)
    assert server.wait_for("cut", "ready")["events"] == 33
    assert server.ask("PUT", f"uploads/{upload}/files/y", b"x").status in (404, 409)


def test_files_come_whole_whatever_their_size(server, data):
    upload = server.upload("sizes", {}, process=False)
    for size in (0, 1, 65535, 65536, 3_000_000):
        content = os.urandom(size)
        assert server.ask("PUT", f"uploads/{upload}/files/f{size}", content).json == {"bytes": size}
        assert (data / "uploads" / upload / "files" / f"f{size}").read_bytes() == content
    assert server.ask("PUT", f"uploads/{upload}/files/f1/below", b"x").status == 409
    server.ask("DELETE", f"uploads/{upload}")


@pytest.mark.plain_build
@pytest.mark.parametrize(("option", "value", "reason"), [
    ("--processing-memory", 16, "processing needs more than 16 MiB of memory, the server's limit (--processing-memory)"),
    ("--processing-output", 1, "processing wrote more than 1 MiB, the server's limit (--processing-output)"),
])  # fmt: skip
def test_processing_that_meets_a_limit_says_which(kymo, tmp_path, option, value, reason):
    server = Server(kymo, "--data-path", tmp_path, option, value)
    server.upload("run", {"x.xplane.pb": large_capture()})  # of which a single table exceeds the limit
    entry = server.wait_for("run", "ready", "failed")
    server.stop()
    assert (entry["status"], entry["reason"]) == ("failed", reason)


def test_limits_of_captures_hold_for_processing_too(kymo, tmp_path):
    server = Server(kymo, "--data-path", tmp_path, "--track-limit", 3)
    server.upload("run", {"x.xplane.pb": GPT.read_bytes()})
    entry = server.wait_for("run", "ready", "failed")
    server.stop()
    assert entry["status"] == "failed" and "--track-limit" in entry["reason"]


def large_capture():
    """Takes a fraction of a second to process."""
    space = random_space.make(3)
    return space.SerializeToString() + GPT.read_bytes() * 10


@pytest.mark.slow
def test_the_queue_outlives_the_server(kymo, tmp_path):
    content = large_capture()
    server = Server(kymo, "--data-path", tmp_path)
    for number in range(3):
        server.upload(f"run {number}", {"x.xplane.pb": content})
    server.wait_for("run 0", "processing", "ready")
    server.kill()
    server = Server(kymo, "--data-path", tmp_path)
    for number in range(3):
        assert server.wait_for(f"run {number}", "ready", "failed")["status"] == "ready"
    wait_until(lambda: leftovers(tmp_path) == [])
    server.stop()


def test_a_server_that_is_stopped_puts_its_work_back(kymo, tmp_path):
    server = Server(kymo, "--data-path", tmp_path)
    server.upload("run", {"x.xplane.pb": large_capture()})
    server.wait_for("run", "processing", "ready")
    server.stop(signal.SIGINT)
    assert not [n for n in os.listdir(tmp_path / "profiles/global") if n.startswith(".")]
    server = Server(kymo, "--data-path", tmp_path)
    assert server.wait_for("run", "ready", "failed")["status"] == "ready"
    server.stop()


def test_processing_can_be_given_up(kymo, tmp_path):
    server = Server(kymo, "--data-path", tmp_path)
    server.upload("run", {"x.xplane.pb": large_capture()})
    server.wait_for("run", "processing", "ready")
    assert server.ask("DELETE", "profiles/run").status == 204
    wait_until(lambda: leftovers(tmp_path) == [])
    wait_until(lambda: server.ask("GET", "profiles/run").status == 404 or server.ask("DELETE", "profiles/run"))
    server.stop()


@pytest.mark.slow
def test_of_two_servers_one_works_and_both_show(kymo, tmp_path):
    first, second = (Server(kymo, "--data-path", tmp_path) for _ in range(2))
    second.upload("run", {"x.json.gz": KINETO})
    assert first.wait_for("run", "ready") == second.wait_for("run", "ready")
    first.stop()
    second.upload("another", {"x.json.gz": KINETO})
    second.wait_for("another", "ready")
    second.stop()


def test_progress_is_told_in_percent(kymo, tmp_path):
    capture = tmp_path / "x.xplane.pb"
    capture.write_bytes(large_capture())
    ours, theirs = os.pipe()
    process = subprocess.Popen(
        [kymo.path, "view", capture, "--data-path", tmp_path, "--ingest-only", "--progress-fd", str(theirs)],
        pass_fds=[theirs], stdout=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(theirs)
    with os.fdopen(ours) as file:
        told = [int(line) for line in file]
    assert process.wait() == 0
    assert told == sorted(told) and all(0 <= value < 100 for value in told)
    message = kymo.refuses("view", capture, "--ingest-only", "--progress-fd", 77, code=2)
    assert "--progress-fd" in message
