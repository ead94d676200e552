"""CUPTI's records as bytes, by their published layouts, and what gpu_trace.pb must say of them."""

import itertools
import random
import struct

import schema

# Kind, where the fields are, and the sizes the record has had, by the first version of CUPTI's interface that had them.
GRID = [(f"{what}_{axis}", "i") for what in ("grid", "block") for axis in "xyz"]
KERNEL = 10
RECORDS = {
    "kernel": (KERNEL, {18: 208, 22: 216, 130202: 224, 130401: 248}, {
        "registers": (6, "H"), "start": (16, "Q"), "end": (24, "Q"), "device": (40, "I"), "context": (44, "I"),
        "stream": (48, "I"), **{name: (52 + 4 * i, form) for i, (name, form) in enumerate(GRID)},
        "static_shared": (76, "i"), "dynamic_shared": (80, "i"), "local": (84, "I"), "correlation": (92, "I"),
        "launch_type": (136, "B"), "shared_executed": (140, "I"), "graph_node": (144, "Q"), "graph": (156, "I"),
        "cluster_x": (176, "I"), "cluster_y": (180, "I"), "cluster_z": (184, "I")}),
    "copy": (1, {18: 88, 24: 96, 130401: 112}, {
        "kind_of_copy": (4, "B"), "source_kind": (5, "B"), "destination_kind": (6, "B"), "flags": (7, "B"),
        "bytes": (8, "Q"), "start": (16, "Q"), "end": (24, "Q"), "device": (32, "I"), "context": (36, "I"),
        "stream": (40, "I"), "correlation": (44, "I"), "graph_node": (64, "Q"), "graph": (72, "I")}),
    "peer_copy": (22, {18: 96}, {
        "kind_of_copy": (4, "B"), "source_kind": (5, "B"), "destination_kind": (6, "B"), "flags": (7, "B"),
        "bytes": (8, "Q"), "start": (16, "Q"), "end": (24, "Q"), "device": (32, "I"), "context": (36, "I"),
        "stream": (40, "I"), "source_device": (44, "I"), "destination_device": (52, "I"), "correlation": (60, "I"),
        "graph_node": (72, "Q"), "graph": (80, "I")}),
    "fill": (2, {18: 88, 130401: 104}, {
        "value": (4, "I"), "bytes": (8, "Q"), "start": (16, "Q"), "end": (24, "Q"), "device": (32, "I"),
        "context": (36, "I"), "stream": (40, "I"), "correlation": (44, "I"), "memory_kind": (50, "H"),
        "graph_node": (64, "Q"), "graph": (72, "I")}),
    "driver_call": (4, {18: 40}, {
        "id": (4, "I"), "start": (8, "Q"), "end": (16, "Q"), "process": (24, "I"), "thread": (28, "I"),
        "correlation": (32, "I"), "result": (36, "I")}),
    "runtime_call": (5, {18: 40}, {
        "id": (4, "I"), "start": (8, "Q"), "end": (16, "Q"), "process": (24, "I"), "thread": (28, "I"),
        "correlation": (32, "I"), "result": (36, "I")}),
    "wait": (38, {18: 40, 28: 56}, {
        "type": (4, "I"), "start": (8, "Q"), "end": (16, "Q"), "correlation": (24, "I"), "context": (28, "I"),
        "stream": (32, "I"), "event": (36, "I")}),
    "graph": (51, {18: 48, 28: 56}, {
        "correlation": (4, "I"), "start": (8, "Q"), "end": (16, "Q"), "device": (24, "I"), "graph": (28, "I"),
        "context": (32, "I"), "stream": (36, "I")}),
    "overhead": (17, {18: 40, 22: 56}, {
        "overhead_kind": (4, "I"), "object_kind": (8, "I"), "process": (12, "I"), "object": (16, "I"),
        "start": (24, "Q"), "end": (32, "Q")}),
    "allocation": (49, {18: 120, 28: 128}, {
        "operation": (4, "I"), "memory_kind": (8, "I"), "correlation": (12, "I"), "address": (16, "Q"), "bytes": (24, "Q"),
        "time": (32, "Q"), "device": (52, "I"), "context": (56, "I"), "stream": (60, "I"), "is_async": (72, "I"),
        "pool_type": (80, "I"), "pool": (88, "Q"), "pool_bytes": (104, "Q"), "pool_used_bytes": (112, "Q")}),
    "pool": (50, {18: 72, 28: 80}, {
        "operation": (4, "I"), "type": (8, "I"), "correlation": (12, "I"), "device": (20, "I"), "kept": (24, "Q"),
        "address": (32, "Q"), "size": (40, "Q"), "threshold": (48, "Q"), "time": (56, "Q"), "used": (64, "Q")}),
    "device": (8, {18: 176, 24: 184, 130202: 192}, {
        "bandwidth": (8, "Q"), "memory": (16, "Q"), "threads_per_warp": (32, "I"), "clock": (36, "I"),
        "multiprocessors": (44, "I"), "most_warps": (52, "I"), "most_blocks": (56, "I"), "most_shared": (60, "I"),
        "most_registers": (64, "I"), "block_registers": (68, "I"), "block_shared": (72, "I"),
        "compute_major": (104, "I"), "compute_minor": (108, "I"), "id": (112, "I")}),
}
NAME_AT = {"kernel": 104, "device": 136}  # pointers
LAUNCHES = {"driver_call": [307, 442, 514], "runtime_call": [211, 311, 430]}
SMALL = {"B": 0xFF, "H": 0xFFFF, "I": 0xFFFFFFFF, "i": 0x7FFFFFFF, "Q": 2**63 - 1}


def size_of(what, version):
    sizes = RECORDS[what][1]
    return sizes[max(since for since in sizes if since <= version)]


def line(what, version, name=None, **values):
    """The player's command for a record."""
    kind, _, fields = RECORDS[what]
    data = bytearray(size_of(what, version))
    struct.pack_into("I", data, 0, kind)
    for field, value in values.items():
        at, form = fields[field]
        struct.pack_into(form, data, at, value)
    return f"record {data.hex()}" + (f" {NAME_AT[what]} {name}" if name else "")


def random_record(dice, what):
    """Values of all fields, large ones too."""
    _, _, fields = RECORDS[what]
    values = {field: dice.randrange(dice.choice([4, SMALL[form] + 1])) for field, (_, form) in fields.items()}
    if "start" in values:
        values["start"] = dice.randrange(10**15, 10**15 + 10**9)
        values["end"] = values["start"] + dice.choice([0, 1, 1000, 10**10])
    for field in ("device", "context", "stream"):
        if field in values:
            values[field] = dice.randrange(3)
    if what == "allocation":
        values["is_async"] = dice.randrange(2)
        values["pool_type"] = dice.randrange(3)
        values["stream"] = values["stream"] or 2**32 - 1  # none
    if what in LAUNCHES:
        values["id"] = dice.choice(LAUNCHES[what])
    if what == "device":
        values["bandwidth"] %= 2**40
    if what in NAME_AT:
        values["name"] = dice.choice(["gemm", "_Z6kernelPfS_i", "softmax kernel, quite long " * 20, "größer"])
    return values


# ---- The file ---------------------------------------------------------------------------------


def load(path):
    trace = schema.messages("gpu_trace")["GpuTrace"]()
    trace.ParseFromString(path.read_bytes())
    known = trace.ByteSize()
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == known
    assert (trace.format, trace.version) == ("kymo.gpu_trace", 1)
    return trace


def rows(tables):
    """Of all pieces of a table, as dictionaries; columns that hold differences are added up."""
    found = []
    for table in tables:
        names = [field.name for field in table.DESCRIPTOR.fields]
        columns = []
        for field in table.DESCRIPTOR.fields:
            values = list(getattr(table, field.name))
            if field.type == field.TYPE_SINT64:
                values = [value % 2**64 for value in itertools.accumulate(values)]
            columns.append(values)
        assert len({len(column) for column in columns}) == 1, names
        found += [dict(zip(names, row)) for row in zip(*columns)]
    return found


class Trace:
    """gpu_trace.pb with its ids resolved, in the words of the records."""

    def __init__(self, path):
        self.file = load(path)
        self.lost = sum(self.file.lost)
        self.nodes = [{**row, "range": self.text(row["range"])} for row in rows(self.file.nodes)]
        self.counters = [{**row, "counter": self.text(row["counter"])} for row in rows(self.file.counters)]
        self.samples = [{**row, "metric": self.text(row["metric"]), "value": struct.unpack("f", struct.pack("I", row["value"]))[0]}
                        for row in rows(self.file.samples)]
        self.lost_samples = sum(self.file.lost_samples)
        self.windows = rows(getattr(self.file, "windows", []))

    def text(self, number):
        return self.file.texts[number - 1] if number else None

    def place(self, number):
        stream = self.file.streams[number - 1]
        return {"device": stream.device, "context": stream.context, "stream": stream.stream}

    def times(self, row):
        return {"start": row["start_ns"], "end": row["start_ns"] + row["duration_ns"]}

    def kernels(self):
        for row in rows(self.file.kernels):
            shape = self.file.shapes[row["shape"] - 1]
            yield {"name": self.text(shape.name), **self.times(row), **self.place(row["stream"]),
                   **{f"{what}_{axis}": getattr(shape, f"{what}_{axis}") for what in ("grid", "block", "cluster")
                      for axis in "xyz"},
                   "registers": shape.registers, "static_shared": shape.static_shared_bytes,
                   "dynamic_shared": shape.dynamic_shared_bytes, "shared_executed": shape.executed_shared_bytes,
                   "local": shape.local_bytes, "launch_type": shape.launch_type, "correlation": row["correlation"],
                   "graph_node": row["graph_node"], "graph": row["graph"]}

    def copies(self, peer):
        for row in rows(self.file.copies):
            if bool(row["source_device"]) == peer:
                found = {"kind_of_copy": row["kind"], **self.times(row), **self.place(row["stream"]),
                         **{key: row[key] for key in ("source_kind", "destination_kind", "flags", "bytes",
                                                      "correlation", "graph_node", "graph")}}
                if peer:
                    found |= {f"{end}_device": row[f"{end}_device"] - 1 for end in ("source", "destination")}
                yield found

    def fills(self):
        for row in rows(self.file.fills):
            yield {**self.times(row), **self.place(row["stream"]), **{key: row[key] for key in (
                "value", "memory_kind", "bytes", "correlation", "graph_node", "graph")}}

    def calls(self):
        for row in rows(self.file.calls):
            yield {**self.times(row), "name": self.text(row["name"]),
                   **{key: row[key] for key in ("thread", "correlation", "result")}}

    def waits(self):
        for row in rows(self.file.waits):
            yield {**self.times(row), **{key: row[key] for key in ("type", "context", "stream", "event", "correlation")}}

    def graphs(self):
        for row in rows(self.file.graphs):
            yield {**self.times(row), **self.place(row["stream"]), "graph": row["graph"], "correlation": row["correlation"]}

    def overheads(self):
        for row in rows(self.file.overheads):
            yield {**self.times(row), "overhead_kind": row["kind"],
                   "object_kind": row["object_kind"], "object": row["object"]}

    def allocations(self):
        for row in rows(self.file.allocations):
            found = {"time": row["time_ns"], **{key: row[key] for key in (
                "operation", "memory_kind", "bytes", "address", "correlation", "pool", "is_async", "device", "pool_bytes",
                "pool_used_bytes")}}
            yield found | (self.place(row["stream"]) if row["stream"] else {})

    def pools(self):
        for row in rows(self.file.pools):
            yield {"time": row["time_ns"], "size": row["size_bytes"], "used": row["used_bytes"], "kept": row["kept_bytes"],
                   "threshold": row["release_threshold_bytes"],
                   **{key: row[key] for key in ("operation", "type", "device", "address", "correlation")}}

    def devices(self):
        for device in self.file.devices:
            yield {"name": self.text(device.name), "id": device.id, "compute_major": device.compute_major,
                   "compute_minor": device.compute_minor, "memory": device.memory_bytes,
                   "bandwidth": device.memory_bytes_per_s // 1000, "multiprocessors": device.multiprocessors,
                   "clock": device.clock_khz, "most_warps": device.warps_per_multiprocessor,
                   "threads_per_warp": device.threads_per_warp, "most_blocks": device.blocks_per_multiprocessor,
                   "most_registers": device.registers_per_multiprocessor,
                   "most_shared": device.shared_bytes_per_multiprocessor,
                   "block_registers": device.registers_per_block, "block_shared": device.shared_bytes_per_block}

    def found(self, what):
        """What the file has of the records of a kind, in the words of random_record."""
        if what.endswith("_call"):
            start = "cuda" if what == "runtime_call" else "cu"
            return [call for call in self.calls() if call["name"].rstrip("0123456789") == start]
        return list({"kernel": self.kernels, "copy": lambda: self.copies(False), "peer_copy": lambda: self.copies(True),
                     "fill": self.fills, "wait": self.waits, "graph": self.graphs, "overhead": self.overheads,
                     "allocation": self.allocations, "pool": self.pools,
                     "device": self.devices}[what]())


def expected(what, values):
    """A record as Trace.found gives it back."""
    values = dict(values)
    if what.endswith("_call"):
        values["name"] = f"{'cuda' if what == 'runtime_call' else 'cu'}{values.pop('id')}"
    values.pop("process", None)
    if what == "allocation" and (not values["is_async"] or values["stream"] == 2**32 - 1):
        del values["stream"], values["context"]
    if what == "allocation" and values.pop("pool_type") != 1:  # of another process: its number is where the size would be
        values |= {"pool_bytes": 0, "pool_used_bytes": 0}
    return values


def random_script(seed, count, version):
    """Records of all kinds in any order: the script, and the records by what they are."""
    dice = random.Random(seed)
    script, played = [], {what: [] for what in RECORDS}
    for _ in range(count):
        what = dice.choice(list(RECORDS))
        values = random_record(dice, what)
        script.append(line(what, version, **values))
        played[what].append(expected(what, values))
        if dice.randrange(40) == 0:  # of 3,000 records fewer than there are buffers, so that none is refused
            script.append("hand_over")
    return script, played
