"""Fixtures of the fault tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.faults.driving import STEPS, TOGETHER, Drive, Processes, alike


@pytest.fixture(scope="session")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The rows of an undisturbed run of STEPS."""
    drive = Drive(tmp_path_factory.mktemp("quiet"))
    assert drive.finish("run", STEPS)["code"] == 0
    return alike(drive.rows())


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """A cluster that runs already."""
    found = Processes(tmp_path, settings={"TREESWEEP_TEST_SCRATCH": str(tmp_path), **TOGETHER})
    yield found
    found.close()
