"""Apache Spark as the engine: the same queries give the same rows as in DuckDB, and captures are processed by tasks."""

import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

import pyarrow.parquet
import pytest

from conftest import Kymo

ROOT = pathlib.Path(__file__).resolve().parents[3]
RANKS = [ROOT / "tests" / "data" / "kineto" / name for name in ("recommender_rank.json.gz", "recommender_rank1.json.gz")]
MASTER = "local[2]"


@pytest.fixture(scope="module")
def spark():
    """Variables for a program that starts Spark."""
    homes = sorted((ROOT / ".tools").glob("spark-*"))
    if not homes or not shutil.which("java"):
        pytest.skip("Spark or Java is not there; `make test-setup` installs both")
    paths = [homes[-1], *(homes[-1] / "lib").glob("py4j-*.zip")]
    return {"SPARK_HOME": str(homes[-1] / "deps"), "SPARK_LOCAL_IP": "127.0.0.1", "KYMO_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}  # compiling well takes longer than these queries


def results(dataset, run):
    return {path.stem: pyarrow.parquet.read_table(path) for path in (dataset / "_analysis" / run).glob("*.parquet")}


def is_same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)  # sums of the same numbers in another order
    return one == other


def rows(table):
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=lambda row: [
        (value is None, f"{value:.3e}" if isinstance(value, float) else str(value)) for value in row])


@pytest.mark.slow
def test_results_are_the_same_row_for_row(kymo, gen_run, tmp_path, spark, monkeypatch):
    dataset = tmp_path / "runs"
    subprocess.run([gen_run, "--ranks", "16", "--machine-ranks", "4", "--tensor", "2", "--pipeline", "2", "--steps", "30", "--seed", "7",
                    "--straggler", "kernel:5:1.4", "--straggler", "host:9:1.3:12", "--slow-link", "dp_1:3", "--lost-rank", "3",
                    "--clocks", "1e6:5", "--run", "night 1", dataset], check=True)
    (damaged,) = dataset.glob("RankStep/*/*/rank=14/part-0.parquet")  # is left out, by both
    damaged.write_bytes(damaged.read_bytes()[:500])
    report = json.loads(kymo.run("fleet", "report", dataset, "--format", "json").stdout)
    assert "damaged-ranks" in [finding["rule"] for finding in report[0]["findings"]]
    (folder,) = os.listdir(dataset / "_analysis")
    local = results(dataset, folder)
    assert len(local["Straggler"]) == 2
    for name, value in spark.items():
        monkeypatch.setenv(name, value)
    result = kymo.run("fleet", "report", dataset, "--format", "json", "--engine", MASTER, "--force", timeout=900)
    assert result.returncode == 0, result.stderr  # where Java and Spark have their say
    again = json.loads(result.stdout)
    assert [finding["title"] for finding in again[0]["findings"]] == [finding["title"] for finding in report[0]["findings"]]
    assert again[0]["ranks"] == report[0]["ranks"] == again[0]["lanes"]
    found = results(dataset, folder)
    assert found.keys() == local.keys()
    for name in local.keys() - {"RunFinding"}:  # whose evidence is text
        assert found[name].schema.names == local[name].schema.names, name
        assert found[name].schema.types == local[name].schema.types, name
        assert len(found[name]) == len(local[name]), name
        for one, other in zip(rows(local[name]), rows(found[name])):
            assert all(map(is_same, one, other)), (name, one, other)


@pytest.mark.slow
def test_captures_are_processed_by_tasks(kymo, installed, tmp_path, spark, monkeypatch):
    """Of the installed package, whose Python runs the tasks, too."""
    broken = tmp_path / "rank-2.json.gz"
    broken.write_bytes(RANKS[0].read_bytes()[:1000])
    for name, value in spark.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("KYMO_PYTHON")
    result = Kymo(installed / "bin" / "kymo").run("fleet", "add", tmp_path / "runs", *RANKS, broken, "--run", "r", "--engine", MASTER,
                                                  timeout=900)
    assert result.returncode == 1
    assert f"{RANKS[0]}: added\n{RANKS[1]}: added\n{broken}: " in result.stdout
    assert "not all captures could be added" in result.stderr
    assert kymo.run("fleet", "add", tmp_path / "local", *RANKS, "--run", "r").returncode == 0
    query = "SELECT rank, * FROM RankStep ORDER BY ALL"
    assert kymo.json("fleet", "sql", tmp_path / "runs", query, "--format", "json") == \
        kymo.json("fleet", "sql", tmp_path / "local", query, "--format", "json")


def test_without_spark_the_message_says_what_is_missing(kymo, gen_run, tmp_path, monkeypatch):
    subprocess.run([gen_run, "--ranks", "4", "--machine-ranks", "2", "--tensor", "2", "--steps", "3", "--run", "r", tmp_path / "runs"], check=True)
    monkeypatch.setenv("KYMO_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    missing = kymo.refuses("fleet", "report", tmp_path / "runs", "--engine", MASTER)
    assert "No module named 'pyspark'; `pip install pyspark` installs Spark" in missing
    monkeypatch.setenv("KYMO_PYTHON", str(tmp_path / "nothing"))
    assert "cannot run" in kymo.refuses("fleet", "report", tmp_path / "runs", "--engine", MASTER)
