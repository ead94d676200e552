"""Sessions: packed files, several hosts on one clock, and the directories they lie in."""

import gzip
import os
import re

import pytest
import zstandard

import xspace

START_NS = 1_700_000_000_000_000_000
SECOND_NS = 10**9


def host_space(name=None, start_ns=START_NS, events=(("work", 1000, 500),), stamp_ns=0, pid=7):
    """One host with one thread; without a start it has no Task Environment."""
    space = xspace.XSpace(hostnames=[name.encode()] if name else [])
    writer = xspace.PlaneWriter(space, "/host:CPU", pid=pid)
    line = writer.line("main", timestamp_ns=stamp_ns)
    for event in events:
        writer.event(line, *event)
    if start_ns is not None:
        xspace.task_environment(space, start_ns, start_ns + 5 * SECOND_NS)
    return space


def write(path, space):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(space.SerializeToString())
    return path


def starts(document):
    return {event["name"]: event["start_ps"] for event in document["trace_events"]}


def shifts(document):
    return {host["name"]: host["shift_ps"] for host in document["hosts"]}


def warnings(document, host):
    own = [m for m in document["messages"] if m["host"] == host]
    return [m["text"] for m in own if m["level"] == "warning"]


def split_gzip(data):
    third = len(data) // 3
    parts = (data[:third], data[third : 2 * third], b"", data[2 * third :])
    return b"".join(map(gzip.compress, parts))


def split_zstd(data):
    return b"".join(map(zstandard.compress, (data[:1000], data[1000:])))


@pytest.mark.parametrize(
    "suffix, pack, compression",
    [
        ("gz", gzip.compress, "gzip"),
        ("gz", split_gzip, "gzip"),
        ("zst", zstandard.compress, "zstd"),
        ("zst", split_zstd, "zstd"),
    ],
)
def test_a_packed_capture_gives_the_document_of_the_plain_one(
    kymo, tmp_path, capture, suffix, pack, compression
):
    plain = kymo.document(capture)
    path = tmp_path / f"{capture.name}.{suffix}"
    path.write_bytes(pack(capture.read_bytes()))
    packed = kymo.document(path)
    (host,) = packed["hosts"]
    assert host["file"] == str(path)
    assert host["size_bytes"] == path.stat().st_size
    assert host["compression"] == compression
    (plain_host,) = plain["hosts"]
    for key in ("file", "size_bytes", "compression"):
        host[key] = plain_host[key]
    assert packed == plain


def test_a_capture_is_told_by_its_content_whatever_its_name(kymo, tmp_path, capture):
    for name, content in (
        ("profile.bin", capture.read_bytes()),
        ("profile.gz", gzip.compress(capture.read_bytes())),
    ):
        (tmp_path / name).write_bytes(content)
        assert kymo.json("info", "--json", tmp_path / name)["event_count"] > 10000


def test_hosts_are_aligned_by_their_start_times(kymo, tmp_path):
    for name, late_ns in (("a", 3 * SECOND_NS), ("b", 0), ("c", 1)):
        space = host_space(name, START_NS + late_ns, [(name, 1000, 5)])
        write(tmp_path / f"{name}.xplane.pb", space)
    document = kymo.document(tmp_path)
    assert shifts(document) == {"a": 3 * 10**12, "b": 0, "c": 1000}
    assert starts(document) == {"a": 3 * 10**12 + 1000, "b": 1000, "c": 2000}
    assert document["start_epoch_ns"] == START_NS
    assert document["stop_epoch_ns"] == START_NS + 8 * SECOND_NS
    assert [h["start_epoch_ns"] - START_NS for h in document["hosts"]] == [3 * SECOND_NS, 0, 1]
    assert document["first_event_ps"] == 1000
    assert document["last_event_ps"] == 3 * 10**12 + 1005
    assert document["messages"] == []


def test_a_host_without_a_start_time_is_not_shifted_and_said_so(kymo, tmp_path):
    write(tmp_path / "a.xplane.pb", host_space("a", START_NS, [("a", 10, 5)]))
    write(tmp_path / "b.xplane.pb", host_space("b", None, [("b", 20, 5)]))
    write(tmp_path / "c.xplane.pb", host_space("c", START_NS + 2, [("c", 30, 5)]))
    document = kymo.document(tmp_path)
    assert shifts(document) == {"a": 0, "b": 0, "c": 2000}
    assert starts(document) == {"a": 10, "b": 20, "c": 2030}
    assert document["hosts"][1]["start_epoch_ns"] is None
    assert not warnings(document, "a") and not warnings(document, "c")
    (text,) = warnings(document, "b")
    assert "no Task Environment" in text


def test_a_host_whose_clock_is_years_away_is_shown_with_the_others_and_said_so(kymo, tmp_path):
    write(tmp_path / "a.xplane.pb", host_space("a", START_NS, [("a", 10, 5)]))
    write(tmp_path / "b.xplane.pb", host_space("b", START_NS + 10**17, [("b", 20, 5)]))
    document = kymo.document(tmp_path)
    assert starts(document) == {"a": 10, "b": 20}
    assert not warnings(document, "a")
    assert len(warnings(document, "b")) == 1


def test_lines_in_epoch_time_are_told_from_lines_in_profile_time(kymo, tmp_path):
    space = host_space("a", START_NS, [("normal", 5, 1)], stamp_ns=40)
    plane = xspace.PlaneWriter(space, "/device:GPU:0", pid=7)
    plane.event(plane.line("epoch", timestamp_ns=START_NS + 50), "epoch", 6, 1)
    plane.event(plane.line("at start", timestamp_ns=START_NS), "at start", 7, 1)
    document = kymo.document(write(tmp_path / "x.xplane.pb", space))
    assert starts(document) == {"normal": 40_005, "epoch": 50_006, "at start": 7}


def test_epoch_times_without_a_start_begin_with_the_earliest(kymo, tmp_path):
    space = host_space("a", None, [("later", 5, 1)], stamp_ns=START_NS + 30)
    plane = xspace.PlaneWriter(space, "/device:GPU:0", pid=7)
    plane.event(plane.line("first", timestamp_ns=START_NS), "first", 6, 1)
    document = kymo.document(write(tmp_path / "x.xplane.pb", space))
    assert starts(document) == {"later": 30_005, "first": 6}
    assert document["start_epoch_ns"] == START_NS


def test_a_host_in_epoch_time_is_aligned_with_one_that_says_its_start(kymo, tmp_path):
    write(tmp_path / "a.xplane.pb", host_space("a", START_NS, [("a", 10, 5)]))
    write(tmp_path / "b.xplane.pb", host_space("b", None, [("b", 20, 5)], stamp_ns=START_NS + 100))
    document = kymo.document(tmp_path)
    assert starts(document) == {"a": 10, "b": 100_020}


def test_a_host_without_a_name_is_called_by_its_file(kymo, tmp_path):
    path = write(tmp_path / "tpu-3.local.xplane.pb", host_space())
    assert [h["name"] for h in kymo.document(path)["hosts"]] == ["tpu-3.local"]


def processes(document):
    tracks = document["tracks"]
    return [
        (tracks[track["parent"]]["name"], track["id"])
        for track in tracks
        if track["level"] == "process"
    ]


def test_two_files_of_one_host_are_two_processes_of_one_machine(kymo, tmp_path):
    write(tmp_path / "one.xplane.pb", host_space("node", START_NS, [("one", 1, 1)], pid=10))
    write(tmp_path / "two.xplane.pb", host_space("node", START_NS + 1, [("two", 1, 1)], pid=11))
    document = kymo.document(tmp_path)
    assert [h["name"] for h in document["hosts"]] == ["node", "node"]
    instances = [t["name"] for t in document["tracks"] if t["level"] == "instance"]
    assert instances == ["node"]
    assert ("node", 10) in processes(document) and ("node", 11) in processes(document)
    assert starts(document) == {"one": 1, "two": 1001}


def launching_space(name, start_ns, pid, correlation=1):
    """A call and the kernel it launches, and a producer and its consumer."""
    space = xspace.XSpace(hostnames=[name.encode()])
    host = xspace.PlaneWriter(space, "/host:CPU", pid=pid)
    line = host.line("main")
    host.event(line, f"launch {name}", 0, 10, correlation_id=correlation, _p=5, _pt=1)
    device = xspace.PlaneWriter(space, "/device:GPU:0", pid=pid)
    line = device.line("Stream #1(Compute)")
    device.event(line, f"kernel {name}", 20, 10, correlation_id=correlation, _c=5, _ct=1)
    xspace.task_environment(space, start_ns, start_ns + 1)
    return space


def flows(document):
    lanes = {}
    for event in document["trace_events"]:
        lanes.setdefault(event["track"], []).append(event["name"])
    return sorted(
        (f["kind"], lanes[f["from_track"]][f["from_event"]], lanes[f["to_track"]][f["to_event"]])
        for f in document["flows"]
    )


def test_launches_of_one_process_id_on_two_hosts_do_not_mix(kymo, tmp_path):
    for name in ("a", "b"):
        write(tmp_path / f"{name}.xplane.pb", launching_space(name, START_NS, pid=7))
    assert flows(kymo.document(tmp_path)) == [
        (kind, f"launch {name}", f"kernel {name}")
        for kind in ("context", "launch")
        for name in ("a", "b")
    ]


def test_launches_of_two_processes_on_one_host_do_not_mix(kymo, tmp_path):
    for name, pid in (("a", 7), ("b", 8)):
        space = launching_space(name, START_NS, pid)
        del space.hostnames[:]
        space.hostnames.append(b"node")
        write(tmp_path / f"{name}.xplane.pb", space)
    assert flows(kymo.document(tmp_path)) == [
        (kind, f"launch {name}", f"kernel {name}")
        for kind in ("context", "launch")
        for name in ("a", "b")
    ]


RUN = "2026_11_14_22_42_23"


@pytest.mark.parametrize(
    "trained_in, above",
    [
        ("", "logs"),
        ("", "logs/plugins"),
        ("", "logs/plugins/profile"),
        ("", f"logs/plugins/profile/{RUN}"),
        ("train/", "logs"),
        ("deep/er/train/", "logs"),
    ],
)
def test_a_run_is_found_below_a_log_directory(kymo, tmp_path, trained_in, above):
    log = tmp_path / "logs" / f"{trained_in}plugins" / "profile" / RUN
    write(log / "node.xplane.pb", host_space("node"))
    (log / "node.trace.json.gz").write_bytes(b"something else")
    given = tmp_path / above
    for arguments in ((given,), (f"{given}/",), ("-d", given, "--output-file", "-")):
        document = kymo.json("view", *arguments, "--output-format", "json")
        assert [h["file"] for h in document["hosts"]] == [str(log / "node.xplane.pb")]


def test_packed_and_plain_hosts_of_a_session_are_read_together(kymo, tmp_path):
    write(tmp_path / "a.xplane.pb", host_space("a"))
    (tmp_path / "b.xplane.pb.gz").write_bytes(gzip.compress(host_space("b").SerializeToString()))
    (tmp_path / "c.xplane.pb.zst").write_bytes(
        zstandard.compress(host_space("c").SerializeToString())
    )
    hosts = kymo.document(tmp_path)["hosts"]
    assert [(h["name"], h["compression"]) for h in hosts] == [
        ("a", "none"),
        ("b", "gzip"),
        ("c", "zstd"),
    ]


def test_of_several_runs_the_newest_is_taken_and_the_others_are_named(kymo, tmp_path):
    runs = {
        "train/plugins/profile/2026_11_14_22_42_23": "newest",
        "plugins/profile/2026_11_14_22_42_22": "older",
        "zzz/plugins/profile/2025_12_31_23_59_59": "oldest",
    }
    for run, name in runs.items():
        write(tmp_path / run / "x.xplane.pb", host_space(name))
    result = kymo.run("info", "--json", tmp_path)
    assert result.returncode == 0
    assert '"newest"' in result.stdout
    assert '"older"' not in result.stdout and '"oldest"' not in result.stdout
    for run, name in runs.items():
        assert (str(tmp_path / run) in result.stderr) == (name != "newest")
    assert "2 other runs" in result.stderr and "2026_11_14_22_42_23" in result.stderr


def test_a_damaged_host_is_named_among_the_whole_ones(kymo, tmp_path):
    write(tmp_path / "a.xplane.pb", host_space("a"))
    damaged = write(tmp_path / "b.xplane.pb", host_space("b"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    write(tmp_path / "c.xplane.pb", host_space("c"))
    message = kymo.refuses("view", tmp_path)
    assert str(damaged) in message and "a.xplane.pb" not in message


def test_a_directory_without_captures_is_refused_with_what_was_looked_for(kymo, tmp_path):
    (tmp_path / "plugins" / "profile" / RUN).mkdir(parents=True)
    (tmp_path / "plugins" / "profile" / RUN / "notes.txt").write_text("none")
    message = kymo.refuses("view", tmp_path)
    assert str(tmp_path) in message and "*.xplane.pb" in message


def test_a_loop_of_links_does_not_matter(kymo, tmp_path):
    write(tmp_path / "logs" / "plugins" / "profile" / RUN / "x.xplane.pb", host_space("found"))
    (tmp_path / "logs" / "again").symlink_to(tmp_path / "logs")
    (tmp_path / "logs" / "plugins" / "up").symlink_to("..")
    (tmp_path / "logs" / "self").symlink_to("self")
    assert [h["name"] for h in kymo.document(tmp_path / "logs")["hosts"]] == ["found"]


def test_a_link_to_a_capture_or_a_session_is_followed_where_it_is_named(kymo, tmp_path):
    path = write(tmp_path / "run" / "x.xplane.pb", host_space("real"))
    (tmp_path / "latest").symlink_to(path.parent)
    (tmp_path / "link.xplane.pb").symlink_to(path)
    for given in (tmp_path / "latest", tmp_path / "link.xplane.pb"):
        assert [h["name"] for h in kymo.document(given)["hosts"]] == ["real"]


@pytest.mark.parametrize("name", ["gone.xplane.pb", "gone", "no/such/directory"])
def test_a_missing_file_is_named(kymo, tmp_path, name):
    for command in ("view", "info"):
        message = kymo.refuses(command, tmp_path / name)
        assert str(tmp_path / name) in message
        assert "No such file or directory" in message


def test_a_dangling_link_is_named(kymo, tmp_path):
    (tmp_path / "x.xplane.pb").symlink_to("gone")
    assert str(tmp_path / "x.xplane.pb") in kymo.refuses("view", tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_directory_that_may_not_be_read_is_named(kymo, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0)
    try:
        message = kymo.refuses("view", closed)
    finally:
        closed.chmod(0o700)
    assert str(closed) in message and "Permission denied" in message


@pytest.mark.parametrize("name", ["pipe", "pipe.xplane.pb"])
def test_a_pipe_is_refused_without_waiting_for_a_writer(kymo, tmp_path, name):
    os.mkfifo(tmp_path / name)
    assert "not a regular file" in kymo.refuses("view", tmp_path / name)


def test_a_device_is_refused(kymo):
    for path in ("/dev/null", "/dev/zero"):
        assert re.search(f"{path}: .*not a regular file", kymo.refuses("view", path))


def test_a_line_stamped_just_before_the_start_has_a_negative_time(kymo, tmp_path):
    start = 1_700_000_000_000_000_000
    space = xspace.XSpace()
    host = xspace.PlaneWriter(space, "/host:CPU", pid=1)
    host.event(host.line("main", timestamp_ns=start - 1000), "early", 5)
    xspace.task_environment(space, start, start + 1_000_000)
    path = tmp_path / "early.xplane.pb"
    path.write_bytes(space.SerializeToString())
    (event,) = kymo.document(path)["trace_events"]
    assert event["start_ps"] == -1000 * 1000 + 5
