"""The contract that every solver of the catalogue keeps, with every value of its options."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import solver
from solver import SOLVERS, InputError, Limits, Problem, Solution, Status, Tree, UnsupportedError
from solver.base import STRUCTURAL_LIMITS, Solver
from solver.catalogue import EXTERNAL, OURS, Catalogue
from solver.engine import driver
from solver.engine.driver import Engine
from solver.monitor import Monitor, Snapshot
from solver.path.path_search import find_path
from solver.verify.scorer import score
from sweep.store.read_results import read_results
from tests.helpers import ROOT, environment, toy_solver
from tests.helpers.random_examples import examples
from tests.helpers.solutions import check_against_oracle, check_solution
from tests.helpers.strategies import (
    Table,
    binary_tables,
    cost_scale,
    ordered_tables,
    random_table,
    structural_limits,
    tables,
)
from tests.helpers.toy_solver import Exhaustive

NAMES = [*OURS, *EXTERNAL]
OUR_KINDS = [SOLVERS[name] for name in OURS]
THIRD = Fraction(1, 3)
SMALL_PRICE = Fraction(1, 2000)
LARGE = 10**9
ANY_SIZE = 16
"""Of a tree: what small tables never reach, for solvers that need a limit."""

Variants = list[dict[str, Any]]

quick = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
thorough = settings(
    max_examples=examples(200),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def _options_of_kinds() -> dict[type[Solver], Variants]:
    """Every solver, and a user's, as it is and with each other value that an option lists."""
    variants: dict[type[Solver], Variants] = {}
    seen = set[int]()
    for kind in (*OUR_KINDS, Exhaustive):
        variants[kind] = [{}]
        for name, option in kind.options.items():
            if not option.in_contract or id(option) in seen:
                continue  # the option of another solver is handed to that one
            seen.add(id(option))
            values = [value for value in option.allowed or () if value != option.default]
            variants[kind] += [{name: value} for value in values]
    return variants


def _variants() -> list[Any]:
    """Every solver with one of its options as a case of its own."""
    return [
        pytest.param(kind, options, id="-".join(map(str, [kind.name, *sum(options.items(), ())])))
        for kind, variants in _options_of_kinds().items()
        for options in variants
    ]


def _each(variants: Variants) -> Iterator[dict[str, Any]]:
    """The variants one by one; hypothesis says which of them fails."""
    for options in variants:
        note(f"options: {options}")
        yield options


def _table_for(kind: type[Solver], data: st.DataObject) -> Table:
    return data.draw(_tables_of(kind.capabilities.features))


@cache
def _tables_of(features: frozenset[str]) -> st.SearchStrategy[Table]:
    drawn = [binary_tables()]
    if "categorical" in features:
        drawn.append(tables())
    if "continuous" in features:
        drawn.append(ordered_tables())
    return st.one_of(drawn)


def _limits_for(kind: type[Solver], data: st.DataObject) -> Limits:
    limits = data.draw(structural_limits())
    honoured = {name: getattr(limits, name) for name in kind.capabilities.limits}
    return free(kind, **{name: value for name, value in honoured.items() if value is not None})


def free(kind: type[Solver], **given: Any) -> Limits:
    """Limits, and of those that a solver needs beside them ones that let it give any tree."""
    return Limits(**dict.fromkeys(kind.capabilities.needs, ANY_SIZE) | given)


@pytest.fixture
def compiled(kind: type[Solver]) -> None:
    """The solver has compiled its kernels."""
    kind.warm_up()


@pytest.mark.parametrize(
    "kind, variants",
    [pytest.param(kind, variants, id=kind.name) for kind, variants in _options_of_kinds().items()],
)
class TestContractOnDrawnTables:
    """One class for all solvers; all variants of one are tried on the tables drawn for it."""

    @quick
    @given(data=st.data())
    def test_agrees_with_the_oracle(
        self, kind: type[Solver], variants: Variants, data: st.DataObject
    ) -> None:
        table = _table_for(kind, data)
        lam = data.draw(cost_scale(sum(table.weights)))
        for options in _each(variants):
            check_against_oracle(kind, options, table, lam, free(kind))

    @quick
    @given(data=st.data())
    def test_agrees_with_the_oracle_within_limits(
        self, kind: type[Solver], variants: Variants, data: st.DataObject
    ) -> None:
        table = _table_for(kind, data)
        lam = data.draw(cost_scale(sum(table.weights)))
        limits = _limits_for(kind, data)
        for options in _each(variants):
            check_against_oracle(kind, options, table, lam, limits)

    @quick
    @given(data=st.data())
    def test_anytime_within_a_node_limit(
        self, kind: type[Solver], variants: Variants, data: st.DataObject
    ) -> None:
        table = _table_for(kind, data)
        lam = data.draw(cost_scale(sum(table.weights)))
        structure = _limits_for(kind, data) if data.draw(st.booleans()) else free(kind)
        nodes = data.draw(st.sampled_from([0, 1, 2, 5, 11, 40]))
        limits = Limits(**structure.to_dict(), nodes=nodes)
        best = table.optimum(lam, limits)
        for options in _each(variants):
            problem = table.problem()
            solution = kind(**options).solve(problem, lam, limits)
            check_solution(problem, solution, lam, limits)
            assert best.objective <= solution.objective
            if solution.lower_bound is not None:
                assert solution.lower_bound <= best.objective
                assert solution.status in (Status.OPTIMAL, Status.NODE_LIMIT)
            again = kind(**options).solve(table.problem(), lam, limits)
            assert _timeless(again) == _timeless(solution)

    @quick
    @given(data=st.data())
    def test_row_order_and_repetition_change_nothing(
        self, kind: type[Solver], variants: Variants, data: st.DataObject
    ) -> None:
        table = _table_for(kind, data)
        lam = data.draw(cost_scale(sum(table.weights)))
        order = data.draw(st.permutations(range(len(table.target))))
        rows = [r for r in order for _ in range(table.weights[r])]
        repeated = Problem.from_codes(
            np.array([table.codes[r] for r in rows]).reshape(len(rows), len(table.arities)),
            [table.target[r] for r in rows],
            arities=table.arities,
            classes=range(table.n_classes),
            ordered=table.ordered,
        )
        problem = table.problem()
        assert repeated.digest == problem.digest
        for options in _each(variants):
            one, other = (kind(**options).solve(p, lam, free(kind)) for p in (problem, repeated))
            assert one.tree == other.tree

    @quick
    @given(seed=st.integers(0, 2**32 - 1))
    def test_a_factor_of_all_weights_changes_nothing(
        self, kind: type[Solver], variants: Variants, seed: int
    ) -> None:
        table = random_table(seed, max_rows=14, max_features=4, max_arity=2, max_classes=3)
        lam = Fraction(1 + seed % 50, 1000)
        large = Problem.from_codes(
            table.codes, table.target, weights=[w * LARGE for w in table.weights]
        )
        problem = table.problem()
        for options in _each(variants):
            small, scaled = (kind(**options).solve(p, lam, free(kind)) for p in (problem, large))
            check_solution(large, scaled, lam, Limits())
            assert scaled.errors == LARGE * small.errors
            assert (scaled.objective, scaled.splits) == (small.objective, small.splits)

    @quick
    @given(data=st.data())
    def test_starts_from_an_incumbent(
        self, kind: type[Solver], variants: Variants, data: st.DataObject
    ) -> None:
        """Whatever it starts from, the answer is as good, and never worse than the start."""
        table = _table_for(kind, data)
        lam = data.draw(cost_scale(sum(table.weights)))
        problem = table.problem()
        other = data.draw(cost_scale(problem.total_weight))
        for options in _each(variants):
            first = kind(**options).solve(problem, other, free(kind)).tree
            solution = kind(**options).solve(problem, lam, free(kind), initial_tree=first)
            check_solution(problem, solution, lam, Limits())
            if kind.capabilities.proves:
                best = table.optimum(lam)
                assert solution.objective == best.objective
                assert lam == 0 or solution.splits == best.splits
                stopped = kind(**options).solve(
                    problem, lam, free(kind, nodes=0), initial_tree=first
                )
                assert stopped.objective <= score(problem, first, lam).objective


@pytest.mark.parametrize("kind, options", _variants())
class TestContract:
    """One class for all solvers."""

    def test_a_slow_machine_finds_the_same_tree(
        self, kind: type[Solver], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of equally good trees too: slices are short then, and every search is a long one."""
        for seed in range(8):
            table = random_table(seed, max_rows=14, max_features=4, max_arity=2, max_classes=3)
            for lam in (Fraction(0), Fraction(1, 50)):
                fast = kind(**options).solve(table.problem(), lam, free(kind))
                with monkeypatch.context() as patch:
                    patch.setattr(driver, "_SLICE_SECONDS", -1.0)
                    slow = kind(**options).solve(table.problem(), lam, free(kind))
                assert slow.tree == fast.tree

    def test_the_search_ends_when_the_gap_is_closed(
        self, kind: type[Solver], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After the step in which the bounds meet no node is looked at; OSDT empties its queue."""
        closed: list[tuple[Engine, int]] = []
        budget = driver.Search._iterations_of_slice

        def look(search: driver.Search, iterations: int) -> int:
            objective, bound = search._bounds()
            if objective == bound and search.engine.upper_bound == search.best_cost:
                closed.append((search.engine, search.engine.nodes))
            return budget(search, min(iterations, 16))

        monkeypatch.setattr(driver.Search, "_iterations_of_slice", look)
        for seed in range(8):
            table = random_table(seed, max_rows=14, max_features=4, max_arity=2, max_classes=3)
            for lam in (Fraction(1, 50), Fraction(1, 8)):  # at 0 some look for the fewest splits
                kind(**options).solve(table.problem(), lam, free(kind))
        assert all(engine.nodes == nodes for engine, nodes in closed)

    def test_one_row(self, kind: type[Solver], options: dict[str, Any]) -> None:
        problem = Problem.from_codes([[1, 0]], [0], arities=[2, 2])
        solution = kind(**options).solve(problem, Fraction(0), free(kind))
        check_solution(problem, solution, Fraction(0), Limits())
        assert (solution.objective, solution.splits) == (0, 0)

    def test_one_class(self, kind: type[Solver], options: dict[str, Any]) -> None:
        problem = Problem.from_codes([[0, 0], [0, 1], [1, 0]], [0, 0, 0])
        for lam in (Fraction(0), THIRD):
            solution = kind(**options).solve(problem, lam, free(kind))
            check_solution(problem, solution, lam, Limits())
            assert solution.errors == 0
            assert solution.splits == 0

    def test_no_features(self, kind: type[Solver], options: dict[str, Any]) -> None:
        for codes in (np.zeros((3, 0), int), [[1, 0], [1, 0], [1, 0]]):
            problem = Problem.from_codes(codes, [0, 1, 1])
            assert problem.n_features == 0
            for lam in (Fraction(0), THIRD):
                solution = kind(**options).solve(problem, lam, free(kind))
                check_solution(problem, solution, lam, Limits())
                assert solution.objective == THIRD

    def test_contradictory_rows(self, kind: type[Solver], options: dict[str, Any]) -> None:
        problem = Problem.from_codes([[0], [0], [0], [1], [1], [1]], [0, 0, 1, 1, 1, 0])
        solution = kind(**options).solve(problem, Fraction(1, 10), free(kind))
        check_solution(problem, solution, Fraction(1, 10), Limits())
        assert problem.unavoidable_errors == 2 <= solution.errors
        if kind.capabilities.proves:
            assert (solution.objective, solution.splits) == (THIRD + Fraction(1, 10), 1)

    def test_hundreds_of_classes(self, kind: type[Solver], options: dict[str, Any]) -> None:
        codes = [[i >> b & 1 for b in range(9)] for i in range(300)]
        problem = Problem.from_codes(codes, list(range(300)))
        lam = Fraction(1, 200)  # a split costs more than the one row that it can set right
        solution = kind(**options).solve(problem, lam, free(kind))
        check_solution(problem, solution, lam, Limits())
        if kind.capabilities.proves:
            assert (solution.objective, solution.splits) == (Fraction(299, 300), 0)
            # One split sets one more row right, whatever it asks.
            one = {name: 1 for name in ("depth", "splits") if name in kind.capabilities.limits}
            paid = kind(**options).solve(problem, Fraction(1, 1000), Limits(**one))
            assert paid.objective == Fraction(298, 300) + Fraction(1, 1000)

    def test_splits_too_dear(self, kind: type[Solver], options: dict[str, Any]) -> None:
        problem = Problem.from_codes([[0], [1], [1]], [0, 1, 1])
        for lam in (THIRD, Fraction(1), Fraction(7, 2)):
            solution = kind(**options).solve(problem, lam, free(kind))
            check_solution(problem, solution, lam, Limits())
            if kind.capabilities.proves:
                assert (solution.objective, solution.splits) == (THIRD, 0)

    def test_stop_flag(self, kind: type[Solver], options: dict[str, Any]) -> None:
        problem, lam = hard_problem(), SMALL_PRICE
        solution = kind(**options).solve(
            problem, lam, free(kind), monitor=Monitor(stop=lambda: True)
        )
        check_solution(problem, solution, lam, Limits())
        if kind.capabilities.proves:
            assert solution.status is Status.STOPPED

    @pytest.mark.usefixtures("compiled", "counted_time")
    def test_stop_flag_is_looked_at_often(
        self, kind: type[Solver], options: dict[str, Any]
    ) -> None:
        asked: list[float] = []

        def stop() -> bool:
            asked.append(time.perf_counter())
            return len(asked) > 3

        problem, lam = hard_problem(), SMALL_PRICE
        kind(**options).solve(problem, lam, free(kind, seconds=3), monitor=Monitor(stop=stop))
        asked.append(time.perf_counter())
        # Between two looks lies a slice of the search; after the last one a greedy tree, which
        # looks at the clock.
        assert all(b - a < 2 for a, b in itertools.pairwise(asked[:-1]))
        if kind.capabilities.proves:
            assert len(asked) <= 6
            assert asked[-1] - asked[0] < 5

    @pytest.mark.usefixtures("compiled", "counted_time")
    def test_time_limit(self, kind: type[Solver], options: dict[str, Any]) -> None:
        problem, lam = hard_problem(), SMALL_PRICE
        for seconds in (0, 0.3):
            began = time.perf_counter()
            solution = kind(**options).solve(problem, lam, free(kind, seconds=seconds))
            taken = time.perf_counter() - began - solution.compile_seconds
            check_solution(problem, solution, lam, Limits())
            if kind.capabilities.proves:
                assert solution.status is Status.TIME_LIMIT
                assert taken < seconds + 1

    def test_memory_limit(self, kind: type[Solver], options: dict[str, Any]) -> None:
        problem, lam = hard_problem(), SMALL_PRICE
        few, many = (
            kind(**options).solve(problem, lam, free(kind, nodes=nodes)).peak_bytes
            for nodes in (1, 3000)
        )
        for limit in (0, 2**12, many // 2, 2**20, 2**22):
            if limit >= many == few:
                continue  # its memory does not grow with the search
            limits = free(kind, bytes=limit)
            solution = kind(**options).solve(problem, lam, limits)
            check_solution(problem, solution, lam, Limits())
            if kind.capabilities.proves:
                assert solution.status is Status.MEMORY_LIMIT
                assert limit < 2**20 or solution.peak_bytes <= limit

    @pytest.mark.usefixtures("compiled", "counted_time")
    def test_snapshots(self, kind: type[Solver], options: dict[str, Any]) -> None:
        problem, lam = hard_problem(), SMALL_PRICE
        seen: list[Snapshot] = []
        monitor = Monitor(snapshot=seen.append, interval=0.3)
        solution = kind(**options).solve(problem, lam, free(kind, seconds=1), monitor=monitor)
        assert seen or not kind.capabilities.proves
        for shot in seen:
            points = score(problem, shot.tree, lam)
            assert points.objective == shot.objective >= solution.objective
            assert shot.lower_bound <= solution.objective

    def test_no_snapshot_is_worse_than_an_earlier_one(
        self, kind: type[Solver], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nor is the solution, also of a search that goes on from its state."""
        monkeypatch.setattr(driver, "_next_budget", lambda done, seconds: 5)
        problem, lam, seen = hard_problem(), SMALL_PRICE, list[Snapshot]()
        monitor, state, tree = Monitor(snapshot=seen.append, interval=0.0), None, None
        found: list[Fraction] = []
        for nodes in (200, 800):
            limits = free(kind, nodes=nodes, seconds=2)
            solution = kind(**options).solve(
                problem, lam, limits, monitor=monitor, state=state, initial_tree=tree
            )
            found += [*(shot.objective for shot in seen), solution.objective]
            if seen and seen[-1].state is not None:
                state = {name: array.copy() for name, array in seen[-1].state().items()}
            tree = solution.tree
            seen.clear()
        assert found == sorted(found, reverse=True)

    def test_refuses_what_it_cannot_do(self, kind: type[Solver], options: dict[str, Any]) -> None:
        multiway = Problem.from_codes([[0], [1], [2]], [0, 1, 1])
        if "categorical" not in kind.capabilities.features:
            with pytest.raises(UnsupportedError, match=kind.name):
                kind(**options).solve(multiway, THIRD, free(kind))
        binary = Problem.from_codes([[0], [1]], [0, 1])
        for limit in set(STRUCTURAL_LIMITS) - kind.capabilities.limits:
            with pytest.raises(UnsupportedError, match=limit):
                kind(**options).solve(binary, THIRD, free(kind, **{limit: 1}))
        assert kind.capabilities.needs <= kind.capabilities.limits
        for limit in kind.capabilities.needs:
            lacking = replace(free(kind), **{limit: None})
            with pytest.raises(UnsupportedError, match=f"needs the limit {limit!r}; write e.g."):
                kind(**options).solve(binary, THIRD, lacking)
            with pytest.raises(UnsupportedError, match=f"needs the limit {limit!r}"):
                find_path(binary, THIRD, kind(**options).series(binary), lacking)
        with pytest.raises(InputError, match="no option 'colour'"):
            kind(colour="red")
        for name, option in kind.options.items():
            assert name not in Limits.__dataclass_fields__, "two things of one name"
            with pytest.raises(InputError, match=name):
                kind(**{name: object()})
            kind.check_options({name: option.default})

    def test_result_as_plain_data(self, kind: type[Solver], options: dict[str, Any]) -> None:
        problem = Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
        data = kind(**options).solve(problem, Fraction(1, 20), free(kind)).to_dict()
        assert data["solver"] == kind.name
        assert data["version"] == kind.version
        assert Fraction(data["objective_exact"]) == Fraction(1, 10)
        assert Tree.from_dict(data["tree"]).splits == data["splits"] == 2


def hard_problem() -> Problem:
    """Labels without any structure and cheap splits: beyond every solver's reach in a minute."""
    rng = np.random.RandomState(7)
    return Problem.from_codes(rng.randint(0, 2, (600, 20)), rng.randint(0, 2, 600))


# Of the options those that change the algorithm; the others have tests beside their solver.
# Of heuristics there is little that an oracle could say.
@pytest.mark.parametrize(
    "kind, options",
    [
        variant
        for variant in _variants()
        if (not variant.values[1] or variant.values[1].keys() & {"mode", "policy"})
        and variant.values[0].capabilities.proves
    ],
)
@pytest.mark.slow
@thorough
@given(data=st.data())
def test_agrees_with_the_oracle_on_hundreds(
    kind: type[Solver], options: dict[str, Any], data: st.DataObject
) -> None:
    table = _table_for(kind, data)
    lam = data.draw(cost_scale(sum(table.weights)))
    limits = _limits_for(kind, data) if data.draw(st.booleans()) else free(kind)
    check_against_oracle(kind, options, table, lam, limits)


def _timeless(solution: Solution) -> dict[str, Any]:
    """What must be the same in every run of one problem."""
    data = solution.to_dict()
    for name in ("seconds", "compile_seconds", "peak_bytes", "trace"):
        del data[name]
    data["extra"] = {
        name: value
        for name, value in data["extra"].items()
        if name not in ("trace", "seconds_to_optimum")
    }
    return data


def test_there_is_no_such_solver() -> None:
    with pytest.raises(
        InputError,
        match="there is no solver 'oracle'; there are: branches, osdt, quantbnb, proper, cart, tao",
    ):
        solver.get_solver("oracle")


@pytest.mark.parametrize("lam", ["abc", -1, "nan", float("inf"), None, "1/0", True, "1e-3_0"])
def test_bad_price(lam: Any) -> None:
    problem = Problem.from_codes([[0], [1]], [0, 1])
    with pytest.raises(InputError, match="λ"):
        solver.solve(problem, lam)


def test_solve_by_name() -> None:
    problem = Problem.from_codes([[0], [1]], [0, 1])
    for name, kind in zip(OURS, OUR_KINDS, strict=True):
        assert solver.solve(problem, "0.1", name, free(kind)).solver == name
    assert solver.solve(problem, 0.1).objective == Fraction(1, 10)
    assert solver.solve(problem, "0.1", mode="paper").splits == 1
    with pytest.raises(InputError, match="mode"):
        solver.solve(problem, "0.1", mode="fast")


@pytest.mark.parametrize("lam", ["3", "1e16", "1e40"])
@pytest.mark.parametrize("name", OURS)
def test_at_a_huge_lambda_the_leaf_is_optimal(name: str, lam: str) -> None:
    problem = Problem.from_codes([[0], [1], [2], [3]], [0, 1, 0, 1], ordered=True)
    if "continuous" not in SOLVERS[name].capabilities.features:
        problem = Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    given = dict.fromkeys(SOLVERS[name].capabilities.needs, 2)
    found = solver.solve(problem, lam, name, Limits(**given))
    assert (found.splits, found.objective) == (0, Fraction(1, 2))
    if SOLVERS[name].capabilities.proves:
        assert (found.status, found.lower_bound) == ("optimal", Fraction(1, 2))
    if "regression" in SOLVERS[name].capabilities.tasks:
        codes, target = [[0], [1], [2]], [0.0, 1.0, 3.0]
        numbers = Problem.from_codes(codes, target, task="regression", ordered=True)
        mode = SOLVERS[name].options.get("mode")
        for one in [{}] if mode is None else [{"mode": choice} for choice in mode.allowed or ()]:
            found = solver.solve(numbers, lam, name, Limits(**given), **one)
            assert found.splits == 0
            assert found.status in ("optimal", "heuristic")


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    """A catalogue of our solvers."""
    monkeypatch.setattr(metadata, "entry_points", lambda group: [])
    return Catalogue()


def test_a_registered_solver_is_one_of_the_catalogue(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solver.catalogue, "SOLVERS", catalogue)
    assert solver.register(Exhaustive) is Exhaustive
    assert solver.register(Exhaustive) is Exhaustive
    assert list(catalogue) == [*NAMES, "exhaustive"]
    problem = Problem.from_codes([[0], [1]], [0, 1])
    assert solver.solve(problem, "0.1", "exhaustive").objective == Fraction(1, 10)
    assert solver.regularization_path(problem, "0.1", "exhaustive").splits == (1, 0)


@pytest.mark.parametrize("kind", OUR_KINDS)
def test_an_option_keeps_its_default_in_other_modes(kind: type[Solver]) -> None:
    for name, option in kind.options.items():
        others = {*(kind.options["mode"].allowed or ())} - {option.mode} if option.mode else set()
        values = option.allowed or (option.default, option.default + 1)
        for mode, value in itertools.product(others, values):
            if value == option.default:
                kind(**{"mode": mode, name: value})
            else:
                with pytest.raises(InputError, match=f"option {name} = .* belongs to mode"):
                    kind(**{"mode": mode, name: value})


def test_names_are_those_of_the_solvers() -> None:
    assert [SOLVERS[name].name for name in NAMES] == NAMES


def test_what_is_no_solver_is_not_registered(catalogue: Catalogue) -> None:
    nameless = type("Nameless", (Solver,), {"version": "1"})
    namesake = type("Namesake", (Exhaustive,), {"name": "osdt"})
    with pytest.raises(InputError, match=r"Nameless lacks: name, summary, capabilities, _solve"):
        catalogue.register(nameless)
    with pytest.raises(InputError, match="there is a solver 'osdt' already"):
        catalogue.register(namesake)
    with pytest.raises(InputError, match="is not a subclass"):
        catalogue.register(Exhaustive())  # type: ignore[arg-type]
    assert list(catalogue) == NAMES


def test_a_package_that_fails_leaves_ours(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = metadata.EntryPoint("theirs", "no_such_module:Solver", "treesweep.solvers")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [broken])
    with pytest.warns(UserWarning, match="the solver 'theirs' .* is left out: ModuleNotFound"):
        assert list(catalogue) == NAMES


SWEEP = """
name: theirs
datasets: [{{name: numbers, path: {data}, target: y}}]
encodings: [onehot]
lambdas: ["0.01", "0.1"]
solvers: [exhaustive]
"""


def test_a_solver_of_an_installed_package_is_a_cell_of_a_sweep(tmp_path: Path) -> None:
    package = tmp_path / "package"
    info = package / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    source = Path(toy_solver.__file__).read_text()
    (package / "theirs.py").write_text(source)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[treesweep.solvers]\nexhaustive = theirs:Exhaustive\n")
    (tmp_path / "data.csv").write_text("a,b,y\n0,0,0\n0,1,1\n1,0,1\n1,1,0\n" * 5)
    (tmp_path / "sweep.yaml").write_text(SWEEP.format(data=tmp_path / "data.csv"))
    command = [sys.executable, "-m", "pipelines.cli", "run", "sweep.yaml", "--out", "out"]
    path = os.pathsep.join([str(ROOT), str(package)])
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(PYTHONPATH=path), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = read_results(tmp_path / "out")
    assert list(rows["solver"]) == ["exhaustive"] * 2
    assert list(rows["status"]) == ["optimal"] * 2
