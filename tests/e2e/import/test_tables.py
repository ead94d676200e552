"""Directories of Parquet tables, Explorer's or Kymo's own, read back as a profile."""

import collections
import json
import shutil

import pytest

from conftest import DATA, CAPTURES

FILES = [*(DATA / "xplane" / f"{name}.xplane.pb" for name in CAPTURES),
         DATA / "kineto" / "nccl_gpu_rank.json.gz", *sorted((DATA / "neuron").glob("*.json"))]
# What the published schema has; Kymo's tables have more columns, and there are more tables.
PUBLISHED = ["SystemProfileEvents", "CpuUsage", "HostMemUsage", "SystemProfileMetadata"]


def process(kymo, tmp_path, path):
    kymo.run("view", path, "--display-name", "x", "--data-path", tmp_path, "--ingest-only",
             check=True)
    return tmp_path / "profiles" / "global" / "x@latest"


def totals(document):
    """Events and the sum of their durations by name."""
    found = collections.Counter(), collections.Counter()
    for event in document["trace_events"]:
        found[0][event["name"]] += 1
        found[1][event["name"]] += event["duration"]
    return found


def plain(document):
    keys = ("track", "name", "start_ps", "duration_ps", "num_occurrences", "value")
    return sorted(([e.get(key) for key in keys] for e in document["trace_events"]), key=str)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_kymos_own_tables_are_the_profile_they_were_made_of(kymo, tmp_path, path):
    tables = process(kymo, tmp_path, path)
    first, again = kymo.document(path), kymo.document(tables)
    assert plain(again) == plain(first)
    assert again["format"] == "parquet"
    for key in ("steps", "start_epoch_ns", "mem_usage", "cpu_util", "system_profile_metadata"):
        assert again[key] == first[key], key
    assert [row["name"] for row in again["derived_rows"]] == [
        row["name"] for row in first["derived_rows"]]
    assert len(again["flows"]) == len(first["flows"])
    assert [m["text"] for m in again["messages"]] == [m["text"] for m in first["messages"]]


@pytest.mark.slow
def test_args_come_back_from_all_tables(kymo, tmp_path):
    path = DATA / "xplane" / "jax_gpt_python_h200.xplane.pb"
    first, again = kymo.document(path), kymo.document(process(kymo, tmp_path, path))
    by_place = {(e["track"], e["start_ps"], e["name"]): e.get("args", {})
                for e in again["trace_events"]}
    kernels = [e for e in first["trace_events"] if "kernel_details" in e.get("args", {})]
    assert len(kernels) > 100
    for event in first["trace_events"]:
        args = by_place[event["track"], event["start_ps"], event["name"]]
        for key in ("correlation_id", "hlo_op", "hlo_module", "group_id", "producer_id"):
            assert args.get(key) == event.get("args", {}).get(key), (key, event)


@pytest.mark.parametrize("path", [FILES[0], *FILES[-3:]],
                         ids=lambda path: path.name.split(".")[0])
def test_published_tables_alone_make_a_profile(kymo, tmp_path, path):
    tables = process(kymo, tmp_path, path)
    (tmp_path / "published").mkdir()
    for name in PUBLISHED:
        if (tables / f"{name}.parquet").exists():
            shutil.copy(tables / f"{name}.parquet", tmp_path / "published")
    first, again = kymo.document(path), kymo.document(tmp_path / "published")
    # Samples are there twice: as events, for Kymo, and in the tables of usage.
    samples = len(first["cpu_util"]) + 2 * len(first["mem_usage"])
    assert len(again["trace_events"]) == len(first["trace_events"]) + samples
    if not samples:
        assert totals(again) == totals(first)
    assert len(again["cpu_util"]) == len(first["cpu_util"])
    assert len(again["mem_usage"]) == len(first["mem_usage"])
    event = again["trace_events"][0]
    assert {"track_id", "event_type_id", "id"} <= set(event["args"])  # columns nobody knows


def test_published_tables_tell_cores_and_times(kymo, tmp_path):
    path = DATA / "neuron" / "system_trace.json"
    tables = process(kymo, tmp_path, path)
    (tables / "Track.parquet").unlink()
    first, again = kymo.document(path), kymo.document(tables)
    keys = ("name", "timestamp", "duration", "group", "lnc_idx", "instance_id")
    assert sorted([e.get(k) for k in keys] for e in again["trace_events"]) == sorted(
        [e.get(k) for k in keys] for e in first["trace_events"])


def test_a_profile_of_tables_can_be_processed_again(kymo, tmp_path):
    path = DATA / "neuron" / "system_profile.json"
    tables = process(kymo, tmp_path, path)
    kymo.run("view", tables, "--display-name", "again", "--data-path", tmp_path, "--ingest-only",
             check=True)
    count = "SELECT count(*) AS n, sum(duration_ns) AS ns FROM SystemProfileEvents"
    rows = [kymo.json("sql", name, count, "--format", "json", "--data-path", tmp_path)
            for name in ("x", "again")]
    assert rows[0] == rows[1]
    assert "174 events" in kymo.ok("info", tables)


def test_a_damaged_table_is_told(kymo, tmp_path):
    (tmp_path / "SystemProfileEvents.parquet").write_bytes(b"PAR1 and nothing else")
    assert "SystemProfileEvents" in kymo.refuses("info", tmp_path)


def test_a_table_without_the_columns_is_told(kymo, tmp_path):
    tables = process(kymo, tmp_path, DATA / "neuron" / "system_trace.json")
    (tmp_path / "other").mkdir()
    shutil.copy(tables / "Metadata.parquet", tmp_path / "other" / "SystemProfileEvents.parquet")
    assert "start_ts" in kymo.refuses("info", tmp_path / "other")
