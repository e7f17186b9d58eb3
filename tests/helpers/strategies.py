"""Hypothesis strategies: small problems, prices of a split, and limits.

Each is made once: hypothesis validates a strategy when it is drawn from for the first time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from solver import Limits, Problem
from tests import naive


@dataclass(frozen=True)
class Table:
    """A small table of codes as a user would give it: rows repeat, columns may be useless."""

    codes: tuple[tuple[int, ...], ...]
    target: tuple[int, ...]
    weights: tuple[int, ...]
    arities: tuple[int, ...]
    n_classes: int
    ordered: bool = False

    @property
    def counts(self) -> list[list[int]]:
        """Rows × classes, one row of the table a row."""
        pairs = zip(self.target, self.weights, strict=True)
        return [[w if k == y else 0 for k in range(self.n_classes)] for y, w in pairs]

    def problem(self) -> Problem:
        """The problem that solvers get."""
        return Problem.from_codes(
            # With no features the shape (rows, 0) must be told.
            self.codes if self.arities else [()] * len(self.target),
            self.target,
            weights=self.weights,
            arities=self.arities,
            classes=range(self.n_classes),
            ordered=self.ordered,
        )

    def optimum(self, lam: Fraction, limits: Limits | None = None) -> naive.Optimum:
        """The oracle's answer on the table as it stands, before any preparation."""
        limits = limits or Limits()
        return _optimum(self, lam, limits.depth, limits.splits, limits.min_leaf_size)


@lru_cache(maxsize=256)
def _optimum(table: Table, lam: Fraction, *limits: Any) -> naive.Optimum:
    """One for all variants of a solver that are held against it."""
    codes, arities = table.codes, table.arities
    if table.ordered:  # every cut is a feature of two codes
        cuts = [(f, c) for f, arity in enumerate(arities) for c in range(arity - 1)]
        codes = tuple(tuple(int(row[f] > c) for f, c in cuts) for row in codes)
        arities = (2,) * len(cuts)
    depth, splits, min_leaf_size = limits
    return naive.optimum(
        codes, table.counts, arities, lam, depth=depth, splits=splits, min_leaf_size=min_leaf_size
    )


@st.composite
def drawn_tables(
    draw: Any, *, max_rows: int, max_features: int, max_arity: int, max_classes: int
) -> Table:
    """Tables drawn value by value: mostly tiny and odd, and shrunk well."""
    n_classes = draw(st.integers(1, max_classes))
    arities = tuple(draw(st.lists(st.integers(1, max_arity), max_size=max_features)))
    n_rows = draw(st.integers(1, max_rows))
    codes = tuple(tuple(draw(st.integers(0, a - 1)) for a in arities) for _ in range(n_rows))
    target = tuple(draw(st.integers(0, n_classes - 1)) for _ in range(n_rows))
    weights = tuple(draw(st.integers(1, 5)) for _ in range(n_rows))
    return Table(codes, target, weights, arities, n_classes)


def random_table(
    seed: int, *, max_rows: int, max_features: int, max_arity: int, max_classes: int
) -> Table:
    """A table made from a seed: as large as it may be, with structure worth many splits."""
    rng = np.random.RandomState(seed)
    n_features = rng.randint(max(1, max_features - 2), max_features + 1)
    n_rows = rng.randint(max_rows // 2, max_rows + 1)
    n_classes = rng.randint(2, max_classes + 1)
    arities = rng.randint(2, max_arity + 1, n_features)
    codes = rng.randint(0, arities, (n_rows, n_features))
    # The label is an interaction of a few features, which greedy search cannot see, plus noise.
    used = rng.randint(0, n_features, rng.randint(1, 4))
    target = codes[:, used].sum(axis=1) % n_classes
    noisy = rng.rand(n_rows) < rng.choice([0.0, 0.1, 0.5])
    target[noisy] = rng.randint(0, n_classes, int(noisy.sum()))
    weights = rng.randint(1, rng.choice([2, 8]), n_rows)
    return Table(
        tuple(map(tuple, codes.tolist())),
        tuple(target.tolist()),
        tuple(weights.tolist()),
        tuple(arities.tolist()),
        int(n_classes),
    )


@cache
def tables(
    *, max_rows: int = 14, max_features: int = 4, max_arity: int = 4, max_classes: int = 4
) -> st.SearchStrategy[Table]:
    """Tables with contradictions, repeated rows, constant and duplicate columns, empty codes."""
    sizes = {
        "max_rows": max_rows,
        "max_features": max_features,
        "max_arity": max_arity,
        "max_classes": max_classes,
    }
    seeded = st.integers(0, 2**32 - 1).map(lambda seed: random_table(seed, **sizes))
    return st.one_of(drawn_tables(**sizes), seeded, seeded)


@cache
def binary_tables(*, max_rows: int = 18, max_features: int = 6) -> st.SearchStrategy[Table]:
    """Tables that every solver of binary features can do."""
    return tables(max_rows=max_rows, max_features=max_features, max_arity=2, max_classes=3)


@cache
def ordered_tables(*, max_rows: int = 10, max_features: int = 3) -> st.SearchStrategy[Table]:
    """Tables of small numbers."""
    drawn = tables(max_rows=max_rows, max_features=max_features, max_arity=4, max_classes=3)
    return drawn.map(lambda table: replace(table, ordered=True))


@lru_cache(maxsize=256)
def cost_scale(weight: int) -> st.SearchStrategy[Fraction]:
    """λ from free splits to splits that never pay, with the break-even points of whole errors."""
    low = Fraction(1, 4 * weight)
    return st.one_of(
        st.sampled_from([Fraction(0), Fraction(1), Fraction(3, 2), Fraction(1, 2)]),
        st.integers(1, 4).map(lambda k: Fraction(k, weight)),
        st.integers(1, 4).map(lambda k: Fraction(1, k * weight)),
        st.integers(1, 20).map(lambda k: k * low),
        st.integers(1, 100).map(lambda k: Fraction(k, 1000)),
    )


@cache
def structural_limits() -> st.SearchStrategy[Limits]:
    """Limits on the tree, one at a time and together."""
    return st.builds(
        Limits,
        depth=st.none() | st.integers(0, 3),
        splits=st.none() | st.integers(0, 4),
        min_leaf_size=st.none() | st.integers(0, 6),
    )
