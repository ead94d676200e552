"""The wheel: built by pip, installed into a new environment on a path with spaces, complete."""

import fcntl
import importlib.util
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import sysconfig
import zipfile

import pytest

from conftest import DATA, ROOT

pytestmark = [pytest.mark.plain_build, pytest.mark.slow]


def builder():
    """A Python that has scikit-build-core, so that nothing is downloaded: this one, or that of KYMO_BUILD_PYTHON."""
    if importlib.util.find_spec("scikit_build_core"):
        return sys.executable
    return os.environ.get("KYMO_BUILD_PYTHON")


def reuse_of_release():
    """Environment in which objects that the release build has are not compiled again: nine in ten."""
    release = ROOT / "build" / "release"
    if not (release / "compile_commands.json").exists():
        return {}
    commands = ROOT / "build" / "release-commands.txt"
    with open(commands, "w") as file:
        for entry in json.loads((release / "compile_commands.json").read_text()):
            words = itertools.dropwhile(lambda word: not word.startswith("-"), shlex.split(entry["command"]))
            print(*(word for word in words if word != "-Werror"), file=file)
    return {"CMAKE_C_COMPILER_LAUNCHER": str(ROOT / "tests" / "tools" / "reuse_object.sh"),
            "REUSED_BUILD": str(release), "REUSED_COMMANDS": str(commands)}


@pytest.fixture(scope="module")
def wheel():
    if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("Python's headers are not installed")
    python = builder()
    if python is None:
        pytest.skip("scikit-build-core is not installed; KYMO_BUILD_PYTHON can name a Python that has it")
    command = [ROOT / "scripts" / "wheel.sh", "build/wheel-test", "--config-settings=build-dir=build/wheel-test/build"]
    with open(ROOT / "build" / "wheel-test.lock", "w") as lock:  # another worker may have tests of this file, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = subprocess.run(command, capture_output=True, text=True, timeout=900,
                                env={**os.environ, **reuse_of_release(), "PYTHON": python})
    assert result.returncode == 0, result.stderr
    path, size = re.fullmatch(r"(\S+): (\d+) MB\n", result.stdout).groups()
    assert 5 < int(size) < 60
    return ROOT / path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("a folder with spaces") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet", "--no-compile", "--no-index", "--no-deps"]
    subprocess.run([*pip, wheel], check=True)
    return folder


def clean():
    return {name: value for name, value in os.environ.items() if not name.startswith(("KYMO", "PYTHON"))}


def test_the_wheel_is_one_for_all_versions_of_python_and_has_all_parts(wheel):
    assert re.search(r"-cp39-abi3-linux_(x86_64|aarch64)\.whl$", wheel.name)
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        parts = ["kymo/__init__.py", "kymo/_kymo.abi3.so", "kymo/_kymo.pyi", "kymo/py.typed", "kymo/bin/kymo", "kymo/lib/libkymo.so.0",
                 "kymo/lib/libkymo-nrt.so", "kymo/lib/libkymo-cuda.so", "kymo/lib/kymo/libnrt.so.1", "kymo/lib/kymo/libduckdb.so"]
        assert [part for part in parts if part not in names] == []
        assert [name for name in names if not name.startswith(("kymo/", "kymo-"))] == []


def test_the_program_is_on_the_path_and_finds_its_libraries(installed, tmp_path):
    def ok(*arguments):
        result = subprocess.run([installed / "bin" / "kymo", *arguments], capture_output=True, text=True, cwd=tmp_path, env=clean())
        assert result.returncode == 0, result.stderr
        return result.stdout
    assert ok("--version").startswith("kymo ")
    ok("view", DATA / "xplane" / "jax_matmul_h200.xplane.pb", "--output-format", "parquet", "--output-file", "tables")
    assert "10584" in ok("sql", "tables", "SELECT count(*) FROM SystemProfileEvents")
    ok("inspect", "-o", "output", installed / "bin" / "python", "-c",
       "from kymo.profiler import TraceAnnotation\nwith TraceAnnotation('seen'):\n    pass")
    assert list((tmp_path / "output").glob("*/ntrace.pb")), "the recorder was loaded in spite of the spaces"


def test_a_program_is_traced_by_the_installed_package(installed, tmp_path):
    program = """
import sys, time
import kymo, kymo.profiler as profiler
with profiler.trace("my logs"):
    with profiler.StepTraceAnnotation("train", step_num=4):
        time.sleep(0.01)
[row] = kymo.open("my logs").sql("SELECT duration_ns FROM SystemProfileEvents WHERE name = 'train'", format="rows")
assert row["duration_ns"] >= 10_000_000
assert kymo.__file__.startswith(sys.prefix)
"""
    result = subprocess.run([installed / "bin" / "python", "-c", program], capture_output=True, text=True, cwd=tmp_path, env=clean())
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
