"""The engine of mode ``full``: owns the arrays, grows them, reads trees out of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.branches.base_engine import GraphEngine
from solver.branches.bounds_from_other_lambdas import (
    ARCHIVED,
    BYTES_A_NODE,
    Archive,
    compile_carrying,
)
from solver.branches.kernels import ao_star, stack_frame
from solver.branches.kernels.lp_dual_bounds import raise_duals
from solver.branches.kernels.read_tree import Reading, new_reading, read_tree
from solver.branches.kernels.state import (
    BLOCK,
    BLOCKS,
    DUE,
    FRAMES,
    ITERATIONS,
    LITERALS,
    NODES,
    SEARCH,
    SIZE,
    SMALL,
    WORK,
    Log,
    Memo,
    Program,
    Scratch,
    Space,
    Stack,
    new_memo,
    new_program,
    new_recent,
    new_scratch,
    new_stack,
)
from solver.branches.params import params_of, prices_of
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
from solver.errors import InputError
from solver.kernels.constants import FULL
from solver.kernels.hash_tables import fill_slots, slots_for
from solver.kernels.jit import ensure_compiled, unchecked
from solver.kernels.packed_rows import tabulate
from solver.objective.exact_objective import INFINITE, CostScale
from solver.problem.problem import Problem
from solver.trees.tree import Tree, shape_from

_LONGEST_SEARCH_AGAIN = 2_000
_LARGEST_SLICE = 64
_SHORT = 2**26  # work of some 60 ms
_FIRST_TREE = 256  # splits and leaves that a tree is expected to have
_INHERITED, _TREE = "inherited", "tree"


class ThresholdEngine(GraphEngine):
    """One search in mode ``full``: depth-first AO* with thresholds.

    ``settings`` are the options of :class:`solver.branches.Branches`; ``state`` comes from
    :meth:`state` in the same search: InputError if not.
    """

    limits_nodes = True
    looks_beside = True

    def __init__(
        self,
        problem: Problem,
        cost_scale: CostScale,
        constraints: TreeConstraints,
        settings: Mapping[str, Any],
        state: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.problem, self.settings = problem, settings
        self.constraints, self.cost_scale = constraints, cost_scale
        self.table, self.unit = tabulate(problem)
        self.arities: list[int] = problem.arities.tolist()
        self.params = params_of(problem, cost_scale, constraints, settings, self.unit)
        self.n_classes = problem.n_classes
        self.memo: Memo = new_memo(self.params.budgets)
        self.stack: Stack = new_stack(self.table, self.params, self.n_classes)
        self.scratch: Scratch = new_scratch(self.table, self.params, self.n_classes)
        self.log = Log(np.zeros((0, 2), np.int64), np.zeros(1, np.int64))
        self.program, self.duals = new_program(self.table, self.params, self.n_classes)
        self.recent = new_recent(self.table, self.params)
        self.archive = Archive()
        self._stale = False
        self._reading: Reading | None = None
        self.compile_seconds = self._compile()
        # Later calls have the same arrays, or others of the same types.
        self._init_root, self._step = unchecked(ao_star.init_root), unchecked(ao_star.step)
        self._propagate, self._read_out = unchecked(ao_star.propagate_bounds), unchecked(read_tree)
        if state is None:
            ao_star.init_root(self.space)
        else:
            self._restore(state)
        self._own_bytes = self._count_bytes()

    @property
    def space(self) -> Space:
        """All that the kernels work on."""
        return Space(
            self.table,
            self.params,
            self.memo,
            self.stack,
            self.scratch,
            self.log,
            self.program,
            self.duals,
            self.recent,
        )

    def _compile(self) -> float:
        return (
            ensure_compiled(ao_star.init_root, self.space)
            + ensure_compiled(ao_star.step, self.space, 0, 0, 0)
            + ensure_compiled(ao_star.propagate_bounds, self.space)
            + ensure_compiled(fill_slots, self.memo.slots, self.memo.node_hash, 0)
            + ensure_compiled(read_tree, self.space, new_reading(self.table, self.params, 1))
        )

    def compile_late(self) -> None:
        """Compile what only a long search needs."""
        self.compile_seconds += ensure_compiled(raise_duals, self.space, 0, 0)

    def advance(self, iterations: int, target_cost: int, known_cost: int) -> int:
        outcome = self._step(self.space, iterations, target_cost, known_cost)
        if self.params.row_duals and self.program.status[SEARCH] >= self.program.status[DUE]:
            self.compile_late()
            self.propagate_bounds()  # or the clock would decide what the root's bound is
            raise_duals(self.space, self.known_bound, self.upper_bound)
            self.pauses = True
        return outcome

    def reprice(self, cost_scale: CostScale, constraints: TreeConstraints) -> None:
        """Restart at another λ, with all bounds and trees of the searches before.

        Only without a limit on splits: bounds are then kept for one budget.
        """
        n = int(self.memo.used[NODES])
        lower, upper, best = self.memo.node_lower, self.memo.node_upper, self.memo.node_best
        self.archive.add(self.cost_scale, self.unit, lower[:n, 0], upper[:n, 0], best[:n, 0])
        self.cost_scale, self.constraints = cost_scale, constraints
        self.compile_seconds = compile_carrying()
        had_program = self.params.row_duals
        prices = prices_of(self.problem, cost_scale, constraints, self.settings, self.unit)
        self.params = self.params._replace(**prices)
        if self.params.row_duals != had_program:  # there is none where splits are free
            self.program, self.duals = new_program(self.table, self.params, self.n_classes)
            self._own_bytes = self._count_bytes()
        lower[:n, 0], upper[:n, 0], best[:n, 0] = self.archive.carry(
            cost_scale, self.unit, self.memo.node_errors[:n]
        )
        self.refresh_recent()
        self._stale = True
        self.forget_tree()
        self.before = self.iterations, self.nodes
        self._init_root(self.space)

    def bytes_repriced(self) -> int:
        """Memory of all arrays after a :meth:`reprice`."""
        return self.bytes + self.nodes * BYTES_A_NODE

    def use(self, cost: float, tree: Tree, given: bool) -> None:
        """In a series, read only trees that are better than the path's own."""
        if given and self.inherits:
            self._known = min(self._known, int(cost))

    def aim(self, bound: int) -> None:
        """Only prove a lower bound, and log the proof. Call it before any step."""
        self.reads = False
        self.stack.head[0, stack_frame.LIMIT], self.stack.head[0, stack_frame.DIVING] = bound, 0
        self.log = self.log._replace(events=np.zeros((1024, 2), np.int64))
        self._own_bytes = self._count_bytes()

    def refresh_recent(self) -> None:
        """Give the branches in ``recent`` the bounds that the memo has of them now."""
        if not self.recent.effort[BLOCKS]:
            return
        recent, used = self.recent, self.recent.recent_node[:, :, None] > 0
        lower = np.where(used, self.memo.node_lower[recent.recent_node - 1], 0)
        excess = lower - self.params.error * recent.recent_weight[:, :, None]
        recent.recent_lower[:] = -lower.transpose(0, 2, 1).reshape(recent.recent_lower.shape)
        recent.recent_best[:] = lower.max(axis=1)
        recent.recent_most[:] = np.where(used, excess, -INFINITE).max(axis=1)

    def propagate_bounds(self) -> None:
        self._propagate(self.space)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """All that outlives an iteration, by name."""
        return {
            **self.memo._asdict(),
            **self.stack._asdict(),
            **self.program._asdict(),
            **self.recent._asdict(),
        }

    @property
    def lower_bound(self) -> int:
        return int(self.memo.node_lower[0, -1])

    @property
    def known_bound(self) -> int:
        """A lower bound of all trees, which the row duals must exceed to be of use."""
        return self.lower_bound

    @property
    def upper_bound(self) -> int:
        return int(self.memo.node_upper[0, -1])

    @property
    def iterations(self) -> int:
        """Frames opened."""
        return int(self.memo.used[ITERATIONS])

    @property
    def nodes(self) -> int:
        """Distinct branches entered."""
        return int(self.memo.used[NODES])

    @property
    def rollout_work(self) -> int:
        """As :class:`solver.engine.driver.Engine`: a few hundredths of the time.

        At λ = 0, where the first tree without avoidable errors suffices, a short search has none.
        """
        work = int(self.program.status[SEARCH] + self.program.status[WORK])
        is_short = self.cost_scale.lam == 0 and work < _SHORT
        return 0 if is_short else work // 4

    @property
    def bytes(self) -> int:
        return self._own_bytes + self.archive.bytes

    def _count_bytes(self) -> int:
        """Memory of all arrays but the archive's; it changes where arrays are made or grow."""
        own = bytes_of(self.table, self.memo, self.stack, self.scratch, self.log)
        return own + bytes_of(self.program, self.duals, self.recent)

    def state(self) -> dict[str, NDArray[Any]]:
        """The used parts of all arrays that the search needs to continue, as views."""
        arrays = self._arrays()
        del arrays["slots"]
        used = self._used()
        kept = {n: array[: used.get(_group(n), len(array))] for n, array in arrays.items()}
        kept["params"] = np.array(self.params, np.int64)
        kept["problem"] = np.array(self.problem.digest)
        kept[ROOM] = lengths_of(arrays.values())
        kept[_TREE] = np.array(self.preorder or [], np.int64)
        if self.inherits:
            kept[_INHERITED] = np.array([*self.before, self._stale], np.int64)
            kept |= self.archive.state()
        return kept

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state."""
        arrays = self._arrays()
        del arrays["slots"]
        others = {ROOM}
        if _INHERITED in state:
            others |= {_INHERITED, *(name for name in state if name.startswith(ARCHIVED))}
        names = {*arrays, "params", "problem", _TREE, *(others & set(state))}
        check_search(state, names, self.problem.digest, self.params)
        if state.get(_INHERITED, np.zeros(3)).shape != (3,):
            raise InputError("the state's arrays do not fit; it is damaged")
        load_arrays(arrays, state, state.get(ROOM), BLOCK)
        self._make_slots(slots_for(len(self.memo.node_hash), 4))
        if _INHERITED in state:
            iterations, nodes, stale = state[_INHERITED].tolist()
            self.before, self._stale = (iterations, nodes), bool(stale)
            self.archive = Archive.restored(state, self.nodes)
        self._restore_tree(state[_TREE])

    def _restore_tree(self, saved: NDArray[Any]) -> None:
        """Continue with the best tree of a state, if it has one."""
        if saved.ndim != 1 or saved.dtype != np.int64:
            raise InputError("the state's tree does not fit; it is damaged")
        if len(saved) > 0:
            preorder = saved.tolist()
            tree = self.problem.grow(shape_from(preorder, self.arities))
            self.restore_tree(preorder, self.cost_scale.cost(tree.errors, tree.splits))

    def grow(self, limit: int | None) -> bool:
        if 0 < len(self.log.events) <= int(self.log.used[0]) + self.params.max_arity:
            self.log.events.resize((2 * len(self.log.events), 2), refcheck=False)
        arrays = self._arrays()
        lengths = grown_lengths(arrays, self._needed(), _group)
        slots = max(len(self.memo.slots), slots_for(lengths["node_hash"], 4))
        more = bytes_added(arrays, lengths) + 8 * slots
        if limit is not None and self.bytes + more > limit:
            return False
        resize_arrays(arrays, lengths)
        if slots > len(self.memo.slots):
            self._make_slots(slots)
        self._own_bytes = self._count_bytes()
        return True

    def _make_slots(self, count: int) -> None:
        self.memo = self.memo._replace(slots=np.full(count, -1, np.int64))
        fill_slots(self.memo.slots, self.memo.node_hash, int(self.memo.used[NODES]))

    def _used(self) -> dict[str, int]:
        """How much of the arrays is in use, by group."""
        used, head = self.memo.used, self.stack.head
        d = int(used[FRAMES]) - 1
        words, columns = int(head[d, stack_frame.N_WORDS]), int(head[d, stack_frame.N_COLUMNS])
        frame = words * (1 + len(self.table.scales) + columns)
        return {
            "node": int(used[NODES]),
            "pool": int(self.program.status[SIZE]),
            "recent": min(len(self.recent.recent_node), int(self.recent.effort[BLOCKS])),
            "literals": int(used[LITERALS]),
            "frame": d + 1,
            "rows": int(head[d, stack_frame.ROWS_AT]) + 64 * words,
            "words": int(head[d, stack_frame.WORDS_AT]) + frame,
            "joint": int(head[d, stack_frame.JOINT_AT])
            + (columns**2 if head[d, stack_frame.HAS_JOINT] else 0),
        }

    def _needed(self) -> dict[str, int]:
        """Lengths of the arrays, by group, that satisfy :func:`kernels.has_room`."""
        head, used = self.stack.head, self._used()
        d = used["frame"] - 1
        # A frame needs at most what the one below it needs.
        return {
            "node": used["node"] + 1,
            "recent": min(int(self.recent.effort[BLOCKS]) + 1, self.params.recent),
            "literals": used["literals"] + d + 1,
            "frame": d + 2,
            "rows": 2 * used["rows"] - int(head[d, stack_frame.ROWS_AT]),
            "words": 2 * used["words"] - int(head[d, stack_frame.WORDS_AT]) + BLOCK,
            "joint": 2 * used["joint"] - int(head[d, stack_frame.JOINT_AT]) + BLOCK,
        }

    @property
    def inherits(self) -> bool:
        return bool(self.archive.records)

    def find_again(self, late: Callable[[], bool]) -> None:
        """Search for a tree that costs :attr:`upper_bound`; all bounds stay as they are.

        The root may have the cost of a tree from another λ, parts of which were since replaced by
        ones that were better there. With tight lower bounds that tree is soon found again. With
        loose ones it takes the best tree found within a limit.
        """
        if not self._stale:
            return
        self._stale = False
        # What was read before may depend on when snapshots were taken.
        preorder, cost = self.read_tree()
        if cost <= self.upper_bound:
            self.preorder, self.tree_cost = preorder, cost
            return
        goal, end = self.upper_bound, self.iterations + _LONGEST_SEARCH_AGAIN
        n = int(self.memo.used[NODES])
        self.memo.node_upper[:n] = INFINITE
        self.memo.node_best[:n] = SMALL
        self._known = INFINITE
        self._init_root(self.space)
        slice_ = 1
        while self.upper_bound > goal and (
            self.lower_bound >= goal or (self.iterations < end and not late())
        ):
            if self.advance(slice_, goal, -1) == FULL:
                self.grow(None)
            slice_ = min(2 * slice_, _LARGEST_SLICE)
        self._read()

    def read_tree(self) -> tuple[list[int], int]:
        if self._reading is None:
            self._reading = new_reading(self.table, self.params, _FIRST_TREE)
        while True:
            length, cost = self._read_out(self.space, self._reading)
            if length >= 0:
                return self._reading.features[:length].tolist(), cost
            size = 4 * len(self._reading.features)
            self._reading = new_reading(self.table, self.params, size)


@cache
def _group(name: str) -> str:
    """Arrays of one group grow together."""
    if name.startswith(("pool", "recent")):
        return name.partition("_")[0]
    if name in (
        *Program._fields,
        "literals",
        "words",
        "joint",
        "slots",
        "used",
        "effort",
        "filling",
    ):
        return name
    if name in ("rows", "keys", "duals"):
        return "rows"
    return "node" if name.startswith("node_") else "frame"
