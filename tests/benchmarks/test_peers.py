"""The adapters: their trees and their claims against the plain scorer and the naive search."""

import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.peers import ADAPTERS, Ask, prune, read_gosdt, read_streed
from benchmarks.plain_trees import score
from benchmarks.problem_tables import Table

PEERS = [name for name, adapter in ADAPTERS.items() if adapter.proves and not adapter.ours]


def small_table(seed, n_classes, n_rows=40):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n_rows, 5)).astype(np.int32)
    labels = (codes[:, 0] + codes[:, 1] * codes[:, 2]) % n_classes
    noise = rng.random(n_rows) < 0.1
    labels[noise] = rng.integers(0, n_classes, int(noise.sum()))
    labels[:n_classes] = np.arange(n_classes)
    return Table(f"test/{seed}", codes, labels.astype(np.int64), n_classes)


def ask(lam, depth=None):
    return Ask(lam=Fraction(lam), seconds=20.0, memory=4 * 2**30, depth=depth)


def loaded(name):
    adapter = ADAPTERS[name]
    if not adapter.available():
        pytest.skip(f"{adapter.package} is not installed (pip install '.[peers]')")
    adapter.load()
    return adapter


def test_gosdt_json_is_read_with_true_as_code_one():
    tree = {
        "feature": 3,
        "true": {"prediction": 1, "loss": 0.0, "complexity": 0.1},
        "false": {"prediction": 0, "loss": 0.0, "complexity": 0.1},
    }
    assert read_gosdt(json.dumps([tree]), [0, 2]) == [[3, 1, 2], [0], [2]]


def streed_leaf(label):
    return SimpleNamespace(is_leaf_node=lambda: True, label=label)


def test_streed_left_child_is_code_zero():
    root = SimpleNamespace(
        is_leaf_node=lambda: False,
        feature=4,
        left_child=streed_leaf(1),
        right_child=streed_leaf(0),
    )
    assert read_streed(root) == [[4, 1, 2], [1], [0]]


@pytest.mark.parametrize(
    ("lam", "splits"), [("0", 2), ("0.05", 2), ("0.1", 1), ("0.29", 1), ("0.3", 0), ("1", 0)]
)
def test_pruning_minimises_the_objective_with_fewest_splits(lam, splits):
    # Errors 5 at the root; its split leaves 0 + 2 of them, the second split 0 + 1.
    counts = np.array([[5, 5], [3, 0], [2, 5], [1, 0], [1, 5]])
    children = np.array([[1, 2], [-1, -1], [3, 4], [-1, -1], [-1, -1]])
    features = np.array([0, -2, 1, -2, -2])
    nodes = prune(features, children, counts, 10, Fraction(lam))
    assert sum(len(node) > 1 for node in nodes) == splits


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize(("seed", "n_classes"), [(0, 2), (1, 2), (2, 3)])
@pytest.mark.parametrize("lam", ["0.1", "0.03", "0.01"])
def test_peers_prove_what_ours_proves(name, seed, n_classes, lam):
    adapter, table = loaded(name), small_table(seed, n_classes)
    ours = loaded("branches").fit(table, ask(lam))
    best = score(ours.nodes, table, Fraction(lam))
    theirs = adapter.fit(table, ask(lam, best.depth if adapter.told else adapter.depth))
    found = score(theirs.nodes, table, Fraction(lam))
    assert (ours.status, theirs.status) == ("optimal", "optimal")
    assert found.objective == best.objective == ours.lower_bound
    assert theirs.claimed == pytest.approx(found.errors, abs=1e-3)
    if theirs.lower_bound is not None:
        assert theirs.lower_bound == pytest.approx(float(best.objective), abs=1e-5)


@pytest.mark.parametrize("name", [*PEERS, "branches"])
def test_constant_columns_do_not_shift_the_features(name):
    adapter, table = loaded(name), small_table(3, 2)
    codes = np.insert(table.codes, [0, 2], 0, axis=1)
    codes = np.insert(codes, 1, codes[:, 1], axis=1)
    wide = Table("test/wide", np.ascontiguousarray(codes), table.labels, 2)
    lam = Fraction("0.02")
    depth = 5 if adapter.told else adapter.depth
    plain = score(adapter.fit(table, ask(lam, depth)).nodes, table, lam)
    shifted = score(adapter.fit(wide, ask(lam, depth)).nodes, wide, lam)
    assert shifted.objective == plain.objective


def test_cart_is_no_better_than_proven_and_no_worse_than_a_leaf():
    table = small_table(4, 3)
    for lam in ("0.2", "0.05", "0.01", "0"):
        cart = score(loaded("cart").fit(table, ask(lam)).nodes, table, Fraction(lam))
        best = score(loaded("branches").fit(table, ask(lam)).nodes, table, Fraction(lam))
        leaf = score([[int(np.bincount(table.labels).argmax())]], table, Fraction(lam))
        assert best.objective <= cart.objective <= leaf.objective


def test_multiway_features_are_ours_alone():
    assert [name for name, adapter in ADAPTERS.items() if adapter.multiway] == ["branches", "paper"]
    table = Table("test/m", np.array([[0], [1], [2], [2]], np.int32), np.array([0, 1, 2, 2]), 3)
    assert not table.binary
    answer = loaded("branches").fit(table, ask("0.1"))
    assert score(answer.nodes, table, Fraction("0.1")).objective == Fraction("0.1")
