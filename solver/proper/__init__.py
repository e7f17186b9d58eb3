"""Proper decision trees: optimal trees of any splitting rules."""

from solver.proper.solver import Proper

__all__ = ["Proper"]
