"""The interposer over a runtime with a system trace of its own: a stand-in that shares nothing with Kymo's."""

import json
import re

import pytest

import schema
from test_nrt import LIBRARY, NRT, compile, recorded, run

OLD = {"runtime_execute": "nrt_execute", "device_exec": "nc_exec_running", "model_load": "nrt_load"}
PHASES = {"start": 1, "stop": 2, None: 3}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tracer")
    runtime = compile(folder / "libnrt.so.1", NRT / "tracer.c", "-shared", "-fPIC", f"-I{NRT}", "-Wl,-soname,libnrt.so.1")
    return compile(folder / "traced", NRT / "traced.c", f"-I{NRT}", runtime, f"-Wl,-rpath,{folder}", f"-L{LIBRARY}",
                   f"-Wl,-rpath,{LIBRARY}", "-lkymo", "-pthread")


@pytest.fixture
def traced(program, tmp_path):
    """Runs the program with the interposer: what it printed, and its messages."""

    def call(*steps, capture=True, interposer=True, **variables):
        wanted = {"TRACER_LOG": str(tmp_path / "log")}
        if interposer:
            wanted["LD_PRELOAD"] = str(LIBRARY / "libkymo-nrt.so")
        if capture:
            wanted |= {"NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(tmp_path / "out")}
        return run([program, *steps], **(wanted | variables))

    call.out, call.log = tmp_path / "out", tmp_path / "log"
    return call


def emitted(log):
    """What the runtime emitted, as a capture has it."""
    found = []
    for event in map(json.loads, log.read_text().splitlines()):
        data = {key: value for key, value in event["data"].items() if value is not None} | {"rank_id": 7}
        if "list" in data:
            data |= {"list": "[1, 2]", "on": 1}
        found.append((OLD.get(event["event_type"], event["event_type"]), event.get("nc_idx", -1), PHASES[event.get("phase")],
                      event["tracking_id"], data, event["timestamp_ns"]))
    return found


def as_emitted(events):
    return [(event["name"], event["core"] - 1, event["phase"], event["id"],
             {key: value for key, _, value in event["args"]}, event["time_ns"]) for event in events]


def split(events):
    """The runtime's own events, and those of the wrappers, which have no rank."""
    own = [event for event in events if "rank_id" in event[4]]
    return own, [event for event in events if "rank_id" not in event[4]]


def in_order(events):
    """By core and number, without the time."""
    return sorted((event[:4] + (sorted(event[4].items(), key=str),) for event in events), key=str)


def taken(out):
    return split(as_emitted(recorded(out)[2]))


def assert_times(found, expected):
    """Within 50 us: the capture's clock is another one."""
    times = {event[:4]: event[5] for event in expected if event[3]}
    for event in found:
        if event[3]:
            assert abs(event[5] - times[event[:4]]) < 50_000


@pytest.mark.parametrize("variables", [{}, {"TRACER_OLD": "1"}, {"TRACER_CLOCK": "mono"}, {"TRACER_FAIL": "memory"}],
                         ids=["plain", "older names", "monotonic clock", "little memory"])
def test_the_runtimes_own_events_are_recorded_once_each(traced, variables, kymo):
    output, errors = traced("init", "load", "2", "exec", "40", "load", "1", "exec", "5", "unload", "close", **variables)
    assert (output, errors) == ("init 0\n", "")
    own, wrapped = taken(traced.out)
    expected = emitted(traced.log)
    if "TRACER_CLOCK" in variables:  # on the epoch's clock, the capture's
        offset = own[0][5] - next(event[5] for event in expected if event[:4] == own[0][:4])
        expected = [event[:5] + (event[5] + offset,) for event in expected]
        for event in own + expected:
            event[4].pop("cpu_timestamp_ns", None)
    assert len(own) == 45 * 8 + 4 and in_order(own) == in_order(expected)
    assert_times(own, expected)
    assert {event[0] for event in wrapped} == {"nrt_init", "nrt_close", "nrt_unload"}
    # In the order of time within each core, as the runtime has them.
    for core in (-1, 1, 2):
        times = [event[5] for event in own if event[1] == core]
        assert times == sorted(times)


def test_they_are_shown_with_their_cores_and_clocks(traced, kymo):
    traced("init", "load", "2", "exec", "3", "close")
    session = recorded(traced.out)[0]
    document = kymo.document(session)
    assert [message for message in document["messages"] if message["level"] == "warning"] == []
    names = {track["track"]: track["name"] for track in document["tracks"]}
    running = [event for event in document["trace_events"] if event["name"] == "nc_exec_running"]
    assert sorted(names[event["track"]] for event in running) == ["nc-002 core 4"] * 3 + ["nc-002 core 5"] * 3
    executions = [event for event in document["trace_events"] if event["name"] == "nrt_execute"]
    assert {names[event["track"]] for event in executions} == {"nrt-nc-002"}
    # The cores' clock is brought to the host's: what ran lies within its execution.
    for event in running:
        assert any(outer["start_ps"] - 5e6 <= event["start_ps"]
                   and event["start_ps"] + event["duration_ps"] <= outer["start_ps"] + outer["duration_ps"] + 5e6
                   for outer in executions)
    assert "nc_exec_running" in kymo.ok("view", session, "--output-format", "summary-text")


def test_what_the_runtime_dropped_is_counted(traced, kymo):
    for say in ("0", "1"):
        out = traced.out.with_name(f"out{say}")
        traced("init", "load", "3", "exec", "200", "unload", TRACER_RING="16", TRACER_LOST=say,
               NEURON_RT_INSPECT_OUTPUT_DIR=str(out))
        session, _, events = recorded(out)
        own, _ = split(as_emitted(events))
        expected = in_order(emitted(traced.log))
        traced.log.unlink()
        assert 16 <= len(own) < 200 * 8 and all(event in expected for event in in_order(own))
        lost = schema.load(session, "trace_info", "TraceInfo").lost
        assert lost == (200 * 8 + 2 - len(own) if say == "1" else 0)


@pytest.mark.parametrize("failing", ["config_allocate", "start", "fetch_events", "get_event_types"])
def test_calls_are_recorded_over_a_trace_that_fails(traced, failing):
    output, errors = traced("init", "load", "2", "exec", "3", "close", TRACER_FAIL=failing)
    own, wrapped = taken(traced.out)
    assert output == "init 0\n"
    if failing == "get_event_types":  # calls are not left to it; the rest is taken
        assert errors == "" and {event[0] for event in own} == {"nc_exec_running", "timestamp_sync_point", "vendor_detail"}
    elif failing != "fetch_events":
        assert re.fullmatch(r"kymo: nrt_sys_trace_start: status \d; the runtime's own events .*\n", errors) and own == []
    if failing != "fetch_events":
        assert [event[0] for event in wrapped].count("nrt_execute") == 6


@pytest.mark.parametrize("bad", ["cut", "text", "list", "none", "odd"])
def test_json_that_is_none_does_no_harm(traced, bad):
    output, errors = traced("init", "load", "2", "exec", "30", "close", TRACER_BAD=bad)
    assert output == "init 0\n"
    own, _ = taken(traced.out)
    expected = in_order(emitted(traced.log))
    assert all(event in expected for event in in_order(own))
    if bad == "odd":
        assert len(own) == 30 * 8 + 2 and errors == ""
        lost = schema.load(recorded(traced.out)[0], "trace_info", "TraceInfo").lost
        assert lost > 0 and lost % 6 == 0  # of each fetch
    else:
        assert "kymo: nrt_sys_trace_fetch_events: malformed JSON at byte " in errors
        assert len(errors.splitlines()) <= 4


def fetched(output):
    return [event for line in output.splitlines() if line.startswith("{") for event in json.loads(line)["events"]]


def test_a_program_with_a_trace_of_its_own_has_all_of_it(traced):
    """And the capture, too: what the program fetches, what it leaves, and what was before and after."""
    steps = ("init", "load", "2", "exec", "2", "start", "exec", "3", "fetch", "exec", "4", "fetch", "exec", "5", "stop",
             "exec", "6", "close")
    plain, _ = traced(*steps, capture=False, interposer=False)
    traced.log.unlink()
    output, errors = traced(*steps)
    assert errors == "" and re.sub(r"\d{3,}", "N", output) == re.sub(r"\d{3,}", "N", plain)
    assert len(fetched(output)) == 7 * 8
    own, wrapped = taken(traced.out)
    # In the program's trace, calls are the wrappers'.
    expected = emitted(traced.log)
    during = {event[3] for event in wrapped if event[0] == "nrt_execute"}
    assert len(during) == 12
    executions = [event for event in expected if event[0] == "nrt_execute"]
    skipped = {event[3] for event in executions[2 * 2:2 * 14]}
    assert in_order(own) == in_order(event for event in expected
                                     if event[0] != "nrt_execute" or event[3] not in skipped)


def test_a_trace_of_one_core_leaves_the_others_to_the_wrappers(traced):
    output, errors = traced("init", "load", "1", "start", "one", "exec", "3", "load", "2", "exec", "2", "fetch", "stop",
                            "close")
    assert errors == "" and {event.get("nc_idx") for event in fetched(output)} == {2, None}
    own, wrapped = taken(traced.out)
    assert [event[1] for event in wrapped if event[0] == "nrt_execute"] == [1] * 6 + [2] * 4
    assert sum(event[0] == "nc_exec_running" for event in own) == 2 * 4


def test_a_program_is_told_what_it_was_told_without(traced):
    steps = ("stop", "fetch", "start", "init", "stop", "fetch", "start", "start", "stop", "stop", "close", "start",
             "init", "start", "stop", "close", "stop")
    plain = traced(*steps, capture=False, interposer=False)
    assert traced(*steps, capture=False) == plain
    assert traced(*steps) == plain


def test_a_capture_that_begins_later_takes_them_until_it_ends(traced):
    steps = ("init", "load", "2", "exec", "3", "begin", traced.out / "a", "exec", "200", "end", "exec", "4",
             "begin", traced.out / "b", "exec", "200", "end", "start", "stop", "close")
    output, errors = traced(*steps, capture=False)
    assert errors == "" and output.splitlines() == ["init 0", "begin 0", "end 0", "begin 0", "end 0", "start 0", "stop 0"]
    numbers = []
    for name in "ab":
        own, wrapped = taken(traced.out / name)
        numbers.append([event[3] for event in own if event[3]])
        assert len(own) == 200 * 8 and not any(event[0] == "nrt_execute" for event in wrapped)
    assert max(numbers[0]) < min(numbers[1])


def test_a_fork_waits_for_no_thread_that_waits_for_it(traced):
    """The runtime's own handlers of fork take the lock that the thread which fetches needs."""
    output, errors = traced("init", "load", "2", "exec", "2", "fork", "close", TRACER_FORK="1")
    assert errors == "" and output.splitlines() == ["init 0", "again 0", "child 0"]


@pytest.mark.slow
def test_children_threads_and_a_second_init(traced):
    output, errors = traced("init", "load", "2", "exec", "2", "fork", "threads", "close", "init", "exec", "1", "close")
    assert errors == "" and output.splitlines().count("child 0") == 1
    sessions = [split(as_emitted([event for lane in schema.events(schema.load(path, "ntrace", "Ntrace")) for event in lane]))
                for path in traced.out.iterdir()]
    (child, child_calls), (parent, _) = sorted(sessions, key=lambda session: len(session[0]))
    assert len(parent) == (2 + 800 + 1) * 8 + 2 + 8
    # The child's first execution is before its nrt_init: a call; the second is the runtime's.
    assert sum(event[0] == "nrt_execute" for event in child_calls) == 2
    assert len(child) == 8
    expected = in_order(emitted(traced.log))
    assert all(event in expected for event in in_order(child + parent))


@pytest.mark.parametrize("end", ["exit", "_exit"])
def test_a_program_that_ends_while_it_executes_leaves_a_capture(traced, kymo, end):
    _, errors = traced("init", end)
    assert errors == ""
    if end == "_exit":
        assert kymo.run("recover", traced.out).returncode == 0
    own, _ = taken(traced.out)
    expected = set(map(str, in_order(emitted(traced.log))))
    assert all(str(event) in expected for event in in_order(own))
    if end == "exit":
        assert sum(event[0] == "nrt_execute" for event in own) >= 20


def test_filters_hold_for_them(traced):
    traced("init", "load", "2", "exec", "3", "load", "1", "exec", "2", "close", NEURON_RT_INSPECT_EVENT_FILTER_TYPE="hardware",
           NEURON_RT_INSPECT_EVENT_FILTER_NC="1")
    own, wrapped = taken(traced.out)
    assert wrapped == [] and {event[:2] for event in own} == {("nc_exec_running", 1), ("timestamp_sync_point", 1)}
    assert len(own) == 2 * 5
