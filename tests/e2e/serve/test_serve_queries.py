"""User SQL in the server: its limits, its cancellation, and that it does not block other requests."""

import concurrent.futures
import json
import os
import re
import select
import socket
import time

import pytest

from conftest import DATA, ROOT, Kymo
from server import Server, busy_seconds

IS_SANITIZED = "san/" in os.environ.get("KYMO", "")
GPT = DATA / "xplane" / "jax_gpt_python_h200.xplane.pb"
SLOW = "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE a.range * b.range % 7 = 3"
# DuckDB does not react to an interrupt while it is in a function.
DEAF = "SELECT length(repeat('x', 300000000))"
MEMORY = 1 << 30  # the address space of a query


@pytest.fixture(scope="module")
def kymo():
    return Kymo(os.environ.get("KYMO", ROOT / "bin" / "kymo"))


@pytest.fixture(scope="module")
def data(kymo, tmp_path_factory):
    data = tmp_path_factory.mktemp("queries")
    kymo.ok("view", GPT, "--data-path", data, "--display-name", "gpt", "--ingest-only")
    return data


@pytest.fixture
def server(kymo, data, monkeypatch):
    monkeypatch.setattr("server.PATIENCE", 240)  # a query may take all of its time
    server = Server(kymo, "--data-path", data)
    yield server
    server.stop()


def children(server):
    """Process ids of the server's running queries."""
    found = []
    for task in os.listdir(f"/proc/{server.process.pid}/task"):
        try:
            with open(f"/proc/{server.process.pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
        except OSError:  # a thread that has ended
            pass
    return found


def memory(pid, field="VmHWM"):
    try:
        with open(f"/proc/{pid}/status") as file:
            return int(re.search(rf"{field}:\s+(\d+)", file.read())[1]) * 1024
    except (OSError, TypeError):
        return 0


def begin(server, query):
    """Sends a request without waiting for the response."""
    peer = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    body = json.dumps({"query": query}).encode()
    peer.sendall(b"POST /api/v1/profiles/gpt/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return peer


def wait_until(condition, patience=120):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come true")


@pytest.mark.skipif(IS_SANITIZED, reason="sanitizers need all address space")
@pytest.mark.parametrize("query", [
    "SELECT printf('%2000000000d', 1)",
    "SELECT sum(length(repeat('x', 100000000 + i))) FROM range(100) t(i) GROUP BY i",
    "SELECT list(i) FROM range(100000000) t(i)",
    "SELECT max(length(repeat(repeat('x', 1000000), 1000)))",
])  # fmt: skip
def test_memory_of_a_query_is_limited(server, query):
    largest = [0]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.ask, "POST", "profiles/gpt/sql", {"query": query})
        while not answer.done():
            largest[0] = max([*largest, memory(server.process.pid), *map(memory, children(server))])
            time.sleep(0.005)
        answer = answer.result()
    assert answer.status == 400 and re.search(r"memory.* \d+ MiB", answer.error)
    assert largest[0] < MEMORY
    assert server.post("profiles/gpt/sql", {"query": "SELECT 1 AS a"})["rows"] == [[1]]


@pytest.mark.parametrize("query", [SLOW, DEAF])
def test_a_query_is_killed_when_its_client_leaves(server, query):
    peer = begin(server, query)
    wait_until(lambda: children(server) and sum(map(busy_seconds, children(server))) > 0.2)
    running = children(server)
    peer.close()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}/stat") for pid in running), 30)  # the query itself would take minutes
    before = busy_seconds(server.process.pid)
    time.sleep(0.5)
    assert busy_seconds(server.process.pid) - before < 0.2


@pytest.mark.slow
def test_a_query_ends_with_a_server_that_is_killed(kymo, data):
    server = Server(kymo, "--data-path", data)
    server.post("profiles/gpt/sql", {"query": "SELECT 1"})
    server.post("profiles/gpt/sql", {"query": "SELECT 1"})
    peer = begin(server, SLOW)
    wait_until(lambda: children(server) and sum(map(busy_seconds, children(server))) > 0.5)
    begin(server, "SELECT 1").recv(1)  # a spare child is kept ready
    wait_until(lambda: len(children(server)) == 2)
    running = children(server)
    server.kill()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}/stat") for pid in running), 30)
    peer.close()


@pytest.mark.plain_build
@pytest.mark.slow
def test_values_and_answers_have_a_size(server):
    answer = server.ask("POST", "profiles/gpt/sql", {"query": "SELECT repeat('x', 20000000) AS long"})
    assert answer.status == 400 and "column long" in answer.error and "16 MiB" in answer.error
    query = "SELECT repeat('x', 1000000) AS x FROM range(100)"
    cut = server.post("profiles/gpt/sql", {"query": query})
    assert cut["truncated"] and 30 <= len(cut["rows"]) <= 34
    answer = server.ask("POST", "profiles/gpt/sql", {"query": query, "format": "csv"})
    assert answer.status == 400 and "32 MB" in answer.error
    # A quote is two characters in CSV, and a control character six in JSON.
    answer = server.ask("POST", "profiles/gpt/sql", {"query": "SELECT " + ", ".join(["repeat(chr(1), 15000000)"] * 4)})
    assert answer.status == 400 and "MiB" in answer.error


@pytest.mark.slow
def test_searches_do_not_wait_for_slow_queries(server):
    peers = [begin(server, SLOW) for _ in range(20)]  # more than the limits of queries and searches
    wait_until(lambda: len(children(server)) >= 4)
    begun = time.monotonic()
    assert server.get("profiles/gpt/search", q="fusion")["count"] > 0
    assert server.get("profiles/gpt/events/SystemProfileEvents/36")["name"]
    assert time.monotonic() - begun < 30  # not the minute that a query may take
    assert len(children(server)) <= 5
    for peer in peers:
        peer.close()
    wait_until(lambda: server.ask("POST", "profiles/gpt/sql", {"query": "SELECT 1"}).status == 200)


@pytest.mark.slow
def test_too_many_queries_are_told_to_come_back(server):
    peers = [begin(server, SLOW) for _ in range(40)]
    wait_until(lambda: len(children(server)) >= 4)
    answer = server.ask("POST", "profiles/gpt/sql", {"query": "SELECT 1"})
    assert answer.status == 503 and "4 queries are running" in answer.error
    assert answer.headers.get_all("Retry-After") == ["5"]
    for peer in peers:
        peer.close()


def test_too_many_exports_are_told_to_come_back(server):
    """Four run, as nobody reads them; 200 wait."""
    request = b"GET /api/v1/profiles/gpt/export?format=csv&table=SystemProfileEvents HTTP/1.1\r\nHost: localhost\r\n\r\n"
    peers, answered = [], []
    for _ in range(206):
        peer = socket.socket()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect(("127.0.0.1", server.port))
        peer.sendall(request)
        peers.append(peer)
    wait_until(lambda: answered.extend(select.select(peers, [], [], 0)[0]) or len(set(answered)) >= 5)
    heads = [peer.recv(1024) for peer in set(answered)]
    refused = [head for head in heads if b" 503 " in head]
    assert refused and all(b"\r\nRetry-After: 5\r\n" in head for head in refused)
    assert b"too many exports" in refused[0]
    assert not any(b"Retry-After" in head for head in heads if b" 200 " in head)
    for peer in peers:
        peer.close()


def test_slow_readers_of_tables_do_not_hold_up_searches(server):
    peers = []
    for _ in range(8):
        peer = socket.create_connection(("127.0.0.1", server.port))
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.sendall(b"GET /api/v1/profiles/gpt/export?format=csv&table=SystemProfileEvents HTTP/1.1\r\nHost: localhost\r\n\r\n")
        peers.append(peer)
    time.sleep(0.5)
    begun = time.monotonic()
    assert server.get("profiles/gpt/search", q="fusion")["count"] > 0
    assert time.monotonic() - begun < 30  # not the minute that a query may take
    for peer in peers:
        peer.close()


@pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer's memory is not told apart")
@pytest.mark.slow
def test_answers_that_nobody_reads_do_not_fill_the_memory(server):
    """Each is 30 MB; responses above the limit are refused before they are stored."""
    query = "SELECT repeat('x', 1000000) AS x FROM range(30)"
    peers, seen, begun = [], set(), time.monotonic()
    while b"503" not in seen and len(peers) < 24:
        peer = begin(server, query)
        seen.add(peer.recv(12)[9:12])
        peers.append(peer)
    # A slow machine hits the limit on idle connections first.
    assert b"503" in seen or time.monotonic() - begun > 25
    assert memory(server.process.pid, "VmRSS") < 700e6 and b"200" in seen
    for peer in peers:
        peer.close()
    wait_until(lambda: server.ask("POST", "profiles/gpt/sql", {"query": query}).status == 200)


@pytest.mark.slow
def test_files_of_a_query_that_was_killed_are_removed(kymo, data, tmp_path):
    """A sort that does not fit into memory writes to the temporary directory."""
    os.environ["TMPDIR"], before = str(tmp_path), os.environ.get("TMPDIR")
    try:
        server = Server(kymo, "--data-path", data)
    finally:
        os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)
    peer = begin(server, "SELECT count(*) FROM (SELECT i, hash(i) AS h, hash(h) AS k FROM range(200000000) t(i) ORDER BY h, k OFFSET 1)")
    wait_until(lambda: any(path.is_file() for path in tmp_path.glob("kymo-sql-*/*")), 60)
    peer.close()
    wait_until(lambda: not list(tmp_path.iterdir()))
    server.stop()
