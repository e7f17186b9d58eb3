"""
A first tree
============

Fit the best small tree for a table, look at it, and predict. It works as in scikit-learn.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import treesweep

# %%
# The table has 30 measurements of each of 569 tumours. To keep the picture small, we use five of
# them.

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["worst radius", "worst texture", "worst smoothness", "worst concavity", "worst symmetry"]]
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# ``lam`` is λ, the price of a split. 0.01 means that, on average, each further split must remove
# errors on more than 1 % of the rows.

model = treesweep.BranchesClassifier(lam=0.01, max_depth=3).fit(X_train, y_train)
print("right on new rows:", round(model.score(X_test, y_test), 3))
print("status:", model.status_.value)

# %%
# ``optimal`` is proven: no other tree of depth at most 3 that uses the same cuts of the columns has
# a smaller objective. The objective is ``errors / rows + λ · splits``. It equals its lower bound;
# both are exact fractions:

print(model.objective_exact_, "=", model.lower_bound_exact_)

# %%
# The tree as a picture, and as text.

figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
treesweep.plot_tree(model, ax=axes)
plt.show()

# %%

print(treesweep.export_text(model))
