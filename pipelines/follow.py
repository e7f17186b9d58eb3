"""Showing the progress of a sweep whose driver is another process, maybe far away."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pipelines.progress import make_display
from sweep.events import Progress
from sweep.lock import is_live, read_life
from sweep.store import read_manifest

_INTERVAL = 1.0


def follow_sweep(place: Path) -> None:
    """Show on stderr what the driver of a folder says of itself, until none is at work.

    Raises
    ------
    InputError
        If it is no sweep's folder.
    """
    with make_display(read_manifest(place)["sweep"], sys.stderr) as display:
        while is_live(place):
            life = read_life(place)
            if life is not None and life.numbers:
                display.progress(Progress(**life.numbers))
            time.sleep(_INTERVAL)
