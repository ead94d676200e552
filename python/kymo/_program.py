"""The program `kymo` and its libraries, wherever this package was installed from: a wheel has them inside, an installation
(`make install`) and the build have them beside."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class ProgramError(RuntimeError):
    """The program failed; the message is its own."""


def _above() -> list[str]:
    """The folders this one is in, the nearest first: lib/kymo/python/kymo, or lib/<machine>/kymo/python/kymo."""
    found = []
    folder = _FOLDER
    for _ in range(6):
        folder = os.path.dirname(folder)
        found.append(folder)
    return found


def program() -> str:
    """The path of the program; FileNotFoundError if it is not found."""
    named = os.environ.get("KYMO")
    if named:
        return named
    inside = os.path.join(_FOLDER, "bin", "kymo")
    if os.access(inside, os.X_OK):
        return inside
    if os.path.basename(os.path.dirname(_FOLDER)) == "python":
        for folder in _above():
            path = os.path.join(folder, "bin", "kymo")
            if os.access(path, os.X_OK) and not os.path.isdir(path):
                return path
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, "kymo")
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    raise FileNotFoundError("the program 'kymo' is neither in this package nor on PATH; set KYMO to its path")


def library(name: str) -> str | None:
    """The path of a library that comes with the program, or None."""
    folders = [os.environ.get("KYMO_LIBRARY_DIR", ""), os.path.join(_FOLDER, "lib"), os.path.join(_FOLDER, "lib", "kymo")]
    if os.path.basename(os.path.dirname(_FOLDER)) == "python":
        folders += _above()[1:3]
    for folder in folders:
        path = os.path.join(folder, name)
        if folder and os.path.exists(path):
            return path
    return None


def _without_levels(said: str, before: str = "") -> str:
    """Lines of the program's log, with `before` in place of their level and time."""
    import re
    return re.sub(r"(?m)^(?:FATA|ERRO|WARN|INFO|DEBU)\[\d+\] ", before, said)


def reason(said: str) -> str:
    """Why the program failed, in its own words."""
    return _without_levels(said[max(said.rfind("FATA["), 0):]).strip()


def run(*arguments: str, **options: Any) -> str:
    """Runs the program and returns its standard output; ProgramError with its message if it fails."""
    import subprocess
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    result = subprocess.run([program(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    said = result.stderr.decode(errors="replace").strip()
    if result.returncode != 0:
        raise ProgramError(reason(said) or f"kymo {arguments[0]} failed with {result.returncode}")
    if said and sys.stderr is not None:  # None in a program whose standard files are closed
        sys.stderr.write(_without_levels(said, "kymo: ") + "\n")
    output: str = result.stdout.decode(errors="surrogateescape")
    return output


def main() -> NoReturn:
    """`kymo` on PATH: becomes the program."""
    os.environ.pop("KYMO", None)
    os.environ.setdefault("KYMO_PYTHON", sys.executable)  # which has this package
    path = program()
    if os.path.realpath(path) == os.path.realpath(sys.argv[0]):
        sys.exit("kymo: the program is not in this package")
    os.execv(path, ["kymo", *sys.argv[1:]])
