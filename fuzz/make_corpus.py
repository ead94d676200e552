"""Writes the seed corpus of fuzz-xplane: small files that together use every part of the format."""

import gzip
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "e2e"))
import xspace  # noqa: E402
import zstandard  # noqa: E402
from wire import packed  # noqa: E402

OUT = pathlib.Path(__file__).parent / "corpus" / "xplane"


def hlo_proto():
    frames = b"".join(
        [packed(1, b"model.py"), packed(2, b"layer"), packed(3, packed(1, 1) + packed(2, 1) + packed(3, 7)),
         packed(4, packed(1, 1)), packed(4, packed(1, 1) + packed(2, 1))]
    )
    metadata = packed(2, b"jit(f)/dot") + packed(15, 2)
    instruction = packed(1, b"fusion.1") + packed(2, b"fusion") + packed(7, metadata)
    computation = packed(1, b"main") + packed(2, instruction)
    return packed(1, packed(1, b"jit_f") + packed(3, computation) + packed(17, frames))


def training():
    space = xspace.XSpace(hostnames=[b"host"], warnings=[b"w"], errors=[b"e"])
    metadata = xspace.PlaneWriter(space, "/host:metadata", pid=7)
    type_id = metadata.event_id("jit_f(5)")
    entry = next(e for e in metadata.plane.event_metadata if e.key == type_id)
    metadata.stat(entry.value.stats, "Hlo Proto", hlo_proto())
    metadata.stat(entry.value.stats, "program_id", 5)
    host = xspace.PlaneWriter(space, "/host:CPU", pid=7)
    main, other = host.line("python3", 1), host.line("worker", 2)
    device = xspace.PlaneWriter(space, "/device:GPU:0", pid=7)
    streams = [device.line("Stream #1(Compute)", 1), device.line("Stream #2(Compute)", 2)]
    for step in range(2):
        at = step * 1000
        host.event(main, "train", at, 900, _r=1, step_num=step)
        host.event(main, "execute", at + 5, 300, run_id=step + 1, _pt=3, _p=step + 10)
        host.event(main, "launch", at + 10, 50, correlation_id=step + 1)
        host.event(other, "work", at + 20, 100, _ct=3, _c=step + 10)
        for i, stream in enumerate(streams):
            device.event(stream, "fusion_1", at + 100 + i, 50, correlation_id=step + 1,
                         hlo_op="fusion.1", hlo_module="jit_f", program_id=5)
    xspace.task_environment(space, 1_700_000_000_000_000_000, 1_700_000_001_000_000_000)
    return space


def oddities():
    space = xspace.XSpace()
    plane = xspace.PlaneWriter(space, "/device:TPU:0")
    counters = plane.line("_counters_", (1 << 63) - 1)
    for i in range(4):
        plane.event(counters, f"counter {i % 2}", i * 10, 0, value=i * 1.5)
    modules, ops = plane.line("XLA Modules", 2), plane.line("XLA Ops", 3)
    plane.event(modules, "m", 0, 100, run_id=1, _ct=1, _c=4)
    plane.event(ops, "while", 0, 100)
    plane.event(ops, "body", 10, 50, text="t", raw=b"\x00\xff", big=(1 << 64) - 1, small=-1)
    event = ops.events.add(metadata_id=99, num_occurrences=3, duration_ps=40)
    event.stats.add(metadata_id=77, str_value=b"\xff\xfe")
    event.stats.add(metadata_id=1)
    entry = plane.plane.event_metadata.add(key=-5)
    entry.value.name, entry.value.display_name, entry.value.metadata = b"x", b"y", b"z"
    entry.value.child_id.extend([1, 2, 300])
    line = plane.line("epoch", 4, 1_700_000_000_000_000_000)
    plane.event(line, "late", 5, 5)
    plane.event(line, "early", 1, 9)
    return space


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    seeds = {"training": training().SerializeToString(), "oddities": oddities().SerializeToString()}
    seeds["training_gzip"] = gzip.compress(seeds["training"], mtime=0)
    seeds["oddities_zstd"] = zstandard.compress(seeds["oddities"])
    for name, data in seeds.items():
        (OUT / name).write_bytes(data)


if __name__ == "__main__":
    main()
