"""kymo.fleet: datasets on this machine and in file systems of fsspec."""

import pytest

from conftest import DATA
from installed import importable

fsspec = pytest.importorskip("fsspec")
pytestmark = pytest.mark.plain_build
RANKS = [DATA / "kineto" / "recommender_rank.json.gz", DATA / "kineto" / "recommender_rank1.json.gz"]
STEPS = "SELECT run, instance, rank, step, compute_ns FROM RankStep ORDER BY ALL"


@pytest.fixture(scope="module")
def fleet(kymo, installed):
    """The module, read by this process."""
    with importable():
        import kymo.fleet as module
        yield module


@pytest.fixture(params=["path", "memory", "files"])
def place(request, tmp_path):
    """Where the dataset is: a path, an address, a file system and a path in it."""
    if request.param == "memory":
        return "memory://lab/" + tmp_path.name, {}
    return str(tmp_path / "runs"), {"filesystem": fsspec.filesystem("local")} if request.param == "files" else {}


def test_ranks_are_added_found_and_removed(fleet, place):
    url, options = place
    fleet.add(url, RANKS, run="a b/c", **options)
    found = fleet.Fleet(url, **options)
    rows = found.sql(STEPS, format="rows")
    assert [(r["run"], r["instance"], r["rank"], r["step"]) for r in rows] == [
        ("a b/c", f"rank-{rank}", rank, step) for rank in (0, 1) for step in (551, 552)]  # fmt: skip
    assert [r["compute_ns"] for r in rows] == [106252000, 104068000, 135548000, 136425000]
    assert found.sql(STEPS).to_pylist() == rows
    assert found.sql(STEPS, format="pandas").to_dict("records") == rows
    assert [(r["rank"], r["world_size"]) for r in found.ranks] == [(0, 128), (1, 128)]
    with pytest.raises(ValueError, match="Nothing"):
        found.sql("SELECT Nothing FROM Rank")
    with pytest.raises(ValueError, match="must be one of"):
        found.sql("SELECT 1", format="xml")
    with pytest.raises((FileExistsError, RuntimeError), match="rank 1 of run a b/c is there already"):
        fleet.add(url, RANKS[1], run="a b/c", **options)
    fleet.add(url, RANKS[1], run="a b/c", instance="node", force=True, **options)
    assert [r["instance"] for r in found.ranks] == ["rank-0", "node"]
    found.remove("a b/c", 0)
    assert [r["rank"] for r in found.sql("SELECT DISTINCT rank FROM SystemProfileEvents", format="rows")] == [1]
    with pytest.raises(KeyError, match="has no rank 0"):
        found.remove("a b/c", 0)
    found.remove("a b/c")
    with pytest.raises(ValueError, match="no ranks yet"):
        found.sql("SELECT 1 FROM Rank")


@pytest.fixture(scope="module")
def printed(kymo, tmp_path_factory):
    """What the program reports of the same runs: of one as text, of both in Markdown."""
    dataset = tmp_path_factory.mktemp("printed") / "same"
    for run in ("a b/c", "night"):
        kymo.ok("fleet", "add", dataset, *RANKS, "--run", run)
    return kymo.ok("fleet", "report", dataset, "--run", "night"), kymo.ok("fleet", "report", dataset, "--format", "markdown")


@pytest.mark.slow
def test_a_report_is_that_of_the_program(fleet, printed, place):
    url, options = place
    for run in ("a b/c", "night"):
        fleet.add(url, RANKS, run=run, **options)
    found = fleet.Fleet(url, **options)
    assert (found.report("night"), found.report(format="markdown")) == printed
    assert [run["run"] for run in found.report(format="json")] == ["a b/c", "night"]
    with pytest.raises(fleet._program.ProgramError, match="no run elsewhere|no ranks yet"):
        found.report("elsewhere")
    with pytest.raises(ValueError, match="must be one of"):
        found.report("night", format="xml")


def test_a_rank_whose_upload_fails_is_not_there(fleet, tmp_path):
    class Full(fsspec.get_filesystem_class("local")):
        puts = 0

        def put_file(self, *arguments, **options):
            Full.puts += 1
            if Full.puts == 12:
                raise OSError(28, "No space left on device")
            return super().put_file(*arguments, **options)

    url = str(tmp_path / "runs")
    fleet.add(url, RANKS[0], run="r", filesystem=fsspec.filesystem("local"))
    before = sorted(path for path in (tmp_path / "runs").rglob("*") if path.is_file())
    with pytest.raises(OSError, match="No space left"):
        fleet.add(url, RANKS[1], run="r", filesystem=Full(skip_instance_cache=True))
    assert sorted(path for path in (tmp_path / "runs").rglob("*") if path.is_file()) == before


def test_what_is_no_dataset_is_refused(fleet, tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a dataset"):
        fleet.Fleet(tmp_path)
    with pytest.raises(FileNotFoundError, match="is not a dataset"):
        fleet.Fleet("memory://nothing/here")
    with pytest.raises(RuntimeError, match="give its number with --rank"):
        fleet.add("memory://lab/none", DATA / "kineto" / "amd_mi250.json.gz")
