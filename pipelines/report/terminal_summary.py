"""The report in the terminal: progress, recommendations, comparison and failures."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.report.analysis.recommendations import Recommendation
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.data import formatting
from pipelines.report.data.metrics import is_regression, test_words, train_words
from pipelines.report.data.results import Results, failure_groups

_MOST = 40


def print_summary(report: ReportData, console: Console) -> None:
    """Print a summary of a sweep, finished or not."""
    console.print(_head(report.results))
    if report.results.rows.empty:
        for own in report.recommendations[:_MOST]:
            console.print(Text(f"  {own.dataset}: {own.headline}"))
        return
    console.print(_recommendation_table(report))
    for own in report.recommendations:
        for note in own.warnings if len(report.recommendations) <= 6 else ():
            console.print(Text(f"  {own.dataset}: {note}", style="yellow"))
    console.print(_ranking(report))
    _trouble(report, console)


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
    """A table with texts in the first columns and numbers in the others."""
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


def _recommendation_table(report: ReportData) -> Table:
    tested = report.results.validated
    rows = report.results.rows
    what = "quality" if is_regression(rows) else "accuracy"
    accuracy = f"test {what}" if tested else f"train {what}"
    table = _table("dataset", "take", "λ", accuracy, "leaves", "proof", left=2, title="Answers")
    for own in report.recommendations[:_MOST]:
        table.add_row(*map(Text, _recommendation_cells(own, tested)))
    return table


def _recommendation_cells(own: Recommendation, tested: bool) -> list[str]:
    point, path = own.point, own.path
    if path is None:
        return [own.dataset, own.headline, "", "", "", ""]
    if point is None:
        return [own.dataset, f"{path.encoding}, {path.solver}", "open", "", "", ""]
    accuracy = test_words(point) if tested else train_words(point)
    runs = int(point["runs"])
    proof = "none" if point["heuristic"] == runs else formatting.share(point["optimal"], runs)
    leaves = formatting.mean_count(point["leaves"])
    take = f"{path.encoding}, {path.solver}"
    return [own.dataset, take, str(point["lam_text"]), accuracy, leaves, proof]


def _ranking(report: ReportData) -> Table:
    table = _table(
        "encoding", "solver", "runs", "optimal", "failed", "best", "above best", "time",
        left=2, title="Comparison (means; median time)",
    )  # fmt: skip
    for row in report.ranking.to_dict("records"):
        compared = int(row["compared"])
        cells = [
            row["encoding"],
            row["solver"],
            formatting.whole(row["runs"]),
            "heuristic" if row["heuristic"] else formatting.whole(row["optimal"]),
            formatting.whole(row["failed"]),
            f"{row['best']}/{compared}" if compared else formatting.NONE,
            formatting.short(row["excess"]),
            formatting.seconds(row["seconds_median"]),
        ]
        table.add_row(*map(Text, cells))
    return table


def _trouble(report: ReportData, console: Console) -> None:
    """Prints contradictions and failures, by their reason, in red."""
    found = report.disagreements
    if len(found):
        number = formatting.plural(len(found), "contradiction")
        console.print(Text(f"{number} between results that cannot all be true:", "bold red"))
        for row in found.head(10).to_dict("records"):
            where = f"{row['dataset']}, {row['encoding']}, λ = {row['lam']}"
            console.print(Text(f"  {where}: {row['claim']}, but {row['against']}", "red"))
        if len(found) > 10:
            console.print(Text(f"  … and {len(found) - 10} more, see the report", "red"))
    failures = failure_groups(report.results.rows)
    for failure in failures[:5]:
        runs = formatting.plural(failure["count"], "run")
        console.print(Text(f"{failure['status']}, {runs}: {failure['reason']}", "red"))
    if len(failures) > 5:
        more = formatting.plural(len(failures) - 5, "other reason")
        console.print(Text(f"… and {more}, see the report", "red"))
