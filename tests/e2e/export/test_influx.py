"""Points of InfluxDB: read back from a real server of version 1, and taken by one of version 2 that is
made here and fails in all the ways servers do."""

import collections
import contextlib
import gzip
import http.server
import json
import math
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import pytest

import random_chrome
import random_space
import xspace
from conftest import DATA, ROOT

GPT = DATA / "xplane" / "jax_gpt_python_h200.xplane.pb"
TOKEN = "s3cret=="
LARGEST = 2**63 - 1


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A real InfluxDB, with nothing in it."""

    def __init__(self, program, folder):
        self.endpoint = f"http://127.0.0.1:{free_port()}"
        config = folder / "influxdb.conf"
        config.write_text(f"""
            reporting-disabled = true
            bind-address = "127.0.0.1:{free_port()}"
            [meta]
              dir = "{folder}/meta"
            [data]
              dir = "{folder}/data"
              wal-dir = "{folder}/wal"
              query-log-enabled = false
            [monitor]
              store-enabled = false
            [http]
              bind-address = "{self.endpoint.removeprefix('http://')}"
              log-enabled = false
        """)
        self.process = subprocess.Popen(
            [program, "-config", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.wait()

    def wait(self):
        for _ in range(300):
            with contextlib.suppress(OSError):
                return urllib.request.urlopen(f"{self.endpoint}/ping", timeout=5)
            assert self.process.poll() is None
            time.sleep(0.1)
        raise AssertionError("InfluxDB does not start")

    def query(self, database, statement):
        query = urllib.parse.urlencode({"db": database, "q": statement, "epoch": "ns"})
        with urllib.request.urlopen(f"{self.endpoint}/query?{query}", timeout=60) as answer:
            whole = lambda digits: -0.0 if digits == "-0" else int(digits)
            result = json.load(answer, parse_int=whole)["results"][0]
        assert "error" not in result, result
        return result.get("series", [])

    def points(self, database, measurement, profile):
        """Points as dictionaries of tags and those fields that they have."""
        quoted = profile.replace("\\", "\\\\").replace("'", "\\'")
        where = f"""WHERE "profile" = '{quoted}' GROUP BY *"""
        found = []
        for series in self.query(database, f'SELECT * FROM "{measurement}" {where}'):
            tags = {key: value for key, value in series["tags"].items() if value}
            for row in series["values"]:
                fields = dict(zip(series["columns"], row))
                found.append(tags | {k: v for k, v in fields.items() if v is not None})
        return found


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    own = ROOT / ".tools" / "influxdb" / "usr" / "bin" / "influxd"
    program = own if own.exists() else shutil.which("influxd")
    assert program, "no InfluxDB here: scripts/setup.sh test unpacks one"
    server = Server(program, tmp_path_factory.mktemp("influxdb"))
    yield server
    server.process.terminate()
    server.process.wait(timeout=30)


def put(kymo, endpoint, capture, *options, token=TOKEN):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("INFLUX_")}
    if token:
        environment["INFLUX_TOKEN"] = token
    return kymo.run(
        "view", capture, "--output-format", "db", "--db-endpoint", endpoint, *options,
        env=environment,
    )  # fmt: skip


def put_ok(kymo, endpoint, capture, name, *options):
    result = put(kymo, endpoint, capture, "--display-name", name, *options)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith(f'Profile "{name}" is ready to view\n')
    return int(result.stdout.split()[0])


def refuses(kymo, endpoint, capture, *options, token=TOKEN):
    result = put(kymo, endpoint, capture, *options, token=token)
    assert (result.returncode, result.stdout) == (1, "")
    lines = [line for line in result.stderr.splitlines() if not line.startswith("INFO")]
    assert len(lines) == 1 and lines[0].startswith("FATA"), result.stderr
    return lines[0]


# --- what points hold


def held(name):
    """A name as the server can have it: some characters are replaced."""
    name = re.sub(r"[\x00-\x1f\x7f\u0080-\u00a0\ufffd]", "?", name)
    return re.sub(r"\\(?=[,= \"]|$)", "＼", name)


def field_key(kind, key):
    return held(f"{kind}.{key}")


def arg_fields(args):
    for key, value in args.items():
        if value is None:
            yield field_key("null", key), True
        elif isinstance(value, bool):
            yield field_key("text", key), json.dumps(value)
        elif isinstance(value, int) and -LARGEST - 1 <= value <= LARGEST:
            yield field_key("int", key), value
        elif isinstance(value, float):
            yield field_key("float", key), value
        elif isinstance(value, str):
            yield field_key("text", key), value
        else:
            yield field_key("text", key), ("JSON", value)


TAGS = ["group", "instance_id"]
PLAIN = [
    "id", "name", "event_type", "duration", "process_id", "thread_id", "lnc_idx", "worker_gid",
    "type", "num_occurrences", "start_ps", "duration_ps", "step", "value",
]  # fmt: skip


def expected_point(event):
    point = {key: event[key] for key in PLAIN + TAGS if event.get(key, "") != ""}
    point["name"] = event["name"]
    if isinstance(point.get("value"), str):
        point["value_text"] = point.pop("value")
    return point | {"track": str(event["track"])} | dict(arg_fields(event.get("args", {})))


def check_point(point, event, moved):
    expected = expected_point(event)
    point = dict(point)
    for extra in ("lane", "source", "profile"):
        point.pop(extra, None)
    collision = int(point.pop("collision", 0))
    assert collision < 1024
    when = point.pop("time")
    if "timestamp" in point:
        assert point.pop("timestamp") == event["timestamp"]
        moved.append(when - event["timestamp"])
    else:
        assert when == event["timestamp"]
    assert set(point) == set(expected)
    for key, value in expected.items():
        if isinstance(value, tuple):
            assert json.loads(point[key]) == value[1]
        elif isinstance(value, float):
            assert float(point[key]) == value and math.copysign(1, point[key]) == math.copysign(1, value)
        else:
            assert point[key] == value, key


def check_profile(kymo, server, capture, name, bucket="kymo"):
    """Every event of the JSON document is a point, and there are no others."""
    written = put_ok(kymo, server.endpoint, capture, name, "--db-bucket", bucket)
    document = kymo.document(capture)
    counters = {t["track"] for t in document["tracks"] if t.get("is_counter")}
    moved = []
    for measurement in ("trace_events", "counters"):
        events = {e["id"] - 1: e | {"id": e["id"] - 1} for e in document["trace_events"]  # those of JSON begin with 1
                  if (e["track"] in counters) == (measurement == "counters")}  # fmt: skip
        points = server.points(bucket, measurement, name)
        assert len(points) == len(events)
        for point in points:
            check_point(point, events.pop(point["id"]), moved)
        assert events == {}
    rows = sum(len(row["events"]) for row in document["derived_rows"])
    (metadata,) = server.points(bucket, "system_profile_metadata", name)
    assert metadata["event_count"] == len(document["trace_events"])
    assert len(server.points(bucket, "steps", name)) == len(document["steps"])
    assert len(server.points(bucket, "derived_rows", name)) == rows
    assert written == len(document["trace_events"]) + len(document["steps"]) + rows + 1
    return document, moved


@pytest.mark.slow
def test_every_event_of_a_real_capture_is_a_point(kymo, server):
    document, moved = check_profile(kymo, server, GPT, "gpt")
    assert moved == []
    totals = collections.Counter()
    for point in server.points("kymo", "trace_events", "gpt"):
        totals[point["name"]] += point["duration_ps"]
    expected = collections.Counter()
    for event in document["trace_events"]:
        expected[event["name"]] += event["duration_ps"]
    assert totals == expected
    (total,) = server.query("kymo", "SELECT sum(duration_ps) FROM trace_events WHERE profile='gpt'")
    assert total["values"][0][1] == expected.total()


@pytest.mark.parametrize("seed", range(3))
def test_random_traces_with_args_of_all_kinds_are_points(kymo, server, tmp_path, seed):
    path = tmp_path / "trace.json"
    path.write_text(random_chrome.make(seed))
    check_profile(kymo, server, path, f"chrome {seed}")


@pytest.mark.parametrize("seed", range(2))
def test_random_spaces_are_points(kymo, server, tmp_path, seed):
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(random_space.make(seed).SerializeToString())
    check_profile(kymo, server, path, f"space {seed}")


def one_line(tmp_path, events, line="thread", host=b"host", start_ns=1_700_000_000_000_000_000):
    space = xspace.XSpace(hostnames=[host])
    plane = xspace.PlaneWriter(space, "/host:CPU", 7)
    thread = plane.line(line)
    for name, start_ps, duration_ps, stats in events:
        plane.event(thread, name, start_ps, duration_ps, **stats)
    if start_ns:
        xspace.task_environment(space, start_ns, start_ns + 10**9)
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(space.SerializeToString())
    return path


def test_events_of_one_nanosecond_do_not_replace_each_other(kymo, server, tmp_path):
    events = [(f"e{i}", 5_000 + i % 1000, 10, {}) for i in range(3000)]
    events += [("next", 6_000, 10, {}), ("later", 9_000, 1, {})]
    path = one_line(tmp_path, events)
    _, moved = check_profile(kymo, server, path, "pile")
    assert collections.Counter(moved) == {1: 1024 + 1, 2: 3000 - 2048}
    series = server.query("kymo", """SHOW SERIES FROM trace_events WHERE profile = 'pile'""")
    assert len(series[0]["values"]) == 1024


SPECIAL = 'a "b" \\ c,d=e\nf\tg \\" \\\\ é∇😀 \x01 #{}[]\''


def test_special_characters_come_back_as_they_were(kymo, server, tmp_path):
    stats = {SPECIAL: SPECIAL, "k,=\\\\x\\n": 7, "back\\": "\\", "": 1, "q\"": 0.5}
    line, host = "a b,c=d \\,\\=\\ e\"f\\", "höst, = 1\\"
    path = one_line(tmp_path, [(SPECIAL, 0, 5, stats), ("\\", 10_000, 5, {})], line, host.encode())
    name = 'p "q", r=s \\u \'t\''
    assert put_ok(kymo, server.endpoint, path, name) == 3
    points = {point["id"]: point for point in server.points("kymo", "trace_events", name)}
    assert [points[i]["name"] for i in (0, 1)] == [SPECIAL, "\\"]
    assert points[0][field_key("text", SPECIAL)] == SPECIAL
    assert points[0]["int.k,=\\\\x\\n"] == 7 and points[0]["text.back＼"] == "\\"
    assert points[0]["int."] == 1 and points[0]['float.q"'] == 0.5
    assert (points[0]["lane"], points[0]["instance_id"]) == (held(line), held(host))
    assert points[0]["profile"] == name


def test_times_beyond_the_servers_range_are_moved_into_it(kymo, server, tmp_path):
    path = one_line(tmp_path, [("far", 9 * 10**18, 5, {}), ("near", 0, 5, {})],
                    start_ns=LARGEST - 10)  # fmt: skip
    document, moved = check_profile(kymo, server, path, "far")
    assert len(document["trace_events"]) == 2 and len(moved) >= 1


def test_several_profiles_live_in_one_bucket_and_force_replaces_one(kymo, server, tmp_path):
    bucket = ["--db-bucket", 'two "of" them']
    long, short = [("x", i * 1000, 5, {}) for i in range(20)], [("y", 500_000, 5, {})]
    put_ok(kymo, server.endpoint, one_line(tmp_path, long), "it's a", *bucket)
    put_ok(kymo, server.endpoint, one_line(tmp_path, long), "b", *bucket)
    put_ok(kymo, server.endpoint, one_line(tmp_path, long), "b", *bucket)  # twice is once
    assert len(server.points(bucket[1], "trace_events", "b")) == 20
    put_ok(kymo, server.endpoint, one_line(tmp_path, short), "it's a", "--force", *bucket)
    (point,) = server.points(bucket[1], "trace_events", "it's a")
    assert point["name"] == "y"
    assert len(server.points(bucket[1], "trace_events", "b")) == 20


def test_a_profile_without_a_name_is_called_by_its_contents(kymo, server, tmp_path):
    path = one_line(tmp_path, [("x", 0, 5, {})])
    first, second = (put(kymo, server.endpoint, path, "--ingest-only").stdout for _ in range(2))
    assert first == second
    name = re.fullmatch(r'2 points .*\nProfile "(s_\w+)" is ready to view\n', first)[1]
    assert len(server.points("kymo", "trace_events", name)) == 1


# --- a server of version 2 and its moods


class Version2(http.server.ThreadingHTTPServer):
    """Takes points as InfluxDB 2 does; `mood` may answer in its place."""

    daemon_threads = True

    def __init__(self, mood=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server_port}"
        self.mood, self.requests, self.lines = mood, [], []
        self.writes = 0  # that had points, refused ones as well
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def ids(self):
        found = [re.search(r"[ ,]id=(\d+)i", line) for line in self.lines]
        return sorted(int(match[1]) for match in found if match)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), str(value))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code, message, **headers):
        self.answer(status, json.dumps({"code": code, "message": message}).encode(), **headers)

    def hang_up(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def do_POST(self):
        url = urllib.parse.urlsplit(self.path)
        size = int(self.headers["Content-Length"])
        with self.server.lock:
            self.server.writes += size > 0
            number = self.server.writes if size else 0
        if self.server.mood and self.server.mood(self, number):
            return
        body = self.rfile.read(size)
        with self.server.lock:
            self.server.requests.append((url.path, dict(urllib.parse.parse_qsl(url.query)),
                                         dict(self.headers), body))  # fmt: skip
        if self.headers["Authorization"] != f"Token {TOKEN}":
            return self.refuse(401, "unauthorized", "unauthorized access")
        if url.path == "/api/v2/delete":
            return self.answer(204)
        if url.path != "/api/v2/write":
            return self.answer(404, b"404 page not found\n")
        if not body:
            return self.refuse(400, "invalid", "writing requires points")
        assert self.headers["Content-Encoding"] == "gzip"
        with self.server.lock:
            self.server.lines += gzip.decompress(body).decode().removesuffix("\n").split("\n")
        self.answer(204)


@contextlib.contextmanager
def version2(mood=None):
    server = Version2(mood)
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Some tens of writes."""
    return one_line(tmp_path_factory.mktemp("many"), [(f"e{i % 9}", i * 1000, 5, {}) for i in range(60_000)])


def drained(handler):
    handler.rfile.read(int(handler.headers["Content-Length"]))
    return handler


def test_points_are_posted_as_version_2_wants_them(kymo):
    with version2() as server:
        options = ["--db-org", "my org", "--db-bucket", "b&c"]
        points = put_ok(kymo, server.endpoint + "/", GPT, "gpt", *options)
    assert len(server.lines) == points
    assert server.ids() == list(range(15_335))
    assert server.lines[-1].startswith("system_profile_metadata,profile=gpt ")
    for path, query, headers, body in server.requests:
        assert path == "/api/v2/write"
        assert query == {"org": "my org", "bucket": "b&c", "precision": "ns"}
        assert headers["Authorization"] == f"Token {TOKEN}"
        assert len(body) == 0 or gzip.decompress(body).count(b"\n") <= 5000


def test_force_removes_the_points_of_that_name_first(kymo, tmp_path):
    path = one_line(tmp_path, [("x", 0, 5, {})])
    with version2() as server:
        put_ok(kymo, server.endpoint, path, 'a "b"', "--force")
    assert [request[0] for request in server.requests[1:3]] == ["/api/v2/delete", "/api/v2/write"]
    asked = json.loads(server.requests[1][3])
    assert asked["predicate"] == 'profile="a \\"b\\""'
    assert asked["start"] < asked["stop"]


def busy(*answers):
    """One answer after the other in place of the first writes, then none."""
    left = list(answers)
    lock = threading.Lock()

    def mood(handler, number):
        with lock:
            answer = left.pop(0) if number and left else None
        if answer:
            answer(handler)
        return answer

    return mood


def break_off(handler):
    handler.rfile.read(100)
    handler.hang_up()


def break_answer(handler):
    drained(handler).wfile.write(b"HTTP/1.1 204 No Con")
    handler.hang_up()


@pytest.mark.slow
def test_a_busy_server_is_asked_again(kymo, many):
    moods = [lambda h: drained(h).refuse(503, "unavailable", "busy"),
             lambda h: drained(h).refuse(429, "too many requests", "slow down"),
             lambda h: drained(h).refuse(500, "internal error", "timeout"),
             break_off, break_answer, lambda h: drained(h).hang_up()]  # fmt: skip
    with version2(busy(*moods, *moods)) as server:
        points = put_ok(kymo, server.endpoint, many, "many")
    assert server.ids() == list(range(60_000)), "each point is there, and nothing twice"
    assert len(server.lines) == points


@pytest.mark.slow
def test_the_server_says_how_long_to_wait(kymo, tmp_path):
    times = []

    def mood(handler, number):
        if number:
            times.append(time.monotonic())
        if number == 1:
            drained(handler).refuse(503, "unavailable", "busy", Retry_After=2)
        return number == 1

    path = one_line(tmp_path, [("x", 0, 5, {})])
    with version2(mood) as server:
        result = put(kymo, server.endpoint, path)
    assert result.returncode == 0
    assert "busy (HTTP 503); retrying in 2 s" in result.stderr
    assert 1.9 < times[1] - times[0] < 60


def test_slow_answers_are_waited_for(kymo, many):
    running, most = [0], [0]

    def mood(handler, number):
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.15 if number else 0)
        running[0] -= 1

    with version2(mood) as server:
        put_ok(kymo, server.endpoint, many, "many")
    assert server.ids() == list(range(60_000))
    assert most[0] > 1, "several are under way at once"


@pytest.mark.parametrize(
    "status, code, message, wording",
    [
        (401, "unauthorized", "unauthorized access", "influxdb token not setup correctly: unauthorized access"),
        (403, "forbidden", "insufficient permissions", "influxdb token not setup correctly: insufficient"),
        (404, "not found", 'bucket "kymo" not found', 'has no bucket "kymo" in organization "kymo": bucket "kymo" not found'),
        (422, "unprocessable entity", "points beyond retention policy", "rejected the write: points beyond retention"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_before_the_work(kymo, tmp_path, status, code, message, wording):
    def mood(handler, number):
        drained(handler).refuse(status, code, message)
        return True

    path = tmp_path / "damaged.xplane.pb"
    path.write_bytes(b"\x0a\xff\xff\xff\x0f not looked at")
    with version2(mood) as server:
        error = refuses(kymo, server.endpoint, path)
    assert wording in error and f"HTTP {status}" in error
    assert len(server.requests) == 0


def test_a_missing_token_is_told(kymo):
    with version2() as server:
        assert "INFLUX_TOKEN is not set" in refuses(kymo, server.endpoint, GPT, token=None)
        assert "control character" in refuses(kymo, server.endpoint, GPT, token="a\nb")


@pytest.mark.parametrize("status", [400, 401])
def test_a_refusal_in_the_middle_tells_how_much_was_written(kymo, many, status):
    def mood(handler, number):
        if number > 6:
            drained(handler).refuse(status, "invalid", "no more of this")
        return number > 6

    with version2(mood) as server:
        error = refuses(kymo, server.endpoint, many)
    assert f"no more of this (HTTP {status})" in error
    assert f"; {len(server.lines)} points had been written" in error
    assert 0 < len(server.lines) < 60_000
    assert not any(line.startswith("system_profile_metadata") for line in server.lines)


def test_a_server_that_stays_busy_is_given_up_on(kymo, many):
    def mood(handler, number):
        if number > 2:
            drained(handler).refuse(503, "unavailable", "always busy")
        return number > 2

    with version2(mood) as server:
        started = time.monotonic()
        error = refuses(kymo, server.endpoint, many, "--db-timeout", "1")
    assert time.monotonic() - started < 100
    assert "accepted no data for 1 s: always busy (HTTP 503)" in error
    assert f"{len(server.lines)} points had been written" in error


def test_a_wait_longer_than_the_patience_is_not_begun(kymo, tmp_path):
    def mood(handler, number):
        drained(handler).refuse(503, "unavailable", "maintenance", Retry_After=3600)
        return True

    started = time.monotonic()
    with version2(mood) as server:
        assert "maintenance" in refuses(kymo, server.endpoint, GPT)
    assert time.monotonic() - started < 100


def test_a_server_that_never_answers_is_given_up_on(kymo):
    silence = threading.Event()

    def mood(handler, number):
        return silence.wait(200)

    started = time.monotonic()
    with version2(mood) as server:
        assert "accepted no data for 1 s" in refuses(kymo, server.endpoint, GPT, "--db-timeout", "1")
        silence.set()
    assert time.monotonic() - started < 100


def test_no_server_is_told_at_once(kymo):
    started = time.monotonic()
    error = refuses(kymo, f"http://127.0.0.1:{free_port()}", GPT)
    assert time.monotonic() - started < 100
    assert "influxdb not setup correctly" in error and "systemctl start influxdb" in error


def test_a_capture_that_is_not_there_is_told_before_the_server_is_asked(kymo, tmp_path):
    with version2() as server:
        assert "No such file" in refuses(kymo, server.endpoint, tmp_path / "missing.xplane.pb")
        assert server.requests == []


def test_a_capture_that_cannot_be_read_writes_nothing(kymo, tmp_path):
    path = tmp_path / "damaged.xplane.pb"
    path.write_bytes(GPT.read_bytes()[:100_000])
    with version2() as server:
        assert "damaged.xplane.pb" in refuses(kymo, server.endpoint, path)
        assert server.lines == []


def test_a_server_of_something_else_is_none(kymo):
    def mood(handler, number):
        drained(handler).answer(404, b"<html>not here</html>")
        return True

    with version2(mood) as server:
        assert "not InfluxDB" in refuses(kymo, server.endpoint, GPT)


def test_a_server_that_goes_away_is_told(kymo, many):
    with version2() as server:

        def mood(handler, number):
            if number == 5:
                server.socket.close()
            if number >= 5:
                handler.hang_up()
            return number >= 5

        server.mood = mood
        error = refuses(kymo, server.endpoint, many, "--db-timeout", "1")
    assert f"{len(server.lines)} points had been written" in error


@pytest.mark.parametrize(
    "options, message",
    [
        (["--output-format", "json", "--db-org", "a"], "--db-org requires --output-format db"),
        (["--output-format", "perfetto", "--db-endpoint", "http://a"], "--db-endpoint requires"),
        (["--db-endpoint", "ftp://x"], "http://HOST:PORT"),
        (["--output-format", "db", "--output-file", "x"], "--output-file cannot be used with"),
        (["--output-format", "db", "--data-path", "x"], "--data-path requires --output-format parquet"),
        (["--output-format", "db", "--db-endpoint", "ftp://x"], "http://HOST:PORT"),
        (["--output-format", "db", "--db-timeout", "0"], "--db-timeout must be 1 to"),
        (["--output-format", "db", "--display-name", ""], "--display-name"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_usage_errors(kymo, options, message):
    assert message in kymo.refuses("view", GPT, *options, code=2)
