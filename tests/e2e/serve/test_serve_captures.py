"""Captures that the web server takes: a job that captures and imports, and who may ask for it."""

import os
import time

import pytest

import http2
from conftest import DATA
from server import PATIENCE, Server

MATMUL = (DATA / "xplane" / "jax_matmul_h200.xplane.pb").read_bytes()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("captures")


@pytest.fixture(scope="module")
def server(kymo, data):
    server = Server(kymo, "--data-path", data)
    yield server
    server.stop()


def capture(server, name, *services, **more):
    addresses = ",".join(f"127.0.0.1:{service.port}" for service in services)
    return server.ask("POST", "captures", {"name": name, "addresses": addresses, "duration_ms": 10, "options": "delay_ms=1"} | more)


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_capture_becomes_a_profile(server, data):
    service = http2.Service(http2.reply(http2.profile(MATMUL)))
    assert server.get("captures") == {"allowed": True}
    answer = capture(server, "matmul", service, options="python_tracer_level=1")
    assert answer.status == 201 and answer.json["id"]
    entry = server.wait_for("matmul", "ready", "failed")
    assert (entry["status"], entry["reason"]) == ("ready", None)
    assert entry["format"] == "xplane" and entry["events"] > 100
    (request,) = service.requests
    assert request[1] == [10] and http2.fields(request[4][0])[4] == [1]
    wait_until(lambda: os.listdir(data / "uploads") == [".lock"])
    assert capture(server, "matmul", service).status == 409


def test_what_some_hosts_sent_is_a_profile_with_a_reason(server):
    good, bad = http2.Service(http2.reply(http2.profile(MATMUL))), http2.Service(http2.reply(http2.failure(13, "broken")))
    assert capture(server, "part", good, bad).status == 201
    wait_until(lambda: server.ask("GET", "profiles/part").json.get("reason"))
    entry = server.get("profiles/part")
    assert entry["status"] == "ready" and entry["events"] > 100
    assert entry["reason"] == "1 of 2 hosts failed; the session has the other"


def test_a_capture_that_fails_has_the_reason_and_can_be_tried_again(server, data):
    def answer(service, connection, number):
        http2.reply(http2.failure(13, "broken") if number == 1 else http2.profile(MATMUL))(service, connection, number)

    service = http2.Service(answer)
    capture(server, "again", service)
    entry = server.wait_for("again", "failed", "ready")
    assert entry["status"] == "failed"
    assert entry["reason"] == f"nothing was captured: 127.0.0.1:{service.port}: INTERNAL: broken"
    assert entry["is_capture"]
    assert not any((data / "uploads").glob("*/files"))
    server.post("profiles/again/process", status=202)
    assert server.wait_for("again", "ready")["reason"] is None


def test_a_failed_capture_is_forgotten_when_it_is_deleted_and_with_the_server(kymo, tmp_path):
    server, service = Server(kymo, "--data-path", tmp_path), http2.Service(http2.reply(http2.failure(13, "broken")))
    for name in ("deleted", "kept"):
        capture(server, name, service)
        server.wait_for(name, "failed")
    assert server.ask("DELETE", "profiles/deleted").status == 204
    assert [entry["name"] for entry in server.get("profiles")["profiles"]] == ["kept"]
    assert os.listdir(tmp_path / "uploads") == [".lock"]
    server.stop()
    server = Server(kymo, "--data-path", tmp_path)
    assert server.get("profiles")["profiles"] == []
    server.stop()


def test_a_capture_can_be_canceled(server):
    service = http2.Service(lambda service, connection, number: http2.finish(connection) or time.sleep(30))
    job = capture(server, "canceled", service, duration_ms=600000).json["id"]
    wait_until(lambda: service.requests)
    assert server.get("profiles/canceled")["status"] == "processing"
    assert server.ask("DELETE", f"uploads/{job}").status == 204
    wait_until(lambda: server.ask("GET", "profiles/canceled").status == 404)


@pytest.mark.parametrize("body, said", [
    ({"name": "x"}, 'missing "addresses"'), ({"addresses": "a:1"}, 'missing "name"'),
    ({"name": "x", "addresses": "nowhere"}, "'nowhere' is not an address"),
    ({"name": "x", "addresses": "--help"}, "is not an address"),
    ({"name": "x", "addresses": "a:1", "options": "levle=1"}, "unknown option 'levle'"),
    ({"name": "x", "addresses": "a:1", "duration_ms": 0}, "at least 1"), ({"name": "x", "addresses": "a:1", "duration_ms": 10**9}, "duration_ms"),
    ({"name": "x/y", "addresses": "a:1"}, "name"), ({"name": "x", "addresses": ["a:1"]}, "a string"),
])  # fmt: skip
def test_wrong_requests_are_refused(server, body, said):
    answer = server.ask("POST", "captures", body)
    assert answer.status == 400 and said in answer.error
    assert server.ask("GET", "profiles/x").status == 404


@pytest.mark.parametrize("hosts, left", [(1, len(MATMUL) - 1), (2, 2 * len(MATMUL) - 1), (2, 0)])
def test_all_hosts_together_get_what_the_limit_of_uploads_leaves(kymo, tmp_path, hosts, left):
    others = tmp_path / "uploads" / "others"
    others.mkdir(parents=True)
    with open(others / "large", "wb") as file:  # takes no space
        file.truncate(2**30 - left)
    server = Server(kymo, "--data-path", tmp_path, "--upload-limit", "1")
    services = [http2.Service(http2.reply(http2.profile(MATMUL))) for _ in range(hosts)]
    answer = capture(server, "large", *services, options="max_bytes=999999999")
    if left == 0:
        assert answer.status == 413 and "--upload-limit" in answer.error
    else:
        said = server.wait_for("large", "ready", "failed")["reason"]
        assert "--upload-limit" in said or "1 of 2 hosts failed" in said
    server.stop()


@pytest.mark.parametrize("option", [[], ["--allow-capture"]])
def test_servers_for_others_connect_nowhere_unless_allowed(kymo, tmp_path, option):
    service = http2.Service(http2.reply(http2.profile(MATMUL)))
    server = Server(kymo, "--data-path", tmp_path, "--host", "0.0.0.0", "--token", "t" * 16, *option)
    headers = {"Authorization": "Bearer " + "t" * 16}
    body = {"name": "x", "addresses": f"127.0.0.1:{service.port}", "duration_ms": 1}
    assert server.ask("POST", "captures", body).status == 401
    answer = server.ask("POST", "captures", body, headers=headers)
    allowed = server.ask("GET", "captures", headers=headers).json
    if option:
        assert answer.status == 201 and allowed == {"allowed": True}
        wait_until(lambda: service.requests)
    else:
        assert answer.status == 403 and "--allow-capture" in answer.error and allowed == {"allowed": False}
        time.sleep(0.3)
        assert service.requests == []
    server.stop()


def test_pages_of_others_cannot_ask_for_captures(server):
    answer = server.ask("POST", "captures", {"name": "x", "addresses": "127.0.0.1:1"}, headers={"Origin": "http://example.com"})
    assert answer.status == 403
