"""Spaces made at random, a seed each: several processes, threads that nest, links of all kinds
between events, streams whose kernels overlap, lines out of order, equal ids everywhere."""

import random

import xspace

THREADS_END_PS = 400_000
KERNELS = ["add", "dot", "copy", "reduce"]


class _Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.space = xspace.XSpace(hostnames=[b"host"])
        self.steps = 0

    def chance(self, share):
        return self.random.random() < share

    def write(self, plane, line_name, id, events):
        stamp_ns = self.random.randrange(3)
        line = plane.line(line_name, id, stamp_ns)
        if self.chance(0.5):
            self.random.shuffle(events)
        else:
            events.sort(key=lambda event: (event[1], -event[2]))
        for name, start, duration, stats in events:
            plane.event(line, name, start - stamp_ns * 1000, duration, **stats)

    def context(self, type, id):
        stats = {id: self.random.randrange(40)}
        if self.chance(0.8):
            stats[type] = self.random.randrange(1, 4)
        return stats

    def stats(self, launches):
        stats = {}
        if self.chance(0.06):
            self.steps += 1
            if self.chance(0.9):
                stats["step_num"] = self.steps
            if self.chance(0.9) or not stats:
                stats["_r"] = 1
        if self.chance(0.2):
            stats |= self.context("_pt", "_p")
        if self.chance(0.2):
            stats |= self.context("_ct", "_c")
        if self.chance(0.2):
            stats["correlation_id"] = len(launches) + 1
            launches.append(None)
        return stats

    def nest(self, events, start, end, depth, launches):
        """Events one behind the other between two times, and others inside them."""
        at, length = start, end - start
        while at < end and len(events) < 150:
            at += self.random.choice([0, 0, self.random.randrange(length // 8 + 1)])
            duration = self.random.choice([0, *self.random.choices(range(1, length // 3 + 2), k=5)])
            duration = max(0, min(duration, end - at))
            if at >= end:
                return
            stats = self.stats(launches)
            if "correlation_id" in stats:
                launches[stats["correlation_id"] - 1] = at
            events.append([f"call {self.random.randrange(12)}", at, duration, stats])
            if duration and depth < 4 and self.chance(0.7):
                self.nest(events, at, at + duration, depth + 1, launches)
            at += duration or 1

    def process(self, number, pid):
        launches = []  # start of each, by correlation id from 1
        host = xspace.PlaneWriter(self.space, f"/host:CPU:{number}", pid)
        for thread in range(self.random.randrange(2, 6)):
            events = []
            self.nest(events, 10_000, THREADS_END_PS, 0, launches)
            self.write(host, f"thread {thread}", 100 + thread, events)
        self.devices(number, pid, launches)

    def devices(self, number, pid, launches):
        count = self.random.randrange(1, 3)
        streams = [
            [[] for _ in range(self.random.randrange(1, 4))] for _ in range(count)
        ]  # by device
        work = [(id + 1, start) for id, start in enumerate(launches) if self.chance(0.9)]
        work += [(id, 50_000) for id in (0, 900_000, None)]  # of no launch in the file
        for id, start in work:
            device = self.random.choice(streams)
            for _ in range(self.random.randrange(1, 4)):
                begin = start + self.random.randrange(-2_000, 90_000)
                stats = {} if id is None else {"correlation_id": id}
                self.random.choice(device).append(
                    (
                        self.random.choice(KERNELS),
                        begin,
                        self.random.choice([0, self.random.randrange(20_000)]),
                        stats,
                    )
                )
        for device, lines in enumerate(streams):
            plane = xspace.PlaneWriter(self.space, f"/device:GPU:{number * 2 + device}", pid)
            for stream, events in enumerate(lines):
                self.write(plane, f"Stream #{7 + stream}(Compute)", 7 + stream, events)


def make(seed):
    writer = _Writer(seed)
    for number in range(1 + seed % 2):
        writer.process(number, 4_000 + number)
    xspace.task_environment(writer.space, 1_700_000_000_000_000_000, 1_700_000_001_000_000_000)
    return writer.space
