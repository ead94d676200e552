"""Kinds of kernels: what the tables say of each kernel, and every figure by family as a query over them."""

import collections
import gzip
import json

import pytest

from conftest import DATA
from test_findings import ADD, GEMM, MS, STEPS, Kineto, mixed

TRACES = ["kineto/torch_gpt_cut.json.gz", "kineto/sglang_modules.json.gz", "kineto/nccl_gpu_rank.json.gz",
          "kineto/torch_compile_triton.json.gz", "kineto/recommender_rank.json.gz"]
CAPTURES = [*TRACES, "xplane/jax_gpt_python_h200.xplane.pb", "xplane/rocm_mi300_gemm.xplane.pb", "xplane/tf_gpu_worker.xplane.pb"]
TENSOR_CORES = {"yes": True, "no": False, "unknown": None}


@pytest.fixture
def profile(kymo, tmp_path):
    """Processes a capture; gives what asks its tables."""
    def make(path, name="p"):
        kymo.ok("view", path, "--ingest-only", "--display-name", name, "--data-path", tmp_path / "profiles")

        def sql(query):
            return kymo.json("sql", name, query, "--format", "json", "--limit", "100000", "--data-path", tmp_path / "profiles")
        return sql
    make.place = tmp_path / "profiles"
    return make


def by_hand():
    lines = (DATA / "kernel_families.tsv").read_text().splitlines()[1:]
    return {name: (family, TENSOR_CORES[tensor_cores]) for name, family, tensor_cores in (line.split("\t") for line in lines)}


@pytest.mark.parametrize("capture", CAPTURES)
def test_families_are_those_chosen_by_hand_and_their_sums_those_of_the_table(kymo, profile, capture):
    sql, known = profile(DATA / capture), by_hand()
    kernels = sql("SELECT name, family, uses_tensor_cores, duration_ns, operation_id FROM GpuKernel")
    sums = collections.defaultdict(lambda: [0, 0])
    for kernel in kernels:
        sums[kernel["family"]][0] += 1
        sums[kernel["family"]][1] += kernel["duration_ns"]
        family, tensor_cores = known.get(kernel["name"], (kernel["family"], kernel["uses_tensor_cores"]))
        assert kernel["family"] == family, kernel["name"]
        if tensor_cores is not None or kernel["operation_id"] is None:  # an operation may tell more than a name
            assert kernel["uses_tensor_cores"] == tensor_cores, kernel["name"]
    assert any(kernel["name"] in known for kernel in kernels)
    whole = sum(time for _, time in sums.values())
    summary = kymo.document(DATA / capture, "--output-format", "summary-json")
    assert {row["family"]: (row["count"], row["total_ns"], row["share"]) for row in summary["kernel_families"]} == {
        family: (count, pytest.approx(time, rel=1e-4), pytest.approx(time / whole, abs=1e-4)) for family, (count, time) in sums.items()}
    assert [row["total_ns"] for row in summary["kernel_families"]] == sorted((row["total_ns"] for row in summary["kernel_families"]), reverse=True)
    assert sum(row["count"] for row in summary["kernels"]) == len(kernels)
    assert sum(row["share"] for row in summary["kernels"]) == pytest.approx(1)
    assert sum(row["count"] for row in summary["copies"]) == sql("SELECT count(*) AS n FROM GpuCopy")[0]["n"] if summary["copies"] else True


@pytest.mark.parametrize("capture", TRACES)
def test_kernels_are_the_events_that_the_trace_calls_so(kymo, capture):
    with gzip.open(DATA / capture) as file:
        events = json.load(file)["traceEvents"]
    count = collections.Counter(event.get("cat", "").lower() for event in events if event.get("ph") == "X")
    summary = kymo.document(DATA / capture, "--output-format", "summary-json")
    assert sum(row["count"] for row in summary["kernels"]) == count["kernel"]
    assert sum(row["count"] for row in summary["copies"]) == sum(count[kind] for kind in ("gpu_memcpy", "gpu_memset", "memcpy", "memset"))


@pytest.mark.parametrize("name, operation", [
    ("multimem_all_reduce_kernel", "allreduce"),
    ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)", "allreduce"),
    ("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", "alltoall"),
    ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reducescatter"),
])
def test_collectives_of_any_library_communicate(kymo, profile, tmp_path, name, operation):
    """In each step, kernels that compute for 8 ms, then a collective of 2 ms that nothing hides."""
    mixed(*4 * [GEMM], name).write(tmp_path / "trace.json")
    sql = profile(tmp_path / "trace.json")
    parts = sql("SELECT sum(collectives_ns) AS collectives, sum(compute_16_ns + compute_32_ns + compute_other_ns) AS compute FROM StepBreakdown")
    assert parts == [{"collectives": 2 * MS * 1000 * STEPS, "compute": 8 * MS * 1000 * STEPS}]
    assert sql("SELECT sum(exposed_communication_ns) AS ns, sum(collective_count) AS n FROM RankStep") == [
        {"ns": 2 * MS * 1000 * STEPS, "n": 2 * STEPS}]
    for table in ("Collective", "RankCollective"):
        assert sql(f"SELECT operation, count(*) AS n, sum(duration_ns) AS ns FROM {table} GROUP BY ALL") == [
            {"operation": operation, "n": 2 * STEPS, "ns": 2 * MS * 1000 * STEPS}]
    [rows] = kymo.json("tool", "collective_stats", "p", "--format", "json", "--data-path", profile.place).values()
    assert [(row["operation"], row["occurrences"], row["total_us"]) for row in rows] == [(operation, 2 * STEPS, 2 * MS * STEPS)]


def test_a_fused_kernel_named_after_a_collective_computes(profile, tmp_path):
    mixed("triton_poi_fused_all_gather_into_tensor_wait_tensor_1").write(tmp_path / "trace.json")
    assert profile(tmp_path / "trace.json")("SELECT sum(collectives_ns) AS ns FROM StepBreakdown") == [{"ns": 0}]


def test_unknown_is_null_in_reports_and_families_have_reports(kymo, profile, tmp_path):
    mixed(GEMM, ADD, "fused_moe_kernel", "my_kernel").write(tmp_path / "trace.json")
    profile(tmp_path / "trace.json")
    place = ("--data-path", profile.place)
    [rows] = kymo.json("tool", "kernel_stats", "p", "--format", "json", *place).values()
    assert {row["kernel_name"]: (row["family"], row["uses_tensor_cores"]) for row in rows} == {
        GEMM: ("gemm", True), ADD: ("elementwise", False), "fused_moe_kernel": ("gemm", None), "my_kernel": ("other", None)}
    text = kymo.ok("tool", "kernel_stats", "p", *place)
    words = {name: [word for word in ("yes", "no") if word in line.split()] for line in text.splitlines()
             for name in ("nvjet", "at::native", "my_kernel") if name in line}
    assert words == {"nvjet": ["yes"], "at::native": ["no"], "my_kernel": []}
    gviz = json.loads(kymo.ok("tool", "kernel_stats", "p", "--format", "gviz", *place))
    at = [column["id"] for column in gviz["cols"]].index("is_kernel_using_tensor_core")
    assert "uses_tensor_cores" not in [column["id"] for column in gviz["cols"]]
    assert all(isinstance(row["c"][at]["v"], bool) for row in gviz["rows"])
    rows = kymo.json("stats", "p", "kernel_family_sum", "--format", "json", *place)
    assert {row["Family"]: row["Instances"] for row in rows} == {
        "gemm": 5 * STEPS, "elementwise": 3 * STEPS, "other": 2 * STEPS}


def test_symbols_are_shown_as_names_and_stay_in_the_tables(kymo, profile):
    sql = profile(DATA / "kineto" / "sglang_modules.json.gz")
    readable = "aiter::add_rmsnorm_quant_kernel<__bf16, __bf16, 64, 8, false, false, true, 1>"
    symbol = "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib"
    [[count]] = [row.values() for row in sql(f"SELECT count(*) FROM GpuKernel WHERE name = '{symbol}'")]
    rows = {row["Name"]: row["Instances"] for row in kymo.json("stats", "p", "cuda_gpu_kern_sum", "--format", "json", "--data-path", profile.place)}
    assert rows[readable] == count > 0 and not any(name.startswith("_Z") for name in rows)
    summary = kymo.document(DATA / "kineto" / "sglang_modules.json.gz", "--output-format", "summary-json")
    assert {row["name"]: row["count"] for row in summary["kernels"]}[readable] == count


def test_diff_compares_families(kymo, tmp_path):
    mixed(GEMM, ADD).write(tmp_path / "a.json")
    mixed(GEMM, GEMM, GEMM, GEMM, "triton_poi_fused_add_0").write(tmp_path / "b.json")
    rows = kymo.json("diff", tmp_path / "a.json", tmp_path / "b.json", "--by", "families", "--format", "json")["rows"]
    assert {row["name"]: (row["a"], row["b"]) for row in rows} == {
        "gemm": (5e6, 8e6), "elementwise": (5e6, 2e6)}
