"""The Python package as users have it: the wheel, built from this folder and installed into a new environment. Its path has a space
in it, the packages of the tests can be imported there, and nothing of the source folder or its build can.

Run as a program, it makes the environment unless it is up to date, and prints the path of its Python.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import itertools
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "wheel-test"
BUILD = FOLDER / "build"
ENVIRONMENT = FOLDER / "an environment"
PYTHON = ENVIRONMENT / "bin" / "python"
PACKAGE = ENVIRONMENT / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def missing():
    """What the wheel cannot be built without, or None."""
    if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python's headers are not installed"
    if importlib.util.find_spec("scikit_build_core") is None:
        return "scikit-build-core is not installed"
    return None


def clean_environment(**variables):
    """The variables of this process but those by which Python or the package would find files elsewhere."""
    kept = {name: value for name, value in os.environ.items() if name != "KYMO" and not name.startswith(("KYMO_", "PYTHON"))}
    return {**kept, **variables}


def make():
    """Builds and installs the wheel, once for all processes of the tests, and again when what it is made of has changed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    stamp = FOLDER / "stamp"
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = _state_of_inputs()
        if stamp.exists() and stamp.read_text() == state:
            return
        stamp.unlink(missing_ok=True)
        install(build(), ENVIRONMENT)
        (PACKAGE / "packages_of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
        stamp.write_text(state)


def wheel():
    """The file that was installed."""
    [path] = FOLDER.glob("kymo-*.whl")
    return path


def build():
    for old in FOLDER.glob("kymo*.whl"):
        old.unlink()
    result = subprocess.run([ROOT / "scripts" / "wheel.sh", FOLDER, f"--config-settings=build-dir={BUILD}"], text=True,
                            capture_output=True, timeout=900, env={**os.environ, **_reuse_of_release(), "PYTHON": sys.executable})
    if result.returncode != 0:
        raise RuntimeError(f"the wheel cannot be built: {result.stderr}")
    return wheel()


def install(path, environment, python=sys.executable):
    """Into a new environment, which has no pip of its own: that of the tests serves it. A path, or a name with what it depends on."""
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run([python, "-m", "venv", "--without-pip", environment], check=True)
    pip(environment, "install", "--no-compile", "--no-index", "--find-links", FOLDER, path)


def pip(environment, command, *arguments):
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", environment / "bin" / "python",
                    command, *arguments], check=True, env=clean_environment())


@contextlib.contextmanager
def importable():
    """Lets this process import the package, which then finds its own program and libraries."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("KYMO", "KYMO_LIBRARY_DIR"):
            patch.delenv(name, raising=False)
        patch.syspath_prepend(PACKAGE)
        yield


def _state_of_inputs():
    """Changes with each file that the wheel is made of. The release build stands for the sources in C."""
    files = [ROOT / "pyproject.toml", ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*"), *_python_files(), ROOT / "scripts" / "wheel.sh",
             ROOT / "bin" / "kymo", *ROOT.glob("lib/lib*.so*"), *ROOT.glob("lib/kymo/python/kymo/*.so"), pathlib.Path(__file__)]
    facts = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(files) if file.exists()]
    return hashlib.sha256(json.dumps([sys.version, sys.prefix, facts]).encode()).hexdigest()


def _python_files():
    return (file for file in ROOT.glob("python/**/*.*") if file.parent.name != "__pycache__")


def _reuse_of_release():
    """Environment in which objects that the release build has are not compiled again: nearly all. What it generates (queries) is the same in both."""
    release = ROOT / "build" / "release"
    if not (release / "compile_commands.json").exists():
        return {}
    commands = ROOT / "build" / "release-commands.txt"
    with open(commands, "w") as file:
        for entry in json.loads((release / "compile_commands.json").read_text()):
            words = itertools.dropwhile(lambda word: not word.startswith("-"), shlex.split(entry["command"]))
            print(*(word.replace(f"-I{release}", f"-I{BUILD}") for word in words if word != "-Werror"), file=file)
    return {"CMAKE_C_COMPILER_LAUNCHER": str(ROOT / "tests" / "tools" / "reuse_object.sh"),
            "REUSED_BUILD": str(release), "REUSED_COMMANDS": str(commands)}


if __name__ == "__main__":
    make()
    print(PYTHON)
