"""
Splits by lines
===============

A *proper tree* may split on a weighted sum of columns. If a diagonal line separates two classes,
one such split replaces a staircase of many cuts.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import treesweep

random = np.random.default_rng(3)
X = pd.DataFrame(random.uniform(0, 1, (60, 2)).round(2), columns=["width", "height"])
y = np.where(X["width"] + X["height"] > 1.0, "large", "small")

models = {
    "cuts": treesweep.ProperTreeClassifier(rules="axis", max_splits=2),
    "one line": treesweep.ProperTreeClassifier(rules="hyperplane", max_splits=1),
}
for name, model in models.items():
    model.fit(X, y)
    print(f"{name}: {model.status_.value}, {model.score(X, y):.3f} right")
    print(treesweep.export_text(model))

# %%
# The regions of both trees. Both are proven optimal among trees of their kind and size.

a, b = np.meshgrid(np.linspace(0, 1, 200), np.linspace(0, 1, 200))
grid = pd.DataFrame({"width": a.ravel(), "height": b.ravel()})
figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained", sharey=True)
for axis, (name, model) in zip(axes, models.items()):
    axis.contourf(a, b, (model.predict(grid) == "large").reshape(a.shape), alpha=0.3, levels=1)
    axis.scatter(X["width"], X["height"], c=(y == "large"), edgecolors="black", s=25)
    axis.set(title=name, xlabel="width")
axes[0].set(ylabel="height")
plt.show()
