"""What rows say together: medians, contradictions, means, profiles."""

import json

import pytest

from benchmarks.compare_rows import by_cell, cactus, contradictions, profile, totals
from tests.helpers.benchmark_rows import made_up, open_row, skipped


def test_repeats_become_their_median():
    rows = [made_up("gosdt", repeat=k, counted_seconds=s) for k, s in enumerate((5.0, 1.0, 2.0))]
    result = by_cell(rows)["binary/toy", "1/100"]["gosdt"]
    assert (result.seconds, result.proven) == (2.0, True)


def test_one_repeat_without_a_proof_is_no_proof():
    rows = [made_up("gosdt"), open_row("gosdt", repeat=1)]
    result = by_cell(rows)["binary/toy", "1/100"]["gosdt"]
    assert not result.proven
    assert result.row["status"] == "time_limit"


def test_what_was_not_run_has_no_seconds():
    result = by_cell([skipped("gosdt")])["binary/toy", "1/100"]["gosdt"]
    assert (result.seconds, result.proven) == (None, False)


def test_two_provers_that_differ_are_named():
    rows = [
        made_up("branches"),
        made_up("gosdt", objective_exact="1/5"),
    ]
    (line,) = contradictions(rows)
    assert "binary/toy" in line
    assert "branches" in line
    assert "gosdt" in line


def test_a_better_tree_without_a_proof_contradicts_as_well():
    rows = [made_up("branches"), open_row("streed", objective_exact="6/25", objective=0.24)]
    assert len(contradictions(rows)) == 1


def test_agreement_other_problems_and_errors_are_no_contradiction():
    rows = [
        made_up("branches"),
        made_up("gosdt"),
        made_up("streed", lam_exact="1/50", objective_exact="1/5"),
        made_up("streed", file="binary/other", objective_exact="1/5"),
        made_up("streed-told", status="error", objective_exact="1/5"),
        skipped("paper"),
    ]
    assert contradictions(rows) == []


def test_a_solver_told_a_depth_is_held_to_trees_of_it():
    told = made_up("streed", settings=json.dumps({"depth": 2}))
    better = {"objective_exact": "1/5", "objective": 0.2}
    assert contradictions([told, open_row("branches", depth=3, **better)]) == []
    assert len(contradictions([told, open_row("branches", depth=2, **better)])) == 1


def test_a_float_bound_is_held_to_its_precision():
    other = made_up("branches")
    for bound, count in ((0.2500001, 0), (0.251, 1)):
        fields = {"lower_bound": bound, "objective_exact": "3/10", "objective": 0.3}
        assert len(contradictions([open_row("gosdt", **fields), other])) == count


def test_totals():
    rows = [
        made_up("branches", counted_seconds=1.0),
        open_row("gosdt", counted_seconds=60.0),
        made_up("branches", file="b", counted_seconds=4.0),
        made_up("gosdt", file="b", counted_seconds=1.0),
        made_up("branches", file="c"),
        skipped("gosdt", file="c"),
    ]
    ours, gosdt = totals(by_cell(rows), ["branches", "gosdt"], "branches")
    assert (ours.cells, ours.proven, ours.ratio) == (3, 3, pytest.approx(1.0))
    assert (gosdt.cells, gosdt.proven, gosdt.compared, gosdt.ours_slower) == (2, 1, 2, 1)
    assert gosdt.ratio == pytest.approx((60 * 0.25) ** 0.5)


def test_profile_and_cactus():
    rows = [
        made_up("branches", file="a", counted_seconds=1.0),
        made_up("gosdt", file="a", counted_seconds=10.0),
        made_up("branches", file="b", counted_seconds=6.0),
        made_up("gosdt", file="b", counted_seconds=3.0),
        open_row("branches", file="c"),
        open_row("gosdt", file="c"),
        made_up("branches", file="d", counted_seconds=2.0),
        open_row("gosdt", file="d"),
    ]
    curves = profile(by_cell(rows), ["branches", "gosdt"])
    assert curves["branches"] == [(1.0, 0.25), (1.0, 0.5), (2.0, 0.75)]
    assert curves["gosdt"] == [(1.0, 0.25), (10.0, 0.5)]
    assert cactus(by_cell(rows), ["gosdt"]) == {"gosdt": [(3.0, 1), (10.0, 2)]}
