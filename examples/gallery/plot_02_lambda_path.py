"""
Every λ at once
===============

Nobody knows the right price of a split in advance. ``regularization_path`` finds all trees that are
optimal for some λ, with the exact λ at which one takes over from another.
"""

import matplotlib.pyplot as plt

import treesweep

problem = treesweep.Problem.from_table(
    treesweep.load_dataset("monks-1").frame, target="target", encoding="onehot"
)
path = treesweep.regularization_path(problem, lam_min="0.005")
for step in path.steps:
    print(f"λ from {step.start} to {step.end or '∞'}: {step.splits} splits, {step.errors} errors")

# %%
# The least objective is concave and piecewise linear in λ. Each piece is one tree.

lams = [0.005 + 0.295 * i / 200 for i in range(201)]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
left.plot(lams, [float(path.objective_at(lam)) for lam in lams])
left.set(xlabel="λ", ylabel="least loss + λ · splits")
right.step(lams, [path.step_at(lam).splits for lam in lams], where="post")
right.set(xlabel="λ", ylabel="splits of the optimal tree")
plt.show()
