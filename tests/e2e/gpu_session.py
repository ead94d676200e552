"""Sessions with GPU activities, written with Python's protobuf library by the published schemas."""

import schema

EPOCH_NS = 1_700_000_000_000_000_000
MONOTONIC_NS = 5_000_000_000_000
DEVICE = {"compute_major": 9, "compute_minor": 0, "memory_bytes": 150109880320, "memory_bytes_per_s": 4814304000000,
          "multiprocessors": 132, "clock_khz": 1980000, "warps_per_multiprocessor": 64, "threads_per_warp": 32,
          "blocks_per_multiprocessor": 32, "registers_per_multiprocessor": 65536,
          "shared_bytes_per_multiprocessor": 233472, "registers_per_block": 65536, "shared_bytes_per_block": 49152}
SHAPE = {"grid_x": 8, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1, "registers": 16}


class Session:
    """Times of activities are nanoseconds since the start of the capture."""

    def __init__(self):
        self.trace = schema.messages("gpu_trace")["GpuTrace"](format="kymo.gpu_trace", version=1)
        self.events = schema.messages("ntrace")["Ntrace"](format="kymo.ntrace", version=1)
        self.ids = {}
        self.tables = {}

    def define(self, kind, key, **fields):
        """The id of a text, stream or shape, which is added when it is new."""
        known = self.ids.setdefault((kind, key), len(getattr(self.trace, kind)) + 1)
        if known > len(getattr(self.trace, kind)):
            if kind == "texts":
                self.trace.texts.append(key)
            else:
                getattr(self.trace, kind).add(**fields)
        return known

    def text(self, text):
        return self.define("texts", text) if text else 0

    def stream(self, device, context, stream):
        return self.define("streams", (device, context, stream), device=device, context=context, stream=stream)

    def shape(self, name, **fields):
        fields = SHAPE | fields
        return self.define("shapes", (name, *fields.items()), name=self.text(name), **fields)

    def device(self, number, name="NVIDIA H200"):
        self.trace.devices.add(id=number, name=self.text(name), **DEVICE)

    def add(self, table, start_ns=None, **values):
        if start_ns is not None:
            values["start_ns"] = MONOTONIC_NS + start_ns
        self.tables.setdefault(table, []).append(values)

    def flush(self):
        """What was added becomes a piece of the file, in columns."""
        for table, rows in self.tables.items():
            message = getattr(self.trace, table).add()
            for field in message.DESCRIPTOR.fields:
                values = [row.get(field.name, 0) for row in rows]
                if field.type == field.TYPE_SINT64:
                    values = [signed(value - before) for value, before in zip(values, [0, *values])]
                getattr(message, field.name).extend(values)
        self.tables = {}

    def name(self, text):
        """The number of a text among the names of events."""
        known = [name.text for name in self.events.names]
        if text not in known:
            self.events.names.add(text=text, level=1)
        return known.index(text) + 1 if text in known else len(known) + 1

    def ranges(self, thread, events, name="main"):
        """A thread's ranges, (time, text, whether it starts) and maybe args, numbers and texts by name."""
        self.events.lanes.add(kind=1, name=name, thread_id=thread, start_ns=EPOCH_NS)
        times = [event[0] for event in events]
        args = [event[3] if len(event) > 3 else {} for event in events]
        block = self.events.blocks.add(
            lane=len(self.events.lanes) - 1, count=len(events), base_ns=EPOCH_NS,
            time_ns=[time - before for time, before in zip(times, [0, *times])],
            name=[self.name(event[1]) for event in events],
            phase=[1 if event[2] else 2 for event in events],
            arg_count=[len(values) for values in args] if any(args) else [])
        for key, value in (item for values in args for item in values.items()):
            block.arg_key.append(self.name(key))
            block.arg_type.append(2 if isinstance(value, int) else 4)
            if isinstance(value, int):
                block.uint_value.append(value)
            else:
                block.text_value.append(self.name(value))

    def write(self, directory, process=42):
        session = directory / f"i-0test_pid_{process}"
        session.mkdir(parents=True)
        self.flush()
        info = schema.messages("trace_info")["TraceInfo"](
            format="kymo.trace_info", version=1, instance_id="i-0test", process_id=process, program="/bin/train",
            start_ns=EPOCH_NS, end_ns=EPOCH_NS + 10**9)
        info.clock.kind = 1
        for at in (0, 10**9):
            info.clock.samples.add(ticks=MONOTONIC_NS + at, monotonic_ns=MONOTONIC_NS + at, realtime_ns=EPOCH_NS + at)
        for name, message in [("gpu_trace", self.trace), ("ntrace", self.events), ("trace_info", info)]:
            first = type(message)(format=message.format)  # which tells the file's kind
            (session / f"{name}.pb").write_bytes(first.SerializeToString() + message.SerializeToString())
        return session


def signed(value):
    return (value + 2**63) % 2**64 - 2**63
