"""TraceAnnotation and StepTraceAnnotation of kymo._kymo: what a program says of itself, on each Python there is."""

import subprocess

import pytest

from conftest import ROOT
from python_recorder import PACKAGE, interpreters, json_line
from test_python_frames import EACH, record, spans  # noqa: F401: record is a fixture

pytestmark = [pytest.mark.plain_build, pytest.mark.usefixtures("installed")]


def named(recording):
    """Events by their name, wherever they are: (start, end, args)."""
    found = {}
    for events in recording.events.values():
        for start, end, name, args in events:
            found.setdefault(name, []).append((start, end, args))
    return found


@EACH
def test_args_keep_their_types(record, interpreter):  # noqa: F811
    recording = record('''
class Text:
    def __str__(self):
        return "a text"
assert not _kymo.TraceAnnotation.is_enabled()
with _kymo.TraceAnnotation("before"):
    _kymo.start(DIR)
assert _kymo.TraceAnnotation.is_enabled()
with _kymo.TraceAnnotation("args", i=-3, big=2**63, huge=2**64, f=0.5, s="häß", t=True, n=None, o=Text(), list=[1, 2]) as annotation:
    annotation.set_metadata(late=1, i=4)
with _kymo.TraceAnnotation(name="by keyword", rows=1):
    pass
with _kymo.TraceAnnotation("positional", name="mine"):
    pass
with _kymo.TraceAnnotation("\\udcff bad \\ud800", key="\\udcff"):
    pass
with _kymo.TraceAnnotation(""):
    pass
many = {f"k{i}": i for i in range(40)}
with _kymo.TraceAnnotation("many", **many):
    pass
class Own(_kymo.TraceAnnotation):
    def __init__(self, name, **args):
        super().__init__(name, own=1, **args)
with Own("own", more=2):
    pass
print(_kymo.stop())
''', interpreter)
    events = named(recording)
    assert "before" not in events
    ((_, _, args),) = events["args"]
    assert args == {"i": 4, "big": 2**63, "huge": str(2**64), "f": 0.5, "s": "häß", "t": "True", "n": "None", "o": "a text",
                    "list": "[1, 2]", "late": 1}
    assert isinstance(args["i"], int) and isinstance(args["f"], float)
    assert [events[name][0][2] for name in ("by keyword", "positional", "own")] == [{"rows": 1}, {"name": "mine"}, {"own": 1, "more": 2}]
    assert events["\\udcff bad \\ud800"][0][2] == {"key": "\\udcff"}
    assert events["many"][0][2] == {f"k{i}": i for i in range(16)}


# As XLA takes names apart (its parser of annotations): what is behind the last # that ends a text is no part of it.
ENCODED = {
    "a#k=v#": ("a", {"k": "v"}),
    "b#i=1,n=-2,u=18446744073709551615,f=2.5,e=1e3,t=1x#": ("b", {"i": 1, "n": -2, "u": 2**64 - 1, "f": 2.5, "e": 1000.0, "t": "1x"}),
    "c# k = v , k2=a=b#": ("c", {"k": "v", "k2": "a=b"}),
    'd#l=[1,2],p=f(a,b),q="x,y",m={a,[b,c]}#': ("d", {"l": "[1,2]", "p": "f(a,b)", "q": '"x,y"', "m": "{a,[b,c]}"}),
    "e#k=#": ("e", {}),
    "f#novalue,k=1#": ("f", {"k": 1}),
    "g#k=1": ("g#k=1", {}),
    "h#": ("h", {}),
    "i#k=1#rest#": ("i", {"k": 1}),
}


@EACH
def test_args_in_names_are_taken_out_as_by_xla(record, interpreter):  # noqa: F811
    recording = record(f'''
_kymo.start(DIR)
for name in {list(ENCODED)!r}:
    with _kymo.TraceAnnotation(name):
        pass
with _kymo.TraceAnnotation("j#k=1#", other="x"):
    pass
print(_kymo.stop())
''', interpreter)
    events = named(recording)
    for name, args in [*ENCODED.values(), ("j", {"k": 1, "other": "x"})]:
        assert events[name][0][2] == args, name


@EACH
def test_steps_are_steps(kymo, record, interpreter):  # noqa: F811
    recording = record('''
import time
_kymo.start(DIR)
for step in range(5):
    with _kymo.StepTraceAnnotation("train", step_num=step, lr=0.1):
        with _kymo.TraceAnnotation("forward"):
            time.sleep(0.001)
print(_kymo.stop())
''', interpreter)
    steps = [(step["name"], step["number"], step["origin"]) for step in recording.document["steps"]]
    assert steps == [("train", number, "annotated") for number in range(5)]
    events = named(recording)
    assert [args["step_num"] for _, _, args in events["train"]] == list(range(5))
    for (start, end, _), (inner, inner_end, _) in zip(events["train"], events["forward"]):
        assert start <= inner < inner_end <= end


@EACH
def test_tasks_and_threads_may_interleave(record, interpreter):  # noqa: F811
    """Ranges of one name that overlap keep their own begin and end, and a generator may end elsewhere than it began."""
    recording = record('''
import asyncio, threading, time
_kymo.start(DIR)
async def request(number, ms):
    with _kymo.TraceAnnotation("request", number=number):
        await asyncio.sleep(ms / 1000)
async def main():
    await asyncio.gather(request(1, 30), request(2, 90), request(3, 60))
asyncio.run(main())
def moves():
    with _kymo.TraceAnnotation("moves"):
        yield
generator = moves()
next(generator)
thread = threading.Thread(target=lambda: next(generator, None))
thread.start()
thread.join()
with _kymo.TraceAnnotation("outer"):
    try:
        with _kymo.TraceAnnotation("fails"):
            raise KeyError
    except KeyError:
        pass
by_hand = _kymo.TraceAnnotation("dropped").__enter__()
del by_hand
print(_kymo.stop())
''', interpreter)
    events = named(recording)
    lengths = {args["number"]: end - start for start, end, args in events["request"]}
    assert sorted(lengths, key=lengths.get) == [1, 3, 2] and len(events["moves"]) == 1
    (outer,), (fails,) = events["outer"], events["fails"]
    assert outer[0] <= fails[0] <= fails[1] <= outer[1]
    assert len(events["dropped"]) == 1


@EACH
def test_an_exception_of_an_arg_is_the_programs(record, interpreter):  # noqa: F811
    recording = record('''
class Bad:
    def __str__(self):
        raise KeyError("bad")
with _kymo.TraceAnnotation("off", bad=Bad()):
    pass
_kymo.start(DIR)
try:
    with _kymo.TraceAnnotation("on", bad=Bad()):
        raise SystemError
except KeyError as e:
    assert e.args == ("bad",)
with _kymo.TraceAnnotation("fine") as annotation:
    try:
        annotation.set_metadata(bad=Bad())
    except KeyError:
        pass
for wrong in ((), (1,), ("a", "b")):
    try:
        _kymo.TraceAnnotation(*wrong)
    except TypeError:
        continue
    raise SystemError
print(_kymo.stop())
''', interpreter)
    events = named(recording)
    assert "on" not in events and events["fine"][0][2] == {}


def test_the_extension_serves_all_versions_and_needs_libkymo_alone():
    library = PACKAGE / "kymo" / "_kymo.abi3.so"
    needed = subprocess.run(["objdump", "-p", library], capture_output=True, text=True, check=True).stdout
    names = {line.split()[1] for line in needed.splitlines() if line.split()[:1] == ["NEEDED"]}
    assert names <= {"libkymo.so.0", "libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    assert (PACKAGE / "kymo" / "lib" / "libkymo.so.0").exists()


@EACH
def test_the_package_is_found_beside_the_build(interpreter, tmp_path):
    program = "import json; from kymo import _kymo; print(json.dumps(_kymo.is_recording()))"
    result = subprocess.run([interpreter, "-c", program], env={"PYTHONPATH": str(ROOT / "lib" / "kymo" / "python"), "PYTHONDONTWRITEBYTECODE": "1"},
                            text=True, capture_output=True, check=True)
    assert json_line(result.stdout) is False and interpreters()
