"""The answer to a dataset: what is recommended, the final tree, its verdict and its command.

The report's page and ``treesweep.read_results(…).best()`` both give what this module finds.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.report.analysis.final_trees import (
    FinalTree,
    FinalTrees,
    exact_lam,
    fold_rows,
    load_table_of,
)
from pipelines.report.analysis.recommendations import Recommendation
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.analysis.verdicts import Verdict, judge
from pipelines.report.data.metrics import REGRESSION
from solver.catalogue import SOLVERS
from solver.features.category_values import as_yaml
from sweep.datasets.dataset_reference import DatasetRef
from sweep.datasets.files import UTF8
from sweep.spec.task_options import own_options


@dataclass(frozen=True)
class Answer:
    """What a sweep says about a dataset."""

    own: Recommendation
    final: FinalTree | str  # or why there is none
    verdict: Verdict
    command: str | None  # that grows the final tree; None if no command does


def find_answer(own: Recommendation, report: ReportData, growing: FinalTrees) -> Answer:
    """The answer to a dataset; grows its final tree unless it is known."""
    table = load_table_of(own.dataset, report.results, report.references)
    final = growing.find(own, report.results, table)
    verdict = judge(own, report.results, table, final)
    command = None
    if isinstance(final, FinalTree) and own.path is not None and own.key is not None:
        row = fold_rows(report.results, own.path, own.key)[0]
        # As a decimal or a fraction, so that the command gives this tree.
        command = train_command(row, report.references.get(own.dataset), final.lam)
    return Answer(own, final, verdict, command)


def train_command(
    row: Mapping[str, Any], reference: DatasetRef | None, lam_text: str
) -> str | None:
    """The command that trains a tree on the whole table as a run did on a fold.

    ``lam_text`` is λ as the sweep's file has it; ``2/n`` becomes 2 divided by the rows of the
    table. The result is None if nobody knows where the table is, or it is a part of one.
    """
    if reference is None or reference.is_part:
        return None
    lam = lam_text
    if lam_text.endswith("/n"):
        lam = str(exact_lam(lam_text, int(row["n_rows"])))
    parts = ["treesweep", "solve", str(reference.path or reference.origin), *_reading(reference)]
    parts += ["--encoding", row["encoding"]]
    for name, value in json.loads(row["encoding_options"]).items():
        parts += ["--encoding-option", f"{name}={_plain(value)}"]
    parts += ["--solver", row["solver"]]
    usual = SOLVERS[row["solver"]].options if row["solver"] in SOLVERS else {}
    for name, value in own_options(json.loads(row["solver_options"])).items():
        if name not in usual or usual[name].default != value:
            parts += ["--option", f"{name}={_plain(value)}"]
    names = {"depth": "--max-depth", "splits": "--max-splits", "min_leaf_size": "--min-leaf-size"}
    for name, value in json.loads(row["limits"]).items():
        if name in names and value is not None:
            parts += [names[name], str(value)]
    parts += ["--lam", lam, "--save", "tree.json"]
    return shlex.join(parts)


def _reading(reference: DatasetRef) -> list[str]:
    """The options that say how the table is read."""
    parts = []
    for target in reference.targets:
        parts += ["--target", target]
    if reference.task == REGRESSION:
        parts += ["--task", REGRESSION]
    if reference.separator is not None:
        parts += ["--separator", reference.separator]
    if reference.charset != UTF8:
        parts += ["--charset", reference.charset]
    if reference.sheet is not None:
        parts += ["--sheet", reference.sheet]
    if reference.test is not None:
        parts += ["--column", f"{next(iter(reference.test))}=drop"]
    for column, wish in reference.overrides().items():
        parts += ["--column", f"{column}={wish if isinstance(wish, str) else as_yaml(wish)}"]
    return parts


def _plain(value: Any) -> str:
    """An option's value on the command line: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)
