"""The summary of a dataset: recommendation, final tree, verdict, and the command that grows it.

The verdict says how good the tree is on unseen rows, in one sentence and by class. The report's
page and ``treesweep.read_results(…).best()`` both give what this module finds.
"""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipelines.report.analysis.final_trees import (
    FinalTree,
    FinalTrees,
    exact_lam,
    fold_rows,
    leaves_of,
    load_table_of,
)
from pipelines.report.analysis.recommendations import Recommendation, leaves_words
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.data import formatting
from pipelines.report.data.metrics import REGRESSION, rmse, test_words, train_words
from pipelines.report.data.results import Results
from pipelines.report.data.store_reader import decompress
from solver.catalogue import SOLVERS
from solver.features.category_values import as_yaml
from solver.solution import Status
from solver.trees.tree import Tree
from sweep.datasets import Dataset
from sweep.datasets.dataset_reference import DatasetRef
from sweep.datasets.files import UTF8
from sweep.plan.task_keys import BUDGETS
from sweep.spec.folds import Fold, test_rows
from sweep.spec.requested_outputs import asked_shards, asks_division, own_options

Rows: TypeAlias = Sequence[Mapping[str, Any]]


_LIMIT_OPTIONS = {
    "seconds": "--time-limit",
    "bytes": "--memory-limit",
    "nodes": "--node-limit",
    "depth": "--max-depth",
    "splits": "--max-splits",
    "min_leaf_size": "--min-leaf-size",
}
"""The options of ``treesweep solve`` by the names of limits."""


@dataclass(frozen=True)
class Confusion:
    """How many rows of each class (the lines) were given each label (the columns)."""

    classes: tuple[str, ...]
    counts: NDArray[np.int64]
    held_out: bool  # whether these are rows that the tree had not seen
    repeats: int = 1  # of the validation: each held-out row is there once in each

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


@dataclass(frozen=True)
class DatasetSummary:
    """What a sweep says about a dataset."""

    own: Recommendation
    final: FinalTree | str  # or why there is none
    verdict: Verdict
    command: str | None  # that searches for the final tree; None if no command does
    command_gives: str  # what it finds, in words


def summarize_dataset(
    own: Recommendation, report: ReportData, growing: FinalTrees
) -> DatasetSummary:
    """The summary of a recommendation; grows its final tree unless it is known."""
    table = load_table_of(own.dataset, report.results, report.references)
    final = growing.find(own, report.results, table)
    verdict = judge(own, report.results, table, final)
    command, gives = None, ""
    if isinstance(final, FinalTree) and own.path is not None and own.key is not None:
        row = fold_rows(report.results, own.path, own.key)[0]
        # λ as a decimal or a fraction, so that the command gives this tree.
        reference, done = report.references.get(own.dataset), final.is_done
        command = train_command(row, reference, final.lam, has_limits=not done)
        gives = _command_gives(row, final, along_path=bool(own.path.exact_paths))
    return DatasetSummary(own, final, verdict, command, gives)


def _command_gives(row: Mapping[str, Any], final: FinalTree, along_path: bool) -> str:
    """What the command of :func:`train_command` finds."""
    if not final.is_done:  # a limit of time ends each search elsewhere
        return "a tree that may be another one, worse or better"
    # What was grown for the report was neither a part of a path nor divided. A search that may be
    # divided chooses among equally good trees as shards do.
    by_sweep, options = final.limit is None, json.loads(row["solver_options"])
    if by_sweep and (along_path or asked_shards(options) > 1 or asks_division(options)):
        return "this tree or another one that is as good"
    return "exactly this tree"


def judge(
    own: Recommendation, results: Results, dataset: Dataset | str | None, final: FinalTree | str
) -> Verdict:
    """The verdict on a recommendation."""
    if own.path is None or own.point is None or own.key is None or own.tree is None:
        return Verdict(own.headline, None, None, (), 0)
    rows = fold_rows(results, own.path, own.key)
    trees = [Tree.from_json(decompress(row["tree"])) for row in rows]
    baseline = _baseline(rows, trees, dataset)
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


def _baseline(rows: Rows, trees: Sequence[Tree], dataset: Dataset | str | None) -> str:
    """``majority: 41.0 %``: what the most frequent class of the training rows would get of the rows
    that the verdict is about; in regression the RMSE of their mean.

    Held-out rows may have other shares of the classes. If they cannot be read, the figure is that
    of the training rows, which the roots of the trees have, and the words say so.
    """
    found, where = [_of_root(tree) for tree in trees], ""
    if _is_tested(rows):
        if isinstance(dataset, Dataset):
            pairs = zip(rows, trees, strict=True)
            found = [_on_held_out(tree, dataset, _held_out(row, dataset)) for row, tree in pairs]
        else:
            where = " of the training rows"
    mean = math.fsum(found) / len(found)
    if trees[0].outputs:
        return f"always the mean: RMSE {rmse(math.sqrt(mean))}{where}"
    return f"majority{where}: {formatting.percent(mean)}"


def _of_root(tree: Tree) -> float:
    """The share of the most frequent class, or the mean squared error of an output's mean."""
    root = tree.nodes[0]
    if tree.outputs:
        return float(root.squared_error) / root.counts[0] / len(tree.outputs)
    return max(root.counts) / sum(root.counts)


def _on_held_out(tree: Tree, dataset: Dataset, test: NDArray[np.bool_]) -> float:
    """The same of a tree's root on held-out rows."""
    root = tree.nodes[0]
    if tree.outputs:
        return float(((dataset.numbers[test] - np.array(root.value)) ** 2).mean())
    classes, target = dataset.labels
    majority = classes.index(tree.classes[int(np.argmax(root.counts))])
    return float((target[test] == majority).mean())


def _is_tested(rows: Rows) -> bool:
    """Whether all rows were scored on held-out rows."""
    return all(
        formatting.is_number(row["test_accuracy"]) or formatting.is_number(row["test_rmse"])
        for row in rows
    )


def _held_out(row: Mapping[str, Any], dataset: Dataset) -> NDArray[np.bool_]:
    fold = Fold(int(row["repeat"] or 0), int(row["fold"]))
    return test_rows(json.loads(row["validation"]), fold, dataset)


def _sentence(own: Recommendation, baseline: str, final: FinalTree | str) -> str:
    point = own.point
    assert point is not None
    numbers = point["task"] == REGRESSION
    tested = point["test_rmse" if numbers else "test_accuracy"]
    assert own.tree is not None
    words = test_words(point) if formatting.is_number(tested) else train_words(own.tree.quality)
    where = "unseen rows" if formatting.is_number(tested) else "its own training rows"
    right = f"{words} on {where}" if numbers else f"{words} right on {where}"
    limits = point["tree_limits"]
    within = f" among trees within the limits ({limits})" if limits else ""
    if isinstance(final, FinalTree):
        size = formatting.plural(final.tree.leaves, "leaf")
        within = within if final.status == Status.OPTIMAL.value else ""
        said = f"{right} ({baseline}), {size}, {final.proof}{within}."
        if final.tree.leaves > 1 or not formatting.is_number(tested):
            return said
        always = "the mean" if numbers else repr(str(next(iter(leaves_of(final.tree))).label))
        return f"{said} This tree has no split: it always predicts {always}."
    runs, proven = int(point["runs"]), int(point["optimal"])
    proof = "nothing is proven" if point["heuristic"] == runs else (
        f"{formatting.share(proven, runs)} trees of folds proven optimal{within}"
    )  # fmt: skip
    return f"{right} ({baseline}), {leaves_words(point)}, {proof}."


def _confusion(
    rows: Rows,
    trees: Sequence[Tree],
    dataset: Dataset | str | None,
    final: FinalTree | str,
) -> Confusion | None:
    """Of the held-out rows over all folds; without folds of the training rows. None of regression,
    and if the data cannot be read or do not give the errors that the rows have."""
    if trees[0].outputs:
        return None
    if all(formatting.is_number(row["test_errors"]) for row in rows):
        if not isinstance(dataset, Dataset):
            return None
        classes, target = dataset.labels
        counts = np.zeros((len(classes), len(classes)), np.int64)
        place = {label: i for i, label in enumerate(classes)}
        for row, tree in zip(rows, trees, strict=True):
            test = _held_out(row, dataset)
            ends = tree.apply(dataset.features[test])
            told = np.array([place[tree.classes[node.prediction]] for node in tree.nodes])
            np.add.at(counts, (target[test], told[ends]), 1)
        if int(counts.sum() - counts.trace()) != sum(int(row["test_errors"]) for row in rows):
            return None
        repeats = len({row["repeat"] for row in rows})
        return Confusion(tuple(map(str, classes)), counts, held_out=True, repeats=repeats)
    if not isinstance(final, FinalTree):
        return None
    whole = final.tree
    counts = np.zeros((len(whole.classes), len(whole.classes)), np.int64)
    for node in whole.nodes:
        if node.is_leaf:
            counts[:, node.prediction] += np.array(node.counts)
    return Confusion(tuple(map(str, whole.classes)), counts, held_out=False)


def train_command(
    row: Mapping[str, Any], reference: DatasetRef | None, lam_text: str, has_limits: bool = True
) -> str | None:
    """The command that trains a tree on the whole table as a run did on a fold.

    ``lam_text`` is λ as the sweep's file has it; ``2/n`` becomes 2 divided by the rows of the
    table. Without ``has_limits`` the search ends with its proof only. The result is None if nobody
    knows where the table is, or it is a part of one.
    """
    if reference is None or reference.is_part:
        return None
    lam = lam_text
    if lam_text.endswith("/n"):
        lam = str(exact_lam(lam_text, int(row["n_rows"])))
    parts = ["treesweep", "solve", str(reference.path or reference.origin), *_reading(reference)]
    parts += ["--encoding", row["encoding"]]
    for name, value in json.loads(row["encoding_options"]).items():
        parts += ["--encoding-option", f"{name}={_plain(value)}"]
    parts += ["--solver", row["solver"]]
    usual = SOLVERS[row["solver"]].options if row["solver"] in SOLVERS else {}
    for name, value in own_options(json.loads(row["solver_options"])).items():
        if name not in usual or usual[name].default != value:
            parts += ["--option", f"{name}={_plain(value)}"]
    for name, value in ({"seconds": "inf"} | json.loads(row["limits"])).items():
        if name in BUDGETS and not has_limits:
            value = "inf" if name == "seconds" else None
        if value is not None:
            parts += [_LIMIT_OPTIONS[name], str(value)]
    parts += ["--lam", lam, "--save", "tree.json"]
    return shlex.join(parts)


def _reading(reference: DatasetRef) -> list[str]:
    """The options that say how the table is read."""
    parts = []
    for target in reference.targets:
        parts += ["--target", target]
    if reference.task == REGRESSION:
        parts += ["--task", REGRESSION]
    if reference.separator is not None:
        parts += ["--separator", reference.separator]
    if reference.charset != UTF8:
        parts += ["--charset", reference.charset]
    if reference.sheet is not None:
        parts += ["--sheet", reference.sheet]
    if reference.test is not None:
        parts += ["--column", f"{next(iter(reference.test))}=drop"]
    for column, wish in reference.overrides().items():
        parts += ["--column", f"{column}={wish if isinstance(wish, str) else as_yaml(wish)}"]
    return parts


def _plain(value: Any) -> str:
    """An option's value on the command line: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)
