"""The numbers: problems, encodings, trees, exact objectives, searches and estimators.

Here: everything for one table in one process, without files or network.
Not here: sweeps over many tables, λ and workers (``sweep``).
"""

from typing import TYPE_CHECKING, Any

from solver.catalogue import SOLVERS, get_solver, regularization_path, solve
from solver.encodings import ENCODINGS, Encoder
from solver.errors import InputError, UnsupportedError
from solver.limits import Limits
from solver.monitor import Monitor, Snapshot
from solver.path.path import Path, Step
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.export import export_dot, export_text, plot_tree
from solver.trees.tree import Node, Tree

if TYPE_CHECKING:
    from solver.estimators import (
        BranchesClassifier,
        OSDTClassifier,
        ProperTreeClassifier,
        QuantBnBClassifier,
        QuantBnBRegressor,
    )

__all__ = [
    "ENCODINGS",
    "SOLVERS",
    "BranchesClassifier",
    "Encoder",
    "InputError",
    "Limits",
    "Node",
    "OSDTClassifier",
    "Path",
    "Problem",
    "ProperTreeClassifier",
    "QuantBnBClassifier",
    "QuantBnBRegressor",
    "Snapshot",
    "Solution",
    "Status",
    "Step",
    "Tree",
    "UnsupportedError",
    "Monitor",
    "export_dot",
    "export_text",
    "get_solver",
    "plot_tree",
    "regularization_path",
    "solve",
]


def __getattr__(name: str) -> Any:
    """The estimators, when they are asked for: scikit-learn takes a second to import."""
    if name.endswith(("Classifier", "Regressor")) and name in __all__:
        from solver import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
