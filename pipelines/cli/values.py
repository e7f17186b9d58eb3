"""Reading the values of command-line options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click


def read_scalar(text: str) -> Any:
    """The value that a text stands for in a sweep's YAML: a number, true, false, null or text."""
    words = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def read_kinds(texts: Sequence[str], option: str) -> dict[str, str]:
    """``NAME=KIND`` texts as a dictionary: a name may have an ``=``, a kind has none."""
    return _read(texts, option, str.rpartition, "NAME=KIND")


def read_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """``KEY=VALUE`` texts as a dictionary: a value may have an ``=``, a key has none.

    Raises
    ------
    click.BadParameter
        If a text has no ``=``, or a key comes twice.
    """
    return _read(texts, option, str.partition, "KEY=VALUE")


def _read(
    texts: Sequence[str], option: str, part: Callable[[str, str], tuple[str, str, str]], form: str
) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = part(text, "=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r} is not {form}", param_hint=f"'{option}'")
        if key in pairs:
            raise click.BadParameter(f"{key!r} is given twice", param_hint=f"'{option}'")
        pairs[key] = value
    return pairs


def read_options(texts: Sequence[str], option: str) -> dict[str, Any]:
    """``KEY=VALUE`` texts as options; errors as :func:`read_pairs`."""
    return {key: read_scalar(value) for key, value in read_pairs(texts, option).items()}


def read_size(text: str | None, option: str) -> int | None:
    """An amount of memory in bytes, from a number or a text such as ``4GiB``.

    Raises
    ------
    click.BadParameter
        If it is neither.
    """
    if text is None:
        return None
    from dask.utils import parse_bytes

    try:
        return int(parse_bytes(text))
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no amount of memory; write e.g. 512MiB or 4GiB",
            param_hint=f"'{option}'",
        ) from None
