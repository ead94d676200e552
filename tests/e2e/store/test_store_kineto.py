"""What torch.profiler says about device work, collectives and memory is in typed columns.

The tables are compared with the file as Python's json reads it, event by event.
"""

import collections
import gzip
import json

import pyarrow.parquet
import pytest

from conftest import DATA

KINETO = DATA / "kineto"
GPU_CAPTURES = ["amd_mi250", "compare_base", "compare_test", "nccl_gpu_rank"]
CATEGORIES = {
    "GpuKernel": {"kernel", "Kernel"},
    "GpuCopy": {"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"},
}

COLLECTIVE = {
    "Collective name": "operation", "dtype": "data_type", "In msg nelems": "input_elements",
    "Out msg nelems": "output_elements", "In split size": "input_split_sizes",
    "Out split size": "output_split_sizes", "Process Group Name": "group_name",
    "Process Group Description": "group_description", "Group size": "group_size",
    "Process Group Ranks": "group_ranks",
}  # fmt: skip


class Processed:
    def __init__(self, kymo, capture, directory):
        kymo.ok("view", capture, "--output-file", directory, "--ingest-only")
        self.directory = directory

    def rows(self, table):
        path = self.directory / f"{table}.parquet"
        return pyarrow.parquet.read_table(path).to_pylist() if path.exists() else []

    def attributes(self):
        return {row["id"]: json.loads(row["extra_attributes_json"] or "{}")
                for row in self.rows("SystemProfileEvents")}  # fmt: skip


def events_of(path):
    with gzip.open(path, "rt") as file:
        document = json.load(file)
    return [e for e in document["traceEvents"] if e.get("ph") == "X"]


@pytest.fixture(scope="module", params=GPU_CAPTURES)
def pair(request, kymo, tmp_path_factory):
    path = KINETO / f"{request.param}.json.gz"
    return events_of(path), Processed(kymo, path, tmp_path_factory.mktemp("kineto") / "profile")


def triple(row, name):
    numbers = [row[f"{name}_{axis}"] for axis in "xyz"]
    return None if None in numbers else numbers


def whole(number):
    return int(number) if number is not None and number == int(number) else number


def work_in_file(events, table):
    return collections.Counter(
        (e["name"], round(e["dur"] * 1000), e["args"]["stream"], e["args"]["correlation"])
        for e in events
        if e.get("cat") in CATEGORIES[table]
    )


def work_in_table(processed, table):
    return collections.Counter(
        (row["name"], row["duration_ns"], row["stream_id"], row["correlation_id"])
        for row in processed.rows(table)
    )


@pytest.mark.parametrize("table", CATEGORIES)
def test_every_kernel_and_copy_has_a_row(pair, table):
    events, processed = pair
    assert work_in_file(events, table) == work_in_table(processed, table)


def test_launch_configurations_are_those_of_the_file(pair):
    events, processed = pair
    keys = ["grid", "block", "registers per thread", "shared memory", "est. achieved occupancy %"]
    expected = collections.Counter(
        (e["args"]["correlation"], str([e["args"].get(key) for key in keys]))
        for e in events
        if e.get("cat") in CATEGORIES["GpuKernel"]
    )
    found = collections.Counter(
        (
            row["correlation_id"],
            str([triple(row, "grid"), triple(row, "block"), row["registers_per_thread"],
                 row["shared_bytes"], whole(row["occupancy_percent"])]),
        )
        for row in processed.rows("GpuKernel")
    )  # fmt: skip
    assert expected == found


def test_an_arg_with_a_column_is_not_repeated_in_the_attributes(pair):
    events, processed = pair
    attributes = processed.attributes()
    taken = {"grid", "block", "registers per thread", "shared memory", "correlation"}
    rows = processed.rows("GpuKernel")
    assert rows and not any(taken & set(attributes[row["id"]]) for row in rows)
    others = collections.Counter(
        key
        for e in events
        if e.get("cat") in CATEGORIES["GpuKernel"]
        for key in e["args"]
        if key not in taken and key != "est. achieved occupancy %" and key not in COLLECTIVE
    )
    kept = collections.Counter(key for row in rows for key in attributes[row["id"]])
    assert {key: kept[key] for key in others} == dict(others)


def test_collectives_have_their_sizes_and_groups(pair):
    events, processed = pair
    expected = collections.Counter(
        (e["name"], *(e["args"].get(key) for key in COLLECTIVE))
        for e in events
        if "Collective name" in e.get("args", {})
    )
    found = collections.Counter(
        (row["name"], *(row[column] for column in COLLECTIVE.values()))
        for row in processed.rows("Collective")
    )
    assert expected == found


def test_copies_say_how_much_and_between_which_kinds_of_memory(pair):
    events, processed = pair
    expected = collections.Counter(
        (e["args"]["correlation"], e["args"].get("bytes"), "memset" in e["cat"].lower())
        for e in events
        if e.get("cat") in CATEGORIES["GpuCopy"]
    )
    rows = processed.rows("GpuCopy")
    assert expected == collections.Counter(
        (row["correlation_id"], row["size_bytes"], row["operation"] == "memset") for row in rows
    )
    for row in rows:
        kinds = f"({row['source_kind']} -> {row['destination_kind']})"
        assert kinds in row["name"] or " -> " not in row["name"]


def test_memory_events_are_allocations(kymo, tmp_path):
    args = [
        {"Total Reserved": 4096, "Total Allocated": 1024, "Bytes": 1024, "Device Id": 0,
         "Device Type": 1, "Addr": 139606569779200},
        {"Total Reserved": 4096, "Total Allocated": 0, "Bytes": -1024, "Device Id": 0,
         "Device Type": 1, "Addr": 139606569779200},
    ]  # fmt: skip
    capture = tmp_path / "memory.json"
    capture.write_text(json.dumps({"traceEvents": [
        {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 7, "tid": 7,
         "ts": 10.5 + i, "args": one}
        for i, one in enumerate(args)
    ]}))  # fmt: skip
    processed = Processed(kymo, capture, tmp_path / "profile")
    columns = ["allocation_bytes", "bytes_allocated", "bytes_reserved", "address"]
    assert [[row[c] for c in columns] for row in processed.rows("MemoryAllocation")] == [
        [one[k] for k in ("Bytes", "Total Allocated", "Total Reserved", "Addr")] for one in args
    ]


@pytest.mark.parametrize(
    "grid", [[1, 2], [1, 2, 3, 4], [1.5, 1, 1], "1,1,1", [2**63, 1, 1], [-1, 1, 1], None, {}]
)
def test_a_grid_of_another_shape_stays_an_attribute(kymo, tmp_path, grid):
    capture = tmp_path / "odd.json"
    device = {"pid": 0, "tid": 7, "cat": "kernel", "name": "k"}
    capture.write_text(json.dumps({
        "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
        "traceEvents": [{"ph": "X", "ts": 1, "dur": 1, **device,
                         "args": {"device": 0, "stream": 7, "correlation": 3, "grid": grid}}],
    }))  # fmt: skip
    processed = Processed(kymo, capture, tmp_path / "profile")
    (row,) = processed.rows("GpuKernel")
    assert triple(row, "grid") is None
    assert processed.attributes()[row["id"]]["grid"] == grid
