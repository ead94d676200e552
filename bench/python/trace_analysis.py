"""What HolisticTraceAnalysis takes for the traces of a run's ranks: seconds of loading them, and of all analyses that concern one run.

    python3 bench/python/trace_analysis.py DIRECTORY

The directory holds a trace of each rank. Needs the packages of bench/requirements.txt.
"""

import json
import logging
import resource
import sys
import time

from hta.trace_analysis import TraceAnalysis


def cpu():
    """Of this process and of the workers that load traces."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def analyze(traces):
    ranks = sorted(traces.t.traces)
    traces.get_temporal_breakdown(visualize=False)
    traces.get_comm_comp_overlap(visualize=False)
    traces.get_gpu_kernel_breakdown(visualize=False)
    traces.get_idle_time_breakdown(ranks=ranks, visualize=False)
    traces.get_cuda_kernel_launch_stats(ranks=ranks, visualize=False)
    traces.get_queue_length_summary(ranks=ranks)
    traces.get_memory_bw_summary(ranks=ranks)
    traces.get_potential_stragglers()
    for rank in ranks:
        _, found = traces.critical_path_analysis(rank=rank, annotation="ProfilerStep", instance_id=0)
        if not found:
            sys.exit(f"no critical path of rank {rank}")
    return len(ranks)


def main():
    logging.disable(logging.CRITICAL)
    started, begun = time.perf_counter(), cpu()
    traces = TraceAnalysis(trace_dir=sys.argv[1])
    loaded, between = time.perf_counter(), cpu()
    count = analyze(traces)
    print(json.dumps({
        "ranks": count, "load_s": loaded - started, "load_cpu_s": between - begun,
        "analyses_s": time.perf_counter() - loaded, "analyses_cpu_s": cpu() - between,
        "memory": max(resource.getrusage(who).ru_maxrss * 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
