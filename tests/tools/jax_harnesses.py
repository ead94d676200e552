"""Runs the test harnesses that JAX brings for its primitives through Kymo: each is lowered to an HLO module, compiled with
`kymo neff build`, run with `kymo capture` and compared with what JAX computes on the CPU.

    python tests/tools/jax_harnesses.py [--match ^scatter] [--every 10] [--cases DIR] [--optimized]

Prints a line for each harness that does not agree, then how many agree, are refused (by primitive and reason), differ, crash or take too
long. The exit status is 1 if any differs, crashes or takes too long. With --cases, modules are kept and used again the next time.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings
import zlib

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Compiling takes the time here, not running.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import numpy as np  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from closeness import difference  # noqa: E402

TIME_LIMIT_S = 120
EXPECTED = ("agrees", "refused", "not in JAX")


def load_harnesses():
    sys.argv = sys.argv[:1]  # the harnesses parse flags of their own
    from jax._src.internal_test_util import test_harnesses
    return test_harnesses.all_harnesses


def write_case(harness, folder, is_optimized):
    """The module, its inputs, and what JAX gives. Returns why there is none."""
    import jax
    import jax.numpy as jnp
    folder.mkdir(parents=True)
    if not harness.filter("cpu"):
        return "JAX does not implement it on CPUs"
    try:
        arguments = [jnp.asarray(argument) if not jax.dtypes.issubdtype(getattr(argument, "dtype", None), jax.dtypes.extended)
                     else argument for argument in harness.dyn_args_maker(np.random.RandomState(zlib.crc32(harness.fullname.encode())))]
        lowered = jax.jit(harness.dyn_fun, keep_unused=True).lower(*arguments)
        compiled = lowered.compile()
        results = compiled(*arguments)
    except Exception as problem:  # whatever JAX refuses
        return f"JAX: {type(problem).__name__}: {str(problem).splitlines()[0][:150]}"
    module = compiled.runtime_executable().hlo_modules()[0] if is_optimized else lowered.compiler_ir("hlo")
    for kind, tree in (("input", arguments), ("expected", results)):
        for i, leaf in enumerate(jax.tree.leaves(tree)):
            if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended):
                leaf = jax.random.key_data(leaf)
            array = np.asarray(leaf)
            (folder / f"{kind}{i}.dtype").write_text(array.dtype.name)
            np.save(folder / f"{kind}{i}.npy", array if array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}"))
    (folder / "model.hlo.pb").write_bytes(module.as_serialized_hlo_module_proto())
    return None


def call(command, folder):
    try:
        result = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        return "timeout", f"{command[1]}: more than {TIME_LIMIT_S} s"
    if result.returncode == 0:
        return "", ""
    error = (result.stderr.strip().splitlines() or [""])[-1]
    is_refused = result.returncode == 1 and command[1] == "neff" and "the compiled program is wrong" not in error
    return "refused" if is_refused else "crash", f"status {result.returncode}: {error}"


def run_case(kymo, folder):
    """How a case ends, and what there is to say."""
    for old in folder.glob("output*"):
        old.unlink()
    kind, text = call([kymo, "neff", "build", "--force", "model.hlo.pb", "-o", "model.neff"], folder)
    if kind:
        return kind, text
    inputs = [word for i in range(len(list(folder.glob("input*.npy")))) for word in (f"input{i}", f"input{i}.npy")]
    kind, text = call([kymo, "capture", "-n", "model.neff", "--disable-profile", "--save-output-npy", *inputs], folder)
    if kind:
        return kind, text
    for i in range(len(list(folder.glob("expected*.npy")))):
        found, expected = (np.load(folder / f"{name}{i}.npy").view((folder / f"expected{i}.dtype").read_text())
                           for name in ("output", "expected"))
        text = difference(found, expected)
        if text:
            return "differs", f"output{i}: {text}"
    return "agrees", ""


def case_of(cases, harness, number, is_optimized):
    """The folder of a case, and why there is none."""
    folder = cases / f"{number:04}"
    why = folder / "no-case"
    if not folder.exists():
        reason = write_case(harness, folder, is_optimized)
        if reason:
            why.write_text(reason)
    return folder, why.read_text() if why.exists() else None


def reason_of(text):
    """A refusal without what differs between the harnesses."""
    text = re.sub(r"^.*?instruction \S+ \(([^,)]*)[^)]*\): ", r"\1: ", text)
    return re.sub(r"\[[0-9,]*\]|\d+", "#", text)


def report(results):
    counts = collections.Counter(kind for _, kind, _ in results)
    for wanted in EXPECTED[1:]:
        reasons = collections.Counter((harness.group_name, reason_of(text)) for harness, kind, text in results if kind == wanted)
        for (group, reason), count in reasons.most_common():
            print(f"{wanted} {count:5} {group}: {reason}")
    print(", ".join(f"{counts[kind]} {kind}" for kind in (*EXPECTED, "differs", "crash", "timeout")),
          f"of {len(results)}")
    return set(counts) <= set(EXPECTED)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kymo", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "bin/kymo")
    parser.add_argument("--match", default="", help="only harnesses whose name matches this regular expression")
    parser.add_argument("--every", type=int, default=1, help="only every Nth of these")
    parser.add_argument("--cases", type=pathlib.Path, help="directory for modules and results (default: a temporary one)")
    parser.add_argument("--optimized", action="store_true", help="modules as XLA has optimized them for CPUs")
    parser.add_argument("--jobs", type=int, default=1, help="how many run at once, besides JAX")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [pair for pair in enumerate(load_harnesses()) if re.search(arguments.match, pair[1].fullname)][::arguments.every]
    results = []

    def finish(number, harness, kind, text):
        results.append((harness, kind, text))
        if kind not in EXPECTED:
            print(f"{number:04} {harness.fullname}: {kind}: {text}", flush=True)

    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        kymo, cases, running = arguments.kymo.resolve(), (arguments.cases or pathlib.Path(temporary)).resolve(), []
        for number, harness in chosen:
            folder, reason = case_of(cases, harness, number, arguments.optimized)
            if reason:
                finish(number, harness, "not in JAX", reason)
            else:
                running.append(pool.submit(lambda *case: finish(*case[:2], *run_case(kymo, case[2])), number, harness, folder))
        for each in running:
            each.result()
    return 0 if report(results) else 1


if __name__ == "__main__":
    sys.exit(main())
