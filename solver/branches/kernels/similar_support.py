"""Similar support: bounds move between children of a frame that share most of their rows."""

from __future__ import annotations

from solver.branches.kernels import stack_frame
from solver.branches.kernels.bounds import raise_split
from solver.branches.kernels.state import Space, Stack
from solver.kernels.jit import helper


@helper
def pair_weight(stack: Stack, d: int, i: int, j: int) -> int:
    """Weight that two columns of a frame share."""
    at = (
        stack.head[d, stack_frame.JOINT_AT]
        + min(i, j) * stack.head[d, stack_frame.N_COLUMNS]
        + max(i, j)
    )
    return int(stack.joint[at])


@helper
def shared_column(s: Space, d: int, f: int, v: int, g: int, u: int) -> int:
    """As :func:`shared_weight` for a code ``v`` above 0."""
    i, j = s.stack.first[d, f] + v - 1, s.stack.first[d, g]
    if u > 0:
        return pair_weight(s.stack, d, i, j + u - 1)
    weight = s.stack.child_weight[d, s.table.values[f] + v]
    for c in range(s.table.columns[g + 1] - s.table.columns[g]):
        weight -= pair_weight(s.stack, d, i, j + c)
    return int(weight)


@helper
def shared_weight(s: Space, d: int, f: int, v: int, g: int, u: int) -> int:
    """Weight of the rows where ``f`` has code ``v`` and ``g`` code ``u``."""
    if v > 0:
        return shared_column(s, d, f, v, g, u)
    weight = s.stack.child_weight[d, s.table.values[g] + u]
    for c in range(1, s.table.values[f + 1] - s.table.values[f]):
        weight -= shared_column(s, d, f, c, g, u)
    return int(weight)


@helper
def may_gain(s: Space, d: int, source: int, value: int) -> bool:
    """Whether one child's bounds exceed another's at all."""
    for b in range(s.params.budgets):
        if s.stack.child_lower[d, source, b] > s.stack.child_lower[d, value, b]:
            return True
    return False


@helper
def share_bound(s: Space, d: int, f: int, v: int) -> None:
    """Move the bounds of a child to the other children of the frame.

    On branch ``A`` a tree for branch ``B`` has at most all rows of ``A`` outside ``B`` as further
    errors, so ``lower(B) ≥ lower(A) − weight(A ∖ B)``.
    """
    if s.stack.head[d, stack_frame.HAS_JOINT] == 0:
        return
    source = s.table.values[f] + v
    for i in range(s.stack.head[d, stack_frame.N_CANDIDATES]):
        g = s.stack.candidates[d, i]
        if g == f:
            continue
        changed = False
        for value in range(s.table.values[g], s.table.values[g + 1]):
            if not may_gain(s, d, source, value):
                continue
            outside = s.stack.child_weight[d, source] - shared_weight(
                s, d, f, v, g, value - s.table.values[g]
            )
            for b in range(s.params.budgets):
                low = s.stack.child_lower[d, source, b] - s.params.error * outside
                if low > s.stack.child_lower[d, value, b]:
                    s.stack.child_lower[d, value, b] = low
                    changed = True
        if changed:
            raise_split(s, d, g)
