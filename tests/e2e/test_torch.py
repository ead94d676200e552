"""What torch.profiler's captures say about steps, operators and modules, against brute force."""

import json

import pytest


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

    def write(self):
        document = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
            "traceEvents": self.events,
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
