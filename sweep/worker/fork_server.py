"""The process that worker processes of this machine are forked from."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping
from multiprocessing import forkserver

import dask

from solver.catalogue import OURS

METHOD = "forkserver" if sys.platform == "linux" else "spawn"
"""How workers start. Elsewhere system libraries may not be used in a forked process."""

_SETTING = "distributed.worker.multiprocessing-method"
_IMPORTED_FIRST = ["distributed.nanny", "sweep.worker.tasks"]

SETTINGS: Mapping[str, str] = {_SETTING: METHOD}


def start_fork_server() -> None:
    """Start the process that workers are forked from, unless it runs already.

    It imports what workers need, once, and the solvers that this process has imported. A worker
    that starts by itself takes two seconds of a core to do so; a forked one has it, in memory that
    all workers share.
    """
    if dask.config.get(_SETTING) != "forkserver":
        return
    solvers = {where.rpartition(".")[0] for where in OURS.values()} & set(sys.modules)
    multiprocessing.get_context("forkserver").set_forkserver_preload([*_IMPORTED_FIRST, *solvers])
    # Libraries read variables such as OMP_NUM_THREADS when they are imported.
    wanted = dask.config.get("distributed.nanny.pre-spawn-environ")
    new = {k: str(v) for k, v in wanted.items() if v is not None and k not in os.environ}
    os.environ.update(new)
    try:
        forkserver.ensure_running()
    finally:
        for name in new:
            del os.environ[name]
