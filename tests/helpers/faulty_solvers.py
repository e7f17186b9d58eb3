"""Solvers that misbehave, for tests only.

Workers load this module through Dask's own setting ``distributed.worker.preload``, which tests give
in the environment; a sweep's driver in a test imports it. Nothing of the product knows of it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import psutil
import tornado.ioloop
from distributed import get_worker
from distributed.worker import thread_state
from numpy.typing import NDArray

from solver.base import Capabilities, Solver
from solver.branches import Branches
from solver.branches.engine import ThresholdEngine
from solver.catalogue import SOLVERS
from solver.engine import driver
from solver.errors import InputError
from solver.limits import Limits
from solver.monitor import Monitor, Snapshot
from solver.objective.exact_objective import objective
from solver.options import Option
from solver.problem.problem import Problem
from solver.search_shards import Shard
from solver.solution import Solution, Status
from solver.trees.tree import TaskType, Tree
from sweep.rows import result_rows
from sweep.worker import tasks
from tests.helpers import fake_peers, wait_until

SCRATCH = "TREESWEEP_TEST_SCRATCH"
"""Names a folder in which solvers leave marks for tests."""

KILL_LOAD = "TREESWEEP_TEST_KILL_LOAD"
"""Names a dataset that kills the worker that reads it."""

KILL_RELOAD = "TREESWEEP_TEST_KILL_RELOAD"
"""Names a dataset that kills every worker that reads it, but the first."""

HEARD = "heard-{}"
"""In the scratch folder: what the driver has heard that the worker at a port is at."""

CLOCK = "TREESWEEP_TEST_CLOCK"
"""Clocks are set by so many seconds when there is the mark ``jump`` in the scratch folder."""

SLOW_START = "TREESWEEP_TEST_SLOW_START"
"""Seconds that every worker but the first one takes to start."""

SLOW_COMPILE = "TREESWEEP_TEST_SLOW_COMPILE"
"""Seconds that it takes to load the kernels of a solver on a worker."""

SLOW = "TREESWEEP_TEST_SLOW"
"""Seconds that BRANCHES waits after every few iterations; each wait leaves a mark."""

GATE = "passes"
"""In the scratch folder: so many searches may go on past their middle; without it, all may."""


class _Leaf(Solver):
    """Gives the tree without a split, after doing something."""

    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "for tests"
    capabilities: ClassVar[Capabilities] = Capabilities(
        frozenset({"binary", "categorical"}), proves=False
    )

    def misbehave(self, problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> None:
        """What this solver does before it answers."""

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        began = time.perf_counter()
        self.misbehave(problem, lam, limits, monitor)
        return self.answer(problem, lam, Status.HEURISTIC, None, time.perf_counter() - began)

    def answer(
        self,
        problem: Problem,
        lam: Fraction,
        status: Status,
        bound: Fraction | None,
        seconds: float,
    ) -> Solution:
        tree = problem.grow(-1)
        return Solution(
            tree=tree,
            status=status,
            lam=lam,
            objective=objective(tree.errors, 0, problem.total_weight, lam),
            lower_bound=bound,
            errors=tree.errors,
            total_weight=problem.total_weight,
            seconds=seconds,
            solver=self.name,
            version=self.version,
        )


class Calm(_Leaf):
    """Does nothing else. CART would do, but each new worker takes a second to import it."""

    name: ClassVar[str] = "calm"


class Raiser(_Leaf):
    name: ClassVar[str] = "raiser"

    def misbehave(self, problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> None:
        raise ValueError("raised on purpose")


class Killer(_Leaf):
    name: ClassVar[str] = "killer"

    def misbehave(self, problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> None:
        _be_heard()
        os.kill(os.getpid(), signal.SIGKILL)


class Once(_Leaf):
    """Kills its worker the first time that it is asked for a λ."""

    name: ClassVar[str] = "once"

    def misbehave(self, problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> None:
        mark = Path(os.environ[SCRATCH], f"once-{lam.numerator}-{lam.denominator}")
        if not mark.exists():
            mark.touch()
            _be_heard()
            os.kill(os.getpid(), signal.SIGKILL)


class Eater(_Leaf):
    """Eats memory without end, whatever its limit."""

    name: ClassVar[str] = "eater"

    def misbehave(self, problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> None:
        eaten = []
        for _ in range(200):
            eaten.append(b"x" * 2**25)
            time.sleep(0.02)


class Segfaulter(_Leaf):
    """Reads where there is no memory."""

    name: ClassVar[str] = "segfaulter"

    def misbehave(self, problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> None:
        ctypes.string_at(0)


class Hanger(_Leaf):
    """Never ends, and lets other threads run."""

    name: ClassVar[str] = "hanger"

    def misbehave(self, problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> None:
        _mark("hung")
        while True:
            time.sleep(1)


class Holder(_Leaf):
    """Never ends, and holds the interpreter's lock."""

    name: ClassVar[str] = "holder"

    def misbehave(self, problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> None:
        _mark("held")
        ctypes.PyDLL(None).sleep(10**6)


class Latecomer(_Leaf):
    """Takes a second more than its limit, but ends."""

    name: ClassVar[str] = "latecomer"

    def misbehave(self, problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> None:
        time.sleep((limits.seconds or 0) + 1)


class Hoarder(_Leaf):
    """Asks for more memory than the process may have, a limit of the operating system."""

    name: ClassVar[str] = "hoarder"

    def misbehave(self, problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> None:
        before = resource.getrlimit(resource.RLIMIT_AS)
        used = psutil.Process().memory_info().vms
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, before[1]))
        try:
            np.ones(2**29, np.uint8)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)


class Sober(_Leaf):
    """Fails the first time that it is asked for a λ."""

    name: ClassVar[str] = "sober"

    def misbehave(self, problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> None:
        mark = Path(os.environ[SCRATCH], f"sober-{lam.numerator}-{lam.denominator}")
        if not mark.exists():
            mark.touch()
            raise ValueError("not yet")


class Liar(_Leaf):
    """Claims an objective that its tree does not have."""

    name: ClassVar[str] = "liar"

    def answer(
        self,
        problem: Problem,
        lam: Fraction,
        status: Status,
        bound: Fraction | None,
        seconds: float,
    ) -> Solution:
        found = super().answer(problem, lam, status, bound, seconds)
        return Solution(**{**vars(found), "objective": found.objective - Fraction(1, 1000)})


class Stepper(_Leaf):
    """Proves the tree without a split in steps of 50 ms; stops, and is followed, as it should.

    The gate may hold it in its middle.
    """

    name: ClassVar[str] = "stepper"
    options: ClassVar[Mapping[str, Option]] = {
        "steps": Option(10, "a whole number", kind=int),
        "deaf": Option(False, "whether it does not stop when it is asked to", kind=bool),
    }
    capabilities: ClassVar[Capabilities] = Capabilities(frozenset({"binary", "categorical"}))

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        _mark("stepping")
        began = told = time.perf_counter()
        goal = objective(problem.leaf_errors, 0, problem.total_weight, lam)
        steps: int = self.settings["steps"]
        status, bound, step, gate = Status.OPTIMAL, goal, 0, _Gate(f"{problem.total_weight} {lam}")
        while step < steps:
            now = time.perf_counter()
            bound = goal * step / steps
            if monitor.stop() and not self.settings["deaf"]:
                status = Status.STOPPED
                break
            if limits.seconds is not None and now - began > limits.seconds:
                status = Status.TIME_LIMIT
                break
            if monitor.snapshot and now - told > monitor.interval:
                told = now
                tree = problem.grow(-1)
                monitor.snapshot(Snapshot(tree, goal, bound, now - began, 0, 0))
            if step != steps // 2 or gate.is_open():
                step += 1
            time.sleep(0.05)
        else:
            bound = goal
        gate.leave()
        _mark("started-anew" if initial_tree is None else "started-from-tree")
        return self.answer(problem, lam, status, bound, time.perf_counter() - began)


class Counter(_Leaf):
    """Proves the tree without a split in steps of 50 ms, and can go on from any of them.

    The gate may hold it in its middle.
    """

    name: ClassVar[str] = "counter"
    options: ClassVar[Mapping[str, Option]] = {
        "steps": Option(10, "a whole number", kind=int),
        "ballast": Option(0, "bytes of noise in the state", kind=int),
    }
    capabilities: ClassVar[Capabilities] = Capabilities(
        frozenset({"binary", "categorical"}), resumes=True
    )

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        began = told = time.perf_counter()
        goal = objective(problem.leaf_errors, 0, problem.total_weight, lam)
        steps: int = self.settings["steps"]
        done, status = np.zeros(1, np.int64), Status.OPTIMAL
        ballast = np.random.default_rng(0).bytes(self.settings["ballast"])
        arrays = {"done": done, "ballast": np.frombuffer(ballast, np.uint8)}
        if state is not None:
            if set(state) != set(arrays) or not 0 <= state["done"][0] <= steps:
                raise InputError("the state is not one of this search")
            assert state["ballast"].tobytes() == ballast
            done[:] = state["done"]
        _mark(f"from-{done[0]}")
        gate = _Gate(str(lam))

        def tell(now: float) -> None:
            if monitor.snapshot:
                at = int(done[0])
                what = problem.grow(-1), goal, goal * at / steps, now - began, at, at
                monitor.snapshot(Snapshot(*what, state=lambda: arrays))

        while done[0] < steps:
            now = time.perf_counter()
            if monitor.stop():
                status = Status.STOPPED
            elif limits.seconds is not None and now - began > limits.seconds:
                status = Status.TIME_LIMIT
            elif limits.nodes is not None and done[0] >= limits.nodes:
                status = Status.NODE_LIMIT
            if status is not Status.OPTIMAL:
                tell(now)
                break
            if done[0] and now - told > monitor.interval:
                told = now
                tell(now)
            if done[0] != steps // 2 or gate.is_open():
                _mark("steps")
                done += 1
            time.sleep(0.05)
        gate.leave()
        bound = goal * int(done[0]) / steps
        found = self.answer(problem, lam, status, bound, time.perf_counter() - began)
        return replace(found, iterations=int(done[0]), nodes=int(done[0]))


class Walker(Branches):
    """BRANCHES, taking half a second at each λ of a path and leaving a mark.

    The gate holds it at its fourth λ, where it tells how far it is again and again.
    """

    name: ClassVar[str] = "walker"
    series = Solver.series  # what one search knows is of no use to the next

    @classmethod
    def warm_up(cls) -> None:
        Branches.warm_up()

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        _mark(f"at-{lam.numerator}-{lam.denominator}")
        _mark("walked")
        tree = initial_tree or problem.grow(-1)
        reached = objective(tree.errors, tree.splits, problem.total_weight, lam)
        began = told = time.perf_counter()
        while (now := time.perf_counter()) - began < 0.5 or self._is_held():
            if monitor.stop():
                break
            if monitor.snapshot and now - told > 0.5:
                told = now
                monitor.snapshot(Snapshot(tree, reached, Fraction(0), now - began, 0, 0))
            time.sleep(0.02)
        found = super()._solve(problem, lam, limits, initial_tree, monitor, state)
        return replace(found, seconds=time.perf_counter() - began)

    @staticmethod
    def _is_held() -> bool:
        folder = Path(os.environ[SCRATCH])
        return (folder / GATE).exists() and (folder / "walked").stat().st_size >= 4


class Divider(_Leaf):
    """The best tree of at most one split, by trying every feature; a shard tries some of them.

    It leaves a mark for each shard that it begins, and for each that begins with a tree. One that
    raises waits until all others have begun. The gate may hold a shard in its middle.
    """

    name: ClassVar[str] = "divider"
    options: ClassVar[Mapping[str, Option]] = {
        "pause": Option(10, "milliseconds at each feature", kind=int),
        "fatal": Option(-1, "this shard kills its worker", kind=int),
        "wrong": Option(-1, "this shard raises", kind=int),
        "again": Option(False, "whether it does so each time", kind=bool),
    }
    capabilities: ClassVar[Capabilities] = Capabilities(frozenset({"binary"}), shards=True)

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        began = told = time.perf_counter()
        shard = self.shard or Shard(0, 1)
        roots = range(-1, problem.n_features)
        first, last = (len(roots) * i // shard.number for i in (shard.index, shard.index + 1))
        _mark(f"shard-{shard.index}-of-{shard.number}")
        if initial_tree is not None:
            _mark(f"given-{shard.index}-of-{shard.number}")
        best, status, gate = None, Status.OPTIMAL, _Gate(str(shard.index))
        for root in roots[first:last]:
            time.sleep(self.settings["pause"] / 1000)
            self._fail(shard)
            while root == roots[(first + last) // 2] and not gate.is_open() and not monitor.stop():
                time.sleep(0.05)
            if monitor.stop():
                status = Status.STOPPED
                break
            tree = problem.grow(-1 if root < 0 else (root, (-1, -1)))
            best = min(filter(None, (best, tree)), key=lambda t: _rank(problem, t, lam))
            now = time.perf_counter()
            if monitor.snapshot and now - told > monitor.interval:
                told = now
                goal = _rank(problem, best, lam)[0]
                monitor.snapshot(Snapshot(best, goal, Fraction(0), now - began, root, 1))
        gate.leave()
        return self._found(problem, lam, best, initial_tree, status, time.perf_counter() - began)

    def divides(self, lam: Fraction, limits: Limits, task: TaskType = "classification") -> bool:
        return True

    def _fail(self, shard: Shard) -> None:
        folder = Path(os.environ[SCRATCH])
        for way in ("fatal", "wrong"):
            if shard.index == self.settings[way]:
                mark = folder / f"{way}-{shard.index}"
                if self.settings["again"] or not mark.exists():
                    mark.touch()
                    if way == "wrong":
                        wait_until(lambda: len(_begun(folder, shard.number)) == shard.number)
                        raise ValueError("wrong on purpose")
                    _be_heard()
                    if not self.settings["again"]:
                        _be_fetched()
                    os.kill(os.getpid(), signal.SIGKILL)

    def _found(
        self,
        problem: Problem,
        lam: Fraction,
        own: Tree | None,
        initial_tree: Tree | None,
        status: Status,
        seconds: float,
    ) -> Solution:
        known = [tree for tree in (own, initial_tree) if tree is not None] or [problem.grow(-1)]
        tree = min(known, key=lambda t: _rank(problem, t, lam))
        goal, _ = _rank(problem, tree, lam)
        return Solution(
            tree=tree,
            status=status,
            lam=lam,
            objective=goal,
            lower_bound=goal if status is Status.OPTIMAL else Fraction(0),
            errors=tree.errors,
            total_weight=problem.total_weight,
            seconds=seconds,
            solver=self.name,
            version=self.version,
            extra={"found": tree is own, "parts": 1},
        )


def _rank(problem: Problem, tree: Tree, lam: Fraction) -> tuple[Fraction, int]:
    return objective(tree.errors, tree.splits, problem.total_weight, lam), tree.splits


class _Gate:
    """Holds a search, which it calls by a name, while as many others as may have gone on."""

    def __init__(self, name: str) -> None:
        folder = os.environ.get(SCRATCH)
        self._folder = Path(folder or ".")
        self._name = name
        self._sign = self._folder / f"held-{os.getpid()}"
        self._open = folder is None
        self._held = False

    def is_open(self) -> bool:
        """Whether this search may go on."""
        if not self._open:
            self._open = self._passes()
            if not self._open and not self._held:
                self._held = True
                new = self._folder / f"new-{os.getpid()}"
                new.write_text(self._name)
                new.replace(self._sign)
        return self._open

    def leave(self) -> None:
        """Wait no more."""
        if self._held:
            self._held = False
            self._sign.unlink()

    def _passes(self) -> bool:
        try:
            passes = int((self._folder / GATE).read_text())
        except FileNotFoundError:
            self.leave()
            return True
        all_passes = [self._folder / f"pass-{number}" for number in range(passes)]
        for one in all_passes:
            if not one.exists():
                self.leave()  # first: who has a pass is held no more
                with suppress(FileExistsError):
                    one.touch(exist_ok=False)
                    return True
        return False


def _be_heard() -> None:
    """Wait until the driver has heard what this worker is at: else others may be blamed."""
    worker = get_worker()
    key = thread_state.key
    heard = Path(os.environ[SCRATCH], HEARD.format(worker.address.rpartition(":")[2]))
    wait_until(lambda: heard.exists() and heard.read_text() == str(key))


def _be_fetched() -> None:
    """Wait until the driver has taken the results of earlier shards from this worker.

    It keeps the last result of all until the next one ends, so other workers must end some.
    """
    data = get_worker().data
    wait_until(lambda: not any(str(done).startswith("solve-") for done in list(data)))


def _mark(name: str) -> None:
    folder = os.environ.get(SCRATCH)
    if folder:
        with open(Path(folder, name), "a") as file:
            file.write(".")


def _begun(folder: Path, shards: int) -> list[Path]:
    return [*folder.glob(f"shard-*-of-{shards}")]


def _kill_on_load(name: str, spared: int) -> None:
    load = tasks.datasets.load_dataset

    def load_or_die(reference: Any, **more: Any) -> Any:
        if reference.name == name and "worker" in os.environ.get("TREESWEEP_TEST_ROLE", "worker"):
            mark = Path(os.environ[SCRATCH], "loaded")
            if spared == 0 or mark.exists():
                os._exit(9)
            mark.touch()
        return load(reference, **more)

    tasks.datasets.load_dataset = load_or_die  # type: ignore[assignment]


def _compile_slowly(seconds: float) -> None:
    load = tasks._load_kernels

    @cache
    def load_slowly(solver: str) -> None:
        time.sleep(seconds)
        load(solver)

    tasks._load_kernels = load_slowly


def _set_clock(jump: float) -> None:
    """Let Python code that is loaded by now see another time from some moment on.

    Except Dask's queue of messages and tornado's timers: a message that is sent in the very
    milliseconds in which a clock is set back waits for as long, see docs/guides/faults.md. That is
    theirs, and made this test hang once in some fifty runs.
    """
    real, now, mark = time.time, result_rows.now, Path(os.environ[SCRATCH], "jump")

    def offset() -> float:
        return jump if mark.exists() else 0.0

    def seen() -> float:
        return real() + offset()

    for module in [m for n, m in sys.modules.items() if n != "distributed.batched"]:
        for name, value in list(vars(module).items()):
            if value is real:
                setattr(module, name, seen)
    setattr(tornado.ioloop, "time", SimpleNamespace(time=real))  # noqa: B010  it is no public name
    result_rows.now = lambda: now() + timedelta(seconds=offset())


def _slow_down(seconds: float) -> None:
    """Let BRANCHES take its time, without changing what it does."""
    step = ThresholdEngine.step

    def slowly(engine: ThresholdEngine, iterations: int, target_cost: int) -> int:
        _mark("waited")
        time.sleep(seconds)
        return step(engine, iterations, target_cost)

    ThresholdEngine.step = slowly  # type: ignore[method-assign]
    driver._next_budget = lambda done, seconds: 40


def meet_environment() -> None:
    """Change what the environment asks to be changed in all that is imported by now."""
    if os.environ.get(SLOW):
        _slow_down(float(os.environ[SLOW]))
    if os.environ.get(CLOCK):
        _set_clock(float(os.environ[CLOCK]))


meet_environment()


def dask_setup(worker: Any) -> None:
    """Called by Dask in each worker."""
    if os.environ.get(KILL_LOAD):
        _kill_on_load(os.environ[KILL_LOAD], spared=0)
    if os.environ.get(KILL_RELOAD):
        _kill_on_load(os.environ[KILL_RELOAD], spared=1)
    if os.environ.get(SLOW_COMPILE):
        _compile_slowly(float(os.environ[SLOW_COMPILE]))
    if os.environ.get(SLOW_START):
        if Path(os.environ[SCRATCH], "worker-started").exists():
            time.sleep(float(os.environ[SLOW_START]))
        _mark("worker-started")


_BAD = (Raiser, Killer, Once, Eater, Segfaulter, Hanger, Holder, Latecomer, Hoarder, Liar, Sober)
for _solver in (Calm, *_BAD, *fake_peers.ALL, Stepper, Counter, Walker, Divider):
    SOLVERS.setdefault(_solver.name, _solver)
