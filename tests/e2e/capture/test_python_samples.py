"""Samples of Python stacks: who was where for how long, on each Python there is."""

import json

import pytest

from python_recorder import interpreters
from test_python_frames import EACH, record, spans  # noqa: F401: record is a fixture

pytestmark = [pytest.mark.plain_build, pytest.mark.usefixtures("installed")]
MS = 1e9  # ps

PROGRAM = '''
import json, sys, threading, time
times = []  # of the samples: how late they are is the machine's business
current_frames = sys._current_frames
def counted():
    times.append(time.perf_counter())
    return current_frames()
sys._current_frames = counted
def until_sampled(pause):
    """For 0.2 s and 20 samples, and half of the time after the first of them."""
    begin, before = time.perf_counter(), len(times)
    while True:
        pause()
        now, taken = time.perf_counter(), times[before:]
        if len(taken) >= 20 and now - taken[0] > max(0.2, taken[0] - begin):
            break
def spin():
    end = time.perf_counter() + 0.01
    while time.perf_counter() < end:
        pass
delays = []  # between a call and its annotation
def annotated(called, name, pause):
    with _kymo.TraceAnnotation(threading.current_thread().name + name):
        delays.append(time.perf_counter() - called)
        until_sampled(pause)
        ending = time.perf_counter()
    delays.append(time.perf_counter() - ending)
def computes():
    annotated(time.perf_counter(), " computes", spin)
def sleeps():
    annotated(time.perf_counter(), " sleeps", lambda: time.sleep(0.01))
def both():
    computes()
    sleeps()
ready, done = threading.Event(), threading.Event()
def waits():
    ready.set()
    done.wait()
waiting = threading.Thread(target=waits, name="waiting")
waiting.start()
ready.wait()
_kymo.start(DIR)
interval = sys.getswitchinterval()
begun = time.perf_counter()
_kymo.sample_stacks(HZ)
both()
worker = threading.Thread(target=both, name="worker")
worker.start()
worker.join()
_kymo.stop_samples()
gap = max(b - a for a, b in zip([begun, *times], [*times, time.perf_counter()]))
assert sys.getswitchinterval() == interval
directory = _kymo.stop()
done.set()
print(json.dumps({"late": gap + max(delays), "samples": len(times)}), file=open(FACTS, "w"))
print(directory)
'''


@EACH
@pytest.mark.slow
@pytest.mark.parametrize("hz", [100, 1000])
def test_time_is_where_it_was_spent(record, tmp_path, interpreter, hz):  # noqa: F811
    facts = tmp_path / "facts.json"
    recording = record(PROGRAM.replace("HZ", str(hz)).replace("FACTS", repr(str(facts))), interpreter)
    facts = json.loads(facts.read_text())
    late = facts["late"] * 1e12 + 50 * MS  # the longest time without a sample, and between a call and its annotation
    annotations = {name: (start, end) for events in recording.events.values() for start, end, name, _ in events if name[0] != "$"}
    for thread in ("MainThread", "worker"):
        track = f"samples of {thread}"
        recording.forest(track)  # properly nested
        assert len(spans(recording, track, " both")) == 1  # successive samples are one range
        for part in ("computes", "sleeps"):
            ((start, end),) = spans(recording, track, f" {part}")
            true_start, true_end = annotations[f"{thread} {part}"]
            assert true_start - late < start < true_start + late and true_end - late < end < true_end + late
            assert start < true_end and end - start > 0.4 * (true_end - true_start)
    counts = {name.split(" ")[1]: args["samples"] for _, _, name, args in recording.events["samples of MainThread"]}
    true_s = (annotations["MainThread sleeps"][1] - annotations["MainThread sleeps"][0]) / 1e12
    assert 4 < counts["sleeps"] < true_s * hz * 1.5 + 5 and counts["computes"] > 4
    assert counts["computes"] + counts["sleeps"] <= counts["both"] <= facts["samples"]
    # A thread that waits is shown as it is.
    whole = max(end for _, end, _, _ in recording.events["samples of MainThread"])
    ((begin, end),) = spans(recording, "samples of waiting", " waits")
    assert end - begin > 0.9 * (whole - begin)
    assert len(spans(recording, "samples of waiting", " waits")) == 1


@pytest.mark.slow
@EACH
def test_programs_end_while_they_are_sampled(record, interpreter):  # noqa: F811
    """In whatever way: threads that are still at work, a child that goes on, an exit in the middle of a thread."""
    recording = record('''
import os, threading, time, warnings
warnings.simplefilter("ignore")
_kymo.start(DIR, max_events=5000)
_kymo.sample_stacks(1000)
_kymo.trace_frames(level=2)
def busy():
    while True:
        sorted(range(100), key=lambda x: -x)
for _ in range(3):
    threading.Thread(target=busy, daemon=True).start()
time.sleep(0.05)
for _ in range(5):
    child = os.fork()
    if child == 0:
        time.sleep(0.01)
        os._exit(0)
    os.waitpid(child, 0)
    child = os.fork()
    if child == 0:
        raise SystemExit
    os.waitpid(child, 0)
print(_kymo.session_dir())
''', interpreter, is_full=True)
    assert recording.events["samples of MainThread"] and recording.events["MainThread"]


def test_deep_stacks_are_cut_at_their_inner_end(record):  # noqa: F811
    recording = record('''
import sys, time
sys.setrecursionlimit(10000)
_kymo.start(DIR)
_kymo.sample_stacks(200)
def deep(n):
    if n == 0:
        time.sleep(0.2)
    else:
        deep(n - 1)
deep(3000)
print(_kymo.stop())
''', interpreters()[0])
    events = recording.events["samples of MainThread"]
    assert sum(name.endswith(" deep") for _, _, name, _ in events) > 500
    depth = most = 0
    moments = sorted([(start, 1) for start, _, _, _ in events] + [(end, -1) for _, end, _, _ in events])
    for _, step in moments:
        depth += step
        most = max(most, depth)
    assert most == 512
