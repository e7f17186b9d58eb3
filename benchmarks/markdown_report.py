"""The Markdown of a comparison: a line a file and λ, a column a solver, and the summary."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from benchmarks.compare_rows import (
    Cell,
    Result,
    by_cell,
    contradictions,
    least_objective,
    totals,
)
from benchmarks.peers import ADAPTERS
from benchmarks.row_store import Row

OURS = "branches"
LEGEND = """\
A cell is the seconds of a proof, in bold for the fastest. Where there is none: what ended the run
(*time*, *memory* or *error*), then the gap between its tree and its own lower bound in units of λ;
for a solver without a lower bound, how far its tree is above the best one known to the table
(+0 λ: as good). `–`: cannot take it (multiway features), or was not run (STreeD can be told the
depth only where ours proved a tree)."""


def solvers_of(rows: Sequence[Row]) -> list[str]:
    """Names of the solvers in the rows, in the catalogue's order."""
    present = {row["solver"] for row in rows}
    return [name for name in ADAPTERS if name in present]


def seconds_text(seconds: float) -> str:
    """Three digits, at least the tenth of a millisecond."""
    if seconds < 0.01:
        return f"{seconds:.4f}"
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.3g}"


def lambda_text(lam: str) -> str:
    """λ as a decimal where it is a short one."""
    value = Fraction(lam)
    decimal = f"{float(value):g}"
    return decimal if Fraction(decimal) == value else lam


def cell_text(result: Result | None, least: Fraction | None) -> str:
    """What one solver did on one cell."""
    if result is None or result.seconds is None:
        return "–"
    row = result.row
    if result.proven:
        return seconds_text(result.seconds)
    text = {"time_limit": "*time*", "memory_limit": "*memory*", "heuristic": "heuristic"}.get(
        row["status"], "*error*"
    )
    lam = Fraction(row["lam_exact"])
    if row["objective_exact"] is None or row["status"] == "error" or not lam:
        return text
    if row["gap_lams"] is not None:
        return f"{text} {row['gap_lams']:.3g} λ"
    assert least is not None
    above = float((Fraction(row["objective_exact"]) - least) / lam)
    return f"{text} +{above:.3g} λ"


def table(cells: dict[Cell, dict[str, Result]], solvers: Sequence[str]) -> list[str]:
    """The lines of the large table."""
    labels = [ADAPTERS[name].label for name in solvers]
    header = ["file", "n", "q", "K", "λ", "objective", "splits", *labels]
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    for (file, lam), results in cells.items():
        least = least_objective(results.values())
        any_row = next(iter(results.values())).row
        best = [r.row for r in results.values() if r.row["objective_exact"] == str(least)]
        proven = any(result.proven for result in results.values())
        texts = [cell_text(results.get(name), least) for name in solvers]
        proofs = {name: r.seconds for name, r in results.items() if r.proven}
        times = [proofs.get(name) for name in solvers]
        fastest = min((t for t in times if t is not None), default=None)
        texts = [
            f"**{text}**" if fastest is not None and time == fastest else text
            for text, time in zip(texts, times, strict=True)
        ]
        facts = [
            file,
            *(str(any_row[name]) for name in ("n_rows", "n_features", "n_classes")),
            lambda_text(lam),
            "–" if least is None else f"{'' if proven else '≤ '}{float(least):.6f}",
            str(best[0]["splits"]) if best else "–",
        ]
        lines.append("| " + " | ".join([*facts, *texts]) + " |")
    return lines


def summary(cells: dict[Cell, dict[str, Result]], solvers: Sequence[str]) -> list[str]:
    """The lines of the small table."""
    lines = [
        "| solver | run on | proven | its time / ours, geometric mean | ours slower on |",
        "|" + " --- |" * 5,
    ]
    for name, total in zip(solvers, totals(cells, solvers, OURS), strict=True):
        known = total.ratio is not None and name != OURS
        ratio = f"{total.ratio:.3g} (over {total.compared} rows)" if known else "–"
        slower = f"{total.ours_slower} of {total.compared}" if known else "–"
        label = ADAPTERS[name].label
        lines.append(f"| {label} | {total.cells} | {total.proven} | {ratio} | {slower} |")
    return lines


def unkept(rows: Sequence[Row]) -> list[str]:
    """A line for each run that failed, with its text."""
    return [
        f"- {row['solver']} on {row['file']}, λ = {lambda_text(row['lam_exact'])}: {row['error']}"
        for row in rows
        if row["status"] == "error"
    ]


def markdown(rows: Sequence[Row], about: dict[str, str], limits: str) -> str:
    """The whole page.

    Parameters
    ----------
    about : dict
        See :func:`benchmarks.row_store.describe_machine`.
    limits : str
        A sentence on the limits.
    """
    cells, solvers = by_cell(rows), solvers_of(rows)
    disagree = contradictions(rows)
    lines = [
        "# Sparse trees: ours and others",
        "",
        f"{about['processor']}, {about['memory']}; {about['versions']}; revision "
        f"{about['revision']}; {about['started']}; load before: {about['load']}. {limits}",
        "",
        *table(cells, solvers),
        "",
        LEGEND,
        "",
        *summary(cells, solvers),
        "",
        f"Disagreements: {len(disagree)}.",
        *[f"- **{line}**" for line in disagree],
    ]
    failed = unkept(rows)
    if failed:
        lines += ["", "Errors:", *failed]
    return "\n".join(lines) + "\n"
