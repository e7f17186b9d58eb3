"""Which machine this is, and whether a process of it still lives; no clock is asked."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def machine() -> str:
    """Something that two processes have in common if each can see whether the other one lives.

    It changes when the machine is started anew, and differs between containers.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def began(pid: int) -> str | None:
    """When a process began, in the kernel's own count, so that a number that is used again is told
    from the process that had it; None if there is no such process, or it is dead."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _without_proc(pid)
    # The name, which stands in brackets, may hold anything.
    state, *fields = text.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]


def _without_proc(pid: int) -> str | None:
    with suppress(OSError):
        os.kill(pid, 0)
        return "living"
    return None
