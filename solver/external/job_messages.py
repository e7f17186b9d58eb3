"""What an external solver is asked, and what it answers: all that crosses the process boundary."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solver.limits import Limits

Splits: TypeAlias = int | Sequence[Any]
"""A tree: −1 for a leaf, else [feature, left, right], with a cut after the feature if the features
are ordered. The left child takes code 0, or the codes up to the cut. Where the job has numbers, it
may be [weights, threshold, left, right]: the left child takes the rows whose weighted sum of
numbers does not exceed the threshold. Predictions are not part of it: every leaf predicts its
majority class."""

FINISHED, TIMED_OUT = "finished", "time_limit"


class AnswerError(RuntimeError):
    """A solver's answer makes no sense."""


@dataclass(frozen=True)
class Job:
    """One search.

    Parameters
    ----------
    codes : array of int32, shape (rows, features)
        All rows, equal ones repeated by their weight. Codes are 0 and 1, or ranks of numbers.
    labels : array of int32, shape (rows,)
        Positions among the classes that occur.
    lam : Fraction
        The price of a split.
    limits : Limits
    options : mapping
        The solver's options.
    ordered : bool
        Whether the codes are ranks of numbers.
    numbers : array of float64, shape (rows, columns), or None
        The columns of numbers, for solvers whose splits read several of them.
    """

    codes: NDArray[np.int32]
    labels: NDArray[np.int32]
    lam: Fraction
    limits: Limits
    options: Mapping[str, Any]
    ordered: bool = False
    numbers: NDArray[np.float64] | None = None

    def to_bytes(self) -> bytes:
        """The job as a line of JSON, then the arrays."""
        rows, features = self.codes.shape
        head = {
            "shape": [rows, features],
            "lam": str(self.lam),
            "limits": self.limits.to_dict(),
            "options": dict(self.options),
            "ordered": self.ordered,
            "columns": None if self.numbers is None else self.numbers.shape[1],
        }
        arrays = [np.ascontiguousarray(a, np.int32).tobytes() for a in (self.codes, self.labels)]
        if self.numbers is not None:
            arrays.append(np.ascontiguousarray(self.numbers, np.float64).tobytes())
        return b"".join([json.dumps(head).encode(), b"\n", *arrays])

    @classmethod
    def from_stream(cls, stream: BinaryIO) -> Job:
        """Read what :meth:`to_bytes` has written."""
        head = json.loads(stream.readline())
        rows, features = head["shape"]
        codes = np.frombuffer(stream.read(4 * rows * features), np.int32).reshape(rows, features)
        labels = np.frombuffer(stream.read(4 * rows), np.int32)
        lam, limits = Fraction(head["lam"]), Limits(**head["limits"])
        numbers, columns = None, head["columns"]
        if columns is not None:
            content = np.frombuffer(stream.read(8 * rows * columns), np.float64)
            numbers = content.reshape(rows, columns).copy()
        options, ordered = head["options"], head["ordered"]
        return cls(codes.copy(), labels.copy(), lam, limits, options, ordered, numbers)

    @property
    def whole_seconds(self) -> int | None:
        """The limit of time, for solvers that know whole seconds only."""
        return None if self.limits.seconds is None else max(1, math.ceil(self.limits.seconds))

    @property
    def least_rows(self) -> int:
        """The least number of rows of a leaf."""
        return max(1, math.ceil(self.limits.min_leaf_size or 0))


@dataclass(frozen=True)
class Answer:
    """A tree, and what the solver says of it.

    Parameters
    ----------
    tree : Splits
    status : {"finished", "time_limit"}
        Whether the search ended by itself.
    optimal : bool
        Whether the solver says that no tree has a smaller ``loss + λ·splits``.
    objective, lower_bound : float or None
        On ``loss + λ·splits``; None if the solver says nothing.
    seconds : float or None
        Search time by the solver's own clock.
    iterations : int
        As the solver counts them; 0 if it does not say.
    """

    tree: Splits
    status: str = FINISHED
    optimal: bool = False
    objective: float | None = None
    lower_bound: float | None = None
    seconds: float | None = None
    iterations: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> Answer:
        """Read what came from the child; AnswerError if it is no answer."""
        try:
            answer = cls(**data)
        except TypeError:
            raise AnswerError(f"it is {data!r:.80}") from None
        numbers = (answer.objective, answer.lower_bound, answer.seconds)
        if not all(x is None or (_is_number(x) and math.isfinite(x)) for x in numbers):
            raise AnswerError(f"a figure of {numbers} is not a number")
        if type(answer.iterations) is not int or answer.iterations < 0:
            raise AnswerError(f"its iterations are {answer.iterations!r:.80}")
        if answer.status not in (FINISHED, TIMED_OUT) or not isinstance(answer.optimal, bool):
            raise AnswerError(f"its status is {answer.status!r:.80}")
        return answer


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
