"""What torch.profiler's captures say about steps, operators and modules, against brute force."""

import collections
import json
import random

import pyarrow.parquet
import pytest

import torch_model
from conftest import DATA

CAPTURES = ["amd_mi250", "recommender_rank", "sglang_modules", "torch_compile_triton", "torch_gpt_cut"]


class Trace:
    """A made-up Kineto trace; times in microseconds."""

    def __init__(self, path):
        self.path, self.events = path, []

    def add(self, cat, name, ts, dur, tid=1, pid=10, **args):
        event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
        self.events.append(event | ({"cat": cat} if cat else {}))
        return event

    def instant(self, name, ts, pid="Traces", tid="Trace PyTorch Profiler"):
        self.events.append({"ph": "i", "s": "g", "name": name, "pid": pid, "tid": tid, "ts": ts})

    def op(self, name, ts, dur, tid=1, pid=10, **args):
        return self.add("cpu_op", name, ts, dur, tid, pid, **args)

    def launch(self, ts, correlation, tid=1, name="cudaLaunchKernel", **args):
        return self.add("cuda_runtime", name, ts, 1, tid, correlation=correlation, **args)

    def kernel(self, ts, dur, correlation, name="kernel", cat="kernel", stream=7, **args):
        return self.add(cat, name, ts, dur, stream, 0, device=0, stream=stream,
                        correlation=correlation, **args)  # fmt: skip

    def write(self, **facts):
        document = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
            "traceEvents": self.events,
            **facts,
        }
        self.path.write_text(json.dumps(document))
        return self.path


@pytest.fixture
def trace(tmp_path):
    return Trace(tmp_path / "made.pt.trace.json")


def summary(kymo, path):
    return kymo.json("view", path, "--output-format", "summary-json")


# What the profiler itself does


def test_shares_are_of_the_time_of_the_program_not_of_the_profiler(kymo, trace):
    trace.add("Trace", "PyTorch Profiler (0)", 0, 900, "PyTorch Profiler", "Spans")
    trace.instant("Iteration Start: PyTorch Profiler", 0)
    trace.instant("Record Window End", 1000, "", "")
    trace.add("overhead", "Activity Buffer Request", 20, 70, 0, -1)
    trace.op("aten::mm", 100, 50)
    trace.launch(110, 5)
    trace.kernel(200, 100, 5)
    found = summary(kymo, trace.write())
    assert found["span_ns"] == 200_000
    assert found["profiler_ns"] == 70_000  # the wrapper "PyTorch Profiler (0)" is the capture, not overhead
    assert "Without the profiler's own 70.0 us." in kymo.ok("view", trace.path, "--output-format", "summary-text")
    assert (found["first_event_ps"], found["last_event_ps"]) == (0, 10**9)
    assert found["devices"][0]["busy_share"] == 0.5
    assert sum(thread["busy_ns"] for thread in found["threads"]) == 50_000
    assert {event["name"] for event in found["host_events"]} == {"aten::mm", "cudaLaunchKernel"}


def test_the_frame_of_a_step_does_not_make_its_thread_busy(kymo, trace):
    trace.add("user_annotation", "ProfilerStep#3", 0, 100)
    trace.op("aten::mm", 10, 20)
    trace.op("aten::add", 60, 15)
    trace.add("user_annotation", "ProfilerStep#4", 100, 100)
    trace.op("aten::mm", 190, 20)  # outlasts its step
    found = summary(kymo, trace.write())
    assert [thread["busy_ns"] for thread in found["threads"]] == [55_000]
    assert found["span_ns"] == 210_000


# Steps


def steps_by_name(kymo, path):
    return {event["name"]: event.get("step") for event in kymo.document(path)["trace_events"]}


def test_work_of_other_threads_belongs_to_the_step_it_was_launched_in(kymo, trace):
    for number in range(3):
        trace.add("user_annotation", f"ProfilerStep#{number}", 100 * number, 90)
        trace.op(f"forward {number}", 100 * number + 10, 20)
        trace.launch(100 * number + 15, 10 + number)
        trace.op(f"backward {number}", 100 * number + 40, 30, tid=2)
        trace.launch(100 * number + 50, 20 + number, tid=2)
        trace.kernel(100 * number + 60, 5, 10 + number, f"forward kernel {number}")
        trace.kernel(100 * number + 120, 5, 20 + number, f"backward kernel {number}")
    trace.op("between", 195, 3, tid=2)
    trace.launch(196, 99, tid=2)
    trace.kernel(198, 1, 99, "kernel between")
    trace.op("of another process", 50, 5, tid=1, pid=11)
    steps = steps_by_name(kymo, trace.write())
    for number in range(3):
        kinds = ["forward", "backward", "forward kernel", "backward kernel"]
        assert {steps[f"{kind} {number}"] for kind in kinds} == {number}
    assert {steps[name] for name in ("between", "kernel between", "of another process")} == {None}


def test_copies_belong_to_the_step_of_their_call_not_of_their_time(kymo, trace):
    trace.add("user_annotation", "ProfilerStep#1", 0, 100)
    trace.launch(90, 1, name="cudaMemcpyAsync")
    trace.add("user_annotation", "ProfilerStep#2", 100, 100)
    trace.kernel(150, 10, 1, "Memcpy HtoD (Pinned -> Device)", "gpu_memcpy")
    assert steps_by_name(kymo, trace.write())["Memcpy HtoD (Pinned -> Device)"] == 0


def test_ends_of_flows_and_annotations_are_no_device_events(kymo, trace):
    trace.add("user_annotation", "ProfilerStep#1", 0, 100)
    trace.launch(10, 1)
    trace.kernel(50, 10, 1)
    flow = {"cat": "ac2g", "name": "ac2g", "id": 1}
    trace.events.append({"ph": "s", "pid": 10, "tid": 1, "ts": 10, **flow})
    trace.events.append({"ph": "f", "pid": 0, "tid": 7, "ts": 50, "bp": "e", **flow})
    trace.add("gpu_user_annotation", "ProfilerStep#1", 45, 40, 7, 0)
    path = trace.write()
    assert summary(kymo, path)["devices"][0]["event_count"] == 1
    [step] = kymo.document(path)["steps"]
    assert (step["device_start_ps"], step["device_end_ps"]) == (50_000_000, 60_000_000)
    assert step["device_event_count"] == 1


# Operators and modules


class Profile:
    """The tables of a processed capture."""

    def __init__(self, kymo, capture, directory):
        kymo.ok("view", capture, "--output-file", directory, "--ingest-only")
        self.directory = directory
        self.events = {row["id"]: row for row in self.rows("SystemProfileEvents")}

    def rows(self, table):
        path = self.directory / f"{table}.parquet"
        return pyarrow.parquet.read_table(path).to_pylist() if path.exists() else []

    def start(self, event):
        row = self.events[event]
        return row["start_ts"] * 1000 + row["start_fraction_ps"]

    def work(self):
        return self.rows("GpuKernel") + self.rows("GpuCopy")

    def summaries(self):
        columns = ["device_event_count", "device_self_time_ns", "device_time_ns",
                   "device_time_with_backward_ns"]  # fmt: skip
        rows = {(row["kind"], row["name"]): [row[c] for c in columns]
                for row in self.rows("OperatorSummary")}  # fmt: skip
        for row in self.rows("ModuleSummary"):
            rows["module", "nn.Module: " + row["name"]] = [row[c] for c in columns]
        return rows


def check_work(model, profile):
    """All device work has the step and the very call of the operator that the model finds."""
    expected = collections.Counter()
    for work in model.work:
        operator = model.operator_of(work)
        call = (operator.name, work.start - operator.start) if operator else (None, None)
        expected[work.name, work.args["correlation"], model.step_of(work), *call] += 1
    found = collections.Counter()
    for row in profile.work():
        call = row["framework_op_event_id"]
        since = None if call is None else profile.start(row["id"]) - profile.start(call)
        assert row["framework_op"] == (None if call is None else profile.events[call]["name"])
        found[row["name"], row["correlation_id"], row["step_id"], row["framework_op"], since] += 1
    assert found == expected


def check_summaries(model, profile):
    expected = {key: [row[0], *(time // 1000 for time in row[1:])]
                for key, row in model.summaries().items()}  # fmt: skip
    assert profile.summaries() == expected
    calls = collections.Counter((call.kind, call.name) for call in model.calls)
    rows = profile.rows("OperatorSummary")
    assert {(r["kind"], r["name"]): r["call_count"] for r in rows} == {
        key: count for key, count in calls.items() if key[0] != "module"
    }


@pytest.mark.parametrize("name", CAPTURES)
def test_work_operators_and_modules_of_a_capture_are_those_of_brute_force(kymo, tmp_path, name):
    path = DATA / "kineto" / f"{name}.json.gz"
    model, profile = torch_model.read(path), Profile(kymo, path, tmp_path / "profile")
    assert len(model.work) > 10
    check_work(model, profile)
    check_summaries(model, profile)
    assert sum(model.operator_of(work) is None for work in model.work) == 0


def test_backward_calls_are_linked_as_the_capture_links_them(kymo, tmp_path):
    """Kineto draws an arrow from the forward call to the first backward call."""
    path = DATA / "kineto" / "torch_gpt_cut.json.gz"
    model, ends = torch_model.read(path), {}
    for flow in torch_model.load(path):
        if flow.get("cat") == "fwdbwd":
            place = (flow["pid"], flow["tid"]), torch_model.picoseconds(flow["ts"])
            ends.setdefault(flow["id"], {})[flow["ph"]] = place
    by_place = collections.defaultdict(list)
    for call in model.calls:
        by_place[call.thread, call.start].append(call)
    links = 0
    for end in ends.values():
        if len(end) == 2:
            forwards = {call.forward for call in by_place[end["f"]]}
            assert forwards & set(by_place[end["s"]])
            links += 1
    assert links > 100


NAMES = ["aten::mm", "aten::add_", "aten::linear", "aten::_softmax", "MyFunction"]


def backward_name(name):
    return "".join(word.title() for word in name.split("::")[-1].split("_")) + "Backward0"


def make_random(trace, seed):
    """Threads of nested calls that launch work, steps on one of them, and backward passes with the
    numbers of forward calls on any thread."""
    choose = random.Random(seed)
    numbers = collections.Counter()
    forwards = collections.defaultdict(list)

    def launch(time, tid, external):
        number = numbers["correlation"] = numbers["correlation"] + 1
        has_launch, args = choose.random() < 0.85, {}
        if choose.random() < 0.8 and external:
            args["External id"] = external
        if has_launch:
            trace.launch(time, number, tid)
        cat = choose.choice(["kernel", "kernel", "gpu_memcpy", "gpu_memset"])
        for _ in range(choose.choice([1, 1, 1, 3])):
            numbers["device"] += choose.randrange(1, 50)
            trace.kernel(time + numbers["device"], choose.randrange(1, 90), number, f"work {number}",
                         cat, choose.choice([7, 8]), **args)  # fmt: skip

    def calls(start, end, tid, depth, external, is_backward):
        time = start
        while end - time > 20:
            first = time + choose.randrange(5)
            last = choose.randrange(first + 1, end)
            kind = choose.random()
            number = numbers["external"] = numbers["external"] + 1
            args = {"External id": 1000 + number}
            name = choose.choice(NAMES)
            if kind < 0.2:
                trace.add("user_annotation", f"part {number % 3}", first, last - first, tid, **args)
            elif kind < 0.35:
                module = f"nn.Module: Linear_{number % 4}"
                trace.add("python_function", module, first, last - first, tid)
            elif kind < 0.45 and is_backward and forwards:
                thread = choose.choice(list(forwards))
                sequence, name = choose.choice(forwards[thread])
                args |= {"Sequence number": sequence, "Fwd thread id": thread}
                name = backward_name(name)
                engine = choose.choice(["autograd::engine::evaluate_function: ", ""])
                trace.op(engine + name, first, last - first, tid, **args)
                if choose.random() < 0.7 and last - first > 4:
                    args["External id"] = 9000 + number
                    trace.op(name, first + 1, last - first - 2, tid, **args)
            else:
                if choose.random() < 0.6:
                    sequence = numbers["sequence", tid]
                    numbers["sequence", tid] += choose.random() < 0.8
                    args |= {"Sequence number": sequence, "Fwd thread id": 0}
                    forwards[tid].append((sequence, name))
                trace.op(name, first, last - first, tid, **args)
            inner = external if kind < 0.35 else 1000 + number
            if depth < 5 and choose.random() < 0.7:
                calls(first, last, tid, depth + 1, inner, is_backward)
            elif choose.random() < 0.7:
                launch(choose.randrange(first, last + 1), tid, inner)
            time = last + choose.randrange(8)

    for number in range(4):
        trace.add("user_annotation", f"ProfilerStep#{number}", 1000 * number + 20, 960)
        for tid in choose.sample([1, 2, 3], 2):
            calls(1000 * number, 1000 * number + 600, tid, 0, None, choose.random() < 0.4)
        for tid in choose.sample([1, 2, 3], 2):
            calls(1000 * number + 620, 1000 * number + 1000, tid, 0, None, True)
    choose.shuffle(trace.events)


@pytest.mark.parametrize("seed", range(20))
def test_a_made_up_training_has_the_operators_that_brute_force_finds(kymo, trace, tmp_path, seed):
    make_random(trace, seed)
    path = trace.write()
    model, profile = torch_model.read(path), Profile(kymo, path, tmp_path / "profile")
    check_work(model, profile)
    check_summaries(model, profile)


def test_made_up_trainings_have_the_cases_they_are_made_for(tmp_path):
    found = collections.Counter()
    for seed in range(20):
        trace = Trace(tmp_path / "made.json")
        make_random(trace, seed)
        model = torch_model.read(trace.write())
        for work in model.work:
            operator, step = model.operator_of(work), model.step_of(work)
            found["operator" if operator else "no operator"] += 1
            found["step" if step is not None else "no step"] += 1
            if operator:
                found[operator.kind] += 1
                found["by number"] += work.args["correlation"] not in model.launches
                found["credited"] += len(model.credits(work)) > 0
        for call in model.calls:
            found["linked"] += call.forward is not None
            found["to another thread"] += call.forward is not None and call.forward.thread != call.thread
            found["nested in itself"] += not call.is_outermost
    kinds = ["operator", "no operator", "step", "no step", "annotation", "by number", "credited",
             "linked", "to another thread", "nested in itself"]  # fmt: skip
    assert all(found[kind] > 30 for kind in kinds), found


def test_a_processed_profile_read_again_has_the_same_operators(kymo, tmp_path):
    path = DATA / "kineto" / "amd_mi250.json.gz"
    Profile(kymo, path, tmp_path / "profile")
    first, again = summary(kymo, path), summary(kymo, tmp_path / "profile")
    assert first["operators"] and again["operators"] == first["operators"]


def operators(kymo, path):
    return {row["name"]: row for row in summary(kymo, path)["operators"]}


def test_a_backward_pass_is_credited_to_its_forward_call_and_what_is_around_it(kymo, trace):
    forward = {"Sequence number": 7, "Fwd thread id": 0}
    backward = {"Sequence number": 7, "Fwd thread id": 4}
    trace.op("aten::linear", 0, 50, **forward)
    trace.op("aten::addmm", 10, 30, **forward)
    trace.launch(20, 1)
    trace.kernel(30, 5, 1)
    trace.op("autograd::engine::evaluate_function: AddmmBackward0", 100, 50, tid=2, **backward)
    trace.op("AddmmBackward0", 110, 30, tid=2, **backward)
    trace.op("aten::mm", 115, 20, tid=2)
    trace.launch(120, 2, tid=2)
    trace.kernel(130, 11, 2)
    found = operators(kymo, trace.write())
    columns = ["device_self_ns", "device_ns", "device_with_backward_ns"]
    assert {name: [row[c] for c in columns] for name, row in found.items()} == {
        "aten::linear": [0, 5000, 16000],
        "aten::addmm": [5000, 5000, 16000],
        "autograd::engine::evaluate_function: AddmmBackward0": [0, 11000, 11000],
        "AddmmBackward0": [0, 11000, 11000],
        "aten::mm": [11000, 11000, 11000],
    }
    assert found["aten::mm"]["share"] == 11 / 16


def test_threads_that_count_alike_are_told_apart_by_the_names_of_their_operators(kymo, trace):
    """As with checkpoints, where autograd's thread runs a forward pass again."""
    for tid, name in ((1, "aten::mm"), (2, "aten::relu_")):
        for sequence in range(5):
            args = {"Sequence number": sequence, "Fwd thread id": 0}
            trace.op(name, 10 * sequence, 5, tid=tid, **args)
    for thread, name in ((8, "ReluBackward0"), (9, "MmBackward0")):
        for sequence in range(5):
            args = {"Sequence number": sequence, "Fwd thread id": thread}
            start = 100 * thread + 10 * sequence
            trace.op(name, start, 8, tid=3, **args)
            trace.launch(start + 2, start, tid=3)
            trace.kernel(start + 3, thread, start)
    found = operators(kymo, trace.write())
    assert found["aten::mm"]["device_with_backward_ns"] == 45_000
    assert found["aten::relu_"]["device_with_backward_ns"] == 40_000


def test_first_versions_wrote_the_correlation_id_as_external_id(kymo, trace):
    """It is not the number of an operator then."""
    trace.op("aten::mm", 0, 5, **{"External id": 33})
    trace.kernel(20, 5, 33, "kernel a", **{"External id": 33})
    trace.kernel(30, 7, 34, "kernel b", **{"External id": 33})
    assert operators(kymo, trace.write())["aten::mm"]["device_self_ns"] == 7000


def test_processes_with_equal_external_ids_do_not_mix(kymo, tmp_path):
    for rank in (0, 1):
        trace = Trace(tmp_path / "ranks" / f"rank-{rank}.json")
        trace.path.parent.mkdir(exist_ok=True)
        trace.op(f"operator of {rank}", 10 * rank, 5, **{"External id": 3})
        trace.kernel(20, 5 + rank, 44, **{"External id": 3})
        trace.write(distributedInfo={"rank": rank})
    found = operators(kymo, tmp_path / "ranks")
    assert [found[f"operator of {rank}"]["device_self_ns"] for rank in (0, 1)] == [5000, 6000]


def test_modules_of_torchscript_are_those_that_operators_name(kymo, trace):
    """'Module Hierarchy' of operators; what runs inside an operator is in its module."""
    top, conv = "TOP(Net)::forward", "TOP(Net)::forward.conv(Conv2d)::forward"
    for number, (path, ts) in enumerate([(conv + ".", 0), (conv + ".", 20), (top, 40), ("", 60)]):
        args = {"Module Hierarchy": path, "Sequence number": number, "Fwd thread id": 0}
        trace.op("aten::conv2d", ts, 15, **args)
        trace.op("aten::inner", ts + 1, 10)
        trace.launch(ts + 2, number + 1)
        trace.kernel(ts + 5, 3 + number, number + 1)
    trace.op("Conv2DBackward0", 80, 9, tid=2, **{"Sequence number": 1, "Fwd thread id": 3})
    trace.launch(82, 9, tid=2)
    trace.kernel(85, 10, 9)
    modules = {row["name"]: row for row in summary(kymo, trace.write())["modules"]}
    columns = ["count", "host_ns", "host_self_ns", "device_event_count", "device_self_ns",
               "device_ns", "device_with_backward_ns"]  # fmt: skip
    assert {name: [row[c] for c in columns] for name, row in modules.items()} == {
        conv: [2, 30_000, 30_000, 2, 7000, 7000, 17_000],
        top: [3, 45_000, 15_000, 1, 5000, 12_000, 22_000],
    }
