"""A trace as JSON for Chrome's and XProf's viewers, as jax.profiler writes it beside the XPlane file: host threads and devices,
times in microseconds, args as text."""

from __future__ import annotations

import json
import re
from typing import Any, Iterator

from kymo.data import ProfileData, ProfileEvent, ProfileLine, ProfilePlane

_HOST_PROCESS, _FIRST_DEVICE = 701, 1
# Stats that join events, and events that other tools read: not for people.
_INTERNAL_STATS = frozenset({"_p", "_pt", "_c", "_ct", "_r", "_a", "program_id"})
_INTERNAL_EVENTS = frozenset({"MemoryAllocation", "MemoryDeallocation"})


def _process(name: str) -> int | None:
    """The number of a plane's process; None if viewers do not show it."""
    device = re.match(r"/device:[A-Za-z]+:(\d+)", name)
    if device is not None:
        return _FIRST_DEVICE + int(device[1])
    return _HOST_PROCESS if name == "/host:CPU" else None


def _arg(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return value.hex() if isinstance(value, bytes) else str(value)


def _event(event: ProfileEvent, process: int, thread: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"ph": "X", "pid": process, "tid": thread, "ts": event.start_ns / 1000,
                             "dur": max(event.duration_ns / 1000, 1e-6), "name": event.display_name or event.name}
    stats = [(name, _arg(value)) for name, value in [*event.type_stats, *event.stats] if name not in _INTERNAL_STATS]
    if event.display_name:
        stats.append(("long_name", event.name))
    if stats:
        entry["args"] = dict(sorted(stats))
    return entry


def _line(line: ProfileLine, process: int, position: int) -> Iterator[dict[str, Any]]:
    thread = line.id & 0xFFFFFFFF
    order = position if process == _HOST_PROCESS else thread
    yield {"ph": "M", "pid": process, "tid": thread, "name": "thread_name", "args": {"name": line.name}}
    yield {"ph": "M", "pid": process, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": order}}
    for event in line.events:
        if event.name not in _INTERNAL_EVENTS:
            yield _event(event, process, thread)


def _plane(plane: ProfilePlane, process: int) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": plane.name}}
    yield {"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": process}}
    lines = [line for line in plane.lines if line.name not in ("_counters_", "Async XLA Ops")]
    for position, line in enumerate(lines, 1):
        yield from _line(line, process, position)


def write(trace: str, path: str) -> None:
    """Of an XPlane file."""
    import gzip
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[')
        for plane in ProfileData.from_file(trace).planes:
            process = _process(plane.name)
            for entry in _plane(plane, process) if process is not None else ():
                file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + ",\n")
        file.write("{}]}\n")
