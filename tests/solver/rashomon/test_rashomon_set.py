"""Tests of solver/rashomon/rashomon_set.py against the enumeration of all trees."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from solver import InputError, Limits, Monitor, Problem, UnsupportedError
from solver.monitor import Snapshot
from solver.rashomon.build_graph import LimitError
from solver.rashomon.find_set import rashomon_set
from solver.rashomon.rashomon_set import RashomonSet
from solver.trees.tree import Shape, shape_of
from solver.verify.scorer import score
from tests import naive

Table = tuple[list[tuple[int, ...]], list[int], list[int], tuple[int, ...], int]


def make_table(seed: int) -> Table:
    """A small table with repeated rows, copies of features, weights, and codes that are absent."""
    chance = random.Random(seed)
    n_features, n_classes = chance.randint(1, 4), chance.randint(2, 3)
    arities = [chance.choice((2, 2, 2, 3)) for _ in range(n_features)]
    n = chance.randint(2, 8)
    codes = [[chance.randrange(a) for a in arities] for _ in range(n)]
    if chance.random() < 0.5:  # a copy or the complement of a feature
        feature, flipped = chance.randrange(n_features), chance.random() < 0.5
        arities.append(arities[feature])
        for row in codes:
            row.append(arities[feature] - 1 - row[feature] if flipped else row[feature])
    target = [chance.randrange(n_classes) for _ in range(n)]
    target[:2] = 0, 1
    weights = [chance.choice((1, 1, 2, 5)) for _ in range(n)]
    return [tuple(row) for row in codes], target, weights, tuple(arities), n_classes


def as_problem(table: Table) -> Problem:
    codes, target, weights, arities, n_classes = table
    return Problem.from_codes(
        codes, target, weights=weights, arities=arities, classes=range(n_classes)
    )


def good_trees(table: Table, lam: Fraction, most: Fraction, limits: Limits) -> list[naive.GoodTree]:
    """All trees whose objective is at most ``most``."""
    codes, target, weights, arities, n_classes = table
    counts = [
        [w if k == y else 0 for k in range(n_classes)] for y, w in zip(target, weights, strict=True)
    ]
    total = sum(weights)
    return naive.trees_within(
        codes, counts, arities, lam * total, most * total,
        depth=limits.depth, splits=limits.splits, min_leaf_size=int(limits.min_leaf_size or 1),
    )  # fmt: skip


def uses(shape: naive.Shape) -> set[int]:
    if isinstance(shape, int):
        return set()
    return {shape[0]}.union(*map(uses, shape[1]))


def check(table: Table, lam: Fraction, within: Fraction, unit: str, limits: Limits) -> RashomonSet:
    """Compare a set with the enumeration; return it."""
    found = rashomon_set(as_problem(table), lam, within, unit, limits=limits)
    total = sum(table[2])
    slack = {"relative": found.optimum, "objective": Fraction(1), "lam": lam}[unit] * within
    expected = good_trees(table, lam, found.optimum + slack, limits)
    assert min(tree.errors + lam * total * tree.splits for tree in expected) == (
        found.optimum * total
    )
    numbers = Counter((tree.errors, tree.splits) for tree in expected)
    assert {(c.errors, c.splits): c.trees for c in found.histogram} == numbers
    assert found.n_trees == len(found) == len(expected)
    check_trees(table, found, expected)
    shares = found.feature_shares().set_index("feature")
    for feature in range(len(table[3])):
        if f"x{feature}" in shares.index:
            row = shares.loc[f"x{feature}"]
            assert row["trees"] == sum(feature in uses(tree.shape) for tree in expected)
            roots = [tree.shape[0] for tree in expected if isinstance(tree.shape, tuple)]
            assert row["root_trees"] == roots.count(feature)
        else:
            assert not any(feature in uses(tree.shape) for tree in expected)
    return found


def check_trees(table: Table, found: RashomonSet, expected: list[naive.GoodTree]) -> None:
    """Compare the trees themselves: those that ask the first of features that are alike."""
    own = {test.name: place for place, test in enumerate(found.problem.tests)}
    places = [own.get(f"x{feature}") for feature in range(len(table[3]))]

    def renamed(shape: naive.Shape) -> Shape:
        if isinstance(shape, int):
            return -1
        place = places[shape[0]]
        assert place is not None
        return place, tuple(map(renamed, shape[1]))

    known = {f for f, place in enumerate(places) if place is not None}
    wanted = Counter(renamed(tree.shape) for tree in expected if uses(tree.shape) <= known)
    assert Counter(shape_of(tree) for tree in found.trees()) == wanted


LIMITS = (
    Limits(), Limits(depth=2), Limits(min_leaf_size=2), Limits(depth=3, min_leaf_size=3),
    Limits(splits=2), Limits(splits=3, depth=2), Limits(splits=4, min_leaf_size=2),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(150))
def test_equals_the_enumeration_of_all_trees(seed: int) -> None:
    chance = random.Random(seed)
    lam = Fraction(chance.choice(("0.02", "0.05", "1/7", "0.1", "0.31")))
    within = Fraction(chance.choice(("0", "0.05", "0.3", "1")))
    unit = chance.choice(("relative", "relative", "lam", "objective"))
    if unit == "objective":
        within /= 10
    found = check(make_table(seed), lam, within, unit, LIMITS[seed % len(LIMITS)])
    trees = list(islice(found.trees(), 400))
    objectives = [score(found.problem, tree, lam).objective for tree in trees]
    assert objectives == sorted(objectives)
    assert all(found.optimum <= objective <= found.most for objective in objectives)
    assert len({tree.to_json() for tree in trees}) == len(trees)


def make_larger_table(seed: int) -> Table:
    """A table whose best trees are deep, so that all bounds of the search come to use."""
    chance = random.Random(seed)
    n_features, n_classes = chance.randint(5, 7), chance.choice((2, 2, 3))
    arities = tuple(chance.choice((2, 2, 2, 3)) for _ in range(n_features))
    n = chance.randint(16, 40)
    codes = [tuple(chance.randrange(a) for a in arities) for _ in range(n)]
    target = [chance.randrange(n_classes) for _ in range(n)]
    target[:2] = 0, 1
    return codes, target, [chance.choice((1, 1, 1, 2)) for _ in range(n)], arities, n_classes


# In the last three a tree for one branch has leaves that are too small in a similar branch.
@pytest.mark.parametrize("seed", [*range(24), 29, 472, 1279])
def test_counts_of_larger_tables(seed: int) -> None:
    table, chance = make_larger_table(seed), random.Random(seed)
    codes, target, weights, arities, n_classes = table
    lam = Fraction(chance.choice(("0.005", "0.01", "0.02")))
    limits = Limits(
        min_leaf_size=None if seed % 3 == 0 else chance.choice((2, 3, 4)),
        depth=chance.choice((3, 4, 5)),
    )
    found = rashomon_set(as_problem(table), lam, "0.1", limits=limits)
    counts = [
        [w if k == y else 0 for k in range(n_classes)] for y, w in zip(target, weights, strict=True)
    ]
    total = sum(weights)
    expected = naive.count_within(
        codes, counts, arities, lam * total, found.most * total,
        depth=limits.depth, min_leaf_size=int(limits.min_leaf_size or 1),
    )  # fmt: skip
    assert {(c.errors, c.splits): c.trees for c in found.histogram} == expected
    assert min(e + lam * total * s for e, s in expected) == found.optimum * total


@pytest.mark.parametrize("seed", range(40))
def test_a_set_holds_those_of_larger_lambdas(seed: int) -> None:
    table, lam = make_table(seed), Fraction("0.03")
    found, answered = rashomon_set(as_problem(table), lam, "0.5"), 0
    for factor in ("1", "1.1", "1.5", "3", "20"):
        price = lam * Fraction(factor)
        with suppress(InputError):  # not all of them were counted
            good = found.at(price)
            again = rashomon_set(as_problem(table), price, "0.5")
            assert (good.optimum, good.n_trees) == (again.optimum, again.n_trees)
            assert set(good.histogram) == set(again.histogram)
            for by in ("feature", "column"):
                shares = found.feature_shares(by, price).sort_values(by, ignore_index=True)
                anew = again.feature_shares(by).sort_values(by, ignore_index=True)
                pd.testing.assert_frame_equal(shares, anew)
            answered += 1
    assert answered >= 1


def cube(n_features: int) -> Problem:
    """All combinations of binary features once, with labels that look random."""
    rows = np.arange(2**n_features)
    codes = (rows[:, None] >> np.arange(n_features)) & 1
    return Problem.from_codes(codes, np.random.default_rng(1).integers(0, 2, len(rows)))


def trees_of_cube(depth: int, features: int) -> int:
    """In a cube every feature that a path has not used splits every branch."""
    if depth == 0 or features == 0:
        return 1
    return 1 + features * trees_of_cube(depth - 1, features - 1) ** 2


def test_counts_beyond_64_bits() -> None:
    """All trees of a depth at λ = 0: a number that a formula tells."""
    found = rashomon_set(cube(7), 0, 1, "objective", limits=Limits(depth=5))
    assert found.n_trees == trees_of_cube(5, 7) > 2**64
    assert sum(cell.trees for cell in found.histogram) == found.n_trees
    shares = found.feature_shares()
    roots = 7 * trees_of_cube(4, 6) ** 2
    assert shares["root_trees"].tolist() == [roots // 7] * 7
    # Trees without a feature are those of the cube of the others, cut off below depth 5.
    without = trees_of_cube(5, 6)
    assert shares["trees"].tolist() == [found.n_trees - without] * 7


def test_samples_are_uniform_and_repeat_with_their_seed() -> None:
    found = rashomon_set(cube(3), "0.05", "0.5", limits=Limits(depth=3))
    all_trees = [tree.to_json() for tree in found.trees()]
    assert len(all_trees) == found.n_trees == len(set(all_trees)) > 10
    drawn = Counter(tree.to_json() for tree in found.sample(60 * found.n_trees, seed=3))
    assert set(drawn) == set(all_trees)
    assert all(25 <= times <= 110 for times in drawn.values())
    again = found.sample(5, seed=3)
    assert [t.to_json() for t in again] == [t.to_json() for t in found.sample(5, seed=3)]


@pytest.mark.parametrize(
    ("name", "lam", "depth", "trees", "best", "budget"),
    [
        ("binary/compas-binary", "35/6907", 4, 486_628, 2_461, 2_584),
        ("encoded/tic-tac-toe-f", "10/958", 4, 6_680, 250, 263),
        ("encoded/nursery-f", "130/12960", 6, 3_762, 3_080, 3_234),
        ("binary/heart-cleveland", "6/296", 4, 496, 76, 80),
    ],
)
def test_counts_are_those_of_praxis(
    shared_data: Path, name: str, lam: str, depth: int, trees: int, best: int, budget: int
) -> None:
    """What tree-praxis 0.0.30 counts: ``lookahead_k`` is the depth − 1, ``majority_leaf_only``.

    It prices leaves, so ``best`` is the errors and λ·n for each leaf, and rounds 1.05 times that.
    """
    frame = pd.read_parquet(shared_data / f"{name}.parquet")
    target = "class" if "class" in frame else frame.columns[-1]
    codes = frame.drop(columns=[target]).to_numpy(np.int64)
    problem = Problem.from_codes(codes, pd.factorize(frame[target], sort=True)[0])
    most = Fraction(budget, len(frame))
    found = rashomon_set(problem, lam, 0, limits=Limits(depth=depth))
    price = Fraction(lam)
    assert (found.optimum + price) * len(frame) == best
    slack = most - price - found.optimum
    assert rashomon_set(problem, lam, slack, "objective", limits=Limits(depth=depth)).n_trees == (
        trees
    )


def test_refusals() -> None:
    problem = cube(3)
    numbers = Problem.from_codes([[0], [1]], [0.5, 1.5], task="regression")
    ordered = Problem.from_codes([[0], [1], [2]], [0, 1, 0], ordered=True)
    weighted = Problem.from_codes([[0], [1]], [0, 1], weights=[1 / 3, 1 / 7])
    with pytest.raises(UnsupportedError, match="not for regression"):
        rashomon_set(numbers, "0.1")
    with pytest.raises(UnsupportedError, match="encode numbers with 'thresholds'"):
        rashomon_set(ordered, "0.1")
    with pytest.raises(InputError, match="give a limit on depth or splits"):
        rashomon_set(problem, 0)
    with pytest.raises(InputError, match="unit = 'share' is none of relative, objective, lam"):
        rashomon_set(problem, "0.1", unit="share")
    with pytest.raises(InputError, match="within = -1 must be a number of 0 or more"):
        rashomon_set(problem, "0.1", -1)
    with pytest.raises(InputError, match="below 1/10, where the set begins"):
        rashomon_set(problem, "0.1").at("0.05")
    with pytest.raises(InputError, match=r"beyond 64 bits|fewer digits"):
        rashomon_set(problem, "0.1234567890123456789012345")
    with pytest.raises(InputError, match="the weights have too many digits"):
        rashomon_set(weighted, "0.1")


def test_limits_end_the_search_with_a_remedy() -> None:
    problem = cube(7)
    with pytest.raises(InputError, match="raise the limit, take a larger λ"):
        rashomon_set(problem, "0.01", "1", limits=Limits(nodes=1200))
    with pytest.raises(InputError, match="raise the limit"):
        rashomon_set(problem, "0.01", "1", limits=Limits(bytes=300_000))


def test_a_limit_leaves_the_whole_set_of_a_smaller_tolerance() -> None:
    chance = np.random.default_rng(2)
    codes = chance.integers(0, 2, (80, 10))
    labels = codes[:, 0] + codes[:, 1] * codes[:, 2] + chance.integers(0, 2, 80) > 1
    problem = Problem.from_codes(codes, labels.astype(int))
    answers = []
    for nodes in (100, 600, 3000, 10**6):
        limits = Limits(depth=5, nodes=nodes)
        found = rashomon_set(problem, "0.02", "0.4", limits=limits, anytime=True)
        assert found.asked == Fraction("0.4")
        assert found.complete == (found.within == found.asked)
        assert found.status == ("optimal" if found.complete else "node_limit")
        smaller = rashomon_set(problem, "0.02", found.within, limits=Limits(depth=5))
        assert found.histogram == smaller.histogram
        assert found.feature_shares().equals(smaller.feature_shares())
        assert found.multiplicity == smaller.multiplicity
        answers.append(found.within / found.asked)
    assert answers == [0, Fraction(1, 4), Fraction(1, 2), 1]
    with pytest.raises(LimitError, match="raise the limit") as ended:
        rashomon_set(problem, "0.02", "0.4", limits=Limits(depth=5, nodes=3000))
    assert ended.value.status == "node_limit"


@pytest.mark.parametrize("seed", range(30))
def test_smaller_tolerances_first_change_nothing(seed: int) -> None:
    problem = as_problem(make_larger_table(seed))
    found = rashomon_set(problem, "0.02", "0.2", anytime=True)
    assert found.complete
    assert found.histogram == rashomon_set(problem, "0.02", "0.2").histogram


def test_the_search_tells_how_far_it_is() -> None:
    told: list[Snapshot] = []
    found = rashomon_set(cube(6), "0.01", "1", monitor=Monitor(snapshot=told.append, interval=0))
    last = told[-1]
    assert last.objective == last.lower_bound == found.optimum
    assert last.nodes > 0


def test_it_can_be_stopped_at_any_time() -> None:
    def stopped_after(calls: int) -> bool:
        left = iter([False] * calls)
        try:
            rashomon_set(cube(6), "0.01", "1", monitor=Monitor(stop=lambda: next(left, True)))
        except InputError as error:
            assert "stopped" in str(error)  # noqa: PT017
            return True
        return False

    ends = [stopped_after(calls) for calls in (0, 1, 2, 3, 5, 8, 13, 10_000)]
    assert ends == sorted(ends, reverse=True)
    assert (ends[0], ends[3], ends[-1]) == (True, True, False)


@pytest.mark.parametrize("codes", [[()], [(), ()], [(0,), (0,)], [(0,), (1,)]])
def test_tables_with_next_to_nothing(codes: list[tuple[int, ...]]) -> None:
    labels = list(range(len(codes)))
    problem = Problem.from_codes(codes, labels, classes=range(2))
    found = rashomon_set(problem, "1.5", "0.5")
    assert (found.n_trees, found.histogram[0].splits) == (1, 0)
    assert [tree.splits for tree in found.trees()] == [0]
    assert set(found.feature_shares()["trees"]) <= {0}


def test_a_share_is_one_of_all_trees_only_however_many_there_are() -> None:
    """Parity of three columns, two of which are there 600 times, and the tree without a split."""
    rows = [*itertools.product((0, 1), repeat=3)]
    codes = [[z, *[a] * 600, *[b] * 600] for z, a, b in rows]
    found = rashomon_set(Problem.from_codes(codes, [sum(row) % 2 for row in rows]), "1/14", 0)
    first = found.feature_shares().iloc[0]
    assert (first["feature"], first["trees"]) == ("x0", found.n_trees - 1)
    assert found.n_trees > 2**53
    assert 0.999 < first["share"] < 1


def test_costs_of_too_many_values_are_refused_before_they_take_the_memory() -> None:
    frame = pd.DataFrame({"a": list("bccca"), "y": list("ababc")})
    weights = [6.5, 370, 80, 7.3e-05, 22000]
    problem = Problem.from_table(frame, "y", "onehot", weights=weights)
    with pytest.raises(InputError, match="costs may take too many values"):
        rashomon_set(problem, "0.01", "1", "objective", limits=Limits(depth=2))
