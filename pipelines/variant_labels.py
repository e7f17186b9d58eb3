"""Labels of choices that differ only in their options."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from solver.catalogue import SOLVERS
from solver.encodings import ENCODINGS
from solver.features.number_format import count
from sweep.spec.requested_outputs import (
    PROOF,
    RASHOMON,
    SHARDS,
    asked_rashomon,
    asked_shards,
    asks_division,
    asks_path,
    asks_proof,
    own_options,
)

_FEW = 2


def telling_options(
    name: str, own: Mapping[str, Any], namesakes: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The options, as ``name=value``, that distinguish a choice from others of its name.

    If more than two options vary, only those unlike their defaults are shown, so that the labels of
    an ablation stay short; ``["defaults"]`` means none. A λ-path among single λ has the label
    ``path``; a choice with proofs has the label ``proof`` if nothing else differs, one with good
    trees ``rashomon`` with its tolerance, and one in shards their number.

    Parameters
    ----------
    name : str
        A solver or an encoding.
    own : mapping
        The options and own limits of the choice.
    namesakes : sequence of mapping
        Those of all choices with this name, including this one.
    """
    asked = _asked(own, namesakes)
    own, namesakes = own_options(own), [own_options(other) for other in namesakes]
    keys = sorted({key for other in namesakes for key in other})
    differing = [key for key in keys if len({json.dumps(o.get(key)) for o in namesakes}) > 1]
    shown = differing
    if len(differing) > _FEW:
        usual = _defaults(name)
        shown = [k for k in differing if json.dumps(own.get(k)) != json.dumps(usual.get(k))]
    if differing and not shown:
        return ["defaults", *asked]
    return [*(f"{key}={option_text(own.get(key))}" for key in shown), *asked]


def _asked(own: Mapping[str, Any], namesakes: Sequence[Mapping[str, Any]]) -> list[str]:
    words = []
    if asks_path(own) and not all(map(asks_path, namesakes)):
        words.append("path")
    alike = [other for other in namesakes if _plain(other) == _plain(own)]
    if asks_proof(own) and not all(map(asks_proof, alike)):
        words.append("proof")
    good = asked_rashomon(own)
    if good is not None and any(asked_rashomon(other) != good for other in alike):
        words.append(f"rashomon {good['within']} {good['unit']}")
    if any(_shards(other) != _shards(own) for other in alike):
        words.append(_shards(own))
    return words


def _shards(options: Mapping[str, Any]) -> str:
    return "shards auto" if asks_division(options) else count(asked_shards(options), "shard")


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without what does not change what is searched for."""
    asks = PROOF, RASHOMON, SHARDS
    return {name: value for name, value in options.items() if name not in asks}


def _defaults(name: str) -> dict[str, Any]:
    if name in SOLVERS:
        return {key: option.default for key, option in SOLVERS[name].options.items()}
    if name in ENCODINGS:
        return {key: option.default for key, option in ENCODINGS[name].options.items()}
    return {}


def option_text(value: Any) -> str:
    """An option's value in a label: ``none``, ``0.5``, ``entropy``."""
    return "none" if value is None else json.dumps(value, ensure_ascii=False).strip('"')
