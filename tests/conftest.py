"""Fixtures for all tests."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from pyarrow import fs

from tests.helpers import PATIENCE, ROOT, wait_until
from tests.helpers.ports import free_port, listens

# Hypothesis fails an example that takes 200 ms; on a busy machine any may.
settings.register_profile("treesweep", deadline=None)
# In CI each run tries the same examples, so that a change fails by what it changes.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if "TREESWEEP_CI" in os.environ else "treesweep")

LONGEST = (
    "test_slurm_config.py",
    "test_dying_writes.py",
    "test_kills.py",
    "test_interrupted_paths.py",
    "test_edits.py",
)
"""Files of tests of a minute: who begins with one of them last keeps all others waiting."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile`` one process gets the tests of a file, with two exceptions.

    Faults and rows of edits go one by one: they take long and share only an undisturbed run of
    seconds. Of the documentation a page goes to one process.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(("tests/faults/", "tests/pipelines/test_edits.py")):
                return nodeid
            if nodeid.startswith("tests/run_documentation.py"):
                return nodeid.partition("[")[2].partition(":")[0]
            return str(super()._split_scope(nodeid))

    return Scheduling(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of tests that are all marked, do not import the files that have none: it takes seconds."""
    asked = config.getoption("markexpr") in ("slow", "slow or faults")
    if asked and collection_path.name.startswith("test_") and collection_path.suffix == ".py":
        source = collection_path.read_text("utf-8")
        return None if "mark.slow" in source or "mark.faults" in source else True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage neither meanwhile nor ever among what is collected: 600,000 objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The published benchmark data, which lie beside the checkout and are no part of it."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the published data (../shared/data) are not here")
    return folder


LOOK = 0.1
"""Seconds that a look at the clock takes under ``counted_time``: so many that slices stay short."""


@pytest.fixture
def counted_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of searches counts how often it is read.

    A limit of seconds is then met after the same work on every machine, however busy it is.
    """
    looks = itertools.count(1)
    monkeypatch.setattr(time, "perf_counter", lambda: LOOK * next(looks))


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that speaks S3."""
    pytest.importorskip("moto.server", reason="moto, a server that speaks S3, is not installed")
    port = free_port()
    log = (tmp_path_factory.mktemp("s3") / "log").open("wb")
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=log, stderr=log)

    def is_up() -> bool:
        assert process.poll() is None, Path(log.name).read_text()
        return listens(port)

    wait_until(is_up, Path(log.name).read_text)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(timeout=PATIENCE)
    log.close()


@pytest.fixture
def bucket(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a new bucket; the environment says how it is reached."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "treesweep-test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "treesweep-test")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    name = f"bucket-{uuid.uuid4().hex}"
    server = fs.S3FileSystem(endpoint_override=s3_server, allow_bucket_creation=True)
    server.create_dir(name)
    return f"s3://{name}"
