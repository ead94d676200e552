"""Chrome traces, read the slow and simple way: Python's own JSON reader, one list of events, and the
rules of the format one after the other. What Kymo reads is held against this."""

import decimal
import json
import re

HOST_CATEGORIES = {
    "cpu_op", "cuda_runtime", "cuda_driver", "python_function", "user_annotation",
    "cpu_instant_event", "Operator", "Runtime",
}
DEVICE_CATEGORIES = {
    "kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "Kernel", "Memcpy", "Memset",
}
ASIDE_CATEGORIES = {"gpu_user_annotation", "cuda_sync"}
KINETO_FACTS = {
    "baseTimeNanoseconds", "distributedInfo", "deviceProperties", "host_name", "schemaVersion",
}
OWN_PHASES = set("XBEiICbeSFstfM")
EPOCH_US = 946_684_800_000_000  # the year 2000
NOBODY = object()
decimal.getcontext().prec = 60


def load(text):
    """The document, with fractions as they are written."""
    return json.loads(text, parse_float=decimal.Decimal, strict=False)


def plain(value):
    """A value as the reader of Kymo's own document sees it."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, float):  # Python's reader makes these of NaN and the like
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def number(value):
    """A time, or None for what is not one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, decimal.Decimal)):
        return decimal.Decimal(value)
    if isinstance(value, str) and re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", value):
        return decimal.Decimal(value)
    return None


def picoseconds(value):
    return int((value * 1_000_000).quantize(decimal.Decimal(1), decimal.ROUND_HALF_UP))


def identity(value):
    """What a process or thread id is: a number, a text or nothing."""
    if value is None:
        return None
    if isinstance(value, bool) or isinstance(value, decimal.Decimal):
        return json.dumps(value) if isinstance(value, bool) else str(value)
    if isinstance(value, str) and len(value) <= 18 and re.fullmatch(r"0|-?[1-9]\d*", value):
        return int(value)
    return value


class Event:
    def __init__(self, raw, order):
        self.raw, self.order = raw, order
        phase = raw.get("ph")
        self.phase = phase if isinstance(phase, str) and len(phase) == 1 else ""
        self.name, self.category = raw.get("name"), raw.get("cat")
        self.pid, self.tid = identity(raw.get("pid")), identity(raw.get("tid"))
        time = number(raw.get("ts"))
        self.time = None if time is None else picoseconds(time)
        self.duration = 0
        self.args = []
        self.series = []
        self.is_counter = self.phase == "C" and bool(raw.get("args"))
        self._read_fields()

    def _read_fields(self):
        for key, value in self.raw.items():
            if key == "args" and isinstance(value, dict):
                pairs = [(k, plain(v)) for k, v in value.items()]
                (self.series if self.is_counter else self.args).extend(pairs)
            elif key == "ts" and self.time is None:
                self.args.append((key, plain(value)))
            elif key == "dur" and self.phase == "X" and number(value) is not None:
                self.duration = picoseconds(number(value))
            elif key == "dur":
                duration = number(value)
                if duration is not None and isinstance(value, str):
                    value = int(value) if re.fullmatch(r"-?\d+", value) else duration
                self.args.append((key, plain(value)))
            elif key == "ph" and not self.phase:
                self.args.append((key, plain(value)))
            elif key not in ("ph", "name", "cat", "pid", "tid", "ts"):
                self.args.append((key, plain(value)))
        if self.phase and (self.phase not in OWN_PHASES or (self.phase == "C" and not self.is_counter)):
            self.args.append(("ph", self.phase))

    @property
    def stream(self):
        value = (self.raw.get("args") or {})
        value = value.get("stream") if isinstance(value, dict) else None
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return value if is_whole and -(2**63) <= value < 2**63 else None

    def kind(self):
        if self.phase in "stf" and self.phase:
            return "flow"
        if self.phase in "bneSTpF" and self.phase:
            return "async"
        if self.is_counter:
            return "counter"
        if self.phase not in ("X", "B"):
            return "thread"
        if self.category in HOST_CATEGORIES:
            return "host"
        if self.category in ASIDE_CATEGORIES:
            return "aside"
        if self.stream is None:
            return "thread"
        return "stream" if self.category in DEVICE_CATEGORIES else "queued"


def merged(pairs):
    """Args as a dictionary; a key that repeats has the list of its values."""
    lists = {}
    for key, value in pairs:
        lists.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in lists.items()}


class Model:
    """tracks: {(process, source, lane): [(name, category, start, duration, args, value), ...]}"""

    def __init__(self, document):
        self.facts = document if isinstance(document, dict) else {}
        raw = document["traceEvents"] if isinstance(document, dict) else document
        self.events = [Event(e, i) for i, e in enumerate(raw) if e]
        self.metadata = [e for e in self.events if e.phase == "M"]
        self.events = [e for e in self.events if e.phase != "M"]
        self.is_kineto = bool(KINETO_FACTS & set(self.facts))
        self.dropped = 0
        self._pair()
        shown = [e for e in self.events if e.phase not in ("E", "e", "F")]
        times = [e.time for e in self.events if e.time is not None]
        self.zero = min(times) // 1000 * 1000 if times else 0
        self._describe(shown)
        self.tracks = {}
        for event in shown:
            self._place(event)

    def _pair(self):
        groups = {}
        for event in self.events:
            if event.phase in ("B", "E"):
                groups.setdefault(("thread", event.pid, event.tid), []).append(event)
            elif event.phase in ("b", "e", "S", "F"):
                own = event.raw.get("id2") or event.raw.get("id")
                local = isinstance(own, dict) and "local" in own
                if isinstance(own, dict):
                    own = own["local"] if local else own.get("global")
                key = (event.category or "", str(own), event.raw.get("scope"),
                       (local, event.pid if local else None), event.phase in "SF")
                groups.setdefault(key, []).append(event)
        for marks in groups.values():
            marks.sort(key=lambda e: (e.time, e.order))
            open_events = []
            for event in marks:
                if event.phase in ("B", "b", "S"):
                    open_events.append(event)
                elif open_events:
                    begin = open_events.pop()
                    begin.end = event.time
                    begin.args = begin.args + event.args
                else:
                    self.dropped += 1
            for event in open_events:
                event.end = None
                event.last_mark = marks[-1].time

    def _describe(self, shown):
        self.processes = {}  # what is known of each
        self.threads = {}
        self.series = {}
        for event in shown:
            process = self.processes.setdefault(event.pid, {"kinds": set()})
            process["kinds"].add(event.kind())
            if event.kind() == "counter":
                key = (event.pid, event.name, event.category, json.dumps(plain(event.raw.get("id"))))
                self.series.setdefault(key, set()).update(k for k, _ in event.series)
            elif event.kind() != "async":
                thread = self.threads.setdefault((event.pid, event.tid), {"kinds": set()})
                thread["kinds"].add(event.kind())
                if event.kind() in ("stream", "queued"):
                    thread.setdefault("stream", event.stream)
        for event in self.metadata:
            args = event.raw.get("args") or {}
            target = self.threads.get((event.pid, event.tid), {})
            if event.name == "process_name":
                self.processes.get(event.pid, {})["name"] = args["name"]
            elif event.name == "process_labels" and self.is_kineto and re.fullmatch(r"(?!CPU)[A-Z]+ \d+", args["labels"]):
                self.processes.get(event.pid, {})["device"] = args["labels"]
            elif event.name == "thread_name":
                target["name"] = args["name"]
        self.main = NOBODY
        for pid, process in self.processes.items():
            beside = self.is_kineto and isinstance(pid, str)
            if not beside and "host" in process["kinds"]:
                self.main = pid
                return
        for pid, process in self.processes.items():
            beside = self.is_kineto and isinstance(pid, str)
            if not beside and not self._may_be_device(pid) and self.main is NOBODY:
                self.main = pid

    def _plane(self, pid):
        name = self.processes[pid].get("name", "")
        return name if name.startswith(("/device:", "/host:")) else None

    def _may_be_device(self, pid):
        process = self.processes[pid]
        if self._plane(pid):
            return self._plane(pid).startswith("/device:")
        return "device" in process or bool({"stream", "aside"} & process["kinds"])

    def _on_device(self, event):
        kind, process = event.kind(), self.processes[event.pid]
        if self._plane(event.pid):
            return self._may_be_device(event.pid)
        if kind in ("stream", "aside"):
            return True
        if kind == "host":
            return False
        if kind == "queued":
            ids = [d.get("id") for d in self.facts.get("deviceProperties", [])]
            return self._may_be_device(event.pid) or event.pid in ids
        if not self._may_be_device(event.pid) or "host" not in process["kinds"]:
            return self._may_be_device(event.pid)
        if kind in ("async", "counter"):
            return False
        kinds = self.threads.get((event.pid, event.tid), {"kinds": set()})["kinds"]
        return bool(kinds & {"stream", "queued"}) and not kinds & {"host", "thread"}

    def _process(self, pid):
        """(id, name)"""
        name = self.processes[pid].get("name") or (pid if isinstance(pid, str) else "")
        return (pid if isinstance(pid, int) else 0, name)

    def _source(self, event):
        """(process, source)"""
        pid, process = event.pid, self.processes[event.pid]
        if self._plane(pid):
            return ((0, ""), self._plane(pid))
        own = self._process(pid)
        if not self._on_device(event):
            if self.is_kineto and isinstance(pid, str):
                return (own, pid or "Kineto")
            return (own, "/host:CPU")
        if self.main is not NOBODY:
            own = self._process(self.main)
        label = process.get("device")
        if label:
            return (own, "/device:" + label.replace(" ", ":"))
        return (own, f"/device:GPU:{pid}" if isinstance(pid, int) else f"/device:{pid or 'GPU'}")

    def _lane(self, event, series):
        """(name, id)"""
        kind, on_device = event.kind(), self._on_device(event)
        thread = self.threads.get((event.pid, event.tid), {})
        if kind == "async":
            return (event.category or "async", 0)
        if kind == "counter":
            name = event.name or ""
            counter_id = event.raw.get("id")
            if counter_id is not None:
                own = identity(counter_id)
                name += f"[{own}]"
            key = (event.pid, event.name, event.category, json.dumps(plain(counter_id)))
            return (name + (f": {series}" if len(self.series[key]) > 1 else ""), 0)
        id = event.tid if isinstance(event.tid, int) else 0
        if on_device and not self._plane(event.pid):
            stream = thread.get("stream", event.tid)
            if isinstance(stream, str):
                stream = (re.findall(r"\d+$", stream, re.ASCII) or [stream])[0]
            stream = f"Stream #{'' if stream is None else stream}"
            if kind in ("stream", "queued"):
                return (stream, id)
            if kind == "aside":
                return (stream + {"gpu_user_annotation": " annotations"}.get(event.category, " " + event.category), id)
            if kind == "flow" and "stream" in thread:
                return (stream + " flows", id)
        name = thread.get("name")
        if not name:
            is_named = isinstance(event.tid, str) or event.tid is None
            name = (event.tid or "thread") if is_named else f"thread {event.tid}"
        return (name, id)

    def _put(self, event, args, series=None, value=None):
        process, source = self._source(event)
        key = (process, source, self._lane(event, series))
        start = 0 if event.time is None else event.time - self.zero
        self.tracks.setdefault(key, []).append(
            [event, event.name if event.name is not None else "", event.category, start, event.duration,
             merged(args), value])

    def _place(self, event):
        if event.is_counter:
            for i, (key, value) in enumerate(event.series):
                pairs = [(key, value)] + (event.args if i == 0 else [])
                sample = float(value) if isinstance(value, (int, float)) else 0.0
                self._put(event, pairs, key, sample)
            return
        self._put(event, event.args)

    def close_open_events(self):
        """Events that never end last as long as anything on their track or in their group."""
        for events in self.tracks.values():
            own = [e[0] for e in events]
            last = max((e.time + max(e.duration, 0) for e in own if e.time is not None), default=0)
            for entry in events:
                event = entry[0]
                if event.phase not in ("B", "b", "S"):
                    continue
                end = event.end if event.end is not None else max(last, event.last_mark)
                entry[4] = max(end - event.time, 0)


def read(text):
    model = Model(load(text))
    model.close_open_events()
    return model


def as_kymo_has_it(document):
    """The same shape as Model.tracks, of what Kymo wrote."""
    by_number = {t["track"]: t for t in document["tracks"]}
    types = {t["event_type"]: t for t in document["event_types"]}
    keys, tracks = {}, {}
    for track in document["tracks"]:
        if track["level"] == "lane":
            source = by_number[track["parent"]]
            process = by_number[source["parent"]]
            keys[track["track"]] = ((process["id"], process["name"]), source["name"],
                                    (track["name"], track["id"]))
    for event in document["trace_events"]:
        category = types.get(event.get("event_type"), {}).get("args", {}).get("cat")
        tracks.setdefault(keys[event["track"]], []).append(
            [event, event["name"], category, event["start_ps"], event["duration_ps"],
             event.get("args", {}), event.get("value")])
    return tracks


def flow_id(value):
    if isinstance(value, int):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?(0|[1-9]\d*)", value):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"0x[0-9a-fA-F]{1,16}", value):
        found = int(value, 16)
        return found - (1 << 64) if found >> 63 else found
    return None  # some number


def without_links(event, args):
    """Takes off what makes the ends of arrows find each other, and says whether it was right."""
    args = dict(args)
    raw = event.raw
    good = True
    for phases, keys in (("st", ("_pt", "_p")), ("tf", ("_ct", "_c"))):
        if event.phase in phases and event.phase:
            found_type, found = args.pop(keys[0]), args.pop(keys[1])
            wanted = flow_id(raw.get("id"))
            good = good and isinstance(found_type, int) and (wanted is None or found == wanted)
    return args, good


def difference(document, text):
    """The first place where Kymo's reading and this one differ, or None; small, whatever the size."""
    model = read(text)
    ours = as_kymo_has_it(document)
    if set(ours) != set(model.tracks):
        return f"tracks {sorted(map(str, set(ours) ^ set(model.tracks)))[:6]}"
    compared = 0
    for key, theirs in model.tracks.items():
        if len(ours[key]) != len(theirs):
            return f"{key}: {len(ours[key])} events, not {len(theirs)}"
        for mine, wanted in zip(ours[key], theirs):
            args, good = without_links(wanted[0], mine[5])
            got = [*mine[1:5], args, mine[6]]
            if not good:
                return f"{key}: {str(mine[5])[-300:]} does not link {str(wanted[0].raw)[:300]}"
            if got != wanted[1:] or list(args) != list(wanted[5]):
                return f"{key}: {str(got)[:300]}\n not {str(wanted[1:])[:300]}"
            compared += 1
    return None if compared == document["event_count"] else f"{compared} events compared"
