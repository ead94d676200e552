"""Where processed profiles go, and what is left when writing one fails, is stopped, is killed at
any moment, or meets another writer: the old profile or the new one, whole, and nothing else."""

import concurrent.futures
import contextlib
import hashlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import pyarrow.parquet
import pytest

import random_space
import xspace
from conftest import DATA
from server import Server
from wire import block, packed

MATMUL = DATA / "xplane" / "jax_matmul_h200.xplane.pb"
READY = re.compile(r'Profile "(.*)" is ready to view\n')
ALWAYS = {"SystemProfileEvents", "SystemProfileMetadata", "Metadata", "SchemaFields"}
ALWAYS |= {"EventType", "Track"}


# Captures and profiles


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """Two small captures, and a large one that takes a quarter of a second and more."""
    folder = tmp_path_factory.mktemp("captures")
    contents = {"one": small_capture(1), "two": small_capture(2), "large": large_capture()}
    for name, content in contents.items():
        (folder / f"{name}.xplane.pb").write_bytes(content)
    return {name: folder / f"{name}.xplane.pb" for name in contents}


def small_capture(seed):
    return random_space.make(seed).SerializeToString()


def large_capture(lanes=8, repeats=12):
    """A fifth of a million kernels with args of all kinds; each lane has the same ones again."""
    space = xspace.XSpace()
    plane = xspace.PlaneWriter(space, "/device:GPU:0", pid=1)
    types = [plane.event_id(f"kernel {number}") for number in range(100)]
    keys = [plane.stat_id(name) for name in ("kernel_details", "correlation_id", "label")]
    shape = "static_shared:0 dynamic_shared:0 grid:8192,1,1 block:128,1,1 occ_pct:100"
    details = [plane.stat_id(f"regs:{number} {shape}") for number in range(20)]
    events = b""
    for number in range(2000):
        scattered = number * 7919 % 99_991
        event = packed(1, types[scattered % 100])
        event += packed(2, number * 1_000_003 + scattered) + packed(3, scattered * 10)
        event += block(4, packed(1, keys[0]) + packed(7, details[scattered % 20]))
        event += block(4, packed(1, keys[1]) + packed(4, scattered + 1))
        event += block(4, packed(1, keys[2]) + packed(5, f"text {scattered}"))
        events += block(4, event)
    lines = b"".join(
        block(3, packed(1, lane) + packed(2, f"Stream #{lane}(x)") + events * repeats)
        for lane in range(lanes)
    )
    return block(1, plane.plane.SerializeToString() + lines) + block(4, b"host")


LARGE_EVENTS = 8 * 12 * 2000


def contents(profile):
    """{name of a file: hash of what is in it}"""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in profile.iterdir()
    }


def assert_sound(kymo, profile, events=None):
    """Every file is there and can be read to its end."""
    tables = {path.stem for path in profile.glob("*.parquet")}
    assert ALWAYS <= tables
    names = {f"{table}.parquet" for table in tables} | {"timeline.kymo", "summary.json"}
    assert {path.name for path in profile.iterdir()} == names
    rows = {t: pyarrow.parquet.read_table(profile / f"{t}.parquet").num_rows for t in tables}
    shown = kymo.json("timeline", profile, "--width", 1)["tracks"]
    count = sum(track["event_count"] for track in shown if track["table"] == "SystemProfileEvents")
    assert count == rows["SystemProfileEvents"]
    assert events is None or events == rows["SystemProfileEvents"]


class Workspace:
    """A data path, and the profiles in it."""

    def __init__(self, kymo, path):
        self.kymo, self.path = kymo, path
        self.profiles = path / "profiles" / "global"

    def arguments(self, capture, name=None, *more):
        named = ["--display-name", name] if name else []
        return ["view", capture, "--data-path", self.path, "--ingest-only", *named, *more]

    def ingest(self, capture, name=None, *more):
        out = self.kymo.ok(*self.arguments(capture, name, *more))
        [ready] = READY.findall(out)
        return self.profiles / f"{ready}@latest"

    def start(self, capture, name=None, *more):
        command = [self.kymo.path, *self.arguments(capture, name, *more)]
        return subprocess.Popen(
            list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def entries(self):
        return sorted(os.listdir(self.profiles)) if self.profiles.exists() else []

    def hidden(self):
        return [name for name in self.entries() if name.startswith(".")]


@pytest.fixture
def workspace(kymo, tmp_path):
    return Workspace(kymo, tmp_path / "data")


# Names


def test_a_profile_nobody_named_has_a_name_made_from_its_content(workspace, captures, tmp_path):
    profile = workspace.ingest(captures["one"])
    assert re.fullmatch(r"s_[0-9a-f]{40}@latest", profile.name)
    assert_sound(workspace.kymo, profile)
    copy = shutil.copy(captures["one"], tmp_path / "under another name.xplane.pb")
    elsewhere = Workspace(workspace.kymo, tmp_path / "elsewhere")
    assert elsewhere.ingest(copy).name == profile.name
    assert elsewhere.ingest(captures["two"]).name != profile.name


def test_one_byte_makes_another_name(workspace, captures, tmp_path):
    content = captures["one"].read_bytes()
    names = {workspace.ingest(captures["one"]).name}
    for seed in range(5):
        changed = tmp_path / f"{seed}.xplane.pb"
        changed.write_bytes(content + block(3, b"warning %d" % seed))
        names.add(workspace.ingest(changed).name)
    assert len(names) == 6


def test_a_capture_is_processed_once(workspace, captures):
    profile = workspace.ingest(captures["one"])
    before, stamp = contents(profile), profile.stat().st_ino
    result = workspace.kymo.run(*workspace.arguments(captures["one"]))
    assert result.returncode == 0
    assert "already processed; use --force to process it again" in result.stderr
    assert READY.fullmatch(result.stdout)
    assert contents(profile) == before and profile.stat().st_ino == stamp
    result = workspace.kymo.run(*workspace.arguments(captures["one"], None, "--force"))
    assert result.returncode == 0 and result.stderr == ""
    assert profile.stat().st_ino != stamp
    assert contents(profile).keys() == before.keys()
    assert workspace.entries() == [profile.name]


def test_what_was_processed_before_is_shown_all_the_same(workspace, captures):
    arguments = [a for a in workspace.arguments(captures["one"]) if a not in ("view", "--ingest-only")]
    said = []
    for _ in range(2):
        server = Server(workspace.kymo, *arguments)
        server.stop()
        said.append(re.sub(r"localhost:\d+", "localhost", server.said))
    assert said[0] == said[1] and "events over" in said[0]


def test_a_profile_has_the_name_it_is_given(workspace, captures):
    profile = workspace.ingest(captures["one"], "gpt 2 größe")
    assert workspace.entries() == ["gpt 2 größe@latest"]
    [row] = pyarrow.parquet.read_table(profile / "Metadata.parquet").to_pylist()
    assert row["profile_name"] == "gpt 2 größe"
    found = workspace.kymo.json("timeline", "gpt 2 größe", "--data-path", workspace.path)
    assert found["tracks"]


def test_a_taken_name_is_refused_before_the_work(workspace, captures):
    profile = workspace.ingest(captures["one"], "gpt")
    before = contents(profile)
    for capture in (captures["two"], "no such capture"):
        message = workspace.kymo.refuses(*workspace.arguments(capture, "gpt"))
        assert f"{profile}: already exists; use --force to replace it" in message
    assert contents(profile) == before
    workspace.ingest(captures["two"], "gpt", "--force")
    assert contents(profile) != before
    assert_sound(workspace.kymo, profile)
    assert workspace.entries() == ["gpt@latest"]


NO_NAMES = ["", "a/b", "/", "..", ".", ".x", "a@b", "@", "gpt@latest", "x" * 201, "x" * 300]


@pytest.mark.parametrize("name", NO_NAMES)
def test_names_that_cannot_be_are_refused_before_the_work(workspace, name):
    message = workspace.kymo.refuses(
        "view", "no such capture", "--data-path", workspace.path, "--display-name", name
    )
    assert "name" in message and "no such capture" not in message
    assert not workspace.path.exists()


def test_the_longest_name_works(workspace, captures):
    name = "n" * 200
    assert_sound(workspace.kymo, workspace.ingest(captures["one"], name))
    workspace.ingest(captures["two"], name, "--force")
    assert workspace.entries() == [f"{name}@latest"]


# Places


def environment(**values):
    kept = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_DATA_HOME")}
    return kept | {key: str(value) for key, value in values.items()}


def test_without_a_home_the_user_is_asked_for_a_place(kymo, captures):
    for arguments in (["--display-name", "x"], []):
        result = kymo.run("view", captures["one"], *arguments, env=environment())
        assert result.returncode == 1 and result.stdout == ""
        assert "--data-path" in result.stderr


def test_profiles_go_to_the_usual_place_for_data(kymo, captures, tmp_path):
    home, data = tmp_path / "home", tmp_path / "xdg"
    arguments = ["view", captures["one"], "--display-name", "x", "--ingest-only"]
    kymo.ok(*arguments, env=environment(HOME=home))
    assert_sound(kymo, home / ".local/share/kymo/profiles/global/x@latest")
    kymo.ok(*arguments, env=environment(HOME=tmp_path / "not used", XDG_DATA_HOME=data))
    assert_sound(kymo, data / "kymo/profiles/global/x@latest")
    assert not (tmp_path / "not used").exists()
    relative = environment(HOME=home, XDG_DATA_HOME="relative")
    kymo.ok(*arguments, "--force", env=relative, cwd=tmp_path)
    assert not (tmp_path / "relative").exists()


@pytest.mark.parametrize("place", ["file", "file/below", "/proc", "/dev/null", "/proc/1/none"])
def test_a_data_path_that_cannot_be_is_an_error_with_the_path(kymo, captures, tmp_path, place):
    (tmp_path / "file").write_text("mine")
    place = tmp_path / place
    message = kymo.refuses("view", captures["one"], "--data-path", place, "--ingest-only")
    assert str(place).split("/below")[0] in message
    assert "cannot create directory" in message
    assert (tmp_path / "file").read_text() == "mine"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("spelling", ["out", "out/", "out//", "./out", "new/deeper/out", "o.u.t"])
def test_a_profile_goes_to_a_directory_on_request(kymo, captures, tmp_path, spelling):
    out = kymo.ok("view", captures["one"], "--output-file", spelling, "--ingest-only", cwd=tmp_path)
    assert out == f'Profile "{spelling}" is ready to view\n'
    assert_sound(kymo, tmp_path / spelling)
    assert len(os.listdir((tmp_path / spelling).parent)) == 1


def test_a_directory_that_is_there_is_replaced_only_by_force(kymo, captures, tmp_path):
    out = tmp_path / "out"
    arguments = ["--output-file", out, "--ingest-only"]
    kymo.ok("view", captures["one"], *arguments)
    before = contents(out)
    for capture in (captures["two"], "no such capture"):
        message = kymo.refuses("view", capture, *arguments)
        assert f"{out}: already exists; use --force to replace it" in message
    assert contents(out) == before
    kymo.ok("view", captures["two"], *arguments, "--force")
    assert_sound(kymo, out)
    assert contents(out) != before and os.listdir(tmp_path) == ["out"]


def test_a_file_in_the_place_of_the_directory_is_never_replaced(kymo, captures, tmp_path):
    out = tmp_path / "out"
    out.write_text("mine")
    for force in ([], ["--force"]):
        arguments = ["--output-file", out, "--ingest-only", *force]
        message = kymo.refuses("view", captures["one"], *arguments)
        assert str(out) in message and "already exists" in message
    assert out.read_text() == "mine" and os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("kept", ["one.tex", "chapters/one.tex", "measured.parquet"])
def test_a_directory_that_is_no_profile_is_never_replaced(kymo, captures, tmp_path, kept):
    """--force is for profiles; whoever mistypes a path does not lose what is there."""
    kept = tmp_path / "thesis" / kept
    kept.parent.mkdir(parents=True)
    kept.write_text("years of work")
    result = kymo.run(
        "view", captures["one"], "--output-file", tmp_path / "thesis", "--ingest-only", "--force"
    )
    assert kept.exists() and kept.read_text() == "years of work"
    assert result.returncode == 1 and "is not a profile" in result.stderr
    assert os.listdir(tmp_path) == ["thesis"]


@pytest.mark.parametrize("place", [".", "..", "/", ""])
def test_places_that_cannot_be_replaced_are_an_error(kymo, captures, tmp_path, place):
    inside = tmp_path / "inside"
    inside.mkdir()
    result = kymo.run(
        "view", captures["one"], "--output-file", place, "--ingest-only", "--force", cwd=inside
    )
    assert result.returncode in (1, 2) and result.stdout == ""
    assert os.listdir(tmp_path) == ["inside"] and os.listdir(inside) == []
    assert not [name for name in os.listdir("/") if name.endswith((".partial", ".lock"))]


def test_an_empty_data_path_is_an_error_and_not_the_root(kymo, captures):
    assert not os.path.exists("/profiles")
    try:
        result = kymo.run("view", captures["one"], "--data-path", "", "--ingest-only")
        assert result.returncode in (1, 2)
        assert not os.path.exists("/profiles")
    finally:
        shutil.rmtree("/profiles", ignore_errors=True)


def test_a_new_profile_has_the_usual_rights(kymo, captures, tmp_path):
    mask = os.umask(0o027)
    try:
        kymo.ok("view", captures["one"], "--output-file", tmp_path / "out", "--ingest-only")
    finally:
        os.umask(mask)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750
    assert {p.stat().st_mode & 0o777 for p in (tmp_path / "out").iterdir()} == {0o640}


@pytest.mark.parametrize("format", ["json", "summary-json", "summary-text"])
@pytest.mark.parametrize(
    "options", [["--display-name", "x"], ["--data-path", "x"], ["--force"], ["--ingest-only"]]
)
def test_options_for_profiles_do_not_go_with_documents(kymo, captures, format, options):
    message = kymo.refuses("view", captures["one"], "--output-format", format, *options, code=2)
    assert f"{options[0]} requires --output-format parquet" in message


@pytest.mark.parametrize("options", [["--display-name", "x"], ["--data-path", "x"]])
def test_a_directory_on_request_has_no_other_place_or_name(kymo, captures, tmp_path, options):
    message = kymo.refuses(
        "view", captures["one"], "--output-file", tmp_path / "out", *options, code=2
    )
    assert "--output-file" in message and options[0] in message
    assert os.listdir(tmp_path) == []


def test_a_capture_that_is_refused_leaves_nothing_behind(workspace, captures, tmp_path):
    profile = workspace.ingest(captures["one"], "gpt")
    before = contents(profile)
    cut = tmp_path / "cut.xplane.pb"
    cut.write_bytes(captures["two"].read_bytes()[:-3])
    workspace.kymo.refuses(*workspace.arguments(cut, "gpt", "--force"))
    workspace.kymo.refuses(*workspace.arguments(cut, "other"))
    assert contents(profile) == before and workspace.entries() == ["gpt@latest"]


# Stopped and killed


def check_after(workspace, old, what):
    """The old profile as it was, the new one whole, or, where there was none, none."""
    profile = workspace.profiles / "gpt@latest"
    if not profile.exists():
        assert old is None, what
        return "none"
    if old is not None and contents(profile) == old:
        return "old"
    assert_sound(workspace.kymo, profile, LARGE_EVENTS)
    return "new"


def stop_at_moments(workspace, captures, number, moments, seed):
    """Starts the large one and stops it, at moments spread over its whole run; what was left each
    time, before and after the next run of another profile."""
    rng = random.Random(seed)
    started = time.monotonic()
    workspace.ingest(captures["large"], "gpt", "-j", 2)
    full = time.monotonic() - started
    profile = workspace.profiles / "gpt@latest"
    outcomes, leftovers, codes = [], [], set()
    for moment in range(moments):
        old = None
        shutil.rmtree(workspace.profiles, ignore_errors=True)
        if moment % 2:
            old = contents(workspace.ingest(captures["one"], "gpt"))
        process = workspace.start(captures["large"], "gpt", "--force", "-j", 2)
        if moment + 1 == moments:
            process.wait()
        elif moment > 1:  # at first at once: `full` may be far off on a busy machine
            time.sleep(full * (moment + rng.random()) / moments)
        process.send_signal(number)
        message = process.communicate()[1]
        codes.add(process.returncode)
        assert process.returncode in (0, -number), message
        outcomes.append(check_after(workspace, old, f"after {moment} of {moments}"))
        leftovers.append(workspace.hidden())
        kept = contents(profile) if profile.exists() else None
        workspace.ingest(captures["one"], "other")
        assert workspace.hidden() == [], "what a killed writer left, the next one removes"
        assert kept == (contents(profile) if profile.exists() else None), "the next one changed it"
    assert codes == {0, -number}
    return outcomes, leftovers


@pytest.mark.plain_build
@pytest.mark.slow
def test_killed_at_any_moment_there_is_the_old_profile_or_the_new_one(workspace, captures):
    """Between which steps it can be killed, the tests of faults try; here it is in the midst of them, too."""
    outcomes, leftovers = stop_at_moments(workspace, captures, signal.SIGKILL, 15, 1)
    assert {"none", "old", "new"} == set(outcomes)
    assert any(leftovers)  # it was killed while it wrote


@pytest.mark.plain_build
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_at_any_moment_there_is_the_old_profile_or_the_new_one(workspace, captures, number):
    outcomes, _ = stop_at_moments(workspace, captures, number, 5, number)
    assert {"none", "old", "new"} == set(outcomes)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_writer_that_is_told_to_stop_removes_what_it_made_so_far(workspace, captures, number):
    for _ in range(20):
        process = workspace.start(captures["large"], "gpt", "-j", 2)
        while process.poll() is None and ".gpt@latest.partial" not in workspace.hidden():
            time.sleep(0.001)
        process.send_signal(number)
        process.communicate()
        if process.returncode == -number:
            break
        shutil.rmtree(workspace.profiles)
    assert process.returncode == -number
    assert workspace.entries() == []


LEFT_BEHIND = [".gone@latest.partial", ".gone@latest.replaced", ".gone@latest.lock", ".17.removed"]


@pytest.mark.parametrize("left", [*([name] for name in LEFT_BEHIND), LEFT_BEHIND], ids=str)
def test_the_next_writer_removes_what_one_that_was_killed_left(workspace, captures, left):
    """A writer can be killed between any two steps, also when only the lock is left to remove."""
    workspace.profiles.mkdir(parents=True)
    for name in left:
        if name.endswith(".lock"):
            (workspace.profiles / name).touch()
        else:
            (workspace.profiles / name).mkdir()
            (workspace.profiles / name / "Track.parquet.Xa51fG").write_bytes(b"half")
    workspace.ingest(captures["one"], "gpt")
    assert workspace.entries() == ["gpt@latest"]


def test_what_is_not_left_by_a_writer_is_not_removed(workspace, captures):
    workspace.profiles.mkdir(parents=True)
    for name in (".notes", "x.partial", "x.lock", "old@latest"):
        (workspace.profiles / name).mkdir()
        (workspace.profiles / name / "file").write_text("mine")
    before = workspace.entries()
    workspace.ingest(captures["one"], "gpt")
    assert workspace.entries() == sorted([*before, "gpt@latest"])
    assert all((workspace.profiles / name / "file").read_text() == "mine" for name in before)


# Faults: a library between the program and libc counts the calls that change the file system, and
# at one of them fails or kills the program.

FAULTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int calls;

static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

/* Whether the call is to fail. */
static int fault(const char *name)
{
    int at = atomic_fetch_add(&calls, 1);
    const char *log = getenv("FAULTS_LOG");
    if (log) {
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
        dprintf(fd, "%s\n", name);
        close(fd);
    }
    if (at == number("FAULTS_KILL"))
        kill(getpid(), SIGKILL);
    if (at == number("FAULTS_FAIL")) {
        errno = number("FAULTS_ERROR");
        return 1;
    }
    return 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int mkdir(const char *path, mode_t mode) { return fault("mkdir") ? -1 : NEXT(mkdir)(path, mode); }
int flock(int fd, int operation);
int flock(int fd, int operation) { return fault("flock") ? -1 : NEXT(flock)(fd, operation); }
int mkostemp(char *path, int flags) { return fault("mkostemp") ? -1 : NEXT(mkostemp)(path, flags); }
int fsync(int fd) { return fault("fsync") ? -1 : NEXT(fsync)(fd); }
int unlink(const char *path) { return fault("unlink") ? -1 : NEXT(unlink)(path); }
int rmdir(const char *path) { return fault("rmdir") ? -1 : NEXT(rmdir)(path); }
int unlinkat(int fd, const char *path, int flags)
{
    return fault("unlinkat") ? -1 : NEXT(unlinkat)(fd, path, flags);
}
int rename(const char *from, const char *to)
{
    struct stat status;
    int of_profile = stat(from, &status) == 0 && S_ISDIR(status.st_mode);
    return fault(of_profile ? "rename a profile" : "rename") ? -1 : NEXT(rename)(from, to);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    if (getenv("FAULTS_PLAIN")) { /* a file system that knows no flags */
        errno = EINVAL;
        return -1;
    }
    return fault("renameat2") ? -1 : NEXT(renameat2)(a, from, b, to, flags);
}
ssize_t write(int fd, const void *data, size_t size)
{
    if (fd <= STDERR_FILENO)
        return NEXT(write)(fd, data, size);
    return fault("write") ? -1 : NEXT(write)(fd, data, size);
}
"""
# Calls that come once for each file; a few of them are enough.
OF_EACH_FILE = {"mkostemp", "fsync", "rename", "write"}
# Calls without which things cannot be removed.
REMOVING = {"flock", "unlink", "unlinkat", "rmdir"}
EIO = 5


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    """Environments in which the library is there."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("faults")
    source, library = folder / "faults.c", folder / "faults.so"
    source.write_text(FAULTS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    base = os.environ | {"LD_PRELOAD": str(library), "ASAN_OPTIONS": sanitizer}
    return lambda **values: base | {f"FAULTS_{k.upper()}": str(v) for k, v in values.items()}


class FaultyRuns:
    """The same small ingest again and again, each time in a workspace of its own."""

    def __init__(self, kymo, captures, faults, folder, replace, plain):
        self.kymo, self.captures, self.faults, self.folder = kymo, captures, faults, folder
        self.replace = replace
        self.always = {"plain": 1} if plain else {}

    def prepare(self, name):
        workspace = Workspace(self.kymo, self.folder / name)
        old = None
        if self.replace:
            old = contents(workspace.ingest(self.captures["two"], "gpt"))
        return workspace, old

    def run(self, workspace, **fault):
        arguments = workspace.arguments(self.captures["one"], "gpt", "--force", "-j", 1)
        return self.kymo.run(*arguments, env=self.faults(**self.always, **fault))

    def calls(self):
        workspace, _ = self.prepare("counted")
        log = self.folder / "log"
        result = self.run(workspace, log=log)
        assert result.returncode == 0, result.stderr
        assert_sound(self.kymo, workspace.profiles / "gpt@latest")
        return log.read_text().split("\n")[:-1]

    def points(self, calls):
        """Numbers of the calls to try: all that are rare, some of those that are not."""
        rng = random.Random(len(calls))
        rare = [i for i, name in enumerate(calls) if name not in OF_EACH_FILE]
        if len(rare) > 30:
            rare = rare[:8] + rng.sample(rare[8:-8], 14) + rare[-8:]
        others = [i for i, name in enumerate(calls) if name in OF_EACH_FILE]
        return sorted({*rare, *rng.sample(others, 12), *others[-2:]})

    def all(self, check):
        """What check says about each call; it raises what it does not like."""
        calls = self.calls()
        assert len(calls) > 40
        problems = []

        def checked(at):
            try:
                return check(at, calls[at])
            except AssertionError as problem:
                problems.append(f"call {at}, {calls[at]}: {problem}")

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            outcomes = set(pool.map(checked, self.points(calls)))
        assert not problems, "\n".join(problems)
        return outcomes


@pytest.mark.slow
@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
def test_killed_between_any_two_steps_there_is_the_old_profile_or_the_new_one(
    kymo, captures, faults, tmp_path, replace
):
    runs = FaultyRuns(kymo, captures, faults, tmp_path, replace, plain=False)

    def check(at, name):
        workspace, old = runs.prepare(f"kill{at}")
        assert runs.run(workspace, kill=at).returncode == -signal.SIGKILL
        profile = workspace.profiles / "gpt@latest"
        assert profile.exists() or not replace, "the old profile is gone"
        if profile.exists() and contents(profile) != old:
            assert_sound(kymo, profile)
        workspace.ingest(captures["two"], "other")
        assert workspace.hidden() == [], "left behind after the next run"
        return profile.exists()

    assert True in runs.all(check)


@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
@pytest.mark.parametrize("plain", [False, True], ids=["usual", "plain"])
def test_whatever_fails_the_old_profile_stays_or_the_new_one_is_whole(
    kymo, captures, faults, tmp_path, replace, plain
):
    """On a plain file system names cannot be exchanged; a failure must not lose a profile there."""
    runs = FaultyRuns(kymo, captures, faults, tmp_path, replace, plain)

    def check(at, name):
        workspace, old = runs.prepare(f"fail{at}")
        result = runs.run(workspace, fail=at, error=EIO)
        profile = workspace.profiles / "gpt@latest"
        if result.returncode == 0:
            assert contents(profile) != old, "nothing was written"
            assert_sound(kymo, profile)
        else:
            assert result.returncode == 1 and "Input/output error" in result.stderr, result.stderr
            kept = contents(profile) if profile.exists() else None
            assert kept == old, "it is not as it was"
        if name not in REMOVING:
            assert workspace.hidden() == [], "left behind"
        return result.returncode

    assert runs.all(check) == {0, 1}


# Full disks


def is_left_as_it_was(workspace, old):
    assert workspace.entries() == (["gpt@latest"] if old else [])
    assert old is None or contents(workspace.profiles / "gpt@latest") == old


@pytest.fixture
def small_disk(tmp_path):
    """Mounts a disk of so many kilobytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = []

    def mount(kilobytes):
        result = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", disk], capture_output=True
        )
        if result.returncode != 0:
            pytest.skip("mounting is not allowed here")
        mounted.append(disk)
        return disk

    yield mount
    for _ in mounted:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("kilobytes", [64, 256, 512, 1024, 1536])
@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
def test_a_full_disk_is_an_error_that_leaves_things_as_they_were(
    kymo, captures, small_disk, kilobytes, replace
):
    workspace = Workspace(kymo, small_disk(kilobytes) / "data")
    old = None
    if replace and kilobytes > 200:
        old = contents(workspace.ingest(captures["one"], "gpt"))
    message = kymo.refuses(*workspace.arguments(captures["large"], "gpt", "--force"))
    assert "No space left on device" in message
    assert re.search(r"/[A-Za-z]+\.(parquet|kymo|json): cannot write", message)
    is_left_as_it_was(workspace, old)
    if kilobytes > 400:  # there is room again
        assert_sound(kymo, workspace.ingest(captures["two"], "gpt", "--force"))


def limit_files(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 100, 3000, 20_000, 100_000, 1_000_000])
def test_a_limit_on_the_size_of_files_is_an_error_that_leaves_things_as_they_were(
    workspace, captures, size
):
    """With SIGXFSZ ignored, as by nohup-like wrappers, so that writing fails and nothing worse."""
    old = contents(workspace.ingest(captures["one"], "gpt"))
    for name, before in (("gpt", old), ("new", None)):
        result = workspace.kymo.run(
            *workspace.arguments(captures["large"], name, "--force"),
            preexec_fn=limit_files(size), restore_signals=False,
        )  # fmt: skip
        assert result.returncode == 1 and result.stdout == ""
        assert "File too large" in result.stderr
        assert re.search(r"/[A-Za-z]+\.(parquet|kymo|json): cannot write", result.stderr)
        is_left_as_it_was(workspace, old)


def test_a_limit_on_the_size_of_files_does_not_kill_the_writer(workspace, captures):
    """`ulimit -f` in a shell: the signal that comes with it has its usual effect."""
    result = workspace.kymo.run(
        *workspace.arguments(captures["large"], "gpt"), preexec_fn=limit_files(100_000)
    )
    assert result.returncode == 1 and "File too large" in result.stderr
    assert workspace.entries() == []


@pytest.mark.parametrize("files", [8, 12, 16, 20, 24])
def test_too_few_open_files_are_an_error_that_leaves_nothing_behind(workspace, captures, files):
    result = workspace.kymo.run(
        *workspace.arguments(captures["one"], "gpt"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
    )
    assert result.returncode in (0, 1)
    if result.returncode == 1:
        assert "Too many open files" in result.stderr
        assert workspace.entries() == []
    else:
        assert_sound(workspace.kymo, workspace.profiles / "gpt@latest")


# Several at a time

BUSY = "is being written by another process"
TAKEN = "already exists; use --force to replace it"
MANY = 8_000


@pytest.mark.slow
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["new", "force"])
def test_of_two_writers_of_one_name_one_wins_and_the_other_says_so(workspace, captures, force):
    rng = random.Random(len(force))
    seen = set()
    for _ in range(4):
        if not force:
            shutil.rmtree(workspace.profiles, ignore_errors=True)
        writers = []
        for _ in range(2):
            writers.append(workspace.start(captures["large"], "gpt", *force))
            time.sleep(rng.choice([0, rng.random() * 0.3]))
        messages = [writer.communicate()[1] for writer in writers]
        codes = [writer.returncode for writer in writers]
        assert 0 in codes and set(codes) <= {0, 1}, messages
        for code, message in zip(codes, messages):
            assert (code == 0) == (message == "")
            assert code == 0 or BUSY in message or not force and TAKEN in message
            seen.add(code)
        assert workspace.entries() == ["gpt@latest"]
        assert_sound(workspace.kymo, workspace.profiles / "gpt@latest", LARGE_EVENTS)
    assert force or seen == {0, 1}


def test_a_name_that_is_being_written_is_refused(workspace, captures):
    first = workspace.start(captures["large"], "gpt")
    while not workspace.entries():
        assert first.poll() is None
        time.sleep(0.001)
    first.send_signal(signal.SIGSTOP)
    second = workspace.start(captures["one"], "gpt", "--force")
    message = second.communicate()[1]
    first.send_signal(signal.SIGCONT)
    assert first.wait() == 0
    assert second.returncode == 1 and BUSY in message
    assert_sound(workspace.kymo, workspace.profiles / "gpt@latest", LARGE_EVENTS)


@pytest.mark.slow
def test_writers_of_ten_names_do_not_disturb_each_other(workspace, captures):
    names = [f"run {number}" for number in range(10)]
    for force in ([], ["--force"]):
        writers = [workspace.start(captures["one"], name, *force) for name in names]
        for writer in writers:
            assert (writer.communicate()[1], writer.returncode) == ("", 0)
        assert workspace.entries() == sorted(f"{name}@latest" for name in names)
    for name in names:
        assert_sound(workspace.kymo, workspace.profiles / f"{name}@latest")


@pytest.mark.slow
def test_a_writer_that_cleans_up_for_another_does_not_turn_it_away(workspace, captures):
    """Leftovers of a name are removed under its lock; its next writer must not take that for
    another one at work."""
    left = workspace.profiles / ".b@latest.partial"
    for _ in range(2):
        left.mkdir(parents=True)
        for number in range(MANY):
            (left / str(number)).touch()
        before = left.stat().st_mtime_ns
        cleaner = workspace.start(captures["one"], "a", "--force")
        with contextlib.suppress(FileNotFoundError):
            while cleaner.poll() is None and left.stat().st_mtime_ns == before:
                time.sleep(0.001)
        writer = workspace.start(captures["one"], "b", "--force")
        assert (cleaner.communicate()[1], cleaner.returncode) == ("", 0)
        assert (writer.communicate()[1], writer.returncode) == ("", 0)
    assert workspace.entries() == ["a@latest", "b@latest"]
