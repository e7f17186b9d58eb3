"""``treesweep solve --state``: a search ends without a proof and another call goes on with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import pipelines.single_table.resumable_search
from pipelines.cli import treesweep
from solver.base import Capabilities, Solver
from solver.catalogue import SOLVERS
from solver.limits import Limits
from solver.monitor import Monitor, Snapshot
from solver.objective.exact_objective import objective
from solver.options import Option
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree
from sweep.store.search_state_format import read_about, read_state

STEPS = 10


class Counting(Solver):
    """Proves the tree without a split in ten steps, each a node."""

    name: ClassVar[str] = "counting"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "for tests"
    capabilities: ClassVar[Capabilities] = Capabilities(
        frozenset({"binary", "categorical"}), resumes=True
    )
    options: ClassVar[Mapping[str, Option]] = {
        "mood": Option("calm", "how it feels", ("calm", "hasty")),
        "silent": Option(False, "whether it gives no snapshot", (False, True)),
    }
    begun: ClassVar[list[tuple[int, Tree | None]]] = []

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        done = np.zeros(1, np.int64) if state is None else np.array(state["done"])
        self.begun.append((int(done[0]), initial_tree))
        most = STEPS if limits.nodes is None else min(limits.nodes, STEPS)
        while done[0] < most and not (monitor.stop() and done[0] >= 3):
            done += 1
        tree, at = problem.grow(-1), int(done[0])
        goal = objective(tree.errors, 0, problem.total_weight, lam)
        bound = goal * at / STEPS
        status = Status.OPTIMAL if at == STEPS else Status.NODE_LIMIT
        if at < STEPS and monitor.snapshot and not self.settings["silent"]:
            monitor.snapshot(Snapshot(tree, goal, bound, 1.0, at, at, lambda: {"done": done}))
        points = (lam, goal, bound, tree.errors, problem.total_weight, 1.0)
        return Solution(tree, status, *points, self.name, self.version, iterations=at, nodes=at)


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    monkeypatch.setitem(SOLVERS, Counting.name, Counting)
    monkeypatch.setattr(Counting, "begun", [])
    return Counting


def run(state: Path, *more: object, lam: str = "0.1", data: str = "monks-1") -> Any:
    known = ["solve", data, "--lam", lam, "--solver", "counting", "--state", state]
    return CliRunner().invoke(treesweep, [str(a) for a in [*known, *more]])


def test_a_search_goes_on_from_its_file_until_it_is_proven(tmp_path: Path) -> None:
    path = tmp_path / "search.state"
    first = run(path, "--node-limit", 4)
    assert first.exit_code == 0, first.output
    assert f"The search is in {path}; the same command goes on with it." in first.stdout
    assert read_about(path).reached["iterations"] == 4
    second = json.loads(run(path, "--node-limit", 7, "--json").stdout)
    assert (second["iterations"], second["seconds"]) == (7, 2.0)
    assert Fraction(second["gap_exact"]) > 0
    third = run(path, "--json")
    assert json.loads(third.stdout)["status"] == "optimal"
    assert json.loads(third.stdout)["seconds"] == 3.0
    assert [begun for begun, _ in Counting.begun] == [0, 4, 7]
    assert [initial_tree is None for _, initial_tree in Counting.begun] == [True, False, False]
    assert not path.exists()
    assert "goes on with it" not in run(path).stdout


@pytest.mark.parametrize(
    "other, word",
    [
        ({"lam": "0.2"}, "its λ is 1/10, not 1/5"),
        ({"data": "monks-2"}, "its data is"),
        ({"more": ["--option", "mood=hasty"]}, "its solver options is"),
        ({"more": ["--encoding", "categorical"]}, "its data is"),
    ],
)
def test_the_state_of_another_search_is_refused_and_left(
    tmp_path: Path, other: dict[str, Any], word: str
) -> None:
    path = tmp_path / "search.state"
    run(path, "--node-limit", 4)
    before = path.read_bytes()
    refused = run(path, *other.pop("more", []), **other)
    assert refused.exit_code == 2
    (line,) = refused.stderr.splitlines()
    assert f"{path} is the state of another search: {word}" in line
    assert path.read_bytes() == before


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "search.state"
    run(path, "--node-limit", 4)
    monkeypatch.setattr(Counting, "version", "2")
    assert "its solver version is 1, not 2" in run(path).stderr


def test_a_file_that_is_no_state_is_refused_and_left(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    refused = run(path)
    assert refused.exit_code == 2
    assert "is damaged, or not the state of a search" in refused.stderr
    assert path.read_text() == "my notes"
    assert "there is no folder" in run(tmp_path / "none" / "state").stderr


def test_a_solver_without_states_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "search.state"
    refused = run(path, "--solver", "cart")
    assert refused.exit_code == 2
    assert "'cart' cannot go on from a state; leave out --state" in refused.stderr
    refused = run(path, "--solver", "branches", "--option", "mode=paper")
    assert "'branches' with these options cannot go on from a state" in refused.stderr


def test_what_cannot_be_kept_is_told_and_the_answer_is_given(tmp_path: Path) -> None:
    path = tmp_path / "search.state"
    found = run(path, "--node-limit", 4, "--json", "--option", "silent=true")
    assert json.loads(found.stdout)["iterations"] == 4
    assert "is not kept: solver 'counting' gave no state" in found.stderr
    assert not path.exists()


def test_a_long_search_is_kept_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines.single_table.resumable_search, "KEEP_SECONDS", 0.5)
    problem = Problem.from_codes([[0], [1]], [0, 1])
    solver = Counting()
    identity = pipelines.single_table.resumable_search.search_identity(
        problem, Fraction(1, 2), solver, Limits()
    )
    kept = pipelines.single_table.resumable_search.StateFile(tmp_path / "search.state", identity)
    told: list[Snapshot] = []
    monitor = kept.monitor(lambda: False, told.append)
    assert monitor.snapshot is not None
    tree, half = problem.grow(-1), Fraction(1, 2)
    for seconds, at in ((0.4, 1), (1.0, 2), (1.2, 3)):
        done = {"done": np.array([at])}
        monitor.snapshot(Snapshot(tree, half, half / 2, seconds, at, at, lambda done=done: done))
    assert len(told) == 3
    state, about = read_state(tmp_path / "search.state", identity)
    assert state["done"].tolist() == [2]
    assert about.reached["lower_bound"] == "1/4"
