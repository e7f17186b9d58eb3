"""The engine of mode ``paper``: owns the arrays, grows them, reads trees out of them."""

from __future__ import annotations

from typing import Any

from solver.branches.base_engine import GraphEngine
from solver.branches.paper import ao_star
from solver.branches.paper.bit_vectors import Layout, lay_out
from solver.branches.paper.state import (
    ACTIONS,
    CHILDREN,
    EVALUATIONS,
    EXPANSIONS,
    ITERATIONS,
    LITERALS,
    NODES,
    Params,
    Pool,
    Scratch,
    Space,
    bytes_at,
    grown_sizes,
    new_pool,
    new_scratch,
    resize,
)
from solver.engine.growable_arrays import bytes_of
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.hash_tables import fill_slots
from solver.kernels.jit import ensure_compiled
from solver.objective.exact_objective import CostScale
from solver.problem.problem import Problem


class PaperEngine(GraphEngine):
    """One search in mode ``paper``: best-first over the graph of branches (Algorithm 1)."""

    def __init__(
        self, problem: Problem, cost_scale: CostScale, constraints: TreeConstraints
    ) -> None:
        self.arities: list[int] = problem.arities.tolist()
        self.layout: Layout = lay_out(problem)
        self.params = Params(
            cost_scale.error,
            cost_scale.split,
            constraints.budgets,
            constraints.depth,
            constraints.min_leaf,
        )
        self.scratch: Scratch = new_scratch(
            self.layout.masks.shape[1], problem.n_features, problem.n_classes, constraints
        )
        self.pool: Pool = new_pool(constraints.budgets)
        self.compile_seconds = self._compile()
        ao_star.init_root(self.space)
        self._leaf = self.upper_bound

    @property
    def space(self) -> Space:
        """All that the kernels work on."""
        return Space(self.layout, self.params, self.pool, self.scratch)

    def _compile(self) -> float:
        return (
            ensure_compiled(ao_star.init_root, self.space)
            + ensure_compiled(ao_star.step, self.space, 0, 0, 0)
            + ensure_compiled(fill_slots, self.pool.memo, self.pool.node_hash, 0)
        )

    @property
    def lower_bound(self) -> int:
        return int(self.pool.node_lower[0, -1])

    @property
    def upper_bound(self) -> int:
        return int(self.pool.node_upper[0, -1])

    @property
    def iterations(self) -> int:
        return int(self.pool.used[ITERATIONS])

    @property
    def nodes(self) -> int:
        """Distinct branches walked into."""
        return int(self.pool.used[NODES])

    @property
    def extra(self) -> dict[str, Any]:
        """The branches that were expanded, and those that were evaluated, the paper's Γ."""
        used = self.pool.used
        return {"expansions": int(used[EXPANSIONS]), "evaluations": int(used[EVALUATIONS])}

    @property
    def bytes(self) -> int:
        return bytes_of(self.layout, self.scratch, self.pool)

    def advance(self, iterations: int, target_cost: int, known_cost: int) -> int:
        return ao_star.step(self.space, iterations, target_cost, known_cost)

    def grow(self, limit: int | None) -> bool:
        used = self.pool.used
        needed = {
            "node": int(used[NODES]) + 1,
            "action": int(used[ACTIONS]) + len(self.arities),
            "child": int(used[CHILDREN]) + sum(self.arities),
            "literals": int(used[LITERALS]) + len(self.scratch.literals),
        }
        sizes = grown_sizes(self.pool, needed)
        fixed = bytes_of(self.layout, self.scratch)
        if limit is not None and fixed + bytes_at(self.pool, sizes) > limit:
            return False
        memo = self.pool.memo
        self.pool = resize(self.pool, sizes)
        if self.pool.memo is not memo:
            fill_slots(self.pool.memo, self.pool.node_hash, self.nodes)
        return True

    def read_tree(self) -> tuple[list[int], int]:
        # Node (−1: a leaf that was not entered), budget and cost as a leaf.
        parts = [(0, self.params.budgets - 1, self._leaf)]
        preorder, cost = [], 0
        while parts:
            node, budget, leaf = parts.pop()
            action = int(self.pool.node_best[node, budget]) if node >= 0 else -1
            preorder.append(int(self.pool.action_feature[action]) if action >= 0 else -1)
            cost += leaf if action < 0 else self.params.split
            if action >= 0:
                parts += reversed(self._children(action, budget))
        return preorder, cost

    def _children(self, action: int, budget: int) -> list[tuple[int, int, int]]:
        """Each child's node, split budget (for the least sum of the costs of known trees) and cost
        as a leaf."""
        first = int(self.pool.action_children[action])
        children = range(first, first + self.arities[self.pool.action_feature[action]])
        nodes = [int(self.pool.child_node[child]) for child in children]
        leaves = [int(self.pool.child_leaf[child]) for child in children]
        if self.params.budgets == 1:
            return [(node, 0, leaf) for node, leaf in zip(nodes, leaves, strict=True)]
        best: list[tuple[int, list[int]]] = [(0, [])] * budget
        for node, leaf in zip(nodes, leaves, strict=True):
            costs = [leaf] * budget
            if node >= 0:
                costs = self.pool.node_upper[node, :budget].tolist()
            best = [
                min((best[b - s][0] + costs[s], [*best[b - s][1], s]) for s in range(b + 1))
                for b in range(budget)
            ]
        return list(zip(nodes, best[-1][1], leaves, strict=True))
