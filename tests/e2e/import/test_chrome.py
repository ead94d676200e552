"""Chrome traces: Kineto's, JAX's and everybody's, against Python's own JSON reader."""

import gzip
import json
import shutil

import pytest
import zstandard

import chrome_model
import random_chrome
from conftest import DATA, with_samples

FILES = sorted([*(DATA / "kineto").glob("*.json.gz"), *(DATA / "xplane").glob("*.trace.json.gz")])
BASE_NS = 1_700_000_000_000_000_000


def complete(name, start, duration, pid=1, tid=1, **more):
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start, "dur": duration, **more}


def write(path, events, **facts):
    path.write_text(json.dumps({"traceEvents": events, **facts}))
    return path


def unpacked(path):
    return gzip.decompress(path.read_bytes()).decode()


def names(document):
    return [event["name"] for event in document["trace_events"]]


def warnings(document):
    return [m["text"] for m in document["messages"] if m["level"] == "warning"]


def tracks(document, level):
    return [t for t in document["tracks"] if t["level"] == level]


def source(document, name):
    (found,) = [t for t in tracks(document, "source") if t["name"] == name]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_every_event_is_the_one_python_reads(kymo, path):
    assert chrome_model.difference(kymo.document(path), unpacked(path)) is None


def closed(text):
    """A list without its last bracket is one all the same; Python's reader wants it."""
    text = text.strip()
    return text.rstrip("]").rstrip().rstrip(",") + "]" if text.startswith("[") else text


@pytest.mark.parametrize("seed", range(80))
def test_random_traces_of_all_phases_are_read_as_the_rules_say(kymo, tmp_path, seed):
    path = tmp_path / "random.json"
    text = random_chrome.make(seed)
    path.write_text(text, encoding="utf-8")
    document = kymo.document(path)
    assert chrome_model.difference(document, closed(text)) is None
    left_out = [w for w in warnings(document) if "without a begin" in w]
    dropped = chrome_model.read(closed(text)).dropped
    assert [int(w.split()[0]) for w in left_out] == ([dropped] if dropped else [])


@pytest.mark.parametrize("seed", range(1000, 1008))
def test_pieces_read_side_by_side_make_the_same_whole(kymo, tmp_path, seed):
    """Large enough to be cut; what begins in one piece ends in another."""
    path = tmp_path / "random.json"
    text = random_chrome.make(seed, padding=60_000)
    path.write_text(text, encoding="utf-8")
    assert len(text) > 2_000_000
    one = kymo.ok("view", path, "--output-format", "json", "--jobs", 1)
    many = kymo.ok("view", path, "--output-format", "json", "--jobs", 5)
    assert hash(one) == hash(many)
    assert chrome_model.difference(with_samples(json.loads(many)), closed(text)) is None


@pytest.mark.parametrize("pack, suffix", [(gzip.compress, "gz"), (zstandard.compress, "zst")])
def test_packed_traces_are_read(kymo, tmp_path, pack, suffix):
    path = tmp_path / f"trace.json.{suffix}"
    path.write_bytes(pack(json.dumps([complete("a", 1, 2)]).encode()))
    document = kymo.document(path)
    assert names(document) == ["a"]
    assert document["hosts"][0]["compression"] == {"gz": "gzip", "zst": "zstd"}[suffix]


def test_times_are_exact_to_the_picosecond(kymo, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(
        '[{"ph":"X","name":"a","ts":1661938466265032.000001,"dur":0.000001},'
        '{"ph":"X","name":"b","ts":"1661938466265032.1234565","dur":4.5439999999999996},'
        '{"ph":"X","name":"c","ts":1.661938466265033e15,"dur":2}]'
    )
    document = kymo.document(path)
    assert [(e["start_ps"], e["duration_ps"]) for e in document["trace_events"]] == [
        (1, 1), (123_457, 4_544_000), (1_000_000, 2_000_000),
    ]
    assert document["start_epoch_ns"] == 1_661_938_466_265_032_000


@pytest.mark.parametrize("facts, first_us, epoch_ns", [
    ({"baseTimeNanoseconds": BASE_NS}, 12.5, BASE_NS + 12_500),
    ({"baseTimeNanoseconds": str(BASE_NS)}, 12, BASE_NS + 12_000),
    ({}, 1_661_938_466_265_032, 1_661_938_466_265_032_000),
    ({}, 12.5, None),
])
def test_time_0_is_that_of_the_first_event(kymo, tmp_path, facts, first_us, epoch_ns):
    events = [complete("b", first_us + 5, 1), complete("a", first_us, 1)]
    document = kymo.document(write(tmp_path / "t.json", events, **facts))
    assert [e["start_ps"] for e in document["trace_events"]] == [5_000_000, 0]
    assert document["start_epoch_ns"] == epoch_ns
    assert source(document, "/host:CPU")["args"]["time_zero_ns"] == int(first_us * 1000)


def test_events_far_from_all_others_do_not_hide_them(kymo, tmp_path):
    path = write(tmp_path / "t.json", [complete("bad", 0, 1)] +
                 [complete(f"good {i}", 1_661_938_466_265_032 + i, 1) for i in range(5)])
    document = kymo.document(path)
    good = [e["start_ps"] for e in document["trace_events"] if e["name"] != "bad"]
    assert good == [i * 1_000_000 for i in range(5)]
    assert any("1 event is more than 53 days long or away" in w for w in warnings(document))


def small_trace():
    events = [complete("a \"quoted\" name", 1.25, 2, args={"k": [1, {"x": "y"}], "é": None}),
              {"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 3, "s": "t"},
              {"ph": "B", "name": "open", "pid": 1, "tid": 1, "ts": 4}]
    return {"traceEvents": events, "traceName": "x", "n": 1.5}


@pytest.mark.parametrize("form", [
    json.dumps(small_trace()), json.dumps(small_trace(), indent=1, ensure_ascii=False),
    json.dumps(small_trace()["traceEvents"]),
], ids=["object", "lines", "list"])
@pytest.mark.slow
def test_a_trace_cut_off_at_any_byte_is_read_as_far_as_it_goes(kymo, tmp_path, form, some):
    data = form.encode()
    path = tmp_path / "cut.json"
    spans = []  # of the events, in bytes
    at = form.index("[") + 1
    for _ in range(3):
        at = form.index("{", at)
        end = at + json.JSONDecoder().raw_decode(form[at:])[1]
        spans.append((len(form[:at].encode()), len(form[:end].encode())))
        at = end
    for size in some(range(1, len(data))):
        path.write_bytes(data[:size])
        result = kymo.run("view", path, "--output-format", "json")
        if size <= form.index("["):
            assert result.returncode == 1 and "cut.json" in result.stderr
            continue
        assert result.returncode == 0, (size, result.stderr)
        document = json.loads(result.stdout)
        assert document["event_count"] == sum(end <= size for _, end in spans), size
        is_told = any("is truncated" in w for w in warnings(document))
        is_inside = any(start < size < end for start, end in spans)
        assert is_told == (is_inside or form.startswith("{")), size  # a bare list may end anywhere


@pytest.mark.parametrize("text, where, what", [
    ('[{"ph":"X"} {"ph":"X"}]', 12, "expected a comma"),
    ('[{"ph":"X",}]', 11, "key"),
    ('[{"ph" "X"}]', 7, "colon"),
    ('[{"ph":"X","args":{"a":[1,2}}]', 27, "comma or a closing bracket"),
    ('[{"ph":"X","args":{"a":[1 2]}}]', 26, "comma or a closing bracket"),
    ('[{"ph":"X","ts":1.}]', 18, "malformed"),
    ('[{"ph":"X","ts":01}]', 18, "malformed"),
    ('[{"ph":"X","name":"\\x"}]', 19, "unknown escape"),
    ('[{"ph":"X","name":"\\u12g4"}]', 19, "hexadecimal"),
    ('[{"ph":tru}]', 7, "malformed"),
    ('[{"ph":"X"},2]', 12, "expected an event"),
    ('[{"ph":"X"}]x', 12, "after the end"),
    ('{"traceEvents":[{"ph":"X"}],"a":}', 32, "malformed"),
    ('{"traceEvents":[{"ph":"X"}]]', 27, "comma or a closing bracket"),
])
def test_damage_is_told_with_its_place(kymo, tmp_path, text, where, what):
    path = tmp_path / "damaged.json"
    path.write_text(text)
    message = kymo.refuses("view", path)
    assert what in message and f"(at byte {where})" in message


def test_damage_far_into_a_file_is_told_with_its_place(kymo, tmp_path):
    path = tmp_path / "damaged.json"
    text = json.dumps([complete("x" * 1000, i, 1) for i in range(5000)])
    at = text.index('"ts"', len(text) // 2)
    path.write_text(text[:at] + text[at + 1 :])
    for jobs in (1, 4):
        assert f"(at byte {at})" in kymo.refuses("view", path, "--jobs", jobs)


def test_brackets_are_nested_only_so_deep(kymo, tmp_path):
    path = tmp_path / "deep.json"
    for depth, ok in ((500, True), (600, False), (200_000, False)):
        path.write_text('[{"ph":"X","ts":1,"args":{"a":' + "[" * depth + "]" * depth + "}}]")
        if ok:
            assert kymo.document(path)["event_count"] == 1
        else:
            assert "nested too deeply" in kymo.refuses("view", path)


def test_what_is_json_but_no_trace_is_refused(kymo, tmp_path):
    path = tmp_path / "package.json"
    path.write_text('{"name": "x", "events": []}')
    assert "JSON without trace events" in kymo.refuses("view", path)
    path.write_text('{"traceEvents": "none"}')
    assert "JSON without trace events" in kymo.refuses("view", path)


@pytest.mark.parametrize("text", ["[]", '{"traceEvents":[]}', '{"traceEvents":[{}, null]}', '\ufeff {"traceEvents":[ ]}'])
def test_a_trace_without_events_is_one(kymo, tmp_path, text):
    path = tmp_path / "empty.json"
    path.write_text(text, encoding="utf-8")
    assert kymo.document(path)["event_count"] == 0


def test_texts_of_all_kinds_are_read(kymo, tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(
        rb'[{"ph":"i","ts":1,"name":"\ud83d\ude00\u00e9\n","args":{"\u0061":"\ud800!","b":"\udc00",'
        b'"c":"\xff\xe2\x82","d":["\xff","\\ud800","\\n\\"",NaN,-Infinity,1e999],"e":NaN,"e":Infinity,'
        b'"f":1e999,"g":"\tx","n\\u0061me":1}}]'
    )
    (event,) = kymo.document(path)["trace_events"]
    assert event["name"] == "\U0001f600é\n"
    bad = "\ufffd"
    assert event["args"] == {
        "a": bad + "!", "b": bad, "c": bad * 3, "d": [bad, bad, '\n"', "NaN", "-Infinity", float("inf")],
        "e": ["NaN", "Infinity"], "f": "Infinity", "g": "\tx", "name": 1,
    }


def test_keys_with_escapes_are_the_keys_they_stand_for(kymo, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(r'[{"\u0070h":"X","n\u0061me":"a","ts":1,"\u0064ur":2,"p\u0069d":"\u0061\\b","tid":3},'
                    r'{"ph":"X","name":"\u0061","ts":2,"dur":2,"pid":"a\\b","tid":3}]')
    document = kymo.document(path)
    assert names(document) == ["a", "a"]
    assert [p["name"] for p in tracks(document, "process")] == ["a\\b"]
    assert len(tracks(document, "lane")) == 1


def test_an_end_far_from_its_beginning_is_found(kymo, tmp_path):
    """Pairs are matched in the order of time, whatever the order in the file."""
    events = [{"ph": "E", "pid": 1, "tid": 1, "ts": 9, "args": {"late": 1}},
              {"ph": "B", "name": "inner", "pid": 1, "tid": 1, "ts": 2},
              {"ph": "E", "pid": 1, "tid": 1, "ts": 5},
              {"ph": "B", "name": "outer", "pid": 1, "tid": 1, "ts": 1, "args": {"early": 1}}]
    document = kymo.document(write(tmp_path / "t.json", events))
    found = {e["name"]: (e["duration_ps"], e.get("args")) for e in document["trace_events"]}
    assert found == {"inner": (3_000_000, None), "outer": (8_000_000, {"early": 1, "late": 1})}


def test_what_never_ends_lasts_as_long_as_its_thread(kymo, tmp_path):
    events = [{"ph": "B", "name": "open", "pid": 1, "tid": 1, "ts": 1}, complete("last", 5, 7),
              complete("elsewhere", 50, 7, tid=2), {"ph": "E", "pid": 1, "tid": 9, "ts": 3}]
    document = kymo.document(write(tmp_path / "t.json", events))
    found = {e["name"]: e["duration_ps"] for e in document["trace_events"]}
    assert found == {"open": 11_000_000, "last": 7_000_000, "elsewhere": 7_000_000}
    assert warnings(document) == ["1 end event without a begin was skipped"]


def test_each_series_of_a_counter_is_a_lane(kymo, tmp_path):
    events = [{"ph": "C", "name": "memory", "pid": 1, "ts": i, "args": {"used": i * 10, "free": 100 - i}}
              for i in range(3)] + [{"ph": "C", "name": "clock", "pid": 1, "ts": 1, "args": {"mhz": 1.5}}]
    document = kymo.document(write(tmp_path / "t.json", events))
    lanes = {lane["track"]: lane for lane in tracks(document, "lane")}
    assert all(lane["is_counter"] for lane in lanes.values())
    values = {}
    for event in document["trace_events"]:
        values.setdefault(lanes[event["track"]]["name"], []).append((event["start_ps"], event["value"]))
    assert values == {
        "memory: used": [(0, 0), (1_000_000, 10), (2_000_000, 20)],
        "memory: free": [(0, 100), (1_000_000, 99), (2_000_000, 98)],
        "clock": [(1_000_000, 1.5)],
    }


def test_arrows_link_the_events_at_their_ends(kymo, tmp_path):
    events = [{"ph": "s", "cat": "c", "name": "n", "id": 7, "pid": 1, "tid": 1, "ts": 1},
              {"ph": "t", "cat": "c", "name": "n", "id": "7", "pid": 1, "tid": 2, "ts": 2},
              {"ph": "f", "cat": "c", "name": "n", "id": 7, "pid": 1, "tid": 3, "ts": 3, "bp": "e"},
              {"ph": "f", "cat": "other", "name": "n", "id": 7, "pid": 1, "tid": 3, "ts": 4}]
    document = kymo.document(write(tmp_path / "t.json", events))
    lanes = {lane["track"]: lane["id"] for lane in tracks(document, "lane")}
    flows = {(lanes[f["from_track"]], lanes[f["to_track"]], f["to_event"]) for f in document["flows"]}
    assert flows == {(1, 2, 0), (1, 3, 0), (2, 2, 0), (2, 3, 0)}


def test_everything_beside_the_events_is_kept(kymo, tmp_path):
    facts = {"schemaVersion": 1, "displayTimeUnit": "ns", "otherData": {"a": [1, 2.5]}, "n": None,
             "deviceProperties": [{"id": 3, "name": "X", "numSms": 4}], "t": "te\"xt", "b": True,
             "cuda_driver_version": 13000, "big": 10**30,
             "ERROR": ["it broke"], "WARNING": ["beware", "take care"], "INFO": ["fine"]}
    events = [complete("k", 1, 1, pid=3, tid=7, cat="kernel", args={"stream": 7}), complete("h", 1, 1, cat="cpu_op"),
              {"ph": "M", "name": "process_name", "pid": 99, "args": {"name": "nobody"}},
              {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "CPU"}},
              {"ph": "M", "name": "num_cpus", "pid": 1, "args": {"number": 8}}]
    document = kymo.document(write(tmp_path / "t.json", events, **facts))
    args = source(document, "/host:CPU")["args"]
    assert args.pop("time_zero_ns") == 1000
    assert args.pop("metadata_without_events") == [events[2]]
    assert args.pop("process_labels") == "CPU" and args.pop("num_cpus") == {"number": 8}
    assert args == {key: value for key, value in facts.items() if key not in ("ERROR", "WARNING")}
    assert [(m["level"], m["text"]) for m in document["messages"]] == [
        ("error", "it broke"), ("warning", "beware"), ("warning", "take care")]
    device = source(document, "/device:GPU:3")["args"]
    assert device == {"gpu_device_name": "X", "core_count": 4}
    assert document["format"] == "kineto"


def test_a_device_and_a_process_may_have_the_same_id(kymo, tmp_path):
    """In a container the process is often number 1, and so is the second GPU."""
    events = [complete("op", 1, 9, pid=1, tid=1, cat="cpu_op"),
              complete("launch", 2, 1, pid=1, tid=1, cat="cuda_runtime", args={"correlation": 5}),
              complete("kernel", 4, 1, pid=1, tid=7, cat="kernel", args={"stream": 7, "correlation": 5}),
              {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 1, "tid": 1, "ts": 2},
              {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 1, "tid": 7, "ts": 4}]
    document = kymo.document(write(tmp_path / "t.json", events, schemaVersion=1))
    assert {s["name"]: s["parent"] for s in tracks(document, "source")} == {"/host:CPU": 1, "/device:GPU:1": 1}
    by_name = {lane["name"]: lane["event_count"] for lane in tracks(document, "lane")}
    assert by_name == {"thread 1": 3, "Stream #7": 1, "Stream #7 flows": 1}


def rank_file(path, rank=None, base_ns=BASE_NS, start=10, **facts):
    if rank is not None:
        facts["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    return write(path, [complete(f"of {path.name}", start, 1, pid=100 + start)], schemaVersion=1,
                 baseTimeNanoseconds=base_ns, **facts)


def test_ranks_in_a_directory_are_one_profile_on_one_clock(kymo, tmp_path):
    rank_file(tmp_path / "b.pt.trace.json", 0, start=50, host_name="machine")
    rank_file(tmp_path / "a.pt.trace.json", 1, base_ns=BASE_NS + 1000)
    (tmp_path / "config.json").write_text('{"not": "a trace"}')
    (tmp_path / "notes.json.txt").write_text("[")
    document = kymo.document(tmp_path)
    assert [(i["name"], i["sort_key"]) for i in tracks(document, "instance")] == [
        ("rank 1", 1), ("rank 0 (machine)", 0)]
    starts = {e["name"]: e["start_ps"] for e in document["trace_events"]}
    assert starts == {"of a.pt.trace.json": 0, "of b.pt.trace.json": (50 - 10 - 1) * 1_000_000}
    assert document["start_epoch_ns"] == BASE_NS + 11_000


def test_ranks_without_their_number_are_told_apart(kymo, tmp_path):
    rank_file(tmp_path / "trace_rank_3.json")
    rank_file(tmp_path / "same.json", 3)
    rank_file(tmp_path / "plain.json")
    assert [i["name"] for i in tracks(kymo.document(tmp_path), "instance")] == [
        "plain", "rank 3", "rank 3, trace_rank_3"]


def test_a_rank_whose_time_is_unknown_is_shown_from_the_start(kymo, tmp_path):
    rank_file(tmp_path / "a.json", 0)
    write(tmp_path / "b.json", [complete("b", 5, 1)])
    document = kymo.document(tmp_path)
    assert {e["name"]: e["start_ps"] for e in document["trace_events"]} == {"of a.json": 0, "b": 0}
    assert any("absolute time is unknown" in w for w in warnings(document))


def test_xplane_files_are_preferred_to_the_traces_beside_them(kymo, tmp_path):
    session = tmp_path / "plugins" / "profile" / "2026_01_01"
    session.mkdir(parents=True)
    for name in ("jax_gpt_python_h200.xplane.pb", "jax_gpt_python_h200.trace.json.gz"):
        shutil.copy(DATA / "xplane" / name, session)
    document = kymo.document(tmp_path)
    assert document["format"] == "xplane"
    assert [h["file"] for h in document["hosts"]] == [str(session / "jax_gpt_python_h200.xplane.pb")]
    (session / "jax_gpt_python_h200.xplane.pb").unlink()
    assert kymo.document(tmp_path)["format"] == "chrome"


def test_jax_writes_the_same_events_both_ways(kymo):
    """Its Chrome trace has no more than what the XPlane file has, on the same lanes."""
    ours = kymo.document(DATA / "xplane" / "jax_gpt_python_h200.trace.json.gz")
    theirs = kymo.document(DATA / "xplane" / "jax_gpt_python_h200.xplane.pb")
    zero = source(ours, "/device:GPU:0")["parent"]
    assert zero == source(ours, "/host:CPU")["parent"]

    def device_events(document, offset_ps):
        lanes = {t["track"] for t in tracks(document, "lane")
                 if t["parent"] == source(document, "/device:GPU:0")["track"]}
        return sorted((e["start_ps"] + offset_ps, e["duration_ps"], e["name"])
                      for e in document["trace_events"] if e["track"] in lanes)

    shift = source(ours, "/host:CPU")["args"]["time_zero_ns"] * 1000
    mine, wanted = device_events(ours, shift), device_events(theirs, 0)
    assert len(mine) == len(wanted) == 6400
    assert next((pair for pair in zip(mine, wanted) if pair[0] != pair[1]), None) is None
