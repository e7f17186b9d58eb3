"""What a worker tells of a running search: what it has reached, and its state."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from typing import Any

from distributed import Worker

from solver.errors import InputError
from solver.monitor import Monitor, Peers, Snapshot
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from sweep.rows.result_rows import Cell, Checkpoint, checkpoint_at, of_part
from sweep.spec.requested_outputs import asks_path, shown_lam
from sweep.state_transfer.worker_side import STATE_FILES
from sweep.store.search_state_format import State, TooLargeError, read_state, size_of, write_state
from sweep.worker.exit_reasons import GUARDED
from sweep.worker.run_settings import Run
from sweep.worker.shard_messages import exchange
from sweep.worker.state_pace import Pace
from sweep.worker.stop_requests import is_divided, is_given_up, is_stopped
from sweep.worker.worker_watchdogs import GUARD, TIME_GUARD

WORTH = 5.0
"""Seconds below which it is cheaper to repeat a search than to keep its state."""

WANTED = "wanted"
"""The kind of the event by which a worker asks for the state of a search that it begins."""

_LAST_WORDS_SECONDS = 3.0
"""The longest wait of a process that is to end for the scheduler to hear why."""


class Keeper:
    """Follows the search of one cell and sends what is worth keeping to the driver.

    Parameters
    ----------
    run : Run
    cell : Cell
    worker : Worker or None
        None outside of a cluster: nothing is sent then.
    """

    def __init__(self, run: Run, cell: Cell, worker: Worker | None) -> None:
        self._run, self._cell, self._worker = run, cell, worker
        self._pace = Pace()
        self._told = 0.0
        self._last: Snapshot | None = None
        self._token: str | None = None
        self._offered = -1
        self._is_last = False
        self._gave_up = cell.question is None or worker is None
        self._from_state = False
        self._solved: Callable[[], str] | None = None
        if worker is not None:
            STATE_FILES.open(worker, run.name)

    def monitor(self) -> Monitor:
        """How the search is followed and stopped."""
        name, key, parts = self._run.name, self._cell.key, self._cell.parts
        return Monitor(
            lambda: is_stopped(name) or is_given_up(name, key) or is_divided(name, key, parts),
            self._snapshot,
            self._run.checkpoint_seconds,
        )

    def on_time(self, seconds: float | None) -> AbstractContextManager[None]:
        """Guard a search with N seconds left; the driver is told before the end."""
        cell = self._cell
        before = cell.checkpoint.spent if cell.checkpoint else cell.spent

        def report(ran: float) -> None:
            why = f"it ran {before + ran:.0f} s, its limit is {cell.limits['seconds']:g} s"
            self._tell_guarded(why, is_final=True)

        return TIME_GUARD.limit(seconds, self._run.grace, report)

    def in_memory(self, limit: int | None) -> AbstractContextManager[None]:
        """Guard a task that may take so many bytes; the driver is told before the end."""

        def report(used: int) -> None:
            why = f"it used {_mib(used)} of memory and the memory limit is {_mib(limit or 0)}"
            self._tell_guarded(why, is_final=False)

        return GUARD.limit(limit, report)

    def _tell_guarded(self, why: str, is_final: bool) -> None:
        """Tell the driver and wait until the scheduler has it: the process ends after this."""
        if (worker := self._worker) is None:
            return
        told = {"task": self._cell.key, "why": why, "is_final": is_final}
        event = {"kind": GUARDED, "worker": worker.address, **told}
        heard = threading.Event()

        async def tell() -> None:
            with suppress(OSError):  # then the exit code tells less
                await worker.scheduler.log_event(topic=self._run.name, msg=event)
            heard.set()

        worker.loop.add_callback(tell)
        heard.wait(_LAST_WORDS_SECONDS)

    def peers(self, problem: Problem) -> AbstractContextManager[Peers | None]:
        """What other shards of the task tell while this one runs."""
        address = None if self._worker is None else self._worker.address
        return exchange(self._run.name, self._cell, problem, address, self.send)

    def follow_path(self, solved: Callable[[], str]) -> None:
        """Keep what is solved of a λ-path with each checkpoint.

        Parameters
        ----------
        solved : callable
            Gives it, see :func:`sweep.rows.path_checkpoint.dump_solves`.
        """
        self._solved = solved

    def note(self, what: str) -> None:
        """Tell something about this search that is worth a line."""
        cell = self._cell
        label = shown_lam(cell.lam_label, cell.options)
        self.send("note", text=f"a search of {cell.solver!r} (λ = {label}): {what}")

    def send(self, kind: str, **content: Any) -> None:
        """Tell the driver."""
        if self._worker is not None:
            message = {"kind": kind, "key": self._cell.key, **content}
            self._worker.log_event(self._run.name, message)

    # The state that the driver sends

    def received(self) -> State | None:
        """The state to go on from; None if there is none, or none that is of use."""
        token = self._cell.state
        if token is None:
            return None
        if self._worker is not None:
            self.send(WANTED, token=token, address=self._worker.address)
        path = STATE_FILES.wait_for(token, lambda: is_stopped(self._run.name))
        if path is None:
            return None
        try:
            state, _ = read_state(path, self._cell.identity)
        except (InputError, FileNotFoundError) as error:
            self.reject(str(error))
            return None
        finally:
            STATE_FILES.discard(token)
        self._from_state = True
        return state

    def reject(self, why: str) -> None:
        """Tell that a state is of no use: the search begins with the best tree instead, a path
        anew."""
        self._from_state = False
        is_path = asks_path(self._cell.options)
        again = "a λ-path begins anew" if is_path else "a search begins again from its best tree"
        self.send("bad-state", text=f"{again}: {why}")

    def resumed(self) -> bool:
        """Whether the search goes on from a state."""
        return self._from_state

    # What the search has reached

    def _snapshot(self, seen: Snapshot) -> None:
        self._last = seen
        if seen.lam is not None and is_stopped(self._run.name):
            self._keep_last(seen)
        # A solver's last snapshot comes at any time; what it says is in the row as well.
        if seen.seconds - self._told < 0.9 * self._run.checkpoint_seconds:
            return
        self._told = seen.seconds
        reached = self._reached(seen)
        self.send("snapshot", checkpoint=asdict(reached))
        if seen.state is None or self._gave_up:
            return
        if self._token is not None and STATE_FILES.path(self._token).exists():
            return  # the driver has not fetched the one before
        if not self._pace.may_allow(seen.seconds):
            return
        began = time.perf_counter()
        state = seen.state()
        if self._pace.allows(size_of(state), seen.seconds):
            self._offer(state, reached)
            self._offered = seen.iterations
            self._pace.wrote(size_of(state), time.perf_counter() - began)

    def _keep_last(self, seen: Snapshot) -> None:
        """Offer the state of a path that is stopped now: only this moment can it be had."""
        if seen.state is None or self._gave_up or self._is_last or not self._is_worth(seen.seconds):
            return
        old = self._token
        self._offer(seen.state(), self._reached(seen))
        self._is_last = not self._gave_up
        if old is not None:
            STATE_FILES.discard(old)

    def _is_worth(self, seconds: float) -> bool:
        return seconds >= min(WORTH, self._run.checkpoint_seconds)

    def _reached(self, seen: Snapshot) -> Checkpoint:
        solved = None if self._solved is None else self._solved()
        cell = self._cell
        reached = checkpoint_at(seen, cell.key, cell.checkpoint, self._from_state, solved)
        return reached if cell.shard is None else of_part(reached)

    def end(self, solution: Solution) -> None:
        """Offer the last state of a search that could go on, given a larger limit."""
        last, old = self._last, self._token
        if self._is_last or (old is not None and self._offered == solution.iterations):
            return  # it is the last one
        could_go_on = solution.status.is_limit or (
            solution.status is Status.STOPPED and self._solved is None
        )
        if could_go_on and last is not None and last.state is not None and not self._gave_up:
            # Only the last moment of the search: its arrays may have changed since any other.
            if self._is_worth(solution.seconds) and last.iterations == solution.iterations:
                self._offer(last.state(), self._reached(last))
        if old is not None:
            STATE_FILES.discard(old)

    def _offer(self, state: State, reached: Checkpoint) -> None:
        """Write a state for the driver to fetch."""
        assert self._worker is not None
        token = f"{self._run.name}-{uuid.uuid4().hex}"  # no other worker's
        path = STATE_FILES.path(token)
        try:
            write_state(
                path,
                state,
                self._cell.identity,
                asdict(reached),
                most=self._run.largest_state,
                durable=False,
            )
        except TooLargeError:
            self._give_up(f"it would take more than {_mib(self._run.largest_state)}")
            return
        except InputError as error:
            self._give_up(str(error))
            return
        self._token = token
        size, address = path.stat().st_size, self._worker.address
        content = {"size": size, "address": address, "iterations": reached.iterations}
        self.send("state", token=token, **content)

    def _give_up(self, why: str) -> None:
        self._gave_up = True
        cell = self._cell
        label, is_path = shown_lam(cell.lam_label, cell.options), asks_path(cell.options)
        left = "what it has solved" if is_path else "its best tree and bound"
        self.send(
            "note",
            text=f"the state of a search of {cell.solver!r} (λ = {label}) is not kept, only "
            f"{left}: {why}",
        )


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
