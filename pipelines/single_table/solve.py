"""Solve one table, as ``treesweep solve`` and ``treesweep path`` do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.single_table.resumable_search import StateFile, search_identity
from solver.base import Solver
from solver.catalogue import DEPTH, choose_solver, get_solver
from solver.encodings import fit_columns, get_encoding
from solver.encodings.auto_encoding import AUTO, choose_encoding
from solver.errors import InputError, columns_like
from solver.features.category_values import GAPS
from solver.features.columns import ColumnSpec
from solver.features.text_parsing import TextFormat
from solver.limits import Limits
from solver.monitor import Monitor, Snapshot
from solver.objective.exact_objective import as_lambda
from solver.objective.integer_weights import whole_weights
from solver.path.path import Path as LamPath
from solver.path.path_search import find_path
from solver.problem.problem import Problem
from solver.rashomon.find_set import rashomon_set
from solver.rashomon.rashomon_set import RashomonSet
from solver.solution import Solution
from solver.trees.tree import TaskType, Tree
from sweep.datasets import Dataset, DatasetRef, load_dataset, parse_reference, read_file


@dataclass(frozen=True)
class Request:
    """A table, how to encode it, and what to find."""

    data: str  # a file, the name of a built-in dataset, or openml:ID
    lam: str  # λ, or the least λ of a path; k/n is k over the number of rows
    target: str | Sequence[str] | None = None  # needed for a file; regression may have several
    task: TaskType | None = None  # by default that of a built-in dataset, else classification
    encoding: str = AUTO  # see :mod:`solver.encodings.auto_encoding`
    encoding_options: Mapping[str, Any] = field(default_factory=dict)
    solver: str = AUTO
    solver_options: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)  # how to read columns, by name
    separator: str | None = None  # the delimiter of a text file
    charset: str | None = None  # its character encoding
    sheet: str | None = None  # of an Excel file
    weights: str | None = None  # column of row weights
    limits: Mapping[str, Any] = field(default_factory=dict)  # as solver.limits.Limits; None: none
    state: Path | None = None
    """An unfinished search is written to this file, and resumed from it. The limit of seconds holds
    for this call; the figures of the solution are those of all calls. Not for paths."""


class SolvedTable(NamedTuple):
    """A solved request; ``complaint`` is why the state of the search could not be kept."""

    problem: Problem
    solution: Solution
    complaint: str | None = None


def settle(request: Request) -> Request:
    """The request with the solver that ``auto`` stands for, and the depth that it needs.

    Raises InputError if there is no such dataset or solver.
    """
    task = _reference(request).task
    if request.solver == AUTO:
        auto = request.encoding == AUTO
        kind = "binary" if auto else get_encoding(request.encoding).feature_kind
        solver = choose_solver(kind, task)
    else:
        solver = get_solver(request.solver)
    limits = dict(request.limits)
    if request.solver == AUTO and "depth" in solver.capabilities.needs:
        limits["depth"] = DEPTH if limits.get("depth") is None else limits["depth"]
    return replace(request, solver=solver.name, limits=limits)


def solve_request(
    request: Request,
    stop: Callable[[], bool] = lambda: False,
    follow: Callable[[Snapshot], None] | None = None,
) -> SolvedTable:
    """Load, encode and solve a settled request. Options are checked before the data are read.

    ``stop`` is called during the search and ends it by True. ``follow`` gets two snapshots a
    second. Raises InputError if anything in the request is wrong or does not fit.
    """
    limits, solver = _check(request)
    if request.state is not None and not solver.resumes:
        options = " with these options" if solver.capabilities.resumes else ""
        raise InputError(
            f"solver {request.solver!r}{options} cannot go on from a state; leave out --state"
        )
    problem = make_problem(request)
    lam = read_lambda(request.lam, problem.n_rows)
    problem = problem.fitted(lam, limits.splits)
    if request.state is None:
        monitor = Monitor(stop=stop, snapshot=follow, interval=0.5)
        return SolvedTable(problem, solver.solve(problem, lam, limits, monitor=monitor))
    kept = StateFile(request.state, search_identity(problem, lam, solver, limits))
    tree, monitor = kept.tree(), kept.monitor(stop, follow)
    found = solver.solve(
        problem, lam, limits, initial_tree=tree, monitor=monitor, state=kept.take_state()
    )
    return SolvedTable(problem, kept.end(found), kept.complaint)


class TablePath(NamedTuple):
    """The λ-path of a request."""

    problem: Problem
    path: LamPath


def find_path_request(
    request: Request,
    stop: Callable[[], bool] = lambda: False,
    follow: Callable[[Snapshot], None] | None = None,
) -> TablePath:
    """Load, encode and find the λ-path, see :func:`solve_request`."""
    limits, solver = _check(request)
    problem = make_problem(request)
    lam_min = read_lambda(request.lam, problem.n_rows)
    problem = problem.fitted(lam_min, limits.splits)
    monitor = Monitor(stop=stop, snapshot=follow, interval=0.5)
    return TablePath(problem, find_path(problem, lam_min, solver.series(problem), limits, monitor))


def find_good_trees(
    request: Request,
    within: str,
    unit: str,
    stop: Callable[[], bool] = lambda: False,
    follow: Callable[[Snapshot], None] | None = None,
) -> tuple[Problem, RashomonSet]:
    """Load and encode the table of a settled request, and count its good trees, see
    :func:`solver.rashomon.find_set.rashomon_set`; a limit of the request leaves a smaller set."""
    limits = Limits(**request.limits)
    problem = make_problem(request)
    lam = read_lambda(request.lam, problem.n_rows)
    monitor = Monitor(stop=stop, snapshot=follow, interval=0.5)
    anytime = any(getattr(limits, name) is not None for name in ("seconds", "bytes", "nodes"))
    return problem, rashomon_set(
        problem, lam, within, unit, limits=limits, monitor=monitor, anytime=anytime
    )


def _check(request: Request) -> tuple[Limits, Solver]:
    """Check what needs no data."""
    limits = Limits(**request.limits)
    solver = get_solver(request.solver)(**request.solver_options)
    solver.check_limits(limits)
    if request.encoding != AUTO:
        get_encoding(request.encoding).check_options(request.encoding_options)
    elif request.encoding_options:
        raise InputError(
            f"encoding options {', '.join(request.encoding_options)} need an encoding; name it, "
            "e.g. --encoding quantiles"
        )
    read_lambda(request.lam, 1)
    return limits, solver


def read_lambda(text: str, n_rows: int) -> Fraction:
    """λ as an exact fraction; ``2/n`` is 2 / ``n_rows``."""
    k, slash, n = text.strip().partition("/")
    if slash and n.strip() == "n":
        return as_lambda(k) / n_rows
    return as_lambda(text)


def _reference(request: Request) -> DatasetRef:
    target = request.target
    fields = {
        "columns": dict(request.columns),
        "task": request.task,
        "target": target if isinstance(target, str) or target is None else list(target),
        "separator": request.separator,
        "charset": request.charset,
        "sheet": request.sheet,
    }
    given = {name: value for name, value in fields.items() if value is not None}
    return parse_reference(request.data, **given)


class Loaded(NamedTuple):
    """The table of a settled request, and how it is encoded."""

    dataset: Dataset
    frame: pd.DataFrame  # without the column of weights
    weights: NDArray[Any] | None
    encoding: str
    options: Mapping[str, Any]
    columns: dict[str, ColumnSpec]  # how the whole table is read, so that all folds read it alike

    def problem(self, rows: NDArray[np.bool_] | None = None) -> Problem:
        """The problem of the table, or of these rows."""
        keep = slice(None) if rows is None else rows
        return Problem.from_table(
            self.frame[keep],
            self.dataset.targets,
            self.encoding,
            task=self.dataset.task,
            weights=None if self.weights is None else self.weights[keep],
            columns=self.dataset.columns if rows is None else self.columns,
            classes=None if rows is None else self.dataset.classes or None,
            **self.options,
        )


def load(request: Request) -> Loaded:
    """Load the table of a settled request. Raises as :func:`solve_request`."""
    dataset = load_dataset(_reference(request))
    frame, weights = _take_weights(dataset, request.weights)
    features = frame.drop(columns=[*dataset.targets])
    encoding, options = request.encoding, dict[str, Any]()
    if encoding == AUTO:
        cuts = "continuous" in get_solver(request.solver).capabilities.features
        encoding, options = choose_encoding(features, dataset.columns, cuts_numbers=cuts)
    columns = fit_columns(encoding, features, dataset.columns)
    return Loaded(
        dataset, frame, weights, encoding, {**options, **request.encoding_options}, columns
    )


def make_problem(request: Request) -> Problem:
    """Load and encode a settled request. Raises as :func:`solve_request`."""
    return load(request).problem()


def _take_weights(dataset: Dataset, name: str | None) -> tuple[pd.DataFrame, Any]:
    frame = dataset.frame
    if name is None:
        return frame, None
    if name not in frame.columns or name in dataset.targets:
        known = columns_like(name, (c for c in frame.columns if c not in dataset.targets))
        raise InputError(
            f"dataset {dataset.name!r} has no column {name!r} for the weights; it has {known}"
        )
    column = frame[name]
    if pd.api.types.is_numeric_dtype(column.dtype) and column.hasnans:
        column = column.astype("float64")
    weights = column.to_numpy()
    try:
        whole_weights(weights)
    except InputError as error:
        raise InputError(f"column {name!r}: {error}") from None
    return frame.drop(columns=[name]), weights


def read_frame(data: str, tree: Tree, **given: str | None) -> pd.DataFrame:
    """A table for a tree to predict; it needs no target.

    Columns of a text or Excel file are read as the tree reads them. Raises InputError if there is
    no such table, or it cannot be read.

    Parameters
    ----------
    data : str
        A file, the name of a built-in dataset, or openml:ID.
    tree : Tree
        The tree.
    **given
        ``separator``, ``charset`` and ``sheet`` of a file, see
        :class:`sweep.datasets.dataset_reference.DatasetRef`; None if not given.
    """
    forms = {name: spec.form for name, spec in tree.columns.items() if spec.form}
    return _read(data, given, tree.texts, forms)


def read_kept(
    data: str, names: Sequence[str], *, as_text: bool, **given: str | None
) -> pd.DataFrame:
    """Columns of a table to be copied; those of a text file letter by letter if ``as_text``.

    Raises InputError as :func:`read_frame`, or if there is no such column.
    """
    frame = _read(data, given, dict.fromkeys(names, GAPS) if as_text else None)
    if unknown := [name for name in names if name not in frame.columns]:
        known = columns_like(unknown[0], frame.columns)
        raise InputError(f"the table has no column {unknown[0]!r} to keep; it has {known}")
    return frame[[*names]].reset_index(drop=True)


def _read(
    data: str,
    given: Mapping[str, str | None],
    texts: Mapping[str, Collection[str]] | None,
    forms: Mapping[str, TextFormat] | None = None,
) -> pd.DataFrame:
    """A table; ``texts`` and ``forms`` as in :func:`sweep.datasets.files.read_file`."""
    reference = parse_reference(data, **{k: v for k, v in given.items() if v is not None})
    if reference.path is not None:
        path, sheet = reference.path.expanduser(), reference.sheet
        how = reference.separator, reference.charset
        return read_file(path, *how, sheet=sheet, texts=texts, forms=forms)
    return load_dataset(reference).frame
