"""Hostile requests: cross-origin pages, missing tokens, malformed bytes, overload and clients that
stall. The server rejects them with a message and keeps running."""

import concurrent.futures
import http.client
import json
import os
import re
import resource
import shlex
import socket
import time

import pytest

from conftest import DATA, ROOT, Kymo
from server import PATIENCE, Answer, Server, busy_seconds

# Builds with sanitizers are slower and larger.
IS_SANITIZED = "san/" in os.environ.get("KYMO", "")
GPT = DATA / "xplane" / "jax_gpt_python_h200.xplane.pb"


@pytest.fixture(scope="module")
def kymo():
    return Kymo(os.environ.get("KYMO", ROOT / "bin" / "kymo"))


@pytest.fixture(scope="module")
def data(kymo, tmp_path_factory):
    data = tmp_path_factory.mktemp("hostile")
    kymo.ok("view", GPT, "--data-path", data, "--display-name", "gpt", "--ingest-only")
    return data


@pytest.fixture(scope="module")
def server(kymo, data):
    server = Server(kymo, "--data-path", data)
    yield server
    server.stop()


def raw(server, request, patience=10):
    """The response to these bytes, until it is complete or the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience) as peer:
        answer = b""
        try:
            peer.sendall(request)
            peer.shutdown(socket.SHUT_WR)
            while part := peer.recv(65536):
                answer += part
        except OSError:  # it has closed
            pass
        return answer


# Access control


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:3001", "127.1.2.3", "[::1]", "[::1]:80", "[0:0::1]", "[::ffff:127.0.0.1]:9", "kymo.localhost:8080"])
def test_hosts_that_are_this_machine(server, host):
    assert server.ask("GET", "health", headers={"Host": host}).status == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:3001", "localhost.evil.example", "127.0.0.1.evil.example", ".localhost", "evil.example/.localhost", "notlocalhost", "localhost.", "128.0.0.1", "[::ffff:10.0.0.1]", "127.1", "10.0.0.1", "", "[::1", "[::2]", "localhost:x", "localhost:3001:1", "a b", "@localhost"])
def test_other_hosts_are_refused(server, host):
    for path in ("health", "profiles", "/"):
        answer = server.ask("GET", path, headers={"Host": host})
        assert answer.status == 421 and "localhost" in answer.error or answer.status == 400


def test_pages_from_elsewhere_change_nothing(server):
    own = f"http://localhost:{server.port}"
    for origin, good in ((own, True), (f"http://127.0.0.1:{server.port}", True), ("http://evil.example", False), ("null", False), (f"http://localhost:{server.port + 1000 & 0xFFFF}", False), (f"https://localhost:{server.port}", False), ("", False), (own + ".evil.example", False)):
        answer = server.ask("PATCH", "profiles/gpt", {"favorite": False}, headers={"Origin": origin})
        assert answer.status == (200 if good else 403), origin
        assert server.ask("GET", "profiles", headers={"Origin": origin}).status == 200
    assert "Access-Control-Allow-Origin" not in server.ask("GET", "profiles").headers


def test_other_sites_read_nothing_and_start_nothing(server):
    """A GET can start an analysis; links to the UI work from everywhere."""
    for method, path in (("DELETE", "profiles/gpt"), ("GET", "profiles/gpt/tools/overview"), ("HEAD", "diff?a=gpt&b=gpt"), ("GET", "runs"), ("GET", "/data/plugin/profile/data?run=gpt&tag=overview_page")):
        answer = server.ask(method, path, headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status == 403 and (method == "HEAD" or "cross-origin" in answer.error), path
    for path in ("/", "/profile/gpt"):
        assert server.ask("GET", path, headers={"Sec-Fetch-Site": "cross-site"}).status == 200
    for site in ("same-origin", "same-site", "none"):
        assert server.ask("GET", "profiles", headers={"Sec-Fetch-Site": site}).status == 200


@pytest.mark.parametrize("host, origin, site, good", [
    ("localhost:8080", "http://localhost:8080", None, True),  # ssh -L 8080:localhost:3001
    ("localhost", "http://localhost", None, True),
    ("127.0.0.2:9", "http://127.0.0.2:9", None, True),
    ("[::1]:8080", "http://[::1]:8080", None, True),
    ("kymo.localhost:8080", "http://KYMO.localhost:8080", None, True),
    ("localhost:8080", "http://localhost:8081", None, False),
    ("localhost:8080", "http://127.0.0.1:8080", None, False),
    ("localhost:8080", "http://localhost:8081", "same-site", False),
    ("localhost:8080", "http://evil.example", "cross-site", False),
    ("localhost:8080", "http://localhost:8080", "cross-site", False),
    ("evil.example:8080", "http://evil.example:8080", None, False),  # DNS rebinding
    ("evil.example:8080", "http://evil.example:8080", "same-origin", False),
    ("localhost:3001", "https://hub.example", "same-origin", True),  # a proxy with TLS that sets Host
    ("localhost:3001", "https://hub.example", None, False),
])  # fmt: skip
def test_pages_through_tunnels_and_proxies(server, host, origin, site, good):
    headers = {"Host": host, "Origin": origin} | ({"Sec-Fetch-Site": site} if site else {})
    answer = server.ask("POST", "profiles/gpt/timeline", {"tracks": [8], "width": 10}, headers=headers)
    assert answer.status == (200 if good else 421 if "evil" in host else 403)


@pytest.fixture(scope="module")
def guarded(kymo, data):
    server = Server(kymo, "--data-path", data, "--token", "s3cret-token")
    yield server
    server.stop()


def test_a_token_is_needed_and_its_ways_in(guarded):
    assert guarded.url.endswith("/?token=s3cret-token")
    answer = guarded.ask("GET", "profiles")
    assert answer.status == 401 and "token" in answer.error
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert guarded.ask("GET", "health").status == 200
    for token, status in (("s3cret-token", 200), ("s3cret-tokem", 401), ("s3cret-toke", 401), ("s3cret-token2", 401), ("", 401), ("s3cret-tokens3cret-token", 401)):
        assert guarded.ask("GET", "profiles", headers={"Authorization": f"Bearer {token}"}).status == status
        assert guarded.ask("GET", "profiles", headers={"Cookie": f"a=b; kymo_token={token}"}).status == status
        assert guarded.ask("GET", f"profiles?token={token}").status == status
    assert guarded.ask("GET", "profiles", headers={"Authorization": "Basic s3cret-token"}).status == 401


def test_the_token_is_not_in_the_list_of_processes(guarded):
    with open(f"/proc/{guarded.process.pid}/cmdline") as file:
        words = file.read().split("\0")
    assert "--token" in words and "s3cret-token" not in words


def test_the_token_becomes_a_cookie_and_leaves_the_address(guarded):
    answer = guarded.ask("GET", "/profile/gpt?a=1&token=s3cret-token&b=%3Cx%3E")
    cookie = answer.headers["Set-Cookie"]
    assert cookie == "kymo_token=s3cret-token; Path=/; HttpOnly; SameSite=Strict"
    assert b'url=/profile/gpt?a=1&#38;b=%3Cx%3E"' in answer.body and b"s3cret" not in answer.body
    page = guarded.ask("GET", "/profile/gpt", headers={"Cookie": cookie.split(";")[0]})
    assert page.status == 200 and b"<!doctype html>" in page.body.lower()
    assert b'url=/evil.example' in guarded.ask("GET", "//evil.example?token=s3cret-token").body
    assert guarded.ask("GET", "/").status == 401
    assert guarded.ask("GET", "profiles?token=s3cret-token").headers["Set-Cookie"] == cookie


@pytest.mark.parametrize("path, own", [
    ("/\\\\evil.example", "/%5C%5Cevil.example"),
    ("/\\evil.example/x", "/%5Cevil.example/x"),
    ("//evil.example", "/evil.example"),
    ("/%5cevil.example", "/%5Cevil.example"),
    ("/%2fevil.example", "/%2Fevil.example"),
    ("/%09/evil.example", "/%09/evil.example"),
    ("///\\/evil.example//x", "/%5C/evil.example/x"),
    ("/%0d%0aX:%20y", "/%0D%0AX%3A%20y"),
    ("/\x01/evil.example", "/%01/evil.example"),
    ("/'\"><script>", "/%27%22%3E%3Cscript%3E"),
    ("/", "/"),
])  # fmt: skip
def test_the_page_behind_the_token_is_on_this_server(guarded, path, own):
    request = f"GET {path}?token=s3cret-token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = raw(guarded, request.encode())
    assert f'content="0;url={own}"><a href="{own}">'.encode() in answer


@pytest.mark.slow
def test_wrong_tokens_are_slowed_down_by_address(kymo, data):
    server = Server(kymo, "--data-path", data, "--host", "0.0.0.0", "--token", "a-token-of-some-length")
    right = {"Authorization": "Bearer a-token-of-some-length"}

    def guess(number):
        begun = time.monotonic()
        answer = server.ask("GET", "profiles", headers={"Authorization": f"Bearer wrong-{number}"})
        return answer.status, time.monotonic() - begun

    assert {guess(number)[0] for number in range(20)} == {401}
    status, took = guess(20)
    assert status == 401 and took > 0.4
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        begun = time.monotonic()
        statuses = [status for status, _ in pool.map(guess, range(100, 200))]
        took = time.monotonic() - begun
    assert statuses.count(429) > 50 and statuses.count(401) <= took / 0.5 + 1
    # A page left open repeats the same wrong token: not a guess, so it is not delayed.
    again = [guess(20) for _ in range(5)]
    assert {status for status, _ in again} == {401} and min(took for _, took in again) < 0.4
    assert server.ask("GET", "profiles", headers=right).status == 200  # delayed, but checked
    # Other addresses are not affected.
    elsewhere = []
    for _ in range(5):
        begun = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10, source_address=("127.0.0.2", 0))
        connection.request("GET", "/api/v1/profiles", headers=right)
        assert connection.getresponse().status == 200
        connection.close()
        elsewhere.append(time.monotonic() - begun)
    assert min(elsewhere) < 0.4
    server.stop()


def test_a_header_is_one_guess(guarded):
    cookies = "; ".join(f"kymo_token={token}" for token in ("x", "s3cret-token"))
    assert guarded.ask("GET", "profiles", headers={"Cookie": cookies}).status == 401


def test_a_short_token_does_not_serve_beyond_this_machine(kymo, data):
    message = kymo.refuses("view", "--data-path", data, "--port", 0, "--host", "0.0.0.0", "--token", "fifteen-letters")
    assert "too short" in message and "16" in message


def test_the_token_can_be_in_a_file_or_in_the_environment(kymo, data, tmp_path):
    (tmp_path / "token").write_text("from-a-file-of-mine\n")
    server = Server(kymo, "--data-path", data, "--token-file", tmp_path / "token")
    assert server.url.endswith("?token=from-a-file-of-mine")
    assert server.ask("GET", "profiles").status == 401
    assert server.ask("GET", "profiles?token=from-a-file-of-mine").status == 200
    server.stop()
    os.environ["KYMO_TOKEN"] = "from-the-environment"
    try:
        server = Server(kymo, "--data-path", data)
    finally:
        del os.environ["KYMO_TOKEN"]
    assert server.ask("GET", "profiles").status == 401
    assert server.ask("GET", "profiles?token=from-the-environment").status == 200
    server.stop()
    (tmp_path / "empty").write_text("\n")
    for options, reason in ((["--token-file", tmp_path / "empty"], "no token"), (["--token-file", tmp_path / "none"], "cannot be read"), (["--token-file", tmp_path / "token", "--token", "x"], "exclude")):
        assert reason in kymo.refuses("view", "--data-path", data, *options, code=2)


def test_other_addresses_need_a_token(kymo, data):
    server = Server(kymo, "--data-path", data, "--host", "0.0.0.0")
    token = re.search(r"\?token=([0-9a-f]{32})\n", server.said)[1]
    assert server.ask("GET", "profiles").status == 401
    server.headers = {"Authorization": f"Bearer {token}"}
    assert server.get("profiles")["profiles"]
    assert server.ask("GET", "profiles", headers={"Host": "192.168.1.7:3001"}).status == 200
    assert server.ask("GET", "profiles", headers={"Host": "evil.example"}).status == 421
    server.stop()


@pytest.mark.parametrize("options", [["--port", 65536], ["--port", "x"], ["--token", ""], ["--token", "a b"], ["--token", "a;b"], ["--host", ""], ["--upload-limit", 0], ["--processing-memory", 2**31]])
def test_options_that_cannot_be(kymo, options):
    kymo.refuses("view", *options, code=2)


def test_an_address_that_is_not_ours(kymo, data):
    message = kymo.refuses("view", "--data-path", data, "--host", "no.such.host.invalid", "--port", 0)
    assert "no.such.host.invalid" in message


# Malformed requests

ODD_PATHS = ["/api", "/api/", "/api/v2/health", "/api/v1", "/api/v1/nothing", "/api/v1/../v1/health", "/api/v1/profiles/..", "/api/v1/profiles/%2e%2e", "/api/v1/profiles/..%2f..%2fetc/tracks", "/api/v1/profiles//tracks", "/api/v1/profiles/.hidden/tracks", "/api/v1/profiles/gpt@latest/tracks", "/api/v1/profiles/a%2Fb/summary", "/api/v1/health/more", "/API/v1/health", "/api/v1/profiles/gpt/events/Track"]


@pytest.mark.parametrize("path", ODD_PATHS)
def test_paths_that_lead_nowhere(server, path):
    answer = server.ask("GET", path)
    if path == "/API/v1/health":
        assert b"<!doctype html>" in answer.body.lower()
    else:
        assert answer.status == 404 and answer.error


@pytest.mark.parametrize("path", ["/api/v1/profiles/%", "/api/v1/profiles/%zz", "/api/v1/profiles/a%00b", "/api/v1/profiles/%ff", "/" + "/".join("x" * 40), "/api/v1/health?a=%", "/api/v1/health?" + "a&" * 100])
def test_paths_that_are_none(server, path):
    answer = server.ask("GET", path)
    assert answer.status == 400 and answer.error


@pytest.mark.parametrize("method, path, status, allowed", [
    ("DELETE", "health", 405, "GET, HEAD, OPTIONS"),
    ("POST", "profiles/gpt", 405, "GET, HEAD, PATCH, DELETE, OPTIONS"),
    ("GET", "profiles/gpt/timeline", 405, "POST, OPTIONS"),
    ("PUT", "profiles", 405, "GET, HEAD, OPTIONS"),
    ("FROBNICATE", "health", 405, "GET, HEAD, OPTIONS"),
    ("TRACE", "health", 405, "GET, HEAD, OPTIONS"),
    ("OPTIONS", "health", 204, "GET, HEAD, OPTIONS"),
    ("OPTIONS", "/profile/x", 204, "GET, HEAD, OPTIONS"),
    ("PUT", "/profile/x", 405, "GET, HEAD, OPTIONS"),
])  # fmt: skip
def test_methods_that_an_address_does_not_take(server, method, path, status, allowed):
    answer = server.ask(method, path)
    assert answer.status == status and answer.headers["Allow"] == allowed
    assert status == 204 or answer.error


def test_head_is_get_without_the_body(server):
    for path in ("health", "profiles/gpt/tracks", "/", "profiles/none"):
        got, head = server.ask("GET", path), server.ask("HEAD", path)
        assert head.body == b"" and head.status == got.status
        assert head.headers["Content-Length"] == got.headers["Content-Length"]


@pytest.mark.parametrize("path", ["profiles/gpt", "profiles/gpt/timeline", "profiles/gpt/sql", "profiles/gpt/selection", "uploads", "db/gpt/_search"])
@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"3", b'"x"', b"{", b"\xff\xfe", b'{"name": {"a": 1}, "tracks": {}, "query": []}', b"[" * 5000, b'{"a":' * 5000, b"\0" * 100])
def test_bodies_of_the_wrong_shape(server, path, body):
    answer = server.ask("PATCH" if path == "profiles/gpt" else "POST", path, body)
    assert answer.status == 400 and answer.error


def test_a_body_that_is_too_large_is_refused_at_once(server):
    for path in ("profiles/gpt/sql", "uploads"):
        connection = server.connect()
        connection.putrequest("POST", f"/api/v1/{path}")
        connection.putheader("Content-Length", str(1 << 40))
        connection.endheaders()
        answer = Answer(connection.getresponse())
        assert answer.status == 413 and "bytes at most" in answer.error
        connection.close()


def test_a_body_without_end_is_cut_off(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as peer:
        peer.sendall(b"POST /api/v1/uploads HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(10_000):
                peer.sendall(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
    assert server.memory() < 400e6


HEADS = [
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
    b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"GET\r\n\r\n",
    b"\r\n\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"POST /api/v1/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /api/v1/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /api/v1/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /api/v1/uploads HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    bytes(range(256)) * 20,
]  # fmt: skip


@pytest.mark.parametrize("head", HEADS, ids=range(len(HEADS)))
def test_heads_that_are_not_meant_well(server, head):
    answer = raw(server, head)
    assert answer == b"" or answer.startswith(b"HTTP/1.")
    assert not answer.startswith(b"HTTP/1.1 5") or b" 501 " in answer[:20] or b" 505 " in answer[:20]
    assert server.get("health")["status"] == "healthy"


@pytest.mark.parametrize("headers", [
    b"Content-Length: 2\r\nContent-Length: 2",
    b"Content-Length: 2\r\nContent-Length: 40",
    b"Content-Length: 40\r\ncontent-length: 2",
    b"Content-Length: 2, 2",
    b"Content-Length: +2",
    b"Content-Length: 2\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: chunked\r\nContent-Length: 2",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    b"Content-Length: 2\r\nHost: localhost",
])  # fmt: skip
def test_where_a_body_ends_is_said_once(server, headers):
    """One error response, and nothing after the header is taken for another request."""
    request = b"PATCH /api/v1/profiles/gpt HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n\r\n{}"
    answer = raw(server, request + b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ") and b" 200 OK" not in answer and b"healthy" not in answer


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "\x1b[31m", "a\x7f"])
def test_a_name_has_no_control_characters(server, name):
    for method, path in (("PATCH", "profiles/gpt"), ("POST", "uploads")):
        answer = server.ask(method, path, {"name": name})
        assert answer.status == 400 and "control characters" in answer.error


def test_peers_that_leave_half_way(server):
    whole = b"POST /api/v1/profiles/gpt/timeline HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\n" + b'{"tracks":[8,9],"width":2000 }'
    for cut in [*range(0, len(whole), 7), len(whole)]:
        with socket.create_connection(("127.0.0.1", server.port)) as peer:
            peer.sendall(whole[:cut])
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert server.get("health")["status"] == "healthy"


def test_peers_that_do_not_read(server):
    """An archive that the client does not read does not fill memory."""
    before = server.memory()
    peers = []
    for _ in range(20):
        peer = socket.create_connection(("127.0.0.1", server.port))
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.sendall(b"GET /api/v1/profiles/gpt/export?format=parquet-tar HTTP/1.1\r\nHost: localhost\r\n\r\n")
        peers.append(peer)
    assert server.get("profiles/gpt/tracks")["tracks"]
    assert server.memory() < before + 60e6 or IS_SANITIZED
    for peer in peers:
        peer.close()


# Long queries

ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"


def test_a_query_ends_with_its_client(server):
    peer = socket.create_connection(("127.0.0.1", server.port))
    body = json.dumps({"query": ENDLESS}).encode()
    peer.sendall(b"POST /api/v1/profiles/gpt/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    time.sleep(0.3)
    peer.close()
    time.sleep(0.5)
    before = busy_seconds(server.process.pid)
    time.sleep(0.5)
    assert busy_seconds(server.process.pid) - before < 0.2


def test_a_query_ends_with_the_server(kymo, data):
    server = Server(kymo, "--data-path", data)
    peers = []
    body = json.dumps({"query": ENDLESS}).encode()
    for _ in range(8):  # more than run concurrently
        peer = socket.create_connection(("127.0.0.1", server.port))
        peer.sendall(b"POST /api/v1/profiles/gpt/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        peers.append(peer)
    time.sleep(0.3)
    assert server.stop() < 30
    for peer in peers:
        peer.close()


# Many clients


def test_a_thousand_connections(kymo, data):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1200:
        pytest.skip("not enough files can be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    server = Server(kymo, "--data-path", data)
    peers = []
    try:
        for _ in range(1000):
            peers.append(socket.create_connection(("127.0.0.1", server.port), timeout=60))
        request = b"GET /api/v1/profiles/gpt/tracks HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for peer in peers:
            peer.sendall(request)
        for peer in peers:
            assert peer.recv(12) == b"HTTP/1.1 200"
        assert server.get("health")["status"] == "healthy"
        assert server.memory() < 200e6 or IS_SANITIZED
    finally:
        for peer in peers:
            peer.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    server.stop()


HALF = [b"GET / HTTP/1.1\r\nHost: loc", b"alhost\r\nX: "]
POST = [b"POST /api/v1/profiles/gpt/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", b"{"]
IDLE = [b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n", b""]


@pytest.mark.parametrize("parts, files, kept", [
    pytest.param(HALF, 8000, 1500, id="header", marks=pytest.mark.plain_build),  # sanitizers are slow with so many threads
    pytest.param(POST, 8000, 1500, id="body", marks=pytest.mark.plain_build),
    pytest.param(IDLE, 8000, 1500, id="idle", marks=pytest.mark.plain_build),
    pytest.param(HALF, 1024, 192, id="few files"),
])  # fmt: skip
def test_clients_that_stop_halfway_keep_nobody_out(kymo, data, tmp_path, parts, files, kept):
    """More than the server takes: the oldest ones make room in a moment, not when their time is over."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 8000:
        pytest.skip("not enough files can be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (8000, hard))
    limited = tmp_path / "limited"
    limited.write_text(f'#!/bin/sh\nulimit -n {files}\nexec {shlex.quote(str(kymo.path))} "$@"\n')
    limited.chmod(0o755)
    server = Server(Kymo(limited), "--data-path", data)
    peers = []
    try:
        for _ in range(1600):
            peers.append(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            peers[-1].sendall(parts[0])
        for peer in peers[-kept // 2 :]:
            peer.sendall(parts[1])  # a trickle does not help
        for _ in range(20):  # each on a connection of its own
            begun = time.monotonic()
            assert server.get("health")["status"] == "healthy"
            assert time.monotonic() - begun < 20
        # No more than needed were closed, the oldest first.
        assert 1600 - kept <= closed_peers(peers) <= 1630 - kept and closed_peers(peers[-kept // 2 :]) == 0
    finally:
        for peer in peers:
            peer.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    server.stop()


def closed_peers(peers):
    """How many of them the server has closed."""
    closed = 0
    for peer in peers:
        peer.setblocking(False)
        try:
            while peer.recv(1 << 20):
                pass
            closed += 1
        except BlockingIOError:
            pass
        except ConnectionError:
            closed += 1
    return closed


def test_many_at_once_get_the_same_answers(server):
    body = {"tracks": [8, 9, 17, 18, 19], "width": 1500}
    expected = {
        "timeline": server.ask("POST", "profiles/gpt/timeline", body).body,
        "search": server.ask("GET", "profiles/gpt/search?q=fusion").body,
        "event": server.ask("GET", "profiles/gpt/events/SystemProfileEvents/36").body,
    }

    def one(number):
        kind = ("timeline", "timeline", "timeline", "search", "event")[number % 5]
        ask = {
            "timeline": lambda: server.ask("POST", "profiles/gpt/timeline", body),
            "search": lambda: server.ask("GET", "profiles/gpt/search?q=fusion"),
            "event": lambda: server.ask("GET", "profiles/gpt/events/SystemProfileEvents/36"),
        }[kind]
        until = time.monotonic() + PATIENCE
        while (answer := ask()).status == 503 and answer.error.endswith("are running; try again") and time.monotonic() < until:
            pass  # the server waited for a while before it said so
        return None if answer.status == 200 and answer.body == expected[kind] else (kind, answer.status, answer.body[:200])

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert [problem for problem in pool.map(one, range(60)) if problem] == []


@pytest.mark.slow
@pytest.mark.sanitized  # many threads
def test_profiles_come_and_go_while_they_are_shown(kymo, server, data):
    """Deleted and recreated during reads: each response is complete, or says that there is no profile."""
    arguments = ["view", GPT, "--data-path", data, "--display-name", "fleeting", "--ingest-only", "--force"]
    kymo.ok(*arguments)
    ends = time.monotonic() + 2

    def read(_):
        seen = set()
        while time.monotonic() < ends:
            answer = server.ask("POST", "profiles/fleeting/timeline", {"tracks": [8], "width": 100})
            assert answer.status in (200, 404, 409), answer.body
            answer = server.ask("POST", "profiles/fleeting/sql", {"query": "SELECT count(*) FROM Track"})
            seen.add(answer.status)
        return seen

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, number) for number in range(3)]
        while time.monotonic() < ends:
            kymo.run(*arguments)
            server.ask("DELETE", "profiles/fleeting")
        assert all(reader.result() <= {200, 400, 404, 409} for reader in readers)
    assert server.get("health")["status"] == "healthy"
