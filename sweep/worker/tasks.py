"""The functions that run on workers: load a dataset, encode it, solve.

They are plain functions of their arguments; Dask is only asked where they run and used to report.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from distributed import Worker, get_worker
from numpy.typing import NDArray

from solver.base import Solver
from solver.catalogue import get_solver
from solver.errors import InputError, StateError
from solver.kernels.source_stamp import stamp_of
from solver.limits import Limits
from solver.path.path import Path
from solver.path.path_search import find_path
from solver.problem.problem import Problem
from solver.search_shards import Shard
from solver.solution import Solution, Status, TracePoint
from solver.trees.tree import Tree
from solver.verify.solution_checks import beyond_limits
from sweep import datasets
from sweep.datasets.dataset_reference import DatasetRef
from sweep.plan.plan import Node, NodeInfo
from sweep.rows import result_rows
from sweep.rows.metric_columns import held_out_quality
from sweep.rows.path_checkpoint import (
    ResumedSeries,
    Solved,
    parse_solves,
    recalled_path,
    with_known,
)
from sweep.rows.path_columns import path_columns, path_disagreement
from sweep.rows.result_rows import Cell, Finished, Provenance, as_finished
from sweep.spec.requested_outputs import (
    asked_rashomon,
    asks_division,
    asks_path,
    asks_proof,
    own_options,
)
from sweep.worker.certifying import Found, prove
from sweep.worker.checkpointing import Keeper
from sweep.worker.encode import encode, n_features_encoded
from sweep.worker.first_on_machine import first_on_machine
from sweep.worker.rashomon_sets import find_good_trees
from sweep.worker.run_settings import Run
from sweep.worker.stop_requests import is_divided, is_stopped
from sweep.worker.timed_batch import BatchCells

Row = dict[str, Any]

_RECALL = 0.05
_OVERTIME = 2.0
_WARMING_UP = threading.RLock()


@dataclass(frozen=True)
class Prepared:
    """An encoded training table, the raw rows to test on, and their labels or numbers."""

    info: NodeInfo
    problem: Problem
    n_features_encoded: int
    test: pd.DataFrame
    truth: NDArray[Any]


def warm_up(solver: str) -> None:
    """Load the kernels of a solver. On each machine one process compiles what is not compiled."""
    with _WARMING_UP:
        _load_kernels(solver)


@cache
def _load_kernels(solver: str) -> None:
    kind = get_solver(solver)
    with first_on_machine(solver, _kernels_version(kind.__module__)):
        kind.warm_up()


def _kernels_version(module: str) -> str:
    stamp = stamp_of(str(sys.modules[module].__file__))
    return f"{stamp} {os.environ.get('NUMBA_CACHE_DIR', '')}"


def warm_up_good_trees() -> None:
    """As :func:`warm_up`, for the search for good trees."""
    with _WARMING_UP:
        _load_good_trees()


@cache
def _load_good_trees() -> None:
    from solver.rashomon import find_set  # a driver imports this module, and needs no kernels

    with first_on_machine("rashomon", _kernels_version(find_set.__name__)):
        find_set.warm_up()


def warm_up_aside(run: str, solvers: Sequence[str]) -> None:
    """Load the kernels of a run's solvers beside load and encode; called by the driver.

    A solve waits for the end of it: what compiling needs is none of its memory. What fails here
    fails again, and is told, when a task needs it.
    """

    def load_all() -> None:
        with _WARMING_UP:
            for solver in solvers:
                with suppress(Exception):
                    _load_kernels(solver)

    threading.Thread(target=load_all, name="warm-up", daemon=True).start()


def load(reference: DatasetRef, digest: str) -> datasets.Dataset:
    """Read a dataset.

    Raises
    ------
    InputError
        If it is not the one that was planned for.
    """
    dataset = datasets.load_dataset(reference)
    if dataset.digest != digest:
        raise InputError(
            f"dataset {dataset.name!r} on {socket.gethostname()} is not the one that the sweep was "
            "planned with; give every machine the same file and run the sweep again"
        )
    return dataset


def prepare(dataset: datasets.Dataset, node: Node) -> Prepared:
    """Encode the training rows of a fold and set its test rows aside."""
    encoding, info = node.encoding, node.info
    problem, test = encode(dataset, encoding.name, encoding.options, node.validation, node.fold)
    if dataset.task == "regression":
        truth: NDArray[Any] = dataset.numbers
    else:
        labels = np.empty(len(problem.classes), dtype=object)
        labels[:] = problem.classes
        truth = labels[dataset.labels[1]]
    n_encoded = n_features_encoded(problem)
    return Prepared(info, problem, n_encoded, dataset.features[test], truth[test])


def solve_batch(
    prepared: Prepared,
    cells: Sequence[Cell],
    run: Run,
    give_back: Callable[[int], None] = lambda begun: None,
) -> Finished:
    """Solve some cells of a node, one after the other.

    Parameters
    ----------
    prepared : Prepared
    cells : sequence of Cell
    run : Run
    give_back : callable
        Told how many cells have begun, if one of them takes long: the others are left out.

    Returns
    -------
    Finished
        One row a cell, in their order. The last cells are left out if there was no time for them.
    """
    began = time.monotonic()
    finished: list[Row] = []
    with BatchCells(cells, _OVERTIME * run.batch_seconds, give_back) as begun:
        for cell in begun:
            if is_stopped(run.name):
                break
            finished.append(solve_cell(prepared, cell, run))
            if time.monotonic() - began > run.batch_seconds:
                break
    return as_finished(finished, time.monotonic() - began)


def solve_cell(prepared: Prepared, cell: Cell, run: Run) -> Row:
    """Solve one cell. Whatever goes wrong becomes a row that says so."""
    info, problem = prepared.info, prepared.problem
    worker = _worker()
    provenance = Provenance(_host(), worker.address if worker else None, result_rows.now())
    try:
        limits = Limits(**_remaining(cell))
        solver = get_solver(cell.solver)(**own_options(cell.options))
        if cell.shard is not None or asks_division(cell.options):
            solver = solver.part(cell.shard or Shard(0, 1))
        keeper = Keeper(run, cell, worker)
        if limits.seconds is not None:
            warm_up(cell.solver)  # compiling is not part of the search's time
        search = _search_path if asks_path(cell.options) else _search_tree
        with keeper.in_memory(limits.bytes):
            found = search(solver, problem, limits, cell, keeper)
            if isinstance(found, str):
                return result_rows.failed(info, cell, provenance, found)
            proof = prove(solver, problem, found, limits, cell, keeper)
            good = None
            if asked_rashomon(cell.options) is not None and not (proof and proof.stopped):
                warm_up_good_trees()
                good = find_good_trees(problem, found.solution, cell, keeper)
        trees = [found.solution.tree] if found.path is None else found.path.trees
        tested = [_tested(prepared, tree) for tree in trees]
        solution = found.solution
        was_divided = cell.shard is None and is_divided(run.name, cell.key, 1)
        if was_divided or (proof is not None and proof.stopped):
            # A search that is divided may have been at choosing among equally good trees.
            solution = replace(solution, status=Status.STOPPED)
        elif good is not None:
            solution = replace(solution, status=good.status)
        features = problem.n_features, prepared.n_features_encoded
        row = result_rows.solved(info, cell, provenance, solution, *features, tested[0])
    except (Exception, SystemExit):
        return result_rows.failed(info, cell, provenance, traceback.format_exc())
    if found.path is not None:
        row.update(path_columns(found.path, tested))
    if proof is not None:
        row.update(proof.columns(cell.key))
    if good is not None:
        row.update(good.columns(cell.key))
    return row


def _search_tree(
    solver: Solver, problem: Problem, limits: Limits, cell: Cell, keeper: Keeper
) -> Found:
    """The best tree at the cell's λ. The solver's claims are checked where it ends."""
    lam, checkpoint = Fraction(cell.lam), cell.checkpoint
    has_sequel = asks_proof(cell.options) or asked_rashomon(cell.options) is not None
    if has_sequel and checkpoint is not None and checkpoint.gap == 0:
        # Its search had ended; what was interrupted is what follows it.
        known = Solved(lam, Fraction(checkpoint.lower_bound), Tree.from_json(checkpoint.tree))
        solution = known.recall(problem, cell.solver, cell.solver_version)
        if solution is not None:
            return Found(result_rows.with_effort(solution, checkpoint), None)
    solution = _solve(solver, problem, lam, limits, cell, keeper)
    keeper.end(solution)
    return Found(result_rows.resumed(solution, checkpoint, keeper.resumed()), None)


def _solve(
    solver: Solver, problem: Problem, lam: Fraction, limits: Limits, cell: Cell, keeper: Keeper
) -> Solution:
    monitor, state = keeper.monitor(), keeper.received()
    tree = result_rows.initial_tree(cell.checkpoint)
    if not solver.capabilities.proves:
        tree = None  # a heuristic that begins with another tree may end with another one
    if cell.incumbent is not None:
        tree = Tree.from_json(cell.incumbent)
    with keeper.on_time(limits.seconds), keeper.peers(problem) as peers:
        monitor = replace(monitor, peers=peers)
        if state is not None:
            try:
                return solver.solve(
                    problem, lam, limits, initial_tree=tree, monitor=monitor, state=state
                )
            except InputError as error:
                keeper.reject(str(error))
        return solver.solve(problem, lam, limits, initial_tree=tree, monitor=monitor)


def _search_path(
    solver: Solver, problem: Problem, limits: Limits, cell: Cell, keeper: Keeper
) -> Found | str:
    """The λ-path from the cell's λ on, or what is wrong with the one that was found."""
    lam, checkpoint = Fraction(cell.lam), cell.checkpoint
    known = parse_solves(checkpoint.path if checkpoint else None)
    path, first = _solve_path(solver, problem, limits, cell, keeper, known)
    complaint = path_disagreement(problem, path, lam) or next(
        (c for tree in path.trees if (c := beyond_limits(tree, cell.solver, limits))), None
    )
    if complaint:
        return complaint
    solution = replace(path.solution_at(lam), status=path.status)
    if first is not None:
        solution = replace(solution, trace=first.trace, extra=first.extra)
    elif solution.lower_bound is not None:  # larger λ have proven it: there was no search at this λ
        known_at = solution.seconds, float(solution.objective), float(solution.lower_bound)
        solution = replace(solution, trace=(TracePoint(*known_at),))
    keeper.end(solution)
    if checkpoint is not None:
        solution = result_rows.with_effort(solution, checkpoint, keeper.resumed())
    return Found(solution, path)


def _solve_path(
    solver: Solver,
    problem: Problem,
    limits: Limits,
    cell: Cell,
    keeper: Keeper,
    known: Sequence[Solved],
) -> tuple[Path, Solution | None]:
    """The λ-path, and the first solution of this attempt at its least λ.

    Without a state it begins anew if what its solves learn from each other may choose the trees:
    then what an earlier attempt has solved is made use of where this one does not come to its end.
    """
    lam, named = Fraction(cell.lam), (cell.solver, cell.solver_version)
    series = ResumedSeries(problem, solver.series(problem), known, *named)
    if known and series.carries(limits) and all(one.is_step for one in known):
        whole = recalled_path(problem, lam, known, *named)
        if whole.status is Status.OPTIMAL:  # what was interrupted is the making of its certificate
            return whole, None
    keeper.follow_path(series.dump)
    state, monitor = keeper.received(), keeper.monitor()
    with keeper.on_time(limits.seconds):
        try:
            path = find_path(problem, lam, series, limits, monitor, state)
        except StateError as error:
            keeper.reject(str(error))
            series = ResumedSeries(problem, solver.series(problem), known, *named)
            keeper.follow_path(series.dump)
            path = find_path(problem, lam, series, limits, monitor)
    if known and not path.status.is_whole and series.carries(limits):
        better = with_known(problem, path, [*series.solves.values()])
        # A stopped path goes on to its own proof: of equally good trees it may find another one.
        if not (path.status is Status.STOPPED and better.status is Status.OPTIMAL):
            path = better
    return path, series.first.get(lam)


def _remaining(cell: Cell) -> dict[str, Any]:
    """The cell's limits, less the time that an interrupted attempt has spent."""
    seconds = cell.limits.get("seconds")
    if seconds is not None and cell.spent > 0:
        return {**cell.limits, "seconds": max(0.0, seconds - cell.spent)}
    if cell.checkpoint is None or seconds is None:
        return cell.limits
    # A path must at least be told again what it has solved, which takes no search.
    least = _RECALL if asks_path(cell.options) else 0.0
    return {**cell.limits, "seconds": max(least, seconds - cell.checkpoint.spent)}


def _tested(prepared: Prepared, tree: Tree) -> dict[str, Any]:
    """How good a tree is on the test rows; empty without validation."""
    if not prepared.info.n_test:
        return {}
    predicted = tree.predict(prepared.test)
    if tree.outputs:
        predicted = predicted.reshape(prepared.truth.shape)
    return held_out_quality(predicted, prepared.truth, tree.task)


def _worker() -> Worker | None:
    try:
        return get_worker()
    except ValueError:
        return None


@cache
def _host() -> str:
    return socket.gethostname()
