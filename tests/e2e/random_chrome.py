"""Chrome traces made at random, a seed each: all phases, ids and times in all their forms, escapes,
keys in any order, events that begin and end far apart."""

import json
import random
import re

TEXTS = ["", "a", "aten::mm", "μ∇\U0001f600", "quote \" and \\ back", "tab\tline\n", "\u0001\u007f",
         "long " * 60, "ProfilerStep#7", "</script>", "name", "0x1f"]
CATEGORIES = ["cpu_op", "kernel", "gpu_memcpy", "gpu_user_annotation", "cuda_sync", "cuda_runtime",
              "blink", "a,b", "μ"]
RAW = "\ue000"  # around what is to stand in the file as it is


def raw(text):
    return RAW + text + RAW


class Writer:
    def __init__(self, seed, padding=0):
        self.random = random.Random(seed)
        self.padding = padding
        self.is_kineto = self.chance(0.5)
        self.base_us = self.random.choice([0, 1000, 3_844_027_233_438, 1_661_938_466_265_032])
        self.pids = self.random.sample([1, 2, 7, 4170, "8", "Spans", "p\u00e9"], 4)
        self.pids.append(self.random.choice([None, ""]))
        self.tids = [7, 20, "20", "stream 7", 4200, -1, self.random.choice([0, None])]
        self.ids = [1, 2, "0x1f", "3", "an id", 12345678901]
        self.names = self.random.sample(TEXTS, 6) + [f"n{i}" for i in range(6)]

    def chance(self, share):
        return self.random.random() < share

    def time(self, scale=1000):
        """A time in one of the ways people write them."""
        whole = self.random.randrange(scale)
        digits = self.random.choice([0, 0, 1, 3, 3, 6, 9])
        fraction = "." + "".join(self.random.choices("0123456789", k=digits)) if digits else ""
        text = str(whole + (self.base_us if scale >= 1000 else 0)) + fraction
        if self.chance(0.05):
            return text
        if self.chance(0.03) and not fraction and not self.base_us:
            return raw(f"{whole}e0")
        return raw(text)

    def value(self, depth=0):
        kind = self.random.randrange(9 if depth < 3 else 7)
        if kind == 0:
            return self.random.choice([0, -1, 2**53 + 1, -(2**63), 2**64 - 1, 10**30, -(10**25), 17])
        if kind == 1:
            return raw(self.random.choice(["0.5", "-0.0", "1e3", "1E-7", "123456789.125", "0.1",
                                           "2.2250738585072014e-308", "3.14159265358979323846"]))
        if kind == 2:
            return self.random.choice([True, False, None])
        if kind in (3, 4, 5):
            return self.random.choice(TEXTS)
        if kind == 6:
            return self.random.randrange(10**6)
        if kind == 7:
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        return {self.random.choice("abcdé"): self.value(depth + 1) for _ in range(self.random.randrange(4))}

    def args(self, tid):
        keys = ["stream", "device", "correlation", "External id", "key\u00e9", "a\"b", "", "x" * 50]
        chosen = self.random.sample(keys, self.random.randrange(5))
        args = {key: self.value() for key in chosen}
        if isinstance(args.get("stream"), int) or ("stream" in args and self.chance(0.5)):
            args["stream"] = self.tids.index(tid) + 100  # no two threads have one name
        return args

    def common(self, phase):
        event = {"ph": phase, "pid": self.random.choice(self.pids), "tid": self.random.choice(self.tids),
                 "ts": self.time(), "name": self.random.choice(self.names)}
        if self.chance(0.8):
            event["cat"] = self.random.choice(CATEGORIES)
        if self.chance(0.7):
            event["args"] = self.args(event["tid"])
        if self.padding:
            event.setdefault("args", {})["padding"] = "p" * self.random.randrange(self.padding)
        if self.chance(0.1):
            event[self.random.choice(["cname", "tts", "bp", "sf"])] = self.value(3)
        for key in ("pid", "tid"):
            if event[key] is None:
                del event[key]
        return event

    def event(self):
        phase = self.random.choice("XXXXXXBBBEEEiIbbneeSFCCstfPNODRv")
        event = self.common(phase)
        if phase == "X":
            event["dur"] = self.time(300)
        if phase == "C":
            event["args"] = {self.random.choice("uvw"): self.random.choice([1, 2.5, -3, "text", None, True])
                             for _ in range(self.random.randrange(4))}
            if self.chance(0.3):
                event["id"] = self.random.choice(self.ids)
        if phase in "bneSFstf":
            event["id"] = self.random.choice(self.ids)
            if self.chance(0.1):
                event["scope"] = "s1"
            if phase in "bne" and self.chance(0.1):
                event["id2"] = {self.random.choice(["local", "global"]): "0x1"}
                del event["id"]
        if phase in "iI":
            event["s"] = self.random.choice("gpt")
        if phase == "E" and self.chance(0.5):
            event.pop("name")
            event.pop("cat", None)
        items = list(event.items())
        if self.chance(0.3):
            self.random.shuffle(items)
        return dict(items)

    def metadata(self):
        kind = self.random.choice(["process_name", "process_labels", "process_sort_index", "thread_name",
                                   "thread_sort_index", "num_cpus"])
        pid, tid = self.random.choice(self.pids), self.random.choice(self.tids)
        number = self.pids.index(pid) + 50
        values = {"process_name": {"name": f"process of {pid}"},
                  "process_labels": {"labels": self.random.choice(["CPU", f"GPU {number}", f"MTIA {number}", "Renderer"])},
                  "thread_name": {"name": f"thread {tid} of {pid}"},
                  "num_cpus": {"number": 8}}
        event = {"ph": "M", "name": kind, "args": values.get(kind, {"sort_index": 3})}
        if pid is not None:
            event["pid"] = pid
        if tid is not None:
            event["tid"] = tid
        return event

    def write_one(self, event):
        text = json.dumps(event, ensure_ascii=self.chance(0.5), indent=self.random.choice([None, None, 1]),
                          separators=self.random.choice([(",", ":"), (", ", ": "), (" , ", " :\t")]))
        text = re.sub('"(?:\\\\ue000|\ue000)(.*?)(?:\\\\ue000|\ue000)"', r"\1", text)
        return text.replace("/", "\\/") if self.chance(0.1) else text

    def make(self, count):
        events = [self.event() for _ in range(count)]
        events += [self.metadata() for _ in range(self.random.randrange(12))]
        self.random.shuffle(events)
        if self.chance(0.5):
            events.sort(key=lambda e: float(str(e.get("ts", 0)).replace(RAW, "")))
        texts = [self.write_one(e) for e in events]
        for _ in range(self.random.randrange(3)):
            texts.insert(self.random.randrange(len(texts) + 1), self.random.choice(["{}", "{ }", "null"]))
        events = self.random.choice([",", ",\n", " ,\n\t"]).join(texts)
        if self.chance(0.2) and not self.is_kineto:
            return self.random.choice([f"[{events}]", f"[{events}", f"[\n{events},\n", f"  [ {events} , ]\n"])
        facts = {"displayTimeUnit": "ms", "otherData": {"version": "\u00e9"}, "list": [1, {"a": []}]}
        if self.is_kineto:
            facts |= {"schemaVersion": 1, "deviceProperties": [{"id": 7, "name": "GPU"}, {"id": 2}]}
        names = list(facts)
        self.random.shuffle(names)
        members = [f"{json.dumps(name)}: {json.dumps(facts[name])}" for name in names]
        members.insert(self.random.randrange(len(members) + 1), f'"traceEvents": [{events}]')
        return "{" + ", ".join(members) + "}\n"


def make(seed, count=120, padding=0):
    return Writer(seed, padding).make(count)
