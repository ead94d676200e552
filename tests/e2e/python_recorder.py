"""Python programs that record themselves with kymo._kymo, and what is in their recordings."""

import json
import os
import pathlib
import re
import subprocess
import sys

from installed import PACKAGE

# Loads the extension without the rest of the package, which has tests of its own.
LOAD = f"""
import importlib.machinery, importlib.util, sys
sys.dont_write_bytecode = True
_loader = importlib.machinery.ExtensionFileLoader("kymo._kymo", {str(PACKAGE / "kymo" / "_kymo.abi3.so")!r})
_kymo = importlib.util.module_from_spec(importlib.util.spec_from_loader("kymo._kymo", _loader))
_loader.exec_module(_kymo)
"""


def interpreters():
    """The tests' own, and one of each other version from 3.9 on that is installed."""
    places = [pathlib.Path("/usr/bin"), pathlib.Path("/usr/local/bin"), *pathlib.Path.home().glob(".pyenv/versions/*/bin")]
    found = {sys.version_info[:2]: sys.executable}
    for path in sorted(p for place in places for p in place.glob("python3.*")):
        version = re.fullmatch(r"python3\.(\d+)", path.name)
        if version and int(version[1]) >= 9:
            found.setdefault((3, int(version[1])), str(path))
    return [found[key] for key in sorted(found, key=lambda key: (key != sys.version_info[:2], key))]


def run_python(interpreter, program, *arguments, code=0, **environment):
    """What the program, a file, prints; code None: whatever is on standard error."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("KYMO_", "NEURON_", "PYTHON"))}
    result = subprocess.run([interpreter, str(program), *map(str, arguments)], env={**clean, **environment}, text=True,
                            capture_output=True, timeout=120)
    assert result.returncode == (code or 0), (result.returncode, result.stderr[-3000:])
    assert result.stderr == "" or code != 0, result.stderr
    return result.stdout


class Recording:
    """The events of a recording by track, as (start, end, name, args), times in ps."""

    def __init__(self, kymo, directory, is_full=False):
        """is_full: the rings are too small for the program, and the command says that events were dropped."""
        self.document = kymo.document(directory, *(["--log-level", "error"] if is_full else []))
        assert any("trace events were dropped" in message["text"] for message in self.document["messages"]) == is_full
        self.names = {t["track"]: t["name"] for t in self.document["tracks"]}
        self.events = {}
        for event in self.document["trace_events"]:
            self.events.setdefault(self.names[event["track"]], []).append(
                (event["start_ps"], event["start_ps"] + event["duration_ps"], event["name"], event.get("args", {})))
        for events in self.events.values():
            events.sort(key=lambda e: (e[0], -e[1]))

    def forest(self, track, wanted=lambda name: True):
        """Calls as [name, [calls within]]; those that are not wanted are left out, not what is within them."""
        roots = []
        open_calls = []
        for start, end, name, _ in self.events.get(track, []):
            while open_calls and open_calls[-1][0] <= start:
                open_calls.pop()
            assert not open_calls or end <= open_calls[-1][0], f"{name} ends behind the call it is in"
            inside = open_calls[-1][1] if open_calls else roots
            if wanted(name):
                node = [name, []]
                inside.append(node)
                inside = node[1]
            open_calls.append((end, inside))
        return roots


def json_line(text):
    return json.loads(text.strip().splitlines()[-1])
