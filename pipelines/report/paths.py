"""The λ-path of a dataset, an encoding and a solver: what changes as a split gets cheaper."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipelines.report.formats import mean_fraction
from pipelines.report.results import Results
from solver.solution import Status
from solver.tree import Tree

MINIMUM, ONE_SE = "minimum", "one standard error"


@dataclass(frozen=True)
class PathTree:
    """A tree that is the best one at neighbouring λ of a path.

    Parameters
    ----------
    tree : Tree
    signature : str
        Equal for trees that ask and answer the same, whatever their counts.
    lams : tuple of str
        The grid's λ at which it was found, from large to small.
    runs, of : tuple of int
        At each λ, in how many folds this tree was found, and how many folds gave a tree.
    fold : int or None
        The fold whose counts the tree shows; None if it was trained on the whole table.
    proven : bool
        Whether every one of its runs is proven optimal.
    errors, total_weight : int
        On the training rows of the run shown.
    test_accuracy : float or None
        Mean over the folds that found it.
    """

    tree: Tree
    signature: str
    lams: tuple[str, ...]
    runs: tuple[int, ...]
    of: tuple[int, ...]
    fold: int | None
    proven: bool
    errors: int
    total_weight: int
    test_accuracy: float | None


@dataclass(frozen=True)
class Path:
    """A λ-path.

    Parameters
    ----------
    dataset, encoding, solver : str
        As in :class:`pipelines.report.results.Results`.
    table : DataFrame
        One row a λ, from large to small, see :func:`_point`.
    trees : tuple of PathTree
        Along the path. Where there are folds: at each λ the tree that most folds found.
    fold_trees : dict
        For each chosen λ (its key) all trees that the folds found there, the most common first.
    minimum, one_se : str or None
        Key of the λ of best mean test accuracy, and of the largest λ within one standard error of
        it; None without validation or where no λ has all its folds.
    """

    dataset: str
    encoding: str
    solver: str
    table: pd.DataFrame
    trees: tuple[PathTree, ...]
    fold_trees: dict[str, tuple[PathTree, ...]]
    minimum: str | None
    one_se: str | None

    def point(self, key: str) -> pd.Series[Any]:
        """The row of a λ."""
        return self.table.loc[self.table["lam_key"] == key].iloc[0]


def make_paths(results: Results) -> list[Path]:
    """All λ-paths of a sweep with at least one run, in the order of its file."""
    planned = pd.concat([results.rows, results.missing], ignore_index=True)
    by = ["dataset", "encoding_label", "solver_label"]
    expected = {
        cell: {str(key): int(count) for key, count in group["lam_key"].value_counts().items()}
        for cell, group in planned.groupby(by)
    }
    groups = dict(list(results.rows.groupby(by, sort=False)))
    return [
        make_path(groups[cell], expected[cell])
        for dataset in results.datasets
        for encoding in results.encodings
        for solver in results.solvers
        if (cell := (dataset, encoding, solver)) in groups
    ]


def make_path(rows: pd.DataFrame, expected: dict[str, int]) -> Path:
    """The path of the rows of one dataset, encoding and solver.

    Parameters
    ----------
    expected : dict
        For each λ (its key) the number of planned runs.
    """
    points = [_point(group, expected[str(key)]) for key, group in rows.groupby("lam_key")]
    table = pd.DataFrame(points).sort_values("lam", ascending=False, ignore_index=True)
    minimum, one_se = choose(table)
    table["chosen"] = [
        " + ".join(w for w, k in ((MINIMUM, minimum), (ONE_SE, one_se)) if k == key)
        for key in table["lam_key"]
    ]
    good = rows[rows["ok"]]
    at = {str(key): _trees(group) for key, group in good.groupby("lam_key")}
    keys = [key for key in table["lam_key"] if key in at]
    first = rows.iloc[0]
    return Path(
        dataset=first["dataset"],
        encoding=first["encoding_label"],
        solver=first["solver_label"],
        table=table,
        trees=_along([at[key][0] for key in keys]),
        fold_trees={key: at[key] for key in (minimum, one_se) if key is not None},
        minimum=minimum,
        one_se=one_se,
    )


def _point(group: pd.DataFrame, expected: int) -> dict[str, Any]:
    """What is known at one λ: means over folds, and how far they spread."""
    good = group[group["ok"]]
    n = len(good)
    tests = good["test_accuracy"].dropna()
    spread = float(tests.std(ddof=1)) if len(tests) > 1 else math.nan
    exact = mean_fraction(good["objective_exact"])
    bound = mean_fraction(good["lower_bound_exact"])
    return {
        "dataset": group["dataset"].iloc[0],
        "encoding": group["encoding_label"].iloc[0],
        "solver": group["solver_label"].iloc[0],
        "lam": float(group["lam"].mean()),
        "lam_key": group["lam_key"].iloc[0],
        "lam_text": group["lam_text"].iloc[0],
        "runs": n,
        "failed": len(group) - n,
        "expected": expected,
        "optimal": int((good["status"] == Status.OPTIMAL.value).sum()),
        "heuristic": int((good["status"] == Status.HEURISTIC.value).sum()),
        "status": ", ".join(f"{name} {count}" for name, count in group["status"].value_counts(
            sort=False).sort_index().items()),
        "objective": good["objective"].mean(),
        "objective_exact": None if exact is None else str(exact),
        "objective_min": good["objective"].min(),
        "objective_max": good["objective"].max(),
        "lower_bound": good["lower_bound"].mean() if bound is not None else math.nan,
        "lower_bound_exact": None if bound is None else str(bound),
        "gap_max": good["gap"].max() if bound is not None else math.nan,
        "train_accuracy": good["train_accuracy"].mean(),
        "train_spread": good["train_accuracy"].std(ddof=1) if n > 1 else math.nan,
        "test_accuracy": tests.mean() if len(tests) else math.nan,
        "test_spread": spread,
        "test_error": spread / math.sqrt(len(tests)) if len(tests) > 1 else math.nan,
        "splits": good["splits"].mean(),
        "splits_min": good["splits"].min(),
        "splits_max": good["splits"].max(),
        "leaves": good["leaves"].mean(),
        "depth": good["depth"].mean(),
        "depth_max": good["depth"].max(),
        "seconds": good["seconds"].mean(),
        "seconds_max": good["seconds"].max(),
        "iterations": good["iterations"].mean(),
        "peak_bytes": good["peak_bytes"].max(),
    }  # fmt: skip


def complete(table: pd.DataFrame) -> pd.DataFrame:
    """The λ at which every planned run was scored on held-out rows."""
    return table[table["test_accuracy"].notna() & (table["runs"] == table["expected"])]


def choose(table: pd.DataFrame) -> tuple[str | None, str | None]:
    """The λ that cross-validation picks: the minimum of the error, and within one standard error.

    Only λ that have all their folds take part. At a tie the larger λ, i.e. the smaller tree,
    wins. The second rule needs two folds or more.
    """
    full = complete(table)
    if full.empty:
        return None, None
    best = full[full["test_accuracy"] >= full["test_accuracy"].max() - 1e-12].iloc[0]
    if math.isnan(best["test_error"]):
        return str(best["lam_key"]), None
    within = full[full["test_accuracy"] >= best["test_accuracy"] - best["test_error"] - 1e-12]
    return str(best["lam_key"]), str(within.iloc[0]["lam_key"])


def signature(text: str) -> str:
    """What a stored tree asks and answers, without its counts."""
    data = json.loads(text)
    classes = data["classes"]
    return json.dumps(
        [(n.get("test"), n.get("children"), classes[n["prediction"]]) for n in data["nodes"]]
    )


def _trees(rows: pd.DataFrame) -> tuple[PathTree, ...]:
    """The distinct trees at one λ: those of most folds first, then those of earlier folds."""
    rows = rows.sort_values(["repeat", "fold"], kind="stable")
    groups: dict[str, list[int]] = {}
    for position, text in enumerate(rows["tree"]):
        groups.setdefault(signature(text), []).append(position)
    trees = []
    for name, positions in sorted(groups.items(), key=lambda item: (-len(item[1]), item[1][0])):
        same, first = rows.iloc[positions], rows.iloc[positions[0]]
        trees.append(
            PathTree(
                tree=Tree.from_json(first["tree"]),
                signature=name,
                lams=(str(first["lam_text"]),),
                runs=(len(positions),),
                of=(len(rows),),
                fold=None if pd.isna(first["fold"]) else int(first["fold"]),
                proven=bool((same["status"] == Status.OPTIMAL.value).all()),
                errors=int(first["errors"]),
                total_weight=int(first["total_weight"]),
                test_accuracy=None if same["test_accuracy"].isna().all()
                else float(same["test_accuracy"].mean()),
            )
        )  # fmt: skip
    return tuple(trees)


def _along(trees: Sequence[PathTree]) -> tuple[PathTree, ...]:
    """Join what is the same tree at neighbouring λ."""
    joined: list[PathTree] = []
    for tree in trees:
        last = joined[-1] if joined else None
        if last is None or last.signature != tree.signature:
            joined.append(tree)
            continue
        joined[-1] = PathTree(
            tree=last.tree,
            signature=last.signature,
            lams=last.lams + tree.lams,
            runs=last.runs + tree.runs,
            of=last.of + tree.of,
            fold=last.fold,
            proven=last.proven and tree.proven,
            errors=last.errors,
            total_weight=last.total_weight,
            test_accuracy=last.test_accuracy,
        )
    return tuple(joined)
