"""Datasets with encodings and λ of their own."""

from __future__ import annotations

import pytest

from solver.errors import InputError
from sweep.plan.plan import make_plan
from sweep.spec.spec import parse_spec
from sweep.worker.tasks import load

SPEC = """
name: own-axes
datasets:
  - {name: monks-1, lambdas: [0.1, {per-row: 2}]}
  - {name: monks-2, encodings: [onehot, onehot-drop-first], lambdas: 0.02}
  - monks-3
encodings: [categorical]
lambdas: [0.01]
solvers: [branches]
"""


def test_a_dataset_may_have_encodings_and_lambdas_of_its_own() -> None:
    plan = make_plan(parse_spec(SPEC))
    cells = {
        (task.node.info.dataset, task.node.encoding.name, str(task.lam.exact))
        for task in plan.tasks()
    }
    assert cells == {
        ("monks-1", "categorical", "1/10"),
        ("monks-1", "categorical", "1/216"),
        ("monks-2", "onehot", "1/50"),
        ("monks-2", "onehot-drop-first", "1/50"),
        ("monks-3", "categorical", "1/100"),
    }


def test_a_dataset_that_has_its_own_axes_is_the_same_dataset() -> None:
    own = make_plan(parse_spec(SPEC)).nodes[0]
    assert load(own.reference, own.info.data_hash).frame.shape == (432, 7)
    plain = SPEC.replace("{name: monks-1, lambdas: [0.1, {per-row: 2}]}", "monks-1")
    keys = {task.key for task in make_plan(parse_spec(plain.replace("[0.01]", "[0.1]"))).tasks()}
    assert next(iter(make_plan(parse_spec(SPEC)).tasks())).key in keys


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ("lambdas: [-1]", ["line 4", "-1"]),
        ("lambdas: []", ["line 4", "empty"]),
        ("encodings: [one-hot]", ["line 4", "one-hot", "onehot"]),
        ("lambda: [0.1]", ["line 4", "lambda", "lambdas"]),
    ],
)
def test_they_are_checked_like_the_sweeps(own: str, words: list[str]) -> None:
    text = SPEC.replace("lambdas: [0.1, {per-row: 2}]", own)
    with pytest.raises(InputError) as caught:
        parse_spec(text)
    assert all(word in str(caught.value) for word in words), caught.value


@pytest.mark.parametrize("key", ["encodings", "lambdas"])
def test_a_sweep_needs_no_axis_that_each_dataset_has(key: str) -> None:
    line = {"encodings": "encodings: [categorical]\n", "lambdas": "lambdas: [0.01]\n"}[key]
    own = SPEC.replace("{name: monks-1,", "{name: monks-1, encodings: categorical,")
    two = own.replace("  - monks-3\n", "")
    keys = [
        {task.key for task in make_plan(parse_spec(text)).tasks()}
        for text in (two, two.replace(line, ""))
    ]
    assert keys[0] == keys[1]
    with pytest.raises(InputError, match=f"'{key}' is missing.* 'monks-3' has none of its own"):
        parse_spec(own.replace(line, ""))
