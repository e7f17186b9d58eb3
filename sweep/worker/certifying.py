"""What a worker does once a search has ended: a certificate of what was proven."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, replace
from typing import Any, cast

from solver.base import Solver
from solver.limits import Limits
from solver.path.path import Path
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from sweep.rows.result_rows import Cell
from sweep.rows.schema import PROOF_CONTENT
from sweep.spec.requested_outputs import asks_proof
from sweep.store.certificate_files import Certifier, claims_of, relative_path, to_bytes
from sweep.worker.checkpointing import Keeper


@dataclass(frozen=True)
class Found:
    """What a search has found; of a λ-path also the path, the solution is at its least λ then."""

    solution: Solution
    path: Path | None


@dataclass(frozen=True)
class Proof:
    """A certificate on its way to the store, or why there is none.

    Parameters
    ----------
    content : bytes or None
        The file.
    seconds : float
        What it took.
    why : str or None
        There is none.
    stopped : bool
        Whether the run was stopped meanwhile: the search has ended, the certificate is to be made.
    """

    content: bytes | None
    seconds: float
    why: str | None = None
    stopped: bool = False

    def columns(self, key: str) -> dict[str, Any]:
        """The columns of the row, and the file's content."""
        if self.content is None:
            return {"error": self.why}
        return {
            "proof": relative_path(key),
            "proof_bytes": len(self.content),
            "proof_seconds": self.seconds,
            PROOF_CONTENT: self.content,
        }


def prove(
    solver: Solver, problem: Problem, found: Found, limits: Limits, cell: Cell, keeper: Keeper
) -> Proof | None:
    """The certificate of what a search has proven; None if none is asked for or nothing is proven.

    What goes wrong here must not lose what the search has found: it is told instead. The limit of
    seconds is one of the search, so it does not hold here.
    """
    if not asks_proof(cell.options) or found.solution.status is Status.STOPPED:
        return None
    claims = claims_of(found.solution, found.path)
    if not claims:
        return None
    began, monitor = time.perf_counter(), keeper.monitor()
    try:
        certifier = cast(Certifier, solver)
        quiet = replace(monitor, snapshot=None)
        certificate = certifier.certify(problem, claims, replace(limits, seconds=None), quiet)
        if monitor.stop():
            return Proof(None, 0.0, stopped=True)
        return Proof(to_bytes(certificate), time.perf_counter() - began)
    except Exception as error:
        if monitor.stop():
            return Proof(None, 0.0, stopped=True)
        keeper.note(f"it has no certificate: {type(error).__name__}: {error}")
        return Proof(None, 0.0, f"there is no certificate: {traceback.format_exc()}")
