"""Captures without events: every input kind, through every command and output."""

import io
import json
import os
import subprocess
import tarfile

import pyarrow.parquet
import pytest

import xspace
from conftest import DATA, ROOT
from server import Server
from test_influx import put, version2
from test_perfetto import Reading

NOTHING_HERE = ["--system-trace-filter-instance-id", "nowhere"]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path, []


def chrome_list(folder, kymo):
    return write(folder / "b.json", "[]")


def chrome_object(folder, kymo):
    return write(folder / "b.json", '{"traceEvents":[]}')


def chrome_names_only(folder, kymo):
    named = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}
    return write(folder / "b.json", json.dumps([named]))


def space_with_an_empty_plane(folder, kymo):
    space = xspace.XSpace()
    space.planes.add(name=b"/host:CPU")
    return write(folder / "b.xplane.pb", space.SerializeToString())


def space_with_an_empty_line(folder, kymo):
    space = xspace.XSpace()
    space.planes.add(name=b"/host:CPU").lines.add(id=1, name=b"thread")
    return write(folder / "b.xplane.pb", space.SerializeToString())


RECORDER = """
#include <kymo/kymo.h>
int main(int count, char **arguments)
{
    struct kymo_options options = KYMO_OPTIONS;
    options.output_dir = arguments[count - 1];
    options.cpu_util_ms = options.host_memory_ms = 0;
    return kymo_start(&options) || kymo_stop();
}
"""


def recording(folder, kymo):
    (folder / "program.c").write_text(RECORDER)
    subprocess.run(["cc", folder / "program.c", "-o", folder / "program", f"-I{ROOT / 'include'}",
                    f"-L{ROOT / 'lib'}", f"-Wl,-rpath,{ROOT / 'lib'}", "-lkymo"], check=True)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("NEURON_", "KYMO_"))}
    subprocess.run([folder / "program", folder / "capture"], check=True, env=environment)
    return folder / "capture", []


def explorer(folder, kymo):
    return write(folder / "b.json", '{"system_profile_metadata":[],"trace_event":[]}')


def device_profile(folder, kymo):
    return write(folder / "b.json", '{"instruction":[],"dma":[]}')


def system_trace(folder, kymo):
    return write(folder / "b.json", '{"events": [], "data_version": 1}')


def tables_without_rows(folder, kymo):
    (folder / "b.json").write_text("[]")
    kymo.ok("view", folder / "b.json", "--output-format", "parquet", "--output-file", folder / "tables")
    return folder / "tables", []


def filtered_to_nothing(folder, kymo):
    return DATA / "neuron" / "system_trace.json", NOTHING_HERE


def own_document(folder, kymo):
    (folder / "empty.json").write_text("[]")
    return write(folder / "b.json", kymo.ok("view", folder / "empty.json", "--output-format", "json",
                                            "--output-file", "-"))


KINDS = [chrome_list, chrome_object, chrome_names_only, space_with_an_empty_plane,
         space_with_an_empty_line, recording, explorer, device_profile, system_trace,
         tables_without_rows, own_document, filtered_to_nothing]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def empty(request, kymo, tmp_path_factory):
    """A capture without events, and the options that make it one."""
    return request.param(tmp_path_factory.mktemp("empty"), kymo)


def succeeds(kymo, *arguments):
    """Standard output of a call that succeeds; it may warn, but not fail."""
    result = kymo.run(*arguments)
    assert result.returncode == 0, (result.returncode, result.stderr)
    assert all(line.startswith(("WARN", "INFO")) for line in result.stderr.splitlines()), result.stderr
    return result.stdout


def document(kymo, empty, *options):
    return json.loads(succeeds(kymo, "view", empty[0], *empty[1], "--output-format", "json",
                               "--output-file", "-", *options))


def test_json_is_a_document_without_events(kymo, empty):
    found = document(kymo, empty)
    assert found["trace_events"] == [] and found["steps"] == [] and found["flows"] == []


@pytest.mark.parametrize("flows", [[], ["--show-perfetto-flows"]], ids=["plain", "flows"])
def test_perfetto_is_a_trace_without_events(kymo, empty, tmp_path, flows):
    path = tmp_path / "b.pftrace"
    succeeds(kymo, "view", empty[0], *empty[1], "--output-format", "perfetto", "--output-file", path, *flows)
    reading = Reading(path.read_bytes())
    assert (reading.slices, reading.samples, reading.flows) == ([], [], {})


def test_parquet_is_tables_without_rows(kymo, empty, tmp_path):
    succeeds(kymo, "view", empty[0], *empty[1], "--output-format", "parquet", "--output-file", tmp_path / "t")
    assert pyarrow.parquet.read_table(tmp_path / "t" / "SystemProfileEvents.parquet").num_rows == 0


def test_summaries_say_that_there_are_no_events(kymo, empty):
    text = succeeds(kymo, "view", empty[0], *empty[1], "--output-format", "summary-text")
    assert "no events" in text or "0 events" in text
    summary = json.loads(succeeds(kymo, "view", empty[0], *empty[1], "--output-format", "summary-json"))
    assert summary["event_count"] == 0


def test_a_database_gets_one_point(kymo, empty):
    with version2() as server:
        result = put(kymo, server.endpoint, empty[0], "--display-name", "none", *empty[1])
    assert result.returncode == 0 and result.stdout.startswith("1 point written"), result.stderr
    assert server.lines[0].startswith("system_profile_metadata,profile=none ")


@pytest.mark.parametrize("empty", KINDS[:-1], indirect=True, ids=lambda kind: kind.__name__)
def test_info_and_conversion(kymo, empty, tmp_path):
    assert "0 events" in succeeds(kymo, "info", empty[0])
    json.loads(succeeds(kymo, "info", "--json", empty[0]))
    succeeds(kymo, "convert", empty[0], tmp_path / "out.xplane.pb")
    space = xspace.load(tmp_path / "out.xplane.pb")
    assert not any(line.events for plane in space.planes for line in plane.lines)
    run = succeeds(kymo, "convert", empty[0], tmp_path / "logs").strip()
    assert "0 events" in succeeds(kymo, "info", run)


@pytest.fixture(scope="module")
def profile(kymo, empty, tmp_path_factory):
    """The capture as a profile of a workspace."""
    data = tmp_path_factory.mktemp("workspace")
    succeeds(kymo, "view", empty[0], *empty[1], "--data-path", data, "--display-name", "none", "--ingest-only")
    return data


def test_timeline_and_sql(kymo, profile):
    succeeds(kymo, "timeline", "none", "--data-path", profile)
    assert "SystemProfileEvents" in succeeds(kymo, "sql", "none", "--data-path", profile)
    query = "SELECT count(*) AS n FROM SystemProfileEvents"
    rows = succeeds(kymo, "sql", "none", query, "--format", "json", "--data-path", profile)
    assert json.loads(rows) == [{"n": 0}]


def test_the_server_answers_everything(kymo, profile):
    server = Server(kymo, "--data-path", profile)
    here = "profiles/none/"
    assert server.get("profiles/none")["events"] == 0
    assert server.get(here + "summary")["event_count"] == 0
    tracks = server.get(here + "tracks")
    picture = server.ask("POST", here + "timeline", {"tracks": [t["id"] for t in tracks["tracks"]]})
    assert picture.status == 200 and picture.body.startswith(b"KYTL")
    assert server.get(here + "search", q="x")["count"] == 0
    window = {"tracks": [0], "from": "0", "to": "1000"}
    assert server.post(here + "selection", window)["count"] == 0
    assert server.ask("GET", here + "events/SystemProfileEvents/0").status == 404
    assert server.get(here + "markers") == {"sets": []}
    assert server.get(here + "tables")["tables"]
    assert server.post(here + "sql", {"query": "SELECT * FROM SystemProfileEvents"})["rows"] == []
    archive = server.ask("GET", here + "export?format=parquet-tar")
    names = tarfile.open(fileobj=io.BytesIO(archive.body)).getnames()
    assert any(name.endswith("SystemProfileEvents.parquet") for name in names)
    table = server.ask("GET", here + "export?format=csv&table=SystemProfileEvents")
    assert table.status == 200 and table.body.count(b"\n") == 1
    assert server.get("health")["status"] == "healthy"
    server.stop()
    assert server.stderr() == ""


COMMANDS = [["info"], ["convert"], *(["view", "--output-format", name] for name in (
    "json", "perfetto", "summary-text", "summary-json", "parquet"))]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[-1])
def test_a_space_of_no_bytes_is_refused_by_all(kymo, tmp_path, command):
    (tmp_path / "b.xplane.pb").touch()
    out = [tmp_path / "out.xplane.pb"] if command == ["convert"] else []
    message = kymo.refuses(*command, tmp_path / "b.xplane.pb", *out)
    assert "b.xplane.pb: the file is empty; " in message
    assert os.listdir(tmp_path) == ["b.xplane.pb"]
