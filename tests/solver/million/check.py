"""Compares what a solver answers with the oracle: status, objective, bound, tree and limits.

Trees are scored anew from the rows of the table, by code of its own.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from solver import Path, Solution, Tree
from tests.solver.million.random_problems import TARGET_UNIT, Question, Table


class Wrong(AssertionError):
    """An answer that the oracle contradicts."""


def expect(holds: bool, what: str, *figures: object) -> None:
    """Raise Wrong, with the figures, if something does not hold."""
    if not holds:
        raise Wrong(": ".join([what, ", ".join(map(str, figures))]))


class Score(NamedTuple):
    """What a tree is and does on a table; ``smallest`` is the least weight of a leaf with rows."""

    errors: int | Fraction
    splits: int
    depth: int
    smallest: int


def score(tree: Tree, table: Table) -> Score:
    """Walk the rows of a table through a tree, and count."""
    errors: int | Fraction = 0
    splits, deepest, smallest = 0, 0, sum(table.row_weights)
    pending = [(0, table.rows, 0)]
    while pending:
        at, rows, depth = pending.pop()
        node = tree.nodes[at]
        if node.feature is None:
            deepest = max(deepest, depth)
            errors += _missed(node, rows, table)
            if rows:
                smallest = min(smallest, sum(table.row_weights[row] for row in rows))
            continue
        splits += 1
        parts: list[list[int]] = [[] for _ in node.children]
        for row, branch in zip(rows, _branches(tree.tests[node.feature], rows, table), strict=True):
            parts[branch].append(row)
        pending += [(c, part, depth + 1) for c, part in zip(node.children, parts, strict=True)]
    return Score(errors, splits, deepest, smallest)


def _missed(node: Any, rows: list[int], table: Table) -> int | Fraction:
    """The errors of the rows of a leaf, in units of the weights; in regression squared."""
    if table.shape != "targets":
        weights, target, label = table.row_weights, table.target, node.prediction
        return sum(weights[row] for row in rows if target[row] != label)
    total = Fraction(0)
    for output, value in enumerate(map(Fraction, node.value)):
        for row in rows:
            off = TARGET_UNIT * table.target[row][output] - value
            total += table.row_weights[row] * off * off
    return total


def _branches(test: Any, rows: list[int], table: Table) -> list[int]:
    """The branch of each row at a test; a column's name is ``x`` and its number."""
    if test.kind == "category":
        column = table.columns[int(test.column[1:])]
        places = {value: place for place, group in enumerate(test.groups) for value in group}
        return [places[column[row]] for row in rows]
    if test.kind == "threshold":
        column = table.columns[int(test.column[1:])]
        return [int(column[row] > test.threshold) for row in rows]
    columns, found = [table.columns[int(name[1:])] for name in test.columns], []
    for row in rows:
        total = 0.0
        for weight, powers in zip(test.weights, test.powers, strict=True):
            for column, power in zip(columns, powers, strict=True):
                for _ in range(power):
                    weight *= column[row]
            total += weight
        found.append(int(total > test.threshold))
    return found


def check_tree(question: Question, tree: Tree) -> Score:
    """The limits hold; returns what the tree does."""
    found = score(tree, question.table)
    for what, value, most in (
        ("depth", found.depth, question.depth),
        ("splits", found.splits, question.splits),
    ):
        expect(most is None or value <= most, f"{what} beyond the limit", value, most)
    if found.splits:
        least = question.min_leaf or 0
        expect(found.smallest >= least, "a leaf is too small", found.smallest, least)
    return found


def check_objective(question: Question, tree: Tree, objective: Fraction, lam: Fraction) -> Score:
    """A claimed objective is that of the tree."""
    found = check_tree(question, tree)
    own = Fraction(found.errors, question.oracle.total) + lam * found.splits
    expect(own == objective, "the tree has another objective", own, objective)
    return found


def check_anytime(question: Question, found: Any) -> Score:
    """What holds for every solution and snapshot: bound ≤ optimum ≤ objective, of its tree."""
    scored = check_objective(question, found.tree, found.objective, question.lam)
    if question.table.shape == "targets":
        least, slack = _least_squares(question)
        bound, reached = float(found.lower_bound), float(found.objective)
        expect(bound <= least + slack, "the bound is above the optimum", bound, least)
        expect(least <= reached + slack, "better than the optimum", reached, least)
        return scored
    least_, reached_ = question.best[0], found.objective
    expect(found.lower_bound <= least_, "the bound is above the optimum", found.lower_bound, least_)
    expect(least_ <= reached_, "better than the optimum", reached_, least_)
    return scored


def _least_squares(question: Question) -> tuple[float, float]:
    """The optimum of regression, and how much floats may have changed it."""
    unit = float(TARGET_UNIT) ** 2
    least = question.oracle.least_squares(float(question.lam) / unit, question.splits)[0]
    return least * unit, 1e-12 * unit * question.oracle.errors[0] / question.oracle.total


def check_status(question: Question, found: Solution) -> None:
    """Proven exactly if the bound is the objective."""
    assert found.lower_bound is not None
    closed = found.objective - found.lower_bound <= found.tolerance
    expect((found.status == "optimal") == closed, "status", found.status, found.gap)


def check_optimal(question: Question, found: Solution) -> None:
    """A solution without a limit on the search: the optimum, proven, of fewest splits."""
    scored = check_anytime(question, found)
    check_status(question, found)
    expect(found.status == "optimal", "not proven", found.status, found.lower_bound)
    loss = found.loss == Fraction(scored.errors, question.oracle.total)
    expect(loss and found.splits == scored.splits, "errors or splits", found.errors, found.splits)
    if question.table.shape == "targets":
        least, slack = _least_squares(question)
        off = float(found.objective) - least
        expect(off <= float(found.tolerance) + slack, "beyond the tolerance", off, found.tolerance)
        return
    least_, splits = question.best
    expect(found.tolerance == 0, "a tolerance", found.tolerance)
    expect(found.objective == least_, "not the optimum", found.objective, least_)
    if question.lam > 0:
        expect(found.splits == splits, "not the fewest splits", found.splits, splits)


def check_path(question: Question, path: Path) -> None:
    """A λ-path from the question's λ: every breakpoint, and every tree."""
    expect(path.status == "optimal", "not proven", path.status, path.cut_by)
    found = [
        (step.start, Fraction(step.errors) / path.total_weight, step.splits) for step in path.steps
    ]
    total = question.oracle.total
    true = [
        (lam, Fraction(errors, total), splits)
        for lam, errors, splits in question.oracle.path(question.lam, question.splits)
    ]
    expect(found == true, "another path", found, true)
    for step in path.steps:
        expect(step.proven, "a step that is not proven", step.start)
        objective = Fraction(step.errors) / path.total_weight + step.start * step.splits
        check_objective(question, step.tree, objective, step.start)


def check_limited_path(question: Question, path: Path) -> None:
    """A λ-path that limits may have ended: bounds and trees at every breakpoint, and between."""
    starts = [lam for lam, _, _ in question.oracle.path(question.lam, question.splits)]
    starts = sorted({*starts, *path.lams})
    between = [(a + b) / 2 for a, b in zip(starts, [*starts[1:], starts[-1] + 1], strict=True)]
    for lam in [*starts, *between]:
        best = question.oracle.optimum(lam, question.splits)[0]
        bound, reached = path.lower_bound_at(lam), path.objective_at(lam)
        assert bound is not None
        expect(bound <= best, f"the bound at {lam} is above the optimum", bound, best)
        expect(best <= reached, f"better than the optimum at {lam}", reached, best)
        step = path.step_at(lam)
        expect(not step.proven or best == reached, f"a step at {lam} is not optimal", reached, best)
    for step in path.steps:
        objective = Fraction(step.errors) / path.total_weight + step.start * step.splits
        check_objective(question, step.tree, objective, step.start)
