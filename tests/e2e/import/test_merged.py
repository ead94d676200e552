"""Directories with several formats: what a framework, the runtime and the recorder wrote is one profile, on one clock.

A profile of several formats has the events of each, as Kymo reads it alone, and no others: what it reads alone is held against
independent models elsewhere (test_xplane_oracle, test_chrome, test_systrace, test_record).
"""

import collections
import json
import os
import random
import shutil
import subprocess
import sys

import pytest

import random_chrome
import random_space
import systrace_model
import xspace
from conftest import DATA, ROOT, with_samples
from server import Server

PROGRAM = ROOT / "tests" / "e2e" / "programs" / "jax_beside_runtime.py"
SECOND_NS = 10**9
OF_THE_PROFILE = {"id", "parent_id", "track", "event_type", "group", "instance_id", "process_id", "timestamp", "start_ps", "worker_gid"}


def environment(out, **variables):
    return {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_"))} | {
        "NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(out), "JAX_PLATFORMS": "cpu",
        "XDG_RUNTIME_DIR": str(out.parent),  # where the locks of cores are: other tests have cores of their own
        "KYMO_INSTANCE_ID": os.uname().nodename, **variables}


@pytest.fixture(scope="session")
def jax_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("merged") / "output"
    subprocess.run([sys.executable, PROGRAM, ROOT / "lib"], env=environment(out), check=True, timeout=120)
    return out


@pytest.fixture
def run(jax_run, tmp_path):
    return shutil.copytree(jax_run, tmp_path / "output")


def session_of(directory):
    return next(directory.glob("*_pid_*"))


def space_of(directory):
    return next(directory.glob("plugins/profile/*/*.xplane.pb"))


def document_of(kymo, path):
    result = kymo.run("view", path, "--output-format", "json")
    assert result.returncode == 0, result.stderr
    return with_samples(json.loads(result.stdout))


def contents(document, start_ns=None):
    """All events with their times since 1970 and all they have; start_ns is for profiles that do not know when they began."""
    tracks = {track["track"]: track for track in document["tracks"]}
    if document["start_epoch_ns"] is not None:
        start_ns = document["start_epoch_ns"]
    found = collections.Counter()
    for event in document["trace_events"]:
        lane = tracks[event["track"]]
        place = tracks[lane["parent"]]["name"], lane["name"], lane["id"], json.dumps(lane.get("args"))
        own = {key: value for key, value in event.items() if key not in OF_THE_PROFILE}
        found[place, start_ns * 1000 + event["start_ps"], json.dumps(own, sort_keys=True)] += 1
    return found


def programs(document):
    return sorted(json.dumps(program, sort_keys=True) for program in document["programs"])


def types(document):
    return sorted(json.dumps(type | {"event_type": 0}, sort_keys=True) for type in document["event_types"])


def flows(document):
    """Both ends, by the names of their lanes and their places in them."""
    names = {track["track"]: (track["name"], track["id"], track.get("event_count")) for track in document["tracks"]}
    return collections.Counter((flow["kind"], names[flow["from_track"]], flow["from_event"], names[flow["to_track"]],
                                flow["to_event"]) for flow in document["flows"])


def assert_is_sum(whole, parts):
    assert whole["format"] == "+".join(part["format"] for part in parts)
    starts = [part["start_epoch_ns"] for part in parts if part["start_epoch_ns"] is not None]
    assert whole["start_epoch_ns"] == (min(starts) if starts else None)
    start_ns = whole["start_epoch_ns"] or 0
    expected = sum((contents(part, start_ns) for part in parts), collections.Counter())
    found = contents(whole, start_ns)
    assert found == expected, (list((found - expected).items())[:3], list((expected - found).items())[:3])
    assert whole["event_count"] == sum(part["event_count"] for part in parts)
    assert programs(whole) == sorted(sum((programs(part) for part in parts), []))
    assert types(whole) == sorted(sum((types(part) for part in parts), []))
    assert len(whole["hosts"]) == sum(len(part["hosts"]) for part in parts)
    assert flows(whole) == sum((flows(part) for part in parts), collections.Counter())


@pytest.mark.slow
def test_a_program_of_jax_and_its_recording_are_one_profile(kymo, jax_run):
    whole = kymo.document(jax_run)
    assert_is_sum(whole, [kymo.document(session_of(jax_run)), kymo.document(space_of(jax_run))])
    assert whole["format"] == "kymo-session+xplane"
    assert len(whole["programs"]) > 0
    names = {event["name"] for event in whole["trace_events"]}
    assert {"nrt_tensor_allocate", "nrt_tensor_write", "PjitFunction(<lambda>)"} <= names


@pytest.mark.slow
def test_what_was_annotated_in_both_is_at_the_same_time(kymo, jax_run):
    document = kymo.document(jax_run)
    found = collections.defaultdict(list)
    for event in document["trace_events"]:
        if event["name"].startswith("both "):
            found[event["name"]].append((event["start_ps"], event["start_ps"] + event["duration_ps"], event["track"]))
    assert len(found) == 5
    for recorded, annotated in found.values():
        assert recorded[2] < annotated[2], "the recording is first"
        assert abs(recorded[0] - annotated[0]) < 10**9 and abs(recorded[1] - annotated[1]) < 10**9
    writes = [event for event in document["trace_events"] if event["name"] == "nrt_tensor_write"]
    annotations = [spans[1] for spans in found.values()]
    assert len(writes) >= 5
    for write in writes:
        assert any(start - 10**9 < write["start_ps"] < end + 10**9 for start, end, _ in annotations)


@pytest.mark.slow
def test_the_threads_of_a_process_are_in_one_place(kymo, jax_run):
    tracks = kymo.document(jax_run)["tracks"]
    pid = int(session_of(jax_run).name.rsplit("_", 1)[1])
    assert [track["name"] for track in tracks if track["level"] == "instance"] == [os.uname().nodename]
    process = next(track for track in tracks if track["level"] == "process" and track["id"] == pid)
    below = [track["name"] for track in tracks if track.get("parent") == process["track"]]
    assert below.count("/host:CPU") == 2 and any(name.startswith("/neuron_rt") for name in below)


@pytest.mark.slow
def test_all_that_reads_profiles_reads_merged_ones(kymo, jax_run, tmp_path):
    document = kymo.document(jax_run)
    count = len(document["trace_events"])
    summary = kymo.json("view", jax_run, "--output-format", "summary-json")
    assert summary["format"] == "kymo-session+xplane" and summary["event_count"] == document["event_count"]
    assert kymo.ok("info", jax_run).startswith("kymo-session+xplane: ")
    info = kymo.json("info", "--json", jax_run)
    assert [host["file"] for host in info["hosts"]] == [str(session_of(jax_run) / "ntrace.pb"), str(space_of(jax_run))]
    kymo.ok("view", jax_run, "--data-path", tmp_path, "--display-name", "merged", "--ingest-only")
    rows = kymo.ok("sql", "merged", "SELECT count(*) AS n, count(DISTINCT process_id) AS p FROM SystemProfileEvents "
                   "WHERE name LIKE 'both %'", "--data-path", tmp_path, "--format", "json")
    assert json.loads(rows)[0] == {"n": 10, "p": 1}
    rows = kymo.ok("sql", "merged", "SELECT count(*) AS n FROM SystemProfileEvents", "--data-path", tmp_path, "--format", "json")
    assert json.loads(rows)[0]["n"] == count
    kymo.ok("view", jax_run, "--output-format", "perfetto", "--output-file", tmp_path / "a.pftrace")
    assert (tmp_path / "a.pftrace").stat().st_size > 0


@pytest.mark.slow
def test_steps_of_the_framework_are_those_of_the_whole(kymo, jax_run):
    whole = kymo.json("view", jax_run, "--output-format", "summary-json")
    alone = kymo.json("view", space_of(jax_run), "--output-format", "summary-json")
    assert whole["steps"] == alone["steps"] and whole["steps"]["count"] == 5
    assert whole["steps"]["origin"] == "annotated"
    kymo.ok("recommend", jax_run)


@pytest.mark.slow
def test_a_log_directory_with_a_merged_capture_has_it_as_one_run(kymo, jax_run, tmp_path):
    server = Server(kymo, jax_run, "--data-path", tmp_path / "data", command="serve")
    [entry] = server.get("profiles")["profiles"]
    server.post(f"profiles/{entry['name']}/process", status=202)
    entry = server.wait_for(entry["name"], "ready")
    assert entry["format"] == "kymo-session+xplane"
    assert entry["events"] == kymo.document(jax_run)["event_count"]
    names = [track["name"] for track in server.get(f"profiles/{entry['name']}/tracks")["tracks"]]
    assert names.count("/host:CPU") == 2
    server.stop()


@pytest.mark.slow
def test_written_as_xplane_it_is_the_same(kymo, jax_run, tmp_path):
    kymo.ok("convert", jax_run, tmp_path / "logs")
    files = sorted(tmp_path.glob("logs/plugins/profile/*/*.xplane.pb"))
    assert len(files) == 2, "each part is a host"

    def times(document):
        return collections.Counter((event["name"], document["start_epoch_ns"] * 1000 + event["start_ps"], event["duration_ps"])
                                   for event in document["trace_events"])

    assert times(kymo.document(files[0].parent)) == times(kymo.document(jax_run))


@pytest.mark.slow
def test_filters_work_on_merged_profiles(kymo, jax_run):
    document = kymo.document(jax_run, "--system-trace-filter-event-type", "both 1,nrt_tensor_write")
    assert collections.Counter(event["name"] for event in document["trace_events"]) == {
        "both 1": 2, "nrt_tensor_write": sum(event["name"] == "nrt_tensor_write"
                                             for event in kymo.document(jax_run)["trace_events"])}


@pytest.mark.slow
def test_the_newest_run_of_several_is_merged(kymo, run):
    older = run / "plugins" / "profile" / "2001_01_01_00_00_00"
    shutil.copytree(space_of(run).parent, older)
    result = kymo.run("info", run)
    assert result.returncode == 0 and result.stdout.startswith("kymo-session+xplane: ")
    assert "1 other run in this directory is skipped" in result.stderr and str(older) in result.stderr


@pytest.mark.slow
def test_other_traces_that_jax_writes_are_not_taken_twice(kymo, run):
    space = space_of(run)
    expected = kymo.document(run)
    copies = list(space.parent.glob("*.trace.json.gz"))
    assert len(copies) == 1, "JAX wrote one"
    shutil.copy(copies[0], space.parent / "perfetto_trace.json.gz")
    assert contents(kymo.document(run)) == contents(expected)
    shutil.copy(copies[0], space.parent / "other.json.gz")
    assert kymo.document(run)["format"] == "kymo-session+xplane+chrome"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["xplane", "ntrace"])
def test_damage_in_a_part_names_its_file(kymo, run, part):
    file = space_of(run) if part == "xplane" else session_of(run) / "ntrace.pb"
    data = file.read_bytes()
    file.write_bytes(data[: len(data) * 2 // 3])
    message = kymo.refuses("info", run)
    assert str(file) in message and message.count("\n") == 1


@pytest.mark.slow
def test_a_capture_of_another_day_is_left_out(kymo, run):
    space = xspace.XSpace(hostnames=[b"host"])
    plane = xspace.PlaneWriter(space, "/host:CPU")
    plane.event(plane.line("thread"), "old", 0, 5)
    xspace.task_environment(space, 946_684_800 * SECOND_NS, 946_684_801 * SECOND_NS)
    space_of(run).write_bytes(space.SerializeToString())
    document = document_of(kymo, run)
    assert contents(document) == contents(kymo.document(session_of(run)))
    messages = [message["text"] for message in document["messages"]]
    assert any(str(space_of(run)) in text and "hours earlier than the rest" in text for text in messages)


@pytest.mark.slow
def test_a_recording_that_was_converted_is_not_taken_twice(kymo, run):
    session = session_of(run)
    kymo.ok("convert", session, space_of(run), "--force")
    document = kymo.document(run)
    assert contents(document) == contents(kymo.document(session))
    assert any("it is the same capture as" in message["text"] for message in document["messages"])


@pytest.mark.slow
def test_profiles_of_explorer_beside_a_capture_are_skipped_with_a_word(kymo, run):
    expected = kymo.document(run)
    shutil.copy(DATA / "neuron" / "system_profile.json", run)
    result = kymo.run("view", run, "--output-format", "json")
    assert result.returncode == 0
    assert f"{run / 'system_profile.json'} is a profile of its own and was skipped" in result.stderr
    assert contents(with_samples(json.loads(result.stdout))) == contents(expected)


@pytest.mark.slow
def test_device_profiles_stay_profiles_of_their_own(kymo, run, tmp_path):
    shutil.copy(DATA / "device" / "collectives.neff", session_of(run))
    shutil.copy(DATA / "device" / "profile_rank_1.ntff", session_of(run))
    result = kymo.run("view", "-d", run, "--data-path", tmp_path, "--display-name", "all", "--ingest-only")
    assert result.returncode == 0, result.stderr
    assert 'Profile "all_profile_rank_1" is ready to view' in result.stdout and 'Profile "all" is ready to view' in result.stdout
    rows = kymo.ok("sql", "all", "SELECT count(*) AS n FROM SystemProfileEvents WHERE name LIKE 'both %'", "--data-path", tmp_path,
                   "--format", "json")
    assert json.loads(rows)[0]["n"] == 10
    assert kymo.run("convert", run, tmp_path / "logs").returncode == 0


@pytest.mark.slow
def test_a_trace_of_torch_beside_a_recording(kymo, run):
    shutil.rmtree(run / "plugins")
    alone = kymo.document(run)
    pid = int(session_of(run).name.rsplit("_", 1)[1])
    start_us = alone["start_epoch_ns"] // 1000
    events = [{"ph": "X", "cat": "cpu_op", "name": f"aten::op{i}", "pid": pid, "tid": pid, "ts": start_us + i * 10, "dur": 5,
               "args": {"External id": i}} for i in range(10)]
    trace = run / f"host_{pid}.1.pt.trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    whole = kymo.document(run)
    assert_is_sum(whole, [alone, kymo.document(trace)])
    assert whole["format"] == "kymo-session+kineto"
    assert sum(track["level"] == "process" for track in whole["tracks"]) == 1, "the thread tells that it is the same process"


def random_parts(directory, seed, start_ns):
    """Captures made up at random, of up to three formats, that began within seconds of a time."""
    rng = random.Random(seed)
    space = random_space.make(seed)
    began = start_ns + rng.randrange(-SECOND_NS, SECOND_NS)
    xspace.task_environment(space, began, began + SECOND_NS)
    (directory / "a.xplane.pb").write_bytes(space.SerializeToString())
    kinds = rng.choice([["chrome"], ["system"], ["chrome", "system"]])
    if "system" in kinds:
        records, _, _ = systrace_model.make(seed, events=100)
        moved = json.loads(systrace_model.text(records))
        shift = began - systrace_model.EPOCH_NS

        def move(value):
            if isinstance(value, dict):
                return {key: item + shift if key in ("timestamp_ns", "cpu_timestamp_ns") and isinstance(item, int) else move(item)
                        for key, item in value.items()}
            return [move(item) for item in value] if isinstance(value, list) else value

        (directory / "b.json").write_text(json.dumps(move(moved)))
    if "chrome" in kinds:
        events = [{"ph": "X", "name": f"n{rng.randrange(5)}", "pid": rng.randrange(3), "tid": rng.randrange(5),
                   "ts": (began // 1000 if seed % 2 else 0) + rng.randrange(10**6) + rng.randrange(1000) / 1000,
                   "dur": rng.randrange(1000), "args": {rng.choice("abc"): rng.choice([1, "x", 2.5, [1], None])}}
                  for _ in range(100)]
        (directory / "c.json").write_text(json.dumps({"traceEvents": events}))
    return sorted(directory.glob("*.*"))


@pytest.mark.parametrize("seed", range(24))
def test_random_captures_together_are_the_sum_of_their_parts(kymo, tmp_path, seed):
    files = random_parts(tmp_path, seed, 1_750_000_000 * SECOND_NS)
    alone = [document_of(kymo, file) for file in files]
    assert_is_sum(document_of(kymo, tmp_path), alone)


@pytest.mark.parametrize("seed", range(6))
def test_random_captures_with_a_recording(kymo, run, seed):
    shutil.rmtree(run / "plugins")
    session = kymo.document(run)
    made = run / "made"
    made.mkdir()
    files = random_parts(made, seed, session["start_epoch_ns"])
    assert_is_sum(document_of(kymo, run), [session] + [document_of(kymo, file) for file in files])


def test_random_chrome_traces_with_all_their_forms(kymo, tmp_path):
    space = xspace.XSpace(hostnames=[b"host"])
    plane = xspace.PlaneWriter(space, "/host:CPU")
    plane.event(plane.line("thread"), "one", 0, 5, number=7)
    (tmp_path / "a.xplane.pb").write_bytes(space.SerializeToString())
    for seed in range(8):
        (tmp_path / "c.json").write_text(random_chrome.make(seed))
        files = [tmp_path / "a.xplane.pb", tmp_path / "c.json"]
        assert_is_sum(document_of(kymo, tmp_path), [document_of(kymo, file) for file in files])
