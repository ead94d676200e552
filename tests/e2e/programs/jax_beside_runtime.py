"""A JAX program on the CPU that also uses the Neuron runtime and libkymo: argv has the libraries' directory."""

import ctypes
import os
import sys

import jax
import jax.numpy as jnp

BEGIN, END = 1, 2

kymo = ctypes.CDLL(f"{sys.argv[1]}/libkymo.so.0")
kymo.kymo_named_event.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
nrt = ctypes.CDLL(f"{sys.argv[1]}/libnrt.so.1")


def to_core(values):
    """Writes values to a tensor of core 0 and frees it."""
    tensor = ctypes.c_void_p()
    assert nrt.nrt_tensor_allocate(0, 0, ctypes.c_size_t(values.nbytes), b"x", ctypes.byref(tensor)) == 0
    assert nrt.nrt_tensor_write(tensor, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(0),
                                ctypes.c_size_t(values.nbytes)) == 0
    nrt.nrt_tensor_free(ctypes.byref(tensor))


assert nrt.nrt_init(1, b"", b"") == 0
square = jax.jit(lambda x: (x @ x).sum())
x = jnp.ones((64, 64))
square(x).block_until_ready()
kymo.kymo_named_event(b"warm", BEGIN, 0, None, 0)  # the first event of a thread makes its lane
kymo.kymo_named_event(b"warm", END, 0, None, 0)
with jax.profiler.trace(os.environ["NEURON_RT_INSPECT_OUTPUT_DIR"]):
    for i in range(5):
        name = f"both {i}"
        with jax.profiler.StepTraceAnnotation("train", step_num=i), jax.profiler.TraceAnnotation(name):
            kymo.kymo_named_event(name.encode(), BEGIN, 0, None, 0)
            square(x).block_until_ready()
            to_core(jax.device_get(x))
            kymo.kymo_named_event(name.encode(), END, 0, None, 0)
nrt.nrt_close()
