"""Checking a store: every tree scored anew on the raw rows, every key, bound and column."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.labels import read_labels
from solver.scorer import score_rows
from solver.solution import Status
from solver.tree import Tree
from sweep import folds, schema
from sweep.datasets import Dataset, load_dataset
from sweep.keys import BUDGETS, canonical, task_key
from sweep.parts import Parts, read_part
from sweep.rows import Checkpoint
from sweep.statefile import check_state
from sweep.states import FOLDER as STATES
from sweep.states import state_sizes
from sweep.store import read_manifest, stored_sweep

_RESULTS = ("objective_exact", "errors", "splits", "tree", "test_errors")


class Finding(NamedTuple):
    """Something that is wrong with a row."""

    key: str
    task: str
    problem: str


@dataclass(frozen=True)
class Verification:
    """What a check found.

    Parameters
    ----------
    rows : int
        Rows that were checked.
    trees : int
        Trees that were scored anew.
    findings : list of Finding
        Empty if all is well.
    """

    rows: int
    trees: int
    findings: list[Finding]


def verify_sweep(path: str | Path) -> Verification:
    """Check a sweep's folder. It reads the datasets again and shares no code with the searches.

    Raises
    ------
    InputError
        If it is no sweep's folder, a part file is damaged, or a dataset cannot be read. A damaged
        state file is a finding.
    """
    root = Path(path)
    read_manifest(root)
    tables = _Tables(root)
    findings: list[Finding] = []
    n_rows = n_trees = 0
    seen: set[tuple[str, int]] = set()
    claims: dict[str, _Claim] = {}
    for part in Parts(root).paths():
        for row in read_part(part).to_pylist():
            n_rows += 1
            n_trees += row["tree"] is not None
            problems = [*_check_row(row, seen), *_check_claims(row, claims)]
            if not problems:
                problems = [*_check_tree(row, tables)]
            findings += [Finding(row["key"], _describe(row), text) for text in problems]
    findings += _check_states(root)
    return Verification(n_rows, n_trees, findings)


def _check_states(root: Path) -> Iterator[Finding]:
    """Whether the states that searches can go on from are whole."""
    for key in sorted(state_sizes(root)):
        try:
            reached = Checkpoint(**check_state(root / STATES / f"{key}.parquet").reached)
        except FileNotFoundError:
            continue  # its search has ended meanwhile
        except (InputError, TypeError) as error:
            yield Finding(key, "the state of a search", str(error))
        else:
            if reached.gap < 0:
                yield Finding(key, "the state of a search", "its bound is above its objective")


def _describe(row: Mapping[str, Any]) -> str:
    fold = "" if row["fold"] is None else f", repeat {row['repeat']} fold {row['fold']}"
    return f"{row['dataset']}, {row['encoding']}, {row['solver']}, λ = {row['lam_label']}{fold}"


def _check_row(row: Mapping[str, Any], seen: set[tuple[str, int]]) -> Iterator[str]:
    """What can be told from the row alone."""
    if row["schema_version"] != schema.VERSION:
        yield f"schema version {row['schema_version']} instead of {schema.VERSION}"
    if row["key"] != task_key(row):
        yield "the key is not that of the row's content"
    if (row["key"], row["attempt"]) in seen:
        yield "the row is there twice"
    seen.add((row["key"], row["attempt"]))
    if row["lam"] != float(Fraction(row["lam_exact"])):
        yield f"λ is {row['lam']} and exactly {row['lam_exact']}"
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
        yield from _check_bounds(row, status)


def _check_bounds(row: Mapping[str, Any], status: Status) -> Iterator[str]:
    for name in ("objective", "lower_bound", "gap"):
        exact = row[f"{name}_exact"]
        expected = None if exact is None else float(Fraction(exact))
        if row[name] != expected:
            yield f"{name} is {row[name]} and exactly {exact}"
    value = Fraction(row["objective_exact"])
    loss = Fraction(row["errors"], row["total_weight"])
    if value != loss + Fraction(row["lam_exact"]) * row["splits"]:
        yield f"the objective {value} is not that of {row['errors']} errors, {row['splits']} splits"
    if not math.isclose(row["train_accuracy"], 1 - float(loss), abs_tol=1e-12):
        yield f"the train accuracy is {row['train_accuracy']}, by the errors {1 - float(loss)}"
    if row["lower_bound_exact"] is None:
        if status is not Status.HEURISTIC:
            yield f"a row of status {status} has no lower bound"
        return
    bound, gap = Fraction(row["lower_bound_exact"]), Fraction(row["gap_exact"])
    if bound > value:
        yield f"the lower bound {bound} is above the objective {value}"
    if gap != value - bound:
        yield f"the gap is {gap}, by objective and bound {value - bound}"
    if (status is Status.OPTIMAL) != (gap == 0):
        yield f"the status is {status} and the gap is {gap}"


class _Claim(NamedTuple):
    objective: Fraction
    bound: Fraction
    objective_of: str
    bound_of: str


def _check_claims(row: Mapping[str, Any], claims: dict[str, _Claim]) -> Iterator[str]:
    """A bound of one run may not exceed the objective of another on the same question."""
    if row["objective_exact"] is None or Fraction(row["lam_exact"]) < 0:
        return
    limits = {n: v for n, v in json.loads(row["limits"]).items() if n not in BUDGETS}
    names = (
        "data_hash",
        "encoding",
        "encoding_options",
        "lam_exact",
        "validation",
        "fold",
        "repeat",
    )
    question = canonical([*(row[name] for name in names), limits])
    value, who = Fraction(row["objective_exact"]), row["solver"]
    bound = Fraction(row["lower_bound_exact"] or 0)
    old = claims.get(question, _Claim(value, bound, who, who))
    if bound > old.objective:
        yield f"its lower bound {bound} is above {old.objective}, which {old.objective_of} reached"
    if old.bound > value:
        yield f"its objective {value} is below the bound {old.bound} that {old.bound_of} proved"
    claims[question] = _Claim(
        min(value, old.objective),
        max(bound, old.bound),
        who if value < old.objective else old.objective_of,
        who if bound > old.bound else old.bound_of,
    )


class _Tables:
    """The datasets of a sweep, and their rows in short, kept for the rows to come."""

    def __init__(self, root: Path) -> None:
        sweep = stored_sweep(root)
        self._references = {r.name: r.from_directory(sweep.base) for r in sweep.spec.datasets}
        self.dataset = lru_cache(4)(self._load)
        self.held_out = lru_cache(64)(self._held_out)
        self.errors = lru_cache(4096)(self._errors)
        self._labels = lru_cache(4)(self._read_labels)

    def _load(self, name: str) -> Dataset:
        if name not in self._references:
            raise InputError(f"dataset {name!r} is not in the sweep's file any more")
        return load_dataset(self._references[name])

    def _read_labels(self, name: str) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
        dataset = self.dataset(name)
        return read_labels(dataset.frame[dataset.target])

    def _held_out(
        self, name: str, validation: str, repeat: int | None, fold: int | None
    ) -> NDArray[np.bool_]:
        _, target = self._labels(name)
        return folds.held_out(json.loads(validation), folds.Fold(repeat, fold), target)

    def _errors(
        self, name: str, validation: str, repeat: int | None, fold: int | None, tree: str
    ) -> tuple[int, int]:
        """Errors of a tree on training and test rows, asking the tests of the tree itself."""
        grown = Tree.from_json(tree)
        dataset = self.dataset(name)
        labels, target = self._labels(name)
        test = self.held_out(name, validation, repeat, fold)
        codes, values = [target], {}
        for column, spec in grown.columns.items():
            short, found = spec.factorize(dataset.frame[column])
            codes.append(np.asarray(short, dtype=np.int64))
            values[column] = found
        # Rows that are equal in what the tree reads are scored once.
        patterns, inverse = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        train_counts = np.bincount(inverse[~test], minlength=len(patterns))
        test_counts = np.bincount(inverse[test], minlength=len(patterns))
        wrong = [0, 0]
        for pattern, n_train, n_test in zip(
            patterns.tolist(), train_counts.tolist(), test_counts.tolist(), strict=True
        ):
            row = {c: values[c][code] for c, code in zip(values, pattern[1:], strict=True)}
            missed = score_rows(grown, [row], [labels[pattern[0]]], Fraction(0)).errors
            wrong[0] += n_train * missed
            wrong[1] += n_test * missed
        return wrong[0], wrong[1]


def _check_tree(row: Mapping[str, Any], tables: _Tables) -> Iterator[str]:
    if row["tree"] is None:
        return
    try:
        tree = Tree.from_json(row["tree"])
        dataset = tables.dataset(row["dataset"])
        if dataset.digest != row["data_hash"]:
            yield f"dataset {row['dataset']!r} has changed since; its tree cannot be checked"
            return
        where = (row["dataset"], row["validation"], row["repeat"], row["fold"])
        n_test = int(tables.held_out(*where).sum())
        wrong, wrong_on_test = tables.errors(*where, row["tree"])
    except InputError as error:
        yield str(error)
        return
    shape = {"splits": tree.splits, "leaves": tree.leaves, "depth": tree.depth, "errors": wrong}
    if row["validation"] != schema.VALIDATION_NONE:
        shape["test_errors"] = wrong_on_test
    shape |= {"n_test": n_test, "n_rows": len(dataset.frame)}
    shape |= {"total_weight": len(dataset.frame) - n_test, "n_train": len(dataset.frame) - n_test}
    for name, found in shape.items():
        if row[name] != found:
            yield f"{name} is {row[name]}, the tree and the data say {found}"
    for name, most in json.loads(row["limits"]).items():
        if name in ("depth", "splits") and shape[name] > most:
            yield f"the tree has {name} {shape[name]}, the limit was {most}"
