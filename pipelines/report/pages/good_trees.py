"""The section of all good trees of a dataset, an encoding and a solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from markupsafe import Markup

from pipelines.report.analysis.good_trees import GoodTrees, SetInFull, SetsAt, Summary
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.charts.good_trees import set_panels, size_chart
from pipelines.report.charts.svg_charts import (
    Panel,
    dash_attribute,
    legend_of,
    small_chart,
)
from pipelines.report.data import formatting
from pipelines.report.pages.tree_cards import tree_size
from pipelines.report.save_figures import Figures
from solver.features.number_format import at_most, nouns
from solver.trees.export import export_text

MOST_COLUMNS = 30
"""The largest number of columns in the page's table; the file has all."""

_MOST_NAMED, _MOST_COSTS = 8, 5


def good_tree_sections(name: str, report: ReportData, figures: Figures) -> list[dict[str, Any]]:
    """The sets of a dataset, an encoding and a solver each."""
    return [
        _section(own, figures, drawn=not report.is_large)
        for own in report.good_trees if own.dataset == name
    ]  # fmt: skip


def _section(own: GoodTrees, figures: Figures, drawn: bool) -> dict[str, Any]:
    words = ("good trees", own.dataset, own.encoding, own.solver)
    several = sum(bool(at.trees) for at in own.points) > 1
    label = f"{own.dataset}: good trees along λ, {own.encoding}, {own.solver}"
    return {
        "encoding": own.encoding,
        "solver": own.solver,
        "within": own.within,
        "limits": own.limits,
        "why": own.why,
        "points": [_point(at, own) for at in own.points],
        "folds": max(at.runs for at in own.points) > 1,
        "panels": _panels(set_panels(own), label, figures, words) if several else None,
        "full": None if own.full is None else _full(own, own.full, figures, words, drawn),
    }


def _panels(
    panels: Sequence[Panel], label: str, figures: Figures, words: Sequence[str]
) -> dict[str, Any]:
    """The panels, each with its own legend below it."""
    figures.small_chart(small_chart(panels, label), *words)
    return {
        "panels": [
            (Markup(small_chart([panel.unnamed()], f"{label}: {panel.title}")), [
                (name, colour, Markup(dash_attribute(dash)))
                for name, colour, dash in legend_of([panel])
            ])
            for panel in panels
        ],
    }  # fmt: skip


def tree_count(trees: int) -> str:
    """A number of trees: all digits up to a million million, then its size."""
    if trees < 10**12:
        return formatting.whole(trees)
    return f"{Decimal(trees):.3e}".replace("e+", " · 10^")  # it may be more than a float holds


def _point(at: SetsAt, own: GoodTrees) -> dict[str, Any]:
    counts = sorted(set(at.trees))
    known, every = at.summary, ""
    if known is not None:
        every = _names(_always(known))
    return {
        "lam": at.lam_text,
        "trees": " to ".join(map(tree_count, dict.fromkeys([*counts[:1], *counts[-1:]]))) or "–",
        "counted": formatting.share(len(at.trees), at.runs),
        "all": len(at.trees) == at.runs,
        "cut": at.within if at.cut else "",
        "summary": None if known is None else known._asdict(),
        "every": every,
        "picked": own.full is not None and own.full.at is at,
    }


def _always(known: Summary) -> list[str]:
    columns = known.columns
    return columns.loc[columns["trees"] == known.n_trees, "column"].astype(str).tolist()


def _never(known: Summary) -> list[str]:
    columns = known.columns
    return columns.loc[columns["trees"] == 0, "column"].astype(str).tolist()


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join([*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def _full(
    own: GoodTrees, full: SetInFull, figures: Figures, words: Sequence[str], drawn: bool
) -> dict[str, Any]:
    known = full.at.summary
    assert known is not None
    at = (*words, full.at.lam_text)
    label = f"{own.dataset}: good trees at λ = {full.at.lam_text} by errors and splits"
    columns = [_column(row, known) for row in known.columns.to_dict("records")]
    leaves = [one | {"share": one["disputed"] / one["rows"]} for one in full.leaves()]
    return {
        "lam": full.at.lam_text,
        "fold": None if full.fold is None else full.fold + 1,
        "trees": tree_count(known.n_trees),
        "one": known.n_trees == 1,
        "cut": "" if full.found.complete else full.at.within,
        "optimum": float(known.optimum),
        "most": known.most,
        "sentences": [*_sentences(known, full)],
        "columns": [one for one in columns if one["trees"]][:MOST_COLUMNS],
        "unused": sum(not one["trees"] for one in columns),
        "more_columns": max(sum(bool(one["trees"]) for one in columns) - MOST_COLUMNS, 0),
        "chart": figures.chart(size_chart(full), label, *at, "sizes") if drawn else None,
        "agreement": _agreement(full),
        "leaves": sorted(leaves, key=lambda one: -one["disputed"]),
        "disputed": int((full.rows["agree"] < 1).sum()),
        "gallery": [
            {
                "label": shown.why[:1].upper() + shown.why[1:],
                "proven": False,
                "size": tree_size(shown.tree),
                "quality": _quality(shown.above, shown.tree.errors, full, shown.differs),
                "folds": "", "change": None,
                "picture": figures.tree(
                    shown.tree, f"{own.dataset}: {shown.why}", *at, str(number)
                ) if drawn else "",
                "rules": export_text(shown.tree, merge=True),
            }
            for number, shown in enumerate(full.shown, start=1)
        ],
    }  # fmt: skip


def _hundredths(above: Fraction) -> str:
    return f"{float(100 * above):.2g}"


def _points(text: str) -> str:
    """A difference of objectives: ``0.4 points``, a point being a hundredth."""
    return f"{text} {nouns(1 if text == '1' else 2, 'point')}"


def _quality(above: Fraction, errors: Any, full: SetInFull, differs: float) -> str:
    right = formatting.percent(float(1 - Fraction(errors) / full.found.problem.total_weight))
    cost = f"costs {_points(_hundredths(above))} more" if above else "an optimal tree"
    other = f"; another class for {formatting.percent(differs)} of the rows" if differs else ""
    return f"{right} right in training; {cost}{other}"


def _without(row: Mapping[Any, Any], known: Summary) -> str:
    """What the best tree without a column costs."""
    if not isinstance(row["best_without_exact"], str):
        least = at_most(100 * (known.most - known.optimum), 2)
        return f"costs over {_points(least)} more, so no good tree lacks it"
    above = Fraction(row["best_without_exact"]) - known.optimum
    return f"costs {_points(_hundredths(above))} more" if above else "is as good"


def _column(row: Mapping[Any, Any], known: Summary) -> dict[str, Any]:
    return {
        "column": row["column"], "trees": tree_count(int(row["trees"])) if row["trees"] else "",
        "share": row["share"], "root_share": row["root_share"], "without": _without(row, known),
    }  # fmt: skip


def _sentences(known: Summary, full: SetInFull) -> list[str]:
    """What the set says, in sentences."""
    found, always, never = [], _always(known), _never(known)
    if always:
        found.append(f"Every good tree reads {_names(always)}.")
    elif known.n_trees > 1:
        found.append("No column is read by every good tree.")
    if never:
        found.append(
            f"{formatting.plural(len(never), 'column')} {'is' if len(never) == 1 else 'are'} in no "
            f"good tree: {_names(never)}."
        )
    read = [row for row in known.columns.to_dict("records") if row["column"] in full.best.columns]
    if read:
        costs = [f"without {row['column']} it {_without(row, known)}" for row in read[:_MOST_COSTS]]
        found.append(f"The best tree: {'; '.join(costs)}.")
    if known.n_trees > 1:
        found.append(
            f"For {formatting.percent(known.ambiguity)} of the rows some good tree predicts "
            f"another class than the best one (ambiguity); the one that differs most does so for "
            f"{formatting.percent(known.discrepancy)} (discrepancy)."
            if known.ambiguity else "All good trees predict the same for every row."
        )  # fmt: skip
    return found


def _agreement(full: SetInFull) -> list[tuple[str, int, float]]:
    """How many rows have which share of good trees on the side of the best one."""
    agree, lines = full.rows["agree"], []
    bands = (
        ("all good trees agree", agree == 1),
        ("over 90 % agree with the best one", (agree < 1) & (agree > 0.9)),
        ("over 50 to 90 % do", (agree <= 0.9) & (agree > 0.5)),
        ("at most 50 % do", agree <= 0.5),
    )
    for words, chosen in bands:
        lines.append((words, int(chosen.sum()), float(chosen.mean())))
    return lines
