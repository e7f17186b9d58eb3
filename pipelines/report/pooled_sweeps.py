"""Two or more sweeps in one report, as if one sweep had had the tasks of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from pipelines.report.analysis.report_data import ReportData
from pipelines.report.data.exact_paths import asks_for_path
from pipelines.report.data.group_statistics import lam_ranks
from pipelines.report.data.results import label_results, match_rows
from pipelines.report.data.store_reader import read_plan_columns, read_rows
from pipelines.report.write import gather, stored_references
from solver.errors import InputError
from solver.solution import Status
from sweep.datasets.dataset_reference import DatasetRef
from sweep.filesystem import Place, open_folder
from sweep.store.row_precedence import MISSING, finality
from sweep.store.store import read_manifest

_SHARED = {
    "data_hash": "hold different tables under this name; rename one of them",
    "validation": "hold out its rows differently; give both the same 'validation:' and 'seed:'",
}
"""What must be equal in all sweeps for the tasks of a dataset to be compared, and what to do."""

_TASK = ["dataset", "key"]
"""What tells tasks apart: a key has no names, and a table may have one in each sweep."""

_CELL = ["dataset", "encoding", "encoding_options", "solver", "reason", "key"]
"""What tells impossible cells apart."""

_PATH = ["dataset", "encoding", "encoding_options", "solver", "solver_options", "limits"]
"""What the λ-paths of a cell have in common, whatever their fold and the λ that they start from."""


class _Sweep(NamedTuple):
    place: Place
    rows: pd.DataFrame
    plan: pd.DataFrame


def gather_comparison(store_dirs: Sequence[Place]) -> ReportData:
    """Read sweeps and compute the report of all their tasks, each once.

    Raises InputError as :func:`pipelines.report.write.write_report`, or if a dataset of several
    sweeps is not the same in all of them.
    """
    names = [str(read_manifest(open_folder(place))["sweep"]) for place in store_dirs]
    sweeps = [_Sweep(place, read_rows(place), read_plan_columns(place)) for place in store_dirs]
    _check_datasets(sweeps)
    plan = pd.concat([_plain(one.plan) for one in sweeps], ignore_index=True)
    impossible = plan["key"].isna()
    rows = pd.concat([_plain(one.rows) for one in sweeps], ignore_index=True)
    repeated = plan.duplicated(_CELL) & impossible | ~_best_answered(plan, rows) & ~impossible
    results = label_results(
        rows,
        _one_path_a_fold(plan[~repeated], rows).reset_index(drop=True),
        " and ".join(dict.fromkeys(names)),
    )
    references: dict[str, DatasetRef] = {}
    for place in reversed(store_dirs):
        references |= stored_references(place)
    return gather(results, references, places=store_dirs)


def _best_answered(plan: pd.DataFrame, rows: pd.DataFrame) -> pd.Series[bool]:
    """Whether no other sweep has a more final row for a task of the plan; of equals the first."""
    place, _ = match_rows(rows, plan)
    final = {status.value: finality(status) for status in Status}
    finalities = rows["status"].map(final).astype("int64").to_numpy()
    known = np.append(finalities, MISSING)[place]
    order = np.argsort(-known, kind="stable")
    return ~plan.iloc[order].duplicated(_TASK).sort_index()


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The table without categories, which differ from sweep to sweep."""
    found = {name: frame[name] for name in frame}
    for name, column in found.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            found[name] = column.astype(object)
    return pd.DataFrame(found, copy=False)


def _one_path_a_fold(plan: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The plan with one λ-path for each fold of a cell, as a fold that is there twice would count
    twice: of the paths of a sweep those of the most folds with a tree, and of equals those from the
    least λ, which have all of the others."""
    paths = plan[plan["solver_options"].map(asks_for_path).astype(bool)]
    if paths.empty:
        return plan
    place, _ = match_rows(rows, paths)
    with_tree = [status.value for status in Status if status.has_tree]
    has_tree = np.append(rows["status"].isin(with_tree).to_numpy(bool), False)[place]
    paths = paths.assign(_has_tree=has_tree, _lam=lam_ranks(paths))
    sets = paths.groupby([*_PATH, "lam_label"], dropna=False)
    paths["_trees"] = sets["_has_tree"].transform("sum")
    order = paths.sort_values(["_trees", "_lam"], ascending=[False, True], kind="stable")
    return plan.drop(index=order.index[order.duplicated([*_PATH, "repeat", "fold"])])


def _check_datasets(sweeps: Sequence[_Sweep]) -> None:
    """Compare the tables and held-out rows of equal names, as today's plans give them."""
    known: dict[tuple[str, str], tuple[str, Place]] = {}
    for one in sweeps:
        wanted = one.plan[one.plan["key"].notna()]
        answers, _ = match_rows(one.rows, wanted)
        names = wanted["dataset"].array[answers >= 0]
        for column, remedy in _SHARED.items():
            values = one.rows[column].array[answers[answers >= 0]]
            pairs = pd.DataFrame({"dataset": names, "value": values}).drop_duplicates()
            for dataset, value in pairs.itertuples(index=False):
                first, place = known.setdefault((dataset, column), (value, one.place))
                if first != value and place != one.place:
                    raise InputError(f"dataset {dataset!r}: {place} and {one.place} {remedy}")
