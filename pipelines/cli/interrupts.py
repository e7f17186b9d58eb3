"""The first Ctrl-C stops a search gracefully, the second one ends the command."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import click


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether Ctrl-C was pressed. A second one raises as usual."""
    stopped = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True
        click.echo("treesweep: stopping; Ctrl-C again to leave at once", err=True)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: stopped
    finally:
        signal.signal(signal.SIGINT, before)
