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
        session.flush()
    session.trace.lost.append(3)
    first = type(session.trace)(format=session.trace.format)
    data = first.SerializeToString() + session.trace.SerializeToString()
    (OUT.parent / "rings_gpu").write_bytes(OUT.read_bytes() + b"".join(pieces(GPU_TRACE, data)))


if __name__ == "__main__":
    main()
