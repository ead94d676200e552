"""neuron-profiler-2.0-guide.rst: its commands and listings, in its order. What concerns frameworks is elsewhere."""

import json
import re

import pytest

from neuron_commands import FLOPS, INSTANCE, app, shell  # noqa: F401
from test_perfetto import Reading

SYSTEM_FILES = {"cpu_util.pb", "host_mem.pb", "ntrace.pb", "trace_info.pb"}
NCCOM = "nccom-test allg -b 512kb -e 512kb -r 2 -n 10 -d fp32 -w 1 -f 512"  # of the guide's note: 2 cores
EVENT = {"duration": 27094, "group": "nrt-nc-000", "id": 1, "instance_id": "i-0f207fb2a99bd2d08", "lnc_idx": "0", "name": "nrt_tensor_write",
         "parent_id": 0, "process_id": "1627711", "size": "4", "tensor_id": "4900392441224765051", "tensor_name": "_unknown_",
         "thread_id": 1627711, "timestamp": 1729888371056597613, "type": 11}  # fmt: skip
MEMORY = {"duration": 1, "instance_id": "i-0f207fb2a99bd2d08", "percent_usage": 9.728179797845964, "timestamp": 1729888369286687792,
          "usage": 51805806592}  # fmt: skip
CPU = {"cpu_id": "47", "duration": 1, "instance_id": "i-0f207fb2a99bd2d08", "timestamp": 1729888371287337243, "util": 2.3255813}


def types(record):
    return {key: type(value) for key, value in record.items()}


def files(folder):
    return {path.name for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def system(app, shell):  # noqa: F811
    """system_profile.json, as the guide's command writes it; the other documents are beside it."""
    shell("neuron-profile view -d ./output --output-format json")
    return json.loads((shell.folder / "system_profile.json").read_text())


def named(system, name):
    return [event for event in system["trace_events"] if event["name"] == name]


@pytest.mark.parametrize("system_profile, device_profile", [(1, 0), (0, 1), (1, 1), (0, 0)])
def test_profile_capture_environment_variables(app, shell, system_profile, device_profile):  # noqa: F811
    out = f"output{system_profile}{device_profile}"
    shell(f"NEURON_RT_INSPECT_ENABLE=1 NEURON_RT_INSPECT_OUTPUT_DIR={out} NEURON_RT_INSPECT_SYSTEM_PROFILE={system_profile} "
          f"NEURON_RT_INSPECT_DEVICE_PROFILE={device_profile} python3 app.py")
    found = files(shell.folder / out)
    assert found & SYSTEM_FILES == (SYSTEM_FILES if system_profile else set())
    assert {name.rsplit(".")[-1] for name in found - SYSTEM_FILES} == ({"neff", "ntff"} if device_profile else set())


def test_example_capturing_profile_of_application_using_environment_variables(app, shell):  # noqa: F811
    shell("rm -rf plain; NEURON_RT_INSPECT_ENABLE=1 NEURON_RT_INSPECT_OUTPUT_DIR=./plain python3 app.py")
    assert files(shell.folder / "plain") == SYSTEM_FILES
    (directory,) = (shell.folder / "plain").iterdir()
    assert re.fullmatch(INSTANCE + r"_pid_\d+", directory.name)


def test_example_capturing_profile_of_nccom_test_using_environment_variables(shell):  # noqa: F811
    shell("export NEURON_RT_INSPECT_ENABLE=1\nexport NEURON_RT_INSPECT_OUTPUT_DIR=./nccom\n"
          "nccom-test allr allg -b 512kb -e 512kb -r 2 -n 10 -d fp32 -w 1 -f 512")
    assert files(shell.folder / "nccom") == SYSTEM_FILES


def test_cli_reference_for_system_profiles(shell):  # noqa: F811
    text = shell("neuron-profile inspect --help").stdout
    for option in ("-o, --output-dir", "-n, --num-trace-events", "--capture-system-profiles", "--capture-device-profiles"):
        assert option in text
    result = shell(f"neuron-profile inspect -o devices --capture-system-profiles {NCCOM}")
    assert not files(shell.folder / "devices") & SYSTEM_FILES
    assert "WARN" not in result.stderr and "kept 2 device profiles" in result.stderr
    result = shell(f"neuron-profile inspect -o events --capture-device-profiles {NCCOM}")
    assert files(shell.folder / "events") == SYSTEM_FILES and "WARN" not in result.stderr


def test_example_of_using_system_profiles_cli(shell):  # noqa: F811
    result = shell(f"neuron-profile inspect -o inspect-output-nccom-test {NCCOM}")
    assert f'INFO[0000] Running command "{NCCOM}" with profiling enabled\n' in result.stderr
    assert re.search(r"size\(B\) +count\(elems\) +type +time:avg\(us\) +algbw\(GB/s\) +busbw\(GB/s\)\n"
                     r" +524288 +131072 +fp32 [ \d.]+\nAvg bus bandwidth:\s+[\d.]+GB/s\n", result.stdout)
    text = shell("neuron-profile view -d inspect-output-nccom-test --output-format summary-text").stdout
    assert "nc_exec_running" in text and "nrt_execute" in text


def test_neuron_profiler_system_profile_ui(app, system):  # noqa: F811
    """Rows by NeuronCore, calls by thread, and the attributes of nrt_execute."""
    main, other = app
    writes = named(system, "nrt_tensor_write")
    assert [write["thread_id"] for write in writes] == [main, main, other, other]
    assert {write["group"] for write in writes} == {"nrt-nc-000"} and len({write["track"] for write in writes}) == 2
    (execute,) = named(system, "nrt_execute")
    assert execute["group"] == "nrt-nc-000" and execute["instance_id"] == INSTANCE and execute["thread_id"] == main
    assert execute["args"]["flop_count"] == FLOPS and execute["args"]["model_name"] == "product"
    for name in ("nrt_init", "nrt_close"):
        (event,) = named(system, name)
        assert event["group"] == f"nrt-{main}" and event["thread_id"] == main and event["type"] != 99999
    (device,) = system["device_profile_list"]
    assert (device["instance_id"], device["process_id"], device["nc_id"], device["model_name"]) == (
        INSTANCE, execute["process_id"], 0, "product")


def test_viewing_profiles_with_perfetto(app, shell):  # noqa: F811
    shell("neuron-profile view -d ./output --output-format perfetto")
    names = {path.name for path in shell.folder.glob("*.pftrace")}
    assert "system_profile.pftrace" in names and len(names) == 2
    assert all(name.startswith("device_profile_model_") for name in names - {"system_profile.pftrace"})
    reading = Reading((shell.folder / "system_profile.pftrace").read_bytes())
    (execute,) = [slice_ for slice_ in reading.slices if slice_["name"] == "nrt_execute"]
    assert execute["args"]["flop_count"] == FLOPS


def test_perfetto_output_view_options(app, shell):  # noqa: F811
    shell("neuron-profile view -d ./output --output-format=perfetto --system-trace-primary-group=instance_id,process_id "
          "--system-trace-secondary-group=lnc_idx,thread_id --ignore-device-profile --output-file grouped.pftrace")
    reading = Reading((shell.folder / "grouped.pftrace").read_bytes())
    writes = [slice_ for slice_ in reading.slices if slice_["name"] == "nrt_tensor_write"]
    assert [slice_["track"].name for slice_ in writes] == [f"core 0, thread {thread}" for thread in (app[0], app[0], app[1], app[1])]
    (process,) = {reading.tracks[slice_["track"].parent_uuid].process.process_name for slice_ in writes}
    assert process == f"{INSTANCE}, process {writes[0]['args']['process_id']}"


def test_generating_json_output_from_profiles(app, shell, system):  # noqa: F811
    first, unnamed = named(system, "nrt_tensor_write")[:2]
    assert types(EVENT).items() <= types(first).items()
    for key in ("duration", "timestamp", "id"):
        assert first[key] > 0
    for key in ("group", "instance_id", "lnc_idx", "name", "parent_id", "type"):
        assert first[key] == EVENT[key], key
    assert (unnamed["size"], unnamed["tensor_name"]) == ("4", "_unknown_") and unnamed["tensor_id"] != first["tensor_id"]
    inner = next(event for event in named(system, "dmem_buf_copyin") if event["parent_id"])
    assert inner["parent_id"] in {write["id"] for write in named(system, "nrt_tensor_write")}
    assert not any("value" in event for event in system["trace_events"])
    assert system["counter_samples"] and all("value" in sample for sample in system["counter_samples"])
    (device,) = system["device_profile_list"]
    assert (shell.folder / f"{device['device_profile_name']}.json").exists()
    assert system["mem_usage"] and system["cpu_util"]
    for sample in system["mem_usage"]:
        assert types(sample) == types(MEMORY) and sample["instance_id"] == INSTANCE
    for sample in system["cpu_util"]:
        assert types(sample) == types(CPU) and sample["cpu_id"].isdigit()


def test_samples_of_a_machine_are_told_once(app, shell):  # noqa: F811
    """In a capture of two processes at once, CPUs and memory are those of one machine."""
    shell("rm -rf twice; export NEURON_RT_INSPECT_ENABLE=1 NEURON_RT_INSPECT_OUTPUT_DIR=./twice; "
          "NEURON_RT_VISIBLE_CORES=0 python3 app.py & NEURON_RT_INSPECT_ENABLE=1 NEURON_RT_INSPECT_OUTPUT_DIR=./twice "
          "NEURON_RT_VISIBLE_CORES=1 python3 app.py; wait")
    both = json.loads(shell("neuron-profile view ./twice --output-format json").stdout)
    assert len({event["process_id"] for event in both["trace_events"]}) == 2
    assert len({event["worker_gid"] for event in named(both, "nrt_execute")}) == 2
    by_process = {}
    for sample in both["counter_samples"]:
        if sample["name"] == "usage":
            by_process.setdefault(sample["process_id"], []).append(sample["timestamp"])
    assert len(by_process) == 2 and [sample["timestamp"] for sample in both["mem_usage"]] in by_process.values()
    cpus = [sample["cpu_id"] for sample in both["cpu_util"]]
    assert cpus and len(cpus) == len(set(cpus))


def test_processing_only_system_or_device_profiles(app, shell):  # noqa: F811
    shell("mkdir only; cd only; neuron-profile view -d ../output --ignore-device-profile --output-format perfetto")
    assert files(shell.folder / "only") == {"system_profile.pftrace"}
