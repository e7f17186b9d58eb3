"""The report's charts. Runs at single λ are drawn as what they are: points of a grid."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pipelines.report.analysis.paths import Path
from pipelines.report.charts.axes import LambdaAxis, new_figure, plain_decades
from pipelines.report.charts.exact_path import draw_objective, draw_stairs, lambda_axis, spans
from pipelines.report.charts.palette import (
    CHOSEN,
    FAINT,
    TEST,
    Dash,
    encoding_dashes,
    encoding_marks,
)
from pipelines.report.data import metrics
from pipelines.report.data.columns import Floats

_MANY = 40
"""From so many λ on, marks are small and spreads are bands."""

_STEPS = 2000
"""So many steps of a profile are drawn."""

_TALL = 8
"""A legend of more lines hides what it explains."""

_PERCENT = FuncFormatter(lambda value, _: f"{100 * value:.4g} %")


def path_chart(path: Path, colour: str) -> Figure:
    """The λ-path of a solver: objective and bound, accuracies, size of the tree, seconds."""
    table = path.table[path.table["runs"] > 0]
    axis = LambdaAxis(table["lam"].tolist())
    figure = new_figure(10, 5.6)
    panels = figure.subplots(2, 2, sharex=True)
    draw = (_objective, _accuracy, _size, _seconds)
    for axes, panel in zip(panels.flat, draw, strict=True):
        panel(axes, table, axis, colour)
        _mark_choice(axes, path, axis)
        if axes.get_legend_handles_labels()[0]:
            # A legend that says one thing is in the title.
            axes.legend(loc="best", handlelength=1.6, labelspacing=0.25)
    for axes in panels.flat:
        axis.prepare(axes)
    for axes in panels[0]:
        axes.set_xlabel("")
    _name_choice(panels[0, 0], path, axis)
    _name_choice(panels[0, 1], path, axis)
    return figure


def _series(
    axes: Axes,
    table: pd.DataFrame,
    axis: LambdaAxis,
    column: str,
    colour: str,
    label: str | None = None,
    *,
    mark: str = "o",
    dash: Dash = "solid",
    spread: str | None = None,
    hollow: pd.Series[bool] | None = None,
) -> None:
    """Points of a grid, joined by a faint line to lead the eye."""
    shown = table[table[column].notna()]
    if shown.empty:
        return
    x, y = axis.place(shown["lam"].tolist()), shown[column].to_numpy(float)
    many = len(shown) > _MANY
    marks = 2.2 if many else 5
    axes.plot(x, y, color=colour, linewidth=1.0, alpha=0.45, linestyle=dash)
    fill = np.ones(len(shown), bool) if hollow is None else ~hollow[shown.index].to_numpy(bool)
    for part, face in ((fill, colour), (~fill, "white")):
        if part.any():
            axes.plot(x[part], y[part], mark, color=colour, markerfacecolor=face, markersize=marks)
    if label:
        axes.plot([], [], mark, linestyle=dash, color=colour, markersize=4, label=label)
    if spread is not None and shown[spread].notna().any():
        reach = shown[spread].fillna(0).to_numpy(float)
        if many:
            axes.fill_between(x, y - reach, y + reach, color=colour, alpha=0.15, linewidth=0)
        else:
            axes.errorbar(x, y, reach, fmt="none", ecolor=colour, alpha=0.45, elinewidth=1.2)


def _objective(axes: Axes, table: pd.DataFrame, axis: LambdaAxis, colour: str) -> None:
    bound = table[table["lower_bound"].notna()]
    axes.set_title(f"Objective{' and lower bound' if len(bound) else ''} (training)")
    if len(bound):
        x = axis.place(bound["lam"].tolist())
        low, high = bound["lower_bound"].to_numpy(float), bound["objective"].to_numpy(float)
        axes.vlines(x, low, high, color=FAINT, linewidth=1)
        axes.plot(x, low, "_", color=FAINT, markersize=8, label="proven lower bound")
    unproven = table["optimal"] < table["runs"]
    label = None if unproven.all() else "objective"
    _series(axes, table, axis, "objective", colour, label, hollow=unproven)
    if unproven.any():
        axes.plot(
            [], [], "o", color=colour, markerfacecolor="white", label="not all proven optimal"
        )


def _accuracy(axes: Axes, table: pd.DataFrame, axis: LambdaAxis, colour: str) -> None:
    columns = metrics.shown(table)
    spread = table["test_spread"].notna().any()
    axes.set_title(columns.title + (" (mean ± standard deviation over folds)" if spread else ""))
    _series(axes, table, axis, columns.train, colour, "train", spread="train_spread")
    if table[columns.test].notna().any():
        _series(axes, table, axis, columns.test, TEST, "test", mark="s", spread="test_spread")
    if columns.percent:
        axes.yaxis.set_major_formatter(_PERCENT)


def _size(axes: Axes, table: pd.DataFrame, axis: LambdaAxis, colour: str) -> None:
    mean = " (mean over folds)" if table["runs"].max() > 1 else ""
    axes.set_title(f"Size of the tree{mean}")
    _series(axes, table, axis, "splits", colour, "splits")
    _series(axes, table, axis, "depth", FAINT, "depth", mark="^")
    axes.set_ylim(0, 1.08 * max(float(table["splits"].max()), 1.0))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _seconds(axes: Axes, table: pd.DataFrame, axis: LambdaAxis, colour: str) -> None:
    mean = ", mean over folds" if table["runs"].max() > 1 else ""
    axes.set_title(f"Search time (seconds{mean})")
    _series(axes, table, axis, "seconds", colour)
    values = table["seconds"][table["seconds"] > 0]
    if len(values) and values.max() / values.min() > 8:
        axes.set_yscale("log")
        plain_decades(axes.yaxis)
    elif len(values):
        axes.set_ylim(0, 1.08 * float(values.max()))


def _choices(path: Path) -> list[tuple[str, str, Dash]]:
    """Name, key and kind of line of the λ that validation picks."""
    if path.minimum is not None and path.minimum == path.one_se:
        return [("best mean = one-SE rule", path.minimum, "solid")]
    pairs: list[tuple[str, str | None, Dash]] = [
        ("best mean", path.minimum, (0, (4, 2))),
        ("one-SE rule", path.one_se, "solid"),
    ]
    return [(name, key, dash) for name, key, dash in pairs if key is not None]


def _mark_choice(axes: Axes, path: Path, axis: LambdaAxis) -> None:
    for _, key, dash in _choices(path):
        x = axis.place([path.point(key)["lam"]])[0]
        axes.axvline(x, color=CHOSEN, linewidth=1.2, linestyle=dash, zorder=1)


def _name_choice(axes: Axes, path: Path, axis: LambdaAxis) -> None:
    low, high = axes.get_xlim()
    for row, (name, key, _) in enumerate(_choices(path)):
        x = axis.place([path.point(key)["lam"]])[0]
        left = (x - low) / (high - low) < 0.6
        axes.annotate(
            f"{name}: λ = {path.point(key)['lam_text']}",
            (x, 0.04 + 0.09 * row),
            xycoords=("data", "axes fraction"),
            xytext=(7 if left else -7, 0),
            textcoords="offset points",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85},
            ha="left" if left else "right",
            fontsize=8.5,
            color=CHOSEN,
        )


def dataset_chart(paths: list[Path], colours: dict[str, str], encodings: tuple[str, ...]) -> Figure:
    """All encodings and solvers of a dataset: objective and test (or train) accuracy against λ."""
    tables = [path.table[path.table["runs"] > 0] for path in paths]
    exact = any(path.stairs for path in paths)
    axis = lambda_axis(paths) if exact else LambdaAxis([lam for t in tables for lam in t["lam"]])
    columns = metrics.shown(tables[0])
    tested = any(table[columns.test].notna().any() for table in tables)
    figure = new_figure(10, 3.6)
    left, right = figure.subplots(1, 2)
    marks, dashes = encoding_marks(encodings), encoding_dashes(encodings)
    for path, table in zip(paths, tables, strict=True):
        mark, dash = marks[path.encoding], dashes[path.encoding]
        colour, name = colours[path.solver], f"{path.encoding}, {path.solver}"
        column = columns.test if tested else columns.train
        if path.stairs:
            drawn = spans(path, axis.high)
            values = [float(getattr(span.row, column)) for span in drawn]
            draw_objective(left, drawn, axis, colour, dash=dash, label=name)
            draw_stairs(right, drawn, axis, values, colour, dash=dash)
            continue
        unproven = table["optimal"] < table["runs"]
        _series(left, table, axis, "objective", colour, name, mark=mark, dash=dash, hollow=unproven)
        _series(right, table, axis, column, colour, mark=mark, dash=dash)
    left.set_title("Objective (training); hollow: not all proven")
    name = columns.name
    right.set_title(f"Test {name} (mean over folds)" if tested else f"Training {name}")
    if columns.percent:
        right.yaxis.set_major_formatter(_PERCENT)
    for axes in (left, right):
        axis.prepare(axes)
        if exact:
            axes.set_xlim(right=axis.place([axis.high])[0])
    if len(paths) > 1:
        figure.legend(loc="outside lower center", ncols=min(len(paths), 3), handlelength=2.4)
    return figure


def profile_chart(
    times: pd.DataFrame,
    excess: pd.DataFrame,
    colours: dict[str, str],
    encodings: tuple[str, ...],
) -> Figure:
    """Two profiles: how many runs are proven after how long, and how far trees are from the best.

    Parameters
    ----------
    times : DataFrame
        From :func:`pipelines.report.analysis.comparison.proof_times`.
    excess : DataFrame
        From :func:`pipelines.report.analysis.comparison.add_excess`.
    """
    figure = new_figure(10, 3.6)
    left, right = figure.subplots(1, 2)
    dashes = encoding_dashes(encodings)
    apart = times.groupby(["encoding", "solver"]).ngroups <= 8
    by = ["encoding", "solver"] if apart else ["solver"]
    last = times["seconds"].max()
    for cell, group in times.groupby(by, sort=False):
        names = [str(name) for name in cell]
        dash = dashes[names[0]] if apart else "solid"
        done = np.sort(group["seconds"].dropna().to_numpy(float))
        steps = np.arange(1, len(done) + 1) / len(group)
        x = np.concatenate([done, [last]]) if len(done) else np.array([last])
        y = np.concatenate([steps, steps[-1:]]) if len(done) else np.array([0.0])
        x, y = _fewer(x, y)
        left.step(
            np.maximum(x, 1e-6), y, where="post", color=colours[names[-1]], linestyle=dash,
            label=", ".join(names),
        )  # fmt: skip
    left.set_title("Share of runs proven optimal within a time")
    left.set_xlabel("seconds of search (log scale)")
    if times["seconds"].notna().any():
        left.set_xscale("log")
        plain_decades(left.xaxis)
    left.set_ylim(0, 1.03)
    left.yaxis.set_major_formatter(_PERCENT)
    _excess(right, excess, colours)
    _add_legends(figure, left, right)
    return figure


def _fewer(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Of the steps of a rising line evenly many: it is off by at most 1 / :data:`_STEPS`."""
    if len(x) <= _STEPS:
        return x, y
    kept = np.unique(np.linspace(0, len(x) - 1, _STEPS).astype(int))
    return x[kept], y[kept]


def _add_legends(figure: Figure, left: Axes, right: Axes) -> None:
    """In the charts while they are short, else one below them."""
    handles = max(
        (axes.get_legend_handles_labels() for axes in (left, right)), key=lambda h: len(h[0])
    )
    if len(handles[0]) > _TALL:
        figure.legend(*handles, loc="outside lower center", ncols=3, handlelength=2.4)
        return
    for axes in (left, right):
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="lower right", handlelength=2.4)


def _excess(axes: Axes, excess: pd.DataFrame, colours: dict[str, str]) -> None:
    axes.set_title("Share of runs this close to the best objective")
    axes.set_xlabel("objective above the best known one")
    compared = excess[excess["solvers"] > 1]
    last = float(compared["share"].max()) if len(compared) else 0.0
    for solver, group in compared.groupby("solver_label", sort=False):
        values = np.sort(group["share"].to_numpy(float))
        y = np.arange(1, len(values) + 1) / len(values)
        x, y = np.append(values, max(last, 1e-9) * 1.02), np.append(y, 1.0)
        # A line may start on the axis: what is exactly as good as the best.
        x, y = np.insert(x, 0, 0.0), np.insert(y, 0, 0.0)
        x, y = _fewer(x, y)
        axes.step(x, y, where="post", color=colours[str(solver)], label=str(solver), clip_on=False)
    if len(compared):
        axes.set_xlim(left=0)
    else:
        axes.text(0.5, 0.5, "no two solvers on the same problem", ha="center", va="center",
                  color=FAINT, transform=axes.transAxes)  # fmt: skip
    axes.set_ylim(0, 1.03)
    axes.yaxis.set_major_formatter(_PERCENT)
