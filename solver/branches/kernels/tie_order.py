"""Which of several equally good trees: at each node, from the root on, the first feature.

A frame searches for a tree of a known cost that begins with a given feature. Its bounds go to a
node that is no branch, as they do not hold for the branch, which may begin with other features.
"""

from __future__ import annotations

from solver.branches.kernels import stack_frame
from solver.branches.kernels.ao_star import enter, has_room, lay_child
from solver.branches.kernels.bounds import refresh_split
from solver.branches.kernels.branch_rows import collect_child
from solver.branches.kernels.state import BASE, FRAMES, SMALL, Space
from solver.kernels.constants import FULL, RUNNING
from solver.kernels.jit import kernel


@kernel
def begin_with(s: Space, d: int, feature: int, node: int, cost: int) -> None:
    """Let frame ``d`` search for a tree that begins with ``feature`` and costs ``cost``."""
    head = s.stack.head[d]
    head[stack_frame.NODE], head[stack_frame.BUDGET] = node, 0
    head[stack_frame.LIMIT], head[stack_frame.DIVING] = cost + 1, 0
    head[stack_frame.CURRENT], head[stack_frame.N_CANDIDATES] = -1, 1
    s.stack.candidates[d, 0], s.stack.looked[d, feature] = feature, 0
    s.memo.node_lower[node, 0], s.memo.node_upper[node, 0] = 0, cost + 1
    s.memo.node_best[node, 0] = SMALL
    s.memo.used[FRAMES], s.memo.used[BASE] = d + 1, d
    refresh_split(s, d, feature)


@kernel
def make_child(s: Space, d: int, feature: int, value: int, node: int) -> int:
    """Make the frame of a child of frame ``d``, whose own node is ``node``; RUNNING, or FULL.

    It is for :func:`solver.branches.kernels.ao_star.step` to open: that compiles once.
    """
    s.memo.used[FRAMES] = d + 1
    if not has_room(s, d):
        return FULL
    s.stack.head[d, stack_frame.NODE], s.stack.head[d, stack_frame.CURRENT] = node, feature
    n = enter(s, d, value)
    collect_child(s, d, feature, value - s.table.values[feature])
    lay_child(s, value, n, 0, stack_frame.OPEN_ONLY)
    return RUNNING
