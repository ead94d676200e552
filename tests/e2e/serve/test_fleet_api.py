"""The server's runs: pictures are what NumPy makes of the Parquet files, steps are those of the tables, and what cannot be is said."""

import re
import struct
import subprocess
import time

import numpy
import pyarrow.parquet
import pytest
from server import Server

RANKS, STEPS = 24, 30
MEASURES = {
    "excess": lambda t: t["excess_ns"],
    "own": lambda t: t["own_ns"],
    "duration": lambda t: t["duration_ns"],
    "compute": lambda t: t["compute_ns"],
    "communication": lambda t: t["duration_ns"] - t["own_ns"],
    "copy": lambda t: t["copy_ns"],
    "idle": lambda t: t["idle_host_ns"] + t["idle_kernel_ns"] + t["idle_other_ns"],
    "idle_host": lambda t: t["idle_host_ns"],
}


@pytest.fixture(scope="module")
def served(kymo, gen_run, tmp_path_factory):
    logs = tmp_path_factory.mktemp("logs")
    dataset = logs / "team" / "runs"
    dataset.parent.mkdir()
    subprocess.run([gen_run, "--run", "a b", "--ranks", str(RANKS), "--steps", str(STEPS), "--machine-ranks", "4", "--jobs", "2",
                    "--straggler", "compute:5:1.3:10", "--lost-start", "3:7", dataset], check=True)
    server = Server(kymo, logs, "--data-path", tmp_path_factory.mktemp("data"), command="serve")
    yield server, dataset
    server.stop()


URL = "runs/team%2Fruns/a%20b"


@pytest.fixture(scope="module")
def ready(served):
    """The analysis is made on the first request, which says so; the next ones say how far it is."""
    server, dataset = served
    first = server.ask("GET", f"{URL}/lanes")
    assert first.status == 202 and first.json["status"] == "analyzing"
    deadline, told = time.monotonic() + 60, [first.json]
    while (answer := server.ask("GET", URL)).status == 202 and time.monotonic() < deadline:
        told.append(answer.json)
        time.sleep(0.02)
    stages = [re.fullmatch(r"(\d+) of (\d+): \w+", one["stage"]).groups() for one in told if one["stage"]]
    assert len(set(stages)) > 1 and stages == sorted(stages, key=lambda stage: int(stage[0]))
    assert all(0 <= one["percent"] < 100 for one in told)
    assert server.get(URL) == {"dataset": "team/runs", "run": "a b", "status": "ready"}
    return server, dataset / "_analysis" / "a b"


def table(folder, name):
    return {column: values.to_numpy() for column, values in zip(*(lambda t: (t.column_names, t.columns))(pyarrow.parquet.read_table(folder / f"{name}.parquet")))}


def heatmap(server, **arguments):
    query = "&".join(f"{name}={value}" for name, value in arguments.items())
    answer = server.ask("GET", f"{URL}/heatmap?{query}")
    assert answer.status == 200, answer.body
    rows, columns = struct.unpack_from("<2I", answer.body)
    return numpy.frombuffer(answer.body, "<f4", offset=8, count=2 * rows * columns).reshape(2, rows, columns), struct.unpack_from("<2f", answer.body, len(answer.body) - 8)


def expected(folder, measure, lanes, rows, steps, height, width):
    cells = table(folder, "LaneStep")
    values = MEASURES[measure](cells).astype(float)
    number = {lane: position for position, lane in enumerate(lanes)}
    columns = {step: position for position, step in enumerate(sorted(set(cells["step"])))}
    height, width = min(height, rows[1] - rows[0] + 1), min(width, steps[1] - steps[0] + 1)
    found = [[[] for _ in range(width)] for _ in range(height)]
    for rank, device, step, value in zip(cells["rank"], cells["device_idx"], cells["step"], values):
        row, column = number[rank, device] - rows[0], columns[step] - steps[0]
        if 0 <= row <= rows[1] - rows[0] and 0 <= column <= steps[1] - steps[0]:
            found[row * height // (rows[1] - rows[0] + 1)][column * width // (steps[1] - steps[0] + 1)].append(value)
    return numpy.array([[[f(cell) if cell else numpy.nan for cell in line] for line in found] for f in (max, numpy.mean)])


def scale_of(values, is_signed):
    """Of the whole run, whatever is shown."""
    values = values[~numpy.isnan(values)]
    center = numpy.median(values)
    reach = 14.826 * numpy.median(numpy.abs(values - center)) or numpy.inf
    low, high = max(values.min(), center - reach), min(values.max(), center + reach)
    end = max(abs(low), abs(high))
    return (-end, end) if is_signed else (low, high)


@pytest.mark.sanitized
@pytest.mark.parametrize("order", ["rank", "machine", "slowest", "cluster"])
def test_a_picture_is_what_numpy_makes_of_the_results(ready, order):
    server, folder = ready
    shape = server.get(f"{URL}/lanes", order=order)
    lanes = [(lane["rank"], lane["device"]) for lane in shape["lanes"]]
    assert sorted(lanes) == [(rank, 0) for rank in range(RANKS)]
    assert [one["step"] for one in shape["steps"]] == sorted(table(folder, "Step")["step"])
    if order in ("slowest", "cluster"):
        assert lanes[0] == (5, 0)
    if order == "cluster":
        assert [lane["cluster"] for lane in shape["lanes"]] == [0] + [1] * (RANKS - 1)
        assert [(one["cluster"], one["lanes"]) for one in shape["clusters"]] == [(0, 1), (1, RANKS - 1)]
    for measure in MEASURES:
        for rows, steps, height, width in [((0, 23), (0, 29), 100, 100), ((0, 23), (0, 29), 7, 11), ((3, 9), (5, 28), 4, 24)]:
            made, scale = heatmap(server, measure=measure, order=order, rows="%d-%d" % rows, steps="%d-%d" % steps, height=height, width=width)
            numpy.testing.assert_allclose(made, expected(folder, measure, lanes, rows, steps, height, width), rtol=1e-5, atol=1)
            assert scale == pytest.approx(scale_of(MEASURES[measure](table(folder, "LaneStep")).astype(float), measure == "excess"), rel=1e-5)
    whole, _ = heatmap(server, measure="duration", order="rank", height=100, width=100)
    assert numpy.isnan(whole[0, 3]).sum() == 7  # the steps that rank 3 has lost


@pytest.mark.parametrize("order", ["rank", "slowest"])
def test_the_worst_of_a_cell_is_where_its_largest_value_is(ready, order):
    server, folder = ready
    shape = server.get(f"{URL}/lanes", order=order)
    lanes = [(lane["rank"], lane["device"]) for lane in shape["lanes"]]
    for measure in MEASURES:
        for rows, steps in [((0, 23), (0, 29)), ((3, 9), (5, 28)), ((7, 7), (8, 8))]:
            values = expected(folder, measure, lanes, rows, steps, 100, 100)[0]
            found = server.get(f"{URL}/worst", measure=measure, order=order, rows="%d-%d" % rows, steps="%d-%d" % steps)
            assert found["value"] == pytest.approx(numpy.nanmax(values), rel=1e-6)
            assert values[found["row"] - rows[0], found["step"] - steps[0]] == pytest.approx(found["value"], rel=1e-6)
    if order == "rank":
        assert server.ask("GET", f"{URL}/worst?rows=3-3&steps=0-6").status == 404  # what rank 3 has lost


@pytest.mark.sanitized
def test_a_step_has_its_collectives_with_arrivals_and_its_path(ready):
    server, folder = ready
    matches = table(folder, "CollectiveMatch")
    answer = server.get(f"{URL}/steps/20", collective=1)
    chosen = (matches["step"] == 20) & (matches["ranks"] > 1)
    assert sorted(one["waited_ns"] for one in answer["collectives"]) == sorted(matches["waited_ns"][chosen])
    assert answer["collectives"][0]["last_rank"] == 5
    arrivals, match = answer["arrivals"], answer["collectives"][1]
    assert len(arrivals) == match["ranks"]
    assert [min(one["arrival_ns"] for one in arrivals), max(one["arrival_ns"] for one in arrivals)] == [0, match["skew_ns"]]
    assert sum(one["waited_ns"] for one in arrivals) == match["waited_ns"]
    path = table(folder, "CriticalPath")
    steps = sorted(set(path["step"]))
    assert [one["step"] for one in answer["path_steps"]] == steps
    told = server.get(f"{URL}/steps/{steps[0]}")["path"]
    assert [one["rank"] for one in told] == list(path["rank"][path["step"] == steps[0]])
    assert server.get(f"{URL}/steps/99999")["step"] == []


def test_the_report_is_that_of_the_command(ready, kymo):
    server, folder = ready
    printed = kymo.json("fleet", "report", folder.parent.parent, "--format", "json", "--sql")
    assert [server.get(f"{URL}/report")] == printed
    (run,) = server.get("runs")["runs"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", run.pop("created"))
    assert run == {"dataset": "team/runs", "run": "a b"}


@pytest.mark.sanitized
@pytest.mark.parametrize("path, status, word", [
    ("runs/team%2Fruns/none", 404, "none"),
    ("runs/other/a", 404, "other"),
    ("runs/team%2F..%2Fteam%2Fruns/a%20b", 404, "no dataset"),
    ("runs/..%2F..%2Fetc/a", 404, "no dataset"),
    ("runs/%2Fetc/a", 404, "no dataset"),
    (f"{URL}/heatmap?measure=luck", 400, "measure"),
    (f"{URL}/heatmap?order=luck", 400, "order"),
    (f"{URL}/heatmap?rows=5", 400, "rows"),
    (f"{URL}/heatmap?steps=9-2", 400, "steps"),
    (f"{URL}/heatmap?width=4096&height=4096", 400, "width times height"),
    (f"{URL}/heatmap?width=0", 400, "width"),
    (f"{URL}/heatmap?rows=24-30", 404, "rows"),
    (f"{URL}/worst?rows=24-30", 404, "rows"),
    (f"{URL}/worst?order=luck", 400, "order"),
    (f"{URL}/steps/x", 404, "x"),
])
def test_what_cannot_be_is_said(ready, path, status, word):
    answer = ready[0].ask("GET", path)
    assert answer.status == status and word in answer.error


def test_without_its_file_a_heat_map_says_how_to_make_it(ready):
    server, results = ready
    (results / "heatmap.kymo").rename(results / "away")
    try:
        answer = server.ask("GET", f"{URL}/heatmap")
    finally:
        (results / "away").rename(results / "heatmap.kymo")
    assert answer.status == 500 and "No such file" in answer.error and "kymo fleet report --force makes the results of the run again" in answer.error
    assert server.ask("GET", f"{URL}/heatmap").status == 200
