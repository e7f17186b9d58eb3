"""The rule tables of car and nursery."""

from __future__ import annotations

from itertools import product

import pytest

from solver.errors import InputError
from sweep.datasets import car_and_nursery


@pytest.mark.parametrize(
    "table, entries",
    [
        (car_and_nursery.PRICE, 16),
        (car_and_nursery.COMFORT, 36),
        (car_and_nursery.TECH, 9),
        (car_and_nursery.CAR_CLASS, 16),
        (car_and_nursery.EMPLOY, 15),
        (car_and_nursery.STRUCTURE, 16),
        (car_and_nursery.STRUCT_FINAN, 18),
        (car_and_nursery.SOC_HEALTH, 9),
        (car_and_nursery.NURSERY_CLASS, 36),
    ],
)
def test_entries(table, entries):
    read = car_and_nursery.read_table(table)
    assert len(read) == entries
    # A table is complete: every combination of the values of its arguments is there.
    arguments = [sorted(set(values)) for values in zip(*read, strict=True)]
    assert set(read) == set(product(*arguments))


def test_rules_by_example():
    car, nursery = car_and_nursery.car_rule(), car_and_nursery.nursery_rule()
    assert car("low", "low", "4", "4", "big", "high") == "vgood"
    assert car("low", "low", "4", "2", "big", "high") == "unacc"
    assert car("vhigh", "high", "4", "4", "big", "high") == "unacc"
    best = ("usual", "proper", "complete", "1", "convenient", "convenient", "nonprob")
    assert nursery(*best, "recommended") == "recommend"
    assert nursery(*best, "not_recom") == "not_recom"


def test_a_ragged_table_is_refused():
    with pytest.raises(InputError, match="the line 'x : 1' does not fit"):
        car_and_nursery.read_table("a b\nx : 1")
