"""Tests of sweep/plan/task_keys.py."""

from __future__ import annotations

from typing import Any

import pytest

from sweep.plan.task_keys import KEY_COLUMNS, KeyMaker, allowed_trees, answers, canonical, task_key

ROW: dict[str, Any] = {
    "data_hash": "ab",
    "encoding": "onehot",
    "encoding_options": "{}",
    "fold": 1,
    "lam_exact": "1/100",
    "limits": '{"seconds":60.0}',
    "repeat": 0,
    "solver": "branches",
    "solver_options": '{"mode":"full"}',
    "solver_version": "1",
    "validation": '{"folds":5,"kind":"kfold","seed":0,"stratify":false}',
}


def test_a_key_is_fixed_for_ever() -> None:
    assert task_key(ROW) == "57b94507c4415fcf15dad2e14fcae5dc2e58c518f0e7af38a4de107cc022d29c"
    assert tuple(sorted(KEY_COLUMNS)) == KEY_COLUMNS


@pytest.mark.parametrize("column", KEY_COLUMNS)
def test_every_column_counts(column: str) -> None:
    other = 7 if column in ("fold", "repeat") else "other"
    assert task_key({**ROW, column: other}) != task_key(ROW)


def test_other_columns_do_not_count() -> None:
    assert task_key({**ROW, "host": "a", "status": "optimal"}) == task_key(ROW)


def test_the_quick_way_gives_the_same_keys() -> None:
    maker = KeyMaker(ROW)
    for lam in ("1/100", "0", "3/7"):
        for limits in ({}, {"seconds": 60.0}, {"bytes": 5, "depth": 3}):
            row = {**ROW, "lam_exact": lam, "limits": canonical(limits)}
            assert maker.key(lam, canonical(limits)) == task_key(row)


@pytest.mark.parametrize(
    "status, stored, wanted, answered",
    [
        ("optimal", {"seconds": 60}, {"seconds": 60}, True),
        ("optimal", {"seconds": 60}, {"seconds": 300}, True),
        ("optimal", {"seconds": 60}, {}, True),
        ("optimal", {}, {"seconds": 60}, False),
        ("optimal", {"seconds": 300}, {"seconds": 60}, False),
        ("heuristic", {"seconds": 60}, {"seconds": 300}, True),
        ("time_limit", {"seconds": 60}, {"seconds": 300}, False),
        ("time_limit", {"seconds": 60}, {}, False),
        ("time_limit", {"seconds": 60, "bytes": 1}, {"seconds": 60, "bytes": 2}, True),
        ("memory_limit", {"seconds": 60, "bytes": 1}, {"seconds": 90, "bytes": 1}, True),
        ("memory_limit", {"seconds": 60, "bytes": 1}, {"seconds": 60, "bytes": 2}, False),
        ("node_limit", {"nodes": 10}, {"nodes": 20}, False),
        ("optimal", {"depth": 3}, {"depth": 4}, False),
        ("optimal", {}, {"depth": 4}, False),
        ("error", {}, {}, False),
        ("killed", {"seconds": 1}, {"seconds": 2}, False),
        ("stopped", {}, {}, False),
    ],
)
def test_what_a_run_under_other_limits_answers(
    status: str, stored: dict[str, Any], wanted: dict[str, Any], answered: bool
) -> None:
    assert answers(status, stored, wanted) is answered


def test_rules_of_splits_say_which_trees_are_allowed() -> None:
    limits = {"seconds": 5, "splits": 2}
    axis = allowed_trees(limits, {"rules": "axis", "degree": 2})
    # Other solvers have these rules without saying so.
    assert axis == allowed_trees(limits, {}) == {"splits": 2}
    plane = allowed_trees(limits, {"rules": "hyperplane", "degree": 2})
    assert plane == allowed_trees(limits, {"rules": "hyperplane", "degree": 3})
    apart = [allowed_trees(limits, {"rules": "hyperplane", "margin": m}) for m in (0.005, 0.01)]
    curves = [allowed_trees(limits, {"rules": "polynomial", "degree": d}) for d in (2, 3)]
    assert len({str(one) for one in (axis, plane, *apart, *curves)}) == 6
