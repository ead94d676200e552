"""kymo convert --merge: a recording and an XPlane file of the same process as one."""

import random
import subprocess

import pytest

import xspace
from conftest import DATA, ROOT

GUEST = DATA / "xplane" / "jax_matmul_h200.xplane.pb"


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recording")
    subprocess.run([ROOT / "bin" / "examples" / "training", "3"], check=True, capture_output=True,
                   env={"NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": str(folder)})
    [session] = folder.iterdir()
    return session


def planes(path):
    return {plane.name.decode(): plane for plane in xspace.load(path).planes}


def events_of(plane, line):
    names = {entry.key: entry.value.name for entry in plane.event_metadata}
    return [(line.timestamp_ns * 1000 + event.offset_ps, -event.duration_ps, names.get(event.metadata_id)) for event in line.events]


def test_threads_of_both_are_one_line_in_time_order(kymo, tmp_path, recording):
    alone, whole = tmp_path / "alone.xplane.pb", tmp_path / "whole.xplane.pb"
    kymo.ok("convert", recording, alone)
    ours, guest = planes(alone), xspace.load(GUEST)
    [host] = [plane for plane in guest.planes if plane.name == b"/host:CPU"]
    thread = ours["/host:CPU"].lines[0].id
    host.lines[0].id = thread  # as if it were the same thread
    merged = tmp_path / "guest.xplane.pb"
    merged.write_bytes(guest.SerializeToString())
    kymo.ok("convert", recording, whole, "--merge", merged)
    result = planes(whole)
    assert {plane.name.decode() for plane in guest.planes} <= set(result)
    [line] = [line for line in result["/host:CPU"].lines if line.id == thread]
    found = events_of(result["/host:CPU"], line)
    assert [event[:2] for event in found] == sorted(event[:2] for event in found)
    theirs = events_of(host, host.lines[0])
    mine = events_of(ours["/host:CPU"], ours["/host:CPU"].lines[0])
    assert set(theirs) <= set(found) and len(found) == len(mine) + len(theirs)
    assert sorted(name for _, _, name in found) == sorted(name for _, _, name in mine + theirs)
    lines = {line.id: events_of(host, line) for line in host.lines[1:]}
    assert {line.id: events_of(result["/host:CPU"], line) for line in result["/host:CPU"].lines if line.id in lines} == lines
    times = {stat.uint64_value for stat in result["Task Environment"].stats if stat.uint64_value}
    assert times == {stat.uint64_value for plane in guest.planes if plane.name == b"Task Environment" for stat in plane.stats
                     if stat.uint64_value}, "times are relative to the guest's start"


@pytest.mark.parametrize("seed", range(12))
def test_damaged_files_are_refused_or_merged_and_never_crash(kymo, tmp_path, recording, seed):
    choice = random.Random(seed)
    data = bytearray(GUEST.read_bytes())
    for _ in range(choice.choice([1, 5, 200])):
        data[choice.randrange(len(data))] = choice.randrange(256)
    damaged = tmp_path / "damaged.pb"
    damaged.write_bytes(data[:choice.choice([len(data), choice.randrange(len(data))])])
    result = kymo.run("convert", recording, tmp_path / "out.xplane.pb", "--merge", damaged)
    assert result.returncode in (0, 1) and "Sanitizer" not in result.stderr and "runtime error" not in result.stderr, result.stderr
    assert (result.returncode == 0) == (tmp_path / "out.xplane.pb").exists()
