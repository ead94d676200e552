"""Recordings of an H200: a JAX and a PyTorch program, compared with what their own profilers said of the same steps."""

import collections
import gzip
import json
import lzma
import statistics
import tarfile

import pytest

import kernel_names
from conftest import DATA
from test_gpu import Tables

STEPS = 25  # of 348 activities each in one graph
JAX_STEP_NS = 1_309_348  # device time of a step, by JAX's own profiler


def recorded(kymo, tmp_path_factory, name):
    folder = tmp_path_factory.mktemp(name)
    with tarfile.open(DATA / "gpu" / f"{name}.tar.xz") as archive:
        archive.extractall(folder)
    (capture,) = folder.iterdir()
    return Tables(kymo, capture, folder / "tables")


@pytest.fixture(scope="module")
def jax(kymo, tmp_path_factory):
    return recorded(kymo, tmp_path_factory, "jax_gpt_h200")


@pytest.fixture(scope="module")
def torch(kymo, tmp_path_factory):
    return recorded(kymo, tmp_path_factory, "torch_mlp_h200")


def steps_of(tables):
    """Activities of the training step's graph, by launch."""
    launches = collections.defaultdict(list)
    for row in tables.rows("GpuKernel") + tables.rows("GpuCopy"):
        if row["cuda_graph_id"] and row["hlo_module"] == "jit_step":
            launches[row["correlation_id"]].append(row)
    return list(launches.values())


def test_steps_take_the_time_that_jax_says(jax):
    steps = steps_of(jax)
    assert [len(step) for step in steps] == [348] * STEPS
    times = [sum(row["duration_ns"] for row in step) for step in steps]
    assert statistics.median(times) == pytest.approx(JAX_STEP_NS, rel=0.02)


def test_all_time_in_graphs_has_its_operation(jax):
    rows = [row for step in steps_of(jax) for row in step]
    assert {row["program_id"] for row in rows} == {12698}
    assert all(row["hlo_op"] and row["launch_event_id"] is not None for row in rows)
    scopes = collections.Counter()
    for row in rows:
        scopes[(row["framework_op"] or "").split("/")[-1]] += row["duration_ns"]
    assert scopes["dot_general"] > 0.3 * sum(scopes.values())


def test_operations_have_kinds_and_source_lines(jax):
    operations = {row["id"]: row for row in jax.rows("HloOperation")}
    rows = [row for row in jax.rows("GpuKernel") if row["cuda_graph_id"] and row["hlo_module"] == "jit_step"]
    found = [operations[row["operation_id"]] for row in rows]
    assert len(found) == len(rows)
    lines = [row["source_line"] for row in found if (row["source_file"] or "").endswith("jax_gpt.py")]
    assert len(lines) > 0.9 * len(rows) and min(lines) > 0


def test_kernels_are_those_that_torch_profiler_says(torch):
    with gzip.open(DATA / "gpu" / "torch_mlp_h200.kernels.json.gz") as file:
        theirs = json.load(file)
    ours = sorted(torch.rows("GpuKernel"), key=lambda row: row["start_ts"])[-len(theirs):]
    assert collections.Counter(
        (kernel_names.plain(row["name"]), row["grid_x"], row["grid_y"], row["block_x"], row["registers_per_thread"]) for row in ours
    ) == collections.Counter(
        (row["name"], row["args"]["grid"][0], row["args"]["grid"][1], row["args"]["block"][0], row["args"]["registers per thread"])
        for row in theirs)
    assert sum(row["duration_ns"] for row in ours) / 1e3 == pytest.approx(sum(row["dur"] for row in theirs), rel=0.02)
    assert all(row["launch_event_id"] is not None for row in ours)


# ---- Traces of kymo.profiler, begun in programs that had used CUDA before ----------------------

ATTACHED_STEPS = 3


def attached(kymo, folder, name):
    capture = folder / f"{name}.xplane.pb"
    capture.write_bytes(lzma.decompress((DATA / "gpu" / f"{name}_attached_h200.xplane.pb.xz").read_bytes()))
    return Tables(kymo, capture, folder / "tables")


@pytest.mark.parametrize("name, framework, launch", [("jax_gpt", "jax", "cuGraphLaunch"), ("torch_gpt", "torch", "cudaLaunchKernel")])
def test_a_trace_has_the_kernels_that_the_frameworks_own_profiler_says(kymo, tmp_path, name, framework, launch):
    with gzip.open(DATA / "gpu" / "attached_h200.kernels.json.gz") as file:
        theirs = json.load(file)[framework]  # of as many steps
    tables = attached(kymo, tmp_path, name)
    ours = tables.rows("GpuKernel")
    assert collections.Counter(row["name"] for row in ours) == collections.Counter(name for name, _ in theirs)
    assert sum(row["duration_ns"] for row in ours) == pytest.approx(sum(ns for _, ns in theirs), rel=0.02)
    # One clock: kernels begin after the calls that launch them, inside the steps.
    events = {row["id"]: row for row in tables.rows("SystemProfileEvents")}
    launches = [events[row["launch_event_id"]] for row in ours]
    assert launch in {row["name"] for row in launches}
    assert all(row["start_ts"] > call["start_ts"] for row, call in zip(ours, launches, strict=True))
    steps = [row for row in events.values() if row["name"] == "train"]
    assert len(steps) == len(tables.rows("Step")) == ATTACHED_STEPS
    assert all(any(step["start_ts"] <= call["start_ts"] and call["end_ts"] <= step["end_ts"] for step in steps) or
               call["track_id"] != steps[0]["track_id"] for call in launches)
