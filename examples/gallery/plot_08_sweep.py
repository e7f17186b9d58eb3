"""
A sweep from Python
===================

Data sets × encodings × λ × solvers × folds in one call. Each result is stored on disk as soon
as its task ends, so an interrupted sweep continues where it stopped.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import treesweep

SPEC = {
    "name": "first-sweep",
    "datasets": ["monks-1", "iris"],
    "encodings": [{"encoding": "quantiles", "k": 3}],
    "lambdas": {"from": 0.1, "to": 0.01, "count": 5},
    "solvers": ["branches", "cart"],
    "validation": {"kind": "kfold", "folds": 3, "stratify": True},
    "limits": {"seconds": 10, "depth": 4},
}


def sweep(folder: Path) -> treesweep.SweepResults:
    """Run the sweep, and print the best encoding, solver and λ of each data set."""
    results = treesweep.run_sweep(SPEC, folder, progress=False)
    print(results.outcome.ran, "tasks,", results.outcome.failed, "failed")
    for name in SPEC["datasets"]:
        best = results.best(name)
        print(best.headline, best.verdict)
    return results


def draw(results: treesweep.SweepResults) -> None:
    """Accuracy on unseen rows against λ."""
    means = results.frame.groupby(["dataset", "solver", "lam"])["test_accuracy"].mean()
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained", sharey=True)
    for axis, name in zip(axes, SPEC["datasets"]):
        for solver in SPEC["solvers"]:
            means[name][solver].plot(ax=axis, marker="o", logx=True, label=solver)
        axis.set(title=name, xlabel="λ", ylabel="accuracy on unseen rows")
        axis.legend()
    plt.show()


# %%
# Worker processes import this file, so the sweep itself stands under a guard, as in every program
# that uses processes. In a notebook no guard is needed.

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        draw(sweep(Path(place) / "first-sweep"))
