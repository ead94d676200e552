"""The manual pages that `kymo --generate man` makes: complete, well-formed, the same on every build."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT
from test_cli import COMMANDS

PAGES = ["kymo", *(f"kymo-{command}" for command in COMMANDS), "neuron-profile", "neuron-explorer", "nccom-test", "xprof"]
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"]


@pytest.fixture(scope="module")
def pages(kymo, tmp_path_factory):
    directory = tmp_path_factory.mktemp("man")
    kymo.ok("--generate", "man", directory)
    return {path.stem: path for path in directory.iterdir()}


def plain(path):
    """The text of a page without what sets it."""
    text = re.sub(r"\\f[BIR]", "", path.read_text())
    for escaped, char in {r"\-": "-", r"\(aq": "'", r"\(ga": "`", r"\(ha": "^", r"\(ti": "~", r"\e": "\\"}.items():
        text = text.replace(escaped, char)
    return text


def test_there_is_a_page_for_the_program_and_for_every_command(pages):
    assert sorted(pages) == sorted(PAGES)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_has_every_option_choice_and_example_of_the_help(kymo, pages, command):
    help_text, page = kymo.ok(command, "--help"), plain(pages[f"kymo-{command}"])
    lines = re.sub(r"\n {30}(?!one of: )", " ", help_text)  # the help of a long option is on the next line
    options = re.findall(r"^  (?:-\w, |    )(--[\w-]+)(.*)$", lines, re.M)
    assert len(options) >= 2
    for option, rest in options:
        assert re.search(rf"^(-\w, )?{option}( \[?[A-Z]+\]?)?$", page, re.M), option
        if option != "--help":
            assert re.sub(r"^ \[?[A-Z]+\]? ", "", rest).strip() in page
    for choices in re.findall(r"one of: (.*)", help_text):
        assert f"one of {choices}\n" in page
    for example in help_text.split("\nexamples:\n")[1].splitlines():
        assert f"$ {example.strip()}\n" in page


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_has_all_sections(pages, command):
    found = re.findall(r"^\.SH (.*)$", pages[f"kymo-{command}"].read_text(), re.M)
    assert [section for section in found if section != "FILES"] == SECTIONS


def test_the_programs_page_names_all_commands_and_variables(pages):
    page = plain(pages["kymo"])
    for command in COMMANDS:
        assert f".BR kymo-{command} (1)\n" in page
    variables = set()
    for module in ("base", "cli", "export", "import", "neuron/run", "serve", "sql", "store"):
        for path in (ROOT / "src" / module).rglob("*.c"):
            variables |= set(re.findall(r'getenv\("(\w+)"\)|named_or\([^,]*,\s*"(\w+)"', path.read_text()))
    names = {one or other for one, other in variables} - {"SOURCE_DATE_EPOCH", "NEURON_RT_VIRTUAL_CORE_SIZE"}  # for builds; another name
    assert len(names) > 8
    for name in names:
        assert f".TP\n{name}\n" in page, name


def test_the_date_of_a_page_can_be_given(kymo, tmp_path):
    kymo.ok("--generate", "man", tmp_path, env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"})
    assert (tmp_path / "kymo.1").read_text().splitlines()[1].startswith(".TH KYMO 1 2023-11-14 ")


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
@pytest.mark.parametrize("name", PAGES)
def test_mandoc_finds_nothing_wrong_with_a_page(pages, name):
    result = subprocess.run(["mandoc", "-Tlint", "-W", "warning", pages[name]], capture_output=True, text=True)
    assert (result.stdout, result.returncode) == ("", 0)


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
@pytest.mark.parametrize("name", PAGES)
def test_groff_renders_a_page_without_a_warning(pages, name):
    result = subprocess.run(["groff", "-man", "-Tascii", "-P-cbou", pages[name]], capture_output=True, text=True)
    assert result.stderr == "" and result.returncode == 0
    assert "NAME" in result.stdout and "SEE ALSO" in result.stdout


def test_what_cannot_be_generated_is_refused(kymo, tmp_path):
    for words in ([], ["man"], ["pdf"], ["bash", "too", "many"]):
        assert "usage: kymo --generate" in kymo.refuses("--generate", *words, code=2)
    (tmp_path / "file").write_text("")
    assert "file" in kymo.refuses("--generate", "man", tmp_path / "file")
