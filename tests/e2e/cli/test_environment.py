"""Every environment variable is a row of src/base/environment.def, from which the page of the documentation is made."""

import re

import pytest

from conftest import ROOT

TABLE = ROOT / "src" / "base" / "environment.def"
ROWS = re.findall(r'^VARIABLE\("(\w+)", "([^"]+)"', TABLE.read_text(), re.M)
NAMES = [name for name, _ in ROWS]
PREFIXES = ("CUDA_INJ", "INFLUX_", "JAX_NUM", "JAX_PRO", "KYMO_", "LD_", "NEURON_FAIL", "NEURON_LOG", "NEURON_RT_", "NVTX_INJ", "OMPI_",
            "PMI_", "SLURM_", "XDG_", "XLA_FLAGS")
OTHERS = {"KYMO_", "KYMO_GPU_"}  # what names are put together from
CALL = r'\b(?:secure_)?getenv\(\s*([^)]*?)\s*\)'


def sources(*folders, endings):
    return {path: path.read_text() for folder in folders for ending in endings for path in sorted((ROOT / folder).rglob(ending))}


C = {path: re.sub(r"/\*.*?\*/", "", text, flags=re.S) for path, text in sources("src", "include", endings=("*.c", "*.h")).items()}
PYTHON = sources("python/kymo", "python/start", endings=("*.py",))


def literals(text):
    return set(re.findall(r'"([A-Z][A-Z0-9_]*)"', text))


def test_the_page_is_made_from_the_table(kymo, tmp_path):
    kymo.ok("--generate", "environment", tmp_path / "environment.md")
    assert (ROOT / "docs" / "environment.md").read_text() == (tmp_path / "environment.md").read_text(), \
        "kymo --generate environment docs/environment.md writes it again"


def test_the_table_is_in_order_and_has_a_sentence_for_each_variable(kymo, tmp_path):
    assert NAMES == sorted(set(NAMES)) and len(NAMES) > 50
    kymo.ok("--generate", "environment", tmp_path / "environment.md")
    rows = [line.split(" | ") for line in (tmp_path / "environment.md").read_text().splitlines() if line.startswith("| `")]
    assert [row[0].strip("| `") for row in rows] == NAMES
    for row in rows:
        assert len(row) == 5 and row[2].strip() and len(row[4]) > 10, row


@pytest.mark.parametrize("path", [path for path, text in C.items() if re.search(CALL, text)], ids=lambda path: path.name)
def test_what_c_code_reads_is_in_the_table(path):
    arguments = re.findall(CALL, C[path])
    read = {name for argument in arguments for name in literals(argument)}
    if any(not argument.startswith('"') for argument in arguments):  # names stand elsewhere in the file
        read |= {name for name in literals(C[path]) if "_" in name.strip("_")}
    assert read <= set(NAMES) | OTHERS


def test_names_that_look_like_variables_are_in_the_table():
    found = {name for text in (*C.values(), *PYTHON.values()) for name in re.findall(r'["\']([A-Z][A-Z0-9_]*)["\']', text)
             if name.startswith(PREFIXES)}
    assert found - OTHERS <= set(NAMES)


def test_what_python_reads_is_in_the_table():
    read = set()
    for text in PYTHON.values():
        read |= set(re.findall(r'os\.(?:environ(?:\.(?:get|setdefault|pop))?[\[(]|getenv\()\s*["\'](\w+)["\']', text))
    assert len(read) > 5 and read <= set(NAMES)


@pytest.mark.parametrize("name,readers", ROWS, ids=NAMES)
def test_a_variable_in_the_table_is_read_where_the_table_says(name, readers):
    scripts = {path: path.read_text() for path in (ROOT / "scripts").glob("*.sh")} | {
        path: path.read_text() for path in (ROOT / "Makefile", ROOT / "ui" / "vite.config.ts")}
    for reader in readers.split(", "):
        assert reader in ("kymo", "recorder", "cuda", "nrt", "server", "python", "build")
        texts = {"python": PYTHON, "build": scripts}.get(reader, C)
        assert any(re.search(rf"\b{name}\b", text) for text in texts.values()), reader
