"""What the end-to-end tests share: the program under test and the captures it is tried on."""

import collections
import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest

from cpu_times import CpuTimes

gc.set_threshold(200_000, 20, 100)  # tests hold documents of millions of values: to go through them often is a tenth of the time
ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
sys.path += [str(folder) for folder in sorted((ROOT / "tests" / "e2e").iterdir()) if folder.is_dir()]  # tests use parts of each other
CAPTURES = ["jax_matmul_h200", "jax_gpt_python_h200", "tpu_inference"]

# What is preloaded into other programs has no sanitizer in it, whatever the program under test has.
os.environ["KYMO_LIBRARY_DIR"] = str(ROOT / "lib")
if "KYMO" in os.environ:  # programs of the tests run in other folders
    os.environ["KYMO"] = os.path.abspath(os.environ["KYMO"])

# Programs in the background of a shell ignore signals, and so would all that the tests start.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


# A process of its own measures: what a child took at most begins with the size of its parent.
MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as file:
    file.write(str(usage.ru_maxrss * 1024))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak_memory(arguments, **options):
    """Standard output of a call that must succeed, and the memory it took at most."""
    with tempfile.NamedTemporaryFile("r") as file:
        result = subprocess.run(
            [sys.executable, "-S", "-c", MEASURE, file.name, *map(str, arguments)],
            stdout=options.pop("stdout", subprocess.PIPE), timeout=300, **options
        )
        assert result.returncode == 0
        return result.stdout, int(file.read())


# A sanitizer looks at paths through the code, in all that runs; answers are compared in the plain build. So the sanitized builds get what is
# short, one case of each test, which has nearly as many paths as all, and of what is slow the tests marked `sanitized`, for paths
# that no other takes. Damaged, hostile and random input takes other paths in each case. The fuzzers run sanitized on what reads bytes.
SANITIZED_CASES = 1
SANITIZED_DAMAGE_CASES = 4
SANITIZED_SHARE = 8  # of cases that a test goes through itself, one in these
DAMAGE = ("damage", "hostile", "random", "recover")  # in the names of files
# Files whose tests mostly wait for DuckDB, which is not sanitized, and three times as slow beside what is.
QUERIES = ("test_diff", "test_tools", "test_stats", "test_kernel_families", "fleet_report", "fleet_ranks", "fleet_api", "sql_files", "figures", "digits")


def is_for_sanitizers(item):
    has = {name: item.get_closest_marker(name) for name in ("sanitized", "sanitized_build", "plain_build", "slow")}
    is_marked = has["sanitized"] or has["sanitized_build"]
    is_short = not has["slow"] and not any(word in item.path.name for word in QUERIES)
    return "kymo" in item.fixturenames and not has["plain_build"] and bool(is_short or is_marked)


def sanitized_cases(item):
    mark = item.get_closest_marker("sanitized")
    most = SANITIZED_DAMAGE_CASES if any(word in item.path.name for word in DAMAGE) else SANITIZED_CASES
    return mark.kwargs.get("cases", most) if mark else most


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="the first case of each test, and none that takes long or needs the wheel")
    parser.addoption("--sanitized", action="store_true",
                     help="what can tell a sanitized program from a plain one: tests that run it, a few cases each")
    parser.addoption("--beside-sanitized", action="store_true", help="what --sanitized leaves out, where both are run")
    parser.addoption("--cpu-times", metavar="FILE", help="append the CPU time of each test and fixture; cpu_times.py adds it up")


def pytest_configure(config):
    if config.getoption("--cpu-times"):
        config.pluginmanager.register(CpuTimes(config.getoption("--cpu-times")))
    config.addinivalue_line("markers", "slow: takes more than a second of CPU time; left out with --quick")
    config.addinivalue_line("markers", "plain_build: examines memory, time or a library of others; left out with --sanitized")
    config.addinivalue_line("markers", "sanitized(cases=1): slow, and yet run with --sanitized; or with so many cases of it")
    config.addinivalue_line("markers", "sanitized_build: shows something with --sanitized alone, where it is run")


def is_quick(item):
    """Short, and without the wheel, which is made again after each change."""
    return not item.get_closest_marker("slow") and "installed" not in item.fixturenames


def some_cases(items, most):
    """Of each test `most(item)` cases, evenly."""
    cases = collections.defaultdict(list)
    for item in items:
        cases[item.path, item.originalname].append(item)
    return [item for found in cases.values() for number, item in enumerate(found)
            if number * most(found[0]) // len(found) != (number - 1) * most(found[0]) // len(found)]


def pytest_collection_modifyitems(config, items):
    sanitized = some_cases(filter(is_for_sanitizers, items), sanitized_cases)
    kept = [item for item in items if not item.get_closest_marker("sanitized_build")]
    if config.getoption("--sanitized"):
        kept = sanitized
    elif config.getoption("--beside-sanitized"):
        others = set(map(id, sanitized))
        kept = [item for item in kept if id(item) not in others]
    if config.getoption("--quick"):
        kept = some_cases(filter(is_quick, kept), lambda item: 1)
    left = set(map(id, kept))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in left])
    items[:] = [item for item in items if id(item) in left]


def with_samples(document):
    """A profile in JSON, with the samples of counters among the events, in the order of the tracks."""
    if "counter_samples" in document:
        document["trace_events"] = sorted(document["trace_events"] + document.pop("counter_samples"), key=lambda event: event["id"])
    return document


class Kymo:
    """The program, as a shell would call it."""

    def __init__(self, path):
        self.path = path

    def run(self, *arguments, **options):
        options.setdefault("timeout", 120)
        return subprocess.run(
            [self.path, *map(str, arguments)], capture_output=True, text=True, **options
        )

    def ok(self, *arguments, **options):
        """Standard output of a call that must succeed without a word on standard error."""
        result = self.run(*arguments, **options)
        assert result.returncode == 0, result.stderr
        assert result.stderr == ""
        return result.stdout

    def json(self, *arguments):
        return json.loads(self.ok(*arguments))

    def document(self, capture, *arguments):
        """The whole profile, as `view --output-format json` writes it, with the samples of counters among the events."""
        return with_samples(self.json("view", capture, "--output-format", "json", *arguments))

    def refuses(self, *arguments, code=1):
        """The message of a call that must fail in an orderly way."""
        result = self.run(*arguments)
        assert result.returncode == code, (result.returncode, result.stderr)
        assert result.stdout == ""
        assert "ERROR: AddressSanitizer" not in result.stderr
        assert "runtime error" not in result.stderr
        return result.stderr


@pytest.fixture(scope="session")
def some(request):
    """What a test that runs the program for each of many cases takes of them: all, or with --sanitized a few."""
    step = SANITIZED_SHARE if request.config.getoption("--sanitized") else 1
    return lambda cases: cases[::step]


@pytest.fixture(scope="session", autouse=True)
def workspace(tmp_path_factory):
    """Profiles that tests make without saying where do not end up in the user's workspace."""
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def kymo():
    return Kymo(os.environ.get("KYMO", ROOT / "bin" / "kymo"))


@pytest.fixture(scope="session")
def installed():
    """The environment that has the wheel."""
    import installed
    if installed.missing():
        pytest.skip(installed.missing())
    installed.make()
    return installed.ENVIRONMENT


@pytest.fixture(params=CAPTURES)
def capture(request):
    return DATA / "xplane" / f"{request.param}.xplane.pb"


def tool_of_the_build(name):
    """A program of the build under test, from tests/unit/CMakeLists.txt."""
    kymo = pathlib.Path(os.environ.get("KYMO", ROOT / "bin" / "kymo")).resolve()
    build = ROOT / "build" / "release" if kymo == (ROOT / "bin" / "kymo").resolve() else kymo.parents[1]
    return build / "unit" / name


@pytest.fixture(scope="session")
def run_neff():
    """The program that compiles and runs graphs."""
    return tool_of_the_build("run-neff")


@pytest.fixture(scope="session")
def read_hlo():
    """The program that prints what is made of an HLO module."""
    return tool_of_the_build("read-hlo")


@pytest.fixture(scope="session")
def gen_run():
    """The program that makes datasets of synthetic runs."""
    return tool_of_the_build("gen-run")
