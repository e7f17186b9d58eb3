"""
Optimal, greedy, and a forest
=============================

Does an optimal tree predict better? On six tables we compare three models on unseen rows: the
optimal tree, CART's greedy tree with the same number of leaves, and a random forest of 100 trees.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import treesweep

names = ("monks-1", "monks-3", "balance-scale", "car", "iris", "wine")
scores, leaves = [], []
for name in names:
    data = treesweep.load_dataset(name)
    X, y = data.frame.drop(columns=data.target), data.frame[data.target].astype(str)
    numbers = X.select_dtypes("number").shape[1] == X.shape[1] and name in ("iris", "wine")
    encoding = "quantiles" if numbers else "onehot"
    train, test = train_test_split(np.arange(len(X)), random_state=0, stratify=y)
    table = data.frame.iloc[train]
    problem = treesweep.Problem.from_table(table, target=data.target, encoding=encoding)
    solution = treesweep.solve(problem, lam="0.01", limits=treesweep.Limits(depth=4, seconds=5))
    codes = X.astype(str).apply(lambda column: column.astype("category").cat.codes)
    codes = X if numbers else codes
    own = (solution.tree.predict(X.iloc[test]).astype(str) == y.iloc[test]).mean()
    greedy = DecisionTreeClassifier(max_leaf_nodes=max(solution.leaves, 2), random_state=0)
    forest = RandomForestClassifier(random_state=0)
    others = [
        m.fit(codes.iloc[train], y.iloc[train]).score(codes.iloc[test], y.iloc[test])
        for m in (greedy, forest)
    ]
    scores.append([own, *others])
    leaves.append(solution.leaves)
    print(f"{name:14} {solution.status.value:10} {solution.leaves} leaves", np.round(scores[-1], 3))

# %%
# On some tables a few optimal rules are as good as a hundred trees; on others the forest wins, and
# then a small tree is the wrong model. Only the comparison says which.

figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
for i, label in enumerate(("optimal tree", "CART, as many leaves", "random forest, 100 trees")):
    axes.bar(np.arange(len(names)) + 0.27 * (i - 1), [row[i] for row in scores], 0.25, label=label)
axes.set_xticks(range(len(names)), [f"{n}\n{k} leaves" for n, k in zip(names, leaves)])
axes.set(ylabel="accuracy on unseen rows", ylim=(0.4, 1.02))
figure.legend(loc="outside upper center", ncols=3)
plt.show()
