"""Growing the pool keeps its contents."""

import numpy as np

from solver.branches.paper.state import NODES, bytes_at, grown_sizes, new_pool, resize
from solver.engine.growable_arrays import bytes_of
from solver.kernels.hash_tables import fill_slots


def test_growing_keeps_the_content_and_makes_the_room():
    pool = new_pool(budgets=2)
    pool.node_lower[:] = np.arange(2048).reshape(1024, 2)
    pool.child_leaf[:] = np.arange(1024)
    needed = {"node": 1025, "action": 10, "child": 9000, "literals": 1024}
    sizes = grown_sizes(pool, needed)
    assert sizes == {"node": 2048, "action": 1024, "child": 9000, "literals": 1024}
    pool = resize(pool, sizes)
    assert pool.node_lower.shape == pool.node_upper.shape == (2048, 2)
    assert (len(pool.action_feature), len(pool.child_node), len(pool.literals)) == (
        1024,
        9000,
        1024,
    )
    assert pool.node_lower[:1024].ravel().tolist() == list(range(2048))
    assert pool.child_leaf[:1024].tolist() == list(range(1024))
    assert not pool.child_leaf[1024:].any()


def test_the_memory_is_known_before_it_is_taken():
    pool = new_pool(budgets=3)
    for nodes in (1000, 1025, 2049, 5000):
        sizes = grown_sizes(pool, {"node": nodes, "action": 1, "child": 3 * nodes, "literals": 1})
        expected = bytes_at(pool, sizes)
        pool = resize(pool, sizes)
        assert bytes_of(pool) == expected


def test_large_arrays_grow_in_small_steps():
    pool = resize(new_pool(1), {"node": 2**21, "action": 1, "child": 1, "literals": 1})
    sizes = grown_sizes(pool, {"node": 2**21 + 1, "action": 1, "child": 1, "literals": 1})
    assert 2**21 < sizes["node"] < 2**22


def test_a_new_memo_finds_every_node():
    pool = new_pool(budgets=1)
    pool.used[NODES] = 1024
    pool.node_hash[:] = np.repeat(np.arange(512, dtype=np.uint64), 2)  # every hash twice
    old = pool.memo
    pool = resize(pool, {"node": 4000, "action": 1, "child": 1, "literals": 1})
    assert pool.memo is not old
    fill_slots(pool.memo, pool.node_hash, 1024)
    assert len(pool.memo) >= 2 * len(pool.node_hash)
    assert sorted(pool.memo[pool.memo >= 0].tolist()) == list(range(1024))
