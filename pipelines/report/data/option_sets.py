"""Option sets of a solver beside each other: what tells each one from the first, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from solver.catalogue import SOLVERS

SWITCHES, SEVERAL = "switches", "several options"


class Variant(NamedTuple):
    """An option set.

    Parameters
    ----------
    label : str
        What is unlike the first option set: ``no lookahead``, ``policy: entropy``; of the first
        one, what is unlike the solver's defaults.
    kind : str
        What the variants of a table have in common: :data:`SWITCHES`, the one option in which they
        differ from the first, or :data:`SEVERAL`; of the first, nothing.
    """

    label: str
    kind: str


def describe_first(solver: str, own: Mapping[str, Any]) -> Variant:
    """The option set that the others are compared with."""
    usual = {k: o.default for k, o in SOLVERS[solver].options.items()} if solver in SOLVERS else {}
    words = _difference(usual, {**usual, **{k: v for k, v in own.items() if k in usual}})
    return Variant(", ".join(words) or ("defaults" if usual else "first"), "")


def describe(first: Mapping[str, Any], own: Mapping[str, Any]) -> Variant:
    """An option set beside the first one, each with the limits that it has of its own."""
    differing = [key for key in _keys(first, own) if _differs(first, own, key)]
    flags = [isinstance(own.get(key), bool) for key in differing]
    if differing and all(flags):
        kind = SWITCHES
    else:
        kind = differing[0].replace("_", " ") if len(differing) == 1 else SEVERAL
    return Variant(", ".join(_difference(first, own)) or "the same", kind)


def _difference(first: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    words = []
    for key in _keys(first, own):
        if not _differs(first, own, key):
            continue
        value, name = own.get(key), key.replace("_", " ")
        if isinstance(value, bool):
            words.append(f"{'with' if value else 'no'} {name}")
        else:
            words.append(f"{name}: {_word(value)}")
    return words


def _keys(first: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    return sorted({*first, *own})


def _differs(first: Mapping[str, Any], own: Mapping[str, Any], key: str) -> bool:
    return json.dumps(first.get(key)) != json.dumps(own.get(key))


def _word(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False).strip('"')
