"""How search time grows with the rows and the features of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipelines.report.data.results import LABELS, Results
from solver.solution import Status
from sweep.datasets.dataset_reference import DatasetRef

ROWS, FEATURES = "rows", "features"
_LINE = ["encoding_label", "solver_label", "lam_key", "lam_text", "lam"]
_MEASURES = ["seconds", "iterations", "peak_bytes"]


@dataclass(frozen=True)
class Scaling:
    """A table in several sizes.

    ``points`` has one row for each line of a chart and size: ``axis`` (:data:`ROWS` or
    :data:`FEATURES`), ``size``, ``beside`` (the other size, the same along the line), encoding,
    solver, λ, dataset, the medians over folds of seconds, iterations and memory, and ``proven``,
    whether all runs are.
    """

    name: str  # the words that its datasets' names begin with
    points: pd.DataFrame


def find_scalings(results: Results, references: Mapping[str, DatasetRef]) -> list[Scaling]:
    """All tables that the sweep has in several sizes."""
    families: dict[Any, list[str]] = {}
    for name in results.datasets:
        if name in references:
            families.setdefault(_table_of(references[name]), []).append(name)
    found = []
    for names in families.values():
        points = _points(results, {name: references[name] for name in names})
        if len(points):
            found.append(Scaling(_common(names), points))
    return found


def _table_of(reference: DatasetRef) -> Any:
    """Equal for datasets of one table."""
    return (
        reference.path or reference.origin,
        reference.task,
        reference.targets,
        reference.separator,
        reference.charset,
        reference.sheet,
        repr(reference.test),
        repr(sorted(reference.columns.items())),
    )


def _common(names: Sequence[str]) -> str:
    """The words that names begin with."""
    words = [name.replace(",", "").split(" ") for name in names]
    shared = []
    for position in zip(*words, strict=False):
        if len(set(position)) > 1:
            break
        shared.append(position[0])
    return " ".join(shared) or names[0]


def _points(results: Results, references: Mapping[str, DatasetRef]) -> pd.DataFrame:
    if len(references) < 2:
        return pd.DataFrame()
    rows = results.by_lambda
    used = ["dataset", *_LINE, "n_rows", "n_features", "status", *_MEASURES]
    rows = rows.loc[rows["dataset"].isin(references) & ~rows["exact"], used]
    if rows.empty:
        return pd.DataFrame()
    rows[["dataset", *_LINE[:4]]] = rows[["dataset", *_LINE[:4]]].astype(object)
    rows["proven"] = rows["status"] == Status.OPTIMAL.value
    cells = rows.groupby(["dataset", *_LINE], sort=False).agg(
        **{name: (name, "median") for name in _MEASURES},
        rows=("n_rows", "first"),
        features=("n_features", "median"),
        proven=("proven", "all"),
    )
    cells = cells.reset_index()
    chosen = {name: repr((r.features, _first(r, references))) for name, r in references.items()}
    copies = {name: r.replicate for name, r in references.items()}
    parts = [
        _lines(cells, ROWS, cells["dataset"].map(chosen), cells["dataset"].map(copies)),
        _lines(cells, FEATURES, cells["dataset"].map(copies), cells["dataset"].map(chosen)),
    ]
    return pd.concat(parts, ignore_index=True)


def _first(reference: DatasetRef, references: Mapping[str, DatasetRef]) -> int | None:
    """The number of features used; None for all that are named."""
    named = reference.features
    return None if named is not None and reference.first == len(named) else reference.first


def _lines(
    cells: pd.DataFrame, axis: str, fixed: pd.Series[Any], varied: pd.Series[Any]
) -> pd.DataFrame:
    """The points of lines along which one size varies and the other does not."""
    other = FEATURES if axis == ROWS else ROWS
    table = cells.assign(_fixed=fixed, _varied=varied)
    sizes = table.groupby([*_LINE, "_fixed"], sort=False)["_varied"].transform("nunique")
    table = table[sizes > 1]
    table = table.assign(axis=axis, size=table[axis], beside=table[other])
    kept = ["axis", "beside", *_LINE, "dataset", "size", *_MEASURES, "proven"]
    return table[kept].sort_values(["size"], kind="stable").reset_index(drop=True)


def scaling_table(scalings: Sequence[Scaling]) -> pd.DataFrame:
    """All points, for a file."""
    if not scalings:
        return pd.DataFrame({"table": []})
    tables = [one.points.assign(table=one.name) for one in scalings]
    whole = pd.concat(tables, ignore_index=True).drop(columns="lam_key").rename(columns=LABELS)
    return whole[["table", *(column for column in whole if column != "table")]]
