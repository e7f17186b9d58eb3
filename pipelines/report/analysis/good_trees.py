"""All good trees of a sweep that was asked for them: how many along λ, and one set in full."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from pipelines.report.analysis.final_trees import leaves_of
from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.analysis.recommendations import Recommendation
from pipelines.report.data.group_statistics import floats, lam_ranks
from pipelines.report.data.results import Results
from pipelines.report.data.stored_good_trees import USED, StoredSets
from solver.errors import InputError
from solver.solution import share_of
from solver.trees.tree import Tree
from sweep.spec.requested_outputs import asked_rashomon

if TYPE_CHECKING:  # a report without sets needs no kernels
    from solver.rashomon.rashomon_set import RashomonSet

SECONDS = 60.0
"""A report restores sets for so long; the counts of the others are shown as they are stored."""

MOST_SHOWN = 6
"""The largest number of different good trees that are shown."""

MOST_ROWS = 10_000
"""The largest number of disputed rows in a table, those of most dispute first."""


class Summary(NamedTuple):
    """What a set says, without its trees."""

    n_trees: int
    optimum: Fraction
    most: Fraction  # the largest objective of a good tree
    ambiguity: Fraction
    discrepancy: Fraction
    columns: pd.DataFrame  # by ``RashomonSet.feature_shares``


class SetsAt(NamedTuple):
    """The sets of a path at one λ."""

    lam_key: str
    lam_text: str
    lam: float
    trees: tuple[int, ...]  # of each run that has some
    runs: int
    first: dict[str, Any] | None  # the first of these runs
    summary: Summary | None  # of its set, if it was restored
    cut: int = 0  # in how many of these runs a limit ended the search
    within: str = ""  # the least tolerance within which all trees are counted, in words


class ShownTree(NamedTuple):
    """A good tree and why it is shown."""

    why: str
    tree: Tree
    above: Fraction  # how much more it costs than the best one
    differs: float  # the share of training rows for which it predicts another class


@dataclass(frozen=True, eq=False)
class SetInFull:
    """One set with some of its trees.

    ``rows`` has the training rows: ``row`` (counted from 1 in the data), ``truth``, ``predicted``
    by the best tree, ``leaf`` (the node where it ends there) and ``agree``, the share of good trees
    that predict the same.
    """

    at: SetsAt
    found: RashomonSet
    fold: int | None
    best: Tree
    shown: tuple[ShownTree, ...]
    rows: pd.DataFrame

    def leaves(self) -> Iterator[dict[str, Any]]:
        """The leaves of the best tree, with their rows, and how many of these are disputed."""
        by_leaf = dict(iter(self.rows.groupby("leaf")))
        for leaf in leaves_of(self.best):
            if leaf.position in by_leaf:
                agree = by_leaf[leaf.position]["agree"]
                yield {
                    "conditions": leaf.conditions, "label": leaf.label, "rows": len(agree),
                    "disputed": int((agree < 1).sum()), "least": float(agree.min()),
                }  # fmt: skip


@dataclass(frozen=True)
class GoodTrees:
    """The sets of a path."""

    dataset: str
    encoding: str
    solver: str
    within: str  # in words
    limits: str  # on the trees, in words
    points: tuple[SetsAt, ...]  # from large λ to small
    full: SetInFull | None
    why: str = ""  # why some set is not restored


def find_good_trees(
    results: Results,
    paths: Sequence[LambdaPath],
    recommendations: Sequence[Recommendation],
    stored: StoredSets,
) -> list[GoodTrees]:
    """The sets of all paths that were asked for them, in their order."""
    rows = results.by_lambda
    asked = rows["solver_options"].astype(str).str.contains('"rashomon"', regex=False)
    if not asked.any():
        return []
    restorer, chosen = _Restorer(stored), {own.dataset: own for own in recommendations}
    found = []
    for path in paths:
        own = path.rows_in(rows[asked])
        if len(own):
            found.append(_of_path(path, own, chosen.get(path.dataset), restorer))
    return found


class _Restorer:
    """Restores sets until the time for them is over, or one cannot be restored."""

    def __init__(self, stored: StoredSets) -> None:
        self._stored = stored
        self.left = SECONDS
        self.why: dict[str, str] = {}  # by dataset

    def restore(self, row: Mapping[str, Any]) -> RashomonSet | None:
        """The set of a row; None if the report has no time for it, or it cannot be read."""
        if row["dataset"] in self.why:
            return None
        if self.left <= 0:
            self.why[row["dataset"]] = f"the report's {SECONDS:g} s for sets of trees are over"
            return None
        try:
            return self._stored.restore(row)
        except InputError as error:
            self.why[row["dataset"]] = str(error)
            return None

    def training_rows(self, row: Mapping[str, Any]) -> pd.DataFrame:
        return self._stored.training_rows(row)


def _of_path(
    path: LambdaPath, rows: pd.DataFrame, own: Recommendation | None, restorer: _Restorer
) -> GoodTrees:
    wanted = _wanted(path, rows, own)
    points, full = [], None
    asked = asked_rashomon(json.loads(str(rows["solver_options"].iloc[0]))) or {}
    ranked = rows.assign(_rank=lam_ranks(rows)).sort_values("_rank", ascending=False, kind="stable")
    for key, group in ranked.groupby("lam_key", sort=False, observed=True):
        began = time.perf_counter()
        counted = group[group["rashomon"].notna()]
        first = None
        if len(counted):
            place = np.lexsort([floats(counted["fold"]), floats(counted["repeat"])])[0]
            first = {name: counted[name].iloc[place] for name in USED}
        found = None if first is None else restorer.restore(first)
        one = group.iloc[0]
        at = SetsAt(
            str(key), str(one["lam_text"]), float(one["lam"]),
            tuple(map(int, counted["rashomon_trees"])), len(group), first,
            None if found is None else _summary(found), *_cut(counted, asked),
        )  # fmt: skip
        points.append(at)
        if found is not None and first is not None and key == wanted:
            full = _in_full(at, found, restorer.training_rows(first))
        restorer.left -= time.perf_counter() - began
    within = _within(Fraction(asked["within"]), asked["unit"])
    why = restorer.why.get(path.dataset, "")
    limits = str(rows["tree_limits"].iloc[0])
    names = path.dataset, path.encoding, path.solver
    return GoodTrees(*names, within, limits, tuple(points), full, why)


def _wanted(path: LambdaPath, rows: pd.DataFrame, own: Recommendation | None) -> str:
    """The λ whose set is shown in full: the chosen one, else the smallest."""
    counted = rows[rows["rashomon"].notna()]
    known = {str(key) for key in counted["lam_key"]}
    chosen = own.key if own is not None and own.path is path else None
    for key in (chosen, path.one_se, path.minimum):
        if key in known:
            return str(key)
    return str(counted["lam_key"].iloc[lam_ranks(counted).argmin()]) if len(counted) else ""


def _cut(counted: pd.DataFrame, asked: Mapping[str, str]) -> tuple[int, str]:
    """How many of some sets a limit has cut short, and their least tolerance."""
    found = [Fraction(within) for within in counted["rashomon_within"]]
    wanted = Fraction(asked["within"])
    return (
        sum(within < wanted for within in found),
        _within(min([wanted, *found]), asked["unit"]),
    )


def _within(within: Fraction, unit: str) -> str:
    number = f"{float(within):.6g}"
    if unit == "relative":
        return f"{float(100 * within):.6g} % of the optimum"
    return f"{number} λ of the optimum" if unit == "lam" else f"{number} of the optimum"


def _summary(found: RashomonSet) -> Summary:
    return Summary(
        found.n_trees, found.optimum, found.most, *found.multiplicity,
        found.feature_shares(by="column"),
    )  # fmt: skip


def _in_full(at: SetsAt, found: RashomonSet, frame: pd.DataFrame) -> SetInFull:
    best = next(found.trees())
    predicted, counts = best.predict(frame), found.predictions(frame)
    places = [list(best.classes).index(label) for label in predicted.tolist()]
    same = counts.to_numpy()[range(len(frame)), places]
    rows = pd.DataFrame({
        "row": frame.index.to_numpy() + 1,
        "truth": frame[best.target].astype(str).to_numpy(),
        "predicted": predicted.astype(str),
        "leaf": best.apply(frame),
        "agree": [share_of(number, found.n_trees) for number in same],
    })  # fmt: skip
    shown = tuple(_shown(found, best, frame, predicted))
    fold = None if at.first is None or pd.isna(at.first["fold"]) else int(at.first["fold"])
    return SetInFull(at, found, fold, best, shown, rows)


def _shown(
    found: RashomonSet, best: Tree, frame: pd.DataFrame, predicted: Any
) -> Iterator[ShownTree]:
    """A few good trees that differ, each once."""
    seen: set[str] = set()
    for why, tree in _candidates(found, best):
        text = "" if tree is None else tree.to_json()
        if tree is None or text in seen:
            continue
        seen.add(text)
        differs = float((tree.predict(frame) != predicted).mean())
        yield ShownTree(why, tree, found.objective_of(tree) - found.optimum, differs)
        if len(seen) == MOST_SHOWN:
            return


def _candidates(found: RashomonSet, best: Tree) -> Iterator[tuple[str, Tree | None]]:
    yield "the best one", best
    yield "the smallest one", next(found.trees(order="splits"))
    yield "the most accurate one", next(found.trees(order="errors"))
    shares = found.feature_shares(by="column")
    used = shares[(shares["trees"] > 0) & (shares["trees"] < found.n_trees)]
    for column in used.loc[used["column"].isin(list(best.columns)), "column"].head(2):
        yield f"the best one without {column}", found.best(without=[column])
    for column in shares.loc[shares["root_trees"] > 0].sort_values(
        "root_trees", ascending=False, kind="stable"
    )["column"]:
        yield f"the best one that asks {column} first", found.best(root=column)


def set_table(sets: Sequence[GoodTrees]) -> pd.DataFrame:
    """The sets of all paths, a λ a row, for a file."""
    records = []
    for own in sets:
        for at in own.points:
            known = at.summary
            records.append({
                **_names(own), "lam": at.lam_text, "runs": at.runs, "counted": len(at.trees),
                "cut_short": at.cut,
                "trees_least": None if not at.trees else str(min(at.trees)),
                "trees_most": None if not at.trees else str(max(at.trees)),
                "optimum_exact": None if known is None else str(known.optimum),
                "most_exact": None if known is None else str(known.most),
                "ambiguity": None if known is None else float(known.ambiguity),
                "discrepancy": None if known is None else float(known.discrepancy),
            })  # fmt: skip
    return pd.DataFrame(records)


def column_table(sets: Sequence[GoodTrees]) -> pd.DataFrame:
    """The columns that the trees of the first set at each λ read, for a file."""
    tables = [
        at.summary.columns.assign(**_names(own), lam=at.lam_text, trees=_texts(at, "trees"),
                                  root_trees=_texts(at, "root_trees"))
        for own in sets for at in own.points if at.summary is not None
    ]  # fmt: skip
    return _joined(tables)


def row_table(sets: Sequence[GoodTrees]) -> pd.DataFrame:
    """The rows on which the trees of the sets in full disagree, for a file."""
    tables = []
    for own in sets:
        if own.full is not None:
            rows = own.full.rows
            rows = rows[rows["agree"] < 1].sort_values("agree", kind="stable").head(MOST_ROWS)
            names = _names(own) | {"lam": own.full.at.lam_text}
            tables.append(rows.drop(columns="leaf").assign(**names))
    return _joined(tables)


def _names(own: GoodTrees) -> dict[str, str]:
    return {"dataset": own.dataset, "encoding": own.encoding, "solver": own.solver}


def _texts(at: SetsAt, name: str) -> list[str]:
    """Numbers of trees as digits: they may be beyond 64 bits."""
    assert at.summary is not None
    return [str(number) for number in at.summary.columns[name]]


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    if not tables:
        return pd.DataFrame(columns=["dataset", "encoding", "solver", "lam"])
    whole = pd.concat(tables, ignore_index=True)
    first = ["dataset", "encoding", "solver", "lam"]
    return whole[[*first, *(name for name in whole if name not in first)]]
