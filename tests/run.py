"""Runs every test there is and ends with one line: N passed, N failed.

Unit tests (cmocka) and end-to-end tests (pytest) run on a plain build and on builds with sanitizers;
the UI (vitest, Chromium) on the plain one; the fuzzers run for a short while on their seeds. Each stage prints its own line; what a failing one
printed follows it.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
FUZZ_SECONDS = int(os.environ.get("KYMO_FUZZ_SECONDS", "20"))

passed = failed = 0


def call(command, **options):
    environment = {**os.environ, **options.pop("env", {})}
    return subprocess.run(
        list(map(str, command)), cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False, errors="replace", **options
    )


def report(name, good, bad, started, output=""):
    global passed, failed
    passed += good
    failed += bad
    print(f"{name:<38} {good:>5} passed {bad:>3} failed {time.time() - started:>6.1f} s", flush=True)
    if bad:
        print(output, flush=True)


def build(preset):
    """Configures and builds; a build that fails is one failed test."""
    started = time.time()
    for command in (["cmake", "--preset", preset], ["cmake", "--build", BUILD / preset]):
        result = call(command)
        if result.returncode != 0:
            report(f"build {preset}", 0, 1, started, result.stdout)
            return False
    report(f"build {preset}", 1, 0, started)
    return True


def unit_tests(preset):
    started = time.time()
    good = bad = 0
    output = ""
    for program in sorted((BUILD / preset / "unit").glob("unit-*")):
        try:
            result = call([program], timeout=600)
        except subprocess.TimeoutExpired:
            output += f"--- {program.name} did not end within 10 minutes\n"
            bad += 1
            continue
        counts = re.findall(r"\[  PASSED  \] (\d+) test", result.stdout)
        failures = re.findall(r"\[  FAILED  \] (\d+) test", result.stdout)
        good += sum(map(int, counts))
        bad += sum(map(int, failures))
        if result.returncode != 0:
            output += f"--- {program.name}\n{result.stdout}"
            bad += not failures  # it crashed before it could count
    report(f"unit tests, {preset}", good, bad or int(good == 0), started, output)


def end_to_end_tests(name, binary, *arguments):
    started = time.time()
    result = call(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", min(4, os.cpu_count() or 1),
         "--dist", "loadfile", "tests/e2e", *arguments],
        env={"KYMO": str(binary), "PYTHONDONTWRITEBYTECODE": "1",
             "ASAN_OPTIONS": "detect_leaks=1", "TSAN_OPTIONS": f"halt_on_error=1:suppressions={ROOT}/tests/tsan.supp"},
    )
    last = result.stdout.strip().splitlines()[-1] if result.stdout.strip() else ""
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", last)}
    bad = counts.get("failed", 0) + counts.get("error", 0)
    if result.returncode != 0 and bad == 0:
        bad = 1
    report(f"end-to-end tests, {name}", counts.get("passed", 0), bad, started, result.stdout)


def ui_tests():
    """The UI: its types, its parts, and all of it in a browser."""
    started = time.time()
    checked = call(["npm", "run", "--silent", "check"])
    bad = int(checked.returncode != 0)
    report("types of the UI", 1 - bad, bad, started, checked.stdout)
    started = time.time()
    result = call(["npm", "run", "--silent", "test"], env={"NO_COLOR": "1"})
    counts = re.search(r"^ *Tests +(.*)$", result.stdout, re.M)
    numbers = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed)", counts[1] if counts else "")}
    bad = numbers.get("failed", 0) or int(result.returncode != 0)
    report("tests of the UI", numbers.get("passed", 0), bad, started, result.stdout)


def fuzz(target, corpus):
    started = time.time()
    work = BUILD / "fuzz" / "corpus" / pathlib.Path(corpus).name
    work.mkdir(parents=True, exist_ok=True)
    result = call(
        [BUILD / "fuzz" / target, f"-max_total_time={FUZZ_SECONDS}", "-max_len=65536",
         "-rss_limit_mb=2048", f"-artifact_prefix={BUILD}/fuzz/", work, corpus]
    )
    runs = re.search(r"Done (\d+) runs", result.stdout)
    good = result.returncode == 0 and runs and int(runs[1]) > 1000
    report(f"fuzzing {target}, {FUZZ_SECONDS} s", int(bool(good)), int(not good), started,
           result.stdout[-6000:])


def formatting():
    started = time.time()
    files = call(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h"]).stdout.split()
    result = call([pathlib.Path(sys.executable).parent / "clang-format", "--dry-run", "--Werror", *files])
    report("formatting", int(result.returncode == 0), int(result.returncode != 0), started,
           result.stdout[-6000:] + "\n`make format` mends this")


def main():
    formatting()
    end_to_end_tests("release", ROOT / "bin" / "kymo")
    ui_tests()
    build("capture-only")
    if build("test"):
        unit_tests("test")
    if build("asan"):
        unit_tests("asan")
        end_to_end_tests("asan", BUILD / "asan" / "bin" / "kymo")
    if build("tsan"):
        unit_tests("tsan")
        end_to_end_tests("tsan", BUILD / "tsan" / "bin" / "kymo", "-k", "oracle or jobs or sessions or hostile or side_by_side")
    if build("fuzz"):
        for name in ("xplane", "json", "neuron", "recording", "timeline"):
            fuzz(f"fuzz-{name}", f"fuzz/corpus/{name}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
