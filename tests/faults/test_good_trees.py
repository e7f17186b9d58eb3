"""A driver is killed while good trees are counted; afterwards the store is that of a quiet run."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from pipelines.sweeps import read_results
from solver.limits import Limits
from solver.rashomon.find_set import rashomon_set
from sweep.verify.verify import verify_sweep
from tests.helpers.drivers import Drive, alike, wait_for_done

pytestmark = [pytest.mark.faults, pytest.mark.slow]

SPEC = """
name: good
datasets:
  [monks-1, monks-2, monks-3, balance-scale, tic-tac-toe, car, nursery, iris, wine, breast-cancer]
encodings: auto
lambdas: [0.05, 0.02, 0.01]
solvers: [{solver: branches, rashomon: {within: 0.1}, options: {depth: 3}}]
limits: {seconds: 120}
"""


def files(drive: Drive) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (drive.out / "rashomon").iterdir()}


def test_a_driver_killed_while_good_trees_are_counted_changes_nothing(tmp_path: Path) -> None:
    quiet, struck = Drive(tmp_path / "quiet"), Drive(tmp_path / "struck")
    for drive in (quiet, struck):
        drive.folder.mkdir()
    assert quiet.finish("run", SPEC)["code"] == 0
    written: set[str] = set()
    for command in ("run", "resume"):
        with struck.start(command, SPEC) as process:
            wait_for_done(process, len(written) + 1)
            process.kill()
        rows = struck.rows()
        assert written <= set(rows["key"])
        written = set(rows["key"])
    assert struck.finish("resume")["code"] == 0
    assert struck.finish("resume")["ran"] == 0
    pd.testing.assert_frame_equal(alike(struck.rows()), alike(quiet.rows()))
    assert files(struck) == files(quiet)
    found = verify_sweep(struck.out)
    assert (found.sets, found.findings) == (30, [])
    results = read_results(struck.out)
    row = results.frame.iloc[0]
    stored = results.rashomon_set(row["key"])
    assert stored.within == Fraction("0.1")
    again = rashomon_set(stored.problem, row["lam_exact"], "0.1", limits=Limits(depth=3))
    assert stored.histogram == again.histogram
    assert stored.feature_shares().equals(again.feature_shares())
