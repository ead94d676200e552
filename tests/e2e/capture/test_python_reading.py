"""kymo.open and kymo.data: what Python reads of captures, held against jaxlib, DuckDB and the program."""

import html.parser
import json
import math
import re
import urllib.error
import urllib.request

import pytest

from conftest import DATA
from installed import importable
from python_traces import read, run

pytestmark = [
    pytest.mark.plain_build,
    pytest.mark.usefixtures("installed"),
]
GPT = DATA / "xplane" / "jax_gpt_python_h200.xplane.pb"


@pytest.fixture(scope="module")
def package(kymo, installed):
    """The package, read by this process."""
    with importable():
        import kymo as package
        import kymo.data
        yield package


def same_value(ours, theirs):
    if isinstance(ours, float) and isinstance(theirs, float) and math.isnan(ours):
        return math.isnan(theirs)
    return ours == theirs or isinstance(ours, bytes)  # which jaxlib gives as text


def same_stats(ours, theirs):
    """jaxlib has neither name nor value of stats without a name."""
    ours, theirs = list(ours), list(theirs)
    return len(ours) == len(theirs) and all(
        mine[0] == (other[0] or "") and (other == (None, None) or same_value(mine[1], other[1]))
        for mine, other in zip(ours, theirs))


def test_planes_lines_events_and_stats_are_those_of_jaxlib(package, capture):
    ours, theirs = package.data.ProfileData.from_file(capture), read(capture)
    events = 0
    for plane, other_plane in zip(ours.planes, theirs.planes, strict=True):
        assert plane.name == other_plane.name and same_stats(plane.stats, other_plane.stats)
        for line, other_line in zip(plane.lines, other_plane.lines, strict=True):
            assert line.name == other_line.name
            for event, other in zip(line.events, other_line.events, strict=True):
                events += 1
                # jaxlib cuts times to whole nanoseconds
                assert (event.name, math.floor(event.start_ns), math.floor(event.duration_ns)) == (
                    other.name, other.start_ns, other.duration_ns)
                assert event.end_ns == pytest.approx(event.start_ns + event.duration_ns, abs=1)
                assert same_stats(event.stats, other.stats), event
    assert events > 1000
    assert ours.find_plane_with_name("/host:CPU").name == "/host:CPU" and ours.find_plane_with_name("none") is None


def test_other_formats_have_planes_too(package):
    data = package.open(DATA / "kineto" / "nccl_gpu_rank.json.gz").data
    kernels = [event for plane in data.planes if plane.name.startswith("/device:GPU") for line in plane.lines
               for event in line.events if dict(event.stats).get("kernel_details")]
    assert len(kernels) == 2700


@pytest.mark.parametrize("damage", [b"\xff" * 30, b"\x0a\x05abc", b"\x0f\x00"])
def test_bytes_that_are_no_capture_are_a_value_error(package, damage):
    with pytest.raises(ValueError, match="not an XSpace"):
        for plane in package.data.ProfileData(damage).planes:
            list(plane.lines)


@pytest.fixture(scope="module")
def profile(package):
    return package.open(GPT)


@pytest.mark.slow
def test_a_query_becomes_an_arrow_table_with_the_types_of_the_columns(profile):
    import duckdb
    import pyarrow
    table = profile.sql("FROM SystemProfileEvents ORDER BY id")
    path = profile._tables() + "/SystemProfileEvents.parquet"
    wanted = duckdb.sql(f"SELECT * FROM '{path}' ORDER BY id").fetchall()
    assert table.num_rows == len(wanted) == 15335
    assert [tuple(row.values()) for row in table.to_pylist()] == wanted
    assert table.schema.field("duration_ns").type == pyarrow.int64()
    odd = profile.sql("SELECT '' AS empty, NULL::VARCHAR AS nothing, 'a,\"b\nc' AS text, true AS yes, 1.5::DOUBLE AS number, "
                      "12345678901234567890123::HUGEINT AS huge, [1, 2] AS list, -7::TINYINT AS small")
    assert [str(value) for value in odd.to_pylist()[0].values()] == [
        "", "None", 'a,"b\nc', "True", "1.5", "12345678901234567890123", "[1, 2]", "-7"]
    assert profile.sql("SELECT name FROM SystemProfileEvents WHERE false").num_rows == 0


def test_a_query_becomes_a_data_frame_of_pandas(profile):
    query = "SELECT name, count(*) AS count, sum(duration_ns) / 1e6 AS ms, max(step_id) AS step FROM SystemProfileEvents GROUP BY ALL ORDER BY ALL"
    frame, rows = profile.sql(query, format="pandas"), profile.sql(query, format="rows")
    assert [kind.kind for kind in frame.dtypes[["count", "ms"]]] == ["i", "f"] and len(frame) == len(rows) > 50
    assert frame["name"].tolist() == [row["name"] for row in rows]
    assert frame["count"].tolist() == [row["count"] for row in rows]
    assert frame["ms"].sum() == pytest.approx(sum(row["ms"] for row in rows))
    assert frame["step"].isna().tolist() == [row["step"] is None for row in rows]


@pytest.mark.slow
def test_rows_steps_events_and_summary_are_those_of_the_program(kymo, profile):
    assert profile.sql("SELECT count(*) AS n FROM Step", format="rows") == [{"n": 20}]
    assert [step["number"] for step in profile.steps] == list(range(20))
    events = list(profile.events("name = 'train'"))
    assert len(events) == 20 and events == sorted(events, key=lambda event: event["start_ts"])
    assert profile.summary["event_count"] == kymo.json("view", GPT, "--output-format", "summary-json")["event_count"]
    assert "SystemProfileEvents" in profile.tables


def test_what_is_wrong_is_said(package, profile):
    with pytest.raises(ValueError, match="syntax error"):
        profile.sql("SELEC 1")
    with pytest.raises(ValueError, match="did you mean 'arrow'"):
        profile.sql("SELECT 1", format="arow")
    with pytest.raises(FileNotFoundError):
        package.open("/none/of/these")


def test_errors_are_the_programs_sentences_without_what_its_log_has_before_them(kymo, package, profile, tmp_path):
    damaged = tmp_path / "a.xplane.pb"
    damaged.write_bytes(b"\x0a\xff")
    sentence = kymo.refuses("view", damaged, "--output-format", "summary-json").partition("] ")[2].strip()
    with pytest.raises(RuntimeError, match=f"^{re.escape(sentence)}$"):
        package.open(damaged).summary
    with pytest.raises(RuntimeError, match=f"^{re.escape(sentence)}$"):
        package.open(damaged).serve()
    with pytest.raises(ValueError, match="^Parser Error: syntax error"):
        profile.sql("SELEC 1")


def test_neither_pandas_nor_pyarrow_is_imported_unless_asked_for():
    run(f"""
        import sys
        import kymo
        profile = kymo.open({str(GPT)!r})
        assert len(profile.steps) == 20 and profile.summary
        assert not {{"pandas", "pyarrow", "numpy", "jax"}} & set(sys.modules)
    """)


class Frames(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.sources = []

    def handle_starttag(self, tag, attributes):
        if tag == "iframe":
            self.sources.append(dict(attributes)["src"])


def test_in_a_notebook_a_profile_is_its_timeline_in_a_frame(profile):
    frames = Frames()
    frames.feed(profile._repr_html_())
    [url] = frames.sources
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(url) as page:
        assert page.status == 200 and page.headers["X-Frame-Options"] is None, "the token becomes a cookie"
    with opener.open(re.sub(r"\?.*", "", url)) as page:
        assert page.status == 200 and b"<html" in page.read().lower()
        policy = page.headers["Content-Security-Policy"]
        assert "frame-ancestors http://localhost:* http://127.0.0.1:*" in policy and page.headers["X-Frame-Options"] is None
    with opener.open(re.sub(r"/profile/.*", "/api/v1/profiles", url)) as answer:
        assert json.load(answer)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(re.sub(r"/profile/.*", "/api/v1/profiles", url))
    assert refused.value.code == 401, "without the token"
    profile._page.close()


def test_the_examples_in_the_package_work():
    run("""
        import doctest, kymo._options, kymo.profiler
        for module in (kymo._options, kymo.profiler):
            failed, tried = doctest.testmod(module, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
            assert tried and not failed
    """)
