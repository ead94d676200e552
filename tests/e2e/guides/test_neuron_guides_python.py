"""Neuron Profiler 2.0 (Beta) User Guide, and Capture and View Profiles in Neuron Explorer: their chapters on JAX and PyTorch.

What the listings compute runs on the CPU, and where a Neuron system would execute a compiled graph, a model of the same shape runs on a
NeuronCore of Kymo's runtime: the lines with `graph` are added.
"""

import json
import os
import subprocess
import sys

import pytest

from conftest import ROOT
from installed import PACKAGE, PYTHON, clean_environment, install
from python_traces import run_traced, trace_of
from test_python_frameworks import needs_torch, torch_python

pytestmark = [pytest.mark.plain_build, pytest.mark.slow, pytest.mark.usefixtures("installed")]

PROGRAMS = ROOT / "tests" / "e2e" / "programs"
GRAPH = {"name": "matmul", "inputs": [{"name": "lhs", "shape": [128, 128], "dtype": "fp32"}],
         "weights": [{"name": "rhs", "shape": [128, 16], "init": {"seed": 1, "scale": 0.1}}],
         "ops": [{"name": "out", "op": "matmul", "inputs": ["lhs", "rhs"]}], "outputs": ["out"]}

FULL_JAX_EXAMPLE = """
from functools import partial
import os
import jax
import jax.numpy as jnp

from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jax.experimental.shard_map import shard_map
from time import sleep

{settings}

jax.config.update("jax_default_prng_impl", "rbg")

mesh = Mesh(jax.devices(), ('i',))

def device_put(x, pspec):
    return jax.device_put(x, NamedSharding(mesh, pspec))

lhs_spec = P('i', None)
lhs = device_put(jax.random.normal(jax.random.key(0), (128, 128)), lhs_spec)

rhs_spec = P('i', None)
rhs = device_put(jax.random.normal(jax.random.key(1), (128, 16)), rhs_spec)

@jax.jit
@partial(shard_map, mesh=mesh, in_specs=(lhs_spec, rhs_spec), out_specs=rhs_spec)
def matmul_allgather(lhs_block, rhs_block):
    rhs = jax.lax.all_gather(rhs_block, 'i', tiled=True)
    return lhs_block @ rhs

graph()
with {trace}(os.environ["NEURON_RT_INSPECT_OUTPUT_DIR"]):
    out = matmul_allgather(lhs, rhs)
    for i in range(10):
        with jax.profiler.TraceAnnotation("my_label"+str(i)):
            out = matmul_allgather(lhs, rhs)
            graph()
        sleep(0.001)

expected = lhs @ rhs
with jax.default_device(jax.devices('cpu')[0]):
    equal = jnp.allclose(jax.device_get(out), jax.device_get(expected), atol=1e-3, rtol=1e-3)
    print("Tensors are the same") if equal else print("Tensors are different")
"""
OF_THE_OLDER_GUIDE = 'os.environ["XLA_FLAGS"] = "--xla_dump_hlo_snapshots --xla_dump_to=./dump"'
OF_EXPLORER = """os.environ["NEURON_RT_INSPECT_DEVICE_PROFILE"] = "1"
os.environ["NEURON_RT_INSPECT_OUTPUT_DIR"] = "./output\""""


@pytest.fixture(scope="module")
def neff(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("neff")
    (folder / "matmul.json").write_text(json.dumps(GRAPH))
    kymo.run("neff", "build", folder / "matmul.json", "-o", folder / "matmul.neff", check=True)
    return folder / "matmul.neff"


def variables(neff, folder, package=PACKAGE):
    """What programs with a NeuronCore need; cores are taken in a folder of their own, so that other tests have theirs."""
    return {"NRT_LIBRARY": str(package / "kymo" / "lib" / "kymo" / "libnrt.so.1"), "NEFF": str(neff), "XDG_RUNTIME_DIR": str(folder),
            "PYTHONPATH": str(PROGRAMS)}


CORE = """
import atexit, os, sys, warnings
import neuron_core
neuron_core.open_cores()
atexit.register(neuron_core.close_cores)
graph = neuron_core.Model(os.environ["NEFF"], {"lhs": 128 * 128 * 4}, {"out": 128 * 16 * 4})
"""


@pytest.fixture(scope="module")
def run_jax(neff, tmp_path_factory):
    """Runs a program in a folder of its own, with JAX imported already; what it printed, and the folder."""
    def run(program, **settings):
        folder = tmp_path_factory.mktemp("jax")
        settings |= variables(neff, folder)
        head = f"import os, sys\nos.chdir(logs)\nos.environ.update({settings!r})\nsys.path.insert(0, {str(PROGRAMS)!r})\n" + CORE
        return run_traced("jax.profiler", head + program, folder), folder
    return run


@pytest.fixture(scope="module")
def of_older_guide(run_jax):
    """export NEURON_RT_INSPECT_OUTPUT_DIR=./output; python jax_script.py"""
    return run_jax(FULL_JAX_EXAMPLE.format(settings=OF_THE_OLDER_GUIDE, trace="jax.profiler.trace"), NEURON_RT_INSPECT_OUTPUT_DIR="./output")


def files(output):
    """Names of a process's files, with those of models and processes as in the guide."""
    [folder] = output.glob("*_pid_*")
    [neff] = folder.glob("neff_*.neff")
    number = neff.stem.removeprefix("neff_")
    return sorted(path.name.replace(number, "395760075800974") for path in folder.iterdir())


DEVICE_FILES = ["395760075800974_instid_0_vnc_0.ntff", "neff_395760075800974.neff"]
SYSTEM_FILES = ["cpu_util.pb", "host_mem.pb", "ntrace.pb", "trace_info.pb"]


def profile_of(kymo, output, data):
    """`kymo view -d output` makes one profile that lists its device profiles: rows of a query."""
    result = kymo.run("view", "-d", output, "--data-path", data, "--display-name", "all", "--ingest-only")
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith('Profile "all" is ready to view\n')
    return lambda query, name="all": kymo.json("sql", name, query, "--data-path", data, "--format", "json")


def assert_drills_down(rows):
    """Each execution names the process, the host and the core of the one device profile, which has the model's instructions."""
    [device] = rows("SELECT device_profile_name AS name, process_id, instance_id, nc_id FROM DeviceProfileList")
    executions = rows("SELECT DISTINCT process_id, instance_id, nc_idx AS nc_id FROM SystemProfileEvents WHERE name = 'nrt_execute'")
    assert [{"name": device["name"], **execution} for execution in executions] == [device]
    [counted] = rows("SELECT count(*) AS n FROM Instruction", device["name"])
    assert counted["n"] > 5


def assert_executions_are_in_labels(rows):
    found = rows("""
        SELECT label.name, count(run.name) AS n
        FROM SystemProfileEvents AS label
        LEFT JOIN SystemProfileEvents AS run ON run.name = 'nrt_execute' AND run.start_ts >= label.start_ts - 100000
             AND run.end_ts <= label.end_ts + 100000
        WHERE label.name LIKE 'my_label%' GROUP BY ALL ORDER BY ALL""")
    assert found == [{"name": f"my_label{i}", "n": 1} for i in range(10)], "one clock, to 0.1 ms"


# ---- JAX User Experience ------------------------------------------------------------------------------------------------------

def test_jax_profiler(kymo, of_older_guide, tmp_path):
    """A system profile with the runtime's and Python's trace, and device profiles of graphs that were executed within the block."""
    output = of_older_guide[1] / "output"
    assert files(output) == DEVICE_FILES and trace_of(output).exists()
    rows = profile_of(kymo, output, tmp_path)
    assert_drills_down(rows)
    counts = rows("""SELECT name, trace_event_source AS source, count(*) AS n FROM SystemProfileEvents
                     WHERE name IN ('nrt_execute', 'nc_exec_running') GROUP BY ALL ORDER BY name""")
    assert [tuple(row.values()) for row in counts] == [("nc_exec_running", "neuron_hw", 10), ("nrt_execute", "neuron_rt", 10)]
    [python] = rows("SELECT count(*) AS n FROM SystemProfileEvents WHERE name LIKE '%matmul_allgather%'")
    assert python["n"] > 0


def test_custom_annotations_in_jax(kymo, of_older_guide, tmp_path):
    assert_executions_are_in_labels(profile_of(kymo, of_older_guide[1] / "output", tmp_path))


def test_jax_profiling_using_environment_variable(kymo, run_jax):
    """Without a trace of the framework, and with the call of jax.profiler.trace removed."""
    program = FULL_JAX_EXAMPLE.replace('with {trace}(os.environ["NEURON_RT_INSPECT_OUTPUT_DIR"]):', "if True:").format(settings="")
    said, folder = run_jax(program, NEURON_RT_INSPECT_ENABLE="1", NEURON_RT_INSPECT_OUTPUT_DIR="./output")
    assert said == "Tensors are the same\n" and not (folder / "output" / "plugins").exists()
    [session] = (folder / "output").iterdir()
    assert sorted(path.name for path in session.iterdir()) == SYSTEM_FILES
    names = {event["name"] for event in kymo.document(session)["trace_events"]}
    assert "nrt_execute" in names and not any("my_label" in name or "matmul_allgather" in name for name in names)


def test_full_jax_example(of_older_guide):
    said, folder = of_older_guide
    assert said == "Tensors are the same\n"
    assert list((folder / "dump").glob("*matmul_allgather*")), "XLA_FLAGS of the listing"


@pytest.mark.parametrize("module", ["jax.profiler", "kymo.profiler"])
def test_jax_profiling_api(kymo, run_jax, tmp_path, module):
    """Of Explorer's guide, whose variables are set in the program; and with Kymo's profiler instead."""
    program = f"import {module}\n" + FULL_JAX_EXAMPLE.format(settings=OF_EXPLORER, trace=f"{module}.trace")
    said, folder = run_jax(program)
    assert said == "Tensors are the same\n"
    assert files(folder / "output") == DEVICE_FILES
    rows = profile_of(kymo, folder / "output", tmp_path)
    assert_drills_down(rows)
    assert_executions_are_in_labels(rows)


def test_the_options_of_kymo_and_the_variable_decide_about_device_profiles(kymo, run_jax):
    """In one process, traces one after the other; each takes the first execution within it, or all."""
    said, folder = run_jax("""
import glob
import kymo.profiler
def trace(place, mode=None, module=kymo.profiler):
    options = kymo.profiler.ProfileOptions()
    options.python_tracer_level = 0
    if mode:
        options.advanced_configuration = {"kymo_device_profile": mode}
    module.start_trace(place, **({"profiler_options": options} if module is kymo.profiler else {}))
    graph()
    graph()
    module.stop_trace()
    print(sorted(path.rsplit("/")[-1] for path in glob.glob(place + "/*_pid_*/*.ntff")) == expected)
expected = []
trace("nothing asked")
trace("nothing asked", module=jax.profiler)
expected = ["profile_nc_0_session_1.ntff"]
trace("all", "session")
os.environ["NEURON_RT_INSPECT_DEVICE_PROFILE"] = "session"
os.environ["NEURON_RT_INSPECT_OUTPUT_DIR"] = "new/all of jax"
trace("new/all of jax", module=jax.profiler)
expected = []
trace("none", "none")
os.environ["NEURON_RT_INSPECT_DEVICE_PROFILE"] = "0"
os.environ["NEURON_RT_INSPECT_OUTPUT_DIR"] = "switched off"
trace("switched off", module=jax.profiler)
""")
    assert said == "True\n" * 6
    for name in ("all", "new/all of jax"):
        [profile] = folder.glob(f"{name}/*_pid_*/*.ntff")
        assert kymo.ok("show-session", "-s", profile).count("\nexecution ") == 2


# ---- PyTorch User Experience --------------------------------------------------------------------------------------------------

FULL_PYTORCH_EXAMPLE = """
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

import torch_neuronx
from torch_neuronx.experimental import profiler

os.environ["NEURON_CC_FLAGS"] = "--cache_dir=./compiler_cache"

# Global constants
EPOCHS = 2

# Declare 3-layer MLP Model
class MLP(nn.Module):
    def __init__(self, input_size=10, output_size=2, layers=[5, 5]):
        super(MLP, self).__init__()
        self.fc1 = nn.Linear(input_size, layers[0])
        self.fc2 = nn.Linear(layers[0], layers[1])
        self.fc3 = nn.Linear(layers[1], output_size)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return F.log_softmax(x, dim=1)

def main():
    # Fix the random number generator seeds for reproducibility
    torch.manual_seed(0)

    # XLA: Specify XLA device (defaults to a NeuronCore on Trn1 instance)
    device = torch.device("cpu")

    # Start the profiler context-manager
    with torch_neuronx.experimental.profiler.profile(
        {arguments}) as profiler:

        # IMPORTANT: the model has to be transferred to XLA within
        # the context manager, otherwise profiling won't work
        model = MLP().to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        loss_fn = torch.nn.NLLLoss()

        # start training loop
        print('----------Training ---------------')
        model.train()
        for epoch in range(EPOCHS):
            optimizer.zero_grad()
            train_x = torch.randn(1, 10).to(device)
            train_label = torch.tensor([1]).to(device)

            # forward
            loss = loss_fn(model(train_x), train_label)

            # back
            loss.backward()
            optimizer.step()

            # XLA: collect ops and run them in XLA runtime
            graph()

    print('----------End Training ---------------')

if __name__ == '__main__':
    main()
"""
OF_THE_OLDER_CALL = """port=9012,
        profile_type='system',
        target='neuron_profile_perfetto',
        output_dir=os.environ['NEURON_RT_INSPECT_OUTPUT_DIR'],
        ms_duration=30000"""
OF_EXPLORERS_CALL = """profile_type='operator',
        target='neuron_profile',
        output_dir='./output'"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """pip install kymo[torch-neuronx], in an environment that has no torch-neuronx; and PyTorch, where the tests have it."""
    path = tmp_path_factory.mktemp("torch") / "an environment"
    install("kymo[torch-neuronx]", path)
    [packages] = path.glob("lib/python*/site-packages")
    if torch_python():
        folder = subprocess.run([sys.executable if torch_python() == PYTHON else torch_python(), "-c", "import torch; print(torch.__path__[0])"],
                                check=True, capture_output=True, text=True).stdout
        (packages / "torch_of_the_tests.pth").write_text(os.path.dirname(folder.strip()) + "\n")
    return packages


@pytest.fixture(scope="module")
def run_torch(neff, environment, tmp_path_factory):
    """Runs a program in a folder of its own; what it printed, and the folder."""
    def run(program, **settings):
        folder = tmp_path_factory.mktemp("run")
        result = subprocess.run([environment.parents[2] / "bin" / "python", "-c", CORE + program], cwd=folder, capture_output=True, text=True,
                                timeout=120, env=clean_environment(**settings, **variables(neff, folder, environment)))
        assert result.returncode == 0, result.stderr
        return result.stdout, folder
    return run


def test_pytorch_setup(environment, tmp_path):
    """The stand-in is found last: a real package is imported whether its folder or its finder comes before or after."""
    (tmp_path / "torch_neuronx").mkdir()
    (tmp_path / "torch_neuronx" / "__init__.py").touch()
    program = """
import importlib.machinery, sys
def imported():
    import torch_neuronx
    del sys.modules["torch_neuronx"]
    return torch_neuronx.__file__
print(imported())
sys.path.append(sys.argv[1])
print(imported())
sys.path.remove(sys.argv[1])
class Finder:
    def find_spec(name, path=None, target=None):
        return importlib.machinery.PathFinder.find_spec(name, sys.argv[1:]) if name == "torch_neuronx" else None
sys.meta_path.append(Finder)
print(imported())
"""
    said = subprocess.run([environment.parents[2] / "bin" / "python", "-c", program, tmp_path], check=True, capture_output=True, text=True,
                          env=clean_environment()).stdout.splitlines()
    real = str(tmp_path / "torch_neuronx" / "__init__.py")
    assert said == [str(environment / "kymo_torch_neuronx" / "modules" / "torch_neuronx" / "__init__.py"), real, real]
    versions = {path.name.split("-")[1] for path in environment.glob("kymo*.dist-info")}
    assert len(versions) == 1


def test_pytorch_profiler(kymo, run_torch, tmp_path):
    """A system profile with the runtime's and Python's trace, device profiles, and files for Perfetto."""
    said, folder = run_torch("""
import kymo.profiler
import torch_neuronx
from torch_neuronx.experimental import profiler
def step():
    with kymo.profiler.TraceAnnotation("training"):
        graph()
graph()
with torch_neuronx.experimental.profiler.profile(
        port=9012,
        profile_type='system',
        target='neuron_profile_perfetto',
        output_dir=os.environ['NEURON_RT_INSPECT_OUTPUT_DIR'],
        ms_duration=30000) as profiler:
    step()
    step()
assert os.listdir(profiler.session_dir)
""", NEURON_RT_INSPECT_OUTPUT_DIR="./output")
    assert files(folder / "output") == sorted(DEVICE_FILES + SYSTEM_FILES)
    traces = sorted(path.name for path in (folder / "output").glob("*.pftrace"))
    assert len(traces) == 2 and traces[0].startswith("device_profile_model_") and traces[1] == "system_profile.pftrace"
    assert all(path.stat().st_size > 100 for path in (folder / "output").glob("*.pftrace"))
    assert all(path.stat().st_size > 0 for path in (folder / "output").glob("*/cpu_util.pb"))
    rows = profile_of(kymo, folder / "output", tmp_path)
    assert_drills_down(rows)
    counted = rows("SELECT count(*) AS n FROM SystemProfileEvents WHERE name IN ('nrt_execute', 'training') OR name LIKE '% step' GROUP BY name")
    assert counted == [{"n": 2}] * 3


def test_pytorch_profiling_using_environment_variable(kymo, run_torch):
    """Either the variable or the profiler: both at once are refused, and the message says why."""
    said, folder = run_torch("""
from torch_neuronx.experimental import profiler
graph()
try:
    profiler.profile(output_dir="other").start()
except RuntimeError as problem:
    print(problem)
""", NEURON_RT_INSPECT_ENABLE="1", NEURON_RT_INSPECT_OUTPUT_DIR="./output")
    assert "NEURON_RT_INSPECT_ENABLE" in said and "either" in said
    [session] = (folder / "output").iterdir()
    assert "nrt_execute" in {event["name"] for event in kymo.document(session)["trace_events"]}


@needs_torch
def test_full_pytorch_example_and_pytorch_profiling_api(kymo, run_torch, tmp_path):
    """The older guide's example, and Explorer's, which is the same but for the call."""
    examples = [FULL_PYTORCH_EXAMPLE.replace("{arguments}", call) for call in (OF_THE_OLDER_CALL, OF_EXPLORERS_CALL)]
    said, folder = run_torch("os.mkdir('explorer')\nos.chdir('explorer')\n".join(examples), NEURON_RT_INSPECT_OUTPUT_DIR="output")
    assert said == "----------Training ---------------\n----------End Training ---------------\n" * 2
    for output, made, expected in ((folder / "output", SYSTEM_FILES, " forward"), (folder / "explorer" / "output", SYSTEM_FILES[2:], "aten::addmm")):
        assert files(output) == sorted(DEVICE_FILES + made)
        rows = profile_of(kymo, output, tmp_path / expected.strip())
        assert_drills_down(rows)
        names = {row["name"] for row in rows("SELECT DISTINCT name FROM SystemProfileEvents")}
        assert "nrt_execute" in names and any(name.endswith(expected) for name in names)


# ---- Troubleshooting ----------------------------------------------------------------------------------------------------------

def test_incomplete_jax_profiles(kymo, run_jax):
    """stop_trace inside a `with` block ends the trace there, and the end of the block says that there is none."""
    said, folder = run_jax("""
import kymo.profiler
for module in (jax.profiler, kymo.profiler):
    try:
        with module.trace(module.__name__):
            graph()
            module.stop_trace()
            graph()
    except RuntimeError as problem:
        print(problem)
""")
    assert said == "No profile started\n" * 2
    for module in ("jax.profiler", "kymo.profiler"):
        names = [event["name"] for event in kymo.document(folder / module)["trace_events"]]
        assert names.count("nrt_execute") == 1
