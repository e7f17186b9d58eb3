"""Growing the pool keeps what is in it."""

import numpy as np

from solver.branches.paper.memo import rehash
from solver.branches.paper.pool import NODES, grow, grown_sizes, new_pool, room_of


def test_growing_keeps_the_content_and_makes_the_room():
    pool = new_pool(budgets=2)
    pool.node_lower[:] = np.arange(2048).reshape(1024, 2)
    pool.child_leaf[:] = np.arange(1024)
    needed = {"node": 1025, "action": 10, "child": 9000, "literals": 1024}
    expected = grown_sizes(pool, needed)
    pool = grow(pool, needed)
    assert (
        room_of(pool) == expected == {"node": 2048, "action": 1024, "child": 9000, "literals": 1024}
    )
    assert pool.node_lower[:1024].ravel().tolist() == list(range(2048))
    assert pool.child_leaf[:1024].tolist() == list(range(1024))
    assert not pool.child_leaf[1024:].any()


def test_a_new_memo_finds_every_node():
    pool = new_pool(budgets=1)
    pool.used[NODES] = 1024
    pool.node_hash[:] = np.repeat(np.arange(512, dtype=np.uint64), 2)  # every hash twice
    pool = grow(pool, {"node": 2000, "action": 1, "child": 1, "literals": 1})
    rehash(pool)
    assert len(pool.memo) >= 2 * len(pool.node_hash)
    assert sorted(pool.memo[pool.memo >= 0].tolist()) == list(range(1024))
