"""Tests of sweep/graph/sharded_tasks.py, and of what plans and specs say of shards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solver.branches import Branches
from solver.errors import InputError
from solver.monitor import Snapshot
from solver.search_shards import Shard
from solver.solution import Status
from solver.trees.tree import Tree
from solver.verify.solution_checks import disagreement
from sweep.graph import sharded_tasks
from sweep.graph.sharded_tasks import Shards, backlog_of
from sweep.graph.task_payload import CellMaker
from sweep.plan.plan import Plan, Task, make_plan
from sweep.rows.result_rows import (
    Checkpoint,
    Finished,
    as_finished,
    checkpoint_at,
    checkpoint_of,
)
from sweep.rows.shard_rows import merge_rows, solution_of
from sweep.spec.spec import parse_spec
from sweep.store import store as stores
from sweep.store.shard_files import WORTH
from sweep.store.store import Store
from sweep.worker import tasks
from sweep.worker.run_settings import Run
from sweep.worker.shard_messages import Known

SPEC = """
name: shards
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.05, 0.02]
solvers: [{solver: branches, shards: 3}, cart]
limits: {seconds: 60}
"""

Row = dict[str, Any]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(parse_spec(SPEC))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with stores.create(tmp_path / "out", parse_spec(SPEC), print) as found:
        yield found


@pytest.fixture
def row(plan: Plan, prepared: tasks.Prepared, rowmaker: Any) -> Row:
    """The row of the first task, not divided."""
    found: Row = tasks.solve_cell(prepared, rowmaker.cell_of(plan.task(0)), Run("test"))
    assert found["status"] == "optimal"
    return found


def part(row: Row, **changes: Any) -> Row:
    """A shard's row, of which some is unlike the whole's."""
    return {**row, "extra": json.dumps({"found": True, "regions": 2, "rules": 5}), **changes}


def worse(row: Row, prepared: tasks.Prepared, **changes: Any) -> Row:
    """The row of a shard that has found the tree without a split."""
    tree = prepared.problem.grow(-1)
    goal = str(Fraction(tree.errors) / prepared.problem.total_weight)
    told = {"tree": tree.to_json(), "splits": 0, "objective_exact": goal}
    return part(row, **{**told, "lower_bound_exact": goal, **changes})


def shards_of(plan: Plan, number: int = 0) -> list[Task]:
    return plan.tasks_of(plan.pieces(np.array([number])).tolist())


def one(row: Row) -> Finished:
    return as_finished([row])


# The file and the plan


@pytest.mark.parametrize(
    "entry, message",
    [
        ("{solver: cart, shards: 2}", "cannot do a task in shards; these can: "),
        ("{solver: branches, shards: 2, lam: path}", "λ-path cannot be done in shards"),
        ("{solver: branches, shards: 2, proof: true}", "no certificate of a search in shards"),
        ("{solver: branches, shards: 0}", "shards"),
        ("{solver: branches, shards: [1, 2]}", "shards"),
        ("{solver: branches, shards: two}", "shards"),
    ],
)
def test_what_cannot_be_divided_is_refused(entry: str, message: str) -> None:
    text = SPEC.replace("{solver: branches, shards: 3}", entry)
    with pytest.raises(InputError, match=message) as caught:
        parse_spec(text)
    assert "line 6" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_options_that_cannot_be_divided_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Branches, shard: Shard) -> Branches:
        raise InputError("not with these options")

    monkeypatch.setattr(Branches, "part", refuse)
    with pytest.raises(InputError, match=r"line 6: solvers\[1\].shards: not with these options"):
        parse_spec(SPEC)


def test_the_number_of_shards_is_part_of_the_key(plan: Plan) -> None:
    """Limits hold for each shard, and a divided search may return another of equally good trees."""
    whole = make_plan(parse_spec(SPEC.replace(", shards: 3", "")))
    five = make_plan(parse_spec(SPEC.replace("shards: 3", "shards: 5")))
    plans = (whole, plan, five)
    keys = [{t.key for t in p.tasks() if t.solver.name == "branches"} for p in plans]
    assert len(set.union(*keys)) == sum(map(len, keys)) == 6
    others = [[task.key for task in p.tasks() if task.solver.name != "branches"] for p in plans]
    assert others[0] == others[1] == others[2]
    assert whole.most_seconds == 4 * 60
    assert plan.most_seconds == (2 + 3 * 2) * 60


def test_choices_that_differ_in_shards_are_all_run(plan: Plan) -> None:
    both = SPEC.replace(
        "cart]", "branches, {solver: branches, shards: 5}, {solver: branches, shards: 3}]"
    )
    choices = parse_spec(both).spec.solver_choices()
    assert sorted(choice.shards for choice in choices) == [1, 3, 5]


def test_pieces_of_tasks(plan: Plan) -> None:
    assert plan.pieces(np.arange(4)).tolist() == [0, 4, 8, 1, 5, 9, 2, 3]
    assert plan.pieces(np.array([1, 3])).tolist() == [1, 5, 9, 3]
    first, second, third = shards_of(plan, 1)
    assert [t.shard for t in (first, second, third)] == [Shard(i, 3) for i in range(3)]
    assert first.key == third.key == next(t.key for t in plan.tasks() if t.number == 1)
    assert (first.number, third.number) == (1, 9)
    assert third.lam == plan.task(1).lam
    assert plan.task(3).shard is None


def test_shards_of_a_task_follow_each_other_dearest_first(plan: Plan) -> None:
    backlog = backlog_of(plan, np.arange(4))
    taken: list[int] = []
    while len(backlog):
        taken += backlog.take(lambda node: 20)
    assert taken == [1, 5, 9, 0, 4, 8, 2, 3]


# Merging


def test_the_merged_row_has_the_best_tree_and_the_weakest_bound(
    row: Row, prepared: tasks.Prepared
) -> None:
    bound = str(Fraction(row["objective_exact"]) - Fraction(1, 50))
    slow = worse(row, prepared, status="time_limit", lower_bound_exact=bound, attempt=2)
    merged = merge_rows([slow, part(row, worker="b"), part(row, worker="c")])
    assert merged["tree"] == row["tree"]
    assert merged["worker"] == "b"
    assert merged["status"] == "time_limit"
    assert merged["lower_bound_exact"] == bound
    assert Fraction(merged["gap_exact"]) == Fraction(1, 50)
    assert merged["gap"] == pytest.approx(0.02)
    assert merged["attempt"] == 2
    assert merged["seconds"] == pytest.approx(3 * row["seconds"])
    extra = json.loads(merged["extra"])
    assert extra["shards"] == 3
    assert extra["regions"] == 6
    assert extra["rules"] == 5
    assert extra["shard_seconds"] == [pytest.approx(row["seconds"], abs=1e-6)] * 3
    assert "found" not in extra
    same = {n for n in row if merged[n] == row[n]}
    assert {"key", "splits", "train_accuracy", "errors", "test_accuracy"} <= same


def test_a_row_tells_its_solution(row: Row, prepared: tasks.Prepared) -> None:
    found = solution_of(row)
    assert found.status is Status.OPTIMAL
    assert found.gap == 0
    assert str(found.objective) == row["objective_exact"]
    assert disagreement(prepared.problem, found, found.lam, tasks.Limits()) is None
    assert merge_rows([row])["objective_exact"] == row["objective_exact"]


# What the driver knows


def test_a_task_ends_with_its_last_shard(plan: Plan, store: Store, row: Row) -> None:
    shards, pieces = Shards(store), shards_of(plan)
    assert all(shards.is_due(piece) for piece in pieces)
    assert shards.counts == (0, 3)
    assert shards.take(pieces[2], one(part(row))) == ([], None)
    assert not shards.is_due(pieces[2])
    assert shards.take(pieces[0], one(part(row, seconds=WORTH))) == ([], None)
    assert shards.counts == (2, 3)
    ((merged,), _) = shards.take(pieces[1], one(part(row)))
    assert merged["status"] == "optimal"
    assert merged["attempt"] == 1
    assert shards.counts == (0, 0)
    assert [(key, shard) for key, shard, _ in shards.kept] == [(row["key"], Shard(0, 3))]
    assert not shards.is_due(pieces[0])  # one that another worker is still at comes too late
    assert shards.take(pieces[0], one(part(row))) == ([], None)


def test_shards_begin_with_the_best_tree_of_others(
    plan: Plan, store: Store, row: Row, prepared: tasks.Prepared
) -> None:
    shards, pieces = Shards(store), shards_of(plan)
    assert shards.is_due(pieces[0])
    assert shards.incumbent(pieces[0]) is None
    first = worse(row, prepared)
    shards.take(pieces[0], one(first))
    assert shards.incumbent(pieces[1]) == first["tree"]
    better = Checkpoint(row["key"], row["tree"], row["objective_exact"], "0", 0.0, 0)
    assert shards.see(better)
    assert not shards.see(better)
    assert shards.incumbent(pieces[1]) == row["tree"]
    assert shards.see(replace(better, key="of a whole task"))
    limited = pieces[1]._replace(solver=replace(pieces[1].solver, limits={"nodes": 5}))
    assert shards.incumbent(limited) is None
    assert shards.incumbent(plan.task(3)) is None


def test_a_stopped_shard_leaves_its_tree(plan: Plan, store: Store, row: Row) -> None:
    shards, pieces = Shards(store), shards_of(plan)
    assert shards.is_due(pieces[0])
    found, reached = shards.take(pieces[0], one(part(row, status="stopped")))
    assert found == []
    assert reached is not None
    assert (reached.tree, reached.lower_bound) == (row["tree"], "0")
    assert shards.is_due(pieces[0])
    store.save_checkpoint(reached)
    again = Shards(store)
    assert again.is_due(pieces[0])
    assert again.incumbent(pieces[0]) == row["tree"]


def test_the_effort_of_shards_that_are_done_again_counts(
    plan: Plan, store: Store, row: Row
) -> None:
    pieces, whole = shards_of(plan), {**row, "iterations": 10, "nodes": 1}
    stopped = part(whole, status="stopped")
    for run in range(2):  # two runs are stopped
        shards = Shards(store)
        assert shards.is_due(pieces[0])
        shards.take(pieces[0], one({**stopped, "seconds": 3.0}))
        _, reached = shards.take(pieces[1], one({**stopped, "seconds": 1.0}))
        assert reached is not None
        assert (reached.seconds, reached.iterations) == (4.0 * (run + 1), 20 * (run + 1))
        store.save_checkpoint(reached)
    shards = Shards(store)
    assert shards.is_due(pieces[0])
    shards.take(pieces[0], one({**stopped, "seconds": 2.0}))  # its worker is about to end
    for piece in pieces[:2]:
        assert shards.take(piece, one(part({**whole, "seconds": 0.5}))) == ([], None)
    ((merged,), _) = shards.take(pieces[2], one(part({**whole, "seconds": 0.5})))
    assert (merged["seconds"], merged["iterations"], merged["nodes"]) == (11.5, 80, 8)
    extra = json.loads(merged["extra"])
    assert (extra["shard_seconds"], extra["seconds_before"]) == ([0.5] * 3, 10.0)


def test_a_task_fails_once_with_its_first_shard(plan: Plan, store: Store, row: Row) -> None:
    shards, pieces = Shards(store), shards_of(plan)
    assert shards.is_due(pieces[0])
    error = part(row, status="error", error="Traceback\nValueError: no\n")
    ((failed,), reached) = shards.take(pieces[1], one(error))
    assert failed["error"].endswith("ValueError: no (in shard 1 of 0 … 2)")
    assert reached is None
    assert not any(shards.is_due(piece) for piece in pieces)
    assert not shards.fail(pieces[2])
    assert shards.take(pieces[0], one(part(row))) == ([], None)
    assert not shards.see(Checkpoint(row["key"], row["tree"], "0", "0", 0.0, 0))
    whole = plan.task(3)
    assert shards.fail(whole)
    assert shards.fail(whole)


def test_rows_of_different_tasks_are_no_answer(plan: Plan, store: Store, row: Row) -> None:
    shards, pieces = Shards(store), shards_of(plan)
    for piece, weight in zip(pieces, (1, 2, 3), strict=True):
        assert shards.is_due(piece)
        if weight < 3:
            shards.take(piece, one(part(row, total_weight=weight)))
    with pytest.raises(ValueError, match="one solve"):
        shards.take(pieces[2], one(part(row)))
    assert not shards.is_due(pieces[0])


def test_what_an_earlier_driver_has_kept_is_not_done_again(
    plan: Plan, store: Store, row: Row
) -> None:
    pieces = shards_of(plan)
    for index in (0, 1):
        store.save_shard(row["key"], Shard(index, 3), one(part(row)))
    shards = Shards(store)
    assert [shards.is_due(piece) for piece in pieces] == [False, False, True]
    assert shards.incumbent(pieces[2]) == row["tree"]
    store.save_shard(row["key"], Shard(2, 3), one(part(row)))
    shards = Shards(store)
    assert not shards.is_due(pieces[1])
    (merged,) = shards.made
    assert merged["status"] == "optimal"
    assert not shards.is_due(pieces[2])
    assert len(shards.made) == 1


def test_what_a_kept_shard_has_proven_of_its_part_is_no_bound_of_the_whole(
    plan: Plan, store: Store, row: Row, prepared: tasks.Prepared
) -> None:
    """It may have found nothing better than a leaf, where another shard's limit leaves a gap."""
    pieces, kept = shards_of(plan), worse(row, prepared)
    for index in (0, 1):
        store.save_shard(row["key"], Shard(index, 3), one(kept))
    shards = Shards(store)
    assert [shards.is_due(piece) for piece in pieces] == [False, False, True]
    bound, limited = str(Fraction(row["objective_exact"]) / 2), {"status": "time_limit"}
    cut = worse(row, prepared, lower_bound_exact=bound, **limited)
    ((merged,), _) = shards.take(pieces[2], one(cut))
    assert (merged["status"], merged["lower_bound_exact"]) == ("time_limit", bound)


def test_running_shards_are_told_each_thing_once(
    plan: Plan, store: Store, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards, pieces = Shards(store), shards_of(plan)
    shards.learn(row["key"], "0 of 3", b"a")  # of a task that is not open
    assert shards.is_due(pieces[0])
    assert not [*shards.news()]
    shards.learn(row["key"], "0 of 3", b"a")
    shards.learn(row["key"], "1 of 3", b"b")
    assert [*shards.news()] == [(row["key"], Known(None, [("0 of 3", b"a"), ("1 of 3", b"b")]))]
    assert not [*shards.news()]
    assert shards.see(Checkpoint(row["key"], row["tree"], row["objective_exact"], "0", 0.0, 0))
    assert [*shards.news()] == [(row["key"], Known(row["tree"], []))]
    assert shards.known(row["key"]) == Known(row["tree"], [("0 of 3", b"a"), ("1 of 3", b"b")])
    monkeypatch.setattr(sharded_tasks, "MOST_PROVEN", 2)
    shards.learn(row["key"], "2 of 3", b"c")
    assert shards.known(row["key"]) == Known(row["tree"], [("1 of 3", b"b"), ("2 of 3", b"c")])
    assert shards.known("another") == Known(None, ())


AT_WORK = SPEC.replace("shards: 3", "shards: auto")


def test_a_running_task_is_divided_and_divided_again(
    store: Store, row: Row, prepared: tasks.Prepared
) -> None:
    plan, shards = make_plan(parse_spec(AT_WORK)), Shards(store)
    whole, other = plan.task(0), plan.task(1)
    row = {**row, "key": whole.key}
    assert whole.shard is None
    assert not shards.is_outdated(whole)
    shards.divide(plan.shards_of(whole, 2), 7.0)
    assert shards.is_outdated(whole)
    assert not shards.is_outdated(other)
    two = [*shards.waiting]
    shards.waiting.clear()
    assert [task.shard for task in two] == [Shard(0, 2), Shard(1, 2)]
    assert [plan.block_of(task.number) for task in two] == 2 * [plan.block_of(0)]
    assert len({task.number for task in two}) == 2
    assert shards.take(whole, as_finished([part(row, status="stopped")]))[0] == []
    assert shards.incumbent(two[0]) == row["tree"]
    assert shards.take(two[0], as_finished([part(row)])) == ([], None)
    shards.divide(plan.shards_of(two[1], 4), 5.0)
    four = [*shards.waiting]
    assert [task.shard for task in four] == [Shard(i, 4) for i in range(4)]
    assert (shards.n_parts(whole), shards.spent(four[0])) == (4, 12.0)
    assert shards.take_back([whole, other, two[1]]) == [other]
    shards.waiting.clear()
    assert shards.take_back([four[2]]) == []
    assert [*shards.waiting] == [four[2]]
    assert shards.take(two[1], as_finished([worse(row, prepared, status="stopped")])) == ([], None)
    made = [shards.take(task, as_finished([part(row)]))[0] for task in four]
    assert made[:3] == [[], [], []]
    ((merged,),) = made[3:]
    extra = json.loads(merged["extra"])
    assert (merged["status"], merged["objective_exact"]) == ("optimal", row["objective_exact"])
    assert merged["iterations"] == 7 * row["iterations"]
    assert extra["shards"] == len(extra["shard_seconds"]) == 4
    assert extra["seconds_before"] == pytest.approx(3 * row["seconds"], abs=1e-5)
    assert shards.is_outdated(four[0])
    assert not shards.end(whole.key)


@pytest.mark.parametrize("is_proven", [False, True])
def test_what_the_whole_has_proven_holds_if_a_limit_ends_the_shards(
    store: Store, row: Row, is_proven: bool
) -> None:
    plan, shards = make_plan(parse_spec(AT_WORK)), Shards(store)
    whole, goal = plan.task(0), Fraction(row["objective_exact"])
    row = {**row, "key": whole.key}
    floor = goal if is_proven else goal * Fraction(9, 10)
    shards.divide(plan.shards_of(whole, 2), 7.0)
    stopped = part(row, status="stopped", lower_bound_exact=str(floor))
    shards.take(whole, as_finished([stopped]))
    late = part(row, status="time_limit", lower_bound_exact=str(goal / 2))
    made = [row for task in shards.waiting for row in shards.take(task, as_finished([late]))[0]]
    assert [(row["lower_bound_exact"], row["status"]) for row in made] == [
        (str(floor), "optimal" if is_proven else "time_limit")
    ]


def test_a_checkpoint_keeps_the_bound_of_the_whole_and_the_best_tree_of_all(
    store: Store, row: Row, prepared: tasks.Prepared
) -> None:
    plan, shards = make_plan(parse_spec(AT_WORK)), Shards(store)
    whole, goal = plan.task(0), Fraction(row["objective_exact"])
    bound = str(goal / 2)
    stopped = worse({**row, "key": whole.key}, prepared, status="stopped", lower_bound_exact=bound)
    shards.divide(plan.shards_of(whole, 2), 7.0)
    one, two = shards.waiting
    found = Checkpoint(whole.key, row["tree"], str(goal), "0", 0.0, 0)
    assert shards.see(found) == found
    _, reached = shards.take(whole, as_finished([stopped]))
    assert reached is not None
    assert (reached.tree, reached.lower_bound) == (row["tree"], bound)
    assert (reached.seconds, reached.iterations) == (stopped["seconds"], stopped["iterations"])
    assert shards.see(found) is None
    shards.divide(plan.shards_of(whole, 4), 5.0)
    assert shards.take(one, as_finished([part({**row, "key": whole.key})])) == ([], None)
    late = {**stopped, "status": "time_limit", "lower_bound_exact": "0"}
    made = [
        row for task in [*shards.waiting][2:] for row in shards.take(task, as_finished([late]))[0]
    ]
    assert [(row["objective_exact"], row["lower_bound_exact"]) for row in made] == [
        (str(goal), bound)
    ]
    assert shards.has_ended(two)
    assert not shards.has_ended(plan.task(1))


def test_the_effort_of_shards_counts_if_the_run_is_stopped(store: Store, row: Row) -> None:
    """All their seconds are told, and those that passed count against the limit."""
    plan, shards = make_plan(parse_spec(AT_WORK)), Shards(store)
    whole = plan.task(0)
    row = {**row, "key": whole.key, "iterations": 10, "nodes": 1}
    stopped = {**row, "status": "stopped", "lower_bound_exact": "0"}
    shards.divide(plan.shards_of(whole, 2), 7.0)
    shards.take(whole, one({**stopped, "seconds": 6.0}))
    first, second = shards.waiting
    shards.take(first, one(part({**row, "seconds": 3.0})))
    _, reached = shards.take(second, one(part({**stopped, "seconds": 2.0})))
    assert reached is not None
    assert (reached.seconds, reached.iterations, reached.nodes) == (11.0, 30, 3)
    shards.divide(plan.shards_of(whole, 4), 5.0)
    shards.take(second, one(part({**stopped, "seconds": 4.0})))
    last = [*shards.waiting][2:]
    reached = [shards.take(task, one(part({**stopped, "seconds": 1.0})))[1] for task in last][-1]
    assert reached is not None
    assert (reached.seconds, reached.spent, reached.iterations) == (19.0, 13.0, 80)
    store.save_checkpoint(reached)
    cell = CellMaker(plan, store, Shards(store), "run").plain(whole, 0)
    assert cell.checkpoint == reached
    assert tasks._remaining(cell) == {"seconds": 60 - 13.0}
    tree, goal = Tree.from_json(row["tree"]), Fraction(row["objective_exact"])
    snapshot = Snapshot(tree, goal, Fraction(0), 2.0, 10, 1)
    assert checkpoint_at(snapshot, whole.key, reached).spent == 15.0
    assert checkpoint_of({**row, "seconds": 21.0}, reached).spent == 15.0
    assert checkpoint_of({**row, "seconds": 21.0}).spent == 21.0


def test_a_task_that_ends_as_it_is_divided_needs_no_shards(store: Store) -> None:
    plan, shards = make_plan(parse_spec(AT_WORK)), Shards(store)
    whole = plan.task(0)
    shards.divide(plan.shards_of(whole, 2), 7.0)
    one, two = shards.waiting
    assert shards.end(whole.key)
    assert shards.is_outdated(one)
    assert shards.take_back([two]) == []


def test_what_cannot_be_divided_while_it_runs_is_refused() -> None:
    for solver in ("quantbnb, options: {mode: paper}", "branches, options: {mode: paper}", "cart"):
        with pytest.raises(InputError, match=r"shards|divided"):
            parse_spec(AT_WORK.replace("branches", solver))
    with pytest.raises(InputError, match="λ-path cannot be done in shards"):
        parse_spec(AT_WORK.replace("shards: auto", "shards: auto, lam: path"))
    with pytest.raises(InputError, match="shards"):
        parse_spec(AT_WORK.replace("auto", "many"))
    assert not make_plan(parse_spec(SPEC)).task(0).solver.divides(Fraction(1, 20), "classification")
    choice = make_plan(parse_spec(AT_WORK)).task(0).solver
    assert choice.divides(Fraction(1, 20), "classification")
    assert not choice.divides(Fraction(0), "classification")
    for limit in ("nodes: 9", "splits: 3"):
        limited = AT_WORK.replace("shards: auto", f"shards: auto, options: {{{limit}}}")
        assert (
            not make_plan(parse_spec(limited))
            .task(0)
            .solver.divides(Fraction(1, 20), "classification")
        )
