"""Quant-BnB: branch and bound over intervals of thresholds."""

from solver.quantbnb.solver import QuantBnB

__all__ = ["QuantBnB"]
