"""Writes the seed corpus of fuzz-timeline: small indexes that together use every part of the format.

They are built from small captures by $KYMO, by default bin/kymo; run `make` first.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import xspace  # noqa: E402

OUT = ROOT / "fuzz" / "corpus" / "timeline"
KYMO = os.environ.get("KYMO", ROOT / "bin" / "kymo")


def space_with(*lines):
    """A space whose lines are lists of events: start, duration and, for counters, a value."""
    space = xspace.XSpace()
    plane = xspace.PlaneWriter(space, "/host:CPU")
    for number, events in enumerate(lines):
        is_counter = len(events[0]) == 3
        line = plane.line("_counters_" if is_counter else f"t{number}", number)
        for i, (start, duration, *value) in enumerate(events):
            name = "c" if is_counter else "abcd"[i % 4]
            plane.event(line, name, start, duration, **({"value": value[0]} if value else {}))
    return space


def nested():
    """Nested calls, instants, and a counter with fractions."""
    calls = [(0, 900), (0, 400), (10, 30), (10, 10), (500, 300), (510, 0), (510, 0), (900, 50)]
    samples = [(i * 100, 0, i * 1.5) for i in range(8)]
    return space_with(calls, [(5, 1)], samples)


def long_row():
    """More events than fit a block or a leaf: whole nanoseconds, then fractions; a gap and a duration that
    are exceptions; and a counter of whole values."""
    events = [(i * 5_000, 3_000) for i in range(140)]
    events += [(10**9 + i * 50, 20 + i % 3) for i in range(80)]
    events += [(10**15, 10**12), (10**15 + 10**13, 1)]
    samples = [(i * 70, 0, float(i % 9)) for i in range(150)]
    return space_with(events, samples)


def many_rows():
    """All events overlap without nesting."""
    return space_with([(i, 1_000 + i) for i in range(12)])


def one():
    return space_with([(7, 3)])


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for make in (nested, long_row, many_rows, one):
        with tempfile.TemporaryDirectory() as folder:
            capture = pathlib.Path(folder, "x.xplane.pb")
            capture.write_bytes(make().SerializeToString())
            subprocess.run(
                [KYMO, "view", capture, "--output-format", "parquet",
                 "--output-file", f"{folder}/profile", "--ingest-only", "-j", "1"],
                check=True, stdout=subprocess.DEVNULL,
            )
            data = pathlib.Path(folder, "profile", "timeline.kymo").read_bytes()
        (OUT / make.__name__).write_bytes(data)


if __name__ == "__main__":
    main()
