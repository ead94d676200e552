"""Layering: includes point downwards only, never in a circle, and modules are entered through their header."""

import re

from conftest import ROOT

# What each module may include besides itself: everything in the layers below it.
LAYERS = {
    "base": [],
    "wire": ["base"],
    "events": [],
    "hardware": [],
    "cores": ["base"],
    "neff": ["base", "wire", "hardware"],
    "hlo": ["base", "wire"],
    "compile": ["base", "wire", "hardware", "neff", "hlo"],
    "ntff": ["base", "wire"],
    "device": ["base", "wire", "hardware", "neff", "ntff"],
    "neuroncore": ["base", "wire", "hardware", "neff", "ntff"],
    "record": ["base", "events", "kymo"],  # include/kymo: its public header
    "nrt": ["base", "record", "events", "kymo", "hardware", "cores", "peers", "neff", "ntff", "neuroncore"],
    "python": ["kymo"],
    "gpu": ["base"],
    "cuda": ["base", "gpu", "record", "kymo"],
    "profiler_server": ["base", "wire", "record", "kymo"],
    "interpose": ["base", "wire", "record", "events", "kymo", "nrt"],
    "sql": ["base"],
    "net": ["base"],
    "remote": ["base", "wire", "net", "gpu"],
    "trace": ["base", "wire"],
    "import": ["base", "sql", "wire", "trace", "record", "hardware", "neff", "ntff", "device", "hlo"],
    "analyze": ["base", "wire", "trace", "hardware"],
    "timeline": ["base", "wire"],
    "store": ["base", "wire", "trace", "analyze", "timeline", "hardware", "neff", "ntff", "device"],
    "export": ["base", "sql", "net", "wire", "trace", "analyze", "hardware", "neff", "ntff", "device"],
    "relations": ["base", "sql", "store"],
    "stats": ["base", "sql", "export", "relations"],
    "fleet": ["base", "wire", "sql", "trace", "analyze", "store", "export"],
    "tools": ["base", "wire", "sql", "export", "relations", "hlo"],
    "diff": ["base", "wire", "sql", "store", "export", "relations"],
    "serve": ["base", "sql", "wire", "trace", "import", "analyze", "timeline", "store", "export", "remote", "tools", "diff", "fleet"],
    "launch": ["base", "hardware", "cores"],
    "peers": ["base"],
    "runner": ["base", "wire", "neff", "launch"],  # the runtime through include/nrt
    "nccom": ["base", "wire", "hardware", "neff", "launch", "runner"],
    "cli": [
        "base", "gpu", "record", "sql", "net", "wire", "trace", "import", "analyze", "timeline", "store", "export", "serve", "stats", "tools", "diff", "fleet",
        "hardware", "neff", "ntff", "device", "compile", "runner", "nccom", "remote",
    ],
}

PUBLIC_HEADERS = {"nrt": "trace.h"}  # for other modules; programs use include/nrt
CAPTURE_SIDE = {"record/lock.h", "record/wall_clock.h", "record/encode.h", "kymo/server.h"}  # what libraries inside programs share
DEFINITIONS = {"device/metrics.def"}  # lists that headers and tables are made of


def includes():
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        module = path.relative_to(ROOT / "src").parts[0]
        for target in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            yield path.relative_to(ROOT), module, target


def test_every_module_is_in_a_layer():
    modules = {p.name for p in (ROOT / "src").iterdir() if p.is_dir()}
    assert modules == set(LAYERS)


def test_includes_point_downwards_only():
    wrong = [
        f"{path} includes {target}"
        for path, module, target in includes()
        if target.split("/")[0] not in [module, *LAYERS[module]]
    ]
    assert wrong == []


def test_modules_are_entered_through_their_public_header():
    wrong = []
    for path, module, target in includes():
        folder, name = target.split("/", 1)
        if folder != module and target not in CAPTURE_SIDE | DEFINITIONS and name != PUBLIC_HEADERS.get(folder, f"{folder}.h"):
            wrong.append(f"{path} includes {target}")
    assert wrong == []


def test_one_file_starts_processes():
    """Signals, descriptors, limits and exit codes of children are set in one place."""
    calls = re.compile(r"\b(v?fork|posix_spawnp?|exec[lv]\w*|popen|system|waitpid|wait[34]?)\s*\(")
    found = {str(p.relative_to(ROOT)) for p in (ROOT / "src").rglob("*.c") if calls.search(re.sub(r"/\*.*?\*/", "", p.read_text(), flags=re.DOTALL))}
    assert found == {"src/base/child.c"}


# Folders of one format, which include nothing of another format; the others are shared.
FORMATS = {"import": {"chrome", "device", "explorer", "neuron", "recording", "xplane"}, "export": {"influx", "xplane"}}
SHARED = {("import", "explorer"): {"neuron"}, ("import", "recording"): {"neuron"}}


def test_formats_do_not_include_each_other():
    wrong = []
    for path, module, target in includes():
        own, other = path.parts[2], target.split("/")[1]
        formats = FORMATS.get(module, set())
        if own in formats and other in formats - SHARED.get((module, own), set()) - {own}:
            wrong.append(f"{path} includes {target}")
    assert wrong == []


def test_no_files_include_each_other_in_a_circle():
    """A source file and the header of its name count as one, but for a folder's public header: what is behind it includes it."""
    edges = {}
    for path, _, target in includes():
        is_entry = path.suffix == ".c" and PUBLIC_HEADERS.get(path.parent.name, f"{path.parent.name}.h") == f"{path.stem}.h"
        unit = str(path.relative_to("src").with_suffix(".c" if is_entry else ""))
        edges.setdefault(unit, set()).add(target.removesuffix(".h"))
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


def test_base_and_wire_headers_need_libc_alone():
    """They are part of the capture side, which is built with nothing but a C compiler."""
    system = set()
    for module in ("base", "wire"):
        for path in (ROOT / "src" / module).rglob("*.[ch]"):
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
