"""What a task asks besides the solver's options: the λ-path, a proof, all good trees, shards.

They are stored among the solver's options (``{"lam": "path", "proof": true, …}``), so that they
are part of keys, plans and rows. The solver never sees them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

LAM, PROOF, RASHOMON, SHARDS = "lam", "proof", "rashomon", "shards"
PATH = "path"
AUTO_SHARDS: Literal["auto"] = "auto"


def with_asks(
    options: Mapping[str, Any],
    lam: str | None,
    proof: bool,
    rashomon: Mapping[str, str] | None = None,
    shards: int | Literal["auto"] = 1,
) -> dict[str, Any]:
    """A solver's options with the requests.

    The number of shards is one of them: limits hold for each shard, and of equally good trees a
    divided search may return another one.
    """
    asks = {
        LAM: lam,
        PROOF: proof or None,
        RASHOMON: None if rashomon is None else {**rashomon},
        SHARDS: None if shards == 1 else shards,
    }
    return {**options, **{name: asked for name, asked in asks.items() if asked is not None}}


def own_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without the requests."""
    asks = LAM, PROOF, RASHOMON, SHARDS
    return {name: value for name, value in options.items() if name not in asks}


def asks_path(options: Mapping[str, Any]) -> bool:
    """Whether the λ-path is asked for, not a tree at each λ."""
    return options.get(LAM) == PATH


def asks_proof(options: Mapping[str, Any]) -> bool:
    """Whether a certificate is asked for."""
    return options.get(PROOF) is True


def asked_rashomon(options: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Which good trees are asked for: ``within`` (a fraction) and ``unit``; None if none are."""
    return options.get(RASHOMON)


def asked_shards(options: Mapping[str, Any]) -> int:
    """How many shards the task is divided into before it runs; 1 if it is not."""
    return 1 if asks_division(options) else int(options.get(SHARDS, 1))


def asks_division(options: Mapping[str, Any]) -> bool:
    """Whether the task may be divided while it runs, for workers that are idle."""
    return options.get(SHARDS) == AUTO_SHARDS


def shown_lam(label: str, options: Mapping[str, Any]) -> str:
    """The λ of a task for people: ``0.01`` or ``path from 0.01``."""
    return f"path from {label}" if asks_path(options) else label
