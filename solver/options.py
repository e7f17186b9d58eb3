"""Options of a solver and the check of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from solver.errors import InputError


@dataclass(frozen=True)
class Option:
    """An option of a solver.

    Parameters
    ----------
    default : Any
    allowed : tuple, optional
        The values it may take; None: any value of ``kind``.
    kind : type or tuple of types
    minimum : int, optional
        The least value of a number.
    mode : str, optional
        The solver's mode that it belongs to: in others it keeps its default.
    in_contract : bool
        Whether the contract's tests take each of the allowed values. Those that search far longer,
        or mean nothing on small tables of categories, have tests of their own.
    """

    default: Any
    doc: str
    allowed: tuple[Any, ...] | None = None
    kind: type | tuple[type, ...] = str
    minimum: int | None = None
    mode: str | None = None
    in_contract: bool = True

    def check(self, solver: str, name: str, value: Any) -> None:
        """Refuse a wrong value with an InputError."""
        if self.allowed is not None:
            if value not in self.allowed or isinstance(value, bool) != isinstance(
                self.default, bool
            ):
                values = ", ".join(map(str, self.allowed))
                raise InputError(
                    f"option {name} = {value!r} of solver {solver!r} must be one of {values}"
                )
            return
        least = self.minimum
        too_small = least is not None and isinstance(value, (int, float)) and value < least
        flag = isinstance(value, bool) and self.kind is not bool
        if flag or too_small or not isinstance(value, self.kind):
            raise InputError(f"option {name} = {value!r} of solver {solver!r}: {self.doc}")
