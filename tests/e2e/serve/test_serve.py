"""The server's API: every endpoint agrees with the command line about the same profile."""

import csv
import io
import json
import re
import shutil
import signal
import subprocess
import tarfile
import time
import urllib.parse

import pyarrow.parquet
import pytest

from conftest import DATA, Kymo
from server import Server, picture

GPT = DATA / "xplane" / "jax_gpt_python_h200.xplane.pb"
MATMUL = DATA / "xplane" / "jax_matmul_h200.xplane.pb"
TPU = DATA / "xplane" / "tpu_inference.xplane.pb"
KINETO = DATA / "kineto" / "compare_base.json.gz"


class Sql:
    """Rows from `kymo sql`."""

    def __init__(self, kymo, data):
        self.kymo, self.data = kymo, data

    def __call__(self, profile, query):
        out = self.kymo.ok(
            "sql", profile, "--data-path", self.data, "--format", "json", "--limit", 0, query
        )
        return json.loads(out)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def kymo(data):
    import os

    from conftest import ROOT

    program = Kymo(os.environ.get("KYMO", ROOT / "bin" / "kymo"))
    for name, capture in (("gpt", GPT), ("tpu run", TPU), ("kineto", KINETO)):
        program.ok("view", capture, "--data-path", data, "--display-name", name, "--ingest-only")
    return program


@pytest.fixture(scope="module")
def server(kymo, data, tmp_path_factory):
    sources = tmp_path_factory.mktemp("sources")
    (sources / "jax_gpt.py").write_text("the source\n")
    (sources / "secret.py").write_text("not named\n")
    server = Server(kymo, "--data-path", data, "--framework-source-root", sources)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def sql(kymo, data):
    return Sql(kymo, data)


# The server itself


def test_health_tells_the_version(kymo, server):
    version = kymo.ok("--version").split()[1]
    assert server.get("health") == {"status": "healthy", "version": version}


def test_it_says_where_to_look(server):
    assert server.said == f"View a list of profiles at http://localhost:{server.port}/\nctrl-c to exit\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_within_a_second(kymo, data, number):
    server = Server(kymo, "--data-path", data)
    server.get("profiles")
    idle = server.connect()
    idle.connect()
    assert server.stop(number) < 1 or "san/" in str(kymo.path)
    idle.close()


def test_a_capture_is_processed_and_then_served(kymo, tmp_path):
    server = Server(kymo, KINETO, "--data-path", tmp_path, "--display-name", "a b/ü".replace("/", ""))
    assert server.url.endswith("/profile/a%20b%C3%BC")
    assert "View profile at http://localhost" in server.said
    assert [p["name"] for p in server.get("profiles")["profiles"]] == ["a bü"]
    server.stop()


@pytest.mark.parametrize("more", [["--ingest-only"], ["--output-format", "summary-text"]])
def test_what_is_not_to_be_shown_is_not_served(kymo, tmp_path, more):
    where = [] if "--output-format" in more else ["--data-path", tmp_path]
    out = kymo.ok("view", KINETO, *where, *more, "--port", 0)
    assert "ctrl-c" not in out


def test_a_port_that_is_taken_is_said_with_one_that_is_free(kymo, server, data):
    message = kymo.refuses("view", "--data-path", data, "--port", server.port)
    offered = re.search(rf"port {server.port} is in use; (\d+) is free: --port (\d+)", message)
    assert offered and offered[1] == offered[2] != str(server.port)


def test_the_api_is_on_a_port_of_its_own_too(kymo, data):
    server = Server(kymo, "--data-path", data, "--disable-ui", ports=("--api-server-port", 0))
    assert server.said.startswith("The API is at http://localhost:")
    assert server.get("health")["status"] == "healthy"
    assert "not found" in server.ask("GET", "/").error
    server.stop()


# Profiles


def test_profiles_are_listed_with_what_is_known_about_them(server, sql):
    listed = {entry["name"]: entry for entry in server.get("profiles")["profiles"]}
    assert set(listed) >= {"gpt", "tpu run", "kineto"}
    for name, form in (("gpt", "xplane"), ("tpu run", "xplane"), ("kineto", "kineto")):
        entry = listed[name]
        assert (entry["status"], entry["percent"], entry["reason"]) == ("ready", 100, None)
        assert entry["format"] == form and entry["favorite"] is False
        [count] = sql(name, "SELECT count(*) AS n FROM SystemProfileEvents")
        assert entry["events"] == count["n"]
        assert entry == server.get(f"profiles/{urllib.parse.quote(name)}")
    assert listed["gpt"]["bytes"] > 500_000
    assert abs(listed["gpt"]["duration_ns"] - 88_885_670) < 1


def test_names_are_searched(server):
    assert [p["name"] for p in server.get("profiles", search="TPU")["profiles"]] == ["tpu run"]
    assert server.get("profiles", search="no such")["profiles"] == []


def test_explorers_search_lists_the_same(server):
    found = server.get("profiles/search", userName="me", uploader="")["data"]
    assert {"profile_name": "gpt", "type": "system", "status": "PROCESSED"} in found


def test_a_profile_is_renamed_starred_and_deleted(kymo, server, data):
    kymo.ok("view", KINETO, "--data-path", data, "--display-name", "old", "--ingest-only")
    server.ask("PUT", "profiles/old/markers/mine", [{"time": "1"}])
    number = server.get("profiles/old")["id"]
    assert re.fullmatch("[0-9a-f]{16}", number) and number != server.get("profiles/gpt")["id"]
    changed = server.ask("PATCH", "profiles/old", {"name": "new", "favorite": True})
    assert changed.status == 200 and changed.json["favorite"] and changed.json["name"] == "new"
    assert [entry["name"] for entry in server.get(f"profiles?id={number}")["profiles"]] == ["new"]
    kymo.ok("view", KINETO, "--data-path", data, "--display-name", "new", "--ingest-only", "--force")
    assert server.get("profiles/new")["id"] == number
    assert server.ask("GET", "profiles/old").status == 404
    assert server.get("profiles/new/markers/mine") == [{"time": "1"}]
    assert server.get("profiles/new/tracks")["tracks"]
    taken = server.ask("PATCH", "profiles/new", {"name": "gpt"})
    assert taken.status == 409 and "already" in taken.error
    assert server.ask("PATCH", "profiles/new", {"name": "a/b"}).status == 400
    assert server.ask("PATCH", "profiles/new", {"favorite": False}).json["favorite"] is False
    assert server.ask("DELETE", "profiles/new").status == 204
    assert server.ask("GET", "profiles/new/tracks").status == 404
    assert server.ask("DELETE", "profiles/new").status == 404
    assert not (data / "notes" / "new").exists()


def test_the_summary_is_that_of_the_command_line(kymo, server):
    shown = json.loads(kymo.ok("view", GPT, "--output-format", "summary-json"))
    assert server.get("profiles/gpt/summary") == shown


def test_a_profile_without_a_summary_says_so(kymo, server, data):
    kymo.ok("view", KINETO, "--data-path", data, "--display-name", "plain", "--ingest-only")
    (data / "profiles/global/plain@latest/summary.json").unlink()
    answer = server.ask("GET", "profiles/plain/summary")
    assert answer.status == 404 and "process its capture again" in answer.error
    assert server.get("profiles/plain")["format"] is None
    server.ask("DELETE", "profiles/plain")


# Timeline


@pytest.mark.parametrize("name", ["gpt", "tpu run", "kineto"])
def test_tracks_are_those_of_the_table_in_drawing_order(server, sql, name):
    answer = server.get(f"profiles/{urllib.parse.quote(name)}/tracks")
    rows = {row["id"]: row for row in sql(name, "FROM Track")}
    tracks = answer["tracks"]
    assert {track["id"] for track in tracks} == set(rows)
    seen = set()
    for track in tracks:
        row = rows[track["id"]]
        for ours, theirs in (("parent", "parent_id"), ("name", "name"), ("level", "kind")):
            assert track[ours] == row[theirs] or ours == "name"
        assert track["event_count"] == row["event_count"]
        assert track["parent"] is None or track["parent"] in seen
        seen.add(track["id"])
    order = [track["id"] for track in tracks]
    children = {}
    for track in tracks:
        children.setdefault(track["parent"], []).append((track["sort_key"], track["id"]))
    assert all(keys == sorted(keys) for keys in children.values())

    def walk(parent):
        for _, track in children.get(parent, []):
            yield track
            yield from walk(track)

    assert order == list(walk(None))
    assert int(answer["from"]) < int(answer["to"])
    assert answer["start_epoch_ns"] is None or int(answer["start_epoch_ns"]) > 10**18


WINDOWS = [(None, None, 1000), (None, None, 7), ("30ms", "31ms", 2000), ("27.2ms", "27.3ms", 333)]


@pytest.mark.parametrize("start, end, width", WINDOWS)
@pytest.mark.parametrize("name", ["gpt", "tpu run", "kineto"])
def test_the_timeline_is_that_of_the_command_line(kymo, server, data, name, start, end, width):
    window = [] if start is None else ["--from", start, "--to", end]
    expected = kymo.json("timeline", name, "--data-path", data, "--width", width, *window)
    tracks = [track["track"] for track in expected["tracks"]]
    answer = server.ask("POST", f"profiles/{urllib.parse.quote(name)}/timeline", {
        "tracks": tracks, "from": str(expected["from_ps"]), "to": str(expected["to_ps"]), "width": width,
    })  # fmt: skip
    assert answer.status == 200, answer.body
    shown = picture(answer.body)
    assert (shown["from"], shown["to"], shown["width"]) == (expected["from_ps"], expected["to_ps"], width)
    rows = {(row[0], row[1]): row for row in shown["slice_rows"] + shown["counter_rows"]}
    assert len(shown["names"]) == len(set(shown["names"]))
    for track in expected["tracks"]:
        for row in track["rows"]:
            _, _, first, count = rows.pop((track["track"], row["row"]))
            assert count == len(row["items"])
            for at, item in enumerate(row["items"], first):
                check_item(shown, at, item)
    assert rows == {}


def check_item(shown, at, item):
    is_sample = "mean" in item
    columns = {k: v[at].item() for k, v in shown["samples" if is_sample else "slices"].items()}
    assert columns["start"] == item["start_ps"] - shown["from"]
    assert columns["end"] == item["end_ps"] - shown["from"]
    assert columns["count"] == item["count"]
    if is_sample:
        assert columns["least"] == item["min"] and columns["most"] == item["max"]
        assert columns["mean"] == item["mean"] and columns["last"] == item["last"]
        return
    assert columns["id"] == item["id"]
    assert shown["names"][columns["name"]] == item["name"]
    length = item["end_ps"] - item["start_ps"]
    assert columns["busy"] == pytest.approx(item["busy_ps"] / length if length else 1, rel=1e-6)


def test_without_a_window_the_whole_profile_is_shown(server):
    shown = picture(server.ask("POST", "profiles/gpt/timeline", {"tracks": [8]}).body)
    span = server.get("profiles/gpt/tracks")
    assert (shown["from"], shown["to"]) == (int(span["from"]), int(span["to"]) + 1)
    assert shown["slices"]["count"].sum() == 6380


@pytest.mark.parametrize("body, reason", [
    ({"tracks": [99999]}, "track 99999 not found"),
    ({"tracks": "8"}, '"tracks" must be a list'),
    ({"tracks": [8], "width": 0}, "width"),
    ({"tracks": [8], "width": 10**9}, '"width" must be'),
    ({"tracks": [8], "from": "5", "to": "5"}, "before \"to\""),
    ({"tracks": [8], "from": "1.5"}, '"from" must be a time'),
    ({"tracks": [-1]}, "list of numbers"),
    ({"tracks": [0] * 10001}, "at most"),
    ([], "JSON object"),
    ("", "JSON object"),
    ("{", "JSON object"),
    ('{"tracks": [8]} x', "JSON object"),
])  # fmt: skip
def test_a_window_that_cannot_be_is_refused(server, body, reason):
    answer = server.ask("POST", "profiles/gpt/timeline", body)
    assert answer.status == 400 and reason in answer.error


def test_a_profile_that_is_made_again_is_shown_as_it_is_now(kymo, server, data):
    arguments = ["--data-path", data, "--display-name", "again", "--ingest-only", "--force"]
    kymo.ok("view", KINETO, *arguments)
    before = server.get("profiles/again/tracks")
    server.post("profiles/again/sql", {"query": "SELECT count(*) FROM Track"})
    server.ask("PUT", "profiles/again/markers/kept", {"a": 1})
    kymo.ok("view", GPT, *arguments)
    assert server.get("profiles/again/tracks") == server.get("profiles/gpt/tracks") != before
    [[count]] = server.post("profiles/again/sql", {"query": "SELECT count(*) FROM SystemProfileEvents"})["rows"]
    assert count == 15335
    assert server.get("profiles/again/markers/kept") == {"a": 1}
    server.ask("DELETE", "profiles/again")


# Events


def event_fields(event):
    return {f["name"]: f["value"] for group in event["groups"] for f in group["fields"]}


@pytest.mark.parametrize("name, table", [("gpt", "SystemProfileEvents"), ("gpt", "HloRun"), ("tpu run", "SystemProfileEvents")])
def test_details_are_all_there(server, sql, name, table):
    for row in sql(name, f"FROM {table} USING SAMPLE 5 ROWS (reservoir, 7)"):
        event = server.get(f"profiles/{urllib.parse.quote(name)}/events/{table}/{row['id']}")
        fields = event_fields({"groups": event["groups"][:4]})
        attributes = json.loads(row.pop("extra_attributes_json", None) or "{}")
        kept = {k: v for k, v in row.items() if v is not None}
        assert {k: int(v) if isinstance(kept[k], int) else v for k, v in fields.items()} == kept
        safe = {k: str(v) if isinstance(v, int) and abs(v) > 2**53 else v for k, v in attributes.items()}
        assert safe.items() <= event_fields(event).items()
        start = row["start_ts"] * 1000 + row.get("start_fraction_ps", 0)
        assert (event["id"], event["table"], event["track"]) == (row["id"], table, row["track_id"])
        assert int(event["start"]) == start
        duration = row["duration_ns"] * 1000 + row.get("duration_fraction_ps", 0)
        assert int(event["end"]) == start + duration
        titles = [group["title"] for group in event["groups"]]
        assert titles[:4] == ["General", "Timing", "IDs", "Data"]
        timing = {f["name"]: f for f in event["groups"][1]["fields"]}
        assert timing["duration_ns"]["unit"] == "ns" and timing["duration_ns"]["meaning"]


def test_a_kernel_tells_its_launch_and_its_operation(server, sql):
    [row] = sql("gpt", "FROM GpuKernel WHERE launch_event_id IS NOT NULL AND operation_id IS NOT NULL LIMIT 1")
    event = server.get(f"profiles/gpt/events/SystemProfileEvents/{row['id']}")
    titles = [group["title"] for group in event["groups"]]
    assert {"GpuKernel", "HloOperation", "Step"} <= set(titles)
    flows = sql("gpt", f"FROM Flow WHERE out_id = {row['id']} AND out_table = 'SystemProfileEvents'")
    assert {(p["id"], p["type"]) for p in event["predecessors"]} == {
        (flow["in_id"], flow["dependency_type"] or "") for flow in flows
    }
    assert row["launch_event_id"] in {p["id"] for p in event["predecessors"]}
    [launch] = [p for p in event["predecessors"] if p["id"] == row["launch_event_id"]]
    cause = server.get(f"profiles/gpt/events/SystemProfileEvents/{launch['id']}")
    assert (cause["name"], cause["track"], cause["start"]) == (
        launch["name"], launch["track"], launch["start"]
    )  # fmt: skip
    assert row["id"] in {s["id"] for s in cause["successors"]}
    assert server.get(f"profiles/gpt/events/GpuKernel/{row['id']}") == event


@pytest.mark.parametrize("name, table", [("gpt", "SystemProfileEvents"), ("gpt", "HloRun"), ("tpu run", "SystemProfileEvents"), ("kineto", "SystemProfileEvents")])
def test_an_event_tells_the_row_it_is_drawn_in(server, sql, name, table):
    """A window twice as long contains the event in that row and in no other."""
    place = urllib.parse.quote(name)
    for row in sql(name, f"SELECT id FROM {table} WHERE duration_ns > 0 USING SAMPLE 40 ROWS (reservoir, 3)"):
        event = server.get(f"profiles/{place}/events/{table}/{row['id']}")
        start, end = int(event["start"]), int(event["end"])
        shown = picture(server.ask("POST", f"profiles/{place}/timeline", {
            "tracks": [event["track"]], "width": 20000,
            "from": str(start - (end - start) // 2), "to": str(end + (end - start) // 2),
        }).body)  # fmt: skip
        rows = [r for _, r, first, count in shown["slice_rows"] if row["id"] in shown["slices"]["id"][first : first + count]]
        assert rows == [event["row"]]


@pytest.mark.parametrize("path", ["SystemProfileEvents/99999999", "SystemProfileEvents/x", "Track/1", "x'; --/1", "SystemProfileEvents/-1", "SystemProfileEvents/1e3"])
def test_an_event_that_is_not_there(server, path):
    answer = server.ask("GET", f"profiles/gpt/events/{urllib.parse.quote(path)}")
    assert answer.status == 404 and "not found" in answer.error


# Search


SEARCHES = [
    ("duration>15us", "duration_ns > 15000", "duration_ns > 15000"),
    ("duration>=18.015us duration<1ms", "duration_ns >= 18015 AND duration_ns < 1000000", "duration_ns >= 18015 AND duration_ns < 1000000"),
    ("name:fusion*", "lower(name) GLOB 'fusion*'", "lower(name) GLOB 'fusion*'"),
    ("name:FUSION_410", "name = 'fusion_410'", "false"),
    ("name~dot", "name ILIKE '%dot%'", "name ILIKE '%dot%'"),
    ("fusion reduce", "name ILIKE '%fusion%' AND name ILIKE '%reduce%'", "name ILIKE '%fusion%' AND name ILIKE '%reduce%'"),
    ('"Stream "', "name ILIKE '%stream %'", "name ILIKE '%stream %'"),
    ("core:0", "nc_idx = 0", None),
    ("core:0 duration>10us", "nc_idx = 0 AND duration_ns > 10000", None),
    ("kernel_count>1", None, "kernel_count > 1"),
    ("registers_per_thread>=128", "id IN (SELECT id FROM GpuKernel WHERE registers_per_thread >= 128)", None),
    ("opcode:fusion", "id IN (SELECT k.id FROM GpuKernel k JOIN HloOperation o ON o.id = k.operation_id WHERE o.opcode = 'fusion')", "operation_id IN (SELECT id FROM HloOperation WHERE opcode = 'fusion')"),
    ("layer~transpose", "id IN (SELECT k.id FROM GpuKernel k JOIN HloOperation o ON o.id = k.operation_id WHERE o.op_name ILIKE '%transpose%')", "operation_id IN (SELECT id FROM HloOperation WHERE op_name ILIKE '%transpose%')"),
    ("size>1KB", "id IN (SELECT id FROM GpuCopy WHERE size_bytes > 1000)", None),
    ("step:3", "step_id IN (SELECT id FROM Step WHERE number = 3)", "step_id IN (SELECT id FROM Step WHERE number = 3)"),
    ("function:step*", "event_type_id IN (SELECT event_type_id FROM PythonFrame WHERE lower(function_name) GLOB 'step*')", None),
    ("name:it's", "name = 'it''s'", "name = 'it''s'"),
    ("", "true", "true"),
]


@pytest.mark.parametrize("query, events, runs", SEARCHES)
def test_a_search_finds_what_sql_finds(server, sql, query, events, runs):
    parts = []
    if events:
        parts.append(f"SELECT 'SystemProfileEvents' AS tbl, id, track_id, name, start_ts*1000+start_fraction_ps AS start, duration_ns*1000+duration_fraction_ps AS dur FROM SystemProfileEvents WHERE {events}")
    if runs:
        parts.append(f"SELECT 'HloRun' AS tbl, id, track_id, name, start_ts*1000 AS start, duration_ns*1000 AS dur FROM HloRun WHERE {runs}")
    expected = sql("gpt", f"SELECT * FROM ({' UNION ALL '.join(parts)}) ORDER BY start, tbl DESC, id")
    found = server.get("profiles/gpt/search", q=query, limit=10000)
    hits = [(h["table"], h["id"], h["track"], h["name"], int(h["start"]), int(h["duration"])) for h in found["hits"]]
    assert hits == [tuple(row.values()) for row in expected][:10000]
    assert found["count"] == len(expected)
    assert sum(kind["total_ns"] for kind in found["kinds"]) == pytest.approx(sum(row["dur"] for row in expected) / 1000)
    # Kernels, operations and modules are the same work on tracks of different kinds: each has its own sums.
    kinds = {row["id"]: row["kind"] for row in sql("gpt", "SELECT l.id, if(d.role = 'host', 'host', l.role) AS kind"
                                                  " FROM Track l LEFT JOIN Track d ON d.id = l.parent_id")}  # fmt: skip
    by_kind, by_name = {}, {}
    for row in expected:
        kind = kinds[row["track_id"]]
        by_kind.setdefault((kind, row["tbl"]), []).append(row["dur"])
        by_name.setdefault((kind, row["name"]), []).append(row["dur"])
    assert {(kind["kind"], kind["table"]): (kind["count"], kind["total_ns"]) for kind in found["kinds"]} == {
        key: (len(times), pytest.approx(sum(times) / 1000)) for key, times in by_kind.items()}
    names = [kind for kind, _ in by_name]
    assert len(found["names"]) == sum(min(20, names.count(kind)) for kind in set(names))
    for entry in found["names"]:
        times = by_name[entry["kind"], entry["name"]]
        assert entry["count"] == len(times)
        assert entry["total_ns"] == pytest.approx(sum(times) / 1000)
        assert entry["max_ns"] == pytest.approx(max(times) / 1000)
    assert sum(t["count"] for t in found["kinds"]) == len(expected)


def test_events_are_found_by_the_name_that_is_shown(server, sql):
    """Names of operations on a TPU are whole instructions; shown is the first word."""
    (row,) = sql("tpu run", """SELECT display_name AS shown, count(*) AS count FROM SystemProfileEvents e JOIN EventType t ON t.id = e.event_type_id
        WHERE display_name <> t.name GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1""")
    assert server.get("profiles/tpu%20run/search", q=f'name:"{row["shown"]}"')["count"] == row["count"] > 10


def test_hits_come_in_pages(server):
    whole = server.get("profiles/gpt/search", q="fusion", limit=50)["hits"]
    pages = [server.get("profiles/gpt/search", q="fusion", limit=20, offset=o)["hits"] for o in (0, 20, 40)]
    assert sum(pages, [])[:50] == whole


@pytest.mark.parametrize("query, reason", [
    ("nosuch:1", "unknown field 'nosuch'"),
    ("duration>fast", "must be a number with ns, us, ms or s"),
    ("duration>1MB", "must be a number"),
    ("name>3", "is a string"),
    ("duration~3", "is a number"),
    ('name:"open', "quote"),
    ("name:", "missing value after name"),
    ("is_async:maybe", "true or false"),
    (" ".join(["x"] * 33), "too many conditions; 32"),
    ("x" * 5000, "bytes at most"),
    ("duration>0x10", "must be a number"),
    ("duration>1;DROP", "must be a number"),
])  # fmt: skip
def test_a_query_with_a_mistake_is_told(server, query, reason):
    answer = server.ask("GET", f"profiles/gpt/search?q={urllib.parse.quote(query)}")
    assert answer.status == 400 and reason in answer.error
    if "nosuch" in query:
        assert {"name", "duration", "opcode", "layer", "grid_x"} <= set(answer.json["fields"])


@pytest.mark.parametrize("word", ["'", "''", "\\", "%", "' OR 1=1 --", "[", "*[*", "a\\*", "\u2028", "x\ny"])
def test_nothing_in_a_query_becomes_sql(server, word):
    quoted = '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
    for query in (quoted, f"name:{quoted}", f"name~{quoted}"):
        answer = server.ask("GET", f"profiles/gpt/search?q={urllib.parse.quote(query)}")
        assert answer.status == 200, answer.body
        assert answer.json["count"] < 15335


def test_a_selection_adds_up(server, sql):
    start, end = 30_000_000_123, 34_000_000_456
    tracks = [8, 17, 18, 19]
    answer = server.post("profiles/gpt/selection", {"tracks": tracks, "from": str(start), "to": str(end)})
    rows = sql("gpt", f"""SELECT track_id, name, least(s + d, {end}) - greatest(s, {start}) AS d FROM (
        SELECT track_id, name, start_ts*1000+start_fraction_ps s, duration_ns*1000+duration_fraction_ps d FROM SystemProfileEvents
        UNION ALL SELECT track_id, name, start_ts*1000, duration_ns*1000 FROM HloRun)
        WHERE track_id IN (8, 17, 18, 19) AND s < {end} AND (s + d > {start} OR s >= {start})""")
    assert answer["count"] == len(rows) > 100
    assert answer["total_ns"] == pytest.approx(sum(row["d"] for row in rows) / 1000)
    assert answer["self_ns"] == pytest.approx(sum(entry["self_ns"] for entry in answer["names"]))
    assert sum(entry["self_ns"] for entry in answer["tracks"]) == pytest.approx(answer["self_ns"])
    assert 0 < answer["self_ns"] < answer["total_ns"]
    within = {event["id"]: event for event in nested(sql, 17, start, end)}
    [thread] = [entry for entry in answer["tracks"] if entry["track"] == 17]
    assert thread["self_ns"] == pytest.approx(sum(event["self"] for event in within.values()) / 1000, abs=len(within))
    over = {key: event["self"] for key, event in within.items() if event["s"] < start or event["e"] > end}
    assert {edge["id"]: int(edge["self"]) for edge in answer["edges"]} == over and len(over) > 1
    for entry in answer["names"]:
        times = [row["d"] / 1000 for row in rows if row["name"] == entry["name"]]
        assert entry["count"] == len(times) and entry["max_ns"] == pytest.approx(max(times))
        assert entry["mean_ns"] == pytest.approx(sum(times) / len(times), abs=0.001)
    assert {t["track"]: t["count"] for t in answer["tracks"]} == {
        track: sum(row["track_id"] == track for row in rows) for track in {row["track_id"] for row in rows}
    }
    for body in ({}, {"tracks": tracks}, {"tracks": [], "from": "0", "to": "1"}, {"tracks": tracks, "from": "5", "to": "4"}):
        assert server.ask("POST", "profiles/gpt/selection", body).status == 400


def nested(sql, track, start, end):
    """Events of a track in [start, end) with the innermost one around each and the time within the range that belongs to it:
    that of several events is the time of the one that started last."""
    rows = sql("gpt", f"""SELECT e.id, coalesce(nullif(t.display_name, ''), e.name) AS name, start_ts*1000+start_fraction_ps AS s,
        start_ts*1000+start_fraction_ps + duration_ns*1000+duration_fraction_ps AS e
        FROM SystemProfileEvents e JOIN EventType t ON t.id = e.event_type_id WHERE track_id = {track} ORDER BY s, e DESC, e.id""")
    events = [row | {"self": 0} for row in rows if row["s"] < end and (row["e"] > start or row["s"] >= start)]
    for at, event in enumerate(events):
        around = [other for other in events[:at] if other["e"] >= event["e"] and other["e"] > event["s"]]
        event["parent"] = around[-1] if around else None
        event["path"] = (*(event["parent"]["path"] if around else ()), event["name"])
    edges = sorted({start, end} | {max(start, min(end, edge)) for event in events for edge in (event["s"], event["e"])})
    open_events, at = [], 0
    for left, right in zip(edges, edges[1:]):
        while at < len(events) and events[at]["s"] <= left:
            open_events.append(events[at])
            at += 1
        open_events = [event for event in open_events if event["e"] > left]
        if open_events:
            open_events[-1]["self"] += right - left
    return events


@pytest.mark.parametrize("start, end", [(0, 2**50), (30_000_000_123, 34_000_000_456)])
@pytest.mark.slow
def test_a_flame_graph_is_the_call_tree(server, sql, start, end):
    events = nested(sql, 17, start, end)
    answer = server.post("profiles/gpt/flame", {"tracks": [17], "from": str(start), "to": str(end)})
    assert answer["count"] == len(events) > 100 and answer["left_out"] == 0
    nodes, found = answer["nodes"], {}
    for node in nodes:
        node["path"] = (*(nodes[node["parent"]]["path"] if node["parent"] >= 0 else ()), node["name"])
        found[node["path"]] = (node["count"], round(node["total_ns"] * 1000), round(node["self_ns"] * 1000))
    expected = {}
    for event in events:
        count, total, self_ps = expected.get(event["path"], (0, 0, 0))
        inside = min(end, event["e"]) - max(start, event["s"])
        expected[event["path"]] = (count + 1, total + inside, self_ps + event["self"])
    assert found == expected
    assert answer["total_ns"] == pytest.approx(sum(node["total_ns"] for node in nodes if node["parent"] < 0))


@pytest.mark.slow
def test_an_event_tells_its_self_time_and_the_events_around_and_inside_it(server, sql):
    events = nested(sql, 17, 0, 2**50)
    stored = {row["id"]: row["self_ns"] for row in sql("gpt", "SELECT id, self_ns FROM SystemProfileEvents WHERE track_id = 17")}
    assert {event["id"]: event["self"] // 1000 for event in events} == stored
    for event in events[:: len(events) // 8]:
        answer = server.get(f"profiles/gpt/events/SystemProfileEvents/{event['id']}")
        inside = [other["id"] for other in events if other["parent"] is event]
        assert (answer["parent"] or {}).get("id") == (event["parent"] or {}).get("id")
        assert answer["child_count"] == len(inside)
        assert [child["id"] for child in answer["children"]] == inside[:100]
        assert int(answer["self"]) == event["self"]


def test_an_event_tells_its_neighbors_in_its_row(server, sql):
    """Events of a stream do not nest: its row holds those that do not overlap, in order of time."""
    rows = {}
    for event in sql("gpt", """SELECT id FROM SystemProfileEvents WHERE track_id = 8 AND occurrence_count IS NULL
            ORDER BY start_ts, start_fraction_ps, id LIMIT 40"""):
        answer = server.get(f"profiles/gpt/events/SystemProfileEvents/{event['id']}")
        rows.setdefault(answer["row"], []).append(answer)
    for row in rows.values():
        ids = [event["id"] for event in row]
        assert [(event["next"] or {}).get("id") for event in row[:-1]] == ids[1:]
        assert [(event["previous"] or {}).get("id") for event in row] == [None, *ids[:-1]]
        assert row[0]["next"]["start"] == row[1]["start"]


def test_operations_lead_to_their_kernels_and_back(server, sql, kymo, data):
    kymo.ok("view", MATMUL, "--data-path", data, "--display-name", "matmul", "--ingest-only")
    [run] = sql("matmul", "FROM HloRun WHERE kind = 'operation' AND kernel_count > 1 ORDER BY id LIMIT 1")
    kernels = sql("matmul", f"""SELECT id FROM SystemProfileEvents WHERE track_id = {run['stream_track_id']}
        AND start_ts >= {run['start_ts']} AND end_ts <= {run['end_ts']} ORDER BY start_ts, id""")
    operation = server.get(f"profiles/matmul/events/HloRun/{run['id']}")
    assert [part["id"] for part in operation["parts"]] == [kernel["id"] for kernel in kernels]
    assert len(kernels) == run["kernel_count"]
    [module] = operation["part_of"]
    kernel = server.get(f"profiles/matmul/events/SystemProfileEvents/{kernels[0]['id']}")
    assert {part["id"] for part in kernel["part_of"]} == {run["id"], module["id"]}
    parts = server.get(f"profiles/matmul/events/HloRun/{module['id']}")["parts"]
    assert {part["table"] for part in parts} == {"HloRun"} and run["id"] in [part["id"] for part in parts]
    assert (operation["parts_count"], operation["part_of_count"]) == (len(kernels), 1)


def test_what_is_listed_in_part_is_counted_in_full(server, sql):
    [run] = sql("gpt", "FROM HloRun WHERE kind = 'module' ORDER BY duration_ns DESC LIMIT 1")
    [inside] = sql("gpt", f"""SELECT count(*) AS n FROM HloRun WHERE kind = 'operation' AND stream_track_id = {run['stream_track_id']}
        AND start_ts >= {run['start_ts']} AND end_ts <= {run['end_ts']}""")
    module = server.get(f"profiles/gpt/events/HloRun/{run['id']}")
    assert module["parts_count"] == inside["n"] > len(module["parts"]) == 100
    [launch] = sql("gpt", "SELECT in_id AS id, count(*) AS n FROM Flow WHERE dependency_type = 'launch' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1")
    answer = server.get(f"profiles/gpt/events/SystemProfileEvents/{launch['id']}")
    assert answer["successors_count"] == answer["launch_count"] == launch["n"] == len(answer["successors"])


# Markers


def test_markers_are_kept_by_name(server, data):
    assert server.get("profiles/gpt/markers") == {"sets": []}
    sets = {"one": [{"time": "5", "name": "größe"}], "a b": {"x": [1.5, None]}, "ü%2F": []}
    for name, content in sets.items():
        path = f"profiles/gpt/markers/{urllib.parse.quote(name)}"
        assert server.ask("PUT", path, content).status == 204
        assert server.get(path) == content
    assert server.get("profiles/gpt/markers") == {"sets": sorted(sets)}
    assert server.ask("PUT", "profiles/gpt/markers/one", [1]).status == 204
    assert server.get("profiles/gpt/markers/one") == [1]
    for name in sets:
        assert server.ask("DELETE", f"profiles/gpt/markers/{urllib.parse.quote(name)}").status == 204
    assert server.ask("GET", "profiles/gpt/markers/one").status == 404
    assert server.ask("DELETE", "profiles/gpt/markers/one").status == 404
    assert server.get("profiles/gpt/markers") == {"sets": []}


@pytest.mark.parametrize("name", ["..", ".x", "a%2Fb", "..%2F..%2Fx", "a%5Cb", "%01", "x" * 101])
def test_names_of_sets_that_cannot_be(server, name):
    answer = server.ask("PUT", f"profiles/gpt/markers/{name}", [])
    assert answer.status == 400 and "name of a marker set" in answer.error


def test_a_profile_has_a_thousand_marker_sets(server, data):
    folder = data / "notes" / "gpt" / "markers"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(999):
        (folder / f"{number}.json").write_text("[]")
    (folder / "unrelated").write_text("")
    assert server.ask("PUT", "profiles/gpt/markers/last", []).status == 204
    answer = server.ask("PUT", "profiles/gpt/markers/more", [])
    assert answer.status == 409 and "1000 per profile" in answer.error
    assert server.ask("PUT", "profiles/gpt/markers/last", [1]).status == 204
    shutil.rmtree(folder)


@pytest.mark.parametrize("body", ["", "x", "3", '"x"', "[1", "[] []"])
def test_markers_are_json(server, body):
    assert "JSON" in server.ask("PUT", "profiles/gpt/markers/x", body).error


# Tables and SQL


@pytest.mark.parametrize("name", ["gpt", "kineto"])
def test_tables_are_described(kymo, server, data, sql, name):
    tables = {table["name"]: table for table in server.get(f"profiles/{name}/tables")["tables"]}
    folder = data / "profiles/global" / f"{name}@latest"
    assert set(tables) == {path.stem for path in folder.glob("*.parquet")}
    described = {(r["table_name"], r["field_name"]): r for r in sql(name, "FROM SchemaFields")}
    for name, table in tables.items():
        parquet = pyarrow.parquet.read_metadata(folder / f"{name}.parquet")
        assert table["rows"] == parquet.num_rows and table["meaning"]
        for column in table["columns"]:
            field = described.pop((name, column["name"]))
            assert column["type"] == field["field_type"]
            assert column["unit"] == (field["field_unit"] or "")
            assert column["meaning"] == field["field_description"]
    assert not {table for table, _ in described} & set(tables)


def test_sql_says_what_the_command_line_says(server, sql):
    query = "SELECT id, name, flow_id, nc_idx, duration_ns/3 AS x, id % 2 = 0 AS b FROM SystemProfileEvents ORDER BY id LIMIT 300"
    answer = server.post("profiles/gpt/sql", {"query": query})
    assert [c["name"] for c in answer["columns"]] == ["id", "name", "flow_id", "nc_idx", "x", "b"]
    assert [c["kind"] for c in answer["columns"]] == ["number", "text", "json", "number", "number", "boolean"]
    assert answer["rows"] == [list(row.values()) for row in sql("gpt", query)]
    assert answer["truncated"] is False


def test_sql_is_cut_at_the_limit(server):
    answer = server.post("profiles/gpt/sql", {"query": "SELECT id FROM SystemProfileEvents ORDER BY id", "limit": 5})
    assert answer["rows"] == [[0], [1], [2], [3], [4]] and answer["truncated"]
    answer = server.post("profiles/gpt/sql", {"query": "SELECT 1 AS a WHERE false"})
    assert answer == {"columns": [{"name": "a", "kind": "number"}], "rows": [], "truncated": False}


def test_numbers_that_a_browser_cannot_hold_are_texts(server):
    rows = server.post("profiles/gpt/sql", {"query": "SELECT 9007199254740992, 9007199254740993, -9223372036854775808, 1e300, 'nan'::DOUBLE"})["rows"]
    assert rows == [[9007199254740992, "9007199254740993", "-9223372036854775808", 1e300, "nan"]]


def test_sql_as_csv(kymo, server, data):
    query = "SELECT id, name, flow_id FROM SystemProfileEvents ORDER BY id LIMIT 50"
    answer = server.ask("POST", "profiles/gpt/sql", {"query": query, "format": "csv"})
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert answer.body.decode() == kymo.ok("sql", "gpt", "--data-path", data, "--format", "csv", query)


@pytest.mark.parametrize("query, reason", [
    ("SELEC 1", "Parser Error"),
    ("SELECT * FROM nothing", "nothing"),
    ("SELECT 1; SELECT 2", "one statement"),
    ("CREATE TABLE x(i INT)", "only SELECT"),
    ("COPY (SELECT 1) TO '/tmp/x.csv'", "only SELECT"),
    ("SELECT * FROM read_csv('/etc/passwd')", "Permission"),
    ("", "empty"),
    ("SELECT nosuch FROM Track", "nosuch"),
    ("(" * 20000 + "1" + ")" * 20000, ""),
])  # fmt: skip
def test_sql_with_a_mistake_is_told(server, query, reason):
    answer = server.ask("POST", "profiles/gpt/sql", {"query": query})
    assert answer.status == 400 and reason in answer.error


@pytest.mark.parametrize("body", [{}, {"query": 3}, {"query": "SELECT 1", "format": "xml"}, {"query": "SELECT 1", "limit": -1}, {"query": "a\0b"}])
def test_sql_of_the_wrong_shape(server, body):
    assert server.ask("POST", "profiles/gpt/sql", body).status == 400


def test_explorers_queries_of_the_database(server, sql):
    path = "db/gpt/_search"
    query = "SELECT name, number FROM Step ORDER BY number"
    answer = server.post(path, {"type": "databaseExplorerQuery", "tableName": "Step", "query": query})
    assert answer["data"] == sql("gpt", query)
    schema = server.post(path, {"type": "tableSchema", "tableName": "Step"})["data"]
    assert [field["field_name"] for field in schema][:3] == ["id", "number", "name"]
    assert "Step.parquet" in server.post(path, {"type": "listDbFiles"})["data"]
    for body in ({}, {"type": "x"}, {"type": "databaseExplorerQuery"}):
        assert server.ask("POST", path, body).status == 400
    assert server.ask("POST", path, {"type": "tableSchema", "tableName": "x"}).status == 404


# Export


def test_a_profile_as_an_archive(kymo, server, data, tmp_path):
    answer = server.ask("GET", "profiles/gpt/export?format=parquet-tar")
    assert 'filename="gpt.tar"' in answer.headers["Content-Disposition"]
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as archive:
        # Python before 3.11.4 has no filters; from 3.14 on, they are the default.
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    folder = data / "profiles/global/gpt@latest"
    for path in folder.iterdir():
        assert (tmp_path / "profile" / path.name).read_bytes() == path.read_bytes()
    assert kymo.ok("sql", tmp_path / "profile") == kymo.ok("sql", folder)


@pytest.mark.slow
def test_a_profile_for_other_tools(kymo, server, data, tmp_path):
    folder = data / "profiles/global/tpu run@latest"
    commands = {
        "perfetto": ("pftrace", ["view", folder, "--output-format", "perfetto", "--output-file"]),
        "json": ("json", ["view", folder, "--output-format", "json", "--output-file"]),
        "xplane": ("xplane.pb", ["convert", folder]),
    }
    for name, (ending, command) in commands.items():
        answer = server.ask("GET", f"profiles/tpu%20run/export?format={name}")
        assert answer.status == 200, answer.body
        assert f'filename="tpu_run.{ending}"' in answer.headers["Content-Disposition"]
        kymo.ok(*command, tmp_path / f"profile.{ending}")
        assert answer.body == (tmp_path / f"profile.{ending}").read_bytes(), name
    assert not any((data / "exports").iterdir())


def test_a_table_as_csv(kymo, server, data):
    for table in ("SystemProfileEvents", "Step"):
        answer = server.ask("GET", f"profiles/gpt/export?format=csv&table={table}")
        expected = kymo.ok("sql", "gpt", "--data-path", data, "--format", "csv", f"FROM {table}")
        rows = list(csv.reader(io.StringIO(answer.body.decode())))
        assert sorted(rows) == sorted(csv.reader(io.StringIO(expected)))


@pytest.mark.parametrize("query, status", [("", 400), ("?format=xml", 400), ("?format=csv", 400), ("?format=csv&table=x", 404), ("?format=csv&table=../x", 404)])
def test_an_export_that_cannot_be(server, query, status):
    answer = server.ask("GET", f"profiles/gpt/export{query}")
    assert answer.status == status and answer.error


def test_sources_are_those_that_the_profile_names(server, sql):
    named = [row["f"] for row in sql("gpt", "SELECT DISTINCT source_file AS f FROM HloOperation WHERE source_file IS NOT NULL")]
    file = next(name for name in named if name.endswith("jax_gpt.py"))
    answer = server.ask("GET", f"profiles/gpt/source?file={urllib.parse.quote(file)}")
    assert (answer.status, answer.body) == (200, b"the source\n")
    assert answer.headers["Content-Type"].startswith("text/plain")
    for name in ("secret.py", "/etc/passwd", "../secret.py", file + "/../secret.py"):
        answer = server.ask("GET", f"profiles/gpt/source?file={urllib.parse.quote(name)}")
        assert answer.status == 404 and "does not mention" in answer.error
    assert server.ask("GET", "profiles/gpt/source").status == 400


def test_columns_that_an_earlier_version_did_not_write_are_not_asked_for(kymo, data, sql, tmp_path):
    folder = tmp_path / "data/profiles/global/gpt@latest"
    shutil.copytree(data / "profiles/global/gpt@latest", folder)
    for table, columns in (("GpuKernel", ["source_file", "source_line"]), ("SystemProfileEvents", ["self_ns"])):
        rows = pyarrow.parquet.read_table(folder / f"{table}.parquet")
        pyarrow.parquet.write_table(rows.drop(columns), folder / f"{table}.parquet")
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "jax_gpt.py").write_text("the source\n")
    found = sql("gpt", "SELECT o.source_file AS f, o.source_line AS l, count(*) AS n FROM GpuKernel k JOIN HloOperation o"
                " ON o.id = k.operation_id WHERE o.source_file LIKE '%jax_gpt.py' GROUP BY ALL ORDER BY n DESC, l LIMIT 1")[0]  # fmt: skip
    server = Server(kymo, "--data-path", tmp_path / "data", "--framework-source-root", tmp_path / "sources")
    try:
        answer = server.get(f"profiles/gpt/search?q={urllib.parse.quote('file~jax_gpt.py line:' + str(found['l']))}")
        assert sum(entry["count"] for entry in answer["kinds"] if entry["table"] == "SystemProfileEvents") == found["n"] > 0
        assert server.get("profiles/gpt/search?q=self_ns%3E1")["count"] == 0
        selected = json.loads(server.ask("POST", "profiles/gpt/selection", {"tracks": [8, 17], "from": "0", "to": "50000000000"}).body)
        assert selected["total_ns"] > 0 and selected["self_ns"] is None, "unknown, not 0"
        assert server.ask("GET", f"profiles/gpt/source?file={urllib.parse.quote(found['f'])}").body == b"the source\n"
        answer = server.ask("GET", "profiles/gpt/source?file=secret.py")
        assert answer.status == 404 and "does not mention" in answer.error
    finally:
        server.stop()


# The UI


def test_paths_outside_the_api_answer_with_a_page(server):
    for path in ("/", "/profile/gpt", "/profile/a%20b?x=1", "/compare/a/b"):
        answer = server.ask("GET", path)
        assert answer.status == 200 and answer.body.lower().startswith(b"<!doctype html>")
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert server.ask("GET", "/assets/none.js").status == 404
    assert server.ask("POST", "/").status == 405


def test_files_of_the_ui_are_embedded_packed_and_tagged(tmp_path):
    """The build step that embeds a folder, run on a test folder."""
    import gzip
    import hashlib

    from conftest import ROOT

    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>x")
    (folder / "assets" / "a-1.js").write_bytes(b"let x = 1;\n" * 100)
    (folder / "assets" / "i.png").write_bytes(b"\x89PNG")
    subprocess.run(
        ["cmake", f"-DFOLDER={folder}", f"-DWORK={tmp_path}/work", f"-DOUTPUT={tmp_path}/out.c",
         "-P", ROOT / "cmake" / "embed.cmake"], check=True, capture_output=True,
    )  # fmt: skip
    code = (tmp_path / "out.c").read_text()
    packed = [gzip.decompress(path.read_bytes()) for path in (tmp_path / "work").iterdir()]
    assert sorted(packed) == sorted([b"<!doctype html>x", b"let x = 1;\n" * 100])
    tag = hashlib.sha256(b"\x89PNG").hexdigest()[:24]
    assert f'{{"assets/i.png", "image/png", "{tag}", ' in code and "text/javascript; charset=utf-8" in code


# A log directory


def test_runs_of_a_log_directory_are_processed_on_request(kymo, tmp_path):
    logs = tmp_path / "logs"
    for place in ("plugins/profile/2026_01_01", "plugins/profile/2026_01_02", "b/plugins/profile/2026_01_01"):
        (logs / place).mkdir(parents=True)
        (logs / place / "host.xplane.pb").write_bytes(GPT.read_bytes())
    server = Server(kymo, logs, "--data-path", tmp_path / "data", command="serve")
    entries = {entry["name"]: entry for entry in server.get("profiles")["profiles"]}
    assert set(entries) == {"2026_01_01", "2026_01_02", "b_2026_01_01"}
    assert {entry["status"] for entry in entries.values()} == {"uploaded"}
    answer = server.ask("GET", "profiles/b_2026_01_01/tracks")
    assert answer.status == 409 and "not processed yet" in answer.error
    assert server.post("profiles/b_2026_01_01/process", status=202)["status"] == "uploaded"
    assert server.wait_for("b_2026_01_01", "ready")["events"] == 15335
    assert server.get("profiles/b_2026_01_01/tracks")["tracks"]
    assert server.get("profiles/2026_01_01")["status"] == "uploaded"
    assert server.ask("POST", "profiles/nope/process").status == 404
    server.stop()


def test_a_log_directory_that_is_one_run_has_its_name(kymo, tmp_path):
    logs = tmp_path / "one run"
    logs.mkdir()
    (logs / "x.xplane.pb").write_bytes(GPT.read_bytes())
    server = Server(kymo, logs, "--data-path", tmp_path / "data", command="serve")
    [entry] = server.get("profiles")["profiles"]
    assert entry["name"].endswith("one run")
    server.stop()


def test_a_log_directory_that_is_not_there(kymo, tmp_path):
    assert "No such file" in kymo.refuses("serve", tmp_path / "none", "--port", 0)
    assert "missing argument: a log directory" in kymo.refuses("serve", code=2)


# Speed


@pytest.mark.slow
def test_a_picture_of_fifty_tracks_is_quick(server):
    tracks = [t["id"] for t in server.get("profiles/gpt/tracks")["tracks"] if t["rows"]]
    tracks = (tracks * 50)[:50]
    connection = server.connect()
    times = []
    for _ in range(20):
        started = time.perf_counter()
        connection.request("POST", "/api/v1/profiles/gpt/timeline", json.dumps({"tracks": tracks, "width": 2000}))
        assert connection.getresponse().read()[:4] == b"KYTL"
        times.append(time.perf_counter() - started)
    connection.close()
    assert min(times) < 0.25
