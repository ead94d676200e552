"""libkymo-cuda in a program whose driver, CUPTI, NVML and NVTX are stand-ins: what they play is what the capture says."""

import os
import pathlib
import subprocess
import time

import google.protobuf.message
import pytest

import cuda_model
import schema
from conftest import ROOT
from cuda_model import KERNEL, Trace, line

MOCKS = ROOT / "tests" / "cuda"
SANITIZERS = {"asan": "address,undefined", "tsan": "thread"}  # by the folder of the build
VERSION = 130001


class Machine:
    """A folder with the libraries of a machine that has a GPU, and the program to run on it. The library under test is
    that of a build; where that is sanitized, so are the others."""

    def __init__(self, folder, build):
        self.folder = folder
        sanitizer = SANITIZERS.get(build.name)
        flags = ["-O1", "-g1", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Werror", "-fPIC", f"-I{ROOT / 'include'}", "-pthread"]
        if sanitizer:
            flags += [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-fno-sanitize=function"]
        self.compiler = ["clang" if sanitizer else "cc", *flags]
        self.compile("libcuda.so.1", "-shared", MOCKS / "mock_cuda.c")
        self.compile("libcupti.so.13", "-shared", MOCKS / "mock_cupti.c", MOCKS / "mock_pm.c")
        self.compile("libnvidia-ml.so.1", "-shared", MOCKS / "mock_nvml.c")
        self.compile("player", MOCKS / "player.c", MOCKS / "nvtx_client.c")
        self.compile("nvtx_rough", MOCKS / "nvtx_rough.c", MOCKS / "nvtx_client.c")
        self.library = build / "lib" / "libkymo-cuda.so"

    def compile(self, target, *arguments):
        subprocess.run([*self.compiler, *arguments, "-o", self.folder / target], check=True)
        return self.folder / target

    def environment(self, out, **variables):
        plain = {name: value for name, value in os.environ.items()
                 if not name.startswith(("NEURON_", "KYMO_", "LD_", "MOCK_", "CUDA_", "NVTX_"))}
        return plain | {"NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(out),
                        "KYMO_INSTANCE_ID": "i-0test", "LD_LIBRARY_PATH": str(self.folder),
                        "CUDA_INJECTION64_PATH": str(self.library), "NVTX_INJECTION64_PATH": str(self.library),
                        "TSAN_OPTIONS": f"suppressions={ROOT / 'tests' / 'tsan.supp'} die_after_fork=0", **variables}

    def start(self, out, script, **variables):
        out.mkdir(exist_ok=True)
        file = out.parent / f"{out.name}.script"
        file.write_text("\n".join(script) + "\n")
        return subprocess.Popen([self.folder / "player", file], env=self.environment(out, **variables), text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def annotate(self, out, *arguments, **variables):
        """Runs nvtx_rough: what it printed."""
        result = subprocess.run([self.folder / "nvtx_rough", *arguments], env=self.environment(out, **variables), text=True,
                                capture_output=True)
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout.splitlines()

    def play(self, out, script, code=0, **variables):
        """Runs it to its end: what it wrote to standard output and standard error."""
        process = self.start(out, script, **variables)
        output, errors = process.communicate(timeout=100)
        assert process.returncode == code, errors
        return output, errors


@pytest.fixture(scope="module")
def machine(tmp_path_factory, kymo):
    return Machine(tmp_path_factory.mktemp("machine"), pathlib.Path(kymo.path).resolve().parents[1])


def sessions(out):
    return sorted(path for path in out.iterdir() if path.is_dir())


def only_trace(out):
    (session,) = sessions(out)
    return Trace(session / "gpu_trace.pb")


def written_so_far(out):
    """What a running program has appended; None before the first piece is whole, and while one is being written."""
    for path in out.glob("*/rings/gpu_trace.pb"):
        try:
            return Trace(path)
        except (AssertionError, google.protobuf.message.DecodeError):
            return None
    return None


def kernel(number, version=VERSION, **values):
    start = 10**15 + 1000 * number
    return line("kernel", version, "k", **{"start": start, "end": start + 500, "correlation": number, **values})


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# ---- Records ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [18, 22, 24, 28, 130001, 130202, 130401])
def test_every_record_of_every_version_is_in_the_file(kymo, machine, tmp_path, version):
    script, played = cuda_model.random_script(version, 3000, version)
    output, errors = machine.play(tmp_path / "out", ["init", *script], MOCK_CUPTI_VERSION=str(version),
                                  KYMO_GPU_DETAIL="graph")
    assert (output, errors) == ("", "")
    trace = only_trace(tmp_path / "out")
    assert trace.lost == 0
    for what, records in played.items():
        assert trace.found(what) == records, what


def test_buffers_that_come_late_and_records_that_were_dropped_are_accounted_for(kymo, machine, tmp_path):
    script = ["init", "hold 1", *(kernel(i) for i in range(100)), "drop 7", "hand_over", "drop 5",
              *(kernel(i) for i in range(100, 150))]
    assert machine.play(tmp_path / "out", script) == ("", "")
    trace = only_trace(tmp_path / "out")
    assert [k["correlation"] for k in trace.kernels()] == list(range(150))
    assert trace.lost == 12


def test_the_host_and_the_gpu_share_a_clock(kymo, machine, tmp_path):
    before = time.monotonic_ns()
    output, _ = machine.play(tmp_path / "out", ["init", "clock"])
    assert before < int(output) < time.monotonic_ns()


def test_what_is_asked_of_cupti(kymo, machine, tmp_path):
    machine.play(tmp_path / "out", ["init", kernel(1)], MOCK_CUPTI_LOG=str(tmp_path / "log"))
    calls = (tmp_path / "log").read_text().split()
    enabled = {call for call in calls if call.startswith("cuptiActivityEnable(")}
    assert enabled == {f"cuptiActivityEnable({kind})" for kind in (1, 2, 10, 17, 22, 38, 49, 50)}  # no kind of API calls
    assert "cuptiActivityEnableAndDump(8)" in calls  # devices that are there already
    assert "cuptiActivityEnableRuntimeApi(211,1)" in calls
    assert "cuptiActivitySetAttribute(5,1,1)" in calls  # buffers are zeroed already
    assert calls.index("cuptiActivitySetAttribute(5,1,1)") < calls.index("cuptiActivityRegisterCallbacks")
    assert calls.index("cuptiActivityDisable(10)") < calls.index("cuptiActivityFlushAll(1)") < calls.index("cuptiUnsubscribe")


# ---- Graphs and annotations -------------------------------------------------------------------


def xla_script():
    """Nodes as XLA makes them: inside of ranges, then copied into the graph that is executed; and a child graph."""
    created, cloned = 13, 20
    thunk = "Thunk:#name=jit(f)/layer{0}/dot_general,hlo_op=dot.{0},unique_hlo_op_id={0}#"
    script = ["domain TSL", "domain other", "push 1 XlaModule:#hlo_module=jit_f#"]
    expected = []
    for i in range(3):
        script += [f"push 1 {thunk.format(i)}", "push 2 inner", f"node {created} 100 0 {1000 + i} 0 0", "pop 2",
                   f"node {created} 100 0 {1100 + i} 0 4", "pop 1"]
        expected += [(1000 + i, 0, thunk.format(i), 100, 0, 0), (1100 + i, 0, thunk.format(i), 100, 0, 4)]
    script += ["pop 1", f"node {cloned} 200 100 {2**40 + 1} 1000 0", f"node {created} 200 0 7 0 0"]
    expected += [(2**40 + 1, 1000, None, 200, 100, 0), (7, 0, None, 200, 0, 0)]
    return script, expected


def test_nodes_of_graphs_have_the_operations_they_were_made_for(kymo, machine, tmp_path):
    script, expected = xla_script()
    thunk = expected[0][2]
    assert machine.play(tmp_path / "out", [*script[:2], "init", *script[2:]]) == ("", "")
    trace = only_trace(tmp_path / "out")
    columns = ("node", "original", "range", "graph", "original_graph", "type")
    in_module = [(e[0], e[1], e[2], *e[3:]) for e in expected]
    assert [tuple(row[c] for c in columns) for row in trace.nodes] == in_module
    (session,) = sessions(tmp_path / "out")
    (events,) = [lane for lane in schema.events(schema.load(session, "ntrace", "Ntrace")) if lane]
    names = [event["name"] for event in events if event["phase"] == 1]
    assert names[0].startswith("XlaModule") and names[1:3] == [thunk, "inner"]
    assert ["domain", 4, "TSL"] in events[0]["args"]


def test_more_nodes_than_fit_on_the_list_are_all_kept(kymo, machine, tmp_path):
    script = ["domain TSL", "init"]
    for i in range(3000):
        script += [f"push 1 operation {i} {'x' * 500}"] + [f"node 13 1 0 {8 * i + j} 0 0" for j in range(8)] + ["pop 1"]
    assert machine.play(tmp_path / "out", script) == ("", "")
    trace = only_trace(tmp_path / "out")
    assert [(row["node"], row["range"].split()[1]) for row in trace.nodes] == [(i, str(i // 8)) for i in range(24000)]


def test_annotations_of_all_kinds_are_events(kymo, machine, tmp_path):
    script = ["domain D", "push 0 plain", "pushw 1 wide größe", "pushr 1 registered", "pop 1", "pop 1", "pop 0",
              "attributes 5 4278255360 1 77", "mark 1 with payload", "attributes 0 0 3 0.5", "push 1 half", "pop 1",
              "attributes 0 0 5 -3", "start 1 1 across", "start 0 2 threads", "end 1", "end 2", "mark 0 bare", "pop 0"]
    assert machine.play(tmp_path / "out", script, LC_ALL="C.UTF-8") == ("", "")
    (session,) = sessions(tmp_path / "out")
    (events,) = [lane for lane in schema.events(schema.load(session, "ntrace", "Ntrace")) if lane]
    domain = ["domain", 4, "D"]
    assert [(e["name"], e["phase"], e["args"]) for e in events] == [
        ("plain", 1, []), ("wide größe", 1, [domain]), ("registered", 1, [domain]), ("registered", 2, []),
        ("wide größe", 2, []), ("plain", 2, []),
        ("with payload", 3, [domain, ["category", 2, 5], ["payload", 2, 77], ["color", 2, 4278255360]]),
        ("half", 1, [domain, ["payload", 3, 0.5]]), ("half", 2, []),
        ("across", 1, [domain, ["payload", 1, -3]]), ("threads", 1, []), ("across", 2, []), ("threads", 2, []),
        ("bare", 3, [])]
    across = [e["id"] for e in events if e["name"] == "across"]
    assert across[0] == across[1] != 0


def test_structures_of_payloads_are_args(kymo, machine, tmp_path):
    """As far as the layout that was registered tells where numbers are, and they are within the payload."""
    script = ["domain NCCL", "domain other", "nccl 1 7777777777777 4096 -1 2 ncclAllReduce", "nccl 1 8 64 3 9 unnamed operation",
              "nccl 1 8 0 3 2 cut", "nccl 2 8 64 3 2 of another domain"]
    assert machine.play(tmp_path / "out", script) == ("", "")
    (session,) = sessions(tmp_path / "out")
    (events,) = [lane for lane in schema.events(schema.load(session, "ntrace", "Ntrace")) if lane]

    def args(communicator, size, root, operation):
        return [["domain", 4, "NCCL"], ["NCCL communicator ID", 2, communicator], ["small", 1, -5], ["Message size [bytes]", 2, size],
                ["Root", 1, root], ["Reduction operation", *operation], ["scale", 3, 0.5]]
    assert [(e["name"], e["args"]) for e in events] == [
        ("ncclAllReduce", args(7777777777777, 4096, -1, (4, "Max"))), ("unnamed operation", args(8, 64, 3, (2, 9))),
        ("cut", args(8, 0, 0, (0, 0))[:3]), ("of another domain", [["domain", 4, "other"]])]
    _, errors = machine.play(tmp_path / "off", script, KYMO_GPU_ENABLE_NVTX_TRACKING="false")
    assert errors == "nvtx: no payloads\n"


def test_categories_and_threads_have_the_names_they_are_given(kymo, machine, tmp_path):
    script = ["domain D", "category 1 5 input pipeline", "category 1 6 other", "category 0 5 of no domain", "category 1 5 again",
              "thread 0 trainer", "thread 1 not this one", "attributes 5 0 0 0", "mark 1 named", "attributes 7 0 0 0", "mark 1 not"]
    assert machine.play(tmp_path / "out", script) == ("", "")
    (session,) = sessions(tmp_path / "out")
    trace = schema.load(session, "ntrace", "Ntrace")
    (events,) = [lane for lane in schema.events(trace) if lane]
    assert [event["args"][1] for event in events] == [["category", 4, "input pipeline"], ["category", 2, 7]]
    assert [lane.name for lane in trace.lanes] == ["trainer"]


@pytest.mark.parametrize("recording", ["0", "1"])
def test_a_thread_that_annotates_leaves_no_memory_behind(kymo, machine, tmp_path, recording):
    """A stack of ranges has 17 KB. In `make soak` there are threads for as long as it lasts."""
    soak = {name: os.environ[name] for name in ["KYMO_SOAK_SECONDS"] if name in os.environ}
    (grown,) = machine.annotate(tmp_path, "threads", "500", NEURON_RT_INSPECT_ENABLE=recording, **soak)
    assert int(grown) < 300_000


def test_what_programs_leave_out_or_get_wrong_is_no_crash(kymo, machine, tmp_path):
    printed = machine.annotate(tmp_path, "nulls", NEURON_RT_INSPECT_EVENT_FILTER_TYPE="^nrt_execute")
    nothing = ["registered 0"] * 4 + ["created 0"] * 2
    assert [text for text in printed if not text.startswith("p")] == nothing
    balanced = ["pushed to 0", "popped to 0"]
    assert [text for text in printed if text.startswith("p")] == balanced * (3 + 7) + [
        "popped to -1", "popped to -1", "popped to 0", "popped to -1"]
    (session,) = sessions(tmp_path)
    (events,) = [lane for lane in schema.events(schema.load(session, "ntrace", "Ntrace")) if lane]
    begun = [e for e in events if e["phase"] != 2]
    assert {e["name"] for e in begun} == {"(no name)", "deep"}
    assert [e["args"] for e in begun if e["args"]] == [[["domain", 4, "own"]]] * 7


def test_threads_with_calls_have_the_names_the_kernel_has_for_them(kymo, machine, tmp_path):
    at = cuda_model.RECORDS["runtime_call"][2]["thread"][0]
    call = line("runtime_call", VERSION, id=211, start=5, end=6, thread=2**31 - 1)
    process = machine.start(tmp_path / "out", ["init", call, *[f"here {at} {call.split()[1]}"] * 3])
    assert process.communicate(timeout=100)[1] == ""
    trace = only_trace(tmp_path / "out")
    assert [found["thread"] for found in trace.calls()] == [2**31 - 1] + [process.pid] * 3
    assert [(found.thread, trace.text(found.name)) for found in trace.file.threads] == [(process.pid, "player")]


# ---- Counters ---------------------------------------------------------------------------------

NVML = {"power_mw": "nvmlDeviceGetPowerUsage({},0)", "sm_clock_mhz": "nvmlDeviceGetClockInfo({},1)",
        "memory_clock_mhz": "nvmlDeviceGetClockInfo({},2)", "temperature_c": "nvmlDeviceGetTemperature({},0)",
        "memory_used_bytes": "nvmlDeviceGetMemoryInfo({})", "gpu_utilization_percent": "nvmlDeviceGetUtilizationRates({})",
        "memory_utilization_percent": "nvmlDeviceGetUtilizationRates({})", "pcie_tx_kb_per_s": "nvmlDeviceGetPcieThroughput({},0)",
        "pcie_rx_kb_per_s": "nvmlDeviceGetPcieThroughput({},1)", "nvlink_tx_bytes_per_s": "nvmlDeviceGetFieldValues({},138)",
        "nvlink_rx_bytes_per_s": "nvmlDeviceGetFieldValues({},139)"}


def device(number, nvml):
    """The record of a device that NVML has under another number."""
    command, data, at, name = line("device", VERSION, "GPU", id=number).split()
    uuid = f"00112233445566778899aabbccddee{nvml:02x}"
    return f"{command} {data[:240]}{uuid}{data[272:]} {at} {name}"


class Counters:
    """What NVML told, and the samples in the file, by device and counter."""

    def __init__(self, machine, folder, devices, until="nvmlDeviceGetPowerUsage", times=10, **variables):
        log = folder / "nvml.log"
        script = ["init", *(device(number, nvml) for number, nvml in devices.items()), "hand_over", kernel(1), "say ready", "wait"]
        process = machine.start(folder / "out", script, MOCK_NVML_LOG=str(log),
                                **{"KYMO_GPU_COUNTER_INTERVAL_MS": "1", **variables})
        assert process.stdout.readline() == "ready\n"
        wait_for(lambda: not until or (log.exists() and log.read_text().count(until) >= times * len(devices)))
        self.errors = process.communicate("\n", timeout=100)[1]
        assert process.returncode == 0
        self.calls = log.read_text().splitlines() if log.exists() else []
        trace = only_trace(folder / "out")
        assert len(trace.found("kernel")) == 1 and trace.lost == 0
        self.samples = {}
        for row in trace.counters:
            self.samples.setdefault((row["device"], row["counter"]), []).append((row["time_ns"], row["value"]))

    def told(self, nvml, counter):
        call = NVML[counter].format(nvml)
        values = [list(map(int, entry.split()[2:])) for entry in self.calls if entry.startswith(f"value {call} ")]
        if counter == "gpu_utilization_percent":
            return [first for first, _ in values[::2]]
        if counter == "memory_utilization_percent":
            return [second for _, second in values[1::2]]
        return [first for first, _ in values]


def test_counters_have_the_values_of_the_device_that_cuda_knows(kymo, machine, tmp_path):
    before, devices = time.monotonic_ns(), {0: 7, 1: 3}
    counters = Counters(machine, tmp_path, devices, KYMO_GPU_NUM_CHIPS_TO_PROFILE_PER_TASK="-1")  # not a number of GPUs: all
    assert counters.errors == ""
    assert set(counters.samples) == {(number, counter) for number in devices for counter in NVML}
    for (number, counter), samples in counters.samples.items():
        told = counters.told(devices[number], counter)
        times, values = [time for time, _ in samples], [value for _, value in samples]
        assert before < times[0] and times == sorted(times) and times[-1] < time.monotonic_ns()
        assert len(told) >= 4
        if counter.startswith("nvlink"):
            rates = [int((new - old) * 1024.0 * 1e9 / (at - since))
                     for old, new, since, at in zip(told[1:], told[2:], times, times[1:])]
            assert len(values) == len(told) - 1 and values[1:] == rates
        else:
            assert values == told, counter
    assert counters.calls[0] == "nvmlInit_v2" and counters.calls[-1] == "nvmlShutdown"


def test_a_counter_that_fails_leaves_the_others(kymo, machine, tmp_path):
    errors = "nvmlDeviceGetPcieThroughput(3,1)=3 nvmlDeviceGetTemperature=999 nvmlDeviceGetFieldValues(7,138)=3"
    counters = Counters(machine, tmp_path, {0: 7, 1: 3}, MOCK_NVML_ERRORS=errors, KYMO_GPU_NUM_CHIPS_TO_PROFILE_PER_TASK="9")  # more than there are
    missing = {(1, "pcie_rx_kb_per_s"), (0, "temperature_c"), (1, "temperature_c"), (0, "nvlink_tx_bytes_per_s")}
    assert set(counters.samples) == {(number, counter) for number in (0, 1) for counter in NVML} - missing
    assert counters.errors == ""
    assert counters.calls.count("nvmlDeviceGetPcieThroughput(3,1)") == 1  # not supported: not asked again
    assert counters.calls.count("nvmlDeviceGetTemperature(3,0)") > 1  # may work the next time


def test_a_device_that_nvml_does_not_have_or_that_is_not_wanted_has_no_counters(kymo, machine, tmp_path):
    counters = Counters(machine, tmp_path, {0: 0xF0, 1: 3}, "ByUUID", 0.5, KYMO_GPU_NUM_CHIPS_TO_PROFILE_PER_TASK="1")
    assert (counters.samples, counters.errors) == ({}, "")
    assert [call for call in counters.calls if "Device" in call] == ["nvmlDeviceGetHandleByUUID(GPU-00112233-4455-6677-8899-aabbccddeef0)"]


def test_an_interval_of_0_is_no_counters(kymo, machine, tmp_path):
    counters = Counters(machine, tmp_path, {0: 7}, None, KYMO_GPU_COUNTER_INTERVAL_MS="0")
    assert (counters.samples, counters.calls, counters.errors) == ({}, [], "")


@pytest.mark.parametrize("function, sentence", [
    (None, "libnvidia-ml.so.1: cannot open shared object file: No such file or directory"),
    ("nvmlInit_v2=9", "NVML cannot be initialized: error 9"),
])
def test_without_nvml_the_rest_is_recorded(kymo, machine, tmp_path, function, sentence):
    for name in () if function else ("libcuda.so.1", "libcupti.so.13"):
        (tmp_path / name).symlink_to(machine.folder / name)
    variables = {"MOCK_NVML_ERRORS": function} if function else {"LD_LIBRARY_PATH": str(tmp_path)}
    counters = Counters(machine, tmp_path, {0: 7}, None, **variables)
    assert counters.samples == {}
    assert counters.errors == f"kymo: power, clocks and other counters of GPUs are not recorded: {sentence}\n"


def test_functions_that_nvml_lacks_are_counters_that_are_missing(kymo, machine, tmp_path):
    subprocess.run([*machine.compiler, "-shared", "-DMOCK_FEW_FUNCTIONS", MOCKS / "mock_nvml.c", "-o",
                    tmp_path / "libnvidia-ml.so.1"], check=True)
    counters = Counters(machine, tmp_path, {0: 7}, LD_LIBRARY_PATH=f"{tmp_path}:{machine.folder}")
    assert (set(counters.samples), counters.errors) == ({(0, "power_mw")}, "")


# ---- Hardware counters ------------------------------------------------------------------------

PEAK = ".avg.pct_of_peak_sustained_elapsed"
METRICS = [f"sm__cycles_active{PEAK}", f"sm__inst_executed_pipe_tensor{PEAK}", "dram__bytes_read.sum.per_second",
           "dram__bytes_write.sum.per_second", f"sm__warps_active{PEAK}", f"sm__inst_executed{PEAK}"]  # those of mock_pm.c


class Samples:
    """Plays samples once the device samples, or has been refused: those in the file, and what was said."""

    def __init__(self, machine, folder, script, metrics="default", until="cuptiPmSamplingStart(0)", devices=(0,), **variables):
        log = folder / "cupti.log"
        begin = ["init", *(device(number, 7) for number in devices), "hand_over", kernel(1), "say ready", "wait"]
        process = machine.start(folder / "out", [*begin, *script], MOCK_CUPTI_LOG=str(log),
                                KYMO_GPU_PM_SAMPLE_COUNTERS=metrics, KYMO_GPU_COUNTER_INTERVAL_MS="0", **variables)
        assert process.stdout.readline() == "ready\n"
        wait_for(lambda: until in log.read_text())
        process.stdin.write("\n")
        process.stdin.flush()
        if "say again" in script:
            assert process.stdout.readline() == "again\n"
            wait_for(lambda: log.read_text().count("cuptiPmSamplingStop(0)") == 1)
        self.errors = process.communicate("\n", timeout=100)[1]
        assert process.returncode == 0
        self.calls = log.read_text().split()
        trace = only_trace(folder / "out")
        assert len(trace.found("kernel")) == 1 and trace.lost == 0
        self.rows, self.lost = trace.samples, trace.lost_samples

    def of(self, number, metric):
        return [(row["start_ns"], row["value"]) for row in self.rows if (row["device"], row["metric"]) == (number, metric)]


def test_hardware_counters_have_the_values_and_times_of_their_samples(kymo, machine, tmp_path):
    played = [(10**15 + 500000 * i, 10**15 + 500000 * (i + 1), i % 100 / 4) for i in range(3000)]  # more than are decoded at once
    samples = Samples(machine, tmp_path, [f"sample 0 {start} {end} {value}" for start, end, value in played])
    assert (samples.errors, samples.lost) == ("", 0)
    taken = METRICS[:5]  # instructions do not fit with warps; NVLink, PCIe and tensor cores' cycles are not there
    assert {row["metric"] for row in samples.rows} == set(taken)
    for number, metric in enumerate(taken):
        assert samples.of(0, metric) == [(start, value + number) for start, _, value in played]
    assert "cuptiPmSamplingSetConfig(0,67108864,500000,1,1)" in samples.calls
    assert samples.calls.count("cuptiProfilerHostInitialize") == samples.calls.count("cuptiProfilerHostDeinitialize")
    end = [call for call in samples.calls if call.startswith(("cuptiPmSamplingS", "cuptiPmSamplingDi"))][-2:]
    assert end == ["cuptiPmSamplingStop(0)", "cuptiPmSamplingDisable(0)"]


def test_metrics_are_chosen_by_name_and_those_that_cannot_be_sampled_are_named(kymo, machine, tmp_path):
    samples = Samples(machine, tmp_path, ["sample 0 1000000 1100000 8", "sample 1 1000000 1100000 16"], devices=(0, 1), until="cuptiPmSamplingStart(1)",
                      metrics=f"sm__inst_executed{PEAK},nope__metric.avg,,sm__warps_active{PEAK},lts__throughput{PEAK},dram__bytes_read.sum.per_second",
                      KYMO_GPU_PM_SAMPLE_INTERVAL_US="100", KYMO_GPU_PM_SAMPLE_BUFFER_SIZE_PER_GPU_MB="16")
    assert {(row["device"], row["metric"]): row["value"] for row in samples.rows} == {
        (0, METRICS[5]): 13, (0, METRICS[2]): 10, (1, METRICS[5]): 21, (1, METRICS[2]): 18}
    together = "the hardware cannot count it together with those before it"
    assert samples.errors == "".join(
        f"kymo: the hardware counter nope__metric.avg of GPU {number} is left out: the device has no metric of this name, with a rollup "
        f"such as {PEAK} or .sum.per_second at its end\nkymo: the hardware counter sm__warps_active{PEAK} of GPU {number} is left out: {together}\n"
        f"kymo: the hardware counter lts__throughput{PEAK} of GPU {number} is left out: {together}\n" for number in (0, 1))
    assert "cuptiPmSamplingSetConfig(1,16777216,100000,1,1)" in samples.calls


def test_samples_that_were_overwritten_are_counted(kymo, machine, tmp_path):
    """A first sample begins when the device was configured; a gap, or one that is long, is as many as are missing."""
    script = [f"sample 0 {start} {end} {value}" for start, end, value in
              [(10**9, 2 * 10**9, 1), (2 * 10**9, 2000500000, 2), (2002000001, 2002500001, 3), (2002500001, 2004500001, 4)]]
    samples = Samples(machine, tmp_path, script)
    assert samples.of(0, METRICS[0]) == [(1999500000, 1), (2 * 10**9, 2), (2002000001, 3), (2004000001, 4)]
    assert (samples.lost, samples.errors) == (3 + 3, "")


def test_sampling_begins_anew_when_samples_cannot_be_decoded(kymo, machine, tmp_path):
    script = ["sample 0 1000000 1500000 1", "decode_fails 8", "say again", "wait", "sample 0 2000000 2500000 2"]
    samples = Samples(machine, tmp_path, script)
    assert [value for _, value in samples.of(0, METRICS[0])] == [1, 2] and samples.errors == ""
    assert samples.calls.count("cuptiPmSamplingStart(0)") == 2


def test_sampling_that_fails_again_and_again_ends(kymo, machine, tmp_path):
    samples = Samples(machine, tmp_path, [], until="cuptiPmSamplingDisable(0)", MOCK_CUPTI_ERRORS="cuptiPmSamplingDecodeData=999")
    assert samples.errors == "kymo: hardware counters of GPU 0 are no longer sampled: MOCK_ERROR_999\n"
    assert samples.calls.count("cuptiPmSamplingDisable(0)") == 1 and samples.rows == []


def test_devices_that_cannot_sample_by_time_sample_by_clock(kymo, machine, tmp_path):
    script = [f"sample 0 {700000 * i + 1} {700000 * (i + 1) + 1} {i}" for i in (*range(4), 9)]
    samples = Samples(machine, tmp_path, script, MOCK_CUPTI_ERRORS="cuptiPmSamplingSetConfig(0,67108864,500000,1,1)=27")
    assert (samples.errors, samples.lost) == ("", 5)
    assert samples.of(0, METRICS[0]) == [(700000 * i + 1, i) for i in (*range(4), 9)]


@pytest.mark.parametrize("function, why", [
    ("cuptiPmSamplingGetCounterAvailability=35", "the driver lets only administrators read them (ERR_NVGPUCTRPERM): run as root, or load "
                                                 "it with NVreg_RestrictProfilingToAdminUsers=0"),
    ("cuptiPmSamplingEnable=43", "the GPU is divided (MIG)"), ("cuptiProfilerInitialize=33", "the GPU is virtual"),
    ("cuptiPmSamplingGetCounterAvailability=26", "another profiler has them"), ("cuptiPmSamplingSetConfig=1", "MOCK_ERROR_1"),
    ("cuptiDeviceGetChipName=7", "MOCK_ERROR_7"), ("cuptiProfilerHostInitialize=46", "MOCK_ERROR_46"),
    ("cuptiProfilerHostGetConfigImage=7", "MOCK_ERROR_7"), ("cuptiProfilerHostConfigAddMetrics=1", "no counter can be sampled"),
    ("cuptiPmSamplingGetCounterDataSize=7", "MOCK_ERROR_7"), ("cuptiPmSamplingStart=7", "MOCK_ERROR_7"),
])
def test_without_hardware_counters_the_rest_is_recorded(kymo, machine, tmp_path, function, why):
    samples = Samples(machine, tmp_path, [], until=function.split("=", maxsplit=1)[0], MOCK_CUPTI_ERRORS=function)
    assert samples.errors == f"kymo: hardware counters of GPU 0 are not sampled: {why}\n"
    assert samples.rows == []


def test_versions_without_sampling_say_so(kymo, machine, tmp_path):
    subprocess.run([*machine.compiler, "-shared", MOCKS / "mock_cupti.c", "-o", tmp_path / "libcupti.so.13"], check=True)
    samples = Samples(machine, tmp_path, [], until="FlushAll", LD_LIBRARY_PATH=f"{tmp_path}:{machine.folder}")
    assert samples.errors == "kymo: hardware counters of GPU 0 are not sampled: libcupti lacks cuptiProfilerInitialize; CUDA 12.6 and later have it\n"


def test_a_program_that_ends_before_its_devices_are_known_does_not_begin_to_sample(kymo, machine, tmp_path):
    log = tmp_path / "log"
    machine.play(tmp_path / "out", ["init", "hold 1", device(0, 7)], KYMO_GPU_PM_SAMPLE_COUNTERS="default", MOCK_CUPTI_LOG=str(log))
    assert "Profiler" not in log.read_text()


# ---- Errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("function, sentence", [
    ("cuptiSubscribe=39", "another profiler of this process uses CUPTI"),
    ("cuptiSubscribe=35", "cannot subscribe to CUPTI: MOCK_ERROR_35"),
    ("cuptiActivityRegisterTimestampCallback=7", "CUPTI refuses our clock: MOCK_ERROR_7"),
    ("cuptiActivityRegisterCallbacks=7", "CUPTI refuses our buffers: MOCK_ERROR_7"),
    ("cuptiActivityEnable(10)=35", "CUPTI refuses to record kernels: MOCK_ERROR_35"),
])
def test_without_cupti_the_program_and_the_capture_of_the_host_go_on(kymo, machine, tmp_path, function, sentence):
    script = ["init", "push 0 step", kernel(1), "hand_over", "pop 0", "say done"]
    output, errors = machine.play(tmp_path / "out", script, MOCK_CUPTI_ERRORS=function, MOCK_CUPTI_LOG=str(tmp_path / "log"))
    assert (output, errors) == ("done\n", f"kymo: GPUs are not recorded: {sentence}\n")
    (session,) = sessions(tmp_path / "out")
    events = [event["name"] for lane in schema.events(schema.load(session, "ntrace", "Ntrace")) for event in lane]
    assert events == ["step", "step"]
    if (session / "gpu_trace.pb").exists():
        assert list(Trace(session / "gpu_trace.pb").kernels()) == []
    log = (tmp_path / "log").read_text().split()
    assert log.count("cuptiUnsubscribe") == (0 if "Subscribe" in function else 1)


@pytest.mark.parametrize("function, sentence, lost", [
    ("cuptiActivityEnable(38)=21", "CUPTI does not record synchronization: MOCK_ERROR_21", 0),
    ("cuptiEnableCallback=7", "nodes of CUDA graphs have no names: CUPTI does not report them: MOCK_ERROR_7", 0),
    ("cuptiActivityGetNumDroppedRecords=3", None, 0),
    ("cuptiActivitySetAttribute=1", None, 0),
    ("cuptiSetThreadIdType=1", None, 0),
    ("cuptiGetVersion=1", None, 0),
    ("cuptiGetCallbackName=1", None, 0),
    ("cuptiActivityDisable=1", None, 0),
    ("cuptiUnsubscribe=1", None, 0),
    ("cuptiGetGraphNodeId=1", None, 0),
    ("cuptiGetGraphId=1", None, 0),
    ("cuptiActivityEnableRuntimeApi=1", None, 0),
])
def test_what_cupti_cannot_do_is_said_and_the_rest_recorded(kymo, machine, tmp_path, function, sentence, lost):
    script = ["init", kernel(1), line("runtime_call", VERSION, id=211, start=5, end=6), "node 13 1 0 2 0 0",
              line("copy", VERSION, start=5, end=6)]
    output, errors = machine.play(tmp_path / "out", script, MOCK_CUPTI_ERRORS=function)
    assert errors == (f"kymo: {sentence}\n" if sentence else "")
    trace = only_trace(tmp_path / "out")
    assert len(trace.found("kernel")) == len(trace.found("copy")) == 1
    assert trace.lost == lost


def test_records_that_cannot_be_read_are_lost_and_the_program_goes_on(kymo, machine, tmp_path):
    _, errors = machine.play(tmp_path / "out", ["init", kernel(1), "hand_over", kernel(2)],
                             MOCK_CUPTI_ERRORS="cuptiActivityGetNextRecord=19")
    assert errors == "kymo: records of GPUs are lost: CUPTI's buffer cannot be read: MOCK_ERROR_19\n"
    assert only_trace(tmp_path / "out").lost == 2


def test_without_libcupti_one_sentence_says_so(kymo, machine, tmp_path):
    _, errors = machine.play(tmp_path / "out", ["init", "push 0 step", "pop 0"], KYMO_CUPTI="/nowhere/libcupti.so")
    assert errors.startswith("kymo: GPUs are not recorded: libcupti not found: /nowhere/libcupti.so") and errors.count("\n") == 1


def test_versions_that_cannot_choose_single_calls_record_those_of_the_runtime(kymo, machine, tmp_path):
    old = tmp_path / "libcupti.so.12"
    subprocess.run([*machine.compiler, "-shared", "-DMOCK_WITHOUT_SINGLE_CALLS", MOCKS / "mock_cupti.c", "-o", old], check=True)
    script = ["init", line("runtime_call", 18, id=9, start=5, end=6), line("driver_call", 18, id=307, start=5, end=6)]
    (tmp_path / "libcupti.so.13").symlink_to(old)  # for the program
    machine.play(tmp_path / "out", script, KYMO_CUPTI=str(old), LD_LIBRARY_PATH=f"{tmp_path}:{machine.folder}")
    assert [call["name"] for call in only_trace(tmp_path / "out").calls()] == ["cuda9"]


def test_in_a_program_that_has_used_cuda_before_launches_are_recorded_and_no_other_calls(kymo, machine, tmp_path):
    def calls(start):
        return [line("runtime_call", VERSION, id=9, start=start, end=start + 1),
                line("driver_call", VERSION, id=307, start=start, end=start + 1),
                line("runtime_call", VERSION, id=211, start=start, end=start + 1)]

    script = ["init", "stop", "attach", *calls(5), "stop", *calls(6), "attach", *calls(7)]
    _, errors = machine.play(tmp_path / "out", script, MOCK_CUPTI_ATTACHED="1")
    assert errors == ""
    found = [[(call["name"], call["start"]) for call in Trace(path).calls()] for path in (tmp_path / "out").rglob("gpu_trace.pb")]
    assert sorted(found) == [[], [("cu307", 5), ("cuda211", 5)], [("cu307", 7), ("cuda211", 7)]]


# ---- The life of programs ---------------------------------------------------------------------


def test_a_killed_program_leaves_what_was_handed_over(kymo, machine, tmp_path):
    script = ["init", *(kernel(i) for i in range(1000)), "node 13 1 0 77 0 0", "say ready", "wait", "kill"]
    process = machine.start(tmp_path / "out", script)
    assert process.stdout.readline() == "ready\n"

    def is_written():
        trace = written_so_far(tmp_path / "out")
        return trace and len(list(trace.kernels())) == 1000 and trace.nodes

    wait_for(is_written)
    process.communicate("\n", timeout=60)
    assert process.returncode == -9
    with next((tmp_path / "out").glob("*/rings/gpu_trace.pb")).open("ab") as file:
        file.write(b"\x3a\x80\x80\x04" + bytes(1000))  # a table that was being written
    kymo.run("recover", tmp_path / "out")
    trace = only_trace(tmp_path / "out")
    assert [k["correlation"] for k in trace.kernels()] == list(range(1000))


@pytest.mark.parametrize("ending, code", [("exit 3", 3), ("stop", 0)])
def test_what_is_recorded_is_whole_however_the_program_ends(kymo, machine, tmp_path, ending, code):
    script = ["init", *(kernel(i) for i in range(500)), "hold 1", ending]
    _, errors = machine.play(tmp_path / "out", script, code=code)
    assert errors == ""
    assert [k["correlation"] for k in only_trace(tmp_path / "out").kernels()] == list(range(500))


def test_a_program_that_leaves_at_once_keeps_what_was_written(kymo, machine, tmp_path):
    script = ["init", *(kernel(i) for i in range(500)), "say ready", "wait", "_exit 0"]
    process = machine.start(tmp_path / "out", script)
    assert process.stdout.readline() == "ready\n"

    def is_written():
        trace = written_so_far(tmp_path / "out")
        return trace and len(list(trace.kernels())) == 500

    wait_for(is_written)
    assert process.communicate("\n", timeout=60)[1] == ""
    assert process.returncode == 0
    kymo.run("recover", tmp_path / "out")
    assert len(list(only_trace(tmp_path / "out").kernels())) == 500


def test_a_child_records_no_gpu_and_writes_nothing_of_its_parent(kymo, machine, tmp_path):
    script = ["init", kernel(1), "push 0 before", "fork", "push 0 in both", kernel(2), "hand_over", "pop 0"]
    _, errors = machine.play(tmp_path / "out", script, MOCK_CUPTI_LOG=str(tmp_path / "log"), ASAN_OPTIONS="detect_leaks=0")
    assert errors == ""
    found = [path for path in sessions(tmp_path / "out") if (path / "gpu_trace.pb").exists()]
    assert len(sessions(tmp_path / "out")) == 2 and len(found) == 1
    assert [k["correlation"] for k in Trace(found[0] / "gpu_trace.pb").kernels()] == [1, 2]
    assert (tmp_path / "log").read_text().count("cuptiActivityFlushAll(1)") == 1  # the parent's


def test_threads_hand_over_buffers_at_once(kymo, machine, tmp_path):
    record = kernel(1).split()[1]
    script = ["init", f"threads 8 2500 {record}", "say done"]
    output, errors = machine.play(tmp_path / "out", script)
    assert (output, errors) == ("done\n", "")
    trace = only_trace(tmp_path / "out")
    assert len(trace.found("kernel")) + trace.lost == 20000 and trace.lost == 0


def test_a_second_capture_of_the_same_program_has_a_file_of_its_own(kymo, machine, tmp_path):
    script = ["init", kernel(1), "push 0 a", "pop 0", "stop", kernel(2), "begin", kernel(3), "push 0 b", "pop 0"]
    _, errors = machine.play(tmp_path / "out", script)
    assert errors == ""
    numbers = [[k["correlation"] for k in Trace(path).kernels()] for path in (tmp_path / "out").rglob("gpu_trace.pb")]
    assert sorted(numbers) == [[1], [3]]
