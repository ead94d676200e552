"""Captures for tests of tables: real ones, random ones, and some whose texts, numbers, times or programs are odd; `profile` is each of them."""

import math
import random

import pytest

import random_space
import xspace
from conftest import CAPTURES, DATA
from store_tables import COLUMNS_OF_ARGS, INT64_MAX, INT64_MIN, Profile
from test_random_spaces import Maker
from wire import packed


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
        """Now and then a text that is not a list of details."""
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
        """Neighbors differ by more than there are numbers."""
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


PROFILES = {}  # by name: several files of tests look at them


def profile_named(kymo, folder, name):
    if name in CAPTURES:
        capture = DATA / "xplane" / f"{name}.xplane.pb"
    elif name == "session":
        capture = write_session(folder / "session")
    else:
        capture = write(SPACES[name](), folder / "space.xplane.pb")
    made = Profile(kymo, capture, folder / "profile")
    made.name = name
    return made


@pytest.fixture(scope="module", params=[*CAPTURES, *SPACES, "session"])
def profile(kymo, request, tmp_path_factory):
    if request.param not in PROFILES:
        PROFILES[request.param] = profile_named(kymo, tmp_path_factory.mktemp(request.param), request.param)
    return PROFILES[request.param]


def profile_of(kymo, tmp_path, fill):
    return Profile(kymo, write(small(fill)(), tmp_path / "x.xplane.pb"), tmp_path / "profile")
