"""Completion in shells: bash is driven as a terminal would drive it, fish completes for real, zsh's file is parsed."""

import os
import re
import shlex
import shutil
import subprocess

import pytest

from conftest import DATA
from test_cli import COMMANDS

MATMUL = DATA / "xplane" / "jax_matmul_h200.xplane.pb"
COMPAT = ["neuron-profile", "neuron-explorer"]


def options_of(kymo, command):
    return set(re.findall(r"^  (?:-\w, |    )(--[\w-]+)", kymo.ok(command, "--help"), re.M))


@pytest.fixture(scope="module")
def scripts(kymo, tmp_path_factory):
    directory = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        (directory / f"kymo.{shell}").write_text(kymo.ok("--generate", shell))
    return directory


@pytest.fixture(scope="module")
def complete(kymo, scripts):
    """What bash offers behind these words, the last of which is being typed."""

    def run(*words, cwd="/"):
        words = [str(kymo.path), *map(str, words)]
        script = (
            f"source {shlex.quote(str(scripts / 'kymo.bash'))}; "
            f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; "
            "_kymo; printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        result = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, cwd=cwd)
        assert result.returncode == 0 and result.stderr == "", result.stderr
        return sorted(filter(None, result.stdout.splitlines()))

    return run


def test_bash_offers_the_commands(complete):
    offered = complete("")
    assert set(COMMANDS) < set(offered)
    assert {"--help", "--version", "--show-profile-schema"} < set(offered)
    assert complete("in") == ["info", "inspect"]


@pytest.mark.parametrize("command", COMMANDS)
def test_bash_offers_every_option_of_a_command(kymo, complete, command):
    options = options_of(kymo, command)
    assert len(options) >= 2
    assert set(complete(command, "--")) == options


def test_bash_offers_the_actions_of_a_command_then_its_files(complete, tmp_path):
    (tmp_path / "model.neff").write_text("")
    assert set(complete("neff", "", cwd=tmp_path)) >= {"list", "unpack", "info"}
    assert complete("neff", "un") == ["unpack"]
    assert complete("neff", "list", "mo", cwd=tmp_path) == ["model.neff"]


def test_bash_offers_the_values_of_an_option(complete):
    assert complete("sql", "--format", "") == ["csv", "json", "table"]
    assert complete("view", "--output-format", "summary") == ["summary-json", "summary-text"]
    assert complete("view", "x.pb", "--output-format", "=", "j") == ["json"]
    assert complete("view", "--output-format", "=") == complete("view", "--output-format", "")
    assert complete("info", "--log-level", "w") == ["warn"]


def test_bash_offers_files_and_directories(complete, tmp_path):
    (tmp_path / "run one.pb").write_text("")
    (tmp_path / "runs").mkdir()
    assert complete("view", "ru", cwd=tmp_path) == ["run one.pb", "runs"]
    assert complete("view", "--output-file", "ru", cwd=tmp_path) == ["run one.pb", "runs"]
    assert complete("view", "--session-dir", "ru", cwd=tmp_path) == ["runs"]
    assert complete("view", "-d", "ru", cwd=tmp_path) == ["runs"]
    assert complete("serve", "ru", cwd=tmp_path) == ["runs"]
    assert complete("convert", "a", "ru", cwd=tmp_path) == ["run one.pb", "runs"]


def test_bash_offers_nothing_for_a_value_it_does_not_know(complete):
    assert complete("view", "--port", "") == []
    assert complete("nonsense", "") == []


def test_bash_offers_the_names_of_profiles(kymo, complete, tmp_path):
    for name in ("gpt", "gpt large"):
        kymo.ok("view", MATMUL, "--data-path", tmp_path, "--display-name", name, "--ingest-only")
    assert complete("sql", "--data-path", tmp_path, "g") == ["gpt", "gpt large"]
    assert complete("timeline", "--data-path", "=", tmp_path, "gpt ") == ["gpt large"]
    assert complete("sql", "--data-path", tmp_path, "gpt", "") == []  # a query comes next
    assert complete("sql", "--data-path", tmp_path / "none", "") == []


def test_bash_completes_the_command_that_is_inspected(complete, tmp_path):
    (tmp_path / "train.py").write_text("")
    assert "cat" in complete("inspect", "-o", "x", "ca")
    assert complete("inspect", "-o", "x", "python", "tra", cwd=tmp_path) == ["train.py"]
    assert complete("inspect", "python", "--lo", cwd=tmp_path) == []  # an option of python's


def test_bash_completes_a_command_that_is_a_tool_of_its_own(kymo, scripts, tmp_path):
    (tmp_path / "nccom-test").symlink_to(kymo.path)
    script = (f"source {scripts}/kymo.bash; complete -p nccom-test; COMP_WORDS=(nccom-test allr --show-al); COMP_CWORD=2; "
              "_kymo_tool; echo \"${COMPREPLY[@]}\"; COMP_WORDS=(nccom-test reds); COMP_CWORD=1; _kymo_tool; "
              "echo \"${COMPREPLY[@]}\"")
    result = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True,
                            env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert result.stdout == "complete -F _kymo_tool nccom-test\n--show-algorithm\nredsct\n"


@pytest.mark.parametrize("is_kymo", [True, False])
def test_bash_completes_other_tools_names_only_where_they_are_kymo(kymo, scripts, tmp_path, is_kymo):
    for name in COMPAT:
        (tmp_path / name).symlink_to(kymo.path if is_kymo else "/bin/true")
    result = subprocess.run(
        ["bash", "--norc", "-c", f"source {scripts}/kymo.bash; complete -p neuron-profile; complete -p neuron-explorer"],
        capture_output=True, text=True, env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert result.stdout.count("-F _kymo") == (2 if is_kymo else 0)


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_can_read_its_file(scripts):
    result = subprocess.run(["zsh", "-fn", scripts / "kymo.zsh"], capture_output=True, text=True)
    assert (result.stderr, result.returncode) == ("", 0)


def test_zsh_has_every_option(kymo, scripts):
    first, *_ = text = (scripts / "kymo.zsh").read_text().split("\n", 1)
    assert first == "#compdef kymo neuron-profile neuron-explorer nccom-test xprof"
    for command in COMMANDS:
        block = text[1].split(f"        {command})\n")[1].split(";;")[0]
        for option in options_of(kymo, command):
            assert re.search(rf"{option}(=?\[|=?\}}'\[)", block), (command, option)


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes_for_real(kymo, scripts, tmp_path):
    kymo.ok("view", MATMUL, "--data-path", tmp_path, "--display-name", "gpt", "--ingest-only")
    (tmp_path / "kymo").symlink_to(kymo.path)

    def offered(line):
        result = subprocess.run(
            ["fish", "--no-config", "-c", f"source {scripts}/kymo.fish; complete -C {shlex.quote(line)}"],
            capture_output=True, text=True, cwd=tmp_path,
            env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        )
        assert result.stderr == ""
        return {one.split("\t")[0] for one in result.stdout.splitlines()}

    assert set(COMMANDS) <= offered("kymo ")
    assert set(COMMANDS) <= offered("neuron-profile ")
    for command in COMMANDS:
        assert options_of(kymo, command) <= {one.rstrip("=") for one in offered(f"kymo {command} --")}
    assert offered("kymo sql --format ") == {"csv", "json", "table"}
    assert offered(f"kymo sql --data-path {tmp_path} ") == {"gpt"}
