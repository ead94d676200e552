"""kymo diff: two profiles compared, against figures worked out in Python from the tables, and changes planted in real captures."""

import collections
import csv
import functools
import gzip
import io
import json
import math
import statistics

import pyarrow.parquet
import pytest

from conftest import DATA
from server import Server

CHROME = DATA / "xplane" / "jax_gpt_python_h200.trace.json.gz"
XPLANE = DATA / "xplane" / "jax_gpt_python_h200.xplane.pb"
BASE, TEST = (DATA / "kineto" / f"compare_{name}.json.gz" for name in ("base", "test"))
PARTS = {
    "computation": ["compute_16_ns", "compute_32_ns", "compute_other_ns"],
    "exposed collectives": ["collectives_ns"],
    "copies": ["device_to_device_ns", "device_to_host_ns", "host_to_device_ns"],
    "input wait": ["input_wait_ns"],
    "host computation": ["host_compute_ns"],
    "kernel launch": ["kernel_launch_ns"],
    "compilation": ["compile_ns"],
    "other": ["other_ns"],
}


@functools.lru_cache(maxsize=None)  # a comparison takes a second
def printed(kymo, *arguments):
    return kymo.ok("diff", *arguments)


def diff(kymo, a, b, *arguments):
    return json.loads(printed(kymo, a, b, "--format", "json", *arguments))


def rows_of(document, kind):
    return [row for row in document["rows"] if row["kind"] == kind]


def changes(document, kind):
    """{change: names} of the rows that changed."""
    found = collections.defaultdict(set)
    for row in rows_of(document, kind):
        if row["change"] != "same":
            found[row["change"]].add(row["name"])
    return dict(found)


# --- the tests, worked out once more ---


def mann_whitney(a, b):
    """Counts pairs instead of ranks; ties and continuity are corrected for."""
    n, m = len(a), len(b)
    u = sum((x > y) + (x == y) / 2 for x in a for y in b)
    ties = sum(t**3 - t for t in collections.Counter(a + b).values())
    variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)))
    if variance <= 0:
        return 1
    z = max(0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance)
    return 2 * (1 - statistics.NormalDist().cdf(z)) if z < 5 else math.erfc(z / math.sqrt(2))


def welch(a, b):
    """The density of Student's t, integrated by Simpson's rule."""
    v, w = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    t = abs(statistics.fmean(a) - statistics.fmean(b)) / math.sqrt(v + w)
    f = (v + w) ** 2 / (v**2 / (len(a) - 1) + w**2 / (len(b) - 1))
    scale = math.exp(math.lgamma((f + 1) / 2) - math.lgamma(f / 2)) / math.sqrt(f * math.pi)
    count = 20000
    weights = (1 if i in (0, count) else 4 if i % 2 else 2 for i in range(count + 1))
    area = sum(q * (1 + (t * i / count) ** 2 / f) ** (-(f + 1) / 2) for i, q in enumerate(weights)) * t / count / 3
    return 1 - 2 * scale * area


def benjamini_hochberg(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted = [0.0] * len(values)
    for rank, index in enumerate(order, 1):
        adjusted[index] = min(1, *(values[order[k - 1]] * len(values) / k for k in range(rank, len(values) + 1)))
    return adjusted


class Profile:
    """Steps and kernels of a capture, from its tables."""

    def __init__(self, kymo, capture, directory):
        kymo.run("view", capture, "--output-format", "parquet", "--output-file", directory)
        self.directory = directory
        steps = sorted(self.table("StepBreakdown"), key=lambda step: step["start_ts"])
        durations = [step["duration_ns"] for step in steps]
        middle = statistics.median(durations)
        deviation = 1.4826 * statistics.median([abs(d - middle) for d in durations])
        skipped = 0
        while durations[skipped] > middle + max(3 * deviation, middle / 10):
            skipped += 1
        self.left_out, self.steps = steps[:skipped], steps[skipped:]
        self.kernels = collections.defaultdict(lambda: collections.defaultdict(list))
        for kernel in self.table("GpuKernel"):
            self.kernels[kernel["name"]][self.step_of(kernel, steps)].append(kernel["duration_ns"])

    def table(self, name):
        return pyarrow.parquet.read_table(self.directory / f"{name}.parquet").to_pylist()

    @staticmethod
    def step_of(kernel, steps):
        """By its launch, otherwise by its time."""
        if kernel["step_id"] is not None:
            return kernel["step_id"]
        last = [step for step in steps if step["start_ts"] <= kernel["start_ts"]][-1:]
        return last[0]["step_id"] if last and kernel["start_ts"] < last[0]["start_ts"] + last[0]["duration_ns"] else None

    def per_step(self, name):
        return [sum(self.kernels[name][step["step_id"]]) for step in self.steps]

    def count(self, name):
        return statistics.fmean(len(self.kernels[name][step["step_id"]]) for step in self.steps)

    def part(self, columns):
        return statistics.fmean(sum(step[column] for column in columns) for step in self.steps)


@pytest.fixture(scope="module")
def pair(kymo, tmp_path_factory):
    """The same run of a program as two profilers' files, whose times and steps differ a little."""
    directory = tmp_path_factory.mktemp("pair")
    return Profile(kymo, CHROME, directory / "chrome"), Profile(kymo, XPLANE, directory / "xplane")


def test_rows_are_those_of_brute_force(kymo, pair):
    a, b = pair
    document = diff(kymo, a.directory, b.directory)
    assert document["basis"] == "step" and document["test"] == "Mann-Whitney U test"
    for side, profile in (("a", a), ("b", b)):
        assert sum(step["left_out"] for step in document[side]["steps"]) == len(profile.left_out) == 3
    rows = {row["name"]: row for row in rows_of(document, "kernels")}
    names = sorted(set(a.kernels) | set(b.kernels))
    assert sorted(rows) == names
    expected = [mann_whitney(a.per_step(name), b.per_step(name)) for name in names]
    for name, p, adjusted in zip(names, expected, benjamini_hochberg(expected)):
        row = rows[name]
        assert [row["a"], row["b"]] == pytest.approx([statistics.fmean(s.per_step(name)) for s in pair])
        assert row["difference"] == pytest.approx(row["b"] - row["a"])
        assert [row["count_a"], row["count_b"]] == pytest.approx([s.count(name) for s in pair])
        assert [row["total_a"], row["total_b"]] == [sum(map(sum, s.kernels[name].values())) for s in pair]
        assert [row["p_value"], row["p_adjusted"]] == pytest.approx([p, adjusted], rel=1e-6, abs=1e-12)
        assert (row["significance"] == "significant") == (adjusted < 0.05)


def test_contributions_add_up_to_the_change_of_the_step_time(kymo, pair):
    a, b = pair
    document = diff(kymo, a.directory, b.directory)
    step, parts = document["step_time"], document["contributions"]
    durations = [[s["duration_ns"] for s in profile.steps] for profile in pair]
    assert [step["a_ns"], step["b_ns"]] == pytest.approx([statistics.fmean(d) for d in durations])
    assert [step["median_a_ns"], step["median_b_ns"]] == pytest.approx([statistics.median(d) for d in durations])
    assert step["p_value"] == pytest.approx(mann_whitney(*durations))
    assert [part["name"] for part in parts] == list(PARTS)
    for part in parts:
        assert [part["a_ns"], part["b_ns"]] == pytest.approx([profile.part(PARTS[part["name"]]) for profile in pair])
        if "rows" in part:
            told = sum(row["difference_ns"] for row in part["rows"]) + part["others_ns"] + part["rest_ns"]
            assert told == pytest.approx(part["difference_ns"], abs=1e-3)
    assert sum(part["difference_ns"] for part in parts) == pytest.approx(step["difference_ns"], abs=1e-3)
    kernels = sum(row["difference"] for row in rows_of(document, "kernels"))
    assert parts[0]["others_ns"] + sum(row["difference_ns"] for row in parts[0]["rows"]) == pytest.approx(kernels, abs=1e-3)


@pytest.mark.slow
def test_equal_captures_have_no_changes(kymo, pair):
    directory = pair[1].directory
    document = diff(kymo, directory, directory, "--fail-above", "0")
    assert {row["change"] for row in document["rows"]} == {"same"}
    assert {row["matched"] for row in document["rows"]} == {"exact"}
    assert document["step_time"]["p_value"] == 1 and document["step_time"]["significance"] == "not significant"
    assert {kind for kind, counts in document["counts"].items() if counts["same"]} == {
        "steps", "operators", "families", "kernels", "copies", "host", "memory"}


def edited(path, edit):
    """The Chrome capture with its events changed; None leaves one out."""
    document = json.loads(gzip.decompress(CHROME.read_bytes()))
    document["traceEvents"] = [e for e in map(edit, document["traceEvents"]) if e]
    path.write_text(json.dumps(document))
    return path


@pytest.mark.slow
def test_planted_changes_are_found_and_no_others(kymo, tmp_path):
    """Of 76 kernels two are slower, one is faster, one is gone, one is new, and three have names of another build."""
    factors = {"gemm_fusion_dot_27": 1.5, "fusion_410": 1.02, "input_reduce_fusion_22": 0.7}
    names = {
        "loop_convert_fusion_7": "sort_by_key",
        "nvjet_sm90_tss_128x64_64x8_1x2_h_bz_TNT": "nvjet_sm90_tss_192x64_64x6_2x1_h_bz_TNT",
        "gemm_fusion_dot_156": "gemm_fusion_dot_9156",
    }

    def edit(event):
        name = event.get("name")
        if "correlation_id" not in event.get("args", {}):
            return event
        if name in factors:
            return event | {"dur": event["dur"] * factors[name]}
        return event | {"name": names[name]} if name in names else event

    document = diff(kymo, CHROME, edited(tmp_path / "changed.json", edit), "--by", "kernels")
    assert changes(document, "kernels") == {
        "slower": {"gemm_fusion_dot_27", "fusion_410"}, "faster": {"input_reduce_fusion_22"},
        "new": {"sort_by_key"}, "gone": {"loop_convert_fusion_7"},
    }
    rows = {row["name"]: row for row in rows_of(document, "kernels")}
    assert {name: rows[name]["ratio"] for name in factors} == pytest.approx(factors, rel=1e-3)
    assert [row["change"] for row in document["rows"][:5]] == ["slower", "slower", "faster", "new", "gone"]
    alike = {row["name"]: (row["names_a"], row["names_b"]) for row in document["rows"] if row["matched"] == "names alike"}
    assert alike == {new: ([old], [new]) for old, new in list(names.items())[1:]}


@pytest.mark.slow
def test_a_slower_step_fails_above_its_percentage_only(kymo, tmp_path):
    stretched = edited(tmp_path / "slow.json", lambda e: e | {k: e[k] * 1.1 for k in ("ts", "dur") if k in e})
    for a, b, percent, code in ((CHROME, stretched, 9.5, 1), (CHROME, stretched, 10.5, 0), (stretched, CHROME, 0, 0)):
        result = kymo.run("diff", a, b, "--fail-above", percent, "--by", "steps")
        assert result.returncode == code
        assert ("the step time is 10.0 % longer, more than 9.5 %" in result.stderr) == (code == 1)
        assert result.stdout.startswith(f"A  {a}: 20 steps")
    result = kymo.run("diff", BASE, TEST, "--fail-above", "5")
    assert result.returncode == 1 and "too few steps to tell whether the step time changed" in result.stderr


@pytest.mark.slow
def test_counts_and_durations_are_those_of_holistic_trace_analysis(kymo):
    """TraceDiff.compare_traces of HolisticTraceAnalysis 0.5.0 for these two files: counts and durations in µs of what the host did. Of
    kernels it leaves out those outside the annotated steps."""
    expected = {
        "aten::as_strided": (2, 0, 2, 0), "aten::empty": (2, 2, 2, 2), "cudaEventQuery": (2, 14, 2, 14),
        "cudaLaunchKernel": (2, 8, 2, 8), "nccl:all_reduce": (2, 133, 1, 66), "AddmmBackward0": (0, 0, 1, 207),
        "All2All_Pooled_Req": (0, 0, 1, 311), "CatBackward0": (0, 0, 1, 11),
    }
    document = diff(kymo, BASE, TEST)
    assert document["note"] == "Too few steps to tell changes from chance: each profile needs three."
    assert {row["significance"] for row in document["rows"]} == {"too few steps", "outside steps"}
    host = {row["name"]: row for row in rows_of(document, "host")}
    for name, figures in expected.items():
        row = host[name]
        found = (row["total_count_a"] or 0, (row["inclusive_a"] or 0) / 1e3, row["total_count_b"] or 0, (row["inclusive_b"] or 0) / 1e3)
        assert found == pytest.approx(figures), name
    assert changes(document, "host")["new"] == {"AddmmBackward0", "All2All_Pooled_Req", "CatBackward0"}


# --- made-up captures ---


def torch_trace(path, durations, kernels, setup=()):
    """Steps of these durations in µs, each with these kernels {name: (count, µs)} and what launches them; kernels before them all."""
    events, at, correlation = [], 1000.0, 0
    for i, name in enumerate(setup):
        args = {"device": 0, "stream": 7}
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 100 + 200 * i, "dur": 150, "args": args})
    for number, duration in enumerate(durations):
        step = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": 1}
        events.append(step | {"ts": at, "dur": duration})
        start = at + 10
        for name, (count, length) in kernels.items():
            for _ in range(count):
                correlation += 1
                call = {"ph": "X", "pid": 1, "tid": 1, "ts": start, "args": {"correlation": correlation, "External id": correlation}}
                events.append(call | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "dur": 1})
                args = call["args"] | {"device": 0, "stream": 7}
                events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start + 2, "dur": length, "args": args})
                start += 3 + length
        at += duration + 5
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


@pytest.mark.slow
@pytest.mark.sanitized
def test_few_steps_are_compared_by_means_and_the_first_is_left_out(kymo, tmp_path):
    a, b = [9000, 1000, 1010, 1005, 995, 1002], [7000, 1020, 1015, 1031, 1008, 1026]
    kernels = {"k": (3, 50.0)}
    document = diff(kymo, torch_trace(tmp_path / "a.json", a, kernels), torch_trace(tmp_path / "b.json", b, kernels, ["tune", "tune"]))
    step = document["step_time"]
    assert document["test"] == "Welch's t-test"
    assert [[s["number"] for s in document[side]["steps"] if s["left_out"]] for side in "ab"] == [[0], [0]]
    assert [step["a_ns"], step["b_ns"]] == [1e3 * statistics.fmean(values[1:]) for values in (a, b)]
    assert step["p_value"] == pytest.approx(welch(a[1:], b[1:]), rel=1e-6)
    assert step["significance"] == "significant"
    assert changes(document, "kernels") == {"new": {"tune"}}
    tuning = rows_of(document, "kernels")[0]
    assert (tuning["significance"], tuning["b"], tuning["count_b"]) == ("outside steps", 300e3, 2)
    assert document["contributions"][0]["rows"] == []


@pytest.mark.slow
def test_names_of_other_builds_are_matched_together(kymo, tmp_path):
    """What is left over after names that are equal, without template arguments, hashes, tile sizes and numbers at the end."""
    pairs = [
        ("void at::native::k<4, float>(int)", "void at::native::k<8, std::array<char*, 2ul> >(int, float)"),
        ("void (anonymous namespace)::soft<1>(float*)", "void (anonymous namespace)::soft<2>(float*)"),
        ("_ZN2at6native4normIfLi4EEvPT_", "_ZN2at6native4normIdLi8EEvPT_"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_12"),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_64x64_tn"),
        ("kernel_0d1d2de3d_8a6f20c1", "kernel_0d1d2de3d_77b1e5d0"),
    ]
    durations = [1000 + i % 3 for i in range(10)]
    a = torch_trace(tmp_path / "a.json", durations, {old: (1, 10 + i) for i, (old, _) in enumerate(pairs)} | {"reduce_1": (1, 5)})
    b = torch_trace(tmp_path / "b.json", durations, {new: (1, 10 + i) for i, (_, new) in enumerate(pairs)} | {"scan_1": (1, 5)})
    document = diff(kymo, a, b, "--by", "kernels")
    alike = [(row["names_a"], row["names_b"]) for row in document["rows"] if row["matched"] == "names alike"]
    assert sorted(alike) == sorted(([old], [new]) for old, new in pairs)
    assert changes(document, "kernels") == {"new": {"scan_1"}, "gone": {"reduce_1"}}


@pytest.mark.slow
@pytest.mark.sanitized
def test_all_formats_tell_the_same(kymo, pair, tmp_path):
    a, b = (profile.directory for profile in pair)
    document = diff(kymo, a, b, "--top", "3")
    rows = list(csv.DictReader(io.StringIO(kymo.ok("diff", a, b, "--top", "3", "--format", "csv"))))
    assert len(rows) == len(document["rows"])
    for row, other in zip(rows, document["rows"]):
        assert {key: value or None for key, value in row.items() if key not in ("layer", "shape")} == {
            key: (value if isinstance(value, str) else None if value is None else row[key])
            for key, value in other.items() if key in row and key not in ("layer", "shape")}
        assert float(row["difference"]) == other["difference"]
    text = kymo.ok("diff", a, b)
    assert "What the step time consists of" in text and "\x1b" not in text
    kymo.ok("diff", a, b, "--format", "markdown", "--output-file", tmp_path / "diff.md")
    markdown = (tmp_path / "diff.md").read_text()
    for row in document["rows"]:
        if row["kind"] == "steps" and row["change"] != "same":
            assert row["name"] in text and f"`{row['name']}`" in markdown


@pytest.mark.slow
@pytest.mark.parametrize("capture", ["device", "neuron", "kineto/torch_gpt_cut.json.gz"])
def test_captures_without_steps_or_with_one_are_compared_as_a_whole(kymo, capture):
    document = diff(kymo, DATA / capture, DATA / capture)
    assert {row["change"] for row in document["rows"]} == {"same"}
    assert document["note"] and rows_of(document, "operators")
    assert document["basis"] == ("step" if capture == "device" else "capture")


@pytest.mark.parametrize("a, b, expected", [
    (XPLANE, DATA / "kineto" / "amd_mi250.json.gz", ["The devices differ: A ran on NVIDIA H200, B on AMD", "The programs differ: "]),
    (XPLANE, DATA / "xplane" / "jax_matmul_h200.xplane.pb", ["The programs differ: "]),
    (XPLANE, DATA / "kineto" / "cpu_only.pt.trace.json.gz", ["Only A has devices.", "The programs differ: 0 % of A's and 0 % of B's time in host operators"]),
    (BASE, TEST, []),
    (XPLANE, CHROME, []),
])
def test_what_is_not_comparable_is_said_before_any_figure(kymo, a, b, expected):
    document = diff(kymo, a, b)
    assert next(iter(document)) == "warnings"
    assert len(document["warnings"]) == len(expected)
    for warning, start in zip(document["warnings"], expected):
        assert warning.startswith(start)
    text, markdown = printed(kymo, a, b), printed(kymo, a, b, "--format", "markdown")
    assert text.startswith("".join(f"Warning: {warning}\n" for warning in document["warnings"]) + "A  ")
    assert markdown.startswith("# Comparison\n\n" + "".join(f"**Warning:** {warning}\n\n" for warning in document["warnings"]) + "- A")


def test_what_is_missing_is_said(kymo):
    assert "missing argument: two profiles, captures or runs" in kymo.refuses("diff", BASE, code=2)
    assert "no profile 'nothing'" in kymo.refuses("diff", BASE, "nothing")
    assert "--fail-above needs a percentage, not much" in kymo.refuses("diff", BASE, TEST, "--fail-above", "much", code=2)


@pytest.mark.slow
def test_the_server_answers_what_the_command_prints(kymo, tmp_path):
    for name, capture in (("base", BASE), ("test", TEST)):
        kymo.ok("view", capture, "--ingest-only", "--display-name", name, "--data-path", tmp_path)
    server = Server(kymo, "--data-path", tmp_path)
    try:
        for form in ("json", "csv", "text", "markdown"):
            answer = server.ask("GET", f"diff?a=base&b=test&by=host&top=2&format={form}")
            printed = kymo.ok("diff", "base", "test", "--by", "host", "--top", "2", "--format", form, "--data-path", tmp_path)
            if form == "text":  # whose names are cut to the width of a file
                assert [line.split()[:2] for line in answer.body.decode().splitlines()] == [line.split()[:2] for line in printed.splitlines()]
            else:
                assert answer.body.decode() == printed
        assert server.ask("GET", "diff?a=base").error == '"b" must name a profile or a run'
        assert server.ask("GET", "diff?a=base&b=nothing").status == 404
        assert server.ask("GET", "diff?a=base&b=test&by=all").error == 'unknown "by"'
        assert server.ask("GET", "diff?a=base&b=test&format=xml").status == 400
    finally:
        server.stop()
