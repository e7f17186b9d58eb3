"""Cross-validation over exact paths, against an evaluation at many λ."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.report.data.exact_path_cross_validation import (
    Choice,
    FoldLosses,
    Interval,
    Score,
    choose,
    cross_validate,
    merge,
    score,
)

F = Fraction


@st.composite
def folds(draw: st.DrawFn) -> list[FoldLosses]:
    """Paths with few, often equal breakpoints and losses; the first may begin anywhere."""
    found = []
    for _ in range(draw(st.integers(1, 5))):
        starts = sorted(draw(st.sets(st.integers(0, 24), min_size=1, max_size=6)))
        losses = draw(st.lists(st.integers(0, 4), min_size=len(starts), max_size=len(starts)))
        found.append(
            FoldLosses([F(start, 48) for start in starts], [F(loss, 7) for loss in losses])
        )
    return found


def naive_loss(fold: FoldLosses, lam: Fraction) -> Fraction:
    """Test loss at a λ: the last step that has begun, looked for one by one."""
    found = None
    for start, loss in zip(fold.starts, fold.losses, strict=True):
        if start <= lam:
            found = loss
    assert found is not None
    return found


def holds(interval: Interval, lam: Fraction) -> bool:
    return interval.start <= lam and (interval.end is None or lam < interval.end)


def many_lams(given_folds: list[FoldLosses]) -> list[Fraction]:
    """A fine grid, with every breakpoint and λ just beside them."""
    first = max(fold.starts[0] for fold in given_folds)
    grid = {F(i, 480) for i in range(300)}
    near = {s + d for f in given_folds for s in f.starts for d in (F(-1, 10**6), 0, F(1, 10**6))}
    return sorted(lam for lam in grid | near if lam >= first)


@given(folds())
def test_means_and_errors_are_those_of_every_lambda(given_folds: list[FoldLosses]) -> None:
    intervals, scores = cross_validate(given_folds)
    assert [i.end for i in intervals] == [*(i.start for i in intervals[1:]), None]
    for lam in many_lams(given_folds):
        at = [i for i in intervals if holds(i, lam)]
        assert len(at) == 1
        losses = [naive_loss(fold, lam) for fold in given_folds]
        found = scores[intervals.index(at[0])]
        assert found.mean == sum(losses) / len(losses)
        if len(losses) == 1:
            assert found.error_squared is None
        else:
            assert found.error_squared == statistics.variance(losses) / len(losses)


@given(folds())
def test_the_choices_are_those_of_a_search_over_many_lambdas(given_folds: list[FoldLosses]) -> None:
    intervals, scores = cross_validate(given_folds)
    choice = choose(scores)
    lams = many_lams(given_folds)
    at = {lam: score([naive_loss(fold, lam) for fold in given_folds]) for lam in lams}
    least = min(found.mean for found in at.values())
    best = max(lam for lam in lams if at[lam].mean == least)
    assert holds(intervals[choice.minimum], best)
    squared = at[best].error_squared
    if squared is None:
        assert choice.one_se is None
        return
    largest = max(lam for lam in lams if (at[lam].mean - least) ** 2 <= squared)
    assert choice.one_se is not None
    assert holds(intervals[choice.one_se], largest)


def test_paths_are_cut_at_all_breakpoints_from_where_all_have_begun() -> None:
    found = merge([[F(1, 10), F(1, 4)], [F(1, 8), F(1, 5), F(1, 4)]])
    assert [(i.start, i.end) for i in found] == [
        (F(1, 8), F(1, 5)), (F(1, 5), F(1, 4)), (F(1, 4), None),
    ]  # fmt: skip
    assert [i.steps for i in found] == [(0, 0), (0, 1), (1, 2)]
    assert merge([]) == []


def test_the_standard_error_is_compared_without_rounding() -> None:
    # Losses 0 and 2/3: mean 1/3 and standard error exactly 1/3.
    least = score([F(0), F(2, 3)])
    assert least == Score(F(1, 3), F(1, 9))
    assert math.sqrt(least.error_squared or 0) == pytest.approx(1 / 3)
    tiny = F(1, 10**30)
    at, above = Score(F(2, 3), F(0)), Score(F(2, 3) + tiny, F(0))
    assert choose([least, at]) == Choice(0, 1)
    assert choose([least, above]) == Choice(0, 0)
    assert choose([least, above, at, above]) == Choice(0, 2)


def test_at_a_tie_the_larger_lambda_wins() -> None:
    same = Score(F(1, 4), F(0))
    assert choose([same, same, Score(F(1, 3), F(0))]) == Choice(1, 1)
    assert choose([Score(F(1, 4), None), Score(F(1, 4), None)]) == Choice(1, None)
