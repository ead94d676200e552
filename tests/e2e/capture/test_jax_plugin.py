"""Kymo inside jax.profiler: found by the entry point of the installed package, in a JAX that knows nothing of it otherwise."""

import re

import pytest

from installed import PACKAGE, PYTHON, clean_environment
from python_traces import host_lines, read, run, trace_of

OURS = "/host:CPU (Kymo)"

pytestmark = [
    pytest.mark.plain_build,
    pytest.mark.usefixtures("installed"),
]

TRACE = """
import sys, time
import jax
from kymo.profiler import TraceAnnotation

def busy(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(1000))

f = jax.jit(lambda x: (x @ x).sum())
x = jax.numpy.ones((300, 300))
with jax.profiler.trace(sys.argv[1]):
    for i in range(5):
        with TraceAnnotation("of kymo", i=i), jax.profiler.TraceAnnotation("of jax", i=i):
            f(x).block_until_ready()
            busy(0.04)
print(jax.devices(), jax.default_backend())
"""


@pytest.mark.slow
def test_a_session_has_what_both_record(kymo, tmp_path):
    logs, without = tmp_path / "logs", tmp_path / "without"
    assert run(TRACE, logs) == run(TRACE, without, KYMO_JAX_PLUGIN="0") == "[CpuDevice(id=0)] cpu\n"
    lines, added = host_lines(trace_of(logs)), host_lines(trace_of(logs), OURS)
    [ours] = [events for events in added.values() if any(name == "of kymo" for name, *_ in events)]
    [theirs] = [events for events in lines.values() if any(name == "of jax" for name, *_ in events)]
    pairs = zip([e for e in ours if e[0] == "of kymo"], [e for e in theirs if e[0] == "of jax"], strict=True)
    for number, (outer, inner) in enumerate(pairs):
        assert outer[3]["i"] == inner[3]["i"] == number
        assert outer[1] <= inner[1] + 1e5 and inner[2] <= outer[2] + 1e5  # one clock, to 0.1 ms
    # Stacks: samples are in busy(), where the time goes; on a busy machine there are few.
    [samples] = [events for (_, name), events in added.items() if name.startswith("samples of MainThread")]
    assert sum(end - start for name, start, end, _ in samples if name.endswith(" busy")) > 0.02e9
    # The rest is what JAX writes without Kymo.
    assert {"/host:CPU", "/host:metadata", "Task Environment"} <= {plane.name for plane in read(trace_of(without)).planes}
    assert not host_lines(trace_of(without), OURS)
    document = kymo.ok("view", trace_of(logs), "--output-format", "json")
    assert '"of kymo"' in document and '"of jax"' in document


@pytest.mark.slow
def test_of_a_program_that_is_recorded_otherwise_the_session_has_what_jax_records(kymo, tmp_path):
    result = kymo.run("inspect", "-o", tmp_path / "session", PYTHON, "-c", TRACE, tmp_path / "logs",
                      env=clean_environment(JAX_PLATFORMS="cpu"))
    assert result.returncode == 0, result.stderr
    trace = trace_of(tmp_path / "logs")
    assert "of jax" in {name for events in host_lines(trace).values() for name, *_ in events} and not host_lines(trace, OURS)
    assert "of kymo" in kymo.ok("view", tmp_path / "session", "--output-format", "json")


@pytest.mark.slow
def test_sessions_follow_one_another_and_leave_nothing_behind(tmp_path):
    (tmp_path / "tmp").mkdir()
    program = TRACE.replace("with jax.profiler.trace(sys.argv[1]):", "for n in range(3):\n  with jax.profiler.trace(f'{sys.argv[1]}/{n}'):")
    program = re.sub(r"^    (?=for i|    )", r"      ", program, flags=re.M).replace("busy(0.04)", "busy(0.01)")
    run(program, tmp_path / "logs", TMPDIR=str(tmp_path / "tmp"))
    for number in range(3):
        trace = trace_of(tmp_path / "logs" / str(number))
        names = [name for plane in ("/host:CPU", OURS) for events in host_lines(trace, plane).values() for name, *_ in events]
        assert names.count("of kymo") == names.count("of jax") == 5
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.slow
def test_without_the_program_the_session_has_what_jax_records(tmp_path):
    """The library finds no program that makes a profile: JAX logs the error and writes its own planes."""
    libraries = tmp_path / "lib"
    libraries.mkdir()
    for library in ("libkymo-server.so", "libkymo.so.0"):
        (libraries / library).write_bytes((PACKAGE / "kymo" / "lib" / library).read_bytes())
    run(TRACE, tmp_path / "logs", KYMO_LIBRARY_DIR=str(libraries), PATH="/nowhere", KYMO="")
    trace = trace_of(tmp_path / "logs")
    assert "of jax" in {name for events in host_lines(trace).values() for name, *_ in events} and not host_lines(trace, OURS)


@pytest.mark.slow
def test_it_takes_little_time_to_register():
    program = """
import time
import jax, jaxlib.xla_client, jaxlib._profiler
started = time.process_time()
import kymo.jax_plugin
kymo.jax_plugin.initialize()
print(time.process_time() - started)
"""
    assert any(float(run(program)) < 0.005 for _ in range(3))  # the first, unless the machine is busy
