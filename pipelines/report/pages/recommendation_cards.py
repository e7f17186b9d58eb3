"""The answer to a dataset as data for its template: verdict, final tree, confusion, leaves."""

from __future__ import annotations

import json
import shlex
from typing import Any

from pipelines.report.analysis.final_trees import (
    KNOWN,
    FinalTree,
    FinalTrees,
    Leaf,
    leaves_of,
    read_known,
)
from pipelines.report.analysis.model_card import Confusion, DatasetSummary, summarize_dataset
from pipelines.report.analysis.path_trees import PathTree
from pipelines.report.analysis.recommendations import Recommendation
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.data import formatting
from pipelines.report.pages.tree_cards import tree_card, tree_size
from pipelines.report.save_figures import Figures
from solver.trees.export import export_text

_MOST_LEAVES, _MOST_CLASSES, _MOST_COLUMNS = 40, 20, 20
"""The largest numbers of leaves, classes and columns in the page's tables."""


def make_cards(report: ReportData, figures: Figures) -> dict[str, dict[str, Any]]:
    """The card of each dataset's recommendation, but for its pictures, see :func:`draw_card`."""
    growing = FinalTrees(read_known(figures.folder.root))
    found = (summarize_dataset(own, report, growing) for own in report.recommendations)
    cards = {answer.own.dataset: _card(answer) for answer in found}
    figures.folder.write(KNOWN, json.dumps(growing.used))
    return cards


def _card(answer: DatasetSummary) -> dict[str, Any]:
    own, final, verdict = answer.own, answer.final, answer.verdict
    path, point = own.path, own.point
    shown: dict[str, Any] = {
        "dataset": own.dataset,
        "sentence": verdict.sentence,
        "headline": own.headline,
        "reasons": own.reasons,
        "warnings": own.warnings,
        "encoding": None if path is None else path.encoding,
        "solver": None if path is None else path.solver,
        "point": None if point is None else point.to_dict(),
        "baseline": verdict.baseline,
        "confusion": _confusion(verdict.confusion),
        "uses": verdict.uses[:_MOST_COLUMNS] if verdict.folds > 1 else (),
        "folds": verdict.folds,
        "final": None,
        "tree": None,
        "why": "",
        "commands": [],
        "command_gives": answer.command_gives,
        "leaves": None,
        # The trees to choose from, if no λ is recommended.
        "menu": [],
    }
    if point is None or path is None or own.key is None:
        return shown
    if isinstance(final, str):
        shown["why"] = final
        return shown
    shown["final"] = final
    shown["commands"] = [] if answer.command is None else [answer.command]
    shown["leaves"] = _leaf_table(final)
    return shown


def draw_card(card: dict[str, Any], own: Recommendation, figures: Figures) -> dict[str, Any]:
    """A card with its pictures for the current page; writes the final tree's file."""
    path, final = own.path, card["final"]
    if path is None:
        return card
    drawn = dict(card)
    if own.point is None or own.menu:
        drawn["menu"] = [tree_card(tree, path, figures, False) for tree in path.trees]
    if final is not None:
        tree, title = final.tree, f"{own.dataset}: the final tree"
        name = figures.folder.name_for("final", own.dataset)
        figures.folder.write(f"final-trees/{name}.json", tree.to_json())
        drawn["final"] = {
            "picture": figures.tree(tree, title, own.dataset, "final", inline=True),
            "rules": export_text(tree, merge=True),
            "size": tree_size(tree),
            "file": f"final-trees/{name}.json",
            "about": _about(final, tree.nodes[0].counts),
        }
        predict = ["treesweep", "predict", f"final-trees/{name}.json", "NEW.csv"]
        drawn["commands"] = [*card["commands"], shlex.join(predict)]
    elif own.tree is not None and own.point is not None:
        drawn["tree"] = tree_card(own.tree, path, figures, inline=True)
        drawn["tree_words"] = _agreement(own.tree)
    return drawn


def _about(final: FinalTree, counts: tuple[int, ...]) -> str:
    """Where a final tree comes from."""
    rows = formatting.plural(sum(counts), "row")
    if final.limit is None:
        return f"Grown on all {rows}, by a run of the sweep."
    return (
        f"Grown on all {rows} for this report, at λ = {final.lam}, in "
        f"{formatting.seconds(final.seconds)} (limit {final.limit:.3g} s)."
    )


def _agreement(tree: PathTree) -> str:
    if tree.fold is None:
        return "Trained on the whole table."
    runs, of = tree.runs[0], tree.of[0]
    if of == 1:
        return "Trained without the held-out rows."
    if runs == of:
        return f"All {of} folds grow this tree; the counts are those of fold {tree.fold + 1}."
    if runs == 1:
        return f"The {of} folds grow {of} different trees; this is that of fold {tree.fold + 1}."
    return f"{runs} of {of} folds grow this tree; the counts are those of fold {tree.fold + 1}."


def _confusion(found: Confusion | None) -> dict[str, Any] | None:
    if found is None or len(found.classes) > _MOST_CLASSES:
        return None
    lines = zip(found.classes, found.counts.tolist(), found.recalls, strict=True)
    return {
        "classes": found.classes,
        "lines": [{"label": label, "counts": counts, "recall": r} for label, counts, r in lines],
        "held_out": found.held_out,
        "repeats": found.repeats,
    }


def _leaf_table(final: FinalTree) -> dict[str, Any] | None:
    """The leaves with their class mix; None of regression and of very many classes."""
    tree = final.tree
    if tree.outputs or len(tree.classes) > _MOST_CLASSES:
        return None
    leaves = list(leaves_of(tree))
    return {
        "classes": [str(label) for label in tree.classes],
        "lines": [_leaf_line(leaf) for leaf in leaves[:_MOST_LEAVES]],
        "more": max(len(leaves) - _MOST_LEAVES, 0),
    }


def _leaf_line(leaf: Leaf) -> dict[str, Any]:
    total = sum(leaf.counts)
    shares = [100 * count / total for count in leaf.counts]
    return {
        "conditions": leaf.conditions,
        "label": leaf.label,
        "counts": leaf.counts,
        "total": total,
        "shares": shares,
    }
