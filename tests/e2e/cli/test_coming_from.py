"""docs/coming-from.md: every command on our side works."""

import os
import re
import shlex
import shutil

import pytest

from conftest import DATA, ROOT

PAGE = (ROOT / "docs/coming-from.md").read_text()
COMMANDS = list(dict.fromkeys(re.findall(r"\| `kymo ((?:[^`|]|\\\|)+)` \|$", PAGE, re.M)))
SERVES = ("xprof", "serve", "view --port", "capture --connect")  # until they are stopped, or need a program to connect to


@pytest.fixture(scope="module")
def place(kymo, tmp_path_factory):
    """A folder with the files that the page names."""
    folder = tmp_path_factory.mktemp("page")
    for name, source in {"trace.xplane.pb": "xplane/jax_matmul_h200.xplane.pb", "trace.json.gz": "kineto/nccl_gpu_rank.json.gz",
                         "before.json.gz": "kineto/compare_base.json.gz", "after.json.gz": "kineto/compare_test.json.gz"}.items():
        shutil.copy(DATA / source, folder / name)
    assert kymo.run("neff", "build", ROOT / "examples/mlp.json", "-o", folder / "file.neff").returncode == 0
    (folder / "train.py").write_text("print('trained')\n")
    return folder


def test_every_tool_has_a_section_and_every_row_a_command():
    assert re.findall(r"^## (.*)$", PAGE, re.M) == ["neuron-profile", "Neuron Explorer", "XProf", "Nsight Systems", "Perfetto", "torch.profiler"]
    assert len(COMMANDS) > 30 and PAGE.count("Different on purpose") == 6
    for link in re.findall(r"\]\(([\w.-]+\.md)", PAGE):
        assert (ROOT / "docs" / link).exists()


@pytest.mark.slow
def test_the_commands_work_in_their_order(kymo, place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "workspace"))
    for command in COMMANDS:
        words = shlex.split(command.replace("\\|", "|"))
        if command.startswith(SERVES):
            options = set(re.findall(r"--[a-z-]+", command))
            assert options <= set(re.findall(r"--[a-z-]+", kymo.ok(words[0], "--help"))), command
        else:
            serves = words[0] == "view" and not {"--output-format", "--output-file"} & set(words)  # when it has processed
            result = kymo.run(*words, *(["--ingest-only"] if serves else []), cwd=place)
            assert result.returncode == 0, (command, result.stderr)
    for made in ("profile.ntff", "ntff.json", "tables", "output.pftrace", "trace.pftrace", "runs", "converted/plugins/profile"):
        assert os.path.exists(place / made), made
