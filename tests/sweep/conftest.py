"""Fixtures for the tests of the engine."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

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
