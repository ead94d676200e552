"""What tests of the Python package share: programs run once with jax.profiler and once with kymo.profiler, and what jaxlib
reads in their traces."""

import atexit
import functools
import json
import os
import pathlib
import subprocess
import tempfile
import textwrap

from installed import PACKAGE, PYTHON, clean_environment

MODULES = ["jax.profiler", "kymo.profiler"]

HEAD = """
import sys
logs = sys.argv[1]
import jax
import {module} as profiler
"""


def environment(**variables):
    return clean_environment(**{"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "error::RuntimeWarning", "TF_CPP_MIN_LOG_LEVEL": "2", **variables})


def run(program, *arguments, head="", python=PYTHON, code=0, **variables):
    """Runs a program where the wheel is installed, in a folder that is not ours; it must end with this code. What it printed, on
    standard error if the code is not 0, and on both if it is None, which is 0."""
    if python != PYTHON:
        variables["PYTHONPATH"] = str(PACKAGE)  # it has other packages
    result = subprocess.run([python, "-c", head + textwrap.dedent(program), *map(str, arguments)], text=True, timeout=120,
                            capture_output=True, env=environment(**variables), cwd="/")
    assert result.returncode == (code or 0), result.stderr
    return result.stdout + result.stderr if code is None else result.stderr if code else result.stdout


# Importing JAX takes longer than most programs: one process does it, and forks for each of them before JAX has started any thread.
WITH_JAX = """
import json, os, sys
import jax
for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    os._exit(0)
for number in (0, 1, 2):
    os.dup2(os.open(asked["files"][number], os.O_RDWR), number)
sys.argv = ["-c", *asked["arguments"]]
program = asked["program"]
del json, os, sys, line, asked, child, number
exec(compile(program, "<string>", "exec"))
"""


@functools.cache
def process_with_jax():
    process = subprocess.Popen([PYTHON, "-c", WITH_JAX], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(), cwd="/")
    atexit.register(process.wait)
    atexit.register(process.stdin.close)  # first
    return process


def run_traced(module, program, logs):
    """Runs a program that traces itself with one of the modules; JAX is imported already."""
    process = process_with_jax()
    with tempfile.NamedTemporaryFile("r") as output, tempfile.NamedTemporaryFile("r") as errors:
        asked = {"program": HEAD.format(module=module) + textwrap.dedent(program), "arguments": [str(logs)],
                 "files": [os.devnull, output.name, errors.name]}
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        code = process.stdout.readline()
        assert code == "0\n", errors.read()
        return output.read()


def trace_of(logs):
    """The one trace of a log directory."""
    [path] = pathlib.Path(logs).glob("plugins/profile/*/*.xplane.pb")
    return path


def read(path):
    from jaxlib._profile_data import ProfileData
    return ProfileData.from_file(str(path))


def host_lines(path, name="/host:CPU"):
    """{line: [(name, start, end, stats)]} of the host's threads; names of threads repeat, so these are numbered."""
    plane = read(path).find_plane_with_name(name)
    found = {}
    for number, line in enumerate(plane.lines if plane is not None else []):
        found[number, line.name] = [(event.name, event.start_ns, event.end_ns, dict(event.stats)) for event in line.events]
    return found


def nesting(events, names):
    """[(depth among the chosen, name)] in order of time."""
    chosen = sorted((event for event in events if event[0] in names), key=lambda event: (event[1], -event[2]))
    open_until, found = [], []
    for name, start, end, _ in chosen:
        while open_until and open_until[-1] <= start:
            open_until.pop()
        found.append((len(open_until), name))
        open_until.append(end)
    return found
