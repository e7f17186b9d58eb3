"""Tests of treesweep.py: the public API in one module."""

from __future__ import annotations

import doctest
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import treesweep
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


@pytest.mark.parametrize(
    "module",
    [
        "solver.catalogue",
        "solver.trees.export",
        *(f"solver.estimators.{name}" for name in ("branches", "osdt", "quantbnb", "proper")),
    ],
)
def test_the_examples_of_docstrings_are_true(module: str) -> None:
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
