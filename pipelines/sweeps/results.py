"""The results of a sweep, as a program or a notebook uses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import pandas as pd

from pipelines.report.analysis.final_trees import FinalTree, FinalTrees, read_known
from pipelines.report.analysis.model_card import DatasetSummary, summarize_dataset
from pipelines.report.analysis.recommendations import Recommendation
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.data.metrics import number
from pipelines.report.data.stored_good_trees import USED, StoredSets
from pipelines.report.write import gather_report, report_folder
from solver.errors import InputError
from solver.features.number_format import count
from solver.path.path import Path
from solver.rashomon.rashomon_set import RashomonSet
from solver.trees.tree import Tree
from sweep.events import Outcome
from sweep.filesystem import Place, is_remote
from sweep.rows.path_columns import stored_path
from sweep.store import read_results as stored
from sweep.store.store import read_manifest
from sweep.store.sweep_status import SweepStatus, sweep_status


@dataclass(frozen=True)
class Best:
    """What a sweep's report recommends for a dataset.

    Examples
    --------
    >>> import treesweep
    >>> results = treesweep.read_results("results/first")
    >>> best = results.best("monks-1")
    >>> best.encoding, best.solver, best.tree.leaves
    ('onehot', 'branches', 7)
    """

    dataset: str
    headline: str  #: one sentence: what to take
    verdict: str  #: one sentence: how good it is on unseen rows, and what is proven
    reasons: tuple[str, ...]
    encoding: str | None = None
    """The encoding; None without a recommendation. If the sweep has this encoding more than once,
    with different options, they are part of the name: ``quantiles (k=4)``."""
    solver: str | None = None
    lam: str | None = None
    """λ, or an interval of λ on a λ-path; None if there are only training results and they cannot
    choose λ."""
    test_accuracy: float | None = None  #: mean over folds, on held-out rows; or None
    test_rmse: float | None = None  #: the same for regression
    tree: Tree | None = None  #: the final tree, grown on all rows
    status: str | None = None  #: status of the search that found the tree
    command: str | None = None  #: a command that searches for the tree again; or None
    command_gives: str = ""  #: what the command gives, e.g. ``exactly this tree``
    why: str = ""  #: the reason, if there is no tree

    @classmethod
    def of(cls, found: DatasetSummary) -> Best:
        """Make it from a dataset's summary in the report."""
        own, final = found.own, found.final
        point, path = own.point, own.path
        grown = final if isinstance(final, FinalTree) else None
        return cls(
            own.dataset,
            own.headline,
            found.verdict.sentence,
            own.reasons,
            None if path is None else path.encoding,
            None if path is None else path.solver,
            None if point is None else str(point["lam_text"]),
            None if point is None else number(point["test_accuracy"]),
            None if point is None else number(point["test_rmse"]),
            None if grown is None else grown.tree,
            None if grown is None else grown.status,
            found.command,
            found.command_gives,
            final if isinstance(final, str) else "",
        )


@dataclass(frozen=True)
class SweepResults:
    """The results of a sweep, finished or not. They are read when they are first used.

    Examples
    --------
    >>> import treesweep
    >>> results = treesweep.read_results("results/first")
    >>> len(results), results.best().solver
    (8, 'branches')
    >>> results.frame["status"].value_counts().to_dict()
    {'optimal': 4, 'heuristic': 4}
    """

    folder: Place
    columns: Sequence[str] | None = None
    every_run: bool = False
    outcome: Outcome | None = field(default=None, compare=False)
    """How the run ended, if :func:`treesweep.run_sweep` gave these results."""

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row for each task, or with ``every_run`` one for each run; see
        :func:`sweep.store.read_results.read_results`."""
        return stored.read_results(self.folder, columns=self.columns, every_run=self.every_run)

    @property
    def status(self) -> SweepStatus:
        """How far the sweep is now."""
        return sweep_status(self.folder)

    @cached_property
    def _report(self) -> ReportData:
        return gather_report(self.folder)

    @cached_property
    def _answers(self) -> dict[str, Best]:
        """The answers found so far, by dataset: growing a final tree may take a while."""
        return {}

    def _recommendations(self) -> dict[str, Recommendation]:
        return {one.dataset: one for one in self._report.recommendations}

    def best(self, dataset: str | None = None) -> Best:
        """What to take for a dataset: encoding, solver, λ and tree, as the report says.

        The tree is the final tree: it is grown on all rows at the chosen λ. If neither a run of the
        sweep nor its report has grown this tree, the call grows it, in at most 30 seconds.

        Parameters
        ----------
        dataset : str, optional
            Its name; not needed if the sweep has one.

        Raises
        ------
        InputError
            If there is no such dataset, or if the sweep has several and ``dataset`` is not given.
        """
        found = self._recommendations()
        if dataset is None and len(found) == 1:
            dataset = next(iter(found))
        if dataset not in found:
            wanted = "there are several datasets" if dataset is None else f"no dataset {dataset!r}"
            calls = ", ".join(f"best({name!r})" for name in found)
            raise InputError(f"{wanted}; write one of: {calls}")
        if dataset not in self._answers:
            known = {} if is_remote(self.folder) else read_known(report_folder(self.folder))
            answer = summarize_dataset(found[dataset], self._report, FinalTrees(known))
            self._answers[dataset] = Best.of(answer)
        return self._answers[dataset]

    def tree(self, key: str) -> Tree:
        """The tree of a task. For a λ-path it is the tree of the smallest λ.

        Parameters
        ----------
        key : str
            The task's key, or its first characters.

        Raises
        ------
        InputError
            If no task or several have such a key, or the task has no tree.
        """
        row = self._row_of(key, ("tree",))
        if not isinstance(row["tree"], str):
            raise InputError(f"the task {key!r} has no tree, its status is {row['status']!r}")
        return Tree.from_json(row["tree"])

    def rashomon_set(self, key: str) -> RashomonSet:
        """All good trees of a task, if the solver's entry in the sweep's file has ``rashomon``.

        The dataset is read again.

        Parameters
        ----------
        key : str
            The task's key, or its first characters.

        Raises
        ------
        InputError
            If no task or several have such a key, if the task has no such set, or if the set's file
            or the dataset is missing or has changed.
        """
        row = self._row_of(key, USED)
        if not isinstance(row["rashomon"], str):
            raise InputError(
                f"the task {key!r} has no good trees, its status is {row['status']!r}; "
                "results.frame['rashomon_trees'] says which tasks have"
            )
        return StoredSets(self.folder).restore(row)

    def _row_of(self, key: str, columns: Sequence[str]) -> dict[str, Any]:
        """The row of the task whose key begins so. Raises InputError if there is not one."""
        rows = stored.read_results(self.folder, columns=["key", "status", *columns])
        found = rows[rows["key"].str.startswith(key)]
        if len(found) != 1:
            number = f"{len(found)} tasks have" if len(found) else "no task that has been run has"
            raise InputError(
                f"{number} a key that begins with {key!r}; results.frame['key'] lists them"
            )
        return {str(name): value for name, value in found.iloc[0].items()}

    def path(
        self,
        dataset: str | None = None,
        encoding: str | None = None,
        solver: str | None = None,
        fold: int | None = None,
        repeat: int | None = None,
    ) -> Path:
        """A λ-path of the sweep. The solver's entry in the sweep's file must have ``lam: path``.

        Parameters
        ----------
        dataset, encoding, solver : str, optional
            Names as :meth:`best` gives them. If the sweep has an encoding or a solver more than
            once, with different options, they are part of the name: ``"quantiles (k=4)"``. A name
            is not needed if the sweep has only one.
        fold, repeat : int, optional
            The number of the fold and of the repetition, from 0.

        Raises
        ------
        InputError
            If no path, or more than one, fits.
        """
        rows = self._report.results.rows
        rows = rows[rows["path"].notna()]
        if rows.empty:
            raise InputError(
                "the sweep has no λ-path yet; ask for one by "
                '"solvers": [{"solver": "branches", "lam": "path"}] and run it again'
            )
        fits = rows
        for name, value in zip(_NAMES, (dataset, encoding, solver, fold, repeat), strict=True):
            fits = fits if value is None else fits[fits[name] == value]
        if len(fits) != 1:
            some = (fits if len(fits) else rows).head(_SHOWN)
            repeated = bool(rows["repeat"].fillna(0).any())
            calls = ", ".join(_call(row, repeated) for row in some.to_dict("records"))
            number = f"{len(fits)} λ-paths fit" if len(fits) else "no λ-path fits"
            raise InputError(f"{number}; write one of: {calls}")
        return stored_path({str(name): value for name, value in fits.iloc[0].items()})

    def _repr_html_(self) -> str:
        found = self.status
        cells = [_cells(one) for one in self._report.recommendations[:_SHOWN]]
        head = ("dataset", "encoding", "solver", "λ", "answer")
        return (
            f"<p><b>{escape(found.sweep)}</b>: {found.done} of {count(found.total, 'task')} done, "
            f"{found.failed} failed, in {escape(found.folder)}</p>"
            f"<table><thead>{_line('th', head)}</thead>"
            f"<tbody>{''.join(_line('td', row) for row in cells)}</tbody></table>"
        )


_NAMES = ("dataset", "encoding_label", "solver_label", "fold", "repeat")

_SHOWN = 10
"""Rows of a table and calls of a message."""


def _cells(own: Recommendation) -> tuple[str, ...]:
    path, lam = own.path, "" if own.point is None else str(own.point["lam_text"])
    cells = ("", "") if path is None else (path.encoding, path.solver)
    return own.dataset, *cells, lam, own.headline


def _line(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _call(row: dict[Any, Any], repeated: bool) -> str:
    names = [repr(str(row[name])) for name in _NAMES[:3]]
    numbers = _NAMES[3:] if repeated else _NAMES[3:4]
    folds = [f"{name}={int(row[name])}" for name in numbers if not pd.isna(row[name])]
    return f"path({', '.join([*names, *folds])})"


def read_results(
    path: Place,
    *,
    columns: Sequence[str] | None = None,
    every_run: bool = False,
    outcome: Outcome | None = None,
) -> SweepResults:
    """Read the results of a sweep, also while it is still running.

    Parameters
    ----------
    path : str or Path
        The sweep's folder, or where it is on S3: ``s3://bucket/prefix``.
    columns : sequence of str, optional
        The columns of ``frame``; all by default.
    every_run : bool
        Whether ``frame`` has a row for every run. By default it has one row for each task: the
        result that counts.
    outcome : Outcome, optional
        How the run that wrote them ended.

    Raises
    ------
    InputError
        If ``path`` is not a sweep's folder, or there is no such column.

    Examples
    --------
    >>> import treesweep
    >>> results = treesweep.read_results("results/first")
    >>> results.frame.groupby("solver")["splits"].max().to_dict()
    {'branches': 6, 'cart': 4}
    >>> results.best("monks-1").solver
    'branches'
    """
    read_manifest(path)
    stored.check_columns(columns)
    return SweepResults(path, columns, every_run, outcome)
