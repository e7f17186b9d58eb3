"""Drivers as forks of a process that has imported everything: importing it takes them seconds.

The process is started once for all drivers of a test session. It has one thread, forks on request,
and tells how its children end; it ends with the session.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from functools import cache
from typing import Any

import dask

from tests.helpers import ROOT, environment


class ForkedDriver(subprocess.Popen[str]):
    """``python -m tests.helpers.driver_process ARGUMENTS`` in a session of its own."""

    def __init__(self, arguments: list[str], env: dict[str, str], cwd: str) -> None:
        super().__init__(
            arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            cwd=cwd,
        )

    def _execute_child(self, *terms: Any) -> None:
        """Called by ``Popen`` with the pipes that it has made."""
        arguments, cwd, env = terms[0], terms[5], terms[6]
        self._end, told = os.pipe()
        request = json.dumps([arguments, env, cwd]).encode()
        server, _ = _server()
        socket.send_fds(server, [len(request).to_bytes(8, "big")], [terms[13], terms[15], told])
        server.sendall(request)
        os.close(told)
        self._close_pipe_fds(*terms[10:16])  # type: ignore[attr-defined]
        self.pid = int.from_bytes(server.recv(8, socket.MSG_WAITALL), "big")
        self._child_created = True

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        """As ``os.waitpid``: the server says through a pipe how the driver ended."""
        os.set_blocking(self._end, not wait_flags & os.WNOHANG)
        try:
            status = os.read(self._end, 8)
        except BlockingIOError:
            return 0, 0
        assert status, "the process that drivers are forked from has ended"
        os.close(self._end)
        return self.pid, int.from_bytes(status, "big")

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self._handle_exitstatus(status)  # type: ignore[attr-defined]
        return self.returncode


@cache
def _server() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start the process that drivers are forked from."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.forked_driver", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            env=environment(),
            start_new_session=True,  # Ctrl-C is for those who ask
        )
    return ours, process


def _serve(server: socket.socket) -> None:
    """Fork a driver for each request; returns in a driver, when it is set up."""
    ends: dict[int, int] = {}  # pipes, by the process whose end they tell
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    while True:
        ready = select.select([server, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 1000)
            _tell_ends(ends)
        if server not in ready:
            continue
        head, numbers, _, _ = socket.recv_fds(server, 8, 3)
        if not head:  # the session has ended
            sys.exit()
        *streams, end = numbers
        request = server.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            server.close()
            _begin(*json.loads(request), streams)
            for number in (woken, wake, end, *streams, *ends.values()):
                os.close(number)
            return
        ends[pid] = end
        for number in streams:
            os.close(number)
        server.sendall(pid.to_bytes(8, "big"))


def _tell_ends(ends: dict[int, int]) -> None:
    for asked in [*ends]:
        pid, status = os.waitpid(asked, os.WNOHANG)
        if pid:
            end = ends.pop(pid)
            os.write(end, status.to_bytes(8, "big"))
            os.close(end)


def _begin(arguments: list[str], env: dict[str, str], cwd: str, streams: list[int]) -> None:
    """Be what a new process would be."""
    os.setsid()
    for number, stream in enumerate(streams, 1):
        os.dup2(stream, number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    dask.config.refresh()
    sys.argv[1:] = arguments


IMPORTED = ("distributed.nanny", "sweep.worker.tasks", "sweep.graph.engine", "sweep.spec.spec")
"""What a driver imports, but for what reads its environment."""

if __name__ == "__main__":
    for name in IMPORTED:
        importlib.import_module(name)
    _serve(socket.socket(fileno=int(sys.argv[1])))
    from tests.helpers import driver_process

    sys.exit(driver_process.main())
