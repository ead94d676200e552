"""Perfetto traces, read with the official message classes and stacked as Perfetto's own reader does."""

import base64
import collections
import json

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import random_space
import xspace
from conftest import DATA

GPT = DATA / "xplane" / "jax_gpt_python_h200.xplane.pb"


class Reading:
    """A trace as a viewer sees it: tracks with slices, instants and samples."""

    def __init__(self, data):
        trace = Trace()
        trace.ParseFromString(data)
        self.tracks, self.names, self.keys, self.texts, self.categories = {}, {}, {}, {}, {}
        self.slices, self.samples, self.flows = [], [], collections.defaultdict(list)
        self.epoch = None
        events = collections.defaultdict(list)
        for index, packet in enumerate(trace.packet):
            assert packet.trusted_packet_sequence_id == 1
            assert (packet.sequence_flags & 1) == (index == 0), "state begins with the first packet"
            if packet.HasField("clock_snapshot"):
                clocks = {c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks}
                assert set(clocks) == {1, 6} and clocks[1] == clocks[6]
                self.epoch = clocks[6]
            if packet.HasField("interned_data"):
                self.intern(packet.interned_data)
            if packet.HasField("track_descriptor"):
                assert packet.track_descriptor.uuid not in self.tracks
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                assert packet.sequence_flags & 2
                assert packet.track_event.track_uuid in self.tracks, "told before it is used"
                events[packet.track_event.track_uuid].append(packet)
        for uuid, packets in events.items():
            packets.sort(key=lambda packet: packet.timestamp)  # stable, as Perfetto's sorter is
            self.stack(uuid, packets)

    def intern(self, data):
        for known, entries in (
            (self.names, data.event_names),
            (self.keys, data.debug_annotation_names),
            (self.categories, data.event_categories),
        ):
            known.update((entry.iid, entry.name) for entry in entries)
        self.texts.update(
            (e.iid, e.str.decode("utf-8", "replace")) for e in data.debug_annotation_string_values
        )

    def value(self, annotation):
        kind = annotation.WhichOneof("value")
        if kind is None:
            return None
        value = getattr(annotation, kind)
        if kind == "string_value_iid":
            return self.texts[value]
        return json.loads(value) if kind == "legacy_json_value" else value

    def args(self, event):
        found = collections.defaultdict(list)
        for annotation in event.debug_annotations:
            key = annotation.name or self.keys[annotation.name_iid]
            found[key].append(self.value(annotation))
        return {key: values[0] if len(values) == 1 else values for key, values in found.items()}

    def stack(self, uuid, packets):
        open_slices = []
        for packet in packets:
            event, time = packet.track_event, packet.timestamp - self.epoch
            if event.type == TrackEvent.TYPE_COUNTER:
                self.samples.append((self.tracks[uuid].name, time, event.double_counter_value))
                continue
            if event.type == TrackEvent.TYPE_SLICE_END:
                slice_ = open_slices.pop()
                slice_["end"] = time
                continue
            slice_ = {
                "track": self.tracks[uuid], "name": self.names[event.name_iid], "start": time,
                "end": time, "args": self.args(event), "is_slice": event.type == TrackEvent.TYPE_SLICE_BEGIN,
                "category": [self.categories[iid] for iid in event.category_iids],
            }  # fmt: skip
            for flow in event.flow_ids:
                self.flows[flow].append(slice_)
            self.slices.append(slice_)
            if slice_["is_slice"]:
                open_slices.append(slice_)
        assert open_slices == []


def plain(value):
    """Values as JSON has them: bytes as base64, numbers that JSON cannot have as texts."""
    return json.dumps(value, sort_keys=True)


def normal(value):
    if isinstance(value, float) and value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list):
        return [normal(item) for item in value]
    return value


def read(kymo, capture, tmp_path, *options):
    out = tmp_path / "out.pftrace"
    kymo.ok("view", capture, "--output-format", "perfetto", "--output-file", out, *options)
    return Reading(out.read_bytes())


def floor_ns(ps):
    return ps // 1000


def expected_slices(document):
    labels = {t["event_type"]: t.get("display_name") for t in document["event_types"]}
    counters = {t["track"] for t in document["tracks"] if t.get("is_counter")}
    for event in document["trace_events"]:
        if event["track"] in counters:
            continue
        args = dict(event.get("args", {}))
        if "num_occurrences" in event:
            args |= {"num_occurrences": event["num_occurrences"], "duration_ps": event["duration_ps"]}
            start = end = 0
        else:
            start = floor_ns(event["start_ps"])
            end = floor_ns(event["start_ps"] + max(event["duration_ps"], 0))
        if "step" in event:
            args["step"] = event["step"]
        yield (labels.get(event.get("event_type")) or event["name"], start, end, plain(args))
    for row in document["derived_rows"]:
        for run in row["events"]:
            args = {key: run[key] for key in ("kernel_count", "step", "op_name", "source_file", "source_line") if key in run}
            yield (run["name"], floor_ns(run["start_ps"]), floor_ns(run["start_ps"] + run["duration_ps"]), plain(args))


def found_slices(reading):
    for slice_ in reading.slices:
        args = {key: normal(value) for key, value in slice_["args"].items()}
        yield (slice_["name"], slice_["start"], slice_["end"], plain(args))


def assert_same(reading, document):
    ours, theirs = sorted(found_slices(reading)), sorted(expected_slices(document))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        assert one == other


def test_every_event_is_a_slice_with_all_its_args(kymo, capture, tmp_path):
    document = kymo.document(capture)
    reading = read(kymo, capture, tmp_path)
    assert reading.epoch == document["start_epoch_ns"]
    assert_same(reading, document)
    assert not reading.flows


@pytest.mark.parametrize("seed", range(12))
def test_random_spaces_are_shown_whole(kymo, tmp_path, seed):
    path = tmp_path / "x.xplane.pb"
    path.write_bytes(random_space.make(seed).SerializeToString())
    assert_same(read(kymo, path, tmp_path), kymo.document(path))


@pytest.mark.slow
def test_flows_join_launches_with_what_they_launched(kymo, tmp_path):
    document = kymo.document(GPT)
    reading = read(kymo, GPT, tmp_path, "--show-perfetto-flows")
    pairs = set()
    for members in reading.flows.values():
        host = [s for s in members if s["category"] == ["framework"]]
        device = [s for s in members if s["category"] == ["gpu_hw"]]
        pairs |= {(h["name"], h["start"], d["name"], d["start"]) for h in host for d in device}
    events = document["trace_events"]
    first = {}
    for i, event in enumerate(events):
        first.setdefault(event["track"], i)
    for flow in document["flows"]:
        if flow["kind"] != "launch":
            continue
        cause = events[first[flow["from_track"]] + flow["from_event"]]
        effect = events[first[flow["to_track"]] + flow["to_event"]]
        assert (cause["name"], floor_ns(cause["start_ps"]), effect["name"], floor_ns(effect["start_ps"])) in pairs


def parents(reading):
    return {
        (reading.tracks[t.parent_uuid].process.process_name, t.name)
        for t in reading.tracks.values()
        if t.parent_uuid
    }


def test_tracks_are_grouped_by_machine_process_worker_core_and_thread(kymo, tmp_path):
    found = parents(read(kymo, GPT, tmp_path))
    assert ("vm, process 1210", "worker 0, core 0, Stream #15(MemcpyH2D)") in found
    assert ("vm, process 1210", "python3") in found
    assert ("vm, process 1210", "XLA Ops") in found


@pytest.mark.slow
def test_groups_can_be_chosen(kymo, tmp_path):
    found = parents(
        read(kymo, GPT, tmp_path, "--system-trace-primary-group", "lnc_idx",
             "--system-trace-secondary-group", "worker_gid")
    )  # fmt: skip
    assert {("host", "host"), ("core 0", "worker 0")} <= found
    reading = read(kymo, GPT, tmp_path, "--system-trace-secondary-group", "thread_id")
    assert_same(reading, kymo.document(GPT))


@pytest.mark.parametrize("option", ["--system-trace-primary-group", "--system-trace-secondary-group"])
def test_an_unknown_field_is_an_error_that_lists_the_valid_ones(kymo, option):
    message = kymo.refuses("view", GPT, "--output-format", "perfetto", option, "thread_id,core", code=2)
    for word in ("'core'", "instance_id", "process_id", "thread_id", "lnc_idx", "worker_gid"):
        assert word in message


def test_options_of_perfetto_do_not_go_with_other_formats(kymo):
    message = kymo.refuses("view", GPT, "--output-format", "json", "--show-perfetto-flows", code=2)
    assert "--show-perfetto-flows requires --output-format perfetto" in message


def test_without_a_name_the_file_has_the_documented_one(kymo, tmp_path):
    kymo.ok("view", GPT, "--output-format", "perfetto", cwd=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["system_profile.pftrace"]


def test_counters_are_counter_tracks(kymo, tmp_path):
    space = xspace.XSpace(hostnames=[b"h"])
    writer = xspace.PlaneWriter(space, "/device:GPU:0")
    line = writer.line("_counters_")
    for i in range(5):
        writer.event(line, "power", 1000 * i, 0, value=1.5 * i)
    path = tmp_path / "c.xplane.pb"
    path.write_bytes(space.SerializeToString())
    reading = read(kymo, path, tmp_path)
    assert [(name, value) for name, _, value in reading.samples] == [("power", 1.5 * i) for i in range(5)]
    assert [t.HasField("counter") for t in reading.tracks.values() if t.name == "power"] == [True]


def test_two_runs_write_the_same_bytes(kymo, tmp_path):
    for name, jobs in (("a", 1), ("b", 2)):
        kymo.ok("view", GPT, "--output-format", "perfetto", "--output-file", tmp_path / name, "-j", jobs)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_bytes_and_texts_of_any_kind_survive(kymo, tmp_path):
    space = xspace.XSpace(hostnames=[b"h"])
    writer = xspace.PlaneWriter(space, "/host:CPU")
    writer.event(writer.line("main"), "event", 5, 10_000, raw=b"\x00\xff", text="a\nb", big=2**64 - 1, low=-(2**63))
    path = tmp_path / "b.xplane.pb"
    path.write_bytes(space.SerializeToString())
    (found,) = read(kymo, path, tmp_path).slices
    args = found["args"]
    assert base64.b64decode(args["raw"]["base64"]) == b"\x00\xff"
    assert (args["text"], args["big"], args["low"]) == ("a\nb", 2**64 - 1, -(2**63))


class GpuReading:
    """Render stages and counters of GPUs, resolved as Perfetto's own reader does for gpu_slice."""

    def __init__(self, data):
        trace = Trace()
        trace.ParseFromString(data)
        self.stages, self.samples, self.contexts, specifications, counters = [], [], {}, {}, {}
        epoch = next(c.timestamp for p in trace.packet for c in p.clock_snapshot.clocks)
        for packet in trace.packet:
            specifications.update((s.iid, s) for s in packet.interned_data.gpu_specifications)
            self.contexts.update((c.iid, c) for c in packet.interned_data.graphics_contexts)
            if packet.HasField("gpu_render_stage_event"):
                assert packet.sequence_flags & 2
                stage = packet.gpu_render_stage_event
                kind, queue = specifications[stage.stage_iid], specifications[stage.hw_queue_iid]
                assert self.contexts[stage.context].api == 4, "CUDA"
                self.stages.append((stage.name, kind.name, queue.name, packet.timestamp - epoch, stage.duration, stage))
            event = packet.gpu_counter_event
            counters.update((s.counter_id, s.name) for s in event.counter_descriptor.specs)
            self.samples += [(counters[c.counter_id], packet.timestamp - epoch, c.double_value) for c in event.counters]


def gpu_trace(kymo, capture, path):
    kymo.ok("view", capture, "--output-format", "perfetto", "--perfetto-gpu-stages", "--output-file", path)
    return path.read_bytes()


@pytest.mark.slow
def test_gpu_streams_become_render_stages_instead_of_tracks(kymo, tmp_path):
    data = gpu_trace(kymo, GPT, tmp_path / "t.pftrace")
    (device,) = [plane for plane in xspace.load(GPT).planes if plane.name == b"/device:GPU:0"]
    names = {e.key: e.value.name.decode() for e in device.event_metadata}
    keys = {e.key: e.value.name.decode() for e in device.stat_metadata}
    expected = []
    for line in device.lines:
        for event in line.events if line.name.startswith(b"Stream") else []:
            correlation = [s.uint64_value or s.int64_value for s in event.stats if keys[s.metadata_id] == "correlation_id"]
            expected.append((line.timestamp_ns * 1000 + event.offset_ps, event.duration_ps, names[event.metadata_id],
                             line.name.decode(), correlation[0] if correlation else 0))  # fmt: skip
    reading = GpuReading(data)
    assert len(reading.contexts) == 1 and len(reading.stages) == len(expected) > 6000
    first = min(expected)[0]
    assert collections.Counter((name, queue, stage.submission_id) for name, _, queue, *_, stage in reading.stages) == collections.Counter(
        (name, queue, correlation) for *_, name, queue, correlation in expected
    )
    origin = min(stage[3] for stage in reading.stages)
    for shown, known in zip(sorted((s[3] - origin, s[4]) for s in reading.stages), sorted((e[0] - first, e[1]) for e in expected)):
        assert shown == pytest.approx((known[0] / 1000, known[1] / 1000), abs=1.5)
    assert {kind for _, kind, *_ in reading.stages} == {"Kernel", "Memcpy", "Memset"}
    assert len({stage.event_id for *_, stage in reading.stages}) == len(expected)
    launches = [stage for _, kind, *_, stage in reading.stages if kind == "Kernel"]
    for stage in launches:
        details = {e.name: e.value for e in stage.extra_data}["kernel_details"]
        grid, block = stage.launch.grid_size, stage.launch.workgroup_size
        assert f"grid:{grid.x},{grid.y},{grid.z} block:{block.x},{block.y},{block.z}" in details
    assert not any(track.name.startswith("Stream #") for track in Reading(data).tracks.values())


def test_counters_of_a_gpu_become_gpu_counters(kymo, tmp_path):
    space = xspace.XSpace()
    xspace.task_environment(space, 10**18, 10**18 + 1)
    device = xspace.PlaneWriter(space, "/device:GPU:0")
    device.event(device.line("Stream #1(Kernel)"), "fusion", 0, 10**6)
    line = device.line("_counters_", 7)
    for time in range(5):
        device.event(line, "sm__throughput", time * 10**6, value=1.5 * time)
        device.event(line, "dram", time * 10**6, value=100 - time)
    (tmp_path / "t.xplane.pb").write_bytes(space.SerializeToString())
    reading = GpuReading(gpu_trace(kymo, tmp_path / "t.xplane.pb", tmp_path / "t.pftrace"))
    assert [stage[:3] for stage in reading.stages] == [("fusion", "Kernel", "Stream #1(Kernel)")]
    assert sorted(reading.samples) == sorted(
        (name, 1000 * time, value) for time in range(5) for name, value in (("sm__throughput", 1.5 * time), ("dram", 100 - time))
    )


def test_gpu_stages_are_for_perfetto_only(kymo):
    assert "requires --output-format perfetto" in kymo.refuses("view", GPT, "--perfetto-gpu-stages", code=2)
