"""Compare sets of good trees with the enumeration of all trees, at every λ of many paths.

Usage: python -m tests.solver.rashomon.along_paths [PROBLEMS] [--first SEED]

At each breakpoint of a small random problem's λ-path, and between any two, the set is searched for
and compared: its trees one by one, its counts and shares, what its trees predict; and the answer of
the set of the smallest λ, where it has one.
"""

from __future__ import annotations

import argparse
import random
from contextlib import suppress
from fractions import Fraction

from solver import InputError, regularization_path
from tests.solver.rashomon.test_multiplicity import check_predictions
from tests.solver.rashomon.test_rashomon_set import LIMITS, as_problem, check, make_table

LAM_MIN = Fraction(1, 50)


def check_path(seed: int) -> tuple[int, int, int]:
    """Compare the sets of one problem; how many λ, trees, and answers without a search."""
    table, chance = make_table(seed), random.Random(seed)
    within, limits = Fraction(chance.choice(("0.05", "0.3", "0.6"))), LIMITS[seed % len(LIMITS)]
    path = regularization_path(as_problem(table), LAM_MIN, limits=limits)
    ends = sorted({LAM_MIN, *path.lams})
    between = [(a + b) / 2 for a, b in zip(ends, [*ends[1:], ends[-1] + LAM_MIN], strict=True)]
    sets, trees, answered = {}, 0, 0
    for lam in sorted([*ends, *between]):
        sets[lam] = found = check(table, lam, within, "relative", limits)
        check_predictions(table, found, limits)
        trees += found.n_trees
        with suppress(InputError):
            good = sets[LAM_MIN].at(lam)
            assert (good.optimum, {*good.histogram}) == (found.optimum, {*found.histogram})
            answered += 1
    return len(sets), trees, answered


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="?", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    totals = [0, 0, 0]
    for number in range(1, given.problems + 1):
        seed = given.first + number - 1
        try:
            totals = [a + b for a, b in zip(totals, check_path(seed), strict=True)]
        except AssertionError:
            print(f"seed {seed} differs")
            raise
        if number % 250 == 0 or number == given.problems:
            lams, trees, answered = totals
            print(
                f"{number} problems, {lams} λ, {trees} trees: all sets, counts, shares and", end=""
            )
            print(f" predictions equal; so do {answered} answers without a search", flush=True)


if __name__ == "__main__":
    main()
