"""The guide "Profiling JAX computations with XProf": its listings in its order, with JAX's own profiler and with Kymo's in its place."""

import collections
import json
import pathlib
import platform
import re
import socket
import subprocess
import time

import pytest

from conftest import Kymo
from installed import PYTHON
from python_traces import MODULES, environment, host_lines, read, run, run_traced, trace_of
from server import Server
from test_xprof_server import PREFIX, XProf, events_of

pytestmark = [
    pytest.mark.plain_build,
    pytest.mark.usefixtures("installed"),
]

# The operations to be profiled; the guide's have 5000 rows.
MATMUL = """
key = jax.random.key(0)
x = jax.random.normal(key, (500, 500))
y = x @ x
y.block_until_ready()
"""
OPTIONS = """
options = profiler.ProfileOptions()
options.python_tracer_level = 0
options.host_tracer_level = 0
profiler.start_trace(logs, profiler_options=options)
"""
TPU_OPTIONS = """
options = profiler.ProfileOptions()
options.advanced_configuration = {"tpu_trace_mode" : "TRACE_ONLY_HOST", "tpu_num_sparse_cores_to_trace" : 2}
profiler.start_trace(logs, profiler_options=options)
"""
# Events that come when a thread has to wait, or when Python has let go of something: their number differs from run to run.
BY_CHANCE = re.compile(r"thread_?pool|wait|CollectGarbage", re.IGNORECASE)


def xla_events(path):
    """How often XLA's own events are there, by name; those of Python's functions are compared elsewhere."""
    return collections.Counter(name for events in host_lines(path).values() for name, *_ in events
                               if not name.startswith("$") and not BY_CHANCE.search(name))


def gives_the_same_with_both(kymo, place, listing):
    """Runs a listing with both modules; the number of events with Kymo's."""
    found = {}
    for module in MODULES:
        logs = place / module
        run_traced(module, listing, logs)
        path = trace_of(logs)
        assert path.name == socket.gethostname() + ".xplane.pb"
        assert re.fullmatch(r"\d{4}(_\d\d){5}", path.parent.name)
        data = read(path)
        planes = {plane.name for plane in data.planes}
        found[module] = xla_events(path), {"Task Environment", "/host:metadata"} & planes
        kymo.ok("view", logs, "--output-format", "summary-text")
    (theirs, their_planes), (ours, our_planes) = found["jax.profiler"], found["kymo.profiler"]
    calls = [{name: count for name, count in events.items() if name.startswith("PjitFunction")} for events in (theirs, ours)]
    assert calls[0] == calls[1] and their_planes == our_planes
    for some, others in ((theirs, ours), (ours, theirs)):  # how often passes of the compiler run differs, too
        assert {name for name, count in some.items() if count >= 3} <= set(others)
    assert {path.name for path in (place / "kymo.profiler").iterdir()} == {"plugins"}, "nothing else is left"
    return ours.total()


@pytest.fixture(scope="module")
def profile_data(tmp_path_factory):
    """The log directory: the guide's /tmp/profile-data."""
    return tmp_path_factory.mktemp("guide") / "profile-data"


@pytest.fixture(scope="module")
def first_run(profile_data):
    """A program with the guide's custom events, in the log directory."""
    run_traced("kymo.profiler", """
        @profiler.annotate_function
        def compute(x):
            with profiler.TraceAnnotation("my matmul", size=500):
                return (x @ x).block_until_ready()

        with profiler.trace(logs):
            key = jax.random.key(0)
            compute(jax.random.normal(key, (500, 500)))
    """, profile_data)
    return trace_of(profile_data).parent.name


@pytest.fixture(scope="module")
def xprof(kymo, profile_data, first_run):
    """xprof --logdir /tmp/profile-data/"""
    program = profile_data.with_name("xprof")
    program.symlink_to(pathlib.Path(kymo.path).resolve())
    server = Server(Kymo(program), f"{profile_data}/", "--data-path", profile_data.with_name("data"), command="--logdir", ports=("--port=0",))
    yield server
    server.stop()


@pytest.mark.slow
@pytest.mark.parametrize("listing", ["profiler.start_trace(logs)\n" + MATMUL + "profiler.stop_trace()\n",
                                     "with profiler.trace(logs):" + MATMUL.replace("\n", "\n  ").rstrip() + "\n"],
                         ids=["start_trace", "trace"])
def test_programmatic_capture(kymo, tmp_path, listing):
    assert gives_the_same_with_both(kymo, tmp_path, listing) > 300


def test_viewing_the_trace(xprof, profile_data, first_run):
    assert xprof.said == f"""Attempting to start XProf server:
  Log Directory: {profile_data}
  Port: {xprof.port}
  Worker Service Address: none (this program processes runs itself)
  Hide Capture Button: False
XProf at http://localhost:{xprof.port}/ (Press CTRL+C to quit)
"""
    assert xprof.ask("GET", "/").headers["Content-Type"].startswith("text/html")
    assert first_run in xprof.get("/runs"), "sessions"
    assert "trace_viewer@" in xprof.get("/run_tools", run=first_run), "tools"
    events = [name for events in events_of(xprof.get("/data", run=first_run, tag="trace_viewer@")).values() for name, *_ in events]
    assert any(name.startswith("PjitFunction") for name in events)


SERVING = """
import sys, threading
import jax, jax.profiler
from jax import numpy as jnp
jax.profiler.start_server(int(sys.argv[1]))
step = jax.jit(lambda x: x @ x)
x = jnp.ones((50, 50))
step(x).block_until_ready()
print("ready", flush=True)
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set())).start()
while not over.wait(0.002):
    step(x).block_until_ready()
jax.profiler.stop_server()
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def address():
    """Of a program with a profiler server: the guide's localhost:9999."""
    port = free_port()
    program = subprocess.Popen([PYTHON, "-c", SERVING, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())
    assert program.stdout.readline() == "ready\n"
    yield f"localhost:{port}"
    program.stdin.close()
    assert program.wait(60) == 0
    program.stdout.close()


def test_manual_capture_via_xprof(kymo, xprof, profile_data, address, tmp_path):
    assert "No such file or directory: create it first" in kymo.refuses("xprof", "--logdir", tmp_path / "typo")
    assert xprof.get("/config")["hideCaptureProfileButton"] is False
    # What XProf's page sends when CAPTURE is clicked; it ends when the run is there.
    before = set(xprof.get("/runs"))
    assert xprof.get(f"{PREFIX}/capture_profile", service_addr=address, duration=100, num_retry=3, worker_list="", is_tpu_name="false",
                     host_tracer_level=2, device_tracer_level=1, python_tracer_level=0, delay=0) == {
        "result": "Capture profile successfully. Please refresh."}
    (run,) = set(xprof.get("/runs")) - before
    (file,) = (profile_data / "plugins/profile" / run).iterdir()
    assert re.fullmatch(r"\d{4}(_\d\d){5}(_\d)?", run) and file.name.endswith(".xplane.pb")
    assert any(name.startswith("PjitFunction") for name in xla_events(file))
    # Kymo's own page: the run has the name of the profile, and is never replaced.
    assert xprof.get("captures") == {"allowed": True, "log_directory": str(profile_data)}
    body = {"name": "mine", "addresses": address, "duration_ms": 50}
    assert xprof.ask("POST", "captures", body).status == 201
    assert xprof.wait_for("mine", "ready", "failed")["reason"] is None
    assert [path.suffix for path in (profile_data / "plugins/profile/mine").iterdir()] == [".pb"]
    assert "already has a run 'mine'" in xprof.ask("POST", "captures", body | {"force": True}).error
    assert "may have letters" in xprof.ask("POST", "captures", body | {"name": "a b"}).error
    # What fails or is canceled leaves nothing.
    job = xprof.ask("POST", "captures", body | {"name": "canceled", "duration_ms": 600000}).json["id"]
    while not (profile_data / "plugins/profile/canceled").exists():
        time.sleep(0.02)
    assert xprof.ask("DELETE", f"uploads/{job}").status == 204
    while xprof.ask("GET", "profiles/canceled").status != 404:
        time.sleep(0.02)
    nobody = xprof.ask("GET", f"/capture_profile?service_addr=localhost:{free_port()}&duration=1&delay=1")
    assert nobody.status == 500 and "nothing was captured" in nobody.error
    assert "names of TPUs" in xprof.ask("GET", "/capture_profile?service_addr=tpu&is_tpu_name=true").error
    other_site = xprof.ask("GET", f"/capture_profile?service_addr={address}", headers={"Sec-Fetch-Site": "cross-site"})
    assert other_site.status == 403
    assert set(xprof.get("/runs")) == before | {run, "mine"} == {path.name for path in (profile_data / "plugins/profile").iterdir()}


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="XProf is published for x86-64 alone")
def test_xprof_and_tensorboard(xprof, profile_data):
    """TensorBoard's tab "Profile" is XProf's plug-in, which finds the captures of the test before."""
    theirs = XProf(profile_data)
    try:
        status, runs = theirs.ask("GET", "runs")
        assert status == 200 and json.loads(runs) == xprof.get("/runs")
        newest = sorted(set(json.loads(runs)) - {"mine"})[-1]
        assert "trace_viewer@" in json.loads(theirs.ask("GET", f"run_tools?run={newest}")[1])
        assert json.loads(theirs.ask("GET", f"hosts?run={newest}&tag=trace_viewer@")[1])
    finally:
        theirs.process.kill()
        theirs.process.wait()


def test_adding_custom_trace_events(xprof, first_run):
    events = [name for events in events_of(xprof.get("/data", run=first_run, tag="trace_viewer@")).values() for name, *_ in events]
    assert {"my matmul", "compute"} <= set(events)


@pytest.mark.slow
def test_configuring_profiler_options(kymo, tmp_path):
    assert gives_the_same_with_both(kymo, tmp_path, OPTIONS + MATMUL + "profiler.stop_trace()\n") <= 300, "no events of the host"


def test_general_options():
    """python_tracer_level is 1 by default, as in JAX itself; the guide says 0."""
    run("""
        options = profiler.ProfileOptions()
        assert (options.host_tracer_level, options.device_tracer_level, options.python_tracer_level) == (2, 1, 1)
        for name, values in {"host_tracer_level": range(4), "device_tracer_level": range(2), "python_tracer_level": range(2)}.items():
            for value in values:
                setattr(options, name, value)
    """, head="import kymo.profiler as profiler\n")


@pytest.mark.slow
def test_tpu_options(kymo, tmp_path):
    assert gives_the_same_with_both(kymo, tmp_path, TPU_OPTIONS + MATMUL + "profiler.stop_trace()\n") > 300


def test_gpu_options():
    run("""
        options = profiler.ProfileOptions()
        options.advanced_configuration = {
            "gpu_max_callback_api_events": 2*1024*1024, "gpu_max_activity_api_events": 2*1024*1024, "gpu_max_annotation_strings": 1024*1024,
            "gpu_enable_nvtx_tracking": False, "gpu_enable_cupti_activity_graph_trace": False,
            "gpu_pm_sample_counters": "sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "gpu_pm_sample_interval_us": 500,
            "gpu_pm_sample_buffer_size_per_gpu_mb": 4096, "gpu_num_chips_to_profile_per_task": -1, "gpu_dump_graph_node_mapping": False,
        }
        for wrong in ({"gpu_pm_sample_buffer_size_per_gpu_mb": 4097}, {"gpu_enable_nvtx": True}, {"tpu_trace_mode": "ALL"}):
            try:
                options.advanced_configuration = wrong
            except ValueError as problem:
                assert "INVALID_ARGUMENT" in str(problem)
            else:
                raise AssertionError(wrong)
    """, head="import kymo.profiler as profiler\n")
