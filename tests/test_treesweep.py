"""Tests of treesweep.py: the public API in one module."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import treesweep
from solver import catalogue, encodings
from tests.helpers import ROOT


@pytest.mark.parametrize("name", treesweep.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(treesweep, name) is not None
    assert name in dir(treesweep)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'treesweep' has no attribute 'sweep_all'"):
        treesweep.sweep_all  # noqa: B018


def test_the_version_is_that_of_the_project() -> None:
    assert f'version = "{treesweep.__version__}"' in (ROOT / "pyproject.toml").read_text()


def start(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, whose modules Python finds first."""
    lines = (
        f"import sys; sys.path[:0] = [{str(folder)!r}]; sys.path.append({str(ROOT)!r}); {program}"
    )
    return subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, cwd=folder, check=False
    )


@pytest.mark.parametrize("name", ["solver.py", "sweep.py", "pipelines.py", "solver/__init__.py"])
def test_a_module_of_the_users_that_hides_ours_is_named(tmp_path: Path, name: str) -> None:
    own = tmp_path / name
    own.parent.mkdir(exist_ok=True)
    own.write_text("print('imported')\n")
    done = start(tmp_path, "import treesweep")
    last = done.stderr.strip().splitlines()[-1]
    package = own.parent.name if name.endswith("__init__.py") else own.stem
    assert last == (
        f"ImportError: {own} hides treesweep's package {package!r}: rename that file, "
        "or start Python in another folder"
    )
    assert "imported" not in done.stdout


def test_a_solve_needs_neither_dask_nor_matplotlib_nor_scikit_learn(tmp_path: Path) -> None:
    program = (
        "import treesweep; print(*({'distributed', 'matplotlib', 'sklearn'} & set(sys.modules)))"
    )
    done = start(tmp_path, program)
    assert (done.stdout.strip(), done.returncode) == ("", 0)


def test_what_runs_no_search_of_ours_does_not_import_numba(tmp_path: Path) -> None:
    """Children of external solvers and commands like ``show`` would take a second longer."""
    names = "solver.external.gosdt, solver.external.flowoct, solver.external.oct, solver.encodings"
    program = f"import {names}, solver.trees.export; print('numba' in sys.modules)"
    done = start(tmp_path, program)
    assert (done.stdout.strip(), done.returncode) == ("False", 0)


@pytest.fixture(scope="module")
def folder_of_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where examples run: with results/first, the sweep in the docstring of ``run_sweep``."""
    folder = tmp_path_factory.mktemp("examples")
    spec = {
        "name": "first",
        "datasets": "monks-1",
        "encodings": "onehot",
        "lambdas": [0.05, 0.02],
        "solvers": ["branches", "cart"],
        "validation": {"kind": "kfold", "folds": 2},
    }
    treesweep.run_sweep(spec, folder / "results" / "first", progress=False)
    return folder


@pytest.mark.parametrize("name", [name for name in treesweep.__all__ if name != "__version__"])
def test_every_public_name_has_an_example_that_works(
    name: str, folder_of_examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SOLVERS and ENCODINGS have theirs where they are assigned, as Sphinx reads them."""
    monkeypatch.chdir(folder_of_examples)
    monkeypatch.setattr(catalogue.SOLVERS, "_solvers", dict(catalogue.SOLVERS))
    text = ASSIGNED.get(name) or getattr(treesweep, name).__doc__
    globs = {"treesweep": treesweep, **vars(treesweep)}
    test = doctest.DocTestParser().get_doctest(text, globs, name, None, None)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_every_public_name_has_a_page() -> None:
    lines = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8").splitlines()
    listed = [line.strip() for line in lines if line.startswith("   ") and ":" not in line]
    assert sorted(listed) == sorted(set(treesweep.__all__) - {"__version__"})


def docstring_of(module: ModuleType, name: str) -> str:
    """The text under an assignment."""
    body = ast.parse(inspect.getsource(module)).body
    at = next(
        i
        for i, node in enumerate(body)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and name in {getattr(one, "id", "") for one in ast.walk(node)}
    )
    text = body[at + 1]
    assert isinstance(text, ast.Expr)
    value: str = ast.literal_eval(text.value)
    return value


ASSIGNED = {
    "SOLVERS": docstring_of(catalogue, "SOLVERS"),
    "ENCODINGS": docstring_of(encodings, "ENCODINGS"),
}
