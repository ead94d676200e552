"""HLO modules: functions in JAX, of every operation that is supported, and a training step of a GPT, run on a software
core and held against JAX. One process lowers them all, one runs them all."""

import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from closeness import difference
from conftest import ROOT

HERE = pathlib.Path(__file__).parents[1]


def differences(folder):
    """What a folder's program gave that JAX did not."""
    description = json.loads((folder / "results.json").read_text())
    for rank in range(description["ranks"]):
        for i, result in enumerate(description["results"]):
            dtype = np.dtype(result["dtype"])
            found, expected = (np.frombuffer((folder / name).read_bytes(), dtype)
                               for name in (f"output{i}.{rank}.out", f"expected{i}.{rank}.bin"))
            text = difference(found, expected, is_exact=result["name"].startswith("from_bits"))
            if text:
                yield f"{folder.name} {result['name']} rank {rank}: {text}"


@pytest.mark.slow
def test_functions_in_jax_give_what_jax_gives(run_neff, tmp_path):
    subprocess.run([sys.executable, HERE / "hlo_model.py", tmp_path], check=True, timeout=600)
    folders = sorted(tmp_path.iterdir())
    result = subprocess.run([run_neff, *folders], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, "\n".join(line for line in result.stdout.splitlines() if ": ok " not in line) + result.stderr
    assert len(folders) == 20
    assert [line for folder in folders for line in differences(folder)] == []
    result = subprocess.run([run_neff, "--logical", "2", *folders[::3]], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, "\n".join(line for line in result.stdout.splitlines() if ": ok " not in line) + result.stderr
    assert [line for folder in folders for line in differences(folder)] == []


@pytest.mark.slow
@pytest.mark.plain_build
def test_harnesses_of_jax_give_what_jax_gives(kymo):
    """A sample of them: the program runs all (docs/contributing.md)."""
    result = subprocess.run([sys.executable, ROOT / "tests/tools/jax_harnesses.py", "--kymo", kymo.path, "--every", "6",
                             "--match", "^(reduce_window_(add|mul|min)|convert_element_type)"], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    agreeing, refused = map(int, re.findall(r"(\d+) (?:agrees|refused),", result.stdout))
    assert agreeing > 4 * refused
