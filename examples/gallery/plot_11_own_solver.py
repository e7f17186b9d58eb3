"""
A solver of your own
====================

A solver is a class: its name, its version, what it can take, and one method ``_solve``. Once
it is registered, you can call it like any other solver, and compare it with the others.
"""

import time

import matplotlib.pyplot as plt

import treesweep
from solver.base import Capabilities, Solver
from solver.objective.exact_objective import objective

# %%
# Ours is *one rule*: the best single split, a classic of 1993. ``problem.grow`` makes a tree from
# nested tuples: a split is a feature and its children, and a leaf is -1.


@treesweep.register
class OneRule(Solver):
    """The best tree with a single split."""

    name, version = "one-rule", "1"
    summary = "the best single split; no proof"
    capabilities = Capabilities(features=frozenset({"binary", "categorical"}), proves=False)

    def _solve(self, problem, lam, limits, initial_tree, monitor, state):
        began = time.perf_counter()
        stumps = [(f, (-1,) * problem.arities[f]) for f in range(problem.n_features)]
        trees = [problem.grow(shape) for shape in (-1, *stumps)]
        total = problem.total_weight
        tree = min(trees, key=lambda t: objective(t.errors, t.splits, total, lam))
        return treesweep.Solution(
            tree=tree,
            status=treesweep.Status.HEURISTIC,
            lam=lam,
            objective=objective(tree.errors, tree.splits, total, lam),
            lower_bound=None,
            errors=tree.errors,
            total_weight=total,
            seconds=time.perf_counter() - began,
            solver=self.name,
            version=self.version,
        )


# %%
# It can be called by its name. The errors, splits and objective that a solver reports are checked:
# a wrong figure raises an error.

names = ("monks-1", "monks-3", "balance-scale", "car")
losses = {"one-rule": [], "cart": [], "branches": []}
for name in names:
    data = treesweep.load_dataset(name)
    problem = treesweep.Problem.from_table(data.frame, target=data.target, encoding="onehot")
    for solver, found in losses.items():
        limits = treesweep.Limits(seconds=5)
        solution = treesweep.solve(problem, lam="0.02", solver=solver, limits=limits)
        found.append(float(solution.objective))
        print(f"{name:14} {solver:9} {solution.objective!s:>10} {solution.splits} splits")

# %%

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for i, (solver, found) in enumerate(losses.items()):
    axes.bar([j + 0.27 * (i - 1) for j in range(len(names))], found, 0.25, label=solver)
axes.set_xticks(range(len(names)), names)
axes.set(ylabel="loss + λ · splits, λ = 0.02")
axes.legend()
plt.show()

# %%
# In a sweep the workers are other processes. To use the class there, put it into a package that
# declares it as an entry point of the group ``treesweep.solvers``. Install this package on the
# driver's machine and on every worker.
