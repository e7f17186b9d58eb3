"""Show the progress of a sweep that another process runs, maybe on another machine."""

from __future__ import annotations

import sys
import time

from pipelines.progress.display import make_display
from sweep.events import Progress
from sweep.filesystem import Place, open_folder
from sweep.store.lease import is_live, read_heartbeat
from sweep.store.store import read_manifest

_INTERVAL = 1.0


def follow_sweep(place: Place) -> None:
    """Show on stderr the progress of a folder's driver, until none is at work.

    Raises InputError if it is no sweep's folder.
    """
    folder = open_folder(place)
    with make_display(read_manifest(folder)["sweep"], sys.stderr) as display:
        while is_live(folder):
            heartbeat = read_heartbeat(folder)
            if heartbeat is not None and heartbeat.numbers:
                display.progress(Progress(**heartbeat.numbers))
            time.sleep(_INTERVAL)
