"""Totals, busy times, rankings and counters against sums over the events themselves."""

import functools

import numpy
import pytest

import brute_force
import random_space
import xspace
from conftest import DATA

SEEDS = range(40)


@functools.lru_cache(maxsize=None)
def summarized(kymo, path):
    planes = brute_force.planes_of(xspace.load(path))
    return planes, kymo.json("view", path, "--output-format", "summary-json")


@pytest.fixture
def captured(kymo, capture):
    """A real capture: its planes, and Kymo's summary of it."""
    return summarized(kymo, capture)


@functools.lru_cache(maxsize=None)
def made_up(kymo, directory, seed):
    path = directory / f"made_{seed}.xplane.pb"
    path.write_bytes(random_space.make(seed).SerializeToString())
    return summarized(kymo, path)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("spaces")


@pytest.fixture(params=SEEDS)
def made(kymo, directory, request):
    """A space made at random: its planes, and Kymo's summary of it."""
    return made_up(kymo, directory, request.param)


def view(kymo, tmp_path, space):
    path = tmp_path / "made.xplane.pb"
    path.write_bytes(space.SerializeToString())
    return kymo.json("view", path, "--output-format", "summary-json")


def ranking(own_times, key, describe):
    """Entries of a ranking from {event: self time}, most self time first."""
    groups = {}
    for event, own in own_times.items():
        groups.setdefault(key(event), []).append((event, own))
    whole = sum(own_times.values())
    entries = []
    for group in groups.values():
        durations = [event.duration for event, _ in group]
        own = sum(own for _, own in group)
        entries.append(
            {
                **describe(group[0][0]),
                "count": len(group),
                "total_ns": sum(durations) / 1e3,
                "self_ns": own / 1e3,
                "min_ns": min(durations) / 1e3,
                "max_ns": max(durations) / 1e3,
                "share": pytest.approx(own / whole if whole else 0, rel=1e-12),
            }
        )
    entries.sort(key=lambda e: (-e["self_ns"], -e["count"], e["name"].encode()))
    return entries


def by_name(own_times):
    return ranking(own_times, lambda event: event.name, lambda event: {"name": event.label})


def span_of(planes):
    events = brute_force.events_of(planes)
    return min(e.start for e in events), max(e.end for e in events)


def check_kernels(planes, summary):
    work = {
        event: event.duration
        for plane in planes
        if plane.is_device
        for line in plane.lines_named("Stream #")
        for event in line.events
    }
    copies = {event: duration for event, duration in work.items() if event.name.startswith(("Memcpy", "Memset"))}
    assert summary["kernels"] == by_name({event: duration for event, duration in work.items() if event not in copies})
    assert summary["copies"] == by_name(copies)
    return len(work)


def check_host_events(planes, summary):
    own = {}
    for plane in planes:
        if plane.is_host:
            for line in plane.lines:
                profilers = brute_force.profilers_events(line)[1]
                own |= {e: time for e, time in brute_force.self_times(line).items() if e not in profilers}
    assert summary["host_events"] == by_name(own)
    assert sum(own.values()) < sum(event.duration for event in own), "some events nest"


def check_threads(planes, summary):
    active = brute_force.active_span(planes)
    threads = []
    for plane in planes:
        for line in plane.lines:
            if plane.is_host and line.events:
                busy = brute_force.covered(line.events) - brute_force.covered(brute_force.profilers_events(line)[0])
                threads.append((busy, line.label, len(line.events)))
    threads.sort(key=lambda thread: -thread[0])
    assert [(t["busy_ns"], t["name"], t["event_count"]) for t in summary["threads"]] == [
        (busy / 1e3, name, count) for busy, name, count in threads
    ]
    for thread, (busy, _, _) in zip(summary["threads"], threads):
        assert thread["busy_share"] == pytest.approx(busy / active, rel=1e-12)


def check_devices(planes, summary):
    active = brute_force.active_span(planes)
    devices = [plane for plane in planes if plane.is_device]
    assert [d["name"] for d in summary["devices"]] == [plane.name for plane in devices]
    for device, plane in zip(summary["devices"], devices):
        busy = brute_force.covered([e for line in plane.working_lines for e in line.events])
        assert device["event_count"] == sum(len(line.events) for line in plane.lines)
        assert device["busy_ns"] == busy / 1e3
        assert device["busy_share"] == pytest.approx(busy / active, rel=1e-12)
        assert device["sum_ns"] == sum(brute_force.covered(line.events) for line in plane.working_lines) / 1e3
    return [device["busy_ns"] for device in summary["devices"]]


def check_span(planes, summary):
    first, last = span_of(planes)
    assert (summary["first_event_ps"], summary["last_event_ps"]) == (first, last)
    assert summary["span_ns"] == brute_force.active_span(planes) / 1e3
    assert summary["event_count"] == len(brute_force.events_of(planes)) > 0


def test_kernels_of_a_capture_are_the_sums_over_its_streams(captured, capture):
    assert check_kernels(*captured) == {
        "jax_matmul_h200": 449,
        "jax_gpt_python_h200": 6400,
        "tpu_inference": 0,
    }[capture.name.split(".")[0]]


def test_host_events_of_a_capture_have_their_time_without_what_is_nested_in_them(captured):
    check_host_events(*captured)


def test_self_times_of_a_capture_add_up_to_the_time_its_threads_were_busy(captured):
    _, summary = captured
    assert sum(event["self_ns"] for event in summary["host_events"]) == pytest.approx(
        sum(thread["busy_ns"] for thread in summary["threads"]), rel=1e-12
    )


def test_time_in_which_two_events_overlap_belongs_to_the_later_one_alone(kymo, tmp_path):
    """As in the captures, where calls that CUPTI timed outlast the Python frame around them."""
    space = xspace.XSpace()
    xspace.task_environment(space, 10**18, 10**18 + 1)
    host = xspace.PlaneWriter(space, "/host:CPU")
    line = host.line("main")
    host.event(line, "outer", 0, 100_000)
    host.event(line, "frame", 10_000, 40_000)
    host.event(line, "call", 45_000, 10_000)
    times = {e["name"]: e["self_ns"] for e in view(kymo, tmp_path, space)["host_events"]}
    assert times == {"outer": 55, "frame": 35, "call": 10}


def test_threads_of_a_capture_are_busy_while_any_event_runs(captured):
    check_threads(*captured)


def test_devices_of_a_capture_are_busy_while_any_of_their_work_runs(captured):
    assert min(check_devices(*captured)) > 0


def test_the_span_of_a_capture_is_that_of_all_its_events(captured):
    check_span(*captured)


def test_kernels_of_a_made_up_space_are_the_sums_over_its_streams(made):
    assert check_kernels(*made) > 0


def test_host_events_of_a_made_up_space_have_their_time_without_what_is_nested_in_them(made):
    check_host_events(*made)


def test_threads_of_a_made_up_space_are_busy_while_any_event_runs(made):
    check_threads(*made)


def test_devices_of_a_made_up_space_are_busy_while_any_stream_is(made):
    check_devices(*made)


def test_calls_around_the_profiler_s_own_are_not_in_the_span(kymo, tmp_path):
    space = xspace.XSpace()
    host = xspace.PlaneWriter(space, "/host:CPU")
    thread = host.line("python")
    for name, start, duration in (("__enter__", 0, 1000), ("$profiler.py:91 start_trace", 5, 990), ("work", 1100, 400),
                                  ("main", 1500, 1900), ("__exit__", 2000, 1400), ("next", 2010, 1390),
                                  ("$profiler.py:193 stop_trace", 2010, 1390)):
        host.event(thread, name, start, duration)
    path = tmp_path / "around.xplane.pb"
    path.write_bytes(space.SerializeToString())
    summary = kymo.json("view", path, "--output-format", "summary-json")
    # main ends with the profiler, but does more than that.
    assert (summary["first_event_ps"], summary["last_event_ps"], summary["span_ns"]) == (0, 3400, 2.3)
    assert summary["threads"][0]["busy_ns"] == (400 + 500 + 10 + 10) / 1000


def test_the_span_of_a_made_up_space_is_that_of_all_its_events(made):
    check_span(*made)


def test_operations_of_a_tpu_have_their_self_time_category_and_source(kymo):
    planes, summary = summarized(kymo, DATA / "xplane" / "tpu_inference.xplane.pb")
    modules = {
        number: brute_force.program(proto)["name"]
        for plane in planes
        for _, number, proto in plane.programs
    }
    own = {}
    for plane in planes:
        for line in plane.lines:
            if plane.is_device and line.name == "XLA Ops":
                own |= brute_force.self_times(line.on_device)

    def describe(event):
        constants = event.constants
        file, _, number = constants.get("source", "").rpartition(":")
        return {
            "name": event.label,
            "program": modules.get(constants["program_id"], ""),
            "kind": constants.get("hlo_category", ""),
            "op_name": constants.get("tf_op", ""),
            "source_file": file,
            "source_line": int(number or 0),
            "kernel_count": 0,
        }

    expected = ranking(
        own, lambda event: (describe(event)["name"], describe(event)["program"]), describe
    )
    assert all(one.pop("module_id") is None for one in summary["operations"])  # programs of one name are one, as they are recorded
    assert summary["operations"] == expected
    assert {entry["program"] for entry in expected} >= {"jit_f", "jit__psum"}
    assert any(entry["source_line"] > 0 for entry in expected)


def test_a_device_with_a_row_of_operations_is_busy_while_these_run(kymo, tmp_path):
    """Executions of whole programs also cover the pauses inside them."""
    space = xspace.XSpace()
    xspace.task_environment(space, 10**18, 10**18 + 1)
    device = xspace.PlaneWriter(space, "/device:TPU:0")
    device.event(device.line("XLA Modules", 1), "jit_f", 0, 1000)
    operations = device.line("XLA Ops", 2)
    device.event(operations, "fusion", 100, 200)
    device.event(operations, "inside", 150, 50)
    device.event(operations, "copy", 600, 100)
    device.event(device.line("Async XLA Ops", 3), "copy-start", 0, 900)
    summary = view(kymo, tmp_path, space)
    [device] = summary["devices"]
    assert (device["busy_ns"], device["busy_share"]) == (0.3, 0.3)
    assert device["event_count"] == 5
    assert [(o["name"], o["total_ns"], o["self_ns"], o["share"]) for o in summary["operations"]] == [
        ("fusion", 0.2, 0.15, 0.5),
        ("copy", 0.1, 0.1, pytest.approx(1 / 3)),
        ("inside", 0.05, 0.05, pytest.approx(1 / 6)),
    ]


def test_events_that_sum_up_many_count_as_many_and_take_no_place_in_time(kymo, tmp_path):
    space = xspace.XSpace()
    xspace.task_environment(space, 10**18, 10**18 + 1)
    host = xspace.PlaneWriter(space, "/host:CPU")
    line = host.line("main")
    host.event(line, "call", 1000, 500)
    line.events.add(metadata_id=host.event_id("call"), num_occurrences=7, duration_ps=3000)
    summary = view(kymo, tmp_path, space)
    [call] = summary["host_events"]
    assert (call["count"], call["total_ns"], call["self_ns"]) == (8, 3.5, 3.5)
    assert summary["threads"][0]["busy_ns"] == 0.5
    assert summary["span_ns"] == 0.5


@pytest.mark.parametrize("seed", range(8))
def test_counters_have_the_least_mean_greatest_and_last_of_their_samples(kymo, tmp_path, seed):
    random = numpy.random.default_rng(seed)
    space = xspace.XSpace(hostnames=[b"machine"])
    xspace.task_environment(space, 10**18, 10**18 + 1)
    samples = {}  # name -> [(time, value)]
    for plane_name in ("/host:CPU", "/device:GPU:0"):
        plane = xspace.PlaneWriter(space, plane_name)
        line = plane.line("_counters_", (1 << 63) - 1)
        names = [f"{plane_name} counter {n}" for n in range(1 + seed)]
        for time in random.permutation(1000 * random.integers(2, 300)).tolist()[:1500]:
            name = names[random.integers(len(names))]
            value = [
                float(random.normal(0, 1e6)),
                int(random.integers(-(10**9), 10**9)),
                (1 << 63) + 4096 * int(random.integers(1000)),
            ][seed % 3 if seed < 6 else random.integers(3)]
            plane.event(line, name, time, value=value)
            samples.setdefault(name, []).append((time, value))
    counters = view(kymo, tmp_path, space)["counters"]
    assert {counter["name"] for counter in counters} == set(samples)
    assert len(counters) == len(samples)
    for counter in counters:
        values = numpy.array([value for _, value in sorted(samples[counter["name"]])], float)
        assert counter["host"] == "machine"
        assert counter["samples"] == len(values)
        assert counter["min"] == values.min()
        assert counter["max"] == values.max()
        assert counter["last"] == values[-1]
        spread = abs(values).max()
        assert counter["mean"] == pytest.approx(values.mean(), rel=1e-9, abs=1e-12 * spread)
