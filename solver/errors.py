"""Errors that tell a user what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SHOWN = 24
"""The names that a message lists."""


class InputError(ValueError):
    """The user's input cannot be used.

    The message is one line that names the problem and the remedy. The command line prints it
    without a traceback and exits with code 2.

    Parameters
    ----------
    what : str
        What is wrong, or the whole message.
    remedy : str
        What to do; appended to the message.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> try:
    ...     treesweep.solve(problem, lam="-1")
    ... except treesweep.InputError as error:
    ...     print(error)
    λ = -1 is negative; the price of a split must be 0 or more
    """

    def __init__(self, what: str = "", remedy: str = "") -> None:
        super().__init__(f"{what}; {remedy}" if remedy else what)
        self.what = what


class StateError(InputError):
    """A search cannot continue from the given state; it may start without one."""


class UnsupportedError(InputError):
    """A solver or an encoding cannot do this, e.g. CART makes no multiway splits.

    Examples
    --------
    >>> import pandas as pd
    >>> import treesweep
    >>> table = pd.DataFrame({"colour": ["red", "green", "blue"], "class": [0, 1, 1]})
    >>> problem = treesweep.Problem.from_table(table, target="class", encoding="categorical")
    >>> try:
    ...     treesweep.solve(problem, lam="0.01", solver="cart")
    ... except treesweep.UnsupportedError as error:
    ...     print(error)
    solver 'cart' needs binary or continuous features, the encoding gives categorical ones
    """


class ClaimError(RuntimeError):
    """A solver claims what is not true of its tree, see :mod:`solver.verify.solution_checks`."""


class PeerError(RuntimeError):
    """An external solver died, or gave an answer that makes no sense."""


class InputWarning(UserWarning):
    """Something of the input is read in a way that the user should know, in one line."""


def unknown_name(value: object, allowed: Iterable[str], what: str, meant: str | None = None) -> str:
    """The message on an unknown name, with ``meant`` or the name most like it, and all others."""
    names = list(allowed)
    close = [meant] if meant else difflib.get_close_matches(str(value), names, n=1, cutoff=0.6)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return f"unknown {what} {value!r}{hint}; allowed: {shown or 'none'}"


def columns_like(name: object, columns: Iterable[object]) -> str:
    """The first columns of a table, and the one most like a name that none of them has."""
    names = [*map(str, columns)]
    folded = {known.casefold(): known for known in reversed(names)}
    close = difflib.get_close_matches(str(name).casefold(), folded, n=1)
    hint = f"; did you mean {folded[close[0]]!r}?" if close else ""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more + hint


def one_line(what: BaseException | str, length: int | None = None) -> str:
    """An error's message, or a text, on one line of limited length; else the error's type."""
    text = " ".join(str(what).split())[:length]
    return text or ("" if isinstance(what, str) else type(what).__name__)
