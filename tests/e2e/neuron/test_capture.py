"""kymo capture: models of graphs, run on NeuronCores in software; outputs are held against NumPy."""

import json
import os
import re
import subprocess

import ml_dtypes
import numpy as np
import pytest

import schema
from conftest import ROOT

RANKS = 4
EIGHT_BITS = {"fp8e3": ml_dtypes.float8_e3m4, "fp8e4": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2}


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """A model with a weight, one whose outputs depend on nothing else than inputs, and the collectives' example."""
    folder = tmp_path_factory.mktemp("graphs")
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((70, 33)).astype(np.float32)
    np.save(folder / "w.npy", weight)
    models = {
        "product": {"inputs": [{"name": "x", "shape": [129, 70]}], "weights": [{"name": "w", "shape": [70, 33], "file": "w.npy"}],
                    "ops": [{"name": "h", "op": "matmul", "inputs": ["x", "w"]}, {"name": "y", "op": "relu", "inputs": ["h"]}],
                    "outputs": ["y"]},
        "types": {"inputs": [{"name": "i", "shape": [5, 7], "dtype": "int32"}, {"name": "b", "shape": [300], "dtype": "bf16"},
                             *({"name": dtype, "shape": [4, 9], "dtype": dtype} for dtype in EIGHT_BITS)],
                  "ops": [{"name": "ii", "op": "multiply", "inputs": ["i", "i"]}, {"name": "bb", "op": "add", "inputs": ["b", "b"]},
                          *({"name": f"{dtype}_2", "op": "add", "inputs": [dtype, dtype]} for dtype in EIGHT_BITS)],
                  "outputs": ["ii", "bb", *(f"{dtype}_2" for dtype in EIGHT_BITS)]},
        "collectives": json.loads((ROOT / "examples" / "collectives.json").read_text()),
    }
    for name, model in models.items():
        (folder / f"{name}.json").write_text(json.dumps({"name": name} | model))
    return folder, weight


@pytest.fixture(scope="module")
def neffs(kymo, graphs):
    folder, weight = graphs
    for name in ("product", "types", "collectives"):
        kymo.run("neff", "build", folder / f"{name}.json", "-o", folder / f"{name}.neff", "--core", "v2", check=True)
    kymo.run("neff", "build", folder / "product.json", "-o", folder / "product3.neff", "--core", "v3", check=True)
    return folder, weight


@pytest.fixture
def capture(kymo, neffs, tmp_path):
    """Runs it in a folder of its own, with cores of its own."""
    folder, _ = neffs
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_NEURON"))}

    def run(neff, *arguments, status=0, **variables):
        result = subprocess.run([kymo.path, "capture", "-n", str(folder / f"{neff}.neff"), *map(str, arguments)], text=True,
                                capture_output=True, cwd=tmp_path, timeout=120,
                                env=environment | {"XDG_RUNTIME_DIR": str(tmp_path)} | variables)
        assert result.returncode == status, result.stdout + result.stderr
        return result.stdout.splitlines(), result.stderr

    run.folder = tmp_path
    return run


def files(folder):
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def test_outputs_are_what_numpy_gives(capture, neffs):
    x = np.random.default_rng(1).standard_normal((129, 70)).astype(np.float32)
    np.save(capture.folder / "x.npy", x)
    x.tofile(capture.folder / "x.raw")
    expected = np.maximum(x @ neffs[1], 0)
    for source in ("x.npy", "x.raw"):
        lines, _ = capture("product", "x", source, "--save-output-npy", "--save-output")
        assert lines == ["profile written to profile.ntff", 'saved output "y" as "y"', 'saved output "y" as "y.npy"']
        found = np.load(capture.folder / "y.npy")
        assert found.shape == (129, 33) and found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        assert (capture.folder / "y").read_bytes() == found.tobytes()
    capture("product", "--save-output-npy", "--disable-profile")  # inputs that are not given are zero
    assert not np.load(capture.folder / "y.npy").any()


def test_elements_keep_their_types(capture):
    arrays = {"i": np.arange(-17, 18, dtype=np.int32).reshape(5, 7), "b": (np.arange(300) / 7).astype(ml_dtypes.bfloat16)}
    arrays |= {name: (np.arange(36).reshape(4, 9) / 8).astype(dtype) for name, dtype in EIGHT_BITS.items()}
    inputs = []
    for name, array in arrays.items():
        np.save(capture.folder / f"{name}.npy", array)
        inputs += [name, f"{name}.npy"]
    capture("types", *inputs, "--save-output", "--save-output-npy", "--disable-profile")
    for name, array in arrays.items():
        output = {"i": "ii", "b": "bb"}.get(name, f"{name}_2")
        expected = array * array if name == "i" else array + array
        found = np.load(capture.folder / f"{output}.npy").view(array.dtype)  # ml_dtypes' types are bytes to NumPy
        assert found.shape == array.shape and (found == expected).all(), name
        assert (capture.folder / output).read_bytes() == expected.tobytes(), name


@pytest.mark.parametrize("mode", ["sync", "async-wait"])
def test_every_nth_execution_is_profiled_and_saved(capture, kymo, mode):
    lines, _ = capture("product", "--num-exec", 4, "--profile-nth-exec", 2, "--save-output", "--save-nth-output", 4,
                       "--check-output-determinism", "--exec-mode", mode)
    assert lines == ["profile written to profile_exec_2.ntff", "profile written to profile_exec_4.ntff",
                     'saved output "y" as "y.4"']
    for n in (2, 4):  # the profile has the number of its name
        profile = kymo.json("info", "--json", capture.folder / f"profile_exec_{n}.ntff")
        assert [execution["index"] for execution in profile["executions"]] == [n]


def test_queued_executions_have_one_profile(capture, kymo):
    lines, _ = capture("product", "--num-exec", 100, "--exec-mode", "async", "-s", "all.ntff")
    assert lines == ["profile written to all.ntff"]
    text = kymo.ok("info", capture.folder / "all.ntff")
    assert len(re.findall(r"^ +\d+  20\d\d-", text, re.MULTILINE)) == 100


def test_workers_exchange_what_the_collectives_say(capture):
    rng = np.random.default_rng(3)
    x = rng.integers(-50, 50, (RANKS, 64, 32)).astype(np.float32)
    pairs = []
    for rank in range(RANKS):
        np.save(capture.folder / f"x{rank}.npy", x[rank])
        pairs.append(f"x x{rank}.npy")
    (capture.folder / "inputs").write_text("\n".join(pairs) + "\n")
    lines, _ = capture("collectives", "-m", "inputs", "--save-output-npy", "-i", 2, "--num-exec", 2, "--profile-nth-exec", 2)
    assert [line for line in lines if "profile" in line] == ["profile written to profile_rank_2_exec_2.ntff"]
    total = x.sum(0)
    for rank in range(RANKS):
        def output(name):
            return np.load(capture.folder / f"{name}_rank_{rank}.npy.2")
        assert (output("reduced") == total).all()
        assert (output("largest") == np.maximum(x[rank % 2], x[rank % 2 + 2])).all()
        assert (output("gathered") == np.concatenate(x, 1)).all()
        assert (output("scattered") == total[16 * rank:16 * rank + 16]).all()
        assert (output("exchanged") == np.concatenate([x[i][16 * rank:16 * rank + 16] for i in range(RANKS)], 1)).all()
        assert (output("shifted") == x[(rank - 1) % RANKS]).all()
        np.testing.assert_allclose(output("summed"), np.load(capture.folder / "summed_rank_0.npy.2"))


def test_a_system_trace_has_the_events_that_are_asked_for(capture, kymo):
    types = subprocess.run([kymo.path, "capture", "--systrace-get-event-types"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    assert "nc_exec_running" in types and "nrt_execute" in types
    capture("product", "-t", "systrace", "--num-exec", 3)
    events = json.loads((capture.folder / "systrace.json").read_text())["events"]
    assert {event["event_type"] for event in events} > {"nrt_execute", "nc_exec_running", "timestamp_sync_point", "kbl_exec_wait"}
    intervals = {}
    for event in events:
        if "phase" in event:
            intervals.setdefault((event["event_type"], event["tracking_id"]), {})[event["phase"]] = event
    assert all(len(both) == 2 for both in intervals.values())
    calls = [both for (kind, _), both in intervals.items() if kind == "nrt_execute"]
    runs = {both["start"]["data"]["exec_id"]: both for (kind, _), both in intervals.items() if kind == "nc_exec_running"}
    assert len(calls) == len(runs) == 3
    syncs = {event["data"]["exec_id"]: event["data"] for event in events if event["event_type"] == "timestamp_sync_point"}
    for call in calls:  # the device's time, put on the host's clock by its sync point, is within the call
        exec_id = call["start"]["data"]["exec_id"]
        for phase in ("start", "stop"):
            run, sync = runs[exec_id][phase], syncs[exec_id]
            adjusted = sync["cpu_timestamp_ns"] + run["data"]["nc_timestamp_ns"] - sync["nc_timestamp_ns"]
            assert abs(adjusted - run["timestamp_ns"]) < 1_000_000
            assert call["start"]["timestamp_ns"] <= run["timestamp_ns"] <= call["stop"]["timestamp_ns"]
    capture("collectives", "-t", "systrace", "-s", "cc.json", "--systrace-event-filter", "cc_running", "--systrace-event-filter",
            "cc_exec_barrier")
    for rank in range(RANKS):  # workers are processes, each with a trace of its own
        events = json.loads((capture.folder / f"cc_rank_{rank}.json").read_text())["events"]
        assert {event["event_type"] for event in events} == {"cc_running", "cc_exec_barrier"}
        assert {event["nc_idx"] for event in events} == {0} and len(events) == 7 * 2 * 2


def test_the_same_model_gives_the_same_profile(capture):
    profiles = []
    for name in ("a", "b"):
        capture("product", "-s", f"{name}.ntff", KYMO_NEURON_COMPUTE="1" if name == "a" else "0")
        profiles.append((capture.folder / f"{name}.ntff").stat().st_size)
    assert profiles[0] > 1000


def test_one_buffer_for_all_changes_outputs_only(capture):
    lines, _ = capture("product", "--single-io", "--num-exec", 2, "--write-tensors-per-exec", "all")
    assert lines == ["profile written to profile_exec_1.ntff", "profile written to profile_exec_2.ntff"]
    capture("product", "--single-io", "--single-io-threshold", 10**6, "--save-output-npy", "--disable-profile", "--enable-dge-notifs")
    assert not np.load(capture.folder / "y.npy").any()


def test_capture_chooses_the_cores_a_model_was_compiled_for(capture, kymo):
    capture("product3")
    assert "generation 3" in kymo.ok("info", capture.folder / "profile.ntff")
    _, errors = capture("product3", status=1, KYMO_NEURON_INSTANCE="trn1.32xlarge")
    assert "NRT_UNSUPPORTED_NEFF_VERSION" in errors and "KYMO_NEURON_INSTANCE" in errors


WRONG = {
    "a file that is not there": (["x", "nothing.npy"], 1, "nothing.npy"),
    "an input the model does not have": (["z", "x.npy"], 1, "no input z; its inputs: x"),
    "another shape": (["x", "x.npy"], 1, "tensor x has 36120"),
    "another type": (["x", "d.npy"], 1, "of type f8"),
    "a damaged array": (["x", "cut.npy"], 1, "cut off"),
    "an input without a file": (["x"], 2, "input x has no file"),
    "a worker that is not there": (["-i", "3"], 1, "no worker 3"),
    "a worker that is not a number": (["-i", "x"], 2, "not x"),
    "workers on other nodes": (["-r", "2", "--collectives-worker-count", "4"], 1, "on other nodes"),
    "more workers here than in all": (["-r", "4", "--collectives-worker-count", "2"], 2, "more than"),
    "both kinds of inputs": (["-m", "inputs", "x", "x.npy"], 2, "not both"),
    "an unknown event type": (["-t", "systrace", "--systrace-event-filter", "bogus"], 1, "bogus is not an event type"),
    "no execution": (["--num-exec", "0"], 2, "at least 1"),
    "a profile that cannot be written": (["-s", "x.npy/where.ntff"], 1, "x.npy: cannot create directory"),
    "a runtime that is none": (["--runtime", "x.npy"], 1, "cannot load the runtime"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_done_is_said(capture, case):
    arguments, status, said = WRONG[case]
    np.save(capture.folder / "x.npy", np.zeros((3, 3), np.float32))
    np.save(capture.folder / "d.npy", np.zeros((129, 70)))
    (capture.folder / "cut.npy").write_bytes((capture.folder / "d.npy").read_bytes()[:40])
    (capture.folder / "inputs").write_text("x x.npy\n")
    before = files(capture.folder)
    _, errors = capture("product", *arguments, status=status)
    assert said in errors
    assert files(capture.folder) == before


def test_a_logical_core_of_two_shares_the_work(capture, kymo, graphs):
    """Each physical core computes its rows: half the matrix products, two profiles, one output."""
    folder, weight = graphs
    rows = 1024
    model = json.loads((folder / "product.json").read_text())
    model["inputs"][0]["shape"] = [rows, 70]
    (folder / "wide.json").write_text(json.dumps(model))
    x = np.random.default_rng(2).standard_normal((rows, 70)).astype(np.float32)
    np.save(capture.folder / "x.npy", x)
    outputs, matmuls, times = [], [], []
    for cores in (1, 2):
        neff = folder / f"wide{cores}.neff"
        kymo.run("neff", "build", folder / "wide.json", "-o", neff, "--core", "v3", "--logical-nc-config", cores, check=True)
        info = kymo.json("neff", "info", "--json", neff)
        assert (info["core_count"], info["logical_core_size"], len(info["programs"])) == (cores, cores, cores)
        assert info["mac_count"] == rows * 70 * 33
        capture(f"wide{cores}", "x", "x.npy", "--save-output-npy", "-s", f"wide{cores}.ntff")
        outputs.append(np.load(capture.folder / "y.npy"))
        profiles = [kymo.json("info", "--json", capture.folder / name) for name in
                    [f"wide{cores}.ntff", f"wide{cores}_core_1.ntff"][:cores]]
        assert [(profile["core_index"], profile["core_in_logical"]) for profile in profiles] == [(0, 0), (1, 1)][:cores]
        matmuls.append([sum(group["count"] for group in profile["notifications"] if (group["type"], group["unit"]) == ("instruction", 0))
                        for profile in profiles])
        times.append(max(execution["end_ticks"] - execution["start_ticks"] for profile in profiles
                         for execution in profile["executions"]))
    np.testing.assert_allclose(outputs[0], np.maximum(x @ weight, 0), rtol=1e-5, atol=1e-5)
    assert np.array_equal(*outputs)
    assert matmuls[1][0] == matmuls[1][1] < matmuls[0][0] * 0.7 and times[1] < times[0] * 0.8
    assert "1 or 2" in kymo.refuses("neff", "build", folder / "wide.json", "--logical-nc-config", "3", code=2)


def test_a_neff_whose_data_was_changed_is_not_run(capture, neffs):
    data = bytearray((neffs[0] / "product.neff").read_bytes())
    data[-1] ^= 1
    (capture.folder / "changed.neff").write_bytes(data)
    _, errors = capture("product", "-n", capture.folder / "changed.neff", status=1)
    assert "SHA-256" in errors


def test_inspect_sees_the_runtime_once_and_takes_device_profiles(kymo, capture, neffs):
    """The interposer leaves recording to a runtime that does it itself."""
    folder, _ = neffs
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_NEURON"))}
    subprocess.run([kymo.path, "inspect", "-o", "out", kymo.path, "capture", "-n", folder / "product.neff", "--num-exec", "2",
                    "--disable-profile"], check=True, capture_output=True, cwd=capture.folder, timeout=120,
                   env=environment | {"XDG_RUNTIME_DIR": str(capture.folder), "KYMO_INSTANCE_ID": "i-0test"})
    (session,) = (capture.folder / "out").iterdir()
    names = sorted(path.name for path in session.iterdir())
    assert [re.sub(r"\d{3,}", "N", name) for name in names if name.endswith((".ntff", ".neff"))] == [
        "N_instid_0_vnc_0.ntff", "neff_N.neff"]
    assert (session / next(name for name in names if name.startswith("neff_"))).read_bytes() == (folder / "product.neff").read_bytes()
    events = [event["name"] for lane in schema.events(schema.load(session, "ntrace", "Ntrace")) for event in lane]
    assert [events.count(name) for name in ("nrt_execute", "nc_exec_running", "nrt_tensor_write", "timestamp_sync_point")] == [4, 4, 2, 2]


@pytest.mark.parametrize("mode, names, executions", [
    ("1", ["N_instid_0_vnc_0.ntff", "neff_N.neff"], 1),
    ("session", ["neff_N_vnc_0.neff", "profile_nc_0_session_1.ntff"], 3),
    ("0", [], 0),
])
def test_a_session_has_the_device_profiles_it_asks_for(capture, kymo, mode, names, executions):
    capture("product", "--num-exec", 3, "--disable-profile", NEURON_RT_INSPECT_ENABLE="1", NEURON_RT_INSPECT_OUTPUT_DIR="out",
            NEURON_RT_INSPECT_DEVICE_PROFILE=mode)
    (session,) = (capture.folder / "out").iterdir()
    found = [path for path in sorted(session.iterdir()) if path.suffix in (".ntff", ".neff")]
    assert [re.sub(r"\d{3,}", "N", path.name) for path in found] == names
    for path in found:
        if path.suffix == ".ntff":
            assert len(re.findall(r"^ +\d+  20\d\d-.* 0$", kymo.ok("info", path), re.MULTILINE)) == executions


def test_an_execution_that_fails_leaves_a_profile(capture, kymo):
    np.full((129, 70), np.nan, np.float32).tofile(capture.folder / "x.raw")
    variables = {"NEURON_RT_INSPECT_ON_FAIL": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": "out", "NEURON_FAIL_ON_NAN": "1"}
    _, errors = capture("product", "x", "x.raw", "--disable-profile", status=1, **variables)
    assert "NRT_EXEC_COMPLETED_WITH_NUM_ERR" in errors
    (profile,) = (capture.folder / "out").glob("*_pid_*/*.ntff")
    assert re.search(r"^ +1  20\d\d-.* 1003$", kymo.ok("info", profile), re.MULTILINE)
    lines, _ = capture("product", "x", "x.raw", "--disable-profile", "--ignore-exec-errors", "--num-exec", 2, NEURON_FAIL_ON_NAN="1")
    assert [line.split(":")[0] for line in lines] == [f"execution {n} of worker 0 failed" for n in (1, 2)]
