"""The rules and thresholds of findings: docs/findings.md lists those of src/analyze/findings, and the code uses all of them."""

import re

from conftest import ROOT

DOCUMENT = (ROOT / "docs/findings.md").read_text()
RULES = re.findall(r'^\w+_RULE\((\w+), "([\w-]+)", "[^"]+"', (ROOT / "src/analyze/findings/rules.def").read_text(), re.MULTILINE)
THRESHOLDS = dict(re.findall(r"^#define ([A-Z_]+[A-Z]) +(\S.*)$", (ROOT / "src/analyze/findings/thresholds.h").read_text(), re.MULTILINE))


def rows(heading):
    """The rows of all tables whose first column is named so."""
    for table in re.findall(rf"^\| {heading} \|.*\n\|[-:|]+\|\n((?:\|.*\n)+)", DOCUMENT, re.MULTILINE):
        yield from ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())


def number_of(definition):
    """The value of INT64_C(256) << 10, of 0.03."""
    return eval(re.sub(r"INT64_C\((\d+)\)", r"\1", definition), {})


def written(name, value):
    """A threshold as people read it; the end of its name is its unit."""
    def scaled(units):
        size, unit = max((u for u in units if value >= u[0]), default=units[0])
        return f"{value / size:g} {unit}"

    if name.endswith("_SHARE"):
        return f"{100 * value:g} %"
    if name.endswith("_FACTOR"):
        return f"{value:g} times"
    if name.endswith("_PS"):
        return scaled([(10**3, "ns"), (10**6, "us"), (10**9, "ms"), (10**12, "s")])
    if name.endswith("_BYTES"):
        return scaled([(1, "bytes"), (1 << 10, "KiB"), (1 << 20, "MiB"), (1 << 30, "GiB")])
    return f"{value:g}"


def test_every_rule_is_documented_and_every_documented_rule_exists():
    assert len(RULES) > 40
    assert {name for row in rows("rule") for name in re.findall(r"`([\w-]+)`", row[0])} == {id for _, id in RULES}


def test_documented_thresholds_are_those_of_the_code():
    documented = {row[0].strip("`"): row[1] for row in rows("threshold")}
    assert len(documented) > 30
    assert documented == {name: written(name, number_of(value)) for name, value in THRESHOLDS.items()}


def test_the_code_uses_every_rule_and_threshold():
    users = [path for path in (ROOT / "src").rglob("*.[ch]") if path.parent.name != "findings"]
    words = {word for path in users for word in re.findall(r"\b[A-Z][A-Z_]+\b", path.read_text())}
    assert {f"RULE_{name}" for name, _ in RULES} | set(THRESHOLDS) <= words
