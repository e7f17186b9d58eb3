"""Certificates as the search writes them; whether they are accepted is tested with the checker."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver import InputError, Limits, Problem, get_solver
from solver.monitor import Monitor
from solver.verify.certificate import Certificate, Claim
from solver.verify.certificate_checker import VERSION, Refused, check
from tests.helpers.random_examples import examples
from tests.helpers.strategies import Table, cost_scale, tables

XOR = Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])


def certify(problem: Problem, *claims: Claim, limits: Limits | None = None) -> Certificate:
    certificate = get_solver("branches")().certify(problem, claims, limits)
    assert isinstance(certificate, Certificate)
    return certificate


@settings(max_examples=examples(200), deadline=None)
@given(table=tables(max_rows=24, max_features=6), data=st.data())
def test_every_optimum_is_certified(table: Table, data: st.DataObject) -> None:
    problem, lam = table.problem(), data.draw(cost_scale(sum(table.weights)))
    limits = Limits(depth=data.draw(st.none() | st.integers(0, 4)))
    best = table.optimum(lam, limits)
    solution = solver.solve(problem, lam, limits=limits)
    claim = Claim(lam, solution.errors, solution.splits)
    made = certify(problem, claim, limits=limits)
    proven = check(problem.codes, problem.arities, problem.counts, made.columns(), made.meta)
    assert proven == {lam: best.objective}


@settings(max_examples=examples(100), deadline=None)
@given(table=tables(max_rows=16, max_features=5), data=st.data())
def test_no_tree_that_is_not_optimal_is_certified(table: Table, data: st.DataObject) -> None:
    """One error more than the optimum has: no script leads there, and a longer claim is refused."""
    problem, lam = table.problem(), data.draw(cost_scale(sum(table.weights)))
    solution = solver.solve(problem, lam)
    with pytest.raises(InputError, match="not optimal"):
        certify(problem, Claim(lam, solution.errors + 1, solution.splits))
    columns = certify(problem, Claim(lam, solution.errors, solution.splits)).columns()
    columns["bound"][0] += 1
    meta = {
        "format": "treesweep-certificate",
        "version": VERSION,
        "depth": None,
        "total_weight": problem.total_weight,
    }
    with pytest.raises(Refused) as refusal:
        check(problem.codes, problem.arities, problem.counts, columns, meta)
    assert refusal.value.row == 0


def test_a_path_is_one_certificate() -> None:
    lams = (Fraction(1, 10), Fraction(1, 6), Fraction(1, 2))
    claims = [Claim(lam, s.errors, s.splits) for lam in lams if (s := solver.solve(XOR, lam))]
    made = certify(XOR, *claims)
    assert [made.lam[i] for i in range(len(made)) if made.level[i] == 0] == ["1/10", "1/6", "1/2"]
    proven = check(XOR.codes, XOR.arities, XOR.counts, made.columns(), made.meta)
    assert proven == {lam: solver.solve(XOR, lam).objective for lam in lams}


def test_at_no_price_one_row_tells_the_unavoidable_errors() -> None:
    contradictory = Problem.from_codes([[0], [0], [1]], [0, 1, 1])
    made = certify(contradictory, Claim(Fraction(0), 1, 1))
    assert made.bound.tolist() == [1]
    assert made.columns()["rule"] == ["counts"]


@pytest.mark.parametrize("limits", [Limits(splits=1), Limits(min_leaf_size=2)])
def test_limits_that_no_certificate_covers(limits: Limits) -> None:
    with pytest.raises(InputError, match="covers a limit on depth"):
        certify(XOR, Claim(Fraction(1, 10), 0, 3), limits=limits)


@pytest.mark.parametrize("weight, fits", [(2**30 - 2, True), (2**30, False), (2**31, False)])
def test_what_the_checker_cannot_count_is_not_written(weight: int, fits: bool) -> None:
    problem = Problem.from_codes([[0], [1]], [0, 1], weights=[weight // 2 - 1, weight // 2 + 1])
    lam = Fraction(1, weight)
    if not fits:
        with pytest.raises(InputError, match="too many digits for a certificate"):
            certify(problem, Claim(lam, 0, 1))
        return
    made = certify(problem, Claim(lam, 0, 1))
    proven = check(problem.codes, problem.arities, problem.counts, made.columns(), made.meta)
    assert proven == {lam: lam}


def test_a_proof_can_be_stopped() -> None:
    big = Problem.from_codes(
        [[i >> b & 1 for b in range(9)] for i in range(512)], ([0, 1, 1] * 171)[:512]
    )
    stop = Monitor(stop=lambda: True)
    solution = solver.solve(big, "0.002", limits=Limits(nodes=50))
    with pytest.raises(InputError, match="stopped"):
        get_solver("branches")().certify(
            big, [Claim(Fraction(1, 500), solution.errors, solution.splits)], monitor=stop
        )
