"""All good trees of a sweep in its report, against the enumeration of the stored sets."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from pipelines.report import write_report
from pipelines.report.analysis import good_trees
from pipelines.report.analysis.good_trees import (
    GoodTrees,
    SetsAt,
    column_table,
    row_table,
    set_table,
)
from pipelines.report.data.stored_good_trees import StoredSets
from pipelines.report.pages.good_trees import _agreement
from pipelines.report.write import gather_report
from solver import Problem
from solver.rashomon.find_set import rashomon_set
from sweep.spec.spec import parse_spec
from tests.helpers import browser, without_dask
from tests.helpers.commands import run

# No two features of these columns separate the rows alike: each tree is counted once.
ROWS = [
    "a,b,c,class",
    *(f"{i % 3},{i % 5},{i % 7 % 3},{'yn'[i % 3 == 0 or i % 5 > 2]}" for i in range(60)),
    *["0,1,1,y"] * 3,
    *["1,4,0,y"] * 2,
]
SPEC = """
name: good
datasets: [{path: t.csv, target: class}]
encodings: [onehot]
lambdas: [0.1, 0.03]
solvers: [{solver: branches, options: {depth: 3}, rashomon: {within: 0.3}}, cart]
"""


def sweep(folder: Path, more: str = "") -> Path:
    (folder / "t.csv").write_text("\n".join([*ROWS, ""]))
    without_dask.finish(folder / "out", parse_spec(SPEC + more, folder))
    return folder / "out"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sweep(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def own(out: Path) -> GoodTrees:
    (found,) = gather_report(out).good_trees
    return found


def test_numbers_are_those_of_all_trees_of_the_set(out: Path, own: GoodTrees) -> None:
    assert (own.encoding, own.within, own.why) == ("onehot", "30 % of the optimum", "")
    assert [at.lam_text for at in own.points] == ["0.1", "0.03"]
    stored = StoredSets(out)
    for at in own.points:
        assert at.first is not None and at.summary is not None  # noqa: PT018
        found, frame = stored.restore(at.first), stored.training_rows(at.first)
        trees = [*found.trees()]
        assert at.trees == (len(trees),) == (at.summary.n_trees,)
        best = trees[0].predict(frame)
        others = [(tree.predict(frame) != best) for tree in trees]
        disputed = pd.DataFrame(others).any()
        assert at.summary.ambiguity == Fraction(int(disputed.sum()), len(frame))
        assert at.summary.discrepancy == max(Fraction(int(o.sum()), len(frame)) for o in others)
        users = at.summary.columns.set_index("column")["trees"]
        for column in ("a", "b", "c"):
            assert users[column] == sum(column in tree.columns for tree in trees)


def test_the_smallest_lambda_is_shown_in_full(out: Path, own: GoodTrees) -> None:
    full = own.full
    assert full is not None
    assert full.at.lam_text == "0.03"
    frame = pd.read_csv(out.parent / "t.csv")
    trees = [*full.found.trees()]
    assert len(full.rows) == len(frame) == 65
    assert full.rows["truth"].tolist() == frame["class"].tolist()
    for row, agree in zip(full.rows["row"], full.rows["agree"], strict=True):
        asked = frame.iloc[[row - 1]]
        (best,) = full.best.predict(asked)
        same = sum(tree.predict(asked)[0] == best for tree in trees)
        assert agree == same / len(trees)
    leaves = [*full.leaves()]
    assert len(leaves) == full.best.leaves
    assert sum(one["rows"] for one in leaves) == 65
    assert sum(one["disputed"] for one in leaves) == (full.rows["agree"] < 1).sum() > 0


def test_a_few_different_trees_are_shown(own: GoodTrees) -> None:
    assert own.full is not None
    shown, found = own.full.shown, own.full.found
    texts = [one.tree.to_json() for one in shown]
    assert 3 <= len(texts) == len({*texts}) <= good_trees.MOST_SHOWN
    assert {*texts} <= {tree.to_json() for tree in found.trees()}
    assert (shown[0].why, shown[0].above, shown[0].differs) == ("the best one", 0, 0)
    for one in shown:
        assert one.above == found.objective_of(one.tree) - found.optimum
        if one.why.startswith("the best one without "):
            assert one.why.rpartition(" ")[2] not in one.tree.columns


def test_folds_have_sets_of_their_own(tmp_path: Path) -> None:
    folder = sweep(tmp_path, "validation: {kind: kfold, folds: 3}\n")
    (own,) = gather_report(folder).good_trees
    assert [len(at.trees) for at in own.points] == [3, 3]
    assert own.full is not None
    assert (own.full.fold, len(own.full.rows)) == (0, 43)
    page = write_report(folder).page.read_text(encoding="utf-8")
    assert "Each fold's training rows have a set of their own" in page


def test_rows_are_agreed_on_only_if_all_of_very_many_trees_agree() -> None:
    """The tree without a split is one of 2·10¹⁷: it disputes four rows."""
    rows = [*itertools.product((0, 1), repeat=3)]
    codes = [[z, *[a] * 600, *[b] * 600] for z, a, b in rows]
    target = [sum(row) % 2 for row in rows]
    found = rashomon_set(Problem.from_codes(codes, target), "1/14", 0)
    frame = pd.DataFrame(codes, columns=[f"x{i}" for i in range(1201)]).assign(target=target)
    full = good_trees._in_full(SetsAt("", "", 0.0, (), 1, None, None), found, frame)
    assert found.multiplicity.ambiguity == Fraction(1, 2)
    assert (full.rows["agree"] < 1).sum() == 4
    assert _agreement(full)[0][1] == 4


def test_tables(own: GoodTrees) -> None:
    sets, columns, rows = set_table([own]), column_table([own]), row_table([own])
    assert sets["trees_most"].tolist() == [str(at.trees[0]) for at in own.points]
    assert columns.groupby("lam").size().to_dict() == {"0.03": 3, "0.1": 3}
    assert (rows["agree"] < 1).all()
    assert rows["agree"].is_monotonic_increasing
    assert (len(column_table([])), len(row_table([]))) == (0, 0)


def test_what_cannot_be_restored_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sweep(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(good_trees, "SECONDS", 0.0)
        (own,) = gather_report(folder).good_trees
    assert own.why == "the report's 0 s for sets of trees are over"
    assert [at.trees for at in own.points] != [(), ()]
    (tmp_path / "t.csv").write_text("\n".join([*ROWS[:-1], ""]))
    (own,) = gather_report(folder).good_trees
    assert "has changed since" in own.why
    page = write_report(folder).page.read_text(encoding="utf-8")
    assert "Not all that is known is shown" in page


def test_a_set_that_is_not_there_is_said(tmp_path: Path) -> None:
    folder = sweep(tmp_path)
    for path in (folder / "rashomon").iterdir():
        path.unlink()
    (own,) = gather_report(folder).good_trees
    assert "is not there" in own.why
    assert own.full is None


def test_without_good_trees_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join([*ROWS, ""]))
    text = SPEC.replace(", rashomon: {within: 0.3}", "")
    without_dask.finish(tmp_path / "out", parse_spec(text, tmp_path))
    assert gather_report(tmp_path / "out").good_trees == []
    assert "ood trees" not in write_report(tmp_path / "out").page.read_text(encoding="utf-8")


def test_the_page_says_what_the_set_says(out: Path, own: GoodTrees) -> None:
    paths = write_report(out)
    page = paths.page.read_text(encoding="utf-8")
    assert own.full is not None
    assert f"{own.full.found.n_trees:,} trees are good".replace(",", "\u202f") in page
    assert "All trees within the limits (depth: 3) whose objective is within 30 %" in page
    assert "The best tree: without a it costs" in page
    assert "Their errors and splits" in page
    assert page.count("The best one that asks") >= 1
    assert (paths.folder / "tables" / "good_trees_rows.csv").exists()
    if browser.CHROMIUM is not None:
        for width in (1400, 400):
            found = browser.measure(paths.page, width)
            assert (found["wider"], found["broken"]) == ([], [])


def test_trees_of_the_gallery_are_files(out: Path) -> None:
    paths = write_report(out)
    assert [*(paths.folder / "trees").glob("tree-good-trees-*.svg")]


CUT = """
name: cut
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.02]
solvers: [{solver: branches, rashomon: {within: 3}}]
limits: {nodes: 3000}
"""


def test_a_set_that_a_limit_has_cut_short_is_said_to_be(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    without_dask.finish(folder, parse_spec(CUT))
    (own,) = gather_report(folder).good_trees
    (at,) = own.points
    assert (at.cut, own.within) == (1, "300 % of the optimum")
    assert at.within != own.within
    assert set_table([own])["cut_short"].tolist() == [1]
    page = write_report(folder).page.read_text(encoding="utf-8")
    assert f"a limit ended the search, and all trees within {at.within} are counted" in page
    assert "1 set of a smaller tolerance: a limit ended the search" in run("status", folder).stdout
