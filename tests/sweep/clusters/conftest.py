"""Servers that stand for machines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.faults.driving import MANY, Drive, alike
from tests.sweep.clusters import slurmd, sshd


@pytest.fixture(scope="session")
def ssh_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sshd.Servers]:
    """Two machines that can be logged in to."""
    why = sshd.missing()
    if why is not None:
        pytest.skip(why)
    found = sshd.Servers(tmp_path_factory.mktemp("ssh"), 2)
    yield found
    found.close()


@pytest.fixture
def own_servers(tmp_path: Path) -> Iterator[sshd.Servers]:
    """Two machines of a test's own, to be switched off and on."""
    why = sshd.missing()
    if why is not None:
        pytest.skip(why)
    found = sshd.Servers(tmp_path, 2)
    yield found
    found.close()


@pytest.fixture(scope="session")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The rows of an undisturbed run of MANY on this machine."""
    drive = Drive(tmp_path_factory.mktemp("quiet"))
    assert drive.finish("run", MANY)["code"] == 0
    return alike(drive.rows())


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurmd.Slurm]:
    """A SLURM of one node, which commands find by the environment."""
    why = slurmd.missing()
    if why is not None:
        pytest.skip(why)
    found = slurmd.Slurm(tmp_path_factory.mktemp("slurm"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**found.environment, "PYTHONPATH": str(sshd.ROOT)}.items():
            patch.setenv(name, value)
        yield found
    found.close()
