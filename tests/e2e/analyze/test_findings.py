"""Findings: each rule finds what was put into a made-up capture, at its cost, and nothing else; on real captures they say what is so."""

import json
import random
import re

import pytest

import xspace
from conftest import DATA

MS = 1000  # times are in microseconds, as in the files
STEPS = 10


class Kineto:
    """A trace as torch.profiler writes it: one thread that launches, one device with streams."""

    def __init__(self, rank=0):
        self.rank = rank
        self.events = []
        self.correlation = 0

    def span(self, category, name, start, duration, tid=100, pid=100, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start,
                            "dur": duration, "args": args})

    def host(self, name, start, duration, category="cpu_op"):
        self.span(category, name, start, duration)

    def step(self, number, start, duration):
        self.host(f"ProfilerStep#{number}", start, duration, "user_annotation")

    def kernel(self, start, duration, launched, name="kernel_a", stream=7, category="kernel", call="cudaLaunchKernel", **args):
        self.correlation += 1
        self.span("cuda_runtime", call, launched, 5, correlation=self.correlation)
        self.span(category, name, start, duration, tid=stream, pid=0, device=0, stream=stream,
                  correlation=self.correlation, **args)

    def write(self, path):
        path.write_text(json.dumps({
            "schemaVersion": 1, "distributedInfo": {"rank": self.rank, "world_size": 2},
            "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}],
            "traceEvents": self.events,
        }))


def steps(trace, length=10 * MS, first_kernel=20, kernels=10, kernel=1 * MS, host=None, late=0, **args):
    """Steps of kernels back to back, launched ahead; with a host event that delays each step by `late`."""
    for number in range(STEPS):
        start = number * (length + late)
        trace.step(number, start, length + late)
        if host:
            trace.host(*host[:1], start, late, *host[1:])
        for k in range(kernels):
            begin = start + late + first_kernel + k * kernel
            trace.kernel(begin, kernel, start + late + k * 8, **args)
    return trace


def healthy():
    return steps(Kineto())


def delayed(name, category="cpu_op", late=4 * MS):
    return steps(Kineto(), host=(name, category), late=late)


def compiled_before():
    """Compilation for 30 ms before the steps, and for 6 ms in one of them beside the work of the device."""
    trace = healthy()
    trace.host("XlaCompile", -30 * MS, 30 * MS)
    trace.host("XlaCompile", 2 * MS, 6 * MS)
    return trace


def launch_bound():
    trace = Kineto()
    for number in range(STEPS):
        trace.step(number, number * 10 * MS, 10 * MS)
        for k in range(100):
            at = number * 10 * MS + k * 100
            trace.host("aten::add", at, 90)
            trace.kernel(at + 90, 10, at + 80)
    return trace


def synchronized(call="cudaStreamSynchronize"):
    """The host waits for the device at the end of each step, and needs 2 ms until its next launch."""
    trace = Kineto()
    for number in range(STEPS):
        start = number * 12 * MS
        trace.step(number, start, 12 * MS)
        trace.host("prepare", start, 2 * MS - 10)
        for k in range(10):
            trace.kernel(start + 2 * MS + k * MS, MS, start + 2 * MS - 10 + k * 8)
        trace.host("aten::item", start + 3 * MS, 9 * MS)
        trace.span("cuda_runtime", call, start + 3 * MS + 10, 9 * MS - 10)
    return trace


def used_little(*idle):
    """Kernels of 1 ms without steps for 100 ms, launched long before; in the idle ranges only every fifth."""
    trace = Kineto()
    for k in range(100):
        if k % 5 == 0 or not any(start <= k < end for start, end in idle):
            trace.kernel(1 + k * MS, MS, k / 10)
    return trace


def queued(kernel, pause):
    """Kernels with a pause between them, all launched before the device gets to them."""
    trace = Kineto()
    count = 5 * MS // (kernel + pause)
    for number in range(STEPS):
        start = number * 10 * MS
        trace.step(number, start, 10 * MS)
        for k in range(2 * count):
            trace.kernel(start + 20 + k * (kernel + pause), kernel, start + k // 10)
    return trace


def with_stream(beside, **args):
    """Device work of 3 ms in each step: beside the kernels, or after them."""
    trace = Kineto()
    for number in range(STEPS):
        start = number * 13 * MS
        trace.step(number, start, 13 * MS)
        length = 13 * MS if beside else 10 * MS
        for k in range(10):
            trace.kernel(start + 20 + k * length // 10, length // 10, start + k * 8)
        trace.kernel(start + 20 + (5 * MS if beside else 10 * MS), 3 * MS, start + 100, stream=20, **args)
    return trace


def small_copies():
    trace = Kineto()
    for number in range(STEPS):
        start = number * 10 * MS
        trace.step(number, start, 10 * MS)
        for k in range(8):
            trace.kernel(start + 20 + k * MS, MS, start + k * 8)
        for k in range(100):
            trace.kernel(start + 20 + 8 * MS + k * 20, 20, start + 100 + k, category="gpu_memcpy", call="cudaMemcpyAsync",
                         name="Memcpy HtoD (Pinned -> Device)", bytes=4096)
    return trace


def outlier(is_busy=False):
    """One step is longer by 15 ms, in which the device idles or works."""
    trace = Kineto()
    start = 0
    for number in range(STEPS):
        late = 15 * MS if number == 6 else 0
        trace.step(number, start, 10 * MS + late)
        if late and is_busy:
            trace.kernel(start + 20, late, start)
        elif late:
            trace.host("gc.collect", start, late)
        for k in range(10):
            trace.kernel(start + late + 20 + k * MS, MS, start + late + k * 8)
        start += 10 * MS + late
    return trace


def reserved_memory():
    trace = healthy()
    for at, reserved, used in ((1, 8 << 30, 3 << 30), (2 * MS, 10 << 30, 4 << 30), (3 * MS, 10 << 30, 2 << 30)):
        trace.events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": 100, "ts": at,
                             "args": {"Total Reserved": reserved, "Total Allocated": used, "Bytes": 1, "Device Type": 1}})
    return trace


ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)"
GEMM = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT"


def mixed(*names):
    """Steps of ten kernels of 1 ms, by these names in turn."""
    trace = Kineto()
    for number in range(STEPS):
        start = number * 10 * MS
        trace.step(number, start, 10 * MS)
        for k in range(10):
            trace.kernel(start + 20 + k * MS, MS, start + k * 8, name=names[k % len(names)])
    return trace


COPY = {"category": "gpu_memcpy", "call": "cudaMemcpyAsync", "bytes": 64 << 20}
SMALL = dict(kernels=1000, kernel=10)

# What is in the capture: the rules that must speak, with their costs in ms where these are known by construction.
CASES = {
    "healthy": (healthy, {"device-bound": 100}),
    "host": (lambda: delayed("preprocess"), {"host-bound": 40}),
    "launches": (launch_bound, {"launch-bound": 90}),
    "input": (lambda: delayed("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), {"input-bound": 40}),
    "synchronization": (synchronized, {"blocking-synchronization": 18, "device-bound": 100}),
    "synchronous copies": (lambda: synchronized("cudaMemcpy"), {"synchronous-copies": 18, "device-bound": 100}),
    "synchronous memsets": (lambda: synchronized("cudaMemset"), {"synchronous-memsets": 18, "device-bound": 100}),
    "used little": (lambda: used_little((40, 60)), {"low-utilization": 0, "device-waits": 16, "device-bound": 84}),
    "used little mostly": (lambda: used_little((10, 90)), {"device-waits": 64}),
    "allocations": (lambda: delayed("cudaMalloc", "cuda_runtime"), {"allocator": 40}),
    "compilation": (lambda: delayed("_compile.compile_inner (dynamo_timed)"), {"recompilation": 40}),
    "compilation before the steps": (compiled_before, {"compilation": 30, "device-bound": 100}),
    "profiler": (lambda: delayed("Activity Buffer Request", "overhead"), {"profiler-overhead": 40}),
    "short kernels": (lambda: queued(8, 2), {"short-kernels": 20}),
    "waits": (lambda: queued(400, 100), {"device-waits": 19, "device-bound": 80}),
    "communication": (lambda: with_stream(False, name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL"), {"communication": 30}),
    "hidden communication": (lambda: with_stream(True, name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL"), {"device-bound": 130}),
    "communication without NCCL": (lambda: with_stream(False, name="multimem_all_reduce_kernel"), {"communication": 30}),
    "hidden communication without NCCL": (
        lambda: with_stream(True, name="void vllm::cross_device_reduce_2stage<__half, 8>(vllm::RankData*)"), {"device-bound": 130}),
    "eager PyTorch": (lambda: mixed(GEMM, ADD), {"unfused-kernels": 50, "device-bound": 100}),
    "one operation at a time in JAX": (lambda: mixed("gemm_fusion_dot_1", "wrapped_add"), {"unfused-kernels": 50, "device-bound": 100}),
    "little to fuse": (lambda: mixed(*9 * [GEMM], ADD), {"device-bound": 100}),
    "compiled PyTorch": (lambda: mixed(GEMM, "triton_poi_fused_add_0", "triton_poi_fused_add_1", ADD, GEMM), {"device-bound": 100}),
    "compiled JAX": (lambda: mixed("gemm_fusion_dot_1", "loop_add_fusion"), {"device-bound": 100}),
    "copies": (lambda: with_stream(False, name="Memcpy HtoD (Pinned -> Device)", **COPY), {"copies": 30}),
    "hidden copies": (lambda: with_stream(True, name="Memcpy DtoH (Device -> Pinned)", **COPY), {"device-bound": 130}),
    "pageable copies": (lambda: with_stream(False, name="Memcpy HtoD (Pageable -> Device)", **COPY),
                        {"copies": 30, "pageable-copies": 30}),
    "small copies": (small_copies, {"copies": 20, "small-copies": 20}),
    "outlier": (outlier, {"outlier-steps": 0, "host-bound": 15, "device-bound": 100}),
    "busy outlier": (lambda: outlier(is_busy=True), {"outlier-steps": 15, "device-bound": 115}),
    "few blocks": (lambda: steps(Kineto(), **{"blocks per SM": 0.25}), {"few-blocks": 75, "device-bound": 100}),
    "few blocks of collectives": (lambda: with_stream(True, name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL", **{"blocks per SM": 0.1}),
                                  {"device-bound": 130}),
    "few blocks of a server's collectives": (lambda: with_stream(True, name="void vllm::cross_device_reduce_1stage<half, 8>(int)",
                                                                 **{"blocks per SM": 0.1}), {"device-bound": 130}),
    "enough blocks": (lambda: steps(Kineto(), **{"blocks per SM": 4.0}), {"device-bound": 100}),
    "memory": (reserved_memory, {"reserved-memory": 0, "device-bound": 100}),
}


def findings_of(kymo, path):
    return {finding["rule"]: finding for finding in kymo.json("recommend", path, "--format", "json")}


@pytest.mark.parametrize("case", CASES)
def test_a_rule_speaks_where_it_should_and_no_other_does(kymo, tmp_path, case):
    make, expected = CASES[case]
    make().write(tmp_path / "trace.json")
    found = findings_of(kymo, tmp_path / "trace.json")
    assert {rule: round(finding["cost_ns"] / 1e6) for rule, finding in found.items()} == expected


# The rules that divide the idle time of devices among them, and those that say when devices idle.
IDLE_RULES = ("host-bound", "launch-bound", "blocking-synchronization", "synchronous-copies", "synchronous-memsets", "allocator",
              "input-bound", "recompilation", "profiler-overhead", "short-kernels", "device-waits", "idle")
WHEN_RULES = ("low-utilization", "outlier-steps")


def idle_costs(kymo, path):
    """Costs of these rules in ns, and the sum of their shares. Fails where the program says that its rules claimed too much."""
    found = {rule: finding for rule, finding in findings_of(kymo, path).items() if rule in IDLE_RULES}
    return {rule: finding["cost_ns"] for rule, finding in found.items()}, sum(finding["share"] for finding in found.values())


def test_work_without_length_ends_the_gap_before_it(kymo, tmp_path):
    trace = Kineto()
    trace.span("kernel", "kernel_a", 0, 2, tid=7, pid=0, device=0, stream=7)
    for correlation, category, start, duration, called, took in ((1, "gpu_memcpy", 86, 0, 73, 11), (2, "kernel", 394, 2, 384, 8)):
        trace.span("cuda_runtime", "cudaLaunchKernel", called, took, correlation=correlation)
        trace.span(category, category, start, duration, tid=7, pid=0, device=0, stream=7, correlation=correlation)
    trace.write(tmp_path / "trace.json")
    assert idle_costs(kymo, tmp_path / "trace.json") == ({"launch-bound": 392_000}, pytest.approx(392 / 396))


def idle_time(work):
    """By looking at every microsecond: the window, and the lengths of the gaps between moments with work."""
    first, last = min(start for start, _ in work), max(end for _, end in work)
    moments = {time for span in work for time in span}
    gaps = []
    for time in range(first, last):
        if any(start <= time < end for start, end in work):
            continue
        if time in moments or not gaps or gaps[-1][1] != time:
            gaps.append([time, time])
        gaps[-1][1] = time + 1
    return last - first, [end - start for start, end in gaps]


@pytest.mark.parametrize("seed", range(2))
def test_causes_of_idle_time_add_up_to_it(kymo, tmp_path, some, seed):
    """Random work with zero lengths, equal times and overlaps; without launches the rules are known as well."""
    choose = random.Random(seed)
    for number in some(range(24)):
        trace, work = Kineto(), [(0, 2)]
        trace.span("kernel", "kernel_a", 0, 2, tid=7, pid=0, device=0, stream=7)
        has_launches = number % 2 == 1
        for _ in range(choose.randrange(1, 12)):
            start, length = choose.randrange(choose.choice((12, 80, 400))), choose.choice((0, 0, 0, 1, 5, 30))
            work.append((start, start + length))
            args = dict(stream=choose.choice((7, 20)), category=choose.choice(("kernel", "gpu_memcpy")))
            if has_launches:
                trace.kernel(start, length, choose.randrange(start + 20) - 15, **args)
            else:
                trace.span(args["category"], "kernel_a", start, length, tid=args["stream"], pid=0, device=0, stream=args["stream"])
        trace.write(tmp_path / "trace.json")
        costs, share = idle_costs(kymo, tmp_path / "trace.json")
        window, gaps = idle_time(work)
        left_out = 0.03 * window * (len(IDLE_RULES) - len(costs))
        assert sum(gaps) - left_out <= sum(costs.values()) / 1000 <= sum(gaps), (work, costs)
        assert share <= sum(gaps) / window + 1e-9
        if not has_launches:
            expected = {"idle": sum(gap for gap in gaps if gap >= 3), "short-kernels": sum(gap for gap in gaps if gap < 3)}
            assert costs == {rule: 1000 * cost for rule, cost in expected.items() if cost >= 0.03 * window}, work


HOST_WORK = (("prepare", "cpu_op"), ("cudaStreamSynchronize", "cuda_runtime"), ("cudaMemcpy", "cuda_runtime"), ("cudaMalloc", "cuda_runtime"),
             ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "user_annotation"), ("Activity Buffer Request", "overhead"))


@pytest.mark.parametrize("has_steps", [True, False])
def test_no_two_findings_claim_the_same_gap(kymo, tmp_path, some, has_steps):
    """Random steps, kernels, and what the host does before it launches them: costs of idle time, and of what happens then, fit into it."""
    choose, spoke = random.Random(has_steps), set()
    for _ in some(range(12)):
        trace, now, end, work = Kineto(), 0, 0, []
        for number in range(choose.randrange(5, 12)):
            start = now
            for _ in range(choose.randrange(1, 6)):
                length = choose.choice((0, 20, 300, 2000, 9000))
                if length:
                    name, category = choose.choice(HOST_WORK)
                    trace.host(name, now, length, category)
                now += length
                end = max(end, now) + choose.choice((0, 5, 500))
                duration = choose.choice((10, 400, 4000))
                trace.kernel(end, duration, now)
                work.append((end, end + duration))
                end += duration
                now += 5
            now = max(now, choose.choice((now, end)))
            if has_steps:
                trace.step(number, start, now - start)
        trace.write(tmp_path / "trace.json")
        found = kymo.json("recommend", tmp_path / "trace.json", "--format", "json")
        costs = {finding["rule"]: finding["cost_ns"] / 1000 for finding in found}
        busy = sum(last - first for first, last in work)
        window = max(now, end) if has_steps else end - work[0][0]
        assert sum(costs.get(rule, 0) for rule in IDLE_RULES) <= window - busy + 1e-3, costs
        assert sum(costs.get(rule, 0) for rule in WHEN_RULES) <= busy + 1e-3, costs
        assert costs.get("low-utilization", 0) == 0
        gaps = [(evidence["from_ps"], evidence["to_ps"]) for finding in found if finding["rule"] in IDLE_RULES
                for evidence in finding["evidence"]]
        assert len(gaps) == len(set(gaps))
        spoke |= costs.keys()
        for finding in found:
            assert (finding["rule"] in ("host-bound", "launch-bound")) == ("includes what the profiler adds" in finding["statement"])
    assert len(spoke & set(IDLE_RULES)) > 4 and (not has_steps or "outlier-steps" in spoke)


def test_causes_of_idle_time_claim_no_more_than_it_in_any_capture(kymo, some):
    captures = [path for folder in ("kineto", "xplane", "neuron") for path in sorted((DATA / folder).iterdir())
                if path.name not in ("hta.json", "corrupted.xplane.pb")]
    for path in some(captures):
        assert idle_costs(kymo, path)[1] <= 1, path


def test_the_host_work_behind_a_gap_is_named_and_its_evidence_is_the_gap(kymo, tmp_path):
    delayed("preprocess").write(tmp_path / "trace.json")
    finding = findings_of(kymo, tmp_path / "trace.json")["host-bound"]
    assert "preprocess (39.8 ms)" in finding["statement"]
    assert finding["share"] == pytest.approx(40 / 140, abs=0.001)
    assert finding["share_of"] == "the steps"
    first = finding["evidence"][0]
    assert first["to_ps"] - first["from_ps"] == pytest.approx(4e9, rel=0.01)


def test_an_outlier_says_which_step_it_is_and_what_it_did_more_of(kymo, tmp_path):
    outlier().write(tmp_path / "trace.json")
    finding = findings_of(kymo, tmp_path / "trace.json")["outlier-steps"]
    assert "step 6, the longest, takes 25.0 ms; the host spent 15.0 ms more in gc.collect" in finding["statement"]
    assert [one["label"] for one in finding["evidence"]] == ["step 6"]


def test_without_devices_steps_that_wait_for_input_are_found(kymo, tmp_path):
    trace = Kineto()
    for number in range(STEPS):
        trace.step(number, number * 10 * MS, 10 * MS)
        trace.host("enumerate(DataLoader)#__next__", number * 10 * MS, 3 * MS)
        trace.host("aten::mm", number * 10 * MS + 3 * MS, 7 * MS)
    trace.write(tmp_path / "trace.json")
    found = findings_of(kymo, tmp_path / "trace.json")
    assert {rule: round(finding["cost_ns"] / 1e6) for rule, finding in found.items()} == {"input-bound": 30}


def two_ranks(directory, kernels):
    """Ranks that meet in a collective operation at the end of each step; kernels: of each rank, of 1 ms."""
    directory.mkdir()
    for rank, count in enumerate(kernels):
        trace = Kineto(rank)
        for number in range(STEPS):
            start = number * 12 * MS
            trace.step(number, start, 12 * MS)
            for k in range(count):
                trace.kernel(start + 20 + k * MS, MS, start + k * 8)
            trace.kernel(start + 20 + count * MS, 12 * MS - count * MS - 20, start + 200, name="ncclDevKernel_AllReduce")
        trace.write(directory / f"rank{rank}.json")


@pytest.mark.parametrize("kernels, cost", [((11, 7), 40), ((9, 9), None)])
def test_a_rank_with_more_work_is_a_straggler(kymo, tmp_path, kernels, cost):
    two_ranks(tmp_path / "ranks", kernels)
    finding = findings_of(kymo, tmp_path / "ranks").get("straggler")
    assert (round(finding["cost_ns"] / 1e6) if finding else None) == cost
    if finding:
        assert "rank 0" in finding["statement"]


def test_the_first_device_is_shown_whatever_the_order_of_work_is(kymo, tmp_path):
    """Of two ranks, the second has less work: the query and the places of a finding are still those of the first."""
    (tmp_path / "ranks").mkdir()
    for rank, idle in enumerate(((40, 60), (40, 65))):
        trace = used_little(idle)
        trace.rank = rank
        trace.write(tmp_path / "ranks" / f"rank{rank}.json")
    tracks = kymo.document(tmp_path / "ranks")["tracks"]
    first, second = [t["track"] for t in tracks if t["name"].startswith("/device:GPU")]
    found = findings_of(kymo, tmp_path / "ranks")
    assert {"low-utilization", "device-waits"} <= found.keys()
    for rule in "low-utilization", "device-waits":
        assert re.findall(r"parent_id = (\d+)", found[rule]["query"]) == [str(first)] != [str(second)]


@pytest.mark.parametrize("name, words, others", [
    ("PjitFunction(step)", "(jax.jit)", "torch.|tf."), ("aten::mm", "(torch.compile)", "jax|tf."),
    ("ExecutorState::Process", "(tf.function)", "jax|torch"), ("work", "compile it away.", "jax|torch|tf.")])
def test_advice_is_in_the_words_of_the_framework(kymo, tmp_path, name, words, others):
    trace = delayed("preprocess")
    trace.host(name, 1, 1)
    for event in trace.events:
        if event["name"].startswith("ProfilerStep"):
            event["name"] = event["name"].replace("ProfilerStep#", "train ")
    trace.write(tmp_path / "trace.json")
    advice = findings_of(kymo, tmp_path / "trace.json")["host-bound"]["advice"]
    assert words in advice and not re.search(others.replace(".", "[.]"), advice) and "[" not in advice


def xla_kernels(path, details):
    """Kernels of XLA back to back on a device of 100 multiprocessors."""
    space = xspace.XSpace()
    xspace.task_environment(space, 10**18, 10**18 + 1)
    device = xspace.PlaneWriter(space, "/device:GPU:0")
    device.stat(device.plane.stats, "core_count", 100)
    line = device.line("Stream #1(Kernel)")
    for number in range(20):
        device.event(line, "loop_fusion", number * 10**9, 10**9, kernel_details=details)
    path.write_bytes(space.SerializeToString())


@pytest.mark.parametrize("details, rules", [
    ("regs:32 static_shared:0 dynamic_shared:0 grid:800,1,1 block:256,1,1 occ_pct:100", {"device-bound": 20}),
    # 8 blocks of 256 threads fit a multiprocessor: 1,000 blocks are 1.25 waves.
    ("regs:32 static_shared:0 dynamic_shared:0 grid:1000,1,1 block:256,1,1 occ_pct:100", {"device-bound": 20, "tail": 7}),
    ("regs:255 static_shared:0 dynamic_shared:0 grid:2500,1,1 block:256,1,1 occ_pct:12.5", {"device-bound": 20, "low-occupancy": 20}),
    ("regs:32 static_shared:0 dynamic_shared:0 grid:30,1,1 block:256,1,1 occ_pct:100", {"device-bound": 20, "few-blocks": 14}),
])
def test_kernels_that_leave_a_part_of_the_device_unused(kymo, tmp_path, details, rules):
    xla_kernels(tmp_path / "made.xplane.pb", details)
    found = findings_of(kymo, tmp_path / "made.xplane.pb")
    assert {rule: int(finding["cost_ns"] / 1e6) for rule, finding in found.items()} == rules


# What real captures are known to have; where steps are guessed, compilation is inside or outside of them.
REAL = {
    "xplane/jax_gpt_python_h200.xplane.pb": [{"host-bound"}, {"outlier-steps"}],
    "xplane/jax_matmul_h200.xplane.pb": [{"compilation", "recompilation"}, {"host-bound"}],
    "xplane/tpu_inference.xplane.pb": [{"copies"}],
    "kineto/nccl_gpu_rank.json.gz": [{"launch-bound"}, {"host-bound"}, {"communication"}],
}


@pytest.mark.slow
@pytest.mark.parametrize("capture", REAL)
def test_findings_of_a_capture_are_those_of_its_profile_and_their_queries_have_rows(kymo, tmp_path, capture):
    workspace = ("--data-path", tmp_path)
    path = DATA / capture
    direct = kymo.json("recommend", path, "--format", "json")
    rules = [finding["rule"] for finding in direct]
    assert all(one.intersection(rules) for one in REAL[capture]), rules
    assert sorted(direct, key=lambda finding: -finding["share"]) == direct
    assert direct == kymo.json("view", path, "--output-format", "summary-json")["findings"]
    kymo.ok("view", path, "--display-name", "p", "--ingest-only", *workspace)
    stored = kymo.json("recommend", "p", "--format", "json", *workspace)
    for one, other in zip(stored, direct, strict=True):
        assert one["evidence"] and one.keys() == other.keys()
        assert {key: one[key] for key in one if key not in ("cost_ns", "evidence")} == {
            key: other[key] for key in other if key not in ("cost_ns", "evidence")}
        assert one["cost_ns"] == int(other["cost_ns"])
        rows = kymo.json("sql", "p", "--format", "json", "--limit", "5", *workspace, one["query"])
        assert rows and ("id" in rows[0] or "name" in rows[0])
        for seen in one["evidence"]:
            if seen["event_id"] is not None:
                at = kymo.json("sql", "p", "--format", "json", *workspace,
                               f"SELECT start_ts FROM SystemProfileEvents WHERE id = {seen['event_id']}")
                assert seen["from_ps"] // 1000 - 1 <= at[0]["start_ts"] <= seen["to_ps"] // 1000 + 1  # rounded
    text = kymo.ok("recommend", "p", "--address", "http://host:1", *workspace)
    assert text.startswith(f"  1. {direct[0]['title']}: ")
    assert "http://host:1/profile/p?span=" in text and 'kymo sql p "SELECT' in text


@pytest.mark.slow
def test_the_query_of_every_rule_has_rows(kymo, tmp_path):
    workspace = ("--data-path", tmp_path / "workspace")
    (tmp_path / "captures").mkdir()
    made = {}
    for name in ("healthy", "launches", "synchronization", "synchronous copies", "synchronous memsets", "used little", "communication",
                 "pageable copies", "small copies", "outlier", "few blocks", "memory", "waits", "eager PyTorch"):
        made[name] = tmp_path / "captures" / f"{name}.json"
        CASES[name][0]().write(made[name])
    two_ranks(tmp_path / "captures" / "ranks", (11, 7))
    made["ranks"] = tmp_path / "captures" / "ranks"
    made["tail"] = tmp_path / "captures" / "tail.xplane.pb"
    xla_kernels(made["tail"], "regs:32 static_shared:0 dynamic_shared:0 grid:1050,1,1 block:256,1,1 occ_pct:25")
    seen = set()
    for name, path in made.items():
        kymo.ok("view", path, "--display-name", name, "--ingest-only", *workspace)
        for finding in kymo.json("recommend", name, "--format", "json", *workspace):
            if finding["rule"] in seen:
                continue
            seen.add(finding["rule"])
            assert finding["evidence"] or finding["rule"] == "reserved-memory", finding["rule"]
            assert kymo.json("sql", name, "--format", "json", "--limit", "1", *workspace, finding["query"]), finding["rule"]
    assert seen >= {"device-bound", "launch-bound", "blocking-synchronization", "communication", "copies", "pageable-copies",
                    "small-copies", "outlier-steps", "few-blocks", "tail", "low-occupancy", "reserved-memory", "device-waits", "straggler",
                    "synchronous-copies", "synchronous-memsets", "low-utilization", "unfused-kernels"}


@pytest.mark.parametrize("names, word", [((GEMM, ADD), "torch.compile"), (("gemm_fusion_dot_1", "wrapped_add"), "jax.jit"),
                                         ((GEMM, "void Eigen::internal::EigenMetaKernel<float>"), "jit_compile=True")])
def test_fusing_is_advised_in_the_words_of_the_framework(kymo, tmp_path, names, word):
    mixed(*names).write(tmp_path / "trace.json")
    finding = findings_of(kymo, tmp_path / "trace.json")["unfused-kernels"]
    assert word in finding["advice"]
    assert "take 50.0 ms of the 100 ms of all kernels on the device: elementwise (50.0 ms)" in finding["statement"]


def test_flash_attention_is_advised_only_where_attention_has_no_kernel_of_its_own(kymo, tmp_path):
    softmax = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*)"
    advice = {}
    for name, kernels in {"plain": (*9 * [GEMM], softmax), "flash": (*8 * [GEMM], softmax, "flash_fwd_kernel"), "none": (GEMM,)}.items():
        mixed(*kernels).write(tmp_path / f"{name}.json")
        advice[name] = "flash attention" in findings_of(kymo, tmp_path / f"{name}.json")["device-bound"]["advice"]
    assert advice == {"plain": True, "flash": False, "none": False}


def test_copies_and_memsets_are_not_counted_as_kernels(kymo, tmp_path):
    trace = launch_bound()
    for number in range(200):
        trace.kernel(number * 500 + 60, 10, number * 500 + 50, name="Memset (Device)", category="gpu_memset", call="cudaMemsetAsync")
    trace.write(tmp_path / "trace.json")
    assert ": 1,000 kernels take 10.0 us on average" in findings_of(kymo, tmp_path / "trace.json")["launch-bound"]["statement"]


def test_recommend_says_what_it_cannot_find(kymo, tmp_path):
    assert "no profile 'nothing'" in kymo.refuses("recommend", "nothing", "--data-path", tmp_path)
    assert "missing argument" in kymo.refuses("recommend", code=2)
