"""Args of events in the tables of a processed profile: each is kept once, in a column of its own or among the others."""

import json
import re

import pytest

from store_captures import RawPlane, WELL_TYPED, profile, profile_of
from store_tables import COLUMNS_OF_ARGS, INT64_MAX, INT64_MIN, as_written, attributes, fields_of, first_value


def words_of(text):
    """{key: value} of a text of details, None when a word is none or comes twice."""
    words = [word.partition(":") for word in text.split(" ") if word]
    if any(not key or not colon for key, colon, _ in words):
        return None
    found = {key: value for key, _, value in words}
    return found if len(found) == len(words) else None


def is_number(text):
    return re.fullmatch(r"[0-9]+", text) is not None and int(text) <= INT64_MAX


def kernel_details(text):
    words = words_of(text)
    names = {"regs", "static_shared", "dynamic_shared", "grid", "block", "occ_pct"}
    if words is None or set(words) != names:
        return None
    found = {}
    for key, value in words.items():
        parts = value.split(",") if key in ("grid", "block") else [value]
        if key == "occ_pct":
            if not re.fullmatch(r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", value):
                return None
            found[key] = float(value)
        elif len(parts) != (3 if key in ("grid", "block") else 1) or not all(map(is_number, parts)):
            return None
        else:
            found[key] = [int(part) for part in parts]
    return found


def transfer_details(text, numbers, texts):
    words = words_of(text)
    if words is None or not set(words) <= {*numbers, *texts, "async"} or numbers[0] not in words:
        return None
    if words.get("async", "0") not in ("0", "1"):
        return None
    if not all(is_number(words[key]) for key in numbers if key in words):
        return None
    found = {key: int(words[key]) for key in numbers if key in words}
    found |= {key: words[key] for key in texts if words.get(key)}
    return found | {"async": words.get("async", "0") == "1"}


def copy_details(text):
    return transfer_details(text, ["size", "dest"], ["kind_src", "kind_dst"])


def memset_details(text):
    return transfer_details(text, ["num_bytes"], ["kind"])


DETAILS = {
    "kernel_details": ("GpuKernel", kernel_details),
    "memcpy_details": ("GpuCopy", copy_details),
    "Memset_details": ("GpuCopy", memset_details),
}


def kind_of(profile, event):
    """(table the event is in besides the events' own, key of its details, details)"""
    args = event.get("args", {})
    if profile.is_gpu(event["track"]):
        for key, (table, read) in DETAILS.items():
            text = first_value(args, key)
            details = read(text) if isinstance(text, str) else None
            if details is not None:
                return table, key, details
    if "bytes_allocated" in args and "bytes_reserved" in args:
        return "MemoryAllocation", None, None
    return None, None, None


def details_of_row(table, row):
    """What stands in a row of its details, and under which key the source has them."""
    if table == "GpuKernel":
        return "kernel_details", {
            "regs": [row["registers_per_thread"]],
            "static_shared": [row["static_shared_bytes"]],
            "dynamic_shared": [row["dynamic_shared_bytes"]],
            "grid": [row["grid_x"], row["grid_y"], row["grid_z"]],
            "block": [row["block_x"], row["block_y"], row["block_z"]],
            "occ_pct": row["occupancy_percent"],
        }
    if row["operation"] == "memcpy":
        names = {"size": "size_bytes", "dest": "destination_device", "async": "is_async"}
        names |= {"kind_src": "source_kind", "kind_dst": "destination_kind"}
        key = "memcpy_details"
    else:
        assert row["operation"] == "memset"
        names = {"num_bytes": "size_bytes", "kind": "destination_kind", "async": "is_async"}
        assert row["source_kind"] is None and row["destination_device"] is None
        key = "Memset_details"
    return key, {name: row[column] for name, column in names.items() if row[column] is not None}


def rebuilt_args(extra, table, row):
    """The args of an event, put together from its rows; those in columns are the first of a key."""
    taken = {}
    if row is not None:
        for column, key in COLUMNS_OF_ARGS[table].items():
            if row[column] is not None:
                taken[key] = as_written(row[column])
        whole = table != "GpuKernel" or None not in (row["registers_per_thread"], row["occupancy_percent"])
        if table != "MemoryAllocation" and whole:
            key, details = details_of_row(table, row)
            taken[key] = details
    args = dict(extra)
    for key, value in taken.items():
        if key not in extra:
            args[key] = value
        else:
            rest = extra[key]
            args[key] = [value, *(rest if isinstance(rest, list) else [rest])]
    return args


def is_whole(details):
    """Whether the columns have all of it: no kernel has that many registers, or ran on nothing."""
    return "regs" not in details or (details["regs"][0] <= 65536 and details["occ_pct"] > 0)


def expected_args(event, key, details):
    """The document's args with the text of details, where there is one, as what it says."""
    args = dict(event.get("args", {}))
    if key and is_whole(details):
        text = args[key]
        args[key] = [details, *text[1:]] if isinstance(text, list) else details
    return args


def canonical(args):
    """1, 1.0 and true are three things, 0.0 and -0.0 two; the order of keys says nothing."""
    return json.dumps(args, sort_keys=True)


def fits(value, type):
    """Whether a column of the type has room for what an arg says."""
    if type == "int64":
        return isinstance(value, int) and INT64_MIN <= value <= INT64_MAX
    if type == "float64":
        return isinstance(value, float)
    return isinstance(value, str) and value not in ("NaN", "Infinity", "-Infinity")


@pytest.mark.parametrize("table", COLUMNS_OF_ARGS)
def test_args_that_have_a_column_are_in_it(profile, table):
    types = {name: type for name, type, _ in fields_of(profile)[table]}
    for row in profile.rows(table):
        args = profile.events[row["id"]]["args"]
        for column, key in COLUMNS_OF_ARGS[table].items():
            unknown = "occupancy" in column and first_value(args, key) == 0
            if fits(first_value(args, key), types[column]) and not unknown:
                assert row[column] == first_value(args, key), column


def test_every_arg_is_kept_once(profile):
    rows = {}
    for table in COLUMNS_OF_ARGS:
        for row in profile.rows(table):
            assert row["id"] not in rows, "an event is in one of the tables only"
            rows[row["id"]] = table, row
    extras = [x for (x,) in profile.columns("SystemProfileEvents", "extra_attributes_json")]
    for id, (event, extra) in enumerate(zip(profile.events, extras, strict=True)):
        table, key, details = kind_of(profile, event)
        found_table, row = rows.pop(id, (None, None))
        assert found_table == table, event
        ours = rebuilt_args(attributes(extra), table, row)
        theirs = expected_args(event, key, details)
        assert canonical(ours) == canonical(theirs), event
    assert rows == {}


def launch_ids(profile):
    """{id of an event on a device: id of the call that launched it}"""
    return {
        profile.event_id(flow["to_track"], flow["to_event"]): profile.event_id(
            flow["from_track"], flow["from_event"]
        )
        for flow in profile.document["flows"]
        if flow["kind"] == "launch"
    }


@pytest.mark.parametrize("table", ["GpuKernel", "GpuCopy"])
def test_device_work_repeats_what_its_event_says(profile, table):
    events, launches = profile.rows("SystemProfileEvents"), launch_ids(profile)
    ids = [row["id"] for row in profile.rows(table)]
    assert ids == sorted(ids)
    for row in profile.rows(table):
        event = events[row["id"]]
        for column in ("name", "start_ts", "end_ts", "duration_ns", "step_id"):
            assert row[column] == event[column], column
        assert row["device_idx"] == event["nc_idx"]
        assert row["stream_id"] == event["thread_id"]
        assert row["launch_event_id"] == launches.get(row["id"])


def test_allocations_repeat_what_their_events_say(profile):
    events = profile.rows("SystemProfileEvents")
    for row in profile.rows("MemoryAllocation"):
        event = events[row["id"]]
        assert row["timestamp"] == event["start_ts"]
        assert (row["name"], row["track_id"]) == (event["name"], event["track_id"])


def program_of(programs, args):
    """The number of the program that labels name: the last of its name, and of its id if told."""
    module, id = first_value(args, "hlo_module"), first_value(args, "program_id")
    found = None
    for number, program in enumerate(programs):
        if program["name"] == module and id in (None, program["program_id"]):
            found = number
    return found


def test_kernels_point_to_their_operations(profile):
    if profile.name not in WELL_TYPED:
        pytest.skip("labels are not all of their types")
    programs = profile.document["programs"]
    first, count = [], 0
    by_name, by_kernel = [], []
    for program in programs:
        first.append(count)
        count += len(program["operations"])
        names = [operation["name"] for operation in program["operations"]]
        by_name.append({name: number for number, name in enumerate(names)})
        by_kernel.append({})
        for number, name in enumerate(names):
            by_kernel[-1].setdefault(re.sub(r"[.-]", "_", name), number)
    for row in profile.rows("GpuKernel"):
        event = profile.events[row["id"]]
        program = program_of(programs, event["args"]) if "hlo_module" in event["args"] else None
        number = None
        if program is not None:
            number = by_name[program].get(row["hlo_op"], by_kernel[program].get(event["name"]))
        if row["attribution"] == "schedule order":  # see test_device_operations.py
            assert program is not None and row["hlo_op"] not in by_name[program]
            continue
        assert row["operation_id"] == (None if number is None else first[program] + number)


# Details that are not what they seem

KERNEL = "regs:29 static_shared:0 dynamic_shared:0 grid:8192,1,1 block:128,1,1 occ_pct:100"


def device_profile(kymo, tmp_path, values):
    """Events of one stream, each with the args given: [(key, field of the stat, value)]."""

    def fill(space):
        plane = RawPlane(space, b"/device:GPU:0")
        type, line = plane.type(b"kernel"), plane.plane.lines.add(id=1, name=b"Stream #1(x)")
        for number, stats in enumerate(values):
            event = line.events.add(metadata_id=type.id, offset_ps=number)
            for key, field, value in stats:
                value = plane.key(value) if field == "ref_value" else value
                plane.stat(event.stats, key, **{field: value})

    return profile_of(kymo, tmp_path, fill)


def test_an_empty_text_of_details_is_not_taken_for_the_one_before_it(kymo, tmp_path):
    """The text of the first is written in the event, that of the second is a reference to ""."""
    written = [(b"kernel_details", "str_value", KERNEL.encode())]
    empty = [(b"kernel_details", "ref_value", b"")]
    made = device_profile(kymo, tmp_path, [written, empty, written, empty])
    assert made.columns("GpuKernel", "id") == [(0,), (2,)]
    test_every_arg_is_kept_once(made)


@pytest.mark.parametrize("text", [KERNEL + "\0junk", KERNEL + " regs:30"], ids=["nul", "twice"])
def test_details_of_a_kernel_that_say_more_stay_a_text(kymo, tmp_path, text):
    made = device_profile(kymo, tmp_path, [[(b"kernel_details", "str_value", text.encode())]])
    test_every_arg_is_kept_once(made)


@pytest.mark.parametrize("text", ["size:5 size:6 async:1", "size:5 kind_src:a kind_src:b async:1"])
def test_details_of_a_copy_that_say_something_twice_stay_a_text(kymo, tmp_path, text):
    made = device_profile(kymo, tmp_path, [[(b"memcpy_details", "str_value", text.encode())]])
    test_every_arg_is_kept_once(made)


def test_details_that_are_bytes_stay_bytes(kymo, tmp_path):
    made = device_profile(kymo, tmp_path, [[(b"kernel_details", "bytes_value", KERNEL.encode())]])
    test_every_arg_is_kept_once(made)
