"""The section of an exact λ-path: its breakpoints, its trees and what validation picks."""

from __future__ import annotations

import math
from typing import Any

from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.analysis.recommendations import splits_words
from pipelines.report.data import formatting
from pipelines.report.data.metrics import (
    REGRESSION,
    is_regression,
    r2,
    rmse,
    spread_words,
    test_words,
)
from pipelines.report.pages.tree_cards import gallery
from pipelines.report.save_figures import Figures


def exact_section(path: LambdaPath, figures: Figures, most: int, drawn: bool) -> dict[str, Any]:
    """The parts of an exact path's section, from large λ to small, with at most ``most`` trees."""
    return {
        "summary": _summary(path),
        "certificates": _certificates(path),
        "validation": _validation(path),
        # In regression breakpoints are fractions of a hundred digits: only files have them.
        "shows_fractions": not is_regression(path.table),
        "steps": [_step(row) for row in path.table.to_dict("records")],
        "gallery": gallery(path, path.trees[:most], figures, drawn),
        "proves": path.proves,
        "of_whole": len(path.exact_paths) == 1,
    }


def _summary(path: LambdaPath) -> str:
    """The length of the path, what is proven, and the search time."""
    table = path.table
    intervals, paths = len(table), len(path.exact_paths)
    proven = int((table["optimal"] == table["runs"]).sum())
    low = formatting.lam_from(path.lam_min)
    if paths == 1:
        words = [f"Every λ from {low} up, not a grid: {formatting.plural(intervals, 'tree')}"]
    else:
        words = [
            f"Every λ from {low} up, not a grid: the paths of {paths} folds, cut into "
            f"{formatting.plural(intervals, 'interval')} at the breakpoints of all of them"
        ]
    if not path.proves:
        words.append("a heuristic's, so nothing is proven")
    elif proven == intervals:
        words.append("all proven optimal, at every λ")
    else:
        gap = formatting.gap(table["gap_max"].max())
        words.append(
            f"{formatting.share(proven, intervals)} proven, elsewhere a gap of at most {gap}"
        )
    seconds = [float(one.row["seconds"]) for one in path.exact_paths]
    each = "" if paths == 1 else f" for all {paths} paths"
    return f"{'; '.join(words)}. {formatting.seconds(math.fsum(seconds))} of search{each}."


def _certificates(path: LambdaPath) -> str:
    """How to check what is proven; empty without certificates."""
    files = sum(isinstance(one.row["proof"], str) for one in path.exact_paths)
    if not files:
        return ""
    what = "Its certificate is" if len(path.exact_paths) == 1 else (
        f"Certificates of {formatting.share(files, len(path.exact_paths))} paths are"
    )  # fmt: skip
    return f"{what} in the sweep's folder proofs; anybody can check what is proven with"


def _validation(path: LambdaPath) -> list[str]:
    """What cross-validation says, in sentences."""
    if path.minimum is None:
        return []
    best = path.point(path.minimum)
    folds = int(best["runs"])
    found = [
        f"Least {'mean ' if folds > 1 else ''}loss on held-out rows: {_held_out(best)}, for every "
        f"λ of the interval {best['lam_text']}."
    ]
    if path.one_se is not None:
        simple = path.point(path.one_se)
        same = path.one_se == path.minimum
        found.append(
            f"One-standard-error rule: the largest λ with a mean of at most "
            f"{_loss_words(best, best['test_error'] - best['test_score'])} are those of "
            f"{'the same interval' if same else 'the interval ' + str(simple['lam_text'])}"
            + (
                "." if same else
                f": {_loss_words(simple, -simple['test_score'])} with "
                f"{splits_words(simple)} instead of "
                f"{formatting.mean_count(best['splits'])}."
            )
        )  # fmt: skip
    return found


def _held_out(point: Any) -> str:
    """The loss on held-out rows with its standard error."""
    if point["task"] == REGRESSION:
        return test_words(point)
    return _loss_words(point, -point["test_score"]) + spread_words(point["test_error"])


def _loss_words(point: Any, loss: float) -> str:
    """A loss on held-out rows, given as minus a score: a share of rows, or an RMSE."""
    if point["task"] == REGRESSION:
        return f"RMSE {rmse(math.sqrt(loss))}"
    return formatting.percent(1 + loss)


def _step(row: dict[Any, Any]) -> dict[str, Any]:
    start, end = row["lam_start_exact"], row["lam_end_exact"]
    return {str(key): value for key, value in row.items()} | {
        "exact_interval": f"{start} ≤ λ" + (f" < {end}" if isinstance(end, str) else ""),
        "train_loss": (
            f"RMSE {rmse(row['train_rmse'])}, R² {r2(row['train_r2'])}"
            if row["task"] == REGRESSION
            else formatting.percent(row["loss"])
        ),
        "test": test_words(row),
        "all_proven": bool(row["optimal"] == row["runs"] and row["runs"]),
    }
