"""What the solvers of ``fake_peers`` do in their child processes.

It imports nothing but the standard library, so that a child begins in a twentieth of the second
that ``solver`` takes to be imported.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any, BinaryIO


class ChildSide:
    """Splits on the first feature, and says that nothing is better."""

    @staticmethod
    def read(stream: BinaryIO) -> bytes:
        """Read the job, which does not matter here."""
        return stream.read()

    @staticmethod
    def load() -> None:
        """There is no package to import."""

    @classmethod
    def fit(cls, job: bytes) -> Message:
        """See the class."""
        claims = {"optimal": True, "objective": 0.125, "lower_bound": 0.125}
        return Message({"tree": [0, -1, -1], "status": "finished", **claims})


class Message:
    """An answer, or what is none."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def to_dict(self) -> Any:
        """What is sent."""
        return self.data


class Endless(ChildSide):
    """Ignores its limit of time."""

    @classmethod
    def fit(cls, job: bytes) -> Message:
        """See the class."""
        while True:
            time.sleep(0.01)


class Leaking(ChildSide):
    """Takes 10 GB."""

    @classmethod
    def fit(cls, job: bytes) -> Message:
        """See the class."""
        kept = []
        for _ in range(1000):
            kept.append(b"x" * 10**7)
            time.sleep(0.02)
        return super().fit(job)


class Segfault(ChildSide):
    """Dies in C."""

    @classmethod
    def fit(cls, job: bytes) -> Message:
        """See the class."""
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(60)
        return super().fit(job)


class Raising(ChildSide):
    """Raises, after it has printed a lot."""

    @classmethod
    def fit(cls, job: bytes) -> Message:
        """See the class."""
        print("noise\n" * 100_000)
        sys.stderr.write("noise\n" * 100_000)
        raise ValueError("no tree today")


class Chatty(ChildSide):
    """Prints a lot, and answers well."""

    @classmethod
    def fit(cls, job: bytes) -> Message:
        """See the class."""
        os.write(1, b"noise\n" * 100_000)
        os.write(2, b"noise\n" * 100_000)
        return super().fit(job)


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


class Nonsense(ChildSide):
    """Answers with what is no tree."""

    @classmethod
    def fit(cls, job: bytes) -> Message:
        """See the class."""
        return Message(NONSENSE[int(os.environ["FAKE_NONSENSE"])])


class TooDeep(ChildSide):
    """Ignores its limit of depth."""

    @classmethod
    def fit(cls, job: bytes) -> Message:
        """See the class."""
        return Message({"tree": [0, [1, -1, -1], -1], "status": "finished", "optimal": True})
