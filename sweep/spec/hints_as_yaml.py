"""Remedies in messages: as Python says them, and as a sweep's YAML or dict has them.

In Python a remedy is an argument: ``columns={'id': 'drop'}``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from solver.features.category_values import as_yaml

_MARK = "columns={"
LIMIT = re.compile(r"limits=treesweep\.Limits\((\w+)=(\d+)\)")
"""The remedy for a limit that is missing."""


class Override(NamedTuple):
    """A column's entry that a message names."""

    start: int  # where the entry begins in the message
    end: int
    name: str
    wish: Any  # a kind, or a mapping


def find_overrides(message: str) -> Iterator[Override]:
    """The entries for columns that a message offers, in its order."""
    start = message.find(_MARK)
    while start >= 0:
        first = end = start + len(_MARK) - 1
        for place in range(first, len(message)):
            if message[place] != "}":
                continue
            with suppress(SyntaxError, ValueError, AttributeError):
                ((name, wish),) = ast.literal_eval(message[first : place + 1]).items()
                end = place + 1
                yield Override(start, end, name, wish)
                break
        start = message.find(_MARK, end)


def with_overrides(message: str, write: Callable[[str, Any], str]) -> str:
    """A message with each entry for a column, a name and a wish, written otherwise."""
    for found in reversed([*find_overrides(message)]):
        entry = write(found.name, found.wish)
        message = message[: found.start] + entry + message[found.end :]
    return message


def in_yaml(message: str) -> str:
    """A message with remedies as a sweep's YAML has them."""
    message = with_overrides(message, lambda *entry: f"columns: {as_yaml(dict([entry]))}")
    return LIMIT.sub(r"limits: {\1: \2}", message)


def in_dict(message: str) -> str:
    """A message with remedies as the dict of a sweep has them."""
    message = with_overrides(message, lambda *entry: f"'columns': {dict([entry])!r}")
    return LIMIT.sub(r"'limits': {'\1': \2}", message)
