"""The trees of a path as the page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.analysis.path_trees import Change, PathTree, find_change
from pipelines.report.data import formatting
from pipelines.report.data.metrics import (
    REGRESSION,
    r2,
    rmse,
    train_words,
)
from pipelines.report.save_figures import Figures
from solver.trees.export import export_text
from solver.trees.tree import Tree


def lam_label(tree: PathTree) -> str:
    """The λ at which a tree is best: ``λ = 0.1 to 0.02``, ``λ = 0.25 or more``."""
    lams = tree.lams
    if tree.start is not None:
        return f"λ = {formatting.interval(tree.start, tree.end)}"
    return f"λ = {lams[0]}" if len(lams) == 1 else f"λ = {lams[0]} to {lams[-1]}"


def _quality(tree: PathTree) -> str:
    """The quality of a tree: ``97.1 % right in training, 95.0 % held-out``."""
    q = tree.quality
    if q["task"] == REGRESSION:
        trained = f"R² {r2(q['train_r2'])}, RMSE {rmse(q['train_rmse'])} in training"
        tested = f"; R² {r2(q['test_r2'])}, RMSE {rmse(q['test_rmse'])} held-out"
        return trained + ("" if q["test_rmse"] is None else tested)
    tested = f", {formatting.percent(q['test_accuracy'])} held-out"
    return f"{train_words(q)} right in training{'' if q['test_accuracy'] is None else tested}"


def tree_size(tree: Tree) -> str:
    """``3 splits, 4 leaves, depth 2``."""
    splits, leaves = formatting.plural(tree.splits, "split"), formatting.plural(tree.leaves, "leaf")
    return f"{splits}, {leaves}, depth {tree.depth}"


def tree_card(
    tree: PathTree, path: LambdaPath, figures: Figures, drawn: bool = True, inline: bool = False
) -> dict[str, Any]:
    """The picture of a tree if it is to be drawn (``inline``: within the page), its rules and its
    figures."""
    lams, label = tree.lams, lam_label(tree)
    words = (path.dataset, path.encoding, path.solver, lams[-1])
    title = f"{path.dataset}, {path.encoding}, {path.solver}, {label}"
    picture = figures.tree(tree.tree, title, *words, inline=inline) if drawn else ""
    least, most = min(tree.runs), max(tree.runs)
    folds = ""
    if max(tree.of) > 1:
        folds = f"{least if least == most else f'{least} to {most}'} of {max(tree.of)} folds"
    on_grid = tree.start is None
    return {
        "label": label,
        "lams": lams,
        "size": tree_size(tree.tree),
        "folds": folds,
        "proven": tree.proven,
        "between": tree.proven and on_grid and len(lams) > 1 and max(tree.of) == 1,
        "quality": _quality(tree),
        "train": train_words(tree.quality),
        "picture": picture,
        "rules": export_text(tree.tree, merge=True),
    }


_MOST_CHANGES = 6
"""The largest number of changed splits that are named for each tree."""


def gallery(
    path: LambdaPath, trees: Sequence[PathTree], figures: Figures, drawn: bool = True
) -> list[dict[str, Any]]:
    """The trees from large λ to small, each with the changes from the one before."""
    cards = []
    for i, tree in enumerate(trees):
        card = tree_card(tree, path, figures, drawn)
        change = find_change(trees[i - 1].tree, tree.tree) if i else None
        cards.append(card | {"change": None if change is None else change_words(change)})
    return cards


def change_words(change: Change) -> dict[str, Any]:
    """A change as lines of sign, test and place, and in short."""
    lines = [
        {"sign": sign, "asks": split.asks, "place": split.place}
        for sign, splits in (("−", change.removed), ("+", change.added), ("↷", change.moved))
        for split in splits
    ]
    parts = [
        f"{len(splits)} {word}"
        for word, splits in (
            ("added", change.added), ("removed", change.removed), ("moved", change.moved),
        )
        if splits
    ]  # fmt: skip
    kept = f"{change.kept} kept"
    return {
        "lines": lines[:_MOST_CHANGES],
        "more": max(len(lines) - _MOST_CHANGES, 0),
        "short": ", ".join([*parts, kept]) if parts else "same splits, other predictions",
    }
