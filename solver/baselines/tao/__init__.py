"""TAO: a tree is made better node by node, all others fixed, until no node can be."""

from solver.baselines.tao.solver import Tao

__all__ = ["Tao"]
