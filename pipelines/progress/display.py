"""Displays of a running sweep: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Self

from solver.features.number_format import at_least, at_most, count, show_bytes
from sweep.events import Listener, Outcome, Progress

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console, RenderableType

    from solver.monitor import Snapshot
    from sweep.plan.plan import Plan

_FAILURES_SHOWN = 5


def describe(progress: Progress) -> list[str]:
    """The progress of a sweep in words, most important first."""
    parts = [f"{progress.done}/{progress.total} done"]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    parts.append(f"{progress.running} running")
    if progress.shards:
        parts.append(f"shards {progress.shards_done}/{progress.shards}")
    if progress.rate > 0:
        parts.append(f"{progress.rate:.3g}/s")
    if progress.eta is not None and progress.done < progress.total:
        parts.append(f"{show_seconds(progress.eta)} left")
    if progress.worst_gap is not None:
        parts.append(f"worst gap {at_least(progress.worst_gap, 4)}")
    parts.append(count(progress.workers, "worker"))
    if progress.memory:
        parts.append(show_bytes(progress.memory))
    return parts


def describe_failure(row: dict[str, Any]) -> str:
    """The failed task, and the last line of its error."""
    from sweep.spec.requested_outputs import shown_lam

    fold = "" if row["fold"] is None else f", fold {row['fold']}"
    lines = (row["error"] or "no message").strip().splitlines()
    lam = shown_lam(row["lam_label"], json.loads(row["solver_options"]))
    return (
        f"{row['status']}: {row['dataset']}, {row['encoding']}, λ = {lam}, "
        f"{row['solver']}{fold}: {lines[-1].strip()}"
    )


def describe_nothing_to_do(total: int) -> str:
    """That a sweep of so many tasks was finished before."""
    all_tasks = count(total, "task")
    what = f"the {all_tasks} was" if total == 1 else f"all {all_tasks} were"
    return f"Nothing to do: {what} answered before."


def describe_outcome(outcome: Outcome) -> str:
    """How a run of a sweep ended, in a sentence."""
    if not outcome.ran and outcome.answered == outcome.total:
        return describe_nothing_to_do(outcome.total)
    parts = [f"{count(outcome.ran, 'task')} run in {show_seconds(outcome.seconds)}"]
    parts.append(f"{outcome.failed} failed" if outcome.failed else "none failed")
    if outcome.limited:
        parts.append(f"{outcome.limited} hit a limit")
    if outcome.answered:
        parts.append(f"{outcome.answered} answered before")
    left = outcome.total - outcome.answered - outcome.ran
    if left > 0:
        parts.append(f"{left} not run")
    if outcome.impossible:
        parts.append(f"{outcome.impossible} cannot be run (see --dry-run)")
    head = "Interrupted: " if outcome.interrupted else ""
    return f"{head}{', '.join(parts)}."


def show_seconds(seconds: float) -> str:
    """A duration for people: ``42 s``, ``3 min 20 s``, ``2 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 100 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} days"


def make_display(name: str, stream: IO[str] | None = None) -> LiveDisplay | LogDisplay:
    """A live display for a terminal that can redraw, else plain lines."""
    from rich.console import Console

    stream = stream or sys.stdout
    console = Console(file=stream, highlight=False)
    # With FORCE_COLOR rich takes a pipe for a terminal, but it cannot be redrawn.
    if stream.isatty() and not console.is_dumb_terminal:
        return LiveDisplay(name, console)
    return LogDisplay(name, stream)


class Display(Listener, ABC):
    """What all displays share."""

    def __init__(self) -> None:
        self._failures = 0

    def planned(self, plan: Plan, remaining: int) -> None:
        """Tell about impossible cells."""
        if remaining and plan.n_impossible:
            cells = count(plan.n_impossible, "cell")
            self.note(f"{cells} cannot be run, e.g. {plan.impossible[0].reason}")

    def finished(self, rows: pa.RecordBatch) -> None:
        """Describe the first failures."""
        errors = rows["error"]
        if errors.null_count == len(errors):
            return
        before = self._failures
        self._failures += len(errors) - errors.null_count
        # All tasks may fail: convert only the rows that are shown.
        failed = rows.filter(errors.is_valid()).slice(0, max(_FAILURES_SHOWN - before, 0))
        for row in failed.to_pylist():
            self.note(describe_failure(row))
        if before <= _FAILURES_SHOWN < self._failures:
            self.note("further failures are counted only; the report lists them all")

    @abstractmethod
    def note(self, text: str) -> None:
        """Print a message."""

    def aborted(self) -> None:
        """Print that the sweep was interrupted."""
        print("treesweep: interrupted", file=sys.stderr, flush=True)


class LiveDisplay(Display):
    """A progress bar and a line of figures, redrawn in place."""

    def __init__(
        self, name: str, console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        from rich.live import Live

        super().__init__()
        self._name = name
        self._clock = clock
        self._began = clock()
        self._progress: Progress | None = None
        self._live = Live(get_renderable=self._render, console=console, refresh_per_second=4)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def progress(self, progress: Progress) -> None:
        """Show the newest figures at the next refresh."""
        self._progress = progress

    def note(self, text: str) -> None:
        """Print a line above the display."""
        from rich.text import Text

        self._live.console.print(Text(text))

    def aborted(self) -> None:
        """Restore the cursor."""
        self._live.stop()
        super().aborted()

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        progress, elapsed = self._progress, show_seconds(self._clock() - self._began)
        if progress is None:
            return Text(f"{self._name}: starting ({elapsed})")
        share = progress.done / max(1, progress.total)
        head = Table.grid(padding=(0, 1), expand=True)
        head.add_column(no_wrap=True)
        head.add_column(ratio=1)
        head.add_column(no_wrap=True)
        head.add_row(
            Text(self._name, style="bold"),
            ProgressBar(total=1.0, completed=share),
            Text(f"{share:.0%} {elapsed}"),
        )
        words = Text(" · ").join(
            Text(part, style="bold red" if part.endswith(" failed") else "")
            for part in describe(progress)
        )
        return Group(head, words)


class LogDisplay(Display):
    """A line every few seconds and at the end."""

    def __init__(
        self,
        name: str,
        stream: IO[str],
        *,
        interval: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._name = name
        self._stream: IO[str] | None = stream
        self._interval = interval
        self._clock = clock
        self._printed: tuple[float, Progress] | None = None
        self._latest: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._latest is not None and self._printed and self._printed[1] != self._latest:
            self._print(self._latest)

    def progress(self, progress: Progress) -> None:
        """Print the figures every few seconds."""
        self._latest = progress
        if self._printed is None or self._clock() - self._printed[0] >= self._interval:
            self._print(progress)

    def note(self, text: str) -> None:
        """Print a line at once."""
        self._write(text)

    def _print(self, progress: Progress) -> None:
        self._printed = (self._clock(), progress)
        self._write(", ".join(describe(progress)))

    def _write(self, text: str) -> None:
        # The reader may have left (``| head``). The sweep goes on without a display.
        if self._stream is None:
            return
        moment = time.strftime("%H:%M:%S")
        try:
            print(f"{moment} {self._name}: {text}", file=self._stream, flush=True)
        except OSError:
            self._stream = None


@contextmanager
def follow_search(stream: IO[str] | None = None) -> Iterator[Callable[[Snapshot], None] | None]:
    """Show the progress of one search in a line that disappears at its end.

    Gives the function to call with snapshots, or None if the stream (stderr) is no terminal.
    """
    stream = stream or sys.stderr
    if not stream.isatty():
        yield None
        return
    from rich.console import Console

    with Console(file=stream).status("searching") as status:

        def follow(snapshot: Snapshot) -> None:
            objective, bound = snapshot.objective, snapshot.lower_bound
            if objective == bound:  # of good trees
                status.update(
                    f"counting good trees: optimum {float(objective):.4g}, "
                    f"{count(snapshot.nodes, 'subproblem')}, {show_seconds(snapshot.seconds)}"
                )
                return
            at = "" if snapshot.lam is None else f" λ = {float(snapshot.lam):.4g}"
            status.update(
                f"searching{at}: objective {float(objective):.4g}, "
                f"lower bound {at_most(bound, 4)}, gap {at_least(objective - bound, 3)}, "
                f"{show_seconds(snapshot.seconds)}"
            )

        yield follow
