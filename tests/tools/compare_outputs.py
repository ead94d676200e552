"""Compares what two builds of Kymo write: compare_outputs.py OLD/bin/kymo NEW/bin/kymo

Both builds run every command that reads captures or writes files over the captures in tests/data, each in a folder of its own with the same
names in it. Exit codes, standard output and each file written must be the same to the byte. Outputs for people (text, Markdown) may differ;
these are listed and counted.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
KINETO = sorted((DATA / "kineto").iterdir())
STORED = [*sorted((DATA / "xplane").iterdir()), *KINETO, *sorted((DATA / "neuron").iterdir()), *sorted((DATA / "gpu").glob("*.tar.xz"))]
MODEL, NTFF = DATA / "device" / "collectives.neff", DATA / "device" / "profile_rank_1.ntff"
THREADED = ("view", "convert", "recommend", "stats", "tool", "diff", "fleet")
TOOLS = ("overview_page input_pipeline_analyzer kernel_stats framework_op_stats op_profile roofline_model memory_profile hlo_stats memory_viewer "
         "graph_viewer").split()


def commands(capture):
    """(name, whether its words are for people, arguments) for one capture, which is in the working folder under its own name."""
    yield "info", True, ["info", capture]
    yield "info.json", False, ["info", capture, "--json"]
    yield "summary.txt", True, ["view", capture, "--output-format", "summary-text"]
    yield "summary.json", False, ["view", capture, "--output-format", "summary-json"]
    yield "json", False, ["view", capture, "--output-format", "json", "--output-file", "profile.json"]
    yield "perfetto", False, ["view", capture, "--output-format", "perfetto", "--output-file", "profile.pftrace", "--show-perfetto-flows"]
    yield "perfetto-gpu", False, ["view", capture, "--output-format", "perfetto", "--output-file", "gpu.pftrace", "--perfetto-gpu-stages"]
    yield "parquet", False, ["view", capture, "--output-format", "parquet", "--output-file", "tables"]
    yield "profile", True, ["view", capture, "--ingest-only", "--data-path", "workspace", "--display-name", "profile"]
    yield "convert", False, ["convert", capture, "converted.xplane.pb"]
    yield "recommend", True, ["recommend", "profile", "--data-path", "workspace"]
    yield "recommend.json", False, ["recommend", "profile", "--data-path", "workspace", "--format", "json"]
    yield "timeline", False, ["timeline", "profile", "--data-path", "workspace"]
    yield "tables", True, ["sql", "--data-path", "workspace", "profile"]
    for form in ("text", "csv", "json"):
        yield f"stats.{form}", form == "text", ["stats", "profile", "--data-path", "workspace", "--format", form]
    for tool in TOOLS:
        yield f"{tool}.txt", True, ["tool", tool, "profile", "--data-path", "workspace"]
        for form in ("csv", "json", "gviz"):
            yield f"{tool}.{form}", False, ["tool", tool, "profile", "--data-path", "workspace", "--format", form]


def device_commands():
    model, profile = MODEL.name, NTFF.name
    yield "neff-list", True, ["neff", "list", model]
    yield "neff-info", False, ["neff", "info", "--json", model]
    yield "neff-unpack", False, ["neff", "unpack", model, "-o", "model"]
    yield "session.txt", True, ["show-session", profile, "--show-trace", "--show-dma"]
    yield "session.json", False, ["show-session", profile, "-j"]
    yield "summary.txt", True, ["view", "-s", profile, "-n", model, "--output-format", "summary-text"]
    yield "summary.json", False, ["view", "-s", profile, "-n", model, "--output-format", "summary-json"]
    yield "json", False, ["view", "-s", profile, "-n", model, "--output-format", "json", "--output-file", "device.json"]
    yield "parquet", False, ["view", "-s", profile, "-n", model, "--output-format", "parquet", "--output-file", "tables"]
    yield "perfetto", False, ["view", "-s", profile, "-n", model, "--output-format", "perfetto", "--output-file", "device.pftrace"]
    yield "recommend.md", True, ["recommend", "-s", profile, "-n", model]
    for name in ("gpt_step.hlo.pb", "step.hlo.pb"):
        yield f"build {name}", False, ["neff", "build", name, "-o", f"{name}.neff"]
        yield f"capture {name}", False, ["capture", "-n", f"{name}.neff", "-s", f"{name}.ntff"]
        yield f"session {name}", False, ["show-session", f"{name}.ntff", "-j"]


def run_commands(first, second):
    """Runs of several ranks, and comparisons."""
    yield "diff.txt", True, ["diff", first, second]
    for form in ("json", "csv"):
        yield f"diff.{form}", False, ["diff", first, second, "--format", form]
    yield "fleet add", True, ["fleet", "add", "runs", "recommender_rank.json.gz", "recommender_rank1.json.gz", "--run", "night"]
    yield "fleet list", False, ["fleet", "list", "runs", "--format", "json"]
    yield "fleet sql", False, ["fleet", "sql", "runs", "SELECT * FROM RankStep ORDER BY ALL", "--format", "csv"]
    yield "fleet report.txt", True, ["fleet", "report", "runs", "--run", "night"]
    yield "fleet report.json", False, ["fleet", "report", "runs", "--run", "night", "--format", "json"]
    yield "fleet queries", False, ["fleet", "queries", "runs", "--run", "night"]


def contents(folder):
    """{file: hash} of all files below a folder."""
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.is_file()}


def results(kymo, folder, steps):
    """{step: (is text, exit code, output)} and {file: hash}."""
    answers = {}
    for name, text, arguments in steps:
        environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "SOURCE_DATE_EPOCH": "0"}
        one = ["-j", "1"] if arguments[0] in THREADED else []  # the order of what threads write varies
        result = subprocess.run([kymo, *arguments, *one, "--log-level", "error"], cwd=folder, env=environment, capture_output=True, check=False)
        answers[name] = (text, result.returncode, result.stdout, result.stderr)
    return answers, contents(folder)


def prepare(folder, inputs):
    folder.mkdir(parents=True)
    for path in inputs:
        if path.name.endswith(".tar.xz"):
            with tarfile.open(path) as archive:
                archive.extractall(folder / path.name.removesuffix(".tar.xz"), filter="data")
        elif path.is_file():
            shutil.copy2(path, folder)


def compare(old, new, name, inputs, steps):
    """Runs all steps with both builds, twice with the old one: what differs then (times, keys of hashes) says nothing about the new one."""
    with tempfile.TemporaryDirectory() as base:
        found = []
        for kymo, which in ((old, "1"), (old, "2"), (new, "3")):
            folder = pathlib.Path(base) / which / "folder"
            prepare(folder, inputs)
            found.append(results(kymo, folder, steps))
    first, second, other = ({**{name: answer[1:3] for name, answer in answers.items()}, **files} for answers, files in found)
    texts = {name for name, answer in found[0][0].items() if answer[0]}
    counts = dict.fromkeys(("compared", "differ", "texts", "failed", "vary"), 0)
    for key in sorted(first.keys() | other.keys()):
        counts["compared"] += 1
        counts["failed"] += key in found[0][0] and first[key][0] != 0
        if first.get(key) != second.get(key):
            counts["vary"] += 1
            print(f"{name}: {key} is not the same in two runs of the old build", flush=True)
        elif first.get(key) != other.get(key):
            is_text = key in texts and first[key][0] == other[key][0]
            counts["texts" if is_text else "differ"] += 1
            print(f"{name}: {key} differs{' (text)' if is_text else ''}", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--match", default="", help="only captures whose name contains this")
    options = parser.parse_args()
    old, new = options.old.resolve(), options.new.resolve()
    tasks = [(p.name, [p], list(commands(p.name.removesuffix(".tar.xz")))) for p in STORED]
    tasks.append(("device", [MODEL, NTFF, *sorted((DATA / "device").iterdir())], list(device_commands())))
    tasks.append(("runs", KINETO, list(run_commands("compare_base.json.gz", "compare_test.json.gz"))))
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for job in [pool.submit(compare, old, new, *task) for task in tasks if options.match in task[0]]:
            counts.update(job.result())
    print(f"{counts['compared']} outputs and files compared: {counts['differ']} differ; so do {counts['texts']} texts. "
          f"{counts['failed']} commands fail in the old build, {counts['vary']} outputs vary from run to run.")
    return 1 if counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
