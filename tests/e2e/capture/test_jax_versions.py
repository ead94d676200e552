"""The package with other versions of JAX than that of the tests: one program, all that it and JAX record together.

`make test` tries the oldest that is supported; scripts/jax_versions.sh installs and tries all.
"""

import os
import pathlib
import re

import pytest

from conftest import ROOT
from python_traces import host_lines, nesting, read, run, trace_of

OLDEST, *LATER = (ROOT / "tests" / "jax-versions.txt").read_text().split()
CHOSEN = os.environ.get("KYMO_JAX_VERSIONS", OLDEST).split()
FOLDER = pathlib.Path(os.environ.get("KYMO_JAX_FOLDER", ROOT / ".tools"))
pytestmark = [pytest.mark.plain_build, pytest.mark.usefixtures("installed")]

PROGRAM = """
import subprocess, sys, threading
import jax
import kymo.profiler as profiler
logs, kymo = sys.argv[1:]

@jax.jit
def f(x):
    return (x @ x).sum()

def train(step):
    with profiler.StepTraceAnnotation("train", step_num=step), profiler.TraceAnnotation("compute", kind="dense"):
        f(x).block_until_ready()

x = jax.numpy.ones((50, 50))
f(x).block_until_ready()
with profiler.trace(logs + "/kymo"):
    train(7)
theirs = getattr(jax.profiler, "ProfileOptions", profiler.ProfileOptions)()
theirs.python_tracer_level = 0
with profiler.trace(logs + "/options", profiler_options=theirs):
    train(8)

port = profiler.start_server(0).port
is_over = False
def work_on():
    while not is_over:
        train(0)
thread = threading.Thread(target=work_on, daemon=True)
thread.start()
subprocess.run([kymo, "capture", "--connect", f"localhost:{port}", "--duration-ms", "300", "-o", logs + "/server"],
               check=True, capture_output=True)
is_over = True
thread.join()
profiler.stop_server()

with jax.profiler.trace(logs + "/jax"):
    for step in range(20):
        train(step)
print(jax.__version__, jax.devices())
"""


def inside(path, plane="/host:CPU"):
    """Names and depths on the thread of the steps, and args by name."""
    [events] = [events for events in host_lines(path, plane).values() if any(event[0] == "train" for event in events)]
    return nesting(events, {"train", "compute", "PjitFunction(f)"}), {name: args for name, _, _, args in events}


@pytest.mark.slow
@pytest.mark.parametrize("version", CHOSEN)
def test_sessions_have_what_jax_and_kymo_record(kymo, tmp_path, version):
    python = FOLDER / f"jax-{version}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"JAX {version} is not installed; `make test-setup` does it for a Python that JAX {OLDEST} has")
    said = run(PROGRAM, tmp_path, kymo.path, python=python, code=None)
    assert said.startswith(f"{version} [CpuDevice(id=0)]\n") and "kymo" not in said.lower(), "no warning"
    for session in ("kymo", "options", "server"):
        path = trace_of(tmp_path / session)
        nested, args = inside(path)
        begin = nested.index((0, "train"))
        assert nested[begin:begin + 3] == [(0, "train"), (1, "compute"), (2, "PjitFunction(f)")], session
        assert args["compute"]["kind"] == "dense" and args["train"]["step_num"] == {"kymo": 7, "options": 8, "server": 0}[session]
        assert any(name.startswith("$") and name.endswith(" train") for name in args) == (session == "kymo"), "Python's functions"
        names = {name for events in host_lines(path).values() for name, *_ in events}
        assert {name for name in names if "Execute" in name}, "XLA's events"
        assert {"/host:metadata", "Task Environment"} <= {plane.name for plane in read(path).planes}, "programs"
    nested, _ = inside(trace_of(tmp_path / "jax"), "/host:CPU (Kymo)")
    assert [name for _, name in nested] == ["train", "compute"] * 20


STAND_IN = """
import sys, types, warnings
class Options:
    host_tracer_level = python_tracer_level = 0
profiler = types.ModuleType("jaxlib._profiler")
profiler.ProfileOptions, profiler.ProfilerSession = Options, lambda options: started.append(options)
jaxlib = types.ModuleType("jaxlib")
jaxlib._profiler, jaxlib.__version__ = profiler, "0.4.30"
device = types.SimpleNamespace(platform="gpu", client=types.SimpleNamespace(platform="gpu", platform_version="12"))
jax = types.SimpleNamespace(devices=lambda: [device], __version__="0.4.30")
sys.modules.update({"jax": jax, "jaxlib": jaxlib, "jaxlib._profiler": profiler})
started = []
from kymo import _jax
from kymo.profiler import ProfileOptions
options = ProfileOptions()
"""


@pytest.mark.parametrize("setting, with_gpu, sessions, said", [
    ("", True, 1, ""),
    ("device_tracer_level = 0", False, 1, ""),
    ("", False, 0, "JAX 0.4.30 cannot leave GPUs to Kymo"),
    ("advanced_configuration = {'tpu_trace_mode': 'TRACE_ONLY_HOST'}", True, 1, "its profiler runs without tpu_trace_mode"),
])
def test_what_jax_without_advanced_configuration_cannot_do_is_said(setting, with_gpu, sessions, said):
    """Two profilers must not use CUPTI, and options must not be lost in silence."""
    output = run(f"""
        {setting and "options." + setting}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _jax.start(options, with_gpu={with_gpu})
        print(len(started), *(warning.message for warning in caught))
    """, head=STAND_IN)
    count, _, warning = output.strip().partition(" ")
    assert int(count) == sessions and said in warning and bool(said) == bool(warning)


def test_the_guide_names_each_version_that_is_tested():
    [named] = re.findall(r"^Tested with JAX (.+?)\.(?= |$)", (ROOT / "docs" / "python.md").read_text(), re.M)
    assert re.split(", | and ", named) == [OLDEST, *LATER]
