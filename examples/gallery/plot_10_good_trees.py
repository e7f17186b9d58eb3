"""
All good trees
==============

There is rarely one good tree. The *Rashomon set* holds all trees that are nearly as good as the
best one, and says exactly how many they are. You can take a tree from it that does not use a
certain column.
"""

import matplotlib.pyplot as plt

import treesweep

data = treesweep.load_dataset("monks-3")
problem = treesweep.Problem.from_table(data.frame, target=data.target, encoding="onehot")
good = treesweep.rashomon_set(problem, "0.02", within="0.5", limits=treesweep.Limits(depth=4))
print(good.n_trees, "trees have an objective of at most", float(good.most))
print(treesweep.export_text(good.best()))

# %%
# For each column: how many good trees use it, and the objective of the best good tree without it
# (``NaN`` if every good tree uses it).

shares = good.feature_shares(by="column")
print(shares.to_string(index=False))

# %%
# The good trees by size: the best one has two splits, and most others have more.

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
sizes: dict[int, int] = {}
for cell in good.histogram:
    sizes[cell.splits] = sizes.get(cell.splits, 0) + cell.trees
axes.bar([str(splits) for splits in sorted(sizes)], [sizes[splits] for splits in sorted(sizes)])
axes.set(xlabel="splits", ylabel="good trees", yscale="log")
plt.show()
