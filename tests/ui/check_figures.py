"""Compares figures as pages show them with what plain DuckDB finds by their queries. Reads JSON on standard input: a list of profiles, each
with its `folder` (of two compared, one for each schema), the `queries` of groups and the `figures` that were read; prints what differs, a line each."""

import json
import pathlib
import re
import sys

import duckdb

# Units of texts and of queries, in the base unit of each kind.
SCALES = {
    "ps": 1e-3, "ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9,
    "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "GiB/s": 2**30,
    "FLOP": 1, "kFLOP": 1e3, "MFLOP": 1e6, "GFLOP": 1e9, "TFLOP": 1e12, "PFLOP": 1e15, "flop": 1,
    "FLOP/s": 1, "kFLOP/s": 1e3, "MFLOP/s": 1e6, "GFLOP/s": 1e9, "TFLOP/s": 1e12, "PFLOP/s": 1e15,
    "%": 0.01, "fraction": 1, "": 1, "FLOP/B": 1, "flop/B": 1, "cycles": 1, "GHz": 1,
}
NUMBER = re.compile(r"^(< )?(-?[\d,]+(?:\.(\d+))?(?:e[+-]?\d+)?)(?: (\S+))?$")


def read(text, queried):
    """The bounds of the values that are shown as this text, in the base unit of its kind. Without a unit it has that of the query."""
    below, digits, decimals, unit = NUMBER.match(text).groups()
    if text == "0 s":
        return 0, 0  # what is nearly nothing has digits
    scale = SCALES[unit or queried]
    value = float(digits.replace(",", ""))
    if below:
        return 0, value * scale
    step = 10.0 ** -len(decimals or "")
    if not decimals and abs(value) >= 1e4:
        step = 10 ** max(0, len(digits.replace(",", "").lstrip("-")) - 4) if digits.rstrip("0").replace(",", "") != digits.replace(",", "") else 1
    return (value - 0.5 * step) * scale, (value + 0.5 * step) * scale


def fits(text, value, unit, count):
    if value is None:
        return text in ("", "NULL")  # NULL only where tables are shown as they are
    if isinstance(value, str):
        return text.replace("µs", "us") == value
    text = re.sub(r"^[+×](?=\d)", "", text.replace("−", "-"))
    if isinstance(value, bool) or not NUMBER.match(text):
        return text.replace("µs", "us") == str(value)
    if unit == "" and text.endswith(" %"):
        text = text[:-2]  # recorded as a percentage
    if unit == "" and float(value).is_integer() and re.fullmatch(r"-?[\d,]+", text):
        return int(text.replace(",", "")) == value  # a count has all its digits
    low, high = read(text, unit)
    found = float(value) * SCALES[unit]
    slack = 1e-9 * abs(found) + 1e-12 + (max(count, 1) if unit == "ns" else 0)  # tables have whole nanoseconds
    return low - slack <= found <= high + slack


def tables_of(folder):
    tables = duckdb.connect()
    for schema, path in (folder if isinstance(folder, dict) else {"main": folder}).items():
        tables.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        for file in pathlib.Path(path).glob("*.parquet"):
            tables.execute(f"CREATE VIEW {schema}.{file.stem} AS SELECT * FROM '{file}'")
    return tables


def rows_of(tables, query, ids=()):
    """The rows of a query: those of some ids alone, where all keys have one."""
    if ids and all(isinstance(one, int) for one in ids):
        query = f"FROM ({query}) WHERE id IN ({', '.join(map(str, ids))})"
    tables.execute(query)
    columns = [column[0] for column in tables.description]
    return [dict(zip(columns, row)) for row in tables.fetchall()]


def place(values):
    """In the index of rows: paths are lists."""
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


class Rows:
    """Rows of a group, found by their keys."""

    def __init__(self, rows):
        self.rows = rows
        self.by_columns = {}

    def find(self, key):
        columns = tuple(key)
        if columns not in self.by_columns:
            found = self.by_columns[columns] = {}
            for row in self.rows:
                found.setdefault(place(row[column] for column in columns), []).append(row)
        return self.by_columns[columns].get(place(key.values()), [])


def differences(profile):
    tables = tables_of(profile["folder"])
    groups = {}
    for group, query in profile["queries"].items():
        try:
            groups[group] = Rows(rows_of(tables, query, {figure["key"].get("id") for figure in profile["figures"] if figure["group"] == group}))
        except duckdb.Error as problem:
            groups[group] = Rows([])
            yield f"{profile['name']} {group}: {problem}"
    for figure in profile["figures"]:
        where = f"{profile['name']} {figure['page']}: {figure['group']}.{figure['column']} {figure['key']} {figure['text']!r}"
        rows = groups[figure["group"]].find(figure["key"])
        if len(rows) != 1:
            yield f"{where}: {len(rows)} rows"
        elif not fits(figure["text"], rows[0][figure["column"]], figure["unit"], rows[0].get("count") or 0):
            yield f"{where}: the query gives {rows[0][figure['column']]} {figure['unit']}"


if __name__ == "__main__":
    for profile in json.load(sys.stdin):
        for difference in differences(profile):
            print(difference)
