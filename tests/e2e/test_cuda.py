"""libkymo-cuda in a program whose driver, CUPTI and NVTX are stand-ins: what they play is what the capture says."""

import os
import pathlib
import subprocess
import time

import pytest

import cuda_model
import schema
from conftest import ROOT
from cuda_model import KERNEL, Trace, line
from test_nrt import sources

MOCKS = ROOT / "tests" / "cuda"
SANITIZERS = {"address": "address,undefined", "thread": "thread"}
VERSION = 130001


class Machine:
    """A folder with the libraries of a machine that has a GPU, and the program to run on it."""

    def __init__(self, folder, sanitizer=None):
        self.folder, self.is_sanitized = folder, bool(sanitizer)
        flags = ["-O1", "-g", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Werror", "-fPIC", f"-I{ROOT / 'include'}", "-pthread"]
        if sanitizer:
            flags += [f"-fsanitize={SANITIZERS[sanitizer]}", "-fno-sanitize-recover=all", "-fno-sanitize=function"]
        self.compiler = ["clang" if sanitizer else "cc", *flags]
        self.compile("libcuda.so.1", "-shared", MOCKS / "mock_cuda.c")
        self.compile("libcupti.so.13", "-shared", MOCKS / "mock_cupti.c")
        self.compile("player", MOCKS / "player.c", MOCKS / "nvtx_client.c")
        if sanitizer:
            self.library = self.compile(
                "libkymo-cuda.so", "-shared", "-fvisibility=hidden", f"-I{ROOT / 'src'}", *sources("cuda", "record", "events"),
                *(ROOT / "src" / "base" / name for name in ("error.c", "hash.c")))
        else:
            self.library = ROOT / "lib" / "libkymo-cuda.so"

    def compile(self, target, *arguments):
        subprocess.run([*self.compiler, *arguments, "-o", self.folder / target], check=True)
        return self.folder / target

    def environment(self, out, **variables):
        plain = {name: value for name, value in os.environ.items()
                 if not name.startswith(("NEURON_", "KYMO_", "LD_", "MOCK_", "CUDA_", "NVTX_"))}
        return plain | {"NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(out),
                        "KYMO_INSTANCE_ID": "i-0test", "LD_LIBRARY_PATH": str(self.folder),
                        "CUDA_INJECTION64_PATH": str(self.library), "NVTX_INJECTION64_PATH": str(self.library),
                        "TSAN_OPTIONS": f"suppressions={ROOT / 'tests' / 'tsan.supp'}", **variables}

    def start(self, out, script, **variables):
        out.mkdir(exist_ok=True)
        file = out.parent / f"{out.name}.script"
        file.write_text("\n".join(script) + "\n")
        return subprocess.Popen([self.folder / "player", file], env=self.environment(out, **variables), text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def play(self, out, script, code=0, **variables):
        """Runs it to its end: what it wrote to standard output and standard error."""
        process = self.start(out, script, **variables)
        output, errors = process.communicate(timeout=100)
        assert process.returncode == code, errors
        return output, errors


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module", params=[None, *SANITIZERS])
def any_machine(request, tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("machine"), request.param)


def sessions(out):
    return sorted(path for path in out.iterdir() if path.is_dir())


def only_trace(out):
    (session,) = sessions(out)
    return Trace(session / "gpu_trace.pb")


def kernel(number, version=VERSION, **values):
    start = 10**15 + 1000 * number
    return line("kernel", version, "k", **{"start": start, "end": start + 500, "correlation": number, **values})


# ---- Records ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [18, 22, 24, 28, 130001, 130202, 130401])
def test_every_record_of_every_version_is_in_the_file(machine, tmp_path, version):
    script, played = cuda_model.random_script(version, 3000, version)
    output, errors = machine.play(tmp_path / "out", ["init", *script], MOCK_CUPTI_VERSION=str(version),
                                  KYMO_GPU_DETAIL="graph")
    assert (output, errors) == ("", "")
    trace = only_trace(tmp_path / "out")
    assert trace.lost == 0
    for what, records in played.items():
        assert trace.found(what) == records, what
