"""Tests of sweep/plan/auto_choices.py."""

from __future__ import annotations

import pytest

from solver.errors import InputError
from sweep.plan.plan import Plan, make_plan
from sweep.spec.spec import parse_spec

SPEC = """\
name: small
datasets: [monks-1, iris, wine, diabetes]
encodings: {encodings}
lambdas: 0.1
solvers: {solvers}
"""


def plan(encodings: str, solvers: str) -> Plan:
    return make_plan(parse_spec(SPEC.format(encodings=encodings, solvers=solvers)))


def cells(found: Plan) -> list[tuple[str, str, str]]:
    return [(b.node.info.dataset, b.node.encoding.name, b.solver.name) for b in found.blocks]


def test_both_are_chosen_for_the_dataset() -> None:
    found = plan("auto", "auto")
    assert cells(found) == [
        ("monks-1", "onehot", "branches"),
        ("iris", "thresholds", "branches"),
        ("wine", "quantiles", "branches"),
        ("diabetes", "continuous", "quantbnb"),
    ]
    assert found.impossible == []
    assert [block.solver.limits for block in found.blocks] == [{}, {}, {}, {"depth": 2}]
    assert found.blocks[2].node.encoding.options == {"k": 8}


def test_an_encoding_is_chosen_for_each_solver() -> None:
    found = plan("auto", "[branches, cart, {solver: quantbnb, options: {depth: 2}}]")
    assert [cell for cell in cells(found) if cell[0] == "iris"] == [
        ("iris", "thresholds", "branches"),
        ("iris", "continuous", "cart"),
        ("iris", "continuous", "quantbnb"),
    ]


def test_a_solver_is_chosen_for_the_encoding_and_keeps_what_the_entry_says() -> None:
    found = plan("[continuous, mdlp]", "{solver: auto, lam: path, options: {seconds: 4, depth: 3}}")
    assert [cell[1:] for cell in cells(found) if cell[0] == "iris"] == [
        ("continuous", "quantbnb"),
        ("mdlp", "branches"),
    ]
    for block in found.blocks:
        assert block.solver.limits == {"seconds": 4.0, "depth": 3}
        assert block.solver.options["lam"] == "path"


def test_a_chosen_cell_is_the_same_task_as_a_named_one() -> None:
    named = plan("thresholds", "branches")
    assert [t.key for t in plan("auto", "auto").tasks()][1] in {t.key for t in named.tasks()}
    both = plan("[auto, thresholds]", "[auto, branches]")
    keys = [task.key for task in both.tasks()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("encodings", "solvers", "message"),
    [
        ("{encoding: auto, k: 3}", "auto", "encoding 'auto' has no options; name one of"),
        ("auto", "{solver: auto, proof: true}", "solver 'auto' cannot give a proof"),
        ("auto", "{solver: auto, shards: 2}", "solver 'auto' cannot do a task in shards"),
        ("auto", "{solver: auto, ablate: all}", "solver 'auto' has no switches to ablate"),
        ("auto", "{solver: auto, options: {mode: full}}", "unknown option 'mode'"),
    ],
)
def test_what_needs_a_name_is_refused(encodings: str, solvers: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(encodings, solvers)
