"""Frames of Python calls: the tree of calls is the one sys.setprofile reports, on each Python there is."""

import pytest

from python_recorder import LOAD, Recording, interpreters, json_line, run_python

pytestmark = [pytest.mark.plain_build, pytest.mark.usefixtures("installed")]  # what records is not the program under test
EACH = pytest.mark.parametrize("interpreter", interpreters(), ids=lambda path: path.rsplit("/", 1)[-1])

# Random calls of all kinds, the same for the same seed.
RANDOM = '''
import asyncio, contextlib, random, sys, threading
class Stop(Exception):
    pass
class Thing:
    def __init__(self, world):
        world.any()
    def method(self, world):
        return world.any()
    @property
    def value(self):
        return 1
    def __del__(self):
        self.value
@contextlib.contextmanager
def context(world):
    world.any()
    try:
        yield
    finally:
        world.any()
def plain(world):
    world.any()
    world.any()
def raises(world):
    world.any()
    raise Stop
def catches(world):
    try:
        world.any()
        raises(world)
    except Stop:
        world.any()
def generator(world):
    for i in range(world.random.randrange(4)):
        world.any()
        yield i
def delegates(world):
    yield from generator(world)
    yield from generator(world)
def patient(world):
    while True:
        try:
            yield world.any()
        except KeyError:
            world.any()
def consumes(world):
    for _ in (generator if world.random.random() < 0.5 else delegates)(world):
        world.any()
def abandons(world):
    made = delegates(world)
    next(made, None)
    world.any()
def closes(world):
    made = generator(world)
    next(made, None)
    made.close()
def throws(world):
    made = patient(world)
    next(made)
    made.throw(KeyError)
    try:
        made.throw(Stop)
    except Stop:
        pass
    unused = generator(world)
    try:
        unused.throw(Stop)
    except Stop:
        pass
def sorts(world):
    sorted([3, 1, 2], key=lambda x: world.any() or -x)
    [world.any() for _ in range(2)]
    {i: world.any() for i in range(2)}
    list(world.any() for _ in range(2))
def classes(world):
    class Local(Thing):
        number = world.any()
    Local(world).method(world)
def manages(world):
    with contextlib.suppress(Stop):
        with context(world):
            raises(world)
def recursive(world, depth=None):
    depth = world.random.randrange(100) if depth is None else depth
    return depth and recursive(world, depth - 1)
def runs_text(world):
    exec("def made(world):\\n    world.any()\\nmade(world)", {"world": world})
async def naps(world):
    for _ in range(world.random.randrange(3)):
        world.any()
        await asyncio.sleep(0)
async def streams(world):
    for i in range(2):
        await naps(world)
        yield i
async def fails(world):
    await naps(world)
    raise Stop
async def tasks(world):
    async for _ in streams(world):
        world.any()
    await asyncio.gather(naps(world), naps(world), fails(world), return_exceptions=True)
def coroutines(world):
    if not world.is_async:
        world.is_async = True
        asyncio.run(tasks(world))
        world.is_async = False
def threads(world):
    if world.depth < 3:
        world.threads[0] += 1
        name = f"thread {world.threads[0]}"
        other = World(world.random.random(), world.threads)
        thread = threading.Thread(target=other.any, name=name)
        thread.start()
        thread.join()
KINDS = [plain, catches, consumes, abandons, closes, throws, sorts, classes, manages, recursive, runs_text, coroutines, threads]
class World:
    def __init__(self, seed, threads):
        self.random, self.left, self.depth, self.threads, self.is_async = random.Random(seed), 20, 0, threads, False
    def any(self):
        if self.left <= 0 or self.depth > 12:
            return
        self.left -= 1
        self.depth += 1
        try:
            self.random.choice(KINDS)(self)
        finally:
            self.depth -= 1
def body(seed):
    threads = [0]
    for i, kind in enumerate(KINDS):
        kind(World(seed + i / 100, threads))
'''

# Python functions of the program itself, and the functions in C that they call.
ORACLE = RANDOM + '''
import json
forests, local = {}, threading.local()
def profile(frame, event, arg):
    if not hasattr(local, "stack"):
        local.stack = [[]]
    code, stack = frame.f_code, local.stack
    inside = stack[-1]
    is_own = code.co_filename in (__file__, "<string>")
    if event in ("call", "c_call"):
        if is_own and (event == "call" or sys.argv[2] == "2"):
            file = code.co_filename.rsplit("/", 1)[-1]
            node = [f"${file}:{code.co_firstlineno} {code.co_name}" if event == "call" else arg.__name__, []]
            inside.append(node)
            inside = node[1]
            if len(stack[0]) == 1:
                forests[threading.current_thread().name] = stack[0]
        stack.append(inside)
    elif len(stack) > 1:
        stack.pop()
threading.setprofile(profile)
sys.setprofile(profile)
body(int(sys.argv[1]))
sys.setprofile(None)
print(json.dumps(forests))
'''

TRACED = RANDOM + '''
from load import _kymo
_kymo.start(sys.argv[2])
_kymo.trace_frames(level=int(sys.argv[3]))
body(int(sys.argv[1]))
_kymo.stop_frames()
print(_kymo.stop())
'''


def own_calls(forest, own, caller_is_own=False):
    """What the oracle reports: functions of these files, and functions in C that they call, by their name alone."""
    for name, inside in forest:
        is_python = ":" in name.split(" ")[0]
        is_own = name.startswith(own)
        within = list(own_calls(inside, own, is_own))
        if is_own or caller_is_own and not is_python:
            yield [name if is_python else name.split(" ", 1)[1], within]
        else:
            yield from within


def subtrees(forest, ends):
    """The calls whose name ends so, outermost first."""
    for node in forest:
        if node[0].endswith(ends):
            yield node
        else:
            yield from subtrees(node[1], ends)


def size(forest):
    return sum(1 + size(inside) for _, inside in forest)


# All on the tests' own Python and on the newest, which traces in another way; two on the others.
RANDOM_CALLS = [pytest.param(interpreter, seed, level, id=f"{interpreter.rsplit('/', 1)[-1]}-{seed}-{level}")
                for interpreter in interpreters() for seed in (1, 2, 3) for level in (1, 2)
                if interpreter in (interpreters()[0], interpreters()[-1]) or seed == level]


@pytest.mark.parametrize("interpreter, seed, level", RANDOM_CALLS)
@pytest.mark.slow
def test_calls_are_those_that_setprofile_tells_of(kymo, tmp_path, interpreter, seed, level):
    program = tmp_path / "random_calls.py"
    program.write_text(ORACLE)
    expected = json_line(run_python(interpreter, program, seed, level))
    assert size(expected["MainThread"]) > 300 and len(expected) > 1
    (tmp_path / "load.py").write_text(LOAD)
    program.write_text(TRACED)
    recording = Recording(kymo, run_python(interpreter, program, seed, tmp_path, level).strip())
    own = (f"${program.name}:", "$<string>:")
    got = {name: list(own_calls(recording.forest(name), own)) for name in expected}
    got["MainThread"] = list(subtrees(got["MainThread"], " body"))
    expected["MainThread"] = list(subtrees(expected["MainThread"], " body"))
    assert got == expected


@pytest.fixture
def record(kymo, tmp_path):
    """Runs a program with _kymo at hand, whose last line of output is a session's directory."""
    def run(program, interpreter=None, is_full=False, **options):
        path = tmp_path / "program.py"
        (tmp_path / "load.py").write_text(LOAD)
        path.write_text(f"from load import _kymo\nDIR = {str(tmp_path / 'out')!r}\n" + program)
        output = run_python(interpreter or interpreters()[0], path, **options)
        return Recording(kymo, output.strip().splitlines()[-1], is_full)
    return run


def spans(recording, track, ends):
    return [(start, end) for start, end, name, _ in recording.events.get(track, []) if name.endswith(ends)]


@EACH
def test_frames_that_are_open_last_from_start_to_stop(record, interpreter):
    recording = record('''
import threading
ready, done = threading.Event(), threading.Event()
def waits():
    ready.set()
    done.wait()
thread = threading.Thread(target=waits, name="waiting")
thread.start()
ready.wait()
def inner():
    pass
def outer():
    _kymo.start(DIR, cpu_util_ms=0, host_memory_ms=0)
    _kymo.trace_frames()
    inner()
    print(_kymo.stop())
outer()
done.set()
''', interpreter)
    last = max(end for _, end, _, _ in recording.events["MainThread"])
    for name in (" <module>", " outer"):
        assert spans(recording, "MainThread", name) == [(0, last)]
    assert spans(recording, "waiting", " waits") == [(0, last)]
    ((begin, end),) = spans(recording, "MainThread", " inner")
    assert 0 < begin < end < last


@EACH
def test_frames_of_a_program_that_does_not_stop_are_kept(kymo, record, interpreter):
    recording = record('''
_kymo.start(DIR)
_kymo.trace_frames(level=2)
_kymo.sample_stacks(500)
def work():
    return sum(range(100000))
work()
print(_kymo.session_dir())
''', interpreter)
    ((_, end),) = spans(recording, "MainThread", " work")
    assert end > 0 and spans(recording, "MainThread", " <module>")


@EACH
def test_modules_are_left_out_but_not_what_they_call(record, interpreter):
    recording = record('''
import json.decoder, json.scanner, json, functools, re
_kymo.start(DIR)
_kymo.trace_frames(exclude=["json", "re"])
def pairs(items):
    return dict(items)
def main():
    for _ in range(3):
        json.loads('{"a": [1, 2]}', object_pairs_hook=pairs)
        json.dumps({"a": 1}, default=pairs)
    try:
        json.loads("{")
    except ValueError:
        pass
main()
print(_kymo.stop())
''', interpreter)
    names = [name for _, _, name, _ in recording.events["MainThread"]]
    assert not [name for name in names if name.startswith(("$decoder.py", "$encoder.py", "$__init__.py"))]
    assert sum(name.endswith(" pairs") for name in names) == 3
    assert [node[0].split(" ")[1] for node in subtrees(recording.forest("MainThread"), " pairs")] == ["pairs"] * 3
    # What was left out before may be wanted later.
    recording = record('''
import json
def once(**options):
    _kymo.start(DIR)
    _kymo.trace_frames(**options)
    json.loads("[1]")
    return _kymo.stop()
once(exclude=["json"])
print(once())
''', interpreter)
    assert [name for _, _, name, _ in recording.events["MainThread"] if name.startswith("$decoder.py")]


@EACH
def test_short_calls_are_left_out(record, interpreter):
    recording = record('''
import time
_kymo.start(DIR)
_kymo.trace_frames(min_duration_us=2000)
def short():
    pass
def long():
    short()
    time.sleep(0.003)
def outer():
    for _ in range(5):
        short()
        long()
outer()
print(_kymo.stop())
''', interpreter)
    events = recording.events["MainThread"]
    assert min(end - start for start, end, _, _ in events) >= 2000 * 1e6 * 0.98
    assert len(spans(recording, "MainThread", " long")) == 5 and not spans(recording, "MainThread", " short")


@EACH
def test_names_are_those_of_jax(record, interpreter):
    recording = record('''
_kymo.start(DIR)
_kymo.trace_frames(level=2)
def call():
    [].append(1)
    len("")
    "a b".split()
    (lambda: 0)()
    isinstance(1, int)
call()
print(_kymo.stop())
''', interpreter)
    (node,) = subtrees(recording.forest("MainThread"), " call")
    assert node == ["$program.py:6 call", [["$list append", []], ["$builtins len", []], ["$str split", []],
                                           ["$program.py:10 <lambda>", []], ["$builtins isinstance", []]]]
    types = {t["name"]: t["args"] for t in recording.document["event_types"]}
    assert types["$program.py:6 call"]["file"].endswith("/program.py") and types["$program.py:6 call"]["line"] == 6


@EACH
def test_deep_recursion_and_many_threads(record, interpreter):
    recording = record('''
import sys, threading
sys.setrecursionlimit(100000)
threading.stack_size(256 << 20)
_kymo.start(DIR)
_kymo.trace_frames()
def deep(n):
    return n and deep(n - 1)
def work():
    deep(3)
first = threading.Thread(target=deep, args=(9000,), name="deep")
first.start()
first.join()
threading.stack_size(1 << 20)
for i in range(200):
    thread = threading.Thread(target=work, name=f"short {i}")
    thread.start()
    thread.join()
several = [threading.Thread(target=work, name=f"several {i}") for i in range(20)]
for thread in several:
    thread.start()
for thread in several:
    thread.join()
print(_kymo.stop())
''', interpreter)
    assert len(spans(recording, "deep", " deep")) == 9001
    for i in range(200):
        assert len(spans(recording, f"short {i}", " deep")) == 4
    for i in range(20):
        assert len(spans(recording, f"several {i}", " deep")) == 4


@EACH
def test_a_child_of_fork_has_a_recording_of_its_own(kymo, tmp_path, record, interpreter):
    recording = record('''
import os, warnings, multiprocessing
warnings.simplefilter("ignore")
_kymo.start(DIR)
_kymo.trace_frames()
_kymo.sample_stacks(200)
def both():
    pass
def in_parent():
    both()
def in_child():
    both()
    with _kymo.TraceAnnotation("child"):
        both()
def main():
    child = os.fork()
    if child == 0:
        in_child()
        _kymo.stop()
        os._exit(0)
    os.waitpid(child, 0)
    in_parent()
main()
print(_kymo.stop())
''', interpreter)
    assert len(spans(recording, "MainThread", " in_parent")) == 1 and not spans(recording, "MainThread", " in_child")
    (child,) = (p for p in (tmp_path / "out").iterdir() if not any(h["file"].startswith(str(p)) for h in recording.document["hosts"]))
    other = Recording(kymo, child)
    (node,) = subtrees(other.forest("MainThread"), " in_child")
    assert [call[0].split(" ")[-1] for call in node[1]] == ["both", "child"]
    assert not spans(other, "MainThread", " in_parent") and len(spans(other, "MainThread", " main")) == 1


@EACH
def test_calls_that_ended_survive_a_kill(record, interpreter):
    recording = record('''
import os, sys
_kymo.start(DIR)
_kymo.trace_frames()
def done():
    pass
def never():
    for _ in range(100):
        done()
    print(_kymo.session_dir())
    sys.stdout.flush()
    os.kill(os.getpid(), 9)
never()
''', interpreter, code=-9)
    assert len(spans(recording, "MainThread", " done")) == 100 and not spans(recording, "MainThread", " never")


@EACH
def test_a_thread_that_begins_while_tracing_starts_leaves_no_lane_behind(tmp_path, interpreter):
    """It is adopted before the list of threads is made, and again afterwards. A lane that stays has a mapping of 32 MB."""
    program = tmp_path / "program.py"
    program.write_text(LOAD + f'''
import threading, time
def mapped():
    with open("/proc/self/maps") as maps:
        return maps.read().count("/rings/lane_")
def call():
    return 1
def work(begun, end):
    call()
    begun.set()
    end.wait()
original = threading.setprofile
threads = []
def setprofile(function):
    original(function)
    if function:
        begun, end = threading.Event(), threading.Event()
        threads.append((threading.Thread(target=work, args=(begun, end)), end))
        threads[-1][0].start()
        begun.wait()
threading.setprofile = setprofile
_kymo.start({str(tmp_path / "out")!r})
for _ in range(5):
    _kymo.trace_frames()
    _kymo.stop_frames()
    for thread, end in threads:
        end.set()
        thread.join()
    threads.clear()
for _ in range(1000):  # a thread is joined before its lane goes
    if mapped() == 1:
        break
    time.sleep(0.01)
print(mapped())  # that of the main thread itself
_kymo.stop()
''')
    assert run_python(interpreter, program) == "1\n"


@EACH
def test_what_is_wrong_is_refused(tmp_path, interpreter):
    program = tmp_path / "program.py"
    program.write_text(LOAD + f'''
import sys
def refused(call, *args, **named):
    try:
        call(*args, **named)
    except Exception as e:
        print(type(e).__name__, "|", e)
    else:
        print("accepted")
refused(_kymo.stop)
refused(_kymo.trace_frames)
refused(_kymo.sample_stacks, 100)
refused(_kymo.start, {str(tmp_path)!r}, level=4)
refused(_kymo.start, {str(tmp_path)!r}, max_events=0)
refused(_kymo.start, "/proc/none")
_kymo.start({str(tmp_path)!r})
refused(_kymo.start, {str(tmp_path)!r})
refused(_kymo.trace_frames, level=3)
refused(_kymo.trace_frames, min_duration_us=-1)
refused(_kymo.trace_frames, exclude="json")
refused(_kymo.trace_frames, exclude=[1])
refused(_kymo.sample_stacks, 0)
refused(_kymo.sample_stacks, 1001)
_kymo.trace_frames()
refused(_kymo.trace_frames)
_kymo.sample_stacks(hz=10)
refused(_kymo.sample_stacks, 100)
_kymo.stop_samples()
_kymo.stop_samples()
_kymo.stop_frames()
_kymo.stop_frames()
if not hasattr(sys, "monitoring"):
    hook = lambda *a: None
    sys.setprofile(hook)
    refused(_kymo.trace_frames)
    assert sys.getprofile() is hook
    sys.setprofile(None)
else:
    for tool in range(5):
        sys.monitoring.use_tool_id(tool, "other")
    refused(_kymo.trace_frames)
    sys.monitoring.free_tool_id(3)
_kymo.trace_frames()
_kymo.stop()
''')
    clean = run_python(interpreter, program, code=None)
    lines = clean.splitlines()
    assert lines[:3] == ["RuntimeError | no capture is running"] * 3
    assert lines[3] == "ValueError | level must be from 0 to 3, not 4"
    assert lines[4].startswith("ValueError | max_events must be from 1 to")
    assert lines[5] == "FileNotFoundError | [Errno 2] No such file or directory: b'/proc/none'"
    assert lines[6] == "RuntimeError | a capture is running already"
    assert lines[7].startswith("ValueError | level must be 1") and lines[8] == "ValueError | min_duration_us must not be negative"
    assert lines[9].startswith("TypeError | exclude must be a list") and lines[10].startswith("TypeError")
    assert lines[11:13] == ["ValueError | hz must be more than 0 and at most 1000"] * 2
    assert lines[13:15] == ["RuntimeError | frames are traced already", "RuntimeError | stacks are sampled already"]
    assert lines[15].startswith(("RuntimeError | another profiler is active", "RuntimeError | other profilers are active"))
    assert len(lines) == 16
