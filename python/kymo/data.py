"""Captures as planes, lines, events and stats, like jaxlib's ProfileData: XPlane files and all other formats that Kymo
reads.

>>> data = ProfileData.from_file("run.xplane.pb")                    # doctest: +SKIP
>>> for plane in data.planes:                                        # doctest: +SKIP
...     for line in plane.lines:
...         for event in line.events:
...             print(event.name, event.start_ns, event.duration_ns, dict(event.stats))

It needs only Python and is meant for exploring: ``kymo.open(path).sql(...)`` is hundreds of times faster.
"""

from __future__ import annotations

import os
import struct
from typing import Any, Iterator, NamedTuple, Sequence, Union

_WORD = 1 << 64
_Value = Union[int, float, str, bytes]


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """(field number, value: a number, or the bytes of all other types)"""
    at, size = 0, len(data)
    while at < size:
        tag = data[at]
        at += 1
        if tag >= 0x80:
            tag, at = _varint(data, at - 1)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            length, at = _varint(data, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError("not an XSpace: a field has an unknown type")
        if length > size - at:
            raise ValueError("not an XSpace: a field is longer than its message")
        yield tag >> 3, data[at:at + length]
        at += length


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    try:
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & (_WORD - 1), at
            shift += 7
            if shift > 63:
                raise ValueError("not an XSpace: a number is too long")
    except IndexError:
        raise ValueError("not an XSpace: it ends within a number") from None


def _signed(value: int) -> int:
    return value - _WORD if value >= _WORD >> 1 else value


def _text(data: memoryview) -> str:
    return str(data, "utf-8", "replace")


class _Type(NamedTuple):
    """The metadata of events."""

    name: str = ""
    display_name: str = ""
    stats: Sequence[memoryview] = ()


class _Names:
    """The metadata of a plane."""

    def __init__(self) -> None:
        self.events: dict[int, _Type] = {}
        self.stats: dict[int, str] = {}

    def add_event(self, entry: memoryview) -> None:
        fields = dict(_fields(entry))
        name, display_name, stats = "", "", []
        for number, value in _fields(fields.get(2, memoryview(b""))):
            if number == 2:
                name = _text(value)
            elif number == 4:
                display_name = _text(value)
            elif number == 5:
                stats.append(value)
        self.events[_signed(fields.get(1, 0))] = _Type(name, display_name, stats)

    def add_stat(self, entry: memoryview) -> None:
        fields = dict(_fields(entry))
        inside = dict(_fields(fields.get(2, memoryview(b""))))
        self.stats[_signed(fields.get(1, 0))] = _text(inside.get(2, memoryview(b"")))

    def stat(self, stat: memoryview) -> tuple[str, _Value | None]:
        key, value = 0, None
        for number, content in _fields(stat):
            if number == 1:
                key = _signed(content)
            elif number == 2:
                value = struct.unpack("<d", content)[0]
            elif number == 3:
                value = content
            elif number == 4:
                value = _signed(content)
            elif number == 5:
                value = _text(content)
            elif number == 6:
                value = bytes(content)
            elif number == 7:
                value = self.stats.get(_signed(content), "")
        return self.stats.get(key, ""), value


_UNKNOWN = _Type()


class ProfileEvent:
    """An event: name, start_ns, duration_ns, end_ns, stats."""

    __slots__ = ("_duration_ps", "_names", "_offset_ps", "_stats", "_timestamp_ns", "_type")

    def __init__(self, names: _Names, timestamp_ns: int, data: memoryview) -> None:
        self._names = names
        self._timestamp_ns = timestamp_ns
        self._type = self._offset_ps = self._duration_ps = 0
        self._stats: list[memoryview] = []
        for number, value in _fields(data):
            if number == 1:
                self._type = _signed(value)
            elif number == 2:
                self._offset_ps = _signed(value)
            elif number == 3:
                self._duration_ps = _signed(value)
            elif number == 4:
                self._stats.append(value)

    @property
    def name(self) -> str:
        return self._names.events.get(self._type, _UNKNOWN).name

    @property
    def display_name(self) -> str:
        """The shorter name that viewers show, or "". jaxlib's events do not have it."""
        return self._names.events.get(self._type, _UNKNOWN).display_name

    @property
    def start_ns(self) -> float:
        return self._timestamp_ns + self._offset_ps / 1000

    @property
    def duration_ns(self) -> float:
        return self._duration_ps / 1000

    @property
    def end_ns(self) -> float:
        return self._timestamp_ns + (self._offset_ps + self._duration_ps) / 1000

    @property
    def stats(self) -> Iterator[tuple[str, _Value | None]]:
        """(name, value) of the event."""
        for stat in self._stats:
            yield self._names.stat(stat)

    @property
    def type_stats(self) -> Iterator[tuple[str, _Value | None]]:
        """(name, value) shared by all events of its type: on TPUs, a description of the operation. jaxlib's events do not have it."""
        for stat in self._names.events.get(self._type, _UNKNOWN).stats:
            yield self._names.stat(stat)

    def __repr__(self) -> str:
        return f"<ProfileEvent {self.name!r} at {self.start_ns:.0f} ns for {self.duration_ns:.0f} ns>"


class ProfileLine:
    """A thread, a stream, or anything else with a sequence of events: name, id, events."""

    def __init__(self, names: _Names, data: memoryview) -> None:
        self._names = names
        self._data = data
        self._timestamp_ns = self.id = 0
        self.name = ""
        for number, value in _fields(data):
            if number == 1:
                self.id = _signed(value)
            elif number == 2:
                self.name = _text(value)
            elif number == 3:
                self._timestamp_ns = _signed(value)

    @property
    def events(self) -> Iterator[ProfileEvent]:
        for number, value in _fields(self._data):
            if number == 4:
                yield ProfileEvent(self._names, self._timestamp_ns, value)

    def __repr__(self) -> str:
        return f"<ProfileLine {self.name!r}>"


class ProfilePlane:
    """A device, or the host: name, lines, stats."""

    def __init__(self, data: memoryview) -> None:
        self._names = _Names()
        self._lines: list[memoryview] = []
        self._stats: list[memoryview] = []
        self.name = ""
        for number, value in _fields(data):
            if number == 2:
                self.name = _text(value)
            elif number == 3:
                self._lines.append(value)
            elif number == 4:
                self._names.add_event(value)
            elif number == 5:
                self._names.add_stat(value)
            elif number == 6:
                self._stats.append(value)

    @property
    def lines(self) -> Iterator[ProfileLine]:
        for line in self._lines:
            yield ProfileLine(self._names, line)

    @property
    def stats(self) -> Iterator[tuple[str, _Value | None]]:
        for stat in self._stats:
            yield self._names.stat(stat)

    def __repr__(self) -> str:
        return f"<ProfilePlane {self.name!r} with {len(self._lines)} lines>"


class ProfileData:
    """A capture: planes."""

    def __init__(self, serialized_xspace: bytes) -> None:
        self._planes = [value for number, value in _fields(memoryview(serialized_xspace)) if number == 1]

    @staticmethod
    def from_serialized_xspace(serialized_xspace: bytes) -> ProfileData:
        return ProfileData(serialized_xspace)

    @staticmethod
    def from_file(proto_file_path: os.PathLike[str] | str) -> ProfileData:
        """Reads an XPlane file, or any other file or directory that Kymo can read."""
        path = os.fspath(proto_file_path)
        if path.endswith(".xplane.pb") and os.path.isfile(path):
            with open(path, "rb") as file:
                return ProfileData(file.read())
        import tempfile
        from kymo import _program
        with tempfile.TemporaryDirectory(prefix="kymo-") as folder:
            converted = os.path.join(folder, "capture.xplane.pb")
            _program.run("convert", path, converted)
            with open(converted, "rb") as file:
                return ProfileData(file.read())

    @property
    def planes(self) -> Iterator[ProfilePlane]:
        for plane in self._planes:
            yield ProfilePlane(plane)

    def find_plane_with_name(self, name: str) -> ProfilePlane | None:
        for plane in self._planes:
            if any(number == 2 and value == name.encode() for number, value in _fields(plane)):
                return ProfilePlane(plane)
        return None
