"""The server of kymo.profiler.start_server: libkymo-server, loaded when it is used."""

from __future__ import annotations

import errno
import os
import threading
from typing import Any

_lock = threading.Lock()
_server: Server | None = None


class Server:
    """A server that runs; its port."""

    def __init__(self, library: Any, port: int) -> None:
        self._library = library
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
        path = _program.library("libkymo-server.so")
        if path is None:
            raise RuntimeError("libkymo-server.so, which serves profiles, is not installed")
        jax = sys.modules.get("jax")
        if requires_backend and jax is not None and hasattr(jax, "devices"):
            jax.devices()  # as jax.profiler.start_server: what is captured includes devices
        library = ctypes.CDLL(path)
        taken = library.kymo_serve(None, ctypes.c_uint(port))
        if taken == -errno.EALREADY:
            raise ValueError("Only one profiler server can be active at a time.")
        if taken < 0:
            raise OSError(-taken, f"cannot serve on port {port}: {os.strerror(-taken)}")
        _server = Server(library, taken)
        return _server


def stop() -> None:
    global _server
    with _lock:
        if _server is None:
            raise ValueError("No active profiler server.")
        _server._library.kymo_serve_stop()
        _server = None
