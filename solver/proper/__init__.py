"""Proper decision trees: optimal trees of any splitting rules."""

from solver.proper.proper import Proper

__all__ = ["Proper"]
