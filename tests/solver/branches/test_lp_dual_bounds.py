"""Row duals: no conjunction of tests holds more than its leaf costs, and no answer changes."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver.branches.engine import ThresholdEngine
from solver.branches.kernels import stack_frame
from solver.branches.kernels.linear_program.best_conjunctions import (
    begin_search,
    merge_groups,
    search_conjunctions,
)
from solver.branches.kernels.linear_program.master import shrink_pool
from solver.branches.kernels.lp_dual_bounds import (
    are_enough,
    begin_pricing,
    cost_of_tree,
    expect_gain,
    has_stalled,
    improve_duals,
    keep_duals,
    price_all,
    set_gains,
    spread_duals,
    start_program,
)
from solver.branches.kernels.state import (
    DUE,
    LARGEST,
    OPTIMUM,
    PART,
    SEARCH,
    SHARE,
    SIZE,
    STALLED,
    TURNS,
    UNFOUND,
    WIDTH,
    WORK,
    Space,
)
from solver.branches.params import OPTIONS
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.kernels.jit import kernel
from solver.limits import Limits
from solver.objective.exact_objective import INFINITE, CostScale
from solver.problem.problem import Problem
from tests.helpers.strategies import cost_scale, structural_limits, tables

SETTINGS = {name: option.default for name, option in OPTIONS.items()} | {"row_duals": True}
SOON = 2**15
"""The work of some 16 iterations."""


@kernel
def improve(s: Space, limit: int) -> bool:
    """What a search does when it has done enough work; whether it never does it again."""
    last = s.params.budgets - 1
    cost = cost_of_tree(s, s.memo.node_upper[0, last])
    good = improve_duals(s, float(s.memo.node_lower[0, last]), cost, limit)
    spread_duals(s)
    return good


@kernel
def search_all(s: Space, limit: int) -> int:
    """Search all conjunctions for the duals ``value``, in turns of ``limit`` operations; the most
    that one gains, or a little more than a split costs."""
    p, n_words = s.program, s.stack.head[0, stack_frame.N_WORDS]
    n_literals = start_program(s, cost_of_tree(s, s.memo.node_upper[0, 0]))
    begin_pricing(s)
    for k in range(s.stack.head[0, stack_frame.N_CLASSES]):
        set_gains(s, k, n_words)
        expect_gain(s)
        begin_search(s, n_literals, n_words)
        while not search_conjunctions(s, n_words, INFINITE, p.status[WORK] + limit):
            pass
    return int(p.status[LARGEST])


@kernel
def validate(s: Space, limit: int) -> None:
    """Make the duals ``value`` valid, in turns of ``limit`` operations, and keep them if they are
    better than the root's own."""
    n_words = s.stack.head[0, stack_frame.N_WORDS]
    n_literals = start_program(s, cost_of_tree(s, s.memo.node_upper[0, 0]))
    begin_pricing(s)
    while not price_all(s, n_literals, n_words, s.program.status[WORK] + limit):
        pass
    keep_duals(s, n_words)


@kernel
def merge(s: Space) -> None:
    """Merge the groups of the conjunction without literals."""
    merge_groups(s, 0)


@kernel
def stalls(s: Space, changed: bool, least: float, most: float) -> bool:
    """Whether the program ends after a round."""
    return has_stalled(s, changed, least, most)


@kernel
def enough(s: Space, least: float, lower: float) -> bool:
    """Whether the duals are good enough."""
    return are_enough(s, least, lower, cost_of_tree(s, s.memo.node_upper[0, 0]))


@kernel
def shrink(s: Space, starts: int) -> None:
    """Begin the program, or make room in its pool."""
    if starts == 0:
        start_program(s, cost_of_tree(s, s.memo.node_upper[0, 0]))
    else:
        shrink_pool(s, s.stack.head[0, stack_frame.N_WORDS])


def opened(problem: Problem, lam: Fraction, limits: Limits | None = None) -> ThresholdEngine:
    """A search whose root is open, and which has duals after a few more iterations."""
    scale = CostScale.build(lam, problem.total_weight, problem.leaf_errors, len(problem.codes) - 1)
    constraints = TreeConstraints.of(problem, lam, limits or Limits())
    engine = ThresholdEngine(problem, scale, constraints, SETTINGS)
    while engine.iterations == 0 and engine.step(1, -1) == FULL:
        engine.grow(None)
    engine.program.status[DUE] = SOON
    return engine


def largest_excess(engine: ThresholdEngine) -> int:
    """The most by which a conjunction's duals exceed its cost as a leaf: every one is tried."""
    table, params, stack = engine.table, engine.params, engine.stack
    positions = range(64 * int(stack.head[0, stack_frame.N_WORDS]))
    duals = {int(stack.rows[i]): int(stack.duals[i]) for i in positions if stack.rows[i] >= 0}
    live = stack.live[0, : stack.head[0, stack_frame.N_LIVE]]
    codes_of = {row: engine.problem.codes[table.sources[row], live].tolist() for row in duals}
    excess = -int(params.split)
    for tests in itertools.product((0, 1, None), repeat=len(live)):
        rows, counts = 0, np.zeros(engine.n_classes, np.int64)
        for row, dual in duals.items():
            pairs = zip(tests, codes_of[row], strict=True)
            if all(test in (None, code) for test, code in pairs):
                rows += dual
                counts[table.labels[row]] += table.weights[row]
        errors = int(counts.sum() - counts.max())
        excess = max(excess, rows - int(params.split) - int(params.error) * errors)
    return excess


def drawn(table, data, own: float) -> tuple[ThresholdEngine, list[int], list[int]] | None:
    """A search, the positions of its root's rows, and any duals for them, that are ``value``; the
    root has a share ``own`` of them. None if it has ended already."""
    engine = opened(table.problem(), data.draw(cost_scale(sum(table.weights))))
    head, rows = engine.stack.head[0], engine.stack.rows
    if not (engine.params.row_duals and engine.iterations and head[stack_frame.N_LIVE]):
        return None
    at = [i for i in range(64 * int(head[stack_frame.N_WORDS])) if rows[i] >= 0]
    for i in at:
        most = int(engine.params.error) * int(engine.table.weights[rows[i]])
        value = data.draw(st.integers(0, most) | st.sampled_from((0, most)))
        engine.program.value[i], engine.stack.duals[i] = value, int(own * value)
    return engine, at, engine.program.value[at].tolist()


@settings(max_examples=100, deadline=None)
@given(table=tables(max_arity=2, max_features=5), data=st.data())
def test_the_search_finds_the_conjunction_that_gains_most(table, data):
    if (some := drawn(table, data, 1.0)) is None:
        return
    engine, split = some[0], int(some[0].params.split)
    largest = search_all(engine.space, data.draw(st.integers(0, 1000)))
    assert largest == max(split + split // 1024, split + largest_excess(engine))


@settings(max_examples=100, deadline=None)
@given(table=tables(max_arity=2, max_features=5), data=st.data())
def test_duals_become_valid_at_the_cost_of_what_gains_too_much(table, data):
    """Those of rows that are in no such conjunction stay, but for what a search overlooks."""
    if (some := drawn(table, data, 0.0)) is None:
        return
    engine, at, before = some
    if has_no_room := data.draw(st.booleans()):  # for groups beside those of the root
        program = engine.program
        engine.program = program._replace(group_gain=program.group_gain[: len(at)])
    engine.stack.duals[at] = before
    was_valid = largest_excess(engine) <= 0
    engine.stack.duals[at] = 0
    validate(engine.space, data.draw(st.integers(0, 1000)))
    assert largest_excess(engine) <= 0
    split, unfound = int(engine.params.split), int(engine.program.status[UNFOUND])
    assert unfound >= split + split // 1024
    after = engine.stack.duals[at].tolist()
    for value, left in zip(before, after, strict=True):
        assert left <= value
        if was_valid:
            assert left >= value * split // unfound - 1
    if was_valid and not has_no_room:
        assert unfound == split + split // 1024


def test_a_conjunction_that_gains_as_much_as_one_with_more_rows_is_lowered_too():
    """Where the rows that it lacks gain 0 as long as they are merged."""
    problem = Problem.from_codes([[1, 0], [0, 0], [0, 1], [1, 1]], [0, 1, 1, 1])
    engine = opened(problem, Fraction(1, 60))
    rows = engine.stack.rows
    at = [i for i in range(64 * int(engine.stack.head[0, stack_frame.N_WORDS])) if rows[i] >= 0]
    engine.program.value[at] = int(engine.params.error) * engine.table.labels[rows[at]]
    engine.stack.duals[at] = 0
    validate(engine.space, 10**9)
    assert engine.stack.duals[at].any()
    assert largest_excess(engine) <= 0


def test_more_conjunctions_than_are_kept_gain_too_much():
    """What is not kept scales all duals; what is kept is lowered, the last one, too."""
    codes = np.array([*itertools.product((0, 1), repeat=7)])
    engine = opened(Problem.from_codes(codes, codes.sum(axis=1) % 2), Fraction(1, 100))
    rows, error, generator = engine.stack.rows, int(engine.params.error), np.random.default_rng(2)
    at = [i for i in range(64 * int(engine.stack.head[0, stack_frame.N_WORDS])) if rows[i] >= 0]
    for _ in range(5):
        engine.stack.duals[at] = 0
        engine.program.value[at] = generator.integers(error // 2, error, len(at))
        validate(engine.space, 10**9)
        assert engine.program.status[UNFOUND] > 1.01 * int(engine.params.split)
        assert engine.stack.duals[at].any()
        assert largest_excess(engine) <= 0


def test_duals_are_kept_only_if_they_are_better(improved):
    """Also where the search ends early, as none of them can be."""
    _, first = improved
    state = {name: array.copy() for name, array in first.state().items()}
    engine = ThresholdEngine(first.problem, first.cost_scale, first.constraints, SETTINGS, state)
    program, own = engine.program, engine.stack.duals.copy()
    weights = np.where(engine.stack.rows[: len(program.value)] >= 0, 1, 0)
    program.value[:] = weights * int(engine.params.error)
    validate(engine.space, 10**9)
    assert program.status[UNFOUND] > 2 * engine.params.split
    assert np.array_equal(engine.stack.duals, own)
    program.value[:] = own[: len(program.value)] // 2
    validate(engine.space, 10**9)
    assert np.array_equal(engine.stack.duals, own)


@settings(max_examples=60, deadline=None)
@given(table=tables(max_arity=2, max_features=5), data=st.data())
def test_the_duals_are_valid_and_the_answer_is_the_oracle_s(table, data):
    lam, limits = data.draw(cost_scale(sum(table.weights))), data.draw(structural_limits())
    engine = opened(table.problem(), lam, limits)
    if not (
        engine.params.row_duals and engine.iterations and engine.stack.head[0, stack_frame.N_LIVE]
    ):
        return
    for limit in (data.draw(st.integers(0, 10**5)), 10**8):
        improve(engine.space, limit)
        assert largest_excess(engine) <= 0
    while (outcome := engine.step(10**6, -1)) != PROVEN:
        assert outcome != FULL or engine.grow(None)
    best = table.optimum(lam, limits)
    assert engine.lower_bound == engine.upper_bound
    errors = (best.objective - lam * best.splits) * sum(table.weights)
    assert engine.upper_bound == engine.cost_scale.cost(int(errors), best.splits)


@pytest.fixture(scope="module")
def parity() -> Problem:
    """A parity of four features and noise: a single split, or two, shows nothing."""
    codes = np.random.default_rng(3).integers(0, 2, (150, 9))
    return Problem.from_codes(codes, codes[:, :4].sum(axis=1) % 2)


@pytest.fixture(scope="module")
def improved(parity: Problem) -> tuple[int, ThresholdEngine]:
    """Its lower bound before its duals are improved, and its search after: to be read only."""
    engine = opened(parity, Fraction(1, 100))
    before = engine.lower_bound
    improve(engine.space, 10**9)
    return before, engine


def test_they_bound_a_parity_far_better_than_counts(improved):
    before, engine = improved
    assert engine.program.status[SIZE] > 0
    assert engine.lower_bound >= 2 * before
    assert engine.lower_bound <= 15 * engine.params.split


def test_a_search_uses_them_when_it_is_long():
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 2, (200, 10))
    labels = (codes[:, :4].sum(axis=1) + generator.integers(0, 2, 200)) % 3
    problem, lam = Problem.from_codes(codes, labels), Fraction(1, 200)
    engine = opened(problem, lam)
    while (outcome := engine.step(10**6, -1)) != PROVEN:
        assert outcome != FULL or engine.grow(None)
    assert engine.program.status[SIZE] > 0
    without = solver.solve(problem, lam, row_duals=False)
    errors = (without.objective - lam * without.splits) * problem.total_weight
    assert engine.upper_bound == engine.cost_scale.cost(int(errors), without.splits)


@pytest.mark.parametrize("lams", [("0", "1/200"), ("1/200", "0", "1/200")], ids=str)
def test_a_search_after_one_with_free_splits_has_room_for_them(lams):
    """Where splits are free there is no program; the next λ of a path needs one."""
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 2, (200, 10))
    labels = (codes[:, :4].sum(axis=1) + generator.integers(0, 2, 200)) % 3
    problem = Problem.from_codes(codes, labels)
    engine = opened(problem, Fraction(lams[0]))
    for lam in map(Fraction, lams[1:]):
        scale = CostScale.build(lam, 200, problem.leaf_errors, len(problem.codes) - 1)
        engine.reprice(scale, TreeConstraints.of(problem, lam, Limits()))
        engine.program.status[DUE] = SOON
        assert bool(engine.params.row_duals) == bool(lam)
        assert (len(engine.program.pool) > 0) == (len(engine.duals.literal) > 0) == bool(lam)
    while (outcome := engine.step(10**6, -1)) != PROVEN:
        assert outcome != FULL or engine.grow(None)
    assert engine.program.status[SIZE] > 0
    best = solver.solve(problem, lams[-1], row_duals=False)
    assert engine.upper_bound == scale.cost(best.errors, best.splits)


@pytest.mark.parametrize(("share", "ends"), [(-0.1, True), (0.01, True), (0.1, False)])
def test_a_program_that_promises_little_ends(parity, improved, share, ends):
    """After its first turn, if its optimum closes hardly any of the gap; what it has found
    stays."""
    _, first = improved
    state = {name: array.copy() for name, array in first.state().items()}
    engine = ThresholdEngine(parity, first.cost_scale, first.constraints, SETTINGS, state)
    assert engine.program.status[SIZE] == first.program.status[SIZE] > 0
    assert engine.stack.duals.any()
    duals, split = engine.stack.duals.copy(), int(engine.params.split)
    status, upper = engine.program.status, engine.upper_bound
    lower = (int(duals.sum()) - split + upper) // 2  # far from what the duals give
    engine.memo.node_lower[0, -1] = lower
    status[OPTIMUM], status[PART] = split + lower + int(share * (upper - lower)), 1
    before = int(status[WORK])
    status[TURNS] = 1
    improve(engine.space, before + 1)
    assert (status[WORK] == before) == ends
    if ends:
        assert np.array_equal(engine.stack.duals, duals)


@pytest.mark.parametrize(("least", "rounds"), [(99.0, 1), (98.5, 1), (98.0, 16)])
def test_a_program_that_has_stalled_goes_on_if_its_duals_may_become_far_better(
    parity, least, rounds
):
    engine = opened(parity, Fraction(1, 100))
    space, status = engine.space, engine.program.status
    assert not stalls(space, True, least, 100.0)
    assert status[SHARE] == 0
    for _ in range(rounds - 1):
        assert not stalls(space, False, least, 100.0)
    assert not stalls(space, True, least, 100.0)  # all begins anew
    assert status[STALLED] == 0
    for _ in range(rounds - 1):
        assert not stalls(space, False, least, 100.0)
    assert stalls(space, False, least, 100.0)
    assert status[SHARE] == 1
    status[SHARE] = 8
    stalls(space, False, least, 100.0)
    assert status[SHARE] == 8


def test_a_program_that_has_stalled_takes_no_more_work_than_the_search():
    codes = np.array([*itertools.product((0, 1), repeat=8)])
    problem = Problem.from_codes(codes, codes.sum(axis=1) >= 3)
    engine = opened(problem, Fraction(1, 300))
    status, outcome = engine.program.status, RUNNING
    while status[SHARE] == 0:
        assert engine.step(1, -1) == RUNNING or engine.grow(None)
        assert engine.lower_bound < engine.upper_bound
    work = int(status[WORK])
    assert work > 2 * status[SEARCH]
    while outcome != PROVEN:
        outcome = engine.step(1, -1)
        assert outcome != FULL or engine.grow(None)
        if status[SHARE] == 1:
            room = max(2 * SOON, status[SEARCH] // 8)  # what the last round may take beyond it
            assert status[WORK] <= max(work, status[SEARCH]) + room
    assert status[WORK] > work
    assert engine.upper_bound == engine.lower_bound
    plain = solver.solve(problem, Fraction(1, 300), row_duals=False)
    assert engine.upper_bound == engine.cost_scale.cost(plain.errors, plain.splits)


@pytest.mark.parametrize(
    ("share", "work", "part", "ends"),
    [
        (32, 2**27 + 1, 0.24, True),
        (32, 2**27 + 1, 0.26, False),
        (32, 2**27, 0.24, False),
        (1, 2**27 + 1, 0.24, False),
    ],
)
def test_a_shard_that_has_worked_much_for_others_ends_what_promises_less_than_a_quarter(
    parity, share, work, part, ends
):
    engine = opened(parity, Fraction(1, 100))
    status, split = engine.program.status, int(engine.params.split)
    lower, upper = engine.lower_bound, engine.upper_bound
    status[OPTIMUM] = split + lower + int(part * (upper - lower))
    status[SHARE], status[WORK], status[TURNS] = share, work, 1
    assert enough(engine.space, -1e18, float(lower)) == ends


def test_a_full_pool_makes_room_even_if_most_of_it_is_nearly_tight(parity):
    engine = opened(parity, Fraction(1, 100))
    program = engine.program
    shrink(engine.space, 0)  # writes the rows' weights and the first conjunctions
    program.trial[:], size = 0.0, len(program.pool)
    first = np.flatnonzero(engine.duals.weight)[0]
    program.trial[first] = 1.0
    program.pool[:] = 0
    program.pool[:, first // 64] = np.uint64(1) << np.uint64(first % 64)
    program.pool_price[:], program.pool_price[:7] = 0.0, 1.0
    program.pool_cost[:] = 1 / np.where(np.arange(size) % 2 == 0, 0.92, 0.99)
    program.pool_rows[:] = np.arange(size)
    program.status[SIZE] = size
    shrink(engine.space, 1)
    left = program.pool_rows[: program.status[SIZE]]
    assert left.tolist() == [i for i in range(size) if i < 7 or i % 2 > 0]


@pytest.mark.parametrize("columns", [40, 70, 150])
def test_groups_merge_where_no_column_that_may_follow_tells_them_apart(columns):
    """Also where many of them share a slot of the hash table, or all but the last word."""
    rng = np.random.default_rng(columns)
    n, width = 40, -(-columns // 64)
    engine = opened(
        Problem.from_codes(rng.integers(0, 2, (64, columns)), rng.integers(0, 2, 64)),
        Fraction(1, 100),
    )
    engine.duals = engine.duals._replace(slot=np.zeros(64, np.uint64))
    program = engine.program
    program.status[WIDTH] = width
    for _ in range(50):
        some = rng.integers(0, 2**64, (width, 3), dtype=np.uint64)
        words = some[np.arange(width)[:, None], rng.integers(0, 3, (width, n))]
        gains = rng.integers(-9, 9, n)
        may = rng.integers(0, 2**64, (2, width), dtype=np.uint64)
        program.group[:, :n], program.group_gain[:n], program.may[0] = words, gains, may
        program.group_end[:2] = 0, n
        merge(engine.space)
        expected: dict[tuple[int, ...], int] = {}
        for word, gain in zip((words & (may[0] | may[1])[:, None]).T.tolist(), gains, strict=True):
            expected[tuple(word)] = expected.get(tuple(word), 0) + int(gain)
        found = range(int(program.group_end[1]))
        assert [(tuple(program.group[:, i].tolist()), program.group_gain[i]) for i in found] == [
            *expected.items()
        ]


def test_a_search_through_all_conjunctions_that_would_be_long_ends_the_turn():
    """It is left when a quarter of all work was spent, long before the end."""
    generator = np.random.default_rng(5)
    codes = generator.integers(0, 2, (600, 50))
    labels = (codes[:, 0] ^ codes[:, 1]) ^ (generator.random(600) < 0.25)
    engine = opened(Problem.from_codes(codes, labels), Fraction(1, 200))
    program, status = engine.program, engine.program.status
    status[DUE] = first = 2**26
    while status[TURNS] == 0:
        assert engine.step(10**6, -1) != FULL or engine.grow(None)
    assert first <= status[SEARCH] == status[DUE] / 2
    assert status[PART] > 0
    left, done = (
        sum(map(int.bit_count, a[0].ravel().tolist())) for a in (program.may, program.left_out)
    )
    assert done <= (done + left) // 16
    assert status[WORK] < 0.3 * status[SEARCH]


def state_after(problem: Problem, limits: list[int]) -> dict[str, np.ndarray]:
    """The state after improvements up to these limits, one after the other."""
    engine = opened(problem, Fraction(1, 100))
    for limit in limits:
        if improve(engine.space, limit):
            break
    return {name: array.copy() for name, array in engine.state().items()}


def test_it_makes_no_difference_where_an_improvement_stops(parity):
    at_once = state_after(parity, [2 * 10**6])
    in_parts = state_after(parity, list(range(10**4, 2 * 10**6, 10**4)) + [2 * 10**6])
    assert at_once.keys() == in_parts.keys()
    for name, array in at_once.items():
        np.testing.assert_array_equal(array, in_parts[name], err_msg=name)


def test_a_state_from_the_middle_of_an_improvement_goes_on_with_the_same_numbers(parity):
    """It is written while all conjunctions are searched for one that gains too much."""
    whole = opened(parity, Fraction(1, 100))
    limit = 10**4
    while whole.program.status[PART] == 0:
        improve(whole.space, limit)
        limit += 10**3
    saved = {name: array.copy() for name, array in whole.state().items()}
    other = ThresholdEngine(parity, whole.cost_scale, whole.constraints, SETTINGS, saved)
    for engine in (whole, other):
        improve(engine.space, 10**8)
        while (outcome := engine.step(10**6, -1)) != PROVEN:
            assert outcome != FULL or engine.grow(None)
    assert (whole.iterations, whole.nodes) == (other.iterations, other.nodes)
    assert whole.lower_bound == other.lower_bound == whole.upper_bound == other.upper_bound
    np.testing.assert_array_equal(whole.stack.duals, other.stack.duals[: len(whole.stack.duals)])


def test_a_search_pauses_while_it_improves_them(parity):
    """So a limit of seconds, or a wish to stop, waits for a part of an improvement only."""
    engine = opened(parity, Fraction(1, 100))
    while engine.step(10**6, -1) == FULL:
        engine.grow(None)
    assert engine.pauses
    assert engine.iterations <= 16
    assert engine.program.status[WORK] > 0


def test_a_path_from_free_splits_is_that_without_them():
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 2, (150, 8))
    labels = (codes[:, :4].sum(axis=1) + generator.integers(0, 2, 150)) % 3
    problem = Problem.from_codes(codes, labels)
    with_, without = (solver.regularization_path(problem, 0, row_duals=on) for on in (True, False))
    assert with_.status == without.status == "optimal"
    assert (with_.lams, with_.splits, with_.losses) == (
        without.lams, without.splits, without.losses,
    )  # fmt: skip
