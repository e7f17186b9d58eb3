"""Ports for the servers of tests."""

from __future__ import annotations

import random
import socket
from contextlib import suppress
from pathlib import Path

_CHOICE = random.SystemRandom()


def free_port() -> int:
    """A port of this machine that a server may listen on, a moment later.

    None of those that the kernel gives to whoever connects to a server: a test beside this one
    could be given it meanwhile.
    """
    given = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    low, high = 10_000, int(given[0])
    if high - low < 1000:
        low, high = 1024, 65_536
    while True:
        port = _CHOICE.randrange(low, high)
        with socket.socket() as taken, suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port


def listens(port: int) -> bool:
    """Whether somebody of this machine listens at a port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
