"""kymo.torch and kymo.neuron: PyTorch's own profiler, and the interface of torch_neuronx's."""

import json
import os

import pytest

from installed import PYTHON
from python_traces import host_lines, run

pytestmark = [
    pytest.mark.plain_build,
    pytest.mark.usefixtures("installed"),
]


def torch_python():
    """A Python that has PyTorch: that of the tests, or that of KYMO_TORCH_PYTHON."""
    import importlib.util
    if importlib.util.find_spec("torch"):
        return PYTHON
    return os.environ.get("KYMO_TORCH_PYTHON")


needs_torch = pytest.mark.skipif(torch_python() is None, reason="PyTorch is not installed; KYMO_TORCH_PYTHON can name a Python that has it")

# What torch.profiler's profile offers a handler.
STAND_IN = """
import gzip, json, sys
class Profiler:
    step_num = 7
    def export_chrome_trace(self, path):
        events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1000.0, "dur": 5.0,
                   "args": {"Input Dims": [[2, 3], [3, 4]], "Record function id": 0}}]
        text = json.dumps({"schemaVersion": 1, "traceEvents": events, "traceName": path})
        (gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w")).write(text)
import kymo.torch
"""


@pytest.mark.parametrize("compressed", [False, True])
def test_each_trace_is_a_run_that_kymo_opens(kymo, tmp_path, compressed):
    run(f"""
        handler = kymo.torch.trace_handler(sys.argv[1], "worker", use_gzip={compressed})
        handler(Profiler())
        handler(Profiler())
    """, tmp_path, head=STAND_IN)
    suffix = ".pt.trace.json.gz" if compressed else ".pt.trace.json"
    files = sorted(path.name for path in tmp_path.glob("plugins/profile/*/*"))
    assert len(files) == 2 and all(file.startswith("worker") and file.endswith(suffix) for file in files)
    assert "aten::mm" in kymo.ok("view", tmp_path, "--output-format", "summary-text", "--log-level", "error")


def test_the_files_of_several_ranks_are_one_run(kymo, tmp_path):
    for rank in "01":
        run("kymo.torch.trace_handler(sys.argv[1])(Profiler())", tmp_path, head=STAND_IN, RANK=rank, WORLD_SIZE="2")
    [folder] = tmp_path.glob("plugins/profile/*")
    assert folder.name == "step_00000007"
    assert [path.name.rsplit("_", 1)[1] for path in sorted(folder.iterdir())] == ["rank0.pt.trace.json", "rank1.pt.trace.json"]


def test_a_trace_can_be_an_xplane_file(tmp_path):
    run("kymo.torch.trace_handler(sys.argv[1], 'worker', xplane=True)(Profiler())", tmp_path, head=STAND_IN)
    [path] = tmp_path.glob("plugins/profile/*/*")
    assert path.name == "worker.xplane.pb"
    assert [event[0] for events in host_lines(path).values() for event in events] == ["aten::mm"]


TRAINING = """
import sys, time
import torch
import kymo.torch
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train():
    optimizer.zero_grad()
    model(torch.ones(3, 8)).sum().backward()
    optimizer.step()
"""


@needs_torch
@pytest.mark.slow
def test_steps_shapes_and_stacks_of_pytorch_are_kept(kymo, tmp_path):
    run("""
        from torch.profiler import ProfilerActivity, profile, schedule
        with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=3, repeat=1), record_shapes=True,
                     with_stack=True, on_trace_ready=kymo.torch.trace_handler(sys.argv[1])) as profiler:
            for _ in range(6):
                train()
                profiler.step()
    """, tmp_path, head=TRAINING, python=torch_python())
    [path] = tmp_path.glob("plugins/profile/*/*.pt.trace.json")
    written = json.loads(path.read_text())["traceEvents"]
    profile = tmp_path / "profile"
    kymo.ok("view", tmp_path, "--output-format", "parquet", "--output-file", profile)
    def rows(query):
        return json.loads(kymo.ok("sql", profile, query, "--format", "json"))
    steps = sorted(int(event["name"].split("#")[1]) for event in written if event["name"].startswith("ProfilerStep#"))
    assert [row["number"] for row in rows("SELECT number FROM Step ORDER BY number")] == steps and len(steps) == 3
    linear = [event for event in written if event["name"] == "aten::addmm"]
    [counted] = rows("SELECT count(*) AS n FROM SystemProfileEvents WHERE name = 'aten::addmm'")
    assert counted["n"] == len(linear) == 6 and linear[0]["args"]["Input Dims"][1] == [3, 8]
    shown = rows("SELECT extra_attributes_json FROM SystemProfileEvents WHERE name = 'aten::addmm' ORDER BY start_ts LIMIT 1")
    assert "[3,8]" in shown[0]["extra_attributes_json"].replace(" ", "")
    frames = [event for event in written if event.get("cat") == "python_function" and event["name"].endswith(": train")]
    [counted] = rows("SELECT count(*) AS n FROM SystemProfileEvents WHERE name LIKE '%: train'")
    assert counted["n"] == len(frames) == 3


@needs_torch
@pytest.mark.slow
def test_operators_of_pytorch_are_in_an_operator_profile(kymo, tmp_path):
    run("""
        import kymo.neuron
        with kymo.neuron.profile(profile_type="operator", output_dir=sys.argv[1]):
            train()
    """, tmp_path, head=TRAINING, python=torch_python())
    text = kymo.ok("view", tmp_path, "--output-format", "json")
    assert "aten::addmm" in text and "[[16],[3,8],[8,16]]" in text.replace(" ", "")


NEURON = """
import sys, time
import kymo.neuron
import kymo.profiler
"""


def events(kymo, session, tables):
    """The names of a session's events."""
    kymo.ok("view", "-d", session, "--output-format", "parquet", "--output-file", tables)
    return {row["name"] for row in kymo.json("sql", tables, "SELECT DISTINCT name FROM SystemProfileEvents", "--format", "json")}


def test_a_neuron_profile_ends_after_its_time_and_begins_when_told(kymo, tmp_path):
    run("""
        profiler = kymo.neuron.profile(profile_type="trace", output_dir=sys.argv[1], ms_duration=150, auto_start=False)
        def named_function():
            time.sleep(0.002)
        with profiler:
            assert profiler.session_dir is None
            profiler.start()
            named_function()
            time.sleep(0.6)
            assert profiler.session_dir
            with kymo.profiler.TraceAnnotation("too late"):
                pass
    """, tmp_path, head=NEURON)
    [session] = tmp_path.iterdir()
    names = events(kymo, session, tmp_path / "tables")
    assert any("named_function" in name for name in names) and "too late" not in names


@pytest.mark.parametrize("arguments, said", [
    ("profile_type='sytem'", "did you mean 'system'"), ("target='neuron_profil'", "did you mean 'neuron_profile'"),
    ("port=0", "port"), ("ms_duration=0", "ms_duration"),
])
def test_arguments_that_there_are_not_are_refused(arguments, said):
    assert said in run(f"kymo.neuron.profile({arguments})", head=NEURON, code=1)
