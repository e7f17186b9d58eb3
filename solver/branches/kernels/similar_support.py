"""Similar support: bounds move between children of a frame that share most of their rows."""

from __future__ import annotations

from solver.branches.kernels.bounds import raise_split
from solver.branches.kernels.state import (
    HAS_JOINT,
    JOINT_AT,
    N_CANDIDATES,
    N_COLUMNS,
    Params,
    Scratch,
    Stack,
)
from solver.kernels.bit_table import Table
from solver.kernels.jit import helper


@helper
def pair_weight(stack: Stack, d: int, i: int, j: int) -> int:
    """Weight that two columns of a frame share."""
    at = stack.head[d, JOINT_AT] + min(i, j) * stack.head[d, N_COLUMNS] + max(i, j)
    return int(stack.joint[at])


@helper
def shared_column(table: Table, stack: Stack, d: int, f: int, v: int, g: int, u: int) -> int:
    """As :func:`shared_weight` for a code ``v`` above 0."""
    i, j = stack.first[d, f] + v - 1, stack.first[d, g]
    if u > 0:
        return pair_weight(stack, d, i, j + u - 1)
    weight = stack.child_weight[d, table.values[f] + v]
    for c in range(table.columns[g + 1] - table.columns[g]):
        weight -= pair_weight(stack, d, i, j + c)
    return int(weight)


@helper
def shared_weight(table: Table, stack: Stack, d: int, f: int, v: int, g: int, u: int) -> int:
    """Weight of the rows where ``f`` has code ``v`` and ``g`` code ``u``."""
    if v > 0:
        return shared_column(table, stack, d, f, v, g, u)
    weight = stack.child_weight[d, table.values[g] + u]
    for c in range(1, table.values[f + 1] - table.values[f]):
        weight -= shared_column(table, stack, d, f, c, g, u)
    return int(weight)


@helper
def may_gain(params: Params, stack: Stack, d: int, source: int, value: int) -> bool:
    """Whether one child's bounds exceed another's at all."""
    for b in range(params.budgets):
        if stack.child_lower[d, source, b] > stack.child_lower[d, value, b]:
            return True
    return False


@helper
def share_bound(
    table: Table, params: Params, stack: Stack, scratch: Scratch, d: int, f: int, v: int
) -> None:
    """Move the bounds of a child to the other children of the frame.

    On branch ``A`` a tree for branch ``B`` has at most all rows of ``A`` outside ``B`` as further
    errors, so ``lower(B) ≥ lower(A) − weight(A ∖ B)``.
    """
    if stack.head[d, HAS_JOINT] == 0:
        return
    source = table.values[f] + v
    for i in range(stack.head[d, N_CANDIDATES]):
        g = stack.candidates[d, i]
        if g == f:
            continue
        changed = False
        for value in range(table.values[g], table.values[g + 1]):
            if not may_gain(params, stack, d, source, value):
                continue
            outside = stack.child_weight[d, source] - shared_weight(
                table, stack, d, f, v, g, value - table.values[g]
            )
            for b in range(params.budgets):
                low = stack.child_lower[d, source, b] - params.error * outside
                if low > stack.child_lower[d, value, b]:
                    stack.child_lower[d, value, b] = low
                    changed = True
        if changed:
            raise_split(table, params, stack, scratch, d, g)
