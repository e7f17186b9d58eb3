"""The tables of the OSDT thesis next to ours: 2.1 is computed, 6.2 comes of a sweep."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pandas as pd

from solver.catalogue import SOLVERS
from solver.theory import osdt_search_space as space


class Printed(NamedTuple):
    """A line of Table 6.2."""

    seconds: str
    trees: str
    trees_to_optimum: str


TABLE_6_2 = {
    "all bounds": Printed("14.75", "241,306", "18,195"),
    "support": Printed("16.69", "278,868", "21,232"),
    "incremental_accuracy": Printed("29.42", "548,618", "24,682"),
    "accuracy": Printed("31.72", "482,013", "23,075"),
    "lookahead": Printed("31,479", "283,712,499", "3,078,445"),
    "equivalent_points": Printed("> 8,226", "> 41,000,000", ""),
}
"""What was left out, on COMPAS with λ = 0.005, a cold start, and the policy curiosity."""

TABLE_2_1 = {
    (10, 1): ("5.500e+01", "1.000e+01"),
    (10, 2): ("3.025e+03", "1.000e+03"),
    (10, 3): ("1.604e+05", "5.329e+06"),
    (10, 4): ("8.345e+06", "9.338e+20"),
    (10, 5): ("4.257e+08", "Inf"),
    (20, 1): ("2.100e+02", "2.000e+01"),
    (20, 2): ("4.410e+04", "8.000e+03"),
    (20, 3): ("9.173e+06", "9.411e+08"),
    (20, 4): ("1.898e+09", "9.204e+28"),
    (20, 5): ("3.911e+11", "Inf"),
}
"""By variables and depth: rule lists and trees."""


def search_spaces() -> pd.DataFrame:
    """Table 2.1: the printed figures, the same by the printed formula, and the trees there are.

    From depth 4 on the formula counts trees that do not exist, see
    :mod:`solver.theory.osdt_search_space`.
    """
    return pd.DataFrame(
        {
            "variables": p,
            "depth": depth,
            "rule lists, printed": lists,
            "found": as_printed(space.rule_lists(p, depth)),
            "trees, printed": trees,
            "found by the formula": as_printed(space.trees_as_printed(p, depth)),
            "trees there are": as_printed(space.trees(p, depth)),
        }
        for (p, depth), (lists, trees) in TABLE_2_1.items()
    )


def as_printed(value: int) -> str:
    """As Table 2.1 has it: four digits, cut off and not rounded; beyond the floats, Inf."""
    try:
        float(value)
    except OverflowError:
        return "Inf"
    digits = f"{value:<04}"
    return f"{digits[0]}.{digits[1:4]}e+{len(str(value)) - 1:02}"


def compare_counts(results: pd.DataFrame) -> pd.DataFrame:
    """Table 6.2 next to the runs of ``osdt`` in mode ``paper``, a row for each printed one.

    Trees that a search evaluated which met a limit are the least there are, and say "≥".

    Parameters
    ----------
    results : DataFrame
        From :func:`sweep.store.read_results.read_results`.
    """
    runs = {_left_out(row): row for row in results.to_dict("records") if _is_of_the_table(row)}
    return pd.DataFrame([_line(own, runs.get(own)) for own in TABLE_6_2])


def _settings(row: dict[Any, Any]) -> dict[str, Any]:
    usual = {name: option.default for name, option in SOLVERS["osdt"].options.items()}
    return {**usual, **json.loads(row["solver_options"])}


def _is_of_the_table(row: dict[Any, Any]) -> bool:
    if row["solver"] != "osdt" or pd.isna(row["errors"]):
        return False
    settings = _settings(row)
    usual = (settings["mode"], settings["policy"], settings["warm_start"])
    return usual == ("paper", "curiosity", "none") and _left_out(row) in TABLE_6_2


def _left_out(row: dict[Any, Any]) -> str:
    """The bounds that a run did without."""
    options = SOLVERS["osdt"].options
    off = [
        name
        for name, value in _settings(row).items()
        if isinstance(value, bool) and value != options[name].default
    ]
    return ", ".join(off) or "all bounds"


def _line(left_out: str, row: dict[Any, Any] | None) -> dict[str, str]:
    printed = TABLE_6_2[left_out]
    line = {
        "without": "" if left_out == "all bounds" else left_out,
        "trees, printed": printed.trees,
        "found": "not run",
        "to the optimum, printed": printed.trees_to_optimum,
        "found there": "",
        "s, printed": printed.seconds,
        "s": "",
        "status": "",
    }
    if row is None:
        return line
    extra, ended = json.loads(row["extra"]), row["status"] == "optimal"
    return line | {
        "found": ("" if ended else "≥ ") + f"{extra['trees_evaluated']:,}",
        "found there": f"{extra['trees_evaluated_to_optimum']:,}" if ended else "",
        "s": f"{row['seconds']:.2f}",
        "status": row["status"],
    }
