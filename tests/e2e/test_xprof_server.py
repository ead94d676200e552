"""xprof: a log directory is served with the routes of XProf's server."""

import csv
import io
import pathlib
import shutil

import pytest

from conftest import DATA, Kymo
from server import Server

PREFIX = "/data/plugin/profile"


@pytest.fixture(scope="module")
def server(kymo, tmp_path_factory):
    place = tmp_path_factory.mktemp("xprof")
    program = place / "xprof"
    program.symlink_to(pathlib.Path(kymo.path).resolve())
    for run, capture, host in (("", "jax_matmul_h200", "vm"), ("b", "tpu_inference", "tpu")):
        folder = place / "logs" / run / "plugins" / "profile" / f"run{run}"
        folder.mkdir(parents=True)
        shutil.copy(DATA / "xplane" / f"{capture}.xplane.pb", folder / f"{host}.xplane.pb")
    server = Server(Kymo(program), place / "logs", "--data-path", place / "data", command="server", ports=("--port", 0))
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


def test_wrong_calls_are_refused(kymo):
    assert "missing argument" in kymo.refuses("xprof", code=2)
    assert "one log directory" in kymo.refuses("xprof", "server", "a", "--logdir", "b", code=2)
