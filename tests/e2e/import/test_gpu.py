"""Recordings of GPUs: every activity of gpu_trace.pb is in the tables, with the operation it was launched for."""

import json
import os
import random
import re
import shutil
import struct
import sys

import pyarrow.parquet
import pytest

import kernel_names
import schema
from gpu_session import DEVICE, MONOTONIC_NS, Session

COPIES = ["MemcpyOther", "MemcpyH2D", "MemcpyD2H", "MemcpyH2A", "MemcpyA2H", "MemcpyA2A", "MemcpyA2D", "MemcpyD2A",
          "MemcpyD2D", "MemcpyH2H", "MemcpyP2P"]
MEMORY = ["unknown", "pageable", "pinned", "device", "array", "managed", "device_static", "managed_static"]
WAITS = ["Synchronize", "Event synchronize", "Stream wait event", "Stream synchronize", "Context synchronize"]
OVERHEADS = {0: "Other overhead", 1: "Other overhead", 1 << 16: "Buffer flush", 5 << 16: "Lazy function loading"}


class Tables:
    def __init__(self, kymo, capture, directory, warnings=0):
        result = kymo.run("view", capture, "--output-file", directory, "--ingest-only")
        assert result.returncode == 0, result.stderr
        assert len(result.stderr.splitlines()) == warnings, result.stderr
        self.directory, self.errors = directory, result.stderr
        self.tracks = {track["id"]: track for track in self.rows("Track")}

    def rows(self, table):
        path = self.directory / f"{table}.parquet"
        return pyarrow.parquet.read_table(path).to_pylist() if path.exists() else []

    def events(self, lane):
        """Of lanes whose name starts so: with name, start, end, args and lane."""
        for row in self.rows("SystemProfileEvents"):
            name = self.tracks[row["track_id"]]["name"] or ""
            if name.startswith(lane):
                yield {**row, "lane": name, "args": json.loads(row["extra_attributes_json"] or "{}")}


def only(rows, *names):
    return sorted((tuple(row[name] for name in names) for row in rows), key=repr)


# ---- Every activity ---------------------------------------------------------------------------


READABLE = {"_Z3addPfS_i": "add", "_ZN2at6native3fooIbEEvT_": "at::native::foo<bool>"}
# Each argument is the one before, twice: written out, the name has 2 GB.
DOUBLING = "_Z1fI1AIiiE" + "".join(f"S_IS{n}_S{n}_E" for n in "0123456789ABCDEFGHIJKLMNO") + "EvT_"


def random_session(seed):
    """Activities of all tables in pieces of random size, and what the tables must have of them."""
    dice = random.Random(seed)
    session, expected = Session(), {name: [] for name in ("kernels", "copies", "fills", "calls", "waits", "overheads")}
    for device in range(2):
        session.device(device)
    correlation = 0
    for _ in range(800):
        start, duration = dice.randrange(10**9), dice.choice([0, 1, 37, 5000, 10**6])
        device, stream = dice.randrange(2), dice.choice([7, 13, 14])
        where = {"start_ns": start, "duration_ns": duration}
        lane = session.stream(device, 1, stream)
        correlation = dice.choice([correlation + 1, dice.randrange(2**32)])
        graph, node = dice.choice([(0, 0), (dice.randrange(1, 99), dice.randrange(1, 2**63))])
        launch = {"stream": lane, "correlation": correlation, "graph": graph, "graph_node": node}
        what = dice.choice(list(expected))
        if what == "kernels":
            shape = {"grid_x": dice.randrange(1, 2**31), "block_x": dice.choice([1, 32, 256]),
                     "registers": dice.choice([16, 255]), "static_shared_bytes": dice.choice([0, 1024]),
                     "dynamic_shared_bytes": dice.choice([0, 73752])}
            name = dice.choice(["gemm_fusion", "größe", DOUBLING, *READABLE])
            session.add("kernels", **where, **launch, shape=session.shape(name, **shape))
            expected[what].append((name, start, start + duration, device, stream, correlation,
                                   shape["grid_x"], shape["block_x"], shape["registers"], shape["static_shared_bytes"],
                                   shape["dynamic_shared_bytes"], graph or None, node or None))
        elif what == "copies":
            kind, source, destination = dice.randrange(11), dice.randrange(8), dice.randrange(8)
            size, flags, peer = dice.randrange(2**40), dice.randrange(2), dice.choice([0, 2])
            session.add("copies", **where, **launch, kind=kind, source_kind=source, destination_kind=destination,
                        flags=flags, bytes=size, destination_device=peer)
            expected[what].append((COPIES[kind], start, start + duration, device, stream, correlation, size,
                                   MEMORY[source], MEMORY[destination], bool(flags), graph or None, node or None))
        elif what == "fills":
            value, size = dice.choice([0, 255, 2**31]), dice.randrange(2**40)
            session.add("fills", **where, **launch, value=value, bytes=size, memory_kind=3)
            name = f"Memset {value}" if value < 256 else "Memset"
            expected[what].append((name, start, start + duration, device, stream, correlation, size, None, "device", True,
                                   graph or None, node or None))
        elif what == "calls":
            name = dice.choice(["cuLaunchKernel", "cudaLaunchKernel_v7000", "cuMemcpyHtoDAsync_v2"])
            thread = dice.choice([77, 78])
            session.add("calls", **where, name=session.text(name), thread=thread, correlation=correlation,
                        result=dice.choice([0, 700]))
            expected[what].append((name.removesuffix("_v7000"), start, start + duration, thread))
        elif what == "waits":
            kind = dice.randrange(6)
            session.add("waits", **where, type=kind, context=1, stream=dice.choice([7, 2**32 - 1]), event=2**32 - 1,
                        correlation=correlation)
            expected[what].append((WAITS[kind if kind < 5 else 0], start, start + duration))
        else:
            kind = dice.choice(list(OVERHEADS))
            session.add("overheads", **where, kind=kind, object_kind=2, object=77)
            expected[what].append((OVERHEADS[kind], start, start + duration))
        if dice.randrange(50) == 0:
            session.flush()
    return session, expected


@pytest.mark.parametrize("seed", range(3))
def test_every_activity_is_in_the_tables(kymo, tmp_path, seed):
    session, expected = random_session(seed)
    session.ranges(77, [(0, "train", True), (10**9 - 1, "train", False)], name="main")
    session.write(tmp_path / "capture")
    tables = Tables(kymo, tmp_path / "capture", tmp_path / "tables")
    time = ("name", "start_ts", "end_ts")
    where = (*time, "device_idx", "stream_id", "correlation_id")
    graph = ("cuda_graph_id", "cuda_graph_node_id")
    assert only(tables.rows("GpuKernel"), *where, "grid_x", "block_x", "registers_per_thread", "static_shared_bytes",
                "dynamic_shared_bytes", *graph) == sorted(expected["kernels"], key=repr)
    shown = {row["name"]: row["display_name"] for row in tables.rows("EventType") if row["name"].startswith("_Z")}
    doubled = shown.pop(DOUBLING)
    assert shown == READABLE
    assert kernel_names.key(doubled) == kernel_names.key(DOUBLING) and len(doubled) < 1100
    copies = only(tables.rows("GpuCopy"), *where, "size_bytes", "source_kind", "destination_kind", "is_async", *graph)
    assert copies == sorted(expected["copies"] + expected["fills"], key=repr)
    threads = {track["id"]: track["number"] for track in tables.rows("Track")}
    calls = [{**row, "thread": threads[row["track_id"]]} for row in tables.rows("SystemProfileEvents")
             if row["name"].startswith("cu")]
    assert only(calls, *time, "thread") == sorted(expected["calls"], key=repr)
    assert only(tables.events("CUDA synchronization"), *time) == sorted(expected["waits"], key=repr)
    assert only(tables.events("CUPTI overhead"), *time) == sorted(expected["overheads"], key=repr)


def test_waits_and_overheads_are_no_ranges_whatever_their_names(kymo, tmp_path):
    session = Session()
    session.device(0)
    stream = session.stream(0, 1, 7)
    session.add("calls", 5, duration_ns=10, name=session.text("cuLaunchKernel"), thread=77, correlation=1)
    session.add("kernels", 20, duration_ns=50, stream=stream, shape=session.shape("a"), correlation=1)
    session.add("waits", 0, duration_ns=400, type=3, context=1, stream=7, event=2**32 - 1, correlation=2)
    session.add("overheads", 0, duration_ns=40, kind=1 << 16, object_kind=2, object=77)
    session.add("windows", 0, duration_ns=900)
    session.ranges(77, [(0, "Stream synchronize", True), (800, "Stream synchronize", False)], name="main")
    session.write(tmp_path / "capture")
    for report, column in (("nvtx_sum", "Range"), ("nvtx_pushpop_trace", "Name"), ("nvtx_kern_sum", "NVTX Range"),
                           ("nvtx_gpu_proj_sum", "Range"), ("nvtx_gpu_proj_trace", "Name")):  # fmt: skip
        rows = kymo.json("stats", tmp_path / "capture", report, "--format", "json")
        assert [row[column] for row in rows] == ["Stream synchronize"], report


def test_lanes_and_devices_are_named_as_in_an_xplane(kymo, tmp_path):
    session = Session()
    session.device(0)
    session.add("kernels", 10, duration_ns=5, stream=session.stream(0, 1, 14), shape=session.shape("a"), correlation=1)
    session.add("fills", 20, duration_ns=5, stream=session.stream(0, 1, 14), correlation=2)
    session.add("copies", 30, duration_ns=5, stream=session.stream(0, 1, 15), kind=1, correlation=3)
    session.write(tmp_path / "capture")
    document = kymo.document(tmp_path / "capture")
    (device,) = [track for track in document["tracks"] if track["name"] == "/device:GPU:0"]
    assert device["args"] == {
        "device_vendor": "Nvidia", "gpu_device_name": "NVIDIA H200", "clock_rate": DEVICE["clock_khz"],
        "core_count": DEVICE["multiprocessors"], "memory_bandwidth": DEVICE["memory_bytes_per_s"],
        "memory_size": DEVICE["memory_bytes"], "compute_cap_major": 9, "compute_cap_minor": 0}
    assert [track["name"] for track in document["tracks"] if track.get("role") == "stream"] == ["Stream #14(Compute,Memset)", "Stream #15(MemcpyH2D)"]


def test_threads_without_annotations_have_the_names_of_the_file(kymo, tmp_path):
    session = Session()
    session.ranges(77, [(0, "train", True), (900, "train", False)], name="annotated")
    for thread in (77, 78, 79):
        session.add("calls", 10, duration_ns=5, name=session.text("cuLaunchKernel"), thread=thread, correlation=thread)
    for thread, name in ((77, "python"), (78, "pt_autograd_0")):
        session.trace.threads.add(thread=thread, name=session.text(name))
    session.trace.threads.add(thread=79, name=10**6)  # no such text
    session.write(tmp_path / "capture")
    tables = Tables(kymo, tmp_path / "capture", tmp_path / "tables")
    lanes = [tables.tracks[row["track_id"]] for row in tables.rows("SystemProfileEvents") if row["name"] == "cuLaunchKernel"]
    assert sorted((lane["number"], lane["name"]) for lane in lanes) == [(77, "annotated"), (78, "pt_autograd_0"), (79, "")]


# ---- Operations -------------------------------------------------------------------------------

THUNK = "Thunk:#name=jit(step)/layer{n}/dot_general[dims=((1,),(0,))],hlo_op=gemm_fusion_dot.{n},unique_hlo_op_id=7#"
MODULE = "XlaModule:#hlo_module=jit_step,program_id=12698#"


def operations(tables):
    return {row["correlation_id"]: (row["hlo_op"], row["hlo_module"], row["program_id"], row["framework_op"])
            for row in tables.rows("GpuKernel")}


def operation(number):
    return (f"gemm_fusion_dot.{number}", "jit_step", 12698, f"jit(step)/layer{number}/dot_general[dims=((1,),(0,))]")


def test_a_kernel_in_a_graph_has_the_operation_its_node_was_made_for(kymo, tmp_path):
    """The node that is launched is a copy of a copy of one that was made in an operation's range."""
    session = Session()
    session.device(0)
    first, second = session.text(THUNK.format(n=1)), session.text(THUNK.format(n=2))
    module = session.text(MODULE)
    for node, original, within in [(11, 0, first), (12, 0, second), (21, 11, module), (22, 12, module), (31, 21, module),
                                   (91, 92, 0), (92, 91, 0)]:
        session.add("nodes", node=node, original=original, range=within)
    for number, node in enumerate([21, 22, 31, 99, 91], 1):
        session.add("kernels", 10 * number, duration_ns=5, stream=session.stream(0, 1, 14), shape=session.shape("k"),
                    correlation=number, graph=3, graph_node=node)
    session.write(tmp_path / "capture")
    found = operations(Tables(kymo, tmp_path / "capture", tmp_path / "tables"))
    nothing = (None, None, None, None)
    assert found == {1: operation(1), 2: operation(2), 3: operation(1), 4: nothing, 5: nothing}


def test_a_kernel_outside_of_graphs_has_the_operation_its_thread_was_in(kymo, tmp_path):
    session = Session()
    session.device(0)
    session.ranges(77, [(100, MODULE, True), (200, THUNK.format(n=1), True), (300, THUNK.format(n=1), False),
                        (300, THUNK.format(n=2), True), (400, THUNK.format(n=2), False), (500, MODULE, False)])
    session.ranges(78, [(0, "elsewhere", True), (900, "elsewhere", False)])
    moments = {1: (50, 77), 2: (150, 77), 3: (250, 77), 4: (300, 77), 5: (399, 77), 6: (450, 77), 7: (600, 77), 8: (250, 78)}
    for correlation, (time, thread) in moments.items():
        session.add("calls", time, duration_ns=1, name=session.text("cuLaunchKernel"), thread=thread, correlation=correlation)
        session.add("kernels", time + 1000, duration_ns=5, stream=session.stream(0, 1, 14), shape=session.shape("k"),
                    correlation=correlation)
    session.write(tmp_path / "capture")
    found = operations(Tables(kymo, tmp_path / "capture", tmp_path / "tables"))
    nothing, only_module = (None, None, None, None), (None, "jit_step", 12698, None)
    assert found == {1: nothing, 2: only_module, 3: operation(1), 4: operation(2), 5: operation(2), 6: only_module,
                     7: nothing, 8: nothing}


# ---- Memory and windows -----------------------------------------------------------------------


def test_memory_in_use_is_a_counter_of_each_device(kymo, tmp_path):
    session, dice = Session(), random.Random(4)
    session.device(0)
    changes = []
    for address in range(40):
        start, size, device = dice.randrange(10**6), dice.randrange(1, 10**9), dice.randrange(2)
        changes += [(start, device, size), (start + 10**6, device, -size)]
        for time, operation in [(start, 1), (start + 10**6, 2)]:
            session.add("allocations", operation=operation, memory_kind=3, bytes=size, address=address, device=device,
                        time_ns=MONOTONIC_NS + time)
    session.add("allocations", operation=1, memory_kind=2, bytes=7, device=0, time_ns=MONOTONIC_NS)  # of the host
    session.write(tmp_path / "capture")
    expected, used = [], [0, 0]
    for time, device, size in sorted(changes):
        used[device] += size
        expected.append((f"/device:GPU:{device}", time, used[device]))
    tables = Tables(kymo, tmp_path / "capture", tmp_path / "tables")
    found = [(tables.tracks[tables.tracks[row["track_id"]]["parent_id"]]["name"], row["timestamp"], row["value"])
             for row in tables.rows("CounterSample")]
    assert sorted(found) == sorted(expected)


COUNTERS = {"power_mw": ("Power (W)", 1000), "sm_clock_mhz": ("SM clock (MHz)", 1), "memory_clock_mhz": ("Memory clock (MHz)", 1),
            "temperature_c": ("Temperature (°C)", 1), "memory_used_bytes": ("Memory used by all processes (bytes)", 1),
            "gpu_utilization_percent": ("GPU utilization (%)", 1), "memory_utilization_percent": ("Memory utilization (%)", 1),
            "pcie_tx_kb_per_s": ("PCIe TX (MB/s)", 1000), "pcie_rx_kb_per_s": ("PCIe RX (MB/s)", 1000),
            "nvlink_tx_bytes_per_s": ("NVLink TX (MB/s)", 10**6), "nvlink_rx_bytes_per_s": ("NVLink RX (MB/s)", 10**6),
            "of a later version": ("of a later version", 1)}


def test_samples_are_counters_of_each_device(kymo, tmp_path):
    session, dice, expected = Session(), random.Random(5), []
    session.device(0)
    for time in range(0, 10**8, 10**6):
        device, counter = dice.randrange(3), dice.choice(list(COUNTERS))
        value = dice.choice([0, dice.randrange(100), dice.randrange(2**40)])
        session.add("counters", time_ns=MONOTONIC_NS + time, device=device, counter=session.text(counter), value=value)
        name, divisor = COUNTERS[counter]
        expected.append((f"/device:GPU:{device}", name, name, time, value / divisor))
        if dice.randrange(10) == 0:
            session.flush()
    session.write(tmp_path / "capture")
    tables = Tables(kymo, tmp_path / "capture", tmp_path / "tables")
    found = []
    for row in tables.rows("CounterSample"):
        track = tables.tracks[row["track_id"]]
        found.append((tables.tracks[track["parent_id"]]["name"], track["name"], row["name"], row["timestamp"], row["value"]))
    assert sorted(found) == sorted(expected)


def memory_pool(session, dice):
    """Allocations of two pools, of the device and of the host: what MemoryAllocation and the counters must have."""
    events, samples = [], []
    in_use = {"GPU 0": 0, "pinned memory": 0}
    for i in range(60):
        time, size, address = 1000 * i, dice.randrange(1, 10**6), 2**40 + i
        pool, operation = dice.randrange(4), dice.choice([1, 1, 2])
        allocator = ["GPU 0, memory pool 1", "GPU 0, memory pool 2", "GPU 0", "pinned memory"][pool]
        row = {"time_ns": MONOTONIC_NS + time, "operation": operation, "memory_kind": 2 if pool == 3 else 3, "bytes": size, "address": address}
        if pool < 2:
            reserved, used = dice.randrange(10**9), dice.randrange(10**9)
            row |= {"pool": 4096 * (pool + 1), "pool_bytes": reserved + 1, "pool_used_bytes": used, "is_async": 1}
            used = used if operation == 1 else max(0, used - size)  # it is told before a release
            samples += [(f"Memory pool {pool + 1}: size (bytes)", time, reserved + 1), (f"Memory pool {pool + 1}: used (bytes)", time, used)]
            after = (used, reserved + 1)
        else:
            in_use[allocator] = max(0, in_use[allocator] + (size if operation == 1 else -size))
            after = (in_use[allocator], in_use[allocator])
        session.add("allocations", **row)
        events.append((time, "MemoryAllocation" if operation == 1 else "MemoryDeallocation", allocator, size, address, *after,
                       None if pool == 3 else 0))
    return events, samples


def test_pools_of_memory_are_counters_and_allocations_are_rows(kymo, tmp_path):
    session = Session()
    session.device(0)
    for number, operation in ((1, 1), (2, 1), (1, 3)):
        session.add("pools", time_ns=MONOTONIC_NS - number + 100000 * (operation == 3), operation=operation, type=1, device=0,
                    address=4096 * number, size_bytes=number, used_bytes=7, release_threshold_bytes=50)
    events, samples = memory_pool(session, random.Random(8))
    # Pools are numbered in the order of time: the second one was created first.
    swap = {"1": "2", "2": "1"}
    events = [(*event[:2], re.sub("(?<=pool )[12]", lambda found: swap[found[0]], event[2]), *event[3:]) for event in events]
    samples = [(re.sub("(?<=pool )[12]", lambda found: swap[found[0]], name), time, value) for name, time, value in samples]
    for time, pool, size in ((-2, 1, 2), (-1, 2, 1), (99999, 2, 1)):
        samples += [(f"Memory pool {pool}: size (bytes)", time, size), (f"Memory pool {pool}: used (bytes)", time, 7)]
        what = "trimmed" if time > 0 else "created"
        events.append((time, f"Memory pool {what}", f"GPU 0, memory pool {pool}", None, None, 7, size, 0))
    session.write(tmp_path / "capture")
    tables = Tables(kymo, tmp_path / "capture", tmp_path / "tables")
    found = [(row["timestamp"] - 2, row["name"], row["allocator_name"], row["allocation_bytes"], row["address"], row["bytes_allocated"],
              row["bytes_reserved"], row["device_idx"]) for row in tables.rows("MemoryAllocation")]
    assert sorted(found, key=str) == sorted(events, key=str)
    counters = [(tables.tracks[row["track_id"]]["name"], row["timestamp"] - 2, row["value"]) for row in tables.rows("CounterSample")]
    assert sorted(c for c in counters if "pool" in c[0]) == sorted(samples)
    assert {tables.tracks[row["track_id"]]["name"] for row in tables.rows("SystemProfileEvents") if row["name"] == "MemoryAllocation"} == {"CUDA memory"}


def test_files_without_the_columns_of_pools_are_read(kymo, tmp_path):
    session = Session()
    session.device(0)
    session.add("allocations", time_ns=MONOTONIC_NS, operation=1, memory_kind=3, bytes=5, pool=4096)
    session.flush()
    for name in ("pool_bytes", "pool_used_bytes"):
        session.trace.allocations[0].ClearField(name)
    session.write(tmp_path / "capture")
    (row,) = Tables(kymo, tmp_path / "capture", tmp_path / "tables").rows("MemoryAllocation")
    assert (row["allocator_name"], row["allocation_bytes"], row["bytes_reserved"]) == ("GPU 0", 5, 5)


PEAK = ".avg.pct_of_peak_sustained_elapsed"
METRICS = {f"sm__cycles_active{PEAK}": ("SM active (%)", 1), f"sm__pipe_tensor_cycles_active{PEAK}": ("Tensor cores active (%)", 1),
           f"sm__warps_active{PEAK}": ("Warps in flight (% of most)", 1), f"sm__inst_executed{PEAK}": ("SM instructions (% of most)", 1),
           "dram__bytes_read.sum.per_second": ("DRAM read (GB/s)", 1e9), "dram__bytes_write.sum.per_second": ("DRAM write (GB/s)", 1e9),
           "pcie__read_bytes.sum.per_second": ("PCIe read (GB/s)", 1e9), "pcie__write_bytes.sum.per_second": ("PCIe write (GB/s)", 1e9),
           "nvlrx__bytes.sum.per_second": ("NVLink received (GB/s)", 1e9), "nvltx__bytes.sum.per_second": ("NVLink sent (GB/s)", 1e9),
           "lts__t_sectors.sum": ("lts__t_sectors.sum", 1)}


def float_bits(value):
    return struct.unpack("I", struct.pack("f", value))[0]


def test_hardware_counters_are_counters_of_each_device(kymo, tmp_path):
    session, dice, expected = Session(), random.Random(6), []
    session.device(0)
    for time in range(0, 10**8, 500000):
        device, metric = dice.randrange(2), dice.choice(list(METRICS))
        value = dice.choice([0, dice.randrange(400) / 4, 2.0 ** dice.randrange(40)])
        session.add("samples", time, device=device, metric=session.text(metric), value=float_bits(value))
        name, divisor = METRICS[metric]
        expected.append((f"/device:GPU:{device}", name, time, value / divisor))
    session.add("samples", 10**8, device=0, metric=session.text(f"sm__cycles_active{PEAK}"), value=float_bits(float("nan")))
    expected.append(("/device:GPU:0", "SM active (%)", 10**8, 0))
    session.trace.lost_samples.append(7)
    session.write(tmp_path / "capture")
    tables = Tables(kymo, tmp_path / "capture", tmp_path / "tables")
    found = []
    for row in tables.rows("CounterSample"):
        track = tables.tracks[row["track_id"]]
        found.append((tables.tracks[track["parent_id"]]["name"], row["name"], row["timestamp"], row["value"]))
    assert sorted(found) == sorted(expected)
    assert [message["text"] for message in kymo.document(tmp_path / "capture")["messages"]] == [
        "7 samples of hardware counters were lost during capture: a longer interval or a larger buffer keeps them"]


def test_windows_are_told_and_shown(kymo, tmp_path):
    session = Session()
    for start in (0, 10**8):
        session.add("windows", start, duration_ns=5 * 10**7)
    session.add("kernels", 10, duration_ns=5, stream=session.stream(0, 1, 14), shape=session.shape("a"), correlation=1)
    session.write(tmp_path / "capture")
    document = kymo.document(tmp_path / "capture")
    assert [message["text"] for message in document["messages"]] == [
        "GPUs were recorded in 2 windows, 0.1 s in all; activity between them is unknown"]
    windows = [(e["start_ps"], e["duration_ps"]) for e in document["trace_events"] if e["name"] == "GPUs are recorded"]
    assert windows == [(0, 5 * 10**10), (10**11, 5 * 10**10)]


def findings(kymo, tmp_path, name, windows):
    """Of a device that works for 4 ms in the first 50 ms, and in the last."""
    session = Session()
    session.device(0)
    for start in (0, 9 * 10**8):
        if windows:
            session.add("windows", start, duration_ns=5 * 10**7)
        for number in range(40):
            session.add("kernels", start + 10**6 * number, duration_ns=10**5, stream=session.stream(0, 1, 14),
                        shape=session.shape("a"), correlation=start + number)
    session.write(tmp_path / name)
    return [row["rule"] for row in Tables(kymo, tmp_path / name, tmp_path / f"{name}_tables").rows("Finding")]


def test_time_between_windows_is_not_said_to_be_idle(kymo, tmp_path):
    assert "idle" in " ".join(findings(kymo, tmp_path, "whole", windows=False))
    assert findings(kymo, tmp_path, "sampled", windows=True) == []


# ---- What is missing --------------------------------------------------------------------------


def test_dropped_records_are_told(kymo, tmp_path):
    session = Session()
    session.add("kernels", 10, duration_ns=5, stream=session.stream(0, 1, 14), shape=session.shape("a"), correlation=1)
    session.trace.lost.extend([5, 1200])
    session.write(tmp_path / "capture")
    result = kymo.run("view", tmp_path / "capture", "--output-format", "json")
    sentence = "Warning: 1205 trace events were dropped during capture (stored 1 out of 1206 total events)."
    assert result.stderr.startswith(f"WARN[0000] {sentence}")
    document = json.loads(result.stdout)
    assert [message["text"].startswith(sentence) for message in document["messages"]] == [True]
    assert document["dropped_events"] == 1205


@pytest.mark.parametrize("lanes, gpu, note", [
    ((5, 0), 0, "This rests on an incomplete track: events of main were dropped during capture."),
    ((0, 5), 0, None),  # of a thread that has no part in it
    ((0, 0), 7, "This rests on 2 incomplete tracks: events of main and others were dropped during capture."),
    ((0, 0), 0, None),
])
def test_findings_on_incomplete_tracks_say_so(kymo, tmp_path, lanes, gpu, note):
    session = Session()
    for thread, name in ((1, "main"), (2, "helper")):
        session.ranges(thread, [(10, "work", True), (2 * 10**6, "work", False)], name)
    for number in range(40):
        start = 10**6 * number
        session.add("calls", start, duration_ns=1000, name=session.text("cudaLaunchKernel"), thread=1, correlation=number + 1)
        session.add("kernels", start + 5000, duration_ns=10**5, stream=session.stream(0, 1, 14), shape=session.shape("a"),
                    correlation=number + 1)
    if gpu:
        session.trace.lost.append(gpu)
    info = session.write(tmp_path / "capture") / "trace_info.pb"
    message = schema.messages("trace_info")["TraceInfo"](kept=4, lost=sum(lanes))
    for lost in lanes:
        message.lanes.add(lost=lost)
    info.write_bytes(info.read_bytes() + message.SerializeToString())
    workspace = ("--data-path", tmp_path / "workspace")
    kymo.run("view", tmp_path / "capture", "--display-name", "p", "--ingest-only", *workspace)
    for place in (tmp_path / "capture", "p"):
        (finding,) = json.loads(kymo.run("recommend", place, "--format", "json", *workspace).stdout)
        assert finding["rule"] == "host-bound"
        assert finding["statement"].endswith(note) if note else "incomplete" not in finding["statement"]


def test_a_file_that_is_cut_has_all_that_is_whole(kymo, tmp_path):
    session, _ = random_session(9)
    path = session.write(tmp_path / "capture") / "gpu_trace.pb"
    data = path.read_bytes()
    whole = len(Tables(kymo, tmp_path / "capture", tmp_path / "whole").rows("GpuKernel"))
    dice, counts = random.Random(9), []
    for size in sorted(dice.randrange(40, len(data)) for _ in range(20)):
        path.write_bytes(data[:size])
        document = kymo.document(tmp_path / "capture")
        counts.append(len(document["trace_events"]))
        texts = [message["text"] for message in document["messages"]]
        if texts:
            kept, left = map(int, re.fullmatch(r"gpu_trace\.pb: byte (\d+): .*; the (\d+) bytes that follow are left out",
                                               texts[0]).groups())
            assert kept + left == size
    assert whole > 50 and counts == sorted(counts)


@pytest.mark.parametrize("content", [b"", b"\x07 not a trace"])
def test_a_file_that_is_not_known_again_is_told(kymo, tmp_path, content):
    session, _ = random_session(11)
    session.ranges(77, [(0, "train", True), (10**9, "train", False)])
    path = session.write(tmp_path / "capture") / "gpu_trace.pb"
    path.write_bytes(content)
    assert [message["text"] for message in kymo.document(tmp_path / "capture")["messages"]] == [
        "gpu_trace.pb is empty or damaged at its start: GPU activity is not shown"]


@pytest.mark.parametrize("name", ["ntrace", "gpu_trace", "trace_info"])
def test_a_recording_of_a_later_version_is_refused(kymo, tmp_path, name):
    folder = Session().write(tmp_path)
    with open(folder / f"{name}.pb", "ab") as file:
        file.write(bytes([1 << 3, 2]))  # the last one counts
    message = kymo.refuses("view", folder, "--output-format", "summary-text")
    assert f"{name}.pb" in message and "the recording is of version 2; this program reads version 1: use a newer one" in message


def test_a_flipped_bit_does_no_harm(kymo, tmp_path):
    session, _ = random_session(10)
    path = session.write(tmp_path / "capture") / "gpu_trace.pb"
    data = path.read_bytes()
    dice = random.Random(10)
    for _ in range(40):
        flipped = bytearray(data)
        flipped[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        path.write_bytes(flipped)
        result = kymo.run("view", tmp_path / "capture", "--output-format", "json")
        assert result.returncode in (0, 1) and "Sanitizer" not in result.stderr, result.stderr



# ---- Programs ---------------------------------------------------------------------------------

JAX = """
import sys
import jax, jax.numpy as jnp
def model(x):
    with jax.named_scope("mlp"):
        return jnp.sin(x @ x).sum()
print(jax.jit(model).lower(jnp.ones((64, 64))).compile().as_text())
"""


@pytest.mark.slow
def test_kernels_have_the_source_of_their_operation_with_hlo(kymo, tmp_path):
    """The program is compiled by JAX itself; the kernels that run it are added."""
    program = tmp_path / "model.py"
    program.write_text(JAX)
    text = kymo.run("inspect", "--hlo", "-o", tmp_path / "capture", sys.executable, program,
                    env=os.environ | {"JAX_PLATFORMS": "cpu"}).stdout
    operation = re.search(r"ROOT %?([\w.]*sin[\w.]*) ", text) or re.search(r"%([\w.]*fusion[\w.]*) = ", text)
    (directory,) = (tmp_path / "capture").iterdir()
    (dump,) = (directory / "hlo").glob("module_*.jit_model.*after_optimizations.hlo.pb")
    number = int(dump.name.split(".")[0].removeprefix("module_"))
    session = Session()
    session.device(0)
    session.add("nodes", node=7, range=session.text(f"Thunk:#name=x,hlo_op={operation[1]}#"))
    session.add("nodes", node=8, original=7, range=session.text(f"XlaModule:#hlo_module=jit_model,program_id={number}#"))
    session.add("kernels", 10, duration_ns=5, stream=session.stream(0, 1, 14), shape=session.shape("k"), correlation=1,
                graph=1, graph_node=8)
    added = session.write(tmp_path / "gpu")
    shutil.copytree(directory / "hlo", added / "hlo")
    document = kymo.document(tmp_path / "gpu")
    (known,) = [p for p in document["programs"] if p["name"] == "jit_model"]
    assert known["label"] == f"jit_model({number})"
    tables = Tables(kymo, tmp_path / "gpu", tmp_path / "tables")
    (kernel,) = tables.rows("GpuKernel")
    assert (kernel["hlo_op"], kernel["hlo_module"], kernel["program_id"]) == (operation[1], "jit_model", number)
    (found,) = [row for row in tables.rows("HloOperation") if row["id"] == kernel["operation_id"]]
    assert (found["name"], found["source_file"]) == (operation[1], str(program))


def test_programs_a_user_has_dumped_elsewhere_stay_there(kymo, tmp_path):
    program = "import os; print(os.environ['XLA_FLAGS'])"
    result = kymo.run("inspect", "--hlo", "-o", tmp_path / "capture", sys.executable, "-c", program,
                      env=os.environ | {"XLA_FLAGS": f"--xla_dump_to={tmp_path}/mine"})
    assert result.stdout == f"--xla_dump_to={tmp_path}/mine\n"
    assert "--hlo has no effect: XLA_FLAGS has --xla_dump_to already" in result.stderr


def test_processes_that_a_program_starts_have_dumps_of_their_own(kymo, tmp_path):
    result = kymo.run("inspect", "--hlo", "-o", tmp_path / "capture", sys.executable, "-c",
                      "import os, subprocess, sys; print(os.getpid(), os.environ['XLA_FLAGS'], flush=True); "
                      "subprocess.run([sys.executable, '-c', 'import os; print(os.getpid(), os.environ[\"XLA_FLAGS\"])'])",
                      env=os.environ | {"XLA_FLAGS": "--xla_a=1"})
    for line in result.stdout.splitlines():
        number, *flags = line.split()
        (dump,) = [flag for flag in flags if flag.startswith("--xla_dump_to=")]
        assert dump.endswith(f"_pid_{number}/hlo") and flags == ["--xla_a=1", dump, "--xla_dump_hlo_as_proto=true"]
    assert len(result.stdout.splitlines()) == 2
