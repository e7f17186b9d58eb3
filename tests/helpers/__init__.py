"""What several test files share.

Here: hypothesis strategies, made-up rows, small sweeps, and servers and drivers in processes of
their own. Not here: the naive solvers (``tests/naive.py``) and the random questions of
``tests/contract``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The folder of the project."""

KERNELS_ONLY = f"""
import sys, types
sys.modules["solver"] = types.ModuleType("solver")
sys.modules["solver"].__path__ = [{str(ROOT / "solver")!r}]
"""
"""Begins a program that needs ``solver.kernels`` only: importing all of it takes a second."""


PATIENCE = 400.0
"""Seconds that a test waits for what must come. Only a defect makes any wait so long: a slow$
machine with other work takes 30 s to start a worker."""


def documentation_pages() -> list[Path]:
    """README.md and the pages of docs/, without what Sphinx makes there."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    made = ROOT / "docs" / "_build"
    return [ROOT / "README.md", *(page for page in pages if made not in page.parents)]


def environment(**more: str) -> dict[str, str]:
    """The environment of a process that imports the project from anywhere."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def wait_until(
    condition: Callable[[], object], why: Callable[[], object] = str, seconds: float = PATIENCE
) -> None:
    """Wait for a condition; ``why`` says what is known if it does not come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, why()
        time.sleep(0.05)
