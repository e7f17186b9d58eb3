"""Quant-BnB: branch and bound over intervals of thresholds."""

from solver.quantbnb.quantbnb import QuantBnB

__all__ = ["QuantBnB"]
