"""Servers that stand for machines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.helpers import environment, slurm_server, ssh_server
from tests.helpers.drivers import STEPS, Drive, alike


@pytest.fixture(scope="session")
def ssh_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ssh_server.Servers]:
    """Two machines that can be logged in to."""
    why = ssh_server.missing()
    if why is not None:
        pytest.skip(why)
    found = ssh_server.Servers(tmp_path_factory.mktemp("ssh"), 2)
    yield found
    found.close()


@pytest.fixture
def own_servers(tmp_path: Path) -> Iterator[ssh_server.Servers]:
    """Two machines of a test's own, to be switched off and on."""
    why = ssh_server.missing()
    if why is not None:
        pytest.skip(why)
    found = ssh_server.Servers(tmp_path, 2)
    yield found
    found.close()


@pytest.fixture(scope="session")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The rows of an undisturbed run of STEPS on this machine."""
    drive = Drive(tmp_path_factory.mktemp("quiet"))
    assert drive.finish("run", STEPS)["code"] == 0
    return alike(drive.rows())


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurm_server.Slurm]:
    """A SLURM of one node, which commands find by the environment."""
    why = slurm_server.missing()
    if why is not None:
        pytest.skip(why)
    found = slurm_server.Slurm(tmp_path_factory.mktemp("slurm"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(**found.environment).items():
            patch.setenv(name, value)
        yield found
    found.close()
