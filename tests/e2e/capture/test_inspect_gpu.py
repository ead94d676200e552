"""kymo inspect on a machine with a GPU, whose driver and CUPTI are stand-ins: each option acts, and wrong ones are refused."""

import itertools

import pytest

from conftest import ROOT
from cuda_model import line
from test_cuda import VERSION, Machine, Trace, kernel, only_trace, sessions, xla_script

GRAPH = line("graph", VERSION, start=10**15, end=10**15 + 5, graph=3)
CALL = line("runtime_call", VERSION, id=211, start=5, end=6)
COPY = line("copy", VERSION, start=7, end=9)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A plain one: libraries with sanitizers cannot be preloaded."""
    return Machine(tmp_path_factory.mktemp("machine"), ROOT)


@pytest.fixture
def inspect(kymo, machine, tmp_path):
    """Runs a script under kymo inspect: the result, and the trace if there is one."""
    runs = itertools.count()

    def run(script, *options, **variables):
        out = tmp_path / f"out{next(runs)}"
        file = tmp_path / "script"
        file.write_text("\n".join(script) + "\n")
        environment = machine.environment(out, KYMO_LIBRARY_DIR=str(machine.library.parent), **variables)
        for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
            if name not in variables:
                del environment[name]
        result = kymo.run("inspect", "-o", out, "--log-level", "warn", *options, machine.folder / "player", file, env=environment)
        found = list(out.glob("*/gpu_trace.pb")) if out.exists() else []
        return result, Trace(found[0]) if found else None
    return run


def test_a_gpu_is_recorded_without_an_option(inspect):
    script, _ = xla_script()
    result, trace = inspect([*script[:2], "init", *script[2:], kernel(1), COPY, CALL])
    assert (result.returncode, result.stderr) == (0, "")
    assert len(trace.found("kernel")) == len(trace.found("copy")) == len(trace.found("runtime_call")) == 1
    assert trace.nodes[0]["range"].startswith("Thunk:#name=jit(f)/layer0/")


def test_none_and_a_machine_without_a_driver_record_no_gpu(inspect):
    for options, variables in ((["--device", "none"], {}), ([], {"LD_LIBRARY_PATH": ""})):
        result, trace = inspect(["push 0 step", "pop 0"], *options, **variables)
        assert (result.returncode, trace) == (0, None) and "GPU" not in result.stderr
    result, _ = inspect(["say ran"], "--device", "cuda", LD_LIBRARY_PATH="")
    assert result.returncode == 1 and result.stdout == "" and "no NVIDIA driver (libcuda.so.1) found" in result.stderr
    result, _ = inspect(["say ran", "push 0 step", "pop 0"], "--gpu-detail", "graph", LD_LIBRARY_PATH="")
    assert result.stdout == "ran\n" and "GPUs are not recorded: no NVIDIA driver" in result.stderr


def test_the_users_own_injection_is_kept_and_named(inspect, machine):
    own = str(machine.folder / "libcuda.so.1")
    result, trace = inspect(["push 0 step", "pop 0", "say ran"], CUDA_INJECTION64_PATH=own)
    assert result.stdout == "ran\n" and trace is None
    assert f"CUDA_INJECTION64_PATH is set to {own}, which is kept: GPUs are not recorded" in result.stderr
    result, trace = inspect(["say ran", "init", kernel(1)], NVTX_INJECTION64_PATH=own)
    assert len(trace.found("kernel")) == 1
    assert f"NVTX_INJECTION64_PATH is set to {own}, which is kept: NVTX is not recorded" in result.stderr
    result, _ = inspect(["say ran"], "--device", "cuda", CUDA_INJECTION64_PATH=own)
    assert result.returncode == 1 and result.stdout == ""


@pytest.mark.parametrize("how", ["flag", "underscores", "variable"])
def test_graphs_can_be_recorded_as_a_whole(inspect, how):
    for name, value in (("gpu_detail", "graph"), ("gpu_enable_cupti_activity_graph_trace", "true")):
        flag = f"--{name}" if how == "underscores" else f"--{name}".replace("_", "-")
        options = [] if how == "variable" else [f"{flag}={value}"]
        variables = {f"KYMO_{name.upper()}": value} if how == "variable" else {}
        _, trace = inspect(["init", GRAPH], *options, **variables)
        assert len(trace.found("graph")) == 1, name
    _, trace = inspect(["init", GRAPH])
    assert trace is None or trace.found("graph") == []


def test_limits_keep_the_first_records_and_count_the_others(inspect):
    script = ["init", *(kernel(i) for i in range(10)), COPY, *[CALL] * 6]
    result, trace = inspect(script, "--gpu-max-activity-api-events", "7", "--gpu-max-callback-api-events", "2")
    assert [k["correlation"] for k in trace.kernels()] == list(range(7))
    assert len(trace.found("runtime_call")) == 2 and trace.lost == 3 + 1 + 4
    assert "8 trace events were dropped during capture" in result.stderr


def test_calls_are_recorded_by_choice(inspect):
    calls = [line(f"{api}_call", VERSION, id=id, start=5, end=6) for api in ("driver", "runtime") for id in (20, 21, 30)]
    result, trace = inspect(["init", *calls, CALL], "--gpu-api-calls", "cuda20,cu30,cudaNothing")
    assert [call["name"] for call in trace.calls()] == ["cu30", "cuda20_v3020", "cuda211"]
    assert "kymo: CUPTI does not know the call cudaNothing: it is not recorded\n" in result.stderr


def test_names_of_operations_can_be_limited(inspect):
    script, expected = xla_script()
    _, trace = inspect([*script[:2], "init", *script[2:]], "--gpu-max-annotation-strings", "2")
    assert [node["range"] for node in trace.nodes] == [e[2] if i < 4 else None for i, e in enumerate(expected)]


def test_annotations_and_nodes_can_be_left_out(inspect):
    script, expected = xla_script()
    _, trace = inspect([*script[:2], "init", *script[2:]], "--gpu-enable-nvtx-tracking", "false")
    assert len(trace.nodes) == len(expected) and {node["range"] for node in trace.nodes} == {None}
    _, trace = inspect(["init", kernel(1), *script], "--gpu-dump-graph-node-mapping", "false")
    assert len(trace.found("kernel")) == 1 and trace.nodes == []


def test_only_the_first_gpus_are_recorded_on_request(inspect):
    script = ["init", *(kernel(i, device=i % 4) for i in range(8)), COPY, line("copy", VERSION, device=2, start=1, end=2)]
    _, trace = inspect(script, "--gpu-num-chips-to-profile-per-task", "2")
    assert [k["device"] for k in trace.kernels()] == [0, 1, 0, 1] and len(trace.found("copy")) == 1 and trace.lost == 0
    _, trace = inspect(script, "--gpu-num-chips-to-profile-per-task", "0")
    assert len(trace.found("kernel")) == 8


def test_a_sampled_capture_records_in_windows(kymo, machine, tmp_path):
    """The thread opens and closes them; what is between them is not recorded, and not lost."""
    machine.play(tmp_path / "open", ["init", kernel(1)], KYMO_GPU_DETAIL="sampled=3599000/3600")
    trace = only_trace(tmp_path / "open")
    assert [k["correlation"] for k in trace.kernels()] == [1] and len(trace.windows) == 1

    log = tmp_path / "log"
    process = machine.start(tmp_path / "out", ["init", "say ready", "wait", kernel(2), "exit 0"],
                            KYMO_GPU_DETAIL="sampled=1/3600", MOCK_CUPTI_LOG=str(log))
    assert process.stdout.readline() == "ready\n"
    while "cuptiActivityEnableRuntimeApi(431,0)" not in log.read_text():
        pass
    assert process.communicate("\n", timeout=60)[1] == ""
    trace = only_trace(tmp_path / "out")
    assert trace.found("kernel") == [] and trace.lost == 0
    (window,) = trace.windows
    assert window["duration_ns"] >= 10**6

    process = machine.start(tmp_path / "again", ["init", "say ready", "wait", kernel(3), "exit 0"],
                            KYMO_GPU_DETAIL="sampled=5/1", MOCK_CUPTI_LOG=str(tmp_path / "other"))
    assert process.stdout.readline() == "ready\n"
    while (tmp_path / "other").read_text().count("cuptiActivityEnable(10)") < 2:
        pass
    process.communicate("\n", timeout=60)
    windows = only_trace(tmp_path / "again").windows
    assert len(windows) >= 2 and windows[1]["start_ns"] - windows[0]["start_ns"] >= 10**9


@pytest.mark.parametrize("options, variables, words", [
    (["--gpu-detail", "kernels"], {}, ["--gpu-detail", "'kernels' is not graph, kernel or sampled[=MS/S]", "did you mean kernel?"]),
    (["--gpu-detail", "sampled=50"], {}, ["'sampled=50' is not sampled=MS/S"]),
    (["--gpu-detail", "sampled=1000/1"], {}, ["1000 ms do not fit into 1 s"]),
    (["--gpu-detail", "sampled=0/1"], {}, ["0 ms do not fit"]),
    (["--gpu_max_activity_api_event", "3"], {}, ["unknown option --gpu_max_activity_api_event", "did you mean --gpu-max-activity-api-events?"]),
    (["--gpu-max-activity-api-events", "many"], {}, ["--gpu-max-activity-api-events: 'many' is not a number"]),
    (["--gpu-num-chips-to-profile-per-task", "-x"], {}, ["'-x' is not a number"]),
    (["--gpu-counter-interval-ms", "often"], {}, ["--gpu-counter-interval-ms: 'often' is not a number"]),
    (["--gpu-counter-interval-ms", "86400001"], {}, ["'86400001' is more than a day, 86400000 ms"]),
    (["--gpu-enable-nvtx-tracking", "yes"], {}, ["'yes'", "expected one of true, false"]),
    (["--gpu-pm-sample-counters", "sm cycles"], {}, ["--gpu-pm-sample-counters: 'sm cycles' is not a list of metrics, such as sm__cycles_active.avg"]),
    (["--gpu-pm-sample-counters", ","], {}, ["no metric in ','"]),
    (["--gpu-pm-sample-counters", "default", "--gpu-pm-sample-interval-us", "0"], {}, ["'0' is not from 1 to 1000000"]),
    (["--gpu-pm-sample-buffer-size-per-gpu-mb", "4097"], {}, ["'4097' is not from 1 to 4096"]),
    (["--gpu-pm-sample-interval-us", "100"], {}, ["gpu_pm_sample_interval_us has no effect without gpu_pm_sample_counters"]),
    (["--gpu-detail", "kernel", "--gpu-enable-cupti-activity-graph-trace", "true"], {}, ["contradict each other"]),
    (["--device", "none", "--gpu-detail", "graph"], {}, ["--gpu-detail: GPUs are not recorded with --device none"]),
    (["--gpu-api-calls", "cudaMalloc;cuInit"], {}, ["'cudaMalloc;cuInit' is not a list of calls"]),
    (["--device", "gpu"], {}, ["'gpu'", "expected one of auto, cuda, none"]),
    ([], {"KYMO_GPU_DETAIL": "grap"}, ["KYMO_GPU_DETAIL: 'grap' is not graph", "did you mean graph?"]),
    ([], {"KYMO_GPU_DETAILS": "graph"}, ["KYMO_GPU_DETAILS: unknown variable", "did you mean KYMO_GPU_DETAIL?"]),
    ([], {"KYMO_GPU_PM_SAMPLE_INTERVAL_US": "500"}, ["gpu_pm_sample_interval_us has no effect without gpu_pm_sample_counters"]),
])
def test_wrong_options_are_refused_before_the_program_starts(inspect, tmp_path, options, variables, words):
    result, _ = inspect(["say ran"], *options, **variables)
    assert result.returncode == 2 and result.stdout == ""
    for word in words:
        assert word in result.stderr
    assert not (tmp_path / "out0").exists()


def test_a_program_that_is_not_inspected_ignores_wrong_variables_with_a_sentence(kymo, machine, tmp_path):
    _, errors = machine.play(tmp_path / "out", ["init", kernel(1)], KYMO_GPU_DETAIL="grap")
    assert errors == "kymo: KYMO_GPU_DETAIL: 'grap' is not graph, kernel or sampled[=MS/S]; it is ignored\n"
    assert len(only_trace(tmp_path / "out").found("kernel")) == 1
    assert len(sessions(tmp_path / "out")) == 1
