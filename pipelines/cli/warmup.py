"""The command ``treesweep warmup``: compile kernels."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor

import click

_GOOD_TREES = "rashomon"
"""The name of the search for good trees, which is no solver."""


@click.command()
@click.argument("solvers", nargs=-1, metavar="[SOLVER]...")
def warmup(solvers: tuple[str, ...]) -> None:
    """Compile the code of all searches, or of the named ones, so that no sweep waits for it.

    The search for good trees is called rashomon.
    """
    from solver import SOLVERS, get_solver
    from solver.external.base import ExternalSolver

    began = time.perf_counter()
    own = [name for name, kind in SOLVERS.items() if not issubclass(kind, ExternalSolver)]
    named = [name if name == _GOOD_TREES else get_solver(name).name for name in solvers]
    names = named or [*own, _GOOD_TREES]
    # The kernels of each search have a cache of their own, so that a core each can compile them.
    n_processes = min(len(names), os.cpu_count() or 1)
    with ProcessPoolExecutor(n_processes, multiprocessing.get_context("spawn")) as pool:
        for name, seconds in zip(names, pool.map(_warm_up, names), strict=True):
            click.echo(f"{name}: ready in {seconds:.1f} s")
    click.echo(f"Ready after {time.perf_counter() - began:.1f} s.")


def _warm_up(name: str) -> float:
    """Compile the kernels of a search; the seconds that it took."""
    from solver import SOLVERS
    from solver.rashomon import find_set

    start = time.perf_counter()
    search = find_set if name == _GOOD_TREES else SOLVERS[name]
    search.warm_up()
    return time.perf_counter() - start
