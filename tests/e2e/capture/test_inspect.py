"""kymo inspect, and the profiles made of what it records."""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from jaxlib._profile_data import ProfileData

import schema
from conftest import ROOT
from test_record import PROGRAMS, annotated, compile, record, session  # noqa: F401

LIBRARY = ROOT / "lib"


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    target = tmp_path_factory.mktemp("programs") / "training"
    return compile(target, ROOT / "examples" / "training.c", f"-L{LIBRARY}",
                   f"-Wl,-rpath,{LIBRARY}", "-lkymo", "-pthread")  # fmt: skip


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("NEURON_", "KYMO_", "LD_PRELOAD")) and name != "KYMO_LIBRARY_DIR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("KYMO_INSTANCE_ID", "i-0test")


# A program that goes on until it is killed may have filled its rings by then, of which commands warn.
QUIET = ("--log-level", "error")


def inspect(kymo, out, *command, **options):
    return kymo.run("inspect", "-o", out, *command, **options)


def test_what_a_program_recorded_becomes_a_profile(kymo, annotated, tmp_path):  # noqa: F811
    pid, printed, _ = record(annotated, tmp_path, 2000)
    document = kymo.document(tmp_path)
    expected, ranges = collections.Counter(), collections.Counter()
    for event in printed:  # a stop ends the start of its name and id, or of its name and thread
        key = (event["name"], event["id"] or f"thread {event['thread']}")
        expected[event["name"]] += 1
        if event["phase"] in (1, 8):
            ranges[key] += 1
        elif event["phase"] == 2 and ranges[key] > 0:
            ranges[key] -= 1
            expected[event["name"]] -= 1
    samples = {t["track"] for t in document["tracks"] if t["name"] in ("cpu_util", "mem_usage")}
    lanes = {t["track"] for t in document["tracks"] if t.get("parent") in samples}
    found = collections.Counter(
        e["name"] for e in document["trace_events"] if e["track"] not in lanes
    )
    assert found == +expected
    assert document["format"] == "kymo-session"
    assert {e["instance_id"] for e in document["trace_events"]} == {"i-0test"}
    assert {e["process_id"] for e in document["trace_events"]} == {str(pid)}


def test_steps_counters_flows_and_threads_of_the_example(kymo, training, tmp_path):
    result = inspect(kymo, tmp_path / "out", training, 30)
    assert (result.returncode, result.stdout) == (0, "30 steps done\n")
    first, last = result.stderr.splitlines()
    assert first == f'INFO[0000] Running command "{training} 30" with profiling enabled'
    assert "none lost" in last and str(tmp_path / "out") in last
    summary = kymo.json("view", tmp_path / "out", "--output-format", "summary-json")
    assert summary["steps"]["count"] == 30
    document = kymo.document(tmp_path / "out")
    counts = collections.Counter(e["name"] for e in document["trace_events"])
    assert counts["forward"] == counts["backward"] == counts["load batch"] == 30
    assert counts["batches waiting"] == 60 and counts["checkpoint"] == 3
    assert len(document["flows"]) == 30
    steps = sorted(e["args"]["step_num"] for e in document["trace_events"] if e["name"] == "train")
    assert steps == list(range(30))
    names = {track["name"] for track in document["tracks"]}
    assert {"loader", "training", "batches waiting", "training example"} <= names
    (loads,) = [t for t in document["event_types"] if t["name"] == "load batch"]
    assert loads["args"]["file"].endswith("training.c") and loads["args"]["line"] > 0


@pytest.mark.parametrize("format", ["perfetto", "json", "summary-text", "parquet"])
def test_recordings_go_into_every_format(kymo, training, tmp_path, format):
    inspect(kymo, tmp_path / "out", training, 5)
    kymo.ok("view", "-d", tmp_path / "out", "--output-format", format, "--output-file",
            tmp_path / "result")  # fmt: skip
    assert (tmp_path / "result").exists()


@pytest.mark.parametrize("code", [0, 1, 7, 126, 255])
def test_the_exit_code_is_the_commands(kymo, tmp_path, code):
    assert inspect(kymo, tmp_path, "sh", "-c", f"exit {code}").returncode == code


def test_input_output_and_options_of_the_command_are_its_own(kymo, tmp_path):
    result = kymo.run("inspect", "-o", tmp_path, "cat", "-n", input="hello\n")
    assert result.stdout.split() == ["1", "hello"]
    result = kymo.run("inspect", "-o", tmp_path, "--", "printf", "%s", "--output-dir")
    assert result.stdout == "--output-dir"


def test_commands_that_have_nothing_to_tell_leave_nothing_behind(kymo, tmp_path):
    result = inspect(kymo, tmp_path, "true")
    assert result.returncode == 0 and "no events were recorded" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", range(3, 10))
def test_a_shell_may_use_any_descriptor(kymo, tmp_path, number):
    data = tmp_path / "data"
    script = f"exec {number}>{data}; (echo one >&{number}); echo two >&{number}"
    result = inspect(kymo, tmp_path / "out", "bash", "-c", script)
    assert (result.returncode, data.read_text()) == (0, "one\ntwo\n")
    script = f"exec {number}>&1; (echo one >&{number}); echo two >&{number}"
    result = inspect(kymo, tmp_path / "out", "bash", "-c", script)
    assert (result.returncode, result.stdout) == (0, "one\ntwo\n")


def test_what_cannot_be_run_is_told_as_by_a_shell(kymo, tmp_path):
    result = inspect(kymo, tmp_path, "no-such-command")
    assert result.returncode == 127
    assert "cannot run no-such-command: No such file" in result.stderr
    result = inspect(kymo, tmp_path, __file__)
    assert result.returncode == 126 and "Permission denied" in result.stderr


def test_signals_that_the_parent_ignores_stay_ignored_and_hide_no_exit_code(kymo, tmp_path):
    """Those of nohup; and SIGCHLD, without which nobody tells the command's exit code. What kymo ignores itself is not passed on."""

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    script = "import signal, sys; print([s.name for s in signal.valid_signals() if signal.getsignal(s) == signal.SIG_IGN]); sys.exit(7)"
    command = [sys.executable, "-c", script]
    by_kymo = inspect(kymo, tmp_path, *command, preexec_fn=ignore)
    alone = subprocess.run(command, preexec_fn=ignore, stdout=subprocess.PIPE, text=True)
    assert by_kymo.returncode == alone.returncode == 7
    assert by_kymo.stdout == alone.stdout and "SIGHUP" in alone.stdout and "SIGCHLD" in alone.stdout


@pytest.mark.parametrize("arguments", [[], ["-o"], ["--event-filter-nc", "x", "true"], ["--nope"]])
def test_wrong_usage(kymo, arguments, tmp_path):
    result = kymo.run("inspect", *arguments, cwd=tmp_path)
    assert result.returncode == 2 and list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_made_is_told_before_the_command_runs(kymo, tmp_path):
    (tmp_path / "file").write_text("")
    result = kymo.run("inspect", "-o", tmp_path / "file" / "out", "echo", "ran")
    assert result.returncode == 1 and result.stdout == ""


def wait_for_rings(out, process):
    deadline = time.monotonic() + 30
    while not list(out.glob("*/rings/lane_1")) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)


def start(kymo, out, *command):
    return subprocess.Popen([kymo.path, "inspect", "-o", out, *map(str, command)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_command_and_the_capture_survives(kymo, training, tmp_path, number):
    out = tmp_path / "out"
    process = start(kymo, out, training, 1_000_000)
    wait_for_rings(out, process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "none lost" in errors and f"killed by signal {int(number)}" in errors
    assert kymo.json("view", out, "--output-format", "summary-json")["steps"]["count"] > 10


def test_a_command_that_is_killed_leaves_its_capture(kymo, training, tmp_path):
    out = tmp_path / "out"
    process = start(kymo, out, training, 1_000_000)
    wait_for_rings(out, process)
    (child,) = [p.name.rpartition("_")[2] for p in out.iterdir()]
    os.kill(int(child), signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGKILL and "none lost" in errors
    document = kymo.document(out)
    assert any("recovered" in message["text"] for message in document["messages"])
    unfinished = [e for e in document["trace_events"] if (e.get("args") or {}).get("phase") == "start"]
    assert unfinished and all(e["duration_ps"] >= 0 for e in unfinished)


HELD = """
import ctypes, os, pathlib, subprocess, sys, time
program, out = sys.argv[1:]
ready, tell = os.pipe()
if os.fork():  # this command leaves as soon as the program is killed, like timeout --signal KILL
    os.close(tell)
    os._exit(os.read(ready, 1) != b"k")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1), os.dup2(1, 2)
child = subprocess.Popen([program, "1000000"])
while not list(pathlib.Path(out).glob(f"*_pid_{child.pid}/rings/lane_1")):
    time.sleep(0.01)
time.sleep(0.3)
SEIZE, DETACH, TRACE_EXIT = 0x4206, 17, 0x40
libc = ctypes.CDLL(None)
assert libc.ptrace(SEIZE, child.pid, None, ctypes.c_void_p(TRACE_EXIT)) == 0
child.kill()
os.waitpid(child.pid, 0x40000000)  # __WALL: it is held on its way out
os.write(tell, b"k")
time.sleep(1)
libc.ptrace(DETACH, child.pid, None, None)
child.wait()
"""


def test_a_program_that_was_killed_and_is_not_gone_yet_is_waited_for(kymo, training, tmp_path):
    result = inspect(kymo, tmp_path / "out", sys.executable, "-c", HELD, training, tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert "recovered" in result.stderr and "no events were recorded" not in result.stderr, result.stderr
    assert "still recording" not in result.stderr
    assert kymo.json("view", tmp_path / "out", "--output-format", "summary-json", *QUIET)["steps"]["count"] > 10


def test_a_program_that_is_killed_alone_can_be_viewed(kymo, training, tmp_path):
    """No inspect around it: its rings are read as they are, before and after."""
    environment = os.environ | {"NEURON_RT_INSPECT_ENABLE": "1",
                                "NEURON_RT_INSPECT_OUTPUT_DIR": str(tmp_path)}  # fmt: skip
    process = subprocess.Popen([training, "1000000"], env=environment)
    wait_for_rings(tmp_path, process)
    running = kymo.json("view", tmp_path, "--output-format", "summary-json", *QUIET)["steps"]["count"]
    process.kill()
    process.wait()
    killed = kymo.json("view", tmp_path, "--output-format", "summary-json", *QUIET)["steps"]["count"]
    assert 10 < running <= killed
    assert len(list(tmp_path.glob("*/rings"))) == 1


def inspect_lossy(kymo, training, out):
    """Records into buffers that are too small; what was stored, and the sentence of Neuron's guides about the rest."""
    inspected = kymo.run("inspect", "-o", out, "-n", 100, training, 200)
    assert inspected.returncode == 0
    (directory,) = out.iterdir()
    info = schema.load(directory, "trace_info", "TraceInfo")
    assert info.lost > 0 and info.recorded == info.kept + info.lost
    sentence = (
        f"Warning: {info.lost} trace events were dropped during capture (stored {info.kept} out of "
        f"{info.recorded} total events). Consider increasing buffer size, reducing trace duration, "
        "or filtering events."
    )
    assert inspected.stderr.count(sentence) == 1
    return info, sentence


def says_first(kymo, sentence, *arguments):
    """Standard output of a command that says it on standard error, only once and nothing else."""
    result = kymo.run(*arguments)
    assert result.returncode == 0, result.stderr
    assert re.sub(r"^WARN\[\d+\] ", "", result.stderr) == sentence + "\n", arguments
    return result.stdout


def test_events_that_did_not_fit_are_told_in_the_documents_words(kymo, training, tmp_path):
    out = tmp_path / "out"
    info, sentence = inspect_lossy(kymo, training, out)
    for form in ("perfetto", "parquet"):
        says_first(kymo, sentence, "view", out, "--output-format", form, "--output-file", tmp_path / form)
    text = says_first(kymo, sentence, "view", out, "--output-format", "summary-text")
    assert f"{info.lost:,} more dropped" in text and sentence not in text
    summary = json.loads(says_first(kymo, sentence, "view", out, "--output-format", "summary-json"))
    assert (summary["dropped_events"], summary["dropped_warning"]) == (info.lost, sentence)
    assert [message["text"] for message in summary["messages"]].count(sentence) == 1
    says_first(kymo, sentence, "info", out)
    says_first(kymo, sentence, "convert", out, tmp_path / "logs")
    (tmp_path / "p.json").write_text(says_first(kymo, sentence, "view", out, "--output-format", "json"))
    for place in (out, tmp_path / "p.json", tmp_path / "logs"):  # the capture, and what it was converted to
        says_first(kymo, sentence, "recommend", place)


@pytest.mark.slow
def test_stored_profiles_say_what_their_captures_dropped(kymo, training, tmp_path):
    out, workspace = tmp_path / "out", ("--data-path", tmp_path / "workspace")
    _, sentence = inspect_lossy(kymo, training, out)
    for command in (("view", "-d", out, "--display-name", "p", "--ingest-only"), ("recommend", "p"), ("stats", "p"),
                    ("tool", "overview_page", "p"), ("timeline", "p"), ("sql", "p", "SELECT 1")):
        says_first(kymo, sentence, *command, *workspace)
    says_first(kymo, sentence, "fleet", "add", tmp_path / "runs", out, "--run", "night", "--rank", "0")
    says_first(kymo, sentence, "fleet", "report", tmp_path / "runs", "--run", "night", *workspace)


def test_many_processes_are_one_profile(kymo, training, tmp_path):
    script = f"{training} 10 & {training} 20 & {training} 30 & wait"
    assert inspect(kymo, tmp_path / "out", "sh", "-c", script).returncode == 0
    document = kymo.document(tmp_path / "out")
    by_process = collections.Counter(
        e["process_id"] for e in document["trace_events"] if e["name"] == "train"
    )
    assert sorted(by_process.values()) == [10, 20, 30]
    text = kymo.ok("view", tmp_path / "out", "--output-format", "summary-text")
    assert ", 1 host (i-0test)" in text


def test_a_session_without_its_description_is_read_with_a_warning(kymo, training, tmp_path):
    inspect(kymo, tmp_path / "out", training, 5)
    (info,) = (tmp_path / "out").glob("*/trace_info.pb")
    info.unlink()
    document = kymo.document(tmp_path / "out")
    assert any("trace_info.pb is missing" in message["text"] for message in document["messages"])
    assert sum(event["name"] == "train" for event in document["trace_events"]) == 5


def test_damaged_session_files_are_refused_with_the_place(kymo, training, tmp_path):
    out = tmp_path / "out"
    inspect(kymo, out, training, 20)
    (trace,) = out.glob("*/ntrace.pb")
    data = trace.read_bytes()
    refused = 0
    for cut in range(20, len(data), max(1, len(data) // 60)):
        trace.write_bytes(data[:cut])
        result = kymo.run("view", out, "--output-format", "summary-json")
        assert result.returncode in (0, 1)
        if result.returncode == 1:
            assert "ntrace.pb" in result.stderr and "damaged" in result.stderr
            refused += 1
    assert refused > 20
    for place in range(20, len(data), max(1, len(data) // 100)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << (place % 8)
        trace.write_bytes(flipped)
        result = kymo.run("view", out, "--output-format", "json")
        assert result.returncode in (0, 1), result.stderr


def test_each_process_of_a_machine_becomes_a_file_of_its_own(kymo, annotated, tmp_path):  # noqa: F811
    """All planes of a process are in its file, with the times they had, and none of a neighbor's."""
    out = tmp_path / "out"
    processes = [record(annotated, out, 20)[0] for _ in range(3)]
    run = pathlib.Path(kymo.ok("convert", out, tmp_path / "logs").strip())
    found = []
    for path in run.iterdir():
        (process,) = {dict(plane.stats)["process_id"] for plane in ProfileData.from_file(str(path)).planes
                      if plane.name != "Task Environment"}  # fmt: skip
        found.append(process)
        before, after = kymo.document(out / f"i-0test_pid_{process}"), kymo.document(path)
        assert {t["name"] for t in before["tracks"] if t["level"] == "source"} > {"/host:CPU", "mem_usage"}
        assert [(e["name"], e["timestamp"], e["duration_ps"]) for e in sorted(before["trace_events"], key=time_and_name)] == [
            (e["name"], e["timestamp"], e["duration_ps"]) for e in sorted(after["trace_events"], key=time_and_name)]
    assert sorted(found) == sorted(processes)


def time_and_name(event):
    return event["start_ps"], event["name"], event["duration_ps"]
