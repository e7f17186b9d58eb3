"""TAO: improves a tree node by node, all others fixed, until no node can be improved.

Here: tree alternating optimisation on arrays of codes.
Not here: CART, whose tree it starts from (``solver.baselines.cart``).
"""

from solver.baselines.tao.solver import Tao

__all__ = ["Tao"]
