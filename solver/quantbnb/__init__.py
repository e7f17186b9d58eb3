"""Quant-BnB: branch and bound over intervals of thresholds.

Here: the solver, and a package each for classification, regression and the published algorithm.
Not here: encodings that cut numbers beforehand (``solver.encodings``).
"""

from solver.quantbnb.solver import QuantBnB

__all__ = ["QuantBnB"]
