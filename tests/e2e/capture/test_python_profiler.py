"""kymo.profiler in place of jax.profiler: the examples of XProf's guide and more, run with both; jaxlib, XProf and Kymo read
what was written."""

import gzip
import json
import pathlib
import platform
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from conftest import ROOT
from installed import PYTHON, clean_environment
from python_traces import HEAD, MODULES, environment, host_lines, nesting, read, run, run_traced, trace_of

pytestmark = [
    pytest.mark.plain_build,
    pytest.mark.usefixtures("installed"),
]

MERGE = ROOT / "tests" / "data" / "xplane" / "jax_matmul_h200.xplane.pb"

ANNOTATED = """
import functools, threading, time
import jax.numpy as jnp

@profiler.annotate_function
def load(rows):
    time.sleep(0.001)
    return rows

@functools.partial(profiler.annotate_function, name="save", kind="checkpoint")
def store():
    time.sleep(0.001)

def work():
    with profiler.TraceAnnotation("in thread", number=7):
        f(x).block_until_ready()

f = jax.jit(lambda x: x @ x)
x = jnp.ones((64, 64))
f(x).block_until_ready()
options = profiler.ProfileOptions()
options.python_tracer_level = 0
with profiler.trace(logs, profiler_options=options):
    thread = threading.Thread(target=work)
    thread.start()
    for step in range(3):
        with profiler.StepTraceAnnotation("train", step_num=step, loss=0.5, phase="warm"):
            load(step)
            with profiler.TraceAnnotation("compute"):
                f(x).block_until_ready()
    thread.join()
    store()
"""


def annotations(path):
    names = {"train", "compute", "load", "save", "in thread", "PjitFunction(<lambda>)"}
    lines = host_lines(path)
    nested = sorted(found for found in (nesting(events, names) for events in lines.values()) if found)
    stats = sorted((name, sorted((key, value) for key, value in stats.items()))
                   for events in lines.values() for name, _, _, stats in events if name in names)
    return nested, stats


@pytest.fixture(scope="module")
def annotated(tmp_path_factory):
    """Log directories by module. Processes of their own: in a forked one, XLA takes its main thread for the parent's."""
    folder = tmp_path_factory.mktemp("annotated")
    for module in MODULES:
        run(ANNOTATED, folder / module, head=HEAD.format(module=module))
    return {module: folder / module for module in MODULES}


@pytest.mark.slow
def test_annotations_have_the_same_names_args_and_nesting_with_both(annotated):
    found = {module: annotations(trace_of(logs)) for module, logs in annotated.items()}
    nested, stats = found["kymo.profiler"]
    assert found["jax.profiler"] == (nested, stats)
    [main] = [line for line in nested if (0, "train") in line]
    assert main[:5] == [(0, "train"), (1, "load"), (1, "compute"), (2, "PjitFunction(<lambda>)"), (3, "PjitFunction(<lambda>)")]
    assert ("train", [("_r", 1), ("loss", 0.5), ("phase", "warm"), ("step_num", 2)]) in stats
    assert [(0, "in thread"), (1, "PjitFunction(<lambda>)"), (2, "PjitFunction(<lambda>)")] in nested


FRAMES = '''
import threading, time
def leaf(n):
    return sum(range(n))
def outer():
    for n in (1, 2):
        leaf(n)
class Model:
    def step(self):
        outer()
        time.sleep(0.001)
def numbers():
    yield 1
    yield 2
def fails():
    raise KeyError
def program():
    Model().step()
    list(numbers())
    try:
        fails()
    except KeyError:
        pass
    thread = threading.Thread(target=outer)
    thread.start()
    thread.join()
with profiler.trace(logs):
    program()
'''


@pytest.mark.slow
def test_python_functions_have_the_same_names_and_nesting_with_both(tmp_path):
    found = {}
    for module in MODULES:
        file = tmp_path / "frames.py"
        file.write_text(HEAD.format(module=module) + FRAMES)
        run_traced(module, f"import runpy; runpy.run_path({str(file)!r}, run_name='__main__')", tmp_path / module)
        lines = host_lines(trace_of(tmp_path / module)).values()
        names = {event[0] for events in lines for event in events
                 if event[0].startswith("$frames.py") and "<module>" not in event[0] or event[0] in ("$builtins sum", "$time sleep")}
        found[module] = sorted(nested for nested in (nesting(events, names) for events in lines) if nested)
    assert found["kymo.profiler"] == found["jax.profiler"]
    [main] = [nested for nested in found["kymo.profiler"] if len(nested) > 6]
    assert [depth for depth, _ in main][:7] == [0, 1, 2, 3, 4, 3, 4] and main[4] == (4, "$builtins sum")


NAMES = ("train", "compute", "load", "PjitFunction(<lambda>)")


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="XProf is published for x86-64 alone")
def test_xprof_finds_the_same_steps_and_threads_in_both(annotated):
    tools = pathlib.Path(__file__).parents[1] / "xprof_tools.py"
    files = [trace_of(annotated[module]) for module in MODULES]
    result = subprocess.run([sys.executable, tools, *map(str, files)], capture_output=True, timeout=600)
    assert result.returncode == 0, result.stderr[-4000:].decode(errors="replace")
    answers = json.loads(result.stdout)
    grouped = []
    for file in files:
        answer = answers[str(file)]
        events = [json.loads(line) for line in answer["trace_viewer"] if line.startswith("{") and '"ph": "X"' in line]
        grouped.append(sorted((event["name"], event["args"].get("group_id"), event["args"].get("step_name"))
                              for event in events if event["name"].startswith(NAMES)
                              and "group_id" in event.get("args", {})))
        assert "trace_viewer" in answer["tools"] or "trace_viewer@" in answer["tools"]
    assert grouped[0] == grouped[1]
    assert {name for name, *_ in grouped[1]} == {"train 0", "train 1", "train 2", *NAMES[1:]}
    assert {str(group) for _, group, _ in grouped[1]} == {"0", "1", "2"}, "what a step did belongs to it"


def ask(address):
    with urllib.request.urlopen(address, timeout=60) as answer:
        data = answer.read()
        return json.loads(gzip.decompress(data) if answer.headers["Content-Encoding"] == "gzip" else data)


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="there is no XProf for it")
def test_tensorboard_shows_what_was_traced(annotated):
    """Its profile plug-in lists the run and its tools, and answers for the overview and the timeline."""
    logs = annotated["kymo.profiler"]
    path = trace_of(logs)
    server = subprocess.Popen([PYTHON, "-m", "tensorboard.main", "--logdir", logs, "--port", "0", "--host", "127.0.0.1",
                               "--load_fast", "false"], stderr=subprocess.PIPE, text=True, env=clean_environment())  # fmt: skip
    try:
        said = next(line for line in server.stderr if " at http://" in line)
        plug_in = re.search(r"http://\S+/", said)[0] + "data/plugin/profile/"
        assert ask(plug_in + "runs") == [path.parent.name]
        chosen = f"?run={path.parent.name}&host={socket.gethostname()}"
        tools = ask(plug_in + "run_tools" + chosen)
        assert {"overview_page", "trace_viewer@"} <= set(tools)
        overview = json.dumps(ask(plug_in + "data" + chosen + "&tag=overview_page"))
        assert "steptime_ms_average" in overview
        events = ask(plug_in + "data" + chosen + "&tag=trace_viewer@")["traceEvents"]
        assert {"train 0", "train 1", "train 2"} <= {event.get("name") for event in events}
    finally:
        server.terminate()
        server.communicate(timeout=60)


PLAIN = """
import sys, time
import kymo.profiler as profiler
logs = sys.argv[1]
assert "jax" not in sys.modules
"""


def test_a_program_without_jax_is_traced(kymo, tmp_path):
    run("""
        options = profiler.ProfileOptions()
        options.python_tracer_level = 0
        options.session_id = "first"
        options.advanced_configuration = {"kymo_trace_json": True}
        with profiler.trace(logs, create_perfetto_trace=True, profiler_options=options):
            for step in range(2):
                with profiler.StepTraceAnnotation("train", step_num=step):
                    time.sleep(0.002)
        assert "jax" not in sys.modules
    """, tmp_path, head=PLAIN)
    run_dir = tmp_path / "plugins" / "profile" / "first"
    host = socket.gethostname()
    assert {path.name for path in run_dir.iterdir()} == {host + ".xplane.pb", host + ".trace.json.gz", "perfetto_trace.pftrace"}
    with gzip.open(run_dir / (host + ".trace.json.gz")) as file:
        assert [entry["args"] for entry in json.load(file)["traceEvents"] if entry.get("ph") == "X"] == [{"step_num": "0"}, {"step_num": "1"}]
    [events] = [events for events in host_lines(trace_of(tmp_path)).values() if events]
    assert [(name, stats) for name, _, _, stats in events] == [("train", {"_r": 1, "step_num": 0}), ("train", {"_r": 1, "step_num": 1})]
    assert all(end - start >= 2_000_000 for _, start, end, _ in events)
    summary = kymo.json("view", tmp_path, "--output-format", "summary-json")
    assert '"train"' in json.dumps(summary)


def entries(path):
    """What a trace.json.gz has, in any order; times to the picosecond."""
    with gzip.open(path) as file:
        document = json.load(file)
    found = document.pop("traceEvents")
    for entry in found:
        entry.update({key: round(float(entry[key]), 6) for key in ("ts", "dur") if key in entry})
    return document, sorted(json.dumps(entry, sort_keys=True) for entry in found)


@pytest.mark.slow
def test_the_json_is_what_jaxlib_makes_of_the_same_trace(tmp_path):
    """Processes, threads, times, names and args of a GPU and its host."""
    run("""
        import sys
        import kymo._trace_json
        from jaxlib import _profiler
        kymo._trace_json.write(sys.argv[1], sys.argv[2])
        session = _profiler.ProfilerSession(_profiler.ProfileOptions())
        session.stop()
        session.export(open(sys.argv[1], "rb").read(), sys.argv[3])
    """, MERGE, tmp_path / "ours.json.gz", tmp_path)
    [theirs] = tmp_path.glob("plugins/profile/*/*.trace.json.gz")
    assert entries(tmp_path / "ours.json.gz") == entries(theirs)


def test_traces_of_one_second_do_not_replace_each_other(tmp_path):
    run("""
        options = profiler.ProfileOptions()
        options.python_tracer_level = 0
        for number in range(3):
            profiler.start_trace(logs, profiler_options=options)
            with profiler.TraceAnnotation(f"trace {number}"):
                pass
            profiler.stop_trace()
    """, tmp_path, head=PLAIN)
    paths = list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))
    names = sorted(event[0] for path in paths for events in host_lines(path).values() for event in events)
    assert names == ["trace 0", "trace 1", "trace 2"]


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.slow
def test_errors_of_order_are_those_of_jax(tmp_path, module):
    run_traced(module, """
        def refused(call, *arguments):
            try:
                call(*arguments)
            except RuntimeError as problem:
                return str(problem)
        assert refused(profiler.stop_trace) == "No profile started"
        options = profiler.ProfileOptions()
        options.python_tracer_level = 0
        profiler.start_trace(logs, profiler_options=options)
        assert refused(profiler.start_trace, logs) == "Profile has already been started. Only one profile may be run at a time."
        profiler.stop_trace()
        assert refused(profiler.stop_trace) == "No profile started"
    """, tmp_path)
    assert trace_of(tmp_path)


@pytest.mark.slow
def test_the_options_have_the_names_and_defaults_of_jax(tmp_path):
    run_traced("kymo.profiler", """
        import jax.profiler
        theirs, ours = jax.profiler.ProfileOptions(), profiler.ProfileOptions()
        names = [name for name in dir(theirs) if not name.startswith("_")]
        assert len(names) >= 10
        for name in names:
            assert getattr(ours, name) == getattr(theirs, name), name
        assert ours.device_tracer_level == 1
        theirs.python_tracer_level = 0
        with profiler.trace(logs, profiler_options=theirs):
            pass
        public = [name for name in dir(jax.profiler) if name[0].isalpha() and name != "register_subprocess"]
        assert [name for name in public if not hasattr(profiler, name)] == []
    """, tmp_path)


REFUSED = [
    ("options.advanced_configuration = {'tpu_trace_mod': 'TRACE_ONLY_XLA'}", "ValueError", ["'tpu_trace_mod'", "'tpu_trace_mode'"]),
    ("options.advanced_configuration = {'tpu_trace_mode': 'TRACE_ONLY_HOTS'}", "ValueError", ["TRACE_ONLY_HOTS", "did you mean 'TRACE_ONLY_HOST'"]),
    ("options.advanced_configuration = {'gpu_enable_nvtx_tracking': 'yes'}", "ValueError", ["gpu_enable_nvtx_tracking", "'yes'"]),
    ("options.advanced_configuration = {'gpu_max_activity_api_events': 0}", "ValueError", ["gpu_max_activity_api_events", "-1"]),
    ("options.advanced_configuration = {'gpu_detail': 'sampled=2000/1'}", "ValueError", ["gpu_detail", "do not fit"]),
    ("options.advanced_configuration = {'gpu_pm_sample_interval_us': 0}", "ValueError", ["gpu_pm_sample_interval_us", "from 1"]),
    ("options.advanced_configuration = {'gpu_detail': 'kernel', 'gpu_enable_cupti_activity_graph_trace': True}", "ValueError", ["contradict"]),
    ("options.advanced_configuration = 3", "TypeError", ["dict"]),
    ("options.host_tracer_level = 4", "ValueError", ["host_tracer_level", "0 to 3"]),
    ("options.host_tracer_level = '2'", "TypeError", ["host_tracer_level", "str"]),
    ("options.host_trace_level = 2", "AttributeError", ["did you mean 'host_tracer_level'"]),
    ("profiler.start_trace(logs, profiler_options=3)", "TypeError", ["ProfileOptions", "int"]),
    ("profiler.start_trace('gs://bucket/logs')", "ValueError", ["gs://bucket/logs"]),
    ("profiler.start_trace('/proc/none/logs')", "OSError", ["/proc/none"]),
]


def test_what_cannot_be_is_refused_with_its_name(tmp_path):
    said = json.loads(run("""
        import json
        said = []
        for number, (line, kind) in enumerate(json.loads(sys.argv[2])):
            options = profiler.ProfileOptions()
            try:
                exec(line)
            except Exception as problem:
                assert isinstance(problem, getattr(__builtins__, kind)), (line, problem)
                said.append(str(problem))
            else:
                sys.exit(f"{line}: it was taken")
            options.python_tracer_level = 0
            with profiler.trace(f"{logs}/{number}", profiler_options=options):
                pass
        print(json.dumps(said))
    """, tmp_path, json.dumps([(line, kind) for line, kind, _ in REFUSED]), head=PLAIN))
    for (line, _, words), message in zip(REFUSED, said, strict=True):
        assert [word for word in words if word not in message] == [], line
    assert all(trace_of(tmp_path / str(number)) for number in range(len(REFUSED)))


def test_the_gpu_keys_are_those_of_the_program(kymo):
    options = re.findall(r"--(gpu-[a-z-]+)", kymo.ok("inspect", "--help"))
    names = run("from kymo._options import GPU_KEYS; print(*GPU_KEYS)").split()
    assert sorted(names) == sorted({option.replace("-", "_") for option in options})


def test_the_gpu_defaults_are_those_of_the_table_in_the_docs(kymo):
    rows = re.findall(r"^\| `(gpu_\w+)` \| (\S+) \| (\S+) \| (\S+) \|$", (ROOT / "docs/gpu.md").read_text(), re.M)
    documented = {key: (guide, ours) for key, guide, ours, _ in rows}
    options = re.split(r"\n +--", kymo.ok("inspect", "--help"))
    inspect = {option.split()[0]: found[1] for option in options if (found := re.search(r"\(default: (\w+)\)", option))}
    program = {key: inspect.get(key.replace("_", "-"), "?") for key in documented}
    assert program == {key: value for key, _, _, value in rows}
    said = json.loads(run("import json; from kymo._options import GPU_DEFAULTS; print(json.dumps(GPU_DEFAULTS))"))
    assert {key: ours for key, (_, ours) in documented.items()} == program | {key: str(value) for key, value in said.items()}
    run("options = profiler.ProfileOptions(); options.advanced_configuration = {'gpu_num_chips_to_profile_per_task': -3}", "logs", head=PLAIN)


def test_a_trace_that_is_not_stopped_is_written_when_the_program_ends(tmp_path):
    run("""
        options = profiler.ProfileOptions()
        options.python_tracer_level = 0
        profiler.start_trace(logs, profiler_options=options)
        with profiler.TraceAnnotation("last words"):
            pass
    """, tmp_path, head=PLAIN)
    assert [event[0] for events in host_lines(trace_of(tmp_path)).values() for event in events] == ["last words"]
    assert {path.name for path in tmp_path.iterdir()} == {"plugins"}


def test_a_child_of_fork_has_a_trace_of_its_own(tmp_path):
    run("""
        import os
        options = profiler.ProfileOptions()
        options.python_tracer_level = 0
        profiler.start_trace(logs + "/parent", profiler_options=options)
        with profiler.TraceAnnotation("parent"):
            child = os.fork()
            if child == 0:
                with profiler.trace(logs + "/child", profiler_options=options):
                    with profiler.TraceAnnotation("child"):
                        pass
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        profiler.stop_trace()
    """, tmp_path, head=PLAIN)
    for name in ("parent", "child"):
        assert [event[0] for events in host_lines(trace_of(tmp_path / name)).values() for event in events] == [name]


def test_a_recording_that_cannot_be_converted_is_kept(tmp_path):
    said = run("""
        import os
        options = profiler.ProfileOptions()
        options.python_tracer_level = 0
        profiler.start_trace(logs, profiler_options=options)
        with profiler.TraceAnnotation("kept"):
            pass
        os.environ["KYMO"] = "/bin/false"
        try:
            profiler.stop_trace()
        except RuntimeError as problem:
            print(problem)
        try:
            profiler.stop_trace()
        except RuntimeError as problem:
            print(problem)
    """, tmp_path, head=PLAIN)
    kept = re.search(r"the recording is kept in (\S+)", said)[1]
    assert (pathlib.Path(kept) / "ntrace.pb").exists() and said.endswith("No profile started\n")


@pytest.mark.slow
def test_the_memory_of_devices_is_that_of_jax(tmp_path):
    run_traced("kymo.profiler", """
        import gzip
        import jax.numpy as jnp
        kept = jnp.ones((1000, 1000)).block_until_ready()
        profiler.save_device_memory_profile(logs + "/memory.prof")
        assert len(gzip.decompress(profiler.device_memory_profile())) > 100
    """, tmp_path)
    assert (tmp_path / "memory.prof").read_bytes()[:2] == b"\x1f\x8b"


def test_importing_the_profiler_is_quick_and_imports_little():
    heavy = run("""
        import sys
        before = set(sys.modules)
        import kymo.profiler
        print(*sorted(set(sys.modules) - before))
    """).split()
    assert {"jax", "numpy", "pyarrow", "pandas", "torch", "subprocess", "socket", "ctypes", "asyncio"} & set(heavy) == set()
    assert any(float(run("""
        import time
        begin = time.process_time()
        import kymo.profiler
        print(time.process_time() - begin)
    """)) < 0.05 for _ in range(5)), "the first, unless the machine is busy"


def test_a_merge_that_cannot_be_is_refused(kymo, tmp_path):
    run("""
        from kymo import _kymo
        _kymo.start(sys.argv[1])
        with _kymo.TraceAnnotation("a"):
            pass
        print(_kymo.stop())
    """, tmp_path / "session", head="import sys\n")
    out = tmp_path / "out.xplane.pb"
    damaged = tmp_path / "damaged.pb"
    damaged.write_bytes(MERGE.read_bytes()[:5000])
    no_time = tmp_path / "empty.pb"
    no_time.write_bytes(b"")
    assert "damaged" in kymo.refuses("convert", tmp_path / "session", out, "--merge", damaged)
    assert "profile_start_time" in kymo.refuses("convert", tmp_path / "session", out, "--merge", no_time)
    assert "only recordings" in kymo.refuses("convert", MERGE, out, "--merge", MERGE)
    assert "single file" in kymo.refuses("convert", tmp_path / "session", tmp_path / "logs", "--merge", MERGE, code=2)
    assert not out.exists()
    kymo.ok("convert", tmp_path / "session", out, "--merge", MERGE)
    whole = read(out)
    assert {plane.name for plane in read(MERGE).planes} <= {plane.name for plane in whole.planes}


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_the_server_of_the_guide_starts_once_gives_what_xla_does_and_stops(kymo, tmp_path, module):
    run_traced(module, f"""
        import os, socket, subprocess, threading
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        def refused(call, *arguments):
            try:
                call(*arguments)
            except ValueError as problem:
                return str(problem)
        server = profiler.start_server(port)
        assert server is not None
        assert refused(profiler.start_server, port) == "Only one profiler server can be active at a time."
        f = jax.jit(lambda x: (x @ x).sum())
        x = jax.numpy.ones((50, 50))
        f(x).block_until_ready()  # compiled before a capture looks
        is_over = False
        def work_on():
            while not is_over:
                with profiler.TraceAnnotation("work"):
                    f(x).block_until_ready()
        thread = threading.Thread(target=work_on)
        thread.start()
        connect = [{str(kymo.path)!r}, "capture", "--connect", f"localhost:{{port}}", "--duration-ms", "300", "-o", logs + "/kymo"]
        collect = [sys.executable, "-m", "jax.collect_profile", str(port), "300", "--log_dir", logs + "/jax", "--no_perfetto_link"]
        for command in (connect, collect)[:1 if profiler is jax.profiler else 2]:
            result = subprocess.run(command, capture_output=True, text=True)
            assert result.returncode == 0, result.stderr
        is_over = True
        thread.join()
        del server
        profiler.stop_server()
        assert refused(profiler.stop_server) == "No active profiler server."
    """, tmp_path)
    for client in ("kymo", "jax") if module == "kymo.profiler" else ("kymo",):
        path = trace_of(tmp_path / client)
        [working] = [events for events in host_lines(path).values() if any(event[0] == "work" for event in events)]
        calls = nesting(working, {"work", "PjitFunction(<lambda>)"})
        assert sum(pair == ((0, "work"), (1, "PjitFunction(<lambda>)")) for pair in zip(calls, calls[1:])) > 2, "XLA's are inside"
        names = {event[0] for events in host_lines(path).values() for event in events}
        assert any(name.startswith("$") for name in names) == (client == "jax"), "functions of Python for the client that wants them"
        assert {"/host:CPU", "/host:metadata", "Task Environment"} <= {plane.name for plane in read(path).planes}
        assert any(plane.name.endswith("(Kymo)") for plane in read(path).planes) == (module == "jax.profiler"), "by its plug-in there"


@pytest.mark.slow
def test_the_plug_in_inside_jax_does_not_record_what_is_recorded(tmp_path):
    run_traced("kymo.profiler", """
        import time
        import jax.profiler
        import kymo.jax_plugin
        kymo.jax_plugin.initialize()
        options = profiler.ProfileOptions()
        options.python_tracer_level = 0
        for name, which in (("ours", profiler), ("theirs", jax.profiler)):
            with which.trace(logs + "/" + name, profiler_options=options if which is profiler else None):
                with profiler.TraceAnnotation("work"):
                    time.sleep(0.05)
    """, tmp_path)
    planes = {name: {plane.name for plane in read(trace_of(tmp_path / name)).planes} for name in ("ours", "theirs")}
    assert "/host:CPU (Kymo)" in planes["theirs"] and not any("(Kymo)" in name for name in planes["ours"])
    assert "work" in {event[0] for events in host_lines(trace_of(tmp_path / "ours")).values() for event in events}


def test_the_link_shows_the_trace_until_the_user_goes_on(tmp_path):
    program = PLAIN + """
options = profiler.ProfileOptions()
options.python_tracer_level = 0
with profiler.trace(logs, create_perfetto_link=True, profiler_options=options):
    with profiler.TraceAnnotation("shown"):
        pass
print("went on", flush=True)
"""
    process = subprocess.Popen([PYTHON, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True, env=environment())
    try:
        url = re.fullmatch(r"Open URL in browser: (http://localhost:\d+/profile/\S+\?token=\S+)\n", process.stdout.readline())[1]
        with urllib.request.urlopen(url) as page:
            assert page.status == 200
        assert process.stdout.readline() == "ctrl-c to continue\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "went on\n" and process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
    assert [path.name for path in tmp_path.glob("plugins/profile/*/*.pftrace")] == ["perfetto_trace.pftrace"]


@pytest.mark.parametrize("key, value", [("gpu_detail", "graph"), ("gpu_enable_cupti_activity_graph_trace", True)])
def test_whole_graphs_are_not_asked_for_in_a_program_that_runs(tmp_path, key, value):
    program = f"""
    import sys, warnings
    import kymo.profiler as profiler
    options = profiler.ProfileOptions()
    options.advanced_configuration = {{{key!r}: {value!r}}}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with profiler.trace(sys.argv[1], profiler_options=options):
            pass
    print(len(said), said[0].message, options.advanced_configuration)
    """
    output = run(program, tmp_path / "logs")
    assert output.startswith("1 kymo: kernels of CUDA graphs are recorded") and str({key: value}) in output
