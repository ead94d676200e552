"""Apache Spark as the engine of `kymo fleet`, for runs with too many ranks for one machine.

`kymo fleet report D --engine spark://HOST:PORT` starts this module and tells it, a line of JSON each, which tables to read and
which queries to run; they are the program's own, the same that DuckDB runs otherwise. `kymo fleet add D CAPTURE… --engine …`
has each capture processed by a task of Spark, which runs the program there. Needs pyspark; nothing else of Kymo does."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import uuid
from collections.abc import Callable
from typing import IO, Any


class EngineError(RuntimeError):
    """Spark failed; the message says why in one line."""


def _first_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0] if lines else type(problem).__name__


def session(master: str, **settings: str) -> Any:
    """A Spark session for tables of a dataset."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as problem:
        raise EngineError(f"{problem}; `pip install pyspark` installs Spark, which needs Java 17") from None
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # python3 may be another, without this package
    builder = SparkSession.builder.master(master).appName("kymo fleet")
    for name, value in {
        # Names of runs and machines are texts, also those made of digits.
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **settings,
    }.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Exception as problem:  # py4j raises what Java threw
        raise EngineError(f"Spark at {master} did not start: {_first_line(problem)}") from None
    spark.sparkContext.setLogLevel("ERROR")
    # As many parts as there are cores for them; Spark's 200 cost a small cluster more than the queries.
    spark.conf.set("spark.sql.shuffle.partitions", str(2 * spark.sparkContext.defaultParallelism))
    return spark


class Engine:
    """Answers requests: tables of a dataset and results of queries become views, queries become Parquet files."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def table(self, name: str, path: str, run: str, columns: dict[str, str], ranks: list[int] | None = None) -> None:
        """A table of a run: of all ranks, or of some. Ranks without a file of table Rank are not complete yet."""
        from pyspark.sql import functions as F
        schema = ", ".join(f"`{column}` {kind}" for column, kind in columns.items())
        keys = "run string, instance string, rank string"
        try:
            rows = self.spark.read.option("basePath", f"{path}/{name}").schema(f"{schema}, {keys}").parquet(f"{path}/{name}/{run}")
        except Exception as problem:
            if "PATH_NOT_FOUND" not in str(problem):
                raise
            rows = self.spark.createDataFrame([], f"{schema}, {keys}")
        rows = rows.withColumn("rank", F.col("rank").cast("bigint"))
        if ranks is not None:
            rows = rows.where(F.col("rank").isin(ranks))
        if name != "Rank":
            rows = rows.join(self.spark.table("Rank").select("instance", "rank"), ["instance", "rank"], "left_semi")
        rows.createOrReplaceTempView(name)

    def result(self, name: str, path: str) -> None:
        """Makes an existing result a table of its name."""
        self.spark.read.parquet(path).createOrReplaceTempView(name)

    def query(self, name: str, sql: str, path: str) -> None:
        """Runs a query; its rows become one Parquet file."""
        folder = f"{os.path.dirname(path)}/.{name}-{uuid.uuid4().hex}"
        try:
            self.spark.sql(sql).coalesce(1).write.option("compression", "zstd").parquet(folder)
            (part,) = (entry for entry in os.listdir(folder) if entry.endswith(".parquet"))
            os.replace(f"{folder}/{part}", path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self.result(name, path)

    def answer(self, request: dict[str, Any]) -> str:
        requests: dict[str, Callable[..., None]] = {"table": self.table, "result": self.result, "query": self.query}
        try:
            requests[request.pop("do")](**request)
        except Exception as problem:
            return f"error {_first_line(problem)}"
        return "ok"


def serve(master: str, replies: IO[str]) -> None:
    """Answers each request on standard input with one line: ok, or error and the reason."""
    try:
        engine = Engine(session(master))
    except EngineError as problem:
        print("error", problem, file=replies, flush=True)
        return
    print("ready", engine.spark.version, file=replies, flush=True)
    for line in sys.stdin:
        print(engine.answer(json.loads(line)), file=replies, flush=True)
    engine.spark.stop()


def add(master: str, dataset: str, captures: list[str], **options: Any) -> list[tuple[str, str | None]]:
    """Adds captures to a dataset, a task each, with the options of `kymo.fleet.add`; (capture, why it failed or None)."""
    def process(capture: str) -> tuple[str, str | None]:
        from kymo import fleet
        try:
            fleet.add(dataset, [capture], jobs=1, **options)
        except Exception as problem:
            return capture, _first_line(problem)
        return capture, None

    spark = session(master)
    try:
        done: list[tuple[str, str | None]] = spark.sparkContext.parallelize(captures, len(captures)).map(process).collect()
    finally:
        spark.stop()
    return done


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m kymo.spark", description="Runs the work of `kymo fleet` on Apache Spark.")
    parser.add_argument("--master", required=True, help="spark://HOST:PORT, local[N], yarn or k8s://…")
    parser.add_argument("--add", metavar="DATASET", help="add captures to a dataset, instead of answering requests")
    parser.add_argument("--run", help="name of their run")
    parser.add_argument("--instance", help="machine they ran on")
    parser.add_argument("--force", action="store_true", help="replace existing ranks")
    parser.add_argument("captures", nargs="*")
    options = parser.parse_args()
    # Spark and Java print to standard output as well, which is for replies alone.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if options.add is None:
        serve(options.master, replies)
        return 0
    try:
        done = add(options.master, options.add, options.captures, run=options.run, instance=options.instance, force=options.force)
    except EngineError as problem:
        print(f"kymo fleet add: {problem}", file=sys.stderr)
        return 1
    for capture, why in done:
        print(f"{capture}: {why}" if why else f"{capture}: added", file=replies)
    replies.flush()
    return int(any(why for _, why in done))


if __name__ == "__main__":
    sys.exit(main())
