"""Fixtures for the tests of the engine."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweep import tasks
from sweep.rows import Cell

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


class Processes:
    """A scheduler and workers, each a process started by Dask's own commands."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "dask.log"
        self.log.touch()
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(HERE.parent.parent),
            "DASK_DISTRIBUTED__WORKER__PRELOAD": f"['{HERE / 'faulty.py'}']",
        }
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        deadline = time.monotonic() + 60
        while not (found := re.search(r"(tcp://127\.0\.0\.1:\d+)", self.log.read_text())):
            assert time.monotonic() < deadline, self.log.read_text()
            assert self.scheduler.poll() is None, self.log.read_text()
            time.sleep(0.1)
        self.address = found[1]
        self.workers = [self.start_worker(), self.start_worker()]

    def start_worker(self) -> subprocess.Popen[bytes]:
        return self._start("worker", self.address, "--nthreads", "1", "--host", "127.0.0.1")

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as to:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *command, "--no-dashboard"],
                stdout=to,
                stderr=to,
                env=self.environment,
                cwd=self.folder,
            )

    def close(self) -> None:
        everyone = [*self.workers, self.scheduler]
        for process in everyone:
            process.terminate()
        for process in everyone:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


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
