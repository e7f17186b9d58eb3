"""The encodings and solvers that ``auto`` stands for: they depend on the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from solver.catalogue import DEPTH, SOLVERS, choose_solver
from solver.encodings import ENCODINGS
from solver.encodings.auto_encoding import AUTO, choose_encoding
from sweep.datasets import Dataset
from sweep.spec.spec import Choice


class Pairs(NamedTuple):
    """An encoding, and the solvers that are to take it."""

    encoding: Choice
    solvers: list[Choice]


def settle(
    encodings: Sequence[Choice], solvers: Sequence[Choice], dataset: Dataset, seed: int
) -> list[Pairs]:
    """Every encoding of a dataset with its solvers, each pair once; none of them is ``auto``.

    An encoding that is to be chosen may be another one for each solver. ``seed`` is the sweep's.
    """
    found: dict[str, Pairs] = {}
    for encoding in encodings:
        if encoding.name != AUTO and all(solver.name != AUTO for solver in solvers):
            pairs = [(encoding, solver) for solver in solvers]
        else:
            pairs = [*_chosen(encoding, solvers, dataset, seed)]
        for chosen, solver in pairs:
            known = found.setdefault(repr(chosen), Pairs(chosen, [])).solvers
            if solver not in known:
                known.append(solver)
    return [*found.values()]


def _chosen(
    encoding: Choice, solvers: Sequence[Choice], dataset: Dataset, seed: int
) -> Iterator[tuple[Choice, Choice]]:
    for given in solvers:
        solver = given
        if given.name == AUTO:
            kind = "binary" if encoding.name == AUTO else ENCODINGS[encoding.name].feature_kind
            solver = _with_defaults(given, choose_solver(kind, dataset.task).name, seed)
        if encoding.name != AUTO:
            yield encoding, solver
            continue
        cuts = "continuous" in SOLVERS[solver.name].capabilities.features
        name, options = choose_encoding(dataset.features, dataset.columns, cuts_numbers=cuts)
        yield Choice(name, ENCODINGS[name].check_options(options), {}), solver


def _with_defaults(given: Choice, name: str, seed: int) -> Choice:
    """The chosen solver, with the limits and requests of the entry that says ``auto``."""
    kind, limits = SOLVERS[name], dict(given.limits)
    options: dict[str, Any] = {"seed": seed} if "seed" in kind.options else {}
    if "depth" in kind.capabilities.needs:
        limits.setdefault("depth", DEPTH)
    own = {**kind.check_options(options), **given.options}
    return replace(given, name=name, options=own, limits=limits)
