"""Steps of captures without annotations: from the devices' own lines of steps, or guessed."""

import json

import duckdb
import pytest

import xspace
from conftest import DATA
from test_gpu import Tables

TF = DATA / "xplane" / "tf_gpu_worker.xplane.pb"


class Space:
    """A host thread and a GPU whose kernels are launched from it."""

    def __init__(self, kymo, tmp_path):
        self.kymo, self.path = kymo, tmp_path / "made.xplane.pb"
        self.space = xspace.XSpace()
        self.host = xspace.PlaneWriter(self.space, "/host:CPU")
        self.thread = self.host.line("main")
        self.device = xspace.PlaneWriter(self.space, "/device:GPU:0")
        self.stream = self.device.line("Stream #1(Compute,MemcpyH2D)", id=1)
        self.launches = 0

    def launch(self, call, at, work, duration=10, **stats):
        """A call, and what it makes the device do 100 ps later."""
        self.launches += 1
        self.host.event(self.thread, call, at, 5, correlation_id=self.launches)
        for number, name in enumerate([work] if isinstance(work, str) else work):
            self.device.event(self.stream, name, at + 100 + number * duration, duration,
                              correlation_id=self.launches, **stats)

    def document(self):
        self.path.write_bytes(self.space.SerializeToString())
        return self.kymo.document(self.path)

    def steps_of(self, name):
        """The step of each event of a name, in time order; None for those in none."""
        found = [e for e in self.document()["trace_events"] if e["name"] == name]
        return [e.get("step") for e in sorted(found, key=lambda e: e["start_ps"])]


@pytest.fixture
def space(kymo, tmp_path):
    return Space(kymo, tmp_path)


def run_program(space, at, run, module, duration=10):
    space.host.event(space.thread, f"Execute ({module})", at, 20, run_id=run)
    space.launch("cuLaunchKernel", at + 5, f"kernel of {module}", duration, hlo_module=module)


def test_copies_to_the_device_right_before_a_run_belong_to_it(space):
    for step in range(3):
        at = step * 1000
        space.launch("cuMemcpyHtoDAsync", at, "MemcpyH2D")
        space.launch("cuMemcpyHtoDAsync", at + 10, "MemcpyH2D")
        run_program(space, at + 30, step + 1, "jit_step")
        space.launch("cuMemcpyDtoHAsync", at + 600, "MemcpyD2H")
    assert space.steps_of("kernel of jit_step") == [0, 1, 2]
    assert space.steps_of("MemcpyH2D") == [0, 0, 1, 1, 2, 2]
    assert space.steps_of("MemcpyD2H") == [0, 1, 2]
    document = space.document()
    assert [(s["start_ps"], s["duration_ps"], s["number"]) for s in document["steps"]] == [
        (0, 1000, 0), (1000, 1000, 1), (2000, 1000, 2)]
    assert {step["origin"] for step in document["steps"]} == {"guessed"}


def test_the_program_that_takes_most_time_is_the_step_and_others_are_parts_of_it(space):
    for step in range(4):
        run_program(space, step * 1000, 2 * step, "jit_train", duration=90)
        run_program(space, step * 1000 + 300, 2 * step + 1, "jit_metrics", duration=10)
    assert space.steps_of("kernel of jit_train") == [0, 1, 2, 3]
    assert space.steps_of("kernel of jit_metrics") == [0, 1, 2, 3]


def test_what_runs_twice_is_no_step(space):
    for step in range(2):
        run_program(space, step * 1000, step + 1, "jit_f")
    assert space.document()["steps"] == []


def test_launches_of_a_graph_are_steps(space):
    """Two graphs: the one that takes more time is the step, by its first kernel and its size."""
    for step in range(3):
        space.launch("hipGraphLaunch", step * 1000, ["attention", "mlp", "mlp"], 30)
        space.launch("hipGraphLaunch", step * 1000 + 400, ["sample"], 20)
        space.launch("hipLaunchKernel", step * 1000 + 500, ["eager"], 20)
    assert space.steps_of("attention") == [0, 1, 2]
    assert space.steps_of("mlp") == [0, 0, 1, 1, 2, 2]
    assert space.steps_of("sample") == space.steps_of("eager") == [0, 1, 2]


def test_annotations_go_before_guesses(space):
    for step in range(3):
        run_program(space, step * 1000, step + 1, "jit_step")
    space.host.event(space.thread, "train", 990, 500, step_num=7, _r=1)
    document = space.document()
    assert [(step["number"], step["origin"]) for step in document["steps"]] == [(7, "annotated")]


def tpu(space, number, shift, steps):
    """A chip with a line of steps, an operation in each and one in between."""
    plane = xspace.PlaneWriter(space, f"/device:TPU:{number}")
    line, operations = plane.line("Steps", id=1), plane.line("XLA Ops", id=2)
    for step in steps:
        plane.event(line, str(step), step * 1000 + shift, 800)
        plane.event(operations, "fusion", step * 1000 + shift + 50, 700)
        plane.event(operations, "between", step * 1000 + shift + 900, 20)


def test_the_line_of_steps_of_a_device_is_used(kymo, tmp_path):
    space = xspace.XSpace()
    tpu(space, 0, 0, [3, 4, 5])
    tpu(space, 1, 20, [3, 4, 5])
    path = tmp_path / "tpu.xplane.pb"
    path.write_bytes(space.SerializeToString())
    document = kymo.document(path)
    keys = ("number", "start_ps", "duration_ps", "device_start_ps", "device_end_ps", "device_ps", "device_event_count", "origin")
    assert [tuple(step[key] for key in keys) for step in document["steps"]] == [
        (n, n * 1000, 800, n * 1000 + 50, n * 1000 + 770, 700, 2, "recorded") for n in (3, 4, 5)]
    operations = [e for e in document["trace_events"] if e["name"] in ("fusion", "between")]
    assert [e.get("step") for e in operations] == [0, None, 1, None, 2, None] * 2


def test_devices_that_are_out_of_phase_have_their_own_times_of_a_step(kymo, tmp_path):
    """A step is not longer because another device has it later."""
    space = xspace.XSpace()
    for number, shift in enumerate((0, 50_000_000, 70_000_000)):
        plane = xspace.PlaneWriter(space, f"/device:TPU:{number}")
        line, operations = plane.line("Steps", id=1), plane.line("XLA Ops", id=2)
        for step in range(3):
            start = shift + step * 1_000_000
            plane.event(line, str(step), start, 800_000 + number * 1000)
            plane.event(operations, "fusion", start + 50_000, 700_000 + number * 2000)
    path = tmp_path / "tpu.xplane.pb"
    path.write_bytes(space.SerializeToString())
    made = Tables(kymo, path, tmp_path / "tables")
    rows = duckdb.sql(f"""SELECT s.number, s.duration_ns, s.device_ns, s.end_ts - s.start_ts, list(b.duration_ns ORDER BY b.device_id)
        FROM '{made.directory}/Step.parquet' s JOIN '{made.directory}/StepBreakdown.parquet' b ON b.step_id = s.id GROUP BY ALL ORDER BY 1""").fetchall()
    assert rows == [(number, 802, 704, 70_802, [800, 801, 802]) for number in range(3)]
    summary = kymo.json("view", path, "--output-format", "summary-json")
    assert summary["steps"]["device_ns"]["max"] == 704


def test_groups_of_tensorflow_are_the_steps_of_its_devices(kymo):
    """Events carry the number of their group; copies without one belong to the step of their launch."""
    document = kymo.document(TF)
    [step] = document["steps"]
    assert (step["number"], step["origin"]) == (0, "recorded")
    devices = {t["track"] for t in document["tracks"] if t["name"].startswith("/device:")}
    parents = {t["track"]: t.get("parent") for t in document["tracks"]}
    frames = {t["track"] for t in document["tracks"] if t["name"] == "Steps"}
    launches = {(flow["to_track"], flow["to_event"]): flow for flow in document["flows"]}
    host_step = {}
    count = {}
    inside = 0
    for event in document["trace_events"]:
        event["number"] = count.get(event["track"], 0)
        count[event["track"]] = event["number"] + 1
        host_step[event["track"], event["number"]] = event.get("args", {}).get("group_id")
    for event in document["trace_events"]:
        flow = launches.get((event["track"], event["number"]))
        launched = flow and host_step[flow["from_track"], flow["from_event"]] == 0
        grouped = event.get("args", {}).get("group_id") == 0
        assert event.get("step") == (0 if grouped or launched else None), event
        inside += event.get("step") == 0 and parents[event["track"]] in devices and event["track"] not in frames
    assert step["device_event_count"] == inside > 160


def test_the_summary_and_the_tables_say_that_steps_are_guessed(kymo, tmp_path, space):
    for step in range(3):
        run_program(space, step * 1000, step + 1, "jit_step")
    space.document()
    assert "Steps, guessed from the program that takes most time" in kymo.ok(
        "view", space.path, "--output-format", "summary-text")
    kymo.ok("view", space.path, "--display-name", "x", "--data-path", tmp_path, "--ingest-only")
    rows = kymo.json("sql", "x", "SELECT DISTINCT origin FROM Step", "--format", "json", "--data-path", tmp_path)
    assert rows == [{"origin": "guessed"}]


# torch.profiler without step()


class Torch:
    """Spans of threads, and kernels that run 3 us after their launch. Times are in microseconds."""

    def __init__(self, kymo, tmp_path):
        self.kymo, self.path, self.events, self.launches = kymo, tmp_path / "made.pt.trace.json", [], 0

    def span(self, name, start, duration, thread=1, category="user_annotation", pid=10, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": thread, "ts": start, "dur": duration,
                            "args": args})

    def launch(self, at, name, thread=1, duration=2):
        self.launches += 1
        self.span("cudaLaunchKernel", at, 1, thread, "cuda_runtime", correlation=self.launches)
        self.span(name, at + 3, duration, 7, "kernel", 0, device=0, stream=7, correlation=self.launches)

    def write(self):
        self.path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": self.events}))
        return self.path

    def steps(self):
        """(start, end) of each step, in us, and the step of each kernel, by name."""
        document = self.kymo.document(self.write())
        assert {step["origin"] for step in document["steps"]} <= {"guessed"}
        kernels = {}
        for e in sorted(document["trace_events"], key=lambda e: e["start_ps"]):
            if "kernel" in e["name"]:
                kernels.setdefault(e["name"], []).append(e.get("step"))
        return [(step["start_ps"] // 10**6, (step["start_ps"] + step["duration_ps"]) // 10**6) for step in document["steps"]], kernels


@pytest.fixture
def torch(kymo, tmp_path):
    return Torch(kymo, tmp_path)


def test_the_optimizer_of_pytorch_ends_a_step(torch):
    """Also for what other threads launch; a graph in the step, an annotation and an optimizer inside another do not matter."""
    for step in range(4):
        at = step * 100
        torch.span("forward", at, 30)
        torch.launch(at + 5, "forward kernel")
        torch.launch(at + 40, "backward kernel", thread=2)
        torch.span("Optimizer.step#Wrapper.step", at + 70, 20)
        torch.span("Optimizer.step#Adam.step", at + 72, 15)
        torch.launch(at + 80, "update kernel")
    torch.launch(395, "kernel of evaluation")
    steps, kernels = torch.steps()
    assert steps == [(0, 90), (90, 190), (190, 290), (290, 390)]
    assert kernels == {"forward kernel": [0, 1, 2, 3], "backward kernel": [0, 1, 2, 3], "update kernel": [0, 1, 2, 3],
                       "kernel of evaluation": [None]}
    text = torch.kymo.ok("view", torch.path, "--output-format", "summary-text")
    assert "Steps, guessed from the steps of the optimizer: nothing marks them" in text


def test_an_annotation_that_repeats_begins_a_step(torch):
    """The first of those that come as often as the one that takes most time."""
    for step in range(3):
        at = step * 100
        torch.span("load", at, 10)
        torch.span("decode", at + 20, 60)
        torch.launch(at + 30, "kernel")
        if step == 1:
            torch.span("log", at + 90, 5)
    steps, kernels = torch.steps()
    assert steps == [(0, 100), (100, 200), (200, 300)]
    assert kernels == {"kernel": [0, 1, 2]}


def test_what_several_threads_or_other_programs_do_is_no_step(torch):
    for request in range(6):
        torch.span("request", request * 50, 90, thread=1 + request % 2)
        torch.launch(request * 50 + 5, "kernel", thread=1 + request % 2)
    assert torch.steps()[0] == []
    for launch in range(3):
        torch.span("poll", launch * 10, 5, thread=3)
    assert torch.steps()[0] == []  # most is launched after them


def test_findings_say_that_they_are_of_guessed_steps(torch):
    for step in range(6):
        at = step * 1000
        torch.span("collate", at, 600, category="cpu_op")
        torch.launch(at + 590, "kernel", duration=380)
        torch.span("Optimizer.step#Adam.step", at + 985, 10)
    findings = torch.kymo.json("recommend", torch.write(), "--format", "json")
    assert findings and {finding["share_of"] for finding in findings} == {"the guessed steps"}
