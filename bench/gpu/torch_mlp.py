"""A launch-bound training step in PyTorch. Prints its time per step as JSON; --profiler torch records it with PyTorch's own."""

import argparse
import contextlib
import json
import time

import torch
from torch import nn

WIDTH, DEPTH, BATCH = 512, 20, 64


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--profiler", choices=["none", "torch"], default="none")
    options.add_argument("--log", help="where PyTorch's profiler writes")
    given = options.parse_args()
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(DEPTH)]
    model = nn.Sequential(*layers).cuda().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    data = torch.randn(BATCH, WIDTH, device="cuda", dtype=torch.bfloat16)

    def step():
        optimizer.zero_grad()
        model(data).float().square().mean().backward()
        optimizer.step()

    for _ in range(20):
        step()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    profiler = torch.profiler.profile(activities=activities) if given.profiler == "torch" else contextlib.nullcontext()
    profiler.__enter__()
    times = []
    for _ in range(given.rounds):
        start = time.perf_counter()
        for _ in range(given.steps):
            step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / given.steps * 1e3)
    start = time.perf_counter()
    profiler.__exit__(None, None, None)
    if given.profiler == "torch" and given.log:
        profiler.export_chrome_trace(given.log)
    print(json.dumps({"ms": times, "stop_s": time.perf_counter() - start}), flush=True)


if __name__ == "__main__":
    main()
