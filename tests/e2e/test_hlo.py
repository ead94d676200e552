"""HLO modules: functions in JAX, of every operation that is supported, and a training step of a GPT, run on a software
core and held against JAX. One process lowers them all, one runs them all."""

import json
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

HERE = pathlib.Path(__file__).parent


def tolerance(dtype):
    if dtype.kind in "iub":
        return 0
    return {np.dtype(np.float32): 2e-5, np.dtype(np.float16): 2e-3, np.dtype(ml_dtypes.bfloat16): 2e-2}[dtype]


def differences(folder):
    """What a folder's program gave that JAX did not."""
    description = json.loads((folder / "results.json").read_text())
    for rank in range(description["ranks"]):
        for i, result in enumerate(description["results"]):
            dtype = np.dtype(result["dtype"])
            found, expected = (np.frombuffer((folder / name).read_bytes(), dtype)
                               for name in (f"output{i}.{rank}.out", f"expected{i}.{rank}.bin"))
            if found.shape != expected.shape:
                yield f"{folder.name} {result['name']}: {found.size} elements, not {expected.size}"
                continue
            slack = 0 if result["name"].startswith("from_bits") else tolerance(dtype)
            wrong = ~np.isclose(found.astype(np.float64), expected.astype(np.float64), rtol=slack, atol=slack, equal_nan=True)
            if wrong.any():
                at = int(np.argmax(wrong))
                yield f"{folder.name} {result['name']} rank {rank}: {wrong.sum()} differ, [{at}] is {found[at]}, not {expected[at]}"


@pytest.mark.slow
def test_functions_in_jax_give_what_jax_gives(run_neff, tmp_path):
    subprocess.run([sys.executable, HERE / "hlo_model.py", tmp_path], check=True, timeout=600)
    folders = sorted(tmp_path.iterdir())
    result = subprocess.run([run_neff, *folders], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, "\n".join(line for line in result.stdout.splitlines() if ": ok " not in line) + result.stderr
    assert len(folders) == 20
    with np.errstate(invalid="ignore"):
        assert [line for folder in folders for line in differences(folder)] == []
    result = subprocess.run([run_neff, "--logical", "2", *folders[::3]], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, "\n".join(line for line in result.stdout.splitlines() if ": ok " not in line) + result.stderr
    with np.errstate(invalid="ignore"):
        assert [line for folder in folders for line in differences(folder)] == []
