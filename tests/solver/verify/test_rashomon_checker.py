"""Tests of solver/verify/rashomon_checker.py."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from solver import Problem
from solver.rashomon.find_set import rashomon_set
from solver.rashomon.rashomon_set import RashomonSet, copies
from solver.verify.certificate_checker import Refused
from solver.verify.rashomon_checker import Rules, Subproblem, recount
from tests.solver.rashomon.test_rashomon_set import LIMITS, as_problem, make_table


def rows(found: RashomonSet) -> list[Subproblem]:
    graph, arities = found.graph, found.problem.arities.tolist()
    first = at = 0
    listed = []
    for end in graph.ends.tolist():
        features = graph.feature[first:end].tolist()
        size = sum(arities[feature] for feature in features)
        listed.append(Subproblem(features, graph.children[at : at + size].tolist()))
        first, at = end, at + size
    return listed


def rules_of(found: RashomonSet, **other: Any) -> Rules:
    rules = Rules(found.lam, found.most, None, None, 1, copies(found.problem).tolist())
    return rules._replace(**other)


@pytest.mark.parametrize("seed", range(40))
def test_equals_the_count_of_the_search(seed: int) -> None:
    lam = Fraction(random.Random(seed).choice(("0.02", "0.05", "1/7")))
    limits = LIMITS[seed % len(LIMITS)]
    found = rashomon_set(as_problem(make_table(seed)), lam, "0.3", limits=limits)
    rules = rules_of(
        found,
        depth=limits.depth,
        splits=limits.splits,
        min_leaf_size=int(limits.min_leaf_size or 1),
    )
    numbers = {(cell.errors, cell.splits): cell.trees for cell in found.histogram}
    assert recount(found.problem, rows(found), rules) == numbers


@pytest.fixture(scope="module")
def xor() -> RashomonSet:
    codes = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    target = [a ^ b for a, b, _ in codes]
    return rashomon_set(Problem.from_codes(codes, target), "0.01", "0.5")


Change = Callable[[list[Subproblem]], Any]


def change(at: int, **values: Any) -> Change:
    def apply(graph: list[Subproblem]) -> None:
        graph[at] = graph[at]._replace(**values)

    return apply


def twice(graph: list[Subproblem]) -> None:
    root = graph[0]
    graph[0] = root._replace(
        features=[*root.features, root.features[0]], children=[*root.children, *root.children[:2]]
    )


def swapped(graph: list[Subproblem]) -> None:
    first, second, *others = graph[0].children
    graph[0] = graph[0]._replace(children=[second, first, *others])


@pytest.mark.parametrize(
    "alter, message",
    [
        (twice, "a split twice"),
        (swapped, "different rows for one|divide its rows|not that of|leads to"),
        (change(0, features=[9]), "a feature that is not there"),
        (change(0, children=[1]), "not as many children"),
        (change(0, children=[0] * 4), "not in their order"),
        (change(0, features=[], children=[]), "no split leads to"),
        (lambda graph: graph.append(graph[-1]), "no split leads to"),
        (lambda graph: graph.pop(), "not in their order"),
    ],
)
def test_a_changed_graph_is_refused(xor: RashomonSet, alter: Change, message: str) -> None:
    graph = rows(xor)
    assert sum(recount(xor.problem, graph, rules_of(xor)).values()) == xor.n_trees
    alter(graph)
    with pytest.raises(Refused, match=message):
        recount(xor.problem, graph, rules_of(xor))


@pytest.mark.parametrize(
    "rules, message",
    [
        ({"depth": 1}, "deeper than the limit|different rows"),
        ({"min_leaf_size": 3}, "smaller than the limit"),
        ({"most": Fraction("0.01")}, "no tree is good"),
    ],
)
def test_a_graph_of_another_question_is_refused(
    xor: RashomonSet, rules: dict[str, Any], message: str
) -> None:
    with pytest.raises(Refused, match=message):
        recount(xor.problem, rows(xor), rules_of(xor, **rules))
