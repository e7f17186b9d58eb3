"""What a task asks of its solver beside the tree at one λ: the whole λ-path, a proof.

Both stand among the solver's options (``{"lam": "path", "proof": true, …}``), so that keys, plans
and rows tell such tasks from others; tasks without them have the keys that they always had. The
solver itself never sees them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LAM, PROOF = "lam", "proof"
PATH = "path"


def with_asks(options: Mapping[str, Any], lam: str | None, proof: bool) -> dict[str, Any]:
    """A solver's options and what is asked of it."""
    asks = ({} if lam is None else {LAM: lam}) | ({PROOF: True} if proof else {})
    return {**options, **asks}


def own_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are the solver's own."""
    return {name: value for name, value in options.items() if name not in (LAM, PROOF)}


def asks_path(options: Mapping[str, Any]) -> bool:
    """Whether the λ-path is asked for, instead of the tree at each λ."""
    return options.get(LAM) == PATH


def asks_proof(options: Mapping[str, Any]) -> bool:
    """Whether a certificate is to be stored with the row."""
    return options.get(PROOF) is True


def shown_lam(label: str, options: Mapping[str, Any]) -> str:
    """The λ of a task as a person says it: ``0.01``, or ``path from 0.01``."""
    return f"path from {label}" if asks_path(options) else label
