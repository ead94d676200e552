"""Reading what a killed program left changes nothing; kymo recover makes session files of it."""

import ctypes
import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import threading

import pytest

import schema
from conftest import with_samples
from server import Server
from test_inspect import plain_environment, training, wait_for_rings  # noqa: F401

LIBC = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096
KNOWN = ("session", "names", "lane_0", "lane_1", "cpu_util.pb", "host_mem.pb")


def mount(source, target, kind, flags, data=None):
    words = [word.encode() if word else None for word in (source, str(target), kind)]
    if LIBC.mount(*words, ctypes.c_ulong(flags), data.encode() if data else None) != 0:
        pytest.skip(f"mounting is not permitted: {os.strerror(ctypes.get_errno())}")


def unmount(target):
    LIBC.umount2(str(target).encode(), 2)


@pytest.fixture
def read_only():
    mounted = []

    def make(path):
        mount(str(path), path, None, MS_BIND)
        mounted.append(path)
        mount(str(path), path, None, MS_BIND | MS_REMOUNT | MS_RDONLY)

    yield make
    for path in mounted:
        unmount(path)


@pytest.fixture
def full_disk(tmp_path):
    """A directory on a disk of its own, and a function that fills the rest of it."""
    path = tmp_path / "disk"
    path.mkdir()
    mount("tmpfs", path, "tmpfs", 0, "size=8m")

    def fill():
        with open(path / "filler", "wb", buffering=0) as file, pytest.raises(OSError):
            while True:
                file.write(bytes(4096))

    yield path, fill
    unmount(path)


def record(program, out, **variables):
    environment = os.environ | {"NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(out),
                                "NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC": "20000"} | variables  # fmt: skip
    process = subprocess.Popen([program, "1000000"], env=environment)
    wait_for_rings(out, process)
    return process


@pytest.fixture(scope="module")
def killed(training, tmp_path_factory):  # noqa: F811
    """The session directory of a program that was killed."""
    out = tmp_path_factory.mktemp("killed")
    process = record(training, out, KYMO_INSTANCE_ID="i-0test")
    process.kill()
    process.wait()
    (directory,) = out.iterdir()
    return directory


@pytest.fixture
def left(killed, tmp_path):
    """A copy of it: captures/<session>."""
    target = tmp_path / "captures" / killed.name
    target.parent.mkdir()
    subprocess.run(["cp", "-a", "--sparse=always", killed, target], check=True)
    return target


def state(*roots):
    """Everything there is below, with what changes when it is touched."""
    found = {}
    for root in roots:
        for path in [root, *root.rglob("*")]:
            status = path.lstat()
            found[path] = (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


def read_with_everything(kymo, path, place):
    """Every way to read a capture; those that find something in it."""
    place.mkdir()
    results = [
        kymo.run("info", path),
        kymo.run("view", path, "--output-format", "summary-json"),
        kymo.run("view", path, "--output-format", "json", "--output-file", place / "document.json"),
        kymo.run("view", path, "--output-format", "parquet", "--output-file", place / "tables"),
        kymo.run("view", path, "--data-path", place / "data", "--ingest-only"),
        kymo.run("convert", path, place / "out.xplane.pb"),
    ]
    server = Server(kymo, path, "--data-path", place / "data", command="serve")
    names = [profile["name"] for profile in server.get("/api/v1/profiles")["profiles"]]
    for name in names:
        server.ask("POST", f"/api/v1/profiles/{name}/process")
    server.stop()
    return results, names


def victims(tmp_path):
    place = tmp_path / "victim"
    place.mkdir()
    for name in ("log", *KNOWN):
        (place / name).write_bytes(b"do not touch " * 100)
    return place


def link_parts(left, victim):
    for name in (".ntrace.pb.part", ".trace_info.pb.part", "ntrace.pb", "trace_info.pb", "cpu_util.pb"):
        (left / name).symlink_to(victim / "log")


def link_rings(left, victim):
    """To a directory with rings that can be read and more."""
    for path in (left / "rings").iterdir():
        path.rename(victim / path.name)
    (left / "rings").rmdir()
    (left / "rings").symlink_to(victim)


def link_rings_above(left, victim):
    above = left.parent.parent
    for path in (left / "rings").iterdir():
        path.rename(above / path.name)
    (above / "precious").write_text("do not touch")
    (left / "rings").rmdir()
    (left / "rings").symlink_to("../..")


def link_samples(left, victim):
    for name in ("cpu_util.pb", "host_mem.pb"):
        (left / "rings" / name).unlink()
        (left / "rings" / name).symlink_to(victim / "log")


def hard_link_samples(left, victim):
    (left / "rings" / "cpu_util.pb").unlink()
    (left / "rings" / "cpu_util.pb").hardlink_to(victim / "log")


def link_lanes(left, victim):
    for name in ("lane_0", "names"):
        (left / "rings" / name).unlink()
        (left / "rings" / name).symlink_to(victim / name)


TRAPS = [link_parts, link_rings, link_rings_above, link_samples, hard_link_samples, link_lanes]


@pytest.mark.parametrize("trap", [None, *TRAPS])
def test_reading_changes_nothing_but_the_workspace(kymo, left, tmp_path, trap):
    victim = victims(tmp_path)
    if trap:
        trap(left, victim)
    before = state(left.parent, victim)
    names = sorted(os.listdir(tmp_path))
    results, listed = read_with_everything(kymo, left, tmp_path / "place")
    assert state(left.parent, victim) == before
    assert sorted(os.listdir(tmp_path)) == sorted([*names, "place"])
    assert all(result.returncode in (0, 1) for result in results)
    if trap in (None, link_parts, link_samples, hard_link_samples):
        assert [result.returncode for result in results] == [0] * len(results), results
        assert any(name.endswith(left.name) for name in listed)


@pytest.mark.parametrize("trap", TRAPS)
def test_recovery_touches_the_capture_alone(kymo, left, tmp_path, trap):
    victim = victims(tmp_path)
    trap(left, victim)
    outside = {path.name: path.lstat().st_ino for path in tmp_path.iterdir()}
    before = state(victim)
    before.pop(victim, None)
    kymo.run("recover", left)
    after = state(victim)
    after.pop(victim)
    if trap is hard_link_samples:  # a link less changes the time of its file, and nothing else
        before, after = ({path: value[:4] for path, value in s.items()} for s in (before, after))
    assert after == before
    assert {path.name: path.lstat().st_ino for path in tmp_path.iterdir()} == outside


def events(kymo, path):
    """Without warnings on standard error: a program that goes on may have filled its rings before they are read."""
    document = kymo.document(path, "--log-level", "error")
    return document["trace_events"], [message["text"] for message in document["messages"]]


def test_what_is_recovered_is_what_was_read(kymo, left):
    before, messages = events(kymo, left)
    assert len(before) > 1000
    assert any("kymo recover" in message for message in messages)
    (left / ".ntrace.pb.0123456789abcdef.part").write_bytes(b"of a stop that was killed")
    result = kymo.run("recover", left)
    assert result.returncode == 0 and result.stdout == ""
    process = left.name.rpartition("_")[2]
    info = schema.load(left, "trace_info", "TraceInfo")
    assert f"process {process} recovered, {info.kept} events kept, none lost" in result.stderr
    assert info.recovered and info.lost == 0
    assert sorted(os.listdir(left)) == ["cpu_util.pb", "host_mem.pb", "ntrace.pb", "trace_info.pb"]
    after, messages = events(kymo, left)
    assert after == before
    assert any("was recovered" in message for message in messages)
    result = kymo.run("recover", left.parent)
    assert result.returncode == 0 and "nothing to recover" in result.stderr


def test_rings_that_a_finished_session_left_are_not_told_twice(kymo, left):
    """Killed after the last session file was written, before the rings were removed."""
    kept = left.parent / "rings"
    subprocess.run(["cp", "-a", "--sparse=always", left / "rings", kept], check=True)
    kymo.run("recover", left)
    once = events(kymo, left)
    kept.rename(left / "rings")
    assert events(kymo, left) == once
    assert kymo.run("recover", left).returncode == 0
    assert not (left / "rings").exists() and events(kymo, left) == once


def test_several_processes_are_recovered_from_the_directory_above(kymo, left):
    other = left.parent / "deeper" / "i-other_pid_7"
    other.parent.mkdir()
    subprocess.run(["cp", "-a", "--sparse=always", left, other], check=True)
    (left / "rings" / "names").write_bytes(b"")
    result = kymo.run("recover", left.parent)
    assert result.returncode == 1
    assert "names: too short" in result.stderr and f"{other}: process" in result.stderr
    assert (left / "rings" / "session").exists() and not (other / "rings").exists()


def test_a_damaged_session_beside_others_is_a_message(kymo, left):
    other = left.parent / "other"
    subprocess.run(["cp", "-a", "--sparse=always", left, other], check=True)
    (other / "rings" / "names").write_bytes(b"")
    _, messages = events(kymo, left.parent)
    assert any("names: too short" in message for message in messages)


def test_the_directory_of_rings_stands_for_its_session(kymo, left):
    assert events(kymo, left / "rings") == events(kymo, left)


def test_a_program_that_still_records_is_shown_and_not_disturbed(kymo, training, tmp_path):  # noqa: F811
    process = record(training, tmp_path)
    (directory,) = tmp_path.iterdir()
    files = {path: path.lstat().st_ino for path in directory.rglob("*")}
    try:
        first, messages = events(kymo, tmp_path)
        (message,) = [message for message in messages if "still recording" in message]
        assert message.startswith(f"process {process.pid} is still recording; ")
        assert 0 < len(first) and int(message.split("; ")[1].split()[0]) > 0
        second, _ = events(kymo, tmp_path)
        assert len(second) > len(first)
        result = kymo.run("recover", tmp_path)
        assert result.returncode == 1 and "still recording" in result.stderr
        assert {path: path.lstat().st_ino for path in directory.rglob("*")} == files
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert kymo.run("recover", tmp_path).returncode == 0
    assert len(events(kymo, tmp_path)[0]) >= len(second)


def test_a_read_only_directory_is_read(kymo, left, read_only, tmp_path):
    expected = events(kymo, left)
    read_only(left)
    assert events(kymo, left) == expected
    result = kymo.run("recover", left)
    assert result.returncode == 1 and "Read-only file system" in result.stderr
    assert (left / "rings" / "session").exists()


def test_a_full_disk_is_read(kymo, left, full_disk, monkeypatch):
    """The one of the capture, which is that of temporary data, too."""
    disk, fill = full_disk
    expected = events(kymo, left)
    target = disk / left.name
    subprocess.run(["cp", "-a", "--sparse=always", left, target], check=True)
    fill()
    before = state(disk)
    monkeypatch.setenv("TMPDIR", str(disk))
    assert events(kymo, target)[0] == expected[0]
    result = kymo.run("recover", target)
    assert result.returncode == 1 and "No space left" in result.stderr
    assert {path: value[:4] for path, value in state(disk / left.name / "rings").items()} == {
        path: value[:4] for path, value in before.items() if path in state(disk / left.name / "rings")}  # fmt: skip
    assert os.listdir(target) == ["rings"]
    (disk / "filler").unlink()
    assert kymo.run("recover", target).returncode == 0
    assert events(kymo, target)[0] == expected[0]


def replace(path, make):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    make(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as listening:
        directory = os.open(path.parent, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{directory}/{path.name}")
        os.close(directory)


def make_node(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("nodes of devices cannot be made")


def make_sparse(path):
    with open(path, "wb") as file:
        file.truncate(1 << 43)


ODD = {"fifo": os.mkfifo, "socket": make_socket, "node": make_node, "sparse": make_sparse,
       "directory": os.mkdir, "link to directory": lambda path: path.symlink_to("/"),
       "link to itself": lambda path: path.symlink_to(path)}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["rings", "rings/session", "rings/names", "rings/lane_0", "rings/cpu_util.pb"])
@pytest.mark.sanitized(cases=8)
def test_anything_in_place_of_a_file_is_told_and_nothing_hangs(kymo, left, name, odd):
    if odd == "node" and name == "rings":
        pytest.skip("the same as a file")
    replace(left / name, ODD[odd])
    result = kymo.run("info", "--json", left)
    if name in ("rings/lane_0", "rings/cpu_util.pb"):
        told = [message["text"] for message in json.loads(result.stdout)["messages"]]
        told = [message for message in told if "could not be read" in message and name.rpartition("/")[2] in message]
        assert result.returncode == 0 and told
    else:
        assert result.returncode == 1 and result.stderr
    result = kymo.run("recover", left)
    assert result.stderr and (left / name).lstat()


def test_a_ring_far_larger_than_what_is_in_it_takes_no_time(kymo, left):
    """A header that claims 4 billion records in a file that has them, as a hole."""
    lane = left / "rings" / "lane_0"
    before, _ = events(kymo, left)
    slots, size = 1 << 32, lane.stat().st_size
    with open(lane, "r+b") as file:
        header = file.read(4096)
        at, head = header.index(struct.pack("<Q", (size - 4096) // 32)), 192  # head: the writer's cache line
        file.truncate(4096 + slots * 32)
        for offset, value in ((at, slots), (head, 1 << 60)):
            file.seek(offset)
            file.write(struct.pack("<Q", value))
    result = kymo.run("view", left, "--output-format", "json")
    assert result.returncode == 0
    assert len(with_samples(json.loads(result.stdout))["trace_events"]) >= len(before) // 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("name", ["rings", "rings/session", "rings/lane_0"])
def test_files_of_another_user_are_not_taken(kymo, left, name):
    os.chown(left / name, 12345, -1)
    result = kymo.run("info", left)
    assert (result.returncode == 0) == (name == "rings/lane_0")
    assert "belongs to another user" in result.stderr + result.stdout
    kymo.run("recover", left)
    assert (left / name).exists()


def test_files_that_are_not_the_recorders_stay(kymo, left):
    (left / "rings" / "notes.txt").write_text("mine")
    (left / "rings" / "lane_01").write_text("mine")
    assert kymo.run("recover", left).returncode == 0
    assert sorted(os.listdir(left / "rings")) == ["lane_01", "notes.txt"]


def test_two_recoveries_at_once(kymo, left):
    results = []
    threads = [threading.Thread(target=lambda: results.append(kymo.run("recover", left))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert any(result.returncode == 0 for result in results)
    assert sorted(os.listdir(left)) == ["cpu_util.pb", "host_mem.pb", "ntrace.pb", "trace_info.pb"]
    assert events(kymo, left)[0]


@pytest.mark.parametrize("arguments, code", [([], 2), (["--nope"], 2), (["no/such"], 1), (["--help"], 0)])
def test_usage(kymo, arguments, code, tmp_path):
    result = kymo.run("recover", *arguments, cwd=tmp_path)
    assert result.returncode == code and (result.stderr or "examples:" in result.stdout)


def test_inspect_leaves_captures_of_others_alone(kymo, left):
    before = state(left)
    result = kymo.run("inspect", "-o", left.parent, "true")
    assert result.returncode == 0 and state(left) == before


@pytest.mark.parametrize("trap", ["link", "dangling", "file"])
def test_a_program_records_past_what_others_prepared(kymo, training, tmp_path, trap):  # noqa: F811
    victim = victims(tmp_path)
    before = state(victim)
    out = tmp_path / "out"
    out.mkdir()
    prepare = {"link": f"ln -s {victim}", "dangling": f"ln -s {tmp_path}/none", "file": "touch"}[trap]
    script = f'touch {out}/x; ln -s {victim}/log {out}/x2; {prepare} "{out}/i-0test_pid_$$" 2>/dev/null || ' \
             f'cp {out}/x "{out}/i-0test_pid_$$"; exec {training} 20'  # fmt: skip
    environment = os.environ | {"NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(out)}
    environment.pop("LD_PRELOAD", None)
    subprocess.run(["sh", "-c", script], env=environment, check=True, capture_output=True)
    assert state(victim) == before and not (tmp_path / "none").exists()
    (session,) = out.glob("*_pid_*_1")
    assert len(schema.load(session, "trace_info", "TraceInfo").lanes) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_a_program_does_not_record_into_a_directory_of_another_user(training, tmp_path):  # noqa: F811
    out = tmp_path / "out"
    out.mkdir()
    script = f'mkdir "{out}/i-0test_pid_$$"; chown 12345 "{out}/i-0test_pid_$$"; exec {training} 20'
    environment = os.environ | {"NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(out)}
    subprocess.run(["sh", "-c", script], env=environment, check=True, capture_output=True)
    (session,) = out.glob("*_pid_*_1")
    assert (session / "ntrace.pb").exists()


def test_a_processed_profile_is_not_made_through_links(kymo, left, tmp_path):
    victim = victims(tmp_path)
    place = tmp_path / "place"
    place.mkdir()
    (place / ".tables.partial").symlink_to(victim)
    (place / ".tables.lock").symlink_to(tmp_path / "made")
    before = state(victim)
    result = kymo.run("view", left, "--output-format", "parquet", "--output-file", place / "tables")
    assert result.returncode == 1
    (place / ".tables.lock").unlink()
    result = kymo.run("view", left, "--output-format", "parquet", "--output-file", place / "tables")
    assert result.returncode == 1 and ".tables.partial" in result.stderr
    assert state(victim) == before and not (tmp_path / "made").exists()
