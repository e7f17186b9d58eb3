"""The base class of adapters: sends a job to a child process, and scores the tree that comes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.base import NO_OPTIONS, Solver
from solver.errors import PeerError, UnsupportedError
from solver.external.child_process import Outcome, run
from solver.external.job_messages import TIMED_OUT, Job, Splits
from solver.external.job_messages import Answer as Answer
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import objective
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Shape, TaskType, Tree

INSTALL = "pip install 'treesweep[peers]'"

MOST_ROWS = 5_000_000
"""External solvers take no weights: equal rows are repeated, up to this many rows in all."""

CLAIM_SLACK = 1e-5
"""How far single precision may move what a solver says of its objective."""


def version_of(package: str) -> str:
    """The version of a package, or that it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


class ExternalSolver(Solver):
    """A solver that others wrote, in a process of its own.

    Its tree is scored by our objective. What it says of it is in ``Solution.extra["claim"]``:
    ``status`` (``optimal`` if it says so), ``objective``, ``lower_bound`` and ``note``. Nothing of
    that is proven: a search that ended by itself is ``heuristic``.

    A subclass declares what every solver does, the package that it needs, and ``fit``. One whose
    splits read several numbers also has ``numbers`` and ``shape``.
    """

    package: ClassVar[str]
    """The distribution to install."""
    module: ClassVar[str]
    """The module to import."""

    @staticmethod
    def read(stream: BinaryIO) -> Job:
        """Read the job; called in the child."""
        return Job.from_stream(stream)

    @classmethod
    def load(cls) -> Any:
        """Import the package; called in the child."""
        return import_module(cls.module)

    @classmethod
    @abstractmethod
    def fit(cls, job: Job) -> Answer:
        """Search; called in the child."""

    @classmethod
    def check_task(
        cls,
        feature_kind: str,
        n_classes: int | None,
        limits: Limits,
        task: TaskType = "classification",
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> None:
        """See the base class; the package must be there, too."""
        if find_spec(cls.module) is None:
            raise UnsupportedError(
                f"solver {cls.name!r} needs the package {cls.package}: {INSTALL}"
            )
        super().check_task(feature_kind, n_classes, limits, task, options)

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        if _has_one_answer(problem, limits):
            return self._solution(problem, lam, -1, Status.HEURISTIC)
        job = self._job(problem, lam, limits)
        try:
            outcome = self.ask(job, monitor)
        except PeerError as error:
            raise PeerError(f"solver {self.name!r}: {error}") from None
        return self._read(problem, lam, outcome)

    def ask(self, job: Job, monitor: Monitor) -> Outcome:
        """Run a job in a child."""
        kind = type(self)
        return run(kind.__module__, kind.__qualname__, job, monitor.stop)

    def _job(self, problem: Problem, lam: Fraction, limits: Limits) -> Job:
        unit = int(np.gcd.reduce(problem.counts, axis=None))
        counts = problem.counts // unit
        total = sum(map(int, counts.ravel()))
        if total > MOST_ROWS:
            raise UnsupportedError(
                f"solver {self.name!r} takes no weights, and to repeat rows by their weight makes "
                f"{total} rows, more than {MOST_ROWS}"
            )
        rows, classes = np.nonzero(counts)
        times = counts[rows, classes]
        _, labels = np.unique(classes, return_inverse=True)
        codes = np.repeat(problem.codes[rows], times, axis=0)
        if limits.min_leaf_size is not None:
            limits = replace(limits, min_leaf_size=math.ceil(Fraction(limits.min_leaf_size) / unit))
        repeated = np.repeat(labels, times).astype(np.int32)
        numbers = self.numbers(problem)
        if numbers is not None:
            numbers = np.repeat(numbers[rows], times, axis=0)
        return Job(codes, repeated, lam, limits, self.settings, _is_ordered(problem), numbers)

    def numbers(self, problem: Problem) -> NDArray[np.float64] | None:
        """The numbers of each row of the problem that a job has besides the codes."""
        return None

    def shape(self, problem: Problem, tree: Splits) -> Shape:
        """The tree of an answer as one of this problem; PeerError if it is none."""
        return _shape(self.name, problem, tree)

    def _read(self, problem: Problem, lam: Fraction, outcome: Outcome) -> Solution:
        answer, note = outcome.answer, outcome.note
        if answer is None:
            assert outcome.status is not None
            claim: dict[str, Any] = {"status": outcome.status.value}
            shape: Shape = -1
        else:
            shape = self.shape(problem, answer.tree)
            status = "optimal" if answer.optimal else answer.status
            claim = {"status": status, "lower_bound": answer.lower_bound}
            claim |= {"objective": answer.objective, "own_seconds": answer.seconds}
        ended = outcome.status or (
            Status.TIME_LIMIT if answer and answer.status == TIMED_OUT else Status.HEURISTIC
        )
        found = self._solution(problem, lam, shape, ended, outcome)
        if answer and answer.objective is not None:
            off = answer.objective - float(found.objective)
            if abs(off) > CLAIM_SLACK:
                note = (
                    f"it says that its tree has the objective {answer.objective:.6g}; it has "
                    f"{float(found.objective):.6g}"
                )
        claim["note"] = note
        said = {key: value for key, value in claim.items() if value not in (None, "")}
        found.extra["claim"] = said
        return found

    def _solution(
        self,
        problem: Problem,
        lam: Fraction,
        shape: Shape,
        status: Status,
        outcome: Outcome | None = None,
    ) -> Solution:
        tree = problem.grow(shape)
        return Solution(
            tree=tree,
            status=status,
            lam=lam,
            objective=objective(tree.errors, tree.splits, problem.total_weight, lam),
            lower_bound=None,
            errors=tree.errors,
            total_weight=problem.total_weight,
            seconds=outcome.seconds if outcome else 0.0,
            peak_bytes=outcome.peak_bytes if outcome else 0,
            iterations=outcome.answer.iterations if outcome and outcome.answer else 0,
            solver=self.name,
            version=self.version,
            tolerance=problem.tolerance,
        )


def _has_one_answer(problem: Problem, limits: Limits) -> bool:
    """Whether there is only the tree without a split, which some solvers refuse to find."""
    one_class = int(np.count_nonzero(problem.counts.sum(axis=0))) < 2
    too_few = 2 * (limits.min_leaf_size or 0) > problem.total_weight
    no_split = limits.depth == 0 or limits.splits == 0
    return one_class or too_few or no_split or problem.n_features == 0


def _is_ordered(problem: Problem) -> bool:
    return problem.feature_kind == "continuous"


def _shape(solver: str, problem: Problem, tree: Splits) -> Shape:
    """The tree of an answer as one of this problem; PeerError if it is none."""
    ordered = _is_ordered(problem)
    shapes: list[Shape] = []
    # No recursion: a tree can be a chain. A node is done after its children.
    pending: list[tuple[Any, bool]] = [(tree, False)]
    while pending:
        node, is_done = pending.pop()
        if node == -1 and not isinstance(node, bool):
            shapes.append(-1)
        elif not (isinstance(node, (list, tuple)) and len(node) == 3 + ordered):
            raise PeerError(f"solver {solver!r}: {node!r:.80} is no node of a tree")
        elif is_done:
            right, left = shapes.pop(), shapes.pop()
            shapes.append((_test(solver, problem, node[: 1 + ordered]), (left, right)))
        else:
            pending += [(node, True), (node[-1], False), (node[-2], False)]
    return shapes.pop()


def _test(solver: str, problem: Problem, test: Iterable[Any]) -> int:
    feature, *cut = test
    numbers = all(type(x) is int and x >= 0 for x in (feature, *cut))
    if not numbers or feature >= problem.n_features:
        raise PeerError(f"solver {solver!r}: its tree asks for the feature {[feature, *cut]!r:.80}")
    if not cut:
        return int(feature)
    if cut[0] >= problem.arities[feature] - 1:
        raise PeerError(f"solver {solver!r}: its tree splits feature {feature} beyond its values")
    return problem.cut_number(feature, cut[0])
