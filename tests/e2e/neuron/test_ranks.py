"""kymo capture with workers: processes that exchange data, on one node or several, and end together."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import numpy as np
import pytest

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_NEURON"))}
SECONDS = 60  # within which the others notice that a worker is gone, on a busy machine; all executions take hours


def graph(ranks, size, *ops):
    return {"name": "m", "ranks": ranks, "inputs": [{"name": "x", "shape": size}], "ops": list(ops), "outputs": [op["name"] for op in ops]}


MODELS = {
    "mix": graph(4, [96, 256], {"name": "sum", "op": "all_reduce", "inputs": ["x"]},
                 {"name": "all", "op": "all_gather", "inputs": ["x"], "axis": 0},
                 {"name": "part", "op": "reduce_scatter", "inputs": ["x"], "axis": 0},
                 {"name": "turned", "op": "all_to_all", "inputs": ["x"], "split_axis": 0, "concat_axis": 1},
                 {"name": "next", "op": "permute", "inputs": ["x"], "pairs": [[0, 1], [1, 2], [2, 3], [3, 0]]}),
    "many": graph(64, [64, 64], {"name": "sum", "op": "all_reduce", "inputs": ["x"]}),
    "rows": {"name": "rows", "ranks": 3, "inputs": [{"name": "i", "shape": [8], "dtype": "int32"}, {"name": "t", "shape": [16, 32]}],
             "ops": [{"name": "g", "op": "gather", "inputs": ["t", "i"]}, {"name": "y", "op": "all_reduce", "inputs": ["g"]}],
             "outputs": ["y"]},
}


@pytest.fixture(scope="module")
def neffs(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    for name, model in MODELS.items():
        (folder / f"{name}.json").write_text(json.dumps(model))
        kymo.run("neff", "build", folder / f"{name}.json", "-o", folder / f"{name}.neff", "--core", "v3" if name == "many" else "v2",
                 check=True)
    return folder


class Capture:
    """A kymo capture in a folder of its own."""

    def __init__(self, kymo, neff, folder, machine, *arguments, **variables):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen([kymo.path, "capture", "-n", neff, *map(str, arguments)], cwd=folder, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                        env=ENVIRONMENT | {"XDG_RUNTIME_DIR": str(machine)} | variables)

    def end(self, status=0):
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == status, out + err
        return out.splitlines(), err

    def workers(self, file):
        """Their process numbers, once a file is there."""
        while not (self.folder / file).exists():
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)
        own = self.process.pid
        return [int(number) for number in pathlib.Path(f"/proc/{own}/task/{own}/children").read_text().split()]


@pytest.fixture
def capture(kymo, neffs, tmp_path):
    started = []

    def run(model, *arguments, folder=".", **variables):
        started.append(Capture(kymo, neffs / f"{model}.neff", tmp_path / folder, tmp_path, *arguments, **variables))
        return started[-1]

    yield run
    for one in started:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
            one.process.communicate()


def free_address():
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{own.getsockname()[1]}"


def are_gone(processes):
    """Neither running nor left behind."""
    def is_there(number):
        try:
            return "kymo" in pathlib.Path(f"/proc/{number}/comm").read_text()
        except OSError:
            return False

    by = time.monotonic() + SECONDS
    while any(map(is_there, processes)) and time.monotonic() < by:
        time.sleep(0.01)
    return not any(map(is_there, processes))


def test_two_nodes_exchange_what_one_does(capture, kymo, tmp_path):
    x = np.random.default_rng(3).integers(-50, 50, (4, 96, 256)).astype(np.float32)
    for rank in range(4):
        np.save(tmp_path / f"x{rank}.npy", x[rank])
    (tmp_path / "inputs").write_text("".join(f"x {tmp_path}/x{rank}.npy\n" for rank in range(4)))
    options = ["-m", tmp_path / "inputs", "--save-output-npy", "--num-exec", 2]
    capture("mix", *options, folder="one").end()
    address = free_address()
    # What joins last is started first: it waits for the others.
    nodes = [capture("mix", *options, "-r", 2, "--collectives-worker-count", 4, "--collectives-worker-start-id", start, folder="two",
                     KYMO_NEURON_NODE=f"node{start}", NEURON_RT_ROOT_COMM_ID=address) for start in (2, 0)]
    for start, node in zip((2, 0), nodes):
        lines, _ = node.end()
        ranks = (start, start + 1)
        assert sorted(line for line in lines if "profile" in line) == [
            f"profile written to profile_rank_{rank}_exec_{n}.ntff" for rank in ranks for n in (1, 2)]
    total = x.sum(0)
    for rank in range(4):
        expected = {"sum": total, "all": np.concatenate(x), "part": total[24 * rank:24 * rank + 24], "next": x[(rank - 1) % 4],
                    "turned": np.concatenate([x[i][24 * rank:24 * rank + 24] for i in range(4)], 1)}
        for folder in ("one", "two"):
            for name, values in expected.items():
                assert (np.load(tmp_path / folder / f"{name}_rank_{rank}.npy.2") == values).all()
        sizes = {(tmp_path / folder / f"profile_rank_{rank}_exec_2.ntff").stat().st_size for folder in ("one", "two")}
        assert len(sizes) == 1
    assert "rank       3 of 4" in kymo.ok("info", tmp_path / "two" / "profile_rank_3_exec_1.ntff")


@pytest.mark.slow
@pytest.mark.plain_build
def test_sixty_four_workers(capture, tmp_path):
    for rank in range(64):
        np.save(tmp_path / f"x{rank}.npy", np.full((64, 64), rank, np.float32))
    (tmp_path / "inputs").write_text("".join(f"x x{rank}.npy\n" for rank in range(64)))
    capture("many", "-m", "inputs", "--save-output-npy", "--num-exec", 2, "-i", 63).end()
    assert sorted(path.name for path in tmp_path.glob("*.ntff")) == ["profile_rank_63_exec_1.ntff", "profile_rank_63_exec_2.ntff"]
    for rank in range(64):
        assert (np.load(tmp_path / f"sum_rank_{rank}.npy.2") == 63 * 32).all()


def running(capture, *arguments, **options):
    """Workers in the middle of many executions, once an output is there."""
    return capture("mix", *arguments, "--disable-profile", "--save-output", "--num-exec", 10**6, "--save-nth-output", 20, **options)


def test_a_killed_worker_ends_the_others(capture):
    before = set(os.listdir("/dev/shm"))
    job = running(capture)
    workers = job.workers("sum_rank_1.20")
    assert len(workers) == 4
    os.kill(workers[2], signal.SIGKILL)
    killed = time.monotonic()
    _, errors = job.end(status=1)
    assert time.monotonic() - killed < SECONDS
    assert "worker 2 was killed by signal 9 (Killed)" in errors.splitlines()[-1]
    assert "NRT_EXEC_HW_ERR_COLLECTIVES" in errors
    assert are_gone(workers) and set(os.listdir("/dev/shm")) <= before


@pytest.mark.slow
def test_a_node_that_is_gone_ends_the_other(capture):
    address = free_address()
    first, second = (running(capture, "-r", 2, "--collectives-worker-count", 4, "--collectives-worker-start-id", start,
                             folder=f"node{start}", KYMO_NEURON_NODE=f"node{start}", NEURON_RT_ROOT_COMM_ID=address) for start in (0, 2))
    workers = first.workers("sum_rank_0.20") + second.workers("sum_rank_2.20")
    os.kill(second.process.pid, signal.SIGKILL)  # its workers end with it
    killed = time.monotonic()
    _, errors = first.end(status=1)
    assert time.monotonic() - killed < SECONDS and "NRT_EXEC_HW_ERR_COLLECTIVES" in errors.splitlines()[-1]
    assert are_gone(workers)


def test_an_interrupt_ends_all(capture):
    job = running(capture)
    workers = job.workers("sum_rank_3.20")
    os.kill(job.process.pid, signal.SIGINT)
    job.process.communicate(timeout=SECONDS)
    assert job.process.returncode == -signal.SIGINT and are_gone(workers)


def test_a_worker_that_fails_is_named(capture, tmp_path):
    np.arange(8, dtype=np.int32).tofile(tmp_path / "good")
    np.full(8, 99, np.int32).tofile(tmp_path / "bad")
    np.save(tmp_path / "t.npy", np.arange(16 * 32, dtype=np.float32).reshape(16, 32))
    (tmp_path / "inputs").write_text("".join(f"i {name} t t.npy\n" for name in ("good", "bad", "good")))
    _, errors = capture("rows", "-m", "inputs", "--disable-profile").end(status=1)
    assert "execution 1 of worker 1 failed: NRT_EXEC_OOB" in errors.splitlines()[-1]
    # Its failures do not bring the others out of step.
    lines, _ = capture("rows", "-m", "inputs", "--disable-profile", "--ignore-exec-errors", "--num-exec", 20, "--save-output").end()
    assert [line for line in lines if "failed" in line] == [
        f"execution {n} of worker 1 failed: NRT_EXEC_OOB (status 1006)" for n in range(1, 21)]
    rows = np.arange(8 * 32, dtype=np.float32)
    for rank in range(3):
        assert (np.fromfile(tmp_path / f"y_rank_{rank}.20", np.float32)[:32] >= 2 * rows[:32]).all()
    (tmp_path / "inputs").write_text("i good\ni nothing\ni good\n")
    _, errors = capture("rows", "-m", "inputs", "--disable-profile").end(status=1)
    assert "nothing: cannot open" in errors.splitlines()[-1]


@pytest.mark.slow
def test_workers_that_do_not_find_each_other_say_so(capture):
    others = ["-r", 2, "--collectives-worker-count", 4, "--disable-profile"]
    _, errors = capture("mix", *others).end(status=1)
    assert "2 of 4 workers are on other nodes: set NEURON_RT_ROOT_COMM_ID" in errors
    _, errors = capture("mix", *others, NEURON_RT_ROOT_COMM_ID=free_address(), NEURON_RT_EXEC_TIMEOUT="1").end(status=1)
    assert "2 did not come: 2, 3" in errors and "NRT_EXEC_HW_ERR_COLLECTIVES" in errors.splitlines()[-1]
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        own.listen()
        address = f"127.0.0.1:{own.getsockname()[1]}"
        _, errors = capture("mix", *others, NEURON_RT_ROOT_COMM_ID=address).end(status=1)
    assert f"cannot listen at {address}: Address already in use" in errors
    _, errors = capture("mix", *others, NEURON_RT_ROOT_COMM_ID="nowhere").end(status=1)
    assert "nowhere is not an address with a port" in errors
