"""A tree of a path as the page shows it."""

from __future__ import annotations

from typing import Any

from pipelines.report.analysis.path_trees import PathTree
from pipelines.report.analysis.paths import Path
from pipelines.report.charts.figures import Album
from pipelines.report.data import formats
from pipelines.report.data.metrics import REGRESSION, r2, rmse, train_words
from solver.trees.export import export_text


def lam_label(tree: PathTree) -> str:
    """Where a tree is best: ``λ = 0.1 to 0.02``, ``λ = 0.25 or more``."""
    lams = tree.lams
    if tree.start is not None:
        return f"λ = {formats.interval(tree.start, tree.end)}"
    return f"λ = {lams[0]}" if len(lams) == 1 else f"λ = {lams[0]} to {lams[-1]}"


def _quality(tree: PathTree) -> str:
    """What the tree is worth: ``97.1 % right in training, 95.0 % held-out``."""
    q = tree.quality
    if q["task"] == REGRESSION:
        tested = "" if q["test_rmse"] is None else f"; R² {r2(q['test_r2'])}, "
        tested += "" if q["test_rmse"] is None else f"RMSE {rmse(q['test_rmse'])} held-out"
        return f"R² {r2(q['train_r2'])}, RMSE {rmse(q['train_rmse'])} in training{tested}"
    tested = "" if q["test_accuracy"] is None else f", {formats.percent(q['test_accuracy'])}"
    return f"{train_words(q)} right in training{tested}{' held-out' if tested else ''}"


def tree_card(tree: PathTree, path: Path, album: Album, drawn: bool = True) -> dict[str, Any]:
    """The picture of a tree if it is to be drawn, its rules, and what is known of it."""
    size = (
        f"{formats.plural(tree.tree.splits, 'split')}, "
        f"{formats.plural(tree.tree.leaves, 'leaf')}, "
        f"depth {tree.tree.depth}"
    )
    lams, label = tree.lams, lam_label(tree)
    words = (path.dataset, path.encoding, path.solver, lams[-1])
    title = f"{path.dataset}, {path.encoding}, {path.solver}, {label}"
    picture = album.tree(tree.tree, title, *words) if drawn else ""
    least, most = min(tree.runs), max(tree.runs)
    folds = ""
    if max(tree.of) > 1:
        folds = f"{least if least == most else f'{least} to {most}'} of {max(tree.of)} folds"
    on_grid = tree.start is None
    return {
        "label": label,
        "lams": lams,
        "size": size,
        "folds": folds,
        "proven": tree.proven,
        "between": tree.proven and on_grid and len(lams) > 1 and max(tree.of) == 1,
        "quality": _quality(tree),
        "train": train_words(tree.quality),
        "picture": picture,
        "rules": export_text(tree.tree, merge=True),
    }
