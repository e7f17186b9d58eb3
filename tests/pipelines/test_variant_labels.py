"""Names of choices that differ in their options only."""

from __future__ import annotations

from pipelines.variant_labels import telling_options
from solver.catalogue import SOLVERS


def test_a_choice_alone_needs_no_options() -> None:
    assert telling_options("cart", {"criterion": "gini"}, [{"criterion": "gini"}]) == []


def test_one_or_two_options_are_said_for_every_choice() -> None:
    gini, entropy = {"criterion": "gini", "seed": 0}, {"criterion": "entropy", "seed": 0}
    assert telling_options("cart", gini, [gini, entropy]) == ["criterion=gini"]
    deep = entropy | {"depth": 3}
    assert telling_options("cart", gini, [gini, deep]) == ["criterion=gini", "depth=none"]


def test_of_many_options_only_those_unlike_the_default_are_said() -> None:
    usual = {name: option.default for name, option in SOLVERS["branches"].options.items()}
    changes = [{}, {"slack": 0}, {"pairs": False}, {"memo": "literals"}, {"depth": 3}]
    choices = [usual | change for change in changes]
    assert [telling_options("branches", own, choices) for own in choices] == [
        ["defaults"],
        ["slack=0"],
        ["pairs=false"],
        ["memo=literals"],
        ["depth=3"],
    ]


def test_all_options_of_an_unknown_solver_are_said() -> None:
    choices = [{"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2, "c": 2}]
    assert telling_options("unknown", choices[0], choices) == ["a=1", "b=1", "c=1"]


def test_numbers_and_booleans_are_not_mixed_up() -> None:
    choices = [{"k": 1}, {"k": True}]
    assert telling_options("unknown", choices[0], choices) == ["k=1"]


def test_requests_are_said_where_they_tell_choices_apart() -> None:
    plain, proof = {"criterion": "gini"}, {"criterion": "gini", "proof": True}
    good = plain | {"rashomon": {"within": "1/20", "unit": "relative"}}
    wide = plain | {"rashomon": {"within": "2", "unit": "lam"}}
    divided = plain | {"shards": 2}
    choices = [plain, proof, good, wide]
    assert [telling_options("cart", own, choices) for own in choices] == [
        [],
        ["proof"],
        ["rashomon 1/20 relative"],
        ["rashomon 2 lam"],
    ]
    assert telling_options("cart", good, [good]) == []
    assert telling_options("cart", divided, [plain, divided]) == ["2 shards"]
    assert telling_options("cart", plain, [plain, divided]) == ["1 shard"]
