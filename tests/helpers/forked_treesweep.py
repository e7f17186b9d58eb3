"""The command ``treesweep`` without its start: each is forked from a process that has imported it.

A command of the documentation takes a tenth of a second; to import what it needs, and to load the
kernels, takes from one to five. Else a forked command is like another: it has its own arguments,
folder, environment and streams, and ends as a program does. The drivers of tests are forked so,
too, see ``tests.helpers.drivers``.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

IMPORTED = (
    "distributed.nanny",
    "pipelines.cli",
    "pipelines.report.write",
    "pipelines.single_table.solve",
    "sweep.graph.engine",
    "sweep.verify.verify",
    "sweep.worker.tasks",
)


@contextmanager
def forked_treesweep(folder: Path, settings: dict[str, str]) -> Iterator[Path]:
    """A folder whose program ``treesweep`` is forked; it comes first in a PATH."""
    address = folder / "socket"
    program = folder / "treesweep"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{__file__}" "{address}" "$@"\n')
    program.chmod(0o755)
    read, write = os.pipe()
    # -P: modules of tests are not those of the command.
    command = [sys.executable, "-P", __file__, "--serve", str(address)]
    server = subprocess.Popen(
        command, env=settings, stdin=read, stdout=subprocess.PIPE, text=True, cwd=folder
    )
    os.close(read)
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        yield folder
    finally:
        os.close(write)
        server.wait()
        server.stdout.close()


def ask(address: str, arguments: list[str]) -> int:
    """Have a command run with this process's folder, environment and streams; its exit code."""
    request = {
        "arguments": arguments,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "group": os.getpgrp(),
    }
    with send_request(address, request, [0, 1, 2]) as connection:
        told = b"".join(iter(lambda: connection.recv(64), b"")).split()
    code = int(told[1]) if len(told) > 1 else 1
    return code if code >= 0 else 128 - code


def send_request(address: str, request: dict[str, Any], streams: list[int]) -> socket.socket:
    """Ask for a command; the connection on which its PID comes, and its exit code at its end."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(address)
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))]
        connection.sendmsg([b"+"], ancillary)
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
    except BaseException:
        connection.close()
        raise
    return connection


def start_server(command: list[str], settings: dict[str, str]) -> str:
    """The address of a process that forks others; the command's last word, and it ends with us."""
    folder = tempfile.TemporaryDirectory(prefix="treesweep-")
    address = os.path.join(folder.name, "socket")
    server = subprocess.Popen(
        [sys.executable, *command, address],
        env=settings,
        cwd=folder.name,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"

    def end() -> None:
        server.communicate()
        folder.cleanup()

    atexit.register(end)
    return address


def load() -> None:
    """Import what commands need, and load the kernels."""
    for name in IMPORTED:
        importlib.import_module(name)
    from solver.catalogue import OURS, SOLVERS

    for name in OURS:
        SOLVERS[name].warm_up()


def serve(address: str, name: str) -> None:
    """Fork a command for each request until the standard input ends; returns in each command."""
    gc.freeze()  # a collection would copy all of it into each command
    # Who ended is not waited for here; a command waits for its own.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(16)
        print("ready", flush=True)
        while True:
            asking, _, _ = select.select([listener, sys.stdin], [], [])
            if listener not in asking:
                os._exit(0)
            connection, _ = listener.accept()
            if os.fork() == 0:
                break
            connection.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
    command = os.fork()
    if command:
        for stream in streams:
            os.close(stream)
        code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
        with suppress(BrokenPipeError):
            connection.sendall(f"{code}\n".encode())
        os._exit(0)
    if request["group"] is None:
        os.setsid()
    else:  # one group with who asked: it ends with it
        os.setpgid(0, request["group"])
    connection.sendall(f"{os.getpid()}\n".encode())
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # What Python opens when it starts is bound to the streams that there were.
    sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [name, *request["arguments"]]


def end(code: int) -> None:
    """End as Python does, but without taking all modules apart, which takes a second."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        load()
        serve(sys.argv[2], "treesweep")
        try:
            importlib.import_module("pipelines.cli").main()
        except SystemExit as exit:
            end(exit.code if isinstance(exit.code, int) else exit.code is not None)
        end(0)
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
