"""Datasets of many ranks, on this machine or in an object store.

>>> import kymo.fleet
>>> kymo.fleet.add("s3://lab/runs", ["rank-0.json.gz", "rank-1.json.gz"], run="night")    # doctest: +SKIP
>>> fleet = kymo.fleet.Fleet("s3://lab/runs")                                             # doctest: +SKIP
>>> fleet.sql("SELECT rank, avg(duration_ns) FROM RankStep GROUP BY rank")                # doctest: +SKIP

A dataset is a directory of Parquet files, `TABLE/run=RUN/instance=INSTANCE/rank=RANK/part-0.parquet`. Paths are read and written by the
program alone. Addresses such as s3://, gs:// and memory:// need fsspec (and its package for the store), and DuckDB to be queried.
"""

from __future__ import annotations

import os
import posixpath
from typing import Any, Dict, Iterable

from kymo import _program
from kymo.profile import Tables

_MARK = "_dataset.json"
_PART = "part-0.parquet"
_REPORTED = ("RankStep", "RankCollective", "RankKernel", "Rank")  # the tables that reports are made of


def add(
    url: os.PathLike[str] | str,
    captures: os.PathLike[str] | str | Iterable[os.PathLike[str] | str],
    *,
    run: str | None = None,
    rank: int | None = None,
    instance: str | None = None,
    force: bool = False,
    jobs: int | None = None,
    filesystem: Any = None,
    **storage_options: Any,
) -> None:
    """Processes captures and adds their ranks to a dataset, as `kymo fleet add` does: a rank is added completely or not at all.

    `url` is a path or an address that fsspec knows, `storage_options` are for its file system; or it is a path in `filesystem`. Captures
    are local files; they are processed here and then uploaded. ProgramError says which could not be processed, FileExistsError
    that a rank already exists.

    >>> add("runs", "traces", run="night")                                # doctest: +SKIP
    """
    paths = [os.fspath(captures)] if isinstance(captures, (str, os.PathLike)) else [os.fspath(path) for path in captures]
    arguments = []
    for name, value in {"--run": run, "--rank": rank, "--instance": instance, "--jobs": jobs}.items():
        arguments += [] if value is None else [name, str(value)]
    local = _local_path(url, filesystem)
    if local is not None:
        _program.run("fleet", "add", *arguments, *(["--force"] if force else []), "--", local, *paths)
        return
    import tempfile
    store = _Store(url, filesystem, storage_options)
    with tempfile.TemporaryDirectory(prefix="kymo-") as folder:
        made = os.path.join(folder, "dataset")
        problem = None
        try:
            _program.run("fleet", "add", *arguments, "--", made, *paths)
        except _program.ProgramError as error:
            problem = error  # of some; the others are added
        for place in _places(made):
            store.upload(made, place, force)
        if problem is not None:
            raise problem


class Fleet(Tables):
    """A dataset: its ranks, and queries over all their tables, which have the columns run, instance and rank."""

    def __init__(self, url: os.PathLike[str] | str, *, filesystem: Any = None, **storage_options: Any) -> None:
        self.url = os.fspath(url)
        self._path = _local_path(url, filesystem)
        self._store = None if self._path is not None else _Store(url, filesystem, storage_options)
        if not self._has_mark():
            raise FileNotFoundError(f"{self.url}: is not a dataset; kymo.fleet.add creates one")

    def __repr__(self) -> str:
        return f"kymo.fleet.Fleet({self.url!r})"

    @property
    def ranks(self) -> list[dict[str, Any]]:
        """The ranks, a row each: the table Rank."""
        found: list[dict[str, Any]] = self.sql("SELECT * FROM Rank ORDER BY run, rank", format="rows")
        return found

    def sql(self, query: str, format: str = "arrow") -> Any:
        """The result of a query, with DuckDB's SQL: a pyarrow.Table, a pandas.DataFrame (format="pandas") or a list of dicts
        (format="rows").

        >>> fleet.sql("SELECT rank, avg(idle_ns) AS idle FROM RankStep GROUP BY rank", format="pandas")   # doctest: +SKIP
        """
        if self._store is None:
            return super().sql(query, format)
        import duckdb
        with self._store.connect(query) as connection:
            try:
                answer = connection.sql(query)
                if format == "rows":
                    return [dict(zip(answer.columns, row)) for row in answer.fetchall()]
                if format == "pandas":
                    return answer.df()
                if format == "arrow":
                    return answer.to_arrow_table()
            except duckdb.Error as problem:
                raise ValueError(str(problem)) from None
        raise ValueError(f"format must be one of arrow, pandas, rows, not {format!r}")

    def report(self, run: str | None = None, format: str = "text") -> Any:
        """The report of a run, or of all runs, as `kymo fleet report` prints it: plain text, Markdown (format="markdown") or the parsed
        document (format="json"), a list of runs. The tables of a remote dataset are copied to this machine first.

        >>> print(fleet.report("night"))                                  # doctest: +SKIP
        """
        if format not in ("text", "markdown", "json"):
            raise ValueError(f"format must be one of text, markdown, json, not {format!r}")
        arguments = ["--format", format, *([] if run is None else ["--run", run])]
        if self._path is not None:
            printed = _program.run("fleet", "report", *arguments, "--", self._path)
        else:
            import tempfile
            assert self._store is not None
            with tempfile.TemporaryDirectory(prefix="kymo-") as folder:
                self._store.download(_REPORTED, run, folder)
                printed = _program.run("fleet", "report", *arguments, "--", folder)
        if format != "json":
            return printed
        import json
        return json.loads(printed)

    def remove(self, run: str, rank: int | None = None) -> None:
        """Removes a run, or one of its ranks. KeyError if it does not exist."""
        if self._path is not None:
            try:
                _program.run("fleet", "remove", "--run", run, *([] if rank is None else ["--rank", str(rank)]), "--", self._path)
            except _program.ProgramError as problem:
                raise KeyError(str(problem)) from None
            return
        assert self._store is not None
        places = self._store.places(run, rank)
        if not places:
            raise KeyError(f"{self.url}: has no run {run}" if rank is None else f"{self.url}: run {run} has no rank {rank}")
        for place in places:
            self._store.remove(place)

    def _has_mark(self) -> bool:
        if self._path is not None:
            return os.path.exists(os.path.join(self._path, _MARK))
        assert self._store is not None
        return self._store.exists(_MARK)

    def _query(self, query: str, format: str) -> str:
        assert self._path is not None
        try:
            return _program.run("fleet", "sql", self._path, "-", "--format", format, "--log-level", "error", input=query.encode())
        except _program.ProgramError as problem:
            raise ValueError(str(problem)) from None


def _local_path(url: os.PathLike[str] | str, filesystem: Any) -> str | None:
    """The local path that an address names, or None."""
    if filesystem is not None:
        return None
    name = os.fspath(url)
    if name.startswith("file://"):
        return name[len("file://"):]
    return None if "://" in name else name


def _places(dataset: str) -> list[str]:
    """Of a dataset on this machine: where its ranks are, "run=night/instance=node7/rank=3"."""
    found = []
    for folder, _, files in os.walk(os.path.join(dataset, "Rank")):
        if _PART in files:
            found.append(os.path.relpath(folder, os.path.join(dataset, "Rank")))
    return sorted(found)


def _escape(name: str) -> str:
    """As Hive writes it in paths."""
    return "".join(f"%{ord(c):02X}" if c in "\"#%'*/:=?\\{[]^\x7f" or c < " " else c for c in name)


def _place_in(path: str) -> str:
    """The place of a file in a dataset."""
    return "/".join(path.split("/")[-4:-1])


class _Store:
    """A dataset in a file system of fsspec."""

    def __init__(self, url: os.PathLike[str] | str, filesystem: Any, options: Dict[str, Any]) -> None:
        self.url = os.fspath(url)
        if filesystem is None:
            try:
                import fsspec
            except ImportError:
                raise ModuleNotFoundError(f"{self.url}: addresses need fsspec: pip install 'kymo[fleet]'") from None
            filesystem, path = fsspec.core.url_to_fs(self.url, **options)
        else:
            path = self.url
        self.files = filesystem
        self.root = path.rstrip("/")

    def path(self, *parts: str) -> str:
        return posixpath.join(self.root, *parts)

    def exists(self, *parts: str) -> bool:
        self.files.invalidate_cache()
        return bool(self.files.exists(self.path(*parts)))

    def tables(self) -> list[str]:
        self.files.invalidate_cache()
        names = [posixpath.basename(str(path).rstrip("/")) for path in self.files.ls(self.root, detail=False)]
        return sorted(name for name in names if not name.startswith((".", "_")))

    def places(self, run: str, rank: int | None) -> list[str]:
        """Where the ranks of a run are, or one of them."""
        found = []
        self.files.invalidate_cache()
        above = self.path("Rank", f"run={_escape(run)}")
        if not self.files.exists(above):
            return []
        for path in self.files.find(above):
            parts = str(path).split("/")
            if parts[-1] == _PART and (rank is None or parts[-2] == f"rank={rank}"):
                found.append(_place_in(str(path)))
        return sorted(found)

    def upload(self, made: str, place: str, force: bool) -> None:
        """Uploads the files of a rank, table Rank last: its file marks the rank as complete."""
        from urllib.parse import unquote
        run, _, rank = (unquote(part.split("=", 1)[1]) for part in place.split("/"))
        old = self.places(run, int(rank))
        if old and not force:
            raise FileExistsError(f"{self.url}: rank {rank} of run {run} is there already; force=True replaces it")
        if not self.exists(_MARK):
            self._put(os.path.join(made, _MARK), _MARK)
        for other in old:
            self.remove(other)
        names = sorted(name for name in os.listdir(made) if os.path.isdir(os.path.join(made, name, place)) and name != "Rank")
        try:
            for name in [*names, "Rank"]:
                for file in sorted(os.listdir(os.path.join(made, name, place))):
                    self._put(os.path.join(made, name, place, file), name, place, file)
        except BaseException:
            self.remove(place)
            raise

    def remove(self, place: str) -> None:
        """First from the table Rank."""
        names = self.tables()
        for name in ["Rank", *(name for name in names if name != "Rank"), "_profile"]:
            path = self.path(name, place)
            if self.files.exists(path):
                self.files.rm(path, recursive=True)

    def download(self, tables: Iterable[str], run: str | None, folder: str) -> None:
        """Downloads tables of one run, or of all, into a folder that becomes a dataset."""
        places = {_place_in(path) for path in self._parts("Rank")}
        if run is not None:
            places = {place for place in places if place.startswith(f"run={_escape(run)}/")}
        self.files.get_file(self.path(_MARK), os.path.join(folder, _MARK))
        for name in tables:
            for path in self._parts(name):
                if _place_in(path) in places:
                    target = os.path.join(folder, name, _place_in(path))
                    os.makedirs(target)
                    self.files.get_file(path, os.path.join(target, _PART))

    def _put(self, local: str, *parts: str) -> None:
        target = self.path(*parts)
        self.files.makedirs(posixpath.dirname(target), exist_ok=True)
        self.files.put_file(local, target)

    def connect(self, query: str) -> Any:
        """DuckDB with a view of each table that a query names, or of all tables; only complete ranks are included."""
        try:
            import duckdb
        except ImportError:
            raise ModuleNotFoundError("queries over an address need DuckDB: pip install 'kymo[fleet]'") from None
        names = self.tables()
        named = [name for name in names if name.lower() in query.lower()]
        places = {_place_in(path) for path in self._parts("Rank")} if "Rank" in names else set()
        if not places:
            raise ValueError(f"{self.url}: the dataset has no ranks yet")
        connection = duckdb.connect()
        connection.register_filesystem(self.files)
        if "memory" in self.files.protocol:
            connection.execute("SET threads = 1")  # all who open a file there share its position
        for name in named or names:
            files = [path for path in self._parts(name) if _place_in(path) in places]
            if not files:
                continue
            listed = ", ".join("'" + str(self.files.unstrip_protocol(path)).replace("'", "''") + "'" for path in files)
            connection.execute(
                f"""CREATE VIEW "{name}" AS FROM read_parquet([{listed}], hive_partitioning = true,
                hive_types = {{'run': VARCHAR, 'instance': VARCHAR, 'rank': BIGINT}})"""
            )
        return connection

    def _parts(self, name: str) -> list[str]:
        """The files of a table; none if it is missing."""
        self.files.invalidate_cache()
        return [str(path) for path in self.files.find(self.path(name)) if str(path).endswith("/" + _PART)]
