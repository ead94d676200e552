"""What is installed works from wherever it is put: programs, libraries, what other builds need to find them."""

import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import DATA, ROOT, Kymo

MATMUL = DATA / "xplane" / "jax_matmul_h200.xplane.pb"


@pytest.fixture(scope="module")
def tree(kymo, tmp_path_factory):
    """An installed tree that was moved afterwards."""
    if pathlib.Path(kymo.path).resolve() != ROOT / "bin" / "kymo":
        pytest.skip("libraries with sanitizers cannot be preloaded")
    folder = tmp_path_factory.mktemp("install")
    subprocess.run(["cmake", "--install", ROOT / "build" / "release", "--prefix", folder / "first"],
                   check=True, capture_output=True, env={k: v for k, v in os.environ.items() if k != "DESTDIR"})
    (folder / "first").rename(folder / "moved")
    return folder / "moved"


@pytest.fixture(scope="module")
def installed(tree):
    return Kymo(tree / "bin" / "kymo")


def find(tree, name):
    (path,) = tree.rglob(name)
    return path


def clean_environment(**more):
    """Without what tells the program where its build's libraries are."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("KYMO_", "NEURON_"))} | more


def test_inspect_finds_its_library(installed, tree, tmp_path):
    result = installed.run("inspect", "-o", tmp_path, find(tree, "training"), "3", env=clean_environment())
    assert result.returncode == 0
    assert "capture written to" in result.stderr
    assert installed.json("info", "--json", tmp_path)["event_count"] > 10


def test_the_hook_for_python_is_where_inspect_looks_for_it(tree):
    script = find(tree, "sitecustomize.py")
    assert script.parent.parts[-3:] == ("lib", "kymo", "python-start") and script.read_text() == (ROOT / "python" / "start" / "sitecustomize.py").read_text()


def test_sql_finds_its_library(installed, tree, tmp_path):
    assert find(tree, "libduckdb.so").parent.name == "kymo"
    installed.ok("view", MATMUL, "--data-path", tmp_path, "--display-name", "m", "--ingest-only")
    answer = installed.ok("sql", "--data-path", tmp_path, "m", "SELECT 6 * 7 AS n", "--format", "csv",
                          env=clean_environment())
    assert answer == "n\n42\n"


def test_other_tools_names_lie_apart(tree):
    for name in ("neuron-profile", "neuron-explorer"):
        (link,) = (path for path in tree.rglob(name) if path.parent.name == "compat")
        assert link.resolve() == (tree / "bin" / "kymo").resolve()
        assert subprocess.run([link, "--help"], capture_output=True, text=True).stdout.count(f"{name} COMMAND") == 2
    (tool,) = (path for path in tree.rglob("nccom-test") if path.parent.name == "compat")
    assert "usage: nccom-test allr|" in subprocess.run([tool, "--help"], capture_output=True, text=True).stdout
    assert [path.name for path in (tree / "bin").iterdir()] == ["kymo"]


def test_libnrt_lies_apart_and_finds_libkymo(tree):
    library = find(tree, "libnrt.so.1")
    assert library.parent.name == "kymo"
    listed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    assert f"{tree}/" in next(line for line in listed.splitlines() if "libkymo.so.0" in line)


def test_a_program_that_serves_finds_the_program_that_makes_profiles(installed, tree, tmp_path):
    library = find(tree, "libkymo-server.so.0").parent
    target = tmp_path / "served"
    subprocess.run(["cc", ROOT / "tests" / "e2e" / "programs" / "served.c", f"-I{tree / 'include'}", f"-L{library}", f"-Wl,-rpath,{library}",
                    "-lkymo-server", "-lkymo", "-pthread", "-o", target], check=True)  # fmt: skip
    with subprocess.Popen([target], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path,
                          env=clean_environment(PATH="/nowhere")) as program:  # fmt: skip
        program.stdin.write("serve\n")
        program.stdin.flush()
        port = int(program.stdout.readline().split()[1])
        result = installed.run("capture", "--connect", f"localhost:{port}", "--duration-ms", 50, "-o", tmp_path / "logs", env=clean_environment())
        program.kill()
    assert result.returncode == 0, result.stderr
    assert installed.json("info", "--json", result.stdout.strip())["event_count"] > 0


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="pkg-config is not installed")
@pytest.mark.parametrize("is_static", [False, True])
def test_pkg_config_builds_a_program(installed, tree, tmp_path, is_static):
    pc = find(tree, "kymo.pc")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", *(["--static"] if is_static else []), "kymo"], text=True, check=True,
        capture_output=True, env=os.environ | {"PKG_CONFIG_PATH": str(pc.parent)},
    ).stdout.split()
    if is_static:
        flags = ["-l:libkymo.a" if flag == "-lkymo" else flag for flag in flags]
    program = tmp_path / "program"
    subprocess.run(["gcc", find(tree, "training.c"), *flags, "-pthread", "-o", program], check=True)
    result = installed.run("inspect", "-o", tmp_path / "out", program, "3",
                           env=clean_environment(LD_LIBRARY_PATH=str(pc.parents[1])))
    assert result.returncode == 0 and "capture written to" in result.stderr


def test_cmake_finds_the_package(tree, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(user C)\nfind_package(kymo 0.1 REQUIRED)\n"
        f"add_executable(user {find(tree, 'training.c')})\ntarget_link_libraries(user kymo::kymo pthread)\n"
    )
    for command in (["-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={tree}"], ["--build", tmp_path / "build"]):
        subprocess.run(["cmake", *command], check=True, capture_output=True)
    assert subprocess.run([tmp_path / "build" / "user", "1"], capture_output=True).returncode == 0


def test_pages_completions_and_licenses_are_there(tree):
    share = tree / "share"
    assert (share / "man" / "man1" / "kymo-view.1").is_file()
    for path in ("bash-completion/completions/kymo", "bash-completion/completions/neuron-profile",
                 "zsh/site-functions/_kymo", "fish/vendor_completions.d/kymo.fish",
                 "fish/vendor_completions.d/neuron-explorer.fish"):
        assert "output-format" in (share / path).read_text()
    licenses = share / "doc" / "kymo" / "licenses"
    assert "DuckDB" in (licenses / "duckdb.txt").read_text()
    assert "svelte 5" in (licenses / "ui.txt").read_text()
    assert "Apache License" in (share / "doc" / "kymo" / "LICENSE").read_text()
