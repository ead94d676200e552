"""The server of kymo.profiler.start_server: libkymo-server, loaded on first use."""

from __future__ import annotations

import errno
import os
import sys
import threading
from typing import Any

from kymo import _kymo
from kymo._options import ProfileOptions
from kymo.data import _fields

_lock = threading.Lock()
_server: Server | None = None


class Server:
    """A running server and its port."""

    def __init__(self, library: Any, port: int, hooks: Any) -> None:
        self._library = library
        self._hooks = hooks  # functions that the library calls
        self.port = port

    def __repr__(self) -> str:
        return f"<kymo profiler server on port {self.port}>"


def start(port: int, requires_backend: bool) -> Server:
    import ctypes
    from kymo import _program
    global _server
    with _lock:
        if _server is not None:
            raise ValueError("Only one profiler server can be active at a time.")
        path = _program.library("libkymo-server.so")
        if path is None:
            raise RuntimeError("libkymo-server.so, which serves profiles, is not installed")
        jax = sys.modules.get("jax")
        if requires_backend and jax is not None and hasattr(jax, "devices"):
            jax.devices()  # as jax.profiler.start_server: what is captured includes devices
        library = ctypes.CDLL(path)
        functions, jax_session = _functions(ctypes), _jax_session(ctypes)
        library.kymo_serve_hooks(*functions)
        library.kymo_serve_merged(*jax_session)
        taken = library.kymo_serve(None, ctypes.c_uint(port))
        if taken == -errno.EALREADY:
            raise ValueError("Only one profiler server can be active at a time.")
        if taken < 0:
            raise OSError(-taken, f"cannot serve on port {port}: {os.strerror(-taken)}")
        _server = Server(library, taken, (functions, jax_session))
        return _server


def stop() -> None:
    global _server
    with _lock:
        if _server is None:
            raise ValueError("No active profiler server.")
        _server._library.kymo_serve_stop()
        _server._library.kymo_serve_hooks(None, None)
        _server._library.kymo_serve_merged(None, None)
        _server = None


# Fields of tensorflow.ProfileOptions.
_PYTHON_TRACER_LEVEL, _VERSION = 4, 5
_FLAGS = {1: "include_dataset_ops", 7: "enable_hlo_proto"}
_LEVELS = {2: ("host_tracer_level", 3), 3: ("device_tracer_level", 1)}


def _read_options(ctypes: Any, options: int | None, size: int) -> dict[int, Any]:
    return dict(_fields(memoryview(ctypes.string_at(options, size) if options else b"")))


def _functions(ctypes: Any) -> tuple[Any, Any]:
    """Called by the server after a capture starts and before it ends: Python's functions are recorded if the client wants
    them."""
    has_frames = False

    def begin(options: int | None, size: int) -> None:
        nonlocal has_frames
        has_frames = _read_options(ctypes, options, size).get(_PYTHON_TRACER_LEVEL, 0) > 0
        if has_frames:
            _kymo.trace_frames(level=2, exclude=("kymo",))

    def end() -> None:
        nonlocal has_frames
        if has_frames:
            has_frames = False
            _kymo.stop_frames()
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(begin), ctypes.CFUNCTYPE(None)(end)


def _jax_session(ctypes: Any) -> tuple[Any, Any]:
    """Called by the server before a capture begins and after it has ended: JAX's own profiler records where JAX has been
    imported."""
    session: Any = None

    def begin(options: int | None, size: int) -> None:
        nonlocal session
        if "jax" not in sys.modules:
            return
        from kymo import _jax
        chosen = _jax_options(_read_options(ctypes, options, size))
        session = _jax.start(chosen, with_gpu=chosen.device_tracer_level > 0)

    def end(path: bytes | None) -> None:
        nonlocal session
        ended, session = session, None
        if ended is None:
            return
        space = ended.stop()
        if path is not None:
            with open(path, "wb") as file:
                file.write(space)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(begin), ctypes.CFUNCTYPE(None, ctypes.c_char_p)(end)


def _jax_options(fields: dict[int, Any]) -> ProfileOptions:
    """What the client has set; without a version, the defaults."""
    options = ProfileOptions()
    if fields.get(_VERSION, 0) == 0:
        return options
    for number, (name, most) in _LEVELS.items():
        setattr(options, name, min(fields.get(number, 0), most))
    for number, name in _FLAGS.items():
        setattr(options, name, bool(fields.get(number, 0)))
    return options
