"""nccom-test: the table, JSON and exit codes of the guides; operations with --check, and their NEFFs held against NumPy."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

OPS = ["allr", "allg", "allgv", "redsct", "sendrecv", "alltoall", "alltoallv", "permute"]
DTYPES = ["uint8", "int8", "fp8", "uint16", "int16", "fp16", "bf16", "uint32", "int32", "fp32"]
GUIDE = "allg -b 512kb -e 512kb -r 32 -n 10 -d fp32 -w 1 -f 512".split()


@pytest.fixture
def nccom(kymo, tmp_path):
    """Calls nccom-test by its name, in a folder of its own, with cores of its own."""
    folder = pathlib.Path(kymo.path).resolve().parent / "compat"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_NEURON"))}
    environment |= {"XDG_RUNTIME_DIR": str(tmp_path), "TMPDIR": str(tmp_path), "PATH": f"{folder}:{environment['PATH']}"}

    def run(*arguments, status=0, program=("nccom-test",), **variables):
        result = subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=tmp_path,
                                env=environment | variables)
        assert result.returncode == status, result.stdout + result.stderr
        return result

    run.folder, run.environment = tmp_path, environment
    return run


def rows(result):
    """The table as dictionaries, and what follows it."""
    lines = result.stdout.splitlines()
    names = lines[0].split()
    found = [line for line in lines[1:] if line.startswith("    ")]
    return [dict(zip(names, line.split())) for line in found], lines[1 + len(found):]


def write(folder, name, value):
    (folder / name).write_text(json.dumps(value))
    return folder / name


def test_the_table_is_that_of_the_guides(nccom):
    head, row, average = nccom(*GUIDE).stdout.splitlines()
    assert head == "    size(B)    count(elems)    type    time:avg(us)    algbw(GB/s)    busbw(GB/s)"
    match = re.fullmatch(r"     524288          131072    fp32 +([\d.]+) +([\d.]+) +([\d.]+)", row)
    assert len(row) == len(head)
    us, algbw, busbw = map(float, match.groups())
    assert algbw == pytest.approx(524288 / us / 1000, abs=0.01)
    assert busbw == pytest.approx(algbw * 31 / 32, abs=0.01)
    assert re.fullmatch(r"Avg bus bandwidth:\t\d+\.\d{4}GB/s", average)
    assert float(average.split("\t")[1].removesuffix("GB/s")) == pytest.approx(busbw, abs=0.01)
    assert nccom(*GUIDE).stdout.splitlines()[1] == row  # the device's clock: the same each time


def test_defaults_are_32_mib_of_uint8(nccom):
    (row,), _ = rows(nccom("-r", 2, "allr", "-n", 1, "-w", 0))
    assert (row["size(B)"], row["count(elems)"], row["type"]) == ("33554432", "33554432", "uint8")
    assert row["algbw(GB/s)"] == row["busbw(GB/s)"]  # 2 (r - 1) / r of 2 ranks


@pytest.mark.parametrize("op", OPS)
def test_every_operation_passes_its_check_with_every_type(nccom, op):
    for dtype in DTYPES:
        (row,), _ = rows(nccom(op, "-r", 3, "-b", 1000, "-e", 1000, "-n", 2, "-w", 1, "-d", dtype, "--check", "--seed", 7))
        size = {"fp8": 1, "bf16": 2, "fp16": 2}.get(dtype) or int(re.sub(r"\D", "", dtype)) // 8
        unit = size if op in ("allr", "sendrecv", "permute") else 3 * size
        assert int(row["size(B)"]) == 1000 // unit * unit
    nccom(op, "-r", 5, "-b", 4096, "-e", 4096, "-n", 1, "-d", "bf16", "--check", "all_ones")


def test_several_operations_sizes_and_columns(nccom):
    result = nccom("allr", "allg", "-r", 4, "-b", "1kb", "-e", "1mb", "-f", 32, "-n", 4, "-d", "fp32", "--stats", "avg", "p50", "p99",
                   "--show-algorithm", "--show-input-output-size", "--report-to-json-file", "r.json")
    found, rest = rows(result)
    sizes = [1024, 32768, 1048576]
    assert [(row["op"], int(row["size(B)"])) for row in found] == \
        [("all_reduce", size) for size in sizes] + [("all_gather", size) for size in sizes]
    assert [row["algorithm"] for row in found[:3]] == ["mesh", "mesh", "ring"]
    for row in found:
        size = int(row["size(B)"])
        assert int(row["total_input_size(B)"]) == (size if row["op"] == "all_reduce" else size // 4)
        assert int(row["total_output_size(B)"]) == size
        for name in ("time:p50(us)", "time:p99(us)"):
            assert float(row[name]) == pytest.approx(float(row["time:avg(us)"]), abs=0.011)  # all take the same time
    report = json.loads((nccom.folder / "r.json").read_text())
    assert list(report) == ["results"] and len(report["results"]) == 6
    assert list(report["results"][0]) == ["op", "size(B)", "count(elems)", "total_input_size(B)", "total_output_size(B)", "type",
                                          "algbw(GB/s)", "busbw(GB/s)", "time:avg(us)", "time:p50(us)", "time:p99(us)", "algorithm"]
    for row, one in zip(found, report["results"]):
        assert one["busbw(GB/s)"] == pytest.approx(one["algbw(GB/s)"] * (1.5 if one["op"] == "all_reduce" else 0.75))
        assert one["time:avg(us)"] == float(row["time:avg(us)"]) and one["type"] == "fp32"
    mean = sum(one["busbw(GB/s)"] for one in report["results"]) / 6
    assert rest == [f"Avg bus bandwidth:\t{mean:.4f}GB/s"]


def test_the_json_of_one_operation_has_the_guides_keys(nccom):
    nccom("allg", "-r", 2, "-b", 64, "-e", 64, "--report-to-json-file", "r.json")
    (one,) = json.loads((nccom.folder / "r.json").read_text())["results"]
    assert list(one) == ["size(B)", "count(elems)", "type", "algbw(GB/s)", "busbw(GB/s)", "time:avg(us)"]


def test_neffs_are_executed_as_often_as_asked(nccom):
    nccom("inspect", "-o", "out", "nccom-test", "allr", "-r", 2, "-b", 64, "-e", 64, "-n", 3, "-w", 2, "-I", 4, "-W", 1,
          program=("neuron-profile",))
    summary = nccom("view", "-d", "out", "--output-format", "summary-text", program=("neuron-profile",)).stdout
    executions, collectives = (int(re.search(rf" {name} .*? %\s+(\d+)", summary)[1]) for name in ("nc_exec_running", "cc_running"))
    assert (executions, collectives) == (2 * 5, 2 * 5 * 5)


def test_groups_pairs_and_parts(nccom):
    groups = write(nccom.folder, "groups.json", {"replica_groups": [[[0, 2], [1, 3]]]})
    pairs = write(nccom.folder, "pairs.json", {"src_target_pairs": [[[0, 1], [1, 0], [2, 2]]]})
    small = ("-r", 4, "-b", 4096, "-e", 4096, "-n", 2, "-d", "fp16", "--check")
    for op in ("allr", "allg", "redsct", "alltoall", "alltoallv", "allgv", "sendrecv"):
        (row,), _ = rows(nccom(op, *small, "--custom-replica-groups", groups))
        assert float(row["busbw(GB/s)"]) == pytest.approx(
            float(row["algbw(GB/s)"]) * (1 if op in ("allr", "sendrecv") else 0.5), abs=0.01)
    nccom("permute", *small, "--custom-src-target-pairs", pairs)
    nccom("allr", *small, "--data-parallel-dimension", 2)
    nccom("allr", *small, "--coalesced-cc-size-ratio", "[1,2,1]", "--unique-buff")
    nccom("allg", *small, "-N", 2)
    nccom("allr", *small, "--vcpu-pin-mode", "--non-interactive")


def test_variable_sizes(nccom):
    counts = {"send_counts": [512, 1024], "send_displs": [0, 512], "recv_counts": [256, 768], "recv_displs": [0, 256]}
    old = write(nccom.folder, "old.json", {"alltoallv_metadata": [counts]})
    new = write(nccom.folder, "new.json", {"metadata": [counts, counts | {"send_counts": [1, 0]}]})
    for option, path in (("--alltoallv-metadata", old), ("--variable-size-op-metadata", new)):
        nccom("alltoallv", "-r", 2, "-b", "1mb", "-e", "1mb", "-n", 1, "-d", "fp32", "--check", option, path)
    result = nccom("alltoallv", "-r", 2, "-b", "1kb", "-e", "1kb", "--alltoallv-metadata", old, status=2)
    assert "inputs have 1024 and outputs 1024" in result.stderr


def test_streams_run_at_the_same_time(nccom):
    streams = write(nccom.folder, "streams.json", [
        {"op": "allr", "minbytes": "1mb", "datatype": "fp32", "ops_per_iter": 2},
        {"op": "allg", "minbytes": 65536, "datatype": "bf16"}])
    found, _ = rows(nccom("--streams-json", streams, "-r", 4, "-n", 3, "--check"))
    assert [(row["op"], row["size(B)"], row["type"]) for row in found] == \
        [("all_reduce", "1048576", "fp32"), ("all_gather", "65536", "bf16")]
    for wrong in ([], [{}], [{"op": "nonsense"}], [{"op": "allr", "size": 1}], {"op": "allr"}):
        message = nccom("--streams-json", write(nccom.folder, "s.json", wrong), "-r", 2, status=2).stderr
        assert "s.json" in message


@pytest.mark.parametrize("arguments, message", [
    (["-r", 2], "the operation"),
    (["allr"], "--nworkers is missing"),
    (["alr", "-r", 2], "unknown operation alr"),
    (["allr", "-r", 2, "-b", "3xb"], "takes a size"),
    (["allr", "-r", 2, "-b", 64, "-e", 8], "--minbytes is larger than --maxbytes"),
    (["allr", "-r", 2, "-f", 1], "at least 2"),
    (["allr", "-r", 2, "-d", "fp64"], "unknown data type fp64"),
    (["allr", "-r", 2, "-n", 0], "at least 1"),
    (["allr", "-r", 3, "-N", 2], "--nnodes"),
    (["allr", "-r", 2, "--check=zeros"], "expected one of random, all_ones"),
    (["allr", "-r", 2, "--seed", 1], "--check random"),
    (["allr", "-r", 2, "-t", "q50"], "percentiles"),
    (["allr", "-r", 2, "--coalesced-cc-size-ratio", "[1,x]"], "[1,2,1]"),
    (["allr", "-r", 3, "--data-parallel-dimension", 2], "cannot be divided"),
    (["allr", "-r", 2, "--custom-replica-groups", "none.json"], "none.json"),
    (["allr", "-r", 2, "--hosts", "a", "b"], "--hosts is not supported: workers are started on this machine"),
    (["allr", "-r", 2, "-S"], "--slurm-mode is not supported"),
    (["allr", "-r", 2, "--sb2sb"], "--sb2sb is not supported: collectives of software cores use HBM"),
    (["allr", "-r", 2, "--shared-output-buff"], "do not share device memory"),
    (["allr", "-r", 2, "--data-collector-port=1"], "--data-collector-port is not supported"),
    (["allr", "-r", 2, "--bytes", 1], "unknown option --bytes"),
])
def test_wrong_options_are_refused(nccom, arguments, message):
    result = nccom(*arguments, status=2)
    assert message in result.stderr and result.stderr.startswith("nccom-test") and result.stdout == ""


def test_a_failure_is_a_line_with_a_log_and_exit_code_1(nccom):
    result = nccom("allr", "-r", 33, "-b", 64, "-e", 64, "--report-to-json-file", "r.json", status=1)
    _, row, last = result.stdout.splitlines()
    match = re.fullmatch(r"         64    Failure running neuron-bench - log file (\S+/nccom_test_log_\w+\.log)", row)
    reason = "33 workers on a node are more than the 32 cores of trn1.32xlarge: use -r 32"
    assert reason in pathlib.Path(match[1]).read_text() and reason in result.stderr
    assert last == "1 errors found - test failed"
    assert json.loads((nccom.folder / "r.json").read_text()) == {"results": []}
    assert "cannot load the runtime" in nccom("allr", "-r", 2, "--runtime", "/none.so", "--debug", status=1).stderr


WRONG_RUNTIME = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
int nrt_tensor_read(const void *tensor, void *data, size_t offset, size_t size)
{
    int (*real)(const void *, void *, size_t, size_t) = dlsym(RTLD_NEXT, "nrt_tensor_read");
    int status = real(tensor, data, offset, size);
    ((unsigned char *)data)[size / 2] ^= 0x40;
    return status;
}
"""


FAILING_RUNTIME = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
int nrt_load_collectives(const void *neff, size_t size, int32_t first, int32_t count, uint32_t rank, uint32_t ranks, void **model)
{
    int (*real)(const void *, size_t, int32_t, int32_t, uint32_t, uint32_t, void **) = dlsym(RTLD_NEXT, "nrt_load_collectives");
    return rank == 1 ? 4 : real(neff, size, first, count, rank, ranks, model);
}
"""


def build_runtime(kymo, folder, source):
    """libwrong.so, a runtime library before Kymo's."""
    libraries = pathlib.Path(kymo.path).resolve().parents[1] / "lib"
    (folder / "wrong.c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "wrong.c", "-o", "libwrong.so", "-Wl,--no-as-needed", f"-L{libraries}", "-l:libnrt.so.1",
                    f"-Wl,-rpath,{libraries}"], cwd=folder, check=True)


def test_a_worker_that_fails_ends_those_that_wait_for_it(kymo, nccom):
    build_runtime(kymo, nccom.folder, FAILING_RUNTIME)
    begun = time.monotonic()
    result = nccom("allr", "-r", 4, "-b", 64, "-e", 64, "--runtime", "./libwrong.so", status=1)
    assert "cannot load the NEFF: NRT_RESOURCE (status 4)" in result.stderr
    assert time.monotonic() - begun < 60  # they would wait for ten minutes


@pytest.mark.parametrize("op, expected", [("allr", lambda a, b: (a + b, a + b)), ("sendrecv", lambda a, b: (b, a))])
def test_the_check_finds_the_byte_that_a_runtime_gets_wrong(kymo, nccom, op, expected):
    """A runtime library before Kymo's that changes one bit of what is read from a tensor."""
    build_runtime(kymo, nccom.folder, WRONG_RUNTIME)
    arguments = (op, "-r", 2, "-b", 4096, "-e", 4096, "-n", 1, "-w", 0, "-d", "uint32", "--seed", 5, "--runtime", "./libwrong.so")
    nccom(*arguments[:-4], "--runtime", "./libwrong.so")  # without the check nobody sees it
    result = nccom(*arguments, "--check", status=1)
    (log,) = re.findall(r"Failure running neuron-bench - log file (\S+)\.log\n", result.stdout)
    assert re.search(r"output of rank [01] is wrong in 1 elements: element 512 is \d+ and should be \d+", pathlib.Path(log + ".log").read_text())
    saved = {name: [np.fromfile(f"{log}_rank_{rank}_{name}.bin", np.uint32) for rank in range(2)]
             for name in ("input", "output", "golden")}
    for rank, golden in enumerate(expected(*saved["input"])):
        assert np.array_equal(saved["golden"][rank], golden)  # NumPy has the same opinion of what is right
        assert np.flatnonzero(saved["output"][rank] != golden).tolist() == [512]


def test_no_logs_are_left_by_what_succeeds(nccom):
    nccom("allr", "-r", 2, "-b", 64, "-e", 64, "--debug")
    assert not list(nccom.folder.glob("nccom_test_log*"))


@pytest.mark.slow
def test_64_workers_on_logical_cores(nccom):
    (row,), _ = rows(nccom("allr", "-r", 64, "-b", 4096, "-e", 4096, "-n", 2, "-w", 0, "-d", "bf16", "--check",
                           KYMO_NEURON_INSTANCE="trn2.48xlarge"))
    assert row["size(B)"] == "4096"


@pytest.mark.slow
def test_a_killed_node_is_a_failure_soon(nccom):
    process = subprocess.Popen(["nccom-test", "allr", "-r", "4", "-N", "4", "-b", "64", "-e", "64", "-n", "4000000", "--debug"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=nccom.folder, env=nccom.environment,
                               preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))  # hides exit codes, unless undone
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while len(nodes := children.read_text().split()) < 4:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(int(nodes[2]), signal.SIGKILL)
    output, messages = process.communicate(timeout=120)  # all operations would take a quarter of an hour on a machine with nothing else to do
    assert process.returncode == 1
    assert "Failure running neuron-bench - log file" in output and output.endswith("1 errors found - test failed\n")
    assert "node 2 was killed by signal 9" in messages
    for node in nodes:
        assert not pathlib.Path(f"/proc/{node}").exists()


@pytest.fixture(scope="module")
def inspected(kymo, tmp_path_factory):
    """The guides' line, letter for letter, in a folder."""
    folder = tmp_path_factory.mktemp("inspected")
    compat = pathlib.Path(kymo.path).resolve().parent / "compat"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_"))}
    result = subprocess.run("neuron-profile inspect -o out nccom-test " + " ".join(GUIDE), shell=True, text=True, cwd=folder,
                            capture_output=True, timeout=120, check=True,
                            env=environment | {"PATH": f"{compat}:{environment['PATH']}", "XDG_RUNTIME_DIR": str(folder)})
    return folder, result


def session_of(folder):
    """The directory of the workers' process. The program itself leaves one with host samples alone, if it takes more than a second."""
    (session,) = {path.parent for path in (folder / "out").rglob("*.ntff")}
    return session


def test_the_guides_line_leaves_profiles_of_all_workers(kymo, inspected):
    folder, result = inspected
    assert 'Running command "nccom-test allg -b 512kb -e 512kb -r 32 -n 10 -d fp32 -w 1 -f 512" with profiling enabled' in result.stderr
    assert "Avg bus bandwidth:\t" in result.stdout
    session = session_of(folder)
    assert re.fullmatch(r".+_pid_\d+", session.name)
    (hash_,) = [re.fullmatch(r"neff_(\d+)\.neff", path.name)[1] for path in session.glob("*.neff")]
    assert {path.name for path in session.iterdir()} == {
        "ntrace.pb", "trace_info.pb", "cpu_util.pb", "host_mem.pb", f"neff_{hash_}.neff", *(f"{hash_}_instid_0_vnc_{core}.ntff" for core in range(32))}
    summary = kymo.run("view", "-d", folder / "out", "--output-format", "summary-text", "--top", "99", check=True).stdout
    assert re.search(r" cc_running .*? %\s+(\d+)", summary)[1] == "352"  # 32 workers, 11 operations
    assert re.findall(r"/device:NEURON:(\d+) ", summary) == [str(core) for core in range(32)]
    assert set(re.findall(r"nrt-nc-\d+", summary)) == {f"nrt-nc-{core:03}" for core in range(32)}
    assert re.findall(r"^(n[cd]_idx|rank) +(\d+)$", summary, re.M) == [
        pair for core in range(32) for pair in (("nc_idx", str(core % 2)), ("nd_idx", str(core // 2)), ("rank", str(core)))]


@pytest.mark.plain_build
def test_hundreds_of_device_profiles_take_little_temporary_data(kymo, inspected, tmp_path):
    """Each has little in it: what is reserved for each must not add up to the limit for input of this size."""
    session = session_of(inspected[0])
    (hash_,) = [path.stem.removeprefix("neff_") for path in session.glob("*.neff")]
    os.link(session / f"neff_{hash_}.neff", tmp_path / f"neff_{hash_}.neff")
    for core in range(330):
        os.link(session / f"{hash_}_instid_0_vnc_0.ntff", tmp_path / f"{hash_}_instid_0_vnc_{core}.ntff")
    assert kymo.json("view", "-d", tmp_path, "--output-format", "summary-json")


@pytest.mark.parametrize("format", ["summary-text", "json"])
def test_a_device_profile_of_a_directory_that_was_cut_off_is_named(kymo, inspected, tmp_path, format):
    place = tmp_path / "session"
    shutil.copytree(session_of(inspected[0]), place)
    [cut] = place.glob("*_vnc_3.ntff")
    os.truncate(cut, 3000)
    result = kymo.run("view", "-d", place, "--output-format", format, cwd=tmp_path, check=True)
    assert re.findall(r"WARN.* (\S+_vnc_\d+\.ntff): the profile was cut off", result.stderr) == [str(cut)]


@pytest.mark.parametrize("ending, format", [("json", "JSON"), ("pftrace", "perfetto")])
def test_every_core_has_a_file_of_its_own(kymo, inspected, tmp_path, ending, format):
    """With names that do not clash, of one process and of two; each has what the NTFF has alone."""
    folder, _ = inspected
    session = session_of(folder)
    (hash_,) = [path.stem.removeprefix("neff_") for path in session.glob("*.neff")]
    view = ("view", "--output-format", format)
    devices = {f"device_profile_model_{hash_}_instid_0_vnc_{core}.{ending}" for core in range(32)}
    for options, names in (([], devices | {f"system_profile.{ending}"}), (["--ignore-system-profile"], devices),
                           (["--ignore-device-profile"], {f"system_profile.{ending}"})):
        place = tmp_path / "-".join(["out", *options])
        place.mkdir()
        assert kymo.run(*view, "-d", folder / "out", *options, cwd=place, check=True).stdout == ""
        assert {path.name for path in place.iterdir()} == names
    for core in (0, 5, 31):
        alone = tmp_path / f"{core}.{ending}"
        kymo.run(*view, "-n", session / f"neff_{hash_}.neff", "-s", session / f"{hash_}_instid_0_vnc_{core}.ntff", "--output-file", alone, check=True)
        assert alone.read_bytes() == (tmp_path / "out" / f"device_profile_model_{hash_}_instid_0_vnc_{core}.{ending}").read_bytes()
    two = tmp_path / "two"
    for process in ("a_pid_1", "a_pid_2"):
        (two / process).mkdir(parents=True)
        for name in (f"neff_{hash_}.neff", f"{hash_}_instid_0_vnc_7.ntff"):
            shutil.copy(session / name, two / process)
    kymo.run(*view, "-d", two, cwd=tmp_path, check=True)
    found = {path.name for path in tmp_path.glob("device_profile*")}
    assert found == {f"device_profile_model_{hash_}_instid_0_vnc_7_a_pid_{process}.{ending}" for process in (1, 2)}
    shutil.rmtree(two / "a_pid_2")
    kymo.run(*view, "-d", two, cwd=tmp_path, check=True)
    assert {path.name for path in tmp_path.glob("device_profile*")} - found == {f"device_profile_model_{hash_}.{ending}"}  # as in the guides


NUMPY = {
    "allr": lambda x: np.repeat(x.sum(0, dtype=x.dtype)[None], len(x), 0),
    "allg": lambda x: np.repeat(x.reshape(1, -1), len(x), 0),
    "redsct": lambda x: x.sum(0, dtype=x.dtype).reshape(len(x), -1),
    "alltoall": lambda x: x.reshape(len(x), len(x), -1).transpose(1, 0, 2).reshape(len(x), -1),
    "alltoallv": lambda x: x.reshape(len(x), len(x), -1).transpose(1, 0, 2).reshape(len(x), -1),
    "allgv": lambda x: np.repeat(x.reshape(1, -1), len(x), 0),
    "sendrecv": lambda x: np.roll(x, 1, 0),
}


@pytest.mark.parametrize("dtype", ["int32", "fp32"])
@pytest.mark.parametrize("op", NUMPY)
def test_the_neffs_do_what_numpy_does(kymo, nccom, op, dtype):
    """The NEFF that nccom-test made, run with other inputs by capture."""
    ranks, folder = 4, nccom.folder
    nccom("inspect", "-o", "out", "nccom-test", op, "-r", ranks, "-b", 1024, "-e", 1024, "-n", 2, "-w", 0, "-d", dtype,
          program=("neuron-profile",))
    neff = next((folder / "out").rglob("*.neff"))
    count = 256 // (ranks if op in ("allg", "allgv") else 1)
    rng = np.random.default_rng(3)
    inputs = rng.integers(-1000, 1000, (ranks, count)).astype({"int32": np.int32, "fp32": np.float32}[dtype])
    lines = []
    for rank in range(ranks):
        np.save(folder / f"x{rank}.npy", inputs[rank])
        lines.append(f"input x{rank}.npy")
    (folder / "inputs.txt").write_text("\n".join(lines) + "\n")
    nccom("capture", "-n", neff, "--disable-profile", "--save-output-npy", "-m", "inputs.txt", program=(str(kymo.path),))
    expected = NUMPY[op](inputs)
    for rank in range(ranks):
        assert np.array_equal(np.load(folder / f"output_rank_{rank}.npy"), expected[rank])
