"""A report that is written anew while its sweep runs, with a page about what happens now."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.progress.display import describe
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.output_folder import ReportFolder
from pipelines.report.pages.write_pages import INDEX
from pipelines.report.write import ReportPaths, gather_report, write_report_data
from solver.errors import InputError
from solver.features.number_format import at_least, count
from sweep.events import Progress
from sweep.filesystem import Folder, Place, open_folder
from sweep.spec.requested_outputs import shown_lam
from sweep.store.lease import is_live, read_heartbeat
from sweep.store.plan_file import plan_tables
from sweep.store.sweep_status import SweepStatus, open_searches, sweep_status

LIVE = "live.html"
"""The page about what happens now."""

_LOOK = 1.0
_MOST_SEARCHES = 50
_WIDTH, _HEIGHT = 600, 120


class Moment(NamedTuple):
    """The largest gap of a sweep at a time."""

    seconds: float  # since the watch began
    gap: float


def watch_report(
    store_dir: Place,
    out_dir: Path,
    every: float,
    tell: Callable[[str], None] = lambda text: None,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[ReportData, ReportPaths]:
    """Write the report of a sweep every ``every`` seconds at most, until no driver is at work.

    Each file is replaced as a whole. ``tell`` gets a line after each report. Gives the last report.
    Raises InputError as :func:`pipelines.report.write.write_report`.
    """
    folder, began = open_folder(store_dir), clock()
    moments: list[Moment] = []
    while True:
        due = clock() + every
        live = is_live(folder)  # asked first: the report after the end has all rows
        try:
            status = sweep_status(store_dir)
            if status.worst_gap is not None:
                moments.append(Moment(clock() - began, status.worst_gap))
            found = gather_report(store_dir)
            paths = write_report_data(found, out_dir)
            page = _page(folder, found, status, moments, every if live else None)
            ReportFolder(out_dir).write(LIVE, page)
            tell(f"{status.done}/{status.total} done: {paths.page}")
        except InputError:
            if not live:  # else the driver is still making the plan
                raise
        if not live:
            return found, paths
        while clock() < due and is_live(folder):
            sleep(_LOOK)


def _page(
    folder: Folder,
    report: ReportData,
    status: SweepStatus,
    moments: Sequence[Moment],
    refresh: float | None,
) -> str:
    heartbeat = read_heartbeat(folder)
    tasks = f"{status.done} of {count(status.total, 'task')} done, {status.failed} failed"
    words = f"The sweep runs: {tasks}."
    if refresh is None:
        left = status.total - status.done - status.failed
        words = f"No driver is at work: {tasks}, {left} not run."
    elif heartbeat is not None and heartbeat.numbers:
        words = ", ".join(describe(Progress(**heartbeat.numbers)))
    again = "" if refresh is None else f'<meta http-equiv="refresh" content="{max(1, refresh):g}">'
    best = [(one.dataset, one.headline) for one in report.recommendations]
    title = escape(report.results.name)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">{again}'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}: now</title></head><body><h1>{title}: now</h1>"
        f'<p>{escape(words)} <a href="{INDEX}">The whole report</a></p>'
        f"<h2>Largest gap over time</h2>{_chart(moments)}"
        f"<h2>Unfinished searches</h2>{_table(_HEAD, _searches(folder))}"
        f"<h2>Best so far</h2>{_table(('dataset', 'answer'), best)}</body></html>\n"
    )


_HEAD = ("dataset", "encoding", "solver", "λ", "objective", "gap", "seconds")


def _searches(folder: Folder) -> list[tuple[str, ...]]:
    """The searches of which a checkpoint is kept and no row, longest first."""
    searches = {kept.key: (kept, gap) for kept, gap in open_searches(folder)}
    keys, found = pa.array([*searches], pa.string()), []
    columns = ["key", "dataset", "encoding", "solver", "lam_label", "solver_options"]
    for table in plan_tables(folder, columns) if searches else ():
        for row in table.filter(pc.is_in(table["key"], keys)).to_pylist():
            kept, gap = searches[row["key"]]
            lam = shown_lam(row["lam_label"], json.loads(row["solver_options"]))
            # The objective in the checkpoint of a path is that at the λ which is being solved.
            value = "–" if kept.path is not None else f"{float(Fraction(kept.objective)):.4g}"
            names = (str(row[name]) for name in columns[1:4])
            cells = (*names, lam, value, at_least(gap, 3), f"{kept.seconds:.0f}")
            found.append((kept.seconds, cells))
    return [cells for _, cells in sorted(found, reverse=True)[:_MOST_SEARCHES]]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "<p>None.</p>"
    lines = [_line("th", head), *(_line("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _line(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _chart(moments: Sequence[Moment]) -> str:
    """The gaps as a line of steps."""
    if not moments:
        return "<p>Nothing is proven yet.</p>"
    last, most = moments[-1].seconds or 1.0, max(m.gap for m in moments) or 1.0
    points: list[str] = []
    for one in moments:
        x, y = one.seconds / last * _WIDTH, _HEIGHT * (1 - one.gap / most)
        points += [f"{x:.1f},{points[-1].split(',')[1]}"] if points else []
        points.append(f"{x:.1f},{y:.1f}")
    label = f"from {at_least(moments[0].gap, 3)} to {at_least(moments[-1].gap, 3)}"
    return (
        f'<svg role="img" aria-label="{label}" viewBox="-4 -4 {_WIDTH + 8} {_HEIGHT + 8}" '
        f'style="max-width:{_WIDTH}px"><polyline points="{" ".join(points)}" fill="none" '
        f'stroke="currentColor" stroke-width="2"/></svg><p>{label}, in {last:.0f} s</p>'
    )
