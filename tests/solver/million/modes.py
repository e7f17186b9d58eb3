"""The ways to solve a problem, and the share of the problems that each of them gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

from solver import (
    Limits,
    Monitor,
    Path,
    Snapshot,
    Solution,
    Tree,
    get_solver,
    regularization_path,
    solve,
)
from solver.branches import params
from solver.branches.engine import ThresholdEngine
from solver.branches.kernels import lp_dual_bounds
from solver.branches.kernels.state import DUE
from solver.branches.params import OPTIONS
from solver.lambda_series import Series
from solver.osdt.engine import BOUNDS
from solver.osdt.scheduling_policies import POLICIES
from solver.path.path_search import find_path
from solver.search_shards import Shard, merge
from solver.trees.tree import Shape
from tests.helpers.shard_party import solve_and_divide
from tests.solver.million.check import (
    Wrong,
    check_anytime,
    check_limited_path,
    check_optimal,
    check_path,
    check_status,
    check_tree,
    expect,
)
from tests.solver.million.random_problems import Question
from tests.solver.million.shards_in_turn import slices_of_one_step, solve_in_turn

Options = dict[str, Any]

LITTLE = 4096
"""The work of an iteration or two."""


class Run:
    """One question put to one solver, with these options; ``solves`` counts the calls."""

    def __init__(self, question: Question, chance: Random, solver: str, options: Options) -> None:
        self.question, self.chance = question, chance
        self.solver, self.options = solver, dict(options)
        if question.table.shape == "points":
            self.options["rules"] = "hyperplane"
        if question.table.shape == "curve":
            self.options |= {"rules": "polynomial", "degree": question.table.degree}
        self.solves = 0

    def solve(self, limits: Limits | None = None, lam: Any = None, **others: Any) -> Solution:
        """Solve by the function that users call."""
        self.solves += 1
        asked = self.question
        return solve(
            asked.table.problem,
            asked.lam if lam is None else lam,
            self.solver,
            limits or asked.limits(),
            **others,
            **self.options,
        )


def proves(run: Run) -> None:
    """It finds the optimum and proves it."""
    check_optimal(run.question, run.solve())


def proves_in_slices(run: Run) -> None:
    """In slices of a step, every snapshot holds, and the search goes on from any of them."""
    whole, seen = run.solve(), list[Snapshot]()
    check_optimal(run.question, whole)
    states = list[Any]()

    def look(snapshot: Snapshot) -> None:
        seen.append(snapshot)
        states.append(_copied(snapshot))

    with slices_of_one_step():
        found = run.solve(monitor=Monitor(snapshot=look, interval=0.0))
        for snapshot in seen:
            check_anytime(run.question, snapshot)
        _is_same(run, found, whole)
        if seen and states[0] is not None:
            again = run.solve(state=run.chance.choice(states))
            _is_same(run, again, whole)


def stops_and_goes_on(run: Run) -> None:
    """At limits of nodes the bounds hold; from the last state it ends as if it had not stopped."""
    whole, chance, last = run.solve(), run.chance, list[Any]()
    check_optimal(run.question, whole)
    monitor = Monitor(snapshot=lambda snapshot: last.append(_copied(snapshot)), interval=1e9)
    nodes, state, bound = 0, None, Fraction(0)
    for _ in range(4):
        nodes += chance.randint(0, whole.nodes)
        if nodes >= whole.nodes:
            break
        part = run.solve(run.question.limits(nodes=nodes), monitor=monitor, state=state)
        check_anytime(run.question, part)
        check_status(run.question, part)
        assert part.lower_bound is not None
        expect(part.lower_bound >= bound, "the bound fell", part.lower_bound, bound)
        state, bound = last[-1] if last else None, part.lower_bound
        if part.status == "optimal" or state is None:
            break
    if state is not None:
        _is_same(run, run.solve(state=state), whole)


def meets_limits(run: Run) -> None:
    """Whatever ends it, bound ≤ optimum ≤ objective."""
    chance, stops = run.chance, list[int]()
    kind = chance.choice(("nodes", "nodes", "bytes", "seconds", "stop"))
    limits = {
        "nodes": {"nodes": chance.choice((0, 1, 2, 3, 5, 8, 13, 30))},
        "bytes": {"bytes": chance.choice((1, 1000, 10**4, 10**5, 10**6))},
        "seconds": {"seconds": 0.0},
        "stop": {},
    }[kind]

    def stop() -> bool:
        stops.append(1)
        return kind == "stop" and len(stops) > looks

    looks = chance.randint(0, 6)
    with slices_of_one_step():
        found = run.solve(run.question.limits(**limits), monitor=Monitor(stop))
    check_anytime(run.question, found)
    check_status(run.question, found)
    status = {"stop": "stopped"}.get(kind, {"bytes": "memory", "seconds": "time"}.get(kind, "node"))
    expect(found.status in ("optimal", "stopped", f"{status}_limit"), "ended", found.status)


def begins_with_a_tree(run: Run) -> None:
    """A tree to begin with changes nothing, but may be the answer at a limit."""
    asked, chance = run.question, run.chance
    problem = asked.table.problem
    if chance.random() < 0.3:
        tree = run.solve(lam=chance.choice((asked.lam / 2, asked.lam * 2 + Fraction(1, 50)))).tree
    else:
        tree = problem.grow(_random_shape(run, chance.randint(0, 3)))
    nodes = chance.choice((None, 0, 1, 4))
    found = run.solve(asked.limits(nodes=nodes), initial_tree=tree)
    if nodes is None:
        check_optimal(asked, found)
    check_anytime(asked, found)
    if _keeps_limits(asked, tree):
        given = Fraction(tree.errors) / problem.total_weight + asked.lam * tree.splits
        expect(found.objective <= given, "worse than the tree given", found.objective, given)


def traces_the_path(run: Run) -> None:
    """Every breakpoint of the λ-path, and every tree."""
    asked, chance = run.question, run.chance
    run.solves += 1
    arguments = asked.table.problem, asked.lam, run.solver
    path = regularization_path(*arguments, asked.limits(), **run.options)
    check_path(asked, path)
    kind, states = chance.random(), list[Any]()
    if kind < 0.15:
        limits = asked.limits(nodes=chance.randint(0, max(1, path.nodes)))
        check_limited_path(asked, regularization_path(*arguments, limits, **run.options))
        run.solves += 1
    elif kind < 0.30:
        monitor = Monitor(snapshot=lambda seen: states.append(_copied(seen)), interval=0.0)
        with slices_of_one_step():
            regularization_path(*arguments, asked.limits(), monitor=monitor, **run.options)
            state = chance.choice(states)
            again = regularization_path(*arguments, asked.limits(), state=state, **run.options)
        run.solves += 2
        check_path(asked, again)
        expect(again.trees == path.trees, "another path after a state", again.lams)


def traces_the_path_in_pieces(run: Run) -> None:
    """A path that is stopped again and again goes on from its states to the same trees, on the
    same lines as those of solves that know nothing of each other."""
    asked, chance, states = run.question, run.chance, list[Any]()
    limits = asked.limits(bytes=chance.choice((None, None, 10**5, 10**6)))
    problem, solver = asked.table.problem, get_solver(run.solver)(**run.options)
    whole = regularization_path(problem, asked.lam, run.solver, limits, **run.options)
    check_path(asked, find_path(problem, asked.lam, Series(solver, problem), asked.limits()))
    run.solves += 2
    left = 0

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    monitor = Monitor(stop, lambda seen: states.append(_copied(seen)), interval=1e9)
    path: Path | None = None
    with slices_of_one_step():
        while path is None or path.status == "stopped":
            left, state = chance.randint(1, 20), states[-1] if states else None
            series = solver.series(problem)
            path = find_path(problem, asked.lam, series, limits, monitor, state)
            run.solves += 1
            check_limited_path(asked, path)
    expect(path.status in ("optimal", whole.status), "ended", path.status, whole.status)
    if path.status == "optimal":
        check_path(asked, path)
    # At a stop a greedy tree may be proven at once, by what is known without a search.
    if left >= 0 and asked.lam > 0:
        expect(path.status == whole.status, "ended", path.status, whole.status)
        expect(path.trees == whole.trees, "other trees", path.lams, whole.lams)


def in_shards(run: Run) -> None:
    """Shards that take turns, or do not hear of each other, prove the optimum together."""
    asked, chance = run.question, run.chance
    number = chance.choice((2, 2, 2, 3, 3, 3, 5))
    own, problem, limits = (
        get_solver(run.solver)(**run.options),
        asked.table.problem,
        asked.limits(),
    )
    run.solves += number

    def solve(index: int, monitor: Monitor | None, tree: Tree | None = None) -> Solution:
        part = own.part(Shard(index, number))
        return part.solve(problem, asked.lam, limits, monitor=monitor, initial_tree=tree)

    with slices_of_one_step() if chance.random() < 0.9 else nullcontext():
        if chance.random() < 0.8:
            parts = solve_in_turn(number, chance, solve)
        else:
            parts, best = [], None
            for index in chance.sample(range(number), number):
                parts.append((index, solve(index, None, best)))
                best = parts[-1][1].tree if chance.random() < 0.5 else best
            parts = [part for _, part in sorted(parts, key=lambda pair: pair[0])]
    _check_shards(run, parts)


def divided_at_work(run: Run) -> None:
    """Searches that are stopped and divided prove the optimum with what they have proven."""
    asked, chance = run.question, run.chance
    own, limits = get_solver(run.solver)(**run.options), asked.limits()
    stages = [(1, chance.randrange(60))]
    if own.divides(asked.lam, limits):
        if chance.random() < 0.5:
            stages.append((2, chance.randrange(30)))
        stages.append((chance.choice((2, 3, 5)) * stages[-1][0], 0))
    parts = solve_and_divide(own, asked.table.problem, asked.lam, limits, stages)
    run.solves += sum(number for number, _ in stages)
    _check_shards(run, parts)


def _check_shards(run: Run, parts: list[Solution]) -> None:
    asked = run.question
    for part in parts:
        check_tree(asked, part.tree)
    merged = merge(parts)
    check_optimal(asked, merged)
    if run.solver == "branches" and asked.is_plain:
        first, own_ = asked.oracle.first_tree(asked.lam), _preorder(merged.tree)
        expect(first in (own_, None), "not the first tree", own_, first)


class Mode(NamedTuple):
    """A way to solve a problem; ``share`` is of all problems, in thousandths."""

    name: str
    share: int
    solver: str
    shapes: tuple[str, ...]
    run: Callable[[Run], None]
    options: Callable[[Random], Options] = lambda chance: {}
    fits: Callable[[Question, Random], Question] = lambda question, chance: question
    harder: bool = True


def branches_options(chance: Random) -> Options:
    """Any options of mode full; those that are on by default are off more often than not."""
    if chance.random() < 0.2:
        return {}
    chosen: Options = {}
    for name, option in OPTIONS.items():
        if option.default in (True, False) and chance.random() < 0.4:
            chosen[name] = not option.default
    if chance.random() < 0.5:
        chosen["slack"] = chance.choice((0, 0.5, 1, 20))
    if chance.random() < 0.3:
        chosen["memo"] = "literals"
    if chance.random() < 0.5:
        chosen["child_order"] = chance.choice(("lowest-bound", "smallest-gap", "paper"))
    return chosen


def some_branches_options(chance: Random) -> Options:
    """Mostly the default."""
    return branches_options(chance) if chance.random() < 0.3 else {}


def paper(chance: Random) -> Options:
    """The published algorithm."""
    return {"mode": "paper"}


def osdt_options(chance: Random) -> Options:
    """Any bounds and any policy."""
    chosen: Options = {name: chance.random() < 0.6 for name in BOUNDS}
    if chance.random() < 0.1:
        chosen["warm_start"] = "cart"
    return {**chosen, "policy": chance.choice(POLICIES)}


def osdt_policies(chance: Random) -> Options:
    """All bounds, and any policy: without some bounds it sees far too many trees."""
    policy, similar = chance.choice(POLICIES), chance.random() < 0.3
    return {"policy": policy, "similar_support": similar}


def quantbnb_paper(chance: Random) -> Options:
    """Every lower bound of the paper."""
    bound, pieces = chance.choice(("w0", "w1", "w2", "l2")), chance.randint(2, 4)
    return {"mode": "paper", "bound": bound, "pieces": pieces}


def _with(question: Question, **changes: Any) -> Question:
    """A question with other limits, and its answer."""
    changed = replace(question, **changes)
    oracle = changed.table.oracle(changed.depth, changed.min_leaf)
    return replace(changed, oracle=oracle)


def depth(question: Question, chance: Random) -> Question:
    """For Quant-BnB, which needs a depth, and knows no limit on splits in regression."""
    most = min(3 if question.depth is None else question.depth, 3)
    splits = None if question.table.shape == "targets" else question.splits
    return _with(question, splits=splits, depth=most)


def depth_and_splits(question: Question, chance: Random) -> Question:
    """For Quant-BnB with a limit on splits that is tighter than that on depth."""
    most = chance.choice((2, 3, 3, 3, 4))
    return _with(question, splits=chance.randrange(min(2**most - 1, 8)), depth=most)


def depth_of_two(question: Question, chance: Random) -> Question:
    """For mode paper of Quant-BnB: it takes very long at a depth of three, and refuses prices of a
    split of so many digits that doubles are not exact."""
    most = min(2 if question.depth is None else question.depth, 2)
    lam = question.lam.limit_denominator(10_000)
    return _with(question, splits=None, depth=most, lam=lam)


def few_splits(question: Question, chance: Random) -> Question:
    """For proper trees, which need a limit of splits."""
    splits = question.splits
    return replace(question, splits=chance.choice((1, 2, 3)) if splits is None else min(splits, 3))


def paper_proper(chance: Random) -> Options:
    """The published algorithm."""
    return {"mode": "paper", "thinning": chance.random() < 0.3, "memo": chance.random() < 0.3}


def memo(chance: Random) -> Options:
    """With a memo, or without."""
    return {"memo": chance.random() < 0.3}


def _copied(snapshot: Snapshot) -> Any:
    """The state of a snapshot, which the search goes on to change; None if there is none."""
    if snapshot.state is None:
        return None
    return {name: array.copy() for name, array in snapshot.state().items()}


def _is_same(run: Run, found: Solution, whole: Solution) -> None:
    """A search in slices, or from a state, is that of a single slice."""
    check_optimal(run.question, found)
    if run.options.get("row_duals") or run.question.lam == 0:
        return  # these bounds are looked for between slices; free splits end it at any tree
    for name in ("iterations", "nodes", "tree"):
        one, other = getattr(found, name), getattr(whole, name)
        expect(one == other, f"{name} are not those of the whole search", one, other)


def _random_shape(run: Run, depth: int) -> Shape:
    """Any tree: useless splits and repeated ones are allowed."""
    tests = run.question.table.problem.tests
    if depth == 0 or not len(tests) or run.chance.random() < 0.2:
        return -1
    feature = run.chance.randrange(len(tests))
    return feature, tuple(_random_shape(run, depth - 1) for _ in range(tests[feature].arity))


def _keeps_limits(question: Question, tree: Tree) -> bool:
    with suppress(Wrong):
        check_tree(question, tree)
        return True
    return False


def _preorder(tree: Tree) -> list[int]:
    """The column of each node, −1 for a leaf."""
    return [
        -1 if node.feature is None else int(tree.tests[node.feature].column[1:])
        for node in tree.nodes
    ]


@contextmanager
def early_bounds(chance: Random) -> Iterator[None]:
    """Bounds that BRANCHES turns on in long searches only are on from the first steps.

    ``row_duals`` are improved between slices.
    """
    usual = params._RECENT_FROM, params._MOST_BLOCKS, ThresholdEngine.advance
    params._RECENT_FROM, params._MOST_BLOCKS = chance.choice((0, 0, 3)), chance.choice((1, 2, 256))
    first = LITTLE * chance.choice((1, 2, 5))

    def advance(engine: ThresholdEngine, *arguments: int) -> int:
        if engine.params.row_duals and engine.program.status[DUE] == lp_dual_bounds._FIRST:
            engine.program.status[DUE] = first
        return usual[2](engine, *arguments)

    ThresholdEngine.advance = advance  # type: ignore[method-assign]
    try:
        yield
    finally:
        params._RECENT_FROM, params._MOST_BLOCKS = usual[:2]
        ThresholdEngine.advance = usual[2]  # type: ignore[method-assign]


BITS, CODES, TARGETS = ("binary",), ("binary", "binary", "multiway"), ("targets",)
NUMBERS = ("numbers", "numbers", "numbers", "binary")

MODES = (
    Mode("branches", 278, "branches", CODES, proves),
    Mode("branches, any options", 160, "branches", CODES, proves, branches_options),
    Mode("branches, mode paper", 80, "branches", CODES, proves, paper),
    Mode(
        "branches, stopped and resumed", 50, "branches", CODES, stops_and_goes_on, branches_options
    ),
    Mode("branches, slices", 20, "branches", CODES, proves_in_slices, branches_options),
    Mode("branches, limits", 60, "branches", CODES, meets_limits, some_branches_options),
    Mode(
        "branches, initial tree", 50, "branches", CODES, begins_with_a_tree, some_branches_options
    ),
    Mode("branches, λ-path", 50, "branches", CODES, traces_the_path, some_branches_options),
    Mode("branches, shards", 25, "branches", CODES, in_shards, some_branches_options),
    Mode("branches, divided", 15, "branches", CODES, divided_at_work, some_branches_options),
    Mode("osdt", 50, "osdt", BITS, proves),
    Mode("osdt, any options", 20, "osdt", BITS, proves, osdt_options, harder=False),
    Mode("osdt, stopped and resumed", 10, "osdt", BITS, stops_and_goes_on, osdt_policies),
    Mode("osdt, slices", 2, "osdt", BITS, proves_in_slices, osdt_policies),
    Mode("osdt, limits", 8, "osdt", BITS, meets_limits, osdt_policies),
    Mode("osdt, initial tree", 4, "osdt", BITS, begins_with_a_tree, osdt_policies),
    Mode("osdt, λ-path", 4, "osdt", BITS, traces_the_path),
    Mode("osdt, mode paper", 2, "osdt", BITS, proves, paper, harder=False),
    Mode("quantbnb", 18, "quantbnb", NUMBERS, proves, fits=depth),
    Mode("quantbnb, splits", 8, "quantbnb", NUMBERS, proves, fits=depth_and_splits),
    Mode(
        "quantbnb, splits, resumed",
        2,
        "quantbnb",
        NUMBERS,
        stops_and_goes_on,
        fits=depth_and_splits,
    ),
    Mode(
        "quantbnb, splits, slices", 2, "quantbnb", NUMBERS, proves_in_slices, fits=depth_and_splits
    ),
    Mode("quantbnb, shards", 4, "quantbnb", NUMBERS, in_shards, fits=depth),
    Mode("quantbnb, divided", 2, "quantbnb", NUMBERS, divided_at_work, fits=depth),
    Mode("quantbnb, regression, shards", 2, "quantbnb", TARGETS, in_shards, fits=depth),
    Mode("quantbnb, stopped and resumed", 8, "quantbnb", NUMBERS, stops_and_goes_on, fits=depth),
    Mode("quantbnb, slices", 2, "quantbnb", NUMBERS, proves_in_slices, fits=depth),
    Mode("quantbnb, limits", 8, "quantbnb", NUMBERS, meets_limits, fits=depth),
    Mode("quantbnb, initial tree", 4, "quantbnb", NUMBERS, begins_with_a_tree, fits=depth),
    Mode("quantbnb, λ-path", 4, "quantbnb", NUMBERS, traces_the_path, fits=depth),
    Mode(
        "quantbnb, λ-path in pieces", 2, "quantbnb", NUMBERS, traces_the_path_in_pieces, fits=depth
    ),
    Mode(
        "quantbnb, mode paper", 6, "quantbnb", NUMBERS, proves, quantbnb_paper, depth_of_two, False
    ),
    Mode("quantbnb, regression", 12, "quantbnb", TARGETS, proves, fits=depth),
    Mode("quantbnb, regression, resumed", 3, "quantbnb", TARGETS, stops_and_goes_on, fits=depth),
    Mode("quantbnb, regression, limits", 3, "quantbnb", TARGETS, meets_limits, fits=depth),
    Mode("proper", 7, "proper", NUMBERS, proves, memo, few_splits),
    Mode("proper, hyperplanes", 4, "proper", ("points",), proves, memo, few_splits),
    Mode("proper, curves", 2, "proper", ("curve",), proves, memo, few_splits),
    Mode("proper, limits", 2, "proper", NUMBERS, meets_limits, memo, few_splits),
    Mode("proper, slices", 1, "proper", NUMBERS, proves_in_slices, memo, few_splits),
    Mode("proper, λ-path", 1, "proper", NUMBERS, traces_the_path, memo, few_splits),
    Mode("proper, shards", 1, "proper", (*NUMBERS, "points"), in_shards, memo, few_splits),
    Mode("proper, divided", 1, "proper", (*NUMBERS, "points"), divided_at_work, memo, few_splits),
    Mode("proper, mode paper", 1, "proper", ("numbers",), proves, paper_proper, few_splits, False),
    Mode("proper, regression", 2, "proper", TARGETS, proves, memo, few_splits),
)
