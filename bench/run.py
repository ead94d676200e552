"""Prints how fast Kymo is, each figure beside its limit or a peer measured in the same run.

The machines this runs on are noisy: times are the best of several runs, and ratios say more than they.
"""

import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "build" / "bench"
KYMO = ROOT / "bin" / "kymo"
RUNS = 11

rows = []


def row(what, value, unit, limit=None, note="", at_most=True):
    if limit is None:
        rows.append((what, f"{value:.3g} {unit}", "", "", "", note))
        return
    ratio = value / limit if at_most else limit / value
    rows.append(
        (what, f"{value:.3g} {unit}", f"{'<' if at_most else '>'} {limit:.3g} {unit}",
         f"{ratio:.2f}", "ok" if ratio <= 1 else "MISSED", note)
    )


def show():
    table = [("what", "measured", "limit", "of limit", "", "")] + rows
    widths = [max(len(line[i]) for line in table) for i in range(6)]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def generate(path, steps):
    if not path.exists():
        subprocess.run([PROGRAMS / "gen_xplane", "--steps", str(steps), path], check=True)
    return path


def run(arguments):
    """Wall seconds and peak resident bytes of one run."""
    started = time.perf_counter()
    process = subprocess.Popen(list(map(str, arguments)), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    taken = time.perf_counter() - started
    if status != 0:
        sys.exit(f"{arguments} failed")
    return taken, usage.ru_maxrss * 1024


def jaxlib_seconds(path):
    """jaxlib's reader, in a process of its own; only its parsing, not a walk over the events."""
    program = (
        "import sys, time; from jax.profiler import ProfileData; start = time.perf_counter(); "
        "ProfileData.from_file(sys.argv[1]); print(time.perf_counter() - start)"
    )
    return min(
        float(subprocess.run([sys.executable, "-c", program, path], check=True, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
        for _ in range(3)
    )


def xplane():
    path = generate(PROGRAMS / "bench.xplane.pb", 1000)
    size = path.stat().st_size
    note = f"{size / 1e6:.0f} MB, 1.27 M events"
    parts = {}
    for line in subprocess.run([PROGRAMS / "bench_xplane", path], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.splitlines():
        name, seconds = line.split()
        parts[name] = float(seconds)
    runs = [run([KYMO, "view", path, "--output-format", "summary-json"]) for _ in range(RUNS)]
    summary = min(seconds for seconds, _ in runs)
    jaxlib = jaxlib_seconds(path)
    row("copying the file once (memcpy)", size / parts["copy"] / 1e9, "GB/s", note=note)
    row("XPlane: first pass, one core", size / parts["layout"] / 1e9, "GB/s")
    row("XPlane: decoding events, one core", size / parts["decode"] / 1e9, "GB/s", 1.0, at_most=False,
        note=f"{parts['decode'] / parts['copy']:.1f} times the copy")
    row("XPlane: decoding into memory, one core", size / parts["memory"] / 1e9, "GB/s")
    row("view --output-format summary-json", summary, "s", 0.25, note=f"{os.cpu_count()} cores")
    row("  its peak resident memory", max(memory for _, memory in runs) / size, "x file", 1.5)
    row("  against jaxlib's ProfileData", summary / jaxlib, "x", 1.0,
        note=f"jaxlib parses in {jaxlib:.2f} s and works nothing out")
    taken, memory = min(run([KYMO, "view", path, "--output-format", "json"]) for _ in range(3))
    row("view --output-format json", taken, "s", note=f"{memory / 1e6:.0f} MB resident")
    small = ROOT / "tests" / "data" / "xplane" / "jax_gpt_python_h200.xplane.pb"
    row("view of a small capture (2.4 MB)", min(run([KYMO, "view", small])[0] for _ in range(RUNS)), "s")


def main():
    xplane()
    show()


if __name__ == "__main__":
    main()
