"""What captures of other vendors and older tracers say of devices, kernels and copies."""

import re

import pytest

import xspace
from conftest import DATA

XPLANE = DATA / "xplane"


@pytest.fixture(scope="module")
def query(kymo, tmp_path_factory):
    """Rows of a SELECT over a capture's tables."""
    path = tmp_path_factory.mktemp("profiles")
    made = set()

    def rows(capture, select):
        if capture not in made:
            made.add(capture)
            kymo.ok("view", XPLANE / f"{capture}.xplane.pb", "--display-name", capture, "--data-path", path,
                    "--ingest-only")
        return kymo.json("sql", capture, select, "--format", "json", "--data-path", path)

    return rows


def device_stats(capture, wanted):
    """[value of a stat] of the events on devices, as Python's protobuf reads them."""
    found = []
    for plane in xspace.load(XPLANE / f"{capture}.xplane.pb").planes:
        names = {entry.key: entry.value.name.decode() for entry in plane.stat_metadata}
        for event in (event for line in plane.lines for event in line.events):
            for stat in event.stats:
                if names[stat.metadata_id] == wanted and plane.name.startswith(b"/device:GPU"):
                    found.append(stat.str_value.decode() or names[stat.ref_value])
    return found


def words(text):
    return dict(word.split(":") for word in text.split())


def test_kernels_of_rocm_have_grid_block_and_shared_memory(query):
    expected = [
        (*(int(n) for n in re.split(",", f"{w['grid']},{w['block']}")), int(w["group_mem"]))
        for w in map(words, device_stats("rocm_mi300_gemm", "kernel_details"))
    ]
    rows = query("rocm_mi300_gemm", "SELECT * FROM GpuKernel")
    columns = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_bytes")
    assert sorted(tuple(row[c] for c in columns) for row in rows) == sorted(expected)
    unknown = ("registers_per_thread", "static_shared_bytes", "occupancy_percent")
    assert all(row[c] is None for row in rows for c in unknown)


def test_kernels_of_an_older_tensorflow_have_registers_and_shared_memory(query):
    expected = [
        (int(w["regs"]), int(w["shm"]), w["grid"].split(",")[0], w["block"].split(",")[0])
        for w in map(words, device_stats("tf_gpu_worker", "kernel_details"))
    ]
    rows = query("tf_gpu_worker", "SELECT * FROM GpuKernel")
    assert len(expected) == 160
    assert sorted(
        (r["registers_per_thread"], r["shared_bytes"], str(r["grid_x"]), str(r["block_x"])) for r in rows
    ) == sorted(expected)


def test_copies_of_an_older_tensorflow_have_size_and_direction(query):
    expected = [int(words(text)["size"]) for text in device_stats("tf_gpu_worker", "memcpy_details")]
    rows = query("tf_gpu_worker", "SELECT * FROM GpuCopy")
    assert sorted(row["size_bytes"] for row in rows) == sorted(expected)
    kinds = {"MemcpyH2D": ("host", "device"), "MemcpyD2H": ("device", "host")}
    assert all((row["source_kind"], row["destination_kind"]) == kinds[row["name"]] for row in rows)


@pytest.mark.parametrize("capture, model", [
    ("rocm_mi300_gemm", "AMD GPU (gfx942)"), ("tf_gpu_worker", "NVIDIA GPU (Volta)"),
    ("jax_matmul_h200", "NVIDIA H200"), ("tpu_inference", "TPU v6 Lite"),
])
def test_a_device_without_a_name_is_named_after_its_architecture(kymo, capture, model):
    summary = kymo.json("view", XPLANE / f"{capture}.xplane.pb", "--output-format", "summary-json")
    assert {device["model"] for device in summary["devices"]} == {model}


def test_memory_of_four_chips_is_told_apart(query):
    """Each chip's allocations say how much of it is in use; mixed up, these would jump."""
    rows = query("tpu_inference", "SELECT device_idx, count(*) AS n, max(peak_bytes_in_use) AS peak "
                 "FROM MemoryAllocation GROUP BY ALL ORDER BY ALL")
    expected = {}
    for plane in xspace.load(XPLANE / "tpu_inference.xplane.pb").planes:
        names = {entry.key: entry.value.name.decode() for entry in plane.stat_metadata}
        for event in (event for line in plane.lines for event in line.events):
            stats = {names[stat.metadata_id]: stat.int64_value for stat in event.stats}
            if "bytes_reserved" in stats:
                expected.setdefault(stats["index_on_host"], []).append(stats["peak_bytes_in_use"])
    assert [(row["device_idx"], row["n"], row["peak"]) for row in rows] == [
        (chip, len(peaks), max(peaks)) for chip, peaks in sorted(expected.items())]
    assert len(rows) == 4
