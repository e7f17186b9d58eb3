"""Fixtures of the fault tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.helpers.dask_processes import Lab
from tests.helpers.drivers import FAULTY, STEPS, Drive, alike


@pytest.fixture(scope="session")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The rows of an undisturbed run of STEPS."""
    drive = Drive(tmp_path_factory.mktemp("quiet"))
    assert drive.finish("run", STEPS)["code"] == 0
    return alike(drive.rows())


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Lab]:
    """A cluster of two workers that runs already."""
    found = Lab(tmp_path, settings={**FAULTY, "TREESWEEP_TEST_SCRATCH": str(tmp_path)})
    for name in ("one", "two"):
        found.worker(name)
    yield found
    found.close()
