"""Figure 2 of the Quant-BnB paper next to ours: test losses relative to those of optimal trees."""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np
import pandas as pd

from solver.solution import Status

HEURISTICS = ("cart", "tao")
PRINTED = {(2, "cart"): "> 66 %", (2, "tao"): "> 66 %", (3, "cart"): "most", (3, "tao"): "most"}
"""By depth and heuristic: on how many of the paper's 27 sets the optimal tree loses less."""


def relative_losses(results: pd.DataFrame) -> pd.DataFrame:
    """(L_C − L_Q) / L_Q for each dataset, limit on depth and heuristic C.

    L is the loss on the test rows, the share of errors or the squared error; Q is ``quantbnb``. A
    dataset where L_Q is 0 has no line.

    Parameters
    ----------
    results : DataFrame
        From :func:`sweep.store.read_results.read_results`.

    Returns
    -------
    DataFrame
        Columns ``dataset``, ``depth``, ``solver``, ``relative``, and ``proven`` of Q.
    """
    squares = results["test_rmse"].astype(float) ** 2
    runs = results.assign(
        loss=results["test_errors"].astype(float).fillna(squares),
        limit=[json.loads(limits).get("depth") for limits in results["limits"]],
        proven=results["status"] == Status.OPTIMAL.value,
    )[["dataset", "limit", "solver", "loss", "proven"]].dropna()
    best = runs[(runs["solver"] == "quantbnb") & (runs["loss"] > 0)]
    found = runs[runs["solver"].isin(HEURISTICS)].merge(
        best, on=["dataset", "limit"], suffixes=("", "_best")
    )
    return pd.DataFrame(
        {
            "dataset": found["dataset"],
            "depth": found["limit"].astype(int),
            "solver": found["solver"],
            "relative": found["loss"] / found["loss_best"] - 1,
            "proven": found["proven_best"],
        }
    )


def compare_losses(results: pd.DataFrame) -> pd.DataFrame:
    """The relative losses, a line for each dataset, and on how many sets the optimal tree is
    better; a star says that it is not proven to be optimal."""
    found = relative_losses(results)
    columns = {
        key: found[(found["depth"] == key[0]) & (found["solver"] == key[1])] for key in PRINTED
    }
    lines = []
    for dataset in found["dataset"].unique():
        cells = {key: own[own["dataset"] == dataset] for key, own in columns.items()}
        lines.append([dataset, *(_cell(cells[key]) for key in PRINTED)])
    lines.append(["optimal tree better", *(_better(own["relative"]) for own in columns.values())])
    lines.append(["printed", *PRINTED.values()])
    heads = [f"{solver}, depth {depth}" for depth, solver in PRINTED]
    return pd.DataFrame(lines, columns=["dataset", *heads])


def _cell(runs: pd.DataFrame) -> str:
    pairs = zip(runs["relative"].tolist(), runs["proven"].tolist(), strict=True)
    return "".join(f"{100 * own:+.1f} %{'' if proven else ' *'}" for own, proven in pairs)


def _better(relative: Iterable[float]) -> str:
    signs = np.sign(list(relative))
    return f"{(signs > 0).sum()} of {len(signs)}, worse on {(signs < 0).sum()}"
