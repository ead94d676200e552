"""What HolisticTraceAnalysis says of the steps of Kineto captures: python hta_figures.py CAPTURE... >tests/data/kineto/hta.json

Needs HolisticTraceAnalysis 0.5.0, which brings JupyterLab: install it in an environment of its own. It looks at traces as a whole and
at streams one by one, so it gets a trace for each step, with the device's work in the step's time; and, for idle times, one in which
the streams are one and what runs beside other work is left out.
"""

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
from hta.trace_analysis import TraceAnalysis  # noqa: E402

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}


def in_window(events, start, end):
    """The work in a time, cut at its ends."""
    kept = []
    for event in events:
        first, last = max(event["ts"], start), min(event["ts"] + event["dur"], end)
        if first < last:
            kept.append({**event, "ts": first, "dur": last - first})
    return kept


def one_stream(events):
    """The parts of work in which nothing that began before it goes on, as if on one stream."""
    kept, covered = [], float("-inf")
    for event in sorted(events, key=lambda e: e["ts"]):
        first, last = max(event["ts"], covered), event["ts"] + event["dur"]
        if last > covered:
            kept.append({**event, "ts": first, "dur": last - first, "tid": 7, "args": {**event["args"], "stream": 7}})
            covered = last
    return kept


def analyze(trace, host, work):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rank.json"
        path.write_text(json.dumps({**trace, "traceEvents": host + work}))
        return TraceAnalysis(trace_files={0: str(path)}, trace_dir=folder)


def figures(path):
    trace = json.loads(gzip.decompress(Path(path).read_bytes()))
    trace["distributedInfo"] = {"rank": 0}
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and "dur" in e]
    for event in events:
        event.setdefault("args", {})
    work = [e for e in events if e.get("cat") in DEVICE]
    host = [e for e in events if e.get("cat") == "cuda_runtime"]
    steps = [e for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"]
    rows = []
    for step in steps:
        window = in_window(work, step["ts"], step["ts"] + step["dur"])
        whole = analyze(trace, host, window)
        times = whole.get_temporal_breakdown(visualize=False).iloc[0]
        overlap = whole.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"]
        idle = analyze(trace, host, one_stream(window)).get_idle_time_breakdown(ranks=[0], consecutive_kernel_delay=30, visualize=False)[0]
        causes = {row.idle_category: float(row.idle_time) for row in idle.itertuples()}
        rows.append(
            {
                "step": int(step["name"].split("#")[1]),
                "compute_us": float(times["compute_time(us)"]),
                "non_compute_us": float(times["non_compute_time(us)"]),
                "idle_us": float(times["idle_time(us)"]),
                "overlap_percent": float(overlap),
                "idle_by_cause_us": causes,
                "before_us": min(e["ts"] for e in window) - step["ts"],
                "after_us": step["ts"] + step["dur"] - max(e["ts"] + e["dur"] for e in window),
            }
        )
    return rows


if __name__ == "__main__":
    json.dump({Path(path).name: figures(path) for path in sys.argv[1:]}, sys.stdout, indent=1)
    print()
