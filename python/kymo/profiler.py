"""Recording from Python, with the names, arguments and results of jax.profiler.

>>> import kymo.profiler as profiler
>>> with profiler.trace("/tmp/profile-data"):                        # doctest: +SKIP
...     for step in range(10):
...         with profiler.StepTraceAnnotation("train", step_num=step):
...             train_step()

XProf and TensorBoard read the log directory, and `kymo view` opens it. JAX is not needed; if it has been imported,
the trace includes what XLA records.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, Iterator, TypeVar, cast

from kymo import _kymo, _program
from kymo._kymo import StepTraceAnnotation, TraceAnnotation
from kymo._options import DEVICE_PROFILES, GPU_DEFAULTS, GPU_KEYS, JAX_GPU_KEYS, ProfileOptions, options_of

if TYPE_CHECKING:
    from kymo._jax import Session
    from kymo.data import ProfileData, ProfileEvent, ProfileLine, ProfilePlane

__all__ = [
    "ProfileData", "ProfileEvent", "ProfileLine", "ProfileOptions", "ProfilePlane", "StepTraceAnnotation", "TraceAnnotation",
    "annotate_function", "device_memory_profile", "save_device_memory_profile", "start_server",
    "start_trace", "stop_server", "stop_trace", "trace",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Trace:
    """The running trace."""

    def __init__(self, log_dir: str, options: ProfileOptions, create_link: bool, create_perfetto: bool) -> None:
        self.log_dir = log_dir
        self.options = options
        self.create_link = create_link
        self.create_perfetto = create_perfetto
        self.folder = ""  # of the recording, until it is converted
        self.jax: Session | None = None
        self.has_frames = self.has_samples = False


_lock = threading.Lock()
_running: _Trace | None = None
_watches_exit = False


def start_trace(log_dir: os.PathLike[str] | str, create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
                profiler_options: ProfileOptions | None = None) -> None:
    """Starts a trace; stop_trace() ends it and writes it to the log directory.

    Args:
      log_dir: where XProf, TensorBoard and Kymo look for traces; it is created if missing.
      create_perfetto_link: stop_trace() also serves the trace on a local page, and waits until you end it.
      create_perfetto_trace: stop_trace() also writes ``perfetto_trace.pftrace``.
      profiler_options: what to record; jax.profiler's options work, too.

    Raises:
      RuntimeError: a trace is running.

    >>> start_trace("/tmp/profile-data")                             # doctest: +SKIP
    >>> y = train_step()                                             # doctest: +SKIP
    >>> stop_trace()                                                 # doctest: +SKIP
    """
    global _running
    with _lock:
        if _running is not None:
            raise RuntimeError("Profile has already been started. Only one profile may be run at a time.")
        folder = os.fspath(log_dir)
        if "://" in folder:
            raise ValueError(f"log_dir must be a local folder, not {folder!r}")
        _program.program()  # what converts the recording: missed now rather than after it
        started = _Trace(os.path.abspath(folder), options_of(profiler_options), bool(create_perfetto_link),
                         bool(create_perfetto_trace))
        _begin(started)
        _running = started
        _watch_exit()


def stop_trace() -> None:
    """Ends the trace and writes ``plugins/profile/<run>/<host>.xplane.pb`` in the log directory.

    Raises:
      RuntimeError: no trace is running, or it could not be converted; the recording is then kept, and the message says where.
    """
    global _running
    with _lock:
        if _running is None:
            raise RuntimeError("No profile started")
        ended, _running = _running, None
        path = _end(ended)
    if ended.create_link:
        _show(path)


@contextmanager
def trace(log_dir: os.PathLike[str] | str, create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
          profiler_options: ProfileOptions | None = None) -> Iterator[None]:
    """Traces the block inside it; arguments as for start_trace().

    >>> with trace("/tmp/profile-data"):                             # doctest: +SKIP
    ...     train_step()
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


def annotate_function(func: _Function, name: str | None = None, **decorator_kwargs: Any) -> _Function:
    """Wraps a function or coroutine so that its calls become events of the trace, with the keyword arguments as their args.

    >>> @annotate_function
    ... def load(path):
    ...     return path
    >>> load("a")
    'a'
    >>> from functools import partial
    >>> @partial(annotate_function, name="save", kind="checkpoint")
    ... def store(path):
    ...     return path
    """
    label = name or getattr(func, "__qualname__", None) or func.__name__
    is_coroutine = getattr(getattr(func, "__code__", None), "co_flags", 0) & 0x80
    if is_coroutine:
        @wraps(func)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with TraceAnnotation(label, **decorator_kwargs):
                return await func(*args, **kwargs)
    else:
        @wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with TraceAnnotation(label, **decorator_kwargs):
                return func(*args, **kwargs)
    return cast(_Function, wrapper)


def device_memory_profile(backend: str | None = None) -> bytes:
    """What JAX holds in device memory, in pprof format; same as jax.profiler.device_memory_profile."""
    try:
        import jax.profiler
    except ImportError:
        raise RuntimeError("device memory profiles need JAX, which is not installed") from None
    profile: bytes = jax.profiler.device_memory_profile(backend)
    return profile


def save_device_memory_profile(filename: os.PathLike[str] | str, backend: str | None = None) -> None:
    """Writes device_memory_profile() to a file."""
    profile = device_memory_profile(backend)
    with open(filename, "wb") as file:
        file.write(profile)


# ---- Recording ----------------------------------------------------------------------------------------------------------------

def _begin(started: _Trace) -> None:
    import tempfile
    options = started.options
    configuration = _configuration_of(options)
    os.makedirs(started.log_dir, exist_ok=True)
    started.folder = tempfile.mkdtemp(prefix=".kymo-", dir=started.log_dir)
    library = _cuda_library(configuration) if options.device_tracer_level > 0 else None
    try:
        if "jax" in sys.modules:
            from kymo import _jax
            started.jax = _jax.start(options, with_gpu=options.device_tracer_level > 0 and library is None)
        _kymo.start(started.folder, level=options.host_tracer_level,
                    max_events=configuration.get("kymo_max_events", 4_000_000),
                    cpu_util_ms=configuration.get("kymo_cpu_util_ms", 1000),
                    host_memory_ms=configuration.get("kymo_host_memory_ms", 1000),
                    devices=_devices(configuration), devices_dir=started.log_dir)
        if library is not None:
            _record_gpus(library, configuration)
        if configuration.get("kymo_python_sample_hz", 0) > 0:
            _kymo.sample_stacks(configuration["kymo_python_sample_hz"])
            started.has_samples = True
        elif options.python_tracer_level > 0:
            _kymo.trace_frames(level=2 if configuration.get("kymo_python_c_functions", True) else 1,
                               min_duration_us=configuration.get("kymo_python_min_duration_us", 0),
                               exclude=("kymo", *configuration.get("kymo_python_exclude", ())))
            started.has_frames = True
    except BaseException:
        _give_up(started)
        raise


def _devices(configuration: dict[str, Any]) -> int:
    """Which device profiles of Neuron models to take; Neuron's guides name an output directory where they want them."""
    if "kymo_device_profile" in configuration:
        return DEVICE_PROFILES.index(configuration["kymo_device_profile"])
    return _kymo.devices_in_environment(1 if os.environ.get("NEURON_RT_INSPECT_OUTPUT_DIR") else 0)


def _give_up(started: _Trace) -> None:
    """Cleans up after a failed start."""
    import shutil
    if started.jax is not None:
        started.jax.stop()
    if _kymo.is_recording() and (_kymo.session_dir() or "").startswith(started.folder):
        _kymo.stop()
    shutil.rmtree(started.folder, ignore_errors=True)


def _end(ended: _Trace) -> str:
    """The path of the trace that was written."""
    import shutil
    if ended.has_frames:
        _kymo.stop_frames()
    if ended.has_samples:
        _kymo.stop_samples()
    session = _kymo.stop()
    arguments = []
    if ended.jax is not None:
        other = os.path.join(ended.folder, "jax.xplane.pb")
        with open(other, "wb") as file:
            file.write(ended.jax.stop())
        arguments = ["--merge", other]
    host = _host_name()
    converted = os.path.join(ended.folder, host + ".xplane.pb")
    try:
        _program.run("convert", session, converted, *arguments)
        run = _make_run(ended)
        path = os.path.join(run, host + ".xplane.pb")
        os.replace(converted, path)
        if ended.create_perfetto or ended.create_link:
            _program.run("view", path, "--output-format", "perfetto", "--output-file",
                         os.path.join(run, "perfetto_trace.pftrace"))
        if ended.options.advanced_configuration.get("kymo_trace_json", False):
            from kymo import _trace_json
            _trace_json.write(path, os.path.join(run, host + ".trace.json.gz"))
    except Exception as problem:
        raise RuntimeError(f"the trace could not be written: {problem}; the recording is kept in {session}") from problem
    shutil.rmtree(ended.folder, ignore_errors=True)
    return path


def _host_name() -> str:
    import socket
    return "".join(c if c.isprintable() and c != "/" else "_" for c in socket.gethostname()).lstrip(".") or "host"


def _make_run(ended: _Trace) -> str:
    """The folder of the run, named after the session, or after the time and then unique."""
    import time
    runs = os.path.join(ended.log_dir, "plugins", "profile")
    name = ended.options.session_id
    if name:
        path = os.path.join(runs, name)
        if os.path.dirname(os.path.abspath(path)) != runs:
            raise ValueError(f"session_id must be a name, not {name!r}")
        os.makedirs(path, exist_ok=True)
        return path
    name = time.strftime("%Y_%m_%d_%H_%M_%S")
    os.makedirs(runs, exist_ok=True)
    for number in range(1, 1000):
        path = os.path.join(runs, name if number == 1 else f"{name}_{number}")
        try:
            os.mkdir(path)
            return path
        except FileExistsError:
            continue
    raise FileExistsError(f"{path} and all before it exist")


def _show(path: str) -> None:
    """Serves the trace on a local page until the user or the page's server ends it."""
    from kymo.profile import Profile
    page = Profile(path).serve()
    print(f"Open URL in browser: {page.url}", flush=True)
    print("ctrl-c to continue", flush=True)
    try:
        page.wait()
    except KeyboardInterrupt:
        pass
    finally:
        page.close()


# ---- GPUs ---------------------------------------------------------------------------------------------------------------------

def _cuda_library(configuration: dict[str, Any]) -> str | None:
    """libkymo-cuda, where the process has loaded NVIDIA's driver; None when JAX's tracer is to record GPUs, or nothing is."""
    is_wanted = configuration.get("kymo_gpu", any(key in GPU_KEYS and key not in JAX_GPU_KEYS for key in configuration))
    if not is_wanted and "jax" in sys.modules:
        from kymo import _jax
        if "kymo_gpu" in configuration or _jax.needs_own_gpu_tracer():
            return None
    elif not is_wanted and "kymo_gpu" in configuration:
        return None
    try:
        with open("/proc/self/maps") as maps:
            has_driver = "libcuda.so" in maps.read()
    except OSError:
        return None
    return _program.library("libkymo-cuda.so") if has_driver else None


def _configuration_of(options: ProfileOptions) -> dict[str, Any]:
    """Without whole CUDA graphs: when CUPTI (13.0) is asked for them in a program that has launched graphs, it crashes."""
    configuration = options.advanced_configuration
    if configuration.get("gpu_detail") == "graph" or configuration.get("gpu_enable_cupti_activity_graph_trace"):
        import warnings
        warnings.warn("kymo: kernels of CUDA graphs are recorded, not whole graphs: CUPTI can record those only from the start of "
                      "the program: kymo inspect --gpu-detail graph", RuntimeWarning, stacklevel=5)
        configuration.pop("gpu_enable_cupti_activity_graph_trace", None)
        if "gpu_detail" in configuration:
            configuration["gpu_detail"] = "kernel"
        options.advanced_configuration = configuration
    return configuration


def _record_gpus(library: str, configuration: dict[str, Any]) -> None:
    """The library reads its options from the environment when it starts."""
    import ctypes
    defaults = {key: value for key, value in GPU_DEFAULTS.items() if "KYMO_" + key.upper() not in os.environ}
    settings = {**defaults, **configuration}
    values = {"KYMO_" + key.upper(): _gpu_value(value) for key, value in settings.items() if key in GPU_KEYS}
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        ctypes.CDLL(library).kymo_cuda_attach()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _gpu_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "0" if value == -1 else str(value)


# ---- The end of the program, and of the process ---------------------------------------------------------------------------------

def _watch_exit() -> None:
    global _watches_exit
    if _watches_exit:
        return
    import atexit
    _watches_exit = True
    atexit.register(_finish)
    os.register_at_fork(after_in_child=_forget)


def _finish() -> None:
    """Writes a trace that is still running when the program ends."""
    if _running is not None:
        stop_trace()


def _forget() -> None:
    """A forked child takes no part in its parent's trace."""
    global _running, _lock
    _running = None
    _lock = threading.Lock()


# ---- Server -------------------------------------------------------------------------------------------------------------------

def start_server(port: int, requires_backend: bool = True) -> Any:
    """Starts a server on a loopback port, from which XProf, TensorBoard and `kymo capture` take traces of this process."""
    from kymo import _server
    return _server.start(port, requires_backend)


def stop_server() -> None:
    """Stops the server of start_server()."""
    from kymo import _server
    _server.stop()


def __getattr__(name: str) -> Any:
    if name in ("ProfileData", "ProfileEvent", "ProfileLine", "ProfilePlane"):
        from kymo import data
        return getattr(data, name)
    raise AttributeError(f"module 'kymo.profiler' has no attribute {name!r}")
