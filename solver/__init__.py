"""The numbers: problems, encodings, trees, exact objectives and searches.

Here: everything for one table in one process, without files or network.
Not here: sweeps (``sweep``). ``solver.estimators`` is imported separately: scikit-learn is slow.

The searches import numba, which takes a second. A command or a child process that runs none of ours
imports a module of this package without them, so each name here is imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solver.catalogue import SOLVERS, get_solver, register
    from solver.encodings import ENCODINGS, Encoder
    from solver.errors import InputError, UnsupportedError
    from solver.limits import Limits
    from solver.monitor import Monitor, Snapshot
    from solver.path.path import Path, Step
    from solver.problem.problem import Problem
    from solver.rashomon.find_set import rashomon_set
    from solver.rashomon.rashomon_set import RashomonSet
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

_MODULES = {
    "solver.catalogue": ["SOLVERS", "get_solver", "register"],
    "solver.encodings": ["ENCODINGS", "Encoder"],
    "solver.errors": ["InputError", "UnsupportedError"],
    "solver.limits": ["Limits"],
    "solver.monitor": ["Monitor", "Snapshot"],
    "solver.path.path": ["Path", "Step"],
    "solver.problem.problem": ["Problem"],
    "solver.rashomon.find_set": ["rashomon_set"],
    "solver.rashomon.rashomon_set": ["RashomonSet"],
    "solver.solution": ["Solution", "Status"],
    "solver.solve_problem": ["regularization_path", "solve"],
    "solver.trees.export": ["export_dot", "export_text", "plot_tree"],
    "solver.trees.tree": ["Node", "Tree"],
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    for module, names in _MODULES.items():
        if name in names:
            globals()[name] = found = getattr(import_module(module), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
