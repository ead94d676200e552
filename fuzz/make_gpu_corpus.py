"""Writes a seed of fuzz-recording: the rings that are there already, with activities of a GPU beside them."""

import pathlib
import sys

from make_rings_corpus import OUT, pieces

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "e2e"))

from gpu_session import Session  # noqa: E402

GPU_TRACE = 6  # its number in fuzz_recording.c


def main():
    session = Session()
    session.device(0)
    stream = session.stream(0, 1, 14)
    session.add("nodes", node=7, range=session.text("Thunk:#name=jit(f)/dot,hlo_op=dot.1#"))
    session.add("nodes", node=8, original=7, range=session.text("XlaModule:#hlo_module=jit_f,program_id=3#"))
    for start in (100, 200, 300):
        where = {"start_ns": start, "duration_ns": 50, "stream": stream, "correlation": start}
        session.add("kernels", **where, shape=session.shape("_Z3addPfS_i"), graph=2, graph_node=8)
        session.add("copies", **where, kind=1, source_kind=2, destination_kind=3, bytes=4096, flags=1)
        session.add("fills", **where, bytes=64, memory_kind=3)
        session.add("graphs", **where, graph=2)
        session.add("calls", start - 50, duration_ns=5, name=session.text("cuLaunchKernel"), thread=1, correlation=start)
        session.add("waits", start + 50, duration_ns=5, type=3, context=1, stream=14, correlation=start)
        session.add("overheads", start, duration_ns=5, kind=1 << 16, object_kind=1, object=1)
        session.add("windows", start - 50, duration_ns=200)
        for operation, pool in ((1, 0), (2, 4096)):
            session.add("allocations", time_ns=start + operation, operation=operation, memory_kind=3 - (start == 300), bytes=64, address=start,
                        pool=pool, pool_bytes=2 * pool, pool_used_bytes=pool)
        session.add("pools", time_ns=start, operation=start // 100, type=1, address=4096, size_bytes=8192, used_bytes=64)
        session.add("counters", time_ns=start, device=1, counter=session.text("power_mw"), value=start)
        session.add("samples", start, metric=session.text("dram__bytes_read.sum.per_second"), value=0x7F800000 - (start == 100))
        session.flush()
    session.trace.threads.add(thread=1, name=session.text("trainer"))
    session.trace.lost.append(3)
    session.trace.lost_samples.append(4)
    first = type(session.trace)(format=session.trace.format)
    data = first.SerializeToString() + session.trace.SerializeToString()
    (OUT.parent / "rings_gpu").write_bytes(OUT.read_bytes() + b"".join(pieces(GPU_TRACE, data)))


if __name__ == "__main__":
    main()
