"""Kymo inside jax.profiler: JAX finds this module by its entry point and calls initialize() when it looks for devices.

It adds no devices, only a profiler: jax.profiler sessions then also contain what Kymo records of the process: annotations
made with Kymo, samples of Python stacks, and CPU and memory use. KYMO_JAX_SAMPLE_HZ sets the sampling rate: 100 by default,
0 for no samples. KYMO_JAX_PLUGIN=0 disables Kymo.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from typing import Any

from kymo import _jax, _kymo, _program

_hooks: tuple[Any, ...] = ()  # C calls them: they must stay


def initialize() -> None:
    """Registers the profiler; if JAX does not support that, it warns and continues without."""
    if os.environ.get("KYMO_JAX_PLUGIN") == "0":
        return
    try:
        _register()
    except Exception as problem:  # of interfaces that are not documented, anything may have changed
        warnings.warn(f"kymo: jax.profiler records without Kymo: {problem}", RuntimeWarning, stacklevel=2)


def _register() -> None:
    global _hooks
    from jaxlib import xla_client
    path = _program.library("libkymo-server.so")
    if path is None:
        raise FileNotFoundError("libkymo-server.so is not in this package")
    function = ctypes.CFUNCTYPE(None)
    _hooks = (function(_start), function(_stop))
    ctypes.CDLL(path).kymo_profiler_hooks(*_hooks)
    _jax.profiler_of_jaxlib().register_plugin_profiler(xla_client.load_pjrt_plugin_dynamically("kymo", path))


def _start() -> None:
    hz = float(os.environ.get("KYMO_JAX_SAMPLE_HZ") or 100)
    if hz > 0:
        _kymo.sample_stacks(hz)


def _stop() -> None:
    _kymo.stop_samples()
