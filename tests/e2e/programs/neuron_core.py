"""A model on a NeuronCore, through the Neuron runtime's published functions: NRT_LIBRARY names the library."""

import ctypes
import os

_nrt = ctypes.CDLL(os.environ["NRT_LIBRARY"])


def _call(name, *arguments):
    status = getattr(_nrt, name)(*arguments)
    assert status == 0, f"{name}: {status}"


def _set_of(sizes):
    """A tensor set on core 0; sizes are in bytes."""
    tensors = ctypes.c_void_p()
    _call("nrt_allocate_tensor_set", ctypes.byref(tensors))
    for name, size in sizes.items():
        tensor = ctypes.c_void_p()
        _call("nrt_tensor_allocate", 0, 0, ctypes.c_size_t(size), name.encode(), ctypes.byref(tensor))
        _call("nrt_add_tensor_to_tensor_set", tensors, name.encode(), tensor)
    return tensors


class Model:
    """Loaded onto core 0; call it to execute it."""

    def __init__(self, path, inputs, outputs):
        with open(path, "rb") as file:
            neff = file.read()
        self._model = ctypes.c_void_p()
        _call("nrt_load", neff, ctypes.c_size_t(len(neff)), 0, 1, ctypes.byref(self._model))
        self._inputs, self._outputs = _set_of(inputs), _set_of(outputs)

    def __call__(self):
        _call("nrt_execute", self._model, self._inputs, self._outputs)


def open_cores():
    _call("nrt_init", 1, b"", b"")


def close_cores():
    _nrt.nrt_close()
