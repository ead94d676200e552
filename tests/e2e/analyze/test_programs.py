"""Compiled programs, and the rows of executions and operations derived from them on GPU streams."""

import functools

import duckdb
import pytest

import brute_force
import xspace
from conftest import DATA
from test_gpu import Tables
from wire import packed

TRAINING = DATA / "xplane" / "jax_gpt_python_h200.xplane.pb"
GPU_CAPTURES = ["jax_matmul_h200", "jax_gpt_python_h200"]


def read(kymo, path):
    """Planes of a file, Kymo's document and its summary."""
    planes = brute_force.planes_of(xspace.load(path))
    summary = kymo.json("view", path, "--output-format", "summary-json")
    return planes, kymo.document(path), summary


@functools.lru_cache(maxsize=None)
def read_once(kymo, name):
    return read(kymo, DATA / "xplane" / name)


@pytest.fixture
def training(kymo):
    """A capture of twenty training steps, each one launch of a CUDA graph."""
    return read_once(kymo, TRAINING.name)


@pytest.fixture(params=GPU_CAPTURES)
def on_gpu(kymo, request):
    return read_once(kymo, f"{request.param}.xplane.pb")


def programs_of(planes):
    return [
        {"label": label, "program_id": number, "proto": proto, **brute_force.program(proto)}
        for plane in planes
        for label, number, proto in plane.programs
    ]


def without_costs(operation):
    """An operation without what tests of HLO modules compare: texts, costs, operands, order."""
    details = {"category", "shape", "expression", "compute_type", "flops", "matrix_flops", "xprof_flops", "bytes_accessed", "bytes_read",
               "bytes_written", "schedule_index", "is_fused", "operands", "callees"}
    return {key: value for key, value in operation.items() if key not in details}


def test_programs_of_a_capture_are_those_of_its_hlo_protos(kymo, capture):
    planes, document, summary = read_once(kymo, capture.name)
    expected = programs_of(planes)
    ours = document["programs"]
    assert [(p["name"], p["label"], p["program_id"]) for p in ours] == [
        (p["name"], p["label"], p["program_id"]) for p in expected
    ]
    for program, reference in zip(ours, expected):
        assert [without_costs(operation) for operation in program["operations"]] == reference["operations"]
        assert program["stack_frames"] == reference["stack_frames"]
    assert summary["program_count"] == len(expected) > 3
    assert sum(len(p["operations"]) for p in ours) > 40
    assert sum(len(p["stack_frames"]) for p in ours) > 4


def test_sources_of_operations_come_from_stack_frames_where_nothing_else_tells_them(training):
    """The training capture has no file names on its operations, only numbers of frames."""
    planes, document, _ = training
    [program] = [p for p in document["programs"] if p["name"] == "jit_train_step"]
    told = [operation for operation in program["operations"] if "stack_frame" in operation]
    assert len(told) > 1000
    for operation in told:
        frame = program["stack_frames"][operation["stack_frame"]]
        assert (operation["source_file"], operation["source_line"]) == (frame["file"], frame["line"])
    assert any(operation["source_file"].endswith("/jax_gpt.py") for operation in told)


# Derived rows


def run_of(launch):
    """The innermost program execution around a call, by its thread and number."""
    if launch is None:
        return None
    around = [
        event
        for event in launch.line.events
        if "run_id" in event.stats and event.start <= launch.start <= event.end
    ]
    return max(around, key=lambda event: event.order).stats["run_id"] if around else None


def outermost_scope(planes, launch):
    """The scope of a call and the outermost one around it, by the tree that the file has."""
    if launch is None or "scope_range_id" not in launch.stats:
        return 0, 0
    trees = [plane.scopes for plane in planes if plane.process == launch.plane.process]
    tree = {child: outer for scopes in trees for child, outer in scopes.items()}
    inner = outer = launch.stats["scope_range_id"]
    while outer in tree:
        outer = tree[outer]
    return inner, outer


def labeled_kernels(planes, line, programs):
    """[(kernel, execution it is part of, name of its operation and its scope, the operation or None)]"""
    _, step_of = brute_force.steps_of(planes)
    launches = brute_force.launches_of(planes)
    runs = {}
    kernels = []
    for event in line.in_order:
        if "hlo_module" not in event.stats:
            continue
        module, number = event.stats["hlo_module"], event.stats.get("program_id")
        program = None
        for candidate in programs:
            if candidate["name"] == module and number in (None, candidate["program_id"]):
                program = candidate
        launch = brute_force.launch_of(launches, event)
        if launch not in runs:
            runs[launch] = run_of(launch), *outermost_scope(planes, launch)
        operation = resolve(program, event) if program else None
        name = operation["name"] if operation else event.stats.get("hlo_op") or event.name
        run, scope, outer = runs[launch]
        execution = module, program and program["program_id"], step_of.get(event), (run, outer)
        kernels.append((event, execution, (name, scope), operation))
    return in_order_of_schedule(kernels, {p["program_id"]: p for p in programs})


def in_order_of_schedule(kernels, programs):
    """Kernels of a graph that are as many as the operations of the program: one for each, in order."""
    placed = []
    for group in runs_of(kernels, lambda kernel: (kernel[1], kernel[0].stats.get("correlation_id"), kernel[0].stats.get("hlo_op"))):
        program = programs.get(group[0][1][1])
        nodes = [k for k in group if not k[0].name.startswith("Mem")]
        order = brute_force.scheduled(program["proto"]) if program and group[0][0].stats.get("hlo_op") == "command_buffer_1" else []
        if not order or len(order) != len(nodes):
            placed += group
            continue
        found = dict(zip(map(id, nodes), order))
        for kernel in group:
            operation = found.get(id(kernel))
            scope = kernel[2][1]
            placed.append((*kernel[:2], (operation["name"], scope), operation) if operation else kernel)
    return placed


def resolve(program, kernel):
    """By the operation's name, inside a CUDA graph by the kernel's."""
    by_name, by_kernel = brute_force.operations_by_name(program["proto"])
    return by_name.get(kernel.stats.get("hlo_op")) or by_kernel.get(kernel.name)


def runs_of(kernels, key):
    """Neighbors with the same key, together."""
    groups = []
    for kernel in kernels:
        if not groups or key(groups[-1][-1]) != key(kernel):
            groups.append([])
        groups[-1].append(kernel)
    return groups


def row_event(group, name, extra):
    start = min(kernel.start for kernel, *_ in group)
    end = max(kernel.end for kernel, *_ in group)
    _, (_, program_id, step, _), _, _ = group[0]
    event = {"name": name, "start_ps": start, "duration_ps": end - start}
    event["kernel_count"] = len(group)
    if step is not None:
        event["step"] = step
    if program_id is not None:
        event |= {"program_id": program_id, **extra}
    return event


def source_of(operation):
    return {key: operation[key] for key in ("op_name", "source_file", "source_line")}


@functools.lru_cache(maxsize=None)
def expected_rows(planes):
    """[(place of the stream, its executions, its operations)] as the document has them, and the
    groups of kernels that are the operations."""
    programs = programs_of(planes)
    rows, groups = [], []
    for plane in planes:
        for line in plane.lines_named("Stream #") if plane.is_device else []:
            kernels = labeled_kernels(planes, line, programs)
            executions = [
                row_event(group, group[0][1][0], {}) for group in runs_of(kernels, lambda k: k[1])
            ]
            operations = runs_of(kernels, lambda kernel: kernel[1:3])
            groups += operations
            if kernels:
                rows.append(
                    (
                        line.place,
                        executions,
                        [
                            row_event(group, group[0][2][0], source_of(group[0][3]) if group[0][3] else {})
                            for group in operations
                        ],
                    )
                )
    return rows, groups


def check_rows(planes, document):
    rows, _ = expected_rows(planes)
    where = brute_force.places(document)
    ours = document["derived_rows"]
    assert [where[row["lane"]] for row in ours] == [r[0] for r in rows for _ in range(2)]
    for (place, executions, operations), modules, ops in zip(rows, ours[::2], ours[1::2]):
        assert modules["name"].startswith("XLA Modules") and ops["name"].startswith("XLA Ops")
        assert modules["events"] == executions
        assert ops["events"] == operations
    return rows


def check_operations(planes, summary):
    """Rankings of operations that were derived: their time is that of their kernels."""
    _, groups = expected_rows(planes)
    expected = {}
    for group in groups:
        _, (module, program_id, _, _), (name, _), operation = group[0]
        spent = sum(kernel.duration for kernel, *_ in group)
        entry = expected.setdefault((module, program_id, name), ([], [], operation))
        entry[0].append(spent)
        entry[1].append(len(group))
    whole = sum(sum(times) for times, _, _ in expected.values())
    listed = []
    for (module, _, name), (times, counts, operation) in expected.items():
        operation = operation or dict.fromkeys(("opcode", "op_name", "source_file"), "")
        listed.append(
            {
                "name": name,
                "program": module,
                "count": len(times),
                "total_ns": sum(times) / 1e3,
                "self_ns": sum(times) / 1e3,
                "min_ns": min(times) / 1e3,
                "max_ns": max(times) / 1e3,
                "share": pytest.approx(sum(times) / whole, rel=1e-12),
                "kind": operation["opcode"],
                "op_name": operation["op_name"],
                "source_file": operation["source_file"],
                "source_line": operation.get("source_line", 0),
                "kernel_count": sum(counts),
            }
        )
    listed.sort(key=lambda e: (-e["self_ns"], -e["count"], e["name"].encode()))
    identities = [(one["name"], one["program"], one["module_id"]) for one in summary["operations"]]
    assert len(set(identities)) == len(identities)
    assert [{key: value for key, value in one.items() if key != "module_id"} for one in summary["operations"]] == listed


def test_rows_of_a_gpu_hold_its_labeled_kernels_by_execution_and_operation(on_gpu):
    planes, document, _ = on_gpu
    rows = check_rows(planes, document)
    assert len(rows) == 1
    assert [row["name"] for row in document["derived_rows"]] == ["XLA Modules", "XLA Ops"]


def test_times_of_operations_on_a_gpu_are_those_of_their_kernels(on_gpu):
    planes, _, summary = on_gpu
    check_operations(planes, summary)
    labeled = [e for e in brute_force.device_events(planes) if "hlo_module" in e.stats]
    assert sum(entry["kernel_count"] for entry in summary["operations"]) == len(labeled) > 80
    assert sum(entry["total_ns"] for entry in summary["operations"]) == pytest.approx(
        sum(event.duration for event in labeled) / 1e3
    )


def test_executions_of_autotuned_programs_are_told_apart_by_their_scopes(kymo):
    """No run id is around their launches; XProf shows as many."""
    _, document, _ = read_once(kymo, "jax_matmul_h200.xplane.pb")
    [modules] = [row for row in document["derived_rows"] if row["name"] == "XLA Modules"]
    assert len(modules["events"]) == 51


def test_a_training_capture_has_one_execution_for_each_step(training):
    _, document, _ = training
    [modules] = [row for row in document["derived_rows"] if row["name"] == "XLA Modules"]
    assert [(event["name"], event["step"]) for event in modules["events"]] == [
        ("jit_train_step", step) for step in range(20)
    ]
    assert {event["kernel_count"] for event in modules["events"]} == {319}


def test_derived_events_come_in_order_and_cover_every_labeled_kernel(on_gpu):
    planes, document, _ = on_gpu
    labeled = sum("hlo_module" in e.stats for e in brute_force.device_events(planes))
    for row in document["derived_rows"]:
        events = row["events"]
        assert all(a["start_ps"] <= b["start_ps"] for a, b in zip(events, events[1:]))
        assert sum(event["kernel_count"] for event in events) == labeled


def test_kernels_inside_a_cuda_graph_are_found_by_their_order(training):
    """All are labeled with the graph, which is no operation of the program."""
    planes, document, _ = training
    labels = {e.stats["hlo_op"] for e in brute_force.device_events(planes) if "hlo_op" in e.stats}
    assert labels == {"command_buffer_1"}
    [operations] = [row for row in document["derived_rows"] if row["name"] == "XLA Ops"]
    found = [event for event in operations["events"] if "source_file" in event]
    assert len(found) == 20 * 318
    lost = [event["name"] for event in operations["events"] if "source_file" not in event]
    assert lost == ["command_buffer_1"] * 20  # a memset
    layers = [event for event in found if event["name"] in ("gemm_fusion_dot.25", "gemm_fusion_dot.29")]
    assert len(layers) == 40 and all(event["source_line"] > 0 for event in layers)


# Small spaces


def instruction(name, opcode="fusion", frame=0, **metadata):
    about = packed(2, metadata.get("op_name", "jit(f)/" + name))
    if "file" in metadata:
        about += packed(3, metadata["file"]) + packed(4, metadata["line"])
    if frame:
        about += packed(15, frame)
    return packed(2, packed(1, name) + packed(2, opcode) + packed(7, about))


def hlo_module(name, instructions):
    index = packed(1, "model.py") + packed(1, "lib.py") + packed(2, "train") + packed(2, "dot")
    index += packed(3, packed(1, 1) + packed(2, 1) + packed(3, 33) + packed(4, 4))
    index += packed(3, packed(1, 2) + packed(2, 2) + packed(3, 7))
    index += packed(4, packed(1, 1)) + packed(4, packed(1, 2) + packed(2, 1))
    computation = packed(3, packed(1, "main") + b"".join(instructions))
    return packed(1, name) + computation + packed(17, index)


class Space:
    """A small space with one program on one device; times in nanoseconds."""

    def __init__(self, tmp_path, kymo):
        self.path, self.kymo = tmp_path / "space.xplane.pb", kymo
        self.space = xspace.XSpace(hostnames=[b"host"])
        xspace.task_environment(self.space, 10**18, 10**18 + 10**9)
        self.metadata = xspace.PlaneWriter(self.space, "/host:metadata", 1)
        self.host = xspace.PlaneWriter(self.space, "/host:CPU", 1)
        self.device = xspace.PlaneWriter(self.space, "/device:GPU:0", 1)
        self.main = self.host.line("main", 1)

    def program(self, label, module, **stats):
        self.proto(label, packed(1, module), **stats)

    def proto(self, label, proto, **stats):
        id = self.metadata.event_id(label)
        [entry] = [e for e in self.metadata.plane.event_metadata if e.key == id]
        self.metadata.stat(entry.value.stats, "Hlo Proto", proto)
        for name, value in stats.items():
            self.metadata.stat(entry.value.stats, name, value)

    def call(self, name, start, duration, **stats):
        self.host.event(self.main, name, start * 1000, duration * 1000, **stats)

    def stream(self, number):
        return self.device.line(f"Stream #{number}(Compute)", number)

    def kernel(self, stream, name, start, duration, **stats):
        self.device.event(stream, name, start * 1000, duration * 1000, **stats)

    def read(self):
        self.path.write_bytes(self.space.SerializeToString())
        return read(self.kymo, self.path)

    def document(self):
        """For spaces whose programs the reference cannot read."""
        self.path.write_bytes(self.space.SerializeToString())
        return self.kymo.document(self.path)

    def rows(self):
        planes, document, summary = self.read()
        check_rows(planes, document)
        check_operations(planes, summary)
        return {
            row["name"]: [(event["name"], event["kernel_count"]) for event in row["events"]]
            for row in document["derived_rows"]
        }


@pytest.fixture
def space(kymo, tmp_path):
    return Space(tmp_path, kymo)


def test_rows_of_a_device_with_two_streams_say_which_they_are_made_from(space):
    space.program("jit_f(5)", hlo_module("jit_f", [instruction("dot.1")]), program_id=5)
    first, second, unlabeled = space.stream(14), space.stream(20), space.stream(21)
    space.kernel(second, "dot_1", 10, 5, hlo_module="jit_f", hlo_op="dot.1", program_id=5)
    space.kernel(first, "dot_1", 12, 5, hlo_module="jit_f", hlo_op="dot.1", program_id=5)
    space.kernel(unlabeled, "memcpy", 14, 5)
    assert space.rows() == {
        "XLA Modules - from #14": [("jit_f", 1)],
        "XLA Ops - from #14": [("dot.1", 1)],
        "XLA Modules - from #20": [("jit_f", 1)],
        "XLA Ops - from #20": [("dot.1", 1)],
    }


def test_kernels_of_one_operation_in_a_row_are_one_event_of_it(space):
    space.program(
        "jit_f(5)",
        hlo_module("jit_f", [instruction("dot.1"), instruction("add-start.2", frame=2)]),
        program_id=5,
    )
    stream = space.stream(14)
    label = {"hlo_module": "jit_f", "program_id": 5}
    space.kernel(stream, "split_k", 11, 3, hlo_op="dot.1", **label)  # out of order on purpose
    space.kernel(stream, "dot_1", 10, 15, hlo_op="dot.1", **label)
    space.kernel(stream, "memset", 26, 2)  # of no program: interrupts nothing
    space.kernel(stream, "reduce", 12, 4, hlo_op="dot.1", **label)  # ends before the one before
    space.kernel(stream, "add_start_2", 40, 5, hlo_op="graph", **label)
    space.kernel(stream, "unknown", 50, 5, hlo_op="graph", **label)
    space.kernel(stream, "nameless", 60, 5, **label)
    space.kernel(stream, "dot_1", 70, 5, hlo_op="dot.1", **label)
    assert space.rows() == {
        "XLA Modules": [("jit_f", 7)],
        "XLA Ops": [("dot.1", 3), ("add-start.2", 1), ("graph", 1), ("nameless", 1), ("dot.1", 1)],
    }
    _, document, _ = space.read()
    added = document["derived_rows"][1]["events"][1]
    assert (added["source_file"], added["source_line"]) == ("lib.py", 7)


def test_kernels_without_a_label_among_those_of_an_operation_are_its_own(space, tmp_path):
    """In one of 40 executions two kernels in the middle say nothing; a copy that no operation has elsewhere stays without one."""
    space.program("jit_f(5)", hlo_module("jit_f", [instruction("cudnn-conv.1", "custom-call"), instruction("add.2")]), program_id=5)
    stream, label = space.stream(14), {"hlo_module": "jit_f", "program_id": 5}
    for run in range(40):
        space.call("run", run * 100, 90, run_id=run + 1)
        space.call("launch", run * 100 + 1, 1, correlation_id=run + 1)
        for n, kernel in enumerate(("nchwToNhwc", "scale", "conv", "nhwcToNchw")):
            known = {} if run == 17 and n in (1, 2) else {"hlo_op": "cudnn-conv.1", **label}
            space.kernel(stream, kernel, 10_000 + run * 100 + 10 * n, 5, correlation_id=run + 1,
                         kernel_details="regs:32 static_shared:0 dynamic_shared:0 grid:1,1,1 block:32,1,1 occ_pct:50", **known)
        if run == 20:
            space.kernel(stream, "Memcpy HtoD", 10_000 + run * 100 + 16, 2)
        space.kernel(stream, "add_2", 10_000 + run * 100 + 50, 5, hlo_op="add.2", correlation_id=run + 1, **label)
    space.document()
    made = Tables(space.kymo, space.path, tmp_path / "tables")
    sums = duckdb.sql(f"SELECT name, program_id, occurrence_count, kernel_count, self_ns FROM '{made.directory}/DeviceOperation.parquet' ORDER BY name").fetchall()
    assert sums == [("Memcpy HtoD", None, 1, 1, 2), ("add.2", 5, 40, 40, 200), ("cudnn-conv.1", 5, 40, 160, 800)]
    runs = duckdb.sql(f"SELECT count(*), sum(kernel_count) FROM '{made.directory}/HloRun.parquet' WHERE name = 'cudnn-conv.1'").fetchall()
    assert runs == [(40, 160)]
    found = duckdb.sql(f"SELECT attribution, count(*) FROM '{made.directory}/GpuKernel.parquet' WHERE operation_id IS NOT NULL GROUP BY 1 ORDER BY 2").fetchall()
    assert found == [("schedule order", 2), ("recorded", 158)]


def test_programs_of_one_name_are_told_apart_by_their_ids(space):
    for id, line in ((5, 50), (6, 60)):
        dot = instruction("dot.1", file="model.py", line=line)
        space.program(f"jit_f({id})", hlo_module("jit_f", [dot]), program_id=id)
    stream = space.stream(14)
    for n, id in enumerate((5, 6, 6, 5, 7)):
        space.kernel(stream, "dot_1", 10 * n, 5, hlo_module="jit_f", hlo_op="dot.1", program_id=id)
    assert space.rows()["XLA Modules"] == [("jit_f", 1), ("jit_f", 2), ("jit_f", 1), ("jit_f", 1)]
    _, document, _ = space.read()
    lines = [event.get("source_line") for event in document["derived_rows"][1]["events"]]
    assert lines == [50, 60, 50, None]


def executions(space, runs, launches, order=None):
    """Kernels for calls at some times, among runs: (start, duration, run id)."""
    calls = [("run", start, duration, {"run_id": run}) for start, duration, run in runs]
    stream = space.stream(14)
    for n, start in enumerate(launches):
        calls.append(("launch", start, 1, {"correlation_id": n + 1}))
        label = {"hlo_module": "jit_f", "hlo_op": "dot.1", "correlation_id": n + 1}
        space.kernel(stream, "dot_1", 1000 + 10 * n, 5, **label)
    for name, start, duration, stats in sorted(calls, key=order or (lambda call: call[1])):
        space.call(name, start, duration, **stats)
    return space.rows()["XLA Modules"]


def test_executions_are_told_apart_by_the_runs_around_their_launches(space):
    runs = [(0, 10, 71), (20, 10, 72)]
    assert executions(space, runs, [5, 6, 25, 26]) == [("jit_f", 2), ("jit_f", 2)]


def test_runs_are_found_in_lines_that_are_not_in_order(space):
    runs = [(0, 10, 71), (20, 10, 72)]
    found = executions(space, runs, [5, 6, 25, 26], order=lambda call: call[0])
    assert found == [("jit_f", 2), ("jit_f", 2)]


def test_nested_events_of_one_run_are_one_execution(space):
    """The runtime stamps a run's number on several of the functions it goes through."""
    runs = [(0, 40, 71), (10, 10, 71)]
    assert executions(space, runs, [5, 12, 14, 30]) == [("jit_f", 4)]


def test_a_run_is_found_behind_many_short_ones_inside_it(space):
    runs = [(0, 100, 71)] + [(10 + 4 * n, 1, 80 + n) for n in range(10)]
    assert executions(space, runs, [5, 90]) == [("jit_f", 2)]


def test_a_device_that_has_operations_of_its_own_gets_no_derived_rows(space):
    space.kernel(space.stream(14), "dot_1", 10, 5, hlo_module="jit_f", hlo_op="dot.1")
    space.device.event(space.device.line("XLA Ops", 1), "dot.1", 10_000, 5000)
    _, document, summary = space.read()
    assert document["derived_rows"] == []
    assert [(o["name"], o["count"]) for o in summary["operations"]] == [("dot.1", 1)]


def test_a_file_name_on_an_operation_goes_before_its_stack_frame(space):
    told = instruction("told", frame=2, file="own.py", line=3)
    module = hlo_module("jit_f", [told, instruction("framed", frame=2), instruction("bare")])
    space.program("jit_f(5)", module, program_id=5)
    [program] = space.document()["programs"]
    assert [(o["source_file"], o["source_line"]) for o in program["operations"]] == [
        ("own.py", 3),
        ("lib.py", 7),
        ("", 0),
    ]
    assert program["stack_frames"] == [
        {"file": "model.py", "function": "train", "line": 33, "column": 4},
        {"file": "lib.py", "function": "dot", "line": 7, "column": 0, "parent": 0},
    ]


def test_numbers_of_frames_that_are_not_there_are_left_out(space):
    index = packed(1, "model.py") + packed(3, packed(1, 9) + packed(2, 9) + packed(3, 5))
    index += packed(4, packed(1, 1) + packed(2, 8)) + packed(4, packed(1, 4))
    operations = packed(3, packed(1, "main") + instruction("dot", frame=3) + instruction("add", frame=1))
    space.program("jit_f(5)", packed(1, "jit_f") + operations + packed(17, index), program_id=5)
    [program] = space.document()["programs"]
    nowhere = {"file": "", "function": "", "column": 0}
    assert program["stack_frames"] == [nowhere | {"line": 5}, nowhere | {"line": 0}]
    assert "stack_frame" not in program["operations"][0]
    assert program["operations"][1]["stack_frame"] == 0


# Damage


def left_out(label):
    return f"the HLO of {label} is damaged and was skipped"


def damage_training(path, damage):
    """The training capture with the program of its step changed."""
    space = xspace.load(TRAINING)
    [metadata] = [plane for plane in space.planes if plane.name == b"/host:metadata"]
    [entry] = [e for e in metadata.event_metadata if e.value.name == b"jit_train_step(15913)"]
    [stat] = [stat for stat in entry.value.stats if stat.WhichOneof("one") == "bytes_value"]
    stat.bytes_value = damage(stat.bytes_value)
    path.write_bytes(space.SerializeToString())
    return path


@pytest.mark.parametrize(
    "damage",
    [
        lambda proto: proto[:-1],
        lambda proto: proto[: len(proto) // 2],
        lambda proto: b"\x0f" + proto,
        lambda proto: proto + b"\xff" * 11,
        lambda proto: b"\x0a\xff\xff\xff\xff\x0f" + proto,
    ],
    ids=["last byte cut", "half cut", "wrong wire type", "endless number", "length too large"],
)
def test_a_damaged_program_is_named_and_the_rest_of_the_profile_read(
    kymo, tmp_path, training, damage
):
    planes, sound, sound_summary = training
    path = damage_training(tmp_path / "damaged.xplane.pb", damage)
    document = kymo.document(path)
    summary = kymo.json("view", path, "--output-format", "summary-json")
    [message] = document["messages"]
    assert message == {"host": "vm", "level": "warning", "text": left_out("jit_train_step(15913)")}
    assert summary["messages"] == document["messages"]
    assert document["programs"] == [p for p in sound["programs"] if p["name"] != "jit_train_step"]
    assert document["steps"] == sound["steps"]
    assert document["trace_events"] == sound["trace_events"]
    assert summary["kernels"] == sound_summary["kernels"]
    modules, operations = document["derived_rows"]
    assert [event["name"] for event in modules["events"]] == ["jit_train_step"] * 20
    assert {event["name"] for event in operations["events"]} == {"command_buffer_1"}


def test_a_program_cut_off_at_any_byte_is_read_or_named(space):
    """All beginnings of a program side by side in one file, in three wrappings."""
    dot = instruction("dot.1", frame=2, file="own.py", line=3)
    module = hlo_module("jit_f", [dot, instruction("add")])
    damaged = []
    for cut in range(len(module) + 1):
        for wrap, proto in (
            ("whole", packed(1, module)[:cut]),
            ("module", packed(1, module[:cut])),
            ("index", packed(1, packed(1, "jit_f") + packed(17, module[:cut]))),
        ):
            label = f"{wrap}({cut})"
            space.proto(label, proto)
            if is_damaged(wrap, proto):
                damaged.append(label)
    document = space.document()
    assert [message["text"] for message in document["messages"]] == [left_out(d) for d in damaged]
    assert len(document["programs"]) + len(damaged) == 3 * (len(module) + 1)
    assert len(damaged) > len(module)


def is_damaged(wrap, proto):
    try:
        module = brute_force.fields(dict(brute_force.fields(proto)).get(1, b""))
        if wrap == "index":  # what stands in for the index has texts where it has submessages
            index = brute_force.fields(dict(module)[17])
            for number, value in index:
                if number in (3, 4):
                    brute_force.fields(value)
    except brute_force.Damaged:
        return True
    return False


def test_labels_written_in_the_event_itself_are_read_like_references(kymo, tmp_path):
    space = xspace.XSpace()
    device = xspace.PlaneWriter(space, "/device:GPU:0", pid=1)
    line = device.line("Stream #1(Compute)")
    for i in range(4):
        event = device.event(line, f"kernel {i}", i * 100, 50)
        for key, text in (("hlo_module", f"jit_{i // 2}"), ("hlo_op", f"op.{i}")):
            event.stats.add(metadata_id=device.stat_id(key), str_value=text.encode())
    path = tmp_path / "inline.xplane.pb"
    path.write_bytes(space.SerializeToString())
    operations = kymo.json("view", path, "--output-format", "summary-json")["operations"]
    assert {(o["program"], o["name"]) for o in operations} == {
        (f"jit_{i // 2}", f"op.{i}") for i in range(4)
    }
