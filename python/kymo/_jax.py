"""JAX's own profiler session beside Kymo's recording: what XLA reports about its execution, its programs and its devices.

jaxlib has no public way to start a session; if the private one is missing, a warning says what is not recorded.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from typing import Any

from kymo._options import GPU_KEYS, JAX_GPU_KEYS, KYMO_KEYS, ProfileOptions

_WORD = (1 << 64) - 1


class Session:
    """A running session; stop() ends it."""

    def __init__(self, session: Any, profiler: Any, threads: dict[int, int]) -> None:
        self._session = session
        self._profiler = profiler
        self._threads = threads
        self._start_thread = threading.Thread.start
        threading.Thread.start = self._noted_start()  # type: ignore[method-assign]

    def _noted_start(self) -> Any:
        """Threads that have ended when the session does are known from their start."""
        start, threads = self._start_thread, self._threads

        def noted_start(thread: threading.Thread) -> None:
            start(thread)
            _note(thread, threads)
        return noted_start

    def stop(self) -> bytes:
        """The capture, a serialized XSpace whose lines have the ids of threads as the system knows them."""
        threading.Thread.start = self._start_thread  # type: ignore[method-assign]
        _note_threads(self._threads)
        try:
            space: bytes = self._session.stop()
        finally:
            _call(self._profiler, "clear_metadata")
        return rename_lines(space, self._threads)


def start(options: ProfileOptions, with_gpu: bool) -> Session | None:
    """Starts a session if JAX has been imported; None if it has not, or if starting fails."""
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "devices"):
        return None
    try:
        profiler = profiler_of_jaxlib()
        jax.devices()  # TPUs are not recorded by a session that begins before their runtime
        ours = profiler.ProfileOptions()
        ours.python_tracer_level = 0  # Kymo records Python's functions
        for name in ("host_tracer_level", "include_dataset_ops", "enable_hlo_proto", "start_timestamp_ns", "duration_ms",
                     "raise_error_on_start_failure", "repository_path", "session_id"):
            if hasattr(ours, name):
                setattr(ours, name, getattr(options, name))
        configuration = {key: value for key, value in options.advanced_configuration.items()
                         if key not in KYMO_KEYS and (key not in GPU_KEYS or with_gpu and key in JAX_GPU_KEYS)}
        if not with_gpu and not _leave_gpu_out(ours, configuration) and options.device_tracer_level > 0 and _has_gpu(jax):
            raise RuntimeError(f"JAX {jax.__version__} cannot leave GPUs to Kymo; remove kymo_gpu, or use JAX 0.6.2 or later")
        _configure(ours, configuration, jax.__version__)
        _set_metadata(jax, profiler)
        threads: dict[int, int] = {}
        _note_threads(threads)
        return Session(_session(profiler, ours), profiler, threads)
    except Exception as problem:  # of a private interface, anything may have changed
        if options.raise_error_on_start_failure:
            raise
        warnings.warn(f"kymo: JAX's own profiler did not start, so XLA's events and programs are not recorded: {problem}",
                      RuntimeWarning, stacklevel=4)
        return None


def _session(profiler: Any, options: Any) -> Any:
    """Without Kymo's own plug-in in JAX (jax_plugin.py), which would record the same."""
    before = os.environ.get("KYMO_JAX_PLUGIN")
    os.environ["KYMO_JAX_PLUGIN"] = "0"
    try:
        return profiler.ProfilerSession(options)
    finally:
        if before is None:
            del os.environ["KYMO_JAX_PLUGIN"]
        else:
            os.environ["KYMO_JAX_PLUGIN"] = before


def profiler_of_jaxlib() -> Any:
    try:
        from jaxlib import _profiler
        return _profiler
    except ImportError:
        from jaxlib import xla_extension  # before jaxlib 0.7
        return xla_extension.profiler


def needs_own_gpu_tracer() -> bool:
    """Whether JAX's session is on a GPU and cannot do without its tracer: jaxlib may have no switch for it, and without the
    tracer all that the library of the device says, XLA's events and programs, is missing."""
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "devices"):
        return False
    try:
        return _has_gpu(jax) and not hasattr(profiler_of_jaxlib().ProfileOptions(), "device_tracer_level")
    except Exception:  # no devices, or no profiler: start() says so
        return False


def _has_gpu(jax: Any) -> bool:
    return any(device.platform in ("gpu", "cuda") for device in jax.devices())


def _leave_gpu_out(options: Any, configuration: dict[str, Any]) -> bool:
    """CUPTI serves one profiler at a time. Versions of jaxlib without a switch start no tracer of GPUs when there is a key it
    does not know; False when this one takes no keys either."""
    if hasattr(options, "device_tracer_level"):
        options.device_tracer_level = 0
        return True
    if not _takes_configuration(options):
        return False
    if not any(key.startswith("tpu_") for key in configuration):
        configuration["gpu_recorded_by_kymo"] = True
    return True


def _takes_configuration(options: Any) -> bool:
    return hasattr(type(options), "advanced_configuration")  # of the object, jaxlib 0.6 and 0.7 cannot read it


def _configure(options: Any, configuration: dict[str, Any], version: str) -> None:
    if _takes_configuration(options):
        options.advanced_configuration = configuration
    elif configuration:
        warnings.warn(f"kymo: JAX {version} has no advanced_configuration, so its profiler runs without {', '.join(configuration)}; "
                      "JAX 0.6.2 and later have it", RuntimeWarning, stacklevel=5)


def _call(profiler: Any, name: str, *arguments: Any) -> None:
    function = getattr(profiler, name, None)
    if function is not None:
        function(*arguments)


def _set_metadata(jax: Any, profiler: Any) -> None:
    """Versions, as jax.profiler.start_trace stores them."""
    import jaxlib
    _call(profiler, "clear_metadata")
    _call(profiler, "set_metadata", "jax_version", jax.__version__)
    _call(profiler, "set_metadata", "jaxlib_version", jaxlib.__version__)
    for client in {id(device.client): device.client for device in jax.devices()}.values():
        _call(profiler, "set_metadata", f"{client.platform}_version", client.platform_version)


# ---- Threads ------------------------------------------------------------------------------------------------------------------

def _note_threads(threads: dict[int, int]) -> None:
    """What XLA may call the threads of Python that are there: their ids in the system, or a hash of those of pthreads."""
    for thread in threading.enumerate():
        _note(thread, threads)


def _note(thread: threading.Thread, threads: dict[int, int]) -> None:
    native = thread.native_id
    if thread.ident is not None and native is not None:
        name = _hash(thread.ident)
        threads[name] = threads[name & 0xFFFFFFFF] = native  # jaxlib 0.4.30 has 32 bits of it


def _hash(ident: int) -> int:
    """std::hash<std::thread::id> of libstdc++: MurmurHash 2 for 64 bits."""
    factor = 0xC6A4A7935BD1E995
    value = (0xC70F6907 ^ (8 * factor)) & _WORD
    part = (ident & _WORD) * factor & _WORD
    part = (part ^ (part >> 47)) * factor & _WORD
    value = (value ^ part) * factor & _WORD
    value = (value ^ (value >> 47)) * factor & _WORD
    return value ^ (value >> 47)


# ---- Wire format --------------------------------------------------------------------------------------------------------------

_PLANES, _PLANE_NAME, _LINES, _LINE_ID = 0x0A, 0x12, 0x1A, 0x08


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _WORD, at
        shift += 7


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _fields(data: memoryview) -> Any:
    """(tag, start of the field, its value: a number or bytes, its end)"""
    at = 0
    while at < len(data):
        start = at
        tag, at = _read_varint(data, at)
        kind = tag & 7
        value: Any
        if kind == 0:
            value, at = _read_varint(data, at)
        elif kind == 2:
            size, at = _read_varint(data, at)
            value = data[at:at + size]
            at += size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value = data[at:at + size]
            at += size
        else:
            raise ValueError("not an XSpace")
        yield tag, start, value, at


def _rename_line(line: memoryview, threads: dict[int, int]) -> bytes | memoryview:
    for tag, start, value, end in _fields(line):
        if tag == _LINE_ID:
            if value not in threads:
                return line
            return b"".join([line[:start], bytes([_LINE_ID]), _varint(threads[value]), line[end:]])
        if start > 0:
            break  # the id comes first
    return line


def rename_lines(space: bytes, threads: dict[int, int]) -> bytes:
    """An XSpace in which lines of the host plane have the ids of their threads."""
    data = memoryview(space)
    parts: list[Any] = []
    for tag, start, plane, end in _fields(data):
        if tag != _PLANES or not any(kind == _PLANE_NAME and name == b"/host:CPU" for kind, _, name, _ in _fields(plane)):
            parts.append(data[start:end])
            continue
        inside: list[Any] = []
        for kind, first, value, last in _fields(plane):
            if kind == _LINES:
                line = _rename_line(value, threads)
                inside += [bytes([_LINES]), _varint(len(line)), line]
            else:
                inside.append(plane[first:last])
        body = b"".join(inside)
        parts += [bytes([_PLANES]), _varint(len(body)), body]
    return b"".join(parts)
