"""What a reader meets everywhere: long functions say why they are as they are, and all texts are in plain American English."""

import re
import subprocess

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
EXCEPTIONS = {"CANCELLED", "favour", "colour", "maximised"}  # of gRPC; in workspaces and links of earlier builds

# Phrases that are not idiomatic, and what to write instead.
HABITS = {
    r"\b(?:told|tells?|telling) of\b": "reports, says",
    r"\bwith nobody to\b": "without anyone to",
    r"\bthere is no chance in\b": "the result is deterministic",
    r"\b(?<!there )is no (?:table|run|profile|number|file|directory|folder|JSON|NEFF|NTFF|rank|capture|option|list|array|name|target)\b": "is not a …",
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


def places(pattern, stems, excepted=frozenset()):
    """Where a pattern occurs; only texts with one of the stems are searched by it."""
    for name in TEXTS:
        text = (ROOT / name).read_text(errors="replace")
        lowered = text.lower()
        if any(stem in lowered for stem in stems):
            for match in pattern.finditer(text):
                if match[0] not in excepted:
                    yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"


def test_spelling_is_american():
    stems = ("analys", "our", "logue", "isation", "ise", "ising", "cancell", "labell", "modell", "signall", "travell", "artefact", "licence", "centre", "grey")
    assert list(places(BRITISH, stems, EXCEPTIONS)) == []


def test_phrases_are_idiomatic():
    habits = re.compile("|".join(HABITS))
    stems = ("told of", "tell of", "tells of", "telling of", "with nobody", "no chance", "is no ", "it says so")
    assert [f"{place}; write: {instead}" for place in places(habits, stems) for habit, instead in HABITS.items()
            if re.search(habit, place.split(": ", 1)[1])] == []
