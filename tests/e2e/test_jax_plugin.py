"""Kymo inside jax.profiler: plain jax.profiler.trace has Kymo's planes, on JAX's clock, and nothing else changes."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT
from python_recorder import PACKAGE

pytestmark = [pytest.mark.plain_build, pytest.mark.slow]

PROGRAM = '''
import json, pathlib, sys, time
import jax
imported = "kymo" in sys.modules
from jax.profiler import ProfileData
def spins(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
devices = [str(d) for d in jax.devices()]
options = jax.profiler.ProfileOptions()
options.python_tracer_level = 0
for run in sys.argv[2:]:
    with jax.profiler.trace(f"{sys.argv[1]}/{run}", profiler_options=options):
        time.sleep(0.05)
        with jax.profiler.TraceAnnotation("true spins"):
            spins(0.4)
planes = {}
for run in sys.argv[2:]:
    (path,) = pathlib.Path(sys.argv[1], run).rglob("*.xplane.pb")
    planes[run] = {plane.name: {line.name: [(event.name, event.start_ns, event.end_ns) for event in line.events] for line in plane.lines}
                   for plane in ProfileData.from_file(str(path)).planes}
print(json.dumps({"imported": imported, "devices": devices, "planes": planes}))
'''


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The package as pip installs it: with its libraries inside and an entry point for JAX."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE / "kymo", folder / "kymo", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "kymo" / "lib").mkdir(exist_ok=True)
    shutil.copy(ROOT / "lib" / "libkymo.so.0", folder / "kymo" / "lib")
    program = folder / "kymo" / "_program.py"
    if not program.exists():
        program.write_text("import os\ndef program():\n    return os.environ['KYMO']\n")
    info = folder / "kymo_of_test-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kymo-of-test\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[jax_plugins]\nkymo = kymo.jax_plugin\n")
    return folder


@pytest.fixture
def profile(kymo, site, tmp_path):
    def run(*runs, **environment):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("KYMO", "NEURON_", "PYTHON", "JAX_"))}
        (tmp_path / "tmp").mkdir(exist_ok=True)
        variables = {"PYTHONPATH": str(site), "KYMO": str(pathlib.Path(kymo.path).resolve()), "TMPDIR": str(tmp_path / "tmp"),
                     "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
        result = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path), *runs], env={**clean, **variables, **environment},
                                text=True, capture_output=True, timeout=180)
        assert result.returncode == 0, result.stderr[-3000:]
        return json.loads(result.stdout.splitlines()[-1])
    return run


def test_profiles_of_jax_have_planes_of_kymo_and_nothing_else_changes(kymo, profile, tmp_path):
    with_kymo = profile("first", "second")
    without = profile("plain", KYMO_JAX_PLUGIN="0")
    assert not with_kymo["imported"] and with_kymo["devices"] == without["devices"]
    own = {"/host:CPU (Kymo)", "cpu_util", "mem_usage"}
    for run in ("first", "second"):
        planes = with_kymo["planes"][run]
        assert set(planes) - set(without["planes"]["plain"]) == own
        assert set(without["planes"]["plain"]) - set(planes) == set()
        (true,) = [(start, end) for line in planes["/host:CPU"].values() for name, start, end in line if name == "true spins"]
        (sampled,) = [(start, end) for name, start, end in planes["/host:CPU (Kymo)"]["samples of MainThread"] if name.endswith(" spins")]
        # On one clock: a range of samples begins one period late, more on a busy machine, and ends so.
        assert true[0] - 2e6 < sampled[0] < true[1] and true[0] < sampled[1] < true[1] + 200e6
        assert sampled[1] - sampled[0] > 0.4 * (true[1] - true[0])
        assert planes["mem_usage"]["_counters_"]
    assert list((tmp_path / "tmp").glob("kymo-jax-*")) == []
    names = {track["name"] for track in kymo.document(tmp_path / "first")["tracks"]}
    assert "samples of MainThread" in names


def test_a_profile_is_written_also_when_kymo_cannot_add_to_it(profile, tmp_path):
    planes = profile("broken", KYMO="/nonexistent/kymo")["planes"]["broken"]
    assert "/host:CPU" in planes and "/host:CPU (Kymo)" not in planes
    assert list((tmp_path / "tmp").glob("kymo-jax-*")) == []
    planes = profile("unsampled", KYMO_JAX_SAMPLE_HZ="0")["planes"]["unsampled"]
    assert "mem_usage" in planes and "/host:CPU (Kymo)" not in planes
