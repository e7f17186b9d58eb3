"""The rule tables of car and nursery."""

from __future__ import annotations

from itertools import product

import pytest

from solver.errors import InputError
from sweep.datasets import rules


@pytest.mark.parametrize(
    "table, entries",
    [
        (rules.PRICE, 16),
        (rules.COMFORT, 36),
        (rules.TECH, 9),
        (rules.CAR_CLASS, 16),
        (rules.EMPLOY, 15),
        (rules.STRUCTURE, 16),
        (rules.STRUCT_FINAN, 18),
        (rules.SOC_HEALTH, 9),
        (rules.NURSERY_CLASS, 36),
    ],
)
def test_entries(table, entries):
    read = rules.read_table(table)
    assert len(read) == entries
    # A table is complete: every combination of the values of its arguments is there.
    arguments = [sorted(set(values)) for values in zip(*read, strict=True)]
    assert set(read) == set(product(*arguments))


def test_rules_by_example():
    car, nursery = rules.car_rule(), rules.nursery_rule()
    assert car("low", "low", "4", "4", "big", "high") == "vgood"
    assert car("low", "low", "4", "2", "big", "high") == "unacc"
    assert car("vhigh", "high", "4", "4", "big", "high") == "unacc"
    best = ("usual", "proper", "complete", "1", "convenient", "convenient", "nonprob")
    assert nursery(*best, "recommended") == "recommend"
    assert nursery(*best, "not_recom") == "not_recom"


def test_a_ragged_table_is_refused():
    with pytest.raises(InputError, match="the line 'x : 1' does not fit"):
        rules.read_table("a b\nx : 1")
