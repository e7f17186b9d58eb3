"""Whatever is accepted and called optimal is the oracle's optimum of exactly what was asked.

Over random tables of every kind of value and every front: Python, estimators, the command line, a
sweep, trees and paths. The oracle reads the raw table and shares no code with the product.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from solver.catalogue import OURS
from sweep.clusters import Local
from sweep.datasets import read_file
from sweep.graph.engine import run_sweep
from sweep.spec.spec import parse_spec
from sweep.store.read_results import read_results
from tests.contract import random_inquiry, user_interfaces
from tests.contract.check_answer import Claim
from tests.contract.oracle import Asked, Column, Oracle, mask, splits_of
from tests.contract.random_inquiry import FRONTS, Report, inquire
from tests.contract.random_tables import Question, Table, random_question, random_table, readable
from tests.contract.user_interfaces import Refused
from tests.helpers.random_examples import examples
from tests.naive import least_errors

SEED = int(os.environ.get("TREESWEEP_SEED", "14"))
"""Another one asks other questions."""

PARTS = 4
EACH = examples(400)
"""Enough that more than a hundred questions go to ``solve``, see below."""


def assert_holds(report: Report) -> None:
    """Nothing is false, and not because everything is refused."""
    print(report)
    assert not report.false, str(report)
    assert 2 * report.answered.total() >= report.asked.total(), str(report)
    for front, asked in report.asked.items():
        # Of a few questions more than half may be refused by chance.
        assert asked < 100 or 2 * report.answered[front] >= asked, str(report)


@pytest.mark.parametrize("front", FRONTS)
def test_no_claim_is_false(front: str) -> None:
    assert_holds(inquire(SEED, 100, front))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_claim_about_many_tables_is_false(part: int) -> None:
    assert_holds(inquire(SEED + 1 + part, EACH))


@pytest.mark.parametrize("solver", OURS)
def test_every_solver_answers(solver: str) -> None:
    assert_holds(inquire(SEED, 40, "solve", solver))


@pytest.mark.slow
def test_no_row_of_a_sweep_on_a_cluster_is_false(tmp_path: Path) -> None:
    rng = np.random.default_rng(SEED)
    tables: dict[str, tuple[Path, Table]] = {}
    questions: list[Question] = []
    while len(tables) < 20:
        table = random_table(rng, weighted=False)
        question = random_question(rng, table, text=True)
        path = tmp_path / f"t{len(tables)}.csv"
        table = readable(rng, table, question).write(path)
        try:
            user_interfaces.plan_of(
                user_interfaces.sweep_text({path.stem: (path, table)}, [question])
            )
        except Refused:
            continue
        tables[path.stem] = path, table
        questions += [question] if len(questions) < 6 else []
    out = tmp_path / "out"
    run_sweep(parse_spec(user_interfaces.sweep_text(tables, questions)), out, Local(workers=2))
    found, false = read_results(out), []
    for row in found.to_dict("records"):
        path, table = tables[row["dataset"]]
        question = Question(
            row["solver"], row["encoding"], row["lam_exact"], json.loads(row["limits"]),
            json.loads(row["solver_options"]), json.loads(row["encoding_options"]),
        )  # fmt: skip
        plain = {name: None if isna(value) else value for name, value in row.items()}
        (claim,) = user_interfaces.claims_of_row(plain, read_file(path), oracle=None)
        false += [
            (complaint, question) for complaint in random_inquiry.judge(claim, table, question)
        ]
    assert not false, false
    assert len(found) >= 200


def isna(value: Any) -> bool:
    """Whether a cell of a table of results is empty."""
    return value is None or (isinstance(value, float) and math.isnan(value))


NUMBERS = Column("x", (1, 2, 2, 3))
FOUR = Asked([NUMBERS], ["a", "b", "a", "a"], [Fraction(1)] * 4, "thresholds")


def parts_of(values: Sequence[Any], encoding: str, kind: str | None = None, **more: Any) -> Any:
    """The sets of rows that splits on one column make, each without its complement."""
    rows = len(values)
    asked = Asked(
        [Column("x", tuple(values), kind)], [*range(rows)], [Fraction(1)] * rows, encoding, **more
    )
    return {frozenset(parts) for parts in splits_of(asked)}


def sets(*groups: Sequence[int], rows: int) -> Any:
    """Parts given by the rows of one side."""
    full = 2**rows - 1
    return {frozenset({mask(group), full - mask(group)}) for group in groups}


class TestOracle:
    """What the oracle says, by hand."""

    @pytest.mark.parametrize(
        "values, encoding, kind, groups",
        [
            ([0.3, 0.1 + 0.2, 0.1], "thresholds", None, [[2], [0, 2]]),
            ([2**53, 2**53 + 1, None], "thresholds", None, [[2], [0, 2]]),
            (["7", "10", "7.0"], "thresholds", "number", [[0, 2]]),
            ([True, 1, 1.0], "onehot", None, [[0]]),
            ([True, 1, "1", 1.0], "onehot", "category", [[0]]),
            (["a", True, "True", 1], "onehot-drop-first", "category", [[0], [1, 2]]),
            (["missing", None, "a"], "onehot", None, [[0], [1], [2]]),
            (["a", "b", "c"], "onehot-drop-first", None, [[1], [2]]),
            ([3, 1, 2], "onehot-drop-last", None, [[1], [2]]),
            ([*map(pd.Timestamp, (50, 0, 99))], "continuous", None, [[1], [0, 1]]),
            ([1, 2, 3, 4], "quantiles", None, [[0], [0, 1], [0, 1, 2]]),
            ([1, 1, 3, 4], "quantiles", None, [[0, 1], [0, 1, 2]]),
        ],
    )  # fmt: skip
    def test_what_splits_part(
        self, values: list[Any], encoding: str, kind: str | None, groups: list[list[int]]
    ) -> None:
        assert parts_of(values, encoding, kind) == sets(*groups, rows=len(values))

    def test_a_multiway_split_has_a_branch_for_every_value(self) -> None:
        assert parts_of(["a", None, "b", "a"], "categorical") == {frozenset({0b1001, 0b10, 0b100})}

    def test_limits_and_prices(self) -> None:
        assert Oracle(FOUR).errors == [1]
        other = replace(FOUR, target=["a", "b", "b", "a"])
        assert Oracle(other).errors == [2, 1, 0]
        assert Oracle(other).optimum(Fraction(1, 10)) == Fraction(1, 5)
        assert Oracle(other).optimum(Fraction(1, 10), 1) == Fraction(7, 20)
        assert Oracle(replace(other, depth=1)).errors == [2, 1]
        assert Oracle(replace(other, min_leaf=Fraction(3, 2))).errors == [2]
        heavy = replace(other, weights=[Fraction(3, 2), Fraction(1), Fraction(1), Fraction(1)])
        assert Oracle(replace(heavy, min_leaf=Fraction(3, 2))).errors == [2, 1]

    def test_it_agrees_with_the_naive_search(self) -> None:
        rng = np.random.default_rng(SEED)
        for _ in range(200):
            codes = rng.integers(0, 3, (int(rng.integers(2, 8)), 2)).tolist()
            labels = rng.integers(0, 3, len(codes)).tolist()
            depth, least = int(rng.integers(0, 4)), int(rng.integers(0, 3))
            columns = [Column(f"x{j}", tuple(row[j] for row in codes)) for j in range(2)]
            ones = [Fraction(1)] * len(codes)
            asked = Asked(columns, labels, ones, "categorical", 4, depth, Fraction(least))
            counts = [[int(label == c) for c in range(3)] for label in labels]
            naive = least_errors(codes, counts, [3, 3], depth=depth, min_leaf_size=least)
            best = [min(e for s, e in naive.items() if s <= n) for n in range(max(naive) + 1)]
            found = Oracle(asked).errors
            assert found + found[-1:] * (len(best) - len(found)) == best


class TestJudge:
    """It takes what is so, and nothing else."""

    TABLE = Table((NUMBERS,), ("int64",), ("a", "b", "b", "a"), "object", (1, 0.1, 0.2, 1 / 3))
    TREE: ClassVar[dict[str, Any]] = {"nodes": [{"children": [1, 2]}, {}, {}]}
    WEIGHT = Fraction("1.6333333333333333")
    HONEST = Claim(
        Fraction("0.12"), "optimal", Fraction("0.3") / WEIGHT, Fraction("0.3") / WEIGHT,
        Fraction(0), {"nodes": [{}]}, ["a"] * 4, [0] * 4,
    )  # fmt: skip

    def complaints(self, limits: dict[str, Any] | None = None, **changes: Any) -> list[str]:
        claim = replace(self.HONEST, **changes)
        question = Question("any", "thresholds", "0.12", limits or {})
        return random_inquiry.judge(claim, self.TABLE, question)

    def test_an_honest_claim(self) -> None:
        assert self.complaints() == []
        assert self.complaints(status="node_limit", lower_bound=Fraction(0)) == []

    @pytest.mark.parametrize(
        "changes, limits, complaint",
        [
            ({"objective": Fraction("0.18")}, {}, "its tree costs 0.18367"),
            ({"predictions": ["b"] * 4}, {}, "its tree costs 0.816"),
            ({"predictions": ["a", "b", "a", "a"]}, {}, "below the optimum"),
            ({"lower_bound": Fraction(1, 2)}, {}, "lower bound 0.5"),
            ({"lower_bound": None}, {}, "and bound None"),
            ({"lam": Fraction("0.01")}, {}, "0.02 exists"),
            ({"tolerance": Fraction(1, 10**5)}, {}, "tolerance 1e-05"),
            ({"tree": TREE, "ends": [1, 2, 2, 2]}, {"depth": 0}, "its depth is 1, the limit 0"),
            ({"tree": TREE, "ends": [1, 2, 2, 2]}, {"splits": 0}, "1 splits, the limit is 0"),
            ({"tree": TREE, "ends": [1, 2, 2, 2]}, {"min_leaf_size": 0.7}, "weighs 0.633333"),
            ({"tree": TREE, "ends": [0, 2, 2, 2]}, {}, "ends at the split 0"),
        ],
    )
    def test_a_false_claim(
        self, changes: dict[str, Any], limits: dict[str, Any], complaint: str
    ) -> None:
        assert any(complaint in found for found in self.complaints(limits, **changes))
