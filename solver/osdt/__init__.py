"""OSDT: branch and bound over sets of leaves."""

from solver.osdt.solver import Osdt

__all__ = ["Osdt"]
