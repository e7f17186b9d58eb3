"""A task's key: the SHA-256 of what determines its answer.

It is a hash of columns of the stored row, so a row is enough to check it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

KEY_COLUMNS = (
    "data_hash",
    "encoding",
    "encoding_options",
    "fold",
    "lam_exact",
    "limits",
    "repeat",
    "solver",
    "solver_options",
    "solver_version",
    "validation",
)
"""In alphabetical order: the key is the hash of a JSON object with sorted keys."""

BUDGETS = ("seconds", "bytes", "nodes")
"""Limits of effort: a larger one may give a better answer. Other limits change the question."""

LIMIT_OF_STATUS = {"time_limit": "seconds", "memory_limit": "bytes", "node_limit": "nodes"}


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def strict_json(value: Any) -> str:
    """As :func:`canonical`; TypeError or ValueError for NaN, infinity or what JSON cannot hold."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def task_key(row: Mapping[str, Any]) -> str:
    """The key of a row, of which only :data:`KEY_COLUMNS` are read."""
    content = canonical({name: row[name] for name in KEY_COLUMNS})
    return hashlib.sha256(content.encode()).hexdigest()


class KeyMaker:
    """Makes keys of tasks that differ only in λ and limits, quickly."""

    _LAM, _LIMITS = "\x00lam\x00", "\x00limits\x00"

    def __init__(self, columns: Mapping[str, Any]) -> None:
        template = canonical(
            {
                **{n: columns.get(n) for n in KEY_COLUMNS},
                "lam_exact": self._LAM,
                "limits": self._LIMITS,
            }
        )
        head, rest = template.split(canonical(self._LAM))
        middle, tail = rest.split(canonical(self._LIMITS))
        self._parts = f'{head}"', f'"{middle}', tail
        self._rests: dict[str, str] = {}

    def keys(self, lams: Iterable[str], limits: str) -> list[str]:
        """The key for each λ (a fraction string), under the same limits (their JSON)."""
        head, middle, tail = self._parts
        if limits not in self._rests:
            self._rests[limits] = f"{middle}{canonical(limits)}{tail}"
        rest = self._rests[limits]
        return [hashlib.sha256(f"{head}{lam}{rest}".encode()).hexdigest() for lam in lams]

    def key(self, lam_exact: str, limits: str) -> str:
        """The key for one λ."""
        return self.keys([lam_exact], limits)[0]


def question_limits(limits: Mapping[str, Any]) -> str:
    """The limits without budgets, as JSON: the part that changes the question."""
    return canonical({n: v for n, v in limits.items() if n not in BUDGETS})


def extends(wanted: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Whether limits ask the same question as stored ones, and no budget is smaller."""
    unlimited = float("inf")
    return question_limits(stored) == question_limits(wanted) and all(
        stored.get(name, unlimited) <= wanted.get(name, unlimited) for name in BUDGETS
    )


def answers(status: str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a run under some limits answers the same task under other limits.

    It does if no budget is smaller now, and the budget that ended the run is not larger now. Failed
    runs answer nothing.
    """
    if status in ("error", "killed", "stopped"):
        return False
    if not extends(wanted, stored):
        return False
    unlimited = float("inf")
    hit = LIMIT_OF_STATUS.get(status)
    return hit is None or stored.get(hit, unlimited) == wanted.get(hit, unlimited)


def allowed_trees(limits: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The limits and the family of split rules that define which trees are allowed.

    Proofs hold for these trees only. Solvers without a choice of rules have axis-parallel ones. A
    solver whose hyperplanes need a margin has fewer trees than one without.
    """
    allowed = {name: value for name, value in limits.items() if name not in BUDGETS}
    rules = options.get("rules", "axis")
    if rules != "axis":
        curved = rules != "hyperplane"
        extent = {"degree": options.get("degree")} if curved else {"margin": options.get("margin")}
        allowed |= {"rules": rules} | extent
    return {name: value for name, value in allowed.items() if value is not None}
