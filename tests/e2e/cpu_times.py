"""Where the CPU time of the tests goes: `pytest --cpu-times FILE` appends a line for each import, fixture and test; this program adds them up.

Counted are the process of the tests and all that ended under it and was waited for; a server counts where it is stopped. Wall time
stands beside it, for what waits. `python tests/e2e/cpu_times.py FILE [OLDER]` prints files and the slowest of each kind,
and with an older measurement the difference by file.
"""

import collections
import json
import os
import pathlib
import resource
import sys
import time

import pytest

SHOWN = 50


def used():
    """User and system seconds so far, and the time."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages), time.monotonic()


class CpuTimes:
    """Writes lines of JSON, each by one call: workers share the file."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.inside = [0.0]  # what was counted by something further in

    def measure(self, kind, path, name):
        cpu, wall = used()
        self.inside.append(0.0)
        try:
            return (yield)
        finally:
            now, then = used()
            own = now - cpu - self.inside.pop()
            self.inside[-1] += now - cpu
            line = {"kind": kind, "file": pathlib.Path(path).name, "name": name, "cpu": round(own, 3), "wall": round(then - wall, 3)}
            os.write(self.file, (json.dumps(line) + "\n").encode())

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        return (yield from self.measure("import", collector.path or "", type(collector).__name__))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        return (yield from self.measure("fixture", request.path if request.scope == "function" else fixturedef.func.__code__.co_filename,
                                        fixturedef.argname))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        return (yield from self.measure("test", item.path, item.nodeid.split("::", 1)[-1]))


def load(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def by_file(lines):
    sums = collections.defaultdict(lambda: [0, 0.0, 0.0])
    for line in lines:
        entry = sums[line["file"]]
        entry[0] += line["kind"] == "test"
        entry[1] += line["cpu"]
        entry[2] += line["wall"] if line["kind"] == "test" else 0
    return sums


def main(path, older=None):
    lines = load(path)
    old = by_file(load(older)) if older else {}
    print(f"{sum(line['cpu'] for line in lines):.0f} s CPU time in {sum(line['kind'] == 'test' for line in lines)} tests")
    print("\ntests  CPU s  wall s  before  file")
    for name, (tests, cpu, wall) in sorted(by_file(lines).items(), key=lambda item: -item[1][1]):
        before = f"{old[name][1]:7.1f}" if name in old else "       "
        print(f"{tests:5} {cpu:6.1f} {wall:7.1f} {before}  {name}")
    for kind in ("test", "fixture", "import"):
        print(f"\n{kind}s: CPU s, wall s, times")
        groups = collections.defaultdict(list)
        for line in lines:
            if line["kind"] == kind:
                groups[f"{line['file']}::{line['name']}"].append(line)
        for name, group in sorted(groups.items(), key=lambda item: -sum(line["cpu"] for line in item[1]))[:SHOWN]:
            print(f"{sum(line['cpu'] for line in group):7.2f} {sum(line['wall'] for line in group):7.2f} {len(group):4}  {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
