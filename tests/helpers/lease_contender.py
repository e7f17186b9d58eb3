"""A process that asks for a store's lease, and says what it gets.

``python -m tests.helpers.lease_contender PLACE MACHINE STALE`` prints ``held`` or ``refused …``.
Then, for each line it reads, it writes a file of that name under ``log`` as a driver would, and
prints ``wrote`` or ``lost``.

``python -m tests.helpers.lease_contender rounds PLACE MACHINE NUMBER`` asks twenty times, each time
at the same moment as the processes of the other numbers from 0 to 2, and prints ``held`` or
``refused`` for each.
"""

from __future__ import annotations

import sys
import time

from solver.errors import InputError
from sweep.filesystem import Folder, open_folder
from sweep.store import lease


def rounds(place: str, machine: str, number: int) -> None:
    if machine != "here":
        lease.machine = lambda: f"{machine}-{number}"  # type: ignore[assignment]
    lease.BEAT, lease._LOOK = 0.1, 0.02
    folder = open_folder(place)
    for count in range(20):
        meet(folder, f"meet/{count}-before", number)
        own = lease.Lease(folder)
        try:
            own.acquire()
            print("held", flush=True)
        except InputError as error:
            is_refused = "is working on" in str(error)
            print("refused" if is_refused else f"{error}".replace(" ", "_"), flush=True)
        meet(folder, f"meet/{count}-after", number)
        own.release()


def meet(folder: Folder, under: str, number: int) -> None:
    """Wait for the other two."""
    folder.write(f"{under}/{number}", b"", durable=False)
    while len(folder.names(under)) < 3:
        time.sleep(0.001)


def main() -> None:
    if sys.argv[1] == "rounds":
        rounds(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    place, machine, stale = sys.argv[1:]
    if machine != "here":
        lease.machine = lambda: machine  # type: ignore[assignment]
    lease.STALE = float(stale)
    folder = open_folder(place)
    own = lease.Lease(folder, lambda text: print(f"told {text}", flush=True))
    try:
        own.acquire()
    except InputError as error:
        print(f"refused {error}", flush=True)
        return
    print("held", flush=True)
    for line in sys.stdin:
        try:
            own.check()
            folder.write(f"log/{line.strip()}", b"")
            print("wrote", flush=True)
        except lease.LostLeaseError as error:
            print(f"lost {error}", flush=True)
    own.release()


if __name__ == "__main__":
    main()
