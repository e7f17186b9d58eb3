"""One adapter a solver: how it is asked, and how its tree and its claims are read."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module, metadata
from typing import Any, ClassVar

import numpy as np
import psutil

from benchmarks.plain_trees import Nodes, flatten
from benchmarks.problem_tables import Table

FLOAT_ROUNDING = 1e-5
"""How far a bound in single precision may be off."""


@dataclass(frozen=True)
class Ask:
    """One solve.

    Parameters
    ----------
    lam : Fraction
        The price of a split.
    seconds, memory : float, int
        Limits; the memory is that of the whole process, in bytes.
    depth : int or None
        The depth that a peer is told.
    """

    lam: Fraction
    seconds: float
    memory: int
    depth: int | None = None


@dataclass(frozen=True)
class Answer:
    """What a solver returned.

    Parameters
    ----------
    status : str
        ``optimal``, ``time_limit``, ``memory_limit`` or ``heuristic``.
    nodes : list
        The tree, see :mod:`benchmarks.plain_trees`.
    lower_bound : Fraction, float or None
        On our objective; a float is not exact.
    search_seconds : float or None
        The solver's own figure.
    compile_seconds : float
        Part of the fit that was compilation.
    claimed : float or None
        The training errors that the solver says its tree makes.
    """

    status: str
    nodes: Nodes
    lower_bound: Fraction | float | None = None
    search_seconds: float | None = None
    compile_seconds: float = 0.0
    claimed: float | None = None


class Adapter(ABC):
    """A solver under one setting."""

    name: ClassVar[str]
    label: ClassVar[str]
    package: ClassVar[str] = "treesweep"
    ours: ClassVar[bool] = False
    multiway: ClassVar[bool] = False
    proves: ClassVar[bool] = True
    depth: ClassVar[int | None] = None
    told: ClassVar[bool] = False
    """Whether it is told the depth of the tree that ours proved."""

    @abstractmethod
    def load(self) -> None:
        """Import what it needs."""

    def warm_up(self) -> None:
        """Compile what it needs, or load it compiled."""
        return None

    @abstractmethod
    def fit(self, table: Table, ask: Ask) -> Answer:
        """Find a tree; this is what is timed."""

    def version(self) -> str:
        """The package's version."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "not installed"

    def available(self) -> bool:
        """Whether the package is installed."""
        return self.ours or self.version() != "not installed"


class Ours(Adapter):
    """BRANCHES at full strength."""

    name = "branches"
    label = "branches"
    ours = True
    multiway = True
    mode: ClassVar[str] = "full"

    def load(self) -> None:
        self.solver = import_module("solver")
        self.solve = self.solver.solve  # its module is imported when the name is first used

    def warm_up(self) -> None:
        self.solver.get_solver("branches").warm_up()

    def fit(self, table: Table, ask: Ask) -> Answer:
        problem = self.solver.Problem.from_codes(table.codes, table.labels)
        # The cap is on the process, the solver's limit on its arrays.
        free = max(ask.memory - psutil.Process().memory_info().rss - 2**26, 2**24)
        limits = self.solver.Limits(seconds=ask.seconds, bytes=free, depth=ask.depth)
        found = self.solve(problem, ask.lam, limits=limits, mode=self.mode)
        return Answer(
            status=found.status.value,
            nodes=read_ours(found.tree),
            lower_bound=found.lower_bound,
            search_seconds=found.seconds,
            compile_seconds=found.compile_seconds,
            claimed=found.errors,
        )


class Paper(Ours):
    """BRANCHES as the paper has it."""

    name = "paper"
    label = "branches, paper mode"
    mode = "paper"


class Gosdt(Adapter):
    """GOSDT; it prices leaves, so its objective and bounds are ours + λ."""

    name = "gosdt"
    label = "GOSDT"
    package = "gosdt"

    def load(self) -> None:
        self.gosdt = import_module("gosdt")

    def fit(self, table: Table, ask: Ask) -> Answer:
        # Without allow_small_reg it silently raises λ to 1/n. Its clock knows whole seconds.
        model = self.gosdt.GOSDTClassifier(
            regularization=float(ask.lam),
            allow_small_reg=True,
            time_limit=math.ceil(ask.seconds),
            depth_budget=ask.depth,
        )
        model.fit(table.codes.astype(bool), table.labels)
        result = model.result_
        ended = {
            self.gosdt.Status.CONVERGED: "optimal",
            self.gosdt.Status.TIMEOUT: "time_limit",
        }
        if result.status not in ended:
            raise RuntimeError(f"GOSDT ended with {result.status}")
        return Answer(
            status=ended[result.status],
            nodes=read_gosdt(result.model, model.classes_.tolist()),
            lower_bound=max(0.0, float(result.lowerbound) - float(ask.lam)),
            search_seconds=float(result.time),
            claimed=float(result.model_loss) * table.n_rows,
        )


class Streed(Adapter):
    """STreeD with its greatest depth; λ is the share of rows that a split must win, as ours."""

    name = "streed"
    label = "STreeD, depth 20"
    package = "pystreed"
    depth: ClassVar[int | None] = 20

    def load(self) -> None:
        self.pystreed = import_module("pystreed")

    def fit(self, table: Table, ask: Ask) -> Answer:
        model = self.pystreed.STreeDClassifier(
            optimization_task="cost-complex-accuracy",
            cost_complexity=float(ask.lam),
            max_depth=ask.depth,
            time_limit=ask.seconds,
        )
        model.fit(table.codes, table.labels)
        if not model.is_fitted():
            raise RuntimeError("STreeD found no tree")
        result = model.fit_result
        return Answer(
            status="optimal" if result.is_optimal() else "time_limit",
            nodes=read_streed(model.get_tree()),
            claimed=(1 - result.score()) * table.n_rows,
        )


class StreedTold(Streed):
    """STreeD, told the depth of an optimal tree: the best that it can do."""

    name = "streed-told"
    label = "STreeD, told the depth"
    depth = None
    told = True


class CartPruned(Adapter):
    """CART: a full greedy tree, then the pruned subtree of least objective."""

    name = "cart"
    label = "CART, pruned"
    package = "scikit-learn"
    proves = False

    def load(self) -> None:
        self.trees = import_module("sklearn.tree")

    def fit(self, table: Table, ask: Ask) -> Answer:
        model = self.trees.DecisionTreeClassifier(random_state=0, max_depth=ask.depth)
        model.fit(table.codes, table.labels)
        grown = model.tree_
        # Per node the shares of the classes, in some versions their counts; both times rows.
        shares = grown.value[:, 0, :]
        scale = grown.n_node_samples / shares.sum(axis=1)
        counts = np.rint(shares * scale[:, None]).astype(np.int64)
        children = np.column_stack([grown.children_left, grown.children_right])
        nodes = prune(grown.feature, children, counts, table.n_rows, ask.lam)
        return Answer("heuristic", nodes)


ADAPTERS: dict[str, Adapter] = {
    adapter.name: adapter
    for adapter in (Ours(), Paper(), Gosdt(), Streed(), StreedTold(), CartPruned())
}


def read_ours(tree: Any) -> Nodes:
    """Our own tree; its tests name the columns of the codes ``x0``, ``x1``, …"""
    return [
        [node.prediction]
        if node.feature is None
        else [int(tree.tests[node.feature].column.removeprefix("x")), *node.children]
        for node in tree.nodes
    ]


def read_gosdt(model: str, classes: Sequence[int]) -> Nodes:
    """The first tree of GOSDT's JSON; its predictions are positions among the classes seen."""

    def read(node: dict[str, Any]) -> tuple[int, Sequence[Any]]:
        if "prediction" in node:
            return int(classes[node["prediction"]]), ()
        return int(node["feature"]), (node["false"], node["true"])

    return flatten(json.loads(model)[0], read)


def read_streed(root: Any) -> Nodes:
    """STreeD's tree; its left child takes the rows whose feature is 0."""

    def read(node: Any) -> tuple[int, Sequence[Any]]:
        if node.is_leaf_node():
            return int(node.label), ()
        return int(node.feature), (node.left_child, node.right_child)

    return flatten(root, read)


def prune(features: Any, children: Any, counts: Any, n_rows: int, lam: Fraction) -> Nodes:
    """The pruned subtree of least ``loss + λ·splits``, fewest splits first.

    Parameters
    ----------
    features : array of int, shape (nodes,)
    children : array of int, shape (nodes, 2)
        Positions after the parent's; −1 at leaves.
    counts : array of int, shape (nodes, classes)
        Rows of each class at each node.
    """
    errors = (counts.sum(axis=1) - counts.max(axis=1)).tolist()
    # In units of 1 / (n·d) the objective is an integer.
    costs = [lam.denominator * wrong for wrong in errors]
    split = [False] * len(costs)
    price = lam.numerator * n_rows
    for node in reversed(range(len(costs))):
        left, right = children[node].tolist()
        if left >= 0 and costs[left] + costs[right] + price < costs[node]:
            costs[node] = costs[left] + costs[right] + price
            split[node] = True

    def read(node: int) -> tuple[int, Sequence[int]]:
        if split[node]:
            return int(features[node]), children[node].tolist()
        return int(counts[node].argmax()), ()

    return flatten(0, read)
