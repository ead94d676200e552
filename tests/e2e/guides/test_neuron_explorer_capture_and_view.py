"""The commands of "Capture and View Profiles in Neuron Explorer", in its order and under its headings, then the viewing chapters of the user
guide that it refers to. As its note for small instances says, with 2 cores instead of 32. Its Python programs are in the tests of the package."""

import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import time

import pytest

import test_influx
from conftest import DATA
from server import Server

NCCOM = "-b 512kb -e 512kb -r 2 -n 10 -d fp32 -w 1 -f 512".split()
LINK = re.compile(r"View (?:profile|a list of profiles) at http://localhost:(\d+)(/\S*)\nctrl-c to exit\n$")
PATIENCE = 120


class Shell:
    """A reader's folder and shell: the documented names of the programs, no terminal."""

    def __init__(self, kymo, folder):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_NEURON", "INFLUX"))}
        compat = pathlib.Path(kymo.path).resolve().parent / "compat"
        self.folder = folder
        self.environment = kept | {"PATH": f"{compat}:{kept['PATH']}", "XDG_RUNTIME_DIR": str(folder), "XDG_DATA_HOME": str(folder / "home")}

    def run(self, line, status=0, **variables):
        done = subprocess.run(line, shell=True, cwd=self.folder, env=self.environment | variables, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    def serve(self, line, **variables):
        """In the background as a script does it; the process and what it printed, once it serves."""
        log = self.folder / "serve.log"
        with open(log, "w") as file:
            process = subprocess.Popen(f"exec nohup {line}", shell=True, cwd=self.folder, env=self.environment | variables, stdin=subprocess.DEVNULL, stdout=file,
                                       stderr=subprocess.STDOUT)
        deadline = time.monotonic() + PATIENCE
        while not LINK.search(log.read_text()):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        return process, log.read_text()


@pytest.fixture(scope="module")
def shell(kymo, tmp_path_factory):
    shell = Shell(kymo, tmp_path_factory.mktemp("explorer"))
    shell.run(f"nccom-test allr allg {' '.join(NCCOM)}", NEURON_RT_INSPECT_ENABLE="1", NEURON_RT_INSPECT_DEVICE_PROFILE="1",
              NEURON_RT_INSPECT_OUTPUT_DIR="./output")
    return shell


def system_events(shell, options=""):
    """Names, cores and instances of the events."""
    shell.run(f"neuron-explorer view -d ./output --ignore-device-profile --output-file part --force {options}")
    return json.loads(shell.run("neuron-explorer sql part --format json 'SELECT name, nc_idx, instance_id FROM SystemProfileEvents'"))


def test_capture_using_nccom_test_with_environment_variables(shell):
    files = [path.name for path in (shell.folder / "output").rglob("*") if path.is_file()]
    assert "ntrace.pb" in files and "trace_info.pb" in files
    assert any(name.endswith(".ntff") for name in files) and any(name.endswith(".neff") for name in files)


def test_example_of_using_system_profiles_cli(shell):
    line = f"nccom-test allg {' '.join(NCCOM)}"
    printed = shell.run(f"neuron-explorer inspect -o inspect-output-nccom-test {line}")
    assert f'Running command "{line}" with profiling enabled' in printed
    assert re.search(r"size\(B\)\s+count\(elems\)\s+type\s+time:avg\(us\)\s+algbw\(GB/s\)\s+busbw\(GB/s\)\n\s+524288\s+131072\s+fp32", printed)
    assert "Avg bus bandwidth:" in printed


def test_neuron_explorer_inspect_output(shell):
    printed = shell.run("neuron-explorer view -d inspect-output-nccom-test --output-format summary-text")
    assert "nrt_execute" in printed


def test_processes_time_filtering(shell):
    everything = system_events(shell)
    one = system_events(shell, '--system-trace-filter-neuron-core "0"')
    assert 0 < len(one) <= len(everything) and {event["nc_idx"] for event in one} <= {0, None}
    assert len(system_events(shell, '--system-trace-filter-neuron-core "0,1,2,3"')) == len(everything)
    assert {event["name"] for event in system_events(shell, '--system-trace-filter-event-type "nrt_execute"')} == {"nrt_execute"}
    wanted = {"nrt_execute", "nrt_load"} & {event["name"] for event in everything}
    assert {event["name"] for event in system_events(shell, '--system-trace-filter-event-type "nrt_execute,nrt_load"')} == wanted
    instance = next(event["instance_id"] for event in everything if event["instance_id"])
    assert len(system_events(shell, f'--system-trace-filter-instance-id "{instance},i-abc123"')) == len(everything)


def test_view_profiles(shell):
    """Without a terminal it serves until it is told to stop, on ports 3001 and 3002, or the next ones that are free."""
    process, printed = shell.serve("neuron-explorer view")
    try:
        moved = dict(re.findall(r"port (\d+) is in use; using (\d+) instead", printed))
        ports = [int(moved.get(port, port)) for port in ("3001", "3002")]
        assert LINK.search(printed).groups() == (str(ports[0]), "/")
        for port in ports:
            assert Server.ask(_At(port), "GET", "health").json["status"] == "healthy"
        assert b"<html" in Server.ask(_At(ports[0]), "GET", "/").body
    finally:
        process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0


class _At(Server):
    """A server that was started otherwise."""

    def __init__(self, port):
        self.port, self.headers = port, {}


def test_processing_only_system_or_device_profiles(shell):
    shell.run("neuron-explorer view -d ./output --ignore-device-profile --output-format perfetto")
    assert [path.name for path in shell.folder.glob("*.pftrace")] == ["system_profile.pftrace"]


def test_json_output(shell):
    shell.run("neuron-explorer view -d ./output --output-format json")
    assert "trace_events" in json.loads((shell.folder / "system_profile.json").read_text())
    assert list(shell.folder.glob("device_profile_model_*.json"))


# The user guide's chapter "Processing and viewing the profile results".


@pytest.fixture(scope="module")
def gathered(shell):
    """A graph that gathers rows by indices, profiled on two workers: with an index out of bounds on both."""
    (shell.folder / "rows.json").write_text(json.dumps({
        "name": "rows", "ranks": 2, "inputs": [{"name": "i", "shape": [8], "dtype": "int32"}, {"name": "t", "shape": [16, 32]}],
        "ops": [{"name": "g", "op": "gather", "inputs": ["t", "i"]}, {"name": "y", "op": "all_reduce", "inputs": ["g"]}], "outputs": ["y"]}))
    (shell.folder / "i.raw").write_bytes(struct.pack("8i", 0, 1, 2, 99, 4, 5, 6, 7))
    (shell.folder / "ranks").mkdir()
    shell.run("neuron-profile neff build rows.json -o file.neff")
    shell.run("neuron-profile capture -n file.neff --collectives-workers-per-node 2 -s ranks/profile.ntff --ignore-exec-errors i i.raw")
    return shell


def test_viewing_profiles_for_multi_worker_jobs(gathered):
    process, printed = gathered.serve("neuron-profile view -n file.neff -d ranks --port 0 --api-server-port 0")
    process.terminate()
    assert re.fullmatch(r"/profile_cc/p_[0-9a-f]{40}", LINK.search(printed)[2])
    assert process.wait(PATIENCE) == 0


def test_cli_reference_of_view(kymo, gathered):
    """--db-bucket names the link; with --db-endpoint the events go to that database, too."""
    one = "neuron-profile view -n file.neff -s ranks/profile_rank_1.ntff"
    assert 'Profile "mine" is ready to view' in gathered.run(f"{one} --db-bucket mine --ingest-only")
    with test_influx.version2() as server:
        process, printed = gathered.serve(f"{one} --db-bucket yours --db-endpoint {server.endpoint} --port 0 --api-server-port 0",
                                          INFLUX_TOKEN=test_influx.TOKEN)
        process.terminate()
        assert LINK.search(printed)[2] == "/profile/yours" and process.wait(PATIENCE) == 0
        written = re.search(r'(\d+) points written to bucket "yours"', printed)
        assert written and len(server.lines) == int(written[1]) > 0


def test_hardware_errors(kymo, gathered):
    """An execution that failed is the first thing that is said, everywhere."""
    one = "-n file.neff -s ranks/profile_rank_1.ntff"
    sentence = "execution 1 ended with NRT_EXEC_OOB (status 1006): EMBD OOB, DMA descriptor "
    text = gathered.run(f"neuron-profile view --output-format summary-text {one} | grep -e WARN -e failed_execution_count")
    assert re.search(r"^failed_execution_count +1$", text, re.M) and sentence in text
    document = json.loads(gathered.run(f"neuron-profile view --output-format json {one} 2>/dev/null"))
    assert sentence in document["warnings"][0] and "out of the bounds of variable t" in document["warnings"][0]
    assert gathered.run(f"neuron-profile recommend {one}").index("An execution failed") < 600
    gathered.run(f"neuron-profile view {one} --output-file tables")
    assert re.search(r"Findings\n +1\. An execution failed\n", gathered.run("neuron-profile view -n file.neff -d ranks --output-file both"))
    [row] = json.loads(gathered.run("neuron-profile sql tables --format json \"SELECT description, type, metadata, e.name, t.name AS track FROM Error "
                                    'JOIN SystemProfileEvents e USING (id) JOIN Track t ON t.id = e.track_id"'))
    assert (row["description"], row["name"], row["type"], row["track"]) == ("EMBD OOB", "EMBD OOB", "Custom Notification", "Custom Notification")
    assert re.fullmatch(r"DMA descriptor \d+: an index is out of the bounds of variable t", row["metadata"])
    gathered.run("neuron-profile inspect -o failed neuron-profile capture -n file.neff -r 2 --disable-profile --ignore-exec-errors i i.raw; "
                 "neuron-profile view -d failed --ignore-device-profile --output-format json --output-file failed.json")
    calls = [event for event in json.loads((gathered.folder / "failed.json").read_text())["trace_events"] if event["name"] == "nrt_execute"]
    assert [call["args"]["error"] for call in calls] == ["NRT_EXEC_OOB"] * 2


def test_framework_stack_trace(kymo, gathered, tmp_path):
    """Sources of an archive have a folder at their top, and lie elsewhere than where the program was compiled."""
    model, top = DATA / "device" / "model", tmp_path / "src" / "release-1.0"
    gathered.run(f"neuron-profile neff build {DATA / 'device' / 'step.hlo.pb'} -o step.neff && neuron-profile capture -n step.neff -s step.ntff")
    (top / "other").mkdir(parents=True)
    (top / "other" / "softmax.py").write_text("another\n")
    for name in ("train.py", "kernels/softmax.py"):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_bytes((model / name).read_bytes())
    gathered.run(f"neuron-profile view -n step.neff -s step.ntff --framework-source-root {tmp_path / 'src'} --display-name step --ingest-only")
    rows = json.loads(gathered.run('neuron-profile sql step --format json "SELECT name, path FROM SourceFile ORDER BY name"'))
    assert {row["name"].removeprefix("/home/me/model/"): row["path"] for row in rows} == {
        name: str(top / name) for name in ("kernels/softmax.py", "train.py")}
    server = Server(kymo, "--data-path", gathered.folder / "home" / "kymo")
    try:
        message = server.ask("GET", "profiles/step/source?file=/home/me/model/lower.py").error
        assert message.startswith("/home/me/model/lower.py not found: looked for the longest ending of this path, at least lower.py, among")
    finally:
        server.stop()
