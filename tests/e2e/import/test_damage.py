"""Damaged, hostile and foreign files: each is read or refused in order, never half of both."""

import concurrent.futures
import gzip
import json
import os
import random
import re
import resource

import pytest
import zstandard

import wire
import xspace
from conftest import CAPTURES, DATA

START_NS = 1_700_000_000_000_000_000
GIGABYTE = 1 << 30


def small_space():
    """A little of everything that a capture has; the Task Environment comes last, as JAX has it."""
    space = xspace.XSpace(hostnames=[b"node-1"], warnings=[b"3 events were dropped"])
    host = xspace.PlaneWriter(space, "/host:CPU", pid=7)
    line = host.line("main/7", id=7)
    host.event(line, "train", 1000, 90000, step_num=3, _r=1)
    host.event(line, "launch", 2000, 500, correlation_id=11)
    device = xspace.PlaneWriter(space, "/device:GPU:0", pid=7)
    line = device.line("Stream #1(Compute)", id=1, timestamp_ns=5)
    device.event(line, "gemm", 3000, 800, correlation_id=11, hlo_module="jit_f", occupancy=0.5)
    device.event(line, "copy", 4000, 0, details=b"\0\1\2")
    line = device.line("_counters_", id=(1 << 63) - 1)
    device.event(line, "power", 3000, watts=301.5)
    device.event(line, "clock", 3000, mhz=1980)
    xspace.task_environment(space, START_NS, START_NS + 10**9)
    return space


@pytest.fixture(scope="module")
def small():
    data = small_space().SerializeToString()
    assert 500 < len(data) < 1000
    return data


@pytest.fixture(scope="module", params=CAPTURES)
def trimmed(request):
    """A real capture, cut down to a few events of a few lines and the names they use."""
    whole = xspace.load(DATA / "xplane" / f"{request.param}.xplane.pb")
    space = xspace.XSpace(hostnames=whole.hostnames)
    for plane in whole.planes:
        if not plane.lines and plane.name != b"Task Environment":
            continue
        kept = space.planes.add(id=plane.id, name=plane.name, stats=plane.stats[:10])
        for line in plane.lines[:2]:
            kept.lines.add(id=line.id, name=line.name, timestamp_ns=line.timestamp_ns)
            kept.lines[-1].events.extend(line.events[:12])
        used = {event.metadata_id for line in kept.lines for event in line.events}
        kept.event_metadata.extend(e for e in plane.event_metadata if e.key in used)
        kept.stat_metadata.extend(plane.stat_metadata[:40])
    return space.SerializeToString()


class Trial:
    """Runs Kymo on many contents at once and looks at how each ends."""

    def __init__(self, kymo, directory):
        self.kymo = kymo
        self.directory = directory

    def run(self, content, name="x.xplane.pb", number=0, **options):
        folder = self.directory / str(number)
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_bytes(content)
        result = self.kymo.run("view", path, "--output-format", "json", "-j", 2, **options)
        path.unlink()
        if result.returncode == 0:
            assert result.stderr == ""
            return json.loads(result.stdout)
        assert result.returncode == 1, (result.returncode, result.stderr)
        assert result.stdout == ""
        assert re.fullmatch(rf"FATA\[\d+\] {re.escape(str(path))}: [^\n]*\n", result.stderr)
        return result.stderr

    def all(self, contents, name="x.xplane.pb"):
        """What became of each content: a document or a refusal."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda i: self.run(contents[i], name, i), range(len(contents))))


@pytest.fixture
def trial(kymo, tmp_path):
    return Trial(kymo, tmp_path)


def is_refusal(outcome):
    return isinstance(outcome, str)


def ends_of_fields(data):
    """Where the fields of a message end, and so where it may be cut without harm."""
    ends, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if data[at - 1] < 0x80:
                return value

    while at < len(data):
        assert varint() & 7 == 2, "a space has nothing but messages and texts"
        size = varint()
        at += size
        ends.append(at)
    return ends


@pytest.mark.slow
def test_every_cut_is_noticed_or_leaves_a_whole_message_and_a_warning(trial, small, some):
    ends = ends_of_fields(small)
    environment = next(e for e in ends if b"profile_start_time" in small[:e])
    sizes = sorted({*some(range(1, len(small))), *ends[:-1]})
    outcomes = trial.all([small[:size] for size in sizes])
    whole = 0
    for size, outcome in zip(sizes, outcomes, strict=True):
        if size not in ends:
            assert is_refusal(outcome), size
            place = re.search(r"at byte (\d+)", outcome)
            assert place and int(place[1]) <= size
            continue
        whole += 1
        assert not is_refusal(outcome), (size, outcome)
        warned = any("no Task Environment" in m["text"] for m in outcome["messages"])
        assert warned == (size < environment)
    assert whole == len(ends) - 1 > 3


def flipped(data, rng):
    bytes_ = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        bytes_[rng.randrange(len(bytes_))] ^= 1 << rng.randrange(8)
    return bytes(bytes_)


def overwritten(data, rng):
    at, size = rng.randrange(len(data)), rng.choice([1, 2, 4, 10])
    new = rng.choice([b"\0" * size, b"\xff" * size, rng.randbytes(size)])
    return data[:at] + new + data[at + size :]


def moved(data, rng):
    """A piece left out, doubled or put elsewhere."""
    a, b, c = sorted(rng.randrange(len(data)) for _ in range(3))
    return rng.choice([data[:a] + data[b:], data[:b] + data[a:], data[:a] + data[b:c] + data[a:b]])


@pytest.mark.parametrize("damage", [flipped, overwritten, moved])
def test_a_small_file_with_wrong_bytes_is_read_or_refused(trial, small, damage, some):
    rng = random.Random(damage.__name__)
    outcomes = trial.all(some([damage(small, rng) for _ in range(200)]))
    refused = sum(map(is_refusal, outcomes))
    assert len(outcomes) / 10 < refused < 200  # the damage reaches both the frame and the content


def test_a_real_capture_with_wrong_bytes_is_read_or_refused(trial, trimmed):
    rng = random.Random(len(trimmed))
    damages = [flipped, overwritten, moved]
    outcomes = trial.all([rng.choice(damages)(trimmed, rng) for _ in range(80)])
    assert 0 < sum(map(is_refusal, outcomes))


def test_slices_of_a_real_capture_are_read_or_refused(trial, capture):
    data = capture.read_bytes()
    rng = random.Random(5)
    slices = []
    for _ in range(25):
        at = rng.randrange(len(data))
        slices.append(data[at : at + rng.choice([3, 50, 1000, 20000])])
    assert any(map(is_refusal, trial.all(slices)))


def test_the_corrupted_capture_is_refused_with_the_place(kymo):
    path = DATA / "xplane" / "corrupted.xplane.pb"
    message = kymo.refuses("view", path)
    assert str(path) in message and re.search(r"at byte \d+", message)
    assert kymo.refuses("info", path) == message


def test_an_empty_file_is_refused_with_the_likely_reason(kymo, tmp_path):
    path = tmp_path / "x.xplane.pb"
    path.write_bytes(b"")
    message = kymo.refuses("view", path)
    assert str(path) in message and "is empty" in message


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_packed_empty_file_is_refused_like_an_empty_one(kymo, tmp_path, pack):
    path = tmp_path / "x.xplane.pb.gz"
    path.write_bytes(pack(b""))
    assert "is empty" in kymo.refuses("view", path)


@pytest.mark.parametrize(
    "content, reason",
    [(b"\0" * 5000, "at byte"), (b"\xff" * 5000, "at byte"), (b"\x80" * 5000, "at byte"), (b"\x0a" * 5000, "at byte"),
     (b"PK\3\4" * 99, "not a capture (zip archive)")],
)
def test_a_file_of_one_byte_over_and_over_is_refused(trial, content, reason):
    assert reason in trial.run(content)


def test_random_bytes_are_refused(trial):
    rng = random.Random(1)
    for outcome in trial.all([rng.randbytes(rng.choice([20, 300, 5000])) for _ in range(60)]):
        assert "at byte" in outcome


def test_a_foreign_file_under_a_foreign_name_is_refused_with_what_is_read(kymo, tmp_path):
    for content in (b"", b"name = 1", b"\x7fELF" + b"\0" * 99, b"\x1f\x8bjunk"):
        path = tmp_path / "trace.bin"
        path.write_bytes(content)
        message = kymo.refuses("view", path)
        assert str(path) in message and ".xplane.pb" in message


PACKERS = {"gz": lambda data: gzip.compress(data, mtime=0)}
PACKERS["zst"] = zstandard.ZstdCompressor(write_checksum=True).compress


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_packed_file_that_is_cut_off_is_refused(trial, small, suffix):
    packed = PACKERS[suffix](small)
    cuts = [packed[:size] for size in range(4, len(packed), 3)] + [packed[:-1]]
    for outcome in trial.all(cuts, f"x.xplane.pb.{suffix}"):
        assert is_refusal(outcome)
        assert "at byte" in outcome and "truncated" in outcome


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_packed_file_with_wrong_bytes_is_refused_or_holds_the_same(kymo, trial, small, suffix):
    rng = random.Random(2)
    name = f"x.xplane.pb.{suffix}"
    packed = PACKERS[suffix](small)
    whole = trial.run(packed, name)
    refused = 0
    for outcome in trial.all([flipped(packed, rng) for _ in range(100)], name):
        refused += is_refusal(outcome)
        if not is_refusal(outcome):  # a bit of the header that says nothing of the content
            assert outcome["trace_events"] == whole["trace_events"]
            assert outcome["tracks"] == whole["tracks"]
    assert refused > 80


def limited(kymo):
    """Keeps Kymo within a gigabyte; sanitizers need far more for themselves."""
    if any(word in str(kymo.path) for word in ("asan", "tsan")):
        return {}
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (GIGABYTE, GIGABYTE))}


@pytest.mark.parametrize("claimed", [1 << 20, 1 << 31, (1 << 32) + 5, 1 << 60, (1 << 64) - 1])
@pytest.mark.parametrize("depth", range(6))
def test_a_length_that_lies_is_refused_and_takes_no_memory(kymo, trial, claimed, depth):
    """In the space, a plane, a line, an event, a stat and its text."""
    fields = [1, 3, 4, 4, 5]
    content = wire.block(fields[depth - 1] if depth else 1, b"abc", claimed)
    for field in reversed(fields[: max(depth - 1, 0)]):
        content = wire.block(field, content)
    assert "at byte" in trial.run(content, **limited(kymo))


def test_junk_nested_a_thousand_deep_is_read_or_refused(kymo, trial):
    content = b""
    for _ in range(1000):
        content = wire.block(1, content)
    trial.run(content, **limited(kymo))
    for field in (2, 3, 4, 5, 6):
        nested = b""
        for _ in range(1000):
            nested = wire.block(field, nested)
        trial.run(wire.block(1, nested), **limited(kymo))


def test_many_planes_with_a_large_id_each_take_little_memory(kymo, trial):
    plane = wire.block(5, wire.number(1, 65535)) + wire.block(4, wire.number(1, 65535))
    content = wire.block(1, plane) * 5000
    assert len(content) < 100_000
    document = trial.run(content, **limited(kymo))
    assert not is_refusal(document), document


@pytest.mark.slow
def test_a_line_of_many_counters_takes_no_more_than_a_moment(trial):
    samples = b"".join(wire.block(4, wire.number(1, i)) for i in range(60_000))
    content = wire.block(1, wire.block(3, wire.block(2, b"_counters_") + samples))
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_CPU, (15, 15))}
    assert trial.run(content, **limit)["event_count"] == 60_000


@pytest.mark.slow
@pytest.mark.sanitized
def test_a_file_that_unpacks_to_more_than_there_is_is_refused(kymo, tmp_path):
    frame = zstandard.compress(bytes(256 << 20))
    path = tmp_path / "bomb.xplane.pb.zst"
    path.write_bytes(frame * 12)
    assert path.stat().st_size < 500_000
    if not limited(kymo):
        pytest.skip("the limit on memory does not go with a sanitizer")
    result = kymo.run("view", path, "-j", 2, **limited(kymo))
    assert result.returncode == 1
    assert result.stdout == "" and "--scratch-limit" in result.stderr


@pytest.mark.parametrize("offset", [(1 << 63) - 1, -(1 << 63)])
def test_times_past_the_end_of_time_are_refused(trial, offset):
    space = xspace.XSpace()
    writer = xspace.PlaneWriter(space, "/host:CPU")
    line = writer.line("main", timestamp_ns=1000 if offset > 0 else -1000)
    writer.event(line, "late", offset, 10)
    assert "out of range" in trial.run(space.SerializeToString())


def test_a_time_stamp_past_the_end_of_time_is_refused(trial):
    space = xspace.XSpace()
    writer = xspace.PlaneWriter(space, "/host:CPU")
    writer.event(writer.line("main", timestamp_ns=1 << 61), "late", 0)
    xspace.task_environment(space, 1, 2)
    assert "out of range" in trial.run(space.SerializeToString())


def test_times_at_both_ends_of_time_are_read(trial):
    """Far enough apart that their distance is no 64-bit number."""
    far = (1 << 62) + (1 << 61)
    space = xspace.XSpace()
    for name, line_name in (("/host:CPU", "main"), ("/device:GPU:0", "Stream #1(Compute)")):
        writer = xspace.PlaneWriter(space, name, pid=1)
        line = writer.line(line_name)
        for start in (-far, far):
            numbers = dict.fromkeys(["correlation_id", "_r", "_p", "_c", "run_id", "step_num"], 1)
            writer.event(line, "e", start, 1000, hlo_module="m", hlo_op="o", **numbers)
    document = trial.run(space.SerializeToString())
    assert document["first_event_ps"] == -far
    assert document["last_event_ps"] == far + 1000
    spans = [e["duration_ps"] for row in document["derived_rows"] for e in row["events"]]
    assert min(spans) > 0 and max(spans) > 1 << 62  # one row event goes from end to end


def test_a_refusal_leaves_no_output_file(kymo, tmp_path, small):
    capture, target = tmp_path / "x.xplane.pb", tmp_path / "out.json"
    capture.write_bytes(small[:-3])
    kymo.refuses("view", capture, "--output-format", "json", "--output-file", target)
    assert [p.name for p in tmp_path.iterdir()] == ["x.xplane.pb"]


def test_a_refusal_keeps_the_old_output_file(kymo, tmp_path, small):
    capture, target = tmp_path / "x.xplane.pb", tmp_path / "out.json"
    capture.write_bytes(small[:-3])
    target.write_text("old")
    kymo.refuses("view", capture, "--output-format", "json", "--output-file", target)
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.json", "x.xplane.pb"]


def test_damage_inside_an_event_is_noticed_before_anything_is_written(kymo, tmp_path):
    """The frame of the file is whole; the pass that writes must not be the first to see it."""
    event = wire.block(4, wire.number(1, 1) + b"\x21\0")  # a stat that ends inside a number
    lines = wire.block(4, wire.number(1, 1)) * 5000 + wire.block(4, event)
    path, target = tmp_path / "x.xplane.pb", tmp_path / "out.json"
    path.write_bytes(wire.block(1, wire.block(3, lines)))
    message = kymo.refuses("view", path, "--output-format", "json", "--output-file", target)
    assert str(path) in message and "at byte" in message
    assert not target.exists()


def test_a_few_bytes_of_zstd_cannot_ask_for_gigabytes(kymo, tmp_path):
    """A frame header that wants a window of 2 GiB."""
    path = tmp_path / "window.xplane.pb.zst"
    path.write_bytes(bytes.fromhex("28b52ffd00a8") + bytes(10))
    message = kymo.refuses("view", path)
    assert "window.xplane.pb.zst" in message and "zstd" in message and "memory" in message
