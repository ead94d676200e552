"""Steps, flows and launch delays against a reference that looks at every pair of events."""

import collections
import functools

import numpy
import pytest

import brute_force
import random_space
import xspace
from conftest import DATA

SEEDS = range(40)


@functools.lru_cache(maxsize=None)
def read(kymo, path):
    """Planes, steps and {event: step} of a file, Kymo's document and its summary."""
    planes = brute_force.planes_of(xspace.load(path))
    steps, step_of = brute_force.steps_of(planes)
    summary = kymo.json("view", path, "--output-format", "summary-json")
    return planes, steps, step_of, kymo.document(path), summary


def write(path, space):
    path.write_bytes(space.SerializeToString())
    return path


@functools.lru_cache(maxsize=None)
def read_made_up(kymo, directory, seed):
    return read(kymo, write(directory / f"made_{seed}.xplane.pb", random_space.make(seed)))


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("spaces")


@pytest.fixture
def captured(kymo, capture):
    return read(kymo, capture)


@pytest.fixture(params=SEEDS)
def made(kymo, directory, request):
    return read_made_up(kymo, directory, request.param)


@pytest.fixture
def training(kymo):
    """A capture of twenty training steps."""
    return read(kymo, DATA / "xplane" / "jax_gpt_python_h200.xplane.pb")


def check_steps(planes, steps, step_of, document, summary):
    where = brute_force.places(document)
    extents = brute_force.device_extents(planes, steps, step_of)
    assert [
        (
            (where[step["track"]], step["event"]),
            step["name"],
            step["number"],
            step["start_ps"],
            step["duration_ps"],
        )
        for step in document["steps"]
    ] == [
        (step.place, step.label, step.stats.get("step_num", 0), step.start, step.duration)
        for step in steps
    ]
    for step, extent in zip(document["steps"], extents):
        if extent:
            start, end, events, longest = extent
            assert (step["device_start_ps"], step["device_end_ps"], step["device_ps"]) == (start, end, longest)
            assert step["device_event_count"] == events
        else:
            assert "device_start_ps" not in step and step["device_event_count"] == 0


def check_events(planes, steps, step_of, document, summary):
    ours = brute_force.events_by_place(document)
    events = brute_force.events_of(planes)
    assert len(ours) == len(events)
    wrong = [
        (event.place, event.name, ours[event.place].get("step"), step_of.get(event))
        for event in events
        if ours[event.place].get("step") != step_of.get(event)
    ]
    assert wrong == []


def close(expected):
    if expected is None:
        return None
    return {key: pytest.approx(value, rel=1e-12) for key, value in expected.items()}


def check_distributions(planes, steps, step_of, document, summary):
    extents = brute_force.device_extents(planes, steps, step_of)
    device = [longest / 1e3 for _, _, _, longest in filter(None, extents)]
    host = [step.duration / 1e3 for step in steps]
    assert summary["steps"]["count"] == len(steps)
    assert summary["steps"]["host_ns"] == close(brute_force.distribution(host))
    assert summary["steps"]["device_ns"] == close(brute_force.distribution(device))


def check_flows(planes, steps, step_of, document, summary):
    flows = brute_force.flows_of(planes)
    assert brute_force.flow_set(document) == flows
    kinds = collections.Counter(kind for kind, _, _ in flows)
    assert summary["flows"] == {"launch": kinds["launch"], "context": kinds["context"]}


def check_delays(planes, steps, step_of, document, summary):
    for plane in planes:
        for device in summary["devices"]:
            if device["name"] == plane.name:
                delays = brute_force.distribution(brute_force.launch_delays(planes, plane))
                assert device["launch_delay_ns"] == close(delays)


# Real captures


def test_a_training_capture_has_its_twenty_steps(training):
    planes, steps, step_of, document, _ = training
    assert [step["number"] for step in document["steps"]] == list(range(20))
    assert {step["name"] for step in document["steps"]} == {"train"}
    check_steps(*training)


def test_steps_are_annotated_or_the_runs_of_the_main_program(captured, capture):
    check_steps(*captured)
    counts = {"jax_gpt_python_h200": 20, "jax_matmul_h200": 11, "tpu_inference": 100}
    name = capture.name.split(".")[0]
    origin = "annotated" if "gpt" in name else "guessed"
    assert [step["origin"] for step in captured[3]["steps"]] == [origin] * counts[name]
    assert captured[4]["steps"]["origin"] == origin
    assert (captured[4]["steps"]["host_ns"] is None) == (origin == "guessed")


def test_step_times_of_a_training_capture_are_those_numpy_finds(training):
    planes, steps, _, _, summary = training
    check_distributions(*training)
    host = numpy.array([step.duration for step in steps]) / 1e3
    assert summary["steps"]["host_ns"]["mean"] == pytest.approx(host.mean(), rel=1e-12)
    assert summary["steps"]["host_ns"]["p50"] == pytest.approx(numpy.percentile(host, 50), rel=1e-12)
    assert summary["steps"]["host_ns"]["p99"] == pytest.approx(numpy.percentile(host, 99), rel=1e-12)
    starts = numpy.array([step.start for step in steps])
    period = brute_force.distribution(numpy.diff(starts) / 1e3)
    assert period["count"] == 19
    assert summary["steps"]["period_ns"] == close(period)


def test_every_event_of_a_capture_is_in_the_step_it_belongs_to(captured):
    check_events(*captured)


def test_every_host_event_inside_an_annotation_is_in_its_step(training):
    planes, steps, _, document, _ = training
    ours = brute_force.events_by_place(document)
    for number, step in enumerate(steps):
        inside = brute_force.nested(step)
        assert len(inside) > 100
        assert {ours[event.place]["step"] for event in inside} == {number}


def test_every_kernel_of_a_training_step_is_in_the_step_that_launched_it(training):
    planes, steps, _, document, _ = training
    ours = brute_force.events_by_place(document)
    launches = brute_force.launches_of(planes)
    kernels = collections.Counter()
    for event in brute_force.device_events(planes):
        launch = brute_force.launch_of(launches, event)
        around = [n for n, s in enumerate(steps) if s.start <= launch.start and launch.end <= s.end]
        if launch.line is steps[0].line and around:
            assert ours[event.place]["step"] == around[0]
            kernels[around[0]] += 1
    assert kernels == {step: 319 for step in range(20)}


def test_flows_of_a_capture_are_those_of_its_ids(captured):
    check_flows(*captured)
    assert len(captured[3]["flows"]) > 400


def test_launch_delays_of_a_capture_run_from_the_call_to_the_first_work_it_started(captured):
    check_delays(*captured)
    known = [device["launch_delay_ns"] is not None for device in captured[4]["devices"]]
    assert known == ["GPU" in device["name"] for device in captured[4]["devices"]]


# Spaces made at random


@pytest.mark.slow
def test_made_up_spaces_have_the_cases_they_are_made_for(kymo, directory):
    """Annotations that are no step, events reached only through another thread, and the rest."""
    swallowed = elsewhere = outside = 0
    kinds = collections.Counter()
    for seed in SEEDS:
        planes, steps, step_of, _, _ = read_made_up(kymo, directory, seed)
        roots = [e for e in brute_force.events_of(planes) if {"_r", "step_num"} & set(e.stats)]
        swallowed += len(roots) - len(steps)
        for event in brute_force.events_of(planes, lambda plane: plane.is_host):
            elsewhere += event in step_of and steps[step_of[event]].line is not event.line
            outside += event not in step_of
        kinds.update(kind for kind, _, _ in brute_force.flows_of(planes))
    assert swallowed > 100 and elsewhere > 1000 and outside > 1000
    assert kinds["launch"] > 1000 and kinds["context"] > 1000


def test_steps_of_a_made_up_space_are_its_outermost_annotations(made):
    check_steps(*made)


def test_every_event_of_a_made_up_space_is_in_the_step_it_is_reached_from(made):
    check_events(*made)


def test_step_times_of_a_made_up_space_are_those_of_its_annotations(made):
    check_distributions(*made)


def test_flows_of_a_made_up_space_are_those_of_its_ids(made):
    check_flows(*made)


def test_launch_delays_of_a_made_up_space_run_from_the_call_to_the_first_work(made):
    check_delays(*made)


# One case each


class Space:
    """A small space with one process; times in nanoseconds."""

    def __init__(self, tmp_path, kymo):
        self.path, self.kymo = tmp_path / "space.xplane.pb", kymo
        self.space = xspace.XSpace(hostnames=[b"host"])
        xspace.task_environment(self.space, 10**18, 10**18 + 10**9)
        self.host = self.plane("/host:CPU")
        self.main = self.host.line("main", 1)

    def plane(self, name, pid=1):
        return xspace.PlaneWriter(self.space, name, pid)

    def call(self, name, start, duration, line=None, **stats):
        self.host.event(line or self.main, name, start * 1000, duration * 1000, **stats)

    def document(self):
        return self.kymo.document(write(self.path, self.space))

    def summary(self):
        path = write(self.path, self.space)
        return self.kymo.json("view", path, "--output-format", "summary-json")

    def steps_by_name(self):
        return {e["name"]: e.get("step") for e in self.document()["trace_events"]}


@pytest.fixture
def space(kymo, tmp_path):
    return Space(tmp_path, kymo)


def test_the_outermost_of_nested_annotations_is_the_step(space):
    space.call("inner", 20, 10, step_num=8, _r=1)  # stored before what contains it
    space.call("outer", 10, 50, step_num=7, _r=1)
    space.call("work", 22, 2)
    space.call("next", 70, 10, step_num=9, _r=1)
    assert [step["number"] for step in space.document()["steps"]] == [7, 9]
    assert space.steps_by_name() == {"inner": 0, "outer": 0, "work": 0, "next": 1}


def test_of_two_annotations_of_the_same_extent_the_first_is_the_step(space):
    for n in range(60):
        space.call(f"outer {n}", 100 * n, 50, step_num=2 * n, _r=1)
        space.call(f"inner {n}", 100 * n, 50, step_num=2 * n + 1, _r=1)
    assert [step["number"] for step in space.document()["steps"]] == list(range(0, 120, 2))


def test_consumers_belong_to_the_step_of_their_producers_through_any_number_of_threads(space):
    """A chain of fifty threads, each working on what the one before left."""
    space.call("step", 0, 10, step_num=1)
    space.call("start", 5, 1, _p=0, _pt=3)
    for n in range(50):
        line = space.host.line(f"worker {n}", 100 - n)
        space.call(f"produce {n}", 21 + 10 * n, 2, line, _p=n + 1, _pt=3)
        space.call(f"consume {n}", 20 + 10 * n, 5, line, _c=n, _ct=3)
        space.call(f"late {n}", 26 + 10 * n, 5, line)
    steps = space.steps_by_name()
    assert all(steps[f"produce {n}"] == steps[f"consume {n}"] == 0 for n in range(50))
    assert all(steps[f"late {n}"] is None for n in range(50))


def test_contexts_of_different_types_do_not_mix(space):
    space.call("step", 0, 10, step_num=1)
    space.call("producer", 5, 1, _p=44, _pt=3)
    space.call("other", 20, 1, _c=44, _ct=4)
    space.call("untyped", 30, 1, _c=44)
    assert space.steps_by_name() == {"step": 0, "producer": 0, "other": None, "untyped": None}
    assert space.document()["flows"] == []


def test_two_rings_of_contexts_end(space):
    """Events that produce for each other, inside a step and outside of any."""
    space.call("step", 0, 10, step_num=1)
    space.call("a", 2, 1, _p=1, _c=2)
    space.call("b", 4, 1, _p=2, _c=1)
    space.call("c", 20, 1, _p=3, _c=4)
    space.call("d", 24, 1, _p=4, _c=3)
    assert space.steps_by_name() == {"step": 0, "a": 0, "b": 0, "c": None, "d": None}
    assert len(space.document()["flows"]) == 4


def test_an_event_that_outlasts_the_annotation_is_not_part_of_its_step(space):
    space.call("step", 10, 50, step_num=1)
    space.call("overhanging", 40, 50)
    space.call("inside both", 45, 5)
    space.call("at the end", 60, 0)
    space.call("at the start", 10, 0)
    assert space.steps_by_name() == {
        "step": 0,
        "overhanging": None,
        "inside both": 0,
        "at the end": None,
        "at the start": 0,
    }


def test_the_outermost_of_nested_calls_is_the_launch_even_when_stored_last(space):
    space.call("cuLaunchKernel", 12, 2, correlation_id=5)
    space.call("cudaLaunchKernel", 10, 6, correlation_id=5)
    device = space.plane("/device:GPU:0")
    device.event(device.line("Stream #7"), "kernel", 110_000, 1000, correlation_id=5)
    [flow] = space.document()["flows"]
    assert flow["from_event"] == 1
    assert space.summary()["devices"][0]["launch_delay_ns"]["max"] == 100


def test_launch_delays_count_from_the_call_to_the_first_kernel_on_any_stream(space):
    space.call("graph launch", 10, 5, correlation_id=5)
    space.call("nothing came of it", 20, 5, correlation_id=6)
    device = space.plane("/device:GPU:0")
    for stream, start in ((7, 90), (8, 60), (9, 75)):
        device.event(device.line(f"Stream #{stream}", stream), "k", start * 1000, 9, correlation_id=5)
    delay = space.summary()["devices"][0]["launch_delay_ns"]
    assert (delay["count"], delay["min"], delay["max"]) == (1, 50, 50)


def test_work_that_began_before_its_call_has_a_negative_delay(space):
    """Clocks of host and device are aligned only so well: it is shown, not hidden."""
    space.call("launch", 100, 5, correlation_id=5)
    device = space.plane("/device:GPU:0")
    device.event(device.line("Stream #7"), "kernel", 99_000, 1000, correlation_id=5)
    assert space.summary()["devices"][0]["launch_delay_ns"]["mean"] == -1


def test_operations_of_a_tpu_belong_to_the_step_of_the_execution_around_them(space):
    space.call("step 1", 0, 10, step_num=1)
    space.call("enqueue 1", 5, 1, _p=1, _pt=12)
    space.call("step 2", 20, 10, step_num=2)
    space.call("enqueue 2", 25, 1, _p=2, _pt=12)
    device = space.plane("/device:TPU:0")
    operations = device.line("XLA Ops", 3)  # stored before the executions
    for n, start in enumerate((95, 100, 109, 110, 200, 215, 220)):
        device.event(operations, f"op {start}", start * 1000, 1000)
    modules = device.line("XLA Modules", 2)
    device.event(modules, "second", 200_000, 20_000, _c=2, _ct=12)
    device.event(modules, "first", 100_000, 10_000, _c=1, _ct=12)
    steps = space.steps_by_name()
    assert {name: step for name, step in steps.items() if name.startswith("op")} == {
        "op 95": None,
        "op 100": 0,
        "op 109": 0,
        "op 110": None,
        "op 200": 1,
        "op 215": 1,
        "op 220": None,
    }
    assert [(s["device_start_ps"], s["device_end_ps"]) for s in space.document()["steps"]] == [
        (100_000, 110_000),
        (200_000, 220_000),
    ]


def test_operations_are_not_taken_for_those_of_a_sparse_core_execution(space):
    """A device may have two rows of executions; each row of operations has its own."""
    space.call("step", 0, 10, step_num=1)
    space.call("enqueue", 5, 1, _p=1, _pt=12)
    device = space.plane("/device:TPU:0")
    device.event(device.line("XLA Modules", 1), "dense", 100_000, 10_000, _c=1, _ct=12)
    device.event(device.line("XLA Ops", 2), "operation", 105_000, 1000)
    device.event(device.line("Sparse Core Modules", 3), "sparse", 300_000, 10_000)
    assert space.steps_by_name()["operation"] == 0


def equal_ids(space, pid, offset):
    """A step, a launch, a producer and what they lead to: the same ids for each process."""
    host = xspace.PlaneWriter(space, f"/host:CPU {pid}", pid)
    line = host.line("main", 1)
    if offset == 0:
        host.event(line, f"step of {pid}", 0, 50_000, step_num=1)
    host.event(line, f"launch of {pid}", 10_000 + offset, 5000, correlation_id=5)
    host.event(line, f"producer of {pid}", 20_000 + offset, 5000, _p=9, _pt=3)
    host.event(host.line("worker", 2), f"consumer of {pid}", 60_000 + offset, 10, _c=9, _ct=3)
    device = xspace.PlaneWriter(space, f"/device:GPU:{pid}", pid)
    kernels = device.line("Stream #7", 7)
    device.event(kernels, f"kernel of {pid}", 110_000 + 3 * offset, 1000, correlation_id=5)


def check_apart(document, summary, pids):
    tracks = {}
    for event in document["trace_events"]:
        tracks.setdefault(event["track"], []).append(event)
    pairs = {
        (
            tracks[flow["from_track"]][flow["from_event"]]["name"],
            tracks[flow["to_track"]][flow["to_event"]]["name"],
        )
        for flow in document["flows"]
    }
    assert len(document["flows"]) == 2 * len(pids)
    assert pairs == {(f"launch of {pid}", f"kernel of {pid}") for pid in pids} | {
        (f"producer of {pid}", f"consumer of {pid}") for pid in pids
    }
    in_step = {event["name"] for event in document["trace_events"] if "step" in event}
    kinds = ("step", "launch", "producer", "consumer", "kernel")
    assert in_step == {f"{kind} of {pids[0]}" for kind in kinds}
    delays = [device["launch_delay_ns"]["mean"] for device in summary["devices"]]
    assert delays == [100, 102]


def test_processes_with_equal_ids_do_not_mix(kymo, tmp_path):
    space = xspace.XSpace(hostnames=[b"host"])
    xspace.task_environment(space, 10**18, 10**18 + 10**9)
    equal_ids(space, 1, 0)
    equal_ids(space, 2, 1000)
    path = write(tmp_path / "two.xplane.pb", space)
    summary = kymo.json("view", path, "--output-format", "summary-json")
    check_apart(kymo.document(path), summary, [1, 2])


def test_hosts_with_equal_process_ids_do_not_mix(kymo, tmp_path):
    for number, (name, offset) in enumerate((("left", 0), ("right", 1000))):
        space = xspace.XSpace(hostnames=[name.encode()])
        xspace.task_environment(space, 10**18, 10**18 + 10**9)
        equal_ids(space, number + 1, offset)
        for plane in space.planes:
            for stat in plane.stats:
                if stat.WhichOneof("one") == "int64_value":
                    stat.int64_value = 77
        write(tmp_path / f"{name}.xplane.pb", space)
    summary = kymo.json("view", tmp_path, "--output-format", "summary-json")
    check_apart(kymo.document(tmp_path), summary, [1, 2])


def test_each_threads_steps_have_their_own_periods(kymo, tmp_path):
    """Two threads stepping in turn: the time from one's step to the other's is no period."""
    space = xspace.XSpace()
    host = xspace.PlaneWriter(space, "/host:CPU", pid=1)
    for thread in (0, 1):
        line = host.line(f"thread {thread}", thread + 1)
        for i in range(5):
            host.event(line, "step", (2 * i + thread) * 1000_000, 10, _r=1, step_num=i)
    path = tmp_path / "two.xplane.pb"
    path.write_bytes(space.SerializeToString())
    period = kymo.json("view", path, "--output-format", "summary-json")["steps"]["period_ns"]
    assert (period["count"], period["min"], period["max"]) == (8, 2000.0, 2000.0)


def test_a_step_that_is_annotated_in_two_planes_of_a_process_is_one(kymo, tmp_path):
    """As Kymo inside jax.profiler writes them; what either plane has in it belongs to it. Of other processes and threads of one
    plane, steps of one number are different ones."""
    space = xspace.XSpace()
    planes = [xspace.PlaneWriter(space, "/host:CPU", pid=1), xspace.PlaneWriter(space, "/host:CPU (Kymo)", pid=1)]
    lines = [plane.line("python", 7) for plane in planes]
    for i in range(4):
        outer, inner = (0, 1) if i % 2 else (1, 0)
        planes[outer].event(lines[outer], "train", i * 1000, 900, _r=1, step_num=i)
        planes[inner].event(lines[inner], "train", i * 1000 + 10, 890, _r=1, step_num=i)
        for plane, line in zip(planes, lines):
            plane.event(line, "work", i * 1000 + 20, 100)
    planes[1].event(lines[1], "eval", 4000, 100, _r=1, step_num=4)
    planes[0].event(planes[0].line("other", 8), "train", 15, 100, _r=1, step_num=0)
    other = xspace.PlaneWriter(space, "/host:CPU [2]", pid=2)
    other.event(other.line("python", 9), "train", 20, 100, _r=1, step_num=0)
    document = kymo.document(write(tmp_path / "two.xplane.pb", space))
    assert [(step["name"], step["number"], step["start_ps"]) for step in document["steps"]] == [
        ("train", 0, 0), ("train", 0, 15), ("train", 0, 20), ("train", 1, 1000), ("train", 2, 2000), ("train", 3, 3000), ("eval", 4, 4000)]
    steps = collections.Counter((event["step"], event["name"]) for event in document["trace_events"])
    assert [steps[number, "work"] for number in (0, 3, 4, 5)] == [2] * 4
    assert [steps[number, "train"] for number in range(6)] == [2, 1, 1, 2, 2, 2]
