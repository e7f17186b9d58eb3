"""A heuristic that a limit has cut short is no answer under a larger limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sweep.spec.spec import parse_spec
from sweep.store.read_results import read_results
from sweep.verify.verify import verify_sweep
from tests.helpers.without_dask import run_here

SPEC = """\
name: cut
datasets: [{{name: t, path: {folder}/t.csv, target: y}}]
encodings: [continuous]
lambdas: [0.002]
solvers: [{solver}]
limits: {{seconds: {seconds}}}
"""


@pytest.mark.parametrize("solver", ["tao", "{solver: tao, lam: path}"])
def test_it_is_run_again_and_gives_what_a_fresh_folder_gives(tmp_path: Path, solver: str) -> None:
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(400, 6)).round(2)
    target = (columns[:, 0] * columns[:, 1] > 0) ^ (rng.random(400) < 0.2)
    table = pd.DataFrame(columns, columns=list("abcdef")).assign(y=np.where(target, "p", "q"))
    table.to_csv(tmp_path / "t.csv", index=False)
    for out, seconds in (("out", "0.000001"), ("out", "60"), ("fresh", "60")):
        text = SPEC.format(folder=tmp_path, solver=solver, seconds=seconds)
        run_here(tmp_path / out, parse_spec(text))
        if seconds != "60":
            (status,) = read_results(tmp_path / out)["status"]
            assert status == "time_limit"
        assert verify_sweep(tmp_path / out).findings == []
    names = ["key", "status", "objective_exact", "tree", "limits"]
    found, wanted = (read_results(tmp_path / name)[names] for name in ("out", "fresh"))
    assert found.to_numpy().tolist() == wanted.to_numpy().tolist()
    assert found["status"].tolist() == ["heuristic"]
