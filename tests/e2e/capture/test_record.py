"""libkymo in programs of its users: what they print that they recorded is what the session files say."""

import json
import os
import shutil
import subprocess

import pytest

import schema
from conftest import ROOT

PROGRAMS = ROOT / "tests" / "e2e" / "programs"
LIBRARY = ROOT / "lib"
START, STOP, INSTANT = 1, 2, 3


def compile(target, *arguments):
    subprocess.run(["cc", "-O1", "-Wall", "-Werror", f"-I{ROOT / 'include'}", *arguments,
                    "-o", target], check=True)
    return target


@pytest.fixture(scope="module")
def annotated(tmp_path_factory):
    """The program, linked with the shared library."""
    return compile(tmp_path_factory.mktemp("programs") / "annotated", PROGRAMS / "annotated.c",
                   f"-L{LIBRARY}", f"-Wl,-rpath,{LIBRARY}", "-lkymo", "-pthread")


def record(program, out, *arguments, **variables):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("NEURON_", "KYMO_"))}
    environment |= {"NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(out),
                    "KYMO_INSTANCE_ID": "i-0test", **variables}
    process = subprocess.Popen([program, *map(str, arguments)], env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return process.pid, [json.loads(line) for line in output.splitlines()], errors


def session(out, pid):
    return out / f"i-0test_pid_{pid}"


def test_every_event_a_program_recorded_is_in_its_session_files(annotated, tmp_path):
    pid, printed, errors = record(annotated, tmp_path, 5000)
    assert errors == ""
    trace = schema.load(session(tmp_path, pid), "ntrace", "Ntrace")
    names = [lane.name for lane in trace.lanes]
    assert sorted(names) == ["main", "thread 0", "thread 1", "thread 2"]
    found = dict(zip(names, schema.events(trace)))
    for thread in range(-1, 3):
        expected = [event for event in printed if event["thread"] == thread]
        events = found["main" if thread < 0 else f"thread {thread}"]
        assert len(events) == len(expected)
        for event, wanted in zip(events, expected):
            assert {key: event[key] for key in ("name", "phase", "id", "args")} == {
                key: wanted[key] for key in ("name", "phase", "id", "args")}
            assert wanted["before"] - 20_000 <= event["time_ns"] <= wanted["after"] + 20_000
    assert all(lane.kind == 1 and lane.start_ns and lane.thread_id for lane in trace.lanes)


def test_trace_info_tells_who_recorded_how_much_and_which_files_belong_to_it(annotated, tmp_path):
    pid, printed, _ = record(annotated, tmp_path, 1000)
    info = schema.load(session(tmp_path, pid), "trace_info", "TraceInfo")
    assert (info.instance_id, info.process_id, info.process_name) == ("i-0test", pid, "annotated")
    assert info.program == str(annotated) and info.cpus == os.cpu_count()
    assert (info.level, info.max_events, info.recovered) == (2, 1_000_000, False)
    assert info.recorded == info.kept == len(printed) and info.lost == 0
    assert info.start_ns <= printed[0]["before"] and printed[-1]["after"] <= info.end_ns + 1000
    assert [artifact.path for artifact in info.artifacts] == ["ntrace.pb", "cpu_util.pb", "host_mem.pb"]
    assert sorted(os.listdir(session(tmp_path, pid))) == [
        "cpu_util.pb", "host_mem.pb", "ntrace.pb", "trace_info.pb"]
    assert len(info.clock.samples) >= 3
    assert all(a.ticks < b.ticks for a, b in zip(info.clock.samples, info.clock.samples[1:]))


@pytest.mark.slow
def test_cpus_and_memory_are_sampled_once_a_second(annotated, tmp_path):
    pid, _, _ = record(annotated, tmp_path, 1, 2.3)
    cpus = schema.load(session(tmp_path, pid), "cpu_util", "CpuUtil")
    memory = schema.load(session(tmp_path, pid), "host_mem", "HostMem")
    assert 2 <= len(cpus.samples) <= 6 and 3 <= len(memory.samples) <= 7  # more on a busy machine
    for sample in cpus.samples:
        assert len(sample.cpu_id) == len(sample.cpu_percent) > 0
        assert all(0 <= share <= 100 for share in [sample.average_percent, *sample.cpu_percent])
    for sample in memory.samples:
        assert 0 < sample.used_bytes < sample.total_bytes
        assert sample.used_percent == pytest.approx(100 * sample.used_bytes / sample.total_bytes, rel=1e-5)
    apart = cpus.samples[1].timestamp_ns - cpus.samples[0].timestamp_ns
    assert 0.5e9 < apart < 4e9


def test_the_variables_mean_what_is_documented(annotated, tmp_path):
    pid, _, _ = record(annotated, tmp_path, 100, NEURON_RT_INSPECT_CPU_UTIL="0",
                       NEURON_RT_INSPECT_HOST_MEMORY="0",
                       NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC="50")
    assert sorted(os.listdir(session(tmp_path, pid))) == ["ntrace.pb", "trace_info.pb"]
    info = schema.load(session(tmp_path, pid), "trace_info", "TraceInfo")
    assert info.max_events == 50 and info.recorded == 306
    assert info.kept + info.lost == 306 and all(lane.kept <= 50 for lane in info.lanes)

    record(annotated, tmp_path / "none", 100, NEURON_RT_INSPECT_SYSTEM_PROFILE="0")
    assert list((tmp_path / "none").iterdir()) == []

    pid, _, _ = record(annotated, tmp_path, 100, NEURON_RT_INSPECT_SYSTEM_PROFILE="0", NEURON_RT_INSPECT_CPU_UTIL="1")
    assert sorted(os.listdir(session(tmp_path, pid))) == ["cpu_util.pb", "ntrace.pb", "trace_info.pb"]
    info = schema.load(session(tmp_path, pid), "trace_info", "TraceInfo")
    assert info.recorded == 0 and (session(tmp_path, pid) / "cpu_util.pb").exists()

    record(annotated, tmp_path / "off", 1, NEURON_RT_INSPECT_ENABLE="0")
    assert not (tmp_path / "off").exists()


def test_programs_that_a_program_runs_are_recorded_too(annotated, tmp_path):
    record(annotated, tmp_path, 1, 0, f"{annotated} 2 >/dev/null")
    kept = sorted(schema.load(path, "trace_info", "TraceInfo").kept for path in tmp_path.iterdir())
    assert kept == [6 + 3, 6 + 6]


def test_a_directory_that_cannot_be_written_gives_one_line_and_the_program_runs_on(annotated, tmp_path):
    (tmp_path / "file").write_text("")
    _, printed, errors = record(annotated, tmp_path / "file" / "out", 100)
    assert len(printed) == 306
    assert len(errors.splitlines()) == 1 and errors.startswith("kymo: ")


@pytest.mark.skipif(not shutil.which("clang++"), reason="needs a C++ compiler")
def test_scopes_work_in_cpp_and_with_the_static_library(tmp_path):
    subprocess.run(["clang++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti",
                    f"-I{ROOT / 'include'}", "-c", PROGRAMS / "scopes.cc", "-o", tmp_path / "scopes.o"],
                   check=True)
    program = compile(tmp_path / "scopes", tmp_path / "scopes.o", LIBRARY / "libkymo.a", "-pthread")
    pid, _, _ = record(program, tmp_path, 0)
    trace = schema.load(session(tmp_path, pid), "ntrace", "Ntrace")
    (events,) = schema.events(trace)
    depth, deepest = 0, 0
    for event in events:
        depth += {START: 1, STOP: -1}.get(event["phase"], 0)
        deepest = max(deepest, depth)
    assert depth == 0 and deepest == 7 and len(events) == 16
    assert [event["args"] for event in events if event["phase"] == INSTANT] == [
        [["half", 3, 1.0]], [["half", 3, 0.5]]]
    types = {name.text: name for name in trace.names}
    assert types["inner"].level == 2 and types["work"].line > 0
    assert trace.names[types["work"].file - 1].text.endswith("scopes.cc")


def test_the_library_shows_nothing_but_its_interface():
    for arguments in (["-D", LIBRARY / "libkymo.so"], [LIBRARY / "libkymo.a"]):
        output = subprocess.run(["nm", "--defined-only", "--extern-only", *arguments], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        symbols = {line.split()[2] for line in output.splitlines() if len(line.split()) == 3}
        assert symbols and all(symbol.startswith("kymo_") for symbol in symbols), symbols
    needs = subprocess.run(["ldd", LIBRARY / "libkymo.so"], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert {line.split()[0].split("/")[-1].split(".")[0] for line in needs.splitlines()} <= {
        "linux-vdso", "libc", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64"}
