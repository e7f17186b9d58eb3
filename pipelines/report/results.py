"""What a report is about: the rows of a sweep, named for people, and what its plan lacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pipelines.labels import telling_options
from pipelines.report import stairs
from solver.catalogue import SOLVERS
from solver.encodings import ENCODINGS
from solver.errors import InputError
from solver.solution import Status
from sweep.keys import BUDGETS
from sweep.planfile import read_plan
from sweep.results import latest, read_results

NO_VALIDATION = "null"


@dataclass(frozen=True)
class Results:
    """The rows of a sweep and what is missing.

    Parameters
    ----------
    name : str
        The sweep's.
    rows : DataFrame
        One row a planned task that has been run, with the store's columns and

        * ``encoding_label``, ``solver_label``: the name, with those options that tell it apart,
        * ``lam_key``: equal for what is one λ of the sweep; ``2/n`` is one λ over all folds,
        * ``lam_text``: λ as it is shown,
        * ``problem``: equal where objectives can be compared exactly, apart from λ,
        * ``ok``: whether the run gave a tree,
        * ``exact``: whether it is the run of a path cell, which stands for all λ from its own up.
    missing : DataFrame
        Planned tasks without a row, under the same names.
    impossible : DataFrame
        ``dataset``, ``encoding_label``, ``solver_label``, ``reason``, ``tasks``.
    planned : bool
        Whether the store says what was planned.
    unplanned : int
        Stored rows that belong to no task of the plan: another λ, limit or version of the data.
    datasets, encodings, solvers : tuple of str
        All names, in the order of the sweep's file.
    """

    name: str
    rows: pd.DataFrame
    missing: pd.DataFrame
    impossible: pd.DataFrame
    planned: bool
    unplanned: int
    datasets: tuple[str, ...]
    encodings: tuple[str, ...]
    solvers: tuple[str, ...]

    @property
    def ok(self) -> pd.DataFrame:
        """The rows with a tree."""
        return self.rows[self.rows["ok"]]

    @property
    def failed(self) -> pd.DataFrame:
        """The rows without one."""
        return self.rows[~self.rows["ok"]]

    @cached_property
    def at_grid(self) -> pd.DataFrame:
        """The rows for comparisons at equal λ: those of path cells at the λ of the others."""
        return stairs.at_grid(self.rows, self.missing)

    @property
    def n_impossible(self) -> int:
        """Number of cells that cannot be run."""
        return int(self.impossible["tasks"].sum())

    @property
    def validated(self) -> bool:
        """Whether any run was scored on held-out rows."""
        return bool(self.rows["test_accuracy"].notna().any())

    def sort(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table in the order of the sweep's file, λ from large to small."""
        ranks = {
            "dataset": {name: i for i, name in enumerate(self.datasets)},
            "encoding_label": {name: i for i, name in enumerate(self.encodings)},
            "solver_label": {name: i for i, name in enumerate(self.solvers)},
        }
        by = [c for c in ("dataset", "encoding_label", "lam", "solver_label") if c in frame]
        by += [c for c in ("repeat", "fold") if c in frame]
        down = [column != "lam" for column in by]
        return frame.sort_values(
            by, ascending=down, key=lambda c: c.map(ranks.get(str(c.name), {})) if c.name in ranks
            else c, kind="stable", ignore_index=True,
        )  # fmt: skip


def load_results(store: str | Path) -> Results:
    """Read a sweep's folder, finished or not.

    Raises
    ------
    InputError
        If it is no sweep's folder, or a file in it is damaged.
    """
    rows = read_results(store, every_run=True)
    try:
        plan = read_plan(store)
    except InputError:
        return label_results(latest(rows), None)
    return label_results(rows, plan)


def label_results(rows: pd.DataFrame, plan: pd.DataFrame | None) -> Results:
    """Name rows for people and compare them with the plan.

    Parameters
    ----------
    rows : DataFrame
        From :func:`sweep.results.read_results`.
    plan : DataFrame or None
        From :func:`sweep.planfile.read_plan`.
    """
    unplanned = 0
    rows = rows.assign(**{name: None for name in stairs.COLUMNS if name not in rows})
    if plan is None:
        wanted, tasks, missing = rows.iloc[:0], rows.copy(), rows.iloc[:0].copy()
        impossible = pd.DataFrame(columns=["dataset", "encoding", "encoding_options", "solver",
                                           "reason", "tasks"])  # fmt: skip
    else:
        wanted = plan[plan["key"].notna()]
        impossible = plan[plan["key"].isna()]
        tasks, missing = _match(rows, wanted)
        unplanned = len(rows.drop_duplicates("key")) - tasks["key"].nunique()
    everything = tasks if plan is None else plan
    solvers = _solver_labels(tasks, missing, plan is not None)
    encodings = _option_labels(everything["encoding"], everything["encoding_options"])
    tasks, missing = (_labelled(part, encodings, solvers) for part in (tasks, missing))
    impossible = impossible.assign(
        encoding_label=[
            encodings[pair]
            for pair in zip(impossible["encoding"], impossible["encoding_options"], strict=True)
        ],
        solver_label=impossible["solver"],
    )[["dataset", "encoding_label", "solver_label", "reason", "tasks"]]
    if plan is None:
        orders: list[Mapping[str, Any] | None] = [{}, ENCODINGS, SOLVERS]
        ordered = tasks
    else:
        orders = [None, None, None]
        ordered = _labelled(wanted, encodings, solvers)
    parts = [ordered, impossible]
    return Results(
        name=str(rows["sweep"].iloc[-1]) if len(rows) else "sweep",
        rows=tasks.reset_index(drop=True),
        missing=missing.reset_index(drop=True),
        impossible=impossible.reset_index(drop=True),
        planned=plan is not None,
        unplanned=unplanned,
        datasets=_names(_all(parts, "dataset"), orders[0]),
        encodings=_names(_all(parts, "encoding_label"), orders[1]),
        solvers=_names(_all(parts, "solver_label"), orders[2]),
    )


def _match(rows: pd.DataFrame, wanted: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The row of every planned task, and the tasks without one.

    A task takes the limits of the plan: its row may stem from a run under smaller ones that it
    did not need.
    """
    last = rows.sort_values("attempt", kind="stable").drop_duplicates("key", keep="last")
    last = last.set_index("key", drop=False)
    own = wanted["key"].isin(last.index)
    key = wanted["key"].where(own, wanted["answered_by"])
    known = key.isin(last.index)
    found = last.loc[key[known]].reset_index(drop=True)
    found["limits"] = wanted.loc[known, "limits"].to_numpy()
    return found, wanted[~known]


def _all(parts: list[pd.DataFrame], column: str) -> pd.Series[Any]:
    return pd.concat([part[column].astype(object) for part in parts], ignore_index=True)


def _names(values: pd.Series[Any], catalogue: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Each name once: as they come, or in the order of a catalogue and then of the alphabet."""
    names = [str(name) for name in dict.fromkeys(values.dropna())]
    if catalogue is None:
        return tuple(names)
    rank = {name: i for i, name in enumerate(catalogue)}
    return tuple(sorted(names, key=lambda n: (rank.get(n.split(" (")[0], len(rank)), n)))


def _options(text: Any) -> dict[str, Any]:
    return dict(json.loads(text)) if isinstance(text, str) and text else {}


def _telling(names: list[str], options: list[dict[str, Any]]) -> list[str]:
    """Each name with the options that tell it from its namesakes."""
    labels = []
    for name, own in zip(names, options, strict=True):
        namesakes = [o for n, o in zip(names, options, strict=True) if n == name]
        words = telling_options(name, own, namesakes)
        labels.append(f"{name} ({', '.join(words)})" if words else name)
    return labels


def _option_labels(names: pd.Series[Any], options: pd.Series[Any]) -> dict[tuple[Any, Any], str]:
    pairs = list(dict.fromkeys(zip(names, options, strict=True)))
    labels = _telling([str(name) for name, _ in pairs], [_options(text) for _, text in pairs])
    return dict(zip(pairs, labels, strict=True))


def _solver_labels(
    tasks: pd.DataFrame, missing: pd.DataFrame, planned: bool
) -> dict[tuple[Any, Any, Any], str]:
    """Labels by solver, options and limits. Without a plan, budgets may be left from history."""
    both = pd.concat(
        [part[["solver", "solver_options", "limits"]].astype(object) for part in (tasks, missing)]
    ).drop_duplicates()
    triples = [*both.itertuples(index=False, name=None)]
    settings = []
    for _, options, limits in triples:
        kept = {k: v for k, v in _options(limits).items() if planned or k not in BUDGETS}
        settings.append({**_options(options), **kept})
    unique = list(
        {(t[0], json.dumps(s, sort_keys=True)): s for t, s in zip(triples, settings, strict=True)}
        .items()
    )  # fmt: skip
    words = _telling([str(key[0]) for key, _ in unique], [s for _, s in unique])
    by_setting = {key: word for (key, _), word in zip(unique, words, strict=True)}
    return {
        triple: by_setting[triple[0], json.dumps(setting, sort_keys=True)]
        for triple, setting in zip(triples, settings, strict=True)
    }


def _labelled(
    frame: pd.DataFrame,
    encodings: dict[tuple[Any, Any], str],
    solvers: dict[tuple[Any, Any, Any], str],
) -> pd.DataFrame:
    pairs = zip(frame["encoding"], frame["encoding_options"], strict=True)
    triples = zip(frame["solver"], frame["solver_options"], frame["limits"], strict=True)
    per_row = frame["lam_label"].str.endswith("/n").fillna(False).astype(bool)
    key = frame["lam_exact"].where(~per_row, frame["lam_label"])
    first = frame.assign(key=key).drop_duplicates("key").set_index("key")["lam_label"]
    asking = {text: stairs.asks_for_path(text) for text in frame["solver_options"].unique()}
    exact = frame["solver_options"].map(asking).astype(bool)
    if "status" in frame:
        good = {status.value for status in Status if status.has_tree}
        frame = frame.assign(ok=frame["status"].isin(good))
        # A row without its path, whatever the reason, is one of its λ only.
        exact &= frame["path"].notna() | ~frame["ok"]
    added: dict[str, Any] = {
        "exact": exact,
        "encoding_label": [encodings[pair] for pair in pairs],
        "solver_label": [solvers[triple] for triple in triples],
        "lam_key": key,
        "lam_text": key.map(first).where(~exact, "path from " + key.map(first)),
    }
    if "status" in frame:
        shapes = {text: _shape(text) for text in frame["limits"].unique()}
        columns = ["dataset", "data_hash", "encoding", "encoding_options", "validation"]
        # str() of each value: a missing fold has to be a text as well.
        parts = [frame[name].astype(object).map(str) for name in [*columns, "repeat", "fold"]]
        parts.append(frame["limits"].map(shapes))
        added["problem"] = ["\x1f".join(row) for row in zip(*parts, strict=True)]
    return frame.assign(**added)


def _shape(limits: str) -> str:
    """The limits that change which trees are allowed."""
    kept = {k: v for k, v in _options(limits).items() if k not in BUDGETS}
    return json.dumps(kept, sort_keys=True)
