"""Whether what a front says is so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.contract.oracle import Oracle, key_of
from tests.contract.random_tables import Table

WORST_TOLERANCE = Fraction(1, 10**6)
"""A larger tolerance must be refused."""


@dataclass(frozen=True)
class Claim:
    """What a front says of a λ: a tree, what it costs, and what is proven.

    Parameters
    ----------
    status : str
    objective : Fraction
    lower_bound : Fraction or None
    tolerance : Fraction
    tree : dict
        Its plain form.
    predictions : sequence
        Of all rows of the table.
    ends : sequence of int
        The node at which each row ends.
    """

    lam: Fraction
    status: str
    objective: Fraction
    lower_bound: Fraction | None
    tolerance: Fraction
    tree: dict[str, Any]
    predictions: Sequence[Any]
    ends: Sequence[int]


def shape(tree: dict[str, Any]) -> tuple[int, int]:
    """Number of splits and depth of a tree."""
    nodes = tree["nodes"]
    depths = [0] * len(nodes)
    for position, node in enumerate(nodes):
        for child in node.get("children", ()):
            depths[child] = depths[position] + 1
    return sum("children" in node for node in nodes), max(depths)


def false_claims(
    claim: Claim,
    table: Table,
    oracle: Oracle,
    limits: dict[str, Any],
    *,
    complete: bool,
    wider: bool,
) -> list[str]:
    """All that is not so, one line each.

    Parameters
    ----------
    complete : bool
        Whether the solver may choose every tree that the oracle knows; without it the oracle's
        optimum is a lower bound only.
    wider : bool
        Whether the solver may choose trees that the oracle does not know.
    """
    found = []
    splits, depth = shape(claim.tree)
    objective = _loss(claim, table) / oracle.total + claim.lam * splits
    best = oracle.optimum(claim.lam, limits.get("splits"))
    within = claim.tolerance
    if not 0 <= within <= WORST_TOLERANCE * max(1, oracle.errors[0] / oracle.total):
        found.append(f"the tolerance {float(within):.3g} is more than is allowed")
    if abs(claim.objective - objective) > within:
        found.append(
            f"says objective {float(claim.objective):.9g}; its tree costs {float(objective):.9g}"
        )
    if not wider and objective < best - within:
        found.append(f"its tree costs {float(objective):.9g}, below the optimum {float(best):.9g}")
    if complete and claim.status == "optimal" and objective > best + within:
        found.append(f"optimal at {float(objective):.9g}; {float(best):.9g} exists")
    if complete and claim.lower_bound is not None and claim.lower_bound > best + within:
        found.append(f"lower bound {float(claim.lower_bound):.9g}; {float(best):.9g} exists")
    if claim.status == "optimal" and (
        claim.lower_bound is None or abs(claim.objective - claim.lower_bound) > within
    ):
        found.append(f"optimal with objective {claim.objective} and bound {claim.lower_bound}")
    return found + _beyond(claim, table, limits, splits, depth)


def _loss(claim: Claim, table: Table) -> Fraction:
    """What the predictions cost, in the user's weights."""
    total = Fraction(0)
    for guess, truth, weight in zip(
        claim.predictions, table.target, table.exact_weights, strict=True
    ):
        if table.regression:
            total += weight * (Fraction(float(guess)) - Fraction(truth)) ** 2
        elif key_of(plain(guess)) != key_of(truth):
            total += weight
    return total


def _beyond(
    claim: Claim, table: Table, limits: dict[str, Any], splits: int, depth: int
) -> list[str]:
    found = []
    if depth > limits.get("depth", depth):
        found.append(f"its depth is {depth}, the limit {limits['depth']}")
    if splits > limits.get("splits", splits):
        found.append(f"it has {splits} splits, the limit is {limits['splits']}")
    sizes: dict[int, Fraction] = {}
    for end, weight in zip(claim.ends, table.exact_weights, strict=True):
        if weight:
            sizes[end] = sizes.get(end, Fraction(0)) + weight
    if inner := [end for end in sizes if "children" in claim.tree["nodes"][end]]:
        found.append(f"a training row ends at the split {inner[0]}")
    least = Fraction(str(limits.get("min_leaf_size", 0)))
    if splits and min(sizes.values()) < least:
        found.append(f"a leaf weighs {float(min(sizes.values())):.9g}, the least is {least}")
    return found


def plain(value: Any) -> Any:
    """A label as Python's own."""
    return value.item() if hasattr(value, "item") else value
