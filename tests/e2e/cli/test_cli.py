"""The command line: what it answers, what it refuses, and what it writes where."""

import json
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import subprocess
import time

import pytest

import xspace
from conftest import DATA, ROOT

MATMUL = DATA / "xplane" / "jax_matmul_h200.xplane.pb"
TEXT = ["--output-format", "summary-text"]
COMMANDS = ["inspect", "view", "info", "sql", "stats", "tool", "figures", "diff", "timeline", "convert", "recommend", "recover", "serve", "neff",
            "fleet", "capture", "nccom-test", "show-session", "xprof"]
CAPTURE_COMMANDS = [["view", *TEXT], ["info"]]
ESCAPE = "\x1b"


def test_the_version_is_one_line(kymo):
    name, version = kymo.ok("--version").split()
    assert kymo.ok("-v") == kymo.ok("view", "-v") == f"{name} {version}\n"
    assert name == "kymo"
    assert all(part.isdigit() for part in version.split("-")[0].split("."))


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_lists_every_command(kymo, word):
    text = kymo.ok(word)
    assert "usage: kymo COMMAND" in text
    for command in COMMANDS:
        assert f"\n  {command} " in text
    listed = text.split("commands:\n")[1].split("\n\n")[0].splitlines()
    assert len({len(re.match(r"  \S+ +", line)[0]) for line in listed}) == 1  # one column of descriptions


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_of_a_command_has_options_and_examples(kymo, command, word):
    text = kymo.ok(command, word)
    assert f"usage: kymo {command} " in text
    assert "--help" in text and "--log-level" in text
    examples = text.split("\nexamples:\n")[1].splitlines()
    assert len(examples) >= 2
    assert all(line.startswith(f"  kymo {command} ") for line in examples)


@pytest.mark.plain_build  # other tests run these commands
@pytest.mark.slow
def test_the_examples_use_options_that_exist(kymo, tmp_path):
    for command in COMMANDS:
        text = kymo.ok(command, "--help")
        folder = tmp_path / command  # some make directories that others name
        folder.mkdir()
        for line in text.split("\nexamples:\n")[1].splitlines():
            words = shlex.split(line.split("|")[0].split("<")[0])[2:]
            if command == "nccom-test":  # needs no files, but for one
                result = kymo.run(command, *words, "-n", 1, "-w", 0, cwd=folder)
                assert result.returncode == 0 or "pairs.json: cannot open" in result.stderr, result.stderr
                continue
            result = kymo.run(command, *words, cwd=folder, stdin=subprocess.DEVNULL)
            if command == "figures" and len(words) == 1:  # a definition needs no profile
                assert result.returncode == 0
                continue
            if command == "inspect":  # what it runs fails as it likes
                assert "with profiling enabled" in result.stderr and result.returncode != 0
                continue
            if command == "recover" and "nothing to recover" in result.stderr:  # an earlier example made the directory
                continue
            assert result.returncode == 1  # the captures and profiles are not there, the options are
            missing = ("No such file", "no profile", "influxdb not setup correctly", "nothing was captured")
            assert any(words in result.stderr for words in missing)


def test_without_arguments_the_usage_is_an_error(kymo):
    assert "usage: kymo COMMAND" in kymo.refuses(code=2)


@pytest.mark.parametrize(
    "arguments, complaint, nearest",
    [
        (["veiw"], "unknown command veiw", "view"),
        (["inof"], "unknown command inof", "info"),
        (["--versoin"], "unknown option --versoin", "--version"),
        (["view", "--output-fromat", "json"], "unknown option --output-fromat", "--output-format"),
        (["view", "--jbos=3", "x"], "unknown option --jbos=3", "--jobs"),
        (["view", "--hlep"], "unknown option --hlep", "--help"),
        (["info", "--jsno", "x"], "unknown option --jsno", "--json"),
        (["view", "x", "--output-format", "jsn"], "invalid value 'jsn' for --output-format", "json"),
        (["view", "x", "--output-format=summary-txt"], "'summary-txt'", "summary-text"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest(kymo, arguments, complaint, nearest):
    message = kymo.refuses(*arguments, code=2)
    assert complaint in message
    assert f"did you mean {nearest}?" in message


@pytest.mark.parametrize(
    "arguments", [["frobnicate"], ["view", "--frobnicate", "x"], ["view", "-Z", "x"]]
)
def test_a_word_that_is_near_nothing_gets_no_guess(kymo, arguments):
    message = kymo.refuses(*arguments, code=2)
    assert "unknown" in message and "--help" in message
    assert "did you mean" not in message


@pytest.mark.parametrize(
    "option", ["--output-file", "--output-format", "--top", "--jobs", "-d", "-j"]
)
def test_an_option_without_its_value_is_named(kymo, option):
    message = kymo.refuses("view", MATMUL, option, code=2)
    assert "needs a value" in message


def test_a_flag_takes_no_value(kymo):
    assert "takes no value" in kymo.refuses("view", MATMUL, "--json-pretty-print=yes", code=2)


@pytest.mark.parametrize("value", ["", "x", "3x", "-1", " -1", "1.5", "9" * 30, "0x"])
@pytest.mark.parametrize("option", ["--jobs", "--top"])
def test_a_bad_number_is_refused(kymo, option, value):
    message = kymo.refuses("view", MATMUL, f"{option}={value}", code=2)
    assert f"takes a number, not '{value}'" in message


@pytest.mark.parametrize("arguments", [["--ingest-only"], [MATMUL, "-d", DATA], ["-d", DATA, MATMUL]])
def test_view_wants_one_capture_as_path_or_directory(kymo, arguments):
    assert "one capture is needed" in kymo.refuses("view", *arguments, code=2)


def test_one_path_too_many_is_named(kymo):
    assert "unexpected argument: b" in kymo.refuses("view", "a", "b", code=2)
    assert "unexpected argument: b" in kymo.refuses("info", "a", "b", code=2)
    assert "missing argument: a file or directory" in kymo.refuses("info", code=2)


def test_words_behind_two_dashes_are_paths(kymo, tmp_path):
    (tmp_path / "--json").write_bytes(MATMUL.read_bytes())
    assert "/device:GPU:0" in kymo.ok("info", "--", "--json", cwd=tmp_path)


def test_options_may_be_joined_to_their_values_and_stand_anywhere(kymo):
    usual = kymo.ok("view", MATMUL, "--output-format", "summary-json", "--jobs", 3)
    assert kymo.ok("view", "-j3", "--output-format=summary-json", MATMUL) == usual


def test_an_output_file_has_what_standard_output_would_have(kymo, tmp_path):
    target = tmp_path / "out.json"
    arguments = ["view", MATMUL, "--output-format", "json"]
    assert kymo.ok(*arguments, "--output-file", target) == ""
    assert target.read_text() == kymo.ok(*arguments) == kymo.ok(*arguments, "--output-file", "-")
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


def test_a_new_output_file_has_the_usual_rights(kymo, tmp_path):
    target = tmp_path / "out.txt"
    mask = os.umask(0o027)
    try:
        kymo.ok("view", MATMUL, *TEXT, "--output-file", target)
    finally:
        os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o640


def test_an_output_file_replaces_the_old_one_and_keeps_its_rights(kymo, tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old" * 100000)
    target.chmod(0o600)
    kymo.ok("view", MATMUL, *TEXT, "--output-file", target)
    assert "old" not in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600


def test_an_output_file_behind_a_link_is_replaced_and_the_link_stays(kymo, tmp_path):
    target, link = tmp_path / "real.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    kymo.ok("view", MATMUL, *TEXT, "--output-file", link)
    assert link.is_symlink()
    assert target.read_text() != "old"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stopped_export_leaves_nothing_behind(kymo, tmp_path, number):
    """The capture comes from a directory that is large enough for the export to take a while."""
    session = tmp_path / "session"
    session.mkdir()
    data = MATMUL.with_name("jax_gpt_python_h200.xplane.pb").read_bytes()
    for i in range(40):
        (session / f"host{i}.xplane.pb").write_bytes(data)
    out = tmp_path / "out"
    out.mkdir()
    process = subprocess.Popen(
        [kymo.path, "view", session, "--output-format", "json", "--output-file", out / "x.json"],
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not list(out.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.001)
    process.send_signal(number)
    assert process.wait(60) == -number
    assert list(out.iterdir()) == []


def test_a_file_that_shrinks_while_it_is_read_is_an_error(kymo, tmp_path):
    """Cut between the two readings of an export, whose pages have left memory by then."""
    capture = tmp_path / "shrinking.xplane.pb"
    pipe = tmp_path / "pipe"
    capture.write_bytes(MATMUL.with_name("jax_gpt_python_h200.xplane.pb").read_bytes())
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [kymo.path, "view", capture, "--output-format", "json", "--output-file", pipe],
        stderr=subprocess.PIPE, text=True,
    )
    with open(pipe, "rb") as reader:
        reader.read(1)
        os.truncate(capture, 100)
        reader.read()
    _, message = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "truncated" in message or "changed" in message


@pytest.mark.parametrize("format", ["summary-text", "summary-json", "json"])
@pytest.mark.sanitized(cases=3)
def test_a_full_disk_is_an_error(kymo, format):
    arguments = ["view", MATMUL, "--output-format", format]
    message = kymo.refuses(*arguments, "--output-file", "/dev/full")
    assert "/dev/full" in message and "No space left on device" in message
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [kymo.path, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert result.returncode == 1
    assert "standard output" in result.stderr and "No space left on device" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["view", "--help"], ["info", MATMUL]]
)
def test_a_full_disk_is_an_error_for_short_answers_too(kymo, arguments):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [kymo.path, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert result.returncode == 1
    assert "No space left on device" in result.stderr


def test_output_into_a_directory_or_a_missing_one_is_an_error(kymo, tmp_path):
    message = kymo.refuses("view", MATMUL, *TEXT, "--output-file", tmp_path)
    assert str(tmp_path) in message and "is a directory" in message
    target = tmp_path / "missing" / "out.txt"
    message = kymo.refuses("view", MATMUL, *TEXT, "--output-file", target)
    assert str(target) in message and "No such file or directory" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ["json", "summary-json", "summary-text"])
def test_the_number_of_threads_does_not_change_a_byte(kymo, capture, format):
    arguments = ["view", capture, "--output-format", format]
    assert kymo.ok(*arguments, "--jobs", 1) == kymo.ok(*arguments, "--jobs", 7)


def many_streams():
    """Streams whose operations tie in every figure but the program they belong to."""
    space = xspace.XSpace()
    host = xspace.PlaneWriter(space, "/host:CPU", pid=1)
    calls = host.line("main")
    host.event(calls, "step", 0, 10**9, _r=1, step_num=1)
    for i in range(1, 5):
        host.event(calls, "launch", i * 10, 5, correlation_id=i)
    for device in range(4):
        writer = xspace.PlaneWriter(space, f"/device:GPU:{device}", pid=1)
        for stream in range(8):
            line = writer.line(f"Stream #{stream}(Compute)", id=stream)
            for i in range(1, 5):
                module = f"jit_{(device * 8 + stream) * 7919 % 32}"
                stats = {"hlo_op": "fusion", "hlo_module": module, "correlation_id": i}
                writer.event(line, "fusion", i * 1000 + device, 100, **stats)
    return space


def test_the_number_of_threads_does_not_change_the_order_of_equals(kymo, tmp_path):
    path = tmp_path / "x.xplane.pb"
    path.write_bytes(many_streams().SerializeToString())
    arguments = ["view", path, "--output-format", "summary-json"]
    alone = kymo.ok(*arguments, "--jobs", 1)
    for _ in range(30):
        assert kymo.ok(*arguments, "--jobs", 7) == alone


@pytest.mark.parametrize("modules_first", [True, False])
def test_operations_have_the_step_of_their_program_wherever_its_line_stands(
    kymo, tmp_path, modules_first
):
    space = xspace.XSpace()
    host = xspace.PlaneWriter(space, "/host:CPU", pid=1)
    calls = host.line("main")
    host.event(calls, "step", 0, 10**6, _r=1, step_num=1)
    host.event(calls, "launch", 10, 5, correlation_id=1)
    device = xspace.PlaneWriter(space, "/device:TPU:0", pid=1)
    for name in ["XLA Modules", "XLA Ops"][:: 1 if modules_first else -1]:
        line = device.line(name)
        if name == "XLA Modules":
            device.event(line, "module", 1000, 500, correlation_id=1)
        else:
            device.event(line, "operation", 1100, 100)
    path = tmp_path / "x.xplane.pb"
    path.write_bytes(space.SerializeToString())
    for jobs in (1, 4):
        events = kymo.document(path, "--jobs", jobs)["trace_events"]
        assert {e["name"]: e.get("step") for e in events} == dict.fromkeys(
            ["step", "launch", "module", "operation"], 0
        )


def shown_on_terminal(command, environment):
    """What a program writes to a terminal of its own."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], [str(word) for word in command], environment)
    shown, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return shown.decode(), os.waitstatus_to_exitcode(status)


@pytest.mark.parametrize("command", CAPTURE_COMMANDS)
def test_color_is_for_terminals_and_can_be_declined(kymo, command):
    plain = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
    arguments = [kymo.path, *command, MATMUL]
    assert ESCAPE not in kymo.ok(*command, MATMUL, env=plain)
    shown, code = shown_on_terminal(arguments, plain)
    assert code == 0
    assert f"{ESCAPE}[1m" in shown
    shown, code = shown_on_terminal(arguments, plain | {"NO_COLOR": "1"})
    assert code == 0
    assert "GPU:0" in shown and f"{ESCAPE}[1m" not in shown and f"{ESCAPE}[2m" not in shown


def test_messages_are_colored_on_terminals_only(kymo, tmp_path):
    plain = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    command = [kymo.path, "view", tmp_path / "gone"]
    assert ESCAPE not in kymo.refuses(*command[1:])
    shown, code = shown_on_terminal(command, plain)
    assert code == 1 and f"{ESCAPE}[31m" in shown
    shown, code = shown_on_terminal(command, plain | {"NO_COLOR": "1"})
    assert code == 1 and "gone" in shown and ESCAPE not in shown


@pytest.mark.parametrize("command", CAPTURE_COMMANDS)
def test_names_in_a_file_cannot_steer_the_terminal(kymo, tmp_path, command):
    evil = "\x1b]0;title\x07\x1b[2J"
    raw = [evil.encode()]
    space = xspace.XSpace(hostnames=raw, errors=raw, warnings=raw)
    for plane in ("/host:CPU", "/device:GPU:0", f"/host:{evil}"):
        writer = xspace.PlaneWriter(space, plane)
        for line in (f"main {evil}", f"Stream #1({evil})", "_counters_"):
            stats = {"hlo_op": evil, "hlo_module": evil, "_r": 1, "step_num": 1}
            writer.event(writer.line(line), f"event {evil}", 5, 10, value=1.0, **stats)
        writer.stat(writer.plane.stats, "jax_version", evil)
        writer.stat(writer.plane.stats, f"{evil}_version", evil)
        writer.stat(writer.plane.stats, "gpu_device_name", evil)
    path = tmp_path / "evil.xplane.pb"
    path.write_bytes(space.SerializeToString())
    text = kymo.ok(*command, path)
    assert [c for c in text if ord(c) < 0x20 and c != "\n"] == []


def test_a_reader_that_goes_away_ends_the_program_quietly(kymo):
    result = subprocess.run(
        f'"{kymo.path}" view "{MATMUL}" --output-format json | head -c 100 | wc -c',
        shell=True, capture_output=True, text=True, timeout=60,
    )
    assert result.stdout.strip() == "100"
    assert "Sanitizer" not in result.stderr and "Segmentation" not in result.stderr


@pytest.mark.parametrize("name", ["neuron-explorer", "neuron-profile"])
def test_the_compatible_names_are_the_same_program_under_another_name(kymo, name):
    link = pathlib.Path(kymo.path).resolve().parent / "compat" / name
    compatible = type(kymo)(link)
    assert compatible.ok("view", MATMUL, *TEXT) == kymo.ok("view", MATMUL, *TEXT)
    assert f"usage: {name} COMMAND" in compatible.ok("--help")
    assert f"Usage:\n  {name} [OPTIONS] view [view-OPTIONS] [PATH]\n" in compatible.ok("view", "--help")
    assert compatible.refuses("view", "--ingest-only", code=2).startswith(f"{name} view: ")
    assert compatible.refuses("veiw", code=2).startswith(f"{name}: unknown command")


# As the guides print it, but for neuron-profile's events over the limit: there new ones are not recorded, here old ones are dropped.
EVENTS = "Maximum number of trace events to capture when profiling. Once hitting this limit, old events are dropped"
USERSCRIPT = "Run command/script that launches a Neuron workload. E.g. 'python app.py' or './runscript.sh'"
INSPECT_HELP = {
    "neuron-profile": f"""\
Usage:
  neuron-profile [OPTIONS] inspect [inspect-OPTIONS] [userscript...]

Application Options:
  -v, --version                      Show version and exit

Help Options:
  -h, --help                         Show this help message

[inspect command options]
      -o, --output-dir=              Output directory for the captured profile data, including system and device profiles (default: ./output)
      -n, --num-trace-events=        {EVENTS}
          --capture-system-profiles  Disable capture of system profile data. Can reduce output size.
          --capture-device-profiles  Disable capture of device profile data. Can reduce output size.

[inspect command arguments]
  userscript:                        {USERSCRIPT}
""",
    "neuron-explorer": f"""\
Usage:
  neuron-explorer [OPTIONS] inspect [inspect-OPTIONS] [userscript...]

Application Options:
  -v, --version               Show version and exit

Help Options:
  -h, --help                  Show this help message

[inspect command options]
      -o, --output-dir=       Output directory for the inspection results (default: .)
      -n, --num-trace-events= {EVENTS}

[inspect command arguments]
  userscript:                 {USERSCRIPT}
""",
}


@pytest.mark.parametrize("name", INSPECT_HELP)
def test_the_help_of_inspect_is_that_of_the_guides_and_then_ours(kymo, name):
    compatible = type(kymo)(pathlib.Path(kymo.path).resolve().parent / "compat" / name)
    text = compatible.ok("inspect", "--help")
    assert text.startswith(INSPECT_HELP[name] + "\n[further options of Kymo]\n")
    named = re.compile(r"^ +(?:-\w, )?--([\w-]+)", re.M)
    assert sorted(named.findall(text)) == sorted(named.findall(kymo.ok("inspect", "--help")) + ["version"])


@pytest.mark.parametrize("format", ["json", "summary-json"])
def test_pretty_json_is_the_same_document_on_more_lines(kymo, capture, format):
    arguments = ["view", capture, "--output-format", format]
    dense, pretty = kymo.ok(*arguments), kymo.ok(*arguments, "--json-pretty-print")
    assert json.loads(dense) == json.loads(pretty)
    assert dense.count("\n") == 1 < pretty.count("\n")


def test_the_summary_counts_what_the_document_has(kymo, capture):
    document = kymo.document(capture)
    summary = kymo.json("view", capture, "--output-format", "summary-json")
    for key in ("format", "start_epoch_ns", "stop_epoch_ns", "event_count", "hosts", "messages"):
        assert summary[key] == document[key]
    assert summary["steps"]["count"] == len(document["steps"])
    assert summary["program_count"] == len(document["programs"])
    kinds = [flow["kind"] for flow in document["flows"]]
    assert summary["flows"] == {kind: kinds.count(kind) for kind in ("launch", "context")}


def same_counts(info, document):
    events = {}
    for event in document["trace_events"]:
        events.setdefault(event["track"], []).append(event)
    planes = [t for t in document["tracks"] if t["level"] == "source"]
    assert info["event_count"] == len(document["trace_events"])
    assert info["step_count"] == len(document["steps"])
    assert info["program_count"] == len(document["programs"])
    assert [p["name"] for p in info["planes"]] == [p["name"] for p in planes]
    for shown, plane in zip(info["planes"], planes):
        lanes = [t for t in document["tracks"] if t.get("parent") == plane["track"]]
        assert shown["line_count"] == len(lanes)
        assert shown["event_count"] == sum(len(events.get(t["track"], ())) for t in lanes)
        assert shown["process_id"] == document["tracks"][plane["parent"]]["id"]
        for line, lane in zip(shown["lines"], lanes, strict=True):
            own = events.get(lane["track"], [])
            timed = [e for e in own if "start_ps" in e]
            assert line["name"] == lane.get("display_name", lane["name"])
            assert line["event_count"] == len(own) == lane["event_count"]
            assert line.get("first_event_ps") == min((e["start_ps"] for e in timed), default=None)
            ends = [e["start_ps"] + max(e["duration_ps"], 0) for e in timed]
            assert line.get("last_event_ps") == max(ends, default=None)


def test_info_counts_what_the_document_has(kymo, capture):
    same_counts(kymo.json("info", "--json", capture), kymo.document(capture))


def test_info_gives_no_times_to_a_line_whose_events_have_none(kymo, tmp_path):
    space = xspace.XSpace()
    writer = xspace.PlaneWriter(space, "/host:CPU")
    event = writer.event(writer.line("sums"), "many", 0, 70)
    event.num_occurrences = 12
    writer.event(writer.line("timed"), "one", 5, 7)
    path = tmp_path / "x.xplane.pb"
    path.write_bytes(space.SerializeToString())
    same_counts(kymo.json("info", "--json", path), kymo.document(path))
    text = kymo.ok("info", path)
    (plane,) = [line for line in text.splitlines() if line.split()[:1] == ["/host:CPU"]]
    assert plane.split()[-4:] == ["5.00", "ps", "12.0", "ps"]
    (sums,) = [line for line in text.splitlines() if line.split()[:1] == ["sums"]]
    assert sums.split()[-1] == "1" and "ps" not in sums.split()  # the count is last


def test_device_profiles_of_others_are_not_read_and_it_is_said(kymo, tmp_path):
    for name in ("model.neff", "profile.ntff"):
        (tmp_path / name).write_bytes(b"\x01\x02\x03" * 100)
    for neff in ((), ("-n", tmp_path / "model.neff")):
        result = kymo.run("view", *neff, "-s", tmp_path / "profile.ntff")
        assert result.returncode == 1 and "profile.ntff" in result.stderr
        assert "reads device profiles (NTFF) made with its own runtime" in result.stderr


def test_what_is_no_ntff_beside_a_neff_is_named(kymo, tmp_path):
    neff, empty = DATA / "neff" / "model.neff", tmp_path / "empty.ntff"
    empty.touch()
    for path, message in ((empty, "the file is empty"), (neff, "name its profile instead, an NTFF file"),
                          (DATA / "xplane" / "jax_gpt_python_h200.xplane.pb", "this is not an NTFF file"),
                          (tmp_path / "missing", "No such file")):
        result = kymo.run("view", "-n", neff, "-s", path)
        assert result.returncode == 1 and str(path) in result.stderr and message in result.stderr


def test_the_example_of_the_readme_is_what_the_program_prints(kymo):
    listing = re.search(r"^\$ kymo view (\S+) .*--top 4\n(.*?)…$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert kymo.ok("view", ROOT / listing[1], "--top", "4", "--output-format", "summary-text").startswith(listing[2])
