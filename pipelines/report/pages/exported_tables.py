"""The tables that the report writes to files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.analysis.path_trees import PathTree
from pipelines.report.analysis.recommendations import Recommendation
from pipelines.report.analysis.solvers.mean_ranks import MeanRanks
from pipelines.report.analysis.solvers.solver_comparison import Problems
from pipelines.report.data.group_statistics import as_texts
from pipelines.report.data.metrics import COLUMNS
from pipelines.report.data.results import LABELS, Results
from solver.trees.export import export_text
from solver.trees.tree import Tree

MOST_TREES = 20_000
"""The largest number of trees along paths in the table."""

MOST_WORDS = 1000
"""The largest number of λ of a tree that are named."""

_CHOSEN_COLUMNS = [
    "lam_text", "lam_start_exact", "lam_end_exact", "test_accuracy", "test_r2", "test_rmse",
    "test_error", "leaves", "splits",
]  # fmt: skip

_TREE_COLUMNS = [
    "dataset", "encoding", "solver", "lams", "chosen", "fold", "found_in", "proven", "errors",
    "total_weight", *COLUMNS, "splits", "leaves", "depth", "rules", "tree",
]  # fmt: skip


def run_tables(
    results: Results, excess: pd.DataFrame, most: int = 100_000
) -> Iterator[pd.DataFrame]:
    """Every run, with how far its objective is above the best one of the same problem, in tables of
    at most ``most`` rows."""
    dropped = [
        "trace", "tree", "path", "path_points", "extra", "ok", "exact", "problem", "lam_key",
        "lam_text",
    ]  # fmt: skip
    rows = results.rows.drop(columns=dropped)
    # The excess of a path is known at many λ; its row is that of its least λ.
    above = excess.drop_duplicates(["key", "lam_exact"])
    named, known = (pc.binary_join_element_wise(as_texts(t["key"]), as_texts(t["lam_exact"]), " ")
                    for t in (rows, above))  # fmt: skip
    place = pc.index_in(named, value_set=known)
    for name in ("excess", "excess_exact"):
        values = pa.array(above[name], from_pandas=True)
        rows[name] = values.take(place).to_pandas().set_axis(rows.index)
    order = results.order(rows)
    for start in range(0, max(len(rows), 1), most):
        yield rows.iloc[order[start : start + most]].reset_index(drop=True)


def path_table(paths: Sequence[LambdaPath]) -> pd.DataFrame:
    """All points of all paths."""
    tables = [path.table.drop(columns=["lam_key", "lam_exact"]) for path in paths]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame({"dataset": []})


def step_table(paths: Sequence[LambdaPath]) -> pd.DataFrame:
    """The steps of every exact path, each fold's on its own."""
    records = []
    for path in paths:
        for one in path.exact_paths:
            for step in one.steps:
                row = one.row_at(step.start)
                facts = step._asdict()
                del facts["test_loss"], facts["test_r2"]
                tree = facts.pop("tree")
                start, end = facts.pop("start"), facts.pop("end")
                records.append(
                    {
                        **path.names,
                        "repeat": one.row["repeat"],
                        "fold": one.fold,
                        "lam": float(start),
                        "lam_exact": str(start),
                        "lam_end": math.inf if end is None else float(end),
                        "lam_end_exact": None if end is None else str(end),
                        **facts,
                        "total_weight": one.total_weight,
                        **{name: row[name] for name in ("errors", "loss", *COLUMNS)},
                        "rules": export_text(Tree.from_json(tree)),
                        "tree": tree,
                    }
                )
    return pd.DataFrame(records or {"dataset": []})


def choice_table(
    recommendations: Sequence[Recommendation], paths: Sequence[LambdaPath]
) -> pd.DataFrame:
    """For each path what validation picks, and whether it is recommended for its dataset."""
    taken = {id(own.path): own for own in recommendations if own.path is not None}
    records = []
    for path in paths:
        record: dict[str, object] = {**path.names}
        for name, key in (("minimum", path.minimum), ("one_se", path.one_se)):
            point = None if key is None else path.point(key)
            for column in _CHOSEN_COLUMNS:
                record[f"{name}_{column}"] = None if point is None else point[column]
        own = taken.get(id(path))
        record["answer"] = own is not None
        record["answer_lam"] = own.point["lam_text"] if own and own.point is not None else None
        record["answer_text"] = own.headline if own else None
        records.append(record)
    return pd.DataFrame(records or {"dataset": []})


def tree_table(paths: Sequence[LambdaPath]) -> pd.DataFrame:
    """The trees along all paths, as rules and as JSON; of too many those of the largest λ."""
    records = []
    most = max(MOST_TREES // max(len(paths), 1), 1)
    for path in paths:
        for tree in path.trees[:most]:
            records.append(_tree_record(path, tree, ""))
        for key, trees in path.fold_trees.items():
            chosen = str(path.point(key)["chosen"])
            records += [_tree_record(path, tree, chosen) for tree in trees]
    return pd.DataFrame(records, columns=_TREE_COLUMNS)


def _in_short(words: Sequence[str]) -> str:
    """All words, or the first and the last of too many."""
    if len(words) <= MOST_WORDS:
        return ", ".join(words)
    return f"{', '.join(words[:10])}, … ({len(words)}), {words[-1]}"


def _tree_record(path: LambdaPath, tree: PathTree, chosen: str) -> dict[str, object]:
    return {
        **path.names,
        "lams": _in_short(tree.lams),
        "chosen": chosen,
        "fold": tree.fold,
        "found_in": _in_short([f"{n}/{of}" for n, of in zip(tree.runs, tree.of, strict=True)]),
        "proven": tree.proven,
        "errors": tree.errors,
        "total_weight": tree.total_weight,
        **{name: tree.quality[name] for name in COLUMNS},
        "splits": tree.tree.splits,
        "leaves": tree.tree.leaves,
        "depth": tree.tree.depth,
        "rules": export_text(tree.tree),
        "tree": tree.tree.to_json(),
    }


def instance_table(problems: Problems) -> pd.DataFrame:
    """What became of each compared run."""
    return pd.DataFrame(
        {"kind": kind, **asdict(instance)}
        for kind, found in problems.items()
        for one in found
        for instance in one
    )


def rank_table(found: Sequence[MeanRanks]) -> pd.DataFrame:
    """The mean rank of each solver."""
    return pd.DataFrame(
        {"kind": one.kind, "measure": one.measure, "datasets": one.datasets, "solver": solver,
         "mean_rank": rank, "p": one.p, "critical_difference": one.difference}
        for one in found
        for solver, rank in one.ranks.items()
    )  # fmt: skip


def missing_table(results: Results) -> pd.DataFrame:
    """Planned tasks without a run."""
    columns = ["dataset", "encoding_label", "solver_label", "lam", "lam_text", "repeat", "fold"]
    return results.sort(results.missing)[columns].rename(columns=LABELS)


def failure_table(results: Results) -> pd.DataFrame:
    """Runs without a tree, with the full text of the error."""
    columns = [
        "key", "dataset", "encoding_label", "solver_label", "lam_exact", "lam_text", "repeat",
        "fold", "status", "attempt", "error",
    ]  # fmt: skip
    return results.sort(results.rows[~results.rows["ok"]])[columns].rename(columns=LABELS)
