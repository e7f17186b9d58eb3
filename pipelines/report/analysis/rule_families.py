"""Rule families: the quality of trees with axis-parallel, oblique and curved splits, by size."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.data.group_statistics import lam_ranks
from pipelines.report.data.metrics import REGRESSION
from pipelines.report.data.results import Results
from pipelines.report.data.store_reader import decompress
from pipelines.variant_labels import telling_options
from solver.errors import InputError
from solver.features.number_format import count
from solver.solution import Status
from solver.trees.tree import Tree
from sweep.datasets import Dataset, load_dataset
from sweep.datasets.dataset_reference import DatasetRef
from sweep.spec import folds
from sweep.spec.requested_outputs import own_options

AXIS, HYPERPLANE, POLYNOMIAL, MIXED = "axis", "hyperplane", "polynomial", "mixed"
RULES = (AXIS, HYPERPLANE, POLYNOMIAL, MIXED)
"""The families, from the simplest rules on."""

_OF_NUMBERS = "continuous"
_FAMILY_OPTIONS = ("rules", "degree")
_SOLVER = ["solver", "solver_options", "limits"]
_USED = [
    "dataset", "data_hash", "encoding", "encoding_label", "task", "ok", *_SOLVER, "lam_key",
    "lam_text", "lam", "lam_exact", "repeat", "fold", "validation", "status", "errors", "splits",
    "tree", "train_accuracy", "test_accuracy", "seconds",
]  # fmt: skip

Load = Callable[[DatasetRef], Dataset]


@dataclass(frozen=True, eq=False)
class FamilyTree:
    """A tree to draw: of its family and number of splits the one with the fewest errors."""

    family: str  # as in the table of :class:`FamilySet`
    rules: str  # one of :data:`RULES`
    given: bool  # whether the solver has an option for the rules
    tree: Tree
    train_accuracy: float
    test_accuracy: float | None  # on the held-out rows of its own fold
    status: str

    @property
    def size(self) -> int:
        """Number of splits."""
        return self.tree.splits


@dataclass(frozen=True, eq=False)
class RawRows:
    """The rows that the drawn trees were trained and scored on."""

    features: pd.DataFrame  # the raw columns
    labels: tuple[Any, ...]  # the classes, sorted
    target: NDArray[np.int64]  # the number of each row's class
    held_out: NDArray[np.bool_]  # rows that were not used for training


@dataclass(frozen=True)
class FamilySet:
    """The rule families of a dataset and an encoding.

    ``points`` has one row for each family, size and λ, small trees first: ``family``, ``rules``,
    ``solver``, ``allowed`` (the limit on the size, in words), ``lam_text``, ``runs``, ``proven``,
    ``heuristic``, the means over folds of ``splits``, ``train_accuracy``, ``test_accuracy`` and
    ``seconds``, and ``test_error``, the standard error of the test accuracy.
    """

    dataset: str
    encoding: str
    points: pd.DataFrame
    trees: tuple[FamilyTree, ...]  # of one fold, by size and then by family
    fold: tuple[int, int] | None  # the fold and the number of folds; None: trained on all rows
    rows: RawRows | None
    why: str  # why there are no rows


def find_families(
    results: Results, references: Mapping[str, DatasetRef], load: Load = load_dataset
) -> list[FamilySet]:
    """All datasets whose trees on numbers have rules of several families, or of a chosen one.

    A dataset has no rows here if it has no reference in the sweep's file, cannot be loaded, or has
    changed since.
    """
    rows = results.by_lambda
    chosen = (rows["encoding"] == _OF_NUMBERS) & rows["ok"] & (rows["task"] != REGRESSION)
    if not chosen.any():
        return []
    used = rows.loc[chosen, _USED].reset_index(drop=True)
    used = used.assign(**_families(used))
    found = []
    for dataset, encoding in product(results.datasets, results.encodings):
        own = used[(used["dataset"] == dataset) & (used["encoding_label"] == encoding)]
        if len(own) and (own["given"].any() or own["rules"].nunique() > 1):
            found.append(_family_set(own, dataset, encoding, references.get(dataset), load))
    return found


def _families(rows: pd.DataFrame) -> dict[str, Any]:
    """The family of each row, its rules, and the limit on the size of its tree."""
    triples = list(zip(*(rows[name] for name in _SOLVER), strict=True))
    own = {}
    for solver, options, limits in dict.fromkeys(triples):
        asked = own_options(json.loads(options))
        family = {name: asked.pop(name) for name in _FAMILY_OPTIONS if name in asked}
        own[solver, options, limits] = (str(solver), family, json.loads(limits), asked)
    labels, names = {}, {key: _family_name(family) for key, (_, family, _, _) in own.items()}
    chosen = {(names[key], solver) for key, (solver, family, _, _) in own.items() if family}
    shared = [name for name, times in Counter(name for name, _ in chosen).items() if times > 1]
    for key, (solver, family, size, rest) in own.items():
        namesakes = [other for name, _, _, other in own.values() if name == solver]
        words = telling_options(solver, rest, namesakes)
        rules = str(family.get("rules", AXIS))
        whose = [solver] if not family or names[key] in shared else []
        labels[key] = (
            ", ".join([names[key], *whose, *words]), rules, "rules" in family, _allowed(size),
        )  # fmt: skip
    parts = ("family", "rules", "given", "allowed")
    columns = zip(*(labels[triple] for triple in triples), strict=True)
    return {name: list(column) for name, column in zip(parts, columns, strict=True)}


def _family_name(family: Mapping[str, Any]) -> str:
    rules = str(family.get("rules", AXIS))
    return f"{rules} (degree {family.get('degree')})" if rules in (POLYNOMIAL, MIXED) else rules


def _allowed(size: Mapping[str, Any]) -> str:
    words = []
    if "splits" in size:
        words.append(count(size["splits"], "split"))
    if "depth" in size:
        words.append(f"depth {size['depth']}")
    return ", ".join(words) or "any"


def _family_set(
    rows: pd.DataFrame, dataset: str, encoding: str, reference: DatasetRef | None, load: Load
) -> FamilySet:
    texts = ["solver", "lam_key", "lam_text", "validation"]
    rows = rows.assign(**{name: rows[name].astype(object) for name in texts})
    trees, first, fold = _trees(rows)
    raw, why = _raw_rows(first, reference, load)
    return FamilySet(dataset, encoding, _points(rows), trees, fold, raw, why)


def _points(rows: pd.DataFrame) -> pd.DataFrame:
    table = rows.assign(
        proven=rows["status"] == Status.OPTIMAL.value,
        heuristic=rows["status"] == Status.HEURISTIC.value,
    )
    # 2/n is one λ, though it is a different number in each fold.
    by = ["family", "rules", "solver", "allowed", "lam_key"]
    found = table.groupby(by, sort=False, dropna=False).agg(
        lam_text=("lam_text", "first"),
        lam=("lam", "mean"),
        splits=("splits", "mean"),
        train_accuracy=("train_accuracy", "mean"),
        test_accuracy=("test_accuracy", "mean"),
        test_error=("test_accuracy", "sem"),
        runs=("ok", "size"),
        proven=("proven", "sum"),
        heuristic=("heuristic", "sum"),
        seconds=("seconds", "mean"),
    )
    found = found.reset_index().drop(columns="lam_key")
    order = found["rules"].map({name: i for i, name in enumerate(RULES)})
    found = found.assign(_order=order).sort_values(["splits", "_order"], kind="stable")
    return found.drop(columns="_order").reset_index(drop=True)


def _trees(
    rows: pd.DataFrame,
) -> tuple[tuple[FamilyTree, ...], dict[str, Any], tuple[int, int] | None]:
    """The trees of the first fold, a row of it, and the fold."""
    order = rows[["repeat", "fold"]].astype("float64").fillna(-1).apply(tuple, axis="columns")
    rows = rows[order == min(order)]
    best: dict[tuple[int, str], dict[str, Any]] = {}
    rows = rows.assign(_lam=lam_ranks(rows)).sort_values(["errors", "_lam"], kind="stable")
    for row in rows.to_dict("records"):
        best.setdefault((int(row["splits"]), row["family"]), {str(k): v for k, v in row.items()})
    families = list(dict.fromkeys(rows["family"]))
    kept = sorted(
        best.items(),
        key=lambda item: (
            item[0][0], _place(item[1]["rules"]), families.index(item[0][1]),
        ),
    )  # fmt: skip
    shown = tuple(
        FamilyTree(
            row["family"],
            row["rules"],
            bool(row["given"]),
            Tree.from_json(decompress(row["tree"])),
            float(row["train_accuracy"]),
            None if pd.isna(row["test_accuracy"]) else float(row["test_accuracy"]),
            row["status"],
        )
        for (splits, _), row in kept
        if splits
    )
    first = kept[0][1]
    described = json.loads(first["validation"])
    if described is None:
        return shown, first, None
    return shown, first, (int(first["fold"]), int(described.get("folds", 1)))


def _place(rules: str) -> int:
    return RULES.index(rules) if rules in RULES else len(RULES)


def _raw_rows(
    row: Mapping[str, Any], reference: DatasetRef | None, load: Load
) -> tuple[RawRows | None, str]:
    """The rows of a run's dataset, or why there are none."""
    if reference is None:
        return None, "the sweep's file does not say where the data are"
    try:
        dataset = load(reference)
        if dataset.digest != row["data_hash"]:
            return None, "the data have changed since"
        number = (None if pd.isna(row[name]) else int(row[name]) for name in ("repeat", "fold"))
        held_out = folds.test_rows(json.loads(row["validation"]), folds.Fold(*number), dataset)
        labels, target = dataset.labels
        return RawRows(dataset.features, tuple(labels), target, held_out), ""
    except InputError as error:
        return None, str(error)


def family_table(sets: list[FamilySet]) -> pd.DataFrame:
    """All sizes of all families, for a file."""
    tables = [one.points.assign(dataset=one.dataset, encoding=one.encoding) for one in sets]
    whole = pd.concat(tables, ignore_index=True)
    return whole[["dataset", "encoding", *(c for c in whole if c not in ("dataset", "encoding"))]]
