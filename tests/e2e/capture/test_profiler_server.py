"""libkymo-server in a program: captured by kymo, XProf and JAX's tool, and visited by clients that mean no good."""

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

import http2
from conftest import ROOT
from test_capture_connect import capture, names, planes, session
from test_record import PROGRAMS, compile

LIBRARY = ROOT / "lib"


@pytest.fixture(scope="module")
def executable(tmp_path_factory):
    return compile(tmp_path_factory.mktemp("programs") / "served", PROGRAMS / "served.c", f"-L{LIBRARY}", f"-Wl,-rpath,{LIBRARY}",
                   "-lkymo-server", "-lkymo", "-pthread")  # fmt: skip


class Program:
    def __init__(self, executable, folder, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("NEURON_", "KYMO_", "LD_PRELOAD"))}
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen([executable], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                        cwd=folder, env=environment | {"TMPDIR": str(folder)} | variables)  # fmt: skip
        self.pid = self.process.pid

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        """The number that comes as the answer to a command, after what hooks have said."""
        self.tell(line)
        return int(self.process.stdout.readline().split()[1])

    def serve(self, line="serve"):
        self.port = self.ask(line)
        assert self.port > 0, os.strerror(-self.port)
        self.address = f"localhost:{self.port}"
        return self

    def lives(self):
        before = self.ask("step")
        time.sleep(0.02)
        return self.process.poll() is None and self.ask("step") > before

    def left(self):
        """What is in its folder of temporary files."""
        return sorted(path.name for path in self.folder.iterdir())

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def program(executable, tmp_path):
    made = Program(executable, tmp_path / "program").serve()
    yield made
    made.close()


def wait_for(what, seconds=10):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def profile_request(duration_ms=50, session_id="s", emit=True, start_ns=0, version=1, level=2, root="", advanced=b"", outer_ms=0):
    options = http2.field(2, level) + http2.field(5, version) + http2.field(8, start_ns) + http2.field(9, duration_ms) + advanced
    return http2.field(1, outer_ms) + http2.field(4, options) + http2.field(5, root) + http2.field(6, session_id) + http2.field(9, int(emit))


def profile(port, **what):
    client = http2.Client(port)
    client.call("Profile", profile_request(**what))
    answer = client.answer()
    client.close()
    return answer


# ---- Captures -----------------------------------------------------------------------------------


def test_kymo_captures_what_the_program_does(kymo, program, tmp_path):
    before = program.ask("step")
    folder = session(capture(kymo, tmp_path / "logs", program.address, "--duration-ms", 300))
    after = program.ask("step")
    document = kymo.document(folder)
    steps = [s["step"] if "step" in s else s["number"] for s in document["steps"]]
    numbers = sorted(map(int, steps))
    assert numbers == list(range(numbers[0], numbers[-1] + 1)) and len(numbers) > 5
    assert before <= numbers[0] and numbers[-1] <= after
    (path,) = folder.iterdir()
    assert {"train"} == set(names(path))
    assert dict(planes(path)["/host:CPU"].stats)["process_id"] == program.pid
    assert program.left() == [] and program.lives()


def test_the_level_is_the_clients(kymo, program, tmp_path):
    (path,) = session(capture(kymo, tmp_path, program.address, "--duration-ms", 50, "--options", "host_tracer_level=3")).iterdir()
    assert {"train", "detail"} == set(names(path))
    (path,) = session(capture(kymo, tmp_path, program.address, "--duration-ms", 50, "--options", "host_tracer_level=0")).iterdir()
    assert "/host:CPU" not in planes(path) or names(path) == []


@pytest.mark.slow
def test_xprof_captures_from_it(kymo, program, tmp_path):
    """Its client asks the server to write the file; the profile reaches it all the same, and from it the disk."""
    code = f"""
from xprof.convert import _pywrap_profiler_plugin as client
client.trace("{program.address}", "{tmp_path}/logs", "", True, 300, 3, {{"host_tracer_level": 2}})
print("MONITOR", client.monitor("{program.address}", 200, 2, True))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "logs").rglob("*.xplane.pb")
    assert path.name == f"localhost_{program.port}.xplane.pb"
    assert names(path).count("train") > 5
    assert f"process {program.pid}: CPU " in result.stdout and "threads, not recording" in result.stdout
    document = kymo.document(path.parent)
    assert len(document["steps"]) > 5


@pytest.mark.slow
def test_jax_collect_profile_captures_from_it(program, tmp_path):
    result = subprocess.run([sys.executable, "-m", "jax.collect_profile", str(program.port), "200", "--log_dir", tmp_path / "logs",
                             "--no_perfetto_link"], capture_output=True, text=True, timeout=120)  # fmt: skip
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "logs").rglob("*.xplane.pb")
    assert "train" in names(path)
    assert list((tmp_path / "logs").rglob("remote.trace.json.gz"))


def test_it_never_writes_where_a_client_says(program, tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    answer = http2.fields(profile(program.port, emit=False, root=str(target), session_id="run"))
    (tool,) = map(http2.fields, answer[6])
    assert tool[1] == [b"xplane.pb"] and b"train" in tool[2][0]
    assert list(target.iterdir()) == [] and program.left() == []


def test_options_of_version_0_are_not_heeded_but_for_the_duration(program):
    begun = time.monotonic()
    answer = http2.fields(profile(program.port, version=0, level=3, start_ns=time.time_ns() + 600 * 10**9, duration_ms=30))
    assert time.monotonic() - begun < 120
    assert b"train" in answer[8][0] and b"detail" not in answer[8][0]


def test_the_duration_may_be_the_requests(program):
    begun = time.monotonic()
    profile(program.port, duration_ms=0, outer_ms=300)
    assert 0.3 <= time.monotonic() - begun < 60


def test_a_capture_begins_when_it_should(kymo, program, tmp_path):
    begun = time.monotonic()
    session(capture(kymo, tmp_path, program.address, "--duration-ms", 10, "--options", "delay_ms=600"))
    assert time.monotonic() - begun > 0.55


def test_hooks_are_called_around_a_capture(kymo, program, tmp_path):
    program.tell("hooks")
    session(capture(kymo, tmp_path, program.address, "--duration-ms", 10))
    said = [program.process.stdout.readline().split() for _ in range(2)]
    assert said[0][0] == "start" and int(said[0][1]) > 10 and said[1] == ["stop", "0"]


def test_one_capture_at_a_time(kymo, program, tmp_path):
    first = http2.Client(program.port)
    first.call("Profile", profile_request(duration_ms=60000, session_id="long"))
    wait_for(lambda: program.left() != [])
    result = capture(kymo, tmp_path, program.address, "--retries", 0)
    assert result.returncode == 1 and "ALREADY_EXISTS: Another profiling session active." in result.stderr
    second = http2.Client(program.port)
    second.call("Terminate", http2.field(1, "another"))
    assert second.answer() == b"" and program.left() != []
    second.call("Terminate", http2.field(1, "long"), stream=3)
    assert second.answer(3) == b""
    assert b"train" in http2.fields(first.answer())[8][0]
    session(capture(kymo, tmp_path, program.address, "--duration-ms", 10))


@pytest.mark.parametrize("how", ["reset", "close"])
def test_a_canceled_capture_ends(kymo, program, tmp_path, how):
    client = http2.Client(program.port)
    client.call("Profile", profile_request(duration_ms=60000))
    wait_for(lambda: program.left() != [])
    if how == "reset":
        client.send(http2.frame(http2.RESET, 0, 1, struct.pack(">I", 8)))
    else:
        client.close()
    wait_for(lambda: program.left() == [])
    session(capture(kymo, tmp_path, program.address, "--duration-ms", 10))


def test_a_program_that_is_recorded_already_says_so(kymo, program, tmp_path):
    assert program.ask(f"record {tmp_path / 'own'}") == 0
    result = capture(kymo, tmp_path / "logs", program.address)
    assert result.returncode == 1
    assert f"FAILED_PRECONDITION: The program is being recorded already, to {tmp_path / 'own'}/" in result.stderr
    assert program.ask("unrecord") == 0 and program.left() == []
    assert any(e["name"] == "train" for e in kymo.document(tmp_path / "own")["trace_events"])
    session(capture(kymo, tmp_path / "logs", program.address, "--duration-ms", 10))


def test_options_of_gpus_are_refused_by_name(kymo, program, tmp_path):
    result = capture(kymo, tmp_path, program.address, "--options", "gpu_max_activity_api_events=5")
    assert result.returncode == 1 and "INVALID_ARGUMENT: " in result.stderr and "gpu_max_activity_api_events" in result.stderr


def test_a_program_that_ignores_its_children_is_captured(kymo, program, tmp_path):
    program.tell("ignore")
    session(capture(kymo, tmp_path, program.address, "--duration-ms", 10))


def test_without_the_program_kymo_the_client_is_told_and_a_variable_can_name_it(kymo, executable, tmp_path):
    libraries = tmp_path / "lib"
    libraries.mkdir()
    for name in ("libkymo-server.so.0", "libkymo.so.0"):
        shutil.copy(LIBRARY / name, libraries / name)
    alone = compile(tmp_path / "alone", PROGRAMS / "served.c", f"-L{LIBRARY}", f"-Wl,-rpath,{libraries}", "-lkymo-server", "-lkymo", "-pthread")
    results = []
    for named in ("", str(kymo.path)):
        program = Program(alone, tmp_path / "program", PATH=str(tmp_path), KYMO=named).serve()
        results.append(capture(kymo, tmp_path / "logs", program.address, "--duration-ms", 10))
        program.close()
    assert results[0].returncode == 1 and "cannot run the program kymo: No such file" in results[0].stderr
    assert results[1].returncode == 0, results[1].stderr


def test_the_client_is_told_the_last_that_the_program_kymo_said(kymo, executable, tmp_path):
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\nseq 10000 >&2\necho 'ERRO[0000] a hint' >&2\necho 'FATA[0000] the reason' >&2\nexit 1\n")
    failing.chmod(0o755)
    program = Program(executable, tmp_path / "program", KYMO=str(failing)).serve()
    result = capture(kymo, tmp_path / "logs", program.address, "--duration-ms", 10)
    program.close()
    assert result.returncode == 1 and "The profile cannot be made: the reason." in result.stderr


# ---- A guest in the program ---------------------------------------------------------------------


def sockets(pid):
    """The inodes of a process's sockets; it may close files meanwhile."""
    inodes = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            target = os.readlink(fd)
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    return inodes


def listening(pid):
    """The addresses at which a process listens."""
    inodes = sockets(pid)
    found = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                found.add(words[1].split(":")[0])
    return found


def test_it_listens_on_loopback_unless_told_otherwise(program):
    assert listening(program.pid) <= {"0100007F", "00000000000000000000000001000000"}
    assert "0100007F" in listening(program.pid)
    assert program.ask("unserve") == 0
    program.serve("serve 127.0.0.2")
    assert listening(program.pid) == {"0200007F"}


def test_serving_ends_and_begins_again(kymo, program, tmp_path):
    assert program.ask("serve") == -114  # EALREADY
    assert program.ask("unserve") == 0 and program.ask("unserve") == -114
    assert listening(program.pid) == set()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", program.port), timeout=5)
    program.serve(f"port {program.port}")
    session(capture(kymo, tmp_path, program.address, "--duration-ms", 10))


def test_ports_and_hosts_that_cannot_be_had_are_errors(program, executable, tmp_path):
    other = Program(executable, tmp_path / "other")
    assert other.ask(f"port {program.port}") == -98  # EADDRINUSE
    assert other.ask("port 65536") == -22
    assert other.ask("serve 203.0.113.77") == -99  # EADDRNOTAVAIL
    assert other.ask("serve no-such-host.invalid") == -99
    assert other.lives()
    other.close()


def test_serving_ends_in_the_middle_of_a_capture(program):
    client = http2.Client(program.port)
    client.call("Profile", profile_request(duration_ms=60000))
    wait_for(lambda: program.left() != [])
    assert program.ask("unserve") == 0
    assert client.is_closed() and program.left() == []
    assert program.lives()


def test_a_program_that_exits_leaves_nothing_behind(program):
    client = http2.Client(program.port)
    client.call("Profile", profile_request(duration_ms=60000))
    wait_for(lambda: program.left() != [])
    program.tell("exit")
    assert program.process.wait(timeout=20) == 0
    assert program.left() == []


def test_its_threads_block_all_signals(program):
    client = http2.Client(program.port)
    client.call("Profile", profile_request(duration_ms=60000))
    wait_for(lambda: program.left() != [])
    masks = {}
    for task in pathlib.Path(f"/proc/{program.pid}/task").iterdir():
        status = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        masks[status["Name"]] = int(status["SigBlk"], 16)
    wanted = sum(1 << (n - 1) for n in range(1, 65) if n not in (signal.SIGKILL, signal.SIGSTOP, 32, 33))
    for name in ("kymo-server", "kymo-capture"):
        assert masks[name] & wanted == wanted


def test_children_inherit_no_descriptor(program, tmp_path):
    client = http2.Client(program.port)
    client.call("Profile", profile_request(duration_ms=60000))
    wait_for(lambda: program.left() != [])
    assert program.ask(f"run ls -l /proc/self/fd > {tmp_path}/list") == 0
    assert "socket" not in (tmp_path / "list").read_text() and "eventfd" not in (tmp_path / "list").read_text()


def test_a_child_of_fork_neither_serves_nor_records(kymo, program, tmp_path):
    client = http2.Client(program.port)
    client.call("Profile", profile_request(duration_ms=60000))
    wait_for(lambda: program.left() != [])
    time.sleep(0.1)
    child = program.ask("fork")
    wait_for(lambda: not sockets(child))
    time.sleep(0.5)
    client.close()
    wait_for(lambda: program.left() == [])
    session(capture(kymo, tmp_path, program.address, "--duration-ms", 10))
    assert program.left() == []
    program.process.kill()
    program.process.wait()
    assert pathlib.Path(f"/proc/{child}").exists()
    socket.create_server(("127.0.0.1", program.port)).close()  # the port is free
    os.kill(child, signal.SIGKILL)


# ---- Clients that mean no good ------------------------------------------------------------------


def harmless(kymo, program, tmp_path):
    assert program.lives() and program.left() == []
    session(capture(kymo, tmp_path, program.address, "--duration-ms", 10))


def raw(program, data):
    client = socket.create_connection(("127.0.0.1", program.port), timeout=20)
    client.sendall(data)
    return client


def closed(client):
    return http2.Client.is_closed(type("Raw", (), {"socket": client})())


@pytest.mark.parametrize("data", [
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
    bytes(range(256)) * 100,
    http2.PREFACE + b"\xff" * 1000,
    http2.PREFACE + http2.frame(http2.DATA, 0, 1, b"x"),
    http2.PREFACE + http2.frame(http2.SETTINGS, 0, 0, b"x"),
    http2.PREFACE + http2.frame(http2.SETTINGS, 0, 0) + http2.frame(http2.HEADERS, 4, 2, b"\x82"),
    http2.PREFACE + http2.frame(http2.SETTINGS, 0, 0) + http2.frame(http2.HEADERS, 4, 1, b"\xff\xff\xff\xff\xff\xff"),
    http2.PREFACE + http2.frame(http2.SETTINGS, 0, 0) + http2.frame(http2.WINDOW, 0, 0, bytes(4)),
    http2.PREFACE + http2.frame(http2.SETTINGS, 0, 0) + b"\xff\xff\xff\0\0\0\0\0\1",
], ids=range(10))  # fmt: skip
def test_what_is_not_http2_is_refused(kymo, program, tmp_path, data):
    assert closed(raw(program, data))
    harmless(kymo, program, tmp_path)


@pytest.mark.parametrize("body", [
    b"", b"\0\0\0", http2.message(b"\xff\xff"), http2.message(http2.field(6, "x" * 300)), http2.message(b"abc", flag=1),
    http2.message(http2.field(4, b"\x12")), b"\0\xff\xff\xff\xffabc", http2.message(http2.field(4, http2.field(12, b"\x0a\xff"))),
], ids=range(8))  # fmt: skip
@pytest.mark.parametrize("method", ["Profile", "Terminate", "Monitor", "Nothing"])
def test_requests_that_are_none_get_a_status(kymo, program, tmp_path, method, body):
    client = http2.Client(program.port)
    client.begin(method)
    client.send(http2.frame(http2.DATA, http2.END_STREAM, 1, body))
    answer = client.answer()
    if method == "Profile" or method == "Nothing" or body[:1] != b"\0" or len(body) < 5 or body[1:2] == b"\xff" or body[5:] == b"\xff\xff":
        assert answer is None
    client.call("Terminate", b"", stream=3)  # the connection goes on
    assert client.answer(3) == b""
    if method == "Profile":
        harmless(kymo, program, tmp_path)


def test_requests_that_are_not_grpc_are_refused(program):
    client = http2.Client(program.port)
    client.begin("Profile", kind="text/plain", flags=http2.END_HEADERS | http2.END_STREAM)
    assert client.answer() is None
    assert program.left() == []


def test_a_request_that_is_too_large_is_refused(kymo, program, tmp_path):
    client = http2.Client(program.port)
    client.begin("Profile")
    refused = False
    try:
        for _ in range(5 << 20 >> 14):
            client.send(http2.frame(http2.DATA, 0, 1, bytes(16384)))
            client.socket.settimeout(0.002)  # its windows are generous, but not to be overrun
            try:
                while True:
                    kind, flags, stream, _ = http2.read_frame(client.socket)
                    refused |= stream == 1 and kind in (http2.HEADERS, http2.RESET)
            except TimeoutError:
                client.socket.settimeout(30)
    except (EOFError, ConnectionError):
        refused = True  # it may have closed the connection before the answer was read
    assert refused
    harmless(kymo, program, tmp_path)


def test_many_connections_do_no_harm(kymo, program, tmp_path):
    clients = []
    for i in range(200):
        try:
            clients.append(raw(program, http2.PREFACE if i % 2 else b""))
        except OSError:
            pass
    assert len(os.listdir(f"/proc/{program.pid}/fd")) < 64
    harmless(kymo, program, tmp_path)


def test_monitors_leave_room_for_captures(kymo, program, tmp_path):
    """Eight at a time; more are refused, and a capture begins and ends all the same."""
    clients = [http2.Client(program.port) for _ in range(32)]
    answered = []
    for client in clients:
        client.call("Monitor", http2.field(1, 3600000))
        answered.append(client.sync() | client.sync())  # the answer to a ping may come before others
    assert answered == [set()] * 8 + [{1}] * 24
    capturing = http2.Client(program.port)
    capturing.call("Profile", profile_request(duration_ms=3600000, session_id="long"))
    wait_for(lambda: program.left() != [])
    more = [http2.Client(program.port) for _ in range(40)]
    more[-1].call("Terminate", http2.field(1, "long"))
    assert more[-1].answer() == b""
    assert b"train" in http2.fields(capturing.answer())[8][0]
    assert [client.is_open() for client in clients] == [True] * 8 + [False] * 24
    clients[0].close()
    streams = iter(range(3, 9999, 2))

    def is_monitored(stream):
        more[-1].call("Monitor", http2.field(1, 1), stream)
        return more[-1].answer(stream)

    wait_for(lambda: is_monitored(next(streams)))
    harmless(kymo, program, tmp_path)


def test_requests_without_end_leave_room_for_captures(kymo, program, tmp_path):
    clients = [http2.Client(program.port) for _ in range(32)]
    for client in clients:
        client.begin("Profile")
    for client in reversed(clients):
        client.sync()  # pings do not make a client younger
    assert profile(program.port)
    assert not clients[0].is_open() and clients[-1].is_open()
    harmless(kymo, program, tmp_path)


def test_large_requests_leave_room_for_small_ones(kymo, program, tmp_path):
    """All the memory for requests is taken, to the last byte."""
    clients = [http2.Client(program.port) for _ in range(12)]
    calls = itertools.product(range(1, 17, 2), clients)
    for size, _ in itertools.product([4 << 20 >> i for i in range(23)], range(4)):
        stream, client = next(calls)
        client.begin("Profile", stream)
        client.send_part(size, stream)
    assert profile(program.port)
    harmless(kymo, program, tmp_path)


def test_profiles_that_nobody_takes_are_few(kymo, program, tmp_path):
    clients = []
    for _ in range(10):
        clients.append(http2.Client(program.port, window=0))
        clients[-1].send(http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", 4, 0)))
        clients[-1].call("Profile", profile_request(duration_ms=1))
        while http2.read_frame(clients[-1].socket)[2] != 1:
            pass  # until the head of the answer
    assert [client.is_open() for client in clients] == [False] * 2 + [True] * 8
    harmless(kymo, program, tmp_path)


@pytest.mark.parametrize("flood", [
    http2.frame(http2.PING, 0, 0, bytes(8)), http2.frame(http2.SETTINGS, 0, 0), http2.frame(http2.DATA, 0, 0),
    http2.frame(9, 0, 1, bytes(100)), http2.frame(99, 0, 0, bytes(1000)),
], ids=["ping", "settings", "data", "continuation", "unknown"])  # fmt: skip
def test_floods_do_no_harm(kymo, program, tmp_path, flood):
    client = http2.Client(program.port)
    client.socket.settimeout(1)
    try:
        for _ in range(50):
            client.send(flood * 200)
    except OSError:
        pass
    memory = int(pathlib.Path(f"/proc/{program.pid}/statm").read_text().split()[1]) * 4096
    assert memory < 64 << 20
    harmless(kymo, program, tmp_path)


def test_streams_that_are_opened_and_reset_do_no_harm(kymo, program, tmp_path):
    client = http2.Client(program.port)
    try:
        for stream in range(1, 4001, 2):
            client.call("Profile", profile_request(duration_ms=60000), stream=stream)
            client.send(http2.frame(http2.RESET, 0, stream, struct.pack(">I", 8)))
    except OSError:
        pass
    wait_for(lambda: program.left() == [])
    harmless(kymo, program, tmp_path)


@pytest.mark.slow
def test_a_client_that_sends_nothing_is_dropped(kymo, program, tmp_path):
    client = raw(program, b"PRI * HT")
    client.settimeout(20)
    assert closed(client)
    harmless(kymo, program, tmp_path)


def test_a_client_that_does_not_read_holds_up_nobody(kymo, program, tmp_path):
    slow = http2.Client(program.port, window=0)
    slow.send(http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", 4, 0)))
    slow.call("Profile", profile_request(duration_ms=200))
    wait_for(lambda: program.left() != [], 20)  # it has begun
    wait_for(lambda: program.left() == [], 20)
    harmless(kymo, program, tmp_path)
    slow.close()
    assert program.lives()


# ---- From Python --------------------------------------------------------------------------------

PYTHON = """
import ctypes, sys, time
library = ctypes.CDLL(sys.argv[1])
START, STOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t), ctypes.CFUNCTYPE(None)
said = []
start = START(lambda data, size: said.append(ctypes.string_at(data, size)))
stop = STOP(lambda: said.append("stop"))
library.kymo_serve_hooks(start, stop)
print(library.kymo_serve(None, 0), flush=True)
while len(said) < 2:
    time.sleep(0.01)
print(said[0].hex(), said[1], flush=True)
sys.stdin.read()
print(library.kymo_serve_stop(), flush=True)
"""


def test_python_takes_part_by_ctypes(kymo, tmp_path):
    program = subprocess.Popen([sys.executable, "-c", PYTHON, LIBRARY / "libkymo-server.so"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
    port = int(program.stdout.readline())
    session(capture(kymo, tmp_path, f"localhost:{port}", "--duration-ms", 50, "--options", "python_tracer_level=1"))
    options, stop = program.stdout.readline().split()
    assert http2.fields(bytes.fromhex(options))[4] == [1] and stop == "stop"
    out, _ = program.communicate("", timeout=20)
    assert out == "0\n" and program.returncode == 0


def test_python_that_ends_in_the_middle_of_a_capture_ends_well(tmp_path):
    code = PYTHON.replace("while len(said) < 2:", "while len(said) < 1:").split("print(said[0]")[0] + "sys.exit(7)\n"
    program = subprocess.Popen([sys.executable, "-c", code, LIBRARY / "libkymo-server.so"], stdout=subprocess.PIPE, text=True,
                               env=os.environ | {"TMPDIR": str(tmp_path)})  # fmt: skip
    client = http2.Client(int(program.stdout.readline()))
    client.call("Profile", profile_request(duration_ms=60000))
    assert program.wait(timeout=30) == 7
    assert list(tmp_path.iterdir()) == []
