"""What a running sweep shows: a live display on a terminal, plain lines everywhere else."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from solver.base import Snapshot


@dataclass(frozen=True)
class Figures:
    """A moment of a sweep.

    Parameters
    ----------
    total : int
        Tasks of the sweep.
    stored : int
        Tasks whose rows were there before it started.
    done : int
        Tasks that it has finished, failed ones included.
    failed : int
        Tasks that ended in an error.
    running : int
        Tasks that are on a worker.
    worst_gap : float or None
        Largest objective − lower_bound so far; None while no run proved a bound.
    workers : int
    memory : int
        Bytes that the workers hold.
    """

    total: int
    stored: int = 0
    done: int = 0
    failed: int = 0
    running: int = 0
    worst_gap: float | None = None
    workers: int = 0
    memory: int = 0

    @property
    def left(self) -> int:
        """Tasks that are still to be finished."""
        return max(0, self.total - self.stored - self.done)


class Pace:
    """How fast tasks end, over the last ``window`` seconds rather than since the start."""

    def __init__(self, window: float = 30.0) -> None:
        self._window = window
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, now: float, done: int) -> None:
        """Note how many tasks were done at a moment."""
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[1][0] >= self._window:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """Tasks a second; None while nothing is known."""
        if len(self._seen) < 2:
            return None
        (start, first), (end, last) = self._seen[0], self._seen[-1]
        return (last - first) / (end - start) if end > start and last > first else None

    def left(self, tasks: int) -> float | None:
        """Seconds until so many more tasks are done; None while nothing is known."""
        rate = self.rate
        return None if rate is None else tasks / rate


def describe(figures: Figures, pace: Pace) -> list[str]:
    """The figures in words, most important first."""
    parts = [f"{figures.done + figures.stored}/{figures.total} done"]
    if figures.failed:
        parts.append(f"{figures.failed} failed")
    parts.append(f"{figures.running} running")
    if pace.rate is not None:
        parts.append(f"{pace.rate:.3g}/s")
    left = pace.left(figures.left)
    if left is not None and figures.left:
        parts.append(f"{show_seconds(left)} left")
    if figures.worst_gap is not None:
        parts.append(f"worst gap {figures.worst_gap:.4g}")
    parts.append(f"{figures.workers} worker{'' if figures.workers == 1 else 's'}")
    if figures.memory:
        parts.append(show_bytes(figures.memory))
    return parts


def show_seconds(seconds: float) -> str:
    """A duration as a person says it: ``42 s``, ``3 min 20 s``, ``2 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 100 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} days"


def show_bytes(size: float) -> str:
    """A size in binary units: ``512 MiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.3g} {unit}" if unit != "B" else f"{size:.0f} B"
        size /= 1024
    return f"{size:.3g} TiB"


class Display(Protocol):
    """Where the progress of a sweep is shown; a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def show(self, figures: Figures) -> None:
        """Show the newest figures."""

    def note(self, text: str) -> None:
        """Say something once, e.g. that a worker was lost."""


def make_display(name: str, stream: IO[str] | None = None) -> Display:
    """A live display if the stream is a terminal that can redraw, else one of plain lines."""
    from rich.console import Console

    stream = stream or sys.stdout
    console = Console(file=stream, highlight=False)
    # FORCE_COLOR makes a pipe a terminal to rich; only a real one can be redrawn.
    if stream.isatty() and not console.is_dumb_terminal:
        return LiveDisplay(name, console)
    return LogDisplay(name, stream)


class LiveDisplay:
    """A bar and a line of figures that are redrawn in place."""

    def __init__(
        self, name: str, console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        from rich.live import Live

        self._name = name
        self._clock = clock
        self._began = clock()
        self._pace = Pace()
        self._figures: Figures | None = None
        self._live = Live(
            get_renderable=self._render, console=console, refresh_per_second=4, transient=False
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, figures: Figures) -> None:
        """Show the newest figures at the next refresh."""
        self._pace.add(self._clock(), figures.done)
        self._figures = figures

    def note(self, text: str) -> None:
        """Print a line above the display."""
        from rich.text import Text

        self._live.console.print(Text(text))

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        elapsed = show_seconds(self._clock() - self._began)
        if self._figures is None:
            return Text(f"{self._name}: starting ({elapsed})")
        figures = self._figures
        share = (figures.done + figures.stored) / max(1, figures.total)
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
            for part in describe(figures, self._pace)
        )
        return Group(head, words)


class LogDisplay:
    """A line every few seconds, and one at the end."""

    def __init__(
        self,
        name: str,
        stream: IO[str],
        *,
        interval: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._stream: IO[str] | None = stream
        self._interval = interval
        self._clock = clock
        self._pace = Pace()
        self._printed: tuple[float, Figures] | None = None
        self._latest: Figures | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._latest is not None and self._printed and self._printed[1] != self._latest:
            self._print(self._latest)

    def show(self, figures: Figures) -> None:
        """Print the figures if the last line is old enough."""
        now = self._clock()
        self._pace.add(now, figures.done)
        self._latest = figures
        if self._printed is None or now - self._printed[0] >= self._interval:
            self._print(figures)

    def note(self, text: str) -> None:
        """Print a line at once."""
        self._write(text)

    def _print(self, figures: Figures) -> None:
        self._printed = (self._clock(), figures)
        self._write(", ".join(describe(figures, self._pace)))

    def _write(self, text: str) -> None:
        # Nobody reads any more (``| head``): the sweep is worth more than its display.
        if self._stream is None:
            return
        try:
            print(
                f"{time.strftime('%H:%M:%S')} {self._name}: {text}", file=self._stream, flush=True
            )
        except OSError:
            self._stream = None


@contextmanager
def follow_search(stream: IO[str] | None = None) -> Iterator[Callable[[Snapshot], None] | None]:
    """Show how far a single search is, in one line that is gone when it ends.

    Gives the function to tell it to, or None where the stream (stderr) is no terminal.
    """
    stream = stream or sys.stderr
    if not stream.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(file=stream).status("searching") as status:

        def follow(snapshot: Snapshot) -> None:
            objective, bound = float(snapshot.objective), float(snapshot.lower_bound)
            text = (
                f"searching: objective {objective:.4g}, lower bound {bound:.4g}, "
                f"gap {objective - bound:.3g}, {show_seconds(snapshot.seconds)}"
            )
            status.update(escape(text))

        yield follow
