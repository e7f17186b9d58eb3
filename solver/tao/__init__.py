"""TAO: a tree is made better node by node, all others fixed, until no node can be."""

from solver.tao.tao import Tao

__all__ = ["Tao"]
