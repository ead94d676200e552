"""Ranks of a served dataset: they open as profiles do, with the answers that a profile of the same capture gives; the lanes of a step
are aligned as the tables say; and what cannot be is said."""

import io
import json
import shutil
import subprocess
import tarfile
import threading
import time
import urllib.parse

import pyarrow.parquet
import pytest
from conftest import DATA
from server import Server

KINETO = DATA / "kineto"
CAPTURES = {0: KINETO / "recommender_rank.json.gz", 1: KINETO / "recommender_rank1.json.gz"}
NCCL = KINETO / "nccl_gpu_rank.json.gz"
ODD = "a/b=c d%"  # a run whose name is escaped in paths


def quoted(name):
    return urllib.parse.quote(name, safe="")


def url(rank, run="run=night"):
    return f"profiles/{quoted(f'team/runs/{run}/rank={rank}')}"


@pytest.fixture(scope="module")
def dataset(kymo, gen_run, tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "team" / "runs"
    path.parent.mkdir()
    kymo.ok("fleet", "add", path, *CAPTURES.values(), "--run", "night")
    kymo.ok("fleet", "add", path, NCCL, "--run", ODD, "--instance", "nöde:1", "--rank", 7)
    subprocess.run([gen_run, "--run", "clocks", "--ranks", "16", "--steps", "12", "--machine-ranks", "4", "--jobs", "2",
                    "--clocks", "5000000:20", "--straggler", "compute:5:1.4:2", "--lost-start", "3:6", path], check=True)
    return path


@pytest.fixture(scope="module")
def server(kymo, dataset, tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    kymo.ok("view", CAPTURES[1], "--display-name", "one", "--data-path", data, "--ingest-only")
    server = Server(kymo, dataset.parent.parent, "--data-path", data, command="serve")
    server.data = data
    yield server
    server.stop()


def ready(server, run):
    deadline = time.monotonic() + 60
    while server.ask("GET", f"runs/team%2Fruns/{quoted(run)}").status == 202 and time.monotonic() < deadline:
        time.sleep(0.05)


# --- a rank is a profile ---


def test_what_is_in_a_dataset_is_no_capture(kymo, server, dataset, tmp_path):
    assert [profile["name"] for profile in server.get("profiles")["profiles"]] == ["one"]
    assert f"{dataset}: this is a dataset of many ranks: kymo serve shows its runs" in kymo.refuses("info", dataset)
    (tmp_path / "traces").mkdir()
    shutil.copy(NCCL, tmp_path / "traces")
    shutil.copytree(dataset, tmp_path / "runs")
    assert kymo.json("info", "--json", tmp_path) == kymo.json("info", "--json", tmp_path / "traces")


def test_a_rank_answers_as_the_profile_of_its_capture(server):
    rank, profile = url(1), "profiles/one"
    entry, other = server.get(rank), server.get(profile)
    assert entry["name"] == "team/runs/run=night/rank=1" and entry["status"] == "ready" and entry["id"] is None
    assert [entry[key] for key in ("events", "duration_ns", "format")] == [other[key] for key in ("events", "duration_ns", "format")]
    assert entry["bytes"] > 100_000
    for path in ("/tracks", "/search?q=nccl&limit=50", "/summary", "/events/SystemProfileEvents/100", "/tools/overview_page", "/tools/kernel_stats", "/markers"):
        first, second = (server.ask("GET", base + path) for base in (rank, profile))
        assert first.status == second.status == 200 and first.json == second.json, path
    tracks = [track["id"] for track in server.get(rank + "/tracks")["tracks"]]
    spans = {"tracks": tracks, "from": "852000000000", "to": "900000000000"}
    for path, body in (("/timeline", {**spans, "width": 800}), ("/selection", spans), ("/flame", spans)):
        first, second = (server.ask("POST", base + path, body) for base in (rank, profile))
        assert first.status == 200 and len(first.body) > 100 and first.body == second.body, path
    query = {"query": "SELECT name, sum(duration_ns) AS t FROM SystemProfileEvents GROUP BY ALL ORDER BY t DESC, name LIMIT 20"}
    assert server.post(rank + "/sql", query) == server.post(profile + "/sql", query)
    names = {table["name"] for table in server.get(rank + "/tables")["tables"]}
    assert names >= {table["name"] for table in server.get(profile + "/tables")["tables"]}


def test_a_rank_is_exported_as_a_profile_is(server):
    archives = [tarfile.open(fileobj=io.BytesIO(server.ask("GET", base + "/export?format=parquet-tar").body)) for base in (url(1), "profiles/one")]
    sizes = [{member.name: member.size for member in archive.getmembers()} for archive in archives]
    assert set(sizes[0]) >= set(sizes[1]) and sizes[0]["profile/timeline.kymo"] == sizes[1]["profile/timeline.kymo"]
    first, second = (server.ask("GET", base + "/export?format=csv&table=Track") for base in (url(1), "profiles/one"))
    assert first.body == second.body and first.status == 200
    first, second = (server.ask("GET", base + "/export?format=json") for base in (url(1), "profiles/one"))
    documents = [answer.json for answer in (first, second)]
    assert [document.pop("hosts")[0]["name"] for document in documents] == ["rank=1", "one@latest"]
    assert documents[0] == documents[1]


def test_a_rank_without_events_has_none_in_a_search_or_selection(server):
    """Ranks of synthetic runs have sums of steps alone."""
    rank = url(5, "run=clocks")
    selected = server.post(rank + "/selection", {"tracks": [0, 3], "from": "0", "to": "1000000000"})
    assert selected == {"count": 0, "total_ns": 0, "self_ns": None, "names": [], "tracks": [], "edges": []}
    found = server.get(rank + "/search", q="gemm")
    assert (found["count"], found["kinds"], found["names"], found["hits"]) == (0, [], [], [])


def test_two_ranks_are_compared(server):
    names = [f"team/runs/run=night/rank={rank}" for rank in (0, 1)]
    answer = server.get("diff", a=names[0], b=names[1])
    assert [answer["a"]["name"], answer["b"]["name"]] == names and answer["rows"]


def test_a_run_with_an_odd_name_opens(server):
    assert server.get(url(7, "run=a%2Fb%3Dc d%25"))["events"] > 0
    for wrong in ("run=a/b=c d%", "run=a%2fb%3dc d%25", "run=%61%2Fb%3Dc d%25"):  # not as paths have it
        assert server.ask("GET", url(7, wrong)).status == 404


def test_a_rank_without_a_timeline_says_so_and_answers_queries(server):
    rank = url(3, "run=clocks")
    assert server.get(rank)["events"] is None
    answer = server.ask("GET", rank + "/tracks")
    assert answer.status == 409 and "has no timeline" in answer.error
    assert server.post(rank + "/sql", {"query": "SELECT count(*) FROM RankStep"})["rows"] == [[6]]


@pytest.mark.parametrize("name, word", [
    ("team/runs/run=night/rank=2", "no rank 2"),
    ("team/runs/run=night/rank=01", "neither"),
    ("team/runs/run=night/rank=+1", "neither"),
    ("team/runs/run=night/rank=-1", "neither"),
    ("team/runs/run=night/rank=1/", "neither"),
    ("team/runs/run=night/rank=99999999999999999999", "neither"),
    ("team/runs/run=/rank=1", "neither"),
    ("team/runs/run=none/rank=1", "no rank 1"),
    ("team/runs/run=../rank=1", "no rank 1"),
    ("team/runs/run=night/instance=rank-1/rank=1", "neither"),
    ("team/runs/night/1", "neither"),
    ("team/run=night/rank=1", "no dataset 'team'"),
    ("team/../team/runs/run=night/rank=1", "no dataset"),
    ("../logs/team/runs/run=night/rank=1", "no dataset"),
    ("team//runs/run=night/rank=1", "no dataset"),
    ("/run=night/rank=1", "no dataset"),
    ("run=night/rank=1", "neither"),
    ("../../etc/passwd", "neither"),
    ("a/b", "neither"),
])
def test_only_ranks_that_are_served_open(server, name, word):
    for path in ("", "/tracks", "/summary", "/tables"):
        answer = server.ask("GET", f"profiles/{quoted(name)}{path}")
        assert answer.status == 404 and word in answer.error


@pytest.mark.parametrize("method, path, body", [
    ("PATCH", "", {"name": "mine"}), ("PATCH", "", {"favorite": True}), ("DELETE", "", None), ("POST", "/process", None),
    ("PUT", "/markers/a", []), ("DELETE", "/markers/a", None),
])
def test_a_rank_is_not_changed(server, dataset, method, path, body):
    before = sorted(dataset.rglob("*"))
    answer = server.ask(method, url(1) + path, body)
    assert answer.status == 409 and "is a rank of a dataset" in answer.error
    assert sorted(dataset.rglob("*")) == before and server.get(url(1))["status"] == "ready"
    assert not (server.data / "notes" / "team").exists()
    answer = server.ask(method, url(8) + path, body)
    assert answer.status == 404 and "no rank 8" in answer.error


def test_a_rank_that_goes_or_is_replaced_is_noticed(kymo, tmp_path):
    dataset, data = tmp_path / "runs", tmp_path / "data"
    kymo.ok("fleet", "add", dataset, *CAPTURES.values(), "--run", "night")
    server = Server(kymo, dataset, "--data-path", data, command="serve")
    rank = f"profiles/{quoted('runs/run=night/rank=1')}"
    events = server.get(rank)["events"]
    server.get(rank + "/tracks")
    query = {"query": "SELECT count(*) FROM SystemProfileEvents"}
    assert server.post(rank + "/sql", query)["rows"] == [[events]]
    kymo.ok("fleet", "add", dataset, NCCL, "--run", "night", "--rank", 1, "--instance", "elsewhere", "--force")
    replaced = server.get(rank)["events"]
    assert replaced != events and server.post(rank + "/sql", query)["rows"] == [[replaced]]
    assert "SendRecv_RING" not in json.dumps(server.get(rank + "/search", q="name~nccl", limit=20))
    kymo.ok("fleet", "remove", dataset, "--run", "night", "--rank", 1)
    for path in ("", "/tracks", "/summary"):
        answer = server.ask("GET", rank + path)
        assert answer.status == 404 and "no rank 1" in answer.error
    assert server.ask("POST", rank + "/sql", query).status == 404
    assert server.get(f"profiles/{quoted('runs/run=night/rank=0')}")["status"] == "ready"
    server.stop()
    assert list((data / ".ranks").iterdir()) == []  # nothing is left behind


def test_what_a_killed_server_left_is_removed_and_a_running_one_is_left_alone(kymo, tmp_path):
    dataset, data = tmp_path / "runs", tmp_path / "data"
    kymo.ok("fleet", "add", dataset, CAPTURES[0], "--run", "night")
    rank = f"profiles/{quoted('runs/run=night/rank=0')}"
    servers = [Server(kymo, dataset, "--data-path", data, command="serve") for _ in range(3)]
    for server in servers[:2]:
        server.get(rank)
    assert len(list((data / ".ranks").iterdir())) == 2
    servers[0].process.kill()
    servers[0].process.wait()
    servers[2].get(rank)
    assert len(list((data / ".ranks").iterdir())) == 2
    query = {"query": "SELECT 1 FROM Rank"}
    assert servers[1].post(rank + "/sql", query)["rows"] == [[1]]
    shutil.rmtree(data / ".ranks")  # as somebody may who tidies up
    assert [server.post(rank + "/sql", query)["rows"] for server in servers[1:]] == [[[1]]] * 2
    for server in servers[1:]:
        server.stop()


@pytest.mark.sanitized
def test_requests_side_by_side_see_a_rank_as_it_was_or_is(kymo, tmp_path):
    """While a rank is replaced again and again: each answer is whole, or says what happened; other ranks do not notice."""
    dataset, data = tmp_path / "runs", tmp_path / "data"
    kymo.ok("fleet", "add", dataset, *CAPTURES.values(), "--run", "night")
    server = Server(kymo, dataset, "--data-path", data, command="serve")
    names = [f"profiles/{quoted(f'runs/run=night/rank={rank}')}" for rank in (0, 1)]
    counts = {server.get(name)["events"] for name in names}
    seen, over = [], threading.Event()

    def ask(number):
        while not over.is_set():
            rank = number % 2
            path, body = [("/tracks", None), ("/sql", {"query": "SELECT count(*) FROM SystemProfileEvents"}), ("/search?q=nccl", None)][number % 3]
            answer = server.ask("POST" if body else "GET", names[rank] + path, body)
            seen.append((rank, path, answer.status, answer.json))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for turn in range(6):
        kymo.ok("fleet", "add", dataset, CAPTURES[turn % 2], "--run", "night", "--rank", 1, "--instance", f"node{turn % 3}", "--force")
    over.set()
    for thread in threads:
        thread.join()
    assert {status for rank, _, status, _ in seen if rank == 0} == {200}
    assert {status for rank, _, status, _ in seen if rank == 1} <= {200, 404, 409}
    assert {json["rows"][0][0] for _, path, status, json in seen if path == "/sql" and status == 200} <= counts
    assert server.get(names[1] + "/tracks")["tracks"]
    server.stop()


# --- lanes of a step ---


def rows(path):
    return pyarrow.parquet.read_table(path, partitioning=None).to_pylist()


def aligned(dataset, run, rank, column, step):
    """A time of a rank's step as a time of the run, by the formula that the manual gives, and the time of the capture."""
    folder = dataset / "_analysis" / run
    origin = rows(folder / "Run.parquet")[0]["origin_ns"]
    [place] = dataset.glob(f"Rank/run={run}/*/rank={rank}")
    clock = next(one for one in rows(folder / "Clock.parquet") if f"instance={one['instance']}" == place.parent.name)
    [when] = [one[column] for one in rows(dataset / "RankStep" / place.relative_to(dataset / "Rank") / "part-0.parquet") if one["step"] == step]
    wall = rows(place / "part-0.parquet")[0]["epoch_ns"] + when
    return wall - origin + clock["offset_ns"] + clock["drift_ppm"] * 1e-6 * (wall - clock["reference_ns"]), when, clock


@pytest.mark.parametrize("run, step, ranks", [("clocks", 8, [0, 3, 5, 15]), ("night", 551, [0, 1])])
def test_lanes_are_aligned_as_the_tables_say(server, dataset, run, step, ranks):
    ready(server, run)
    answer = server.get(f"runs/team%2Fruns/{run}/steps/{step}/lanes", lanes=",".join(map(str, ranks)))
    told = {lane["rank"]: lane for lane in answer["lanes"]}
    assert set(told) >= set(ranks)
    for rank, lane in told.items():
        for side in ("start", "end"):
            time_of_run, when, clock = aligned(dataset, run, rank, f"{side}_ts", step)
            assert lane[f"{side}_ts"] == when
            assert lane[f"{side}_ns"] == pytest.approx(time_of_run, abs=1)
            assert lane["base_ns"] + lane["rate"] * when == pytest.approx(time_of_run, abs=1)
        assert [lane[key] for key in ("offset_ns", "drift_ppm", "error_ns", "component")] == [clock[key] for key in ("offset_ns", "drift_ppm", "error_ns", "component")]
        assert lane["machine"] == clock["instance"]
        assert lane["profile"] == f"team/runs/run={run}/rank={rank}" and lane["has_timeline"] == (run == "night")
    assert server.get(f"runs/team%2Fruns/{run}/lanes")["has_timelines"] == (run == "night")
    [bounds] = answer["step"]
    assert bounds["start_ns"] <= min(lane["start_ns"] for lane in told.values())


def test_the_slowest_and_the_median_lane_are_named(server, dataset):
    ready(server, "clocks")
    lanes = server.get("runs/team%2Fruns/clocks/steps/8/lanes")["lanes"]
    assert len(lanes) == 2
    roles = {lane["role"]: lane for lane in lanes}
    excess = {one["rank"]: one["excess_ns"] for one in rows(dataset / "_analysis" / "clocks" / "LaneStep.parquet") if one["step"] == 8}
    assert roles["slowest"]["rank"] == max(excess, key=excess.get) == 5
    assert abs(roles["median"]["excess_ns"]) == min(abs(value) for value in excess.values())
    asked = server.get("runs/team%2Fruns/clocks/steps/8/lanes", lanes="5,9.0,12.1,77")["lanes"]
    assert {lane["rank"]: lane["role"] for lane in asked} == {9: None, 5: "slowest", roles["median"]["rank"]: "median"}


def test_lanes_on_different_clocks_leave_a_collective_together(server, dataset):
    """The clocks are up to 5 ms apart; aligned, all leave the barrier within their error."""
    ready(server, "clocks")
    answer = server.get("runs/team%2Fruns/clocks/steps/8", collective=0)
    assert answer["collectives"][0]["operation"] == "barrier"
    ends = [one["end_ns"] for one in answer["arrivals"]]
    lanes = server.get("runs/team%2Fruns/clocks/steps/8/lanes", lanes=",".join(map(str, range(16))))["lanes"]
    offsets, errors = [lane["offset_ns"] for lane in lanes], [lane["error_ns"] for lane in lanes]
    assert max(offsets) - min(offsets) > 1_000_000
    assert max(ends) - min(ends) < 10 * max(errors) + 1000 < 100_000
    assert all(one["end_ns"] - one["start_ns"] == pytest.approx(one["duration_ns"], rel=1e-4, abs=1) for one in answer["arrivals"])


@pytest.mark.parametrize("path, status, word", [
    ("steps/8/lanes?lanes=x", 400, "lanes"), ("steps/8/lanes?lanes=1,", 400, "lanes"), ("steps/8/lanes?lanes=1.", 400, "lanes"),
    ("steps/8/lanes?lanes=-1", 400, "lanes"), ("steps/8/lanes?lanes=99999999999999999999", 400, "lanes"),
    ("steps/8/lanes?lanes=" + ",".join(map(str, range(65))), 400, "64"), ("steps/x/lanes", 404, "no step"),
])
def test_lanes_that_cannot_be_are_said(server, path, status, word):
    ready(server, "clocks")
    answer = server.ask("GET", f"runs/team%2Fruns/clocks/{path}")
    assert answer.status == status and word in answer.error
    assert server.get("runs/team%2Fruns/clocks/steps/99999/lanes") == {"step": [], "lanes": []}
