"""The timeline index of a processed profile against the profile: every event is where it belongs, in
every window and at every width, and a damaged index is refused.

What is expected is worked out here from the JSON document and, for ids, from the tables as Arrow
reads them; rows and windows are done the slow and plain way.
"""

import collections
import json
import math
import random

import pyarrow.parquet
import pytest

import random_space
import xspace
from conftest import CAPTURES, DATA
from test_random_spaces import Maker

WIDTHS = [1, 2, 7, 100, 2000, 1_000_000]
ODD_DOUBLES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

Event = collections.namedtuple("Event", "start end id name value")


class Track:
    """Events of one track in order of time, by row."""

    def __init__(self, name, table, is_counter, events):
        self.name, self.table, self.is_counter = name, table, is_counter
        self.count = len(events)
        if is_counter:  # each lasts until the next
            ends = [event.start for event in events[1:] + events[-1:]]
            events = [event._replace(end=end) for event, end in zip(events, ends)]
            self.rows = [events] if events else []
        else:
            self.rows = []
            for event in events:
                self._place(event)

    def _place(self, event):
        """Below all that contain it, in the first row that is free."""
        ends = [row[-1].end for row in self.rows]
        around = [i for i, end in enumerate(ends) if end > event.start and end >= event.end]
        row = around[-1] + 1 if around else 0
        while row < len(ends) and ends[row] > event.start:
            row += 1
        if row == len(ends):
            self.rows.append([])
        self.rows[row].append(event)

    @property
    def events(self):
        return [event for row in self.rows for event in row]


class Profile:
    """A capture, its document, its tables and its timeline."""

    def __init__(self, kymo, capture, directory):
        self.kymo, self.directory = kymo, directory
        self.document = kymo.document(capture)
        kymo.ok(
            "view", capture, "--output-format", "parquet", "--output-file", directory,
            "--ingest-only",
        )  # fmt: skip
        self.tracks = self._lanes() | self._derived_rows()

    def table(self, name, *columns):
        path = self.directory / f"{name}.parquet"
        if not path.exists():
            return []
        return pyarrow.parquet.read_table(path, columns=list(columns)).to_pylist()

    def timeline(self, *arguments):
        return self.kymo.json("timeline", self.directory, *arguments)

    def _lanes(self):
        labels = {t["event_type"]: t.get("display_name") for t in self.document["event_types"]}
        events = collections.defaultdict(list)
        for id, event in enumerate(self.document["trace_events"]):
            if "start_ps" not in event:
                continue
            start, duration = event["start_ps"], event["duration_ps"]
            name = labels.get(event.get("event_type")) or event["name"]
            value = event.get("value")
            made = Event(start, start + max(0, duration), id, name, ODD_DOUBLES.get(value, value))
            events[event["track"]].append(((start, -duration, id), made))
        tracks = {}
        for number, in_order in events.items():
            track = self.document["tracks"][number]
            events = [event for _, event in sorted(in_order, key=lambda pair: pair[0])]
            name = track.get("display_name") or track["name"]
            tracks[number] = Track(name, "SystemProfileEvents", track["is_counter"], events)
        return tracks

    def _derived_rows(self):
        tracks, next_id = {}, 0
        for number, row in enumerate(self.document["derived_rows"], len(self.document["tracks"])):
            events = []
            for event in row["events"]:
                start = event["start_ps"]
                end = start + max(0, event["duration_ps"])
                events.append(Event(start, end, next_id, event["name"], None))
                next_id += 1
            if events:
                tracks[number] = Track(row["name"], "HloRun", False, events)
        return tracks

    @property
    def span(self):
        return self.document["first_event_ps"], self.document["last_event_ps"]


def session(directory):
    """Two hosts, whose clocks differ."""
    directory.mkdir()
    for number in range(2):
        space = random_space.make(20 + number)
        space.hostnames[0] = b"host-%d" % number
        for plane in space.planes:
            for stat in plane.stats:
                if stat.WhichOneof("one") == "uint64_value":
                    stat.uint64_value += 777 * number
        (directory / f"host{number}.xplane.pb").write_bytes(space.SerializeToString())
    return directory


def odd_times():
    """Negative times and durations, equal ones, very long ones, and one that only counts."""
    space = xspace.XSpace()
    plane = xspace.PlaneWriter(space, "/host:CPU")
    line = plane.line("main", 1)
    for start, duration in [(-5000, -10), (-5000, -20), (-5000, 0), (-5000, 7), (0, 1 << 60)]:
        plane.event(line, f"{start} {duration}", start, duration)
    plane.event(line, "far", 1 << 61, 1)
    for _ in range(200):
        plane.event(line, "same", 17, 3)
    line.events.add(metadata_id=1, num_occurrences=5)
    return space


SOURCES = {f"steps {seed}": (random_space.make, seed) for seed in range(6)}
SOURCES |= {f"any {seed}": (lambda seed: Maker(seed).make(), seed) for seed in range(14)}
SOURCES |= {"odd times": (lambda _: odd_times(), 0), "nothing": (lambda _: xspace.XSpace(), 0)}


@pytest.fixture(scope="module", params=[*CAPTURES, *SOURCES, "session"])
def profile(kymo, request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("timeline")
    if request.param in CAPTURES:
        capture = DATA / "xplane" / f"{request.param}.xplane.pb"
    elif request.param == "session":
        capture = session(folder / "session")
    else:
        make, seed = SOURCES[request.param]
        capture = folder / "space.xplane.pb"
        capture.write_bytes(make(seed).SerializeToString() or b"\x1a\x00")
    return Profile(kymo, capture, folder / "profile")


# Answers


def same_double(ours, expected):
    ours = ODD_DOUBLES.get(ours, ours)
    if math.isnan(expected) or math.isnan(ours):
        return math.isnan(expected) and math.isnan(ours)
    return ours == expected


def check_counter(item, events):
    values = [event.value for event in events]
    numbers = [value for value in values if not math.isnan(value)] or [math.nan]
    assert same_double(item["min"], min(numbers))
    assert same_double(item["max"], max(numbers))
    assert same_double(item["last"], values[-1])
    size = sum(map(abs, values))
    if math.isfinite(size):
        assert abs(item["mean"] * len(values) - sum(values)) <= size * 1e-12 + 1e-300


def check_events(item, events):
    durations = [event.end - event.start for event in events]
    assert item["busy_ps"] == min(sum(durations), (1 << 63) - 1)
    assert item["longest_ps"] == max(durations)
    longest = [event for event in events if event.end - event.start == item["longest_ps"]]
    assert (item["id"], item["name"]) in {(event.id, event.name) for event in longest}


def check_row(items, events, query, is_counter):
    """Items against the events of a row that reach into the window, one behind the other."""
    start, end, width = query["from_ps"], query["to_ps"], query["width"]
    pixel = -(-(end - start) // width)
    begun = collections.Counter()
    at = 0
    for item in items:
        part = events[at : at + item["count"]]
        at += item["count"]
        assert len(part) == item["count"] > 0
        assert item["start_ps"] == part[0].start and item["end_ps"] == part[-1].end
        (check_counter if is_counter else check_events)(item, part)
        if item["count"] > 1:
            for event in part:
                seen = min(event.end, end) - max(event.start, start)
                assert seen < pixel
            assert part[-1].start - max(part[0].start, start) < 2 * pixel
        begun[max(0, min(width - 1, (part[0].start - start) * width // (end - start)))] += 1
    assert at == len(events)
    assert max(begun.values()) <= 2


def check_answer(answer, tracks):
    """The answer for tracks {number: Track} against their events."""
    start, end = answer["from_ps"], answer["to_ps"]
    assert [track["track"] for track in answer["tracks"]] == sorted(tracks)
    for found in answer["tracks"]:
        track = tracks[found["track"]]
        assert (found["name"], found["table"]) == (track.name, track.table)
        assert found["event_count"] == track.count
        assert found["row_count"] == len(track.rows)
        expected = {}
        for number, row in enumerate(track.rows):
            inside = [e for e in row if e.start < end and (e.end > start or e.start >= start)]
            if inside:
                expected[number] = inside
        assert [row["row"] for row in found["rows"]] == list(expected)
        for row in found["rows"]:
            check_row(row["items"], expected[row["row"]], answer, track.is_counter)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_whole_profile_is_answered_with_every_event(profile, width):
    answer = profile.timeline("--width", width)
    first, last = profile.span
    assert (answer["from_ps"], answer["to_ps"], answer["width"]) == (first, last + 1, width)
    check_answer(answer, profile.tracks)


def test_counts_and_busy_times_add_up(profile):
    events = [e for e in profile.document["trace_events"] if "start_ps" in e]
    counts = collections.Counter(event["track"] for event in events)
    busy = collections.Counter()
    for event in events:
        busy[event["track"]] += max(0, event["duration_ps"])
    first_row = len(profile.document["tracks"])
    for number, row in enumerate(profile.document["derived_rows"], first_row):
        counts[number] = len(row["events"])
        busy[number] = sum(event["duration_ps"] for event in row["events"])
    found = profile.timeline()["tracks"]
    assert {t["track"] for t in found} == {track for track in counts if counts[track]}
    for track in found:
        items = [item for row in track["rows"] for item in row["items"]]
        assert sum(item["count"] for item in items) == counts[track["track"]]
        if not profile.tracks[track["track"]].is_counter:
            assert sum(item["busy_ps"] for item in items) == busy[track["track"]]


def test_windows_have_what_reaches_into_them(profile):
    rng = random.Random(1)
    times = [time for track in profile.tracks.values() for e in track.events for time in e[:2]]
    if not times:
        return
    for _ in range(12):
        a, b = (rng.choice(times) + rng.randrange(-2, 3) for _ in range(2))
        a, b = min(a, b), max(a, b, min(a, b) + 1)
        if rng.random() < 0.3:
            b = a + rng.choice([1, 1000, 10**6])
        arguments = ["--from", f"{a}ps", "--to", f"{b}ps", "--width", rng.choice([1, 3, 50, 999])]
        answer = profile.timeline(*arguments)
        assert (answer["from_ps"], answer["to_ps"]) == (a, b)
        check_answer(answer, profile.tracks)


def test_an_id_finds_the_event_in_its_table(profile):
    """Through the table alone: its times are whole nanoseconds and what is left of them."""
    events = {}
    for row in profile.table(
        "SystemProfileEvents", "id", "track_id", "start_ts", "start_fraction_ps", "duration_ns",
        "duration_fraction_ps",
    ):  # fmt: skip
        start = row["start_ts"] * 1000 + row["start_fraction_ps"]
        duration = row["duration_ns"] * 1000 + row["duration_fraction_ps"]
        events[row["id"]] = row["track_id"], start, duration
    runs = {}
    for row in profile.table("HloRun", "id", "track_id", "start_ts", "duration_ns", "name"):
        runs[row["id"]] = row["track_id"], row["start_ts"], row["duration_ns"], row["name"]
    found = collections.Counter()
    for track in profile.timeline("--width", 100_000)["tracks"]:
        if profile.tracks[track["track"]].is_counter:
            continue
        for item in (item for row in track["rows"] for item in row["items"]):
            found[track["table"]] += 1
            start = item["start_ps"] if item["count"] == 1 else None
            if track["table"] == "HloRun":
                owner, start_ns, duration_ns, name = runs[item["id"]]
                assert (owner, name) == (track["track"], item["name"])
                assert start is None or start // 1000 == start_ns
                assert abs(item["longest_ps"] - duration_ns * 1000) < 1000
            else:
                owner, start_ps, duration_ps = events[item["id"]]
                assert owner == track["track"]
                assert start is None or start == start_ps
                assert item["longest_ps"] == max(0, duration_ps)
    if profile.document["trace_events"] and profile.document["derived_rows"]:
        assert found["SystemProfileEvents"] and found["HloRun"]


def test_the_track_table_numbers_tracks_as_the_timeline_does(profile):
    tracks = {row["id"]: row for row in profile.table("Track", "id", "name", "event_table")}
    for track in profile.timeline("--width", 1)["tracks"]:
        row = tracks[track["track"]]
        assert (row["name"], row["event_table"]) == (track["name"], track["table"])


# Which tracks


@pytest.fixture(scope="module")
def gpt(kymo, tmp_path_factory):
    directory = tmp_path_factory.mktemp("gpt") / "profile"
    return Profile(kymo, DATA / "xplane" / "jax_gpt_python_h200.xplane.pb", directory)


def inside(profile, outer):
    """Tracks in the given ones, and they themselves, as far as they have events."""
    tracks, found = profile.document["tracks"], set()
    for number in profile.tracks:
        at = number
        if at >= len(tracks):  # a derived row lies beside its lane
            row = profile.document["derived_rows"][at - len(tracks)]
            at = tracks[row["lane"]]["parent"]
        while at is not None and at not in outer:
            at = tracks[at].get("parent")
        if at is not None or number in outer:
            found.add(number)
    return found


def test_a_track_is_chosen_by_number_with_what_is_inside_it(gpt):
    for number in range(len(gpt.document["tracks"]) + len(gpt.document["derived_rows"])):
        answer = gpt.timeline("--track", number, "--width", 10)
        expected = {track: gpt.tracks[track] for track in inside(gpt, {number})}
        check_answer(answer, expected)


def test_tracks_are_chosen_by_name(gpt):
    names = {track.name for track in gpt.tracks.values()} | {"/device:GPU:0", "vm"}
    for name in names:
        outer = {t["track"] for t in gpt.document["tracks"] if name in (t["name"], t.get("display_name"))}
        outer |= {number for number, track in gpt.tracks.items() if track.name == name}
        answer = gpt.timeline("--track", name, "--width", 10)
        assert {track["track"] for track in answer["tracks"]} == inside(gpt, outer)


def test_several_tracks_come_once_each_in_their_order(gpt):
    numbers = sorted(gpt.tracks)[:3]
    answer = gpt.timeline("--track", numbers[2], "--track", numbers[0], "--track", numbers[2])
    check_answer(answer, {number: gpt.tracks[number] for number in (numbers[0], numbers[2])})


# Options


@pytest.mark.parametrize(
    "text, ps",
    [
        ("0ps", 0),
        ("7ps", 7),
        ("3ns", 3_000),
        ("1.5us", 1_500_000),
        ("2ms", 2 * 10**9),
        ("0.25s", 25 * 10**10),
        ("-2ns", -2_000),
        ("9007199254740993ps", 9007199254740993),
        ("4.35ns", 4_350),
        ("1.001ns", 1_001),
        ("1.001us", 1_001_000),
        ("2.018us", 2_018_000),
    ],
)
def test_times_are_read_exactly(gpt, text, ps):
    answer = gpt.timeline("--from", text, "--to", "4000000s", "--width", 1)
    assert answer["from_ps"] == ps
    answer = gpt.timeline("--from", "-1s", f"--to={text}", "--width", 1)
    assert answer["to_ps"] == ps


@pytest.mark.parametrize("option", ["--from", "--to"])
@pytest.mark.parametrize(
    "text",
    ["", "5", "ms", "1.5", "1mss", "1 ms", " 5ps", "abc", "infs", "nanps", "1e3ns", "0x10ps", "--"]
    + [".ns", "1.2.3ns", "-", "--5ns", "9223372036854775808ps", "9223373s", "5psx"],
)
def test_what_is_no_time_is_refused(gpt, option, text):
    message = gpt.kymo.refuses("timeline", gpt.directory, f"{option}={text}")
    assert option in message and f"'{text}'" in message and "1.5ms" in message


@pytest.mark.parametrize("window", [("5ms", "5ms"), ("5ms", "4ms"), ("1s", None), (None, "-1s")])
def test_windows_that_end_before_they_begin_are_refused(gpt, window):
    arguments = [f"--{name}={time}" for name, time in zip(["from", "to"], window) if time]
    message = gpt.kymo.refuses("timeline", gpt.directory, *arguments)
    assert "window" in message


@pytest.mark.parametrize("width", ["0", "-1", "abc", "", "1000001", "1.5", "99999999999999999999"])
def test_what_is_no_width_is_refused(gpt, width):
    assert "--width" in gpt.kymo.refuses("timeline", gpt.directory, f"--width={width}", code=2)


@pytest.mark.parametrize("track", ["no such track", "9999", "-1", "99999999999999999999", "", "4 "])
def test_what_is_no_track_is_refused_with_its_name(gpt, track):
    if track == "":  # there are tracks without a name
        assert gpt.timeline("--track=", "--width", 1)["tracks"]
        return
    message = gpt.kymo.refuses("timeline", gpt.directory, f"--track={track}")
    assert f"'{track}'" in message


def test_too_many_tracks_are_refused(gpt):
    arguments = ["--track", "8"] * 65
    message = gpt.kymo.refuses("timeline", gpt.directory, *arguments, code=2)
    assert "--track" in message and "64" in message
    assert gpt.timeline(*arguments[:128], "--width", 1)["tracks"]


def test_a_profile_must_be_named_and_only_one(gpt):
    assert "profile" in gpt.kymo.refuses("timeline", code=2)
    gpt.kymo.refuses("timeline", gpt.directory, gpt.directory, code=2)


def test_output_goes_to_a_file_indented_or_not(gpt, tmp_path):
    expected = gpt.timeline("--width", 20)
    target = tmp_path / "answer.json"
    arguments = ["--width", 20, "--output-file", target]
    assert gpt.kymo.ok("timeline", gpt.directory, *arguments) == ""
    assert json.loads(target.read_text()) == expected
    gpt.kymo.ok("timeline", gpt.directory, *arguments, "--json-pretty-print")
    assert json.loads(target.read_text()) == expected and "\n  " in target.read_text()
    gpt.kymo.refuses("timeline", gpt.directory, "--track=none", "--output-file", target)
    assert json.loads(target.read_text()) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["answer.json"]


def test_a_profile_is_found_by_name(kymo, gpt, tmp_path):
    capture = DATA / "xplane" / "jax_gpt_python_h200.xplane.pb"
    kymo.ok(
        "view", capture, "--display-name", "named", "--ingest-only", "--data-path", tmp_path
    )
    answer = kymo.json("timeline", "named", "--data-path", tmp_path, "--width", 30)
    assert answer == gpt.timeline("--width", 30)
    assert "named too" in kymo.refuses("timeline", "named too", "--data-path", tmp_path)


def test_the_number_of_jobs_changes_nothing(kymo, tmp_path):
    capture = DATA / "xplane" / "tpu_inference.xplane.pb"
    answers = []
    for jobs in (1, 2, 7):
        kymo.ok(
            "view", capture, "--output-format", "parquet", "--output-file", tmp_path / str(jobs),
            "--ingest-only", "-j", jobs,
        )  # fmt: skip
        answers.append(kymo.ok("timeline", tmp_path / str(jobs), "--width", 5000))
    assert answers[0] == answers[1] == answers[2]


# The ends of time


def at_the_end(*events):
    space = xspace.XSpace()
    plane = xspace.PlaneWriter(space, "/host:CPU")
    line = plane.line("main", 1)
    for start, duration in events:
        plane.event(line, "e", start, duration)
    return space


LATEST = (1 << 63) - 1


@pytest.mark.parametrize(
    "events",
    [
        [(-(1 << 62), 5), (1 << 62, 5)],
        [(0, 1), (LATEST - 1, 0)],
        [(0, 1), (LATEST - 10, 10)],
    ],
)
def test_the_last_moment_is_part_of_the_profile(kymo, tmp_path, events):
    capture = tmp_path / "x.xplane.pb"
    capture.write_bytes(at_the_end(*events).SerializeToString())
    arguments = ["--output-format", "parquet", "--output-file", tmp_path / "profile"]
    kymo.ok("view", capture, *arguments, "--ingest-only")
    for width in (1, 100):
        (track,) = kymo.json("timeline", tmp_path / "profile", "--width", width)["tracks"]
        items = [item for row in track["rows"] for item in row["items"]]
        assert sum(item["count"] for item in items) == len(events)


def test_a_window_can_begin_wherever_an_event_does(kymo, tmp_path):
    start = (1 << 62) + (1 << 61)
    capture = tmp_path / "x.xplane.pb"
    capture.write_bytes(at_the_end((0, 1), (start, 5)).SerializeToString())
    arguments = ["--output-format", "parquet", "--output-file", tmp_path / "profile"]
    kymo.ok("view", capture, *arguments, "--ingest-only")
    answer = kymo.json("timeline", tmp_path / "profile", "--from", f"{start}ps")
    (track,) = answer["tracks"]
    assert track["rows"][0]["items"][0]["start_ps"] == start


# Damage


@pytest.fixture
def copied(gpt, tmp_path):
    """The path of an index that may be damaged, in a profile of its own."""
    directory = tmp_path / "profile"
    directory.mkdir()
    for path in gpt.directory.iterdir():
        (directory / path.name).write_bytes(path.read_bytes())
    return directory / "timeline.kymo"


def test_an_index_that_is_not_there_is_named(kymo, copied):
    copied.unlink()
    assert str(copied) in kymo.refuses("timeline", copied.parent)


def test_a_directory_that_is_no_profile_is_named(kymo, tmp_path):
    assert str(tmp_path) in kymo.refuses("timeline", tmp_path)
    missing = tmp_path / "missing"
    assert str(missing) in kymo.refuses("timeline", missing)


def test_an_index_that_is_cut_off_is_refused(kymo, copied):
    data = copied.read_bytes()
    rng = random.Random(3)
    for size in [0, 1, 8, 79, 80, 65536, len(data) - 1, *rng.sample(range(len(data)), 15)]:
        copied.write_bytes(data[:size])
        assert str(copied) in kymo.refuses("timeline", copied.parent)


def test_what_is_no_index_is_refused(kymo, copied):
    for data in (b"x" * 100_000, (copied.parent / "Track.parquet").read_bytes(), b"{}"):
        copied.write_bytes(data)
        message = kymo.refuses("timeline", copied.parent)
        assert str(copied) in message and "not a timeline index" in message


def test_an_index_with_a_wrong_bit_is_refused_or_answers_right(kymo, gpt, copied):
    data = copied.read_bytes()
    rng = random.Random(4)
    questions = {
        ("--width", "10"): None,
        ("--width", "3000"): None,
        ("--from", "50ms", "--to", "51ms"): None,
    }
    for arguments in questions:
        questions[arguments] = gpt.kymo.ok("timeline", gpt.directory, *arguments)
    refused = 0
    for _ in range(60):
        wrong = bytearray(data)
        wrong[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        copied.write_bytes(wrong)
        arguments = rng.choice(list(questions))
        result = kymo.run("timeline", copied.parent, *arguments)
        if result.returncode == 0:
            assert result.stdout == questions[arguments]
            continue
        refused += 1
        assert result.returncode == 1 and result.stdout == ""
        assert str(copied) in result.stderr and "damaged" in result.stderr
    assert refused > 20
