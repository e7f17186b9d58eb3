"""What can be asked about good trees. It needs no kernels, so that plans and stores import it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from solver.errors import InputError, UnsupportedError
from solver.objective.exact_objective import as_lambda

UNITS = ("relative", "objective", "lam")

ENDLESS = "at λ = 0 good trees may have any size; give a limit on depth or splits"
"""Why there is no set at λ = 0 without such a limit."""


def check_support(task: str, ordered: bool) -> None:
    """Raise UnsupportedError if good trees of such a problem cannot be counted."""
    if task == "regression":
        raise UnsupportedError("good trees are counted for classification, not for regression")
    if ordered:
        raise UnsupportedError(
            "good trees are counted for binary and categorical features; encode numbers with "
            "'thresholds', 'quantiles' or 'mdlp'"
        )


class Cell(NamedTuple):
    """The good trees of equal errors and splits."""

    errors: int
    splits: int
    trees: int


class Question(NamedTuple):
    """Which trees are good: those within a tolerance of the optimum at a λ."""

    lam: Fraction
    within: Fraction
    unit: str

    @classmethod
    def of(cls, lam: Any, within: Any, unit: str) -> Question:
        """Raises InputError if an argument is wrong."""
        price = as_lambda(lam)
        if unit not in UNITS:
            raise InputError(f"unit = {unit!r} is none of {', '.join(UNITS)}")
        try:
            return cls(price, as_lambda(within), unit)
        except InputError:
            text = f"within = {within!r} must be a number of 0 or more, e.g. 0.05"
            raise InputError(text) from None

    def most(self, optimum: Fraction) -> Fraction:
        """The largest objective of a good tree."""
        slack = {"relative": optimum, "objective": Fraction(1), "lam": self.lam}[self.unit]
        return optimum + self.within * slack
