"""How long stop_trace takes after many annotations: python stop_trace.py kymo|jax EVENTS, as JSON."""

import json
import os
import sys
import tempfile
import time


def main():
    which, events = sys.argv[1], int(sys.argv[2])
    if which == "jax":
        import jax.profiler as profiler
        options = profiler.ProfileOptions()
    else:
        import kymo.profiler as profiler
        options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    names = [f"operation {i}" for i in range(300)]
    with tempfile.TemporaryDirectory() as logs:
        profiler.start_trace(logs, profiler_options=options)
        begin = time.perf_counter()
        for i in range(events // 10):
            with profiler.StepTraceAnnotation("train", step_num=i):
                for k in range(9):
                    with profiler.TraceAnnotation(names[(i + k) % 300]):
                        pass
        recorded, before = time.perf_counter(), os.times()
        profiler.stop_trace()
        stopped, after = time.perf_counter(), os.times()
    print(json.dumps({"profiler": which, "events": events // 10 * 10, "ns_per_annotation": (recorded - begin) / events * 1e9,
                      "stop_s": stopped - recorded, "stop_cpu_s": sum(after[:4]) - sum(before[:4])}))  # with the program it runs


if __name__ == "__main__":
    main()
