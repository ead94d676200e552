"""Whatever a space holds and however it is written, the document says the same, and all of it.

What is expected here is worked out from the description of the format, on the message that Python's
protobuf library holds; the bytes Kymo reads are that library's, or scrambled by hand.
"""

import base64
import codecs
import json
import math
import random

import pytest

import wire
import xspace
from conftest import with_samples

codecs.register_error("each", lambda e: ("\ufffd" * (e.end - e.start), e.end))

START_NS = 1_700_000_000_000_000_000
TEXTS = [
    b"",
    b"a",
    b'quote " backslash \\ slash /',
    b"tab\tline\nreturn\r",
    b"nul\0in\x01the\x1fmiddle\x7f",
    "Größe, 日本, 🎛".encode(),
    b"cut \xe2\x82",
    b"bad \xff\xfe \xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 end",
    b"x" * 300,
]
KEYS = [b"flops", b"bytes accessed", b"", b'k"\\\n\0', "clé".encode(), b"bad \xff key", b"k" * 200]
IDS = [0, 1, 2, 3, 5, 127, 128, 200, 65535, 65536, 70000, 1 << 31, 1 << 32, (1 << 62) + 7]
IDS += [(1 << 63) - 1, -1, -2, -(1 << 63)]
NUMBERS = [0, 1, -1, 127, 128, 1 << 31, 1 << 53, (1 << 63) - 1, -(1 << 63), 12345678901]
REALS = [0.0, -0.0, 1.0, -1.5, 0.1, 1e300, 5e-324, 1e15, 1e16, 123456789.123, math.pi]
REALS += [math.nan, math.inf, -math.inf]
PLANES = [b"/host:CPU", b"/device:GPU:0", b"/device:TPU:1", b"#Chip 0", b"Syscalls", b"/host:x"]
LINES = [b"main/1", b"Stream #7(Compute)", b"XLA Ops", b"XLA Modules", b"Steps", b"Async XLA Ops"]
LINKS = [b"correlation_id", b"_p", b"_pt", b"_c", b"_ct", b"_r", b"step_num", b"run_id"]
LINKS += [b"hlo_op", b"hlo_module", b"program_id", b"device_offset_ps"]

SYSTEM_PROFILE_KEYS = [
    "id", "timestamp", "duration", "group", "instance_id", "process_id", "thread_id", "lnc_idx",
    "worker_gid", "type",
]  # fmt: skip


def text(raw):
    return raw.decode("utf-8", "each")


class Maker:
    """Makes a random space from a seed."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.linked = seed % 3 == 0  # stats that the analysis follows
        self.far = seed % 5 == 0  # times up to months away
        self.big_line = seed % 6 == 1
        self.start_ns = START_NS + seed if self.rng.random() < 0.7 else None
        self.space = xspace.XSpace()

    def some(self, most):
        return range(self.rng.randint(0, most))

    def name(self):
        return self.rng.choice(TEXTS) + self.rng.choice([b"", b"1", b"2"])

    def number(self):
        return self.rng.choice(NUMBERS) if self.rng.random() < 0.5 else self.rng.randint(0, 10**6)

    def time(self):
        limit = 1 << 61 if self.far else 10**10
        return self.rng.choice([0, 1, self.rng.randint(-limit, limit), self.rng.randint(0, 10**9)])

    def stat(self, stats, ids, size=None):
        rng = self.rng
        stat = stats.add(metadata_id=rng.choice(ids + IDS[-3:]) if ids else rng.choice(IDS))
        kind = rng.randrange(8) if size is None else 4
        if kind == 0:
            stat.double_value = rng.choice(REALS)
        elif kind == 1:
            stat.uint64_value = rng.choice([abs(self.number()), 1 << 63, (1 << 64) - 1])
        elif kind == 2:
            stat.int64_value = self.number()
        elif kind == 3:
            stat.str_value = self.name()
        elif kind == 4:
            stat.str_value = self.name() * 3 if size is None else rng.randbytes(size)
        elif kind == 5:
            stat.bytes_value = rng.randbytes(rng.randint(0, 5))
        elif kind == 6:
            stat.ref_value = rng.choice(ids + IDS) & (1 << 64) - 1
        # and one kind has no value at all

    def event(self, line, types, stats):
        rng = self.rng
        event = line.events.add(metadata_id=rng.choice(types + IDS[-2:]))
        if rng.random() < 0.1:
            event.num_occurrences = rng.choice([0, 1, 7, (1 << 63) - 1])
        elif rng.random() < 0.95:
            event.offset_ps = self.time()
        event.duration_ps = self.time() if rng.random() < 0.2 else abs(self.time())
        for _ in range(rng.choice([0, 0, 1, 2, 5, 40]) if rng.random() < 0.5 else 1):
            self.stat(event.stats, stats)
        if rng.random() < 0.03:
            self.stat(event.stats, stats, size=rng.choice([130, 20000]))

    def line(self, plane, types, stats):
        rng = self.rng
        line = plane.lines.add(id=rng.choice(IDS), name=rng.choice(LINES + TEXTS))
        line.timestamp_ns = rng.choice([0, 0, rng.randint(-(10**6), 10**6)])
        if self.start_ns and rng.random() < 0.3:
            line.timestamp_ns = self.start_ns + rng.choice([0, 1, 10**6])
        if rng.random() < 0.3:
            line.duration_ps = self.number()
            line.display_id = rng.choice(IDS)
            line.display_name = rng.choice([line.name, self.name()])
        count = rng.choice([0, 1, 3, 30])
        if self.big_line:
            count, self.big_line = rng.choice([2047, 2048, 2049, 5000]), False
        for _ in range(count):
            self.event(line, types, stats)

    def counters(self, plane, types, stats):
        line = plane.lines.add(id=(1 << 63) - 1, name=b"_counters_")
        for _ in range(self.rng.choice([0, 5, 50])):
            event = line.events.add(
                metadata_id=self.rng.choice(types[:3] or IDS[:2]), offset_ps=abs(self.time())
            )
            kind = self.rng.randrange(5)
            if kind < 4:
                stat = event.stats.add(metadata_id=self.rng.choice(stats or IDS))
            if kind == 0:
                stat.double_value = self.rng.choice(REALS)
            elif kind == 1:
                stat.int64_value = self.number()
            elif kind == 2:
                stat.uint64_value = (1 << 64) - 1
            elif kind == 3:
                stat.str_value = b"not a number"

    def plane(self):
        rng = self.rng
        plane = self.space.planes.add(id=rng.choice(IDS), name=rng.choice(PLANES + TEXTS))
        keys = KEYS + (LINKS if self.linked else [])
        for id in rng.sample(IDS, rng.randint(0, len(IDS))):
            entry = plane.stat_metadata.add(key=id)
            entry.value.id, entry.value.name = id, rng.choice(keys)
            entry.value.description = b"ignored"
        stats = [entry.key for entry in plane.stat_metadata]
        for id in rng.sample(IDS, rng.randint(0, len(IDS))):
            entry = plane.event_metadata.add(key=id)
            entry.value.id, entry.value.name = id, self.name()
            if rng.random() < 0.5:
                entry.value.metadata = rng.randbytes(rng.randint(0, 20))
                entry.value.display_name = rng.choice([b"", self.name()])
                for _ in self.some(4):
                    self.stat(entry.value.stats, stats)
                entry.value.child_id.extend(rng.sample(IDS, rng.randint(0, 3)))
        types = [entry.key for entry in plane.event_metadata]
        for _ in self.some(4):
            self.stat(plane.stats, stats)
        if rng.random() < 0.5:
            if 77 not in stats:
                entry = plane.stat_metadata.add(key=77)
                entry.value.id, entry.value.name = 77, b"process_id"
            plane.stats.add(metadata_id=77, int64_value=rng.choice([10, 11]))
        for _ in self.some(5):
            self.line(plane, types, stats)
        if rng.random() < 0.4:
            self.counters(plane, types, stats)
        for _ in self.some(2):
            self.line(plane, types, stats)

    def make(self):
        before = self.rng.randint(0, 3)
        for _ in range(before):
            self.plane()
        if self.start_ns:
            xspace.task_environment(self.space, self.start_ns, self.start_ns + 10**9)
        for _ in range(self.rng.randint(0, 3)):
            self.plane()
        self.space.errors.extend(self.rng.sample(TEXTS, 2) if self.rng.random() < 0.3 else [])
        self.space.warnings.extend(self.rng.sample(TEXTS, 1) if self.rng.random() < 0.3 else [])
        hostnames = self.rng.choice([[], [b"trn-7"], [b"", b"h\xff"], [b"a", b"b"]])
        self.space.hostnames.extend(hostnames)
        return self.space


class Expected:
    """What the document has to say about a space."""

    def __init__(self, space, label):
        self.host = next((text(h) for h in space.hostnames if h), label)
        self.start_ns = self.stop_ns = None
        for plane in space.planes:
            if plane.name == b"Task Environment":
                self.start_ns, self.stop_ns = [stat.uint64_value for stat in plane.stats]
        self.messages = [("error", text(e)) for e in space.errors]
        self.messages += [("warning", text(w)) for w in space.warnings]
        self.types = []
        self.planes = [self.plane(plane) for plane in space.planes]

    def value(self, stat, names):
        kind = stat.WhichOneof("one")
        if kind is None:
            return None
        value = getattr(stat, kind)
        if kind == "double_value":
            if math.isfinite(value):
                return value
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        if kind == "str_value":
            return text(value)
        if kind == "bytes_value":
            return {"base64": base64.b64encode(value).decode()}
        if kind == "ref_value":
            id = value - (1 << 64) if value >> 63 else value
            return text(names[id]) if id in names else value
        return value

    def args(self, pairs):
        lists = {}
        for key, value in pairs:
            lists.setdefault(key, []).append(value)
        return {key: v[0] if len(v) == 1 else v for key, v in lists.items()}

    def stats(self, stats, names):
        def key(id):
            return text(names[id]) if id in names else "?"

        return [(key(stat.metadata_id), self.value(stat, names)) for stat in stats]

    def constant_stats(self, stats, names):
        """Of planes and event metadata: an id without a name is the key, it may be data itself."""
        def key(id):
            return text(names.get(id, b"")) or str(id)

        return [(key(stat.metadata_id), self.value(stat, names)) for stat in stats]

    def type(self, metadata, names):
        pairs = [("metadata", {"base64": base64.b64encode(metadata.metadata).decode()})]
        pairs = pairs if metadata.metadata else []
        pairs += self.constant_stats(metadata.stats, names)
        pairs += [("child_id", id) for id in metadata.child_id]
        return described(text(metadata.name), text(metadata.display_name), self.args(pairs))

    def event(self, event, base_ps, types, names, is_counter):
        type = types.get(event.metadata_id)
        out = {"name": type["name"] if type else "", "type": type or described("", "", {})}
        if event.WhichOneof("one") == "num_occurrences":
            out["num_occurrences"] = event.num_occurrences
        else:
            out["start_ps"] = base_ps + event.offset_ps
        out["duration_ps"] = event.duration_ps
        if is_counter:
            first = self.value(event.stats[0], names) if event.stats else None
            special = first in ("NaN", "Infinity", "-Infinity")
            is_number = isinstance(first, (int, float))
            out["value"] = first if special else float(first) if is_number else 0.0
        args = self.args(self.stats(event.stats, names))
        if args:
            out["args"] = args
        return out

    def lanes(self, line, types, names):
        stamp = line.timestamp_ns
        base_ps = 1000 * (stamp - self.start_ns if stamp >= (self.start_ns or 1 << 64) else stamp)
        is_counter = line.name == b"_counters_"
        args = [("timestamp_ns", stamp), ("duration_ps", line.duration_ps)]
        args += [("display_id", line.display_id)]
        lane = described(
            text(line.name),
            text(line.display_name) if line.display_name != line.name else "",
            {key: value for key, value in args if value},
        )
        lane |= {"id": line.id, "is_counter": is_counter}
        lanes = {}
        for event in line.events:
            counter = event.metadata_id if is_counter else None
            own = lanes.setdefault(counter, dict(lane, events=[]))
            if is_counter and counter in types:
                own["display_name"] = types[counter]["name"]
            own["events"].append(self.event(event, base_ps, types, names, is_counter))
        return list(lanes.values()) if lanes or is_counter else [dict(lane, events=[])]

    def plane(self, plane):
        names = {e.key: e.value.name for e in plane.stat_metadata}
        types = {e.key: self.type(e.value, names) for e in plane.event_metadata}
        self.types += [types[e.key] for e in plane.event_metadata]
        pairs = self.constant_stats(plane.stats, names)
        out = described(text(plane.name), "", self.args(pairs))
        pids = [value for key, value in pairs if key == "process_id"]
        out |= {"id": plane.id, "pid": pids[0] if pids else 0}
        out["lanes"] = [lane for line in plane.lines for lane in self.lanes(line, types, names)]
        return out


def described(name, display_name, args):
    return {"name": name, "display_name": display_name, "args": args}


def without_duplicates(pairs):
    members = dict(pairs)
    assert len(members) == len(pairs), "a key is written twice in one object"
    return members


def described_by(json_object):
    return described(
        json_object["name"], json_object.get("display_name", ""), json_object.get("args", {})
    )


def planes_of(document):
    """The document's planes, in the shape that Expected gives them."""
    tracks = document["tracks"]
    assert [track["track"] for track in tracks] == list(range(len(tracks)))
    types = {t["event_type"]: described_by(t) for t in document["event_types"]}
    lanes, planes, order = {}, {}, []
    for number, track in enumerate(tracks):
        if track["level"] == "source":
            planes[number] = described_by(track) | {"id": track["id"], "lanes": []}
            assert tracks[track["parent"]]["level"] == "process"
            planes[number]["pid"] = tracks[track["parent"]]["id"]
        elif track["level"] == "lane":
            lane = described_by(track) | {"id": track["id"], "is_counter": track["is_counter"]}
            lane["events"] = []
            lanes[number] = lane
            planes[track["parent"]]["lanes"].append(lane)
    for event in with_samples(document)["trace_events"]:
        for key in SYSTEM_PROFILE_KEYS:  # said again, in the words of another format
            event.pop(key, None)
        number = event.pop("track")
        step = event.pop("step", None)
        assert step is None or step < len(document["steps"])
        # Types whose name says everything about them are not listed.
        event["type"] = types.get(event.pop("event_type", None), described(event["name"], "", {}))
        lanes[number]["events"].append(event)
        order.append(number)
    assert order == sorted(order), "events come lane by lane"
    for number, lane in lanes.items():
        assert len(lane["events"]) == tracks[number]["event_count"]
    return list(planes.values())


def same(ours, expected, where=""):
    """Equal in value and in type, 1 and 1.0 being two things and 0.0 and -0.0 too."""
    if isinstance(expected, dict):
        assert isinstance(ours, dict) and list(ours) == list(expected), (where, ours, expected)
        for key in expected:
            same(ours[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert isinstance(ours, list) and len(ours) == len(expected), (where, ours, expected)
        for i, (a, b) in enumerate(zip(ours, expected)):
            same(a, b, f"{where}[{i}]")
    else:
        assert repr(ours) == repr(expected), where


def sorted_keys(item):
    """Objects whose members have no order of their own; args keep theirs."""
    return {key: item[key] for key in sorted(item)}


def check(kymo, path, space):
    expected = Expected(space, path.name.split(".")[0])
    out = kymo.ok("view", path, "--output-format", "json")
    document = json.loads(out, object_pairs_hook=without_duplicates)
    planes = planes_of(document)
    for plane in planes + expected.planes:
        plane["lanes"] = [
            sorted_keys(lane | {"events": [sorted_keys(event) for event in lane["events"]]})
            for lane in plane["lanes"]
        ]
    same([sorted_keys(plane) for plane in planes], [sorted_keys(p) for p in expected.planes])

    listed = [t for t in expected.types if t["display_name"] or t["args"]]
    same([described_by(t) for t in document["event_types"]], listed)
    lanes = [lane for plane in expected.planes for lane in plane["lanes"]]
    events = [event for lane in lanes for event in lane["events"]]
    timed = [event for event in events if "start_ps" in event]
    assert document["event_count"] == len(events)
    assert document["first_event_ps"] == min((e["start_ps"] for e in timed), default=0)
    ends = [e["start_ps"] + max(0, e["duration_ps"]) for e in timed]
    assert document["last_event_ps"] == max(ends, default=0)

    assert document["format"] == "xplane"
    assert document["start_epoch_ns"] == expected.start_ns
    assert document["stop_epoch_ns"] == expected.stop_ns
    host = {"name": expected.host, "file": str(path), "size_bytes": path.stat().st_size}
    host |= {"compression": "none", "start_epoch_ns": expected.start_ns}
    host |= {"stop_epoch_ns": expected.stop_ns, "shift_ps": 0}
    assert document["hosts"] == [host]
    instances = [t for t in document["tracks"] if t["level"] == "instance"]
    assert [t["name"] for t in instances] == [expected.host]
    processes = [t["id"] for t in document["tracks"] if t["level"] == "process"]
    assert processes == list(dict.fromkeys(plane["pid"] for plane in expected.planes))

    messages = [(m["level"], m["text"]) for m in document["messages"]]
    assert all(m["host"] == expected.host for m in document["messages"])
    if expected.start_ns is None:
        level, last = messages.pop()
        assert level == "warning" and "Task Environment" in last
    assert sorted(messages) == sorted(expected.messages)
    assert document["programs"] == []
    return document


@pytest.mark.parametrize("seed", range(20))
def test_a_random_space_is_read_whole_and_exactly(kymo, tmp_path, seed):
    space = Maker(seed).make()
    path = tmp_path / "random.xplane.pb"
    path.write_bytes(space.SerializeToString() or b"\x1a\x00")
    document = check(kymo, path, space if path.stat().st_size > 2 else xspace.load(path))
    if seed % 3:
        assert document["flows"] == document["derived_rows"] == []
        assert all(step["origin"] == "recorded" for step in document["steps"])  # a line may be named Steps


@pytest.mark.parametrize("seed", range(100, 116))
def test_a_space_written_in_an_unusual_way_is_read_all_the_same(kymo, tmp_path, seed):
    space = Maker(seed).make()
    path = tmp_path / "random.xplane.pb"
    path.write_bytes(wire.scrambled(space, random.Random(seed)) + wire.number(100, seed))
    understood = xspace.load(path)
    understood.DiscardUnknownFields()
    assert understood.SerializeToString() == space.SerializeToString()  # by the other reader
    check(kymo, path, space)


def counters_of(document):
    lanes = [t for t in document["tracks"] if t["level"] == "lane"]
    return {lane.get("display_name"): lane["event_count"] for lane in lanes}


def test_a_counter_whose_id_is_written_twice_belongs_to_the_later_one(kymo, tmp_path):
    event = wire.number(1, 1) + wire.number(2, 5) + wire.number(1, 2)
    line = wire.block(2, b"_counters_") + wire.block(4, event)
    plane = wire.block(2, b"/host:CPU") + wire.block(3, line)
    for id, name in ((1, b"first"), (2, b"second")):
        metadata = wire.number(1, id) + wire.block(2, name)
        plane += wire.block(4, wire.number(1, id) + wire.block(2, metadata))
    path = tmp_path / "counter.xplane.pb"
    path.write_bytes(wire.block(1, plane))
    assert counters_of(kymo.document(path)) == {"second": 1}


def test_event_metadata_written_twice_has_the_later_bytes(kymo, tmp_path):
    metadata = wire.block(3, b"old") + wire.block(2, b"name") + wire.block(3, b"new")
    plane = wire.block(4, wire.number(1, 1) + wire.block(2, metadata))
    path = tmp_path / "metadata.xplane.pb"
    path.write_bytes(wire.block(1, plane))
    types = kymo.document(path)["event_types"]
    assert [t["args"] for t in types] == [{"metadata": {"base64": "bmV3"}}]


def test_a_map_key_written_twice_has_the_later_value(kymo, tmp_path):
    plane = b""
    for name in (b"old", b"new"):
        plane += wire.block(4, wire.number(1, 1) + wire.block(2, wire.block(2, name)))
        plane += wire.block(5, wire.number(1, 1) + wire.block(2, wire.block(2, b"key " + name)))
    stat = wire.block(4, wire.number(1, 1) + wire.number(4, 7))
    plane = wire.block(3, wire.block(4, wire.number(1, 1) + stat)) + plane
    path = tmp_path / "map.xplane.pb"
    path.write_bytes(wire.block(1, plane))
    (event,) = kymo.document(path)["trace_events"]
    assert event["name"] == "new"
    assert event["args"] == {"key new": 7}


def test_keys_that_differ_only_in_bytes_that_are_no_text_keep_all_their_values(kymo, tmp_path):
    space = xspace.XSpace()
    writer = xspace.PlaneWriter(space, "/host:CPU")
    for id, name in ((1, b"k\xff"), (2, b"k\xfe")):
        entry = writer.plane.stat_metadata.add(key=id)
        entry.value.id, entry.value.name = id, name
        writer.plane.stats.add(metadata_id=id, int64_value=id)
    path = tmp_path / "keys.xplane.pb"
    path.write_bytes(space.SerializeToString())
    out = kymo.ok("view", path, "--output-format", "json")
    document = json.loads(out, object_pairs_hook=without_duplicates)
    (plane,) = [t for t in document["tracks"] if t["level"] == "source"]
    lists = [v if isinstance(v, list) else [v] for v in plane["args"].values()]
    assert sorted(value for values in lists for value in values) == [1, 2]
