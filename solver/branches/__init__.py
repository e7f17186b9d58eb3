"""BRANCHES: best-first dynamic programming with purification bounds."""

from solver.branches.search import Branches

__all__ = ["Branches"]
