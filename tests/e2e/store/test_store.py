"""The tables of a processed profile hold what the source says: all of it, once, and readable by
others. Every table is read by two libraries that know nothing of Kymo, Arrow and DuckDB, and held
against the JSON document of the same capture, which other tests hold against the source itself."""

import datetime
import json
import math
import os
import random
import re
import struct

import duckdb
import pyarrow.compute
import pyarrow.parquet
import pytest
import zstandard

import random_space
import xspace
from store_captures import RawPlane, WELL_TYPED, add_program, hlo, profile, profile_of, write
from store_tables import INT64_MAX, INT64_MIN, Table, as_written, attributes, end_of, first_value, is_timed, label, saturated
from wire import block, packed

# SystemProfileEvents


@pytest.mark.plain_build
def test_events_are_numbered_in_the_order_of_the_document(profile):
    ours = profile.columns("SystemProfileEvents", "id", "track_id", "name")
    assert ours == [(id, e["track"], e["name"]) for id, e in enumerate(profile.events)]


def test_times_of_events_are_exact(profile):
    columns = profile.columns(
        "SystemProfileEvents", "start_ts", "start_fraction_ps", "duration_ns",
        "duration_fraction_ps", "end_ts", "occurrence_count",
    )  # fmt: skip
    for event, row in zip(profile.events, columns):
        start, start_rest, duration, rest, end, occurrences = row
        assert 0 <= start_rest < 1000 and 0 <= rest < 1000
        assert end == start + duration
        assert duration * 1000 + rest == event["duration_ps"]
        assert occurrences == event.get("num_occurrences")
        if occurrences is None:
            assert start * 1000 + start_rest == event["start_ps"]


def test_steps_of_events_are_those_of_the_document(profile):
    steps = [row[0] for row in profile.columns("SystemProfileEvents", "step_id")]
    assert steps == [event.get("step") for event in profile.events]


def layer_of(name):
    if name.startswith(("/device:", "#Chip")):
        kinds = {"/device:GPU": "gpu_hw", "/device:TPU": "tpu_hw"}
        return next((v for k, v in kinds.items() if name.startswith(k)), "device_hw")
    is_host = name.startswith("/host:") or name in ("Host CPUs", "Syscalls")
    return "framework" if is_host else "other"


def test_events_say_where_they_ran(profile):
    expected, workers = {}, {}  # workers: devices over all machines, in the order of their lanes
    for lane in profile.lanes:
        source = profile.sources[lane["track"]]
        number = re.search(r"(?<!\d)\d{1,9}$", source) if profile.is_device(lane["track"]) else None
        expected[lane["track"]] = (
            layer_of(source),
            label(profile.ancestor(lane["track"], "instance")),
            profile.ancestor(lane["track"], "process")["id"],
            lane["id"],
            int(number[0]) if number else None,
            label(lane) if lane["name"].startswith("Stream #") else None,
            None,
            workers.setdefault(lane["parent"], len(workers)) if number else None,
        )
    ours = profile.columns(
        "SystemProfileEvents", "trace_event_source", "instance_id", "process_id", "thread_id",
        "nc_idx", "framework_stream_id", "pcore_idx", "worker_gid",
    )  # fmt: skip
    assert ours == [expected[event["track"]] for event in profile.events]


# Flows


def test_flows_are_those_of_the_document(profile):
    events = profile.events
    expected = []
    for flow in profile.document["flows"]:
        cause = profile.event_id(flow["from_track"], flow["from_event"])
        effect = profile.event_id(flow["to_track"], flow["to_event"])
        gap = None
        if is_timed(events[cause]) and is_timed(events[effect]):
            gap = saturated(events[effect]["start_ps"] - end_of(events[cause])) // 1000
        expected.append((cause, effect, flow["kind"], gap))
    ours = []
    for row in profile.rows("Flow"):
        cause, effect = row["in_id"], row["out_id"]
        assert row["in_table"] == row["out_table"] == "SystemProfileEvents"
        timed = is_timed(events[cause]) and is_timed(events[effect])
        ours.append((cause, effect, row["dependency_type"], row["gap_time"] if timed else None))
    assert sorted(map(repr, ours)) == sorted(map(repr, expected))
    assert len({flow[:3] for flow in ours}) == len(ours)


def test_events_of_one_flow_share_a_flow_id(profile):
    chains = [set(ids or []) for (ids,) in profile.columns("SystemProfileEvents", "flow_id")]
    for flow in profile.document["flows"]:
        cause = profile.event_id(flow["from_track"], flow["from_event"])
        effect = profile.event_id(flow["to_track"], flow["to_event"])
        assert chains[cause] & chains[effect]


def chains_of(profile, event):
    """What links an event to others, by its args alone."""
    args, process = event.get("args", {}), profile.ancestor(event["track"], "process")["track"]
    found = []
    on_host = not profile.is_device(event["track"])
    if "correlation_id" in args and (args["correlation_id"] or on_host):
        found.append(("launch", process, args["correlation_id"]))
    if "_p" in args:
        found.append(("context", process, args.get("_pt", 0), args["_p"]))
    if "_c" in args:
        found.append(("context", process, args.get("_ct", 0), args["_c"]))
    return found


def test_flow_ids_stand_for_what_links_events_and_for_nothing_else(profile):
    if profile.name not in WELL_TYPED:
        pytest.skip("links are not all of their types")
    name_of, meaning_of = {}, {}
    columns = profile.columns("SystemProfileEvents", "flow_id")
    for event, (ids,) in zip(profile.events, columns):
        chains = chains_of(profile, event)
        assert len(ids or []) == len(chains), event
        assert ids != []
        known = {name_of[chain] for chain in chains if chain in name_of}
        assert known <= set(ids or [])
        if len(chains) == 1:
            assert name_of.setdefault(chains[0], ids[0]) == ids[0]
            assert meaning_of.setdefault(ids[0], chains[0]) == chains[0]


# What was worked out


def test_runs_are_the_events_of_the_derived_rows(profile):
    tracks = len(profile.document["tracks"])
    programs = profile.document["programs"]
    operations = [op for program in programs for op in program["operations"]]
    rows = profile.rows("HloRun")
    assert [row["id"] for row in rows] == list(range(len(rows)))
    expected = [
        (number, derived, event)
        for number, derived in enumerate(profile.document["derived_rows"])
        for event in derived["events"]
    ]
    for row, (number, derived, event) in zip(rows, expected, strict=True):
        is_module = derived["name"].startswith("XLA Modules")
        assert row["kind"] == ("module" if is_module else "operation")
        assert row["name"] == event["name"]
        assert row["start_ts"] == event["start_ps"] // 1000
        assert row["duration_ns"] == event["duration_ps"] // 1000
        assert row["end_ts"] == row["start_ts"] + row["duration_ns"]
        assert row["track_id"] == tracks + number
        assert row["stream_track_id"] == derived["lane"]
        assert row["step_id"] == event.get("step")
        assert row["kernel_count"] == event["kernel_count"]
        assert (row["module_id"] is not None) == ("program_id" in event)
        if row["module_id"] is not None:
            assert programs[row["module_id"]]["program_id"] == event["program_id"]
        assert (row["operation_id"] is not None) == ("op_name" in event)
        if row["operation_id"] is not None:
            operation = operations[row["operation_id"]]
            for key in ("name", "op_name", "source_file", "source_line"):
                assert operation[key] == event[key]


def test_steps_are_those_of_the_document(profile):
    types = dict(profile.columns("EventType", "id", "display_name"))
    rows = profile.rows("Step")
    events = profile.rows("SystemProfileEvents") if rows else []
    for id, (row, step) in enumerate(zip(rows, profile.document["steps"], strict=True)):
        event = events[row["event_id"]]
        assert row["id"] == id and row["number"] == step["number"]
        assert row["event_id"] == profile.event_id(step["track"], step["event"])
        assert row["name"] == event["name"]
        assert step["name"] == (types[event["event_type_id"]] or event["name"])
        assert row["start_ts"] == step["start_ps"] // 1000
        assert row["duration_ns"] == step["duration_ps"] // 1000
        assert row["end_ts"] == row["start_ts"] + row["duration_ns"]
        for end in ("device_start", "device_end"):
            time = step.get(f"{end}_ps")
            assert row[f"{end}_ts"] == (None if time is None else time // 1000)
        assert row["device_event_count"] == step["device_event_count"]


# What the source lists


def covered(events):
    """The time at which at least one of them runs."""
    total, reached = 0, -math.inf
    for event in sorted(events, key=lambda event: event["start_ps"]):
        total += max(0, end_of(event) - max(event["start_ps"], reached))
        reached = max(reached, end_of(event))
    return total


def on_device(event):
    """With the times on the device's own clock, where an operation has them."""
    times = [event.get("args", {}).get(f"device_{what}_ps") for what in ("offset", "duration")]
    return event if None in times else event | {"start_ps": times[0], "duration_ps": times[1]}


def extent_of(events, busy=None):
    if not events:
        return None, None, None
    return (
        min(event["start_ps"] for event in events) // 1000,
        max(end_of(event) for event in events) // 1000,
        saturated(covered(busy or events)) // 1000,
    )


LANE_ROLES = {"XLA Ops": "ops", "XLA Modules": "modules", "Steps": "steps"}
LANE_ROLES |= {"Async XLA Ops": "async", "_counters_": "counter"}
LANE_ROLES |= {"Sparse Core Ops": "ops", "Sparse Core Modules": "modules"}
LANE_ROLES |= {"Sparse Core Steps": "steps"}


def role_of(track):
    if track["level"] == "lane":
        is_stream = track["name"].startswith("Stream #")
        return "stream" if is_stream else LANE_ROLES.get(track["name"], "plain")
    if track["level"] == "source":
        layer = layer_of(track["name"])
        return "host" if layer == "framework" else None if layer == "other" else "device"
    return None


def test_tracks_are_those_of_the_document(profile):
    tracks, derived = profile.document["tracks"], profile.document["derived_rows"]
    on_track = {}
    for event in profile.events:
        on_track.setdefault(event["track"], []).append(event)
    rows = profile.rows("Track")
    assert [row["id"] for row in rows] == list(range(len(tracks) + len(derived)))
    for row, track in zip(rows, tracks):
        events = on_track.get(track["track"], [])
        assert row["parent_id"] == track.get("parent")
        assert row["kind"] == track["level"]
        assert row["name"] == label(track)
        assert row["role"] == role_of(track)
        assert row["instance_id"] == label(profile.ancestor(track["track"], "instance"))
        assert (row["number"], row["sort_key"]) == (track["id"], track["sort_key"])
        assert row["event_count"] == track.get("event_count", 0) == len(events)
        assert row["first_event_id"] == profile.first_event.get(track["track"])
        assert row["event_table"] == ("SystemProfileEvents" if events else None)
        timed = [event for event in events if is_timed(event)]
        extent = extent_of(timed, list(map(on_device, timed)) if row["role"] == "ops" else timed)
        profilers = [e for e in events if e["name"].startswith("$profiler.py") and e["name"].endswith("_trace")]
        if profilers:
            extent = *extent[:2], (covered(events) - covered(profilers)) // 1000
        assert (row["first_ts"], row["last_ts"], row["busy_ns"]) == extent
        assert repr(attributes(row["attributes_json"])) == repr(track.get("args", {}))


def test_derived_rows_have_tracks_behind_those_of_the_source(profile):
    tracks, derived = profile.document["tracks"], profile.document["derived_rows"]
    first = 0
    for row, made in zip(profile.rows("Track")[len(tracks) :], derived, strict=True):
        lane = tracks[made["lane"]]
        assert row["parent_id"] == made["source"] == lane["parent"]
        assert row["kind"] == "lane" and row["name"] == made["name"]
        assert row["role"] == ("modules" if made["name"].startswith("XLA Modules") else "ops")
        assert row["instance_id"] == label(profile.ancestor(made["lane"], "instance"))
        assert (row["number"], row["sort_key"]) == (lane["id"], lane["sort_key"])
        assert row["event_count"] == len(made["events"]) > 0
        assert row["first_event_id"] == first and row["event_table"] == "HloRun"
        assert (row["first_ts"], row["last_ts"], row["busy_ns"]) == extent_of(made["events"])
        assert row["attributes_json"] is None
        first += len(made["events"])


def test_event_types_are_those_of_the_document(profile):
    listed = {type["event_type"]: type for type in profile.document["event_types"]}
    rows = profile.rows("EventType")
    assert [row["id"] for row in rows] == list(range(len(rows)))
    for row in rows:
        type = listed.pop(row["id"], {"name": row["name"]})
        assert row["name"] == type["name"]
        assert row["display_name"] == type.get("display_name")
        assert repr(attributes(row["attributes_json"])) == repr(type.get("args", {}))
    assert listed == {}
    types = profile.columns("SystemProfileEvents", "event_type_id")
    for event, (type,) in zip(profile.events, types):
        assert type == event.get("event_type", 0)
        assert rows[type]["name"] == event["name"]


def test_python_frames_are_told_from_names(profile):
    expected = []
    for id, name in profile.columns("EventType", "id", "name"):
        call = re.fullmatch(r"\$([^ ]*) (.*)", name, re.DOTALL)
        if call:
            place = re.fullmatch(r"(.*):([0-9]{1,9})", call[1], re.DOTALL)
            where = (place[1], int(place[2])) if place else (None, None)
            expected.append((id, name, *where, call[2]))
    columns = ("event_type_id", "name", "file_path", "line_number", "function_name")
    assert profile.columns("PythonFrame", *columns) == expected


def test_modules_and_operations_are_those_of_the_programs(profile):
    programs = profile.document["programs"]
    for id, (row, program) in enumerate(zip(profile.rows("HloModule"), programs, strict=True)):
        assert row["id"] == id
        assert (row["name"], row["label"]) == (program["name"], program["label"])
        assert row["program_id"] % (1 << 64) == program["program_id"]
        assert row["instance_id"] == program["host"]
        assert row["operation_count"] == len(program["operations"])
    expected = [(id, op) for id, program in enumerate(programs) for op in program["operations"]]
    rows = profile.rows("HloOperation")
    for id, (row, (module, operation)) in enumerate(zip(rows, expected, strict=True)):
        assert (row["id"], row["module_id"]) == (id, module)
        for column in ("name", "opcode", "computation"):
            assert row[column] == operation[column]
        for column in ("op_name", "source_file", "source_line"):
            assert row[column] == (operation[column] or None)


def test_stack_frames_resolve_to_those_of_the_programs(profile):
    frames = {row["id"]: row for row in profile.rows("StackFrame")}
    places = {row["id"]: row for row in profile.rows("StackFrameFileLocation")}
    files = dict(profile.columns("StackFrameFileName", "id", "name"))
    functions = dict(profile.columns("StackFrameFunctionName", "id", "name"))
    assert len(set(files.values())) == len(files)
    assert len(set(functions.values())) == len(functions)
    assert len({tuple(row.values())[1:] for row in places.values()}) == len(places)
    for ids in (files, functions, places, frames):
        assert list(ids) == [str(number) for number in range(1, len(ids) + 1)]

    def resolved(id):
        frame = frames[id]
        place = places[str(frame["file_location_id"])]
        return (
            files[str(place["file_name_id"])] if place["file_name_id"] else "",
            functions[str(place["function_name_id"])] if place["function_name_id"] else "",
            place["line_number"],
        )

    first = 1  # frames of one program follow those of the other
    operations = iter(profile.columns("HloOperation", "stack_frame_id"))
    for program in profile.document["programs"]:
        for number, frame in enumerate(program["stack_frames"]):
            id = str(first + number)
            assert resolved(id) == (frame["file"], frame["function"], frame["line"])
            parent = first + frame["parent"] if "parent" in frame else 0
            assert frames[id]["parent_frame_id"] == str(parent)
        for operation in program["operations"]:
            known = "stack_frame" in operation
            id = str(first + operation["stack_frame"]) if known else None
            assert next(operations) == (id,)
        first += len(program["stack_frames"])
    assert len(frames) == first - 1


def test_warnings_are_the_messages_of_the_document(profile):
    expected = [(message["text"], message["level"]) for message in profile.document["messages"]]
    assert profile.columns("Warning", "message", "category") == expected


def test_samples_are_the_events_of_counters(profile):
    expected = []
    names = {lane["track"]: label(lane) for lane in profile.lanes if lane["is_counter"]}
    for id, event in enumerate(profile.events):
        if event["track"] in names:
            value = event["value"]
            start = event["start_ps"] // 1000 if is_timed(event) else None
            expected.append((id, event["track"], names[event["track"]], start, value))
    ours = [
        (id, track, name, time if is_timed(profile.events[id]) else None, as_written(value))
        for id, track, name, time, value in profile.columns(
            "CounterSample", "id", "track_id", "name", "timestamp", "value"
        )
    ]
    assert list(map(repr, ours)) == list(map(repr, expected))


def date(epoch_ns):
    seconds, rest = divmod(epoch_ns, 10**9)
    day = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return f"{day:%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def float32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def first_arg(profile, *keys):
    """What the first source that has one of the keys says under it."""
    for key in keys:
        for track in profile.document["tracks"]:
            if track["level"] == "source" and key in track.get("args", {}):
                return first_value(track["args"], key)
    return None


def number_or_zero(value):
    return value if isinstance(value, (int, float)) else 0


def test_metadata_says_when_and_on_what_it_was_taken(profile):
    document = profile.document
    [system], [row] = profile.rows("SystemProfileMetadata"), profile.rows("Metadata")
    epoch, times = document["start_epoch_ns"], []
    for key in ("first_event_ps", "last_event_ps"):
        since_start = document[key] // 1000
        if epoch is None:
            times.append(("", str(since_start)))
        else:
            times.append((date(epoch + since_start), str(epoch + since_start)))
    (first, first_ns), (last, last_ns) = times
    assert system == {
        "first_ts": first,
        "last_ts": last,
        "first_ts_ns": first_ns,
        "last_ts_ns": last_ns,
        "ntff_version": 0,
        "hbm_capacity_bytes": number_or_zero(first_arg(profile, "memory_size")),
    }
    device = [e for e in profile.events if profile.is_device(e["track"]) and is_timed(e)]
    start, end, _ = extent_of(device)
    known = {
        "profile_schema_version": "7.4.0",
        "first_hw_timestamp": start or 0,
        "last_hw_timestamp": end or 0,
        "first_ts": first,
        "last_ts": last,
        "hbm_ddr_bandwidth": float32(number_or_zero(first_arg(profile, "memory_bandwidth"))),
        "neuroncore_clock_freq": float32(number_or_zero(first_arg(profile, "clock_rate")) / 1e6),
        "ticks_per_nanosec": 1,
        "instance_type": first_arg(profile, "gpu_device_name", "device_type_string"),
        "driver_version": first_arg(profile, "cuda_driver_version"),
        "runtime_version": first_arg(profile, "cuda_runtime_version"),
        "compiler_version": first_arg(profile, "jaxlib_version"),
        "explorer_version": profile.kymo.ok("--version").strip(),
        "is_simulation": False,
    }
    required = {name for name, _, required in profile.tables["Metadata"].schema if required}
    for column, value in row.items():
        unknown = 0 if column in required else None
        assert value == known.get(column, unknown), column


# Sums


def test_durations_add_up_the_same_in_tables_timeline_and_document(profile):
    totals, runs = {}, {}
    for event in profile.events:
        if is_timed(event):
            total = totals.get(event["track"], 0)
            totals[event["track"]] = total + max(0, event["duration_ps"])
    for number, row in enumerate(profile.document["derived_rows"]):
        track = len(profile.document["tracks"]) + number
        runs[track] = sum(event["duration_ps"] for event in row["events"])
    query = """
        SELECT track_id,
               sum(greatest(duration_ns::HUGEINT * 1000 + duration_fraction_ps, 0))::VARCHAR
        FROM read_parquet(?) WHERE occurrence_count IS NULL GROUP BY track_id"""
    path = profile.directory / "SystemProfileEvents.parquet"
    if path.exists():
        found = duckdb.connect().execute(query, [str(path)]).fetchall()
        assert {track: int(total) for track, total in found} == totals
    counters = {lane["track"] for lane in profile.lanes if lane["is_counter"]}
    shown = {
        track["track"]: sum(item["busy_ps"] for row in track["rows"] for item in row["items"])
        for track in profile.kymo.json("timeline", profile.directory)["tracks"]
        if track["track"] not in counters
    }
    expected = {track: total for track, total in totals.items() if track not in counters} | runs
    assert shown == expected


# Many events


@pytest.mark.plain_build
@pytest.mark.slow
def test_a_line_of_200000_events_is_written_in_several_groups(kymo, tmp_path):
    """Values that leap, repeat and miss, over the borders of pages and groups."""
    count, rng = 200_000, random.Random(1)
    space = xspace.XSpace(hostnames=[b"host"])
    plane = xspace.PlaneWriter(space, "/device:GPU:0", pid=1)
    types = [plane.event_id(f"kernel {n}") for n in range(300)]
    key, text = plane.stat_id("correlation_id"), plane.stat_id("label")
    line = plane.line("Stream #1(x)", 1)
    expected, lines = [], []
    for number in range(count):
        type = rng.choice(types) if number % 70_000 < 60_000 else types[7]
        start, duration = (rng.getrandbits(rng.randrange(1, 60)) for _ in range(2))
        stats = b""
        if number % 3 == 0 and number < 150_000:
            stats += block(4, packed(1, key) + packed(4, number + 1))
        if number % 50 == 0 and 70_000 < number:
            stats += block(4, packed(1, text) + packed(5, f"t{number}"))
        lines.append(block(4, packed(1, type) + packed(2, start) + packed(3, duration) + stats))
        chain = [f"{number + 1}"] if number % 3 == 0 and number < 150_000 else None
        label = f"t{number}" if number % 50 == 0 and 70_000 < number else None
        expected.append((number, f"kernel {type - 1}", start, duration, chain, label))
    line_bytes = line.SerializeToString() + b"".join(lines)
    del plane.plane.lines[:]
    capture = tmp_path / "large.xplane.pb"
    rest = space.planes[0].SerializeToString() + block(3, line_bytes)
    capture.write_bytes(block(1, rest) + block(4, b"host"))
    directory = tmp_path / "profile"
    kymo.ok("view", capture, "--output-file", directory, "--ingest-only")
    table = Table(directory / "SystemProfileEvents.parquet")
    assert table.groups >= 3
    names = ["id", "name", "start_ts", "start_fraction_ps", "duration_ns", "duration_fraction_ps"]
    names += ["flow_id", "extra_attributes_json"]
    for row, (id, name, start, duration, chain, label) in zip(
        zip(*(table.columns[column] for column in names)), expected, strict=True
    ):
        assert row[:2] == (id, name)
        assert row[2] * 1000 + row[3] == start and row[4] * 1000 + row[5] == duration
        assert [x.split(".")[1] for x in row[6]] == chain if chain else row[6] is None
        extra = attributes(row[7])
        assert extra.get("label") == label
        assert extra.get("correlation_id") == (int(chain[0]) if chain else None)


def test_the_tables_do_not_depend_on_the_number_of_threads(kymo, tmp_path):
    capture = write(random_space.make(2), tmp_path / "x.xplane.pb")
    contents = []
    for jobs in (1, 2, 7):
        directory = tmp_path / f"profile{jobs}"
        kymo.ok("view", capture, "--output-file", directory, "--ingest-only", "-j", jobs)
        contents.append({p.name: p.read_bytes() for p in directory.glob("*.parquet")})
    assert contents[0] == contents[1] == contents[2]


@pytest.mark.slow
def test_texts_that_fill_more_than_a_group_end_it_early(kymo, tmp_path):
    """Groups are kept to some 64 MB of text, however few events that is."""
    space = xspace.XSpace(hostnames=[b"host"])
    plane = RawPlane(space, b"/host:CPU")
    type, line = plane.type(b"e"), plane.plane.lines.add(id=1, name=b"main")
    for number in range(6000):
        event = line.events.add(metadata_id=type.id, offset_ps=number)
        plane.stat(event.stats, b"text", str_value=b"%05d" % number * 5000)
    directory = tmp_path / "profile"
    capture = write(space, tmp_path / "large.xplane.pb")
    kymo.ok("view", capture, "--output-file", directory, "--ingest-only")
    file = pyarrow.parquet.ParquetFile(directory / "SystemProfileEvents.parquet")
    groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    assert len(groups) > 1 and sum(groups) == 6000
    texts = file.read(["id", "extra_attributes_json"])
    assert texts.column(0).to_pylist() == list(range(6000))
    for id, text in enumerate(texts.column(1).to_pylist()):
        assert text == '{"text":"%s"}' % (f"{id:05d}" * 5000)


@pytest.mark.skipif("KYMO_HUGE" not in os.environ, reason="it takes half a minute")
def test_a_text_larger_than_a_page_can_be_does_not_spoil_the_table(kymo, tmp_path):
    """A page of Parquet has less than 2 GiB; a few kilobytes of zstd unpack to more. The capture is
    refused, or the table can be read."""
    text = b"\x01" * (360 << 20)  # six times as long in JSON
    event = block(4, packed(1, 1) + block(4, packed(1, 1) + block(5, text)))
    plane = block(3, packed(1, 1) + event) + block(5, packed(1, 1) + block(2, packed(2, "text")))
    capture, directory = tmp_path / "huge.xplane.pb.zst", tmp_path / "profile"
    capture.write_bytes(zstandard.compress(block(1, packed(2, "/host:CPU") + plane)))
    result = kymo.run("view", capture, "--output-file", directory, "--ingest-only", "-j", 1)
    if result.returncode == 0:
        table = pyarrow.parquet.read_table(directory / "SystemProfileEvents.parquet")
        (text,) = table.column("extra_attributes_json").to_pylist()
        assert text is None or json.loads(text)
    else:
        assert result.returncode == 1 and not directory.exists()


# Where the ends of the numbers are reached


@pytest.mark.parametrize("duration", [INT64_MIN, INT64_MIN + 1, INT64_MIN + 998, INT64_MAX])
def test_a_duration_at_the_end_of_its_range_is_exact(kymo, tmp_path, duration):
    def fill(space):
        plane = xspace.PlaneWriter(space, "/host:CPU")
        plane.event(plane.line("main"), "e", 0, duration)

    made = profile_of(kymo, tmp_path, fill)
    test_times_of_events_are_exact(made)
    test_tracks_are_those_of_the_document(made)


@pytest.mark.parametrize("start", [INT64_MIN, INT64_MIN + 1, INT64_MIN + 998, INT64_MAX])
def test_a_start_at_the_end_of_its_range_is_exact(kymo, tmp_path, start):
    def fill(space):
        plane = xspace.PlaneWriter(space, "/host:CPU")
        plane.event(plane.line("main"), "e", start, 0)

    made = profile_of(kymo, tmp_path, fill)
    test_times_of_events_are_exact(made)
    test_tracks_are_those_of_the_document(made)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_gap_wider_than_its_range_stops_at_the_end_of_it(kymo, tmp_path, swapped):
    far = (1 << 62) + (1 << 61)

    def fill(space):
        host = xspace.PlaneWriter(space, "/host:CPU", 1)
        host.event(host.line("main"), "launch", far if swapped else -far, 0, correlation_id=1)
        device = xspace.PlaneWriter(space, "/device:GPU:0", 1)
        line = device.line("Stream #1(x)")
        device.event(line, "kernel", -far if swapped else far, 0, correlation_id=1)

    test_flows_are_those_of_the_document(profile_of(kymo, tmp_path, fill))


@pytest.mark.parametrize("line", [(1 << 31) - 1, 1 << 31, (1 << 32) - 1])
def test_a_line_number_beyond_32_bits_does_not_spoil_the_table(kymo, tmp_path, line):
    """The column has 32 bits; what it cannot hold must not make the file one that is not read."""

    def fill(space):
        plane = xspace.PlaneWriter(space, "/host:metadata")
        frames = [(1, 1, 5, 0, 0), (1, 1, line, 0, 1), (2, 1, 7, 0, 2)]
        add_program(plane, "jit_f", hlo("jit_f", frames), 1)

    made = profile_of(kymo, tmp_path, fill)
    lines = [n for (n,) in made.columns("StackFrameFileLocation", "line_number")]
    assert lines[0] == 5 and lines[2] == 7
    assert lines[1] == line or line >= 1 << 31


@pytest.mark.parametrize("value", [(1 << 64) - 1, 1e300, math.nan, math.inf, "text", b"b"])
def test_a_capacity_that_cannot_be_is_no_capacity(kymo, tmp_path, value):
    def fill(space):
        plane = xspace.PlaneWriter(space, "/device:GPU:0")
        for key in ("memory_size", "memory_bandwidth", "clock_rate"):
            plane.stat(plane.plane.stats, key, value)

    [row] = profile_of(kymo, tmp_path, fill).rows("SystemProfileMetadata")
    assert row["hbm_capacity_bytes"] in (0, INT64_MAX)
