"""Kymo's torch_neuronx.experimental.profiler.profile: records a session of the program, PyTorch and the Neuron runtime.

>>> import kymo.neuron                                               # doctest: +SKIP
>>> with kymo.neuron.profile(profile_type="system", target="neuron_profile_perfetto", output_dir="output",
...                          ms_duration=30000) as profiler:         # doctest: +SKIP
...     train()

`kymo view -d output` shows it.
"""

from __future__ import annotations

import os
import sys
import threading
from types import TracebackType
from typing import Any

from kymo import _kymo, _program
from kymo._options import nearest

_TARGETS = ("neuron_profile", "neuron_profile_perfetto")
_TYPES = ("operator", "trace", "system")


def _check(name: str, value: str, words: tuple[str, ...]) -> None:
    if value not in words:
        raise ValueError(f"{name} must be one of {', '.join(words)}, not {value!r}{nearest(str(value), words)}")


class profile:
    """A context manager that records the block inside it, with the arguments of torch_neuronx's.

    Args:
      port: no effect, for compatibility: nothing goes over the network.
      ms_duration: the recording ends after this time, or with the block.
      neuron_tensorboard_plugin_dir: the output directory when ``output_dir`` is not given.
      profile_type: ``operator``: PyTorch's operators with the sizes of their inputs; ``trace``: the calls of Python functions;
        ``system``: these calls, and the use of CPUs and memory. All have annotations, the runtime's events, and device profiles of
        the first execution of each model, unless ``NEURON_RT_INSPECT_DEVICE_PROFILE`` asks for none (0) or for all (session).
      auto_start: start with the block; otherwise with ``start()``.
      delete_working: no effect, for compatibility: there are no intermediate files.
      traced_only: with ``operator``, leave out operators that PyTorch itself calls and keep what compiled programs do.
      target: ``neuron_profile``: session files, for `kymo view -d`; ``neuron_profile_perfetto``: also ``system_profile.pftrace``
        and a ``device_profile_model_….pftrace`` for each device profile; of several ranks, in the directory of each session.
      output_dir: where the session goes.
    """

    def __init__(self, port: int = 9012, ms_duration: int = 60000, neuron_tensorboard_plugin_dir: str = "logs/plugins/neuron",
                 profile_type: str = "operator", auto_start: bool = True, delete_working: bool = True, traced_only: bool = False,
                 target: str = "neuron_profile", output_dir: os.PathLike[str] | str | None = None) -> None:
        _check("profile_type", profile_type, _TYPES)
        _check("target", target, _TARGETS)
        if not 0 < port < 65536:
            raise ValueError(f"port must be from 1 to 65535, not {port}")
        if ms_duration <= 0:
            raise ValueError(f"ms_duration must be more than 0, not {ms_duration}")
        self.output_dir = os.path.abspath(os.fspath(output_dir if output_dir is not None else neuron_tensorboard_plugin_dir))
        self.session_dir: str | None = None
        self._seconds = ms_duration / 1000
        self._type = profile_type
        self._target = target
        self._auto_start = auto_start
        self._traced_only = traced_only
        self._lock = threading.Lock()
        self._is_running = False
        self._operators: Any = None
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        """Starts the recording; RuntimeError if one is running."""
        _program.program()
        os.makedirs(self.output_dir, exist_ok=True)
        samples = 1000 if self._type == "system" else 0
        _kymo.start(self.output_dir, level=3, cpu_util_ms=samples, host_memory_ms=samples,
                    devices=_kymo.devices_in_environment(1))
        self._is_running = True
        if self._type != "operator":
            _kymo.trace_frames(exclude=("kymo",))
        if self._type == "operator" and not self._traced_only:
            self._operators = _record_operators()
        self._timer = threading.Timer(self._seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Ends the recording and writes it; does nothing if it has already ended."""
        if self._operators is not None:
            self._operators.__exit__(None, None, None)
            self._operators = None
        self._end()

    def _end(self) -> None:
        with self._lock:
            if not self._is_running:
                return
            self._is_running = False
            if self._timer is not None:
                self._timer.cancel()
            if self._type != "operator":
                _kymo.stop_frames()
            self.session_dir = _kymo.stop()
            if self._target == "neuron_profile_perfetto":
                is_rank = os.environ.get("WORLD_SIZE", "1") != "1"  # others write to the output directory, too
                _program.run("view", "-d", self.session_dir, "--output-format", "perfetto", "--output-file",
                             os.path.join(self.session_dir if is_rank else self.output_dir, "system_profile.pftrace"))

    def __enter__(self) -> profile:
        if self._auto_start:
            self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop()


def _record_operators() -> Any:
    """Records this thread's PyTorch operators as events until __exit__; None if PyTorch has not been imported."""
    if "torch" not in sys.modules:
        return None
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Operators(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            sizes = [list(arg.shape) if isinstance(arg, torch.Tensor) else [] for arg in args]
            with _kymo.TraceAnnotation(func._schema.name, **{"Input Dims": str(sizes)}):
                return func(*args, **(kwargs or {}))

    operators = Operators()
    operators.__enter__()
    return operators
