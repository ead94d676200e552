#!/usr/bin/env python3
"""What recording a GPU costs: one table of modes, each a program of its own, on a machine with an NVIDIA GPU.

    bench/gpu/run.py [--kymo bin/kymo] [--repeat 2] [--modes 'nothing' 'kernel' ...]

Modes are run in turn, several times over, so that a machine that slows down does so for all of them; a mode's time is the
median of its rounds. Limits are the project's own; a ratio above its limit is marked.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Mode:
    def __init__(self, name, command=(), arguments=(), variables=None, against=None, limit=None):
        self.name, self.command, self.arguments = name, list(command), list(arguments)
        self.variables, self.against, self.limit = variables or {}, against, limit
        self.times, self.stops = [], []

    @property
    def median(self):
        return statistics.median(self.times)


def modes(kymo, bare, profilers):
    def inspect(*options):
        return [kymo, "inspect", "-o", "{out}", "--device", "cuda", *options]

    return [
        Mode("nothing"),
        Mode("bare CUPTI", variables={"CUDA_INJECTION64_PATH": str(bare)}),
        Mode("graph", inspect("--gpu-detail", "graph"), against="nothing", limit=1.05),
        Mode("sampled", inspect("--gpu-detail", "sampled=50/1"), against="nothing", limit=1.05),
        Mode("kernel", inspect("--gpu-enable-nvtx-tracking", "false"), against="bare CUPTI", limit=1.05),
        Mode("kernel + names", inspect(), against="kernel", limit=1.2),
        *(Mode(f"hardware counters, {us} us", inspect("--gpu-pm-sample-counters", "default", "--gpu-pm-sample-interval-us", us),
               against="kernel + names", limit=1.05) for us in (500, 100)),
        *(Mode("operators of PyTorch", inspect("--torch-ops"), against="kernel + names") for name in profilers if name == "torch"),
        *(Mode(f"{name}'s profiler", arguments=["--profiler", name], against="nothing") for name in profilers),
    ]


def run(program, mode, steps):
    with tempfile.TemporaryDirectory() as folder:
        command = [part.format(out=pathlib.Path(folder) / "out") for part in map(str, mode.command)]
        result = subprocess.run([*command, sys.executable, HERE / program, "--steps", str(steps), *mode.arguments],
                                env=os.environ | mode.variables, text=True, capture_output=True)
        lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
        if result.returncode != 0 or not lines:
            sys.exit(f"{program}, {mode.name}: {result.stdout}{result.stderr}")
        answer = json.loads(lines[-1])
        mode.times += answer["ms"]
        mode.stops.append(answer["stop_s"])


def show(program, measured):
    named = {mode.name: mode for mode in measured}
    print(f"\n{program}\n  {'mode':<26} {'ms/step':>8} {'x nothing':>10}  {'limit':<28} stop")
    missed = 0
    for mode in measured:
        note = ""
        if mode.limit and mode.against in named:
            ratio = mode.median / named[mode.against].median
            note = f"{ratio:.3f} x {mode.against}, {'ok' if ratio <= mode.limit else 'OVER'} ({mode.limit})"
            missed += ratio > mode.limit
        stop = f"{statistics.median(mode.stops):.2f} s" if mode.arguments else ""
        print(f"  {mode.name:<26} {mode.median:8.3f} {mode.median / measured[0].median:9.3f}x  {note:<28} {stop}")
    return missed


def write_time(kymo, steps):
    """How long a capture of many events takes from its end to its last byte."""
    code = ("import ctypes, json, runpy, sys, time\n"
            f"sys.argv = ['jax_gpt.py', '--steps', '{steps}', '--rounds', '1']\n"
            f"runpy.run_path('{HERE / 'jax_gpt.py'}', run_name='__main__')\n"
            "start = time.perf_counter(); ctypes.CDLL(None).kymo_stop()\n"
            "print(json.dumps({'stop_s': time.perf_counter() - start}), flush=True)")
    folder = pathlib.Path(tempfile.mkdtemp())
    result = subprocess.run([kymo, "inspect", "-o", folder / "out", sys.executable, "-c", code], text=True, capture_output=True)
    stop = json.loads(result.stdout.splitlines()[-1])["stop_s"]
    start = time.perf_counter()
    view = subprocess.run([kymo, "view", folder / "out", "--ingest-only", "--output-file", folder / "tables"],
                          text=True, capture_output=True)
    seconds = time.perf_counter() - start
    info = subprocess.run([kymo, "info", folder / "out"], text=True, capture_output=True).stdout.splitlines()[0]
    size = sum(path.stat().st_size for path in (folder / "out").rglob("*.pb"))
    print(f"\n{info}: stop and write {stop:.3f} s ({'ok' if stop <= 0.3 else 'OVER'}, limit 0.3), {size / 1e6:.1f} MB; "
          f"tables and index in {seconds:.2f} s, exit code {view.returncode}")
    shutil.rmtree(folder)
    return stop > 0.3


def measure(given, bare):
    missed = 0
    for program, profilers in [("jax_gpt.py", ["jax", "jax-python"]), ("torch_mlp.py", ["torch"])]:
        measured = [mode for mode in modes(given.kymo, bare, profilers) if not given.modes or mode.name in given.modes]
        for _ in range(given.repeat):
            for mode in measured:
                run(program, mode, given.steps)
        missed += show(program, measured)
    return missed if given.modes else missed + write_time(given.kymo, 4000)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kymo", default=ROOT / "bin" / "kymo", type=pathlib.Path)
    options.add_argument("--repeat", type=int, default=2)
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--modes", nargs="*", default=[], help="only these, without the time of the end")
    given = options.parse_args()
    bare = pathlib.Path(tempfile.mkdtemp()) / "bare_cupti.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", HERE / "bare_cupti.c", "-o", bare, "-ldl"], check=True)
    # Programs are compiled and tuned once, so that all modes run the same kernels.
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= {"JAX_COMPILATION_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        sys.exit(1 if measure(given, bare) else 0)


if __name__ == "__main__":
    main()
