"""Errors that tell a user what is wrong, where, and what to do."""

from __future__ import annotations


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
    """

    def __init__(self, what: str = "", remedy: str = "") -> None:
        super().__init__(f"{what}; {remedy}" if remedy else what)
        self.what = what


class StateError(InputError):
    """A search cannot continue from the given state; it may start without one."""


class UnsupportedError(InputError):
    """A solver or an encoding cannot do this, e.g. CART a multiway split."""


class ClaimError(RuntimeError):
    """A solver claims what is not true of its own tree, see :mod:`solver.claims`."""


class InputWarning(UserWarning):
    """Something of the input is read in a way that the user should know, in one line."""


def one_line(what: BaseException | str, length: int | None = None) -> str:
    """An error's message, or a text, on one line of limited length; else the error's type."""
    text = " ".join(str(what).split())[:length]
    return text or ("" if isinstance(what, str) else type(what).__name__)
