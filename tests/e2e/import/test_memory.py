"""Captures larger than the memory they may take: what does not fit lies on disk, unseen."""

import gzip
import json
import os

import pytest
import zstandard

import wire
from conftest import peak_memory

PIECES, TREES = 1000, 1000  # of events: pieces that repeat, each made of little trees of calls
LIMIT = 400_000_000
NAMES = {1: "inner", 2: "outer"}


def is_sanitized(kymo):
    return any(word in str(kymo.path) for word in ("asan", "tsan"))


def call_tree(at):
    """Calls as Python's profiler records them: at their end, so that the outer comes last."""
    calls = [(1, at + 10 + 5 * i, 3) for i in range(7)] + [(2, at, 100)]
    return b"".join(
        wire.block(4, wire.number(1, id) + wire.number(2, start) + wire.number(3, duration))
        for id, start, duration in calls
    )


def write_large_capture(path):
    """Eight million events, made in a moment: gzip members may follow each other, one repeats."""
    piece = b"".join(call_tree(1000 * i) for i in range(TREES))
    line = wire.block(2, b"main") + wire.number(3, 1)
    metadata = b"".join(
        wire.block(4, wire.number(1, id) + wire.block(2, wire.block(2, name.encode())))
        for id, name in NAMES.items()
    )
    line_size = len(line) + PIECES * len(piece)
    plane = wire.block(2, b"/host:CPU") + wire.block(3, b"", claimed=line_size) + line
    plane_size = len(plane) - len(line) + line_size + len(metadata)
    members = [wire.block(1, b"", claimed=plane_size) + plane, *[piece] * PIECES, metadata]
    packed = {content: gzip.compress(content, 9) for content in set(members)}
    path.write_bytes(b"".join(packed[content] for content in members))


@pytest.mark.slow
def test_a_capture_larger_than_memory_may_be_takes_little_of_it(kymo, tmp_path):
    if is_sanitized(kymo):
        pytest.skip("sanitizers take memory of their own")
    path, scratch = tmp_path / "large.xplane.pb.gz", tmp_path / "scratch"
    write_large_capture(path)
    scratch.mkdir()
    output, memory = peak_memory(
        [kymo.path, "view", path, "--output-format", "summary-json"],
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    assert memory < LIMIT
    assert list(scratch.iterdir()) == []
    summary = json.loads(output)
    assert summary["event_count"] == 8 * TREES * PIECES
    counts = {event["name"]: event["count"] for event in summary["host_events"]}
    assert counts == {"inner": 7 * TREES * PIECES, "outer": TREES * PIECES}


def test_a_directory_that_is_not_there_is_done_without(kymo, capture):
    usual = kymo.ok("view", capture, "--output-format", "json")
    assert usual == kymo.ok("view", capture, "--output-format", "json",
                            env={**os.environ, "TMPDIR": "/nowhere/at/all"})


@pytest.mark.slow
def test_what_claims_to_unpack_to_far_more_than_anything_does_is_refused(kymo, tmp_path):
    path = tmp_path / "bomb.xplane.pb.zst"
    path.write_bytes(zstandard.compress(bytes(256 << 20)) * 8)
    assert path.stat().st_size < 500_000
    message = kymo.refuses("view", path)
    assert str(path) in message and "--scratch-limit" in message
