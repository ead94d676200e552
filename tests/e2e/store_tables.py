"""The tables of a profile as Arrow reads them, with all that DuckDB says about them held against it."""

import collections
import functools
import json
import math

import duckdb
import pyarrow.compute
import pyarrow.parquet

DATABASE = duckdb.connect()  # a new one costs more than most tables
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
        read = DATABASE.sql("SELECT * FROM read_parquet(?)", params=[str(path)])
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


def first_value(args, key):
    """Of a key that repeats, the first."""
    value = args.get(key)
    return value[0] if isinstance(value, list) else value


def as_written(value):
    """A value of a column, as the document has it."""
    if is_nan(value):
        return "NaN"
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def fields_of(profile):
    """{table: [(column, type, required)]}, as SchemaFields has it."""
    tables = {}
    for row in profile.rows("SchemaFields"):
        field = row["field_name"], row["field_type"], row["field_required"]
        tables.setdefault(row["table_name"], []).append(field)
    return tables
