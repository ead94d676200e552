"""The wheel: built by pip, installed into a new environment, complete there, and gone after `pip uninstall`."""

import re
import subprocess
import zipfile

import pytest

from conftest import DATA
from installed import PACKAGE, clean_environment, install, pip, wheel
from python_recorder import interpreters
from python_traces import run

pytestmark = [pytest.mark.plain_build, pytest.mark.usefixtures("installed")]


def test_the_wheel_is_one_for_all_versions_of_python_and_each_library_is_one_file():
    assert re.search(r"-cp39-abi3-linux_(x86_64|aarch64)\.whl$", wheel().name)
    assert 5e6 < wheel().stat().st_size < 60e6
    with zipfile.ZipFile(wheel()) as content:
        names = {name for name in content.namelist() if not name.endswith(".py")}
    parts = {"_kymo.abi3.so", "_kymo.pyi", "py.typed", "bin/kymo", "include/kymo/kymo.h", "licenses/duckdb.txt", "licenses/ui.txt",
             "lib/libkymo.so.0", "lib/libkymo-server.so", "lib/libkymo-nrt.so", "lib/libkymo-cuda.so", "lib/kymo/libnrt.so.1",
             "lib/kymo/libduckdb.so"}
    assert {name.removeprefix("kymo/") for name in names if not name.startswith("kymo-")} == parts


@pytest.mark.slow
def test_modules_and_libraries_are_those_of_the_environment():
    """Of every module, and of what they load and look for: nothing is from the source folder or its build."""
    output = run("""
        import importlib, pathlib, pkgutil, re
        import kymo, kymo.profiler
        modules = [importlib.import_module("kymo." + module.name) for module in pkgutil.iter_modules(kymo.__path__)]
        kymo.profiler.start_server(0, False)
        kymo.jax_plugin.initialize()
        files = {module.__file__ for module in (kymo, *modules)}
        print(*files, kymo._program.program(), sep="\\n")
        for line in open("/proc/self/maps"):
            words = line.split(maxsplit=5)
            if len(words) == 6 and "kymo" in pathlib.Path(words[5]).name:
                print(words[5].strip())
        for name in re.findall(r'library\\("(.+?)"\\)', "".join(pathlib.Path(file).read_text() for file in files if file.endswith(".py"))):
            print(kymo._program.library(name))
    """)
    paths = set(output.splitlines())
    assert [path for path in paths if not path.startswith(f"{PACKAGE}/kymo/")] == []
    looked_for = {"_kymo.abi3.so", "bin/kymo", "lib/libkymo.so.0", "lib/libkymo-server.so", "lib/libkymo-cuda.so"}
    assert looked_for <= {path.removeprefix(f"{PACKAGE}/kymo/") for path in paths}


@pytest.mark.slow
def test_the_program_is_on_the_path_and_finds_its_libraries(installed, tmp_path):
    def ok(*arguments):
        result = subprocess.run([installed / "bin" / "kymo", *arguments], capture_output=True, text=True, cwd=tmp_path, env=clean_environment())
        assert result.returncode == 0, result.stderr
        return result.stdout
    assert ok("--version").startswith("kymo ")
    ok("view", DATA / "xplane" / "jax_matmul_h200.xplane.pb", "--output-format", "parquet", "--output-file", "tables")
    assert "10584" in ok("sql", "tables", "SELECT count(*) FROM SystemProfileEvents")
    ok("inspect", "-o", "output", installed / "bin" / "python", "-c",
       "from kymo.profiler import TraceAnnotation\nwith TraceAnnotation('seen'):\n    pass")
    assert list((tmp_path / "output").glob("*/ntrace.pb")), "the recorder was loaded in spite of the space"
    ok("nccom-test", "allr", "-r", "2", "-b", "1kb", "-e", "1kb")  # with the runtime of the wheel


PROGRAM = """
import time
import kymo, kymo.profiler as profiler
with profiler.trace("my logs"):
    with profiler.StepTraceAnnotation("train", step_num=4):
        time.sleep(0.01)
[row] = kymo.open("my logs").sql("SELECT duration_ns FROM SystemProfileEvents WHERE name = 'train'", format="rows")
assert row["duration_ns"] >= 10_000_000
"""


@pytest.mark.slow
def test_another_python_takes_the_wheel_uses_it_without_a_terminal_and_leaves_nothing(tmp_path):
    """Of another version where there is one, with no terminal and none of the standard files, as a service has it."""
    environment, work = tmp_path / "environment", tmp_path / "work"
    work.mkdir()
    install(wheel(), environment, interpreters()[-1])
    command = ["setsid", "sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', environment / "bin" / "python", PROGRAM]
    subprocess.run(command, cwd=work, env=clean_environment(), check=True, timeout=120)
    pip(environment, "uninstall", "--yes", "kymo")
    left = [path for path in environment.rglob("*kymo*")]
    assert left == [] and [path.name for path in work.iterdir()] == ["my logs"]
