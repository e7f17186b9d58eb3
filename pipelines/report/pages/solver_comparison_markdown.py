"""The comparison of solvers as Markdown, for documentation and papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import pandas as pd

from pipelines.report.analysis.report_data import ReportData
from pipelines.report.analysis.solvers.solver_comparison import Instance, solvers_of, virtual_best
from pipelines.report.data import formatting
from solver.errors import InputError

MOST_PROBLEMS = 200
"""A table of more problems is left to the files of the report."""

_OUTCOMES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "kind": ("features", str),
    "solver": ("solver", str),
    "runs": ("runs", formatting.whole),
    "proven": ("proven", formatting.whole),
    "claimed": ("claimed", formatting.whole),
    "refuted": ("refuted", formatting.whole),
    "open": ("open", formatting.whole),
    "no_proof": ("no proof", formatting.whole),
    "failed": ("failed or killed", formatting.whole),
    "common": ("common problems", formatting.whole),
    "seconds": ("mean time", formatting.seconds),
    "above_best": ("× virtual best", formatting.ratio),
    "fastest": ("fastest on", formatting.whole),
    "gap": ("gap", formatting.short),
    "excess": ("above best", formatting.short),
}
_OUTCOME_WORDS = """\
*Claimed*: the solver says that its tree is optimal, and no better tree is known. *Refuted*: a
better tree is known. *No proof*: the search ended without a claim. *Common problems*: all solvers
that prove or claim anything ran on them. Only these count for *mean time* (the geometric mean of
seconds plus one) and *fastest on*. *× virtual best*: the mean time divided by the mean of the
fastest times. *Gap* and *above best*: of the runs without an answer, how far the tree is on
average above the solver's own bound and above the best tree known."""
_DUELS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "kind": ("features", str),
    "first": ("first", str),
    "second": ("second", str),
    "problems": ("problems", formatting.whole),
    "wins": ("wins", formatting.whole),
    "losses": ("losses", formatting.whole),
    "p": ("p", formatting.short),
    "speed_up": ("speed-up", formatting.ratio),
}
_DUEL_WORDS = """\
*Wins*: problems that only the first solver answered, or that it answered sooner. *p* is that of the
two-sided sign test: how likely so uneven a count is between equals. *Speed-up*: the second one's
mean time plus one second, divided by the first one's."""
_PUBLISHED: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "dataset": ("dataset", str),
    "encoding": ("encoding", str),
    "lambda": ("λ", str),
    "published_h": ("H printed", str),
    "our_h": ("H found", lambda value: value if isinstance(value, str) else formatting.NONE),
    "verdict": ("verdict", str),
    "published_iterations": ("iterations printed", formatting.whole),
    "our_iterations": ("found", formatting.whole),
    "published_seconds": ("seconds printed", formatting.short),
    "our_seconds": ("found", formatting.short),
}


def comparison_markdown(report: ReportData) -> str:
    """What the report says of its solvers on equal problems, and of published figures."""
    parts = []
    for kind, found in report.outcomes.problems.items():
        if len(solvers_of(found)) > 1 and len(found) <= MOST_PROBLEMS:
            parts.append(f"{kind.capitalize()} features:\n\n" + _problem_table(found))
    if report.outcomes.is_of_interest:
        parts.append(_OUTCOME_WORDS)
        parts.append(_table(_OUTCOMES, report.outcomes.table.to_dict("records")))
    if report.outcomes.duels:
        parts.append(_DUEL_WORDS)
        parts.append(_table(_DUELS, [duel._asdict() for duel in report.outcomes.duels]))
    if report.ranks:
        parts.append("\n".join(_rank_lines(report)))
    if report.published is not None and "published_h" in report.published:
        parts.append(_table(_PUBLISHED, report.published.to_dict("records")))
    number = formatting.plural(len(report.disagreements), "contradiction")
    refuted = int(report.outcomes.table.get("refuted", pd.Series([0])).sum())
    parts.append(
        f"{number} between exact claims, {formatting.plural(refuted, 'refuted claim')} of others."
    )
    return "\n\n".join(parts) + "\n"


def _problem_table(found: Sequence[Sequence[Instance]]) -> str:
    """A line a problem, with the seconds of an answer, the fastest in bold, or what is left."""
    solvers = solvers_of(found)
    # A limit that excludes no better tree makes no other problem, whose limits are the fewest.
    told = [(one[0].fold, min((i.allowed for i in one), key=len)) for one in found]
    named = [len({*words}) > 1 for words in zip(*told, strict=True)]
    lines = []
    for one, words in zip(found, told, strict=True):
        own = {i.solver: i for i in reversed(one)}
        best = virtual_best(one, solvers)
        cells = [_cell(own.get(name), best) for name in solvers]
        first = one[0]
        apart = [text or formatting.NONE for text in compress(words, named)]
        best_known = formatting.objective(first.best)
        lines.append([first.dataset, first.encoding, *apart, first.lam, best_known, *cells])
    more = [*compress(("held out", "limits on the tree"), named)]
    head = ["dataset", "encoding", *more, "λ", "best objective", *solvers]
    return _lines(head, lines, 2 + len(more))


def _cell(own: Instance | None, best: float) -> str:
    if own is None:
        return formatting.NONE
    if own.is_solved:
        seconds = formatting.seconds(own.seconds)
        text = f"**{seconds}**" if own.seconds <= best else seconds
        return text if own.outcome == "proven" else f"{text} (says)"
    if own.outcome in ("failed", "refuted"):
        return own.outcome
    words = [] if own.outcome == "no_proof" else ["open"]
    words.append(f"+{formatting.short(own.excess)}")
    if formatting.is_number(own.gap):
        words.append(f"gap {formatting.gap(own.gap)}")
    return " ".join(words)


def _rank_lines(report: ReportData) -> list[str]:
    lines = []
    for one in report.ranks:
        ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in one.ranks.items())
        lines.append(
            f"* Mean ranks by {one.measure}, {one.kind} features, "
            f"{formatting.plural(one.datasets, 'dataset')}: {ranks}; critical difference "
            f"{one.difference:.2f}, Friedman p = {one.p:.2g}."
        )
    return lines


def _table(
    columns: Mapping[str, tuple[str, Callable[[Any], str]]], records: Sequence[Mapping[Any, Any]]
) -> str:
    texts = [name for name, (_, show) in columns.items() if show is str]
    lines = [[show(record[name]) for name, (_, show) in columns.items()] for record in records]
    return _lines([head for head, _ in columns.values()], lines, len(texts))


def _lines(head: Sequence[str], lines: Iterable[Sequence[str]], texts: int) -> str:
    """A table of Markdown whose first columns are texts."""
    rule = ["---"] * texts + ["---:"] * (len(head) - texts)
    rows = [[cell.replace("|", r"\|") for cell in line] for line in (head, *lines)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (rows[0], rule, *rows[1:]))


def write_between_marks(path: Path, name: str, text: str) -> None:
    """Write a text into a file between two comments that name it; into a new file if there is none.

    Raises InputError if the file lacks the comments, or cannot be read or written.
    """
    first, last = f"<!-- {name}: written by a command -->", f"<!-- end of {name} -->"
    try:
        old = path.read_text(encoding="utf-8") if path.exists() else f"{first}\n{last}\n"
        head, found, rest = old.partition(first)
        _, closed, tail = rest.partition(last)
        if not (found and closed):
            raise InputError(f"{path} has no lines {first!r} and {last!r} to write between")
        path.write_text(f"{head}{first}\n\n{text}\n{last}{tail}", encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot write into {path}: {error}") from None
