"""What a reader meets everywhere: long functions say why they are as they are, and all texts are in plain American English."""

import re
import subprocess

import pytest

from conftest import ROOT

LONG = 25  # lines of a function, from its first to its closing brace
FILES = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
TEXTS = [name for name in FILES if name.endswith((".c", ".h", ".def", ".sql", ".py", ".ts", ".svelte", ".md", ".txt", ".sh", ".proto", "CMakeLists.txt"))
         and not name.startswith(("tests/data/", "fuzz/corpus/")) and name != "tests/e2e/test_style.py" and (ROOT / name).is_file()]

# British spellings; names that others have given are excepted.
BRITISH = re.compile(
    r"analys(?:e|ed|ing|er)(?![a-z])|(?:behavi|col|fav|hon|neighb)our|catalogue|(?:final|general|initial|local|material|minim|maxim|normal|optim|"
    r"organ|random|recogn|serial|special|standard|summar|synchron|token|util|vector|visual)is(?:e[ds]?(?![a-z])|ing|ation)|cancell(?:ed|ing)|"
    r"label(?:led(?!by)|ling)|model(?:led|ling)|signal(?:led|ling)|travell|artefact|licence|[Cc]entre|[Gg]rey", re.IGNORECASE)
EXCEPTIONS = {"CANCELLED", "favour"}  # of gRPC; the name of a file in workspaces

# Phrases that are not idiomatic, and what to write instead.
HABITS = {
    r"\b(?:told|tells?|telling) of\b": "reports, says",
    r"\bwith nobody to\b": "without anyone to",
    r"\bthere is no chance in\b": "the result is deterministic",
    r"(?<!there )\bis no (?:table|run|profile|number|file|directory|folder|JSON|NEFF|NTFF|rank|capture|option|list|array|name|target)\b": "is not a …",
    r"\bthere is no (?:memory|thread)\b": "out of memory, cannot create a thread",
    r"\bwhat is no\b": "what is not",
    r"\bwho is no\b": "those that are not",
    r"\band it says so\b": "and a note is printed",
}


def functions(text):
    """(first line, number of lines, whether a comment stands before it) of each function of a formatted C file."""
    lines = text.split("\n")
    for opening in (number for number, line in enumerate(lines) if line == "{"):
        first = opening
        while first > 0 and lines[first - 1] and not lines[first - 1].endswith((";", "*/", "}")) and not lines[first - 1].startswith("#"):
            first -= 1
        yield lines[first], lines.index("}", opening) - first + 1, first > 0 and lines[first - 1].endswith("*/")


def test_long_functions_have_a_comment():
    found = [(name, *function) for name in FILES if name.startswith("src/") and name.endswith(".c") and (ROOT / name).is_file()
             for function in functions((ROOT / name).read_text())]
    assert len(found) > 7000
    assert [f"{name}: {first} ({size} lines)" for name, first, size, has_comment in found if size >= LONG and not has_comment] == []


def places(pattern, excepted=frozenset()):
    for name in TEXTS:
        for number, line in enumerate((ROOT / name).read_text(errors="replace").split("\n"), 1):
            for match in pattern.finditer(line):
                if match[0] not in excepted:
                    yield f"{name}:{number}: {match[0]}"


def test_spelling_is_american():
    assert list(places(BRITISH, EXCEPTIONS)) == []


@pytest.mark.parametrize("habit", HABITS)
def test_phrases_are_idiomatic(habit):
    assert list(places(re.compile(habit))) == [], HABITS[habit]
