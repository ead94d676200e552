"""System traces of Neuron's runtime as JSON: pairs, clocks, lanes."""

import collections
import gzip
import json
import random

import pytest

import systrace_model as model
from conftest import DATA, peak_memory
from systrace_model import EPOCH_NS, record


def write(path, records, **more):
    path.write_text(model.text(records, **more))
    return path


def warnings(document):
    return [m["text"] for m in document["messages"] if m["level"] == "warning"]


def events(document, name):
    return [e for e in document["trace_events"] if e["name"] == name]


def epoch(document, event):
    return document["start_epoch_ns"] + event["start_ps"] // 1000


def pairs_by_force(records):
    """How many stops find the latest open start of their type, core and tracking id."""
    open_starts = collections.defaultdict(list)
    pairs = lone = 0
    for r in sorted(records, key=lambda r: r["timestamp_ns"]):
        key = r["event_type"], r["nc_idx"], r["tracking_id"]
        if r.get("phase") == "start":
            open_starts[key].append(r)
        elif r.get("phase") == "stop":
            if open_starts[key]:
                open_starts[key].pop()
                pairs += 1
            else:
                lone += 1
    return pairs, sum(map(len, open_starts.values())), lone


def by_lane(found):
    """Sorted starts and durations by name and core."""
    lanes = collections.defaultdict(list)
    for name, core, start, duration in found:
        lanes[name, core].append((start, duration))
    return {key: sorted(values) for key, values in lanes.items()}


@pytest.mark.parametrize("seed", range(12))
def test_events_have_the_times_of_their_clocks(kymo, tmp_path, seed):
    records, meant, syncs = model.make(seed)
    path = write(tmp_path / "t.json", model.order(records, random.Random(seed)))
    document = kymo.document(path)
    cores = {t["track"]: int(t["name"].split("-")[-1]) for t in document["tracks"]
             if t["level"] == "lane"}
    found = by_lane((e["name"], cores[e["track"]], epoch(document, e), e["duration_ps"] // 1000)
                    for e in document["trace_events"])
    should = by_lane(meant)
    assert {k: len(v) for k, v in found.items()} == {k: len(v) for k, v in should.items()}
    for (name, core), times in should.items():
        adjusted = name in model.HARDWARE and syncs[core] > 0
        if adjusted and syncs[core] == 1:
            continue  # one point cannot tell the drift
        tolerance = 20 if adjusted else 0
        for (start, duration), is_found in zip(times, found[name, core], strict=True):
            assert abs(start - is_found[0]) <= tolerance
            assert abs(duration - is_found[1]) <= tolerance


@pytest.mark.parametrize("seed", range(20, 28))
def test_reused_tracking_ids_pair_as_by_force(kymo, tmp_path, seed):
    records, _, _ = model.make(seed, ids=20)
    path = write(tmp_path / "t.json", model.order(records, random.Random(seed)))
    document = kymo.document(path)
    pairs, lone_starts, lone_stops = pairs_by_force(records)
    points = sum("phase" not in r for r in records)
    assert len(document["trace_events"]) == pairs + lone_starts + lone_stops + points
    numbers = [int(w.split()[0]) for w in warnings(document)]
    assert numbers == [n for n in (lone_starts, lone_stops) if n]


def test_one_sync_point_gives_the_offset(kymo, tmp_path):
    path = write(tmp_path / "t.json", [
        record("nc_exec_running", "start", EPOCH_NS, 0, 1, exec_id=7, nc_timestamp_ns=1000),
        record("nc_exec_running", "stop", EPOCH_NS + 1, 0, 1, nc_timestamp_ns=4000),
        record("timestamp_sync_point", None, EPOCH_NS + 9, 0, 2, exec_id=7,
               cpu_timestamp_ns=EPOCH_NS + 5000, nc_timestamp_ns=4500),
    ])
    document = kymo.document(path)
    (run,) = events(document, "nc_exec_running")
    assert (epoch(document, run), run["duration_ps"]) == (EPOCH_NS + 1500, 3_000_000)
    (sync,) = events(document, "timestamp_sync_point")
    assert epoch(document, sync) == EPOCH_NS + 5000
    assert run["args"]["nc_timestamp_ns"] == [1000, 4000]
    assert run["args"]["timestamp_ns"] == [EPOCH_NS, EPOCH_NS + 1]


def test_the_sync_point_of_the_same_execution_counts(kymo, tmp_path):
    sync = lambda run, host, device: record(
        "timestamp_sync_point", None, host, 0, 100 + run, exec_id=run, cpu_timestamp_ns=host,
        nc_timestamp_ns=device)
    path = write(tmp_path / "t.json", [
        sync(1, EPOCH_NS, 0), sync(2, EPOCH_NS + 1_000_000, 1_000_000),
        sync(3, EPOCH_NS + 2_000_500, 2_000_000),
        record("cc_running", None, EPOCH_NS, 0, 5, exec_id=3, nc_timestamp_ns=2_000_000),
        record("hw_notify", None, EPOCH_NS, 0, 6, exec_id=2, nc_timestamp_ns=1_000_000),
    ])
    document = kymo.document(path)
    assert epoch(document, events(document, "cc_running")[0]) == EPOCH_NS + 2_000_500
    assert epoch(document, events(document, "hw_notify")[0]) == EPOCH_NS + 1_000_000


def test_without_sync_points_the_host_times_stay(kymo, tmp_path):
    path = write(tmp_path / "t.json", [
        record("nc_exec_running", "start", EPOCH_NS, 0, 1, nc_timestamp_ns=1000),
        record("nc_exec_running", "stop", EPOCH_NS + 70, 0, 1, nc_timestamp_ns=4000),
    ])
    document = kymo.document(path)
    (run,) = document["trace_events"]
    assert (epoch(document, run), run["duration_ps"]) == (EPOCH_NS, 70_000)


def test_data_of_both_ends_become_args_once(kymo, tmp_path):
    path = write(tmp_path / "t.json", [
        record("nrt_execute", "start", EPOCH_NS, 3, 9, model_name="a \"b\"", n=[1, {"x": 2}]),
        record("nrt_execute", "stop", EPOCH_NS + 5, 3, 9, status=0, model_name="a \"b\""),
        record("nrt_load", "start", EPOCH_NS, 3, 10),
    ], tool="x")
    document = kymo.document(path)
    whole, open_start = document["trace_events"]
    assert whole["args"] == {
        "tracking_id": 9, "model_name": 'a "b"', "n": [1, {"x": 2}], "status": 0}
    assert open_start["args"] == {"tracking_id": 10, "phase": "start"}
    assert whole["group"] == "nrt-nc-003" and whole["lnc_idx"] == "3"
    process = next(t for t in document["tracks"] if t["level"] == "process")
    assert process["args"] == {"data_version": 2, "tool": "x"}


def test_the_runtime_and_its_core_are_one_worker(kymo, tmp_path):
    path = write(tmp_path / "t.json", [
        record("nrt_execute", None, EPOCH_NS, 5, 1), record("hw_notify", None, EPOCH_NS, 5, 2),
        record("hw_notify", None, EPOCH_NS, 6, 3)])
    document = kymo.document(path)
    assert [e["worker_gid"] for e in document["trace_events"]] == [0, 0, 1]
    assert [e["group"] for e in document["trace_events"]] == [
        "nrt-nc-005", "neuron_hw-nc-005", "neuron_hw-nc-006"]
    only = kymo.document(path, "--system-trace-filter-event-type", "hardware")
    assert [e["name"] for e in only["trace_events"]] == ["hw_notify"] * 2


def test_physical_cores_have_lanes_and_clocks_of_their_own(kymo, tmp_path):
    path = write(tmp_path / "t.json", [
        r for core in (6, 7) for r in (
            record("nc_exec_running", "start", EPOCH_NS, 3, core, exec_id=1, device_core_idx=core,
                   nc_timestamp_ns=core * 10**6),
            record("nc_exec_running", "stop", EPOCH_NS, 3, core, nc_timestamp_ns=core * 10**6 + 50),
            record("timestamp_sync_point", None, EPOCH_NS, 3, 10 + core, device_core_idx=core,
                   cpu_timestamp_ns=EPOCH_NS + 100, nc_timestamp_ns=core * 10**6))])
    document = kymo.document(path)
    runs = events(document, "nc_exec_running")
    assert [epoch(document, e) - EPOCH_NS for e in runs] == [100, 100]
    assert [e["duration_ps"] for e in runs] == [50_000] * 2
    assert len({e["track"] for e in runs}) == 2


def test_files_of_a_directory_are_one_profile(kymo, tmp_path):
    for i in range(3):
        write(tmp_path / f"i-{i}.json", [record("nrt_load", None, EPOCH_NS + i * 10**9, 0, 1)])
    document = kymo.document(tmp_path)
    assert [e["start_ps"] for e in document["trace_events"]] == [i * 10**12 for i in range(3)]
    assert [e["instance_id"] for e in document["trace_events"]] == ["i-0", "i-1", "i-2"]


def test_whatever_it_is_called_content_decides(kymo, tmp_path):
    text = model.text([record("nrt_load", None, EPOCH_NS, 0, 1)])
    (tmp_path / "noname").write_bytes(gzip.compress(text.encode()))
    assert kymo.document(tmp_path / "noname")["format"] == "neuron-system-trace"
    (tmp_path / "other").write_text('{"data_version":2,"events":[]}')
    assert kymo.document(tmp_path / "other")["trace_events"] == []


def test_cut_files_are_read_as_far_as_they_go(kymo, tmp_path):
    records = [record("nrt_load", None, EPOCH_NS + i, 0, i) for i in range(5)]
    text = model.text(records)
    path = tmp_path / "t.json"
    for size in range(len('{"events": [{') + 80, len(text), 7):
        path.write_text(text[:size])
        document = kymo.document(path)
        assert len(document["trace_events"]) == text[:size].count("}") - (size > len(text) - 1)
        assert "is truncated" in warnings(document)[0]


def test_damage_is_told_with_its_place(kymo, tmp_path):
    path = tmp_path / "t.json"
    text = model.text([record("nrt_load", None, EPOCH_NS, 0, 1)] * 2)
    place = text.index('"nc_idx"')
    path.write_text(text.replace('"nc_idx"', "nc_idx", 1))
    message = kymo.refuses("view", path, "--output-format", "json")
    assert str(path) in message and f"byte {place}" in message


@pytest.mark.parametrize("items, names", [
    ('1, null, "x", {}, {"event_type": 5}, {"event_type": "a", "data": 3}', ["", "", "a"]),
    ('{"phase": "start"}, {"phase": "stop", "timestamp_ns": "5"}', [""]),
    ('{"phase": "stop", "timestamp_ns": 4}, {"phase": "start", "timestamp_ns": "5"}', ["", ""]),
    ('{"event_type": "a\\u0000b", "nc_idx": 1e99, "data": {"": []}}', ["a\0b"]),
])
def test_odd_records_are_kept(kymo, tmp_path, items, names):
    path = tmp_path / "t.json"
    path.write_text('{"data_version": 2, "events": [' + items + "]}")
    assert [e["name"] for e in kymo.document(path)["trace_events"]] == names


def test_a_time_far_away_does_not_hide_the_others(kymo, tmp_path):
    path = write(tmp_path / "t.json", [
        record("a", None, time, 0, 1) for time in (0, EPOCH_NS, EPOCH_NS + 1, EPOCH_NS + 2)])
    document = kymo.document(path)
    starts = [e["start_ps"] for e in document["trace_events"]]
    assert [s - starts[1] for s in starts[1:]] == [0, 1000, 2000]
    assert "52 days away" in warnings(document)[0]


def test_perfetto_parquet_and_xplane_can_be_made_of_it(kymo, tmp_path):
    records, meant, _ = model.make(5)
    path = write(tmp_path / "t.json", records)
    kymo.ok("view", path, "--output-format", "perfetto", "--output-file", tmp_path / "t.pftrace")
    kymo.ok("convert", path, tmp_path / "t.xplane.pb")
    count = len(kymo.document(path)["trace_events"])
    assert len(kymo.document(tmp_path / "t.xplane.pb")["trace_events"]) == count
    kymo.run("view", path, "--display-name", "t", "--data-path", tmp_path / "data", "--ingest-only", check=True)
    rows = kymo.json("sql", "t", "SELECT trace_event_source, count(*) AS n FROM SystemProfileEvents"
                     " GROUP BY ALL", "--format", "json", "--data-path", tmp_path / "data")
    assert sum(int(r["n"]) for r in rows) == count
    assert {r["trace_event_source"] for r in rows} == {"neuron_rt", "neuron_hw"}


@pytest.mark.plain_build
@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(kymo, tmp_path):
    path = tmp_path / "large.json"
    forms = [json.dumps(record("nrt_execute", phase, -1001, -1002, -1003, model_name="m" * 90)) for phase in ("start", "stop")]
    forms = [form.replace("-1001", "%(time)d").replace("-1002", "%(core)d").replace("-1003", "%(id)d") for form in forms]
    records = (forms[i % 2] % {"time": EPOCH_NS + i * 1000, "core": i // 2 % 64, "id": i // 2} for i in range(400_000))
    path.write_text('{"data_version": 2, "events": [' + ",".join(records) + "]}")
    assert path.stat().st_size > 80 << 20
    _, memory = peak_memory([kymo.path, "view", path, "--output-format", "summary-json"])
    assert memory < 160 << 20


def test_events_that_the_runtime_dropped_are_told(kymo, tmp_path):
    load = [record("nrt_load", phase, EPOCH_NS + time, 0, 1) for time, phase in ((0, "start"), (5, "stop"))]
    path = write(tmp_path / "trace.json", load, lost_events=7)
    result = kymo.run("view", path, "--output-format", "summary-json")
    assert result.stderr.startswith("WARN[0000] Warning: 7 trace events were dropped during capture (stored 2 out of 9 total events).")
    assert json.loads(result.stdout)["dropped_events"] == 7
