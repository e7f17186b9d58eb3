"""OSDT: branch and bound over sets of leaves."""

from solver.osdt.osdt import Osdt

__all__ = ["Osdt"]
