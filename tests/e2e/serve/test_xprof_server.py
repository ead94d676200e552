"""xprof: a log directory is served with the routes of XProf's server."""

import csv
import gzip
import io
import json
import pathlib
import platform
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

import pytest

import xspace
from conftest import DATA, Kymo
from server import Server

PREFIX = "/data/plugin/profile"
MODULE = "jit_matmul_allgather(3320)"
XPROF = pathlib.Path(__file__).parents[1] / "xprof_server.py"


@pytest.fixture(scope="module")
def program(kymo, tmp_path_factory):
    program = tmp_path_factory.mktemp("program") / "xprof"
    program.symlink_to(pathlib.Path(kymo.path).resolve())
    return Kymo(program)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    place = tmp_path_factory.mktemp("xprof")
    for run, capture, host in (("", "jax_matmul_h200", "vm"), ("b", "tpu_inference", "tpu")):
        folder = place / "logs" / run / "plugins" / "profile" / f"run{run}"
        folder.mkdir(parents=True)
        shutil.copy(DATA / "xplane" / f"{capture}.xplane.pb", folder / f"{host}.xplane.pb")
    return place / "logs"


@pytest.fixture(scope="module")
def server(program, logs):
    server = Server(program, logs, "--data-path", logs.with_name("data"), "--hide_capture_profile_button", command="server",
                    ports=("--port", 0))
    yield server
    server.process.terminate()
    server.process.wait()


def test_runs_and_what_they_have_are_listed(server):
    assert server.get(f"{PREFIX}/runs") == server.get("/runs") == ["run", "b/runb"]
    tools = {run: set(server.get(f"{PREFIX}/run_tools", run=run)) for run in ("run", "b/runb")}
    assert {"overview_page", "op_profile", "hlo_stats", "roofline_model", "memory_viewer", "graph_viewer"} < tools["run"] & tools["b/runb"]
    assert "kernel_stats" in tools["run"] - tools["b/runb"]
    assert server.get(f"{PREFIX}/hosts", run="run", tag="kernel_stats") == [{"hostname": "vm"}]
    modules = server.ask("GET", f"{PREFIX}/module_list?run=run").body.decode().split(",")
    assert "jit_matmul_allgather(3320)" in modules and modules == sorted(modules)
    assert set(server.get(f"{PREFIX}/config")) == {"hideCaptureProfileButton", "srcPathPrefix", "enableTabNameLabel"}
    assert server.ask("GET", f"{PREFIX}/version").body.startswith(b"kymo ")
    assert server.ask("GET", "/").headers["Content-Type"].startswith("text/html"), "the page is ours"


def test_data_are_those_of_the_tools(server, kymo):
    for run, capture, tool in (("run", "jax_matmul_h200", "kernel_stats"), ("b/runb", "tpu_inference", "hlo_stats")):
        said = kymo.json("tool", tool, DATA / "xplane" / f"{capture}.xplane.pb", "--format", "gviz")
        assert server.get(f"{PREFIX}/data", run=run, tag=tool) == said
        assert server.get("/data", run=run, tag=tool, host="ALL_HOSTS") == said
        assert server.get("/data", run=run, tag=tool, host="nobody")["rows"] == []
        answer = server.ask("GET", f"{PREFIX}/data_csv?run={run}&tag={tool}")
        lines = list(csv.reader(io.StringIO(answer.body.decode())))
        assert answer.headers["Content-Type"].startswith("text/csv")
        assert lines[0] == [column["label"] for column in said["cols"]] and len(lines) == len(said["rows"]) + 1
    assert "byCategory" in server.get("/data", run="b/runb", tag="op_profile", group_by="category")
    module = {"run": "run", "module_name": "jit_matmul_allgather(3320)"}
    assert server.get("/data", tag="memory_viewer", **module)["moduleName"].startswith("jit_matmul_allgather")
    text = server.ask("GET", "/data?run=run&tag=graph_viewer&type=short_txt&module_name=jit_matmul_allgather(3320)")
    assert b"gemm_fusion_dot_general.1" in text.body and text.headers["Content-Type"].startswith("text/plain")
    graph = server.ask("GET", "/data?run=run&tag=graph_viewer&node_name=gemm_fusion_dot_general.1&module_name=jit_matmul_allgather(3320)")
    assert graph.body.startswith(b"digraph")


def test_what_is_not_there_is_not_found(server):
    assert server.ask("GET", f"{PREFIX}/data?run=run&tag=nothing").status == 404
    assert server.ask("GET", f"{PREFIX}/data?run=nothing&tag=hlo_stats").status == 404
    assert server.ask("GET", f"{PREFIX}/data?tag=hlo_stats").status == 400
    assert server.ask("GET", f"{PREFIX}/data_csv?run=run&tag=memory_profile").status == 400
    assert server.ask("GET", f"{PREFIX}/data?run=run&tag=op_profile&group_by=x").status == 400
    assert server.ask("GET", f"{PREFIX}/nothing").status == 404
    assert server.ask("POST", f"{PREFIX}/runs").status == 405


def test_graphs_are_answered_in_the_forms_that_are_known(server):
    def ask(**arguments):
        query = {"run": "run", "tag": "graph_viewer", "module_name": MODULE, "node_name": "gemm_fusion_dot_general.1"} | arguments
        return server.ask("GET", "/data?" + urllib.parse.urlencode(query))
    assert ask(type="adj_nodes").json == {"operand_names": ["a.1", "b.1"], "consumer_names": []}
    assert b"dot_general.0" in ask(format="dot").body and b"dot_general.0" not in ask(merge_fusion="true").body
    assert b"jit(matmul_allgather)/dot_general" in ask(show_metadata="true").body
    assert "must be graph, adj_nodes" in ask(type="pbtxt").error and "must be dot" in ask(format="html").error
    assert "no instruction named x" in ask(type="adj_nodes", node_name="x").error
    for tool, argument in (("memory_viewer", "view_memory_allocation_timeline"), ("megascale_stats", "perfetto")):
        assert f'"{argument}" is not supported' in server.ask("GET", f"/data?run=run&tag={tool}&{argument}=true").error


def test_a_run_is_prepared(server, logs):
    run = logs / "plugins/profile/run"
    server.ask("DELETE", "profiles/run")
    assert server.ask("POST", f"/generate_cache?session_path={run}&tools=hlo_stats,x").status == 202
    assert server.wait_for("run", "ready")
    assert server.get("/runs", session_path=logs / "b/plugins/profile/runb") == ["runb"]
    assert server.get("/run_tools", run="run", session_path=run) == server.get("/run_tools", run="run")
    assert "not a run in the log directory" in server.ask("GET", "/run_tools?run=run&session_path=/").error
    assert "runs are those of the log directory" in server.ask("GET", f"/runs?run_path={logs}").error


def test_the_capture_button_can_be_hidden(server):
    assert server.get("captures") == {"allowed": False}
    assert server.ask("POST", "captures", {"name": "x", "addresses": "localhost:1"}).status == 403


def events_of(answer):
    """{name of a thread: [(name, start and duration in us)]} of an answer of the trace viewer."""
    events, threads = {}, {}
    for event in answer["traceEvents"]:
        thread = event["pid"], event.get("tid")
        if event["name"] == "thread_name":
            threads[thread] = event["args"]["name"]
        elif event["ph"] == "X":
            events.setdefault(threads[thread], []).append((event["name"], round(event["ts"], 3), round(event["dur"], 3)))
    return {thread: sorted(events) for thread, events in events.items()}


def test_the_trace_viewer_gets_the_window_it_asks_for(server):
    whole = server.get("/data", run="run", tag="trace_viewer@")
    part = server.get("/data", run="run", tag="trace_viewer@", host="vm", start_time_ms=440, end_time_ms=441, resolution=8000)
    everything = events_of(whole)
    expected = {thread: [event for event in events if event[1] <= 441e3 and event[1] + event[2] >= 440e3] for thread, events in everything.items()}
    assert events_of(part) == {thread: events for thread, events in expected.items() if events}
    assert len(everything["XLA Ops"]) == 71 and part["returnedEventsSize"] == sum(map(len, expected.values())) > 100
    assert part["fullTimespan"] == whole["fullTimespan"] and not part["filteredByVisibility"]
    event = next(event for event in part["traceEvents"] if event["name"].startswith("void cutlass"))
    args = {"event_name": event["name"], "unique_id": event["args"]["uid"], "start_time_ms": event["ts"] / 1e3, "duration_ms": event["dur"] / 1e3}
    (found,) = (one for one in server.get("/data", run="run", tag="trace_viewer@", **args)["traceEvents"] if one["ph"] == "X")
    assert found["ts"] == event["ts"] and found["args"]["hlo_op"] == "custom-call.1"
    assert events_of(server.get("/data", run="run", tag="trace_viewer", hosts="nobody")) == {}
    assert "milliseconds" in server.ask("GET", "/data?run=run&tag=trace_viewer@&start_time_ms=x").error


def test_a_large_trace_is_thinned_to_what_the_resolution_shows(program, tmp_path):
    space = xspace.XSpace()
    plane = space.planes.add(name=b"/host:CPU")
    plane.event_metadata.add(key=1).value.name = b"step"
    lengths = [1000 if i % 1000 else 50_000_000 for i in range(210_000)]  # ps, every microsecond
    for i, length in enumerate(lengths):
        if i == 0:
            line = plane.lines.add(id=1, name=b"thread")
        line.events.add(metadata_id=1, offset_ps=i * 1_000_000, duration_ps=length)
    folder = tmp_path / "logs/plugins/profile/many"
    folder.mkdir(parents=True)
    (folder / "host.xplane.pb").write_bytes(space.SerializeToString())
    server = Server(program, tmp_path / "logs", "--data-path", tmp_path / "data", command="server", ports=("--port", 0))
    answer = server.get("/data", run="many", tag="trace_viewer@", resolution=1000)
    (events,) = events_of(answer).values()
    first, last = (round(1e6 * ms) for ms in answer["fullTimespan"])
    part = (last - first) // 1000 + 1  # ns that are told apart
    assert answer["filteredByVisibility"] and len(events) == answer["returnedEventsSize"] == 1000
    assert {round(1000 * start) // part for _, start, _ in events} == set(range(1000)), "one in each part"
    assert server.get("/data", run="many", tag="trace_viewer@", start_time_ms=10, end_time_ms=12, resolution=10)["returnedEventsSize"] in (2001, 2002)
    server.stop()


class XProf:
    """XProf's own server."""

    def __init__(self, logs):
        self.process = subprocess.Popen([sys.executable, XPROF, logs], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().strip()}{PREFIX}/"

    def ask(self, method, path):
        try:
            answer = urllib.request.urlopen(urllib.request.Request(self.url + path, method=method), timeout=120)
        except urllib.error.HTTPError as error:
            answer = error
        body = answer.read()
        return answer.status, gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body


@pytest.fixture(scope="module")
def both(server, logs):
    """Asks both servers: the two statuses, and the two bodies."""
    xprof = XProf(logs)

    def ask(route, method="GET", **arguments):
        path = f"{route}?{urllib.parse.urlencode(arguments)}"
        theirs, ours = xprof.ask(method, path), server.ask(method, f"{PREFIX}/{path}")
        assert (ours.status < 400) == (theirs[0] < 400), (path, theirs, ours.body)
        return ours.status, theirs[0], ours.body, theirs[1]
    yield ask
    xprof.process.kill()
    xprof.process.wait()


def shape(value, depth=4):
    """Keys of objects, columns of tables: what a reader of an answer relies on."""
    if isinstance(value, dict) and "cols" in value:
        return [value["cols"]]
    if isinstance(value, dict) and depth:
        return {key: shape(inner, depth - 1) for key, inner in value.items() if not key.isdigit()}
    return [shape(inner, depth - 1) for inner in value] if isinstance(value, list) and depth == 4 else None


@pytest.mark.skipif(platform.machine() != "x86_64", reason="XProf is published for x86-64 alone")
@pytest.mark.slow
@pytest.mark.plain_build
def test_answers_are_those_of_xprofs_server(both, logs):
    def same(route, **arguments):
        _, _, ours, theirs = both(route, **arguments)
        assert json.loads(ours) == json.loads(theirs), (route, arguments)
    same("runs")
    same("runs", session_path=logs / "b/plugins/profile/runb")
    _, _, ours, theirs = both("config")
    assert json.loads(ours).keys() == json.loads(theirs).keys()
    for run in ("run", "b/runb"):
        _, _, ours, theirs = both("module_list", run=run)
        assert ours == theirs
    graph = {"run": "run", "tag": "graph_viewer", "module_name": MODULE, "node_name": "gemm_fusion_dot_general.1"}
    same("data", type="adj_nodes", **graph)
    for kind in ("short_txt", "long_txt", "pb"):
        _, _, ours, theirs = both("data", type=kind, **graph)
        assert ours == theirs and len(ours) > 500, kind
    for run in ("run", "b/runb"):
        _, _, ours, theirs = both("run_tools", run=run)
        tools = json.loads(theirs)
        assert [tool for tool in json.loads(ours) if tool != "pod_viewer"] == tools
        for tool in tools:
            same("hosts", run=run, tag=tool)
            module = MODULE if run == "run" else "jit_f(12190760917235803885)"
            if tool not in ("graph_viewer", "trace_viewer@"):
                _, _, ours, theirs = both("data", run=run, tag=tool, module_name=module)
                assert shape(json.loads(ours)) == shape(json.loads(theirs)), tool
        _, _, ours, theirs = both("data_csv", run=run, tag="hlo_stats")
        assert ours.splitlines()[0] == theirs.splitlines()[0]
    for window in ({}, {"start_time_ms": 440, "end_time_ms": 441}):
        _, _, ours, theirs = both("data", run="run", tag="trace_viewer@", host="vm", resolution=8000, **window)
        ours, theirs = events_of(json.loads(ours)), events_of(json.loads(theirs))
        stream = "Stream #14(MemcpyOther,Compute,Memset,MemcpyH2D)"
        modules = [[event[1:] for event in side] for side in (ours["XLA Modules"], theirs["XLA Modules - from #14"])]
        assert ours[stream] == theirs[stream] and sorted(modules[0]) == sorted(modules[1])
        others = set(theirs["python3"]) - set(ours["python3"])
        assert len(others) <= 1 + len(theirs["python3"]) / 500, "XProf renames events that group others"
    for arguments in ({}, {"session_path": "/nowhere"}, {"session_path": logs / "plugins/profile/run"},
                      {"session_path": logs / "plugins/profile/run", "tools": "nothing"}):
        ours, theirs, answer, other = both("generate_cache", "POST", **arguments)
        assert ours == theirs and (ours != 202 or json.loads(answer) == json.loads(other))


def test_wrong_calls_are_refused(kymo, program):
    assert "missing argument" in kymo.refuses("xprof", code=2)
    assert "one log directory" in kymo.refuses("xprof", "server", "a", "--logdir", "b", code=2)
    for option in ("--grpc_port=1", "--worker_service_address", "--max-concurrent-worker-requests", "--enable_tab_name_label"):
        assert "is not supported" in program.refuses("server", "logs", option, code=2)
