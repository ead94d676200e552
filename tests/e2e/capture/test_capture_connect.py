"""kymo capture --connect: from real JAX programs, and from servers that do what servers should not."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

import http2
import xspace
from conftest import DATA, peak_memory

MATMUL = (DATA / "xplane" / "jax_matmul_h200.xplane.pb").read_bytes()

PROGRAM = """
import sys, time
import jax, jax.numpy as jnp
def socket_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
port = socket_port()
jax.profiler.start_server(port)
step = jax.jit(lambda x: jnp.sin(x) @ x)
x = jnp.ones((50, 50))
step(x).block_until_ready()
print(port, flush=True)
for i in range(10**9):
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        step(x).block_until_ready()
    time.sleep(0.002)
"""


@pytest.fixture(scope="module")
def jax_programs():
    """The ports of two programs that compute and serve a profiler."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NEURON_", "KYMO_"))} | {"JAX_PLATFORMS": "cpu"}
    programs = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    yield [int(program.stdout.readline()) for program in programs]
    for program in programs:
        program.kill()
        program.wait()


def capture(kymo, out, addresses, *arguments, **options):
    return kymo.run("capture", "--connect", addresses, "-o", out, *arguments, **options)


def session(result):
    assert result.returncode == 0, result.stderr
    return pathlib.Path(result.stdout.strip())


def planes(path):
    from jaxlib._profile_data import ProfileData

    return {plane.name: plane for plane in ProfileData.from_file(str(path)).planes}


def start_ns(path):
    """When a profile was begun, of the wall clock."""
    read = xspace.XSpace.FromString(path.read_bytes())
    (plane,) = (plane for plane in read.planes if plane.name == b"Task Environment")
    labels = {entry.key: entry.value.name for entry in plane.stat_metadata}
    return next(stat.uint64_value for stat in plane.stats if labels[stat.metadata_id] == b"profile_start_time")


def names(path):
    return [event.name for line in planes(path)["/host:CPU"].lines for event in line.events]


# ---- JAX ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_running_jax_program_is_captured(kymo, jax_programs, tmp_path):
    folder = session(capture(kymo, tmp_path / "logs", f"localhost:{jax_programs[0]}", "--duration-ms", 300))
    assert folder.parent == tmp_path / "logs" / "plugins" / "profile"
    (path,) = folder.iterdir()
    assert path.name == f"localhost_{jax_programs[0]}.xplane.pb"
    steps = names(path).count("train")
    assert steps > 5
    document = kymo.document(folder)
    assert [e["name"] for e in document["trace_events"]].count("train") == steps
    assert len(document["steps"]) == steps


@pytest.mark.slow
def test_levels_reach_the_program(kymo, jax_programs, tmp_path):
    address = f"127.0.0.1:{jax_programs[0]}"
    (python,) = session(capture(kymo, tmp_path, address, "--duration-ms", 200, "--options", "python_tracer_level=1")).iterdir()
    (nothing,) = session(capture(kymo, tmp_path, address, "--duration-ms", 200, "--options", "host_tracer_level=0,device_tracer_level=0")).iterdir()
    assert any(name.startswith("$") for name in names(python)) and "train" in names(python)
    assert "/host:CPU" not in planes(nothing) or "train" not in names(nothing)


@pytest.mark.slow
def test_several_hosts_begin_together_and_are_one_session(kymo, jax_programs, tmp_path):
    first, second = jax_programs
    result = capture(kymo, tmp_path, f"[::1]:{first},localhost:{second}", "--duration-ms", 400, "--options", "delay_ms=500,session_id=both")
    folder = session(result)
    assert folder.name == "both"
    paths = sorted(folder.iterdir())
    assert [path.name for path in paths] == sorted([f"__1_{first}.xplane.pb", f"localhost_{second}.xplane.pb"])
    starts = [start_ns(path) for path in paths]
    assert abs(starts[0] - starts[1]) < 0.2e9
    document = kymo.document(folder)
    assert [e["name"] for e in document["trace_events"]].count("train") == sum(names(path).count("train") for path in paths)
    assert document["start_epoch_ns"] <= min(starts)


@pytest.mark.slow
@pytest.mark.sanitized
def test_ctrl_c_ends_the_capture_and_keeps_it(kymo, jax_programs, tmp_path):
    process = subprocess.Popen([kymo.path, "capture", "--connect", f"localhost:{jax_programs[0]}", "--duration-ms", "60000", "-o", tmp_path],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    (path,) = pathlib.Path(out.strip()).iterdir()
    assert "train" in names(path)


@pytest.mark.slow
def test_a_client_that_is_killed_leaves_the_program_free(kymo, jax_programs, tmp_path):
    address = f"localhost:{jax_programs[1]}"
    process = subprocess.Popen([kymo.path, "capture", "--connect", address, "--duration-ms", "60000", "-o", tmp_path], stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    process.kill()
    process.wait()
    session(capture(kymo, tmp_path, address, "--duration-ms", 100))


@pytest.mark.slow
def test_what_answered_is_kept_when_a_host_fails(kymo, jax_programs, tmp_path):
    result = capture(kymo, tmp_path, f"localhost:{jax_programs[0]},localhost:1", "--duration-ms", 200, "--retries", 0, "--options", "delay_ms=100")
    assert result.returncode == 1
    (path,) = pathlib.Path(result.stdout.strip()).iterdir()
    assert "train" in names(path)
    assert "localhost:1: UNAVAILABLE: " in result.stderr and "1 of 2 hosts failed; the session has the other" in result.stderr


# ---- Options ------------------------------------------------------------------------------------


@pytest.mark.parametrize("words, said", [
    (["--connect", "localhost"], "'localhost' is not an address, such as host:9999 or [::1]:9999"),
    (["--connect", "localhost:0"], "'localhost:0' is not an address"),
    (["--connect", "localhost:65536"], "is not an address"),
    (["--connect", "localhost:80,"], "'' is not an address"),
    (["--connect", "::1:9999"], "IPv6 addresses are written in brackets"),
    (["--connect", "[::g]:9999"], "'::g' is not the name or address of a host"),
    (["--connect", "http://a:1"], "IPv6 addresses are written in brackets"),
    (["--connect", "a/b:1"], "'a/b' is not the name or address of a host"),
    (["--connect", "a:1,a:1"], "a:1 and a:1 have the same name, a_1"),
    (["--connect", "a:1", "--options", "host_tracer_levle=1"], "unknown option 'host_tracer_levle'; did you mean 'host_tracer_level'?"),
    (["--connect", "a:1", "--options", "gpu_max_activity_api_event=1"], "did you mean 'gpu_max_activity_api_events'?"),
    (["--connect", "a:1", "--options", "gpu_max_activity_api_events=many"], "gpu_max_activity_api_events: 'many' is not a number"),
    (["--connect", "a:1", "--options", "gpu_enable_nvtx_tracking=maybe"], "'maybe' is neither true nor false"),
    (["--connect", "a:1", "--options", "gpu_detail=graph"], "gpu_detail is set when the program is started: kymo inspect --gpu-detail"),
    (["--connect", "a:1", "--options", "host_tracer_level=4"], "4 is not between 0 and 3"),
    (["--connect", "a:1", "--options", "host_tracer_level"], "'host_tracer_level' is not KEY=VALUE"),
    (["--connect", "a:1", "--options", "session_id=../x"], "session_id: '../x' may have"),
    (["--connect", "a:1", "--options", "override_hostnames=x,y"], "override_hostnames has 2 names for 1 address"),
    (["--connect", "a:1", "--duration-ms", "0"], "--duration-ms must be"),
    (["--connect", "a:1", "--timeout", "1"], "--timeout must be longer than --duration-ms"),
    (["--connect", "a:1", "-n", "x.neff"], "--neff cannot be used with --connect"),
    (["--connect", "a:1", "--save-output"], "--save-output cannot be used with --connect"),
    (["--connect", "a:1", "input", "x.npy"], "--connect takes no inputs"),
    (["--duration-ms", "5"], "--duration-ms requires --connect"),
    (["--options", "delay_ms=5"], "--options requires --connect"),
])  # fmt: skip
def test_wrong_options_are_refused(kymo, tmp_path, words, said):
    result = kymo.run("capture", *words, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert said in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_request_says_what_was_set(kymo, tmp_path):
    service = http2.Service(http2.reply(http2.profile(MATMUL)))
    before = time.time_ns()
    session(capture(kymo, tmp_path, f"localhost:{service.port}", "--duration-ms", 250, "--options",
                    "host_tracer_level=1,gpu_pm_sample_counters=a,b,gpu_max_activity_api_events=5", "--options",
                    "delay_ms=400,tpu_trace_mode=TRACE_COMPUTE,gpu_enable_nvtx_tracking=true,override_hostnames=w0"))  # fmt: skip
    (request,) = service.requests
    options = http2.fields(request[4][0])
    assert request[1] == options[9] == [250] and request[9] == [1]
    assert request[5] == [str(tmp_path / "plugins" / "profile").encode()]
    assert request[7] == [b"w0"]
    assert (options[2], options[5], options[13]) == ([1], [1], [1])
    assert 0.3e9 < options[8][0] - before < 3e9
    entries = {e[1][0].decode(): http2.fields(e[2][0]) for e in map(http2.fields, options[12])}
    assert entries == {"gpu_pm_sample_counters": {1: [b"a,b"]}, "gpu_max_activity_api_events": {3: [5]},
                       "tpu_trace_mode": {1: [b"TRACE_COMPUTE"]}, "gpu_enable_nvtx_tracking": {2: [1]}}  # fmt: skip
    assert [path.name for path in tmp_path.glob("plugins/profile/*/*")] == ["w0.xplane.pb"]


# ---- Other servers ------------------------------------------------------------------------------


def try_answer(kymo, tmp_path, answer, *arguments):
    service = http2.Service(answer)
    result = capture(kymo, tmp_path, f"127.0.0.1:{service.port}", "--duration-ms", 1, *arguments)
    service.close()
    return result, service


def fails(kymo, tmp_path, answer, *arguments):
    result, _ = try_answer(kymo, tmp_path, answer, "--retries", 0, *arguments)
    assert result.returncode == 1 and result.stdout == ""
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    return result.stderr


@pytest.mark.parametrize("seed", range(8))
def test_an_answer_may_come_in_any_pieces(kymo, tmp_path, seed):
    dice = random.Random(seed)
    data = MATMUL[: dice.randrange(1, 30000)]
    parts = [data[: len(data) // 3], data[len(data) // 3 :]] if seed % 2 else [data]
    body = b"".join([http2.field(6, b"\x0a\x01x"), http2.field(15, 7), b"\x79" + bytes(8)] + [http2.field(8, part) for part in parts])
    body = http2.message(body + http2.field(7, 0))
    frames, at = [http2.OK_HEADERS], 0
    while at < len(body):
        size = dice.choice([1, 2, 3, 1000, 16384])
        frames.append(http2.frame(http2.DATA, 0, 1, body[at : at + size]))
        at += size
    result, _ = try_answer(kymo, tmp_path, http2.reply(*frames, http2.trailers()))
    (path,) = session(result).iterdir()
    assert path.read_bytes() == data


@pytest.mark.parametrize("answer, said", [
    (http2.failure(9, "no%20way%0a%41"), "FAILED_PRECONDITION: no way A"),
    (http2.failure(13, "broken"), "INTERNAL: broken"),
    (http2.failure(99, "x"), "unknown status: x"),
    (http2.OK_HEADERS + http2.frame(http2.DATA, 0, 1, http2.message(http2.field(8, b"abc"))[:-1]) + http2.trailers(), "the answer ends early"),
    (http2.OK_HEADERS + http2.trailers(), "the answer ends early"),
    (http2.OK_HEADERS + http2.frame(http2.DATA, 0, 1, http2.message(http2.field(8, b"abc")) + b"x") + http2.trailers(), "the answer is longer than it says"),
    (http2.profile(b"abc", flag=1), "the answer is compressed"),
    (http2.profile(b""), "the profile is empty"),
    (http2.OK_HEADERS + http2.frame(http2.DATA, 0, 1, http2.message(http2.field(7, 1))) + http2.trailers(), "the profile is empty"),
    (http2.OK_HEADERS + http2.frame(http2.DATA, 0, 1, http2.message(b"\x42\xff\x01a")) + http2.trailers(), "a field longer than itself"),
    (http2.OK_HEADERS + http2.frame(http2.DATA, 0, 1, http2.message(b"\xff" * 12)) + http2.trailers(), "a number longer than 64 bits"),
    (http2.OK_HEADERS + http2.frame(http2.DATA, 0, 1, http2.message(b"\x47\x01")) + http2.trailers(), "not a ProfileResponse"),
    (http2.OK_HEADERS + http2.frame(http2.DATA, http2.END_STREAM, 1, http2.message(http2.field(8, b"a"))), "without a status"),
    (http2.frame(http2.HEADERS, 5, 1, http2.headers((":status", "404"))), "HTTP status 404"),
    (http2.OK_HEADERS + http2.frame(http2.RESET, 0, 1, b"\0\0\0\2"), "UNKNOWN: "),
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", "UNKNOWN: "),
    (b"\xff" * 100, "UNKNOWN: "),
])  # fmt: skip
def test_answers_that_are_none_are_refused(kymo, tmp_path, answer, said):
    assert said in fails(kymo, tmp_path, http2.reply(answer))


def test_a_connection_that_breaks_leaves_no_file(kymo, tmp_path):
    def answer(service, connection, number):
        connection.sendall(http2.OK_HEADERS + http2.frame(http2.DATA, 0, 1, http2.message(http2.field(8, MATMUL[:20000]))[:10000]))
        time.sleep(0.2)

    assert "UNKNOWN: " in fails(kymo, tmp_path, answer)


def test_an_older_server_that_wrote_the_profile_itself_is_said(kymo, tmp_path):
    said = fails(kymo, tmp_path, http2.reply(http2.OK_HEADERS + http2.frame(http2.DATA, 0, 1, http2.message(b"")) + http2.trailers()))
    assert "the server did not send the profile, as servers before jaxlib 0.7.2 do not" in said
    assert "on its own side" in said


def test_what_an_older_server_wrote_to_a_shared_directory_is_taken(kymo, tmp_path):
    def answer(service, connection, number):
        request = service.requests[-1]
        folder = pathlib.Path(request[5][0].decode()) / request[6][0].decode()
        (folder / f"{request[7][0].decode()}.xplane.pb").write_bytes(MATMUL)
        http2.reply(http2.OK_HEADERS + http2.frame(http2.DATA, 0, 1, http2.message(b"")) + http2.trailers())(service, connection, number)

    result, _ = try_answer(kymo, tmp_path, answer)
    (path,) = session(result).iterdir()
    assert path.read_bytes() == MATMUL and "written by the server itself" in result.stderr


@pytest.mark.parametrize("status, text", [(14, "later"), (6, "busy"), (13, "Another profiling session active.")])
def test_busy_servers_are_tried_again(kymo, tmp_path, status, text):
    def answer(service, connection, number):
        http2.reply(http2.failure(status, text) if number == 1 else http2.profile(MATMUL))(service, connection, number)

    result, service = try_answer(kymo, tmp_path, answer)
    assert result.returncode == 0 and len(service.requests) == 2
    (path,) = session(result).iterdir()
    assert path.read_bytes() == MATMUL


def test_errors_are_not_tried_again(kymo, tmp_path):
    result, service = try_answer(kymo, tmp_path, http2.reply(http2.failure(13, "broken")))
    assert result.returncode == 1 and len(service.requests) == 1
    assert result.stderr.count("broken") == 1


def test_when_all_hosts_fail_each_reason_is_said_once(kymo, tmp_path):
    result = capture(kymo, tmp_path, "localhost:1,127.0.0.1:1", "--duration-ms", 100, "--retries", 0, "--options", "delay_ms=100")
    *reasons, last = [line.partition("] ")[2] for line in result.stderr.splitlines() if "INFO" not in line]
    assert [line.split(": ")[:2] for line in reasons] == [[host, "UNAVAILABLE"] for host in ("localhost:1", "127.0.0.1:1")]
    assert last == "nothing was captured: all 2 hosts failed"


@pytest.mark.slow
def test_a_server_that_never_answers_is_given_up(kymo, tmp_path):
    begun = time.monotonic()
    said = fails(kymo, tmp_path, lambda service, connection, number: time.sleep(120), "--timeout", 1)
    assert "imed out" in said and time.monotonic() - begun < 60


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_capture_that_is_ended_leaves_no_parts_of_files(kymo, tmp_path, number):
    def answer(service, connection, count):
        connection.sendall(http2.OK_HEADERS + http2.frame(http2.DATA, 0, 1, http2.message(http2.field(8, MATMUL[:16000]))[:10000]))
        http2.finish(connection)

    services = [http2.Service(answer) for _ in range(12)]
    process = subprocess.Popen([kymo.path, "capture", "--connect", ",".join(f"127.0.0.1:{service.port}" for service in services), "-o", tmp_path],
                               stderr=subprocess.DEVNULL)  # fmt: skip
    until = time.monotonic() + 120
    while not all(service.requests for service in services):
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(timeout=120) != 0
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
@pytest.mark.plain_build
def test_a_large_answer_takes_little_memory(kymo, tmp_path):
    chunk, count = bytes(16384), 16 * 1024  # 256 MB

    def answer(service, connection, number):
        size = len(chunk) * count
        start = http2.varint(8 << 3 | 2) + http2.varint(size)
        connection.sendall(http2.OK_HEADERS + http2.frame(http2.DATA, 0, 1, b"\0" + (size + len(start)).to_bytes(4, "big") + start))
        service.window[0] -= 5 + len(start)
        service.window[1] -= 5 + len(start)
        service.send_large(connection, chunk, count)
        http2.reply(http2.trailers())(service, connection, number)

    service = http2.Service(answer)
    out, memory = peak_memory([kymo.path, "capture", "--connect", f"localhost:{service.port}", "-o", tmp_path], stderr=subprocess.DEVNULL)
    (path,) = pathlib.Path(out.decode().strip()).iterdir()
    assert path.stat().st_size == len(chunk) * count
    assert memory < 64 << 20


def test_many_hosts_at_once(kymo, tmp_path):
    services = [http2.Service(http2.reply(http2.profile(MATMUL[: 5000 + i]))) for i in range(40)]
    addresses = ",".join(f"127.0.0.1:{service.port}" for service in services)
    folder = session(capture(kymo, tmp_path, addresses, "--duration-ms", 1, "--options", "delay_ms=1"))
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert sizes == {f"127.0.0.1_{service.port}.xplane.pb": 5000 + i for i, service in enumerate(services)}
