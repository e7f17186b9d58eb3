"""Requests of a task that are no options of the solver: the λ-path, a proof, all good trees.

They are stored among the solver's options (``{"lam": "path", "proof": true, …}``), so that they
are part of keys, plans and rows. The solver never sees them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LAM, PROOF, RASHOMON = "lam", "proof", "rashomon"
PATH = "path"


def with_asks(
    options: Mapping[str, Any],
    lam: str | None,
    proof: bool,
    rashomon: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A solver's options with the requests."""
    asks = ({} if lam is None else {LAM: lam}) | ({PROOF: True} if proof else {})
    return {**options, **asks, **({} if rashomon is None else {RASHOMON: {**rashomon}})}


def own_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without the requests."""
    return {name: value for name, value in options.items() if name not in (LAM, PROOF, RASHOMON)}


def asks_path(options: Mapping[str, Any]) -> bool:
    """Whether the λ-path is asked for, not a tree at each λ."""
    return options.get(LAM) == PATH


def asks_proof(options: Mapping[str, Any]) -> bool:
    """Whether a certificate is asked for."""
    return options.get(PROOF) is True


def asked_rashomon(options: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Which good trees are asked for: ``within`` (a fraction) and ``unit``; None if none are."""
    return options.get(RASHOMON)


def shown_lam(label: str, options: Mapping[str, Any]) -> str:
    """The λ of a task for people: ``0.01`` or ``path from 0.01``."""
    return f"path from {label}" if asks_path(options) else label
