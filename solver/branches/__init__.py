"""BRANCHES: best-first dynamic programming with purification bounds."""

from solver.branches.solver import Branches

__all__ = ["Branches"]
