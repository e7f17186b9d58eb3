"""
Regression
==========

The target may be a number. Quant-BnB finds the best thresholds of numbers itself, without bins.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

import treesweep

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X[["bmi", "bp", "s5"]]
model = treesweep.QuantBnBRegressor(max_depth=3, min_leaf_size=10).fit(X, y)
greedy = DecisionTreeRegressor(max_depth=3, min_samples_leaf=10, random_state=0).fit(X, y)
print("optimal:", model.status_.value)
print(f"R² of the optimal tree {model.score(X, y):.4f}, of CART's {greedy.score(X, y):.4f}")

# %%

figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
treesweep.plot_tree(model, ax=axes)
plt.show()

# %%
# Predicted and true values. All rows of a leaf get the same prediction, so they are one vertical
# line of points.

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
axes.scatter(model.predict(X), y, s=12, alpha=0.5)
axes.plot([60, 290], [60, 290], color="black", linewidth=1)
axes.set(xlabel="predicted progress of diabetes", ylabel="true progress")
plt.show()
