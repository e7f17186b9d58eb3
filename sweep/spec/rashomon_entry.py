"""``rashomon: {within: 0.05, unit: relative}``: all good trees of each task."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_validator

from solver.errors import InputError
from solver.objective.exact_objective import as_lambda
from sweep.spec.yaml_reader import Strict, problem


class RashomonEntry(Strict):
    """Which trees are good, see :func:`solver.rashomon.find_set.rashomon_set`."""

    within: str = "1/20"  #: how much worse than the optimum a good tree may be
    unit: Literal["relative", "objective", "lam"] = "relative"
    """What ``within`` is: a share of the optimum, a difference of objectives, or multiples of λ."""

    @field_validator("within", mode="before")
    @classmethod
    def _exact(cls, value: Any) -> str:
        try:
            return str(as_lambda(value))
        except InputError:
            raise problem(f"{value!r} must be a number of 0 or more, e.g. 0.05") from None
