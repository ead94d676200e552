"""XSpace messages for Python's own protobuf library: an independent reader and writer of the format.

str_value and names are declared as bytes, so that tests can hold any content against what Kymo read.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_TYPES = {"int": 3, "uint": 4, "double": 1, "string": 9, "bytes": 12}

_MESSAGES = {
    "XStat": "metadata_id=1:int double_value=2:double uint64_value=3:uint int64_value=4:int "
    "str_value=5:bytes bytes_value=6:bytes ref_value=7:uint",
    "XEvent": "metadata_id=1:int offset_ps=2:int duration_ps=3:int stats=4:XStat* "
    "num_occurrences=5:int",
    "XLine": "id=1:int name=2:bytes timestamp_ns=3:int events=4:XEvent* duration_ps=9:int "
    "display_id=10:int display_name=11:bytes",
    "XEventMetadata": "id=1:int name=2:bytes metadata=3:bytes display_name=4:bytes stats=5:XStat* "
    "child_id=6:int*",
    "XStatMetadata": "id=1:int name=2:bytes description=3:bytes",
    "EventEntry": "key=1:int value=2:XEventMetadata",
    "StatEntry": "key=1:int value=2:XStatMetadata",
    "XPlane": "id=1:int name=2:bytes lines=3:XLine* event_metadata=4:EventEntry* "
    "stat_metadata=5:StatEntry* stats=6:XStat*",
    "XSpace": "planes=1:XPlane* errors=2:bytes* warnings=3:bytes* hostnames=4:bytes*",
}
# Fields of which only the last one set counts.
_ONE_OF = {
    "XStat": {"double_value", "uint64_value", "int64_value", "str_value", "bytes_value", "ref_value"},
    "XEvent": {"offset_ps", "num_occurrences"},
}


def _build():
    file = descriptor_pb2.FileDescriptorProto(name="xspace.proto", package="x", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in _ONE_OF:
            message.oneof_decl.add(name="one")
        for spec in fields.split():
            field_name, rest = spec.split("=")
            number, kind = rest.split(":")
            field = message.field.add(name=field_name, number=int(number))
            field.label = 3 if kind.endswith("*") else 1
            kind = kind.rstrip("*")
            if kind in _TYPES:
                field.type = _TYPES[kind]
            else:
                field.type = 11
                field.type_name = f".x.{kind}"
            if field_name in _ONE_OF.get(name, ()):
                field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"x.{name}"))
        for name in _MESSAGES
    }


_CLASSES = _build()
XSpace = _CLASSES["XSpace"]
XPlane = _CLASSES["XPlane"]
XStat = _CLASSES["XStat"]


def load(path):
    space = XSpace()
    space.ParseFromString(path.read_bytes())
    return space


class PlaneWriter:
    """Fills a plane by names; ids are given out as names come."""

    def __init__(self, space, name, pid=None):
        self.plane = space.planes.add(name=name.encode())
        self.events, self.stats = {}, {}
        if pid is not None:
            self.stat(self.plane.stats, "process_id", pid)

    def stat_id(self, name):
        if name not in self.stats:
            self.stats[name] = len(self.stats) + 1
            entry = self.plane.stat_metadata.add(key=self.stats[name])
            entry.value.id, entry.value.name = self.stats[name], name.encode()
        return self.stats[name]

    def event_id(self, name):
        if name not in self.events:
            self.events[name] = len(self.events) + 1
            entry = self.plane.event_metadata.add(key=self.events[name])
            entry.value.id, entry.value.name = self.events[name], name.encode()
        return self.events[name]

    def stat(self, stats, name, value):
        stat = stats.add(metadata_id=self.stat_id(name))
        if isinstance(value, float):
            stat.double_value = value
        elif isinstance(value, bytes):
            stat.bytes_value = value
        elif isinstance(value, str):
            stat.ref_value = self.stat_id(value)
        elif value >= 1 << 63:
            stat.uint64_value = value
        else:
            stat.int64_value = value

    def line(self, name, id=1, timestamp_ns=0):
        return self.plane.lines.add(name=name.encode(), id=id, timestamp_ns=timestamp_ns)

    def event(self, line, name, start_ps, duration_ps=0, **stats):
        event = line.events.add(
            metadata_id=self.event_id(name), offset_ps=start_ps, duration_ps=duration_ps
        )
        for key, value in stats.items():
            self.stat(event.stats, key, value)
        return event


def task_environment(space, start_ns, stop_ns):
    plane = PlaneWriter(space, "Task Environment")
    for name, value in (("profile_start_time", start_ns), ("profile_stop_time", stop_ns)):
        stat = plane.plane.stats.add(metadata_id=plane.stat_id(name))
        stat.uint64_value = value
