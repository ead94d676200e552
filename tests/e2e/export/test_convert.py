"""XPlane out: what is written says what was read, to the picosecond and to the bit.

The messages are compared as Python's protobuf library and jaxlib read them, before and after. Ids of
stat metadata are those of the source; whether a text is written in place or referred to is the writer's own affair.
"""

import codecs
import collections
import gzip
import json
import resource
import struct
import tarfile

import pytest
from jaxlib._profile_data import ProfileData

import random_space
import xspace
from conftest import DATA
from test_random_spaces import Maker

codecs.register_error("each", lambda e: ("\ufffd" * (e.end - e.start), e.end))

START_NS = 1_700_000_000_000_000_000
RUN = "2023_11_14_22_13_20"
KINETO = sorted((DATA / "kineto").glob("*.json.gz"))
MATMUL = DATA / "xplane" / "jax_matmul_h200.xplane.pb"


def cleaned(raw):
    """A stat's name or a text referred to; what is not UTF-8 is replaced when it is read."""
    return raw.decode("utf-8", "each")


def value(stat, names):
    kind = stat.WhichOneof("one")
    if kind is None:
        return None
    value = getattr(stat, kind)
    if kind == "ref_value":
        id = value - (1 << 64) if value >> 63 else value
        return ("text", cleaned(names[id])) if id in names else ("uint64_value", value)
    if kind == "str_value":
        return "text", cleaned(value)
    if kind == "double_value":
        return kind, struct.pack("<d", value)
    return kind, value


def stats(stats, names, missing):
    return [
        (cleaned(names[s.metadata_id]) if s.metadata_id in names else missing(s.metadata_id),
         value(s, names))
        for s in stats
    ]  # fmt: skip


def constant_stats(all_stats, names):
    """Of planes and event metadata: an id without a name is kept, it may be data itself."""
    return stats(all_stats, names, lambda id: id)


def described(metadata, names):
    """Event metadata, all of it but its id."""
    return (
        metadata.name,
        metadata.display_name,
        metadata.metadata,
        tuple(constant_stats(metadata.stats, names)),
        tuple(metadata.child_id),
    )


NAMELESS = (b"", b"", b"", (), ())


def event(message, types, names):
    kind = message.WhichOneof("one")
    count = max(0, message.num_occurrences) if kind == "num_occurrences" else None
    return (
        types.get(message.metadata_id, NAMELESS),
        message.offset_ps,
        count,
        message.duration_ps,
        tuple(stats(message.stats, names, lambda id: None)),
    )


def head(line):
    display_name = line.display_name if line.display_name != line.name else b""
    return line.id, line.name, line.timestamp_ns, line.duration_ps, line.display_id, display_name


def assert_same_line(before, after, resolve_before, resolve_after):
    assert len(before.events) == len(after.events)
    if before.name == b"_counters_":  # samples of one time may change places
        ours = collections.Counter(event(e, *resolve_after) for e in after.events)
        assert ours == collections.Counter(event(e, *resolve_before) for e in before.events)
        starts = [e.offset_ps for e in after.events if not e.num_occurrences]
        assert starts == sorted(starts)
        return
    assert head(before) == head(after)
    for a, b in zip(before.events, after.events):
        assert event(a, *resolve_before) == event(b, *resolve_after)


def is_program(metadata, names):
    return any(names.get(s.metadata_id) == b"Hlo Proto" for s in metadata.stats)


def assert_same_plane(before, after):
    names = [{e.key: e.value.name for e in plane.stat_metadata} for plane in (before, after)]
    types = [
        {e.key: described(e.value, own) for e in plane.event_metadata}
        for plane, own in zip((before, after), names)
    ]
    assert (before.id, before.name) == (after.id, after.name)
    assert constant_stats(before.stats, names[0]) == constant_stats(after.stats, names[1])
    assert types[0] == types[1]
    assert all(entry.key == entry.value.id for entry in after.event_metadata)
    assert all(entry.key == entry.value.id for entry in after.stat_metadata)
    assert len({entry.key for entry in after.stat_metadata}) == len(after.stat_metadata)
    assert {e.key: (cleaned(e.value.name), e.value.description) for e in before.stat_metadata}.items() <= {
        e.key: (cleaned(e.value.name), e.value.description) for e in after.stat_metadata}.items()
    lines = [line for line in before.lines if line.events or line.name != b"_counters_"]
    for a, b in zip(lines, after.lines, strict=True):
        assert_same_line(a, b, (types[0], names[0]), (types[1], names[1]))


def assert_same_space(before, after):
    for a, b in zip(before.planes, after.planes, strict=True):
        assert_same_plane(a, b)
    assert list(after.hostnames) == [name for name in before.hostnames if name][:1]
    assert list(after.errors) == list(before.errors)
    assert list(after.warnings) == list(before.warnings)


def assert_same_for_jaxlib(before, after):
    """The same names, times and stats, event by event."""
    compared = 0
    for a, b in zip(before.planes, after.planes, strict=True):
        assert a.name == b.name
        assert repr(list(a.stats)) == repr(list(b.stats))
        for line, other in zip(a.lines, b.lines, strict=True):
            assert line.name == other.name
            for x, y in zip(line.events, other.events, strict=True):
                assert (x.name, x.start_ns, x.duration_ns) == (y.name, y.start_ns, y.duration_ns)
                assert repr(list(x.stats)) == repr(list(y.stats))
                compared += 1
    return compared


def convert(kymo, capture, target, *options):
    assert kymo.ok("convert", capture, target, *options) == ""
    return target


def write(path, space):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(space.SerializeToString())
    return path


def round_trip(kymo, path, target):
    before, after = xspace.load(path), xspace.load(convert(kymo, path, target))
    assert_same_space(before, after)
    return after


def test_a_real_capture_comes_back_message_by_message(kymo, tmp_path, capture):
    after = round_trip(kymo, capture, tmp_path / "out.xplane.pb")
    assert sum(len(line.events) for plane in after.planes for line in plane.lines) > 10000


def test_jaxlib_reads_the_same_from_a_converted_capture(kymo, tmp_path, capture):
    target = convert(kymo, capture, tmp_path / "out.xplane.pb")
    compared = assert_same_for_jaxlib(
        ProfileData.from_file(str(capture)), ProfileData.from_file(str(target))
    )
    assert compared > 10000


def test_programs_keep_their_bytes_and_the_ids_they_are_found_by(kymo, tmp_path, capture):
    target = convert(kymo, capture, tmp_path / capture.name)
    found = []
    for path in (capture, target):
        (plane,) = [p for p in xspace.load(path).planes if p.name == b"/host:metadata"]
        names = {e.key: e.value.name for e in plane.stat_metadata}
        programs = [e for e in plane.event_metadata if is_program(e.value, names)]
        found.append({e.key: described(e.value, names) for e in programs})
    assert found[0] == found[1]
    assert len(found[0]) >= 4
    assert kymo.document(capture)["programs"] == kymo.document(target)["programs"]


@pytest.mark.parametrize("seed", range(30))
def test_a_random_space_of_odd_content_comes_back(kymo, tmp_path, seed):
    path = tmp_path / "random.xplane.pb"
    path.write_bytes(Maker(seed).make().SerializeToString() or b"\x1a\x00")
    round_trip(kymo, path, tmp_path / "out.xplane.pb")


@pytest.mark.parametrize("seed", range(12))
def test_a_random_space_of_usual_content_comes_back(kymo, tmp_path, seed):
    path = write(tmp_path / "random.xplane.pb", random_space.make(seed))
    target = tmp_path / "out.xplane.pb"
    round_trip(kymo, path, target)
    assert_same_for_jaxlib(ProfileData.from_file(str(path)), ProfileData.from_file(str(target)))


def odd_space():
    """What is rare in captures: one of each."""
    space = xspace.XSpace(hostnames=["nœud/1".encode()], errors=[b"E"], warnings=[b"W", b"X"])
    plane = xspace.PlaneWriter(space, "/device:GPU:0", pid=7)
    line = plane.line("Stream #1(Compute)", id=1, timestamp_ns=5)
    line.display_name, line.display_id, line.duration_ps = b"shown", 17, 99
    odd = plane.event(line, 'quote " \n\0 日本', -3000, 800)
    for name, kind, number in (
        ("nan", "double_value", float("nan")),
        ("minus zero", "double_value", -0.0),
        ("large", "uint64_value", (1 << 64) - 1),
        ("same large", "uint64_value", 1 << 63),
        ("small", "int64_value", -(1 << 63)),
        ("in place", "str_value", "text\0 日本".encode()),
        ("bytes", "bytes_value", bytes(range(256))),
        ("empty", "bytes_value", b""),
    ):
        stat = odd.stats.add(metadata_id=plane.stat_id(name))
        setattr(stat, kind, number)
    odd.stats.add(metadata_id=plane.stat_id("without a value"))
    odd.stats.add(metadata_id=plane.stat_id("referring"), ref_value=plane.stat_id("?"))
    odd.stats.add(metadata_id=plane.stat_id("in place"), str_value=b"again")
    counted = line.events.add(metadata_id=plane.event_id("counted"), duration_ps=12)
    counted.num_occurrences = 0
    line.events.add(metadata_id=4711, offset_ps=1, duration_ps=2)
    plane.plane.event_metadata[0].value.metadata = b"\0opaque\xff"
    plane.plane.event_metadata[0].value.display_name = b"shown too"
    plane.stat(plane.plane.event_metadata[0].value.stats, "flops", 12)
    plane.plane.stats.add(metadata_id=2, int64_value=1)
    plane.plane.stats.add(metadata_id=1 << 40, int64_value=5)
    plane.plane.stats.add(metadata_id=-9, uint64_value=5)
    plane.line("without events", id=2)
    plane.event(plane.line("_counters_", id=(1 << 63) - 1), "sample", 5, -(1 << 63), value=1)
    xspace.task_environment(space, START_NS, START_NS + 10**9)
    space.planes.add(name=b"a plane of nothing")
    return space


def test_what_is_rare_comes_back_too(kymo, tmp_path):
    space = odd_space()
    path = write(tmp_path / "odd.xplane.pb", space)
    after = round_trip(kymo, path, tmp_path / "out.xplane.pb")
    (odd, counted, nameless) = after.planes[0].lines[0].events
    assert counted.WhichOneof("one") == "num_occurrences"
    assert nameless.metadata_id not in [e.key for e in after.planes[0].event_metadata]
    kinds = [stat.WhichOneof("one") for stat in odd.stats]
    assert kinds == [stat.WhichOneof("one") for stat in space.planes[0].lines[0].events[0].stats]


def test_counters_are_put_together_in_order_of_time(kymo, tmp_path):
    space = xspace.XSpace(hostnames=[b"h"])
    plane = xspace.PlaneWriter(space, "/device:GPU:0")
    plane.event(plane.line("Stream #1(Compute)", id=1), "kernel", 5, 5)
    line = plane.line("_counters_", id=(1 << 63) - 1, timestamp_ns=2)
    samples = [(t, name) for t in range(0, 90_000, 10) for name in ("power", "clock", "heat")]
    for at, name in samples:
        plane.event(line, name, at, value=at * 0.5 if name == "heat" else at)
    plane.event(plane.line("after it", id=3), "call", 1, 1)
    xspace.task_environment(space, START_NS, START_NS + 1)
    after = round_trip(kymo, write(tmp_path / "c.xplane.pb", space), tmp_path / "out.xplane.pb")
    assert [line.name for line in after.planes[0].lines] == [
        b"Stream #1(Compute)", b"_counters_", b"after it",
    ]  # fmt: skip
    line = after.planes[0].lines[1]
    assert (line.id, line.timestamp_ns) == ((1 << 63) - 1, 2)
    names = {e.key: e.value.name.decode() for e in after.planes[0].event_metadata}
    assert [(e.offset_ps, names[e.metadata_id]) for e in line.events] == samples


@pytest.mark.parametrize("content", [b"\x22\x01h", b"\x1a\x01w", b"\x0a\x00", b"\x1a\x00"])
def test_a_space_of_nearly_nothing_comes_back(kymo, tmp_path, content):
    path = tmp_path / "small.xplane.pb"
    path.write_bytes(content)
    round_trip(kymo, path, tmp_path / "out.xplane.pb")


def test_the_same_capture_gives_the_same_bytes_and_so_does_its_copy(kymo, tmp_path, capture):
    once = convert(kymo, capture, tmp_path / "once.xplane.pb").read_bytes()
    for jobs in (1, 5):
        again = convert(kymo, capture, tmp_path / f"{jobs}.xplane.pb", "-j", jobs)
        assert again.read_bytes() == once
    copy = convert(kymo, tmp_path / "once.xplane.pb", tmp_path / "copy.xplane.pb")
    assert copy.read_bytes() == once


@pytest.mark.parametrize("seed", range(40, 60))
def test_a_copy_of_a_copy_is_the_copy(kymo, tmp_path, seed):
    path = tmp_path / "random.xplane.pb"
    path.write_bytes(Maker(seed).make().SerializeToString() or b"\x1a\x00")
    copy = convert(kymo, path, tmp_path / "copy.xplane.pb")
    again = convert(kymo, copy, tmp_path / "again.xplane.pb")
    assert copy.read_bytes() == again.read_bytes()


def host_space(name, start_ns, stamp_ns=0, warnings=()):
    space = xspace.XSpace(hostnames=[name.encode()], warnings=list(warnings))
    plane = xspace.PlaneWriter(space, "/host:CPU", pid=7)
    plane.event(plane.line("main", timestamp_ns=stamp_ns), f"work of {name}", 1001, 500, id=1)
    plane.event(plane.line("epoch", id=2, timestamp_ns=start_ns + 50), "epoch", 6, 1)
    xspace.task_environment(space, start_ns, start_ns + 10**9)
    return space


def session_of(out):
    return sorted(out.glob("plugins/profile/*/*"))


def test_a_session_has_a_file_for_each_host_in_the_place_xprof_looks_for(kymo, tmp_path):
    spaces = {
        "a": host_space("a", START_NS + 3 * 10**9, warnings=[b"late"]),
        "b": host_space("b", START_NS, stamp_ns=77),
        "c": host_space("c", START_NS + 1),
    }
    for name, space in spaces.items():
        write(tmp_path / "in" / f"{name}.xplane.pb", space)
    out = tmp_path / "logs"
    printed = kymo.ok("convert", tmp_path / "in", out)
    run = out / "plugins" / "profile" / RUN
    assert printed == f"{run}\n"
    assert session_of(out) == [run / f"{name}.xplane.pb" for name in "abc"]
    for name, space in spaces.items():
        assert_same_space(space, xspace.load(run / f"{name}.xplane.pb"))
    before, after = kymo.document(tmp_path / "in"), kymo.document(out)
    assert [e["start_ps"] for e in before["trace_events"]] == [
        e["start_ps"] for e in after["trace_events"]
    ]


def test_files_of_one_host_stay_apart_and_keep_their_clocks(kymo, tmp_path):
    spaces = [host_space("node", START_NS + 1000 * i) for i in range(3)]
    for i, space in enumerate(spaces):
        write(tmp_path / "in" / f"{i}.xplane.pb", space)
    kymo.ok("convert", tmp_path / "in", tmp_path / "logs")
    files = session_of(tmp_path / "logs")
    assert [path.name for path in files] == [
        "node.xplane.pb", "node_1.xplane.pb", "node_2.xplane.pb",
    ]  # fmt: skip
    for space, path in zip(spaces, files):
        assert_same_space(space, xspace.load(path))


@pytest.mark.parametrize(
    "name, file", [("a/b", "a_b"), ("..", "_."), ("x" * 400, "x" * 200), ("\n", "_"), ("日", "日")]
)
def test_a_host_of_any_name_becomes_a_file(kymo, tmp_path, name, file):
    path = write(tmp_path / "in.xplane.pb", host_space(name, START_NS))
    kymo.ok("convert", path, tmp_path / "logs")
    (written,) = session_of(tmp_path / "logs")
    assert written.name == f"{file}.xplane.pb"
    assert [h.decode() for h in xspace.load(written).hostnames] == [name]


def test_several_hosts_do_not_fit_in_one_file(kymo, tmp_path):
    for name in "ab":
        write(tmp_path / "in" / f"{name}.xplane.pb", host_space(name, START_NS))
    message = kymo.refuses("convert", tmp_path / "in", tmp_path / "out.xplane.pb")
    assert "2 hosts" in message and "write to a directory" in message
    assert not (tmp_path / "out.xplane.pb").exists()


def test_a_run_of_unknown_time_is_called_as_its_directory_or_just_a_run(kymo, tmp_path):
    space = host_space("a", START_NS)
    del space.planes[-1], space.planes[0].lines[1]
    path = write(tmp_path / "in" / "my run" / "a.xplane.pb", space)
    kymo.ok("convert", path.parent, tmp_path / "logs")
    kymo.ok("convert", path, tmp_path / "logs")
    assert [path.parent.name for path in session_of(tmp_path / "logs")] == ["my run", "run"]


def test_a_target_that_is_there_is_replaced_only_by_force(kymo, tmp_path):
    target = tmp_path / "out.xplane.pb"
    target.write_bytes(b"precious")
    assert "use --force to replace it" in kymo.refuses("convert", MATMUL, target)
    assert target.read_bytes() == b"precious"
    convert(kymo, MATMUL, target, "--force")
    assert_same_space(xspace.load(MATMUL), xspace.load(target))


def test_a_session_that_is_there_is_replaced_only_by_force_and_then_wholly(kymo, tmp_path):
    out = tmp_path / "logs"
    run = out / "plugins" / "profile" / RUN
    old = write(run / "old.xplane.pb", host_space("old", START_NS))
    (run / "notes.txt").write_text("mine")
    path = write(tmp_path / "new.xplane.pb", host_space("new", START_NS))
    message = kymo.refuses("convert", path, out)
    assert str(run) in message and "use --force to replace it" in message
    assert old.exists()
    assert kymo.ok("convert", path, out, "--force") == f"{run}\n"
    assert [path.name for path in session_of(out)] == ["new.xplane.pb", "notes.txt"]


def test_a_capture_can_be_replaced_by_its_copy(kymo, tmp_path):
    path = tmp_path / "own.xplane.pb"
    path.write_bytes(MATMUL.read_bytes())
    convert(kymo, path, path, "--force")
    assert_same_space(xspace.load(MATMUL), xspace.load(path))


def test_a_session_is_not_written_over_the_one_that_is_converted(kymo, tmp_path):
    """Files of the capture that get no new one of the same name would be removed."""
    kymo.ok("convert", MATMUL, tmp_path)
    (run,) = (tmp_path / "plugins" / "profile").iterdir()
    (file,) = run.iterdir()
    file.rename(run / "original.xplane.pb")
    before = (run / "original.xplane.pb").read_bytes()
    message = kymo.refuses("convert", "--force", run, tmp_path)
    assert "contains the capture being converted" in message
    assert [path.name for path in run.iterdir()] == ["original.xplane.pb"]
    assert (run / "original.xplane.pb").read_bytes() == before


def test_other_runs_are_kept(kymo, tmp_path):
    other = write(tmp_path / "logs/plugins/profile/2020/h.xplane.pb", host_space("h", START_NS))
    path = write(tmp_path / "in.xplane.pb", host_space("h", START_NS))
    kymo.ok("convert", path, tmp_path / "logs")
    assert session_of(tmp_path / "logs") == [other, other.parents[1] / RUN / "h.xplane.pb"]


@pytest.mark.parametrize("form", ["out.xplane.pb", "logs"])
def test_a_damaged_capture_leaves_nothing_behind(kymo, tmp_path, form):
    folder = tmp_path / "out"
    folder.mkdir()
    message = kymo.refuses("convert", DATA / "xplane" / "corrupted.xplane.pb", folder / form)
    assert "corrupted.xplane.pb" in message and "damaged" in message
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("form", ["out.xplane.pb", "logs", "logs/more"])
def test_damage_that_only_the_second_look_sees_leaves_nothing_behind(kymo, tmp_path, form):
    space = host_space("h", START_NS)
    data = space.SerializeToString()
    inner = space.planes[0].lines[0].events[0].stats[0].SerializeToString()
    assert data.count(inner) == 1
    (tmp_path / "cut.xplane.pb").write_bytes(data.replace(inner, b"\xff" * len(inner)))
    folder = tmp_path / "out"
    folder.mkdir()
    message = kymo.refuses("convert", tmp_path / "cut.xplane.pb", folder / form)
    assert "cut.xplane.pb" in message and "at byte" in message
    assert list(folder.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(kymo, tmp_path):
    (tmp_path / "file").write_text("")
    for target in (tmp_path / "no" / "out.xplane.pb", tmp_path / "file" / "logs"):
        message = kymo.refuses("convert", MATMUL, target)
        assert str(target.parent) in message
    (tmp_path / "dir.xplane.pb").mkdir()
    message = kymo.refuses("convert", MATMUL, tmp_path / "dir.xplane.pb", "--force")
    assert "is a directory" in message


def test_a_full_disk_is_an_error_and_leaves_nothing_behind(kymo, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    for target in (tmp_path / "out.xplane.pb", tmp_path / "logs"):
        result = kymo.run("convert", MATMUL, target, preexec_fn=limit)
        assert result.returncode == 1 and "cannot write" in result.stderr
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("out", ["-", "", "out.pb", "out.json", "out.xplane.pb.gz"])
def test_a_name_that_is_no_target_is_refused(kymo, tmp_path, out):
    message = kymo.refuses("convert", MATMUL, out, code=2)
    assert f"must be a directory or a file named *.xplane.pb, not '{out}'" in message


def test_both_a_capture_and_a_target_are_needed(kymo):
    assert "missing arguments: a capture" in kymo.refuses("convert", MATMUL, code=2)
    assert "unexpected argument: c" in kymo.refuses("convert", "a", "b", "c", code=2)


def test_the_newest_of_several_runs_is_converted_and_the_others_are_mentioned(kymo, tmp_path):
    for run, name in (("2025", "old"), ("2026", "new")):
        write(tmp_path / f"in/{run}/h.xplane.pb", host_space(name, START_NS))
    result = kymo.run("convert", tmp_path / "in", tmp_path / "logs")
    assert result.returncode == 0 and "1 other run" in result.stderr
    assert [path.name for path in session_of(tmp_path / "logs")] == ["new.xplane.pb"]


def test_a_packed_capture_is_converted_as_the_plain_one(kymo, tmp_path):
    packed = tmp_path / "jax_matmul_h200.xplane.pb.gz"
    packed.write_bytes(gzip.compress(MATMUL.read_bytes()))
    plain = convert(kymo, MATMUL, tmp_path / "plain.xplane.pb").read_bytes()
    assert convert(kymo, packed, tmp_path / "packed.xplane.pb").read_bytes() == plain


# Stats that are added for XProf, which does not look for those of torch.profiler.
FOR_XPROF = ("correlation_id", "kernel_details", "_r", "step_num")


def args_of(stats, names):
    """Stats as the document has args: a key that repeats has a list of its values."""
    lists = {}
    for stat in stats:
        kind = stat.WhichOneof("one")
        own = getattr(stat, kind)
        if kind == "ref_value":
            own = names[own]
        own = own.decode() if isinstance(own, bytes) else own
        lists.setdefault(names[stat.metadata_id].decode(), []).append(own)
    return {key: values[0] if len(values) == 1 else values for key, values in lists.items()}


def same_value(written, read):
    """Whether a stat says what the document says; lists and objects of JSON are written as text."""
    if isinstance(read, (list, dict, bool)) or read is None:
        if isinstance(written, list):
            return all(map(same_value, written, read))
        return json.loads(written) == read
    if isinstance(read, float) or isinstance(written, float):
        return float(written) == float(read)
    return written == read


def by_time(events):
    return sorted(events, key=lambda e: (e["start_ps"], -e["duration_ps"]))


def assert_says_what_the_document_says(plane, source, lanes, events):
    """The lines of a plane against the lanes of its source, event by event, in order of time."""
    names = {e.key: e.value.name for e in plane.stat_metadata}
    types = {e.key: e.value for e in plane.event_metadata}
    assert plane.name.decode().split(" [")[0] == source["name"]
    assert len({line.id for line in plane.lines}) == len(plane.lines)
    compared = 0
    for lane, line in zip([lane for lane in lanes if not lane["is_counter"]], plane.lines):
        assert line.name.decode() == lane["name"]
        for message, own in zip(line.events, by_time(events[lane["track"]]), strict=True):
            assert types[message.metadata_id].name.decode() == own["name"]
            assert (message.offset_ps, message.duration_ps) == (own["start_ps"], own["duration_ps"])
            args, expected = args_of(message.stats, names), own.get("args", {})
            args = {key: value for key, value in args.items() if key in expected or key not in FOR_XPROF}
            assert list(args) == list(expected)
            assert all(same_value(args[key], expected[key]) for key in args), (args, expected)
            compared += 1
    return compared


def lanes_and_events(document):
    lanes, events = {}, {}
    for track in document["tracks"]:
        if track["level"] == "lane":
            lanes.setdefault(track["parent"], []).append(track)
            events[track["track"]] = []
    for own in lanes.values():
        own.sort(key=lambda lane: lane["sort_key"])
    for own in document["trace_events"]:
        events[own["track"]].append(own)
    return lanes, events


@pytest.mark.parametrize("path", KINETO, ids=lambda path: path.name)
def test_a_capture_of_another_format_is_written_whole(kymo, tmp_path, path):
    target = convert(kymo, path, tmp_path / "out.xplane.pb")
    document, space = kymo.document(path), xspace.load(target)
    lanes, events = lanes_and_events(document)
    sources = [track for track in document["tracks"] if track["level"] == "source"]
    compared = 0
    for source, plane in zip(sources, space.planes):
        own = lanes.get(source["track"], [])
        compared += assert_says_what_the_document_says(plane, source, own, events)
    assert compared == document["event_count"] - sum(
        lane["event_count"] for own in lanes.values() for lane in own if lane["is_counter"]
    )
    assert [p.name for p in space.planes[len(sources) :]] == [b"Task Environment"]
    read = ProfileData.from_file(str(target))
    events_read = sum(1 for p in read.planes for line in p.lines for _ in line.events)
    assert events_read == document["event_count"]
    again = kymo.document(target)
    for key in ("start_epoch_ns", "stop_epoch_ns", "event_count", "first_event_ps", "last_event_ps"):
        assert again[key] == document[key]
    for jobs in (1, 4):
        copy = convert(kymo, path, tmp_path / f"{jobs}.xplane.pb", "-j", jobs)
        assert copy.read_bytes() == target.read_bytes()


def chrome_trace():
    """Two processes with a thread of the same id each, overlapping out of order, and counters."""
    events = []
    for pid in (10, 11):
        calls = ((50, 5, "later"), (10, 5, "inner"), (10, 30, "outer"), (0, 1, "first"))
        for ts, dur, name in calls:
            args = {"number": 7, "half": 0.5, "text": "日本", "list": [1, 2]}
            events.append(
                {"ph": "X", "pid": pid, "tid": 3, "ts": ts, "dur": dur, "name": name, "args": args}
            )
        for ts in (4, 2, 6):
            events.append({"ph": "C", "pid": pid, "ts": ts, "name": "memory",
                           "args": {"used": ts * 10, "free": 1.5 * ts}})  # fmt: skip
    return {"traceEvents": events}


def test_events_of_another_format_are_put_in_order_and_counters_into_one_line(kymo, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(chrome_trace()))
    target = convert(kymo, path, tmp_path / "out.xplane.pb")
    space = xspace.load(target)
    assert [plane.name for plane in space.planes] == [b"/host:CPU", b"/host:CPU [11]"]
    assert [plane.id for plane in space.planes] == [0, 1]
    assert list(space.hostnames) == [b"trace"]
    for pid, plane in zip((10, 11), ProfileData.from_file(str(target)).planes):
        assert dict(plane.stats)["process_id"] == pid
        thread, counters = plane.lines
        assert [event.name for event in thread.events] == ["first", "outer", "inner", "later"]
        assert [event.start_ns for event in thread.events] == [0, 10_000, 10_000, 50_000]
        first = dict(next(iter(thread.events)).stats)
        assert first == {"number": 7, "half": 0.5, "text": "日本", "list": "[1, 2]"}
        assert counters.name == "_counters_"
        assert [(e.name, e.start_ns, list(e.stats)) for e in counters.events] == [
            (f"memory: {series}", ts * 1000, [(series, ts * factor)])
            for ts in (2, 4, 6)
            for series, factor in (("used", 10), ("free", 1.5))
        ]
    counters = [lane for lane in kymo.document(target)["tracks"] if lane.get("is_counter")]
    assert [lane["display_name"] for lane in counters] == ["memory: used", "memory: free"] * 2


def test_text_of_another_format_that_is_not_utf8_does_not_spoil_the_file(kymo, tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(
        b'[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":1,"name":"bad \xff","args":{"k":"v\xff","n":1}}]'
        .replace(b"\\xff", b"\xff")
    )
    target = convert(kymo, path, tmp_path / "out.xplane.pb")
    (event,) = next(next(iter(ProfileData.from_file(str(target)).planes)).lines).events
    assert event.name == "bad \ufffd"
    assert dict(event.stats)["n"] == 1


def test_help_shows_both_forms(kymo):
    text = kymo.ok("convert", "--help")
    assert "usage: kymo convert [options] CAPTURE FILE.xplane.pb|DIR" in text
    examples = text.split("\nexamples:\n")[1].splitlines()
    assert len(examples) == 4 and all(line.startswith("  kymo convert ") for line in examples)
    assert "\n  convert " in kymo.ok("--help")


def counters_of(document):
    """Samples by counter, as (time, value): by the name of its source and its own."""
    tracks = {track["track"]: track for track in document["tracks"]}
    found = collections.defaultdict(list)
    for sample in document["trace_events"]:
        lane = tracks[sample["track"]]
        if lane.get("is_counter"):
            name = lane.get("display_name") or lane["name"]
            found[tracks[lane["parent"]]["name"], name].append((sample["start_ps"], sample["value"]))
    return found


def counter_table(kymo, capture):
    """The rows of the summary's table."""
    text = kymo.ok("view", capture, "--output-format", "summary-text")
    return text.split("\nCounters\n")[1].split("\n\n")[0].splitlines()


def sql_of(kymo, capture, folder):
    query = ("SELECT timestamp, cpu_id, util_percent AS value FROM CpuUsage UNION ALL "
             "SELECT timestamp, used_percent::VARCHAR, used_bytes FROM HostMemUsage ORDER BY ALL")
    kymo.ok("view", capture, "--ingest-only", "--data-path", folder, "--display-name", "profile")
    return kymo.ok("sql", "--data-path", folder, "profile", query, "--format", "csv")


def test_counters_of_a_recording_have_the_same_values_names_and_units(kymo, tmp_path):
    """Values that a recording has apart from args are the first stat, where XProf looks for them."""
    with tarfile.open(DATA / "gpu" / "torch_mlp_h200.tar.xz") as archive:
        archive.extractall(tmp_path)
    (recording,) = tmp_path.glob("*/*_pid_*")
    target = convert(kymo, recording, tmp_path / "out.xplane.pb")
    before = counters_of(kymo.document(recording))
    assert {source for source, _ in before} >= {"cpu_util", "mem_usage"} and len(before) > 8
    assert counters_of(kymo.document(target)) == before
    values = {(plane.name, event.name, list(event.stats)[0]) for plane in ProfileData.from_file(str(target)).planes
              for line in plane.lines if line.name == "_counters_" for event in line.events}
    assert values == {(*counter, ("value", value)) for counter, samples in before.items() for _, value in samples}
    table = counter_table(kymo, recording)
    assert any(row.split()[:3] == ["memory", "in", "use"] for row in table)
    assert sorted(counter_table(kymo, target)) == sorted(table)
    assert sql_of(kymo, target, tmp_path / "a") == sql_of(kymo, recording, tmp_path / "b")
