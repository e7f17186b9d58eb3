"""The final tree of a dataset: grown on all rows at the chosen encoding, solver and λ.

Folds say which λ predicts well; their trees lack the held-out rows. The tree to use has seen all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.analysis.recommendations import Recommendation
from pipelines.report.data import formatting
from pipelines.report.data.metrics import number
from pipelines.report.data.results import Results
from pipelines.report.data.store_reader import decompress
from solver.catalogue import get_solver
from solver.errors import InputError
from solver.limits import Limits
from solver.solution import Status
from solver.trees.tree import Tree
from solver.trees.tree_view import in_short
from sweep.datasets import Dataset, DatasetRef, load_dataset
from sweep.plan.task_keys import canonical, task_key
from sweep.spec.folds import Fold
from sweep.spec.requested_outputs import own_options
from sweep.worker.encode import encode

KNOWN = ".final-trees.json"
"""The file of a report with the final trees that it has grown."""
SECONDS, ALL_SECONDS = 30.0, 120.0
"""Limits on the search of a final tree, and on those of a report together."""


@dataclass(frozen=True)
class FinalTree:
    """A tree grown on all rows. ``limit`` is that of a search for the report, in seconds; None if
    the tree is the sweep's own."""

    text: str  # JSON
    lam: str
    status: str
    gap: float | None
    seconds: float
    limit: float | None = None

    @property
    def tree(self) -> Tree:
        """The tree."""
        return Tree.from_json(self.text)

    @property
    def is_done(self) -> bool:
        """Whether the search ended by itself, not at a limit."""
        return Status(self.status).is_whole

    @property
    def proof(self) -> str:
        """What is proven about it, in words."""
        if self.status == Status.OPTIMAL.value:
            return f"proven optimal at λ = {self.lam}"
        if self.status == Status.HEURISTIC.value:
            return f"found at λ = {self.lam}, nothing is proven"
        gap = "" if self.gap is None else f" (gap at most {formatting.gap(self.gap)})"
        return f"not proven optimal at λ = {self.lam}{gap}"


def load_table_of(
    name: str, results: Results, references: Mapping[str, DatasetRef]
) -> Dataset | str | None:
    """A dataset as the sweep had it, or why it cannot be read any more. No run, no dataset."""
    digests = results.rows.loc[results.rows["dataset"] == name, "data_hash"]
    if digests.empty:
        return None
    if name not in references:
        return "the sweep's file does not say where the data are"
    try:
        dataset = load_dataset(references[name])
    except InputError as error:
        return str(error)
    return dataset if dataset.digest == digests.iloc[0] else "the data have changed since"


def lam_to_train_at(point: pd.Series[Any]) -> str:
    """The chosen λ, or a short decimal within the chosen interval."""
    start, end = point["lam_start_exact"], point["lam_end_exact"]
    if start is None:
        return str(point["lam_text"])
    return formatting.plain_between(Fraction(start), None if end is None else Fraction(end))


def exact_lam(text: str, n_rows: int) -> Fraction:
    """λ as a fraction; ``2/n`` is 2 divided by the rows of the table."""
    if text.endswith("/n"):
        return Fraction(text.removesuffix("/n")) / n_rows
    return Fraction(text)


def fold_rows(results: Results, path: LambdaPath, key: str) -> list[dict[str, Any]]:
    """The rows with a tree at a λ of a path, one a fold; on an exact path as of this λ."""
    if path.exact_paths:
        return [one.row_at(Fraction(key)) for one in path.exact_paths]
    rows = path.rows_in(results.by_lambda)
    found = rows[rows["ok"] & (rows["lam_key"] == key)].to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in found]


def read_known(report: Path) -> dict[str, Any]:
    """The final trees that an earlier report in a folder has grown, by their keys."""
    try:
        found = json.loads((report / KNOWN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class FinalTrees:
    """Finds or grows final trees. ``known`` are those of an earlier report by their keys."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = known
        self._left = ALL_SECONDS
        self.used: dict[str, Any] = {}
        """What the next report need not grow again."""

    def find(
        self, own: Recommendation, results: Results, dataset: Dataset | str | None
    ) -> FinalTree | str:
        """The final tree of a recommendation, or why there is none."""
        if own.path is None or own.point is None or own.key is None or own.tree is None:
            return "no λ is chosen"
        lam = lam_to_train_at(own.point)
        if own.tree.fold is None:
            # Of an exact path's tree more may be proven at another λ than at this one.
            rows = fold_rows(results, own.path, lam if own.path.exact_paths else own.key)
            same = (row for row in rows if decompress(row["tree"]) == own.tree.text)
            row = min(same, key=lambda row: row["status"] != Status.OPTIMAL.value)
            proven = row["status"] == Status.OPTIMAL.value
            gap = None if proven else number(row["gap"])
            seconds = float(own.point["seconds"])
            return FinalTree(own.tree.text, lam, str(row["status"]), gap, seconds)
        if not isinstance(dataset, Dataset):
            return dataset or "the data cannot be read"
        try:
            return self._grow(fold_rows(results, own.path, own.key)[0], lam, dataset)
        except Exception as error:  # whatever a solver does, there is a report
            return f"growing it failed: {error}"

    def _grow(self, row: Mapping[str, Any], lam: str, dataset: Dataset) -> FinalTree | str:
        solver = get_solver(row["solver"])
        options = own_options(json.loads(row["solver_options"]))
        limits = json.loads(row["limits"])
        exact = exact_lam(lam, len(dataset.frame))
        whole = {"fold": None, "repeat": None, "validation": "null", "lam_exact": str(exact)}
        whole |= {"limits": canonical(limits), "solver_version": solver.version}
        key = task_key({**row, **whole, "solver_options": canonical(options)})
        if key in self._known:
            self.used[key] = self._known[key]
            return FinalTree(**self.used[key])
        if self._left < 1:
            return f"the report's {ALL_SECONDS:g} s for final trees are over"
        limit = min(SECONDS, self._left, limits.get("seconds") or SECONDS)
        problem, _ = encode(
            dataset, row["encoding"], json.loads(row["encoding_options"]), None, Fold(None, None)
        )
        maker = solver(**options)
        maker.warm_up()  # compiling is not part of the search's time
        found = maker.solve(problem, exact, Limits(**{**limits, "seconds": limit}))
        self._left -= found.seconds
        grown = FinalTree(
            text=found.tree.to_json(),
            lam=lam,
            status=found.status.value,
            gap=None if found.gap is None else float(found.gap),
            seconds=found.seconds,
            limit=limit,
        )
        self.used[key] = asdict(grown)
        return grown


class Leaf(NamedTuple):
    """A leaf: the conditions on the way to it, its prediction, its training rows by class, and the
    place of its node."""

    conditions: str
    label: str
    counts: tuple[int, ...]
    position: int


def leaves_of(tree: Tree) -> Iterator[Leaf]:
    """The leaves of a classification tree that training rows reach, from left to right."""
    pending: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while pending:
        position, conditions = pending.pop()
        node = tree.nodes[position]
        if node.feature is None:
            if sum(node.counts):
                words = " and ".join(conditions) or "all rows"
                yield Leaf(words, str(tree.classes[node.prediction]), node.counts, position)
            continue
        test = tree.tests[node.feature]
        below = [(child, (*conditions, in_short(test, i))) for i, child in enumerate(node.children)]
        pending += reversed(below)
