"""The verdict on a dataset: how good its tree is on unseen rows, in one sentence and by class."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipelines.report.analysis.final_trees import FinalTree, fold_rows
from pipelines.report.analysis.recommendations import Recommendation, leaves_words
from pipelines.report.data import formats
from pipelines.report.data.metrics import REGRESSION, rmse, test_words, train_words
from pipelines.report.data.results import Results
from pipelines.report.data.stored_tables import decompress
from solver.trees.tree import Tree
from sweep.datasets import Dataset
from sweep.spec.folds import Fold, test_rows


@dataclass(frozen=True)
class Confusion:
    """How many rows of each class (the lines) were given each label (the columns)."""

    classes: tuple[str, ...]
    counts: NDArray[np.int64]
    held_out: bool  # whether these are rows that the tree had not seen

    @property
    def recalls(self) -> list[float | None]:
        """The share of each class that is right; None for a class without rows."""
        totals = self.counts.sum(axis=1)
        return [
            int(self.counts[i, i]) / int(total) if total else None for i, total in enumerate(totals)
        ]


@dataclass(frozen=True)
class Verdict:
    """What a reader must know about a dataset first."""

    sentence: str
    baseline: str | None  # what predicting without a tree would give
    confusion: Confusion | None
    uses: tuple[tuple[str, int], ...]  # columns, and in the trees of how many folds each is
    folds: int


def judge(
    own: Recommendation, results: Results, dataset: Dataset | str | None, final: FinalTree | str
) -> Verdict:
    """The verdict on a recommendation."""
    if own.path is None or own.point is None or own.key is None or own.tree is None:
        return Verdict(own.headline, None, None, (), 0)
    rows = fold_rows(results, own.path, own.key)
    trees = [Tree.from_json(decompress(row["tree"])) for row in rows]
    baseline = _baseline(trees)
    used = Counter(column for tree in trees for column in _columns(tree))
    uses = sorted(used.items(), key=lambda item: (-item[1], item[0]))
    return Verdict(
        sentence=_sentence(own, baseline, final),
        baseline=baseline,
        confusion=_confusion(rows, trees, dataset, final),
        uses=tuple(uses),
        folds=len(trees),
    )


def _columns(tree: Tree) -> set[str]:
    return {column for test in tree.tests.values() for column in test.columns}


def _baseline(trees: Sequence[Tree]) -> str:
    """``majority: 41.0 %``: the share of the most frequent class in the training rows; in
    regression the RMSE of the mean. The roots of the trees have both."""
    roots = [tree.nodes[0] for tree in trees]
    if trees[0].outputs:
        outputs = len(trees[0].outputs)
        squares = [float(r.squared_error) / r.counts[0] / outputs for r in roots]
        return f"always the mean: RMSE {rmse(math.sqrt(sum(squares) / len(squares)))}"
    counts = np.sum([root.counts for root in roots], axis=0)
    return f"majority: {formats.percent(int(counts.max()) / int(counts.sum()))}"


def _sentence(own: Recommendation, baseline: str, final: FinalTree | str) -> str:
    point = own.point
    assert point is not None
    numbers = point["task"] == REGRESSION
    tested = point["test_rmse" if numbers else "test_accuracy"]
    words = test_words(point) if formats.is_number(tested) else train_words(point)
    where = "unseen rows" if formats.is_number(tested) else "its own training rows"
    right = f"{words} on {where}" if numbers else f"{words} right on {where}"
    if isinstance(final, FinalTree):
        size = formats.plural(final.tree.leaves, "leaf")
        return f"{right} ({baseline}), {size}, {final.proof}."
    runs, proven = int(point["runs"]), int(point["optimal"])
    proof = "nothing is proven" if point["heuristic"] == runs else (
        f"{formats.share(proven, runs)} trees of folds proven optimal"
    )  # fmt: skip
    return f"{right} ({baseline}), {leaves_words(point)}, {proof}."


def _confusion(
    rows: Sequence[Mapping[str, Any]],
    trees: Sequence[Tree],
    dataset: Dataset | str | None,
    final: FinalTree | str,
) -> Confusion | None:
    """Of the held-out rows over all folds; without folds of the training rows. None of regression,
    and if the data cannot be read or do not give the errors that the rows have."""
    if trees[0].outputs:
        return None
    if all(formats.is_number(row["test_errors"]) for row in rows):
        if not isinstance(dataset, Dataset):
            return None
        classes, target = dataset.labels
        counts = np.zeros((len(classes), len(classes)), np.int64)
        place = {label: i for i, label in enumerate(classes)}
        for row, tree in zip(rows, trees, strict=True):
            fold = Fold(int(row["repeat"] or 0), int(row["fold"]))
            test = test_rows(json.loads(row["validation"]), fold, dataset)
            ends = tree.apply(dataset.features[test])
            told = np.array([place[tree.classes[node.prediction]] for node in tree.nodes])
            np.add.at(counts, (target[test], told[ends]), 1)
        if int(counts.sum() - counts.trace()) != sum(int(row["test_errors"]) for row in rows):
            return None
        return Confusion(tuple(map(str, classes)), counts, held_out=True)
    if not isinstance(final, FinalTree):
        return None
    whole = final.tree
    counts = np.zeros((len(whole.classes), len(whole.classes)), np.int64)
    for node in whole.nodes:
        if node.is_leaf:
            counts[:, node.prediction] += np.array(node.counts)
    return Confusion(tuple(map(str, whole.classes)), counts, held_out=False)
