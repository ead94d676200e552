"""Files of a few MB made to take hours or gigabytes: they take a moment, like all others."""

import gzip
import resource

import pytest

import wire
import xspace
from xspace import PlaneWriter

MANY = 30000


def cpu_seconds():
    """CPU time of the processes this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def nested_consumers(space):
    host = PlaneWriter(space, "/host:CPU", pid=1)
    main, other = host.line("main", 1), host.line("other", 2)
    host.event(main, "step", 0, 10 * MANY, _r=1, step_num=0)
    for i in range(MANY):
        host.event(main, "produce", i + 1, 1, _pt=1, _p=i)
    for i in range(MANY):
        host.event(other, "consume", i, 10 * MANY - 2 * i, _ct=1, _c=i)


def one_context_for_all(space):
    host = PlaneWriter(space, "/host:CPU", pid=1)
    main, other = host.line("main", 1), host.line("other", 2)
    host.event(main, "step", 0, 10 * MANY, _r=1, step_num=0)
    for i in range(MANY):
        host.event(main, "produce", i + 1, 1, _pt=1, _p=7)
        host.event(other, "consume", i + 1, 1, _ct=1, _c=7)


def staggered_steps(space):
    host = PlaneWriter(space, "/host:CPU", pid=1)
    line = host.line("main", 1)
    for i in range(MANY):
        host.event(line, "step", i, MANY, _r=1, step_num=i)


def many_lanes_and_steps(space):
    host = PlaneWriter(space, "/host:CPU", pid=1)
    line = host.line("main", 1)
    device = PlaneWriter(space, "/device:GPU:0", pid=1)
    for i in range(MANY):
        host.event(line, "step", 10 * i, 9, _r=1, step_num=i)
        device.event(device.line(f"Stream #{i}(Compute)", i), "kernel", i, 1)


def many_devices_and_launches(space):
    host = PlaneWriter(space, "/host:CPU", pid=1)
    line = host.line("main", 1)
    for i in range(MANY):
        host.event(line, "launch", i, 1, correlation_id=i + 1)
        space.planes.add(name=b"/device:GPU:%d" % i)


def many_counters(space):
    plane = PlaneWriter(space, "/host:CPU", pid=1)
    line = plane.line("_counters_", 1)
    for i in range(MANY):
        plane.event(line, f"counter {i}", i, 0, value=i)


def many_planes(space):
    for _ in range(MANY):
        plane = space.planes.add(name=b"x")
        plane.stat_metadata.add(key=65535)


@pytest.mark.parametrize(
    "fill",
    [nested_consumers, one_context_for_all, staggered_steps, many_lanes_and_steps,
     many_devices_and_launches, many_counters, many_planes],
    ids=lambda fill: fill.__name__,
)
def test_a_hostile_file_takes_a_moment(kymo, tmp_path, fill):
    space = xspace.XSpace()
    fill(space)
    capture = tmp_path / "hostile.xplane.pb"
    capture.write_bytes(space.SerializeToString())
    before = cpu_seconds()
    assert kymo.json("view", capture, "--output-format", "summary-json")["event_count"] >= 0
    assert cpu_seconds() - before < 10


def test_a_context_shared_by_too_many_is_linked_to_its_first_producer(kymo, tmp_path):
    space = xspace.XSpace()
    one_context_for_all(space)
    capture = tmp_path / "shared.xplane.pb"
    capture.write_bytes(space.SerializeToString())
    flows = kymo.json("view", capture, "--output-format", "summary-json")["flows"]
    assert flows["context"] == MANY


def test_consumers_nested_in_each_other_all_belong_to_the_step(kymo, tmp_path):
    space = xspace.XSpace()
    nested_consumers(space)
    capture = tmp_path / "nested.xplane.pb"
    capture.write_bytes(space.SerializeToString())
    events = kymo.document(capture)["trace_events"]
    assert {event["step"] for event in events} == {0}


def in_a_plane(content):
    return wire.block(1, wire.block(2, b"/host:CPU") + content)


def counters():
    samples = b"".join(wire.block(4, wire.number(1, i)) for i in range(130_000))
    return in_a_plane(wire.block(3, wire.block(2, b"_counters_") + samples))


def threads():
    return b'{"traceEvents": [' + b",".join(b'{"ph": "X", "pid": 1, "tid": %d, "ts": 1}' % i for i in range(120_000)) + b"]}"


@pytest.mark.parametrize(
    "content, option",
    [
        (lambda: in_a_plane(wire.block(3, b"") * 2_000_000), "--track-limit"),
        (lambda: wire.block(1, b"") * 2_000_000, "--track-limit"),
        (counters, "--track-limit"),
        (threads, "--track-limit"),
        (lambda: in_a_plane(wire.block(4, b"") * 2_000_000), "--name-limit"),
        (lambda: in_a_plane(b"") + wire.block(3, b"") * 2_000_000, "--name-limit"),
        (lambda: in_a_plane(wire.block(5, b"") * 5_000_000), "--name-limit"),
    ],
    ids=["lines", "planes", "counters", "threads", "types", "warnings", "names"],
)
def test_a_file_that_declares_far_more_than_its_size_is_refused_in_a_moment(kymo, tmp_path, content, option):
    capture = tmp_path / "bomb.xplane.pb.gz"
    capture.write_bytes(gzip.compress(content(), 6))
    before = cpu_seconds()
    assert option in kymo.refuses("info", capture)
    assert cpu_seconds() - before < 10


def test_limits_can_be_chosen_and_nothing_within_them_is_lost(kymo, tmp_path):
    capture, many = tmp_path / "lines.xplane.pb.gz", 110_000
    capture.write_bytes(gzip.compress(in_a_plane(wire.block(3, b"") * many), 6))
    assert "more than 100" in kymo.refuses("info", capture)
    info = kymo.json("info", "--json", "--track-limit", "200000", capture)
    assert sum(len(plane["lines"]) for plane in info["planes"]) == many
    assert "more than 5 names" in kymo.refuses("info", "--track-limit", "200000", "--name-limit", "5", capture)
