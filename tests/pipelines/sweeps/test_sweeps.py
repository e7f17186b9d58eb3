"""Tests of pipelines/sweeps/: a sweep from Python, to its results."""

from __future__ import annotations

import asyncio
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import treesweep
from sweep.spec.python_spec import as_sweep
from sweep.store import read_results as stored
from tests.helpers.notebook import be_notebook
from tests.helpers.without_dask import run_here

SPEC: dict[str, Any] = {
    "name": "small",
    "datasets": ["monks-1", "iris"],
    "encodings": ["onehot", {"encoding": "quantiles", "k": [2, 4]}],
    "lambdas": [0.1, 0.02],
    "solvers": ["cart", {"solver": "branches", "lam": "path"}],
    "validation": {"kind": "kfold", "folds": 2},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> treesweep.SweepResults:
    """Those of a sweep that was run where an event loop runs, as in a notebook."""
    out = tmp_path_factory.mktemp("sweep") / "out"

    async def cell() -> treesweep.SweepResults:
        return treesweep.run_sweep(SPEC, out, treesweep.Local(workers=1), progress=False)

    return asyncio.run(cell())


def test_a_dict_is_run_and_its_results_are_read(results: treesweep.SweepResults) -> None:
    assert results.outcome is not None
    assert (results.outcome.ran, results.outcome.failed, len(results)) == (30, 0, 30)
    pd.testing.assert_frame_equal(results.frame, stored.read_results(results.folder))
    assert treesweep.read_results(results.folder, columns=["lam"]).frame.columns == ["lam"]
    assert treesweep.status(results.folder).done == 30
    assert results == treesweep.read_results(results.folder)


def test_a_finished_sweep_has_nothing_to_do(
    results: treesweep.SweepResults, capsys: pytest.CaptureFixture[str]
) -> None:
    again = treesweep.resume_sweep(results.folder)
    assert again.outcome is not None
    assert (again.outcome.ran, again.outcome.answered) == (0, 30)
    assert capsys.readouterr().out == ""


def test_the_best_is_what_the_report_recommends(results: treesweep.SweepResults) -> None:
    best = results.best("iris")
    assert (best.dataset, best.encoding, best.solver) == ("iris", "quantiles (k=4)", "branches")
    assert best.headline == f"Take {best.encoding} with branches at any λ from {best.lam}."
    assert best.tree is not None
    assert best.tree.splits == 4
    assert sum(best.tree.nodes[0].counts) == 150  # grown on all rows, not on those of a fold
    assert (best.status, best.why) == ("optimal", "")
    assert best.verdict.endswith("5 leaves, proven optimal at λ = 0.04.")
    page = treesweep.write_report(results.folder).page
    assert best.verdict in page.read_text(encoding="utf-8")
    (file,) = (page.parent / "final-trees").glob("*iris*.json")
    assert best.tree.to_dict() == json.loads(file.read_text(encoding="utf-8"))
    assert best.command is not None
    assert best.test_accuracy is not None
    assert best.verdict.startswith(f"{100 * best.test_accuracy:.1f} % ")
    html = results._repr_html_()
    assert "<b>small</b>: 30 of 30 tasks done, 0 failed" in html
    assert f"<td>{best.headline}</td>" in html


def test_trees_are_found_by_the_beginning_of_a_key(results: treesweep.SweepResults) -> None:
    row = results.frame.iloc[0]
    assert results.tree(row["key"][:12]).to_json() == row["tree"]


def test_a_stored_path_is_the_path_of_its_rows(results: treesweep.SweepResults) -> None:
    found = results.path("monks-1", "onehot", "branches", fold=1)
    row = results.frame.query("dataset == 'monks-1' and path.notna() and fold == 1").iloc[0]
    assert found.status == row["status"] == "optimal"
    assert [str(lam) for lam in found.lams] == [step["lam"] for step in row["path"]]
    assert found.lam_min == Fraction(1, 50)
    for lam in (*found.lams, Fraction(1, 10)):
        assert found.lower_bound_at(lam) == found.objective_at(lam)
    solution = found.solution_at(Fraction(1, 10))
    assert (solution.status, solution.splits) == ("optimal", found.step_at(solution.lam).splits)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ("best()", "there are several datasets; write one of: best('monks-1'), best('iris')"),
        ("best('irs')", "no dataset 'irs'; write one of: best('monks-1'), best('iris')"),
        ("tree('zz')", "no task that has been run has a key that begins with 'zz'"),
        ("tree('')", "30 tasks have a key that begins with ''"),
        (
            "path('monks-1', 'onehot')",
            "2 λ-paths fit; write one of: path('monks-1', 'onehot', 'branches', fold=0), "
            "path('monks-1', 'onehot', 'branches', fold=1)",
        ),
        ("path('iris', 'onehot')", "no λ-path fits; write one of: path('monks-1', 'onehot', "),
    ],
)
def test_a_question_without_one_answer_says_what_to_ask(
    results: treesweep.SweepResults, ask: str, message: str
) -> None:
    with pytest.raises(treesweep.InputError) as error:
        eval(f"results.{ask}", {"results": results})
    assert message in str(error.value)
    calls = str(error.value).partition("write one of: ")[2]
    for call in re.findall(r"(?:best|path)\(.*?\)(?=, (?:best|path)|$)", calls):
        assert eval(f"results.{call}", {"results": results})


def test_auto_is_settled_for_each_dataset_and_limits_that_were_hit_are_counted(
    tmp_path: Path,
) -> None:
    spec = {"name": "auto", "datasets": ["monks-1", "iris", "diabetes"], "encodings": "auto",
            "lambdas": 0.001, "solvers": "auto", "limits": {"nodes": 2}}  # fmt: skip
    results = treesweep.run_sweep(spec, tmp_path / "out", treesweep.Local(workers=1))
    cells = results.frame[["dataset", "encoding", "solver"]].to_numpy().tolist()
    assert cells == [
        ["monks-1", "onehot", "branches"],
        ["iris", "thresholds", "branches"],
        ["diabetes", "continuous", "quantbnb"],
    ]
    limited = int((results.frame["status"] == "node_limit").sum())
    assert limited >= 2
    assert results.outcome is not None
    assert results.outcome.limited == limited


def test_what_is_no_cluster_is_refused_before_anything_runs(tmp_path: Path) -> None:
    for wrong in (2, {"kind": "local"}):
        with pytest.raises(treesweep.InputError, match=r"a cluster is treesweep\.Local"):
            treesweep.run_sweep(SPEC, tmp_path / "out", wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_a_notebook_shows_one_bar(
    results: treesweep.SweepResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = be_notebook(monkeypatch)
    treesweep.resume_sweep(results.folder)
    (output,) = cell
    assert repr(output.shown[0]) == "0% small: starting"
    assert repr(output.shown[-1]) == "100% small: Nothing to do: all 30 tasks were answered before."
    assert '<progress max="1" value="1.0000"' in output.shown[-1]._repr_html_()


def test_paths_of_repeated_folds_are_told_apart(tmp_path: Path) -> None:
    paths = {"solver": "branches", "lam": "path"}
    folds = {"kind": "kfold", "folds": 2, "repeats": 2}
    spec = SPEC | {"datasets": ["monks-1"], "encodings": "onehot", "solvers": paths}
    run_here(tmp_path / "out", as_sweep(spec | {"validation": folds}))
    results = treesweep.read_results(tmp_path / "out")
    with pytest.raises(treesweep.InputError, match="2 λ-paths fit; write one of: path") as told:
        results.path(fold=1)
    for call in re.findall(r"(path\(.*?\))", str(told.value)):
        assert eval(f"results.{call}", {"results": results}).status == "optimal"
    assert results.path(fold=1, repeat=1) != results.path(fold=1, repeat=0)
