"""A system's profile and those of its devices: documents of their own, and each can be left out."""

import json
import shutil

import pytest

from conftest import DATA, with_samples

SYSTEM = DATA / "neuron" / "system_profile.json"
DEVICE = DATA / "neuron" / "device_profile.json"
NAMES = ["system_profile", "device_profile_model_1432", "device_profile_model_other"]


@pytest.fixture
def capture(tmp_path):
    directory = tmp_path / "capture"
    directory.mkdir()
    shutil.copy(SYSTEM, directory / "system_profile.json")
    shutil.copy(DEVICE, directory / "device_profile_model_1432.json")
    shutil.copy(DEVICE, directory / "other.json")
    return directory


def events(document):
    return [(e["name"], e["start_ps"], e["duration_ps"]) for e in document["trace_events"]]


@pytest.mark.parametrize("ending, format", [("json", "json"), ("pftrace", "perfetto")])
def test_each_part_has_a_file_of_the_documented_name(kymo, capture, tmp_path, ending, format):
    out = tmp_path / "out"
    out.mkdir()
    kymo.ok("view", "-d", capture, "--output-format", format, cwd=out)
    assert sorted(path.name for path in out.iterdir()) == sorted(f"{n}.{ending}" for n in NAMES)


def test_parts_hold_what_their_files_hold(kymo, capture, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    kymo.ok("view", "-d", capture, "--output-format", "json", "--output-file", out / "all.json")
    assert sorted(path.name for path in out.iterdir()) == [
        "all.json", *sorted(f"{name}.json" for name in NAMES[1:])
    ]  # fmt: skip
    alone = {path: kymo.document(path) for path in (SYSTEM, DEVICE)}
    system = with_samples(json.loads((out / "all.json").read_text()))
    assert events(system) == events(alone[SYSTEM])
    for name in NAMES[1:]:
        assert events(json.loads((out / f"{name}.json").read_text())) == events(alone[DEVICE])


def test_a_single_device_profile_is_called_ntff(kymo, tmp_path):
    kymo.ok("view", DEVICE, "--output-format", "perfetto", cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["ntff.pftrace"]


def count(kymo, capture, *options):
    return kymo.json("view", "-d", capture, "--output-format", "summary-json", *options)[
        "event_count"
    ]


def test_a_part_can_be_left_out(kymo, capture):
    system, device = (len(kymo.document(path)["trace_events"]) for path in (SYSTEM, DEVICE))
    assert count(kymo, capture) == system + 2 * device
    assert count(kymo, capture, "--ignore-device-profile") == system
    assert count(kymo, capture, "--ignore-system-profile") == 2 * device


def test_a_capture_of_which_nothing_is_left_is_refused(kymo, capture):
    for file, option, words in (
        ("system_profile.json", "--ignore-system-profile", "no device profiles found"),
        ("other.json", "--ignore-device-profile", "only device profiles"),
    ):
        message = kymo.refuses("view", capture / file, option, "--output-format", "json")
        assert words in message
    result = kymo.run("view", capture, "--ignore-device-profile", "--ignore-system-profile")
    assert result.returncode == 2 and "cannot be combined" in result.stderr


def test_a_profile_without_a_part_is_another_profile(kymo, capture, tmp_path):
    names = set()
    for options in ([], ["--ignore-device-profile"], ["--ignore-system-profile"]):
        text = kymo.ok("view", capture, "--ingest-only", "--data-path", tmp_path / "ws", *options)
        names.add(text)
    assert len(names) == 3
