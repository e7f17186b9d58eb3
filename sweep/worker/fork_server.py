"""The process that worker processes of this machine are forked from."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Mapping
from multiprocessing import connection, forkserver, popen_forkserver

import dask

from solver.catalogue import OURS

METHOD = "forkserver" if sys.platform == "linux" else "spawn"
"""How workers start. Elsewhere system libraries may not be used in a forked process."""

_SETTING = "distributed.worker.multiprocessing-method"
_IMPORTED_FIRST = ["sweep.worker.fork_server_garbage", "distributed.nanny", "sweep.worker.tasks"]

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


_read_exit_code = popen_forkserver.Popen.poll
_reading = threading.Lock()


def let_one_thread_read_each_exit_code() -> None:
    """Mend a race of Python: two threads that ask how a forked process ended may get 255.

    The fork server sends the exit code once. The thread of a nanny waits for it, and every start
    of another process asks for it, too; who comes second finds nothing and puts 255 in its place
    (github.com/python/cpython/issues/130895, open in Python 3.14).
    """
    popen_forkserver.Popen.poll = _poll  # type: ignore[assignment, method-assign]


def _poll(process: popen_forkserver.Popen, flag: int = os.WNOHANG) -> int | None:
    timeout = 0 if flag == os.WNOHANG else None
    if process.returncode is None and connection.wait([process.sentinel], timeout):
        with _reading:  # the process has ended, so this takes no time; the second finds the code
            _read_exit_code(process, os.WNOHANG)
    return process.returncode
