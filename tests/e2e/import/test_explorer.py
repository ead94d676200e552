"""Neuron Explorer's JSON: system profiles, device profiles, and Kymo's own whole profiles."""

import collections
import gzip
import json
import random

import pytest

from conftest import CAPTURES, DATA, peak_memory, with_samples

EPOCH_NS = 1_729_888_371_056_597_613
SYSTEM = DATA / "neuron" / "system_profile.json"
DEVICE = DATA / "neuron" / "device_profile.json"
OWN = [*(DATA / "xplane" / f"{name}.xplane.pb" for name in CAPTURES),
       *sorted((DATA / "kineto").glob("*.json.gz")), SYSTEM, DEVICE,
       DATA / "neuron" / "system_trace.json"]
LANE_KEYS = {"name", "timestamp", "duration", "group", "instance_id", "process_id", "thread_id"}


def warnings(document):
    return [m["text"] for m in document["messages"] if m["level"] == "warning"]


def plain(document):
    """What an event says, without what Kymo works out, in the order of the tracks."""
    keys = ("track", "name", "start_ps", "duration_ps", "num_occurrences", "value", "args")
    events = [[e.get(key) for key in keys] for e in document["trace_events"]]
    return sorted(events, key=lambda event: event[0])


def ancestors(document):
    """The names of a track and of those above it, lane first, by track."""
    names = {}
    for track in document["tracks"]:
        names[track["track"]] = [track["name"], *names.get(track.get("parent"), [])]
    return names


def number(text):
    return int(text) if isinstance(text, str) else text


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name.split(".")[0])
def test_kymos_own_json_read_back_is_the_same_profile(kymo, tmp_path, path):
    copy = tmp_path / "copy.json"
    copy.write_text(kymo.ok("view", path, "--output-format", "json"))
    first = with_samples(json.loads(copy.read_text()))
    again = kymo.document(copy)
    assert plain(again) == plain(first)
    for key in ("tracks", "programs", "steps", "derived_rows", "start_epoch_ns", "messages",
                "mem_usage", "cpu_util", "system_profile_metadata"):
        assert again[key] == first[key], key
    assert len(again["flows"]) == len(first["flows"])


def test_events_lie_on_lanes_of_their_machine_process_and_core(kymo):
    document = kymo.document(SYSTEM)
    should = collections.Counter()
    for event in json.loads(SYSTEM.read_text())["trace_event"]:
        is_core = event["group"].startswith("nrt")
        args = {k: number(v) if k in ("size", "tensor_id") else v for k, v in event.items()
                if k not in LANE_KEYS and not (is_core and k in ("lnc_idx", "nc_idx"))}
        source = "/host:CPU"
        if is_core:
            kind = "/device:NEURON" if event["name"] == "nc_exec_running" else "/neuron_rt"
            source = f"{kind}:{event['lnc_idx']}"
        should[event["name"], event["timestamp"], event["duration"], event["instance_id"],
               event["process_id"], event["thread_id"], source, event["group"],
               json.dumps(args, sort_keys=True)] += 1
    tracks = ancestors(document)
    found = collections.Counter(
        (e["name"], e["timestamp"], e["duration"], e["instance_id"], e["process_id"],
         e["thread_id"], tracks[e["track"]][1], tracks[e["track"]][0],
         json.dumps(e.get("args", {}), sort_keys=True))
        for e in document["trace_events"] if "value" not in e)
    assert found == should


def test_usage_becomes_counters_and_tables(kymo, tmp_path):
    source = json.loads(SYSTEM.read_text())
    document = kymo.document(SYSTEM)
    order = lambda s: (s["instance_id"], s["timestamp"], s.get("cpu_id"))
    assert sorted(document["cpu_util"], key=order) == sorted(source["cpu_util"], key=order)
    assert sorted(document["mem_usage"], key=order) == sorted(source["mem_usage"], key=order)
    kymo.ok("view", SYSTEM, "--display-name", "x", "--data-path", tmp_path, "--ingest-only")
    sql = lambda query: kymo.json("sql", "x", query, "--format", "json", "--data-path", tmp_path)
    start = min(e["timestamp"] for e in source["trace_event"] + source["mem_usage"])
    rows = sql("SELECT timestamp, used_bytes, used_percent, instance_id FROM HostMemUsage")
    assert sorted((int(r["timestamp"]) + start, int(r["used_bytes"]), r["instance_id"])
                  for r in rows) == sorted(
        (s["timestamp"], s["usage"], s["instance_id"]) for s in source["mem_usage"])
    percents = {(s["instance_id"], s["timestamp"]): s["percent_usage"] for s in source["mem_usage"]}
    assert all(abs(float(r["used_percent"]) - percents[r["instance_id"], int(r["timestamp"]) + start]) < 1e-3 for r in rows)
    rows = sql("SELECT timestamp, util_percent, cpu_id, instance_id FROM CpuUsage")
    assert sorted((r["instance_id"], r["cpu_id"], int(r["timestamp"]) + start,
                   round(float(r["util_percent"]), 3)) for r in rows) == sorted(
        (s["instance_id"], s["cpu_id"], s["timestamp"], round(s["util"], 3))
        for s in source["cpu_util"])
    names = {t["name"] for t in document["tracks"] if t["level"] == "lane"}
    assert "device 0 hbm 1 weights_bytes" in names


def test_memory_that_was_not_recorded_is_not_zero(kymo, tmp_path):
    source = json.loads(SYSTEM.read_text())
    sample = source["mem_usage"][0]
    without_percent = {key: value for key, value in sample.items() if key != "percent_usage"}
    source["mem_usage"] = [{**sample, "usage": -1, "percent_usage": 50}, {**without_percent, "timestamp": sample["timestamp"] + 1, "usage": 0}]
    (tmp_path / "system_profile.json").write_text(json.dumps(source))
    assert [s["percent_usage"] for s in kymo.document(tmp_path / "system_profile.json")["mem_usage"]] == [50, None]
    kymo.ok("view", tmp_path / "system_profile.json", "--output-file", tmp_path / "first", "--output-format", "parquet")
    kymo.ok("view", tmp_path / "first", "--output-file", tmp_path / "again", "--output-format", "parquet")
    for profile in ("first", "again"):
        rows = kymo.json("sql", tmp_path / profile, "FROM HostMemUsage ORDER BY timestamp", "--format", "json")
        assert [(row["used_bytes"], row["used_percent"]) for row in rows] == [(None, 50), (0, None)]


def test_facts_beside_the_events_are_kept(kymo):
    document = kymo.document(SYSTEM)
    source = json.loads(SYSTEM.read_text())
    kept = [t["args"] for t in document["tracks"] if t["level"] == "instance" and "args" in t]
    assert kept == [{k: source[k] for k in ("system_profile_metadata", "device_profile_list")}]


def test_device_profiles_lie_on_rows_and_queues(kymo):
    document = kymo.document(DEVICE)
    source = json.loads(DEVICE.read_text())
    tracks = ancestors(document)
    found = [(tracks[e["track"]][0], e["name"], e["start_ps"] // 1000 + 900, e["duration"],
              e.get("args", {})) for e in document["trace_events"]]
    for item in source["instruction"]:
        args = {k: v for k, v in item.items()
                if k not in ("timestamp", "duration", "subgroup", "opcode")}
        args["hbm_read_bytes"] = 4096
        assert (item["subgroup"], item["opcode"], item["timestamp"], item["duration"],
                args) in found
    for item in source["dma"]:
        args = {k: v for k, v in item.items()
                if k not in ("timestamp", "duration", "subgroup", "variable")}
        assert (item["subgroup"], item["variable"], item["timestamp"], item["duration"],
                args) in found
    assert ("layer_summary", "Block/mlp", 1000, 1500, {"FLOPs": 123456}) in found
    assert len(found) == len(source["instruction"]) + len(source["dma"]) + 1
    assert {tracks[e["track"]][1] for e in document["trace_events"]} == {"/device:NEURON:1"}
    assert warnings(document) == source["warnings"]


def system_profile(rng, instance, key, events):
    items = [{"name": f"e{rng.randrange(9)}", "timestamp": EPOCH_NS + rng.randrange(10**9),
              "duration": rng.randrange(10**5), "group": f"nrt-nc-{rng.randrange(8):03d}",
              "instance_id": instance, "process_id": str(rng.randrange(3)), "thread_id": 5}
             for _ in range(events)]
    return {key: items, "mem_usage": [], "cpu_util": []}


@pytest.mark.parametrize("key", ["trace_events", "trace_event"])
def test_files_of_several_machines_are_one_profile(kymo, tmp_path, key):
    rng = random.Random(4)
    should = collections.Counter()
    for i in range(3):
        profile = system_profile(rng, f"i-{i}", key, 500)
        (tmp_path / f"{i}.json").write_text(json.dumps(profile, indent=i or None))
        for e in profile[key]:
            should[e["instance_id"], e["process_id"], e["name"], e["timestamp"],
                   e["duration"], e["group"]] += 1
    document = kymo.document(tmp_path)
    assert collections.Counter(
        (e["instance_id"], e["process_id"], e["name"], e["timestamp"], e["duration"], e["group"])
        for e in document["trace_events"]) == should


def test_the_kind_of_file_is_told_by_content_however_late(kymo, tmp_path):
    late = {"other": ["x" * 1000] * 200, "trace_event": [{"name": "a", "timestamp": EPOCH_NS}]}
    (tmp_path / "late.txt").write_text(json.dumps(late))
    assert len(kymo.document(tmp_path / "late.txt")["trace_events"]) == 1
    (tmp_path / "packed").write_bytes(gzip.compress(SYSTEM.read_bytes()))
    assert kymo.document(tmp_path / "packed")["format"] == "neuron-explorer"


def test_a_summary_is_no_profile(kymo, tmp_path):
    (tmp_path / "summary.json").write_text(kymo.ok("view", SYSTEM, "--output-format",
                                                   "summary-json"))
    assert "no captures found" in kymo.refuses("info", tmp_path)


def test_cut_files_are_read_as_far_as_they_go(kymo, tmp_path):
    text = SYSTEM.read_text()
    first = text.index('"trace_event":[{') + 300
    last = text.index('"mem_usage"')
    path = tmp_path / "cut.json"
    for size in random.Random(1).sample(range(first, last - 10), 12):
        path.write_text(text[:size])
        document = kymo.document(path)
        whole = text[:size].split('"trace_event":')[1].count("},{") + text[:size].endswith("}")
        assert len(document["trace_events"]) == whole
        assert "is truncated" in warnings(document)[0]


def test_damage_is_told_with_its_place(kymo, tmp_path):
    path = tmp_path / "bad.json"
    text = SYSTEM.read_text()
    place = text.index('"group"')
    path.write_text(text[:place] + "group" + text[place + 7:])
    message = kymo.refuses("view", path, "--output-format", "json")
    assert str(path) in message and f"byte {place}" in message


@pytest.mark.parametrize("text, names", [
    ('{"trace_events": [1, null, [], {}, {"name": 5, "timestamp": "x"}]}', ["", ""]),
    ('{"trace_event": [{"name": "a", "timestamp": 1.5, "duration": 0.25, "process_id": {}}]}',
     ["a"]),
    ('{"trace_event": [{"name": "a", "timestamp": 1e300, "duration": -5, "lnc_idx": "x"}]}',
     ["a"]),
    ('{"cpu_util": [{"util": "x"}, {"util": 5}, {"cpu_id": 3, "util": "7", "timestamp": 4}]}',
     ["util", "util"]),
    ('{"first_event_ps": 0, "tracks": [{"track": 0, "parent": 0, "level": "lane"}, 5, '
     '{"track": 1, "level": "process"}], "trace_events": [{"track": 0, "name": "a"}, '
     '{"track": -1, "event_type": -7, "name": "b"}]}', ["a", "b"]),
    ('{"first_event_ps": 0, "tracks": [{"track": 5, "level": "instance"}], '
     '"trace_events": [{"track": 5, "name": "a"}]}', ["a"]),
    ('{"instruction": [{}], "dma": [{"subgroup": "q\\u0000"}], "x": [{"timestamp": 3}]}',
     ["instruction", "dma", "x"]),
])
def test_odd_documents_lose_nothing(kymo, tmp_path, text, names):
    path = tmp_path / "odd.json"
    path.write_text(text)
    assert sorted(e["name"] for e in kymo.document(path)["trace_events"]) == sorted(names)


def test_perfetto_and_xplane_can_be_made_of_it(kymo, tmp_path):
    kymo.ok("view", SYSTEM, "--output-format", "perfetto", "--output-file", tmp_path / "t.pftrace")
    kymo.ok("convert", SYSTEM, tmp_path / "t.xplane.pb")
    count = len(kymo.document(SYSTEM)["trace_events"])
    assert len(kymo.document(tmp_path / "t.xplane.pb")["trace_events"]) == count


@pytest.mark.plain_build
@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(kymo, tmp_path):
    path = tmp_path / "large.json"
    rng = random.Random(2)
    block = json.dumps(system_profile(rng, "i-0", "trace_event", 1000)["trace_event"])[1:-1]
    with path.open("w") as file:
        file.write('{"trace_event": [' + block)
        for _ in range(449):
            file.write("," + block)
        file.write("]}")
    assert path.stat().st_size > 60 << 20
    out, memory = peak_memory([kymo.path, "view", path, "--output-format", "summary-json"])
    assert json.loads(out)["event_count"] == 450_000
    assert memory < 160 << 20
