"""The datasets that need no file and no network.

Eight are computed from their published definitions, five come with scikit-learn. Their target
column is ``target``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd

from solver.trees.tree import TaskType
from sweep.datasets.car_and_nursery import CAR, NURSERY, car_rule, nursery_rule
from sweep.datasets.scikit_learn_tables import TARGET, bundled

_SQUARES = tuple(f"{v}-{h}-square" for v in ("top", "middle", "bottom") for h in
                 ("left", "middle", "right"))  # fmt: skip
_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
_MONKS = {"a1": 3, "a2": 3, "a3": 2, "a4": 3, "a5": 4, "a6": 2}


@dataclass(frozen=True)
class Builtin:
    """A built-in dataset. Regression has 0 classes; ``make`` returns the table, features first."""

    name: str
    rows: int
    features: int
    classes: int
    source: str
    make: Callable[[], pd.DataFrame]

    @property
    def task(self) -> TaskType:
        """``classification`` or ``regression``."""
        return "classification" if self.classes else "regression"


def _table(features: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=[*features, TARGET])


def _has_line(board: str, player: str) -> bool:
    return any(all(board[i] == player for i in line) for line in _LINES)


def _tic_tac_toe() -> pd.DataFrame:
    finals: set[str] = set()
    boards = {"b" * 9}
    for move in range(9):
        player = "xo"[move % 2]
        placed = {
            board[:i] + player + board[i + 1 :]
            for board in boards
            for i in range(9)
            if board[i] == "b"
        }
        over = {board for board in placed if _has_line(board, player) or "b" not in board}
        finals |= over
        boards = placed - over
    return _table(
        _SQUARES,
        ((*board, "positive" if _has_line(board, "x") else "negative") for board in sorted(finals)),
    )


def _balance_scale() -> pd.DataFrame:
    def side(left: int, right: int) -> str:
        return "L" if left > right else "R" if left < right else "B"

    names = ("left-weight", "left-distance", "right-weight", "right-distance")
    rows = product(range(1, 6), repeat=4)
    return _table(names, ((a, b, c, d, side(a * b, c * d)) for a, b, c, d in rows))


def _monks(concept: Callable[..., bool]) -> Callable[[], pd.DataFrame]:
    def make() -> pd.DataFrame:
        rows = product(*(range(1, size + 1) for size in _MONKS.values()))
        return _table(_MONKS, ((*row, int(concept(*row))) for row in rows))

    return make


def _monks_1(a1: int, a2: int, a3: int, a4: int, a5: int, a6: int) -> bool:
    return a1 == a2 or a5 == 1


def _monks_2(*attributes: int) -> bool:
    return attributes.count(1) == 2


def _monks_3(a1: int, a2: int, a3: int, a4: int, a5: int, a6: int) -> bool:
    return (a5 == 3 and a4 == 1) or (a5 != 4 and a2 != 3)


def _from_rules(domains: dict[str, str], rule: Callable[..., str]) -> pd.DataFrame:
    rows = product(*(values.split() for values in domains.values()))
    return _table(domains, ((*row, rule(*row)) for row in rows))


BUILTINS: dict[str, Builtin] = {
    builtin.name: builtin
    for builtin in (
        Builtin("tic-tac-toe", 958, 9, 2, "final boards; did x win? (UCI 101)", _tic_tac_toe),
        Builtin(
            "balance-scale", 625, 4, 3, "two weights at two distances (UCI 12)", _balance_scale
        ),
        Builtin(
            "balance-scale-2", 576, 4, 2, "balance-scale without its 49 balanced rows",
            lambda: _balance_scale().query("target != 'B'").reset_index(drop=True),
        ),
        Builtin("monks-1", 432, 6, 2, "a1 = a2 or a5 = 1 (UCI 70, all rows)", _monks(_monks_1)),
        Builtin(
            "monks-2", 432, 6, 2, "exactly two attributes are 1 (UCI 70, all rows)",
            _monks(_monks_2),
        ),
        Builtin(
            "monks-3", 432, 6, 2,
            "a5 = 3 and a4 = 1, or a5 ≠ 4 and a2 ≠ 3 (UCI 70, all rows, no noise)",
            _monks(_monks_3),
        ),
        Builtin(
            "car", 1728, 6, 4, "acceptability of cars, from its decision model (UCI 19)",
            lambda: _from_rules(CAR, car_rule()),
        ),
        Builtin(
            "nursery", 12960, 8, 5, "applications to nurseries, from its decision model (UCI 76)",
            lambda: _from_rules(NURSERY, nursery_rule()),
        ),
        Builtin(
            "iris", 150, 4, 3, "three species by four lengths (scikit-learn)",
            bundled("iris"),
        ),
        Builtin(
            "wine", 178, 13, 3, "three growers by chemical analysis (scikit-learn)",
            bundled("wine"),
        ),
        Builtin(
            "breast-cancer", 569, 30, 2, "tumours by cell nuclei (scikit-learn)",
            bundled("breast_cancer"),
        ),
        Builtin(
            "digits", 1797, 64, 10, "handwritten digits of 8 × 8 pixels (scikit-learn)",
            bundled("digits"),
        ),
        Builtin(
            "diabetes", 442, 10, 0,
            "progress of diabetes in a year, a number, by ten measurements (scikit-learn)",
            bundled("diabetes"),
        ),
    )
}  # fmt: skip
