"""The server of kymo.profiler.start_server: libkymo-server, loaded when it is used."""

from __future__ import annotations

import errno
import os
import threading
from typing import Any

from kymo import _kymo
from kymo.data import _fields

_lock = threading.Lock()
_server: Server | None = None


class Server:
    """A server that runs; its port."""

    def __init__(self, library: Any, port: int, hooks: Any) -> None:
        self._library = library
        self._hooks = hooks  # functions that the library calls
        self.port = port

    def __repr__(self) -> str:
        return f"<kymo profiler server on port {self.port}>"


def start(port: int, requires_backend: bool) -> Server:
    import ctypes
    import sys
    from kymo import _program
    global _server
    with _lock:
        if _server is not None:
            raise ValueError("Only one profiler server can be active at a time.")
        path = _program.library("libkymo-server.so") or _program.library("libkymo-server.so.0")
        if path is None:
            raise RuntimeError("libkymo-server.so, which serves profiles, is not installed")
        jax = sys.modules.get("jax")
        if requires_backend and jax is not None and hasattr(jax, "devices"):
            jax.devices()  # as jax.profiler.start_server: what is captured includes devices
        library = ctypes.CDLL(path)
        hooks = _hooks(ctypes)
        library.kymo_serve_hooks(*hooks)
        taken = library.kymo_serve(None, ctypes.c_uint(port))
        if taken == -errno.EALREADY:
            raise ValueError("Only one profiler server can be active at a time.")
        if taken < 0:
            raise OSError(-taken, f"cannot serve on port {port}: {os.strerror(-taken)}")
        _server = Server(library, taken, hooks)
        return _server


def stop() -> None:
    global _server
    with _lock:
        if _server is None:
            raise ValueError("No active profiler server.")
        _server._library.kymo_serve_stop()
        _server._library.kymo_serve_hooks(None, None)
        _server = None


_PYTHON_TRACER_LEVEL = 4  # of tensorflow.ProfileOptions


def _hooks(ctypes: Any) -> Any:
    """Called by the server after a capture has begun and before it ends: Python's functions are recorded if the client wants
    them."""
    has_frames = False

    def begin(options: int | None, size: int) -> None:
        nonlocal has_frames
        fields = dict(_fields(memoryview(ctypes.string_at(options, size) if options else b"")))
        has_frames = fields.get(_PYTHON_TRACER_LEVEL, 0) > 0
        if has_frames:
            _kymo.trace_frames(level=2, exclude=("kymo",))

    def end() -> None:
        nonlocal has_frames
        if has_frames:
            has_frames = False
            _kymo.stop_frames()
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(begin), ctypes.CFUNCTYPE(None)(end)
