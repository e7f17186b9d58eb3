"""Remedies in messages: ``columns: {NAME: KIND}``, as a sweep's YAML has them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import yaml

from solver.features.category_values import as_yaml

_MARK = "columns: {"


class Override(NamedTuple):
    """A column's entry that a message names."""

    start: int  # where the entry begins in the message
    end: int
    name: str
    wish: Any  # a kind, or a mapping


def find_overrides(message: str) -> Iterator[Override]:
    """The entries under ``columns`` that a message offers, in its order."""
    start = message.find(_MARK)
    while start >= 0:
        first = start + len(_MARK) - 1
        for place in range(first, len(message)):
            if message[place] != "}":
                continue
            with suppress(yaml.YAMLError, ValueError):
                ((name, wish),) = yaml.safe_load(message[first : place + 1]).items()
                yield Override(start, place + 1, str(name), wish)
                break
        start = message.find(_MARK, start + 1)


def as_option(name: str, wish: Any) -> str:
    """An entry as an option of the command line."""
    return f"--column {shlex.quote(f'{name}={as_yaml(wish)}')}"


def as_options(message: str) -> str:
    """A message with options of the command line in place of entries."""
    for found in reversed([*find_overrides(message)]):
        message = message[: found.start] + as_option(found.name, found.wish) + message[found.end :]
    return message
