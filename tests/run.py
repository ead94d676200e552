"""Runs all tests and prints a summary line: N passed, N failed.

Unit tests (cmocka) and end-to-end tests (pytest) run on a plain build and with sanitizers, UI tests (vitest, Chromium)
on the plain build, and the fuzzers briefly on their seeds. Each stage prints one line, with its time and its CPU time,
followed by its output if it failed. Stages run one by one. Builds, type checks and fuzzers take what these leave of the
processors: they run beside them at low priority.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
CORES = len(os.sched_getaffinity(0))
FOLDERS = {"test": "release"}  # build folders of presets, where they differ in name
UNIT_SECONDS = 600  # a unit test that takes longer hangs
# Fuzzers, each with the number of inputs that take two to five seconds: a number, not a time, so that a run tries the same
# inputs each time, and a commit is judged by what it changed. `make fuzz` gives them a time, and new inputs (seed 0).
FUZZERS = {
    "xplane": 15000, "json": 4000, "neuron": 3000, "recording": 300, "timeline": 20000, "graph": 6000, "hlo": 15000,
    "hlo_module": 8000, "neff": 15000, "ntff": 12000, "device": 150, "peers": 40000, "nccom": 20000, "remote": 40000,
}
FUZZ_SECONDS = int(os.environ.get("KYMO_FUZZ_SECONDS", "0"))
FUZZ_SEED = int(os.environ.get("KYMO_FUZZ_SEED", "1"))
# Tests of threaded code, for ThreadSanitizer, which finds nothing where there is one thread.
THREADED = "test_cuda or oracle or jobs or sessions or hostile or side_by_side"
THREADED_UNITS = tuple(
    f"unit-{path.stem.removeprefix('test_')}" for path in sorted((ROOT / "tests" / "unit").rglob("test_*.c"))
    if re.search("thread|pool_", path.read_text()))
TARGETS = {"tsan": ("kymo", "libkymo-cuda", *THREADED_UNITS)}  # of builds whose stages do not need all

lock = threading.Lock()
passed = failed = 0
cpu_seconds = 0.0
failures = []  # names of what failed: a log may keep no more than its end
running = []  # names of the stages of this run
durations = []  # of tests, as (seconds, stage, name)


class Result:
    """What a command printed, how it ended, and the time and the CPU time it took, with all that it started."""

    def __init__(self, output, returncode, seconds, cpu):
        self.output = output
        self.returncode = returncode
        self.seconds = seconds
        self.cpu = cpu


def call(command, env=None):
    started = time.time()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        # Not waited for by subprocess, which does not tell what a process has used.
        process = subprocess.Popen(
            list(map(str, command)), cwd=ROOT, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return Result(output.read(), process.returncode, time.time() - started, used.ru_utime + used.ru_stime)


def report(name, good, bad, seconds, cpu, output="", failing=()):
    """Prints a stage's line, and its output if a test failed."""
    global passed, failed, cpu_seconds
    with lock:
        passed += good
        failed += bad
        cpu_seconds += cpu
        failures.extend(f"{name}: {test}" for test in failing or ["see above"] * bool(bad))
        print(f"{name:<32} {good:>5} passed {bad:>3} failed {seconds:>6.1f} s {cpu:>6.1f} s CPU time")
        for test in failing:
            print(f"failed: {test.strip()}")
        if bad:
            print(output)
        sys.stdout.flush()


def note(stage, seconds, name):
    with lock:
        durations.append((seconds, stage, name))


def build(preset):
    """Configures and builds; a build that fails is one failed test."""
    targets = ["--target", *TARGETS[preset]] if preset in TARGETS else []
    results = []
    for command in (["cmake", "--preset", preset], ["cmake", "--build", BUILD / FOLDERS.get(preset, preset), *targets]):
        results.append(call(["nice", *command]))
        if results[-1].returncode != 0:
            break
    bad = int(results[-1].returncode != 0)
    report(f"build {preset}", 1 - bad, bad, sum(one.seconds for one in results), sum(one.cpu for one in results), results[-1].output)
    return not bad


def unit_test(program):
    """Returns the counts of one program, its output if it failed, and what it took."""
    result = call(["timeout", "--kill-after=5", UNIT_SECONDS, program])
    good = sum(map(int, re.findall(r"\[  PASSED  \] (\d+) test", result.output)))
    bad = sum(map(int, re.findall(r"\[  FAILED  \] (\d+) test", result.output)))
    if result.returncode == 0:
        return good, bad, "", result
    why = f"timed out after {UNIT_SECONDS} s\n" if result.returncode in (124, 137) else ""
    return good, max(bad, 1), f"--- {program.name}\n{why}{result.output}", result  # no count: it crashed


def unit_tests(preset):
    started = time.time()
    programs = sorted((BUILD / FOLDERS.get(preset, preset) / "unit").glob("unit-*"))
    programs = [program for program in programs if program.name in TARGETS.get(preset, (program.name,))]
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        results = list(pool.map(unit_test, programs))
    for program, result in zip(programs, results):
        note(f"unit-{preset}", result[3].seconds, program.name)
    good, bad = (sum(result[i] for result in results) for i in (0, 1))
    failing = [program.name for program, result in zip(programs, results) if result[1]]
    report(f"unit tests, {preset}", good, bad or int(good == 0), time.time() - started, sum(result[3].cpu for result in results),
           "".join(result[2] for result in results), failing)


def end_to_end_tests(name, binary, *arguments):
    """One worker more than there are cores, as tests wait for servers and processes half of their time."""
    result = call(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE", "--durations=0", "--durations-min=0.1",
         "-n", min(4, CORES + 1), "--dist", "worksteal", "tests/e2e", *arguments],
        env={"KYMO": str(binary), "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(BUILD / "pycache"),
             "ASAN_OPTIONS": "detect_leaks=1:malloc_context_size=8:quarantine_size_mb=32", "TSAN_OPTIONS": f"halt_on_error=1:suppressions={ROOT}/tests/tsan.supp"},
    )
    for seconds, part, test in re.findall(r"^([\d.]+)s (call|setup|teardown) +(tests/e2e/.+)$", result.output, re.M):
        note(f"e2e-{name}", float(seconds), test if part == "call" else f"{test} ({part})")
    last = result.output.strip().splitlines()[-1] if result.output.strip() else ""
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", last)}
    bad = counts.get("failed", 0) + counts.get("error", 0) or int(result.returncode != 0)
    failing = re.findall(r"^(?:FAILED|ERROR) (tests/e2e/\S+::\w+(?:\[.*?\](?= - |$))?)", result.output, re.M)
    report(f"end-to-end tests, {name}", counts.get("passed", 0), bad, result.seconds, result.cpu,
           re.sub(r"^=+ slowest durations =+\n(?:.*\n)*?(?==)", "", result.output, flags=re.M), list(dict.fromkeys(failing)))


def types():
    for name, command in (("UI", ["npm", "run", "--silent", "check"]), ("Python", [sys.executable, "-m", "mypy"])):
        result = call(["nice", *command])
        bad = int(result.returncode != 0)
        report(f"{name} type check", 1 - bad, bad, result.seconds, result.cpu, result.output)


def ui_tests(*arguments):
    """UI tests, with and without a browser."""
    times = BUILD / "ui_tests.json"
    times.unlink(missing_ok=True)
    result = call(["npm", "run", "--silent", "test", "--", "--reporter=default", "--reporter=json", f"--outputFile.json={times}", *arguments],
                  env={"NO_COLOR": "1"})
    for file in json.loads(times.read_text())["testResults"] if times.exists() else ():
        for test in file["assertionResults"]:
            note("ui", (test.get("duration") or 0) / 1000, f"{os.path.relpath(file['name'], ROOT)} > {test['fullName']}")
    counts = re.search(r"^ *Tests +(.*)$", result.output, re.M)
    numbers = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed)", counts[1] if counts else "")}
    failing = list(dict.fromkeys(re.findall(r"^ *FAIL +(\S+\.test\.ts (?:> .+|\[.+))$", result.output, re.M)))
    bad = max(numbers.get("failed", 0), len(failing)) or int(result.returncode != 0)  # a file that failed whole is one
    report("UI tests", numbers.get("passed", 0), bad, result.seconds, result.cpu, re.sub(r"^ *✓ .*\n", "", result.output, flags=re.M),
           failing)


def fuzz(name):
    folder = BUILD / "asan" / "fuzz"
    work = folder / "corpus" / name
    work.mkdir(parents=True, exist_ok=True)
    seeds = ROOT / "fuzz" / "corpus" / name
    limit = f"-max_total_time={FUZZ_SECONDS}" if FUZZ_SECONDS else f"-runs={FUZZERS[name]}"
    result = call(
        ["nice", folder / f"fuzz-{name}", limit, f"-seed={FUZZ_SEED}", "-max_len=65536", "-rss_limit_mb=2048",
         f"-artifact_prefix={folder}/", work, *([seeds] if seeds.is_dir() else [])]
    )
    runs = re.search(r"Done (\d+) runs", result.output)
    # Recordings are directories of files: a few dozen a second.
    good = result.returncode == 0 and runs and int(runs[1]) >= (5 * FUZZ_SECONDS or FUZZERS[name])
    report(f"fuzz-{name}, {runs[1] if runs else 'no'} inputs", int(bool(good)), int(not good), result.seconds, result.cpu,
           result.output[-6000:])


def fuzz_all():
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        list(pool.map(fuzz, FUZZERS))


def formatting():
    files = call(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h"]).output.split()
    result = call([pathlib.Path(sys.executable).parent / "clang-format", "--dry-run", "--Werror", *files])
    report("formatting", int(result.returncode == 0), int(result.returncode != 0), result.seconds, result.cpu,
           result.output[-6000:] + "\nrun `make format`")


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
    "e2e": Stage(None, lambda: end_to_end_tests("release", ROOT / "bin" / "kymo", *(["--beside-sanitized"] if "e2e-asan" in running else []))),
    "ui": Stage(None, ui_tests),
    "unit": Stage("test", lambda: unit_tests("test")),
    "unit-asan": Stage("asan", lambda: unit_tests("asan")),
    "e2e-asan": Stage("asan", lambda: end_to_end_tests("asan", sanitized("asan"), "--sanitized")),
    "unit-tsan": Stage("tsan", lambda: unit_tests("tsan")),
    "e2e-tsan": Stage("tsan", lambda: end_to_end_tests("tsan", sanitized("tsan"), "--sanitized", "-k", THREADED)),
    "types": Stage(None, types, beside=True),
    "fuzz": Stage("asan", fuzz_all, beside=True),
    "capture-only": Stage("capture-only-test", lambda: None),
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

        def act(stage):
            if not stage.preset or builds[stage.preset].result():
                stage.action()

        beside = [side.submit(act, stage) for stage in stages if stage.beside]
        for stage in stages:
            if not stage.beside:
                act(stage)
        for task in beside:
            task.result()


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
    choice.add_argument("--quick", action="store_true", help="a subset that takes a minute and a half")
    parser.add_argument("--durations", type=int, nargs="?", const=50, default=0, metavar="N", help="name the N slowest tests (50)")
    options = parser.parse_args()
    stages = QUICK if options.quick else STAGES
    started = time.time()
    running.extend(name for name in stages if options.stage is None or name in options.stage)
    run([stages[name] for name in running])
    for seconds, stage, name in sorted(durations, reverse=True)[:options.durations]:
        print(f"{seconds:>6.1f} s {stage}: {name}")
    print(f"{time.time() - started:.0f} s, {cpu_seconds:.0f} s CPU time")
    for name in failures:
        print(f"failed: {name.strip()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
