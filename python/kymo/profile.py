"""Profiles: captures of any format Kymo reads, as tables.

>>> import kymo
>>> profile = kymo.open("logs")                                      # doctest: +SKIP
>>> profile.sql("SELECT name, count(*) AS n FROM SystemProfileEvents GROUP BY name ORDER BY n DESC LIMIT 5")    # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator

from kymo import _program

if TYPE_CHECKING:
    import subprocess

    from kymo.data import ProfileData

_Row = Dict[str, Any]  # of column names and values


def open_profile(path: os.PathLike[str] | str) -> Profile:
    """Opens a capture or a processed profile, a file or a directory. FileNotFoundError if it does not exist.

    >>> profile = open_profile("logs/plugins/profile/2026_11_17_07_13_18")     # doctest: +SKIP
    >>> profile.summary["event_count"]                                         # doctest: +SKIP
    15335
    """
    name = os.fspath(path)
    os.stat(name)
    return Profile(name)


class Tables:
    """Tables that can be queried with the program."""

    def sql(self, query: str, format: str = "arrow") -> Any:
        """The result of a query, with DuckDB's SQL: a pyarrow.Table, a pandas.DataFrame (format="pandas") or a list of dicts
        (format="rows", which needs no other package).

        >>> profile.sql("SELECT name, sum(duration_ns)/1e6 AS ms FROM SystemProfileEvents GROUP BY ALL",
        ...             format="pandas")                             # doctest: +SKIP
        """
        if format == "rows":
            return list(self._rows(query))
        if format == "arrow":
            return self._arrow(query)
        if format == "pandas":
            return self._arrow(query).to_pandas()
        from kymo._options import nearest
        formats = ("arrow", "pandas", "rows")
        raise ValueError(f"format must be one of {', '.join(formats)}, not {format!r}{nearest(format, formats)}")

    def _query(self, query: str, format: str) -> str:
        """The answer of the program as text: "csv" or "json"."""
        raise NotImplementedError

    def _rows(self, query: str) -> Iterator[_Row]:
        yield from json.loads(self._query(query, "json"))

    def _arrow(self, query: str) -> Any:
        import io

        import pyarrow
        import pyarrow.csv
        described = query.strip().rstrip(";")
        try:
            types = {row["column_name"]: row["column_type"] for row in self._rows(f"DESCRIBE ({described}\n)")}
        except ValueError:
            types = {}  # of DESCRIBE and the like: all is text
        content = self._query(query, "csv").encode(errors="surrogateescape")
        if not content.strip():
            return pyarrow.table({})
        nested = {name for name, kind in types.items() if kind.endswith("]") or kind.startswith(("STRUCT", "MAP"))}
        columns = {name: _arrow_type(pyarrow, kind) for name, kind in types.items() if name not in nested}
        for name in nested:
            columns[name] = pyarrow.string()
        table = pyarrow.csv.read_csv(
            io.BytesIO(content), parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=columns, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""],
                true_values=["true"], false_values=["false"]))
        for name in nested:
            values = [None if text is None else json.loads(text) for text in table.column(name).to_pylist()]
            table = table.set_column(table.column_names.index(name), name, pyarrow.array(values))
        return table


class Profile(Tables):
    """A profile. Its tables are created on first use, in a temporary directory that is removed with the object."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._folder: Any = None
        self._summary: dict[str, Any] | None = None
        self._page: Page | None = None

    def __repr__(self) -> str:
        return f"kymo.open({self.path!r})"

    @property
    def tables(self) -> list[str]:
        """The names of the tables; `kymo --show-profile-schema` describes their columns."""
        return [row["name"] for row in self.sql("SHOW TABLES", format="rows")]

    @property
    def summary(self) -> dict[str, Any]:
        """Steps, devices, operations, findings and more: what `kymo view --output-format summary-json` prints."""
        if self._summary is None:
            with open(os.path.join(self._tables(), "summary.json")) as file:
                self._summary = json.load(file)
        return self._summary

    @property
    def steps(self) -> list[_Row]:
        """The steps, in order, with their times on the host and on devices."""
        found: list[_Row] = self.sql("SELECT * FROM Step ORDER BY ALL", format="rows")
        return found

    def events(self, where: str = "true") -> Iterator[_Row]:
        """The events that match an SQL condition, in time order: rows of SystemProfileEvents.

        >>> for event in profile.events("name = 'train'"):           # doctest: +SKIP
        ...     print(event["start_ts"], event["duration_ns"])
        """
        yield from self._rows(f"SELECT * FROM SystemProfileEvents WHERE {where} ORDER BY start_ts, id")

    @property
    def data(self) -> ProfileData:
        """The capture as planes, lines and events, like jaxlib's ProfileData."""
        from kymo.data import ProfileData
        return ProfileData.from_file(self.path)

    # ---- Tables -----------------------------------------------------------------------------------------------------------

    def _tables(self) -> str:
        if os.path.isfile(os.path.join(self.path, "SystemProfileEvents.parquet")):
            return self.path
        if self._folder is None:
            import tempfile
            folder = tempfile.TemporaryDirectory(prefix="kymo-")
            _program.run("view", self.path, "--output-format", "parquet", "--output-file", os.path.join(folder.name, "profile"),
                         "--log-level", "error")
            self._folder = folder
        return os.path.join(self._folder.name, "profile")

    def _query(self, query: str, format: str) -> str:
        try:
            return _program.run("sql", self._tables(), "-", "--format", format, "--log-level", "error",
                                input=query.encode())
        except _program.ProgramError as problem:
            raise ValueError(str(problem)) from None

    # ---- The page ---------------------------------------------------------------------------------------------------------

    def serve(self) -> Page:
        """Serves the timeline on a local page, whose address has a token, until Page.close() or the end of the program."""
        import tempfile
        folder = tempfile.TemporaryDirectory(prefix="kymo-")
        return Page("view", self.path, "--data-path", folder.name, "--allow-frames", folder=folder)

    def _repr_html_(self) -> str:
        """In a notebook: the timeline."""
        if self._page is None:
            self._page = self.serve()
        return (f'<iframe src="{self._page.url}" title="Kymo: timeline" width="100%" height="640" '
                'style="border:1px solid #8884" allow="fullscreen"></iframe>')


def _arrow_type(pyarrow: Any, kind: str) -> Any:
    simple = {
        "BOOLEAN": pyarrow.bool_(), "TINYINT": pyarrow.int8(), "SMALLINT": pyarrow.int16(), "INTEGER": pyarrow.int32(),
        "BIGINT": pyarrow.int64(), "UTINYINT": pyarrow.uint8(), "USMALLINT": pyarrow.uint16(), "UINTEGER": pyarrow.uint32(),
        "UBIGINT": pyarrow.uint64(), "FLOAT": pyarrow.float32(), "DOUBLE": pyarrow.float64(),
        "HUGEINT": pyarrow.decimal128(38), "UHUGEINT": pyarrow.decimal128(38),
    }
    if kind.startswith("DECIMAL("):
        width, scale = kind[len("DECIMAL("):-1].split(",")
        return pyarrow.decimal128(int(width), int(scale))
    return simple.get(kind, pyarrow.string())


class Page:
    """A local page server, with a token in its address: url, wait(), close()."""

    def __init__(self, *command: str, folder: Any = None) -> None:
        """Starts the program; `folder`, a temporary directory, is removed with the page."""
        import atexit
        import secrets
        import subprocess
        self._folder = folder
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            [_program.program(), *command, "--port", "0", "--api-server-port", "0", "--log-level", "error"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "KYMO_TOKEN": secrets.token_urlsafe(24)})
        self.url = self._read_url()
        atexit.register(self.close)

    def _read_url(self) -> str:
        assert self._process.stdout is not None and self._process.stderr is not None
        for line in self._process.stdout:
            if line.startswith(b"View "):
                return line.split()[-1].decode()
        said = self._process.stderr.read().decode(errors="replace").strip()
        self.close()
        raise RuntimeError(_program.reason(said) or "the page could not be served")

    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self) -> None:
        """Waits until the page's server ends."""
        self._process.wait()

    def close(self) -> None:
        import atexit
        atexit.unregister(self.close)
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        if self._folder is not None:
            self._folder.cleanup()
