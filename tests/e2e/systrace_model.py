"""Random system traces with clocks that drift, and what is in them, worked out the plain way."""

import json
import random

EPOCH_NS = 1_729_888_371_056_597_613
HARDWARE = ["nc_exec_running", "cc_running", "cc_exec_barrier", "numerical_err",
            "nrt_model_switch", "nc_model_switch"]
SOFTWARE = ["nrt_execute", "kbl_exec_pre", "kmgr_exec_core", "nrt_tensor_write", "nrt_load"]


class Clock:
    """A core's own time: it starts at some count and runs a little fast or slow."""

    def __init__(self, rng):
        self.offset = rng.randrange(10**12)
        self.drift = rng.uniform(-1e-4, 1e-4)

    def device_ns(self, host_ns):
        since = host_ns - EPOCH_NS
        return self.offset + since + round(since * self.drift)


def record(kind, phase, time, core, tracking_id, **data):
    event = {"event_type": kind, "tracking_id": tracking_id, "nc_idx": core, "timestamp_ns": time}
    if phase:
        event["phase"] = phase
    return {**event, "data": data} if data else event


def make(seed, events=300, ids=300):
    """The records in the order of a file, and the events they mean: name, core, start, duration.
    Hardware records have host times that are wrong; only the device's, adjusted, are right."""
    rng = random.Random(seed)
    clocks = {core: Clock(rng) for core in rng.sample(range(128), rng.randrange(1, 5))}
    syncs = {core: rng.choice([0, 1, 2, 10]) for core in clocks}
    records, meant = [], []
    for i in range(events):
        core, clock = rng.choice(sorted(clocks.items()))
        start = EPOCH_NS + rng.randrange(60 * 10**9)
        stop = start + 1 + rng.randrange(10**rng.randrange(2, 9))
        fate = rng.choices(["pair", "point", "start", "stop"], [20, 3, 1, 1])[0]
        data = {"exec_id": i, "model_name": f"model {i % 3}"}
        late = 0
        if rng.random() < 0.5:
            kind = rng.choice(HARDWARE)
            late = rng.randrange(10**6) if syncs[core] else 0
        else:
            kind = rng.choice(SOFTWARE)
        ends = {"pair": ["start", "stop"], "point": [None]}.get(fate, [fate])
        for end in ends:
            time = stop if end == "stop" else start
            more = {"nc_timestamp_ns": clock.device_ns(time)} if kind in HARDWARE else {}
            records.append(record(kind, end, time + late, core, i % ids,
                                  **(data if end != "stop" or fate == "stop" else {}), **more))
        first = stop if fate == "stop" else start
        meant.append((kind, core, first, stop - start if fate == "pair" else 0))
    for core, count in syncs.items():
        for i in range(count):
            time = EPOCH_NS + rng.randrange(60 * 10**9) if count < 10 else EPOCH_NS + 6 * i * 10**9
            records.append(record("timestamp_sync_point", None, time, core, 10**6 + i,
                                  cpu_timestamp_ns=time, nc_timestamp_ns=clocks[core].device_ns(time)))
            meant.append(("timestamp_sync_point", core, time, 0))
    return records, meant, syncs


def order(records, rng):
    """Starts stay before their stops only in time."""
    shuffled = records[:]
    rng.shuffle(shuffled)
    return shuffled


def text(records, **more):
    return json.dumps({"events": records, "data_version": 2, **more})
