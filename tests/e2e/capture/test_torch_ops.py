"""kymo inspect --torch-ops: PyTorch's operators, from the hook in Python to the kernels they launched."""

import json
import os
import subprocess
import sys

import pytest

import schema
from conftest import ROOT
from gpu_session import Session
from installed import PACKAGE
from test_cuda import Machine, sessions
from test_gpu import Tables

HOOK = PACKAGE / "kymo" / "lib" / "kymo" / "python-start"
# A package as the hook sees PyTorch: it writes down what is done to it.
TORCH = '''
import sys, types
done = []
class version:
    cuda = {cuda!r}
class emit_nvtx:
    def __init__(self, **options):
        done.append(["emit_nvtx", options])
    def __enter__(self):
        cuda.synchronize()
        {enter}
        profiler._enable_profiler("nvtx")
profiler = types.SimpleNamespace(emit_nvtx=emit_nvtx, _enable_profiler=lambda state: done.append(["enable", state]),
                                 _disable_profiler=lambda: done.append(["disable"]))
autograd = types.SimpleNamespace(profiler=profiler)
queued = []
cuda = types.SimpleNamespace(_lazy_call=queued.append, synchronize=lambda: done.append(["synchronize"]))
def use_cuda():
    while queued:
        queued.pop()()
{end}
'''
USE = "import torch, json; torch.use_cuda(); print(json.dumps(torch.done))"
STARTED = [["emit_nvtx", {"record_shapes": True}], ["enable", "nvtx"]]


@pytest.fixture
def python(tmp_path, installed):
    """Runs Python with the hook and a stand-in for torch: what it prints and what is on standard error."""
    def run(program, *, cuda="13.0", enter="pass", end="", on="1", code=0, options=()):
        (tmp_path / "torch").mkdir(exist_ok=True)
        (tmp_path / "torch" / "__init__.py").write_text(TORCH.format(cuda=cuda, enter=enter, end=end))
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("KYMO_", "PYTHON"))}
        environment |= {"PYTHONPATH": f"{HOOK}:{tmp_path}", "PYTHONDONTWRITEBYTECODE": "1", "KYMO_TORCH_OPS": on}
        result = subprocess.run([sys.executable, *options, "-c", program], env=environment, text=True, capture_output=True)
        assert result.returncode == code, result.stderr
        return result.stdout, result.stderr
    return run


def test_operators_are_recorded_from_the_first_use_of_cuda(python):
    """Not before: a program may fork first, or choose its device; nor is there a context for a synchronization."""
    before = "import torch; print(torch.done); torch.use_cuda(); torch.cuda.synchronize(); import json; print(json.dumps(torch.done))"
    output, errors = python(before)
    first, then = output.splitlines()
    assert (first, json.loads(then), errors) == ("[]", [*STARTED, ["synchronize"]], "")


def test_operators_end_with_the_program(python):
    """Before PyTorch looks for what is still on; after what the program itself does at its end."""
    after = "import atexit, json, torch; atexit.register(lambda: print(json.dumps(torch.done))); torch.use_cuda(); "
    output, errors = python(after + "atexit.register(lambda: print(json.dumps(torch.done)))")
    last, first = map(json.loads, reversed(output.splitlines()))
    assert (first, last, errors) == (STARTED, [*STARTED, ["disable"]], "")


def test_a_program_may_look_for_torch_before_it_imports_it(python):
    output, errors = python("import importlib.util as u; assert u.find_spec('torch').origin.endswith('__init__.py'); " + USE)
    assert (json.loads(output), errors) == (STARTED, "")


def test_processes_that_the_program_starts_are_recorded_too(python):
    output, errors = python(f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', {USE!r}]).returncode + 3)", code=3)
    assert (json.loads(output), errors) == (STARTED, "")


@pytest.mark.parametrize("how", [{"on": ""}, {"cuda": None}, {"options": ["-S"]}])
def test_nothing_is_done_unless_it_is_wanted_and_possible(python, how):
    assert python(USE, **how) == ("[]\n", "")


def test_what_fails_is_one_line_and_the_program_goes_on(python):
    output, errors = python(USE + "; raise SystemExit(7)", enter="raise RuntimeError('compiled without NVTX')", code=7)
    assert json.loads(output) == STARTED[:1]
    assert errors == "kymo: PyTorch's operators are not recorded: compiled without NVTX\n"
    output, errors = python(USE, end="del cuda._lazy_call")
    assert output == "[]\n" and errors.startswith("kymo: PyTorch's operators are not recorded: ") and errors.count("\n") == 1


def test_a_torch_that_cannot_be_imported_fails_as_without_the_hook(python):
    program = "\ntry:\n    import torch\nexcept ImportError as problem:\n    print(problem.name, 'torch' in __import__('sys').modules)"
    assert python(program, end="import absent") == ("absent False\n", "")


def test_the_programs_own_profiler_takes_over(python):
    output, errors = python("import torch, json; torch.use_cuda(); torch.profiler._enable_profiler('kineto'); "
                            "torch.profiler._enable_profiler('again'); print(json.dumps(torch.done))")
    assert json.loads(output) == [*STARTED, ["disable"], ["enable", "kineto"], ["enable", "again"]]
    assert errors == "kymo: PyTorch's operators are not recorded: from here on: the program has started a profiler of its own\n"


def test_the_users_own_sitecustomize_runs(python, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.mine = __file__\n")
    output, errors = python("import sitecustomize; print(mine == sitecustomize.__file__); " + USE)
    assert (output.splitlines()[0], json.loads(output.splitlines()[1]), errors) == ("True", STARTED, "")


# ---- kymo inspect -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A plain one: libraries with sanitizers cannot be preloaded."""
    return Machine(tmp_path_factory.mktemp("machine"), ROOT)


def test_inspect_sets_the_variables_and_refuses_what_cannot_be(kymo, machine, tmp_path):
    environment = machine.environment(tmp_path, KYMO_LIBRARY_DIR=str(machine.library.parent), PYTHONPATH="/own/folder")
    for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
        del environment[name]
    show = ["sh", "-c", 'echo "$PYTHONPATH $KYMO_TORCH_OPS"']
    inspect = ["inspect", "-o", tmp_path / "out", "--log-level", "error"]
    assert kymo.ok(*inspect, "--torch-ops", *show, env=environment) == f"{ROOT / 'lib' / 'kymo' / 'python-start'}:/own/folder 1\n"
    assert kymo.ok(*inspect, *show, env=environment) == "/own/folder \n"
    for option, value, why in (("--device", "none", "GPUs are not recorded"), ("--gpu-enable-nvtx-tracking", "false", "operators are NVTX ranges")):
        result = kymo.run(*inspect, "--torch-ops", option, value, *show, env=environment)
        assert result.returncode == 2 and result.stdout == "" and f"--torch-ops: {why}" in result.stderr


def test_the_texts_of_ranges_become_names_and_args(machine, tmp_path):
    long = "[" + ", ".join(["[1, 2]"] * 2000) + "]"
    texts = {
        "aten::mm, seq = 12, op_id = 34, sizes = [[64, 512], [512, 512]]":
            ("aten::mm", {"Sequence number": 12, "Record function id": 34, "Input Dims": "[[64, 512], [512, 512]]"}),
        "aten::add_, op_id = 35, sizes = [[], [3]], input_op_ids = [(34,0), (33,1)]":
            ("aten::add_", {"Record function id": 35, "Input Dims": "[[], [3]]"}),
        "step, of mine, op_id = 18446744073709551615": ("step, of mine", {"Record function id": 2**64 - 1}),
        "autograd::engine::evaluate_function: MmBackward0, seq = 12, op_id = 36":
            ("autograd::engine::evaluate_function: MmBackward0", {"Sequence number": 12, "Record function id": 36}),
        "a, op_id = 1, op_id = 2": ("a, op_id = 1", {"Record function id": 2}),
        f"aten::cat, op_id = 7, sizes = {long}": ("aten::cat", {"Record function id": 7}),
    }
    others = ["aten::mm", "x, op_id = ", "x, op_id = 1x", "x, op_id = 18446744073709551616", ", op_id = 1", "x, op_id = 1, sizes = [[1]",
              f"{'n' * 600}, op_id = 1", "x, op_id = 1, sizes = 1", "x, op_id = 1, sizes = [a]", "x, op_id = 1, sizes = [1]]", "x, seq = 4"]
    script = [line for text in [*texts, *others] for line in (f"push 0 {text}", "pop 0")]
    machine.play(tmp_path / "out", script)
    (session,) = sessions(tmp_path / "out")
    (events,) = [lane for lane in schema.events(schema.load(session, "ntrace", "Ntrace")) if lane]
    found = [(event["name"], {key: value for key, _, value in event["args"]}) for event in events]
    assert found[::2] == [*texts.values(), *((text, {}) for text in others)]
    assert [name for name, _ in found[1::2]] == [name for name, _ in found[::2]]


# ---- Lines of Python --------------------------------------------------------------------------

# The package as the program sees it: an operator runs without Python's lock, as ctypes runs functions of a CDLL.
OPERATORS = """
import ctypes, os
library = getattr(ctypes, os.environ["HOW"])(os.environ["NVTX_CLIENT"])
def operator(name, *inner):
    library.push(f"{name}, op_id = 1, sizes = [[1]]".encode())
    for each in inner:
        operator(each)
    library.pop()
def annotation(name):
    library.push(f"{name}, op_id = 1".encode())
end = library.pop
"""
PROGRAM = """
import torch, threading
from torch import nested
def forward():
    nested.call("aten::linear", "aten::mm")
    torch.operator("aten::add_")
torch.annotation("step")
forward()
torch.end()
thread = threading.Thread(target=lambda: torch.operator("aten::sub"))
thread.start()
thread.join()
eval(compile("torch.operator('aten::eval')", "<string>", "eval"))
exec(compile("def made():\\n    torch.operator('aten::made')", "/made/up.py", "exec"))
for _ in range(3): made()
"""
CLIENT = """
#include "nvtx_client.h"
#include <unistd.h>
int push(const char *text) { return NVTX_CALL(int, (const char *), NVTX_CORE, 9, -1, text); }
int push_late(const char *text) { usleep(1000); return push(text); } /* when another thread has Python's lock */
int pop(void) { return NVTX_CALL(int, (void), NVTX_CORE, 11, -1); }
"""


def lines(session):
    return [(event["name"], *({key: value for key, _, value in event["args"]}.get(key) for key in ("source_file", "source_line")))
            for lane in schema.events(schema.load(session, "ntrace", "Ntrace")) for event in lane if event["phase"] == 1]


@pytest.mark.parametrize("how", ["CDLL", "PyDLL"])
def test_outermost_operators_have_the_line_of_the_program_they_were_called_from(machine, tmp_path, how):
    """Frames of the package itself and those of no file are passed over; Python may hold its lock or not."""
    (tmp_path / "client.c").write_text(CLIENT)
    client = machine.compile("client.so", "-shared", f"-I{ROOT / 'tests' / 'cuda'}", tmp_path / "client.c", ROOT / "tests" / "cuda" / "nvtx_client.c")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(OPERATORS)
    (tmp_path / "torch" / "nested.py").write_text("import torch\ndef call(*names):\n    torch.operator(*names)\n")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = machine.environment(tmp_path / "out", NVTX_CLIENT=str(client), HOW=how, PYTHONPATH=str(tmp_path))
    result = subprocess.run([sys.executable, program], env=environment, text=True, capture_output=True)
    assert (result.returncode, result.stderr) == (0, "")
    (session,) = sessions(tmp_path / "out")
    here = str(program)
    assert sorted(lines(session), key=str) == sorted([
        ("step", here, 7), ("aten::linear", here, 5), ("aten::mm", None, None), ("aten::add_", here, 6), ("aten::sub", here, 10),
        ("aten::eval", here, 13), *[("aten::made", "/made/up.py", 2)] * 3], key=str)


@pytest.mark.slow
def test_lines_are_given_up_where_other_threads_keep_pythons_lock(machine, tmp_path):
    (tmp_path / "client.c").write_text(CLIENT)
    client = machine.compile("client.so", "-shared", f"-I{ROOT / 'tests' / 'cuda'}", tmp_path / "client.c", ROOT / "tests" / "cuda" / "nvtx_client.c")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(OPERATORS)
    program = tmp_path / "program.py"
    program.write_text("import torch, threading\nstop = False\ndef spin():\n    while not stop: pass\n"
                       "threading.Thread(target=spin).start()\nfor _ in range(400): torch.library.push_late(b'aten::mm, op_id = 1'); torch.end()\nstop = True\n")
    environment = machine.environment(tmp_path / "out", NVTX_CLIENT=str(client), HOW="CDLL", PYTHONPATH=str(tmp_path))
    result = subprocess.run([sys.executable, program], env=environment, text=True, capture_output=True)
    assert (result.returncode, result.stderr) == (0, "kymo: Python lines are not recorded from here on: other threads hold Python's lock\n")
    (session,) = sessions(tmp_path / "out")
    found = lines(session)
    assert len(found) == 400 and found[0] == ("aten::mm", str(program), 6) and found[-1] == ("aten::mm", None, None)


# ---- Import -----------------------------------------------------------------------------------


def test_each_kernel_has_the_innermost_operator_of_its_launch(kymo, tmp_path):
    session = Session()
    session.device(0)
    linear = {"Record function id": 1, "Sequence number": 12, "Input Dims": "[[64, 512], [512, 512]]"}
    session.ranges(77, [(50, "my step", True, {"Record function id": 9}),
                        (100, "aten::linear", True, linear), (200, "aten::mm", True, {"Record function id": 2}),
                        (300, "aten::mm", False), (400, "aten::linear", False),
                        (500, "aten::linear", True, {"Record function id": 3, "Input Dims": "not a list"}),
                        (600, "aten::linear", False), (700, "my step", False)])
    session.ranges(78, [(0, "plain range", True), (900, "plain range", False)])
    moments = {1: (40, 77), 2: (60, 77), 3: (150, 77), 4: (250, 77), 5: (350, 77), 6: (550, 77), 7: (800, 77), 8: (250, 78)}
    for correlation, (time, thread) in moments.items():
        session.add("calls", time, duration_ns=1, name=session.text("cudaLaunchKernel"), thread=thread, correlation=correlation)
        session.add("kernels", time + 1000, duration_ns=5, stream=session.stream(0, 1, 14), shape=session.shape("k"),
                    correlation=correlation)
    session.write(tmp_path / "capture")
    tables = Tables(kymo, tmp_path / "capture", tmp_path / "tables")
    starts = {event["id"]: event["start_ts"] for event in tables.rows("SystemProfileEvents")}
    origin = min(starts.values())
    found = {row["correlation_id"]: (row["framework_op"], None if row["framework_op_event_id"] is None
                                     else starts[row["framework_op_event_id"]] - origin) for row in tables.rows("GpuKernel")}
    assert found == {1: (None, None), 2: ("my step", 50), 3: ("aten::linear", 100), 4: ("aten::mm", 200),
                     5: ("aten::linear", 100), 6: ("aten::linear", 500), 7: (None, None), 8: (None, None)}
    dims = [event["args"].get("Input Dims") for event in tables.events("main") if event["name"] == "aten::linear"]
    assert dims == [[[64, 512], [512, 512]], "not a list"]
    report = kymo.json("stats", tmp_path / "capture", "framework_op_sum", "--format", "json")
    assert "aten::linear" in json.dumps(report)


def test_each_kernel_has_the_line_of_its_outermost_operator(kymo, tmp_path):
    session = Session()
    session.device(0)

    def operator(number, file=None, line=None):
        return {"Record function id": number} | ({"source_file": file, "source_line": line} if file else {})
    session.ranges(77, [(100, "aten::add", True, operator(1, "/a/train.py", 31)), (200, "aten::add", True, operator(2)),
                        (300, "aten::add", False), (400, "aten::add", False), (500, "aten::mm", True, operator(3)), (600, "aten::mm", False),
                        (700, "aten::mm", True, operator(4, "/a/model.py", 7)), (800, "aten::mm", False)])
    moments = {1: 50, 2: 150, 3: 250, 4: 350, 5: 450, 6: 550, 7: 750, 8: 850}
    for correlation, time in moments.items():
        session.add("calls", time, duration_ns=1, name=session.text("cudaLaunchKernel"), thread=77, correlation=correlation)
        if correlation % 2:
            session.add("kernels", time + 1000, duration_ns=5, stream=session.stream(0, 1, 14), shape=session.shape("k"), correlation=correlation)
        else:
            session.add("copies", time + 1000, duration_ns=5, stream=session.stream(0, 1, 14), kind=8, bytes=4, correlation=correlation)
    session.write(tmp_path / "capture")
    tables = Tables(kymo, tmp_path / "capture", tmp_path / "tables")
    found = {row["correlation_id"]: (row["source_file"], row["source_line"]) for table in ("GpuKernel", "GpuCopy") for row in tables.rows(table)}
    inside = ("/a/train.py", 31)
    assert found == {1: (None, None), 2: inside, 3: inside, 4: inside, 5: (None, None), 6: (None, None), 7: ("/a/model.py", 7), 8: (None, None)}
    args = [event["args"] for event in tables.events("main") if event["name"] == "aten::mm"]
    assert [(values.get("source_file"), values.get("source_line")) for values in args] == [(None, None), ("/a/model.py", 7)]


def test_kernels_of_the_backward_pass_have_the_line_of_the_forward_operator(kymo, tmp_path):
    """Unless operators of two threads have the same number."""
    session = Session()
    session.device(0)

    def operator(sequence=None, line=None):
        return {"Record function id": 1} | ({"Sequence number": sequence} if sequence is not None else {}) | (
            {"source_file": "/a/train.py", "source_line": line} if line else {})
    session.ranges(79, [event for i in range(5) for event in (
        (1000 + 100 * i, "autograd::engine::evaluate_function: MmBackward0", True, operator(i)), (1010 + 100 * i, "aten::mm", True, operator()),
        (1030 + 100 * i, "aten::mm", False), (1040 + 100 * i, "autograd::engine::evaluate_function: MmBackward0", False))], name="autograd")
    session.ranges(77, [(100, "aten::linear", True, operator(line=31)), (110, "aten::mm", True, operator(0)), (120, "aten::mm", False),
                        (130, "aten::linear", False), (200, "aten::mm", True, operator(1, 32)), (210, "aten::mm", False),
                        (300, "aten::mm", True, operator(2, 33)), (310, "aten::mm", False), (400, "aten::mm", True, operator(3)),
                        (410, "aten::mm", False)])
    session.ranges(78, [(300, "aten::mm", True, operator(2, 34)), (310, "aten::mm", False)], name="other")
    for i in range(10):
        time = 1020 + 100 * i if i < 5 else 1050 + 100 * (i - 5)
        session.add("calls", time, duration_ns=1, name=session.text("cudaLaunchKernel"), thread=79, correlation=i + 1)
        session.add("kernels", time + 5000, duration_ns=1, stream=session.stream(0, 1, 14), shape=session.shape("k"), correlation=i + 1)
    session.write(tmp_path / "capture")
    tables = Tables(kymo, tmp_path / "capture", tmp_path / "tables")
    assert {row["correlation_id"] - 1: row["source_line"] for row in tables.rows("GpuKernel")} == {0: 31, 1: 32} | dict.fromkeys(range(2, 10))


def test_backward_calls_are_of_the_forward_operator_with_their_number_and_name(kymo, tmp_path):
    """NVTX does not tell the thread of the forward pass: of two that count alike, the one with the right name."""
    session = Session()
    session.device(0)
    forward = {77: ["aten::mm", "aten::relu", "aten::add"], 78: ["aten::sub", "aten::native_layer_norm", "aten::add"]}
    backward = [("MmBackward0", 0), ("NativeLayerNormBackward0", 1), ("AddBackward0", 2), ("torch::autograd::AccumulateGrad", 9)]

    def call(time, name, sequence):
        return [(time, name, True, {"Record function id": time, "Sequence number": sequence}), (time + 50, name, False)]
    for thread, names in forward.items():
        session.ranges(thread, [event for i, name in enumerate(names) for event in call(100 * i + thread - 77, name, i)], name=f"t{thread}")
    events = []
    for i, (name, sequence) in enumerate(backward):
        events += call(1000 + 100 * i, f"autograd::engine::evaluate_function: {name}", sequence)
        session.add("calls", 1010 + 100 * i, duration_ns=1, name=session.text("cudaLaunchKernel"), thread=79, correlation=i + 1)
        session.add("kernels", 1020 + 100 * i, duration_ns=10**i, stream=session.stream(0, 1, 14), shape=session.shape("k"), correlation=i + 1)
    session.ranges(79, events, name="autograd")
    session.write(tmp_path / "capture")
    tables = Tables(kymo, tmp_path / "capture", tmp_path / "tables")
    found = {row["name"]: row["device_time_with_backward_ns"] for row in tables.rows("OperatorSummary")}
    assert {name: found[name] for name in ("aten::mm", "aten::native_layer_norm", "aten::add", "aten::sub", "aten::relu")} == {
        "aten::mm": 1, "aten::native_layer_norm": 10, "aten::add": 100, "aten::sub": 0, "aten::relu": 0}


def test_calls_of_nccl_are_collectives(kymo, tmp_path):
    session = Session()
    session.device(0)
    call = {"domain": "NCCL", "NCCL communicator ID": 2**63 + 5, "Message size [bytes]": 4096, "Reduction operation": "Sum"}
    session.ranges(77, [(100, "ncclAllReduce", True, call), (200, "ncclAllReduce", False), (300, "ncclGroupStart", True, {"domain": "NCCL"}),
                        (400, "ncclGroupStart", False), (500, "mine", True, call), (600, "mine", False)])
    session.write(tmp_path / "capture")
    tables = Tables(kymo, tmp_path / "capture", tmp_path / "tables")
    columns = ("name", "operation", "group_name", "duration_ns")
    assert [tuple(row[c] for c in columns) for row in tables.rows("Collective")] == [("ncclAllReduce", "allreduce", str(2**63 + 5), 100)]
    (args,) = [event["args"] for event in tables.events("main") if event["name"] == "ncclAllReduce"]
    assert (args["Message size [bytes]"], args["Reduction operation"]) == (4096, "Sum")
