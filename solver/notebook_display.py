"""How objects show themselves in notebooks."""

from __future__ import annotations

from functools import singledispatch


@singledispatch
def to_html(shown: object) -> str | None:
    """The HTML of an object; None for objects of a type without one.

    :mod:`solver.notebook_html` registers the types of this package.
    """
    return None


class RichDisplay:
    """A base class of what notebooks show as HTML."""

    def _repr_html_(self) -> str | None:
        return to_html(self)
