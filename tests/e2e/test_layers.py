"""Layering: includes point downwards only, never in a circle, and modules are entered through their header."""

import json
import pathlib
import re
import shlex
import subprocess

from conftest import ROOT

SOURCE = ROOT / "src"
OUTSIDE = {"kymo", "nrt"}  # include/: the public interfaces of libkymo and of the runtime


def read_layers():
    """{folder: (public headers, folders it may include)}, from the ground up, as src/layers.txt lists them."""
    lines = [line.split() for line in (SOURCE / "layers.txt").read_text().splitlines() if line and not line.startswith("#")]
    return {folder: (set(headers.split(",")), set(uses)) for folder, headers, *uses in lines}


LAYERS = read_layers()


def folder_of(path):
    """The listed folder that a path below src belongs to: the innermost; None if there is none."""
    inside = [folder for folder in LAYERS if path.startswith(f"{folder}/")]
    return max(inside, key=len, default=None)


def includes():
    """(file, its folder, what it includes, the folder of that)"""
    for path in sorted(p for p in SOURCE.rglob("*") if p.suffix in (".c", ".h", ".def")):
        name = str(path.relative_to(SOURCE))
        for target in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            if target.split("/")[0] not in OUTSIDE:
                yield name, folder_of(name), target, folder_of(target)


def test_every_file_is_in_a_layer_and_layers_are_listed_from_the_ground_up():
    assert [str(p) for p in SOURCE.rglob("*.[ch]") if not folder_of(str(p.relative_to(SOURCE)))] == []
    below = set()
    for folder, (_, uses) in LAYERS.items():
        assert uses <= below, folder
        below.add(folder)


def components():
    """{folder right below src: those of them that it uses}"""
    found = {}
    for folder, (_, uses) in LAYERS.items():
        own = folder.split("/")[0]
        found.setdefault(own, set()).update({use.split("/")[0] for use in uses} - {own})
    return found


def test_components_use_each_other_in_one_direction():
    left = components()
    while left:
        free = [name for name, uses in left.items() if not uses & left.keys()]
        assert free, left
        for name in free:
            del left[name]


def test_the_documented_table_of_components_is_that_of_the_list():
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| \[`(\w+)`\]\(components/\1\.md\) \| .* \| ([\w, ]+) \|$", text, re.MULTILINE)
    assert {name: set(uses.split(", ")) - {"libc"} for name, uses in rows} == components()
    assert {path.stem for path in (ROOT / "docs" / "components").iterdir()} == components().keys()


def test_includes_point_downwards_only():
    wrong = [f"{path} includes {target}" for path, own, target, other in includes() if other != own and other not in LAYERS[own][1]]
    assert wrong == []


def test_listed_uses_are_used():
    used = {(own, other) for _, own, _, other in includes()}
    assert [(own, other) for own, (_, uses) in LAYERS.items() for other in uses if (own, other) not in used] == []


def test_folders_are_entered_through_their_public_headers():
    wrong = [f"{path} includes {target}" for path, own, target, other in includes()
             if other != own and target.removeprefix(f"{other}/") not in LAYERS[other][0]]
    assert wrong == []


def test_one_file_starts_processes():
    """Signals, descriptors, limits and exit codes of children are set in one place."""
    calls = re.compile(r"\b(v?fork|posix_spawnp?|exec[lv]\w*|popen|system|waitpid|wait[34]?)\s*\(")
    found = {str(p.relative_to(ROOT)) for p in (ROOT / "src").rglob("*.c") if calls.search(re.sub(r"/\*.*?\*/", "", p.read_text(), flags=re.DOTALL))}
    assert found == {"src/base/child.c"}


def test_one_header_reads_clocks():
    found = {str(p.relative_to(ROOT)) for p in (ROOT / "src").rglob("*.[ch]") if re.search(r"\b(clock_gettime|gettimeofday)\s*\(", p.read_text())}
    assert found == {"src/base/clock.h"}


# Folders of one format, which include nothing of another format; the others are shared.
FORMATS = {"import/chrome", "import/ntff", "import/neuron_explorer", "import/neuron_systrace", "import/recording", "import/xplane",
           "export/influx", "export/xplane"}
SHARED = {"import/neuron_explorer": {"import/neuron_systrace"}, "import/recording": {"import/neuron_systrace"}}


def test_formats_do_not_include_each_other():
    wrong = []
    for path, _, target, _ in includes():
        own, other = (name.rsplit("/", 1)[0] for name in (path, target))
        if own in FORMATS and other in FORMATS - SHARED.get(own, set()) - {own}:
            wrong.append(f"{path} includes {target}")
    assert wrong == []


def test_parts_of_the_server_include_each_other_in_one_direction():
    order = ["http", "jobs", "runs", "api"]
    pairs = [(path, target, path.split("/")[1], target.split("/")[1]) for path, _, target, _ in includes()
             if path.startswith("serve/") and target.startswith("serve/")]
    inside = [pair for pair in pairs if pair[2] in order and pair[3] in order]
    assert len(inside) > 50
    assert [pair[:2] for pair in inside if order.index(pair[3]) > order.index(pair[2])] == []


def test_no_files_include_each_other_in_a_circle():
    """A source file and the header of its name count as one, but for a folder's public header: what is behind it includes it."""
    edges = {}
    for path, own, target, _ in includes():
        stem, suffix = path.rsplit(".", 1)
        is_entry = suffix == "c" and (f"{stem.removeprefix(own + '/')}.h" in LAYERS[own][0] or stem.split("/")[-1] == stem.split("/")[-2])
        edges.setdefault(path if is_entry else stem, set()).add(target.removesuffix(".h"))
    done, stack = set(), []

    def visit(unit):
        assert unit not in stack, " -> ".join([*stack[stack.index(unit) :], unit])
        if unit not in done:
            stack.append(unit)
            for other in sorted(edges.get(unit, set()) - {unit}):
                visit(other)
            done.add(stack.pop())

    for unit in sorted(edges):
        visit(unit)


# Files that use each other, and why. Where there are none left, the entry goes.
CIRCLES = {
    # The first event of a child of fork begins its capture, which prepares the lanes.
    frozenset({"capture/recorder/control.c", "capture/recorder/lane.c"}),
}
# Sources for other processors or other builds.
NOT_BUILT = {*(f"capture/recorder/clock_{name}.c" for name in ("arm", "other", "x86")), "neuron/program/compressed_none.c"}


def objects():
    """Source file to object file, of the release build: every file under src, once."""
    found = {}
    for entry in json.loads((ROOT / "build" / "release" / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        words = shlex.split(entry["command"])
        if path.is_relative_to(ROOT / "src"):
            found[str(path.relative_to(ROOT / "src"))] = pathlib.Path(entry["directory"]) / words[words.index("-o") + 1]
    missing = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src").rglob("*.c")} - set(found)
    assert missing <= NOT_BUILT
    return found


def symbols(found):
    """What each file uses of others: symbols by file, and the files that define a symbol."""
    by_object = {str(made): source for source, made in found.items()}
    uses, definitions = {source: set() for source in found}, {}
    listing = subprocess.run(["nm", "-A", "-P", *by_object], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        made, rest = line.split(": ", 1)
        name, kind = rest.split()[:2]
        if kind in "Uw":
            uses[by_object[made]].add(name)
        elif kind.isupper():
            definitions.setdefault(name, set()).add(by_object[made])
    return uses, definitions


def strong_components(edges):
    """Sets of files that all reach each other, by Tarjan's algorithm."""
    order, low, stack, components = {}, {}, [], []

    def visit(at):
        order[at] = low[at] = len(order)
        stack.append(at)
        for other in sorted(edges[at]):
            if other not in order:
                visit(other)
            if other in stack:
                low[at] = min(low[at], low[other])
        if low[at] == order[at]:
            components.append(frozenset(stack[stack.index(at) :]))
            del stack[stack.index(at) :]

    for unit in sorted(edges):
        if unit not in order:
            visit(unit)
    return components


def test_no_files_use_each_other_in_a_circle():
    """By the symbols of their objects. A symbol that several files define is that of the file's own folder: of a program's copies
    of an interface, only one is linked."""
    uses, definitions = symbols(objects())
    edges = {}
    for source, names in uses.items():
        folder = folder_of(source)
        edges[source] = set()
        for name in names:
            defining = definitions.get(name, set())
            own = {other for other in defining if folder_of(other) == folder}
            edges[source] |= (own or defining) - {source}
    assert sum(map(len, edges.values())) > 2000
    circles = {component for component in strong_components(edges) if len(component) > 1}
    found = {f"{a} uses {b}" for circle in circles - CIRCLES for a in circle for b in edges[a] & circle}
    assert sorted(found) == []
    assert CIRCLES - circles == set()


def test_strong_components_are_found():
    edges = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert {c for c in strong_components(edges) if len(c) > 1} == {frozenset("abc"), frozenset("de")}


def test_base_and_wire_headers_need_libc_alone():
    """They are part of the capture side, which is built with nothing but a C compiler."""
    system = set()
    for folder in ("base", "base/wire"):
        for path in (SOURCE / folder).glob("*.[ch]"):
            if path.name != "stream.c":
                system |= set(re.findall(r"^#include <([^>]+)>", path.read_text(), re.MULTILINE))
    assert not system & {"zlib.h", "zstd.h"}


# The same of the web UI: model, data, render, panels.
UI_LAYERS = {"style": [], "model": [], "data": ["model"], "render": ["model", "data"], "panels": ["model", "data", "render"]}


def ui_imports():
    """(file, its folder, whether of types alone, the folder it imports from)"""
    source = ROOT / "ui" / "src"
    for path in sorted([*source.rglob("*.ts"), *source.rglob("*.svelte")]):
        folder = path.relative_to(source).parts[0]
        for types, target in re.findall(r"^\s*import\s+(type\b)?[^'\"]*['\"](\.[^'\"]+)['\"]", path.read_text(), re.MULTILINE):
            place = (path.parent / target).resolve().relative_to(source).parts[0]
            if folder in UI_LAYERS:
                yield path.relative_to(source), folder, bool(types), place


def test_imports_of_the_ui_point_downwards():
    found = list(ui_imports())
    assert len(found) > 100
    assert [i for i in found if i[3] != i[1] and i[3] not in UI_LAYERS[i[1]]] == []


def test_drawing_knows_nothing_of_fetching_and_panels_nothing_of_drawing():
    for path, folder, types, target in ui_imports():
        assert not (folder == "render" and target == "data" and not types), path
        assert not (target == "render" and folder == "panels" and path.parts[1] != "timeline"), path
