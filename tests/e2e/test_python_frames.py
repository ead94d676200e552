"""Frames of Python calls: the tree of calls is that which sys.setprofile tells of, on each Python there is."""

import pytest

from python_recorder import LOAD, Recording, interpreters, json_line, run_python

pytestmark = pytest.mark.plain_build  # what records is not the program under test
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
    """What the oracle tells of: functions of these files, and functions in C that they call, by their name alone."""
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


@EACH
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("seed", [1, 2, 3])
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
