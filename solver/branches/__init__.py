"""BRANCHES: best-first dynamic programming with purification bounds."""

from solver.branches.branches import Branches

__all__ = ["Branches"]
