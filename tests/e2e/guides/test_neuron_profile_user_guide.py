"""The Neuron Profile User Guide: its listings, in its order, under its headings.

Left out, because nothing is typed there or it is not about this program: Installation, Understanding a Neuron profile (tests/ui),
Troubleshooting (InfluxDB is optional here) and the downloads of Perfetto's trace processor."""

import json
import os
import pathlib
import re
import shlex
import socket
import subprocess

import pytest

from conftest import ROOT
from server import Server

WORKERS = 12  # an inf2.24xlarge has as many cores
MODEL = {
    "name": "file", "ranks": WORKERS,
    "inputs": [{"name": "x", "shape": [64, 32]}], "weights": [{"name": "w", "shape": [32, 16], "init": {"seed": 1}}],
    "ops": [{"name": "reduced", "op": "all_reduce", "inputs": ["x"], "layer": "/model/reduced"},
            {"name": "y", "op": "matmul", "inputs": ["reduced", "w"], "layer": "/model/y"}],
    "outputs": ["y"],
}


class Shell:
    """Types the guide's lines, in a folder that has file.neff."""

    def __init__(self, kymo, folder, **variables):
        compat = pathlib.Path(kymo.path).resolve().parent / "compat"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_NEURON"))}
        self.kymo, self.folder = kymo, folder
        self.environment = inherited | {"PATH": f"{compat}:{inherited['PATH']}", "XDG_RUNTIME_DIR": str(folder),
                                        "XDG_DATA_HOME": str(folder / "data")} | variables

    def __call__(self, line, **variables):
        result = subprocess.run(line, shell=True, text=True, capture_output=True, cwd=self.folder, timeout=120,
                                env=self.environment | variables)
        assert (result.returncode, re.sub(r"INFO.*\n", "", result.stderr)) == (0, "")
        return result.stdout


@pytest.fixture(scope="module")
def single(kymo, tmp_path_factory):
    """One worker: an example that uses the scratchpad."""
    folder = tmp_path_factory.mktemp("single")
    kymo.run("neff", "build", ROOT / "examples" / "transformer_block.json", "-o", folder / "file.neff", check=True)
    shell = Shell(kymo, folder, KYMO_NEURON_COMPUTE="0")  # times alone
    shell("neuron-profile capture -n file.neff -s profile.ntff")
    return shell


@pytest.fixture(scope="module")
def several(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    (folder / "graph.json").write_text(json.dumps(MODEL))
    kymo.run("neff", "build", folder / "graph.json", "-o", folder / "file.neff", check=True)
    shell = Shell(kymo, folder, KYMO_NEURON_INSTANCE="inf2.24xlarge")
    shell("neuron-profile capture -n file.neff --collectives-workers-per-node 12 -s output/profile.ntff")  # there is no output yet
    return shell


# Capturing a profile

def test_capturing_a_profile(single):
    assert (single.folder / "profile.ntff").stat().st_size > 0


def test_capturing_profiles_for_multi_worker_jobs(several):
    assert set(several("ls output").split()) == {f"profile_rank_{rank}.ntff" for rank in range(WORKERS)}
    several("neuron-profile capture -n file.neff --collectives-profile-id 5 --collectives-workers-per-node 12 -s output5/profile.ntff")
    assert several("ls output5") == "profile_rank_5.ntff\n"


def test_capturing_profiles_for_multi_node_jobs(kymo, tmp_path):
    """The guide leaves out where the nodes meet: NEURON_RT_ROOT_COMM_ID."""
    graph = MODEL | {"ranks": 4}
    (tmp_path / "graph.json").write_text(json.dumps(graph))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        root = f"127.0.0.1:{free.getsockname()[1]}"
    nodes = []
    for node, start in enumerate((0, 2)):
        folder = tmp_path / f"node{node}"
        folder.mkdir()
        kymo.run("neff", "build", tmp_path / "graph.json", "-o", folder / "file.neff", check=True)
        line = f"neuron-profile capture -n file.neff --collectives-worker-start-id {start} --collectives-workers-per-node 2 --collectives-worker-count 4"
        shell = Shell(kymo, folder, NEURON_RT_ROOT_COMM_ID=root, KYMO_NEURON_NODE=folder.name)
        nodes.append((folder, subprocess.Popen(shlex.split(line), cwd=folder, env=shell.environment, stdout=subprocess.DEVNULL)))
    for node, (folder, process) in enumerate(nodes):
        assert process.wait(timeout=60) == 0
        assert sorted(path.name for path in folder.glob("*.ntff")) == [f"profile_rank_{2 * node}.ntff", f"profile_rank_{2 * node + 1}.ntff"]


# Processing and viewing the profile results

def test_viewing_a_single_profile(single):
    files = single.folder / "file.neff", single.folder / "profile.ntff"
    server = Server(single.kymo, "-n", files[0], "-s", files[1], "--data-path", single.folder / "data" / "kymo")
    assert re.search(r"\nView profile at http://localhost:\d+/profile/n_[0-9a-f]{40}\nctrl-c to exit\n$", server.said)
    server.stop()


def test_viewing_profiles_for_multi_worker_jobs(several):
    one = several("neuron-profile view -n file.neff -s output/profile_rank_5.ntff --ingest-only")
    assert re.fullmatch(r'Profile "n_[0-9a-f]{40}" is ready to view\n', one)
    every = several("neuron-profile view -n file.neff -d output --ingest-only").splitlines()
    assert re.fullmatch(r'Profile "p_[0-9a-f]{40}" is ready to view', every[-1])


def test_viewing_multiple_profiles(single):
    text = single("neuron-profile view -n file.neff -s profile.ntff --ingest-only")
    bucket = re.fullmatch(r'Profile "(n_[0-9a-f]{40})" is ready to view\n', text)[1]
    server = Server(single.kymo, "--data-path", single.folder / "data" / "kymo")
    assert re.match(r"View a list of profiles at http://localhost:\d+/\n", server.said)
    assert server.ask("GET", f"/profile/{bucket}").status == 200 and bucket in str(server.get("profiles"))
    server.stop()


# Alternative output formats

def test_profile_summary(several):
    text = several("neuron-profile view --output-format summary-text -n file.neff -s output/profile_rank_5.ntff"
                   ' | grep -e "nd_idx" -e "nc_idx" -e "total_time"')
    (nc, core), (nd, device), (total, seconds) = (line.split() for line in text.splitlines()[:3])
    assert (nc, core, nd, device, total) == ("nc_idx", "1", "nd_idx", "2", "total_time")
    summary = json.loads(several("neuron-profile view --output-format summary-json -n file.neff -s output/profile_rank_5.ntff"))
    (values,) = summary.values()
    assert (values["nc_idx"], values["nd_idx"]) == (1, 2) and values["total_time"] == pytest.approx(float(seconds))


def test_json(several):
    for format in ("json", "JSON"):  # the reference writes it in capitals
        several(f"neuron-profile view --output-format {format} --output-file {format}.out -n file.neff -s output/profile_rank_5.ntff")
    assert (several.folder / "json.out").read_bytes() == (several.folder / "JSON.out").read_bytes()
    profile = json.loads((several.folder / "json.out").read_text())
    (summary,) = profile["summary"]
    assert summary["total_time"] > 0 and summary["event_count"] > 0
    assert all({"timestamp", "duration", "label", "hlo_name", "opcode", "operands"} <= instruction.keys() for instruction in profile["instruction"])
    assert "MATMUL" in {instruction["opcode"] for instruction in profile["instruction"]}
    several("mkdir -p all; cd all; neuron-profile view --output-format json -n ../file.neff -d ../output")
    assert {path.name for path in (several.folder / "all").iterdir()} == {f"device_profile_model_profile_rank_{rank}.json" for rank in range(WORKERS)}
    again = json.loads((several.folder / "all" / "device_profile_model_profile_rank_5.json").read_text())
    assert again.keys() == profile.keys() and again["instruction"] == profile["instruction"]


# Framework Stack Trace, View Scratchpad Usage With Memory Tracker

def test_framework_stack_trace(single):
    assert "is ready to view" in single(f"neuron-profile view -n file.neff -s profile.ntff --framework-source-root {ROOT / 'examples'} --ingest-only")


def test_view_scratchpad_usage_with_memory_tracker(single):
    single("mkdir -p tracked; cd tracked; neuron-profile capture -n ../file.neff --enable-dge-notifs")
    text = single("neuron-profile view -n file.neff -s tracked/profile.ntff --enable-memory-tracker --output-format json")
    assert json.loads(text)["scratchpad_usage"]


# Viewing Profiles with Perfetto

def test_viewing_profiles_with_perfetto(single):
    trace = single.folder / "ntff.pftrace"
    single("neuron-profile view -n file.neff -s profile.ntff --output-format perfetto")
    plain = trace.stat().st_size
    single("neuron-profile view -n file.neff -s profile.ntff --output-format perfetto --show-perfetto-flows")
    assert trace.stat().st_size > plain > 0


# CLI reference

REFERENCE = {
    "capture": "-n,--neff -s,--session-file --ignore-exec-errors --collectives-profile-id -r,--collectives-workers-per-node "
               "--collectives-worker-count --collectives-worker-start-id",
    "view": "-n,--neff-path -s,--session-file -d,--session-dir --output-format --output-file --db-endpoint --db-org --db-bucket --port --force "
            "--terminology --enable-memory-tracker",
}


@pytest.mark.parametrize("command", REFERENCE)
def test_cli_reference(single, command):
    text = single(f"neuron-profile {command} --help")
    for names in REFERENCE[command].split():
        assert re.search(rf"^ +(?:-\w, )?{names.replace(',', ', ')}\b", text, re.M), names
    formats = re.search(r"--output-format=.*\n +one of: (.*)", text)
    assert command == "capture" or {"db", "summary-text", "summary-json", "perfetto", "json"} <= set(formats[1].split(", "))
    assert "total_time (s)" in single("neuron-profile view --terminology")
