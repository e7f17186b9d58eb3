"""Fixtures for the tests of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweep.rows.result_rows import Cell
from sweep.worker import tasks
from tests.helpers import without_dask
from tests.helpers.dask_processes import Lab


@pytest.fixture(scope="session")
def rowmaker() -> Any:
    """Makes rows without Dask."""
    return without_dask


@pytest.fixture(scope="session")
def small_rows() -> list[dict[str, Any]]:
    """The rows of the small sweep; do not change them."""
    return without_dask.make_rows(without_dask.small_sweep())


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Lab]:
    """A cluster of two workers that runs already."""
    found = Lab(tmp_path)
    for name in ("one", "two"):
        found.worker(name)
    yield found
    found.close()


@pytest.fixture(scope="module")
def prepared(plan: Any) -> tasks.Prepared:
    """The first node of the plan, which the module of the test makes."""
    node = plan.nodes[0]
    return tasks.prepare(tasks.load(node.reference, node.info.data_hash), node)


@pytest.fixture
def cells(plan: Any) -> list[Cell]:
    """All tasks of the plan, as workers get them."""
    return [without_dask.cell_of(task) for task in plan.tasks()]
