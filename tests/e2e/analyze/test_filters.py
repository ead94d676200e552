"""Filters: what stays is what Python keeps of the whole, in every format."""

import collections
import json

import pytest

from conftest import DATA, with_samples

XPLANE = DATA / "xplane"
MATMUL = XPLANE / "jax_matmul_h200.xplane.pb"
TPU = XPLANE / "tpu_inference.xplane.pb"
NCCL = DATA / "kineto" / "nccl_gpu_rank.json.gz"
HARDWARE = ("gpu_hw", "tpu_hw", "device_hw")


def events(kymo, path, *options):
    document = kymo.document(path, *options)
    return [
        (e["instance_id"], e["group"], e["track"], e["name"], e["start_ps"], e.get("duration_ps"),
         e.get("args"), e.get("lnc_idx"))
        for e in document["trace_events"]
    ]  # fmt: skip


def is_hardware(event):
    return event[1].startswith(HARDWARE)


@pytest.fixture(scope="module", params=[MATMUL, TPU, NCCL], ids=lambda path: path.name)
def whole(request, kymo):
    return request.param, events(kymo, request.param)


def commonest(found, count):
    counts = collections.Counter(event[3] for event in found)
    return sorted(counts, key=lambda name: (-counts[name], name))[:count]


def plain(names):
    return [name for name in names if "," not in name and name == name.strip()]


def test_events_of_named_types_stay(kymo, whole):
    path, found = whole
    names = plain(commonest(found, 40))[:3]
    kept = events(kymo, path, "--system-trace-filter-event-type", ", ".join(names))
    assert kept and kept == [event for event in found if event[3] in names]


@pytest.mark.parametrize("group", ["hardware", "software"])
def test_groups_of_types(kymo, whole, group):
    path, found = whole
    kept = events(kymo, path, "--system-trace-filter-event-type", group)
    assert kept == [event for event in found if is_hardware(event) == (group == "hardware")]


def test_a_group_and_a_name_are_both_kept(kymo, whole):
    path, found = whole
    (name,) = plain(commonest([event for event in found if not is_hardware(event)], 20))[:1]
    kept = events(kymo, path, "--system-trace-filter-event-type", f"hardware,{name}")
    assert kept == [event for event in found if is_hardware(event) or event[3] == name]
    assert events(kymo, path, "--system-trace-filter-event-type", "hardware,software") == found


@pytest.mark.parametrize("cores", ["0", "1", "0,2", "1-2", "0-1,3", "0-3"])
def test_events_of_other_cores_go(kymo, whole, cores):
    path, found = whole
    wanted = set()
    for item in cores.split(","):
        first, _, last = item.partition("-")
        wanted |= set(map(str, range(int(first), int(last or first) + 1)))
    result = kymo.run("view", path, "--output-format", "json",
                      "--system-trace-filter-neuron-core", cores)  # fmt: skip
    there = {event[7] for event in found} - {None}
    kept = with_samples(json.loads(result.stdout))["trace_events"]
    assert [e["start_ps"] for e in kept] == [
        event[4] for event in found if event[7] is None or event[7] in wanted
    ]
    for item in cores.split(","):
        first, _, last = item.partition("-")
        is_known = there & set(map(str, range(int(first), int(last or first) + 1)))
        assert bool(is_known) != (f"no core matches '{item}'; there" in result.stderr)


def test_events_of_other_instances_go(kymo, tmp_path):
    for rank in range(3):
        (tmp_path / f"rank{rank}.json").write_text(json.dumps({
            "distributedInfo": {"rank": rank, "world_size": 3}, "schemaVersion": 1,
            "traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": i, "dur": 1, "name": f"e{i}",
                             "cat": "cpu_op"} for i in range(rank + 1)],
        }))  # fmt: skip
    found = events(kymo, tmp_path)
    instances = sorted({event[0] for event in found})
    assert len(instances) == 3
    for wanted in ([instances[0]], instances[1:], instances):
        kept = events(kymo, tmp_path, "--system-trace-filter-instance-id", ",".join(wanted))
        assert kept == [event for event in found if event[0] in wanted]
    result = kymo.run("view", tmp_path, "--output-format", "summary-json",
                      "--system-trace-filter-instance-id", f"i-nowhere,{instances[0]}")  # fmt: skip
    assert result.returncode == 0
    assert f"no instance matches 'i-nowhere'; there are {', '.join(instances)}" in result.stderr


def test_filters_combine(kymo):
    found = events(kymo, TPU)
    hardware = [event for event in found if event[7] == "1"]
    name = plain(commonest(hardware, 10))[0]
    kept = events(kymo, TPU, "--system-trace-filter-event-type", name,
                  "--system-trace-filter-neuron-core", "1")  # fmt: skip
    assert kept and kept == [e for e in found if e[3] == name and e[7] in (None, "1")]


def test_a_type_that_is_not_there_is_a_warning_that_lists_what_is(kymo):
    result = kymo.run("view", MATMUL, "--output-format", "summary-json",
                      "--system-trace-filter-event-type", "nrt_execute")  # fmt: skip
    assert result.returncode == 0
    assert "no event type matches 'nrt_execute'; there are" in result.stderr
    assert json.loads(result.stdout)["event_count"] == 0


@pytest.mark.parametrize(
    "option, value",
    [
        ("neuron-core", "a"), ("neuron-core", "3-1"), ("neuron-core", "-1"), ("neuron-core", ""),
        ("neuron-core", "0,,1"), ("neuron-core", "0-"), ("neuron-core", "99999999999"),
        ("event-type", ""), ("event-type", "a,,b"), ("instance-id", ","),
    ],
)  # fmt: skip
def test_lists_that_cannot_be_read_are_wrong_usage(kymo, option, value):
    result = kymo.run("view", MATMUL, f"--system-trace-filter-{option}={value}")
    assert result.returncode == 2 and result.stdout == ""
    assert "filter" in result.stderr or "core" in result.stderr


@pytest.mark.parametrize("format", ["summary-text", "summary-json", "json", "perfetto"])
def test_every_format_is_filtered(kymo, tmp_path, format):
    sizes = []
    for options in ([], ["--system-trace-filter-event-type", "software"]):
        out = tmp_path / f"out{len(options)}"
        kymo.ok("view", MATMUL, "--output-format", format, "--output-file", out, *options)
        sizes.append(out.stat().st_size)
    assert sizes[1] < sizes[0]


def test_a_filtered_profile_has_only_what_stays(kymo, tmp_path):
    found = events(kymo, MATMUL)
    kymo.ok("view", MATMUL, "--output-file", tmp_path / "p", "--ingest-only",
            "--system-trace-filter-event-type", "hardware")  # fmt: skip
    rows = json.loads(kymo.ok("sql", tmp_path / "p", "SELECT count(*) AS n, sum(duration_ns) AS d "
                              "FROM SystemProfileEvents", "--format", "json"))  # fmt: skip
    kept = [event for event in found if is_hardware(event)]
    assert rows[0]["n"] == len(kept)
    shown = kymo.json("timeline", tmp_path / "p", "--width", 1)["tracks"]
    assert sum(t["event_count"] for t in shown if t["table"] == "SystemProfileEvents") == len(kept)


def test_many_threads_and_one_give_the_same(kymo):
    options = ["--system-trace-filter-event-type", "hardware,PjitFunction(f)"]
    outputs = [
        kymo.run("view", MATMUL, "--output-format", "json", "--jobs", jobs, *options).stdout
        for jobs in (1, 4)
    ]
    assert outputs[0] == outputs[1]
