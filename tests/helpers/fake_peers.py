"""External solvers that misbehave, for the tests of what becomes of them."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any, ClassVar

from solver.base import Capabilities
from solver.external.base import ExternalSolver
from solver.external.job_messages import FINISHED, Answer, Job


class FakePeer(ExternalSolver):
    """Splits on the first feature, and says that nothing is better."""

    name: ClassVar[str] = "fake"
    package: ClassVar[str] = "json"
    module: ClassVar[str] = "json"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "one split"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary"}), limits=frozenset({"depth"}), proves=False
    )

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the class."""
        return Answer([0, -1, -1], FINISHED, optimal=True, objective=0.125, lower_bound=0.125)


class Endless(FakePeer):
    """Ignores its limit of time."""

    name: ClassVar[str] = "endless"

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the class."""
        while True:
            time.sleep(0.01)


class Leaking(FakePeer):
    """Takes 10 GB."""

    name: ClassVar[str] = "leaking"

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the class."""
        kept = []
        for _ in range(1000):
            kept.append(b"x" * 10**7)
            time.sleep(0.02)
        return super().fit(job)


class Segfault(FakePeer):
    """Dies in C."""

    name: ClassVar[str] = "segfault"

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the class."""
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(60)
        return super().fit(job)


class Raising(FakePeer):
    """Raises, after it has printed a lot."""

    name: ClassVar[str] = "raising"

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the class."""
        print("noise\n" * 100_000)
        sys.stderr.write("noise\n" * 100_000)
        raise ValueError("no tree today")


class Chatty(FakePeer):
    """Prints a lot, and answers well."""

    name: ClassVar[str] = "chatty"

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the class."""
        os.write(1, b"noise\n" * 100_000)
        os.write(2, b"noise\n" * 100_000)
        return super().fit(job)


class _Raw:
    """An answer that is none."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def to_dict(self) -> Any:
        """What is sent."""
        return self.data


NONSENSE: tuple[Any, ...] = (
    None,
    "a tree",
    {"tree": [0, -1]},
    {"tree": [99, -1, -1]},
    {"tree": [True, -1, -1]},
    {"tree": [0, -1, [0, 3, -1]]},
    {"tree": "x"},
    {"tree": -1, "status": "wonderful"},
    {"tree": -1, "objective": "NaN"},
    {"tree": -1, "objective": float("nan")},
    {"tree": -1, "optimal": 1},
    {"tree": -1, "unknown": 1},
)


class Nonsense(FakePeer):
    """Answers with what is no tree."""

    name: ClassVar[str] = "nonsense"
    data: ClassVar[Any] = NONSENSE[0]

    @classmethod
    def fit(cls, job: Job) -> Any:
        """See the class."""
        return _Raw(NONSENSE[int(os.environ["FAKE_NONSENSE"])])


class TooDeep(FakePeer):
    """Ignores its limit of depth."""

    name: ClassVar[str] = "too-deep"

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the class."""
        return Answer([0, [1, -1, -1], -1], FINISHED, optimal=True)


ALL = (FakePeer, Endless, Leaking, Segfault, Raising, Chatty, Nonsense, TooDeep)
