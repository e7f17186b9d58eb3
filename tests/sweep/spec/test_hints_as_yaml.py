"""Tests of sweep/spec/hints_as_yaml.py."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from solver.features.category_values import remedy
from sweep.spec.hints_as_yaml import find_overrides, in_dict, in_yaml

WISH = {"kind": "number", "missing": ["?", "it's}"]}


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("a}b")
@example("it's")
@example('say "no"')
@example("columns={'a': 'drop'}")
def test_every_word_of_a_remedy_comes_back(name: str) -> None:
    message = f"column is bad; {remedy(name, WISH, 'drop')}."
    assert [(o.name, o.wish) for o in find_overrides(message)] == [(name, WISH), (name, "drop")]
    first, second = in_yaml(message).removesuffix(".").split("write ", 1)[1].rsplit(" or ", 1)
    for text, wish in ((first, WISH), (second, "drop")):
        assert yaml.safe_load(f"{{{text}}}") == {"columns": {name: wish}}
    last = in_dict(message).removesuffix(".").rsplit(" or ", 1)[1]
    assert eval(f"{{{last}}}") == {"columns": {name: "drop"}}


@pytest.mark.parametrize(
    ("write", "wanted"),
    [(in_yaml, "write e.g. limits: {depth: 2}"), (in_dict, "write e.g. 'limits': {'depth': 2}")],
)
def test_a_limit_is_named_in_the_words_of_the_file(write: Any, wanted: str) -> None:
    assert write("write e.g. limits=treesweep.Limits(depth=2)") == wanted
    assert write("nothing to do") == "nothing to do"
