"""The tables of the BRANCHES paper next to ours: 1 is computed, 2, 4 and 5 come of a sweep."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from solver.objective.exact_objective import as_lambda
from solver.solution import Status
from solver.theory.branches_complexity import corollary_4_5, osdt_bound

TABLE_1 = {
    ("0.1", 10): ("5.70e+04", "5.33e+06"),
    ("0.05", 10): ("3.94e+05", "5.61e+13"),
    ("0.01", 10): ("3.94e+05", "4.62e+50"),
    ("0.1", 15): ("5.80e+05", "1.13e+08"),
    ("0.05", 15): ("7.53e+07", "6.86e+16"),
    ("0.01", 15): ("1.43e+08", "3.55e+66"),
    ("0.1", 20): ("2.82e+06", "9.41e+08"),
    ("0.05", 20): ("3.01e+09", "8.36e+18"),
    ("0.01", 20): ("4.65e+10", "3.33e+76"),
}
"""By λ and features: the most branch evaluations of BRANCHES, and tree evaluations of OSDT."""


def complexity_bounds() -> pd.DataFrame:
    """Table 1: the printed bounds, and the same by Corollary 4.5 and Remark C.5."""
    return pd.DataFrame(
        {
            "λ": lam,
            "features": q,
            "BRANCHES, printed": branches,
            "found": f"{corollary_4_5(q, 2, Fraction(lam)):.2e}",
            "OSDT, printed": osdt,
            "found ": f"{osdt_bound(q, Fraction(lam)):.2e}",
        }
        for (lam, q), (branches, osdt) in TABLE_1.items()
    )


SOLVERS = ("branches", "gosdt", "osdt", "pygosdt", "dl85")

_PRINTED = """
monk1-l monks-1 onehot-drop-last 0.01 124 11 2
  0.93 0.11 617 | 0.93 0.71 3e4 | 0.93 71 2e6 | 0.93 181 3e6 | 0.71 0.001 -
monk1-f monks-1 onehot-drop-first 0.001 124 11 2
  0.983 1.31 1e4 | 0.983 4.02 9e4 | 0.97 TO 2e4 | 0.97 TO 2e3 | 0.958 0.002 -
monk1-o monks-1 categorical 0.01 124 6 2
  0.9 0.02 64
monk2-l monks-2 onehot-drop-last 0.001 169 11 2
  0.97 2.8 3e4 | 0.97 10 1e5 | 0.95 TO 7e4 | 0.95 TO 400 | 0.955 0.004 -
monk2-f monks-2 onehot-drop-first 0.001 169 11 2
  0.93 5.9 7e4 | 0.93 11.1 1e5 | 0.90 TO 4e4 | 0.90 TO 3e4 | 0.886 0.04 -
monk2-o monks-2 categorical 0.001 169 6 2
  0.95 0.14 1e3
monk3-l monks-3 onehot-drop-last 0.001 122 11 2
  0.981 1.20 9e3 | 0.981 7.38 8e4 | 0.979 TO 596 | 0.979 TO 123 | 0.959 0.002 -
monk3-f monks-3 onehot-drop-first 0.001 122 11 2
  0.983 1.14 9e3 | 0.983 2.13 5e4 | 0.975 TO 1e4 | 0.973 TO 9e3 | 0.957 0.001 -
monk3-o monks-3 categorical 0.001 122 6 2
  0.987 0.04 156
tic-tac-toe tic-tac-toe onehot-drop-first 0.005 958 18 2
  0.850 68 2.6e5 | 0.850 41 1.6e6 | 0.765 TO 40 | 0.808 TO 37 | 0.782 1.43 -
tic-tac-toe-o tic-tac-toe categorical 0.005 958 9 2
  0.832 0.95 3479
car-eval car onehot-drop-first 0.005 1728 15 4
  0.799 62 3e5 | 0.799 18 9e5 | - - - | - - - | 0.680 0.48 -
car-eval-o car categorical 0.005 1728 6 4
  0.812 0.11 632
nursery nursery onehot-drop-first 0.01 12960 19 5
  0.820 TO 3e5 | 0.765 TO 7e5 | - - - | - - - | 0.396 1.91 -
nursery-o nursery categorical 0.01 12960 8 4
  0.822 0.34 244
mushroom mushroom onehot-drop-first 0.01 8124 95 2
  0.938 TO 2e4 | 0.925 TO 1e6 | 0.945 TO 4e6 | 0.945 TO 2e6 | 0.73 0.01 -
mushroom-o mushroom categorical 0.01 8124 22 2
  0.975 0.17 6
kr-vs-kp kr-vs-kp onehot-drop-first 0.01 3196 37 2
  0.900 TO 8e4 | 0.815 TO 4e5 | 0.900 TO 6e4 | 0.900 TO 2e4 | 0.434 26 -
kr-vs-kp-o kr-vs-kp categorical 0.01 3196 36 2
  0.900 TO 8e4
zoo zoo onehot-drop-first 0.001 101 20 7
  0.992 15 3e4 | 0.992 34 3e5 | - - - | - - - | 0.988 0.00027 -
zoo-o zoo categorical 0.001 101 16 7
  0.993 0.94 1456
lymph lymphography onehot-drop-first 0.01 148 18 4
  0.808 TO 1e5 | 0.784 TO 1e6 | - - - | - - - | 0.640 1.11 -
lymph-o lymphography categorical 0.01 148 41 4
  0.852 18 2e4
balance balance-scale-2 onehot-drop-first 0.01 576 16 2
  0.693 62 3e5 | 0.693 21 1e6 | 0.693 TO 1e5 | 0.693 TO 3e4 | 0.410 0.36 -
balance-o balance-scale-2 categorical 0.01 576 4 2
  0.661 0.02 130
"""
"""Tables 2, 4 and 5. Two lines a row: its name, our dataset and encoding, λ, n, q and K; then H_λ,
seconds and iterations of each of :data:`SOLVERS`; TO: it met the limit of 300 s."""


class Printed(NamedTuple):
    """A row of the tables; ``figures`` has H_λ, seconds and iterations by solver."""

    name: str
    dataset: str
    encoding: str
    lam: str
    shape: tuple[int, int, int]
    figures: dict[str, tuple[str, str, str]]


def printed_rows() -> list[Printed]:
    """The 25 rows of Tables 2, 4 and 5."""
    lines = _PRINTED.strip().splitlines()
    found = []
    for head, figures in zip(lines[::2], lines[1::2], strict=True):
        name, dataset, encoding, lam, n, q, k = head.split()
        cells = [cell.split() for cell in figures.split("|")]
        known = {s: (h, t, i) for s, (h, t, i) in zip(SOLVERS, cells, strict=False) if h != "-"}
        found.append(Printed(name, dataset, encoding, lam, (int(n), int(q), int(k)), known))
    return found


def compare_printed(results: pd.DataFrame) -> pd.DataFrame:
    """Tables 2, 4 and 5 next to a sweep's runs, a line for each printed row and solver.

    Figures of ours are H_λ = 1 − objective, seconds and iterations; those of ``branches`` are of
    its mode ``paper``. ``verdict`` is ``same`` (to the printed digits, which the paper rounds or
    cuts off), ``better``, ``worse``, ``not run``, ``another table`` if ours has another number of
    rows, or that no tree has the printed figure.

    Parameters
    ----------
    results : DataFrame
        From :func:`sweep.store.read_results.read_results`.
    """
    usable = results[results["objective_exact"].notna() & results["fold"].isna()]
    runs: dict[tuple[Any, ...], dict[Any, Any]] = {}
    proven: dict[tuple[Any, ...], Fraction] = {}
    for row in usable.to_dict("records"):
        problem = row["dataset"], row["encoding"], row["lam_exact"]
        runs.setdefault((*problem, row["solver"]), row)
        if row["solver"] == "branches" and row["status"] == Status.OPTIMAL.value:
            proven[problem] = 1 - Fraction(row["objective_exact"])
        if json.loads(row["solver_options"]).get("mode") == "paper":
            runs[*problem, row["solver"]] = row
    lines = []
    for own in printed_rows():
        problem = own.dataset, own.encoding, str(as_lambda(own.lam))
        for solver, figures in own.figures.items():
            lines.append(_line(own, solver, figures, runs.get((*problem, solver)),
                               proven.get(problem)))  # fmt: skip
    return pd.DataFrame(lines)


def _line(
    own: Printed,
    solver: str,
    printed: tuple[str, str, str],
    row: dict[Any, Any] | None,
    proven: Fraction | None,
) -> dict[str, str]:
    n, q, k = own.shape
    line = {
        "row": own.name,
        "λ": own.lam,
        "n, q, K": f"{n} {q} {k}",
        "found": "",
        "solver": solver,
        "H": printed[0],
        "found ": "",
        "s": printed[1],
        "found  ": "",
        "iterations": printed[2],
        "found   ": "",
        "verdict": "not run",
    }
    if row is None:
        return line
    h = 1 - Fraction(row["objective_exact"])
    ended = row["status"] in (Status.OPTIMAL.value, Status.HEURISTIC.value)
    return line | {
        "found": f"{row['n_rows']} {row['n_features_encoded']} {row['n_classes']}",
        "found ": f"{float(h):.6f}",
        "found  ": f"{row['seconds']:.2g}" if ended else "TO",
        "found   ": f"{row['iterations']:,}" if row["iterations"] else "-",
        "verdict": _verdict(h, printed[0], proven) if row["n_rows"] == n else "another table",
    }


def _verdict(h: Fraction, printed: str, proven: Fraction | None) -> str:
    theirs, slack = Fraction(printed), Fraction(1, 10 ** len(printed.partition(".")[2]))
    if proven is not None and theirs - proven >= slack:
        return f"no tree has it: at most {float(proven):.6f}"
    if abs(h - theirs) < slack:
        return "same"
    return "better" if h > theirs else "worse"
