"""The runtime's interface (libnrt) and the interposer over a runtime (libkymo-nrt), in C programs."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import schema
from conftest import ROOT

NRT = ROOT / "tests" / "nrt"
LIBRARY = ROOT / "lib"
SANITIZERS = {"asan": "address,undefined", "tsan": "thread"}  # by build
PHASES = {0: None, 1: "start", 2: "stop"}
START, STOP, INSTANT = 1, 2, 3
PUBLISHED = """
    nc_exec_running cc_running cc_exec_barrier numerical_err nrt_model_switch timestamp_sync_point hw_notify
    nrt_load nrt_load_collectives nrt_execute nrt_model_submit nrta_execute_schedule nrt_tensor_allocate
    nrt_tensor_free nrt_tensor_read nrt_tensor_write dmem_buf_copyin dmem_buf_copyout nrt_dma_mem_alloc
    nrt_dma_mem_dealloc kbl_exec_pre kmgr_exec_core kbl_exec_wait kbl_exec_post nrt_profile_add_node_info
    exec_consume_gpsimd_stdio exec_consume_cc_core_notifications notification_consume_errors
    nrt_async_sema_wait tensor_block_while_exec""".split()
HARDWARE = PUBLISHED[:7]


def compile(target, *arguments, compiler="cc"):
    subprocess.run([compiler, "-O0", "-g", "-D_GNU_SOURCE", f"-I{ROOT / 'include'}", *arguments, "-o", target],
                   check=True)
    return target


def objects(folder, *arguments, compiler):
    """What several programs share, compiled once."""
    folder.mkdir()
    subprocess.run([compiler, "-O0", "-g1", "-D_GNU_SOURCE", f"-I{ROOT / 'include'}", "-c", *arguments], cwd=folder, check=True)
    return sorted(folder.glob("*.o"))


def with_libnrt():
    return [f"-L{LIBRARY}", f"-Wl,-rpath,{LIBRARY}", "-lnrt", "-lkymo", "-pthread"]


SOURCE = ROOT / "src"
TRACE = [SOURCE / "capture" / "neuron" / name for name in ("trace.c", "rings.c")]  # in the runtime and in the interposer
INTERPOSER = sorted((SOURCE / "capture" / "neuron").glob("*.c"))
INTERFACE = [*sorted((SOURCE / "neuron" / "runtime" / "api").glob("*.c")), SOURCE / "neuron" / "profile_file" / "status.c", *TRACE]


# What writes JSON in them: no test changes it.
WRITER = [ROOT / "lib" / "libkymo-base-wire.a", ROOT / "lib" / "libkymo-base.a", "-lm"]


def environment(**variables):
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("NEURON_", "KYMO_", "LD_PRELOAD"))} | {"KYMO_INSTANCE_ID": "i-0test"} | variables


def run(arguments, input=None, **variables):
    result = subprocess.run(list(map(str, arguments)), env=environment(**variables), input=input, text=True,
                            capture_output=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout, result.stderr


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def emitter(programs):
    """The test's own runtime: it has the header inside, so it is built with the library's sources."""
    return compile(programs / "emitter", NRT / "emitter.c", f"-I{SOURCE}", *INTERFACE,
                   *sorted((SOURCE / "capture" / "events").glob("*.c")), SOURCE / "capture" / "recorder" / "lock.c", *WRITER,
                   '-DKYMO_VERSION="test"', f"-L{LIBRARY}", f"-Wl,-rpath,{LIBRARY}", "-lkymo", "-pthread")


def tell(emitter, *lines, **variables):
    """What the emitter answers to each line, and what it wrote to standard error."""
    output, errors = run([emitter], input="\n".join(lines) + "\n", **variables)
    answers = output.splitlines()
    assert len(answers) == len(lines), output + errors
    return answers, errors


def recorded(directory):
    """Session, and all events of all lanes in the order of time, of the only session there is."""
    (session,) = [path for path in directory.iterdir() if path.is_dir()]
    trace = schema.load(session, "ntrace", "Ntrace")
    events = [event for lane in schema.events(trace) for event in lane]
    return session, trace, events


# ---- The interface ----------------------------------------------------------------------------


CLIENTS = {"filter_cores": [], "list_types": PUBLISHED, "filter_types": ["nrt_load", "nrt_execute"]}


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("language", ["c", "c++"])
def test_clients_that_set_filters_compile_and_run(programs, tmp_path, name, language):
    compiler = "cc" if language == "c" else shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        pytest.skip("needs a C++ compiler")
    flags = [] if language == "c" else ["-fno-exceptions", "-fno-rtti"]
    object = tmp_path / f"{name}.o"
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", *flags, f"-I{ROOT / 'include'}", "-x", language, "-c",
                    NRT / f"{name}.c", "-o", object], check=True)
    output, errors = run([compile(tmp_path / name, object, *with_libnrt())])
    assert (output.splitlines(), errors) == (CLIENTS[name], "")


def test_every_function_does_what_is_documented(programs, tmp_path):
    output, errors = run([compile(programs / "every", "-Wall", "-Werror", NRT / "every.c", *with_libnrt()), tmp_path])
    assert output == ""
    (session,) = tmp_path.iterdir()  # no file of a device, and of the sessions that captured nothing
    assert sorted(os.listdir(session)) == ["cpu_util.pb", "ntrace.pb", "trace_info.pb"]
    assert schema.load(session, "trace_info", "TraceInfo").max_events == 5000
    lines = errors.splitlines()
    assert all(line.startswith("kymo: nrt_") for line in lines)


def test_the_library_shows_nothing_but_its_interface():
    names = []
    for header in ("nrt_sys_trace", "nrt_profile", "nrt_status", "nrt_version", "nrt", "nrt_experimental", "nrt_async",
                   "nrt_async_sendrecv", "ndebug_stream"):
        text = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "nrt" / f"{header}.h").read_text(), flags=re.DOTALL)
        names.append(re.findall(r"\b(nrta?_\w+)\(", text))
    assert [len(found) for found in names] == [18, 25, 1, 1, 42, 13, 14, 11, 3]
    for library, expected in (("libnrt.so.1", {name for found in names for name in found}),
                              ("libkymo-nrt.so", {*published_functions(), "nrt_sys_trace_start", "nrt_sys_trace_stop",
                                                  "nrt_sys_trace_fetch_events"})):
        output = subprocess.run(["nm", "-D", "--defined-only", LIBRARY / library], check=True, capture_output=True,
                                text=True).stdout
        assert {line.split()[2] for line in output.splitlines()} == expected
        needs = subprocess.run(["ldd", LIBRARY / library], check=True, capture_output=True, text=True).stdout
        assert {line.split()[0].split("/")[-1].split(".")[0] for line in needs.splitlines()} <= {
            "linux-vdso", "libc", "libm", "libz", "libzstd", "libpthread", "libdl", "libkymo", "ld-linux-x86-64",
            "ld-linux-aarch64"}
    dynamic = subprocess.run(["readelf", "-d", LIBRARY / "libnrt.so"], check=True, capture_output=True, text=True).stdout
    assert "Library soname: [libnrt.so.1]" in dynamic


# ---- The system trace -------------------------------------------------------------------------


def as_fetched(event):
    """An event that was emitted, as fetch shows it but for its time."""
    shown = {"event_type": event["type"], "tracking_id": event["id"], "data": event["data"]}
    if event["phase"]:
        shown["phase"] = PHASES[event["phase"]]
    if event["core"] >= 0:
        shown["nc_idx"] = event["core"]
    return shown


def without_time(event):
    return {key: value for key, value in event.items() if key != "timestamp_ns"}


def in_rings(events):
    """Core by core, those of no core last."""
    return sorted(events, key=lambda event: event["core"] if event["core"] >= 0 else 999)


def test_fetch_returns_what_was_emitted_and_returns_it_once(emitter):
    answers, errors = tell(emitter, "config", "start", "random 7 5000", "fetch", "fetch", "random 8 10", "fetch",
                           "stop", "fetch", "free")
    assert errors == ""
    for emitted, fetched in ((answers[2], answers[3]), (answers[5], answers[6])):
        emitted, document = in_rings(json.loads(emitted)), json.loads(fetched)
        assert set(document) == {"events", "data_version"} and document["data_version"] == 2
        assert [without_time(event) for event in document["events"]] == [as_fetched(event) for event in emitted]
        for event, wanted in zip(document["events"], emitted):
            assert wanted["before"] - 1000 <= event["timestamp_ns"] <= wanted["after"] + 1000
    assert json.loads(answers[4]) == {"events": [], "data_version": 2}
    assert answers[8] == "NRT_UNINITIALIZED"


def test_a_full_ring_keeps_the_newest_and_says_how_many_were_lost(emitter):
    answers, _ = tell(emitter, "config", "max 100", "start", "random 3 3000", "fetch", "random 4 5", "fetch", "stop",
                      "free")
    emitted, document = json.loads(answers[3]), json.loads(answers[4])
    kept = []
    for core in (0, 1, 2, 3, -1):
        kept += [as_fetched(event) for event in emitted if event["core"] == core][-100:]
    assert [without_time(event) for event in document["events"]] == kept
    assert document["lost_events"] == 3000 - len(kept)
    assert "lost_events" not in json.loads(answers[6])


def test_fetch_takes_no_more_than_asked_for_and_from_one_core_alone(emitter):
    answers, _ = tell(emitter, "config", "start", "random 5 400", "fetch 2 10", "fetch -1 20", "fetch 2", "fetch",
                      "stop", "free")
    left = {core: [as_fetched(event) for event in json.loads(answers[2]) if event["core"] == core]
            for core in (0, 1, 2, 3, -1)}

    def take(core, count):
        taken, left[core] = left[core][:count], left[core][count:]
        return taken

    def fetched(answer):
        return [without_time(event) for event in json.loads(answer)["events"]]

    assert fetched(answers[3]) == take(2, 10)
    assert fetched(answers[4]) == [event for core in left for event in take(core, 20)]
    assert fetched(answers[5]) == take(2, 999)
    assert fetched(answers[6]) == [event for core in left for event in take(core, 999)]


def test_only_enabled_cores_and_types_are_kept(emitter):
    answers, _ = tell(emitter, "config", "core 1 0", "core 2 0", "type device_exec 0", "type nrt_load 0",
                      "type bad 0", "start", "random 11 2000", "fetch", "stop", "free")
    assert answers[3:6] == ["NRT_SUCCESS", "NRT_SUCCESS", "NRT_INVALID"]
    expected = [as_fetched(event) for event in in_rings(json.loads(answers[7])) if event["core"] not in (1, 2)
                and event["type"] not in ("nc_exec_running", "nrt_load")]
    assert [without_time(event) for event in json.loads(answers[8])["events"]] == expected


def test_a_core_that_is_not_enabled_has_no_ring(emitter):
    def mapped(*lines):
        process = subprocess.Popen([emitter], env=environment(), text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        for line in ("config", *lines, "start"):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            process.stdout.readline()
        status = open(f"/proc/{process.pid}/status").read()
        process.communicate("stop\nfree\n")
        return int(re.search(r"VmSize:\s+(\d+)", status)[1]) * 1024

    one = mapped(*(f"core {core} 0" for core in range(1, 128)))
    three = mapped(*(f"core {core} 0" for core in range(3, 128)))
    assert 2 * 100e6 < three - one < 2 * 300e6  # rings of a million events


@pytest.mark.parametrize("variable, value, cores", [("VISIBLE_CORES", "6-7", {0, 1}), ("NUM_CORES", "3", {0, 1, 2}),
                                                    ("NUM_CORES", "many", {0, 1, 2, 3})])
def test_cores_the_program_does_not_see_are_not_enabled(emitter, variable, value, cores):
    answers, _ = tell(emitter, "config", "start", "random 9 300", "fetch", "stop", "free",
                      **{f"NEURON_RT_{variable}": value})
    assert {event.get("nc_idx", -1) for event in json.loads(answers[3])["events"]} == cores | {-1}


ALIASES = {"model_load": "nrt_load", "runtime_execute": "nrt_execute", "device_exec": "nc_exec_running",
           "cc_exec": "cc_running", "tensor_read": "nrt_tensor_read", "tensor_write": "nrt_tensor_write",
           "nc_model_switch": "nrt_model_switch"}


def test_older_spellings_of_types_mean_the_current_ones(emitter):
    lines = ["config", *(f"type {name} 0" for name in PUBLISHED), *(f"type {name} 1" for name in ALIASES), "enabled",
             "free"]
    answers, _ = tell(emitter, *lines)
    assert set(answers[:-2]) == {"NRT_SUCCESS"}
    assert set(answers[-2].split()) == set(ALIASES.values())


FILTERS = [
    ("0", "", {0}, PUBLISHED, ""),
    ("0,2,4", "", {0, 2}, PUBLISHED, ""),
    ("1-2", "", {1, 2}, PUBLISHED, ""),
    ("", "hardware", {0, 1, 2, 3}, HARDWARE, ""),
    ("", "hardware,^cc_exec", {0, 1, 2, 3}, [t for t in HARDWARE if t != "cc_running"], ""),
    ("", "^model_load,software", {0, 1, 2, 3}, [t for t in PUBLISHED[7:] if t != "nrt_load"], ""),
    ("", "hardware,tensor_read,tensor_write", {0, 1, 2, 3}, [*HARDWARE, "nrt_tensor_read", "nrt_tensor_write"], ""),
    ("", "^nrt_execute", {0, 1, 2, 3}, [t for t in PUBLISHED if t != "nrt_execute"], ""),
    ("3,0-1", "model_load,nrt_execute,runtime_execute", {0, 1, 3}, ["nrt_load", "nrt_execute"], ""),
    (" 1 , x7,", "nrt_load,nosuch, ^wrong", {1}, ["nrt_load"], "x7 nosuch ^wrong"),
    ("5-2", "???", {0, 1, 2, 3}, PUBLISHED, "5-2 ???"),
    ("99999999999,2", "", {2}, PUBLISHED, "99999999999"),
]


@pytest.mark.parametrize("cores, types, left_cores, left_types, bad", FILTERS)
def test_the_variables_filter_the_trace_and_the_session_alike(emitter, tmp_path, cores, types, left_cores, left_types,
                                                              bad):
    variables = {"NEURON_RT_INSPECT_EVENT_FILTER_NC": cores, "NEURON_RT_INSPECT_EVENT_FILTER_TYPE": types,
                 "NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(tmp_path)}
    answers, errors = tell(emitter, "config", "start", "random 21 3000", "fetch", "stop", "free", **variables)
    left = [event for event in json.loads(answers[2])
            if event["core"] in left_cores | {-1} and event["type"] in left_types]
    assert len(left) > 10
    fetched = [without_time(event) for event in json.loads(answers[3])["events"]]
    assert fetched == [as_fetched(event) for event in in_rings(left)]
    _, _, events = recorded(tmp_path)
    assert [(e["name"], e["core"] - 1, e["id"], e["phase"]) for e in events] == [
        (e["type"], e["core"], e["id"], {0: INSTANT, 1: START, 2: STOP}[e["phase"]]) for e in left]
    lines = errors.splitlines()
    assert len(lines) == sum(1 for text in ("NC", "TYPE") if any(f"FILTER_{text}" in line for line in lines))
    assert all(f'"{part}"' in errors for part in bad.split()) and bool(lines) == bool(bad)


def test_variables_that_make_no_sense_give_one_line_each_and_are_not_used(emitter, tmp_path):
    answers, errors = tell(emitter, "begin", "random 2 10", "end", NEURON_RT_INSPECT_ENABLE="1",
                           NEURON_RT_INSPECT_OUTPUT_DIR=str(tmp_path), NEURON_RT_INSPECT_DEVICE_PROFILE="some",
                           NEURON_RT_INSPECT_ON_FAIL="maybe", NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC="-3")
    assert answers[0] == answers[2] == "NRT_SUCCESS"
    lines = errors.splitlines()
    assert [re.search(r"NEURON_RT_INSPECT_(\w+)=(\S+)", line).groups() for line in lines] == [
        ("SYS_TRACE_MAX_EVENTS_PER_NC", "-3"), ("DEVICE_PROFILE", "some"), ("ON_FAIL", "maybe")]
    assert schema.load(recorded(tmp_path)[0], "trace_info", "TraceInfo").max_events == 1_000_000


@pytest.mark.parametrize("mode, said", [("0", 0), ("1", 1), ("model", 1), ("session", 1)])
def test_a_device_profile_without_a_device_is_said_to_be_missing(emitter, tmp_path, mode, said):
    answers, errors = tell(emitter, "begin", "end", NEURON_RT_INSPECT_ENABLE="1",
                           NEURON_RT_INSPECT_OUTPUT_DIR=str(tmp_path), NEURON_RT_INSPECT_DEVICE_PROFILE=mode)
    assert answers == ["NRT_SUCCESS"] * 2
    assert len(errors.splitlines()) == said and errors.count("no device executes models") == said


# ---- Sessions ---------------------------------------------------------------------------------


def test_a_session_holds_what_the_runtime_emitted_and_fetch_sees_the_same(emitter, tmp_path):
    answers, _ = tell(emitter, "config", "start", f"inspect {tmp_path} core 1 0 type nrt_load 0", "random 31 2000",
                      "fetch", "end", "stop", "free")
    emitted = json.loads(answers[3])
    assert len(json.loads(answers[4])["events"]) == 2000
    session, trace, events = recorded(tmp_path)
    left = [event for event in emitted if event["core"] != 1 and event["type"] != "nrt_load"]
    assert len(events) == len(left) < 2000
    kinds = {"exec_id": 1, "ratio": 3, "model_name": 4, "size": 2}
    for event, wanted in zip(events, left):
        assert (event["name"], event["core"] - 1, event["id"]) == (wanted["type"], wanted["core"], wanted["id"])
        assert event["args"] == [[key, kinds[key], value] for key, value in wanted["data"].items()]
        assert wanted["before"] - 20_000 <= event["time_ns"] <= wanted["after"] + 20_000
    groups = {name.text: name.group for name in trace.names if name.level}
    assert {name for name, group in groups.items() if group == 1} == set(HARDWARE)
    assert sorted(os.listdir(session)) == ["cpu_util.pb", "host_mem.pb", "ntrace.pb", "trace_info.pb"]


def test_a_session_becomes_a_profile_with_lanes_of_cores(emitter, tmp_path, kymo):
    lines = ["emit nrt_execute 1 1 5 model_id u 7", "emit kbl_exec_wait 1 1 6", "emit kbl_exec_wait 1 2 6",
             "emit nrt_execute 1 2 5", "emit nrt_load -1 0 0 model_name t resnet"]
    tell(emitter, f"inspect {tmp_path}", *lines, "end")
    document = kymo.document(tmp_path)
    text = json.dumps(document)
    assert all(name in text for name in ("nrt_execute", "kbl_exec_wait", "nrt_load", "resnet"))


def test_events_may_tell_of_earlier_moments(emitter, tmp_path):
    answers, _ = tell(emitter, "config", "start", f"inspect {tmp_path}", "random 1 1", "threads 1 30000", "fetch",
                      "ago hw_notify 1 9 3000000", "fetch", "end", "stop", "free")
    (event,) = json.loads(answers[7])["events"]
    assert abs(event["timestamp_ns"] - int(answers[6])) < 50_000
    (found,) = [event for event in recorded(tmp_path)[2] if event["name"] == "hw_notify" and event["id"] == 9]
    assert abs(found["time_ns"] - int(answers[6])) < 50_000


def test_a_child_fetches_its_own_events_and_the_parent_its_own(emitter):
    answers, _ = tell(emitter, "config", "start", "emit nrt_execute 0 1 5", "fork", "emit nrt_execute 0 2 5", "fetch",
                      "stop", "free")
    assert [(event["event_type"], event["tracking_id"]) for event in json.loads(answers[3])["events"]] == [
        ("nrt_load", 77)]
    assert [event["tracking_id"] for event in json.loads(answers[5])["events"]] == [5, 5]


def test_device_profiles_follow_each_other_in_order(emitter, tmp_path):
    """With a device that only says what it was asked for: there is no other yet."""
    answers, errors = tell(emitter, "device", "unprofile a", "profile a", "profile a", "unprofile b", "unprofile a",
                           "unprofile a", "save 0", "continuous", "continuous", "save 1 dir", "save 2", "discontinuous",
                           "discontinuous", f"inspect {tmp_path} activity device_profile 1", "continuous", "end",
                           "continuous", "discontinuous")
    assert answers == [
        "NRT_SUCCESS", "NRT_UNINITIALIZED", "started 1 a NRT_SUCCESS", "NRT_FAILURE", "NRT_INVALID",
        "stopped a NRT_SUCCESS", "NRT_UNINITIALIZED", "NRT_UNINITIALIZED", "continuous NRT_SUCCESS", "NRT_FAILURE",
        "saved 1 dir NRT_SUCCESS", "saved 2 ./output NRT_SUCCESS", "continuous NRT_SUCCESS", "NRT_UNINITIALIZED",
        "NRT_SUCCESS", "NRT_FAILURE", "NRT_SUCCESS", "continuous NRT_SUCCESS", "continuous NRT_SUCCESS"]
    assert [line.split(": ")[1] for line in errors.splitlines()] == [
        "nrt_profile_start", "nrt_profile_continuous_start", "nrt_profile_continuous_start"]


def test_texts_of_any_bytes_are_fetched_as_json(emitter):
    odd = b"emit nrt_load 0 0 1 note t \xff\xc3\xa9\xed\xa0\x80\x01\"\\\t"
    output = subprocess.run([emitter], env=environment(), input=b"config\nstart\n" + odd + b"\nfetch\nstop\nfree\n",
                            stdout=subprocess.PIPE, check=True, timeout=60).stdout.splitlines()
    (event,) = json.loads(output[3])["events"]
    assert event["data"]["note"] == "\ufffd\u00e9\ufffd\ufffd\ufffd\x01\"\\\t"


# ---- Under sanitizers -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sanitized(kymo):
    """Flags and archives of the sanitized build under test."""
    build = pathlib.Path(kymo.path).resolve().parents[1]
    flags = [f"-fsanitize={SANITIZERS[build.name]}", "-fno-sanitize-recover=all", f"-I{SOURCE}", '-DKYMO_VERSION="test"', "-pthread"]
    archives = [build / "lib" / f"libkymo-{name}.a" for name in ("capture-recorder", "capture-events", "base-wire", "base")]
    return flags, ["-Wl,--start-group", *archives, "-Wl,--end-group"]


@pytest.mark.sanitized_build
def test_threads_that_emit_and_fetch_side_by_side_while_others_start_and_stop_do_no_harm(sanitized, programs, tmp_path):
    compiler = shutil.which("clang") or "cc"
    flags, archives = sanitized
    program = compile(programs / "emitter-sanitized", NRT / "emitter.c", *flags, *INTERFACE, *archives, compiler=compiler)
    answers, errors = tell(program, "config", "max 500", "start", f"inspect {tmp_path} core 1 0 type nrt_load 0",
                           "threads 4 4000", "random 1 500", "fetch", "end", "stop", "free", "end")
    assert errors == "" and answers[4] == "ok" and answers[-1] == "NRT_UNINITIALIZED"

    standin = compile(programs / "libnrt-sanitized.so", NRT / "standin.c", "-shared", "-fPIC", f"-I{NRT}")
    interposer = [*flags, f"-I{NRT}", "-rdynamic", f"-Wl,-rpath,{programs}",
                  *objects(programs / "interposer-sanitized", *flags, f"-I{NRT}", *INTERPOSER, compiler=compiler),
                  *archives, "-lm"]
    client = compile(programs / "client-sanitized", NRT / "client.c", *interposer, standin, compiler=compiler)
    output, errors = run([client], NEURON_RT_INSPECT_ENABLE="1", NEURON_RT_INSPECT_OUTPUT_DIR=str(tmp_path / "client"))
    assert errors == "" and output.endswith("1\n0\n")
    assert len(recorded(tmp_path / "client")[2]) > 50
    # Without a child: what the sanitizers keep themselves does not survive a fork among threads.
    _, errors = run([client, "threads", "alone"], NEURON_RT_INSPECT_ENABLE="1",
                    NEURON_RT_INSPECT_OUTPUT_DIR=str(tmp_path / "threads"))
    assert errors == ""

    tracer = compile(programs / "libtracer-sanitized.so", NRT / "tracer.c", "-shared", "-fPIC", f"-I{NRT}")
    traced = compile(programs / "traced-sanitized", NRT / "traced.c", *interposer, tracer, compiler=compiler)
    for number, steps in enumerate((["threads", "start", "threads", "fetch", "stop", "threads", "close", "init", "close"],
                                    ["begin", tmp_path / "late", "threads", "end", "begin", tmp_path / "again", "exit"])):
        variables = {"NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(tmp_path / "traced")}
        output, errors = run([traced, "init", *steps], TRACER_RING="100", **(variables if number == 0 else {}))
        assert errors == "" and output.startswith("init 0\n")
    assert len(recorded(tmp_path / "traced")[2]) > 1000


@pytest.mark.sanitized_build
def test_without_memory_functions_say_so_and_leave_nothing_behind(sanitized, programs):
    flags, archives = sanitized
    wrapped = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc", "strdup")]
    program = compile(programs / "nomemory", NRT / "nomemory.c", *flags, *wrapped, *INTERFACE, *archives,
                      compiler=shutil.which("clang") or "cc")
    output, errors = run([program])
    *lines, last, ok = output.splitlines()
    assert errors == "" and [line.rsplit(" ", 1)[1] for line in lines] == ["ok"] * 6 and ok == "fetch ok"
    # Five events at first, a hundred for each attempt: what a failed fetch took is lost, the rest is there.
    document = json.loads(last)
    assert [event["data"]["name"] for event in document["events"]] == ["resnet"] * len(document["events"])
    assert document["lost_events"] > 0 and (len(document["events"]) + document["lost_events"] - 5) % 100 == 0


# ---- The interposer ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def standin(programs):
    folder = programs / "standin"
    folder.mkdir()
    compile(folder / "libnrt.so.1", NRT / "standin.c", "-shared", "-fPIC", f"-I{NRT}", "-Wl,-soname,libnrt.so.1")
    return compile(programs / "client", NRT / "client.c", f"-I{NRT}", folder / "libnrt.so.1", f"-Wl,-rpath,{folder}",
                   "-pthread")


def interposed(program, out, *arguments, **variables):
    return run([program, *arguments], LD_PRELOAD=str(LIBRARY / "libkymo-nrt.so"), NEURON_RT_INSPECT_ENABLE="1",
               NEURON_RT_INSPECT_OUTPUT_DIR=str(out), **variables)


def calls(events):
    """Start and stop of each call: [name, core, args at the start, args at the stop]."""
    open_calls, found = {}, []
    for event in events:
        args = {key: value for key, _, value in event["args"]}
        if event["phase"] == START:
            assert (event["name"], event["id"]) not in open_calls
            call = [event["name"], event["core"] - 1, args, None]
            open_calls[event["name"], event["id"]] = call
            found.append(call)
        else:
            assert event["phase"] == STOP
            open_calls.pop((event["name"], event["id"]))[3] = args
    assert not open_calls
    return found


def test_a_program_with_the_interposer_sees_what_it_saw_without(standin, tmp_path):
    plain = run([standin])
    assert interposed(standin, tmp_path) == plain
    assert run([standin], LD_PRELOAD=str(LIBRARY / "libkymo-nrt.so")) == plain


def test_every_call_of_a_program_is_recorded_with_its_args(standin, tmp_path):
    interposed(standin, tmp_path)
    found = calls(recorded(tmp_path)[2])
    tensor = next(call[3]["tensor_id"] for call in found if call[0] == "nrt_tensor_allocate")
    model = [call[3]["model"] for call in found if call[0] == "nrt_load"][1]
    name = 'input "0"'
    whole = {"tensor_id": tensor, "tensor_name": name, "offset": 0, "size": 64}
    expected = [
        ["nrt_get_visible_nc_count", -1, {}, {}],
        ["nrt_load", 2, {"size": 0, "vnc": 2, "vnc_count": -1}, {"status": 10, "model": 0}],
        ["nrt_load", 2, {"size": 4, "vnc": 2, "vnc_count": -1}, {"model": model}],
        ["nrt_tensor_allocate", 2, {"tensor_name": name, "size": 64, "placement": 0, "vnc": 2}, {"tensor_id": tensor}],
        ["nrt_tensor_get_size", 2, {"tensor_id": tensor, "tensor_name": name}, {"result": 64}],
    ]
    for i in range(10):
        expected += [["nrt_tensor_write", 2, whole | {"offset": i, "size": 64 - i}, {}],
                     ["nrt_execute", 2, {"model": model}, {} if (i + 1) % 5 else {"status": 1005}],
                     ["nrt_tensor_read", 2, whole, {}]]
    expected.append(["nrt_tensor_write", 2, whole | {"offset": 1}, {"status": 2}])
    for i in range(3):
        sequence = 3 << 48 | i + 1
        expected += [["nrta_execute_schedule", 2, {"model": model, "queue": 0}, {"sequence": sequence}],
                     ["nrta_in_flight", 2, {"operation": "nrta_execute_schedule", "sequence": sequence, "queue": 0},
                      {"sequence": sequence}],
                     ["nrta_is_completed", -1, {"sequence": sequence}, {"is_completed": 0}],
                     ["nrta_is_completed", -1, {"sequence": sequence}, {"is_completed": 1}]]
    expected += [
        ["nrta_execute_schedule", 2, {"model": model, "queue": 1}, {"status": 7, "sequence": 0}],
        ["nrt_tensor_free", 2, {"tensor_id": tensor, "tensor_name": name, "tensor_size": 64}, {}],
        ["nrt_unload", 2, {"model": model}, {}],
    ]
    assert found == expected


@pytest.mark.parametrize("round", range(10))  # what a child finds after fork differs from one to the next
def test_calls_of_many_threads_and_of_children_are_all_recorded(standin, tmp_path, round):
    output, errors = interposed(standin, tmp_path, "threads")
    assert output == errors == ""
    sessions = [schema.load(path, "ntrace", "Ntrace") for path in tmp_path.iterdir()]
    assert len(sessions) == 2
    counts = {}
    for trace in sessions:
        for event in (event for lane in schema.events(trace) for event in lane):
            if event["phase"] == START:
                args = {key: value for key, _, value in event["args"]}
                counts[event["name"], event["core"] - 1] = counts.get((event["name"], event["core"] - 1), 0) + 1
                if event["name"] == "nrt_tensor_write":
                    assert args["tensor_name"] == f"tensor {args['offset']}"
                if event["name"] == "nrt_tensor_free":
                    assert args["tensor_name"] == f"tensor {args['tensor_size'] - 1}"
    for name in ("nrt_tensor_allocate", "nrt_tensor_write", "nrt_tensor_free"):
        assert [counts[name, core] for core in (0, 1, 2, 3, 9)] == [1000] * 5
    assert counts["nrta_is_completed", -1] == counts["nrta_in_flight", -1] == 5000


def test_calls_are_filtered_like_other_events(standin, tmp_path):
    _, errors = interposed(standin, tmp_path, NEURON_RT_INSPECT_EVENT_FILTER_TYPE="software,^nrta_is_completed,^tensor_read",
                           NEURON_RT_INSPECT_EVENT_FILTER_NC="2")
    assert errors == ""
    names = [call[0] for call in calls(recorded(tmp_path)[2])]
    assert names.count("nrt_tensor_write") == 11 and "nrt_get_visible_nc_count" in names
    assert not {"nrta_is_completed", "nrt_tensor_read"} & set(names)
    interposed(standin, tmp_path / "other", NEURON_RT_INSPECT_EVENT_FILTER_NC="3")
    assert {call[1] for call in calls(recorded(tmp_path / "other")[2])} == {-1}


def test_a_function_the_runtime_does_not_have_fails_only_when_it_is_called(standin, tmp_path):
    output, errors = interposed(standin, tmp_path, "missing")
    assert output == "1\n" and errors == "kymo: nrt_barrier: the runtime has no such function\n"
    assert list(tmp_path.iterdir()) == []  # nothing to tell


def test_a_runtime_that_a_library_brings_is_found(programs, standin, tmp_path):
    """Loaded into a scope of its own, as Python loads extension modules, it is next to nothing."""
    plugin = compile(tmp_path / "plugin.so", NRT / "client.c", f"-I{NRT}", "-shared", "-fPIC", "-Dmain=plugin_main",
                     programs / "standin" / "libnrt.so.1", f"-Wl,-rpath,{programs / 'standin'}")
    (tmp_path / "loader.c").write_text("""
        #include <dlfcn.h>
        int main(int argc, char **argv) {
            void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
            int (*run)(int, char **) = plugin ? (int (*)(int, char **))dlsym(plugin, "plugin_main") : 0;
            return run ? run(argc - 1, argv + 1) : 9;
        }""")
    loader = compile(tmp_path / "loader", tmp_path / "loader.c", "-ldl")
    assert interposed(loader, tmp_path / "out", plugin) == run([standin])
    assert len(calls(recorded(tmp_path / "out")[2])) > 40


def published_functions():
    """The prototypes of published.h: name -> (return type, [parameter types])."""
    found = {"nrt_get_version": ("NRT_STATUS", ["nrt_version_t *", "size_t"]),
             "nrt_get_status_as_str": ("const char *", ["NRT_STATUS"])}
    for kind, name, parameters in re.findall(r"^((?:NRT_STATUS|void|size_t) \*?)(nrt\w+)\((.*)\);$",
                                             (NRT / "published.h").read_text(), re.MULTILINE):
        types = [re.sub(r"\w+$", "", parameter).strip() for parameter in parameters.split(", ")]
        found[name] = (kind.strip(), [] if parameters == "void" else types)
    return found


def test_every_published_function_is_passed_on_with_all_its_arguments(programs, tmp_path):
    """A runtime and a program that know every prototype: each function tells what it was given."""
    functions = published_functions()
    assert len(functions) == 83
    runtime = ['#include "published.h"', "#include <errno.h>", "uint64_t standin_sum; int standin_fail;"]
    program = ['#include "published.h"', "#include <errno.h>", "#include <stdio.h>", "#include <stdlib.h>",
               "extern uint64_t standin_sum; extern int standin_fail;", "static void *cells[16][64];",
               "int main(int argc, char **argv) { (void)argv; standin_fail = argc > 1; uint64_t result;"]
    for number, (name, (kind, types)) in enumerate(sorted(functions.items())):
        is_pointer = [t.endswith("*") or t.startswith("NRT_ASYNC") for t in types]
        parameters = ", ".join(f"{t} p{i}" for i, t in enumerate(types)) or "void"
        sums = "".join(f" standin_sum = standin_sum * 31 + (uint64_t){'(uintptr_t)' if is_pointer[i] else ''}p{i};"
                       for i in range(len(types)))
        value = {"NRT_STATUS": f"standin_fail ? (NRT_STATUS){number + 1} : NRT_SUCCESS", "size_t": str(number),
                 "void *": f"(void *)(uintptr_t){number}", "const char *": '"name"', "void": ""}[kind]
        runtime.append(f"{kind} {name}({parameters}) {{ standin_sum = {number};{sums} errno = {number}; return {value}; }}")
        arguments = []
        for i, t in enumerate(types):
            if t == "const char *":
                arguments.append(f'"text {i}"')
            elif t.startswith("NRT_ASYNC"):
                arguments.append("(NRT_ASYNC_EXEC_STATUS_CALLBACK)(void *)cells[0]")
            else:
                arguments.append(f"({t}){f'(void *)cells[{i}]' if is_pointer[i] else number + i}")
        call = f"{name}({', '.join(arguments)})"
        program.append(f"result = 0; errno = 0; {call};" if kind == "void" else
                       f"errno = 0; result = (uint64_t){'(uintptr_t)' if '*' in kind else ''}{call};")
        program.append(f'printf("{name} %llu %d %llu\\n", (unsigned long long)({"0" if kind == "const char *" else "result"}), '
                       'errno, (unsigned long long)standin_sum);')
    program.append("return 0; }")
    (tmp_path / "runtime.c").write_text("\n".join(runtime) + "\n")
    (tmp_path / "program.c").write_text("\n".join(program) + "\n")
    library = compile(tmp_path / "libnrt.so.1", tmp_path / "runtime.c", "-shared", "-fPIC", f"-I{NRT}",
                      "-Wl,-soname,libnrt.so.1")
    # Addresses of cells and texts are the same in both runs.
    client = compile(tmp_path / "program", tmp_path / "program.c", f"-I{NRT}", "-no-pie", library,
                     f"-Wl,-rpath,{tmp_path}")
    for arguments in ([], ["fail"]):
        out = tmp_path / f"out{len(arguments)}"
        assert interposed(client, out, *arguments) == run([client, *arguments])
        found = calls([event for event in recorded(out)[2] if event["name"] != "nrta_in_flight"])
        assert sorted(name for name, *_ in found) == sorted(functions)
        for number, name in enumerate(sorted(functions)):
            (call,) = [call for call in found if call[0] == name]
            failed = arguments and functions[name][0] == "NRT_STATUS"
            assert call[3].get("status") == (number + 1 if failed else None)
