"""The tables of a processed profile hold what the source says: all of it, once, and readable by
others. Every table is read by two libraries that know nothing of Kymo, Arrow and DuckDB, and held
against the JSON document of the same capture, which other tests hold against the source itself."""

import collections
import datetime
import functools
import json
import math
import os
import random
import re
import struct

import duckdb
import pyarrow.compute
import pyarrow.parquet
import pytest
import zstandard

import random_space
import xspace
from conftest import CAPTURES, DATA
from test_random_spaces import Maker
from wire import block, packed

# The published profile schema 7.4.0, as far as there is data for it: name:type, * for required.
PUBLISHED = {
    "SystemProfileEvents": "id:i64* name:str* start_ts:i64* end_ts:i64* duration_ns:i64* "
    "trace_event_source:str* instance_id:str* process_id:i64* thread_id:i64* nc_idx:i64 "
    "pcore_idx:i64 worker_gid:i64 flow_id:[str] framework_stream_id:str extra_attributes_json:str",
    "SystemProfileMetadata": "first_ts:str* last_ts:str* first_ts_ns:str* last_ts_ns:str* "
    "ntff_version:i64* hbm_capacity_bytes:i64*",
    "Metadata": "profile_schema_version:str* ntff_version:i32* num_physical_cores:i32* "
    "vnc_enabled:bool* first_hw_timestamp:i64* last_hw_timestamp:i64* first_ts:str* last_ts:str* "
    "dma_ddr_bandwidth:f32* num_dma_engines_per_neuroncore:i32* hbm_ddr_bandwidth:f32* "
    "tensor_engine_num_rows:i64* tensor_engine_num_cols:i64* tensor_engine_clock_freq:f32* "
    "vector_engine_clock_freq:f32* vector_engine_num_channels:i64* scalar_engine_clock_freq:f32* "
    "scalar_engine_num_channels:i64* gpsimd_engine_clock_freq:f32* gpsimd_engine_num_channels:i64* "
    "neuroncore_clock_freq:f32* ticks_per_nanosec:i64* instance_type:str runtime_version:str "
    "collectives_version:str driver_version:str explorer_version:str compiler_version:str "
    "neuroncore_idx:i64 neuron_device_idx:i64 ultraserver_id:i64 ultraserver_type:str "
    "ultraserver_size:i32 ultraserver_instance_index:i32 s3_bucket_path:str profile_name:str "
    "explorer_build_time:str is_simulation:bool",
    "CpuUsage": "timestamp:i64* util_percent:f32* cpu_id:str* instance_id:str* ultraserver_id:i64 "
    "ultraserver_instance_index:i64",
    "HostMemUsage": "timestamp:i64* used_bytes:i64* used_percent:f32* instance_id:str* "
    "ultraserver_id:i64 ultraserver_instance_index:i64",
    "Flow": "in_id:i64* out_id:i64* in_table:str* out_table:str* dependency_type:str gap_time:i64",
    "StackFrame": "id:str* file_location_id:i32* parent_frame_id:str*",
    "StackFrameFileLocation": "id:str* file_name_id:i32* function_name_id:i32* line_number:i32*",
    "StackFrameFileName": "id:str* name:str*",
    "StackFrameFunctionName": "id:str* name:str*",
    "Warning": "message:str* category:str*",
    "SchemaFields": "table_name:str* table_description:str* field_name:str* field_description:str* "
    "field_example:str field_type:str* field_required:bool* field_format:str field_unit:str "
    "field_minimum:f32 field_maximum:f32 field_enum_values:str",
}
PUBLISHED_TYPES = {"i64": "int64", "i32": "int32", "f32": "float32", "str": "string"}
PUBLISHED_TYPES |= {"bool": "bool", "[str]": "list<string>"}
ARROW_TYPES = {"float": "float32", "double": "float64"}
ARROW_TYPES |= {"list<element: string not null>": "list<string>", "list<element: int64 not null>": "list<int64>"}
DUCKDB_TYPES = {"int64": "BIGINT", "int32": "INTEGER", "float32": "FLOAT", "float64": "DOUBLE"}
DUCKDB_TYPES |= {"bool": "BOOLEAN", "string": "VARCHAR", "list<string>": "VARCHAR[]", "list<int64>": "BIGINT[]"}

# Args that have columns: {table: {column: key}}.
DEVICE_ARGS = {
    "correlation_id": "correlation_id",
    "context_id": "context_id",
    "scope_range_id": "scope_range_id",
    "cuda_graph_id": "cuda_graph_id",
    "cuda_graph_node_id": "cuda_graph_node_id",
    "framework_op": "tf_op",
    "hlo_op": "hlo_op",
    "hlo_module": "hlo_module",
    "program_id": "program_id",
}
COLUMNS_OF_ARGS = {
    "GpuKernel": DEVICE_ARGS
    | {
        "theoretical_occupancy_percent": "theoretical_occupancy_pct",
        "occupancy_min_grid_size": "occupancy_min_grid_size",
        "occupancy_suggested_block_size": "occupancy_suggested_block_size",
    },
    "GpuCopy": DEVICE_ARGS,
    "MemoryAllocation": {
        "allocator_name": "allocator_name",
        "requested_bytes": "requested_bytes",
        "allocation_bytes": "allocation_bytes",
        "address": "addr",
        "bytes_allocated": "bytes_allocated",
        "bytes_reserved": "bytes_reserved",
        "bytes_available": "bytes_available",
        "peak_bytes_in_use": "peak_bytes_in_use",
        "fragmentation": "fragmentation",
        "region_id": "id",
        "data_type": "data_type",
        "source_file": "_src",
        "device_idx": "index_on_host",
    },
}
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


# Reading


def is_nan(value):
    return isinstance(value, float) and math.isnan(value)


def same(a, b):
    """Equal in value and type; a NaN is equal to any other."""
    return a == b and type(a) is type(b) or is_nan(a) and is_nan(b)


def assert_columns_agree(ours, theirs, where):
    if ours == theirs:
        return
    assert len(ours) == len(theirs), where
    wrong = [i for i, pair in enumerate(zip(ours, theirs)) if not same(*pair)]
    assert wrong == [], (where, wrong[:5], ours[wrong[0]], theirs[wrong[0]])


def least_and_greatest(column):
    if pyarrow.types.is_integer(column.type) or pyarrow.types.is_string(column.type):
        ends = pyarrow.compute.min_max(column)
        return ends["min"].as_py(), ends["max"].as_py()
    values = [value for value in column.to_pylist() if value is not None]
    return min(values), max(values)


def assert_ranges_hold(file, table):
    """What the footer says about columns, by which readers skip groups, is true."""
    groups = file.metadata.num_row_groups
    assert sum(file.metadata.row_group(i).num_rows for i in range(groups)) == table.num_rows
    start = 0
    for number in range(groups):
        group = file.metadata.row_group(number)
        assert group.num_rows > 0
        for index in range(group.num_columns):
            chunk = group.column(index)
            name = chunk.path_in_schema.split(".")[0]
            part = table.column(name).slice(start, group.num_rows)
            statistics = chunk.statistics
            if statistics is None:
                continue
            assert statistics.null_count == part.null_count, name
            if statistics.has_min_max:
                assert (statistics.min, statistics.max) == least_and_greatest(part), name
        start += group.num_rows


class Columns(collections.abc.Mapping):
    """The columns of a table as lists, which are made when they are asked for."""

    def __init__(self, table):
        self.table, self.lists = table, {}

    def __getitem__(self, name):
        if name not in self.lists:
            self.lists[name] = self.table.column(name).to_pylist()
        return self.lists[name]

    def __iter__(self):
        return iter(self.table.column_names)

    def __len__(self):
        return self.table.num_columns


class Table:
    """One table, by column and by row, as both readers have it."""

    def __init__(self, path):
        self.name = path.stem
        file = pyarrow.parquet.ParquetFile(path)
        table = file.read()
        assert_ranges_hold(file, table)
        self.groups = file.metadata.num_row_groups
        self.schema = [
            (field.name, ARROW_TYPES.get(str(field.type), str(field.type)), not field.nullable)
            for field in table.schema
        ]
        self.columns = Columns(table)
        self.count = table.num_rows
        self.compare_with_duckdb(path, table)

    def compare_with_duckdb(self, path, table):
        read = duckdb.connect().sql("SELECT * FROM read_parquet(?)", params=[str(path)])
        assert read.columns == list(self.columns)
        assert list(map(str, read.types)) == [DUCKDB_TYPES[type] for _, type, _ in self.schema]
        for ours, theirs in zip(table.itercolumns(), read.to_arrow_table().itercolumns(), strict=True):
            if not ours.equals(theirs.cast(ours.type)):  # as where there is a NaN
                assert_columns_agree(ours.to_pylist(), theirs.to_pylist(), self.name)

    @functools.cached_property
    def rows(self):
        names = list(self.columns)
        return [dict(zip(names, row)) for row in zip(*self.columns.values())]


class Profile:
    """A capture, its JSON document, and the tables made from it."""

    def __init__(self, kymo, capture, directory):
        self.kymo, self.capture, self.directory = kymo, capture, directory
        self.document = kymo.document(capture)
        self.events = self.document["trace_events"]
        out = kymo.ok(
            "view", capture, "--output-format", "parquet", "--output-file", directory,
            "--ingest-only",
        )  # fmt: skip
        assert out == f'Profile "{directory}" is ready to view\n'
        self.tables = {path.stem: Table(path) for path in sorted(directory.glob("*.parquet"))}
        self.first_event = {}
        for id, event in enumerate(self.events):
            self.first_event.setdefault(event["track"], id)

    def rows(self, table):
        return self.tables[table].rows if table in self.tables else []

    def columns(self, table, *names):
        """Tuples of the columns' values, row by row."""
        if table not in self.tables:
            return []
        return list(zip(*(self.tables[table].columns[name] for name in names)))

    def event_id(self, track, event):
        return self.first_event[track] + event

    def ancestor(self, track, level):
        tracks = self.document["tracks"]
        while tracks[track]["level"] != level:
            track = tracks[track]["parent"]
        return tracks[track]

    @functools.cached_property
    def lanes(self):
        return [t for t in self.document["tracks"] if t["level"] == "lane"]

    @functools.cached_property
    def sources(self):
        """{lane: name of its source}"""
        return {t["track"]: self.ancestor(t["track"], "source")["name"] for t in self.lanes}

    def is_device(self, lane):
        return self.sources[lane].startswith(("/device:", "#Chip"))

    def is_gpu(self, lane):
        return self.sources[lane].startswith("/device:GPU")


def label(item):
    return item.get("display_name") or item["name"]


def attributes(text):
    """Attributes of a row; no key comes twice, and a row without any has none."""

    def members(pairs):
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    found = {} if text is None else json.loads(text, object_pairs_hook=members)
    assert text is None or found != {}
    return found


def end_of(event):
    return event["start_ps"] + max(0, event["duration_ps"])


def is_timed(event):
    return "num_occurrences" not in event


def saturated(number):
    return max(INT64_MIN, min(INT64_MAX, number))


# The profiles


def small(fill):
    def make():
        space = xspace.XSpace(hostnames=[b"host"])
        fill(space)
        xspace.task_environment(space, 1_700_000_000_123_456_789, 1_700_000_001_000_000_000)
        return space

    return make


HOSTILE = [
    b"",
    b" ",
    b"not \xff\xfe utf-8 \xc0\x80 \xed\xa0\x80",
    b"cut \xe2\x82",
    b"nul \0 inside\0",
    b"quote \" ' ` $$ backslash \\ -- ; DROP TABLE",
    b"line\nreturn\r\ttab\x0b\x1b[31m\x7f",
    "größe 日本 🎛 \u202e \ufeff \u2028".encode(),
    b"x" * 100_000,
    "ü🎛".encode() * 17_000,
    b"\xff" * 30_000,
]
NUMBERS = [0, 1, -1, 127, 1 << 31, -(1 << 31) - 1, 1 << 53, INT64_MIN, INT64_MAX]
UNSIGNED = [0, 1, INT64_MAX, 1 << 63, (1 << 64) - 1]
REALS = [0.0, -0.0, 0.1, -1.5, 5e-324, 1e300, math.nan, math.inf, -math.inf]


class RawPlane:
    """A plane whose names and texts can be any bytes."""

    def __init__(self, space, name):
        self.plane = space.planes.add(name=name)

    def key(self, name):
        for entry in self.plane.stat_metadata:
            if entry.value.name == name:
                return entry.key
        id = len(self.plane.stat_metadata) + 1
        entry = self.plane.stat_metadata.add(key=id)
        entry.value.id, entry.value.name = id, name
        return id

    def type(self, name):
        id = len(self.plane.event_metadata) + 1
        entry = self.plane.event_metadata.add(key=id)
        entry.value.id, entry.value.name = id, name
        return entry.value

    def stat(self, stats, key, **value):
        stats.add(metadata_id=self.key(key), **value)

    def all_stats(self, stats, key):
        """A value of every type there is, under one key."""
        for number in NUMBERS:
            self.stat(stats, key, int64_value=number)
        for number in UNSIGNED:
            self.stat(stats, key, uint64_value=number)
        for number in REALS:
            self.stat(stats, key, double_value=number)
        for text in HOSTILE[:8]:
            self.stat(stats, key, str_value=text)
            self.stat(stats, key, bytes_value=text)
            self.stat(stats, key, ref_value=self.key(text))
        self.stat(stats, key, ref_value=1 << 40)
        self.stat(stats, key)


def hostile_texts(space):
    """Names of everything, each of the hostile ones in turn, and texts as args."""
    space.errors.extend(HOSTILE[2:])
    space.warnings.extend(HOSTILE[:4])
    for number, name in enumerate([b"/host:CPU", b"/device:GPU:0", b"/device:TPU:1", *HOSTILE]):
        plane = RawPlane(space, name)
        plane.stat(plane.plane.stats, HOSTILE[number % len(HOSTILE)], str_value=name)
        for kind, text in enumerate(HOSTILE):
            type = plane.type(text)
            type.display_name = HOSTILE[(kind + number) % len(HOSTILE)]
            plane.stat(type.stats, b"about", str_value=text)
            line = plane.plane.lines.add(id=kind, name=text, display_name=HOSTILE[-1 - kind])
            for start in range(3):
                event = line.events.add(metadata_id=type.id, offset_ps=start, duration_ps=1)
                plane.stat(event.stats, text, str_value=HOSTILE[(kind + start) % len(HOSTILE)])


def args_of_all_types(space):
    for name in (b"/host:CPU", b"/device:GPU:0"):
        plane = RawPlane(space, name)
        type = plane.type(b"e")
        plane.all_stats(type.stats, b"constant")
        plane.all_stats(plane.plane.stats, b"of the plane")
        line = plane.plane.lines.add(id=1, name=b"Stream #1(x)")
        for key in [b"k", b"", b'"', b"\xff", b"\xfe", b"nul\0", b"k" * 1000]:
            event = line.events.add(metadata_id=type.id)
            plane.all_stats(event.stats, key)
            plane.stat(event.stats, b"before", int64_value=1)
            plane.all_stats(event.stats, key)
            plane.stat(event.stats, b"after", int64_value=2)
        line.events.add(metadata_id=type.id)
        line.events.add(metadata_id=999)  # of a type that is not there


def odd_times(space):
    plane = xspace.PlaneWriter(space, "/host:CPU", pid=INT64_MAX)
    line = plane.line("main", id=INT64_MIN, timestamp_ns=3)
    far = 1 << 62
    for start in (-3000, -1, 0, 1, 999, 1000, 1001, -999, -1000, -1001, far, -far):
        for duration in (0, 1, 999, 1000, 1001, far - 5000, -1, -999, -1000, -1001, -far):
            if -far * 2 < start + 3000 + duration < far * 2:
                plane.event(line, "e", start, duration)
    for occurrences in (0, 1, 7, INT64_MAX):
        event = line.events.add(metadata_id=1, num_occurrences=occurrences, duration_ps=1500)
        event.stats.add(metadata_id=1, int64_value=1)
    alone = plane.line("only occurrences", id=-1)
    alone.events.add(metadata_id=1, num_occurrences=3)


def counters(space):
    for name in ("/device:GPU:0", "/host:CPU"):
        plane = xspace.PlaneWriter(space, name, pid=3)
        line = plane.line("_counters_", 5)
        values = [*NUMBERS, *UNSIGNED[3:], *REALS, "text", b"bytes"]
        for number, value in enumerate(values * 3):
            plane.event(line, f"counter {number % 5}", number * 1500 + 1, 0, value=value)
        plane.event(line, "no value", 7)
        plane.event(line, "\u00fc", 8, watts=1.5, other=2)
        plane.event(plane.line("main", 6), "e", 9, 10)


def python_names(space):
    plane = xspace.PlaneWriter(space, "/host:CPU")
    line = plane.line("python")
    names = ["$a.py:1 f", "$dir/with space.py:2 g", "$m f", "$ f", "$", "$x", "$:5 f", "$a: f"]
    names += ["x y"]
    names += ["$a.py:12 f g", "$a.py:000000007 f", "$a.py:1234567890 f", "$a.py:99999999999 f"]
    names += ["$<string>:3 <module>", "$b.py:x4 f", "$b:c:4 f", "$12 f", "$a.py:3  two", "$a.py:3 "]
    names += ["$größe.py:8 ü", "$a.py:-3 f", "$a.py:5\nf g", "$$a.py:6 f", " $a.py:7 f"]
    for number, name in enumerate(names):
        plane.event(line, name, number)


def hlo(name, frames, files=("model.py", "lib.py"), functions=("train", "dot")):
    """A program with an operation for each frame: (file, function, line, column, parent)."""
    index = b"".join(packed(1, text) for text in files)
    index += b"".join(packed(2, text) for text in functions)
    operations = packed(2, packed(1, "p") + packed(2, "parameter"))
    for number, (file, function, line, column, parent) in enumerate(frames, 1):
        place = packed(1, file) + packed(2, function) + packed(3, line) + packed(4, column)
        index += packed(3, place)
        index += packed(4, packed(1, number) + (packed(2, parent) if parent else b""))
        about = packed(2, f"jit(f)/{number}") + packed(15, number)
        operations += packed(2, packed(1, f"op.{number}") + packed(2, "add") + packed(7, about))
    computation = packed(3, packed(1, f"main.{name}") + operations)
    return packed(1, packed(1, name) + computation + packed(17, index))


def add_program(plane, name, proto, id):
    number = plane.event_id(name)
    entry = next(e for e in plane.plane.event_metadata if e.key == number)
    plane.stat(entry.value.stats, "Hlo Proto", proto)
    plane.stat(entry.value.stats, "program_id", id)


def programs(space):
    """Programs that share files, functions and places, ids that repeat, and kernels of each."""
    plane = xspace.PlaneWriter(space, "/host:metadata", pid=1)
    frames = [(1, 1, 33, 4, 0), (2, 2, 7, 0, 1), (2, 2, 7, 9, 1), (1, 0, 1, 1, 3), (0, 2, 0, 0, 4)]
    add_program(plane, "jit_f(11)", hlo("jit_f", frames), 11)
    add_program(plane, "jit_g(12)", hlo("jit_g", frames[:2], files=("lib.py", "model.py")), 12)
    add_program(plane, "jit_f(13)", hlo("jit_f", frames[1:2] + frames[:1]), 13)
    add_program(plane, "jit_huge", hlo("jit_huge", []), (1 << 64) - 3)
    add_program(plane, "empty", packed(1, packed(1, "empty")), 14)
    device = xspace.PlaneWriter(space, "/device:GPU:0", pid=1)
    for stream in (3, 4):
        line = device.line(f"Stream #{stream}(Compute)", stream)
        for number in range(40):
            labels = {"hlo_module": ["jit_f", "jit_g", "unknown"][number // 3 % 3]}
            labels |= {"program_id": [11, 12, 13][number // 3 % 3]} if number % 5 else {}
            labels |= {"hlo_op": ["op.1", "op.2", "graph"][number // 2 % 3]} if number % 7 else {}
            details = "regs:1 static_shared:0 dynamic_shared:0 grid:1,1,1 block:1,1,1 occ_pct:50"
            device.event(
                line, ["op_1", "op_2", "gemm"][number % 3], number * 1000, 900,
                kernel_details=details, **labels,
            )  # fmt: skip


def nothing(space):
    space.planes.add(name=b"/host:CPU").lines.add(name=b"main")
    space.planes.add(name=b"/device:GPU:0").lines.add(name=b"_counters_")


def many_tracks(space):
    for number in range(40):
        plane = xspace.PlaneWriter(space, f"/device:GPU:{number}", pid=number % 7)
        for stream in range(60):
            line = plane.line(f"Stream #{stream}(x)", stream)
            for event in range((number + stream) % 4):
                plane.event(line, f"e{stream % 5}", event * 10, 5, correlation_id=stream + 1)
        line = plane.line("_counters_", 99)
        for counter in range(20):
            plane.event(line, f"counter {counter}", counter, 0, value=counter * 0.5)
        plane.line("nothing on it", 100)


class DeviceWork:
    """Work on GPUs with all that is said about it, and now and then something that is not."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.space = xspace.XSpace(hostnames=[b"host"])

    def chance(self, share):
        return self.random.random() < share

    def number(self):
        return self.random.choice([0, 1, 5, 1 << 31, INT64_MAX, self.random.getrandbits(40)])

    def value(self, plane, stat, value):
        """The value, or one of another type."""
        if self.chance(0.05):
            others = [-1, 1 << 63, (1 << 64) - 1, 0.5, math.nan, "text", "", b"b"]
            value = self.random.choice(others)
        if isinstance(value, bool) or isinstance(value, int) and value < 1 << 63:
            field = "uint64_value" if value >= 0 and self.chance(0.5) else "int64_value"
            setattr(stat, field, value)
        elif isinstance(value, int):
            stat.uint64_value = value
        elif isinstance(value, float):
            stat.double_value = value
        elif isinstance(value, bytes):
            stat.bytes_value = value
        elif self.chance(0.5):
            stat.str_value = value.encode()
        else:
            stat.ref_value = plane.stat_id(value)

    def stats(self, plane, event, values):
        values = list(values.items())
        self.random.shuffle(values)
        for key, value in values:
            for _ in range(2 if self.chance(0.04) else 1):
                stat = event.stats.add(metadata_id=plane.stat_id(key))
                self.value(plane, stat, value)

    def labels(self):
        values = {
            "correlation_id": self.random.randrange(1, 60),
            "context_id": "$$1",
            "scope_range_id": self.number(),
            "cuda_graph_id": self.number(),
            "cuda_graph_node_id": self.number(),
            "tf_op": "XlaModule:",
            "hlo_op": self.random.choice(["fusion.1", "größe"]),
            "hlo_module": self.random.choice(["jit_f", "jit_g"]),
            "program_id": self.random.randrange(3),
            "name": "jit(f)/dot",
            "device_id": 0,
        }
        return {key: value for key, value in values.items() if self.chance(0.7)}

    def broken(self, text):
        """Now and then a text that is no list of details."""
        if self.chance(0.9):
            return text
        wrong = ["", "x", text[:-2] + "x", text + " more:1", text + " x", text + ":"]
        return self.random.choice([*wrong, text.replace(":", "", 1), text.split(" ", 1)[1]])

    def kernel(self):
        grid = ",".join(str(self.number()) for _ in range(3))
        occupancy = self.random.choice(["0", "100", "1.5625", "33.3333", "1e-05"])
        words = [f"regs:{self.number()}", f"static_shared:{self.number()}", f"grid:{grid}"]
        words += [f"dynamic_shared:{self.number()}", "block:128,1,1", f"occ_pct:{occupancy}"]
        self.random.shuffle(words)
        return {
            "kernel_details": self.broken((" " * self.random.choice([1, 1, 2])).join(words)),
            "theoretical_occupancy_pct": self.random.choice([0.0, 12.5, math.nan]),
            "occupancy_min_grid_size": self.number(),
            "occupancy_suggested_block_size": self.number(),
        }

    def copy(self):
        kinds = ["pinned", "device", "größe"]
        words = [f"size:{self.number()}", f"async:{self.random.randrange(2)}"]
        if self.chance(0.8):
            words.append(f"kind_src:{self.random.choice(kinds)}")
            words.append(f"kind_dst:{self.random.choice(kinds)}")
        if self.chance(0.8):
            words.append(f"dest:{self.random.randrange(8)}")
        self.random.shuffle(words)
        return {"memcpy_details": self.broken(" ".join(words))}

    def memset(self):
        return {"Memset_details": self.broken(f"kind:device num_bytes:{self.number()} async:1")}

    def signed(self):
        """Neighbours differ by more than there are numbers."""
        edge = self.random.choice([INT64_MIN, INT64_MAX, 0, -1])
        return self.random.choice([edge, self.random.getrandbits(64) + INT64_MIN, self.number()])

    def allocation(self):
        values = {key: self.signed() for key in COLUMNS_OF_ARGS["MemoryAllocation"].values()}
        values |= {"allocator_name": "GPU_0_bfc", "_src": "a/b.cc", "fragmentation": 0.25}
        values |= {"tf_op": "x", "region_type": "temp", "tensor_shape": "", "step_id": 3}
        must = ("bytes_allocated", "bytes_reserved")
        return {key: v for key, v in values.items() if key in must or self.chance(0.8)}

    def make(self):
        host = xspace.PlaneWriter(self.space, "/host:CPU", 1)
        main = host.line("main", 1)
        for number in range(50):
            event = host.event(main, "launch", number * 1000, 500)
            self.stats(host, event, {"correlation_id": number})
        for name in ("/device:GPU:0", "/device:GPU:1", "/device:GPU:12345678901", "/host:Other",
                     "/device:CUSTOM:x", "/device:TPU:2"):  # fmt: skip
            plane = xspace.PlaneWriter(self.space, name, 1)
            for stream in range(2):
                line = plane.line(f"Stream #{stream}(x)", 10 + stream)
                for number in range(60):
                    event = plane.event(line, f"kernel {number % 9}", number * 1000, number * 37)
                    kinds = [self.kernel, self.copy, self.memset, self.allocation]
                    self.stats(plane, event, self.random.choice(kinds)() | self.labels())
        xspace.task_environment(self.space, 1_700_000_000_000_000_000, 1_700_000_001_000_000_000)
        return self.space


SPACES = {
    **{f"random{seed}": lambda seed=seed: random_space.make(seed) for seed in range(4)},
    **{f"any{n}": lambda n=n: Maker(n).make() for n in (3, 6, 7, 10, 15, 21, 25, 30)},
    **{f"device{seed}": lambda seed=seed: DeviceWork(seed).make() for seed in range(3)},
    "texts": small(hostile_texts),
    "args": small(args_of_all_types),
    "times": small(odd_times),
    "counters": small(counters),
    "python": small(python_names),
    "programs": small(programs),
    "nothing": small(nothing),
    "tracks": small(many_tracks),
}
# Spaces whose args have the types that XLA gives them, so that links can be told from them alone.
WELL_TYPED = [*CAPTURES, *(f"random{n}" for n in range(4)), "tracks", "session", "programs"]


def write(space, path):
    path.write_bytes(space.SerializeToString())
    return path


def write_session(directory):
    """Three hosts, whose clocks differ."""
    directory.mkdir()
    for number in range(3):
        space = random_space.make(number)
        space.hostnames[0] = b"host-%d" % number
        space.warnings.append(b"of host %d" % number)
        for plane in space.planes:
            for stat in plane.stats:
                if stat.WhichOneof("one") == "uint64_value":
                    stat.uint64_value += 12_345 * number
        write(space, directory / f"host{number}.xplane.pb")
    return directory


@pytest.fixture(scope="module", params=[*CAPTURES, *SPACES, "session"])
def profile(kymo, request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    if request.param in CAPTURES:
        capture = DATA / "xplane" / f"{request.param}.xplane.pb"
    elif request.param == "session":
        capture = write_session(folder / "session")
    else:
        capture = write(SPACES[request.param](), folder / "space.xplane.pb")
    made = Profile(kymo, capture, folder / "profile")
    made.name = request.param
    return made


# SystemProfileEvents


@pytest.mark.plain_build
def test_events_are_numbered_in_the_order_of_the_document(profile):
    ours = profile.columns("SystemProfileEvents", "id", "track_id", "name")
    assert ours == [(id, e["track"], e["name"]) for id, e in enumerate(profile.events)]


def test_times_of_events_are_exact(profile):
    columns = profile.columns(
        "SystemProfileEvents", "start_ts", "start_fraction_ps", "duration_ns",
        "duration_fraction_ps", "end_ts", "occurrence_count",
    )  # fmt: skip
    for event, row in zip(profile.events, columns):
        start, start_rest, duration, rest, end, occurrences = row
        assert 0 <= start_rest < 1000 and 0 <= rest < 1000
        assert end == start + duration
        assert duration * 1000 + rest == event["duration_ps"]
        assert occurrences == event.get("num_occurrences")
        if occurrences is None:
            assert start * 1000 + start_rest == event["start_ps"]


def test_steps_of_events_are_those_of_the_document(profile):
    steps = [row[0] for row in profile.columns("SystemProfileEvents", "step_id")]
    assert steps == [event.get("step") for event in profile.events]


def layer_of(name):
    if name.startswith(("/device:", "#Chip")):
        kinds = {"/device:GPU": "gpu_hw", "/device:TPU": "tpu_hw"}
        return next((v for k, v in kinds.items() if name.startswith(k)), "device_hw")
    is_host = name.startswith("/host:") or name in ("Host CPUs", "Syscalls")
    return "framework" if is_host else "other"


def test_events_say_where_they_ran(profile):
    expected, workers = {}, {}  # workers: devices over all machines, in the order of their lanes
    for lane in profile.lanes:
        source = profile.sources[lane["track"]]
        number = re.search(r"(?<!\d)\d{1,9}$", source) if profile.is_device(lane["track"]) else None
        expected[lane["track"]] = (
            layer_of(source),
            label(profile.ancestor(lane["track"], "instance")),
            profile.ancestor(lane["track"], "process")["id"],
            lane["id"],
            int(number[0]) if number else None,
            label(lane) if lane["name"].startswith("Stream #") else None,
            None,
            workers.setdefault(lane["parent"], len(workers)) if number else None,
        )
    ours = profile.columns(
        "SystemProfileEvents", "trace_event_source", "instance_id", "process_id", "thread_id",
        "nc_idx", "framework_stream_id", "pcore_idx", "worker_gid",
    )  # fmt: skip
    assert ours == [expected[event["track"]] for event in profile.events]


# Args


def words_of(text):
    """{key: value} of a text of details, None when a word is none or comes twice."""
    words = [word.partition(":") for word in text.split(" ") if word]
    if any(not key or not colon for key, colon, _ in words):
        return None
    found = {key: value for key, _, value in words}
    return found if len(found) == len(words) else None


def is_number(text):
    return re.fullmatch(r"[0-9]+", text) is not None and int(text) <= INT64_MAX


def kernel_details(text):
    words = words_of(text)
    names = {"regs", "static_shared", "dynamic_shared", "grid", "block", "occ_pct"}
    if words is None or set(words) != names:
        return None
    found = {}
    for key, value in words.items():
        parts = value.split(",") if key in ("grid", "block") else [value]
        if key == "occ_pct":
            if not re.fullmatch(r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", value):
                return None
            found[key] = float(value)
        elif len(parts) != (3 if key in ("grid", "block") else 1) or not all(map(is_number, parts)):
            return None
        else:
            found[key] = [int(part) for part in parts]
    return found


def transfer_details(text, numbers, texts):
    words = words_of(text)
    if words is None or not set(words) <= {*numbers, *texts, "async"} or numbers[0] not in words:
        return None
    if words.get("async", "0") not in ("0", "1"):
        return None
    if not all(is_number(words[key]) for key in numbers if key in words):
        return None
    found = {key: int(words[key]) for key in numbers if key in words}
    found |= {key: words[key] for key in texts if words.get(key)}
    return found | {"async": words.get("async", "0") == "1"}


def copy_details(text):
    return transfer_details(text, ["size", "dest"], ["kind_src", "kind_dst"])


def memset_details(text):
    return transfer_details(text, ["num_bytes"], ["kind"])


DETAILS = {
    "kernel_details": ("GpuKernel", kernel_details),
    "memcpy_details": ("GpuCopy", copy_details),
    "Memset_details": ("GpuCopy", memset_details),
}


def first_value(args, key):
    """Of a key that repeats, the first."""
    value = args.get(key)
    return value[0] if isinstance(value, list) else value


def kind_of(profile, event):
    """(table the event is in besides the events' own, key of its details, details)"""
    args = event.get("args", {})
    if profile.is_gpu(event["track"]):
        for key, (table, read) in DETAILS.items():
            text = first_value(args, key)
            details = read(text) if isinstance(text, str) else None
            if details is not None:
                return table, key, details
    if "bytes_allocated" in args and "bytes_reserved" in args:
        return "MemoryAllocation", None, None
    return None, None, None


def details_of_row(table, row):
    """What stands in a row of its details, and under which key the source has them."""
    if table == "GpuKernel":
        return "kernel_details", {
            "regs": [row["registers_per_thread"]],
            "static_shared": [row["static_shared_bytes"]],
            "dynamic_shared": [row["dynamic_shared_bytes"]],
            "grid": [row["grid_x"], row["grid_y"], row["grid_z"]],
            "block": [row["block_x"], row["block_y"], row["block_z"]],
            "occ_pct": row["occupancy_percent"],
        }
    if row["operation"] == "memcpy":
        names = {"size": "size_bytes", "dest": "destination_device", "async": "is_async"}
        names |= {"kind_src": "source_kind", "kind_dst": "destination_kind"}
        key = "memcpy_details"
    else:
        assert row["operation"] == "memset"
        names = {"num_bytes": "size_bytes", "kind": "destination_kind", "async": "is_async"}
        assert row["source_kind"] is None and row["destination_device"] is None
        key = "Memset_details"
    return key, {name: row[column] for name, column in names.items() if row[column] is not None}


def as_written(value):
    """A value of a column, as the document has it."""
    if is_nan(value):
        return "NaN"
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def rebuilt_args(extra, table, row):
    """The args of an event, put together from its rows; those in columns are the first of a key."""
    taken = {}
    if row is not None:
        for column, key in COLUMNS_OF_ARGS[table].items():
            if row[column] is not None:
                taken[key] = as_written(row[column])
        whole = table != "GpuKernel" or None not in (row["registers_per_thread"], row["occupancy_percent"])
        if table != "MemoryAllocation" and whole:
            key, details = details_of_row(table, row)
            taken[key] = details
    args = dict(extra)
    for key, value in taken.items():
        if key not in extra:
            args[key] = value
        else:
            rest = extra[key]
            args[key] = [value, *(rest if isinstance(rest, list) else [rest])]
    return args


def is_whole(details):
    """Whether the columns have all of it: no kernel has that many registers, or ran on nothing."""
    return "regs" not in details or (details["regs"][0] <= 65536 and details["occ_pct"] > 0)


def expected_args(event, key, details):
    """The document's args with the text of details, where there is one, as what it says."""
    args = dict(event.get("args", {}))
    if key and is_whole(details):
        text = args[key]
        args[key] = [details, *text[1:]] if isinstance(text, list) else details
    return args


def canonical(args):
    """1, 1.0 and true are three things, 0.0 and -0.0 two; the order of keys says nothing."""
    return json.dumps(args, sort_keys=True)


def fits(value, type):
    """Whether a column of the type has room for what an arg says."""
    if type == "int64":
        return isinstance(value, int) and INT64_MIN <= value <= INT64_MAX
    if type == "float64":
        return isinstance(value, float)
    return isinstance(value, str) and value not in ("NaN", "Infinity", "-Infinity")


@pytest.mark.parametrize("table", COLUMNS_OF_ARGS)
def test_args_that_have_a_column_are_in_it(profile, table):
    types = {name: type for name, type, _ in fields_of(profile)[table]}
    for row in profile.rows(table):
        args = profile.events[row["id"]]["args"]
        for column, key in COLUMNS_OF_ARGS[table].items():
            unknown = "occupancy" in column and first_value(args, key) == 0
            if fits(first_value(args, key), types[column]) and not unknown:
                assert row[column] == first_value(args, key), column


def test_every_arg_is_kept_once(profile):
    rows = {}
    for table in COLUMNS_OF_ARGS:
        for row in profile.rows(table):
            assert row["id"] not in rows, "an event is in one of the tables only"
            rows[row["id"]] = table, row
    extras = [x for (x,) in profile.columns("SystemProfileEvents", "extra_attributes_json")]
    for id, (event, extra) in enumerate(zip(profile.events, extras, strict=True)):
        table, key, details = kind_of(profile, event)
        found_table, row = rows.pop(id, (None, None))
        assert found_table == table, event
        ours = rebuilt_args(attributes(extra), table, row)
        theirs = expected_args(event, key, details)
        assert canonical(ours) == canonical(theirs), event
    assert rows == {}


def launch_ids(profile):
    """{id of an event on a device: id of the call that launched it}"""
    return {
        profile.event_id(flow["to_track"], flow["to_event"]): profile.event_id(
            flow["from_track"], flow["from_event"]
        )
        for flow in profile.document["flows"]
        if flow["kind"] == "launch"
    }


@pytest.mark.parametrize("table", ["GpuKernel", "GpuCopy"])
def test_device_work_repeats_what_its_event_says(profile, table):
    events, launches = profile.rows("SystemProfileEvents"), launch_ids(profile)
    ids = [row["id"] for row in profile.rows(table)]
    assert ids == sorted(ids)
    for row in profile.rows(table):
        event = events[row["id"]]
        for column in ("name", "start_ts", "end_ts", "duration_ns", "step_id"):
            assert row[column] == event[column], column
        assert row["device_idx"] == event["nc_idx"]
        assert row["stream_id"] == event["thread_id"]
        assert row["launch_event_id"] == launches.get(row["id"])


def test_allocations_repeat_what_their_events_say(profile):
    events = profile.rows("SystemProfileEvents")
    for row in profile.rows("MemoryAllocation"):
        event = events[row["id"]]
        assert row["timestamp"] == event["start_ts"]
        assert (row["name"], row["track_id"]) == (event["name"], event["track_id"])


def program_of(programs, args):
    """The number of the program that labels name: the last of its name, and of its id if told."""
    module, id = first_value(args, "hlo_module"), first_value(args, "program_id")
    found = None
    for number, program in enumerate(programs):
        if program["name"] == module and id in (None, program["program_id"]):
            found = number
    return found


def test_kernels_point_to_their_operations(profile):
    if profile.name not in WELL_TYPED:
        pytest.skip("labels are not all of their types")
    programs = profile.document["programs"]
    first, count = [], 0
    by_name, by_kernel = [], []
    for program in programs:
        first.append(count)
        count += len(program["operations"])
        names = [operation["name"] for operation in program["operations"]]
        by_name.append({name: number for number, name in enumerate(names)})
        by_kernel.append({})
        for number, name in enumerate(names):
            by_kernel[-1].setdefault(re.sub(r"[.-]", "_", name), number)
    for row in profile.rows("GpuKernel"):
        event = profile.events[row["id"]]
        program = program_of(programs, event["args"]) if "hlo_module" in event["args"] else None
        number = None
        if program is not None:
            number = by_name[program].get(row["hlo_op"], by_kernel[program].get(event["name"]))
        if row["attribution"] == "schedule order":  # see test_device_operations.py
            assert program is not None and row["hlo_op"] not in by_name[program]
            continue
        assert row["operation_id"] == (None if number is None else first[program] + number)


# Flows


def test_flows_are_those_of_the_document(profile):
    events = profile.events
    expected = []
    for flow in profile.document["flows"]:
        cause = profile.event_id(flow["from_track"], flow["from_event"])
        effect = profile.event_id(flow["to_track"], flow["to_event"])
        gap = None
        if is_timed(events[cause]) and is_timed(events[effect]):
            gap = saturated(events[effect]["start_ps"] - end_of(events[cause])) // 1000
        expected.append((cause, effect, flow["kind"], gap))
    ours = []
    for row in profile.rows("Flow"):
        cause, effect = row["in_id"], row["out_id"]
        assert row["in_table"] == row["out_table"] == "SystemProfileEvents"
        timed = is_timed(events[cause]) and is_timed(events[effect])
        ours.append((cause, effect, row["dependency_type"], row["gap_time"] if timed else None))
    assert sorted(map(repr, ours)) == sorted(map(repr, expected))
    assert len({flow[:3] for flow in ours}) == len(ours)


def test_events_of_one_flow_share_a_flow_id(profile):
    chains = [set(ids or []) for (ids,) in profile.columns("SystemProfileEvents", "flow_id")]
    for flow in profile.document["flows"]:
        cause = profile.event_id(flow["from_track"], flow["from_event"])
        effect = profile.event_id(flow["to_track"], flow["to_event"])
        assert chains[cause] & chains[effect]


def chains_of(profile, event):
    """What links an event to others, by its args alone."""
    args, process = event.get("args", {}), profile.ancestor(event["track"], "process")["track"]
    found = []
    on_host = not profile.is_device(event["track"])
    if "correlation_id" in args and (args["correlation_id"] or on_host):
        found.append(("launch", process, args["correlation_id"]))
    if "_p" in args:
        found.append(("context", process, args.get("_pt", 0), args["_p"]))
    if "_c" in args:
        found.append(("context", process, args.get("_ct", 0), args["_c"]))
    return found


def test_flow_ids_stand_for_what_links_events_and_for_nothing_else(profile):
    if profile.name not in WELL_TYPED:
        pytest.skip("links are not all of their types")
    name_of, meaning_of = {}, {}
    columns = profile.columns("SystemProfileEvents", "flow_id")
    for event, (ids,) in zip(profile.events, columns):
        chains = chains_of(profile, event)
        assert len(ids or []) == len(chains), event
        assert ids != []
        known = {name_of[chain] for chain in chains if chain in name_of}
        assert known <= set(ids or [])
        if len(chains) == 1:
            assert name_of.setdefault(chains[0], ids[0]) == ids[0]
            assert meaning_of.setdefault(ids[0], chains[0]) == chains[0]


# What was worked out


def test_runs_are_the_events_of_the_derived_rows(profile):
    tracks = len(profile.document["tracks"])
    programs = profile.document["programs"]
    operations = [op for program in programs for op in program["operations"]]
    rows = profile.rows("HloRun")
    assert [row["id"] for row in rows] == list(range(len(rows)))
    expected = [
        (number, derived, event)
        for number, derived in enumerate(profile.document["derived_rows"])
        for event in derived["events"]
    ]
    for row, (number, derived, event) in zip(rows, expected, strict=True):
        is_module = derived["name"].startswith("XLA Modules")
        assert row["kind"] == ("module" if is_module else "operation")
        assert row["name"] == event["name"]
        assert row["start_ts"] == event["start_ps"] // 1000
        assert row["duration_ns"] == event["duration_ps"] // 1000
        assert row["end_ts"] == row["start_ts"] + row["duration_ns"]
        assert row["track_id"] == tracks + number
        assert row["stream_track_id"] == derived["lane"]
        assert row["step_id"] == event.get("step")
        assert row["kernel_count"] == event["kernel_count"]
        assert (row["module_id"] is not None) == ("program_id" in event)
        if row["module_id"] is not None:
            assert programs[row["module_id"]]["program_id"] == event["program_id"]
        assert (row["operation_id"] is not None) == ("op_name" in event)
        if row["operation_id"] is not None:
            operation = operations[row["operation_id"]]
            for key in ("name", "op_name", "source_file", "source_line"):
                assert operation[key] == event[key]


def test_steps_are_those_of_the_document(profile):
    types = dict(profile.columns("EventType", "id", "display_name"))
    rows = profile.rows("Step")
    events = profile.rows("SystemProfileEvents") if rows else []
    for id, (row, step) in enumerate(zip(rows, profile.document["steps"], strict=True)):
        event = events[row["event_id"]]
        assert row["id"] == id and row["number"] == step["number"]
        assert row["event_id"] == profile.event_id(step["track"], step["event"])
        assert row["name"] == event["name"]
        assert step["name"] == (types[event["event_type_id"]] or event["name"])
        assert row["start_ts"] == step["start_ps"] // 1000
        assert row["duration_ns"] == step["duration_ps"] // 1000
        assert row["end_ts"] == row["start_ts"] + row["duration_ns"]
        for end in ("device_start", "device_end"):
            time = step.get(f"{end}_ps")
            assert row[f"{end}_ts"] == (None if time is None else time // 1000)
        assert row["device_event_count"] == step["device_event_count"]


# What the source lists


def covered(events):
    """The time at which at least one of them runs."""
    total, reached = 0, -math.inf
    for event in sorted(events, key=lambda event: event["start_ps"]):
        total += max(0, end_of(event) - max(event["start_ps"], reached))
        reached = max(reached, end_of(event))
    return total


def on_device(event):
    """With the times on the device's own clock, where an operation has them."""
    times = [event.get("args", {}).get(f"device_{what}_ps") for what in ("offset", "duration")]
    return event if None in times else event | {"start_ps": times[0], "duration_ps": times[1]}


def extent_of(events, busy=None):
    if not events:
        return None, None, None
    return (
        min(event["start_ps"] for event in events) // 1000,
        max(end_of(event) for event in events) // 1000,
        saturated(covered(busy or events)) // 1000,
    )


LANE_ROLES = {"XLA Ops": "ops", "XLA Modules": "modules", "Steps": "steps"}
LANE_ROLES |= {"Async XLA Ops": "async", "_counters_": "counter"}
LANE_ROLES |= {"Sparse Core Ops": "ops", "Sparse Core Modules": "modules"}
LANE_ROLES |= {"Sparse Core Steps": "steps"}


def role_of(track):
    if track["level"] == "lane":
        is_stream = track["name"].startswith("Stream #")
        return "stream" if is_stream else LANE_ROLES.get(track["name"], "plain")
    if track["level"] == "source":
        layer = layer_of(track["name"])
        return "host" if layer == "framework" else None if layer == "other" else "device"
    return None


def test_tracks_are_those_of_the_document(profile):
    tracks, derived = profile.document["tracks"], profile.document["derived_rows"]
    on_track = {}
    for event in profile.events:
        on_track.setdefault(event["track"], []).append(event)
    rows = profile.rows("Track")
    assert [row["id"] for row in rows] == list(range(len(tracks) + len(derived)))
    for row, track in zip(rows, tracks):
        events = on_track.get(track["track"], [])
        assert row["parent_id"] == track.get("parent")
        assert row["kind"] == track["level"]
        assert row["name"] == label(track)
        assert row["role"] == role_of(track)
        assert row["instance_id"] == label(profile.ancestor(track["track"], "instance"))
        assert (row["number"], row["sort_key"]) == (track["id"], track["sort_key"])
        assert row["event_count"] == track.get("event_count", 0) == len(events)
        assert row["first_event_id"] == profile.first_event.get(track["track"])
        assert row["event_table"] == ("SystemProfileEvents" if events else None)
        timed = [event for event in events if is_timed(event)]
        extent = extent_of(timed, list(map(on_device, timed)) if row["role"] == "ops" else timed)
        profilers = [e for e in events if e["name"].startswith("$profiler.py") and e["name"].endswith("_trace")]
        if profilers:
            extent = *extent[:2], (covered(events) - covered(profilers)) // 1000
        assert (row["first_ts"], row["last_ts"], row["busy_ns"]) == extent
        assert repr(attributes(row["attributes_json"])) == repr(track.get("args", {}))


def test_derived_rows_have_tracks_behind_those_of_the_source(profile):
    tracks, derived = profile.document["tracks"], profile.document["derived_rows"]
    first = 0
    for row, made in zip(profile.rows("Track")[len(tracks) :], derived, strict=True):
        lane = tracks[made["lane"]]
        assert row["parent_id"] == made["source"] == lane["parent"]
        assert row["kind"] == "lane" and row["name"] == made["name"]
        assert row["role"] == ("modules" if made["name"].startswith("XLA Modules") else "ops")
        assert row["instance_id"] == label(profile.ancestor(made["lane"], "instance"))
        assert (row["number"], row["sort_key"]) == (lane["id"], lane["sort_key"])
        assert row["event_count"] == len(made["events"]) > 0
        assert row["first_event_id"] == first and row["event_table"] == "HloRun"
        assert (row["first_ts"], row["last_ts"], row["busy_ns"]) == extent_of(made["events"])
        assert row["attributes_json"] is None
        first += len(made["events"])


def test_event_types_are_those_of_the_document(profile):
    listed = {type["event_type"]: type for type in profile.document["event_types"]}
    rows = profile.rows("EventType")
    assert [row["id"] for row in rows] == list(range(len(rows)))
    for row in rows:
        type = listed.pop(row["id"], {"name": row["name"]})
        assert row["name"] == type["name"]
        assert row["display_name"] == type.get("display_name")
        assert repr(attributes(row["attributes_json"])) == repr(type.get("args", {}))
    assert listed == {}
    types = profile.columns("SystemProfileEvents", "event_type_id")
    for event, (type,) in zip(profile.events, types):
        assert type == event.get("event_type", 0)
        assert rows[type]["name"] == event["name"]


def test_python_frames_are_told_from_names(profile):
    expected = []
    for id, name in profile.columns("EventType", "id", "name"):
        call = re.fullmatch(r"\$([^ ]*) (.*)", name, re.DOTALL)
        if call:
            place = re.fullmatch(r"(.*):([0-9]{1,9})", call[1], re.DOTALL)
            where = (place[1], int(place[2])) if place else (None, None)
            expected.append((id, name, *where, call[2]))
    columns = ("event_type_id", "name", "file_path", "line_number", "function_name")
    assert profile.columns("PythonFrame", *columns) == expected


def test_modules_and_operations_are_those_of_the_programs(profile):
    programs = profile.document["programs"]
    for id, (row, program) in enumerate(zip(profile.rows("HloModule"), programs, strict=True)):
        assert row["id"] == id
        assert (row["name"], row["label"]) == (program["name"], program["label"])
        assert row["program_id"] % (1 << 64) == program["program_id"]
        assert row["instance_id"] == program["host"]
        assert row["operation_count"] == len(program["operations"])
    expected = [(id, op) for id, program in enumerate(programs) for op in program["operations"]]
    rows = profile.rows("HloOperation")
    for id, (row, (module, operation)) in enumerate(zip(rows, expected, strict=True)):
        assert (row["id"], row["module_id"]) == (id, module)
        for column in ("name", "opcode", "computation"):
            assert row[column] == operation[column]
        for column in ("op_name", "source_file", "source_line"):
            assert row[column] == (operation[column] or None)


def test_stack_frames_resolve_to_those_of_the_programs(profile):
    frames = {row["id"]: row for row in profile.rows("StackFrame")}
    places = {row["id"]: row for row in profile.rows("StackFrameFileLocation")}
    files = dict(profile.columns("StackFrameFileName", "id", "name"))
    functions = dict(profile.columns("StackFrameFunctionName", "id", "name"))
    assert len(set(files.values())) == len(files)
    assert len(set(functions.values())) == len(functions)
    assert len({tuple(row.values())[1:] for row in places.values()}) == len(places)
    for ids in (files, functions, places, frames):
        assert list(ids) == [str(number) for number in range(1, len(ids) + 1)]

    def resolved(id):
        frame = frames[id]
        place = places[str(frame["file_location_id"])]
        return (
            files[str(place["file_name_id"])] if place["file_name_id"] else "",
            functions[str(place["function_name_id"])] if place["function_name_id"] else "",
            place["line_number"],
        )

    first = 1  # frames of one program follow those of the other
    operations = iter(profile.columns("HloOperation", "stack_frame_id"))
    for program in profile.document["programs"]:
        for number, frame in enumerate(program["stack_frames"]):
            id = str(first + number)
            assert resolved(id) == (frame["file"], frame["function"], frame["line"])
            parent = first + frame["parent"] if "parent" in frame else 0
            assert frames[id]["parent_frame_id"] == str(parent)
        for operation in program["operations"]:
            known = "stack_frame" in operation
            id = str(first + operation["stack_frame"]) if known else None
            assert next(operations) == (id,)
        first += len(program["stack_frames"])
    assert len(frames) == first - 1


def test_warnings_are_the_messages_of_the_document(profile):
    expected = [(message["text"], message["level"]) for message in profile.document["messages"]]
    assert profile.columns("Warning", "message", "category") == expected


def test_samples_are_the_events_of_counters(profile):
    expected = []
    names = {lane["track"]: label(lane) for lane in profile.lanes if lane["is_counter"]}
    for id, event in enumerate(profile.events):
        if event["track"] in names:
            value = event["value"]
            start = event["start_ps"] // 1000 if is_timed(event) else None
            expected.append((id, event["track"], names[event["track"]], start, value))
    ours = [
        (id, track, name, time if is_timed(profile.events[id]) else None, as_written(value))
        for id, track, name, time, value in profile.columns(
            "CounterSample", "id", "track_id", "name", "timestamp", "value"
        )
    ]
    assert list(map(repr, ours)) == list(map(repr, expected))


def date(epoch_ns):
    seconds, rest = divmod(epoch_ns, 10**9)
    day = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return f"{day:%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def float32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def first_arg(profile, *keys):
    """What the first source that has one of the keys says under it."""
    for key in keys:
        for track in profile.document["tracks"]:
            if track["level"] == "source" and key in track.get("args", {}):
                return first_value(track["args"], key)
    return None


def number_or_zero(value):
    return value if isinstance(value, (int, float)) else 0


def test_metadata_says_when_and_on_what_it_was_taken(profile):
    document = profile.document
    [system], [row] = profile.rows("SystemProfileMetadata"), profile.rows("Metadata")
    epoch, times = document["start_epoch_ns"], []
    for key in ("first_event_ps", "last_event_ps"):
        since_start = document[key] // 1000
        if epoch is None:
            times.append(("", str(since_start)))
        else:
            times.append((date(epoch + since_start), str(epoch + since_start)))
    (first, first_ns), (last, last_ns) = times
    assert system == {
        "first_ts": first,
        "last_ts": last,
        "first_ts_ns": first_ns,
        "last_ts_ns": last_ns,
        "ntff_version": 0,
        "hbm_capacity_bytes": number_or_zero(first_arg(profile, "memory_size")),
    }
    device = [e for e in profile.events if profile.is_device(e["track"]) and is_timed(e)]
    start, end, _ = extent_of(device)
    known = {
        "profile_schema_version": "7.4.0",
        "first_hw_timestamp": start or 0,
        "last_hw_timestamp": end or 0,
        "first_ts": first,
        "last_ts": last,
        "hbm_ddr_bandwidth": float32(number_or_zero(first_arg(profile, "memory_bandwidth"))),
        "neuroncore_clock_freq": float32(number_or_zero(first_arg(profile, "clock_rate")) / 1e6),
        "ticks_per_nanosec": 1,
        "instance_type": first_arg(profile, "gpu_device_name", "device_type_string"),
        "driver_version": first_arg(profile, "cuda_driver_version"),
        "runtime_version": first_arg(profile, "cuda_runtime_version"),
        "compiler_version": first_arg(profile, "jaxlib_version"),
        "explorer_version": profile.kymo.ok("--version").strip(),
        "is_simulation": False,
    }
    required = {name for name, _, required in profile.tables["Metadata"].schema if required}
    for column, value in row.items():
        unknown = 0 if column in required else None
        assert value == known.get(column, unknown), column


# The schema


def fields_of(profile):
    """{table: [(column, type, required)]}, as SchemaFields has it."""
    tables = {}
    for row in profile.rows("SchemaFields"):
        field = row["field_name"], row["field_type"], row["field_required"]
        tables.setdefault(row["table_name"], []).append(field)
    return tables


def test_schema_fields_describe_every_table_exactly(profile):
    described = fields_of(profile)
    for name, table in profile.tables.items():
        assert table.schema == described[name], name


def test_a_table_without_rows_is_not_written_but_those_of_events_and_findings(profile):
    always = {"SystemProfileEvents", "Finding", "FindingEvidence"}
    assert all(table.count > 0 for name, table in profile.tables.items() if name not in always)
    files = sorted(path.name for path in profile.directory.iterdir())
    modules = ["modules.hlo.zst"] if any(row["file"] for row in profile.rows("HloModule")) else []
    assert files == sorted([*(f"{name}.parquet" for name in profile.tables), "timeline.kymo", "summary.json", *modules])
    document = profile.document
    needed = {"Metadata", "SystemProfileMetadata", "SchemaFields", "EventType", "Track", *always}
    for table, list_of in (("Flow", "flows"), ("Step", "steps"), ("HloModule", "programs"),
                           ("HloRun", "derived_rows"), ("Warning", "messages")):  # fmt: skip
        assert (table in profile.tables) == bool(document[list_of]), table
    assert needed <= set(profile.tables)


@pytest.fixture(scope="module")
def any_profile(kymo, tmp_path_factory):
    """One for the tests that look at what is the same in all."""
    folder = tmp_path_factory.mktemp("any")
    return Profile(kymo, write(random_space.make(1), folder / "x.xplane.pb"), folder / "profile")


def published_fields(text):
    fields = [word.split(":") for word in text.split()]
    return [(name, PUBLISHED_TYPES[type.rstrip("*")], "*" in type) for name, type in fields]


@pytest.mark.parametrize("table", PUBLISHED)
def test_tables_of_the_published_schema_begin_with_its_columns(any_profile, table):
    """Columns of our own follow behind, on the table of events alone."""
    published, ours = published_fields(PUBLISHED[table]), fields_of(any_profile)[table]
    assert ours[: len(published)] == published
    assert len(ours) == len(published) or table == "SystemProfileEvents"


def test_schema_fields_tell_units_forms_and_choices(any_profile):
    rows = {(row["table_name"], row["field_name"]): row for row in any_profile.rows("SchemaFields")}
    assert len(rows) == len(any_profile.rows("SchemaFields"))
    for (_, name), row in rows.items():
        for column in ("table_description", "field_description"):
            assert row[column].endswith(".") and len(row[column]) > 4
        assert row["field_example"]
        if name.endswith("_ns") or name in ("start_ts", "end_ts", "timestamp"):
            assert row["field_unit"] == "ns", row
        if name.endswith("_bytes"):
            assert row["field_unit"] == "B", row
        assert name.endswith("_percent") == (row["field_unit"] in ("%", "fraction")) or row["table_name"] == "Summary", row
        is_percent = row["field_unit"] == "%"
        bounds = row["field_minimum"], row["field_maximum"]
        assert bounds == ((0.0, 100.0) if is_percent else (None, None))
        assert (row["field_format"] == "json") == name.endswith("_json")
    assert rows["Metadata", "first_ts"]["field_format"] == "date-time"
    assert rows["SystemProfileMetadata", "first_ts_ns"]["field_format"] is None


def test_columns_of_few_values_hold_none_but_those_the_schema_lists(profile):
    for row in profile.rows("SchemaFields"):
        if row["field_enum_values"] is None or row["table_name"] not in profile.tables:
            continue
        values = set(profile.tables[row["table_name"]].columns[row["field_name"]])
        assert values - {None} <= set(row["field_enum_values"].split(", ")), row


def test_the_schema_that_is_shown_is_the_one_that_is_written(kymo, any_profile):
    text = kymo.ok("--show-profile-schema")
    assert "7.4.0" in text
    shown = {}
    for paragraph in text.split("\n\n")[1:]:
        head, *lines = paragraph.strip("\n").split("\n")
        fields = []
        for line in lines:
            name, type = line.split()[:2]
            fields.append((name, type.rstrip("?"), not type.endswith("?")))
        shown[head.split(":")[0]] = fields
    assert shown == fields_of(any_profile)


# Sums


def test_durations_add_up_the_same_in_tables_timeline_and_document(profile):
    totals, runs = {}, {}
    for event in profile.events:
        if is_timed(event):
            total = totals.get(event["track"], 0)
            totals[event["track"]] = total + max(0, event["duration_ps"])
    for number, row in enumerate(profile.document["derived_rows"]):
        track = len(profile.document["tracks"]) + number
        runs[track] = sum(event["duration_ps"] for event in row["events"])
    query = """
        SELECT track_id,
               sum(greatest(duration_ns::HUGEINT * 1000 + duration_fraction_ps, 0))::VARCHAR
        FROM read_parquet(?) WHERE occurrence_count IS NULL GROUP BY track_id"""
    path = profile.directory / "SystemProfileEvents.parquet"
    if path.exists():
        found = duckdb.connect().execute(query, [str(path)]).fetchall()
        assert {track: int(total) for track, total in found} == totals
    counters = {lane["track"] for lane in profile.lanes if lane["is_counter"]}
    shown = {
        track["track"]: sum(item["busy_ps"] for row in track["rows"] for item in row["items"])
        for track in profile.kymo.json("timeline", profile.directory)["tracks"]
        if track["track"] not in counters
    }
    expected = {track: total for track, total in totals.items() if track not in counters} | runs
    assert shown == expected


# Many events


@pytest.mark.plain_build
@pytest.mark.slow
def test_a_line_of_200000_events_is_written_in_several_groups(kymo, tmp_path):
    """Values that leap, repeat and miss, over the borders of pages and groups."""
    count, rng = 200_000, random.Random(1)
    space = xspace.XSpace(hostnames=[b"host"])
    plane = xspace.PlaneWriter(space, "/device:GPU:0", pid=1)
    types = [plane.event_id(f"kernel {n}") for n in range(300)]
    key, text = plane.stat_id("correlation_id"), plane.stat_id("label")
    line = plane.line("Stream #1(x)", 1)
    expected, lines = [], []
    for number in range(count):
        type = rng.choice(types) if number % 70_000 < 60_000 else types[7]
        start, duration = (rng.getrandbits(rng.randrange(1, 60)) for _ in range(2))
        stats = b""
        if number % 3 == 0 and number < 150_000:
            stats += block(4, packed(1, key) + packed(4, number + 1))
        if number % 50 == 0 and 70_000 < number:
            stats += block(4, packed(1, text) + packed(5, f"t{number}"))
        lines.append(block(4, packed(1, type) + packed(2, start) + packed(3, duration) + stats))
        chain = [f"{number + 1}"] if number % 3 == 0 and number < 150_000 else None
        label = f"t{number}" if number % 50 == 0 and 70_000 < number else None
        expected.append((number, f"kernel {type - 1}", start, duration, chain, label))
    line_bytes = line.SerializeToString() + b"".join(lines)
    del plane.plane.lines[:]
    capture = tmp_path / "large.xplane.pb"
    rest = space.planes[0].SerializeToString() + block(3, line_bytes)
    capture.write_bytes(block(1, rest) + block(4, b"host"))
    directory = tmp_path / "profile"
    kymo.ok("view", capture, "--output-file", directory, "--ingest-only")
    table = Table(directory / "SystemProfileEvents.parquet")
    assert table.groups >= 3
    names = ["id", "name", "start_ts", "start_fraction_ps", "duration_ns", "duration_fraction_ps"]
    names += ["flow_id", "extra_attributes_json"]
    for row, (id, name, start, duration, chain, label) in zip(
        zip(*(table.columns[column] for column in names)), expected, strict=True
    ):
        assert row[:2] == (id, name)
        assert row[2] * 1000 + row[3] == start and row[4] * 1000 + row[5] == duration
        assert [x.split(".")[1] for x in row[6]] == chain if chain else row[6] is None
        extra = attributes(row[7])
        assert extra.get("label") == label
        assert extra.get("correlation_id") == (int(chain[0]) if chain else None)


def test_the_tables_do_not_depend_on_the_number_of_threads(kymo, tmp_path):
    capture = write(random_space.make(2), tmp_path / "x.xplane.pb")
    contents = []
    for jobs in (1, 2, 7):
        directory = tmp_path / f"profile{jobs}"
        kymo.ok("view", capture, "--output-file", directory, "--ingest-only", "-j", jobs)
        contents.append({p.name: p.read_bytes() for p in directory.glob("*.parquet")})
    assert contents[0] == contents[1] == contents[2]


@pytest.mark.slow
def test_texts_that_fill_more_than_a_group_end_it_early(kymo, tmp_path):
    """Groups are kept to some 64 MB of text, however few events that is."""
    space = xspace.XSpace(hostnames=[b"host"])
    plane = RawPlane(space, b"/host:CPU")
    type, line = plane.type(b"e"), plane.plane.lines.add(id=1, name=b"main")
    for number in range(6000):
        event = line.events.add(metadata_id=type.id, offset_ps=number)
        plane.stat(event.stats, b"text", str_value=b"%05d" % number * 5000)
    directory = tmp_path / "profile"
    capture = write(space, tmp_path / "large.xplane.pb")
    kymo.ok("view", capture, "--output-file", directory, "--ingest-only")
    file = pyarrow.parquet.ParquetFile(directory / "SystemProfileEvents.parquet")
    groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    assert len(groups) > 1 and sum(groups) == 6000
    texts = file.read(["id", "extra_attributes_json"])
    assert texts.column(0).to_pylist() == list(range(6000))
    for id, text in enumerate(texts.column(1).to_pylist()):
        assert text == '{"text":"%s"}' % (f"{id:05d}" * 5000)


@pytest.mark.skipif("KYMO_HUGE" not in os.environ, reason="it takes half a minute")
def test_a_text_larger_than_a_page_can_be_does_not_spoil_the_table(kymo, tmp_path):
    """A page of Parquet has less than 2 GiB; a few kilobytes of zstd unpack to more. The capture is
    refused, or the table can be read."""
    text = b"\x01" * (360 << 20)  # six times as long in JSON
    event = block(4, packed(1, 1) + block(4, packed(1, 1) + block(5, text)))
    plane = block(3, packed(1, 1) + event) + block(5, packed(1, 1) + block(2, packed(2, "text")))
    capture, directory = tmp_path / "huge.xplane.pb.zst", tmp_path / "profile"
    capture.write_bytes(zstandard.compress(block(1, packed(2, "/host:CPU") + plane)))
    result = kymo.run("view", capture, "--output-file", directory, "--ingest-only", "-j", 1)
    if result.returncode == 0:
        table = pyarrow.parquet.read_table(directory / "SystemProfileEvents.parquet")
        (text,) = table.column("extra_attributes_json").to_pylist()
        assert text is None or json.loads(text)
    else:
        assert result.returncode == 1 and not directory.exists()


# Where the ends of the numbers are reached


def profile_of(kymo, tmp_path, fill):
    return Profile(kymo, write(small(fill)(), tmp_path / "x.xplane.pb"), tmp_path / "profile")


@pytest.mark.parametrize("duration", [INT64_MIN, INT64_MIN + 1, INT64_MIN + 998, INT64_MAX])
def test_a_duration_at_the_end_of_its_range_is_exact(kymo, tmp_path, duration):
    def fill(space):
        plane = xspace.PlaneWriter(space, "/host:CPU")
        plane.event(plane.line("main"), "e", 0, duration)

    made = profile_of(kymo, tmp_path, fill)
    test_times_of_events_are_exact(made)
    test_tracks_are_those_of_the_document(made)


@pytest.mark.parametrize("start", [INT64_MIN, INT64_MIN + 1, INT64_MIN + 998, INT64_MAX])
def test_a_start_at_the_end_of_its_range_is_exact(kymo, tmp_path, start):
    def fill(space):
        plane = xspace.PlaneWriter(space, "/host:CPU")
        plane.event(plane.line("main"), "e", start, 0)

    made = profile_of(kymo, tmp_path, fill)
    test_times_of_events_are_exact(made)
    test_tracks_are_those_of_the_document(made)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_gap_wider_than_its_range_stops_at_the_end_of_it(kymo, tmp_path, swapped):
    far = (1 << 62) + (1 << 61)

    def fill(space):
        host = xspace.PlaneWriter(space, "/host:CPU", 1)
        host.event(host.line("main"), "launch", far if swapped else -far, 0, correlation_id=1)
        device = xspace.PlaneWriter(space, "/device:GPU:0", 1)
        line = device.line("Stream #1(x)")
        device.event(line, "kernel", -far if swapped else far, 0, correlation_id=1)

    test_flows_are_those_of_the_document(profile_of(kymo, tmp_path, fill))


@pytest.mark.parametrize("line", [(1 << 31) - 1, 1 << 31, (1 << 32) - 1])
def test_a_line_number_beyond_32_bits_does_not_spoil_the_table(kymo, tmp_path, line):
    """The column has 32 bits; what it cannot hold must not make the file one that is not read."""

    def fill(space):
        plane = xspace.PlaneWriter(space, "/host:metadata")
        frames = [(1, 1, 5, 0, 0), (1, 1, line, 0, 1), (2, 1, 7, 0, 2)]
        add_program(plane, "jit_f", hlo("jit_f", frames), 1)

    made = profile_of(kymo, tmp_path, fill)
    lines = [n for (n,) in made.columns("StackFrameFileLocation", "line_number")]
    assert lines[0] == 5 and lines[2] == 7
    assert lines[1] == line or line >= 1 << 31


@pytest.mark.parametrize("value", [(1 << 64) - 1, 1e300, math.nan, math.inf, "text", b"b"])
def test_a_capacity_that_cannot_be_is_no_capacity(kymo, tmp_path, value):
    def fill(space):
        plane = xspace.PlaneWriter(space, "/device:GPU:0")
        for key in ("memory_size", "memory_bandwidth", "clock_rate"):
            plane.stat(plane.plane.stats, key, value)

    [row] = profile_of(kymo, tmp_path, fill).rows("SystemProfileMetadata")
    assert row["hbm_capacity_bytes"] in (0, INT64_MAX)


# Details that are not what they seem

KERNEL = "regs:29 static_shared:0 dynamic_shared:0 grid:8192,1,1 block:128,1,1 occ_pct:100"


def device_profile(kymo, tmp_path, values):
    """Events of one stream, each with the args given: [(key, field of the stat, value)]."""

    def fill(space):
        plane = RawPlane(space, b"/device:GPU:0")
        type, line = plane.type(b"kernel"), plane.plane.lines.add(id=1, name=b"Stream #1(x)")
        for number, stats in enumerate(values):
            event = line.events.add(metadata_id=type.id, offset_ps=number)
            for key, field, value in stats:
                value = plane.key(value) if field == "ref_value" else value
                plane.stat(event.stats, key, **{field: value})

    return profile_of(kymo, tmp_path, fill)


def test_an_empty_text_of_details_is_not_taken_for_the_one_before_it(kymo, tmp_path):
    """The text of the first is written in the event, that of the second is a reference to ""."""
    written = [(b"kernel_details", "str_value", KERNEL.encode())]
    empty = [(b"kernel_details", "ref_value", b"")]
    made = device_profile(kymo, tmp_path, [written, empty, written, empty])
    assert made.columns("GpuKernel", "id") == [(0,), (2,)]
    test_every_arg_is_kept_once(made)


@pytest.mark.parametrize("text", [KERNEL + "\0junk", KERNEL + " regs:30"], ids=["nul", "twice"])
def test_details_of_a_kernel_that_say_more_stay_a_text(kymo, tmp_path, text):
    made = device_profile(kymo, tmp_path, [[(b"kernel_details", "str_value", text.encode())]])
    test_every_arg_is_kept_once(made)


@pytest.mark.parametrize("text", ["size:5 size:6 async:1", "size:5 kind_src:a kind_src:b async:1"])
def test_details_of_a_copy_that_say_something_twice_stay_a_text(kymo, tmp_path, text):
    made = device_profile(kymo, tmp_path, [[(b"memcpy_details", "str_value", text.encode())]])
    test_every_arg_is_kept_once(made)


def test_details_that_are_bytes_stay_bytes(kymo, tmp_path):
    made = device_profile(kymo, tmp_path, [[(b"kernel_details", "bytes_value", KERNEL.encode())]])
    test_every_arg_is_kept_once(made)
