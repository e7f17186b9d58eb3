"""A λ-path that is interrupted anywhere and resumed equals one without interruption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from solver import InputError, Limits, Path, Problem, Status, get_solver, regularization_path
from solver.errors import StateError
from solver.lambda_series import Series
from solver.monitor import Monitor, Snapshot
from solver.path.path_search import find_path
from solver.solution import Solution
from solver.trees.tree import Tree
from tests.helpers.strategies import Table, binary_tables, cost_scale, structural_limits, tables

State = dict[str, NDArray[Any]]
LAM = Fraction(1, 300)
NO_LIMITS = Limits()

quick = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def noise(seed: int) -> Problem:
    """Of many equally good trees, as are the others: the target is noise."""
    generator = np.random.default_rng(seed)
    return Problem.from_codes(generator.integers(0, 2, (80, 8)), generator.integers(0, 2, 80))


def symmetric(seed: int) -> Problem:
    """Whether two of five features of three values agree, one column a value, as in monks-1."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 3, (100, 5))
    target = (codes[:, 0] == codes[:, 1]) ^ (generator.random(100) < 0.15)
    columns = np.hstack([codes == value for value in range(3)])
    return Problem.from_codes(columns.astype(int), target.astype(int))


def parity(seed: int) -> Problem:
    """The features of a parity can be asked in any order."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 2, (100, 8))
    target = codes[:, 0] ^ codes[:, 1] ^ (codes[:, 2] & codes[:, 3])
    return Problem.from_codes(codes, target ^ (generator.random(100) < 0.1))


def multiway(seed: int) -> Problem:
    """Of features of three values."""
    generator = np.random.default_rng(seed)
    return Problem.from_codes(generator.integers(0, 3, (60, 6)), generator.integers(0, 3, 60))


def summary(path: Path) -> dict[str, Any]:
    """All of a path but times and memory."""
    found = path.to_dict()
    for name in ("seconds", "compile_seconds", "peak_bytes"):
        del found[name]
    return found


def copied(snapshot: Snapshot) -> State:
    """The state of a snapshot, as another process would have it."""
    assert snapshot.state is not None
    return {name: array.copy() for name, array in snapshot.state().items()}


def states_of(problem: Problem, lam: Fraction, **more: Any) -> tuple[Path, list[State]]:
    """A path and its state at every snapshot."""
    states: list[State] = []
    monitor = Monitor(snapshot=lambda seen: states.append(copied(seen)), interval=0.0)
    return regularization_path(problem, lam, monitor=monitor, **more), states


def stopped_after(
    asks: int, problem: Problem, lam: Fraction, state: State | None, **more: Any
) -> tuple[Path, State | None]:
    """A path that is stopped when it has asked so often, and its last state, if it told one."""
    left, last = asks, state

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    def keep(seen: Snapshot) -> None:
        nonlocal last
        if left < 0:
            last = copied(seen)

    monitor = Monitor(stop, keep, 1e9)
    return regularization_path(problem, lam, monitor=monitor, state=state, **more), last


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets a search be seen, and stopped, after every so many iterations."""

    def cut(iterations: int) -> None:
        monkeypatch.setattr("solver.engine.driver._next_budget", lambda *_: iterations)

    return cut


@pytest.fixture
def fine(slices: Callable[[int], None]) -> None:
    slices(3)


# Of these problems, paths that were resumed from what was solved had other trees than whole ones.
@pytest.mark.parametrize(
    "make, seed",
    [
        (noise, 0), (noise, 2), (noise, 5), (symmetric, 3), (symmetric, 6), (parity, 3),
        (parity, 8), (multiway, 1),
    ],
)  # fmt: skip
def test_goes_on_from_any_state_as_if_nothing_had_been(
    slices: Callable[[int], None], make: Callable[[int], Problem], seed: int
) -> None:
    slices(11)
    problem = make(seed)
    whole, states = states_of(problem, LAM)
    expected = summary(regularization_path(problem, LAM))
    assert summary(whole) == expected
    for state in states[:: max(1, len(states) // 12)]:
        assert summary(regularization_path(problem, LAM, state=state)) == expected


def test_states_are_within_and_between_solves(fine: None) -> None:
    path, states = states_of(symmetric(3), LAM)
    solving = [str(state["solving"]) for state in states]
    assert "" in solving
    assert len({lam for lam in solving if lam}) > path.solves / 2 > 2
    assert max(sum("archive" in name for name in state) for state in states) > 9
    assert {array.dtype.kind for state in states for array in state.values()} <= set("uifU")


@pytest.mark.parametrize("asks", [5, 20])
@pytest.mark.parametrize("make, seed", [(noise, 2), (symmetric, 3), (parity, 8)])
def test_stopped_again_and_again_it_is_the_same(
    slices: Callable[[int], None], make: Callable[[int], Problem], seed: int, asks: int
) -> None:
    slices(16)
    problem = make(seed)
    expected = summary(regularization_path(problem, LAM))
    state, rounds = None, 0
    while True:
        path, state = stopped_after(asks, problem, LAM, state)
        if path.status is Status.OPTIMAL:
            break
        assert path.status is Status.STOPPED
        rounds += 1
        assert rounds < 1000
    assert rounds > 2
    assert summary(path) == expected


def drawn(data: st.DataObject) -> tuple[Problem, Fraction, dict[str, Any]]:
    """A small problem, a λ, and limits and options."""
    table: Table = data.draw(st.one_of(tables(), binary_tables()))
    lam = data.draw(st.one_of(st.just(Fraction(0)), cost_scale(sum(table.weights))))
    limits = data.draw(st.one_of(st.just(NO_LIMITS), structural_limits()))
    if data.draw(st.booleans()):
        limits = replace(limits, nodes=data.draw(st.integers(1, 12)))
    options = data.draw(st.sampled_from([{}, {"incumbent": False}, {"memo": "literals"}]))
    return table.problem(), lam, {"limits": limits, **options}


@quick
@given(data=st.data())
def test_goes_on_from_any_state_whatever_the_limits(data: st.DataObject) -> None:
    problem, lam, more = drawn(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("solver.engine.driver._next_budget", lambda *_: 1)
        whole, states = states_of(problem, lam, **more)
        assert summary(whole) == summary(regularization_path(problem, lam, **more))
        if states:
            state = states[data.draw(st.integers(0, len(states) - 1))]
            found = regularization_path(problem, lam, state=state, **more)
            assert summary(found) == summary(whole)


@quick
@given(data=st.data())
def test_goes_on_after_any_stop_whatever_the_limits(data: st.DataObject) -> None:
    problem, lam, more = drawn(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("solver.engine.driver._next_budget", lambda *_: 1)
        whole = regularization_path(problem, lam, **more)
        asks = data.draw(st.integers(1, 30))
        path, state = stopped_after(asks, problem, lam, None, **more)
        if path.status is Status.STOPPED:
            path = regularization_path(problem, lam, state=state, **more)
        assert summary(path) == summary(whole)


def test_goes_on_where_a_limit_was_and_under_larger_ones(fine: None) -> None:
    problem = symmetric(3)
    whole = regularization_path(problem, LAM)
    path, states = states_of(problem, LAM, limits=Limits(nodes=20))
    assert path.status is Status.NODE_LIMIT
    again = regularization_path(problem, LAM, limits=Limits(nodes=20), state=states[-1])
    assert summary(again) == summary(path)
    for limits in (NO_LIMITS, Limits(nodes=10**6), Limits(seconds=60)):
        found = regularization_path(problem, LAM, limits=limits, state=states[-1])
        assert found.status is Status.OPTIMAL
        assert (found.lams, found.losses, found.splits) == (
            whole.lams, whole.losses, whole.splits,
        )  # fmt: skip
        assert found.solves > path.solves


def test_goes_on_under_a_larger_limit_however_often_it_was_stopped_under_it(
    fine: None, slices: Callable[[int], None]
) -> None:
    problem = symmetric(3)
    path, states = states_of(problem, LAM, limits=Limits(nodes=20))
    assert path.status is Status.NODE_LIMIT
    for limits in (NO_LIMITS, Limits(nodes=10**6)):
        seen: list[dict[str, Any]] = []

        def keep(snapshot: Snapshot, seen: list[dict[str, Any]] = seen) -> None:
            if snapshot.state is not None:
                seen.append({name: np.array(array) for name, array in snapshot.state().items()})

        monitor = Monitor(snapshot=keep, interval=0.0)
        whole = regularization_path(problem, LAM, limits=limits, state=states[-1], monitor=monitor)
        assert whole.status is Status.OPTIMAL
        assert len(seen) > 200
        slices(1000)  # nobody looks into what goes on
        for state in seen:
            again = regularization_path(problem, LAM, limits=limits, state=state)
            assert summary(again) == summary(whole)
        slices(3)


def test_goes_on_within_lambda_zero_under_a_larger_limit_once_more(fine: None) -> None:
    rng = np.random.default_rng(0)
    problem = Problem.from_codes(rng.integers(0, 9, (60, 5)), rng.integers(0, 3, 60), ordered=True)
    lam, more, states = Fraction(0), dict[str, Any](solver="quantbnb"), list[State]()
    whole = regularization_path(problem, lam, limits=Limits(depth=3), **more)
    for nodes in (5, 10):
        more["limits"], more["state"] = Limits(depth=3, nodes=nodes), [None, *states][-1]
        path, states = states_of(problem, lam, **more)
        assert path.status is Status.NODE_LIMIT
    within = [state for state in states if str(state["solving"]) == "0"]
    assert within
    for state in within:
        more["limits"], more["state"] = Limits(depth=3), state
        again = regularization_path(problem, lam, **more)
        assert (again.status, again.lams, again.losses) == ("optimal", whole.lams, whole.losses)


@pytest.mark.usefixtures("counted_time")
def test_what_took_no_time_is_not_counted_and_what_was_done_is(fine: None) -> None:
    problem = parity(8)
    whole, states = states_of(problem, LAM)
    found = regularization_path(problem, LAM, state=states[-1])
    assert found.iterations == whole.iterations
    assert found.solves == whole.solves
    assert found.seconds < whole.seconds


def test_solvers_that_carry_nothing_go_on_too(fine: None) -> None:
    problem = noise(0)
    limits = Limits(splits=3)  # under it each solve begins anew
    whole, states = states_of(problem, LAM, limits=limits)
    for state in states[::10]:
        found = regularization_path(problem, LAM, limits=limits, state=state)
        assert summary(found) == summary(whole)


@pytest.mark.parametrize("name, options", [("cart", {}), ("branches", {"mode": "paper"})])
def test_solvers_without_states_go_on_from_the_last_lambda(
    name: str, options: dict[str, Any]
) -> None:
    problem, lam = symmetric(3), Fraction(1, 20)
    whole, states = states_of(problem, lam, solver=name, **options)
    assert states
    for state in states:
        assert str(state["solving"]) == ""
        found = regularization_path(problem, lam, name, state=state, **options)
        assert summary(found) == summary(whole)
    assert not get_solver(name)(**options).series(problem).carries(NO_LIMITS)


def test_a_state_of_another_path_is_refused(fine: None) -> None:
    problem = symmetric(3)
    _, states = states_of(problem, LAM)
    within = next(s for s in reversed(states) if str(s["solving"]))
    between = next(s for s in reversed(states) if not str(s["solving"]))
    for state in (within, between):
        with pytest.raises(StateError, match="another problem"):
            regularization_path(symmetric(4), LAM, state=state)
        with pytest.raises(StateError, match="another λ, options or limits"):
            regularization_path(problem, LAM, state=state, pairs=False)
        with pytest.raises(StateError, match="from another λ"):
            regularization_path(problem, LAM / 2, state=state)
        for name in state:
            damaged = {**state, name: np.zeros(2, np.float32)}
            with pytest.raises(StateError):
                regularization_path(problem, LAM, state=damaged)
            damaged.pop(name)
            if "room" not in name:
                with pytest.raises(StateError):
                    regularization_path(problem, LAM, state=damaged)
    with pytest.raises(StateError, match="cannot go on"):
        find_path(problem, LAM, lambda *_: None, state=within)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        regularization_path(problem, LAM, "cart", state=within)
    with pytest.raises(StateError, match="cannot go on"):
        regularization_path(problem, LAM, mode="paper", state=within)


def test_a_series_says_whether_it_carries() -> None:
    series = get_solver("branches")().series(noise(0))
    assert isinstance(series, Series)
    assert series.carries(NO_LIMITS)
    assert series.state() == {}
    series(Fraction(1, 10), NO_LIMITS)
    assert "lam" in (series.state() or {})


class Noted(Series):
    """The solves of BRANCHES, with a descent or without one; it notes their λ."""

    def __init__(self, problem: Problem, descends: bool, **options: Any) -> None:
        branches = get_solver("branches")(**options)
        super().__init__(branches, problem)
        self.solve, self._descends = branches.series(problem), descends
        self.lams: list[Fraction] = []
        self.seconds: list[float | None] = []

    def __call__(
        self,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None = None,
        monitor: Monitor | None = None,
    ) -> Solution:
        self.lams.append(lam)
        self.seconds.append(limits.seconds)
        return self.solve(lam, limits, initial_tree, monitor)

    def descends(self, limits: Limits) -> bool:
        return self._descends


@quick
@given(table=tables(), data=st.data())
def test_the_path_is_the_same_with_a_descent(table: Table, data: st.DataObject) -> None:
    problem, lam = table.problem(), data.draw(cost_scale(sum(table.weights)))
    paths = [find_path(problem, lam, Noted(problem, descends)) for descends in (True, False)]
    lines = [[(s.start, s.end, s.errors, s.splits, s.proven) for s in p.steps] for p in paths]
    assert lines[0] == lines[1]
    for path in paths:
        assert path.status == "optimal"
        assert path.points[0].lam == lam


def test_a_descent_comes_before_the_corners() -> None:
    problem = noise(1)
    series, corners = Noted(problem, True), Noted(problem, False)
    path, other = find_path(problem, LAM, series), find_path(problem, LAM, corners)
    # It begins below an eighth of the loss that splits can spare.
    assert series.lams[:3] == [9 * LAM, 3 * LAM, LAM]
    assert corners.lams[0] == LAM
    assert path.iterations < other.iterations
    # Where λ is far below the weight of a row, it takes no steps that change nothing.
    series = Noted(problem, True)
    find_path(problem, Fraction(1, 10**6), series)
    least = Fraction(1, 8 * problem.total_weight)
    assert all(lam >= least or lam == min(series.lams) for lam in series.lams)


def test_solves_that_help_others_get_less_time() -> None:
    problem = noise(1)
    series = Noted(problem, True)
    find_path(problem, LAM, series, Limits(seconds=800))
    shares = [round(seconds, -1) for seconds in series.seconds[:3] if seconds is not None]
    assert shares == [100, 100, 400]


def test_what_larger_lambdas_have_proven_is_not_solved() -> None:
    problem = Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]] * 90, [0, 0, 0, 1] * 90)
    series = Noted(problem, True)
    path = find_path(problem, Fraction(1, 1000), series)
    assert path.steps[0].errors == 0  # which no λ below changes, the least one neither
    assert series.lams == [Fraction(27, 1000)]
    assert path.points[0] == (Fraction(1, 1000), Fraction(2, 1000))
    assert path.lams == (Fraction(1, 1000), Fraction(1, 8))


def test_a_proven_path_says_that_a_limit_ended_a_search() -> None:
    """Its trees may be others than those of a path that no limit cut."""
    whole = regularization_path(parity(0), LAM)
    assert (whole.status, whole.cut_by) == (Status.OPTIMAL, None)
    found = [
        regularization_path(parity(0), LAM, limits=Limits(nodes=n)) for n in range(20, 400, 20)
    ]
    cut = [path for path in found if path.cut_by is not None]
    assert {path.cut_by for path in cut} == {Status.NODE_LIMIT}
    assert any(path.status is Status.OPTIMAL for path in cut)
    for path in found:
        if path.cut_by is None:
            assert path.status is Status.OPTIMAL
            assert path.steps == whole.steps


def test_a_proven_path_has_the_optima_at_its_points(fine: None) -> None:
    """Also where a solve was cut: here no split pays, as rows contradict each other."""
    problem = Problem.from_codes([[0], [0], [0], [1], [1], [1]], [0, 0, 1, 0, 1, 1], ordered=True)
    limits: dict[str, Any] = {"solver": "quantbnb", "limits": Limits(depth=2)}
    path, _ = stopped_after(0, problem, Fraction(1, 5), None, **limits)
    assert path.status is Status.OPTIMAL
    assert [point.lower_bound for point in path.points] == [Fraction(1, 2)]
