"""The structure that docs/behind/architecture.md draws: packages, their order, and their size."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import distributed
import pytest

from tests.helpers import ROOT, documentation_pages

FLOORS = ("solver", "sweep", "pipelines")

LAYERS = (
    "solver.errors solver.notebook_display",
    "solver.features",
    "solver.objective",
    "solver.limits",
    "solver.trees",
    "solver.encodings",
    "solver.problem",
    "solver.solution solver.kernels",
    "solver.verify solver.search_shards solver.monitor solver.options",
    "solver.lambda_series solver.verbose solver.argument_checks",
    "solver.base",
    "solver.engine solver.path",
    "solver.baselines",
    "solver.branches solver.osdt solver.quantbnb solver.proper",
    "solver.theory solver.external",
    "solver.catalogue solver.notebook_html",
    "solver.solve_problem",
    "solver.estimators",
    "solver",
    "sweep.filesystem sweep.datasets",
    "sweep.spec",
    "sweep.plan",
    "sweep.events",
    "sweep.rows",
    "sweep.store",
    "sweep.state_transfer",
    "sweep.worker",
    "sweep.clusters",
    "sweep.graph",
    "sweep.verify",
    "sweep",
    "pipelines.variant_labels pipelines.single_table pipelines.progress pipelines.background",
    "pipelines.report.data",
    "pipelines.report.analysis",
    "pipelines.report.output_folder",
    "pipelines.report.save_figures",
    "pipelines.report.charts",
    "pipelines.reproduce",
    "pipelines.report.pages",
    "pipelines.report.write",
    "pipelines.report.live_report pipelines.report.pooled_sweeps",
    "pipelines.report.terminal_summary",
    "pipelines.report",
    "pipelines.sweeps",
    "pipelines.cli",
    "pipelines",
    "treesweep",
)
"""Packages from the lowest to the highest. Those of a line know nothing of each other."""

MOST_MODULES, MOST_LINES = 16, 600


@cache
def modules() -> dict[str, Path]:
    """Every module of the product by its dotted name; a package is its ``__init__``."""
    found = {"treesweep": ROOT / "treesweep.py"}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(name: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(modules()[name].read_text(encoding="utf-8"))


@cache
def imports(name: str) -> frozenset[str]:
    """What a module imports of the product, in functions and for type checking too."""
    found = set()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inside & modules().keys() or {node.module}
    return frozenset(found & modules().keys() - {name})


def circles(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """Take away what imports nothing that is left, again and again; what stays is in a circle."""
    left = {name: set(others) for name, others in graph.items()}
    while free := [name for name, others in left.items() if not others & left.keys()]:
        for name in free:
            del left[name]
    if left:
        yield sorted(left)


def room_of(name: str) -> str:
    """The longest entry of LAYERS that a module lies in."""
    rooms = {room for line in LAYERS for room in line.split()}
    parts = name.split(".")
    return next(
        ".".join(parts[:n]) for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in rooms
    )


DOCUMENTED = {
    "distributed": frozenset(distributed.__all__),
    "distributed.deploy.spec": frozenset({"ProcessInterface"}),  # what a SpecCluster starts
    "distributed.scheduler": frozenset({"WorkerState"}),  # what tells Adaptive a worker's job
}
"""What may be imported of distributed: its documented names."""


def calls(name: str, method: str) -> Iterator[ast.Call]:
    """The calls of a method in a module."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == method:
                yield node


def test_of_distributed_only_documented_names_are_imported() -> None:
    others = set()
    for name in modules():
        for node in ast.walk(tree(name)):
            if isinstance(node, ast.Import):
                others |= {a.name for a in node.names if a.name.startswith("distributed.")}
            elif isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("distributed."):
                names = DOCUMENTED.get(str(node.module), frozenset())
                others |= {f"{node.module}.{a.name}" for a in node.names} - {
                    f"{node.module}.{name}" for name in names
                }
    assert others == set()


def test_dask_chooses_the_workers_of_load_encode_and_solve() -> None:
    submitted = [
        call for name in modules() if "sweep.graph" in name for call in calls(name, "submit")
    ]
    given = {keyword.arg for call in submitted for keyword in call.keywords}
    assert len(submitted) == 2
    assert given == {"key", "priority"}


def test_no_module_is_in_a_circle_of_imports() -> None:
    assert len(modules()) > 200
    assert list(circles({name: set(imports(name)) for name in modules()})) == []


def test_imports_go_down() -> None:
    height = {room: level for level, line in enumerate(LAYERS) for room in line.split()}
    up = []
    for name in modules():
        here = room_of(name)
        for other in imports(name):
            there = room_of(other)
            if here != there and height[there] >= height[here]:
                up.append(f"{name} imports {other}")
    assert up == []


def imports_when_loaded(name: str) -> Iterator[str]:
    """What a module imports when it is imported itself, and the packages it lies in."""
    parts = name.split(".")
    yield from (".".join(parts[:n]) for n in range(1, len(parts)))
    for node in tree(name).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def reached(*names: str) -> set[str]:
    """All modules that are imported with some, of whatever package."""
    found, pending = set(names), list(names)
    while pending:
        for other in imports_when_loaded(pending.pop()):
            if other not in found:
                found.add(other)
                if other in modules():
                    pending.append(other)
    return found


def test_searches_of_one_table_do_not_import_distributed() -> None:
    """It takes half a second, and `solve`, `path` and `predict` do not use it."""
    names = [name for name in modules() if name.startswith("pipelines.single_table.")]
    assert len(names) > 5
    assert not [name for name in reached(*names) if name.split(".")[0] == "distributed"]


@pytest.mark.parametrize("name", ["sweep.graph.engine", "pipelines.report"])
def test_a_sweep_and_its_report_import_kernels_only_if_asked_for(name: str) -> None:
    """The searches and numba take a second, which a sweep of other solvers does not need."""
    found = reached(name)
    assert "solver.catalogue" in found
    assert not [other for other in found if other.split(".")[0] == "numba"]


@pytest.mark.parametrize("floor", FLOORS)
def test_no_room_is_crowded(floor: str) -> None:
    crowded = {}
    for folder in {path.parent for path in (ROOT / floor).rglob("*.py")}:
        count = len([path for path in folder.glob("*.py") if path.name != "__init__.py"])
        if count > MOST_MODULES:
            crowded[str(folder.relative_to(ROOT))] = count
    assert crowded == {}


def test_no_module_is_long() -> None:
    lines = {name: len(path.read_text().splitlines()) for name, path in modules().items()}
    assert {name: n for name, n in lines.items() if n > MOST_LINES} == {}


def test_every_room_says_what_is_in_it_and_what_is_not() -> None:
    silent = []
    for name, path in modules().items():
        if path.name == "__init__.py":
            text = ast.get_docstring(tree(name)) or ""
            if "Here: " not in text or "Not here: " not in text:
                silent.append(name)
    assert silent == []


def test_every_test_of_a_module_stands_where_the_module_stands() -> None:
    """A test file below a package's folder is named after a module there, or after a subject."""
    floors = [path for floor in FLOORS for path in (ROOT / "tests" / floor).rglob("test_*.py")]
    astray = [
        str(path.relative_to(ROOT))
        for path in floors
        if not (ROOT / path.parent.relative_to(ROOT / "tests")).is_dir()
    ]
    assert astray == []


PAGES = [ROOT / "CONTRIBUTING.md", *documentation_pages()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_and_module_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = re.findall(r"`((?:solver|sweep|pipelines|tests|benchmarks|examples)/[\w./-]+)`", text)
    dotted = re.findall(r"`((?:solver|sweep|pipelines)\.(?!yaml|py|md)[\w.]+)`", text)
    files = tuple(f"{name}." for name, at in modules().items() if at.name != "__init__.py")
    missing = [name for name in paths if not (ROOT / name).exists()]
    missing += [name for name in dotted if name not in modules() and not name.startswith(files)]
    assert missing == []


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)", text, flags=re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    dead = []
    for name, anchor in links:
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(f"{name}#{anchor}")
    assert dead == []
