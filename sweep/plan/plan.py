"""The plan of a sweep: all tasks with their keys, and impossible cells with the reason.

A *node* is a dataset, an encoding and a fold: what a worker encodes once. A *block* is a node and
a solver: tasks that differ in λ only. Tasks are made when needed, so a plan of a million is small.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.catalogue import SOLVERS
from solver.encodings import ENCODINGS, Encoder, fit_encoder
from solver.encodings.encoder import MAX_CELLS
from solver.errors import InputError
from solver.features.column_inference import describe_guesses
from solver.limits import Limits
from solver.rashomon.question import ENDLESS, check_support
from solver.search_shards import Shard
from solver.trees.tree import TaskType
from sweep import datasets
from sweep.datasets.dataset_reference import DatasetRef, parse_reference
from sweep.plan.auto_choices import settle
from sweep.plan.task_keys import KeyMaker, canonical, question_limits
from sweep.spec import folds
from sweep.spec.lambda_axis import Axis, Lam
from sweep.spec.requested_outputs import asked_rashomon, asks_path
from sweep.spec.spec import Choice, DatasetEntry, Spec, SweepFile

BYTES_PER_ROW = 1500
"""The rough size of a stored row; most of it is the tree."""

ROWS_PER_PATH = 10
"""The rough size of a λ-path's row, in rows of single trees."""


@dataclass(frozen=True)
class NodeInfo:
    """The columns that all rows of a node share."""

    sweep: str
    dataset: str
    data_hash: str
    n_rows: int
    n_train: int
    n_test: int
    n_classes: int
    task: TaskType
    encoding: str
    encoding_options: str
    fold: int | None
    repeat: int | None
    validation: str
    seed: int | None


@dataclass(frozen=True)
class Node:
    """A dataset, an encoding and a fold."""

    number: int  # position in the plan
    reference: DatasetRef
    encoding: Choice
    validation: dict[str, Any] | None  # from sweep.spec.folds.describe
    fold: folds.Fold
    info: NodeInfo
    n_features: int  # encoded features of the whole table, with constant and duplicate ones


class Task(NamedTuple):
    """A task of the plan, or a shard of it, see :meth:`Plan.pieces`."""

    number: int
    node: Node
    solver: Choice
    lam: Lam
    key: str
    shard: Shard | None = None


class Impossible(NamedTuple):
    """Cells that cannot run: all λ and folds of a dataset, an encoding and maybe a solver."""

    dataset: str
    encoding: str
    encoding_options: str
    solver: str
    reason: str
    tasks: int


@dataclass(frozen=True)
class Block:
    """The tasks of a node and a solver: one for each λ, or one for a λ-path from the least λ."""

    start: int
    node: Node
    solver: Choice
    limits: str
    axis: Axis
    maker: KeyMaker = field(repr=False)

    def __len__(self) -> int:
        return len(self.axis)

    @property
    def lams(self) -> tuple[Lam, ...]:
        """The λ of the tasks."""
        return self.axis.lams

    def tasks(self, indices: Sequence[int]) -> list[Task]:
        """The tasks with some numbers of the plan."""
        places = [index - self.start for index in indices]
        lams, texts = self.axis.lams, self.axis.texts
        keys = self.maker.keys([texts[place] for place in places], self.limits)
        return [
            Task(index, self.node, self.solver, lams[place], key)
            for index, place, key in zip(indices, places, keys, strict=True)
        ]

    @cached_property
    def _question_limits(self) -> str:
        return question_limits(self.solver.limits)

    def question(self, lam: str) -> str:
        """What the states of a task's search are known by: its key without budgets."""
        return self.maker.key(lam, self._question_limits)

    def keys(self, limits: str | None = None) -> list[str]:
        """The key of each λ, under the block's limits or others."""
        return self.maker.keys(self.axis.texts, self.limits if limits is None else limits)


@dataclass(frozen=True)
class Plan:
    """What a sweep is going to do. Blocks are in the order of the spec's axes.

    ``readings`` says which columns of text are read as numbers or dates without having been asked.
    """

    spec: Spec
    nodes: list[Node]
    blocks: list[Block]
    impossible: list[Impossible]
    readings: list[str] = field(default_factory=list)

    @cached_property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return sum(map(len, self.blocks))

    @property
    def n_impossible(self) -> int:
        """Number of cells that cannot be run."""
        return sum(entry.tasks for entry in self.impossible)

    @property
    def solvers(self) -> list[str]:
        """The names of the solvers."""
        return sorted({block.solver.name for block in self.blocks})

    @cached_property
    def _starts(self) -> list[int]:
        return [block.start for block in self.blocks]

    def pieces(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Replace the numbers of tasks in shards by those of their shards.

        Shard i of task n has the number n + i · (number of all tasks).
        """
        shards = np.repeat([b.solver.shards for b in self.blocks], [*map(len, self.blocks)])
        each = shards[numbers]
        index = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
        return np.asarray(np.repeat(numbers, each) + index * self.n_tasks)

    def shards_of(self, task: Task, number: int) -> list[Task]:
        """The shards of a task that is divided while it runs, numbered as in :meth:`pieces`."""
        whole = task.number % self.n_tasks
        return [
            task._replace(number=whole + i * self.n_tasks, shard=Shard(i, number))
            for i in range(number)
        ]

    def block_of(self, index: int) -> Block:
        """The block of a task or shard."""
        return self.blocks[bisect.bisect_right(self._starts, index % self.n_tasks) - 1]

    def task(self, index: int) -> Task:
        """The task or shard with a number, see :meth:`pieces`."""
        return self.tasks_of([index])[0]

    def tasks_of(self, indices: Sequence[int]) -> list[Task]:
        """The tasks or shards with some numbers, in that order."""
        runs = itertools.groupby(indices, key=self.block_of)
        return [task for block, numbers in runs for task in self._of_block(block, [*numbers])]

    def _of_block(self, block: Block, numbers: Sequence[int]) -> list[Task]:
        shards, total = block.solver.shards, self.n_tasks
        if shards == 1:
            return block.tasks(numbers)
        return [
            task._replace(number=number, shard=Shard(number // total, shards))
            for number, task in zip(numbers, block.tasks([n % total for n in numbers]), strict=True)
        ]

    def tasks(self) -> Iterator[Task]:
        """All tasks in the order of the spec's axes."""
        for block in self.blocks:
            yield from block.tasks(range(block.start, block.start + len(block)))

    def costs(self) -> NDArray[np.float64]:
        """The expected work of each task. It has no unit: only the order matters."""
        parts = [_costs(block) for block in self.blocks]
        return np.concatenate(parts) if parts else np.zeros(0)

    def node_numbers(self) -> NDArray[np.int64]:
        """The number of each task's node."""
        sizes = [len(block) for block in self.blocks]
        return np.repeat(np.array([b.node.number for b in self.blocks], np.int64), sizes)

    @property
    def estimated_bytes(self) -> int:
        """The rough size of the finished store."""
        paths = sum(len(block) for block in self.blocks if asks_path(block.solver.options))
        return BYTES_PER_ROW * (self.n_tasks + (ROWS_PER_PATH - 1) * paths)

    @property
    def most_seconds(self) -> float:
        """The search time if all tasks and shards with a time limit use it up."""
        return math.fsum(
            block.solver.limits.get("seconds", 0.0) * len(block) * block.solver.shards
            for block in self.blocks
        )

    @property
    def untimed(self) -> int:
        """The number of tasks without a time limit."""
        return sum(len(b) for b in self.blocks if b.solver.limits.get("seconds") is None)


def _costs(block: Block) -> NDArray[np.float64]:
    """Work grows with rows and features, and for exact solvers fast as λ falls."""
    node = block.node
    size = node.info.n_train * max(node.n_features, 1)
    if not SOLVERS[block.solver.name].capabilities.proves:
        return np.full(len(block), size * 1e-3)
    size *= 2 if asks_path(block.solver.options) else 1
    return np.asarray(
        size * node.n_features / np.maximum(block.axis.values, 1 / max(node.info.n_train, 1))
    )


@dataclass(frozen=True)
class _Table:
    """What the plan keeps of a dataset."""

    entry: DatasetEntry
    reference: DatasetRef
    name: str
    digest: str
    dataset: datasets.Dataset
    encoders: dict[str, Encoder | InputError]
    readings: list[str]

    @property
    def n_rows(self) -> int:
        return len(self.dataset.frame)


def make_plan(sweep: SweepFile) -> Plan:
    """Expand and check a sweep. Each dataset is loaded once, and each encoding fitted once.

    Raises InputError if a dataset cannot be used, a limit is wrong, or no cell is possible.
    """
    try:
        return _expand(sweep)
    except InputError as error:
        raise type(error)(sweep.file.in_words(str(error))) from None


def _expand(sweep: SweepFile) -> Plan:
    spec = sweep.spec
    solvers = spec.solver_choices()
    nodes: list[Node] = []
    blocks: list[Block] = []
    impossible: list[Impossible] = []
    digests: dict[str, str] = {}
    known: dict[object, Axis] = {}
    readings: list[str] = []
    start = 0
    for entry in spec.datasets:
        reference = parse_reference(entry).from_directory(sweep.base)
        dataset = datasets.load_dataset(reference)
        pairs = settle(spec.encoding_choices(entry), solvers, dataset, spec.seed)
        table = _fit(entry, reference, dataset, [encoding for encoding, _ in pairs])
        if table.digest in digests:
            raise InputError(
                f"datasets {digests[table.digest]!r} and {table.name!r} hold the same table read "
                "the same way; remove one of them"
            )
        digests[table.digest] = table.name
        readings += (f"{table.name}: {line}" for line in table.readings)
        splits = _splits(spec, table)
        axes = _axes(spec, table, splits, known)
        for encoding, wanted in pairs:
            usable, refused = _match(table, encoding, wanted, axes)
            impossible += (e._replace(reason=sweep.file.in_words(e.reason)) for e in refused)
            if not usable:
                continue
            for (fold, n_test), axis in zip(splits, axes, strict=True):
                node = _node(len(nodes), spec, table, encoding, fold, n_test)
                nodes.append(node)
                for solver in usable:
                    blocks.append(_block(start, node, solver, axis))
                    start += len(blocks[-1])
    if not blocks:
        raise InputError(f"no cell of the sweep {spec.name!r} is possible: {impossible[0].reason}")
    return Plan(spec, nodes, blocks, impossible, readings)


def _fit(
    entry: DatasetEntry,
    reference: DatasetRef,
    dataset: datasets.Dataset,
    encodings: Sequence[Choice],
) -> _Table:
    name = dataset.name
    try:
        classes, target = dataset.labels
    except InputError as error:
        raise InputError(f"dataset {name!r}: {error}") from None
    features = dataset.features
    fitted: dict[str, Encoder | InputError] = {}
    readings: dict[str, None] = {}
    for choice in encodings:
        try:
            encoder = fit_encoder(
                choice.name,
                features,
                target,
                n_classes=len(classes),
                columns=dataset.columns,
                **choice.options,
            )
            readings |= dict.fromkeys(describe_guesses(encoder.columns, dataset.columns))
            _check_size(encoder, len(features))
            fitted[repr(choice)] = encoder
        except InputError as error:
            fitted[repr(choice)] = error
    return _Table(entry, reference, name, dataset.digest, dataset, fitted, [*readings])


def _kind(encoder: Encoder) -> str:
    if all(test.arity <= 2 for test in encoder.tests):
        return "binary"
    return ENCODINGS[encoder.name].feature_kind


def _check_size(encoder: Encoder, n_rows: int) -> None:
    n_features = len(encoder.tests)
    if n_rows * n_features > MAX_CELLS:
        raise InputError(
            f"encoding {encoder.name!r} makes {n_features} features of {n_rows} rows, more than "
            "fits into memory; use quantiles or mdlp"
        )


def _splits(spec: Spec, table: _Table) -> list[tuple[folds.Fold, int]]:
    """The folds, each with its number of test rows."""
    described = folds.describe(spec.validation, spec.seed)
    try:
        found = folds.list_folds(spec.validation, table.n_rows)
    except InputError as error:
        raise InputError(f"dataset {table.name!r}: {error}") from None
    return [(fold, int(folds.test_rows(described, fold, table.dataset).sum())) for fold in found]


def _axes(
    spec: Spec, table: _Table, splits: Sequence[tuple[folds.Fold, int]], known: dict[object, Axis]
) -> list[Axis]:
    """The λ of each fold. Equal axes are one object, which saves memory."""
    found = []
    sizes = sorted({table.n_rows - n_test for _, n_test in splits})
    for _, n_test in splits:
        n_train = table.n_rows - n_test
        own = None if table.entry.lambdas is None else table.name
        name = own, (n_train, *sizes) if spec.lams_depend_on_rows(table.entry) else None
        if name not in known:
            known[name] = spec.lams(table.entry, n_train, sizes)
        found.append(known[name])
    return found


def _node(
    number: int, spec: Spec, table: _Table, encoding: Choice, fold: folds.Fold, n_test: int
) -> Node:
    described = folds.describe(spec.validation, spec.seed)
    info = NodeInfo(
        sweep=spec.name,
        dataset=table.name,
        data_hash=table.digest,
        n_rows=table.n_rows,
        n_train=table.n_rows - n_test,
        n_test=n_test,
        n_classes=len(table.dataset.classes),
        task=table.dataset.task,
        encoding=encoding.name,
        encoding_options=canonical(encoding.options),
        fold=fold.number,
        repeat=fold.repeat,
        validation=canonical(described),
        seed=described["seed"] if described else None,
    )
    fitted = table.encoders[repr(encoding)]
    n_features = 0 if isinstance(fitted, InputError) else len(fitted.tests)
    return Node(number, table.reference, encoding, described, fold, info, n_features)


def _match(
    table: _Table, encoding: Choice, solvers: Sequence[Choice], axes: Sequence[Axis]
) -> tuple[list[Choice], list[Impossible]]:
    """The solvers that can take an encoded dataset, and why the others cannot."""
    fitted = table.encoders[repr(encoding)]
    options = canonical(encoding.options)
    usable: list[Choice] = []
    refused: list[Impossible] = []

    def refuse(solver: Choice, reason: str, n_tasks: int) -> None:
        why = f"dataset {table.name!r}: {reason}"
        names = table.name, encoding.name, options, solver.name
        refused.append(Impossible(*names, why, n_tasks))

    for solver in solvers:
        n_tasks = sum(len(_axis(axis, solver)) for axis in axes)
        try:
            if isinstance(fitted, InputError):
                raise fitted
            kind, limits = SOLVERS[solver.name], Limits(**solver.limits)
            dataset = table.dataset
            n_classes = len(dataset.classes)
            feature_kind = _kind(fitted)
            kind.check_task(feature_kind, n_classes, limits, dataset.task, solver.options)
            kind.check_encoder(fitted, solver.options)
            if asked_rashomon(solver.options) is not None:
                check_support(dataset.task, feature_kind == "continuous")
        except InputError as error:
            refuse(solver, str(error), n_tasks)
            continue
        if n_endless := sum(_has_endless(axis, solver) for axis in axes):
            refuse(solver, ENDLESS, n_endless)
        if n_endless < n_tasks:
            usable.append(solver)
    return usable, refused


def _axis(axis: Axis, solver: Choice) -> Axis:
    """The λ of a solver's tasks: all, or the least for a λ-path."""
    return axis.least if asks_path(solver.options) else axis


def _has_endless(axis: Axis, solver: Choice) -> bool:
    """Whether good trees are asked for at a λ where there may be any number of them."""
    asked, limits = asked_rashomon(solver.options), solver.limits
    is_endless = asked is not None and not any(
        limits.get(name) is not None for name in ("depth", "splits")
    )
    return is_endless and any(lam.exact == 0 for lam in axis.lams)


def _block(start: int, node: Node, solver: Choice, axis: Axis) -> Block:
    columns = {
        **vars(node.info),
        "solver": solver.name,
        "solver_options": canonical(solver.options),
        "solver_version": SOLVERS[solver.name].version,
    }
    limits, own = canonical(solver.limits), _axis(axis, solver)
    if _has_endless(axis, solver):
        own = Axis([lam for lam in axis.lams if lam.exact != 0])
    return Block(start, node, solver, limits, own, KeyMaker(columns))
