"""A λ-path of Quant-BnB is the same with bounds of other λ as without, and takes less work."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from solver import Limits, Monitor, Path, Problem, Snapshot, Status
from solver import regularization_path as find
from solver.errors import StateError
from solver.kernels.constants import Ints
from solver.kernels.jit import kernel
from solver.lambda_series import Series
from solver.path.path_search import find_path
from solver.quantbnb import QuantBnB
from solver.quantbnb.classification.carried_bounds import CARRIED, Archive, Known, part_cost
from solver.quantbnb.classification.path_engine import QuantPathEngine
from solver.quantbnb.classification.state import Params, Part, Sweep, Table
from solver.quantbnb.solver import _Carrying, _CarryingSeries
from tests.helpers.random_examples import examples
from tests.naive import least_numeric_cost

State = dict[str, NDArray[Any]]


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Kernels are compiled once."""
    QuantBnB.warm_up()


def numbers(rows: int, features: int, seed: int, most: int = 30, classes: int = 2) -> Problem:
    """Classes that depend on two of the numbers, with noise and weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, most, (rows, features))
    labels = (codes[:, 0] * classes // most + (codes[:, -1] > most // 2)) % classes
    noise = rng.random(rows) < 0.15
    labels = np.where(noise, rng.integers(0, classes, rows), labels)
    return Problem.from_codes(codes, labels, weights=rng.integers(1, 4, rows), ordered=True)


def drawn(data: st.DataObject, most_rows: int = 60) -> Problem:
    return numbers(
        data.draw(st.integers(2, most_rows)),
        data.draw(st.integers(1, 3)),
        data.draw(st.integers(0, 10**6)),
        data.draw(st.integers(2, 40)),
        data.draw(st.integers(2, 5)),
    )


def plain(problem: Problem, lam: Fraction, limits: Limits) -> Path:
    """The path without carrying."""
    return find_path(problem, lam, Series(QuantBnB(), problem), limits)


def series_of(problem: Problem) -> _CarryingSeries:
    series = QuantBnB().series(problem)
    assert isinstance(series, _CarryingSeries)
    return series


def engine_of(series: _CarryingSeries) -> QuantPathEngine:
    assert isinstance(series.solver, _Carrying)
    engine = series.solver.engine
    assert engine is not None
    return engine


def summary(path: Path) -> dict[str, Any]:
    """All of a path but times and memory."""
    found = path.to_dict()
    for name in ("seconds", "compile_seconds", "peak_bytes"):
        del found[name]
    return found


def lines(path: Path) -> list[tuple[Any, ...]]:
    return [(step.start, step.end, step.errors, step.splits, step.proven) for step in path.steps]


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_the_path_is_that_of_solves_that_know_nothing_of_each_other(data: st.DataObject) -> None:
    problem = drawn(data)
    lam = Fraction(data.draw(st.integers(0, 20)), 400)
    smallest = data.draw(st.sampled_from([None, None, 2, 5]))
    limits = Limits(depth=data.draw(st.integers(0, 4)), min_leaf_size=smallest)
    path = find(problem, lam, "quantbnb", limits)
    assert path.status is Status.OPTIMAL
    assert lines(path) == lines(plain(problem, lam, limits))
    assert all(step.tree.depth <= (limits.depth or 0) for step in path.steps)


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_goes_on_from_any_state_and_after_any_stop(data: st.DataObject) -> None:
    problem, lam = drawn(data), Fraction(data.draw(st.integers(1, 8)), 400)
    limits = Limits(
        depth=data.draw(st.integers(1, 3)),
        splits=data.draw(st.sampled_from([None, None, None, 3])),
        nodes=data.draw(st.sampled_from([None, None, 20])),
    )
    more: dict[str, Any] = {"solver": "quantbnb", "limits": limits}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("solver.engine.driver._next_budget", lambda *_: 3)
        states: list[State] = []

        def keep(seen: Snapshot) -> None:
            assert seen.state is not None
            states.append({name: array.copy() for name, array in seen.state().items()})

        whole = find(problem, lam, monitor=Monitor(snapshot=keep, interval=0.0), **more)
        assert summary(whole) == summary(find(problem, lam, **more))
        for at in data.draw(st.lists(st.integers(0, max(len(states) - 1, 0)), max_size=3)):
            if states:
                assert summary(find(problem, lam, state=states[at], **more)) == summary(whole)
        left = data.draw(st.integers(1, 30))

        def stop() -> bool:
            nonlocal left
            left -= 1
            return left < 0

        states.clear()
        path = find(problem, lam, monitor=Monitor(stop, keep, 1e9), **more)
        # Its greedy tree may be proven at once, by what is known without a search.
        assert path.status in (Status.STOPPED, whole.status)
        if path.status is Status.STOPPED:
            assert summary(find(problem, lam, state=states[-1], **more)) == summary(whole)


@kernel
def bound_parts(
    table: Table, params: Params, part: Part, scratch: Sweep, known: Known, most: int,
    feature: int, bounds: Ints,
) -> None:  # fmt: skip
    """Bounds of both parts of the thresholds of a feature from the second code on."""
    for i in range(len(bounds)):
        for side in range(2):
            bounds[i, side] = part_cost(
                table, params, part, scratch, feature, i + 1, side, known, most
            )


def least_cost(problem: Problem, rows: Ints, depth: int, params: Params) -> int:
    """Of all trees on some rows, by the plain search."""
    if len(rows) == 0:
        return 0
    at, classes = np.nonzero(problem.counts[rows])
    x, weights = problem.codes[rows][at].tolist(), problem.counts[rows][at, classes].tolist()
    return least_numeric_cost(x, classes.tolist(), weights, depth, params.error, params.split)


@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_bounds_of_other_lambdas_hold_for_the_parts_of_every_threshold(
    data: st.DataObject,
) -> None:
    problem, series = drawn(data, 20), None
    limits = Limits(depth=data.draw(st.integers(2, 3)), nodes=data.draw(st.integers(5, 200)))
    series = series_of(problem)
    for tenth in data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=4)):
        series(Fraction(tenth, 200), limits)
    series(Fraction(data.draw(st.integers(1, 40)), 200), limits)
    engine = engine_of(series)
    if engine.table is None or engine.depth < 2 or engine._filled < len(engine.arities):
        return
    params = engine.params._replace(error=engine.cost_scale.error)  # per weight, not per unit
    whole = Part(*(array[0] for array in engine.parts))
    known = engine.archive.for_price(engine.params, engine.depth)
    for feature, arity in enumerate(engine.arities):
        bounds = np.zeros((arity - 1, 2), np.int64)
        bound_parts(
            engine.table, engine.params, whole, engine.scratch, known, engine.most, feature, bounds
        )
        for code in range(1, arity):
            is_left = problem.codes[:, feature] < code
            for side, rows in enumerate((np.flatnonzero(is_left), np.flatnonzero(~is_left))):
                best = least_cost(problem, rows, engine.depth - 1, params)
                assert bounds[code - 1, side] <= best


def test_most_work_of_later_lambdas_is_spared() -> None:
    problem, lam, limits = numbers(1500, 4, 1, 300, 6), Fraction(1, 50), Limits(depth=3)
    alone, path = plain(problem, lam, limits), find(problem, lam, "quantbnb", limits)
    assert lines(path) == lines(alone)
    assert path.iterations < alone.iterations / 10
    assert path.iterations < QuantBnB().solve(problem, lam, limits).iterations


def test_bounds_are_forgotten_where_memory_is_short() -> None:
    problem, lams = numbers(1500, 4, 1, 300, 6), [Fraction(1, n) for n in (50, 25, 20, 12)]
    series = series_of(problem)
    most = series(lams[0], Limits(depth=3)).peak_bytes  # and room for the leaf that it begins with
    for lam in lams[1:3]:
        series(lam, Limits(depth=3))
    more = engine_of(series).archive.bytes // 2
    tight = Limits(depth=3, bytes=most + more)
    found = series(lams[3], tight)
    assert found.status is Status.OPTIMAL
    assert found.objective == QuantBnB().solve(problem, lams[3], Limits(depth=3)).objective
    assert found.peak_bytes <= most + more
    assert len(engine_of(series).archive.prices) == 1  # those of the last λ
    series(lams[0], Limits(depth=3, bytes=1))
    assert engine_of(series).archive.bytes == 0


def test_nothing_is_carried_where_bounds_would_not_hold() -> None:
    problem = numbers(60, 2, 0)
    for limits in (Limits(depth=3, min_leaf_size=4), Limits(depth=1)):
        series = series_of(problem)
        series(Fraction(1, 50), limits)
        assert len(engine_of(series).archive.prices) == 0
    series = series_of(problem)
    assert series.carries(Limits(depth=3))
    assert not series.carries(Limits(depth=3, splits=2))
    series(Fraction(1, 50), Limits(depth=3, splits=2))
    assert series.solver.engine is None
    targets = Problem.from_codes([[0], [1], [2]], [0.0, 1.0, 3.0], task="regression", ordered=True)
    for solver, asked in ((QuantBnB(), targets), (QuantBnB(mode="paper"), problem)):
        assert type(solver.series(asked)) is Series


def test_bounds_for_less_deep_trees_are_not_used_for_deeper_ones() -> None:
    series = series_of(numbers(60, 2, 0))
    series(Fraction(1, 50), Limits(depth=2))
    engine = engine_of(series)
    assert len(engine.archive.for_price(engine.params, 2).used) == 1
    assert len(engine.archive.for_price(engine.params, 3).used) == 0


def test_a_state_that_is_damaged_or_of_another_problem_is_refused() -> None:
    problem, lam, limits = numbers(60, 2, 0), Fraction(1, 200), Limits(depth=3)
    states: list[State] = []

    def keep(seen: Snapshot) -> None:
        assert seen.state is not None
        states.append({name: array.copy() for name, array in seen.state().items()})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("solver.engine.driver._next_budget", lambda *_: 3)
        find(problem, lam, "quantbnb", limits, monitor=Monitor(snapshot=keep, interval=0.0))
    state = states[-1]
    carried = [name for name in state if name.startswith(f"series.{CARRIED}")]
    assert len(carried) == 8
    with pytest.raises(StateError, match="another problem"):
        find(numbers(60, 2, 1), lam, "quantbnb", limits, state=state)
    for name in carried:
        with pytest.raises(StateError):
            find(problem, lam, "quantbnb", limits, state={**state, name: np.zeros(2, np.float32)})
        less = {key: array for key, array in state.items() if key != name}
        with pytest.raises(StateError):
            find(problem, lam, "quantbnb", limits, state=less)


def test_an_archive_is_restored_as_it_was() -> None:
    series = series_of(numbers(60, 2, 0))
    for lam in (Fraction(1, 200), Fraction(1, 20)):
        series(lam, Limits(depth=3))
    archive = engine_of(series).archive
    again = Archive(archive.features, archive.digest)
    again.restore(archive.state())
    assert (again.prices, again.depths) == (archive.prices, archive.depths)
    for one, other in zip(again.known[:6], archive.known[:6], strict=True):
        assert one.tolist() == other.tolist()
