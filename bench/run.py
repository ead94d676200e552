"""Benchmarks: prints each figure with its limit, or compared with a peer measured in the same run.

Times are the best of several runs; on noisy machines, ratios are more reliable than times.
"""

import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "build" / "bench"
KYMO = ROOT / "bin" / "kymo"
PEERS = ROOT / ".tools" / "peers"
CAPTURE = ROOT / "tests" / "data" / "xplane" / "jax_gpt_python_h200.xplane.pb"
RUNS = 11

rows = []


def row(what, value, unit, limit=None, note="", at_most=True):
    if limit is None:
        rows.append((what, f"{value:.3g} {unit}", "", "", "", note))
        return
    ratio = value / limit if at_most else limit / value
    rows.append(
        (what, f"{value:.3g} {unit}", f"{'<' if at_most else '>'} {limit:.3g} {unit}",
         f"{ratio:.2f}", "ok" if ratio <= 1 else "MISSED", note)
    )


def show():
    table = [("what", "measured", "limit", "of limit", "", "")] + rows
    widths = [max(len(line[i]) for line in table) for i in range(6)]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def generate_xplane(path, events):
    """A real capture of a training run, repeated up to this number of events."""
    if not path.exists():
        subprocess.run([PROGRAMS / "gen_xplane", "--events", str(events), CAPTURE, path], check=True)
    return path


def generate_kineto(path, steps):
    if not path.exists():
        subprocess.run([PROGRAMS / "gen_kineto", "--steps", str(steps), path], check=True)
    return path


class Run(NamedTuple):
    seconds: float
    cpu: float  # user and system time in seconds; less noisy than elapsed time
    memory: int  # peak resident bytes


def run(arguments):
    started = time.perf_counter()
    process = subprocess.Popen(list(map(str, arguments)), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    taken = time.perf_counter() - started
    if status != 0:
        sys.exit(f"{arguments} failed")
    return Run(taken, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def jaxlib_seconds(path):
    """CPU time of jaxlib's reader in a separate process; parsing only, without iterating over events."""
    program = (
        "import sys, time; from jax.profiler import ProfileData; start = time.process_time(); "
        "ProfileData.from_file(sys.argv[1]); print(time.process_time() - start)"
    )
    return min(
        float(subprocess.run([sys.executable, "-c", program, path], check=True, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
        for _ in range(3)
    )


def figures(arguments, **variables):
    """Parses the `name value` lines printed by a benchmark program."""
    output = subprocess.run(arguments, check=True, text=True, stdout=subprocess.PIPE, env=os.environ | variables).stdout
    return {name: float(value) for name, value in map(str.split, output.splitlines())}


def ingest(path, workspace):
    return run([KYMO, "view", path, "--display-name", "bench", "--force", "--ingest-only",
                "--data-path", workspace])


def profile_bytes(workspace, pattern):
    return sum(file.stat().st_size
               for file in (workspace / "profiles" / "global" / "bench@latest").glob(pattern))


def store(workspace):
    path = generate_xplane(PROGRAMS / "bench.xplane.pb", 1_270_000)
    runs = [ingest(path, workspace) for _ in range(RUNS)]
    cpu, memory, jaxlib = min(r.cpu for r in runs), max(r.memory for r in runs), jaxlib_seconds(path)
    row("XPlane to Parquet and timeline", min(r.seconds for r in runs), "s", 0.5,
        note=f"{memory / 1e6:.0f} MB resident, tables {profile_bytes(workspace, '*.parquet') / 1e6:.1f} MB, "
             f"timeline {profile_bytes(workspace, '*.kymo') / 1e6:.1f} MB")
    row("  its CPU time", cpu, "s", 0.8, note=f"sum over {os.cpu_count()} cores")
    row("  against jaxlib's ProfileData", cpu / jaxlib, "x", 1.0,
        note=f"CPU time; jaxlib takes {jaxlib:.2f} s to parse the file and stores nothing")


TOOLS = ("overview_page", "op_profile", "input_pipeline_analyzer", "kernel_stats", "memory_profile", "roofline_model",
         "pod_viewer", "framework_op_stats", "hlo_stats")


def xprof_tools(path, folder):
    """XProf's conversions of a capture, all tools in one process, in a folder of their own, where XProf keeps what it has worked out."""
    program = (
        "import os, resource, sys, time; from xprof.convert import raw_to_tool_data as convert; started = time.perf_counter(); "
        "[convert.xspace_to_tool_data([sys.argv[1]], tool, {}) for tool in sys.argv[2:]]; "
        "usage = resource.getrusage(resource.RUSAGE_SELF); "
        "print(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)"
    )
    copy = folder / "host.xplane.pb"
    shutil.copy(path, copy)
    result = subprocess.run([sys.executable, "-c", program, copy, *TOOLS], check=True, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    seconds, cpu, memory = map(float, result.stdout.split()[-3:])
    return Run(seconds, cpu, int(memory))


def ask_tools(workspace):
    """The tools, asked of a server one after the other."""
    server, address = serve(workspace)
    started = time.perf_counter()
    for tool in TOOLS:
        with urllib.request.urlopen(f"{address}/api/v1/profiles/bench/tools/{tool}?format=gviz") as answer:
            answer.read()
    taken = time.perf_counter() - started
    server.terminate()
    _, _, usage = os.wait4(server.pid, 0)
    return Run(taken, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def tools(workspace):
    """XProf's tools over 1.27 M events, from the file to the last table."""
    path = generate_xplane(PROGRAMS / "bench.xplane.pb", 1_270_000)
    processed = ingest(path, workspace)
    runs = [run([KYMO, "tool", tool, "bench", "--format", "gviz", "--data-path", workspace]) for tool in TOOLS]
    asked = ask_tools(workspace)
    cpu = processed.cpu + asked.cpu
    with tempfile.TemporaryDirectory(dir=PROGRAMS) as folder:
        theirs = xprof_tools(path, pathlib.Path(folder))
    row(f"{len(TOOLS)} of XProf's tools, CPU time", cpu, "s", theirs.cpu,
        note=f"asked of one server; limit: XProf's, in one process; processing {processed.cpu:.2f} s, then {asked.seconds:.2f} s elapsed, XProf {theirs.seconds:.1f} s")
    row("  each by the command line", processed.cpu + sum(one.cpu for one in runs), "s", theirs.cpu, note="limit: XProf's, all in one process")
    row("  memory", max(processed.memory, asked.memory, *(one.memory for one in runs)) / 1e6, "MB", theirs.memory / 1e6, note="limit: XProf's")


def graph(workspace):
    """A module of 50 MB as a graph, in Chromium."""
    if not shutil.which(os.environ.get("CHROMIUM", "chromium")):
        return
    path = PROGRAMS / "module.xplane.pb"
    if not path.exists():
        subprocess.run([sys.executable, ROOT / "bench" / "gen_module.py", CAPTURE, "50000000", path], check=True)
    ingest(path, workspace)
    server, address = serve(workspace)
    try:
        found = figures(["node", ROOT / "bench" / "bench_graph.mjs", f"{address}/profile/bench?tool=graph_viewer"])
    finally:
        server.terminate()
        server.wait()
    row("a module of 50 MB as a graph: first picture", found["first_picture"], "s", 1,
        note=f"from navigation; the server answers in {found['answer']:.2f} s")


def documents():
    """Export throughput: output size over the time in excess of the analysis."""
    path = generate_xplane(PROGRAMS / "bench.xplane.pb", 1_270_000)
    base = min(run([KYMO, "view", path, "--output-format", "summary-json"]).seconds for _ in range(5))
    for format in ("perfetto", "json"):
        out = PROGRAMS / f"bench.{format}"
        seconds = min(run([KYMO, "view", path, "--output-format", format, "--output-file", out]).seconds
                      for _ in range(5))
        row(f"view --output-format {format}", out.stat().st_size / (seconds - base) / 1e6, "MB/s", 300,
            at_most=False, note=f"{out.stat().st_size / 1e6:.0f} MB in {seconds:.2f} s")
        out.unlink()


class Discard(http.server.BaseHTTPRequestHandler):
    """An InfluxDB server that discards all points."""

    protocol_version = "HTTP/1.1"
    lines = 0  # bytes uncompressed, from the gzip trailer

    def log_message(self, *arguments):
        pass

    def do_POST(self):
        Discard.lines += int.from_bytes(self.rfile.read(int(self.headers["Content-Length"]))[-4:], "little")
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()


def database():
    path = generate_xplane(PROGRAMS / "bench.xplane.pb", 1_270_000)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Discard)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = min(run([KYMO, "view", path, "--output-format", "summary-json"]).seconds for _ in range(5))
    seconds, _, memory = min(run([KYMO, "view", path, "--output-format", "db", "--db-endpoint",
                               f"http://127.0.0.1:{server.server_port}"]) for _ in range(3))
    server.shutdown()
    size = Discard.lines / 3
    row("view --output-format db", size / (seconds - base) / 1e6, "MB/s",
        note=f"{size / 1e6:.0f} MB of lines, compressed, sent and discarded in {seconds:.2f} s; "
             f"{memory / 1e6:.0f} MB resident")


def large(workspace):
    """More events than fit in the memory limit: 100 million."""
    path = generate_xplane(PROGRAMS / "large.xplane.pb", 100_000_000)
    size = path.stat().st_size
    seconds, cpu, memory = ingest(path, workspace)
    row("a large XPlane to Parquet and timeline", seconds, "s",
        note=f"{size / 1e9:.1f} GB, 100 M events, {size / seconds / 1e6:.0f} MB/s, {cpu:.0f} s CPU time")
    row("  its peak resident memory", memory / 1e6, "MB", 512)
    query = "SELECT name, count(*), sum(duration_ns) FROM SystemProfileEvents GROUP BY name"
    seconds, _, memory = min(
        run([KYMO, "sql", "bench", query, "--format", "csv", "--data-path", workspace]) for _ in range(3))
    row("SQL: GROUP BY name over its events", seconds, "s", note=f"{memory / 1e6:.0f} MB resident")


def timeline():
    path = PROGRAMS / "bench.kymo"
    found = figures([PROGRAMS / "bench_timeline", path])
    events = found["events"]
    row("timeline: building", events / found["build"] / 1e6, "M events/s", 10, at_most=False,
        note=f"{events / 1e6:.0f} M events on 512 tracks, {os.cpu_count()} cores")
    row("timeline: size", found["bytes"] / events, "B/event", 12)
    row("timeline: opening", found["open"] * 1e3, "ms", 100,
        note=f"from disk {found['cold_open'] * 1e3:.1f} ms")
    for name, what in (("full", "everything"), ("percent", "1 % of the time"), ("ppm", "0.0001 %")):
        row(f"timeline: {what}, p99", found[f"{name}_p99"] * 1e3, "ms", 10,
            note=f"50 tracks at 2,000 px; median {found[f'{name}_p50'] * 1e3:.2f} ms, from disk "
                 f"{found[f'cold_{name}_p50'] * 1e3:.1f} ms; {found[f'{name}_items']:,.0f} items")
    row("timeline: peak resident memory", found["resident"] / 1e6, "MB", 200)
    path.unlink()


def serve(workspace, *command):
    """Starts a server on the workspace; returns it and its address."""
    options = [] if command else ["--api-server-port", "0"]
    server = subprocess.Popen([KYMO, *(command or ["view"]), "--data-path", workspace, "--port", "0", *options],
                              stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        if found := re.search(r"http://localhost:\d+", line):
            return server, found[0]
    sys.exit("the server did not start")


def browser(workspace):
    """The UI in Chromium without a GPU: frame times while navigating, and time to the first complete view."""
    if not shutil.which(os.environ.get("CHROMIUM", "chromium")):
        return
    for events, name in ((1_000_000, "1 M"), (10_000_000, "10 M"), (100_000_000, "100 M")):
        profile = workspace / "profiles" / "global" / "bench@latest"
        shutil.rmtree(profile, ignore_errors=True)
        profile.mkdir(parents=True)
        figures([PROGRAMS / "bench_timeline", profile / "timeline.kymo", str(events)])
        server, address = serve(workspace)
        try:
            found = figures(["node", ROOT / "bench" / "bench_ui.mjs", f"{address}/profile/bench"])
            status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
        finally:
            server.terminate()
            server.wait()
        peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1e3
        row(f"UI, {name} events: frames, median", found["frame_p50"] * 1e3, "ms", 17,
            note=f"zooming, panning, scrolling over 512 tracks; {found['frames']:.0f} frames, software rendering")
        row("  p99", found["frame_p99"] / found["empty_p99"], "x", 1.5,
            note=f"{found['frame_p99'] * 1e3:.0f} ms, vs. a page that only clears its canvases: "
                 f"{found['empty_p99'] * 1e3:.0f} ms, median {found['empty_p50'] * 1e3:.0f} ms")
        row("  first complete view", found["first_picture"], "s", 1, note="from navigation")
        row("    against an empty page", found["first_picture"] / found["empty_picture"], "x",
            note=f"which takes {found['empty_picture']:.2f} s to show a line of text and a cleared canvas")
        row("  the server's peak resident memory", peak, "MB", 250)


def xplane():
    path = generate_xplane(PROGRAMS / "bench.xplane.pb", 1_270_000)
    size = path.stat().st_size
    note = f"{size / 1e6:.0f} MB, 1.27 M events"
    parts = figures([PROGRAMS / "bench_import", path])
    runs = [run([KYMO, "view", path, "--output-format", "summary-json"]) for _ in range(RUNS)]
    summary, cpu = min(r.seconds for r in runs), min(r.cpu for r in runs)
    jaxlib = jaxlib_seconds(path)
    row("copying the file once (memcpy)", size / parts["copy"] / 1e9, "GB/s", note=note)
    row("XPlane: first pass, one core", size / parts["layout"] / 1e9, "GB/s")
    row("XPlane: decoding events, one core", size / parts["decode"] / 1e9, "GB/s", 1.0, at_most=False,
        note=f"{parts['decode'] / parts['copy']:.1f} times the copy")
    row("XPlane: decoding into memory, one core", size / parts["memory"] / 1e9, "GB/s")
    row("view --output-format summary-json", summary, "s", 0.2,
        note=f"{os.cpu_count()} cores, {cpu:.2f} s CPU time")
    row("  its peak resident memory", max(r.memory for r in runs) / size, "x file", 1.5)
    row("  against jaxlib's ProfileData", cpu / jaxlib, "x", 1.0,
        note=f"CPU time; jaxlib parses in {jaxlib:.2f} s, without analysis")
    row("view of a small capture (2.4 MB)",
        min(run([KYMO, "view", CAPTURE, "--output-format", "summary-text"]).seconds for _ in range(RUNS)), "s")


def json_seconds(path):
    """Python's json.load in a separate process."""
    program = (
        "import json, sys, time; start = time.perf_counter(); json.load(open(sys.argv[1])); "
        "print(time.perf_counter() - start)"
    )
    return min(
        float(subprocess.run([sys.executable, "-c", program, path], check=True, text=True,
                             stdout=subprocess.PIPE).stdout)
        for _ in range(3)
    )


def kineto():
    path = generate_kineto(PROGRAMS / "kineto.json", 20)
    size = path.stat().st_size
    parts = figures([PROGRAMS / "bench_import", path])
    note = f"{size / 1e6:.0f} MB, {parts['events'] / 1e3:.0f} thousand events"
    row("Kineto: first pass, one core", size / parts["layout"] / 1e9, "GB/s", note=note)
    row("Kineto: decoding events, one core", size / parts["decode"] / 1e9, "GB/s", 0.4, at_most=False,
        note=f"{parts['decode'] / parts['copy']:.0f} times the copy")
    summary = min(run([KYMO, "view", path, "--output-format", "summary-json"]).seconds for _ in range(RUNS))
    python = json_seconds(path)
    row("  its summary against Python's json.load", summary / python, "x", 1.0,
        note=f"{summary:.2f} s; Python parses in {python:.2f} s, without analysis")
    path = generate_kineto(PROGRAMS / "large_kineto.json", 1400)
    size = path.stat().st_size
    parts = figures([PROGRAMS / "bench_import", path, "1"])
    row("a large Kineto trace: decoding, one core", size / parts["decode"] / 1e9, "GB/s", 0.4, at_most=False,
        note=f"{size / 1e9:.1f} GB, {parts['events'] / 1e6:.1f} M events")
    seconds, _, memory = run([KYMO, "view", path, "--output-format", "summary-json"])
    row("  its summary", seconds, "s", note=f"{os.cpu_count()} cores, {size / seconds / 1e6:.0f} MB/s")
    row("  its peak resident memory", memory / 1e6, "MB", 512)


def lttng(directory):
    """The cost of an lttng-ust tracepoint in flight-recorder mode; empty if lttng is not installed."""
    program = PROGRAMS / "bench_lttng"
    if not program.exists() or not shutil.which("lttng-sessiond"):
        return {}
    environment = {**os.environ, "LTTNG_HOME": directory, "HOME": directory}
    quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    pid_file = pathlib.Path(directory) / "sessiond.pid"
    commands = (
        "create bench --snapshot",
        "enable-channel --userspace --subbuf-size 4M --num-subbuf 8 --overwrite ring",
        "enable-event --userspace --channel ring bench:instant",
        "start",
    )
    daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel", "--pidfile", str(pid_file)], **quiet)
    try:
        for _ in range(100):
            if pid_file.exists():
                break
            time.sleep(0.05)
        for command in commands:
            if subprocess.run(["lttng", *command.split()], **quiet).returncode != 0:
                return {}
        output = subprocess.run([program], check=True, text=True, env={**environment, "LTTNG_UST_REGISTER_TIMEOUT": "-1"},
                                stdout=subprocess.PIPE).stdout
        subprocess.run(["lttng", "destroy", "--no-wait", "bench"], **quiet)
        return {name: float(value) for name, value in map(str.split, output.splitlines())}
    finally:
        daemon.terminate()
        daemon.wait()


def recorder():
    """libkymo: each figure relative to a bare read of the CPU's counter, measured alternately."""
    with tempfile.TemporaryDirectory(dir=PROGRAMS) as directory:
        found = figures([PROGRAMS / "bench_record", directory]) | lttng(directory)
    counter, note = found["counter"], f"a bare read takes {found['counter']:.1f} ns"
    row("recording an event", found["event"] / counter, "x read", 2,
        note=f"{found['event']:.1f} ns; {note}")
    row("  on the first lap of the ring", found["first_lap"] / counter, "x read", 2,
        note=f"{found['first_lap']:.1f} ns")
    row("  begin and end with an arg", found["pair"] / counter, "x read", 4,
        note=f"{found['pair']:.1f} ns; as a scope {found['scope']:.1f} ns")
    row("  an instant with three args", found["args"] / counter, "x read", note=f"{found['args']:.1f} ns")
    row("  against clock_gettime and a locked queue", found["event"] / found["queue"], "x", 1,
        note=f"that takes {found['queue']:.1f} ns")
    if "lttng" in found:
        row("  against lttng-ust", found["event"] / found["lttng"], "x", 1,
            note=f"that takes {found['lttng']:.1f} ns")
    row("  from eight threads, CPU time", found["threads_8"] / found["threads_1"], "x one", 1.2)
    row("  when capture is off", max(0, found["off_scope"] - found["loop"]), "ns", 1)
    row("stop of a capture, 1.3 M events", found["stop_seconds"], "s", 0.3)
    row("memory beyond the ring, 10 M events", found["memory_beyond_ring_mb"], "MB", 10)


def interposer():
    """10 M calls of an empty runtime: recorded, with capture off, and without the interposer."""
    program, preload = [PROGRAMS / "bench_interpose", "10000000"], {"LD_PRELOAD": str(ROOT / "lib" / "libkymo-nrt.so")}
    with tempfile.TemporaryDirectory(dir=PROGRAMS) as directory:
        bare, off = figures(program), figures(program, **preload)
        on = figures(program, **preload, NEURON_RT_INSPECT_ENABLE="1", NEURON_RT_INSPECT_OUTPUT_DIR=directory)
    row("a call of the runtime, recorded", on["empty"] / on["counter"], "x read", 5,
        note=f"10 M calls, {on['empty']:.1f} ns each; bare {bare['empty']:.1f} ns, capture off {off['empty']:.1f} ns; "
             "the counter is read twice")
    row("  with four args, one a tensor's name", on["write"] / on["counter"], "x read", note=f"{on['write']:.1f} ns")


def python_frames():
    """Traced calls beside cProfile and JAX's tracer, in one run."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lib" / "kymo" / "python")}
    result = subprocess.run([ROOT / ".venv" / "bin" / "python", ROOT / "bench" / "python" / "frames.py", "--json", "--rounds", "11"],
                            env=environment, text=True, stdout=subprocess.PIPE, check=True)
    programs = json.loads(result.stdout.splitlines()[-1])
    for peer in ("cProfile", "jax"):
        ratios = [p["kymo, C functions"] / p[peer] for p in programs.values() if peer in p]
        if ratios:
            row(f"tracing Python and C functions against {peer}", sorted(ratios)[len(ratios) // 2], "x", 1.0,
                note="the middle of " + ", ".join(programs))
    row("tracing a Python function", max(p["kymo"] for p in programs.values()), "ns")


def containers():
    """Device profiles and programs of NeuronCores, on one core, made up; CPU time."""
    with tempfile.TemporaryDirectory(dir=PROGRAMS) as directory:
        found = figures([PROGRAMS / "bench_ntff", pathlib.Path(directory) / "bench.ntff"])
    million = {name: value / 1e6 for name, value in found.items()}
    row("NTFF, notifications written", million["ntff_write_per_s"], "M/s", 20, at_most=False,
        note=f"{million['ntff_copy_per_s'] / million['ntff_write_per_s']:.0f} x the time of memcpy")
    row("  and read", million["ntff_read_per_s"], "M/s", 20, at_most=False,
        note=f"{million['ntff_copy_per_s'] / million['ntff_read_per_s']:.0f} x the time of memcpy")
    row("  size of a notification", found["ntff_bytes"], "bytes", 5)
    row("NEFF, instructions decoded", million["program_decode_per_s"], "M/s",
        note=f"{found['program_bytes']:.1f} bytes each; checked at {million['program_check_per_s']:.1f} M/s")


def neuroncore():
    """The simulated core: instructions without arithmetic, matmuls with it; CPU times."""
    found = figures([PROGRAMS / "bench_neuroncore"])
    for version in ("v2", "v3"):
        count, seconds = found[f"{version}_instructions"], found[f"{version}_seconds"]
        row(f"NeuronCore {version}: instructions, no arithmetic", count / seconds / 1e6, "M/s", 2, at_most=False,
            note=f"{count / 1e3:.0f} thousand, with DMA and semaphores, one core")
        row("  profiled", found[f"{version}_profiled"] / seconds, "x", 1.3,
            note=f"{found[f'{version}_notifications'] / 1e6:.1f} M notifications")
    flops = found["products"] * 2 * 128 * 128 * 512
    row("NeuronCore: matmuls against a plain kernel", found["matmul"] / found["plain_matmul"], "x", 3,
        note=f"{flops / found['matmul'] / 1e9:.0f} GFLOP/s with DMA and activation; plain: {flops / found['plain_matmul'] / 1e9:.0f}")
    row("  profiled", found["matmul_profiled"] / found["matmul"], "x", 1.3, note="checksums of DMA included")


def ranks():
    """All-reduces of 1 MiB between four ranks."""
    found = figures([PROGRAMS / "bench_ranks"])
    row("all-reduce of 1 MiB, 4 processes", found["processes"] / found["threads"], "x threads", 3,
        note=f"{found['processes']:.0f} µs; threads {found['threads']:.0f} µs; four nodes on loopback {found['nodes']:.0f} µs")


def capture_gpt(folder, executions):
    """The GPT example's profile of that many executions, and how many notifications it has."""
    path = folder / f"{executions}.ntff"
    subprocess.run([KYMO, "capture", "-n", "file.neff", "-s", path.name, "--num-exec", str(executions), "--exec-mode", "async"], check=True,
                   capture_output=True, cwd=folder, env=os.environ | {"KYMO_NEURON_COMPUTE": "0"})
    info = json.loads(subprocess.run([KYMO, "info", "--json", path], check=True, capture_output=True).stdout)
    return path, sum(group["count"] for group in info["notifications"])


def device_profiles():
    """Executions of the GPT example, from NTFF to all tables and the index, on two cores; and as JSON.

    KYMO_BENCH_EXECUTIONS=38500 makes the NTFF 2 GB: half a billion notifications, for which 50 GB of disk must be free.
    """
    with tempfile.TemporaryDirectory(dir=PROGRAMS) as directory:
        folder = pathlib.Path(directory)
        subprocess.run([KYMO, "neff", "build", ROOT / "examples" / "gpt12.json", "-o", folder / "file.neff", "--core", "v2"],
                       check=True, capture_output=True)
        path, count = capture_gpt(folder, int(os.environ.get("KYMO_BENCH_EXECUTIONS", "2000")))
        size = path.stat().st_size
        made = run([KYMO, "view", path, "-j", "2", "--output-file", folder / "tables", "--ingest-only"])
        row("NTFF to all tables and index, two cores", count / made.seconds / 1e6, "M/s", 3, at_most=False,
            note=f"{count / 1e6:.1f} M notifications, {made.cpu:.1f} s of CPU")
        row(f"  time for {size / 1e6:.0f} MB, of 60 s for 2 GB", made.seconds, "s", 60 * size / 2e9,
            note=f"{size / count:.1f} bytes a notification; as records of 16 to 32 bytes, {16 * count / 1e6:.0f} to {32 * count / 1e6:.0f} MB")
        row("  memory", made.memory / 2**20, "MiB", 512)
        path, _ = capture_gpt(folder, 80)
        made = run([KYMO, "view", "-n", folder / "file.neff", "-s", path, "--output-format", "json", "--output-file", folder / "json"])
        row("device JSON of 254,720 instructions, memory", made.memory / 2**20, "MiB", 512, note=f"{made.seconds:.1f} s")


def python():
    """stop_trace after 1.3 million annotations, and imports; JAX's profiler in the same run."""
    program = ROOT / "bench" / "python" / "stop_trace.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lib" / "kymo" / "python")}

    def measure(profiler):
        result = subprocess.run([sys.executable, program, profiler, "1300000"], env=environment, capture_output=True, text=True, check=True)
        return json.loads(result.stdout)
    ours = min((measure("kymo") for _ in range(3)), key=lambda figures: figures["stop_s"])
    theirs = measure("jax")
    row("stop_trace of 1.3 M annotations", ours["stop_s"], "s", 0.5,
        f"CPU time {ours['stop_cpu_s']:.2g} s; JAX: {theirs['stop_s']:.3g} s, CPU time {theirs['stop_cpu_s']:.2g} s")
    row("annotation from Python", ours["ns_per_annotation"], "ns", theirs["ns_per_annotation"], "limit: JAX's")
    code = "import time; start = time.perf_counter(); import kymo.profiler; print(time.perf_counter() - start)"
    seconds = min(float(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout)
                  for _ in range(5))
    row("import kymo.profiler", seconds * 1e3, "ms", 20)


def fleet(workspace):
    """Analyses of runs of 125, 250, ... ranks of 1,000 steps, to see how time and memory grow.

    KYMO_BENCH_RANKS=10000 goes on to 10,000 ranks, for which 4 GB of disk must be free.
    """
    most, before = int(os.environ.get("KYMO_BENCH_RANKS", "1000")), None
    for count in sorted({most // 8 // 8 * 8, most // 4 // 8 * 8, most}):
        dataset = workspace / f"fleet-{count}"
        made = run([PROGRAMS / "gen_run", "--ranks", count, "--steps", 1000, "--clocks", "1e6:20",
                    "--straggler", f"compute:{count // 2}:1.1:300", "--straggler", "host:3:1.3:0:20", dataset])
        size = sum(file.stat().st_size for file in dataset.rglob("*.parquet"))
        done = run([KYMO, "fleet", "report", dataset])
        note = f"{done.cpu:.1f} s of CPU, {done.memory / 1e6:.0f} MB resident; dataset {size / 1e6:.0f} MB, made in {made.seconds:.0f} s"
        if before:
            note += f"; for {count / before[0]:.1f} times the ranks {done.cpu / before[1].cpu:.1f} times the CPU, " \
                    f"{done.memory / before[1].memory:.1f} times the memory"
        row(f"fleet report, {count:,} ranks x 1,000 steps", done.seconds, "s", note=note)
        before = count, done
        shutil.rmtree(dataset)


def install_peers():
    """Installs bench/requirements.txt, again when it has changed."""
    wanted = ROOT / "bench" / "requirements.txt"
    stamp = PEERS / "requirements.txt"
    if stamp.exists() and stamp.read_text() == wanted.read_text():
        return
    shutil.rmtree(PEERS, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", PEERS, "-r", wanted],
                   check=True)
    shutil.copy(wanted, stamp)


def eight_ranks(folder):
    """A real trace of PyTorch's as that of each of eight ranks."""
    trace = json.loads(gzip.decompress((ROOT / "tests" / "data" / "kineto" / "nccl_gpu_rank.json.gz").read_bytes()))
    everyone = list(range(8))
    trace["distributedInfo"]["world_size"] = len(everyone)
    for event in trace["traceEvents"]:
        if "Process Group Ranks" in event.get("args", {}):
            event["args"].update({"Process Group Ranks": str(everyone), "Group size": len(everyone)})
    folder.mkdir()
    for rank in everyone:
        trace["distributedInfo"]["rank"] = rank
        (folder / f"rank-{rank}.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode(), 1))
    return len(trace["traceEvents"])


def trace_analysis(workspace):
    """Traces of eight ranks to a report, against HolisticTraceAnalysis's loading and analyses of the same files."""
    install_peers()
    traces, dataset = workspace / "traces", workspace / "trace-analysis"
    events = eight_ranks(traces)
    theirs = json.loads(subprocess.run(
        [sys.executable, "-W", "ignore", ROOT / "bench" / "python" / "trace_analysis.py", traces], env={**os.environ, "PYTHONPATH": str(PEERS)},
        capture_output=True, text=True, check=True).stdout)
    added = run([KYMO, "fleet", "add", dataset, traces])
    done = run([KYMO, "fleet", "report", dataset])
    their_cpu = theirs["load_cpu_s"] + theirs["analyses_cpu_s"]
    row(f"report of 8 ranks of {events / 1e3:.0f} thousand events, CPU time", (added.cpu + done.cpu) / their_cpu, "x", 0.25,
        f"{added.cpu:.2f} s + {done.cpu:.2f} s, {max(added.memory, done.memory) / 1e6:.0f} MB; HolisticTraceAnalysis: "
        f"{theirs['load_cpu_s']:.1f} s + {theirs['analyses_cpu_s']:.1f} s, {theirs['memory'] / 1e6:.0f} MB")


def heatmap(workspace):
    """Pictures of many lanes and steps, from a server that was just started and once it is warm.

    KYMO_BENCH_HEATMAP=10000x10000 for the size that must be drawn within a second, for which 5 GB of disk must be free.
    """
    lanes, steps = map(int, os.environ.get("KYMO_BENCH_HEATMAP", "1000x10000").split("x"))
    dataset = workspace / "heatmap"
    run([PROGRAMS / "gen_run", "--ranks", lanes, "--steps", 4, "--no-kernels", "--run", "night", dataset])
    run([KYMO, "fleet", "report", dataset])
    run([sys.executable, ROOT / "bench" / "gen_heatmap.py", dataset, "night", steps])
    size, note = f"{lanes:,} lanes x {steps:,} steps", f"{(dataset / '_analysis' / 'night' / 'heatmap.kymo').stat().st_size / 1e6:.0f} MB of matrices"

    def seconds(address, path):
        started = time.perf_counter()
        with urllib.request.urlopen(f"{address}/api/v1/runs/heatmap/night/{path}") as answer:
            answer.read()
        return time.perf_counter() - started

    server, address = serve(workspace, "serve", dataset)
    try:
        lists = seconds(address, "lanes")
        first = seconds(address, "heatmap?width=1000&height=300")
        row(f"heat map, {size}: lanes and picture of a cold server", lists + first, "s", 1, note=f"{note}; lanes {lists:.2f} s")
        for name, path in (("slowest first", "order=slowest"), ("clustered", "order=cluster&measure=duration"),
                           ("half of it", f"rows=0-{lanes // 2 - 1}"), ("800 steps", f"steps={steps // 2}-{steps // 2 + 799}")):
            taken = [seconds(address, f"heatmap?width=1000&height=300&{path}") for _ in range(RUNS)]
            row(f"  {name}", min(taken), "s", 1, note=f"the slowest of {RUNS}: {max(taken):.2f} s")
    finally:
        server.terminate()
        server.wait()
    if shutil.which(os.environ.get("CHROMIUM", "chromium")):
        server, address = serve(workspace, "serve", dataset)
        try:
            found = figures(["node", ROOT / "bench" / "bench_heatmap.mjs", f"{address}/?run=heatmap/night"])
        finally:
            server.terminate()
            server.wait()
        row("  in the browser, from navigation", found["first_picture"], "s", 1, note=f"the next time {found['next_picture']:.2f} s; an empty page {found['empty_picture']:.2f} s")
    shutil.rmtree(dataset)


def main():
    workspace = pathlib.Path(tempfile.mkdtemp(prefix="workspace-", dir=PROGRAMS))
    try:
        recorder()
        python()
        interposer()
        python_frames()
        containers()
        neuroncore()
        ranks()
        fleet(workspace)
        trace_analysis(workspace)
        heatmap(workspace)
        device_profiles()
        xplane()
        kineto()
        store(workspace)
        tools(workspace)
        graph(workspace)
        documents()
        database()
        timeline()
        browser(workspace)
        large(workspace)
    finally:
        shutil.rmtree(workspace)
    show()


if __name__ == "__main__":
    main()
