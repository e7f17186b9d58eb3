"""Identify this machine and its processes, without a clock."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def machine() -> str:
    """Boot and PID namespace: equal for two processes that can see each other.

    It changes when the machine reboots, and differs between containers.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def began(pid: int) -> str | None:
    """The start time of a process in clock ticks of the kernel; None if it is dead.

    It tells a process from a later one with the same number.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _without_proc(pid)
    # The program's name in parentheses may contain anything.
    state, *fields = text.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]


def _without_proc(pid: int) -> str | None:
    with suppress(OSError):
        os.kill(pid, 0)
        return "living"
    return None
