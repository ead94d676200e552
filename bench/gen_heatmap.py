"""Gives an analyzed run many steps: replaces what heat maps are drawn from by that of STEPS synthetic steps.

gen_heatmap.py DATASET RUN STEPS

The analysis of 10,000 ranks x 10,000 steps takes more memory than most machines have; its results do not.
"""

import pathlib
import struct
import sys

import duckdb
import numpy

MEASURES, HEADER, LANES_AT_ONCE = 8, 96, 100


def steps(folder, count):
    path = folder / "Step.parquet"
    made = path.with_suffix(".new")
    duckdb.sql(f"SELECT n.range AS step, s.* EXCLUDE (step) FROM (SELECT * FROM '{path}' LIMIT 1) AS s, range({count}) AS n").write_parquet(str(made))
    made.replace(path)


def matrices(folder, count):
    """Noise, and every 97th lane late from a step on."""
    (lanes,), = duckdb.sql(f"SELECT count(*) FROM '{folder}/RankSummary.parquet'").fetchall()
    chance = numpy.random.default_rng(1)
    with open(folder / "heatmap.kymo", "r+b") as file:
        header = bytearray(file.read(HEADER))
        struct.pack_into("<2I", header, 16, lanes, count)
        file.truncate(HEADER + 4 * MEASURES * lanes * count)
        file.seek(0)
        file.write(header)
        for first in range(0, lanes, LANES_AT_ONCE):
            number = numpy.arange(first, min(first + LANES_AT_ONCE, lanes))
            values = chance.standard_normal((len(number), count), numpy.float32) * numpy.float32(3e5)
            late = (number[:, None] % 97 == 5) & (numpy.arange(count) >= number[:, None] * 31 % count)
            values += late * numpy.float32(4e6)
            for measure in range(MEASURES):
                file.seek(HEADER + 4 * (measure * lanes + first) * count)
                file.write(values.tobytes())


if __name__ == "__main__":
    results = pathlib.Path(sys.argv[1]) / "_analysis" / sys.argv[2]
    steps(results, int(sys.argv[3]))
    matrices(results, int(sys.argv[3]))
