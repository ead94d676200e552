"""What tracing of Python calls costs: ns for each call, Kymo's frames and samples beside cProfile and JAX's tracer in one run.

    PYTHONPATH=lib/kymo/python python3 bench/python/frames.py [--calls N] [--json]

Each figure is the least of several rounds less that of the untraced program. JAX is left out where it is not installed.
"""

import argparse
import contextlib
import cProfile
import json
import sys
import tempfile
import time

from kymo import _kymo


def leaf():
    return 1


def inner(x):
    return x


class Layer:
    def forward(self, x):
        return inner(x)


def calls(count):
    """Small functions: nothing but calls."""
    for _ in range(count):
        leaf()


def layers(count):
    """Methods, three calls deep, as a model's forward pass."""
    layer = Layer()

    def forward(x):
        return layer.forward(x)
    for i in range(count // 3):
        forward(i)


def recursion(count):
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)
    fib(23 if count >= 90_000 else 15)


def generators(count):
    def numbers(n):
        for i in range(n):
            yield i
    for _ in numbers(count):
        pass


def functions(count):
    """Functions in C, two for each Python function."""
    def measure(items):
        return len(items) + isinstance(items, list)
    items = [1, 2]
    for _ in range(count // 3):
        measure(items)


PROGRAMS = [calls, layers, recursion, generators, functions]


@contextlib.contextmanager
def kymo_frames(level, **options):
    with tempfile.TemporaryDirectory() as folder:
        _kymo.start(folder, max_events=2_000_000, cpu_util_ms=0, host_memory_ms=0)
        _kymo.trace_frames(level=level, **options)
        yield
        _kymo.stop()


@contextlib.contextmanager
def kymo_samples(hz):
    with tempfile.TemporaryDirectory() as folder:
        _kymo.start(folder, cpu_util_ms=0, host_memory_ms=0)
        _kymo.sample_stacks(hz)
        yield
        _kymo.stop()


@contextlib.contextmanager
def c_profile():
    profile = cProfile.Profile()
    profile.enable()
    yield
    profile.disable()


@contextlib.contextmanager
def jax_trace():
    import jax
    with tempfile.TemporaryDirectory() as folder:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level, options.host_tracer_level = 1, 0
        jax.devices()
        jax.profiler.start_trace(folder, profiler_options=options)
        yield
        jax.profiler.stop_trace()


def count_calls(program, count, with_functions):
    """Calls of the program, as sys.setprofile reports them."""
    kinds = {"call", "c_call"} if with_functions else {"call"}
    number = 0

    def profile(frame, event, arg):
        nonlocal number
        number += event in kinds
    sys.setprofile(profile)
    program(count)
    sys.setprofile(None)
    return number


def measure(program, count, tracers, rounds):
    """Seconds of CPU time by tracer, whose start and end are not in it. They take turns: a machine is not as fast all the time."""
    best = dict.fromkeys(tracers, float("inf"))
    for _ in range(rounds):
        for name, tracer in tracers.items():
            with tracer():
                start = time.thread_time()
                program(count)
                best[name] = min(best[name], time.thread_time() - start)
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=90_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tracers = {
        "kymo": lambda: kymo_frames(1),
        "kymo, C functions": lambda: kymo_frames(2),
        "kymo, 10 us": lambda: kymo_frames(1, min_duration_us=10),
        "kymo, 200 Hz": lambda: kymo_samples(200),
        "kymo, 1,000 Hz": lambda: kymo_samples(1000),
        "cProfile": c_profile,
    }
    with contextlib.suppress(ImportError):
        import jax  # noqa: F401
        tracers["jax"] = jax_trace
    figures = {}
    for program in PROGRAMS:
        python_calls = count_calls(program, options.calls, False)
        all_calls = count_calls(program, options.calls, True)
        seconds = measure(program, options.calls, {"plain": contextlib.nullcontext, **tracers}, options.rounds)
        row = figures[program.__name__] = {"calls": python_calls, "all_calls": all_calls, "plain_ms": seconds["plain"] * 1e3}
        for name in tracers:
            row[name] = (seconds[name] - seconds["plain"]) / python_calls * 1e9
    if options.json:
        print(json.dumps(figures))
        return
    print(f"Python {sys.version.split()[0]}: ns more for each call of a Python function")
    print(f"{'program':12}" + "".join(f"{name:>19}" for name in tracers))
    for name, row in figures.items():
        print(f"{name:12}" + "".join(f"{row[tracer]:19.0f}" for tracer in tracers))
    for other in ("cProfile", "jax"):
        if other in tracers:
            ratios = [row["kymo, C functions"] / row[other] for row in figures.values()]
            print(f"with C functions, times {other}'s cost: " + ", ".join(f"{ratio:.2f}" for ratio in ratios))


if __name__ == "__main__":
    main()
