"""Kymo inside jax.profiler: found by JAX through the entry point `jax_plugins`, it adds to each profile what Kymo records while
JAX's session runs: samples of Python's stacks, utilisation of the CPUs, memory. No device appears, and nothing else changes.

KYMO_JAX_SAMPLE_HZ is the rate of the samples: 100 unless it is set, 0 for none. KYMO_JAX_PLUGIN=0 leaves Kymo out.
"""

from __future__ import annotations

import os
from typing import Any, Iterator, Optional

# Planes of a session that JAX writes itself.
_LEFT_OUT = {b"Task Environment", b"/host:metadata"}
_HOST = b"/host:CPU"


class _Session:
    """What is recorded while a session of JAX runs. Nothing when Kymo records already, as in kymo.profiler."""

    def __init__(self) -> None:
        self.folder: Optional[str] = None
        self.directory: Optional[str] = None

    def start(self) -> None:
        import tempfile

        from kymo import _kymo
        if self.folder is not None or _kymo.is_recording() or os.environ.get("KYMO_JAX_PLUGIN") == "0":
            return
        hz = float(os.environ.get("KYMO_JAX_SAMPLE_HZ") or 100)
        self.folder = tempfile.mkdtemp(prefix="kymo-jax-")
        try:
            _kymo.start(self.folder, cpu_util_ms=100, host_memory_ms=100)
            if hz > 0:
                _kymo.sample_stacks(hz)
        except BaseException:
            self.remove()
            raise

    def stop(self) -> None:
        from kymo import _kymo
        if self.folder is not None and self.directory is None and _kymo.is_recording():
            self.directory = _kymo.stop()

    def collect(self) -> bytes:
        """The recording as a serialized XSpace."""
        if self.directory is None or self.folder is None:
            return b""
        import subprocess

        from kymo import _program
        path = os.path.join(self.folder, "out.xplane.pb")
        try:
            done = subprocess.run([_program.program(), "convert", self.directory, path, "--log-level", "error"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if done.returncode != 0:
                raise RuntimeError(done.stderr.decode(errors="replace").strip())
            with open(path, "rb") as file:
                return planes_beside_jax(file.read())
        finally:
            self.remove()

    def remove(self) -> None:
        import shutil
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = self.directory = None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _fields(data: bytes) -> Iterator[tuple[int, bytes, bytes, int]]:
    """Of a message: number, the whole field, what is in it if it is text or a message, and its value if it is a number."""
    at = 0
    while at < len(data):
        begin = at
        tag, at = _varint(data, at)
        kind = tag & 7
        size = {1: 8, 5: 4}.get(kind, 0)
        value = 0
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
        yield tag >> 3, data[begin:at + size], data[at:at + size] if kind == 2 else b"", value
        at += size


def _text(data: bytes, wanted: int) -> bytes:
    return next((text for number, _, text, _ in _fields(data) if number == wanted), b"")


def _number(data: bytes, wanted: int) -> int:
    return next((value for number, _, _, value in _fields(data) if number == wanted), 0)


def _message(number: int, content: bytes) -> bytes:
    return _encoded(number << 3 | 2) + _encoded(len(content)) + content


def _start_ns(planes: list[bytes]) -> int:
    """The moment that times are relative to, since the epoch."""
    for plane in planes:
        if _text(plane, 2) != b"Task Environment":
            continue
        names = {_text(_text(entry, 2), 2): _number(entry, 1) for number, _, entry, _ in _fields(plane) if number == 5}
        for number, _, stat, _ in _fields(plane):
            if number == 6 and _number(stat, 1) == names.get(b"profile_start_time"):
                return _number(stat, 3)
    return 0


def planes_beside_jax(space: bytes) -> bytes:
    """The planes of an XSpace under names that JAX's have not, as planes of one name would be merged, with times since the epoch,
    which JAX makes relative to its own start."""
    planes = [plane for number, _, plane, _ in _fields(space) if number == 1]
    start_ns = _start_ns(planes)
    out = []
    for plane in planes:
        name = _text(plane, 2)
        if name in _LEFT_OUT:
            continue
        if name.startswith(_HOST):
            name = _HOST + b" (Kymo)" + name[len(_HOST):]
        parts = [_message(2, name)]
        for number, whole, content, _ in _fields(plane):
            if number == 3:
                # A later value of a field replaces an earlier one.
                parts.append(_message(3, content + b"\x18" + _encoded(_number(content, 3) + start_ns)))
            elif number != 2:
                parts.append(whole)
        out.append(_message(1, b"".join(parts)))
    return b"".join(out)


def initialize() -> None:
    """JAX calls it when it looks for devices; registers a profiler and no device."""
    if os.environ.get("KYMO_JAX_PLUGIN") == "0":
        return
    from kymo import _kymo
    profiler = _profiler_of_jaxlib()
    if profiler is not None:
        session = _Session()
        profiler.register_plugin_profiler(_kymo.pjrt_profiler(session.start, session.stop, session.collect))


def _profiler_of_jaxlib() -> Any:
    """jaxlib has no public name for it; None where it has moved: then profiles are as they are without Kymo."""
    try:
        from jax._src.lib import _profiler  # jaxlib 0.8 and later
        return _profiler if hasattr(_profiler, "register_plugin_profiler") else None
    except ImportError:
        pass
    try:
        from jax._src.lib import xla_client
        profiler = xla_client.profiler
        return profiler if hasattr(profiler, "register_plugin_profiler") else None
    except (ImportError, AttributeError):
        return None
