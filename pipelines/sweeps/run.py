"""Run a sweep from a program or a notebook."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import PurePath
from typing import Any

from pipelines.progress.display import make_display
from pipelines.progress.notebook import NotebookDisplay
from pipelines.sweeps.results import SweepResults, read_results
from solver.errors import InputError
from solver.verbose import is_notebook
from sweep.clusters import Cluster, load_cluster
from sweep.clusters.main_guard import leave_if_imported
from sweep.events import Listener, Silent
from sweep.filesystem import Place
from sweep.graph import engine
from sweep.spec.python_spec import as_sweep
from sweep.spec.spec import SweepFile
from sweep.store.store import stored_sweep
from sweep.store.sweep_status import SweepStatus, sweep_status


def run_sweep(
    spec: SweepFile | Mapping[str, Any] | str | PurePath,
    out: Place | None = None,
    cluster: Cluster | str | PurePath | None = None,
    *,
    progress: bool = True,
    listener: Listener | None = None,
) -> SweepResults:
    """Run all tasks of a sweep that have no result in its folder yet.

    The first Ctrl-C stops the running searches and keeps what they have found; the second one ends
    the process at once. After either, :func:`resume_sweep` can continue. In a program, but not in a
    notebook, put the call under ``if __name__ == "__main__":``.

    Parameters
    ----------
    spec : dict, str, Path or SweepFile
        A dict with the keys of the YAML, the path of a YAML file, or the result of ``load_spec`` or
        ``parse_spec``. Relative paths in a dict start at the current directory.
    out : str or Path, optional
        The sweep's folder, or ``s3://bucket/prefix``; by default ``results/NAME``.
    cluster : Cluster, str or Path, optional
        ``treesweep.Local(workers=2)``, or the path of a ``cluster.yaml``; by default one worker
        for each core of this machine.
    progress : bool
        Whether to show the progress: a bar in a notebook and on a terminal, else a line every few
        seconds on stderr.
    listener : Listener, optional
        Receives all events; then no progress is shown.

    Returns
    -------
    SweepResults
        Its ``outcome`` says how the run ended.

    Raises
    ------
    InputError
        If anything about the sweep, the folder or the cluster is wrong; nothing has been run then.
        The message names the place in the dict, or the file and the line.

    Examples
    --------
    >>> import treesweep
    >>> spec = {"name": "first", "datasets": "monks-1", "encodings": "onehot",
    ...         "lambdas": [0.05, 0.02], "solvers": ["branches", "cart"],
    ...         "validation": {"kind": "kfold", "folds": 2}}
    >>> results = treesweep.run_sweep(spec, progress=False)
    >>> results.outcome.total, results.outcome.failed
    (8, 0)
    >>> print(treesweep.export_text(results.best().tree))
    a5 ≠ 1
    |   a1 ≠ 1
    |   |   a1 ≠ 2
    |   |   |   a2 ≠ 3: 0 (72 rows)
    |   |   |   a2 = 3: 1 (36 rows)
    |   |   a1 = 2
    |   |   |   a2 ≠ 2: 0 (72 rows)
    |   |   |   a2 = 2: 1 (36 rows)
    |   a1 = 1
    |   |   a2 ≠ 1: 0 (72 rows)
    |   |   a2 = 1: 1 (36 rows)
    a5 = 1: 1 (108 rows)
    """
    leave_if_imported()
    sweep = as_sweep(spec)
    place = f"results/{sweep.spec.name}" if out is None else out
    return _run(sweep, place, cluster, progress, listener)


def resume_sweep(
    out: Place,
    cluster: Cluster | str | PurePath | None = None,
    *,
    progress: bool = True,
    listener: Listener | None = None,
) -> SweepResults:
    """Continue the sweep of a folder. Arguments and result are those of :func:`run_sweep`.

    Examples
    --------
    >>> import treesweep
    >>> results = treesweep.resume_sweep("results/first", progress=False)
    >>> results.outcome.answered, results.outcome.ran
    (8, 0)
    """
    leave_if_imported()
    return _run(stored_sweep(out), out, cluster, progress, listener)


def status(path: Place) -> SweepStatus:
    """The progress of a sweep, running or not. Raises InputError if there is no sweep in ``path``.

    Examples
    --------
    >>> import treesweep
    >>> now = treesweep.status("results/first")
    >>> now.done, now.total
    (8, 8)
    """
    return sweep_status(path)


def _run(
    sweep: SweepFile,
    out: Place,
    cluster: Cluster | str | PurePath | None,
    progress: bool,
    listener: Listener | None,
) -> SweepResults:
    if isinstance(cluster, str | PurePath):
        cluster = load_cluster(str(cluster))
    if not (cluster is None or isinstance(cluster, Cluster)):
        raise InputError(
            f"a cluster is treesweep.Local(workers=2) or the path of a cluster.yaml, not "
            f"{cluster!r}"
        )
    shown = nullcontext(listener) if listener else _display(sweep.spec.name, progress)
    with shown as told:
        outcome = engine.run_sweep(sweep, out, cluster, listener=told)
    return read_results(out, outcome=outcome)


def _display(name: str, progress: bool) -> AbstractContextManager[Listener]:
    if not progress:
        return nullcontext(Silent())
    return NotebookDisplay(name) if is_notebook() else make_display(name, sys.stderr)
