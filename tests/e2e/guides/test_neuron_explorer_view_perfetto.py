"""neuron-explorer-view-perfetto: its commands, in its order, and what a click on an event shows."""

import pytest

from neuron_commands import INSTANCE, app, shell  # noqa: F401
from test_perfetto import Reading


def tracks(reading, name):
    """Process and row of the slices of a name, in the order of time."""
    found = sorted((slice_ for slice_ in reading.slices if slice_["name"] == name), key=lambda slice_: slice_["start"])
    return [(reading.tracks[slice_["track"].parent_uuid].process.process_name, slice_["track"].name) for slice_ in found]


@pytest.fixture(scope="module")
def reading(app, shell):  # noqa: F811
    shell("neuron-explorer view -d ./output --output-format perfetto")
    return Reading((shell.folder / "system_profile.pftrace").read_bytes())


def test_viewing_profiles_with_perfetto(reading, shell):  # noqa: F811
    names = {path.name for path in shell.folder.glob("*.pftrace")} - {"system_profile.pftrace"}
    (device,) = names
    assert device.startswith("device_profile_model_")
    rows = {track.name for track in Reading((shell.folder / device).read_bytes()).tracks.values()}
    assert any("Tensor" in row for row in rows)


def test_perfetto_output_view_options(app, shell):  # noqa: F811
    shell("neuron-explorer view -d ./output --output-format=perfetto --system-trace-primary-group=instance_id,process_id "
          "--system-trace-secondary-group=lnc_idx,thread_id --ignore-device-profile --output-file grouped.pftrace")
    by_thread = Reading((shell.folder / "grouped.pftrace").read_bytes())
    pid = by_thread.slices[0]["args"]["process_id"]
    assert tracks(by_thread, "nrt_tensor_write") == [
        (f"{INSTANCE}, process {pid}", f"core 0, thread {thread}") for thread in (app[0], app[0], app[1], app[1])]
    keys = {track.sibling_merge_key_int for track in by_thread.tracks.values() if track.name.startswith("core 0, thread")}
    assert len(keys) >= 2  # Perfetto shows tracks of one key in one row
    shell("neuron-explorer view -d ./output --output-format=perfetto --system-trace-primary-group=instance_id "
          "--system-trace-secondary-group=lnc_idx --ignore-device-profile --output-file grouped.pftrace")
    by_core = Reading((shell.folder / "grouped.pftrace").read_bytes())
    assert set(tracks(by_core, "nrt_tensor_write")) == {(INSTANCE, "core 0")}
    keys = {track.sibling_merge_key_int for track in by_core.tracks.values() if track.name == "core 0"}
    assert len(keys) == 1


def test_grouping_by_global_worker_id(app, reading):  # noqa: F811
    assert {row for _, row in tracks(reading, "nrt_tensor_write")} == {f"worker 0, core 0, thread {thread}" for thread in app}
    (execute,) = [slice_ for slice_ in reading.slices if slice_["name"] == "nrt_execute"]
    assert {key: execute["args"][key] for key in ("lnc_idx", "worker_gid", "instance_id", "thread_id")} == {
        "lnc_idx": 0, "worker_gid": 0, "instance_id": INSTANCE, "thread_id": app[0]}
    (running,) = [slice_ for slice_ in reading.slices if slice_["name"] == "nc_exec_running"]
    assert (running["args"]["lnc_idx"], running["args"]["worker_gid"]) == (0, 0)
    (opened,) = [slice_ for slice_ in reading.slices if slice_["name"] == "nrt_init"]  # is not about a core
    assert "lnc_idx" not in opened["args"] and opened["args"]["thread_id"] == app[0]
