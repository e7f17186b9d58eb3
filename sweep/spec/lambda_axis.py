"""The λ axis of a sweep: lists, grids, and λ = k/n."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from solver.errors import InputError
from solver.objective.exact_objective import as_lambda
from sweep.spec.yaml_reader import Strict, Unrounded, problem

_MOST = 100_000
_PRECISION = 40

SAME = " = "
"""Joins the names of a λ that has several in one fold but not in all: ``0.1 = 1/n``."""


class Lam(NamedTuple):
    """A λ and its name in the file; several names are joined by :data:`SAME`."""

    exact: Fraction
    label: str


class Axis:
    """The λ of some tasks in order, also as columns. Immutable.

    Folds, encodings and solvers share axes, so a large sweep has few.
    """

    def __init__(self, lams: Sequence[Lam]) -> None:
        self.lams = tuple(lams)

    def __len__(self) -> int:
        return len(self.lams)

    @cached_property
    def texts(self) -> list[str]:
        """The λ as text of fractions."""
        return [str(lam.exact) for lam in self.lams]

    @cached_property
    def labels(self) -> list[str]:
        """The names in the file."""
        return [lam.label for lam in self.lams]

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The nearest floats."""
        return np.array([float(lam.exact) for lam in self.lams], dtype=np.float64)

    @cached_property
    def least(self) -> Axis:
        """The least λ alone."""
        return Axis([min(self.lams, key=lambda lam: lam.exact)])


def _exact(value: Any) -> Any:
    """The text of a λ, or an error."""
    written = value.text if isinstance(value, Unrounded) else value
    try:
        as_lambda(written)
    except InputError as error:
        raise problem(str(error)) from None
    return written


class OneLambda(Strict):
    """A λ written out."""

    value: Any

    @field_validator("value")
    @classmethod
    def _is_lambda(cls, value: Any) -> Any:
        return _exact(value)

    def expand(self, n_train: int) -> list[Lam]:
        """The λ, whatever the number of training rows."""
        return [Lam(as_lambda(self.value), str(self.value).strip())]


class LambdaGrid(Strict):
    """``count`` values between two ends, both included.

    They are rounded to few significant digits, so that every λ is a short exact decimal. Short
    decimals of a linear grid are kept.
    """

    start: Any = Field(alias="from")  #: one end
    to: Any  #: the other end
    count: int = Field(ge=2, le=_MOST)  #: number of λ
    scale: Literal["log", "linear"] = "log"  #: equal ratios, or equal steps

    @field_validator("start", "to")
    @classmethod
    def _is_lambda(cls, value: Any) -> Any:
        return _exact(value)

    @model_validator(mode="after")
    def _ends(self) -> LambdaGrid:
        first, last = as_lambda(self.start), as_lambda(self.to)
        if first == last:
            raise problem("'from' and 'to' are equal; a grid needs two ends", "to")
        if self.scale == "log" and not (first and last):
            raise problem(
                "a log grid cannot reach 0; use a small λ, or scale: linear",
                "to" if first else "from",
            )
        self.expand(1)
        return self

    def expand(self, n_train: int) -> list[Lam]:
        """The grid from ``from`` to ``to``."""
        return _grid(as_lambda(self.start), as_lambda(self.to), self.count, self.scale)


@lru_cache(16)
def _grid(first: Fraction, last: Fraction, count: int, scale: str) -> list[Lam]:
    """Cached: all datasets and folds have the same grid."""
    value = _even_steps if scale == "linear" else _even_ratios
    sign = 1 if first < last else -1
    for digits in range(4, _PRECISION):
        values = [first]
        for i in range(1, count):
            part = Fraction(i, count - 1)
            values.append(last if part == 1 else value(first, last, part, digits))
            # Rounding may make neighbours equal, or take a value past an end.
            if sign * (values[-1] - values[-2]) <= 0:
                break
        else:
            return [Lam(value, shown(value)) for value in values]
    raise problem(f"'from' and 'to' are too near to each other for {count} λ", "to")


def _even_steps(first: Fraction, last: Fraction, part: Fraction, digits: int) -> Fraction:
    value = first + (last - first) * part
    is_short = len(shown(value)) <= 12 and "/" not in shown(value)
    return value if is_short else _round(value, max(digits, 6))


def _even_ratios(first: Fraction, last: Fraction, part: Fraction, digits: int) -> Fraction:
    context = Context(prec=_PRECISION)
    ratio = context.power(context.divide(_decimal(last), _decimal(first)), _decimal(part))
    return _round(Fraction(context.multiply(_decimal(first), ratio)), digits)


class PerRow(Strict):
    """λ = k/n for each k, where n is the number of training rows."""

    ks: list[Any] = Field(alias="per-row", min_length=1)
    """each k gives λ = k/n for n training rows"""

    @field_validator("ks", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        values = value if isinstance(value, list) else [value]
        return [_exact(k) for k in values]

    def expand(self, n_train: int) -> list[Lam]:
        """The λ for ``n_train`` training rows."""
        return [Lam(as_lambda(k) / n_train, f"{str(k).strip()}/n") for k in self.ks]


def _kind(value: Any) -> str:
    if isinstance(value, OneLambda) or not isinstance(value, (dict, LambdaGrid, PerRow)):
        return "value"
    if isinstance(value, PerRow) or (isinstance(value, dict) and "per-row" in value):
        return "per-row"
    return "value" if isinstance(value, dict) and set(value) == {"value"} else "grid"


LambdaItem = Annotated[
    Annotated[OneLambda, Tag("value")]
    | Annotated[LambdaGrid, Tag("grid")]
    | Annotated[PerRow, Tag("per-row")],
    Discriminator(_kind),
]


def as_items(value: Any) -> Any:
    """The YAML of ``lambdas``, or of a single item, as a list of models' data."""
    values = value if isinstance(value, list) else [value]
    return [item if isinstance(item, dict) else {"value": item} for item in values]


def expand(
    items: Sequence[OneLambda | LambdaGrid | PerRow], n_train: int, others: Collection[int] = ()
) -> Axis:
    """All λ for ``n_train`` training rows, each once, in the order of the file.

    ``others`` are the numbers of training rows in the other folds. Two items are one λ only if
    they are equal in all folds. Where 1/n happens to be 0.1 in one fold, the λ has both names.
    """
    sizes = dict.fromkeys([n_train, *others])
    folds = [[lam for item in items for lam in item.expand(size)] for size in sizes]
    distinct: dict[tuple[Fraction, ...], Lam] = {}
    for lams in zip(*folds, strict=True):
        distinct.setdefault(tuple(lam.exact for lam in lams), lams[0])
    names: dict[Fraction, list[str]] = {}
    for lam in distinct.values():
        names.setdefault(lam.exact, []).append(lam.label)
    return Axis([Lam(exact, SAME.join(labels)) for exact, labels in names.items()])


def depend_on_rows(items: Sequence[OneLambda | LambdaGrid | PerRow]) -> bool:
    """Whether the λ depend on the number of training rows."""
    return any(isinstance(item, PerRow) for item in items)


def shown(value: Fraction) -> str:
    """A fraction as a decimal if it is finite, else as p/q."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > 1:
        return str(value)
    top, bottom = value.as_integer_ratio()
    context = Context(prec=len(str(top)) + bottom.bit_length())  # enough digits
    return f"{context.divide(Decimal(top), Decimal(bottom)).normalize(context):f}"


def _decimal(value: Fraction) -> Decimal:
    context = Context(prec=60)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _round(value: Fraction, digits: int) -> Fraction:
    return Fraction(Context(prec=digits, rounding=ROUND_HALF_EVEN).plus(_decimal(value)))
