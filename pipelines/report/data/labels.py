"""Readable labels of encodings, solvers and λ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pipelines.report.data import exact_paths
from pipelines.report.data.group_statistics import distinct, firsts, groups, labelled, spread
from pipelines.variant_labels import telling_options
from solver.solution import Status
from sweep.plan.task_keys import BUDGETS, allowed_trees
from sweep.spec.lambda_axis import SAME
from sweep.spec.requested_outputs import asked_rashomon

BASE = [
    "dataset", "data_hash", "encoding", "encoding_options", "validation", "repeat", "fold",
]  # fmt: skip
"""What a problem is beside the trees that are allowed."""


def _options(text: Any) -> dict[str, Any]:
    return dict(json.loads(text)) if isinstance(text, str) and text else {}


def _telling(names: list[str], options: list[dict[str, Any]]) -> list[str]:
    """Each name with the options that tell it from others of the same name."""
    labels = []
    for name, own in zip(names, options, strict=True):
        namesakes = [o for n, o in zip(names, options, strict=True) if n == name]
        words = telling_options(name, own, namesakes)
        labels.append(f"{name} ({', '.join(words)})" if words else name)
    return labels


def _distinct(frame: pd.DataFrame, columns: list[str]) -> list[tuple[Any, ...]]:
    """The distinct combinations of values, in the order in which they come."""
    return distinct(frame, columns, groups(frame, columns))


def label_encodings(frame: pd.DataFrame) -> dict[tuple[Any, Any], str]:
    """The label of each encoding with its options."""
    pairs = _distinct(frame, ["encoding", "encoding_options"])
    labels = _telling([str(name) for name, _ in pairs], [_options(text) for _, text in pairs])
    return {(name, text): label for (name, text), label in zip(pairs, labels, strict=True)}


def label_solvers(
    tasks: pd.DataFrame, missing: pd.DataFrame, planned: bool
) -> dict[tuple[Any, Any, Any], str]:
    """Labels by solver, options and limits. Without a plan, budgets do not tell rows apart."""
    columns = ["solver", "solver_options", "limits"]
    triples = list(dict.fromkeys(t for part in (tasks, missing) for t in _distinct(part, columns)))
    settings = []
    for _, options, limits in triples:
        kept = {k: v for k, v in _options(limits).items() if planned or k not in BUDGETS}
        settings.append({**_options(options), **kept})
    words = _telling([str(solver) for solver, _, _ in triples], settings)
    return {(a, b, c): word for (a, b, c), word in zip(triples, words, strict=True)}


def label_rows(
    frame: pd.DataFrame,
    encodings: Mapping[tuple[Any, Any], str],
    solvers: Mapping[tuple[Any, Any, Any], str],
) -> pd.DataFrame:
    """Rows or tasks with what :class:`pipelines.report.data.results.Results` adds to them."""
    added: dict[str, Any] = {
        "encoding_label": labelled(
            frame, ["encoding", "encoding_options"], lambda *pair: encodings[pair]
        ),
        "solver_label": labelled(
            frame, ["solver", "solver_options", "limits"], lambda *triple: solvers[triple]
        ),
    }
    exact = np.asarray(labelled(frame, ["solver_options"], exact_paths.asks_for_path), bool)
    if "status" in frame:
        frame = frame.assign(status=_tree_statuses(frame))
        good = {status.value for status in Status if status.has_tree}
        ok = frame["status"].isin(good).to_numpy()
        # A run without its path stands for its own λ only.
        exact &= frame["path"].notna().to_numpy() | ~ok
        added["ok"] = ok
        shape = frame.assign(shape=labelled(frame, ["limits", "solver_options"], _shape))
        added["problem"] = groups(shape, [*BASE, "shape"])
        added["tree_limits"] = labelled(frame, ["limits"], _tree_limits)
    return frame.assign(exact=exact, **added, **_lambdas(frame, exact))


def _tree_statuses(frame: pd.DataFrame) -> pd.Series[Any]:
    """How the searches for the trees ended: a limit may have ended only that for all good trees,
    which begins once the tree is proven."""
    asked = np.asarray(labelled(frame, ["solver_options"], _asks_rashomon), bool)
    proven = asked & (frame["gap_exact"] == "0").to_numpy(bool, na_value=False)
    if not proven.any():
        return frame["status"]
    return frame["status"].astype(object).mask(proven, Status.OPTIMAL.value)


def _asks_rashomon(options: Any) -> bool:
    return asked_rashomon(_options(options)) is not None


def _lambdas(frame: pd.DataFrame, exact: np.ndarray[Any, Any]) -> dict[str, Any]:
    """``lam_key``, equal for one λ of the sweep, and ``lam_text``, as it is shown."""
    names = ["lam_exact", "lam_label"]
    pairs = _distinct(frame, names)
    keys: list[str] = []
    shown: dict[str, str] = {}
    for value, label in pairs:
        per_row = isinstance(label, str) and label.endswith("/n") and SAME not in label
        keys.append(label if per_row else value)
        shown.setdefault(keys[-1], label)
    numbers = groups(frame, names)
    whole = groups(pd.DataFrame({"lam": numbers, "exact": exact}), ["lam", "exact"])
    texts = [
        f"path from {shown[keys[number]]}" if is_exact else shown[keys[number]]
        for number, is_exact in zip(numbers[firsts(whole)], exact[firsts(whole)], strict=True)
    ]
    return {"lam_key": spread(keys, numbers), "lam_text": spread(texts, whole)}


def at_each_name(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows or tasks from :func:`label_rows`; one whose λ has several names is repeated under each.
    In a fold of 10 training rows, 0.1 and 1/n are one task and a point of both."""
    several = np.asarray(labelled(frame, ["lam_label"], _has_several), bool)
    several &= ~frame["exact"].to_numpy(bool)
    if not several.any():
        return frame
    names = [
        str(label).split(SAME) if own else [label]
        for label, own in zip(frame["lam_label"], several, strict=True)
    ]
    found = frame.iloc[np.repeat(np.arange(len(frame)), [*map(len, names)])]
    found = found.assign(lam_label=[one for own in names for one in own]).reset_index(drop=True)
    return found.assign(**_lambdas(found, found["exact"].to_numpy(bool)))


def _has_several(label: Any) -> bool:
    return isinstance(label, str) and SAME in label


def _shape(limits: str, options: str) -> str:
    """The options and limits that determine which trees are allowed."""
    return json.dumps(allowed_trees(_options(limits), _options(options)), sort_keys=True)


def _tree_limits(limits: str) -> str:
    """The limits on the tree in words; empty without any."""
    return ", ".join(f"{k}: {v}" for k, v in allowed_trees(_options(limits), {}).items())
