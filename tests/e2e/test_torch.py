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

    def op(self, name, ts, dur, tid=1, **args):
        return self.add("cpu_op", name, ts, dur, tid, **args)

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
