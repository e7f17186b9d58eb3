"""The engine of OSDT: owns the arrays, grows them, reads trees out of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solver.engine.driver import Engine
from solver.engine.growable_arrays import (
    ROOM,
    bytes_added,
    bytes_of,
    check_search,
    grown_lengths,
    lengths_of,
    load_arrays,
    resize_arrays,
)
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.hash_tables import fill_slots, slots_for
from solver.kernels.jit import ensure_compiled, unchecked
from solver.limits import Limits
from solver.objective.exact_objective import INFINITE, CostScale
from solver.osdt import branch_and_bound, search_counters
from solver.osdt.scheduling_policies import POLICIES
from solver.osdt.state import (
    BUCKETS,
    Params,
    Space,
    new_leaves,
    new_options,
    new_scratch,
    new_trees,
    tabulate,
)
from solver.problem.problem import Problem
from solver.trees.tree import Shape, Tree

SHORT_QUEUE = 50_000
"""Most trees of a queue whose least lower bound is looked up exactly."""
_MOST_PAIRED_WORDS = 2**23

BOUNDS = (
    "hierarchical",
    "lookahead",
    "support",
    "incremental_accuracy",
    "accuracy",
    "permutation",
    "similar_support",
    "equivalent_points",
    "dominance",
    "two_steps",
)
_PRUNED = (
    search_counters.BY_HIERARCHICAL,
    search_counters.BY_LOOKAHEAD,
    search_counters.BY_SUPPORT,
    search_counters.BY_INCREMENTAL,
    search_counters.BY_ACCURACY,
    search_counters.BY_PERMUTATION,
    search_counters.BY_SIMILAR,
    search_counters.BY_EQUIVALENT,
    search_counters.BY_DOMINANCE,
    search_counters.BY_TWO_STEPS,
)

Splits: TypeAlias = dict[int, tuple[int, int, int]]
"""The leaves that a tree has split: the feature of each, and the two new leaves."""


class OsdtEngine(Engine):
    """One search over sets of leaves.

    ``settings`` are the options of :class:`solver.osdt.Osdt`; ``state`` comes from :meth:`state` in
    the same search: InputError if not.
    """

    def __init__(
        self,
        problem: Problem,
        cost_scale: CostScale,
        constraints: TreeConstraints,
        limits: Limits,
        settings: Mapping[str, Any],
        state: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.problem = problem
        self.params = params_of(problem, cost_scale, constraints, limits.splits, settings)
        self._most_trees = INFINITE if limits.nodes is None else limits.nodes
        table, classes = tabulate(problem), problem.n_classes
        self.space = Space(
            table,
            self.params,
            new_leaves(table.planes.shape[1], classes),
            new_options(),
            new_trees(),
            new_scratch(table, classes, len(problem.codes)),
        )
        self._lower_bound = 0
        self.compile_seconds = self._compile()
        self._search = unchecked(branch_and_bound.step)
        if state is None:
            branch_and_bound.init_root(self.space)
        else:
            self._restore(state)
        self.propagate_bounds()

    def _compile(self) -> float:
        return (
            ensure_compiled(branch_and_bound.init_root, self.space)
            + ensure_compiled(branch_and_bound.step, self.space, 0, 0, 0)
            + ensure_compiled(
                fill_slots, self.space.leaves.leaf_slots, self.space.leaves.leaf_hash, 0
            )
        )

    def use(self, cost: float, tree: Tree, given: bool) -> None:
        """If the tree was given, search for one that costs no more."""
        if given:
            used = self.space.trees.used
            used[search_counters.KNOWN] = min(int(used[search_counters.KNOWN]), int(cost) + 1)

    def step(self, iterations: int, target_cost: int) -> int:
        return self._search(self.space, iterations, target_cost, self._most_trees)

    def propagate_bounds(self) -> None:
        """Find the least lower bound in the queue: exactly in a short one, else by its classes.

        The search ends only when the queue is empty: when bounds are looked at depends on the
        clock.
        """
        queued = int(self.space.trees.used[search_counters.QUEUE])
        if queued == 0:
            self._lower_bound = self.upper_bound
            return
        if not self.params.hierarchical:
            bound = 0  # without Theorem 1 nothing is concluded from bounds
        elif queued <= SHORT_QUEUE:
            bound = int(self.space.trees.tree_bound[self.space.trees.queue_tree[:queued]].min())
        else:
            lowest = np.flatnonzero(self.space.trees.buckets)
            bound = int(lowest[0]) * self.params.bucket if len(lowest) else self.upper_bound
        self._lower_bound = max(self._lower_bound, min(bound, self.upper_bound - 1))

    @property
    def lower_bound(self) -> int:
        """The lower bound of the root: below the best cost until the queue is empty."""
        if int(self.space.trees.used[search_counters.QUEUE]) > 0:
            return min(self._lower_bound, self.upper_bound - 1)
        return self._lower_bound

    @property
    def upper_bound(self) -> int:
        return int(self.space.trees.used[search_counters.BEST])

    @property
    def iterations(self) -> int:
        """Trees taken from the queue."""
        return int(self.space.trees.used[search_counters.POPPED])

    @property
    def nodes(self) -> int:
        """Trees in the cache."""
        return int(self.space.trees.used[search_counters.TREES])

    @property
    def bytes(self) -> int:
        return bytes_of(
            self.space.table,
            self.space.leaves,
            self.space.options,
            self.space.trees,
            self.space.scratch,
        )

    def measure(self) -> dict[str, int]:
        """How far the search is, for the trace."""
        used = self.space.trees.used
        return {
            "evaluated": int(used[search_counters.EVALUATED]),
            "queue": int(used[search_counters.QUEUE]),
            "trees": int(used[search_counters.TREES]),
            "leaves": int(used[search_counters.LEAVES]),
            "pruned": sum(self.pruned.values()),
        }

    @property
    def pruned(self) -> dict[str, int]:
        """How often each bound has pruned."""
        used = self.space.trees.used
        return {name: int(used[at]) for name, at in zip(BOUNDS, _PRUNED, strict=True)}

    @property
    def evaluated(self) -> int:
        """Trees evaluated."""
        return int(self.space.trees.used[search_counters.EVALUATED])

    @property
    def evaluated_to_best(self) -> int:
        """Trees evaluated when the best one was found."""
        return int(self.space.trees.used[search_counters.BEST_EVALUATED])

    def grow(self, limit: int | None) -> bool:
        arrays = self._growing()
        lengths = grown_lengths(arrays, self._needed(), _group)
        slots = max(slots_for(lengths["leaf_hash"]), len(self.space.leaves.leaf_slots))
        more = bytes_added(arrays, lengths) + 8 * (slots - len(self.space.leaves.leaf_slots))
        if limit is not None and self.bytes + more > limit:
            return False
        resize_arrays(arrays, lengths)
        if slots > len(self.space.leaves.leaf_slots):
            self._make_slots(slots)
        return True

    def _growing(self) -> dict[str, NDArray[Any]]:
        """The arrays that grow, by name."""
        arrays: dict[str, NDArray[Any]] = {
            **self.space.leaves._asdict(),
            **self.space.options._asdict(),
            **self.space.trees._asdict(),
        }
        for name in ("leaf_slots", "buckets", "used"):
            del arrays[name]
        return arrays

    def _used(self) -> dict[str, int]:
        used = self.space.trees.used
        return {
            "leaf": int(used[search_counters.LEAVES]),
            "option": int(used[search_counters.OPTIONS]),
            "tree": int(used[search_counters.TREES]),
            "heads": int(used[search_counters.TREES]) + 1,  # as many chains as trees, and one
            "queue": int(used[search_counters.QUEUE]),
            "spread": int(used[search_counters.SPREAD]),
        }

    def _needed(self) -> dict[str, int]:
        """Lengths of the arrays, by group, that satisfy :func:`branch_and_bound.has_room`."""
        most, used = 4 * len(self.space.table.features), self._used()
        needed = {name: at + most for name, at in used.items()}
        needed["spread"] = used["spread"] + most * (
            int(self.space.trees.used[search_counters.LONGEST]) + 1
        )
        return needed

    def _make_slots(self, number: int) -> None:
        leaves = self.space.leaves._replace(leaf_slots=np.full(number, -1, np.int64))
        self.space = self.space._replace(leaves=leaves)
        fill_slots(leaves.leaf_slots, leaves.leaf_hash, self._used()["leaf"])

    def state(self) -> dict[str, NDArray[Any]]:
        """The used parts of all arrays that the search needs to continue, as views."""
        lengths = self._used()
        kept = {
            name: array[: lengths.get(_group(name), len(array))]
            for name, array in self._kept().items()
        }
        return {
            **kept,
            "params": np.array(self.params, np.int64),
            "problem": np.array(self.problem.digest),
            ROOM: lengths_of(self._kept().values()),
        }

    def _kept(self) -> dict[str, NDArray[Any]]:
        """The arrays of a state, by name."""
        return {
            **self._growing(),
            "buckets": self.space.trees.buckets,
            "used": self.space.trees.used,
            "lower_bound": np.array([self._lower_bound], np.int64),
        }

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state."""
        arrays = self._kept()
        names = {*arrays, "params", "problem", ROOM}
        check_search(state, names, self.problem.digest, self.params)
        load_arrays(arrays, state, state[ROOM])
        self._lower_bound = int(arrays["lower_bound"][0])
        self._make_slots(slots_for(len(self.space.leaves.leaf_hash)))

    def shape(self) -> Shape:
        split: Splits = {}
        tree, option = (
            int(self.space.trees.used[search_counters.BEST_PARENT]),
            int(self.space.trees.used[search_counters.BEST_OPTION]),
        )
        while option >= 0:
            left, right = (int(child) for child in self.space.options.option_child[option])
            leaf = self._owner(option)
            split[leaf] = int(self.space.options.option_feature[option]), left, right
            tree, option = (
                int(self.space.trees.tree_parent[tree]),
                int(self.space.trees.tree_option[tree]),
            )
        return assemble(split)

    def _owner(self, option: int) -> int:
        """The leaf that an option splits."""
        n = int(self.space.trees.used[search_counters.LEAVES])
        first, number = self.space.leaves.leaf_first[:n], self.space.leaves.leaf_options[:n]
        return int(np.flatnonzero((first <= option) & (option < first + number))[0])


def assemble(split: Splits) -> Shape:
    """The tree whose root is leaf 0."""
    order = [0]
    for leaf in order:  # a list and no recursion: a tree can be a chain of thousands
        if leaf in split:
            order += split[leaf][1:]
    shapes: dict[int, Shape] = {}
    for leaf in reversed(order):
        shapes[leaf] = -1
        if leaf in split:
            feature, left, right = split[leaf]
            shapes[leaf] = feature, (shapes[left], shapes[right])
    return shapes[0]


def params_of(
    problem: Problem,
    cost_scale: CostScale,
    constraints: TreeConstraints,
    splits: int | None,
    settings: Mapping[str, Any],
) -> Params:
    """The parameters of a search with the options ``settings``."""
    switches = {name: bool(settings[name]) for name in BOUNDS}
    # With another split instead, leaves may get too small. All pairs of very many features
    # would take longer than a slice may.
    pairs = problem.n_features**2 * len(problem.codes) // 64
    switches["similar_support"] &= constraints.min_leaf <= 1 and pairs <= _MOST_PAIRED_WORDS
    switches["dominance"] &= switches["permutation"]
    return Params(
        error=cost_scale.error,
        split=cost_scale.split,
        depth=constraints.depth,
        splits=INFINITE if splits is None else splits,
        min_leaf=constraints.min_leaf,
        bucket=max(1, cost_scale.error * problem.leaf_errors // BUCKETS),
        policy=POLICIES.index(settings["policy"]),
        **switches,
    )


def _group(name: str) -> str:
    """Arrays of one group grow together."""
    return "heads" if name == "tree_heads" else name.partition("_")[0]
