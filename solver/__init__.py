"""The numbers: problems, encodings, trees, exact objectives and searches.

Here: everything for one table in one process, without files or network.
Not here: sweeps (``sweep``). ``solver.estimators`` is imported separately: scikit-learn is slow.
"""

import solver.notebook_html  # noqa: F401  notebooks show objects by it
from solver.catalogue import SOLVERS, get_solver, register
from solver.encodings import ENCODINGS, Encoder
from solver.errors import InputError, UnsupportedError
from solver.limits import Limits
from solver.monitor import Monitor, Snapshot
from solver.path.path import Path, Step
from solver.problem.problem import Problem
from solver.rashomon import RashomonSet, rashomon_set
from solver.solution import Solution, Status
from solver.solve_problem import regularization_path, solve
from solver.trees.export import export_dot, export_text, plot_tree
from solver.trees.tree import Node, Tree

__all__ = [
    "ENCODINGS",
    "SOLVERS",
    "Encoder",
    "InputError",
    "Limits",
    "Node",
    "Path",
    "Problem",
    "RashomonSet",
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
    "rashomon_set",
    "register",
    "regularization_path",
    "solve",
]
