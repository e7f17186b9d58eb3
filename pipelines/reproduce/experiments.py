"""The papers' experiments that ``treesweep reproduce`` knows: mostly a sweep's file each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import pandas as pd

from pipelines.reproduce.branches_tables import compare_printed, complexity_bounds
from pipelines.reproduce.osdt_tables import compare_counts, search_spaces
from pipelines.reproduce.proper_tables import (
    compare_families,
    feature_trees,
    kd_trees,
    memo_hits,
    partitions,
    tree_counts,
)
from pipelines.reproduce.quantbnb_test_losses import compare_losses
from solver.errors import InputError
from sweep.spec.spec import SweepFile, parse_spec

_PAPERS = "pipelines.reproduce.papers"
_SECONDS = re.compile(r"^(limits: \{seconds: )[\d.]+", re.MULTILINE)


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Parameters
    ----------
    name : str
        That of its sweep.
    summary : str
        What it reproduces, in a line.
    published : str or None
        The file of the data folder with the printed figures.
    compare : callable, optional
        Makes a table of the printed figures, if they are not in such a file, and the results.
    needs_data : bool
        Whether some of its tables are not built in.
    """

    name: str
    summary: str
    published: str | None
    compare: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    needs_data: bool = True

    @property
    def text(self) -> str:
        """Its sweep's file."""
        file = resources.files(_PAPERS).joinpath(f"{self.name}.yaml")
        return file.read_text(encoding="utf-8")

    def sweep(self, data: Path, seconds: float | None) -> SweepFile:
        """The sweep on the tables of a folder.

        Parameters
        ----------
        data : Path
        seconds : float or None
            The limit of each run; by default the file's.

        Raises
        ------
        InputError
            If the folder is none or lacks a table.
        """
        if not data.is_dir():
            raise InputError(
                f"--data {data} is no folder; it must hold the tables that the head of 'treesweep "
                f"reproduce {self.name} --show' names"
            )
        text = self.text
        if seconds is not None:  # the sweep's folder keeps the text: the limit is part of it
            text = _SECONDS.sub(rf"\g<1>{seconds:g}", text)
        return parse_spec(text, data, f"{self.name}.yaml")


@dataclass(frozen=True)
class Computed:
    """A table that needs no data and at most small searches: printed and found figures."""

    name: str
    summary: str
    table: Callable[[], pd.DataFrame]


EXPERIMENTS: Mapping[str, Experiment] = {
    own.name: own
    for own in (
        Experiment(
            "branches-table2",
            "BRANCHES, Table 2: BRANCHES, GOSDT, STreeD, DL8.5 and CART on 32 problems",
            "published-branches.csv",
        ),
        Experiment(
            "branches-printed",
            "BRANCHES, Tables 2, 4 and 5: the 25 printed rows, with GOSDT, OSDT and DL8.5",
            None,
            compare_printed,
        ),
        Experiment(
            "branches-figures",
            "BRANCHES, Figures 1 and 2: time and iterations of BRANCHES and GOSDT against λ",
            None,
        ),
        Experiment(
            "quantbnb-tables",
            "Quant-BnB, Tables 2, 3, 6 and 7: 17 sets of numbers, depth 2 and 3",
            "published-quantbnb.csv",
        ),
        Experiment(
            "quantbnb-figure2",
            "Quant-BnB, Figure 2: test losses of CART, TAO and optimal trees on 17 sets",
            None,
            compare_losses,
        ),
        Experiment(
            "osdt-ablation",
            "OSDT, Table 6.2: Algorithm 2 as printed, on COMPAS, leaving out one bound at a time",
            None,
            compare_counts,
        ),
        Experiment(
            "proper-figure3",
            "Proper trees, Figure 3: how many cuts, lines or curves make the fewest errors",
            None,
            compare_families,
            needs_data=False,
        ),
    )
}

COMPUTED: Mapping[str, Computed] = {
    own.name: own
    for own in (
        Computed(
            "branches-table1",
            "BRANCHES, Table 1: bounds on the evaluations of BRANCHES and of OSDT",
            complexity_bounds,
        ),
        Computed(
            "osdt-table2.1",
            "OSDT, Table 2.1: how many rule lists and trees there are",
            search_spaces,
        ),
        Computed(
            "proper-figure10",
            "Proper trees, Figures 10 and 11: how many trees a list of rules has",
            tree_counts,
        ),
        Computed(
            "proper-features",
            "Proper trees, section 6: binary features (ODT-BF), errors in each search space",
            feature_trees,
        ),
        Computed(
            "proper-bsp",
            "Proper trees, section 5.1: the smallest binary space partitions of segments",
            partitions,
        ),
        Computed(
            "proper-kd",
            "Proper trees, section 5.3: the best K-D trees of seven points",
            kd_trees,
        ),
        Computed(
            "proper-memo",
            "Proper trees, section 4.7.2: how often a memo hits",
            memo_hits,
        ),
    )
}
