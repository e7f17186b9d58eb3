"""Growing the pool keeps what is in it."""

import numpy as np

from solver.branches import kernels
from solver.branches.pool import NODES, grow, grown_sizes, new_pool, room_of


def test_growing_keeps_the_content_and_makes_the_room():
    pool = new_pool(budgets=2)
    pool.node_lower[:] = np.arange(128).reshape(64, 2)
    pool.child_leaf[:] = np.arange(64)
    needed = {"node": 65, "action": 10, "child": 1000, "literals": 64}
    expected = grown_sizes(pool, needed)
    pool = grow(pool, needed)
    assert room_of(pool) == expected == {"node": 128, "action": 64, "child": 1000, "literals": 64}
    assert pool.node_lower[:64].ravel().tolist() == list(range(128))
    assert pool.child_leaf[:64].tolist() == list(range(64))
    assert not pool.child_leaf[64:].any()


def test_a_new_memo_finds_every_node():
    pool = new_pool(budgets=1)
    pool.used[NODES] = 64
    pool.node_hash[:] = np.repeat(np.arange(32, dtype=np.uint64), 2)  # every hash twice
    pool = grow(pool, {"node": 200, "action": 1, "child": 1, "literals": 1})
    kernels.rehash(pool)
    assert len(pool.memo) >= 2 * len(pool.node_hash)
    assert sorted(pool.memo[pool.memo >= 0].tolist()) == list(range(64))
