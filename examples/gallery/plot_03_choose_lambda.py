"""
Choose λ by cross-validation
============================

You need not guess a grid. A *breakpoint* is a λ at which one optimal tree replaces another.
Between two breakpoints, every λ gives the same tree for the whole table. So the breakpoints are a
natural grid. (The trees of the folds also change in between; the guide to Python shows how to try
those λ, too.)
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

import treesweep

X, y = load_iris(return_X_y=True, as_frame=True)
model = treesweep.BranchesClassifier(max_depth=4)
path = model.regularization_path(X, y, lam_min="0.005")
print("candidates:", [str(lam) for lam in path.lams])

# %%
# scikit-learn does the rest.

search = GridSearchCV(model, {"lam": path.lams}, cv=5).fit(X, y)
results = search.cv_results_
means, spread = results["mean_test_score"], results["std_test_score"] / 5**0.5
print("best λ:", search.best_params_["lam"])

# %%
# The usual rule takes the largest λ whose mean accuracy is within one standard error of the best
# mean. The largest λ gives the smallest tree.

best = means.argmax()
chosen = max(i for i in range(len(means)) if means[i] >= means[best] - spread[best])
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.errorbar([float(lam) for lam in path.lams], means, spread, marker="o", capsize=3)
axes.axvline(float(path.lams[chosen]), color="tab:orange", label="one standard error")
axes.set(xscale="log", xlabel="λ", ylabel="accuracy on unseen rows")
axes.legend()
plt.show()

# %%

final = treesweep.BranchesClassifier(lam=path.lams[chosen], max_depth=4).fit(X, y)
figure, axes = plt.subplots(figsize=(10, 3.5), layout="constrained")
treesweep.plot_tree(final, ax=axes)
plt.show()
