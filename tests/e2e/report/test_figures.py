"""The catalog of figures: each has a definition and a query, and what commands print is what plain DuckDB finds by that query."""

import json
import math
import shutil

import duckdb
import pytest

from conftest import DATA, ROOT
from server import Server

CAPTURES = {
    "matmul": "xplane/jax_matmul_h200.xplane.pb", "gpt": "xplane/jax_gpt_python_h200.xplane.pb", "tpu": "xplane/tpu_inference.xplane.pb",
    "rocm": "xplane/rocm_mi300_gemm.xplane.pb", "tf": "xplane/tf_gpu_worker.xplane.pb", "cpu": "xplane/jax_cpu.xplane.pb",
    "torch": "kineto/nccl_gpu_rank.json.gz", "amd": "kineto/amd_mi250.json.gz", "torch-cpu": "kineto/cpu_only.pt.trace.json.gz",
    "sglang": "kineto/sglang_modules.json.gz", "torch-gpt": "kineto/torch_gpt_cut.json.gz", "neuron": "neuron/system_profile.json",
}
SUMMARY_LISTS = ["devices", "operations", "kernels", "copies", "kernel_families", "host_events", "threads", "counters", "operators", "modules"]
NOT_TOOLS = ("run", "stats", "diff", "summary", "table", "device", "event", "page", "chart", "computed")  # first words of groups
TEXTS = ("fact", "value", "conclusion")  # columns of sentences


@pytest.fixture(scope="module")
def server(kymo, tmp_path_factory):
    """A server of all captures."""
    place = tmp_path_factory.mktemp("figures")
    for name, path in CAPTURES.items():
        kymo.ok("view", DATA / path, "--ingest-only", "--display-name", name, "--data-path", place)
    server = Server(kymo, "--data-path", place)
    server.place = place
    yield server
    server.stop()


def ask(server, path):
    answer = server.ask("GET", path)
    assert answer.status == 200, (path, answer.body)
    return json.loads(answer.body)


@pytest.fixture(scope="module")
def catalog(server):
    return {group["id"]: group for group in ask(server, "figures")["groups"]}


@pytest.fixture(params=CAPTURES)
def profile(request, server):
    return Profile(server, request.param)


class Profile:
    """The Parquet files of a profile in a DuckDB of its own."""

    def __init__(self, server, name):
        self.server = server
        self.name = name
        self.folder = server.place / "profiles" / "global" / f"{name}@latest"
        self.tables = duckdb.connect()
        for file in self.folder.glob("*.parquet"):
            self.tables.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM '{file}'")

    def rows(self, group):
        """What the query of a group gives."""
        self.tables.execute(ask(self.server, f"profiles/{self.name}/figures/{group}")["query"])
        columns = [column[0] for column in self.tables.description]
        return [dict(zip(columns, row)) for row in self.tables.fetchall()]

    def summary(self):
        return json.loads((self.folder / "summary.json").read_text())


def same(shown, queried, slack=0.0):
    """Equal but for the order of additions, and for what times of whole nanoseconds cannot tell."""
    if isinstance(shown, (str, bool, list)) or shown is None or queried is None:
        return shown == queried or (isinstance(shown, bool) and shown is queried)
    return math.isclose(shown, queried, rel_tol=1e-9, abs_tol=slack)


def compare(shown, row, columns, count=1):
    """Compares a record with a row of a query; events' times are rounded, so sums may be off by a nanosecond each."""
    for column in columns:
        value, found = shown[column], row[column]
        slack = count + 1 if column.endswith("_ns") or ".".join(column.split(".")[:1]).endswith("_ns") else 0
        if column in ("share", "busy_share"):
            slack = 1e-4
        assert same(value, None if found is None else float(found) if not isinstance(found, str) else found, slack), (column, value, found, row)


def test_every_column_of_a_tool_has_a_definition(catalog, server):
    for group in catalog.values():
        for figure in group["figures"]:
            assert figure["text"], (group["id"], figure["column"])
            assert figure["unit"] != "%" or "share" in figure["text"].lower() or "relative" in figure["text"] or group["id"].startswith("table."), \
                f"{group['id']}.{figure['column']}: a percentage says of what"
    tables = {f"{tool['name']}.{table}" for tool in ask(server, "tools")["tools"] for table in tool["tables"]}
    assert tables <= set(catalog)
    assert [group for group in catalog if group not in tables and group.split(".")[0] not in NOT_TOOLS] == ["roofline_model.operations"]


def test_ids_are_unique(catalog):
    ids = [f"{group['id']}.{figure['column']}" for group in catalog.values() for figure in group["figures"]]
    assert len(ids) == len(set(ids))


def test_the_summary_is_what_the_queries_find(profile):
    summary = profile.summary()
    (whole,) = profile.rows("summary")
    assert whole["event_count"] == summary["event_count"]
    assert whole["step_count"] == summary["steps"]["count"]
    assert whole["program_count"] == summary["program_count"]
    assert (whole["launch_count"], whole["context_count"]) == (summary["flows"]["launch"], summary["flows"]["context"])
    assert same(summary["span_ns"], float(whole["span_ns"] or 0), 1.0)
    assert same(summary["profiler_ns"], float(whole["profiler_ns"]), 1.0)
    steps = {row["time"]: row for row in profile.rows("summary.steps")}
    for time in ("step_ns", "host_ns", "device_ns", "period_ns"):
        shown = summary["steps"][time]
        assert (shown is None) == (time not in steps)
        if shown:
            for column, value in shown.items():
                assert same(value, float(steps[time][column]), 1.0), (time, column)


def test_step_time_is_one_figure(profile):
    """The list, the summary, the overview and the query say the same; so do they of events, duration and devices."""
    (whole,) = profile.rows("summary")
    listed, summary = ask(profile.server, f"profiles/{profile.name}"), profile.summary()
    times = summary["steps"]["step_ns"]
    known = profile.tables.execute("SELECT count(*) FROM Step").fetchone()[0] if (profile.folder / "Step.parquet").exists() else 0
    assert (times is None) == (known == 0) == (whole["step_ns"] is None) == (listed["step_ns"] is None)
    facts = {fact["fact"]: fact["value"] for fact in ask(profile.server, f"profiles/{profile.name}/tools/overview_page?format=json").get("facts", [])}
    if times:
        assert same(times["p50"], float(whole["step_ns"]), 1.0) and listed["step_ns"] == times["p50"]
        assert facts["Step time"].startswith(f"{whole['step_ns'] / 1e6:.3f} ms, median of {times['count']} step")
        mean = profile.tables.execute("SELECT median(ns) FROM (SELECT avg(duration_ns) AS ns FROM StepBreakdown GROUP BY step_id)").fetchone()[0]
        assert same(times["p50"], mean, 1.0)
    else:
        assert "Step time" not in facts
    assert listed["events"] == summary["event_count"] and listed["duration_ns"] == summary["span_ns"]
    assert listed["device_count"] == len(summary["devices"]) == whole["device_count"]


@pytest.mark.parametrize("part", SUMMARY_LISTS)
def test_lists_of_the_summary_are_what_the_queries_find(part, profile, catalog):
    shown = profile.summary()[part]
    group = catalog[f"summary.{part}"]
    rows = profile.rows(group["id"])
    assert len(shown) == len(rows)
    keys = ["track_id"] if "track_id" in group["keys"] else group["keys"]
    found = {tuple(row[key] for key in keys): row for row in rows}
    assert len(found) == len(rows), "keys tell rows apart"
    for record in shown:
        for key, value in list(record.items()):
            if isinstance(value, dict) or (key == "launch_delay_ns" and value is None):
                record.update({f"{key}.{column}": one for column, one in (value or {}).items()})
        row = found[tuple(record[key] for key in keys)]
        columns = [figure["column"] for figure in group["figures"] if figure["column"] in record]
        compare(record, row, columns, record.get("count") or record.get("event_count") or 1)


def test_tools_print_what_the_queries_find(profile, catalog):
    for group in catalog.values():
        tool, _, table = group["id"].partition(".")
        if tool in NOT_TOOLS:
            continue
        shown = ask(profile.server, f"profiles/{profile.name}/tools/{tool}?format=json").get(table)
        if shown is None:  # of the text alone, over the same relations
            assert group["id"] == "roofline_model.operations"
            continue
        rows = profile.rows(group["id"])
        assert len(shown) == len(rows), group["id"]
        keys = [key for key in group["keys"] if key != "*"]
        if keys:
            assert len({str([row[key] for key in keys]) for row in rows}) == len(rows), (group["id"], "keys tell rows apart")
        for record, row in zip(shown, rows):
            for column, value in record.items():
                queried = row[column]
                assert same(value, queried if queried is None or isinstance(queried, (str, bool, list)) else float(queried)), (group["id"], column, value, queried)


def test_keys_tell_the_rows_of_every_table_apart(profile, catalog):
    for (table,) in profile.tables.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall():
        keys = ", ".join(catalog[f"table.{table}"]["keys"])
        ((rows, distinct),) = profile.tables.execute(
            f"SELECT (SELECT count(*) FROM {table}), (SELECT count(*) FROM (SELECT DISTINCT {keys or 1} FROM {table}))").fetchall()
        assert rows == distinct, (table, keys)


def test_a_query_of_a_page_of_figures_is_plain_sql(profile):
    """It names no relation: all are part of it."""
    (row,) = profile.rows("summary")
    assert row["event_count"] == profile.tables.execute("SELECT count(*) FROM SystemProfileEvents").fetchone()[0]


def test_the_command_prints_definitions_and_queries(kymo, server):
    text = kymo.ok("figures", "summary.devices.busy_share")
    assert text == (
        "summary.devices.busy_share\n  Busy (fraction): Busy time as a share of the capture's duration.\n  = busy_ns / summary.span_ns\n")
    assert kymo.ok("figures", "table.Step.duration_ns").splitlines()[1].endswith("recorded."), "one full stop"
    assert kymo.ok("figures", "kernel_stats").count("kernel_stats.kernels.") > 8
    query = kymo.ok("figures", "summary.devices", "gpt", "--data-path", server.place)
    assert kymo.json("sql", "gpt", query, "--data-path", server.place, "--format", "json")
    assert "is over two profiles: name both" in kymo.refuses("figures", "diff.kernels", "gpt", "--data-path", server.place, code=2)
    assert "is over one profile" in kymo.refuses("figures", "summary", "gpt", "gpt", "--data-path", server.place, code=2)
    assert "is of two runs" in kymo.refuses("figures", "diff.ranks", "gpt", "gpt", "--data-path", server.place, code=2)
    assert "no figure 'nothing'" in kymo.refuses("figures", "nothing", code=2)
    assert "no group of figures 'nothing'" in kymo.refuses("figures", "nothing", "gpt", "--data-path", server.place, code=2)


def test_a_mistyped_id_gets_the_nearest_ones(kymo, server):
    assert kymo.refuses("figures", "summary.devices.bussy_share", code=2).endswith("did you mean summary.devices.busy_share?\n")
    said = kymo.refuses("figures", "busy_share", code=2)
    assert "did you mean summary.devices.busy_share?\n" in said and "did you mean summary.threads.busy_share?\n" in said
    assert "did you mean kernel_stats.kernels?" in kymo.refuses("figures", "kernel_stat.kernels", "gpt", "--data-path", server.place, code=2)


def test_all_figures_are_listed_by_group_without_columns_of_tables(kymo):
    text = kymo.ok("figures")
    assert text.startswith("summary: The capture as a whole.\n") and "\nsummary.devices: What devices did in the capture.\n" in text
    assert "table.Step" not in text and "table.Step.device_ns" in kymo.ok("figures", "table.Step")
    lines = text.split("\n\n")[0].splitlines()[1:]
    at = lines[0].index("definition")
    assert all(line[at - 1] == " " and line[at] != " " for line in lines), "columns are aligned"


def test_profiles_of_earlier_versions_are_blank_where_a_column_is_missing(server, kymo):
    folder = server.place / "profiles" / "global"
    shutil.copytree(folder / "gpt@latest", folder / "earlier@latest")
    tables = duckdb.connect()
    for table, column in [("EventType", "role"), ("GpuKernel", "family"), ("Step", "device_ns")]:
        file = folder / "earlier@latest" / f"{table}.parquet"
        tables.execute(f"CREATE TABLE {table} AS SELECT * EXCLUDE {column} FROM '{file}'")
        tables.execute(f"COPY {table} TO '{file}' (FORMAT parquet)")
    (folder / "earlier@latest" / "StepBreakdown.parquet").unlink()
    summary = json.loads((folder / "earlier@latest" / "summary.json").read_text())
    del summary["steps"]["step_ns"]
    (folder / "earlier@latest" / "summary.json").write_text(json.dumps(summary))
    earlier = Profile(server, "earlier")
    (whole,) = earlier.rows("summary")
    assert (whole["span_ns"], whole["profiler_ns"], whole["step_ns"]) == (None, None, None)
    assert (whole["event_count"], whole["step_count"]) == (15335, 20)
    assert {row["time"] for row in earlier.rows("summary.steps")} == {"host_ns", "period_ns"}
    assert {row["device_ns"] for row in earlier.rows("summary.step_times")} == {None}
    assert earlier.rows("summary.kernel_families") == earlier.rows("summary.host_events") == []
    assert all(row["busy_share"] is None for row in earlier.rows("summary.devices"))
    listed = ask(server, "profiles/earlier")
    assert listed["step_ns"] is None and listed["events"] == 15335
    why = ask(server, "profiles/earlier/figures/summary")["why_unknown"]
    assert why.startswith("An earlier version of kymo made this profile, without EventType.role") and "--force" in why
    assert ask(server, "profiles/gpt/figures/summary")["why_unknown"] is None
    said = kymo.run("figures", "summary.kernel_families", "earlier", "--data-path", server.place)
    assert said.returncode == 0 and "without GpuKernel.family" in said.stderr
    facts = {fact["fact"]: fact["value"] for fact in ask(server, "profiles/earlier/tools/overview_page?format=json")["facts"]}
    assert "Step time" not in facts and "An earlier version of kymo made the profile" in facts["Input"]


def test_unknown_groups_are_refused(server):
    assert server.ask("GET", "profiles/gpt/figures/nothing").status == 404
    assert server.ask("GET", "profiles/nothing/figures/summary").status == 404


def test_the_page_of_figures_is_made_of_the_catalog(kymo, tmp_path):
    kymo.ok("--generate", "figures", tmp_path / "figures.md")
    assert (ROOT / "docs" / "figures.md").read_text() == (tmp_path / "figures.md").read_text(), \
        "kymo --generate figures docs/figures.md writes it again"
