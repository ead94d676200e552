"""Commands of Neuron's guides, run as they are written there, and a program that uses a NeuronCore from two threads."""

import json
import os
import pathlib
import subprocess

import pytest

from conftest import ROOT

INSTANCE = "i-0f207fb2a99bd2d08"
FLOPS = 2 * 64 * 32 * 16

# app.py of the guides. The second thread writes the same tensors on the same core; one of them has no name.
APP = f"""
import ctypes, threading, time
nrt = ctypes.CDLL("{ROOT / 'lib' / 'libnrt.so.1'}")
pointer = lambda: ctypes.c_void_p()
def call(name, *arguments):
    assert getattr(nrt, name)(*arguments) == 0, name
call("nrt_init", 1, b"", b"")
neff, model = open("model.neff", "rb").read(), pointer()
call("nrt_load", neff, ctypes.c_size_t(len(neff)), 0, 1, ctypes.byref(model))
def tensor(size, name):
    made = pointer()
    call("nrt_tensor_allocate", 0, 0, ctypes.c_size_t(size), name, ctypes.byref(made))
    return made
def tensors(name, tensor):
    made = pointer()
    call("nrt_allocate_tensor_set", ctypes.byref(made))
    call("nrt_add_tensor_to_tensor_set", made, name, tensor)
    return made
x, scratch = tensor(64 * 32 * 4, b"x"), tensor(4, None)
inputs, outputs = tensors(b"x", x), tensors(b"y", tensor(64 * 16 * 4, b"y"))
def write():
    call("nrt_tensor_write", x, bytes(64 * 32 * 4), ctypes.c_size_t(0), ctypes.c_size_t(64 * 32 * 4))
    call("nrt_tensor_write", scratch, bytes(4), ctypes.c_size_t(0), ctypes.c_size_t(4))
write()
other = threading.Thread(target=write)
other.start()
print(threading.get_native_id(), other.native_id)
other.join()
call("nrt_execute", model, inputs, outputs)
time.sleep(0.15)  # a sample of the CPUs needs a tenth of a second
nrt.nrt_close()
"""
MODEL = {"name": "product", "inputs": [{"name": "x", "shape": [64, 32]}], "weights": [{"name": "w", "shape": [32, 16], "value": 0.5}],
         "ops": [{"name": "y", "op": "matmul", "inputs": ["x", "w"]}], "outputs": ["y"]}


@pytest.fixture(scope="module")
def shell(kymo, tmp_path_factory):
    """Runs a line in a folder of its own, where `neuron-profile`, `neuron-explorer` and `nccom-test` are Kymo's."""
    folder = tmp_path_factory.mktemp("guide")
    compat = pathlib.Path(kymo.path).resolve().parent / "compat"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_NEURON"))}
    environment |= {"PATH": f"{compat}:{environment['PATH']}", "XDG_RUNTIME_DIR": str(folder), "KYMO_INSTANCE_ID": INSTANCE}

    def run(line):
        result = subprocess.run(["bash", "-ec", line], capture_output=True, text=True, timeout=120, cwd=folder, env=environment)
        assert result.returncode == 0, result.stdout + result.stderr
        return result

    run.folder = folder
    return run


@pytest.fixture(scope="module")
def app(shell, kymo):
    """A folder with app.py of the guides and its model; the thread ids that it printed, in `output` a capture with device profiles."""
    (shell.folder / "app.py").write_text(APP)
    (shell.folder / "model.json").write_text(json.dumps(MODEL))
    shell("neuron-profile neff build model.json -o model.neff --core v2")
    result = shell("NEURON_RT_INSPECT_ENABLE=1 NEURON_RT_INSPECT_DEVICE_PROFILE=1 NEURON_RT_INSPECT_OUTPUT_DIR=./output python3 app.py")
    assert result.stderr == ""
    return [int(word) for word in result.stdout.split()]
