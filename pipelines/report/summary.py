"""The report in the terminal: how far the sweep is, the answers, who is best, what went wrong."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.report.analysis.checks import failure_groups
from pipelines.report.analysis.comparison import rank
from pipelines.report.analysis.recommendation_record import Answer
from pipelines.report.analysis.report_data import Material
from pipelines.report.data import formats
from pipelines.report.data.metrics import is_regression, test_words, train_words
from pipelines.report.data.results import Results, label_results, load_results
from pipelines.report.write import gather

_MOST = 40


def print_summary(
    source: str | Path | pd.DataFrame | Results | Material, console: Console | None = None
) -> None:
    """Print a summary of a sweep, finished or not.

    Parameters
    ----------
    source : str, Path, DataFrame, Results or Material
        A sweep's folder, what was worked out for its report, or rows from
        :func:`sweep.store.results.read_results`. Only the folder knows what is missing.
    console : rich.console.Console, optional
        By default one on standard output.

    Raises
    ------
    InputError
        If the folder is no sweep's, or a file in it is damaged.
    """
    if isinstance(source, pd.DataFrame):
        results = label_results(source, None)
    elif isinstance(source, Results):
        results = source
    elif isinstance(source, Material):
        results = source.results
    else:
        results = load_results(source)
    console = console or Console(highlight=False)
    material = source if isinstance(source, Material) else gather(results)
    console.print(_head(results))
    if results.rows.empty:
        for answer in material.answers[:_MOST]:
            console.print(Text(f"  {answer.dataset}: {answer.headline}"))
        return
    console.print(_answers(material))
    for answer in material.answers:
        for note in answer.warnings if len(material.answers) <= 6 else ():
            console.print(Text(f"  {answer.dataset}: {note}", style="yellow"))
    console.print(_ranking(material))
    _trouble(material, console)


def _head(results: Results) -> Text:
    text = Text.assemble((results.name, "bold"), ": ")
    parts = [(f"{results.n_ok} done", "green")]
    if results.n_failed:
        parts.append((f"{results.n_failed} failed", "red"))
    if len(results.missing):
        parts.append((f"{len(results.missing)} not run yet", "yellow"))
    if results.n_impossible:
        parts.append((f"{results.n_impossible} impossible", "dim"))
    for i, (words, style) in enumerate(parts):
        text.append(", " if i else "")
        text.append(words, style)
    return text


def _table(*columns: str, left: int = 1, title: str) -> Table:
    """A table whose first columns are text and the others numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for i, name in enumerate(columns):
        text = i < left
        table.add_column(
            name,
            justify="left" if text else "right",
            overflow="fold" if text else "ellipsis",
            no_wrap=not text,
        )
    return table


def _answers(material: Material) -> Table:
    tested = material.results.validated
    rows = material.results.rows
    what = "quality" if is_regression(rows) else "accuracy"
    accuracy = f"test {what}" if tested else f"train {what}"
    table = _table("dataset", "take", "λ", accuracy, "leaves", "proof", left=2, title="Answers")
    for answer in material.answers[:_MOST]:
        table.add_row(*map(Text, _answer_cells(answer, tested)))
    return table


def _answer_cells(answer: Answer, tested: bool) -> list[str]:
    point, path = answer.point, answer.path
    if path is None:
        return [answer.dataset, answer.headline, "", "", "", ""]
    if point is None:
        return [answer.dataset, f"{path.encoding}, {path.solver}", "open", "", "", ""]
    accuracy = test_words(point) if tested else train_words(point)
    runs = int(point["runs"])
    proof = "none" if point["heuristic"] == runs else formats.share(point["optimal"], runs)
    leaves = formats.mean_count(point["leaves"])
    take = f"{path.encoding}, {path.solver}"
    return [answer.dataset, take, str(point["lam_text"]), accuracy, leaves, proof]


def _ranking(material: Material) -> Table:
    table = _table(
        "encoding", "solver", "runs", "optimal", "failed", "best", "above best", "time",
        left=2, title="Comparison (means; median time)",
    )  # fmt: skip
    ranking = rank(material.results, material.excess, ["encoding_label", "solver_label"])
    for row in ranking.to_dict("records"):
        compared = int(row["compared"])
        cells = [
            row["encoding"],
            row["solver"],
            formats.whole(row["runs"]),
            "heuristic" if row["heuristic"] else formats.whole(row["optimal"]),
            formats.whole(row["failed"]),
            f"{row['best']}/{compared}" if compared else formats.NONE,
            formats.short(row["excess"]),
            formats.seconds(row["seconds_median"]),
        ]
        table.add_row(*map(Text, cells))
    return table


def _trouble(material: Material, console: Console) -> None:
    """Contradictions in red, and failures by their reason."""
    found = material.disagreements
    if len(found):
        number = formats.plural(len(found), "contradiction")
        console.print(Text(f"{number} between results that cannot all be true:", "bold red"))
        for row in found.head(10).to_dict("records"):
            where = f"{row['dataset']}, {row['encoding']}, λ = {row['lam']}"
            console.print(Text(f"  {where}: {row['claim']}, but {row['against']}", "red"))
        if len(found) > 10:
            console.print(Text(f"  … and {len(found) - 10} more, see the report", "red"))
    failures = failure_groups(material.results.rows)
    for failure in failures[:5]:
        runs = formats.plural(failure["count"], "run")
        console.print(Text(f"{failure['status']}, {runs}: {failure['reason']}", "red"))
    if len(failures) > 5:
        more = formats.plural(len(failures) - 5, "other reason")
        console.print(Text(f"… and {more}, see the report", "red"))
