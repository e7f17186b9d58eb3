"""The datasets of a sweep for its verification: raw rows, folds and problems."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.objective.exact_objective import Errors
from solver.problem.problem import Problem
from solver.trees.tree import Tree
from solver.verify.scorer import end_of, missed_at
from sweep.datasets import Dataset, load_dataset
from sweep.filesystem import Folder
from sweep.rows.metric_columns import spread_of
from sweep.spec import folds
from sweep.store.store import stored_sweep
from sweep.verify.tree_node_totals import NodeTotals
from sweep.worker.encode import encode, n_features_encoded

_MOST_SCORES = 500_000
"""The most trees whose scores are cached."""


class FoldKey(NamedTuple):
    """A fold of a table, which is identified by its content."""

    data_hash: str
    validation: str
    repeat: int | None
    fold: int | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> FoldKey:
        """The fold of a stored row."""
        return cls(row["data_hash"], row["validation"], row["repeat"], row["fold"])


class Scored(NamedTuple):
    """The shape and the errors of a tree."""

    splits: int
    leaves: int
    depth: int
    errors: Errors
    test_errors: Errors
    faults: tuple[str, ...]  # what its nodes say of the training rows, falsely


class Tables:
    """The datasets that a sweep's file names today, by content. Their names do not matter.

    Every method raises InputError if a dataset cannot be read.
    """

    def __init__(self, folder: Folder) -> None:
        sweep = stored_sweep(folder)
        self._references = {r.name: r.from_directory(sweep.base) for r in sweep.spec.datasets}
        self._unread = [*self._references]
        self._names: dict[str, str] = {}
        self._unreadable: dict[str, InputError] = {}
        self._loaded = lru_cache(4)(self._load)
        self.held_out = lru_cache(64)(self._held_out)
        self._scores: dict[bytes, Scored] = {}
        self.problem = lru_cache(4)(self._problem)
        self.n_features = cache(self._n_features)
        self._targets = lru_cache(4)(self._read_targets)

    def has(self, data_hash: str) -> bool:
        """Whether a dataset of the sweep's file has this content."""
        while data_hash not in self._names and self._unread:
            name = self._unread.pop(0)
            try:
                self._names[self._loaded(name).digest] = name
            except InputError as error:
                self._unreadable[name] = error
        return data_hash in self._names

    def is_called(self, data_hash: str, name: str) -> bool:
        """Whether the dataset with a name has this content, if there is one with the name."""
        return name not in self._references or self._loaded(name).digest == data_hash

    def why_not(self, name: str) -> str:
        """Why the dataset with a name does not have the content of the plan."""
        if name not in self._references:
            return f"dataset {name!r} is not in the sweep's file any more"
        if name in self._unreadable:
            return str(self._unreadable[name])
        return f"dataset {name!r} has changed since; its tree cannot be checked"

    def dataset(self, data_hash: str) -> Dataset:
        """The dataset of this content, which :meth:`has` must have found."""
        return self._loaded(self._names[data_hash])

    def _load(self, name: str) -> Dataset:
        return load_dataset(self._references[name])

    def _read_targets(self, data_hash: str) -> tuple[Sequence[Any], NDArray[np.int64]]:
        """The distinct targets, and the target of each row as its index."""
        dataset = self.dataset(data_hash)
        if dataset.task == "classification":
            return dataset.labels
        found, at = np.unique(dataset.numbers, axis=0, return_inverse=True)
        return [tuple(row) for row in found.tolist()], at.reshape(-1)

    def _held_out(self, key: FoldKey) -> NDArray[np.bool_]:
        """Which rows are test rows."""
        fold = folds.Fold(key.repeat, key.fold)
        return folds.test_rows(json.loads(key.validation), fold, self.dataset(key.data_hash))

    def _problem(self, key: FoldKey, encoding: str, options: str) -> Problem:
        """The problem of the search; ``options`` are JSON."""
        fold = folds.Fold(key.repeat, key.fold)
        given = json.loads(options), json.loads(key.validation)
        problem, _ = encode(self.dataset(key.data_hash), encoding, *given, fold)
        return problem

    def _n_features(self, key: FoldKey, encoding: str, options: str) -> dict[str, int]:
        """The numbers of encoded features of the problem of the search, as columns."""
        problem = self.problem(key, encoding, options)
        return {
            "n_features": problem.n_features,
            "n_features_encoded": n_features_encoded(problem),
        }

    def score(self, key: FoldKey, tree: str) -> Scored:
        """The shape and the errors of a tree (JSON) on a fold."""
        # Many λ have the same tree: a million rows have about ten thousand.
        question = blake2b(repr((key, tree)).encode(), digest_size=16).digest()
        if question not in self._scores:
            if len(self._scores) >= _MOST_SCORES:
                self._scores.clear()
            self._scores[question] = self._score(key, tree)
        return self._scores[question]

    def test_spread(self, key: FoldKey) -> float:
        """Regression: the mean squared distance of the test rows' targets from their mean."""
        return spread_of(self.dataset(key.data_hash).numbers[self.held_out(key)])

    def _score(self, key: FoldKey, text: str) -> Scored:
        tree = Tree.from_json(text)
        wrong: list[Errors] = [0, 0]
        found = NodeTotals(tree)
        for row, label, n_train, n_test in self._patterns(key, tree):
            end = end_of(tree, row)
            missed = missed_at(tree, end, label)
            wrong[0] += n_train * missed
            wrong[1] += n_test * missed
            found.add(end, label, n_train)
        faults = (*found.faults(), *self._strange(key, tree))
        return Scored(tree.splits, tree.leaves, tree.depth, wrong[0], wrong[1], faults)

    def _strange(self, key: FoldKey, tree: Tree) -> Iterator[str]:
        """What a tree of this table cannot say."""
        dataset = self.dataset(key.data_hash)
        if tree.target != dataset.target:
            yield f"it is a tree for the target {tree.target!r}"
        if tree.outputs and tree.outputs != dataset.targets:
            yield f"it gives numbers for the targets {', '.join(map(repr, tree.outputs))}"
        if tree.weight_scale is not None:
            yield "it has row weights, a sweep has none"

    def _patterns(self, key: FoldKey, tree: Tree) -> Iterator[tuple[dict[str, Any], Any, int, int]]:
        """The rows that differ in what a tree reads or in their label: the columns in canonical
        form, the label, and how many training and test rows are so."""
        dataset = self.dataset(key.data_hash)
        labels, target = self._targets(key.data_hash)
        test = self.held_out(key)
        codes, values = [target], {}
        for column, spec in tree.columns.items():
            short, found = spec.factorize(dataset.frame[column])
            codes.append(np.asarray(short, dtype=np.int64))
            values[column] = found
        patterns, inverse = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        train_counts = np.bincount(inverse[~test], minlength=len(patterns))
        test_counts = np.bincount(inverse[test], minlength=len(patterns))
        for pattern, n_train, n_test in zip(
            patterns.tolist(), train_counts.tolist(), test_counts.tolist(), strict=True
        ):
            row = {c: values[c][code] for c, code in zip(values, pattern[1:], strict=True)}
            yield row, labels[pattern[0]], n_train, n_test
