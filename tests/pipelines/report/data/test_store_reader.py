"""Traces of the runs that a report counts."""

from __future__ import annotations

from pathlib import Path

from pipelines.report.write import gather_report
from sweep.spec.spec import parse_spec
from tests.helpers import without_dask

SPEC = """
name: traced
datasets: [monks-1, balance-scale]
encodings: [onehot]
lambdas: [0.05, 0.02]
solvers: [branches, osdt]
limits: {seconds: 60, depth: 2}
"""


def test_a_run_that_answers_under_a_larger_limit_keeps_its_trace(tmp_path: Path) -> None:
    without_dask.finish(tmp_path, parse_spec(SPEC))
    before = gather_report(tmp_path).curves
    assert any(0 < share < 1 for curve in before for share in curve.share)
    without_dask.run_here(tmp_path, parse_spec(SPEC.replace("60", "90")))
    found = gather_report(tmp_path)
    assert len(found.results.stored_keys) == len(found.results.rows) == 8
    for now, then in zip(found.curves, before, strict=True):
        assert now.solver == then.solver
        assert now.seconds.tolist() == then.seconds.tolist()
        assert now.share.tolist() == then.share.tolist()
