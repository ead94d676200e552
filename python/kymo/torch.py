"""PyTorch's own profiler, with traces where Kymo, XProf and TensorBoard find them.

>>> import torch, kymo.torch                                         # doctest: +SKIP
>>> with torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=3),
...                             on_trace_ready=kymo.torch.trace_handler("logs"),
...                             record_shapes=True, with_stack=True) as profiler:    # doctest: +SKIP
...     for batch in batches:
...         train(batch)
...         profiler.step()
"""

from __future__ import annotations

import os
from typing import Any, Callable


def trace_handler(dir_name: os.PathLike[str] | str, worker_name: str | None = None, use_gzip: bool = False, *,
                  xplane: bool = False) -> Callable[[Any], None]:
    """For torch.profiler's on_trace_ready: each trace becomes a run, ``plugins/profile/<time>/<worker>.pt.trace.json`` in the
    folder, all that PyTorch recorded included (steps, shapes, stacks, memory). ``kymo view`` opens the newest run, ``kymo serve``
    lists them. Runs of programs with several ranks are named after their step, so that the files of one step form one run.

    Args:
      dir_name: the log directory; it is created if missing.
      worker_name: the name of the file (default: host and process).
      use_gzip: compress the file.
      xplane: write ``<worker>.xplane.pb`` instead, which XProf and TensorBoard show.
    """
    folder = os.path.abspath(os.fspath(dir_name))
    if worker_name is not None and (not worker_name or "/" in worker_name):
        raise ValueError(f"worker_name must be the name of a file, not {worker_name!r}")
    if use_gzip and xplane:
        raise ValueError("XPlane files are not compressed: use_gzip and xplane contradict each other")
    os.makedirs(folder, exist_ok=True)

    def write(profiler: Any) -> None:
        worker = worker_name or _worker()
        run = os.path.join(folder, "plugins", "profile", _run_name(profiler))
        os.makedirs(run, exist_ok=True)
        _write(profiler, run, _free_name(run, worker), use_gzip, xplane)
    return write


def _write(profiler: Any, run: str, worker: str, use_gzip: bool, xplane: bool) -> None:
    """Uses another name until the file is complete."""
    import tempfile
    with tempfile.TemporaryDirectory(prefix=".kymo-", dir=run) as folder:
        name = worker + (".pt.trace.json.gz" if use_gzip else ".pt.trace.json")
        path = os.path.join(folder, name)
        profiler.export_chrome_trace(path)
        if xplane:
            from kymo import _program
            name = worker + ".xplane.pb"
            _program.run("convert", path, os.path.join(folder, name))
        os.replace(os.path.join(folder, name), os.path.join(run, name))


def _worker() -> str:
    import socket
    rank = os.environ.get("RANK")
    return f"{socket.gethostname()}_{os.getpid()}" if rank is None else f"{socket.gethostname()}_rank{rank}"


def _run_name(profiler: Any) -> str:
    import time
    step = getattr(profiler, "step_num", None)
    if step is not None and int(os.environ.get("WORLD_SIZE") or 1) > 1:
        return f"step_{step:08d}"
    return time.strftime("%Y_%m_%d_%H_%M_%S")


def _free_name(run: str, worker: str) -> str:
    """Traces of one second do not replace each other."""
    taken = os.listdir(run)
    name, number = worker, 1
    while any(file.startswith(name + ".") for file in taken):
        number += 1
        name = f"{worker}_{number}"
    return name
