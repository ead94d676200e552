"""Runs all tests and prints a summary line: N passed, N failed.

Unit tests (cmocka) and end-to-end tests (pytest) run on a plain build and with sanitizers, UI tests (vitest, Chromium)
on the plain build, and the fuzzers briefly on their seeds. Each stage prints one line, followed by its output if it
failed. Stages run one by one; builds, and the type check of the UI, go on beside them at low priority. The UI tests have the
machine to themselves but for that: they wait for pictures, and time limits tell whether those come.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import resource
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
CORES = len(os.sched_getaffinity(0))
FUZZ_SECONDS = int(os.environ.get("KYMO_FUZZ_SECONDS", "12"))
# The same inputs in each run: a commit is judged by what it changed. `make fuzz` takes new ones (0).
FUZZ_SEED = int(os.environ.get("KYMO_FUZZ_SEED", "1"))
FOLDERS = {"test": "release"}  # build folders of presets, where they differ in name
FUZZERS = ("xplane", "json", "neuron", "recording", "timeline", "graph", "hlo", "hlo_module", "neff", "ntff", "device", "peers", "nccom", "remote")
# A few tests of a stage that failed are run once more at the end, alone: beside builds and other tests some miss a time
# limit. They are named at the end. More failures than these are no accident.
REPEATED = 10
# Tests of threaded code, for ThreadSanitizer, which finds nothing where there is one thread.
THREADED = "test_cuda or oracle or jobs or sessions or hostile or side_by_side"
THREADED_UNITS = tuple(
    f"unit-{path.stem.removeprefix('test_')}" for path in sorted((ROOT / "tests" / "unit").rglob("test_*.c"))
    if re.search("thread|pool_", path.read_text()))
TARGETS = {"tsan": ("kymo", "libkymo-cuda", *THREADED_UNITS)}  # of builds whose stages do not need all

lock = threading.Lock()
passed = failed = 0
unstable = []  # tests that failed beside others and passed alone
failures = []  # names of what failed: a log may keep no more than its end
repeats = []  # functions that repeat the failed tests of a stage and report on it


def call(command, **options):
    environment = {**os.environ, **options.pop("env", {})}
    return subprocess.run(
        list(map(str, command)), cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False, errors="replace", **options
    )


def report(name, good, bad, seconds, output="", failing=(), repeated=()):
    """Prints a stage's line, and its output if a test failed, be it only at first (`repeated`)."""
    global passed, failed
    with lock:
        passed += good
        failed += bad
        failures.extend(f"{name}: {test}" for test in failing or ["see above"] * bool(bad))
        unstable.extend(f"{name}: {test}" for test in repeated)
        print(f"{name:<38} {good:>5} passed {bad:>3} failed {seconds:>6.1f} s")
        for test in failing:
            print(f"failed: {test.strip()}")
        if bad or repeated:
            print(output)
        sys.stdout.flush()


def finish_now_or_later(finish, later):
    if later:
        with lock:
            repeats.append(finish)
    else:
        finish()


def build(preset):
    """Configures and builds; a build that fails is one failed test."""
    started = time.time()
    targets = ["--target", *TARGETS[preset]] if preset in TARGETS else []
    for command in (["cmake", "--preset", preset], ["cmake", "--build", BUILD / FOLDERS.get(preset, preset), *targets]):
        result = call(["nice", *command])
        if result.returncode != 0:
            report(f"build {preset}", 0, 1, time.time() - started, result.stdout)
            return False
    report(f"build {preset}", 1, 0, time.time() - started)
    return True


def unit_test(program):
    """Returns the counts of one program, and its output if it failed."""
    try:
        result = call([program], timeout=600)
    except subprocess.TimeoutExpired:
        return 0, 1, f"--- {program.name} timed out after 10 minutes\n"
    good = sum(map(int, re.findall(r"\[  PASSED  \] (\d+) test", result.stdout)))
    bad = sum(map(int, re.findall(r"\[  FAILED  \] (\d+) test", result.stdout)))
    if result.returncode == 0:
        return good, bad, ""
    return good, max(bad, 1), f"--- {program.name}\n{result.stdout}"  # no count: it crashed


def unit_tests(preset):
    started = time.time()
    programs = sorted((BUILD / FOLDERS.get(preset, preset) / "unit").glob("unit-*"))
    programs = [program for program in programs if program.name in TARGETS.get(preset, (program.name,))]
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        results = list(pool.map(unit_test, programs))
    seconds = time.time() - started
    again = [i for i, result in enumerate(results) if result[1]]

    def finish():
        output = "".join(result[2] for result in results)
        for i in again if len(again) <= REPEATED else ():
            results[i] = unit_test(programs[i])
            output += results[i][2]
        failing = [programs[i].name for i in again if results[i][1]]
        repeated = [programs[i].name for i in again if not results[i][1]]
        good, bad = (sum(result[i] for result in results) for i in (0, 1))
        report(f"unit tests, {preset}", good, bad or int(good == 0), seconds, output, failing, repeated)

    finish_now_or_later(finish, 0 < len(again) <= REPEATED)


def pytest(binary, *arguments):
    """Runs pytest; returns the counts of what passed and failed, the names of what failed, and the output."""
    result = call(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE", *arguments],
        env={"KYMO": str(binary), "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(BUILD / "pycache"),
             "ASAN_OPTIONS": "detect_leaks=1:malloc_context_size=8", "TSAN_OPTIONS": f"halt_on_error=1:suppressions={ROOT}/tests/tsan.supp"},
    )
    last = result.stdout.strip().splitlines()[-1] if result.stdout.strip() else ""
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", last)}
    bad = counts.get("failed", 0) + counts.get("error", 0)
    if result.returncode != 0 and bad == 0:
        bad = 1
    names = re.findall(r"^(?:FAILED|ERROR) (tests/e2e/\S+::\w+(?:\[.*?\](?= - |$))?)", result.stdout, re.M)
    return counts.get("passed", 0), bad, list(dict.fromkeys(names)), result.stdout


def end_to_end_tests(name, binary, *arguments):
    """One worker more than there are cores, as tests wait for servers and processes half of their time."""
    started = time.time()
    good, bad, names, output = pytest(
        binary, "-n", min(4, CORES + 1), "--dist", "worksteal", "tests/e2e", *arguments)
    seconds = time.time() - started
    repeatable = 0 < bad == len(names) <= REPEATED

    def finish():
        if not repeatable:
            report(f"end-to-end tests, {name}", good, bad, seconds, output, names)
            return
        again, still_bad, failing, more = pytest(binary, *names)
        repeated = [test for test in names if test not in failing] if again else []
        report(f"end-to-end tests, {name}", good + again, still_bad, seconds, output + more, failing, repeated)

    finish_now_or_later(finish, repeatable)


def types():
    for name, command in (("UI", ["npm", "run", "--silent", "check"]), ("Python", [sys.executable, "-m", "mypy"])):
        started = time.time()
        result = call(["nice", *command])
        bad = int(result.returncode != 0)
        report(f"{name} type check", 1 - bad, bad, time.time() - started, result.stdout)


def vitest(*arguments):
    """Runs vitest; returns the counts of what passed and failed, the failed tests as (file, name), and the output."""
    result = call(["npm", "run", "--silent", "test", "--", *arguments], env={"NO_COLOR": "1"})
    counts = re.search(r"^ *Tests +(.*)$", result.stdout, re.M)
    numbers = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed)", counts[1] if counts else "")}
    names = list(dict.fromkeys(re.findall(r"^ *FAIL +(\S+\.test\.ts) (> .+|\[.+)$", result.stdout, re.M)))
    bad = max(numbers.get("failed", 0), len(names)) or int(result.returncode != 0)  # a file that failed whole is one
    return numbers.get("passed", 0), bad, names, re.sub(r"^ *✓ .*\n", "", result.stdout, flags=re.M)


def ui_tests(*arguments):
    """UI tests, with and without a browser."""
    started = time.time()
    good, bad, names, output = vitest(*arguments)
    seconds = time.time() - started
    repeatable = 0 < bad == len(names) <= REPEATED

    def finish():
        if not repeatable:
            report("UI tests", good, bad, seconds, output, list(map(" ".join, names)))
            return
        again, bad_again, names_again, more = vitest(*sorted({file for file, _ in names}))
        if not again or bad_again != len(names_again):
            names_again = names
        failing = [" ".join(name) for name in names if name in names_again]
        repeated = [" ".join(name) for name in names if name not in names_again]
        report("UI tests", good + len(repeated), len(failing), seconds, output + more, failing, repeated)

    finish_now_or_later(finish, repeatable)


def fuzz(name):
    started = time.time()
    folder = BUILD / "asan" / "fuzz"
    work = folder / "corpus" / name
    work.mkdir(parents=True, exist_ok=True)
    seeds = ROOT / "fuzz" / "corpus" / name
    result = call(
        [folder / f"fuzz-{name}", f"-max_total_time={FUZZ_SECONDS}", f"-seed={FUZZ_SEED}",
         "-max_len=65536", "-rss_limit_mb=2048", f"-artifact_prefix={folder}/", work, *([seeds] if seeds.is_dir() else [])]
    )
    runs = re.search(r"Done (\d+) runs", result.stdout)
    # Recordings are directories of files: a few dozen a second.
    good = result.returncode == 0 and runs and int(runs[1]) > 5 * FUZZ_SECONDS
    report(f"fuzzing fuzz-{name}, {FUZZ_SECONDS} s", int(bool(good)), int(not good),
           time.time() - started, result.stdout[-6000:])


def fuzz_all():
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        list(pool.map(fuzz, FUZZERS))


def formatting():
    started = time.time()
    files = call(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h"]).stdout.split()
    result = call([pathlib.Path(sys.executable).parent / "clang-format", "--dry-run", "--Werror", *files])
    report("formatting", int(result.returncode == 0), int(result.returncode != 0), time.time() - started,
           result.stdout[-6000:] + "\nrun `make format`")


class Stage:
    """A test stage: the preset it needs, its action, and whether it runs beside those that run one by one."""

    def __init__(self, preset, action, beside=False):
        self.preset = preset
        self.action = action
        self.beside = beside


def sanitized(preset):
    return BUILD / preset / "bin" / "kymo"


STAGES = {
    "format": Stage(None, formatting),
    "e2e": Stage(None, lambda: end_to_end_tests("release", ROOT / "bin" / "kymo")),
    "ui": Stage(None, ui_tests),
    "unit": Stage("test", lambda: unit_tests("test")),
    "unit-asan": Stage("asan", lambda: unit_tests("asan")),
    "e2e-asan": Stage("asan", lambda: end_to_end_tests("asan", sanitized("asan"), "--sanitized")),
    "unit-tsan": Stage("tsan", lambda: unit_tests("tsan")),
    "e2e-tsan": Stage("tsan", lambda: end_to_end_tests("tsan", sanitized("tsan"), "--sanitized", "-k", THREADED)),
    "fuzz": Stage("asan", fuzz_all),
    "types": Stage(None, types, beside=True),
    "capture-only": Stage("capture-only", lambda: None),
}
# Stages of `make check`: one case per end-to-end test, and UI tests without a browser.
QUICK = {
    "format": STAGES["format"],
    "e2e": Stage(None, lambda: end_to_end_tests("quick", ROOT / "bin" / "kymo", "--quick")),
    "ui": Stage(None, lambda: ui_tests("ui/src")),
    "unit": STAGES["unit"],
    "types": STAGES["types"],
}


def run(stages):
    """Runs the builds, the stages that run beside others, and these: each in order, one at a time."""
    with concurrent.futures.ThreadPoolExecutor(1) as builder, concurrent.futures.ThreadPoolExecutor(1) as side:
        presets = dict.fromkeys(stage.preset for stage in stages if stage.preset)
        builds = {preset: builder.submit(build, preset) for preset in presets}
        beside = [side.submit(stage.action) for stage in stages if stage.beside]
        for stage in stages:
            if not stage.beside and (not stage.preset or builds[stage.preset].result()):
                stage.action()
        for task in beside:
            task.result()
    for finish in repeats:
        finish()


def chosen(text):
    names = text.split(",")
    for name in names:
        if name not in STAGES:
            raise argparse.ArgumentTypeError(f"unknown stage {name}; expected one of {', '.join(STAGES)}")
    return names


def main():
    parser = argparse.ArgumentParser(description="Runs the tests, on bin/kymo as built by `make`.")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--stage", type=chosen, metavar="NAME,...", help=f"run only these stages: {', '.join(STAGES)}")
    choice.add_argument("--quick", action="store_true", help="a subset that takes less than two minutes")
    options = parser.parse_args()
    stages = QUICK if options.quick else STAGES
    started = time.time()
    run([stage for name, stage in stages.items() if options.stage is None or name in options.stage])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.time() - started:.0f} s, {used.ru_utime + used.ru_stime:.0f} s CPU time")
    for name in unstable:
        print(f"passed only when repeated alone: {name.strip()}")
    for name in failures:
        print(f"failed: {name.strip()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
