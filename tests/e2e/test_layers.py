"""The house's one rule of floors: includes point downwards only."""

import re

from conftest import ROOT

# What each module may include besides itself: everything on the floors below it.
FLOORS = {
    "base": [],
    "wire": ["base"],
    "events": [],
    "record": ["base", "events", "kymo"],  # include/kymo: its public face
    "nrt": ["events", "kymo"],
    "interpose": ["events", "kymo", "nrt"],
    "sql": ["base"],
    "net": ["base"],
    "trace": ["base", "wire"],
    "import": ["base", "sql", "wire", "trace", "record"],
    "analyze": ["base", "wire", "trace"],
    "timeline": ["base", "wire"],
    "store": ["base", "wire", "trace", "analyze", "timeline"],
    "export": ["base", "sql", "net", "wire", "trace", "analyze"],
    "serve": ["base", "sql", "wire", "trace", "import", "analyze", "timeline", "store", "export"],
    "cli": [
        "base", "record", "sql", "net", "wire", "trace", "import", "analyze", "timeline", "store", "export", "serve"
    ],
}

FACES = {"nrt": "trace.h"}  # for others within; for programs it is include/nrt


def includes():
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        module = path.relative_to(ROOT / "src").parts[0]
        for target in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            yield path.relative_to(ROOT), module, target


def test_every_module_is_on_a_floor():
    modules = {p.name for p in (ROOT / "src").iterdir() if p.is_dir()}
    assert modules == set(FLOORS)


def test_includes_point_downwards_only():
    wrong = [
        f"{path} includes {target}"
        for path, module, target in includes()
        if target.split("/")[0] not in [module, *FLOORS[module]]
    ]
    assert wrong == []


def test_modules_are_entered_through_their_public_header():
    wrong = []
    for path, module, target in includes():
        folder, name = target.split("/")
        if folder != module and name != FACES.get(folder, f"{folder}.h"):
            wrong.append(f"{path} includes {target}")
    assert wrong == []


def test_base_and_wire_headers_need_libc_alone():
    """They are part of the capture side, which is built with nothing but a C compiler."""
    system = set()
    for module in ("base", "wire"):
        for path in (ROOT / "src" / module).glob("*.[ch]"):
            if path.name != "stream.c":
                system |= set(re.findall(r"^#include <([^>]+)>", path.read_text(), re.MULTILINE))
    assert not system & {"zlib.h", "zstd.h"}


# The same of the web UI: model, data, render, panels.
UI_FLOORS = {"style": [], "model": [], "data": ["model"], "render": ["model", "data"], "panels": ["model", "data", "render"]}


def ui_imports():
    """(file, its folder, whether of types alone, the folder it imports from)"""
    source = ROOT / "ui" / "src"
    for path in sorted([*source.rglob("*.ts"), *source.rglob("*.svelte")]):
        folder = path.relative_to(source).parts[0]
        for types, target in re.findall(r"^\s*import\s+(type\b)?[^'\"]*['\"](\.[^'\"]+)['\"]", path.read_text(), re.MULTILINE):
            place = (path.parent / target).resolve().relative_to(source).parts[0]
            if folder in UI_FLOORS:
                yield path.relative_to(source), folder, bool(types), place


def test_imports_of_the_ui_point_downwards():
    found = list(ui_imports())
    assert len(found) > 100
    assert [i for i in found if i[3] != i[1] and i[3] not in UI_FLOORS[i[1]]] == []


def test_drawing_knows_nothing_of_fetching_and_panels_nothing_of_drawing():
    for path, folder, types, target in ui_imports():
        assert not (folder == "render" and target == "data" and not types), path
        assert not (target == "render" and folder == "panels" and path.parts[1] != "timeline"), path
