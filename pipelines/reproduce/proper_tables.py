"""The proper-trees paper's figures and claims next to ours.

Figure 3 comes of a sweep, the other tables are computed. The paper prints few numbers; where it
makes a claim in words, the table has the figures that decide it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import permutations
from math import comb, factorial
from typing import Any

import numpy as np
import pandas as pd

from solver.limits import Limits
from solver.problem.problem import Problem
from solver.proper.paper.rules import gen_rules
from solver.proper.paper.tree_recursion import Memo
from solver.solution import Status
from solver.solve_problem import solve
from solver.theory.proper_family.binary_features import Reading, best_feature_tree
from solver.theory.proper_family.bsp import (
    Segments,
    best_partition,
    ordered_partition,
    random_partition,
    size,
)
from solver.theory.proper_family.kd_trees import (
    Points,
    best_axes,
    best_kd_tree,
    found_again,
    height,
    looked_at,
    surface,
)
from solver.theory.proper_family.matrix_chains import multiply_best, parenthesisations
from solver.theory.proper_family.search_trees import best_search_tree
from solver.theory.proper_family.trees_over_rules import f_bf, f_catalan, f_murtree
from solver.theory.proper_framework.optimum import additive, sodt_with_memo
from solver.theory.proper_framework.tree_generators import gen_bts, kcombs
from sweep.datasets.builtin import BUILTINS
from sweep.datasets.scikit_learn_tables import TARGET

FAMILIES = {"axis": "1", "hyperplane": "2", "polynomial": "5"}
"""How many points of the plane fix a rule of each kind, as Figure 3 says."""


def compare_families(results: pd.DataFrame) -> pd.DataFrame:
    """Figure 3: what trees of each kind of rules need for the fewest errors.

    "found" is G = C(D + M, D) − 1 for surfaces of degree M in D columns, and 1 for cuts.

    Parameters
    ----------
    results : DataFrame
        From :func:`sweep.store.read_results.read_results`.
    """
    runs = results[(results["solver"] == "proper") & results["errors"].notna()]
    options = [json.loads(text) for text in runs["solver_options"]]
    runs = runs.assign(
        rules=[own["rules"] for own in options], degree=[own["degree"] for own in options]
    )
    lines = []
    for dataset in runs["dataset"].unique():
        for rules, printed in FAMILIES.items():
            own = runs[(runs["dataset"] == dataset) & (runs["rules"] == rules)]
            if len(own):
                lines.append({"dataset": dataset, "rules": rules, **_family(own, printed)})
    return pd.DataFrame(lines)


def _family(runs: pd.DataFrame, printed: str) -> dict[str, Any]:
    best = runs.sort_values(["errors", "splits"]).iloc[0]
    columns = int(best["n_features_encoded"])
    degree = int(best["degree"]) if best["rules"] == "polynomial" else 1
    fix = 1 if best["rules"] == "axis" else comb(columns + degree, columns) - 1
    return {
        "points that fix one, printed": printed,
        "found": fix,
        "different rules": json.loads(best["extra"])["rules"],
        "fewest errors": int(best["errors"]),
        "splits": int(best["splits"]),
        "proven": "yes" if (runs["status"] == Status.OPTIMAL.value).all() else "no",
    }


def tree_counts() -> pd.DataFrame:
    """Figures 10 and 11, sections 3.1.2, 4.7.3 and 6.2: how many trees a list of rules has."""
    always_above = gen_bts(range(4), lambda ancestor, rule: 1)
    rows = (
        ("genCatalans, Figure 10", 3, 5, f_catalan(3)),
        ("genMurtrees, Figure 10", 3, 27, f_murtree(3)),
        ("genDTBFs, Figure 10", 3, 30, f_bf(3)),
        ("genMurtrees, section 6.2", 5, 2830, f_murtree(5)),
        ("genDTBFs, section 6.2", 5, 5040, f_bf(5)),
        ("labelled binary trees, section 3.1.2", 4, 336, f_bf(4)),
        ("most proper trees, K! by Lemma 4.14", 4, factorial(4), len(always_above)),
        ("orders of multiplication, Figure 11", 4, 5, len([*parenthesisations(4)])),
    )
    return pd.DataFrame(rows, columns=["trees", "rules", "printed", "found"])


READINGS: dict[str, Reading] = {
    "genCatalans": "catalan",
    "genMurtrees": "murtree",
    "genDTBFs": "bf",
    "any rule anywhere": "repeats",
}


def feature_trees() -> pd.DataFrame:
    """Section 6: errors of the best trees over binary features, in each search space.

    ``branches`` searches the last of these spaces.
    """
    cube = pd.DataFrame([(i >> 2, i >> 1 & 1, i & 1) for i in range(8)], columns=[*"abc"])
    a, b, c = (cube[name] for name in "abc")
    monks = BUILTINS["monks-1"].make()
    asked = (
        ("c if a, else b", cube.assign(target=c.where(a == 1, b)), 3),
        ("a or b, not both", cube.assign(target=a ^ b), 3),
        *(("monks-1", monks, splits) for splits in (3, 4)),
    )
    return pd.DataFrame([_feature_row(*one) for one in asked])


def _feature_row(name: str, frame: pd.DataFrame, splits: int) -> dict[str, Any]:
    problem = Problem.from_table(frame, TARGET, "onehot-drop-last")
    table, target = problem.codes.tolist(), problem.counts.argmax(axis=1).tolist()
    found = {
        label: best_feature_tree(table, target, splits, reading, Memo()).cost
        for label, reading in READINGS.items()
    }
    errors = solve(problem, 0, "branches", Limits(splits=splits)).errors
    return {"class": name, "rows": len(target), "splits": splits, **found, "branches": errors}


FIVE_CROSSING = ((2, 3, 5, 0), (5, 4, 0, 2), (4, 3, 3, 1), (3, 3, 4, 0), (2, 4, 1, 5))
_ORDERS = 100


def partitions() -> pd.DataFrame:
    """Section 5.1: nodes and leaves of the smallest binary space partition, and of those that
    orders of the segments give.

    The paper takes the best order for the best tree, which the last line refutes.
    """
    asked = [(f"{n} apart", separate_segments(n)) for n in range(2, 8)]
    return pd.DataFrame([_partition_row(*one) for one in (*asked, ("5 that cross", FIVE_CROSSING))])


def separate_segments(n: int) -> list[tuple[int, int, int, int]]:
    """Up to nine random segments, each in a square of its own."""
    rng = random.Random(n)
    places = [(x, y) for x in range(10) for y in range(10)]
    found = []
    for square in rng.sample(range(9), n):
        left, low = 10 * (square % 3), 10 * (square // 3)
        (x, y), (u, v) = rng.sample(places, 2)
        found.append((left + x, low + y, left + u, low + v))
    return found


def _partition_row(name: str, ends: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    segments, memo = Segments(ends), Memo()
    smallest = best_partition(segments, memo).cost
    orders = permutations(range(len(ends)))
    drawn = [size(random_partition(segments, seed)) for seed in range(_ORDERS)]
    return {
        "segments": name,
        "smallest": smallest,
        "best of all orders": min(size(ordered_partition(segments, order)) for order in orders),
        "mean of random orders": f"{sum(drawn) / _ORDERS:.2f}",
        **_told(memo),
    }


SEVEN = ((5, 4), (2, 3), (8, 5), (1, 1), (3, 6), (9, 2), (7, 7))
"""Seven points, as Figure 9 has, whose coordinates are not printed."""


def kd_trees() -> pd.DataFrame:
    """Section 5.3, Figure 9: what searches in the best K-D trees of seven points look at.

    The axes of the levels alternate, as in the figure, or are the best ones.
    """
    points = Points(SEVEN)
    measures = {
        "each point": found_again,
        "neighbours, in corners": points.reached([(10, 3), (10, 3), (10, 3), (0, 0)]),
        "neighbours, in the middle": points.reached([(5, 4), (5, 5)]),
        "random lines": surface,
    }
    balanced = best_kd_tree(points, height).tree
    rows = []
    for name, measure in measures.items():
        objective, memo = looked_at(measure), Memo()
        best = best_kd_tree(points, objective, memo=memo)
        rows.append(
            {
                "searches for": name,
                "best tree": best.cost,
                "its levels": height(best.tree),
                "a balanced tree": objective(balanced),
                "best axes": best_axes(points, objective).found.cost,
                **_told(memo),
            }
        )
    return pd.DataFrame(rows)


def memo_hits() -> pd.DataFrame:
    """Section 4.7.2: how often a memo hits.

    The paper says that it does in chains of matrices, and hardly ever in decision trees, as their
    states are many.
    """
    rows = [_chain(), _keys(), *(_pairs(rules) for rules in ("axis", "hyperplane"))]
    asked = (("axis", 100, 4), ("hyperplane", 30, 4), ("polynomial", 14, 3))
    return pd.DataFrame([*rows, *(_search(*one) for one in asked)])


def _chain() -> dict[str, Any]:
    memo = Memo()
    multiply_best(range(1, 22), memo)
    return _memo_row("orders of 20 matrices", 19, "hits", memo)


def _keys() -> dict[str, Any]:
    memo = Memo()
    best_search_tree([1] * 20, memo=memo)
    return _memo_row("search trees of 20 keys", 20, "", memo)


def _pairs(kind: str) -> dict[str, Any]:
    """``sodt`` of every two rules of some points, with one memo."""
    rng = random.Random(7)
    places = [(rng.randrange(100), rng.randrange(100)) for _ in range(7)]
    errors = additive(lambda xs: min((xs & 0b1011010).bit_count(), (xs & 0b0100101).bit_count()))
    memo = Memo()
    for pair in kcombs(2, gen_rules(places, kind)):
        sodt_with_memo(pair, 0b1111111, errors, memo)
    return _memo_row(f"{kind} rules of 7 points, sodt", 2, "hardly any", memo)


def _search(rules: str, rows: int, splits: int) -> dict[str, Any]:
    """The solver ``proper`` on points with random labels."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 2)).round(3)
    y = rng.random(rows) < 0.5
    problem = Problem.from_table(pd.DataFrame(x, columns=["a", "b"]).assign(y=y), "y", "continuous")
    extra = solve(problem, 0, "proper", Limits(splits=splits), rules=rules, memo=True).extra
    memo = Memo(lookups=extra["memo_lookups"], hits=extra["memo_hits"])
    return _memo_row(f"{rules} trees of {rows} points, proper", splits, "hardly any", memo)


def _memo_row(trees: str, splits: int, printed: str, memo: Memo) -> dict[str, Any]:
    return {"trees": trees, "splits": splits, "printed": printed, **_told(memo)}


def _told(memo: Memo) -> dict[str, Any]:
    return {"lookups": memo.lookups, "hits": memo.hits, "share": f"{100 * memo.rate:.1f} %"}
