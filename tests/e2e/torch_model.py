"""What a capture of torch.profiler means, worked out kernel by kernel from its JSON: the step and the
operator of all device work, and the time on the device of operators and modules."""

import bisect
import collections
import decimal
import gzip
import json
import re

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
KINDS = {"cpu_op": "operator", "user_annotation": "annotation", "python_function": "module"}


def picoseconds(microseconds):
    return int(decimal.Decimal(microseconds).scaleb(6))


class Event:
    def __init__(self, raw, number):
        self.number, self.name, self.cat = number, raw["name"], raw.get("cat")
        self.pid, self.thread = raw["pid"], (raw["pid"], raw["tid"])
        self.start, self.duration = picoseconds(raw["ts"]), picoseconds(raw.get("dur", 0))
        self.args = raw.get("args", {})
        self.parent = self.forward = None

    @property
    def end(self):
        return self.start + self.duration

    @property
    def order(self):
        return self.start, -self.duration, self.number

    @property
    def kind(self):
        kind = KINDS.get(self.cat)
        if kind == "module" and not self.name.startswith("nn.Module: "):
            return None
        return None if re.fullmatch(r"ProfilerStep#\d{1,18}", self.name) else kind

    @property
    def chain(self):
        """The call and the calls around it, innermost first."""
        call, chain = self, []
        while call:
            chain.append(call)
            call = call.parent
        return chain

    @property
    def is_outermost(self):
        return not any((c.name, c.cat) == (self.name, self.cat) for c in self.chain[1:])


def around(calls, count, event):
    """The last of the first so many calls that lasts beyond the start of an event."""
    return next((call for call in reversed(calls[:count]) if call.end > event.start), None)


def fits(backward, forward):
    name = re.split("[: ]", backward)[-1]
    match = re.fullmatch(r"(.+)Backward\d*", name)
    plain = re.split("[: ]", forward)[-1].replace("_", "").lower()
    return bool(match) and match[1].replace("_", "").lower() == plain


class Model:
    def __init__(self, events):
        self.events = [Event(raw, i) for i, raw in enumerate(events) if raw.get("ph") == "X"]
        self.work = [e for e in self.events if e.cat in DEVICE]
        self.calls = sorted((e for e in self.events if e.kind), key=lambda e: e.order)
        self.threads = collections.defaultdict(list)
        for call in self.calls:
            self.threads[call.thread].append(call)
        self.extents = {thread: [c.order[:2] for c in calls] for thread, calls in self.threads.items()}
        for calls in self.threads.values():
            for i, call in enumerate(calls):
                call.parent = around(calls, i, call)
        self.launches = {}
        for event in sorted(self.events, key=lambda e: e.order):
            if "correlation" in event.args and event.cat not in DEVICE | {"cuda_sync"}:
                self.launches.setdefault(event.args["correlation"], event)
        self.numbered = {c.args["External id"]: c for c in reversed(self.calls)
                         if c.cat == "cpu_op" and "External id" in c.args}  # fmt: skip
        self.steps = sorted(
            (e for e in self.events if e.cat == "user_annotation" and e.name.startswith("ProfilerStep#")),
            key=lambda e: e.order,
        )
        self.link()

    def link(self):
        """The forward call of each backward call."""
        forward, backward, votes = collections.defaultdict(list), [], {}
        for call in self.calls:
            sequence = call.args.get("Sequence number", -1)
            if call.cat == "cpu_op" and 0 <= sequence < 2**63:
                if call.args.get("Fwd thread id", 0) > 0:
                    backward.append(call)
                else:
                    forward[call.thread, sequence].append(call)

        def last(call, thread):
            found = forward[thread, call.args["Sequence number"]]
            at = bisect.bisect_right([f.start for f in found], call.start)
            return found[at - 1] if at else None

        threads = sorted({thread for thread, _ in forward}, key=str)
        for call in backward:
            for thread in threads:
                found = last(call, thread) if thread[0] == call.pid else None
                if found:
                    candidates = votes.setdefault((call.pid, call.args["Fwd thread id"]), {})
                    candidates.setdefault(thread, []).append((fits(call.name, found.name), found.start))
        best = {}
        for key, candidates in votes.items():
            best[key] = max(
                candidates,
                key=lambda thread: (
                    sum(fit for fit, _ in candidates[thread]),
                    len(candidates[thread]),
                    -min(start for _, start in candidates[thread]),
                ),
            )
        for call in backward:
            thread = best.get((call.pid, call.args["Fwd thread id"]))
            call.forward = last(call, thread) if thread else None

    def call_of(self, work):
        """The innermost call that launched it."""
        launch = self.launches.get(work.args.get("correlation"))
        if launch and launch.thread in self.threads:
            count = bisect.bisect_right(self.extents[launch.thread], launch.order[:2])
            found = around(self.threads[launch.thread], count, launch)
            if found:
                return found
        number = work.args.get("External id")
        return self.numbered.get(number) if number and number != work.args.get("correlation") else None

    def operator_of(self, work):
        call = self.call_of(work)
        chain = call.chain if call else []
        operators = [c for c in chain if c.kind == "operator"]
        return (operators or [c for c in chain if c.kind == "annotation"] or [None])[0]

    def step_of(self, work):
        """The number of the step whose time its launch lies in."""
        cause = self.launches.get(work.args.get("correlation")) or self.call_of(work)
        inside = [i for i, s in enumerate(self.steps)
                  if cause and s.pid == cause.pid and s.start <= cause.start < s.end]  # fmt: skip
        return inside[-1] if inside else None

    def credits(self, work):
        """The calls of forward passes whose backward pass it is, and what is around them alone."""
        chain, found = self.call_of(work).chain, []
        for i, call in enumerate(chain):
            above = next((c.forward for c in chain[i + 1 :] if c.forward), None)
            if call.forward and call.forward is not above:
                for outer in call.forward.chain:
                    if outer in call.chain:
                        break
                    found.append(outer)
        return found

    def summaries(self):
        """{(kind, name): [events, self, with calls, with backward]}, times in picoseconds."""
        rows = {(call.kind, call.name): [0, 0, 0, 0] for call in self.calls}
        for work in self.work:
            leaf, operator = self.call_of(work), self.operator_of(work)
            if not leaf:
                continue
            module = next((c for c in leaf.chain if c.kind == "module"), None)
            for call in filter(None, (operator, module)):
                rows[call.kind, call.name][0] += 1
                rows[call.kind, call.name][1] += work.duration
            for call in leaf.chain:
                if call.is_outermost:
                    rows[call.kind, call.name][2] += work.duration
                    rows[call.kind, call.name][3] += work.duration
            for call in self.credits(work):
                if call.is_outermost:
                    rows[call.kind, call.name][3] += work.duration
        return rows


def load(path):
    """The events of a file, with times as they are written."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return json.loads(data, parse_float=decimal.Decimal)["traceEvents"]


def read(path):
    return Model(load(path))
