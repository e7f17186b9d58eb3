"""Fixtures for the tests of the engine."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweep.rows.rows import Cell
from sweep.worker import tasks
from tests.faults.driving import Processes

HERE = Path(__file__).parent


def _helper(name: str) -> Any:
    """A module beside the tests; they are no package."""
    full = f"tests_sweep_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, HERE / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[full] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[full]


@pytest.fixture(scope="session")
def rowmaker() -> Any:
    """Makes rows without Dask, see rowmaker.py."""
    return _helper("rowmaker")


@pytest.fixture(scope="session")
def small_rows(rowmaker: Any) -> list[dict[str, Any]]:
    """The rows of the small sweep; do not change them."""
    rows: list[dict[str, Any]] = rowmaker.make_rows(rowmaker.small_sweep())
    return rows


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """A cluster that runs already."""
    found = Processes(tmp_path)
    yield found
    found.close()


@pytest.fixture(scope="module")
def prepared(plan: Any) -> tasks.Prepared:
    """The first node of the plan, which the module of the test makes."""
    node = plan.nodes[0]
    return tasks.prepare(tasks.load(node.reference, node.info.data_hash), node)


@pytest.fixture
def cells(plan: Any, rowmaker: Any) -> list[Cell]:
    """All tasks of the plan, as workers get them."""
    return [rowmaker.cell_of(task) for task in plan.tasks()]
