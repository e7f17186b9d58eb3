"""Objective against time, against a plain loop."""

from __future__ import annotations

import math
import random

import pandas as pd
import pytest

from pipelines.report.analysis.solvers.anytime import MOST_POINTS, anytime_curves, without_split
from pipelines.report.analysis.solvers.solver_comparison import Instance
from pipelines.report.data.results import label_results
from tests.helpers.report_rows import as_frame, run_row, table

Trace = list[tuple[float, float]]
LEAF = 0.5


def instance(key: str, problem: int, objective: float, best: float, seconds: float) -> Instance:
    solver = key.split("/")[0]
    return Instance(
        key, f"d{problem}", "onehot", "", "", "0.1", solver, "open", seconds, 60.0, objective, 0.0,
        best, 1.0, math.nan,
    )  # fmt: skip


def random_problems(seed: int) -> tuple[list[list[Instance]], dict[str, Trace]]:
    rng = random.Random(seed)
    found, traces = [], {}
    for problem in range(4):
        best = rng.uniform(0, 0.4)
        one = []
        for solver in ("a", "b"):
            key = f"{solver}/{problem}"
            times = sorted(rng.uniform(0, 9) for _ in range(rng.randint(0, 4)))
            values = sorted((rng.uniform(best, 0.6) for _ in times), reverse=True)
            if times:
                traces[key] = [*zip(times, values, strict=True)]
            last = values[-1] if values else rng.choice([rng.uniform(best, 0.6), math.nan])
            one.append(instance(key, problem, last, best, 9.5))
        found.append(one)
    return found, traces


@pytest.mark.parametrize("seed", range(20))
def test_curves_are_those_of_a_plain_loop(seed: int) -> None:
    found, traces = random_problems(seed)
    leaves = {i.key: LEAF for one in found for i in one}
    for curve in anytime_curves({"binary": found}, traces, leaves):
        assert curve.problems == 4
        for at, share in zip(curve.seconds, curve.share, strict=True):
            left = 0.0
            for one in found:
                own = next(i for i in one if i.solver == curve.solver)
                known = [o for t, o in traces.get(own.key, []) if t <= at]
                if own.seconds <= at and not math.isnan(own.objective):
                    known.append(own.objective)
                least = min([LEAF, *known])
                left += max(0.0, (least - own.best) / (LEAF - own.best))
            assert share == pytest.approx(left / 4)


def test_without_traces_or_anything_to_find_there_is_none() -> None:
    found, traces = random_problems(1)
    leaves = {i.key: LEAF for one in found for i in one}
    assert anytime_curves({"binary": found}, {}, leaves) == []
    assert anytime_curves({"binary": [one[:1] for one in found]}, traces, leaves) == []
    assert anytime_curves({"binary": found}, traces, dict.fromkeys(leaves, 0.0)) == []


def test_long_traces_are_thinned() -> None:
    found = [[instance(f"{s}/0", 0, 0.1, 0.1, 9.0) for s in "ab"]]
    trace = [(t / 1000, 0.5 - t / 10000) for t in range(3000)]
    leaves = {"a/0": LEAF, "b/0": LEAF}
    (curve, _) = anytime_curves({"binary": found}, {"a/0": trace}, leaves)
    assert len(curve.seconds) == MOST_POINTS
    assert (curve.seconds[-1], curve.share[-1]) == (9.0, 0.0)


def test_the_tree_without_a_split_is_the_majority() -> None:
    rows = label_results(as_frame([run_row(lam="0.05"), run_row(lam="0.2")]), None).rows
    share = table()["class"].value_counts(normalize=True).max()
    assert without_split(rows) == pytest.approx(dict.fromkeys(rows["key"], 1 - share))
    assert without_split(pd.DataFrame(rows.iloc[:0])) == {}
