"""Quant-BnB: branch and bound over intervals of thresholds.

Here: the solver for classification on numbers, its kernels and sorted tables.
Not here: regression (``regression``) and the published algorithm (``paper``).
"""

from solver.quantbnb.solver import QuantBnB

__all__ = ["QuantBnB"]
