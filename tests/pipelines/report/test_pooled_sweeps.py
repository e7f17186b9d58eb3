"""Tests of pipelines/report/pooled_sweeps.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipelines.report.pooled_sweeps import gather_comparison
from pipelines.report.write import gather_report
from sweep.plan.plan import make_plan
from sweep.store import store as stores
from sweep.store.plan_file import survey
from tests.helpers import without_dask
from tests.helpers.commands import refused, run

SPEC = """\
name: {name}
datasets: [monks-1, iris]
encodings: [onehot, mdlp]
lambdas: {lambdas}
solvers: {solvers}
validation: {{kind: kfold, folds: 2, seed: {seed}}}
"""

PATHS = "[{solver: branches, lam: path}]"


def finish(folder: Path, name: str, lambdas: str, solvers: str, seed: int = 0) -> Path:
    text = SPEC.format(name=name, lambdas=lambdas, solvers=solvers, seed=seed)
    without_dask.finish(folder / name, without_dask.small_sweep(text))
    return folder / name


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweeps")
    finish(folder, "one", "[0.1, 0.02]", "[branches]")
    finish(folder, "two", "[0.1, 0.02]", "[cart, branches]")
    finish(folder, "all", "[0.1, 0.02]", "[branches, cart]")
    return folder


LIMITED = """\
name: {name}
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.1, 0.02]
solvers: [branches]
limits: {{seconds: {seconds}}}
"""


def test_a_task_counts_as_run_if_one_sweep_has_an_answer_under_other_limits(tmp_path: Path) -> None:
    """Its key is that of larger limits, for which the answer was good enough."""
    short, long, none = (
        without_dask.small_sweep(LIMITED.format(name=name, seconds=seconds))
        for name, seconds in (("run", 60), ("run", 90), ("planned", 90))
    )
    without_dask.finish(tmp_path / "run", short)
    without_dask.run_here(tmp_path / "run", long)
    with stores.create(tmp_path / "planned", none, print) as made:
        survey(make_plan(none), made)
    for order in (["planned", "run"], ["run", "planned"]):
        found = gather_comparison([tmp_path / name for name in order]).results
        assert (found.n_ok, len(found.missing)) == (2, 0)


def test_two_sweeps_are_reported_as_one_that_has_the_tasks_of_both(home: Path) -> None:
    both, whole = gather_comparison([home / "one", home / "two"]), gather_report(home / "all")
    assert both.results.name == "one and two"
    assert (both.results.n_ok, both.results.n_impossible) == (
        whole.results.n_ok,
        whole.results.n_impossible,
    )
    columns = ["dataset", "encoding_label", "solver_label", "lam_key", "fold", "objective_exact"]
    found, wanted = (
        one.results.rows[columns].astype(str).sort_values(columns, ignore_index=True)
        for one in (both, whole)
    )
    pd.testing.assert_frame_equal(found, wanted)
    assert [one.headline for one in both.recommendations] == [
        one.headline for one in whole.recommendations
    ]
    assert both.references == whole.references


def test_the_command_writes_one_report(home: Path, tmp_path: Path) -> None:
    result = run("compare", home / "one", home / "two", "--out", tmp_path / "report")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "one and two: 24 done, 8 impossible"
    assert "one and two" in (tmp_path / "report" / "index.html").read_text()


def test_the_command_ends_with_the_tasks_that_each_sweep_has_not_run(
    home: Path, tmp_path: Path
) -> None:
    """Also where another sweep has the answer."""
    text = SPEC.format(name="late", lambdas="[0.1, 0.05]", solvers="[branches]", seed=0)
    with stores.create(tmp_path / "late", without_dask.small_sweep(text), print) as made:
        survey(make_plan(without_dask.small_sweep(text)), made)
    out = tmp_path / "report"
    result = run("compare", home / "one", tmp_path / "late", home / "two", "--out", out)
    first, *_, last = result.stdout.splitlines()
    assert first == "one and late and two: 24 done, 6 not run yet, 8 impossible"
    assert "<b>6</b> not run yet" in (out / "index.html").read_text()
    assert last == f"late: 12 of 12 tasks not run yet: treesweep resume {tmp_path / 'late'}"
    done = run("compare", home / "one", home / "two", "--out", out)
    assert done.stdout.splitlines()[-1].startswith("Report: ")


def test_what_cannot_be_compared_is_refused(home: Path, tmp_path: Path) -> None:
    other = finish(tmp_path, "other", "[0.1]", "[cart]", seed=1)
    line = refused("compare", home / "one", other, "--out", tmp_path / "report")
    assert "dataset 'monks-1': " in line
    assert "give both the same 'validation:' and 'seed:'" in line
    assert "'treesweep report " in refused("compare", home / "one")
    assert "there is no folder" in refused("compare", home / "one", tmp_path / "no")
    assert not (tmp_path / "report").exists()


def table_called(folder: Path, name: str, source: str, solvers: str) -> Path:
    """A finished sweep of one built-in table under a name."""
    text = (
        f"name: named\ndatasets: [{{name: {name}, source: {source}}}]\nencodings: [onehot]\n"
        f"lambdas: [0.1, 0.02]\nsolvers: {solvers}\n"
    )
    without_dask.run_here(folder, without_dask.small_sweep(text))
    return folder


def test_names_are_those_of_todays_plans(tmp_path: Path) -> None:
    renamed = table_called(tmp_path / "one", "old", "monks-1", "[branches]")
    table_called(renamed, "new", "monks-1", "[branches]")
    taken = table_called(tmp_path / "two", "new", "tic-tac-toe", "[cart]")
    line = refused("compare", renamed, taken, "--out", tmp_path / "report")
    assert "dataset 'new': " in line
    assert "hold different tables under this name" in line
    # The name that the rows were stored under is free.
    free = table_called(tmp_path / "three", "old", "tic-tac-toe", "[cart]")
    report = gather_comparison([renamed, free])
    hashes = report.results.rows.groupby("dataset", observed=True)["data_hash"].nunique()
    assert hashes.to_dict() == {"new": 1, "old": 1}


def test_a_table_of_two_names_keeps_the_tasks_of_both(tmp_path: Path) -> None:
    one = table_called(tmp_path / "one", "first", "monks-1", "[branches]")
    two = table_called(tmp_path / "two", "second", "monks-1", "[cart, branches]")
    runs = gather_comparison([one, two]).results.rows.groupby("dataset", observed=True).size()
    assert runs.to_dict() == {"first": 2, "second": 4}


def test_of_two_paths_of_a_cell_the_longer_one_counts(tmp_path: Path) -> None:
    for name, least in (("short", "0.1"), ("long", "0.02")):
        text = SPEC.format(name=name, lambdas=f"[{least}]", seed=0, solvers=PATHS)
        without_dask.run_here(tmp_path / name, without_dask.small_sweep(text))
    both, alone = (
        gather_comparison([tmp_path / "short", tmp_path / "long"]),
        gather_report(tmp_path / "long"),
    )
    assert [one.headline for one in both.recommendations] == [
        one.headline for one in alone.recommendations
    ]
    for found, wanted in zip(both.paths, alone.paths, strict=True):
        pd.testing.assert_frame_equal(found.table, wanted.table)
        assert len(found.exact_paths) == 2


def test_a_longer_path_that_has_not_run_hides_no_shorter_one(tmp_path: Path) -> None:
    for name, least in (("short", "0.1"), ("long", "0.02")):
        text = SPEC.format(name=name, lambdas=f"[{least}]", seed=0, solvers=PATHS)
        spec = without_dask.small_sweep(text)
        if name == "short":
            without_dask.run_here(tmp_path / name, spec)
        else:
            with stores.create(tmp_path / name, spec, print) as made:
                survey(make_plan(spec), made)
    both, alone = (
        gather_comparison([tmp_path / "long", tmp_path / "short"]),
        gather_report(tmp_path / "short"),
    )
    assert len(both.results.rows) == len(alone.results.rows)
    for found, wanted in zip(both.paths, alone.paths, strict=True):
        pd.testing.assert_frame_equal(found.table, wanted.table)
