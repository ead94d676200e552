"""Where instructions of device profiles come from: framework operators, stack frames and source files of a program that JAX
lowered. The HLO module is in tests/data/device, with the files it was made from under another path."""

import os

import pytest

from conftest import DATA
from server import Server
from test_device import Profile

MODEL = DATA / "device" / "model"
NAMED = "/home/me/model/"


@pytest.fixture(scope="module")
def files(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_NEURON"))}
    kymo.run("neff", "build", DATA / "device" / "step.hlo.pb", "-o", folder / "step.neff", "--core", "v2", check=True)
    kymo.run("capture", "-n", folder / "step.neff", "-s", folder / "step.ntff", check=True, env=environment | {"XDG_RUNTIME_DIR": str(folder)})
    return "-n", folder / "step.neff", "-s", folder / "step.ntff"


@pytest.fixture(scope="module")
def profile(kymo, files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    kymo.run("view", *files, "--framework-source-root", MODEL, "--nki-source-root", MODEL / "kernels", "--data-path", folder, "--display-name", "step",
             "--ingest-only", check=True)
    return Profile(folder / "profiles" / "global" / "step@latest")


def stacks(profile):
    """By frame: its functions and lines, the innermost first."""
    files, functions = (dict(profile.rows(f"SELECT id::INT, name FROM StackFrame{kind}Name")) for kind in ("File", "Function"))
    locations = {key: (files[file], functions[function], line) for key, file, function, line in profile.rows(
        "SELECT id::INT, file_name_id, function_name_id, line_number FROM StackFrameFileLocation")}
    frames = {key: (locations[location], parent) for key, location, parent in profile.rows(
        "SELECT id, file_location_id, parent_frame_id FROM StackFrame")}
    found = {}
    for key in frames:
        found[key], at = [], key
        while at != "0":
            place, at = frames[at]
            found[key].append(place)
    return found


def test_instructions_have_the_stack_of_their_operation(profile):
    found = stacks(profile)
    lines = {name: path.read_text().splitlines() for name, path in ((NAMED + "train.py", MODEL / "train.py"),
                                                                    (NAMED + "kernels/softmax.py", MODEL / "kernels" / "softmax.py"))}
    rows = profile.rows("SELECT hlo_name, layer, stack_frame_ids, bir_debug_info_source_location, nki_source_location FROM Instruction "
                        "WHERE hlo_name IS NOT NULL")
    assert rows
    expected = {"exp": ("softmax", "jnp.exp("), "tanh": ("step", "jax.numpy.tanh("), "div": ("softmax", "e / e.sum")}
    seen = set()
    for name, layer, frame, place, nki in rows:
        stack = found[frame]
        assert place == f"{stack[0][0]}:{stack[0][2]}"
        assert (nki == place) == ("kernels/" in place) and nki in (None, place)
        kind = name.split(".")[0]
        if kind not in expected:
            continue
        seen.add(kind)
        function, text = expected[kind]
        file, innermost, line = stack[0]
        assert innermost.split(".")[-1] == function and text in lines[file][line - 1]
        assert "step" in [function for _, function, _ in stack]
        assert layer.endswith("mlp" if function == "step" else "attention")
    assert seen == expected.keys()


def test_framework_operators_add_up_to_the_instructions(profile):
    rows = profile.rows("SELECT f.raw_framework_id, f.framework_name, f.tensor_engine_instruction_count + f.scalar_engine_instruction_count + "
                        "f.sync_engine_instruction_count + f.gpsimd_engine_instruction_count + f.vector_engine_instruction_count, "
                        "count(i.id), min(i.start_ts), f.start_ts, max(i.end_ts), f.end_ts "
                        "FROM FrameworkInstruction f JOIN Instruction i USING (raw_framework_id) GROUP BY ALL")
    names = {name for _, name, *_ in rows}
    assert {"jit(step)/model/attention/exp", "jit(step)/model/mlp/tanh", "jit(step)/model/mlp/dot_general"} <= names
    for _, _, told, counted, first, start, last, end in rows:
        assert told == counted and start <= first and end >= last - 1
    assert sum(row[3] for row in rows) == profile.one("SELECT count(*) FROM Instruction WHERE raw_framework_id IS NOT NULL")
    assert profile.one("SELECT count(*) FROM HloInstruction h ANTI JOIN FrameworkInstruction f USING (raw_framework_id)") == 0


def test_source_files_are_stored_with_the_profile_and_served(kymo, files, profile, tmp_path):
    stored = {name: (kind, path, lines, content) for name, kind, path, lines, content in profile.rows("SELECT * FROM SourceFile")}
    assert stored == {NAMED + file: (kind, str((MODEL / file).resolve()), (MODEL / file).read_text().count("\n"), (MODEL / file).read_text())
                      for file, kind in (("train.py", "framework"), ("kernels/softmax.py", "nki"))}
    server = Server(kymo, "--data-path", profile.folder.parents[2])
    try:
        assert server.ask("GET", f"profiles/step/source?file={NAMED}train.py").body == (MODEL / "train.py").read_bytes()
        assert "without --framework-source-root" in server.ask("GET", f"profiles/step/source?file={NAMED}lower.py").error
    finally:
        server.stop()
    plain = kymo.json("view", *files, "--output-format", "json")
    assert {row["nki_source_location"] for row in plain["instruction"]} == {None}
    told = kymo.json("view", *files, "--output-format", "json", "--nki-source-root", MODEL / "kernels")
    assert {row["nki_source_location"] for row in told["instruction"]} >= {NAMED + "kernels/softmax.py:5", None}


@pytest.mark.parametrize("option", ["--framework-source-root", "--nki-source-root"])
def test_a_directory_that_is_not_there_is_refused(kymo, files, tmp_path, option):
    assert "no such directory" in kymo.refuses("view", *files, option, tmp_path / "none", "--data-path", tmp_path, code=2)
    assert "not a directory" in kymo.refuses("view", *files, option, MODEL / "train.py", "--data-path", tmp_path, code=2)


def test_roots_are_not_taken_where_they_do_nothing(kymo, files, tmp_path):
    kymo.refuses("view", *files, "--framework-source-root", MODEL, "--output-format", "json", code=2)
    capture = DATA / "xplane" / "tpu_inference.xplane.pb"
    assert "needs a device profile" in kymo.refuses("view", capture, "--nki-source-root", MODEL, "--data-path", tmp_path)
