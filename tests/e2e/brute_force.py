"""What a space means, worked out the slow and plain way from its messages, to hold Kymo against."""

import dataclasses
import functools

import numpy


@dataclasses.dataclass(eq=False)
class Event:
    line: object
    number: int
    name: str
    label: str  # the name people see
    start: int
    duration: int
    stats: dict
    constants: dict  # stats of its metadata

    @property
    def end(self):
        return self.start + self.duration

    @property
    def order(self):
        """In time, and what contains before what is contained."""
        return self.start, -self.duration, self.number

    @property
    def place(self):
        return self.line.place, self.number

    @property
    def plane(self):
        return self.line.plane


@dataclasses.dataclass(eq=False)
class Line:
    plane: object
    place: tuple  # number of its plane, number in it
    id: int
    name: str
    label: str
    events: list = dataclasses.field(default_factory=list)

    @property
    def in_order(self):
        return sorted(self.events, key=lambda event: event.order)

    @property
    def on_device(self):
        """The same with the times of the device's own clock, where operations have them."""
        def timed(event):
            times = [event.stats.get(f"device_{what}_ps") for what in ("offset", "duration")]
            if None in times:
                return event
            return dataclasses.replace(event, start=times[0], duration=times[1])

        return dataclasses.replace(self, events=[timed(event) for event in self.events])


@dataclasses.dataclass(eq=False)
class Plane:
    name: str
    stats: dict
    lines: list = dataclasses.field(default_factory=list)
    programs: list = dataclasses.field(default_factory=list)  # (label, id, bytes of the HloProto)
    scopes: dict = dataclasses.field(default_factory=dict)  # {id of an annotation: id of the one around it}

    @property
    def process(self):
        return self.stats.get("process_id", 0)

    @property
    def is_device(self):
        return self.name.startswith("/device:")

    @property
    def is_host(self):
        return self.name.startswith("/host:")

    def lines_named(self, start):
        return [line for line in self.lines if line.name.startswith(start)]

    @property
    def working_lines(self):
        operations = [line.on_device for line in self.lines if line.name == "XLA Ops" and line.events]
        return operations or self.lines_named("Stream #")


def _value(stat, names):
    kind = stat.WhichOneof("one")
    value = getattr(stat, kind) if kind else None
    if kind == "ref_value":
        return names[value]
    return value.decode() if kind == "str_value" else value


def _stats(stats, names):
    """Of the names that repeat the last counts; none that is worked with here does."""
    return {names.get(stat.metadata_id): _value(stat, names) for stat in stats}


def planes_of(space):
    planes = []
    for plane_number, message in enumerate(space.planes):
        names = {entry.key: entry.value.name.decode() for entry in message.stat_metadata}
        types = {entry.key: entry.value for entry in message.event_metadata}
        constants = {key: _stats(value.stats, names) for key, value in types.items()}
        plane = Plane(message.name.decode(), _stats(message.stats, names))
        if plane.name == "/host:__ScopeRangeCallStack__":
            plane.scopes = {s.metadata_id: s.int64_value for s in message.stats if not names.get(s.metadata_id)}
        for entry in message.event_metadata:
            proto = constants[entry.key].get("Hlo Proto")
            label = entry.value.name.decode()
            if proto is not None:
                number = constants[entry.key].get("program_id")
                if number is None:
                    number = int(label[label.rindex("(") + 1 : -1])
                plane.programs.append((label, number, proto))
        for line_number, line_message in enumerate(message.lines):
            name = line_message.name.decode()
            line = Line(
                plane,
                (plane_number, line_number),
                line_message.id,
                name,
                line_message.display_name.decode() or name,
            )
            for number, event in enumerate(line_message.events):
                assert event.WhichOneof("one") != "num_occurrences"
                type = types[event.metadata_id]
                line.events.append(
                    Event(
                        line,
                        number,
                        type.name.decode(),
                        (type.display_name or type.name).decode(),
                        line_message.timestamp_ns * 1000 + event.offset_ps,
                        event.duration_ps,
                        _stats(event.stats, names),
                        constants[event.metadata_id],
                    )
                )
            plane.lines.append(line)
        planes.append(plane)
    return tuple(planes)


def events_of(planes, wanted=lambda plane: True):
    return [e for plane in planes if wanted(plane) for line in plane.lines for e in line.events]


def profilers_events(line):
    """The profiler's own spans on a thread, and what is in them."""
    spans = [e for e in line.events if line.plane.is_host and e.label.startswith("$profiler.py") and
             e.label.split(" ")[-1] in ("start_trace", "stop_trace")]
    return spans, {e for e in line.events if any(s.start <= e.start and e.end <= s.end for s in spans)}


def does_not_profile(line):
    """Events that are neither the profiler's own nor around little else than these."""
    spans, inside = profilers_events(line)
    for e in set(line.events) - inside:
        length = sum(max(0, min(e.end, s.end) - max(e.start, s.start)) for s in spans)
        if length == 0 or length < 0.9 * (e.end - e.start):
            yield e


def active_span(planes):
    """From the first to the last event, without the profiler's own spans and the calls around them."""
    events = [e for plane in planes for line in plane.lines for e in does_not_profile(line)]
    return max(e.end for e in events) - min(e.start for e in events)


def device_events(planes):
    return events_of(planes, lambda plane: plane.is_device)


def covered(events):
    """The time at which at least one of them runs."""
    total, reached = 0, None
    for event in sorted(events, key=lambda event: event.start):
        if reached is None or event.start > reached:
            reached = event.start
        total += max(0, event.end - reached)
        reached = max(reached, event.end)
    return total


def self_times(line):
    """Of each event, the time at which no event that began later runs; events of a thread nest, but
    clocks of two sources may let one outlast what it is part of."""
    events = line.in_order
    start = numpy.array([event.start for event in events], dtype=numpy.int64)
    end = numpy.array([event.end for event in events], dtype=numpy.int64)
    own = dict.fromkeys(events, 0)
    times = numpy.unique(numpy.concatenate([start, end])).tolist()
    for since, until in zip(times, times[1:]):
        running = numpy.flatnonzero((start <= since) & (end > since))
        if len(running):
            own[events[running[-1]]] += until - since
    return own


def distribution(values):
    """As the summary has it; percentiles are interpolated between the two nearest ranks."""
    if len(values) == 0:
        return None
    values = numpy.sort(numpy.array(values, dtype=float))

    return {
        "count": len(values),
        "mean": float(numpy.mean(values)),
        "p50": float(numpy.percentile(values, 50)),
        "p99": float(numpy.percentile(values, 99)),
        "min": values[0],
        "max": values[-1],
    }


# Flows and steps


def launches_of(planes):
    """{(process, correlation id): the outermost call on the host with that id}"""
    launches = {}
    for event in events_of(planes, lambda plane: not plane.is_device):
        if "correlation_id" in event.stats:
            key = event.plane.process, event.stats["correlation_id"]
            if key not in launches or event.order < launches[key].order:
                launches[key] = event
    return launches


def launch_of(launches, event):
    correlation = event.stats.get("correlation_id", 0)
    return launches.get((event.plane.process, correlation)) if correlation else None


def context(event, type, id):
    if id in event.stats:
        return event.plane.process, event.stats.get(type, 0), event.stats[id]
    return None


def consumers_of(planes):
    """{context: its consumers}"""
    consumers = {}
    for event in events_of(planes):
        if context(event, "_ct", "_c"):
            consumers.setdefault(context(event, "_ct", "_c"), []).append(event)
    return consumers


def flows_of(planes):
    """{(kind, place of the event it leaves, place of the event it reaches)}"""
    launches, consumers = launches_of(planes), consumers_of(planes)
    flows = set()
    for event in device_events(planes):
        launch = launch_of(launches, event)
        if launch:
            flows.add(("launch", launch.place, event.place))
    for event in events_of(planes):
        for consumer in consumers.get(context(event, "_pt", "_p"), []):
            flows.add(("context", event.place, consumer.place))
    return flows


def nested(outer):
    return [
        event
        for event in outer.line.events
        if event.order > outer.order and event.start < outer.end and event.end <= outer.end
    ]


@functools.lru_cache(maxsize=None)
def steps_of(planes):
    """The steps' annotations in order, and {event: index of its step} over hosts and devices."""
    annotations = [
        event
        for event in events_of(planes, lambda plane: not plane.is_device)
        if "_r" in event.stats or "step_num" in event.stats
    ]
    annotations.sort(key=lambda e: (e.start, -e.duration, e.place))
    consumers, launches = consumers_of(planes), launches_of(planes)
    steps, step_of = [], {}
    for annotation in annotations:
        if annotation in step_of:
            continue
        tops = [annotation]
        while tops:
            top = tops.pop()
            if top in step_of:
                continue
            for event in [top, *nested(top)]:
                if event not in step_of:
                    step_of[event] = len(steps)
                    tops += consumers.get(context(event, "_pt", "_p"), [])
        steps.append(annotation)
    if not steps:
        return guessed_steps_of(planes)
    for event in device_events(planes):
        modules = [line for line in event.plane.lines if line.name == "XLA Modules"]
        if modules and event not in step_of:
            around = [m for m in modules[0].events if m.start <= event.start < m.end]
            if around and around[0] in step_of:
                step_of[event] = step_of[around[0]]
        launch = launch_of(launches, event)
        if event not in step_of and launch in step_of:
            step_of[event] = step_of[launch]
    return steps, step_of


def as_step(root, number, start, end):
    return dataclasses.replace(root, start=start, duration=end - start, stats={"step_num": number})


def guessed_steps_of(planes):
    """The same without annotations: by the program that takes most time and runs three times."""
    modules = [line for plane in planes for line in plane.lines_named("XLA Modules")
               if plane.is_device and line.events]
    return guessed_by_modules(planes, modules) if modules else guessed_by_runs(planes)


def main_program(runs):
    """The runs of a program of [(program, time on the device, ...)]."""
    times = {}
    for program, spent, *_ in runs:
        if spent > 0:
            times.setdefault(program, []).append(spent)
    often = {program: sum(spent) for program, spent in times.items() if len(spent) >= 3}
    if not often:
        return []
    best = max(often, key=often.get)
    return [run for run in runs if run[0] == best and run[1] > 0]


def guessed_by_modules(planes, modules):
    runs = main_program([(event.name, event.duration, event) for event in modules[0].in_order])
    starts = [run[-1].start for run in runs]
    longest = max((b - a for a, b in zip(starts, starts[1:])), default=0)
    steps, step_of = [], {}
    for number, (_, _, event) in enumerate(runs):
        end = starts[number + 1] if number + 1 < len(starts) else event.start + max(event.duration, longest)
        steps.append(as_step(event, number, event.start, end))
    for line in modules if steps else []:
        for event in line.events:
            step = numpy.searchsorted(starts, event.start + event.duration // 2, "right") - 1
            if step >= 0:
                step_of[event] = int(step)
        for other in (event for other in line.plane.lines if other is not line for event in other.events):
            around = [module for module in line.events if module.start <= other.start < module.end]
            if around and around[0] in step_of:
                step_of[other] = step_of[around[0]]
    return steps, step_of


def guessed_by_runs(planes):
    """XLA's executions on GPUs, of one process."""
    calls = [e for e in events_of(planes, lambda plane: not plane.is_device) if "run_id" in e.stats]
    launches = launches_of(planes)
    roots = {}
    for call in sorted(calls, key=lambda call: (call.start, call.place)):
        roots.setdefault(call.stats["run_id"], call)
    work = {}  # {run: [kernel]}
    uploads = set()
    for event in device_events(planes):
        launch = launch_of(launches, event)
        if launch and event.name.startswith("MemcpyH2D"):
            uploads.add(launch)
        around = [c for c in calls if launch and c.line is launch.line and c.start <= launch.start <= c.end]
        if around:
            work.setdefault(max(around, key=lambda call: call.order).stats["run_id"], []).append(event)
    runs = []
    for run, kernels in work.items():
        modules = [k.stats["hlo_module"] for k in kernels if "hlo_module" in k.stats]
        if modules:
            runs.append((modules[0], sum(k.duration for k in kernels), roots[run]))
    runs = sorted(main_program(runs), key=lambda run: run[-1].start)
    starts = []
    in_order = sorted(launches.values(), key=lambda launch: launch.start)
    for number, (_, _, root) in enumerate(runs):
        start = root.start
        for launch in reversed([launch for launch in in_order if launch.start < root.start]):
            if launch not in uploads or (number and launch.start < runs[number - 1][-1].end):
                break
            start = launch.start
        starts.append(start)
    longest = max((b - a for a, b in zip(starts, starts[1:])), default=0)
    steps, step_of = [], {}
    for number, (_, _, root) in enumerate(runs):
        start = starts[number]
        end = starts[number + 1] if number + 1 < len(starts) else max(root.end, start + longest)
        steps.append(as_step(root, number, start, end))
        step_of |= {launch: number for launch in in_order if start <= launch.start < end}
        step_of |= {e: number for e in root.line.events if start <= e.start < end and e.end <= end}
    for event in device_events(planes):
        if launch_of(launches, event) in step_of:
            step_of[event] = step_of[launch_of(launches, event)]
    return steps, step_of


def device_extents(planes, steps, step_of):
    """[(start, end, events, longest time of one device) of a step's device work, None without any]"""
    extents = []
    for step in range(len(steps)):
        work = [event for event in device_events(planes) if step_of.get(event) == step]
        by_device = {}
        for event in work:
            by_device.setdefault(id(event.plane), []).append(event)
        times = [max(e.end for e in own) - min(e.start for e in own) for own in by_device.values()]
        extents.append(
            (min(e.start for e in work), max(e.end for e in work), len(work), max(times)) if work else None
        )
    return extents


def launch_delays(planes, device):
    launches = launches_of(planes)
    first = {}
    for line in device.lines:
        for event in line.events:
            launch = launch_of(launches, event)
            if launch:
                first[launch] = min(event.start, first.get(launch, event.start))
    return [(start - launch.start) / 1e3 for launch, start in first.items()]


# Compiled programs


class Damaged(Exception):
    pass


def fields(data):
    """[(number, value)] of a protobuf message; the value of a submessage is its bytes."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            if at >= len(data) or shift > 63:
                raise Damaged
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        wire = tag & 7
        if wire == 0:
            value = varint()
        elif wire in (1, 2, 5):
            size = {1: 8, 5: 4}.get(wire) or varint()
            value = data[at : at + size]
            at += size
            if len(value) < size:
                raise Damaged
        else:
            raise Damaged
        found.append((tag >> 3, value))
    return found


def _last(message, number, default):
    return next((value for n, value in reversed(message) if n == number), default)


def _all(message, number):
    return [value for n, value in message if n == number]


def _text(message, number):
    return _last(message, number, b"").decode()


@functools.lru_cache(maxsize=None)
def program(proto):
    """A serialized HloProto as the JSON document tells it: name, operations, stack_frames."""
    module = fields(_last(fields(proto), 1, b""))
    index = fields(_last(module, 17, b""))
    files = [""] + [name.decode() for name in _all(index, 1)]
    functions = [""] + [name.decode() for name in _all(index, 2)]
    locations = [None] + [fields(location) for location in _all(index, 3)]
    frames = []
    for frame in map(fields, _all(index, 4)):
        location = locations[_last(frame, 1, 0)]
        frames.append(
            {
                "file": files[_last(location, 1, 0)],
                "function": functions[_last(location, 2, 0)],
                "line": _last(location, 3, 0),
                "column": _last(location, 4, 0),
            }
        )
        if _last(frame, 2, 0):
            frames[-1]["parent"] = _last(frame, 2, 0) - 1
    operations = []
    for computation in map(fields, _all(module, 3)):
        for instruction in map(fields, _all(computation, 2)):
            metadata = fields(_last(instruction, 7, b""))
            operation = {
                "name": _text(instruction, 1),
                "opcode": _text(instruction, 2),
                "computation": _text(computation, 1),
                "op_name": _text(metadata, 2),
                "source_file": _text(metadata, 3),
                "source_line": _last(metadata, 4, 0),
            }
            frame = _last(metadata, 15, 0)
            if frame:
                operation["stack_frame"] = frame - 1
                if not operation["source_file"]:
                    operation["source_file"] = frames[frame - 1]["file"]
                    operation["source_line"] = frames[frame - 1]["line"]
            operations.append(operation)
    return {"name": _text(module, 1), "operations": operations, "stack_frames": frames}


@functools.lru_cache(maxsize=None)
def operations_by_name(proto):
    """{name: operation}, and the same by the names that kernels made from operations have."""
    by_name, by_kernel = {}, {}
    for operation in program(proto)["operations"]:
        by_name[operation["name"]] = operation
        by_kernel.setdefault(operation["name"].replace(".", "_").replace("-", "_"), operation)
    return by_name, by_kernel


@functools.lru_cache(maxsize=None)
def scheduled(proto):
    """Operations of the entry that leave kernels or copies, in the order in which they execute."""
    module = fields(_last(fields(proto), 1, b""))
    [entry] = [c for c in map(fields, _all(module, 3)) if _last(c, 5, 0) == _last(module, 6, 0)]
    names = {_last(i, 35, 0): i for i in map(fields, _all(entry, 2))}
    order = []
    for sequence in map(fields, _all(fields(_last(module, 7, b"")), 1)):
        if _last(sequence, 1, 0) == _last(module, 6, 0):
            packed, at = _last(fields(_last(sequence, 2, b"")), 1, b""), 0
            while at < len(packed):
                number, shift = 0, 0
                while packed[at] >= 128:
                    number |= (packed[at] & 127) << shift
                    at, shift = at + 1, shift + 7
                order.append(number | packed[at] << shift)
                at += 1
    by_name, _ = operations_by_name(proto)
    none = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"}
    return [by_name[_text(names[id], 1)] for id in order if _text(names[id], 2) not in none]


# Kymo's side


def places(document):
    """{track: place of its line} for a document of spaces without counters."""
    sources = {}
    lines, found = {}, {}
    for track in document["tracks"]:
        if track["level"] == "source":
            sources[track["track"]] = len(sources)
        elif track["level"] == "lane":
            number = lines.get(track["parent"], 0)
            lines[track["parent"]] = number + 1
            found[track["track"]] = sources[track["parent"]], number
    return found


def events_by_place(document):
    where, count, found = places(document), {}, {}
    for event in document["trace_events"]:
        place = where[event["track"]]
        found[place, count.get(place, 0)] = event
        count[place] = count.get(place, 0) + 1
    return found


def flow_set(document):
    where = places(document)
    flows = [
        (
            flow["kind"],
            (where[flow["from_track"]], flow["from_event"]),
            (where[flow["to_track"]], flow["to_event"]),
        )
        for flow in document["flows"]
    ]
    assert len(set(flows)) == len(flows), "no flow is told twice"
    return set(flows)
