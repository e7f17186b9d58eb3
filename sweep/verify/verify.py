"""Check a store: score all trees again on the raw rows; check keys, bounds and columns."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from solver.catalogue import SOLVERS
from solver.errors import InputError
from solver.features.number_format import count
from solver.objective.exact_squared_error import tolerance_of
from solver.solution import Status, share_without
from solver.trees.tree import Tree
from solver.verify.solution_checks import smallest_leaf
from sweep.filesystem import Folder, Place, open_folder
from sweep.plan.task_keys import KEY_COLUMNS, allowed_trees, canonical, task_key
from sweep.rows import schema
from sweep.rows.metric_columns import rmse
from sweep.rows.result_rows import Checkpoint
from sweep.spec.requested_outputs import shown_lam
from sweep.store.part_files import Parts
from sweep.store.plan_file import planned_tasks
from sweep.store.row_precedence import RUN_COLUMNS, rows_of_tasks
from sweep.store.search_state_format import check_state
from sweep.store.search_states import state_name, state_sizes
from sweep.store.store import read_manifest
from sweep.verify import rashomon_sets
from sweep.verify.certificates import check_certificate, check_presence
from sweep.verify.datasets import FoldKey, Tables
from sweep.verify.lambda_paths import check_path_columns, check_stored_path, path_claims
from sweep.verify.row_columns import (
    check_effort,
    check_end,
    check_extra,
    check_lam,
    check_unasked,
)
from sweep.verify.rows_to_check import Ticker, sampled_rows

_OF_EACH_TASK = frozenset(KEY_COLUMNS) | {
    "schema_version", "key", "sweep", "dataset", "n_rows", "n_train", "n_test", "n_classes", "lam",
    "lam_label", "seed", "task", "status", "error", "host", "worker", "attempt", "started",
    "finished", "versions", "git_revision",
}  # fmt: skip
_RESULTS = [column.name for column in schema.COLUMNS if column.name not in _OF_EACH_TASK]
"""The columns that only a row with a tree has."""


class Finding(NamedTuple):
    """A problem of a row."""

    key: str
    task: str
    problem: str


@dataclass(frozen=True)
class Verification:
    """The result of a check."""

    rows: int  # checked rows
    trees: int  # trees that were scored again
    unscored: int  # other trees; a finding of the row says why, unless it is a former row
    proofs: int  # checked certificates
    trusted: int  # rows with a lower bound that no certificate checked here proves
    sets: int  # sets of good trees that were counted anew
    planned: int  # tasks of the plan
    failed: int  # tasks that have failed
    missing: int  # tasks without a row
    former: int  # rows of earlier plans whose dataset is gone; their trees are not scored
    findings: list[Finding]  # empty if all is well


def verify_sweep(
    path: Place,
    proof: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    sample: int | None = None,
) -> Verification:
    """Check a sweep's folder. It reads the datasets again and shares no code with the searches.

    All stored rows are checked, under the names of today's plan. Datasets are found by content. A
    million rows take minutes.

    Parameters
    ----------
    path : str or Path
        The sweep's folder, or where it is on S3.
    proof : bool
        Check the certificates too and search for good trees again, which may take as long as the
        searches.
    tell : callable, optional
        Gets messages about the progress, every few seconds.
    sample : int, optional
        Check about this many rows only: always the same ones, chosen by their keys. Rows are then
        compared among these.

    Raises
    ------
    InputError
        If it is no sweep's folder, has no plan yet, or the plan or a part file is damaged. Damaged
        states and certificates and unreadable datasets are findings.
    """
    folder = open_folder(path)
    read_manifest(folder)
    tables = Tables(folder)
    findings: list[Finding] = []
    n_rows = n_trees = n_scored = n_proofs = n_trusted = n_sets = n_former = 0
    seen: set[bytes] = set()
    claims: dict[bytes, _Claim] = {}
    clock = Ticker(tell)
    tasks = planned_tasks(folder)
    runs = Parts(folder).read(RUN_COLUMNS)
    stored = runs["key"].unique()
    findings += _check_answers(tasks, stored)
    for row in sampled_rows(Parts(folder), tasks, sample):
        n_rows += 1
        clock.tick(f"{count(n_rows, 'row')} checked, {count(len(findings), 'finding')}")
        problems = [*_problems(_check_row(row, seen)), *_problems(_check_claims(row, claims))]
        has_tree = row["tree"] is not None
        n_trees += has_tree + len(row["path"] or ())
        is_former = has_tree and not row["planned"] and not tables.has(row["data_hash"])
        n_former += is_former
        if not problems and not is_former:
            checked = _Checked()
            problems = _problems(_check_trees(row, tables, checked))
            n_scored += checked.trees
        # Files of a row that answers nothing today are not made again.
        is_checked = row["planned"] or all(folder.exists(row[n]) for n in schema.FILES if row[n])
        if not problems and is_checked:
            problems = _problems(
                chain(check_presence(row, folder), rashomon_sets.check_presence(row, folder))
            )
        is_checked &= not problems and not is_former
        if is_checked and row["rashomon"] is not None:
            with clock.during(f"counting the good trees of {_describe(row)}"):
                problems = _problems(rashomon_sets.check_good_trees(row, folder, tables, proof))
            n_sets += not problems
        asks = is_checked and not problems and proof and row["proof"] is not None
        if asks:
            n_proofs += 1
            with clock.during(f"checking the certificate of {_describe(row)}"):
                problems = _problems(check_certificate(row, folder, tables))
        is_proven = asks and not problems and row["status"] == Status.OPTIMAL
        n_trusted += row["lower_bound_exact"] is not None and not is_proven
        findings += [Finding(row["key"], _describe(row), text) for text in problems]
    findings += _check_states(folder)
    for name in Parts(folder).strangers():
        text = "it has no name of a part file, so that its rows are not read; move it elsewhere"
        findings.append(Finding("", folder.where(name), text))
    return Verification(
        rows=n_rows,
        trees=n_scored,
        unscored=n_trees - n_scored,
        proofs=n_proofs,
        trusted=n_trusted,
        sets=n_sets,
        planned=len(tasks),
        failed=_n_failed(tasks, runs),
        missing=_n_missing(tasks, stored),
        former=n_former,
        findings=findings,
    )


def _problems(found: Iterator[str]) -> list[str]:
    """All that a check finds. A forged row may hold anything; the others are checked as well."""
    problems = []
    try:
        for problem in found:
            problems.append(problem)
    except InputError as error:
        problems.append(str(error))
    except Exception as error:
        problems.append(f"it cannot be checked: {error!r}")
    return problems


def _n_failed(tasks: pa.Table, runs: pa.Table) -> int:
    """The number of tasks whose row is a failure."""
    place = rows_of_tasks(tasks, runs)
    statuses = runs["status"].take(pa.array(place[place >= 0]))
    failures = pa.array([status.value for status in Status if not status.has_tree])
    return int(pc.sum(pc.is_in(statuses, value_set=failures)).as_py() or 0)


def _n_missing(tasks: pa.Table, stored: pa.Array) -> int:
    """The number of tasks with no row, of their own or under other limits."""
    has_row = [pc.is_in(tasks[name], value_set=stored) for name in ("key", "answered_by")]
    return len(tasks) - int(pc.sum(pc.or_(*has_row)).as_py() or 0)


def _check_answers(tasks: pa.Table, stored: pa.Array) -> Iterator[Finding]:
    """Check that the rows still exist that answered tasks when the plan was made."""
    answered = tasks.filter(pc.is_valid(tasks["answered_by"]))
    is_lost = pc.invert(pc.is_in(answered["answered_by"], value_set=stored))
    for task in answered.filter(is_lost).to_pylist():
        name = f"{task['dataset']}, λ = {task['lam_label']}"
        yield Finding(task["answered_by"], name, "the row that answered it is not there any more")


def _check_states(folder: Folder) -> Iterator[Finding]:
    """Check the stored states of searches."""
    for key in sorted(state_sizes(folder)):
        try:
            name = state_name(key)
            with folder.open(name) as file:
                reached = Checkpoint(**check_state(file, folder.where(name)).reached)
        except FileNotFoundError:
            continue  # the search has ended meanwhile
        except (InputError, TypeError) as error:
            yield Finding(key, "the state of a search", str(error))
        else:
            if reached.gap < 0:
                yield Finding(key, "the state of a search", "its bound is above its objective")


def _describe(row: Mapping[str, Any]) -> str:
    fold = "" if row["fold"] is None else f", repeat {row['repeat']} fold {row['fold']}"
    try:
        lam = shown_lam(row["lam_label"], json.loads(row["solver_options"]))
    except (TypeError, ValueError, AttributeError):  # it is a forged one
        lam = str(row["lam_label"])
    return f"{row['dataset']}, {row['encoding']}, {row['solver']}, λ = {lam}{fold}"


def _digest(*words: object) -> bytes:
    """A short digest: a million of them are in memory."""
    return blake2b(canonical(words).encode(), digest_size=16).digest()


def _check_row(row: Mapping[str, Any], seen: set[bytes]) -> Iterator[str]:
    """Check what the row alone shows."""
    if row["schema_version"] != schema.VERSION:
        yield f"schema version {row['schema_version']} instead of {schema.VERSION}"
    if row["key"] != task_key(row):
        yield "the key is not that of the row's content"
    own = _digest(row["key"], row["attempt"])
    if own in seen:
        yield "the row is there twice"
    seen.add(own)
    yield from check_lam(row)
    try:
        status = Status(row["status"])
    except ValueError:
        yield f"there is no status {row['status']!r}"
        return
    if not status.has_tree:
        if any(row[name] is not None for name in _RESULTS):
            yield f"a row of status {status} has results"
        if not row["error"]:
            yield f"a row of status {status} does not say why"
    elif row["tree"] is None:
        yield f"a row of status {status} has no tree"
    else:
        yield from check_end(row, status)
        yield from _check_bounds(row, status)
        yield from _check_trace(row)
        yield from check_path_columns(row)
        yield from check_unasked(row)
        yield from check_effort(row)
        yield from check_extra(row)


def _check_bounds(row: Mapping[str, Any], status: Status) -> Iterator[str]:
    for name in ("objective", "lower_bound", "gap"):
        exact = row[f"{name}_exact"]
        expected = None if exact is None else float(Fraction(exact))
        if row[name] != expected:
            yield f"{name} is {row[name]} and exactly {exact}"
    value = Fraction(row["objective_exact"])
    loss = value - Fraction(row["lam_exact"]) * row["splits"]
    if row["task"] == "regression":
        yield from _check_regression(row, loss)
    else:
        if row["tolerance"] != 0:
            yield f"the tolerance is {row['tolerance']}, in classification it is 0"
        if loss != Fraction(row["errors"], row["total_weight"]):
            errors, splits = row["errors"], row["splits"]
            size = f"{count(errors, 'error')}, {count(splits, 'split')}"
            yield f"the objective {value} is not that of {size}"
        if not math.isclose(row["train_accuracy"], 1 - float(loss), abs_tol=1e-12):
            yield f"the train accuracy is {row['train_accuracy']}, by the errors {1 - float(loss)}"
    if row["loss"] != float(loss):
        yield f"the loss is {row['loss']}, by objective and splits {float(loss)}"
    if row["lower_bound_exact"] is None:
        # A heuristic proves nothing, however it ended; nor does a solver of others, which leaves a
        # claim.
        claims = '"claim"' in (row["extra"] or "") or _is_heuristic(row["solver"])
        if status is not Status.HEURISTIC and not (claims and status is not Status.OPTIMAL):
            yield f"a row of status {status} has no lower bound"
        return
    bound, gap = Fraction(row["lower_bound_exact"]), Fraction(row["gap_exact"])
    # A path that a limit has cut has the bound that every tree has, whoever found it.
    if _is_heuristic(row["solver"]) and row["path"] is None:
        yield f"it has the lower bound {bound}, and {row['solver']} proves nothing"
    if bound > value:
        yield f"the lower bound {bound} is above the objective {value}"
    if gap != value - bound:
        yield f"the gap is {gap}, by objective and bound {value - bound}"
    # A path may be proven at its least λ and open elsewhere; or not all good trees are found.
    lacks = rashomon_sets.lacks_good_trees(row)
    is_open = (row["path"] is not None or lacks) and status is not Status.OPTIMAL
    tolerance = Fraction(row["tolerance"])
    if (status is Status.OPTIMAL) != (gap <= tolerance) and not is_open:
        yield f"the status is {status} and the gap is {gap}"


def _check_trace(row: Mapping[str, Any]) -> Iterator[str]:
    """Check that the search never claimed more than it ended with: reports draw its progress."""
    value = float(row["objective"])
    slack = float(row["tolerance"]) + 1e-9 * max(abs(value), 1.0)
    for point in row["trace"] or ():
        if point["objective"] is not None and point["objective"] < value - slack:
            yield f"the trace has the objective {point['objective']}, the tree has {value}"
            return
        bound = point["lower_bound"]
        if bound is not None and bound > value + slack:
            yield f"the trace has the lower bound {bound}, above the objective {value}"
            return


def _check_regression(row: Mapping[str, Any], loss: Fraction) -> Iterator[str]:
    tree = Tree.from_json(row["tree"])
    if tree.errors != loss * row["total_weight"]:
        yield f"the loss is {float(loss)}, the tree says {float(tree.errors / row['total_weight'])}"
    spread = tree.nodes[0].squared_error
    expected = {
        "train_rmse": rmse(loss, len(tree.outputs)),
        "train_r2": share_without(tree.errors, spread) if spread else None,
        "tolerance": float(tolerance_of(spread, row["total_weight"])),
    }
    for name, found in expected.items():
        if row[name] != found:
            yield f"{name} is {row[name]}, by the tree {found}"


class _Claim(NamedTuple):
    objective: Fraction
    bound: Fraction
    objective_of: str
    bound_of: str


def _check_claims(row: Mapping[str, Any], claims: dict[bytes, _Claim]) -> Iterator[str]:
    """A lower bound of one run must not exceed the objective of another for the same question."""
    if row["objective_exact"] is None or Fraction(row["lam_exact"]) < 0:
        return
    limits = allowed_trees(json.loads(row["limits"]), json.loads(row["solver_options"]))
    names = ("data_hash", "encoding", "encoding_options", "validation", "fold", "repeat")
    own = (row["lam_exact"], row["objective_exact"], row["lower_bound_exact"])
    for lam, reached, proven in (own, *path_claims(row)):
        question = _digest(*(row[name] for name in names), lam, limits)
        value, who = Fraction(reached), sys.intern(row["solver"])
        bound = value if proven == reached else Fraction(proven or 0)
        old = claims.get(question, _Claim(value, bound, who, who))
        at = "" if lam == row["lam_exact"] else f" at λ = {lam}"
        if bound > old.objective:
            whose = f"{old.objective}, which {old.objective_of} reached"
            yield f"its lower bound {bound}{at} is above {whose}"
        if old.bound > value:
            whose = f"the bound {old.bound} that {old.bound_of} proved"
            yield f"its objective {value}{at} is below {whose}"
        claims[question] = _Claim(
            min(value, old.objective),
            max(bound, old.bound),
            who if value < old.objective else old.objective_of,
            who if bound > old.bound else old.bound_of,
        )


@dataclass
class _Checked:
    """The number of a row's trees that were scored again."""

    trees: int = 0


def _check_trees(row: Mapping[str, Any], tables: Tables, checked: _Checked) -> Iterator[str]:
    """Score the row's tree, and all trees of its path, on the raw rows."""
    if row["tree"] is None:
        return
    if not tables.has(row["data_hash"]):
        yield tables.why_not(row["dataset"])
        return
    key = FoldKey.of(row)
    try:
        if row["planned"] and not tables.is_called(row["data_hash"], row["dataset"]):
            yield f"it is of another table than dataset {row['dataset']!r}"
        dataset = tables.dataset(row["data_hash"])
        n_test = int(tables.held_out(key).sum())
        n_train = len(dataset.frame) - n_test
        shape: dict[str, object] = {"n_test": n_test, "n_rows": len(dataset.frame)}
        shape |= {"total_weight": n_train, "n_train": n_train}
        shape |= {"n_classes": len(dataset.classes)}
        shape |= {"task": dataset.task}
        shape |= tables.n_features(key, row["encoding"], row["encoding_options"])
        for name, found in shape.items():
            if row[name] != found:
                yield f"{name} is {row[name]}, the data say {found}"
        has_test = row["validation"] != "null"
        yield from _check_absent(row, has_test)
        yield from check_tree(row, key, tables, row["limits"], has_test)
        if has_test:
            yield from _check_test_quality(row, key, tables)
        checked.trees += 1
        if row["path"] is not None:
            yield from _check_path_tests(row, key, tables, has_test)
            for step in row["path"]:
                for text in check_tree(step, key, tables, row["limits"], has_test):
                    yield f"the path at λ = {step['lam']}: {text}"
                checked.trees += 1
            problem = tables.problem(key, row["encoding"], row["encoding_options"])
            yield from check_stored_path(row, problem)
    except InputError as error:
        yield str(error)


def _check_absent(row: Mapping[str, Any], has_test: bool) -> Iterator[str]:
    """Check that a row has no quality that rows of its kind do not have: reports would show it."""
    absent = {"train_r2", "train_rmse", "test_r2", "test_rmse", "path_test_loss", "path_test_r2"}
    if row["task"] == "regression":
        absent = {"train_accuracy", "test_accuracy", "errors", "test_errors"}
    if not has_test:
        absent |= {name for name in row if name.startswith(("test_", "path_test_"))}
    for name in sorted(absent):
        if row[name] is not None:
            yield f"{name} is {row[name]}, such a row has none"


def _check_test_quality(row: Mapping[str, Any], key: FoldKey, tables: Tables) -> Iterator[str]:
    """Compare the shares that come from the test errors, which :func:`check_tree` has checked."""
    missed = tables.score(key, row["tree"]).test_errors
    if row["task"] == "classification":
        expected = {"test_accuracy": 1 - float(missed) / row["n_test"], "test_r2": None}
    else:
        spread = tables.test_spread(key)
        r2 = share_without(missed / row["n_test"], spread) if spread else None
        expected = {"test_accuracy": None, "test_r2": r2}
    for name, found in expected.items():
        if not _are_alike([row[name]], [found]):
            yield f"{name} is {row[name]}, the tree and the data say {found}"


def _check_path_tests(
    row: Mapping[str, Any], key: FoldKey, tables: Tables, has_test: bool
) -> Iterator[str]:
    """Compare the test losses of a path of regression, which λ is chosen by, with its trees."""
    if row["task"] != "regression" or not has_test:
        return
    spread = tables.test_spread(key)
    missed = [tables.score(key, step["tree"]).test_errors for step in row["path"]]
    losses = [float(one / row["n_test"]) for one in missed]
    shares = [share_without(one / row["n_test"], spread) if spread else None for one in missed]
    for name, expected in (("path_test_loss", losses), ("path_test_r2", shares)):
        stored = row[name]
        if stored is None or not _are_alike(stored, expected):
            yield f"{name} is {stored}, the trees and the data say {expected}"


def _are_alike(stored: Sequence[float | None], expected: Sequence[float | None]) -> bool:
    """Whether two lists hold the same numbers, but for rounding, and miss the same ones."""
    if len(stored) != len(expected):
        return False
    pairs = zip(stored, expected, strict=True)
    return all(
        a is b if a is None or b is None else math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
        for a, b in pairs
    )


def check_tree(
    claimed: Mapping[str, Any], key: FoldKey, tables: Tables, limits: str, has_test: bool
) -> Iterator[str]:
    """Compare the claims of a row, or of a path's step, with the tree and the data."""
    found_tree = tables.score(key, claimed["tree"])
    shape = found_tree._asdict()
    yield from shape.pop("faults")
    wrong, wrong_on_test = shape.pop("errors"), shape.pop("test_errors")
    tree = Tree.from_json(claimed["tree"])
    if tree.outputs:
        if tree.errors != wrong:
            yield f"its squared error is {float(tree.errors)}, the data say {float(wrong)}"
        shape |= {"errors": None, "test_errors": None}
        if has_test and "test_rmse" in claimed:
            loss = wrong_on_test / claimed["n_test"]
            if not math.isclose(claimed["test_rmse"], rmse(loss, len(tree.outputs)), rel_tol=1e-9):
                yield f"test_rmse is {claimed['test_rmse']}, the tree and the data say otherwise"
    else:
        shape |= {"errors": wrong, "test_errors": wrong_on_test if has_test else None}
    for name, found in shape.items():
        if claimed[name] != found:
            yield f"{name} is {claimed[name]}, the tree and the data say {found}"
    for name, limit in json.loads(limits).items():
        if name in ("depth", "splits") and shape[name] > limit:
            yield f"the tree has {name} {shape[name]}, the limit was {limit}"
        if name == "min_leaf_size":
            least = smallest_leaf(tree)
            if least is not None and least < limit:
                yield f"the tree has a leaf of {count(least, 'row')}, the limit was {limit}"


def _is_heuristic(solver: str) -> bool:
    return solver in SOLVERS and not SOLVERS[solver].capabilities.proves
