"""Every event of every capture, as Kymo reads it, against jaxlib's own reader."""

import base64

from jaxlib._profile_data import ProfileData

import xspace


def lanes_by_plane(document):
    """[(plane, [lane, ...]), ...] in the order of the file."""
    tracks = document["tracks"]
    planes = [t for t in tracks if t["level"] == "source"]
    lanes = {p["track"]: [] for p in planes}
    for track in tracks:
        if track["level"] == "lane":
            lanes[track["parent"]].append(track)
    return [(plane, lanes[plane["track"]]) for plane in planes]


def events_by_track(document):
    events = {}
    for event in document["trace_events"]:
        events.setdefault(event["track"], []).append(event)
    return events


def merged(stats):
    """Stats as a dictionary; a key that repeats has the list of its values."""
    lists = {}
    for key, value in stats:
        lists.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in lists.items()}


def same_value(ours, theirs):
    if isinstance(ours, dict):
        return True  # bytes; jaxlib shows them as text, the other oracle below as they are
    if isinstance(theirs, float):
        return float(ours) == theirs or (ours == "NaN" and theirs != theirs)
    return ours == theirs


def test_every_event_is_the_one_jaxlib_reads(kymo, capture):
    document = kymo.document(capture)
    events = events_by_track(document)
    planes = lanes_by_plane(document)
    oracle = list(ProfileData.from_file(str(capture)).planes)
    assert [plane["name"] for plane, _ in planes] == [plane.name for plane in oracle]
    compared = 0
    for (_, lanes), oracle_plane in zip(planes, oracle):
        oracle_lines = list(oracle_plane.lines)
        assert [lane["name"] for lane in lanes] == [line.name for line in oracle_lines]
        for lane, line in zip(lanes, oracle_lines):
            ours = events.get(lane["track"], [])
            theirs = list(line.events)
            assert len(ours) == len(theirs) == lane["event_count"]
            for a, b in zip(ours, theirs):
                assert a["name"] == b.name
                assert a["start_ps"] // 1000 == int(b.start_ns)
                assert a["duration_ps"] // 1000 == int(b.duration_ns)
                stats = merged((k, v) for k, v in b.stats if k is not None)
                args = a.get("args", {})
                assert list(args) == list(stats)
                for key in args:
                    assert same_value(args[key], stats[key]), key
                compared += 1
    assert compared == document["event_count"] > 10000


def exact(stat, names):
    """A stat's value as the document has it: bytes too, which jaxlib only shows as text."""
    kind = stat.WhichOneof("one")
    value = getattr(stat, kind)
    if kind == "bytes_value":
        return {"base64": base64.b64encode(value).decode()}
    if kind == "ref_value":
        return names[value]
    if kind == "str_value":
        return value.decode()
    return "NaN" if value != value else value


def test_times_are_exact_to_the_picosecond_and_stats_to_the_bit(kymo, capture):
    """jaxlib's reader cuts times to nanoseconds; the file itself does not."""
    document = kymo.document(capture)
    events = events_by_track(document)
    compared = 0
    for (plane, lanes), message in zip(lanes_by_plane(document), xspace.load(capture).planes):
        names = {e.key: e.value.name.decode() for e in message.stat_metadata}
        stats = {s.metadata_id: s for s in message.stats}
        for metadata_id, stat in stats.items():
            key = names.get(metadata_id) or str(metadata_id)  # without a name, the id is the key
            assert plane["args"][key] == exact(stat, names)
        for lane, line in zip(lanes, message.lines):
            for ours, theirs in zip(events.get(lane["track"], []), line.events, strict=True):
                assert ours["start_ps"] == line.timestamp_ns * 1000 + theirs.offset_ps
                assert ours["duration_ps"] == theirs.duration_ps
                assert ours.get("args", {}) == merged(
                    (names[s.metadata_id], exact(s, names)) for s in theirs.stats
                )
                compared += 1
    assert compared == document["event_count"]


def test_plane_stats_are_those_jaxlib_reads(kymo, capture):
    planes = lanes_by_plane(kymo.document(capture))
    for (plane, _), oracle in zip(planes, ProfileData.from_file(str(capture)).planes):
        args = plane.get("args", {})
        for key, value in oracle.stats:
            if key:  # jaxlib has no name for the ids of scope ranges
                assert same_value(args[key], value), (plane["name"], key)


def test_what_jaxlib_does_not_show_is_kept_too(kymo, capture):
    """Event metadata with its stats, display names, line ids, and plane stats without a name."""
    document = kymo.document(capture)
    space = xspace.load(capture)
    types = {t["event_type"]: t for t in document["event_types"]}
    by_name = {}
    for t in types.values():
        by_name.setdefault(t["name"], []).append(t)
    for (plane, lanes), message in zip(lanes_by_plane(document), space.planes):
        names = {e.key: e.value.name.decode() for e in message.stat_metadata}
        assert plane["id"] == message.id
        args = plane.get("args", {})
        assert len(args) == len({names.get(s.metadata_id, str(s.metadata_id)) for s in message.stats})
        for lane, line in zip(lanes, message.lines):
            assert lane["id"] == line.id
            assert lane.get("args", {}).get("timestamp_ns", 0) == line.timestamp_ns
        for entry in message.event_metadata:
            value = entry.value
            if not value.stats and not value.display_name:
                continue
            keys = [names[s.metadata_id] for s in value.stats]
            found = [
                t
                for t in by_name[value.name.decode()]
                if list(t.get("args", {})) == keys
                and t.get("display_name", "") == value.display_name.decode()
            ]
            assert found, value.name
    assert [h["name"] for h in document["hosts"]] == (
        [h.decode() for h in space.hostnames] or [capture.name.split(".")[0]]
    )
