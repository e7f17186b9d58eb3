"""An open λ-path has the same worst gap in its row, the status, the progress and the report."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipelines.report.write import write_report
from sweep.clusters.local import Local
from sweep.events import Progress, Silent
from sweep.graph.engine import run_sweep
from sweep.rows.largest_path_gap import row_gap
from sweep.spec.spec import parse_spec
from sweep.store.read_results import read_results
from sweep.store.sweep_status import sweep_status

SPEC = """\
name: open
datasets: [{{name: d, path: {table}, target: y{task}}}]
encodings: [{encoding}]
lambdas: [{lam}]
solvers: [{solver}{more}]
"""
CASES = {
    "regression": (
        "3,1,17 7,2,6 0,1,3 1,7,2 1,8,25 8,1,14 3,2,27 8,1,14 4,6,23 0,8,16 5,7,29 5,4,19 8,3,22",
        {"task": ", task: regression", "encoding": "continuous", "lam": 1,
         "solver": "{solver: quantbnb, lam: path, options: {depth: 2, nodes: 3}}"},
    ),
    "classification": (
        "1,1,y 2,0,y 1,2,n 2,0,y 1,2,n 1,0,n 1,1,y 2,2,n 2,1,y 0,1,y 2,0,n 0,0,y 2,2,y 0,2,n 2,1,n",
        {"task": "", "encoding": "onehot", "lam": 0,
         "solver": "{solver: osdt, lam: path, options: {nodes: 1}}"},
    ),
}  # fmt: skip


class Heard(Silent):
    """Keeps the last figures that a run has told."""

    gap: float | None = None

    def progress(self, progress: Progress) -> None:
        self.gap = progress.worst_gap


@pytest.mark.parametrize("case", CASES)
def test_all_tell_the_same_gap(tmp_path: Path, case: str) -> None:
    rows, fields = CASES[case]
    table, out = tmp_path / "d.csv", tmp_path / "out"
    table.write_text("\n".join(["a,b,y", *rows.split()]) + "\n")
    true = None
    # Neither a task that is proven nor one that was answered before hides the open one.
    for more in ("", ", cart"):
        spec = parse_spec(SPEC.format(table=table, more=more, **fields))
        heard = Heard()
        run_sweep(spec, out, Local(workers=1), listener=heard)
        (row,) = read_results(out).query("solver != 'cart'").to_dict("records")
        true = row_gap(row)
        assert true is not None
        assert true > 0
        assert sweep_status(out).worst_gap == heard.gap == float(true)
    write_report(out, tmp_path / "report")
    ranking = pd.read_csv(tmp_path / "report" / "tables" / "ranking.csv").set_index("solver")
    (found,) = [gap for name, gap in ranking["gap_max"].items() if "cart" not in str(name)]
    assert found == pytest.approx(float(true))
