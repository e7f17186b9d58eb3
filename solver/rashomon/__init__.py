"""Rashomon sets: all trees whose objective is close to the optimum, counted exactly.

Here: the search for the set, its graph, counts, samples and trees.
Not here: one optimal tree (``solver.branches``), the command ``treesweep rashomon``.
"""

from solver.rashomon.build_graph import LimitError
from solver.rashomon.find_set import ENDLESS, check_support, rashomon_set, warm_up
from solver.rashomon.rashomon_set import UNITS, Cell, Question, RashomonSet
from solver.rashomon.stored_graph import StoredGraph

__all__ = [
    "ENDLESS",
    "UNITS",
    "Cell",
    "LimitError",
    "Question",
    "RashomonSet",
    "StoredGraph",
    "check_support",
    "rashomon_set",
    "warm_up",
]
