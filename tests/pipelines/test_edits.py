"""A sweep's file is edited at random between runs: what is shown is what a fresh folder shows."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from pipelines.report.data.results import Results, load_results
from pipelines.report.write import gather
from sweep.plan.plan import Plan, Task, make_plan
from sweep.rows import result_rows
from sweep.rows.result_rows import Checkpoint, as_finished
from sweep.spec.spec import SweepFile, parse_spec
from sweep.store import part_files
from sweep.store import store as stores
from sweep.store.plan_file import survey
from sweep.store.read_results import read_results
from sweep.store.store import Store
from sweep.store.sweep_status import sweep_status
from sweep.verify.verify import verify_sweep
from sweep.worker import tasks
from sweep.worker.run_settings import Run
from tests.helpers.without_dask import cell_of

VARYING = [
    "seconds", "compile_seconds", "peak_bytes", "host", "worker", "attempt", "started", "finished",
    "trace", "extra", "proof", "proof_seconds", "rashomon", "rashomon_seconds", "iterations",
    "nodes", "path_points",
]  # fmt: skip
"""What a run cost, where and when it was, and the bounds of a path on the way. It may be the run
under another limit. Certificates and good trees are files by the key of their run."""

OF_FOLDER = [
    "folder", "driver", "updated", "seconds", "states", "state_bytes", "rate", "eta", "memory",
]  # fmt: skip
"""What a status says of the folder and of its driver, not of the plan."""

Spec = dict[str, Any]

TABLES = {"one.csv": 1, "two.csv": 2, "three.csv": 3, "one-again.csv": 1}
SOLVERS = [
    "branches",
    {"solver": "branches", "options": {"mode": "full"}},
    {"solver": "branches", "options": {"mode": "paper"}},
    {"solver": "branches", "proof": True},
    {"solver": "branches", "rashomon": {"within": 0.1}},
    {"solver": "branches", "lam": "path"},
    {"solver": "branches", "options": {"nodes": [5, None]}},
    "cart",
]
LAMBDAS: list[Any] = [0.3, 0.1, "1/10", 0.02, {"per-row": 1}, {"per-row": 2}]
VALIDATIONS: list[Any] = [
    "none",
    {"kind": "kfold", "folds": 2},
    {"kind": "holdout", "test": 0.25},
]
NODES = [None, 1, 4, 9, 1000000]

FIRST = 130
"""The seed of a folder whose edits have found a defect."""

FOLDERS = int(os.environ.get("TREESWEEP_EDITED", "10"))
"""That are edited ten times each; all say the same, but for their seeds."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables of twelve rows, two of which hold the same."""
    folder = tmp_path_factory.mktemp("tables")
    for name, seed in TABLES.items():
        chance = random.Random(seed)
        lines = [",".join(str(chance.randrange(3)) for _ in "abc") for _ in range(12)]
        text = "".join(f"{line},{chance.choice('yn')}\n" for line in lines)
        (folder / name).write_text(f"a,b,c,class\n{text}")
    return folder


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is synced, and old generations of rows go at once: nobody else reads them."""
    monkeypatch.setattr("sweep.filesystem.disk._sync", lambda path: None)
    monkeypatch.setattr(part_files, "GRACE", 0.0)
    monkeypatch.setattr(stores, "GRACE", 0.0)


def table(name: str, path: str) -> dict[str, str]:
    return {"name": name, "path": path, "target": "class"}


def first_spec() -> Spec:
    return {
        "name": "edited",
        "datasets": [table("a", "one.csv"), table("b", "two.csv")],
        "encodings": ["onehot"],
        "lambdas": [0.1, 0.02],
        "solvers": ["branches"],
        "validation": "none",
        "limits": {"nodes": 1000000},
    }


def edit(spec: Spec, chance: random.Random) -> Spec:
    """The spec with one thing changed."""
    spec = {key: list(v) if isinstance(v, list) else v for key, v in spec.items()}
    kind = chance.choice(["names", "paths", "names", "lambdas", "nodes", "nodes", "rest"])
    if kind == "names":
        names = chance.sample("abcd", len(spec["datasets"]))
        if chance.random() < 0.5:  # swap
            names = [entry["name"] for entry in spec["datasets"]][::-1]
        pairs = zip(names, spec["datasets"], strict=True)
        spec["datasets"] = [table(name, entry["path"]) for name, entry in pairs]
    elif kind == "paths":
        paths = chance.sample([*TABLES], chance.randint(1, 3))
        distinct = {TABLES[path]: path for path in paths}.values()
        spec["datasets"] = [table(n, p) for n, p in zip("abcd", distinct, strict=False)]
    elif kind == "lambdas":
        spec["lambdas"] = chance.sample(LAMBDAS, chance.randint(1, 3))
    elif kind == "nodes":
        limits = {"nodes": chance.choice(NODES), "depth": chance.choice([None, None, 2])}
        spec["limits"] = {name: most for name, most in limits.items() if most is not None}
    else:
        spec["solvers"] = chance.sample(SOLVERS, chance.randint(1, 2))
        spec["encodings"] = chance.sample(["onehot", "onehot-drop-first"], chance.randint(1, 2))
        spec["validation"] = chance.choice(VALIDATIONS)
        if {"solver": "branches", "proof": True} in spec["solvers"]:
            spec["limits"] = {}
    return spec


def parsed(spec: Spec, home: Path) -> SweepFile:
    return parse_spec(yaml.safe_dump(spec), home)


class Runner:
    """Runs sweeps in this process, by the functions that workers call."""

    def __init__(self) -> None:
        self._prepared: dict[tuple[Any, ...], tasks.Prepared | None] = {}

    def run(
        self, sweep: SweepFile, plan: Plan, folder: Path, chance: random.Random | None = None
    ) -> None:
        """Run what a folder does not answer yet; with ``chance`` only some of it, and badly."""
        with stores.create(folder, sweep, print) as store:
            remaining, _ = survey(plan, store)
            for task in plan.tasks_of(remaining.tolist()):
                fate = "done" if chance is None else chance.choice(["done", "fail", "leave"])
                if fate == "leave":
                    tree = '{"nodes":[]}'
                    store.save_checkpoint(Checkpoint(task.key, tree, "9/10", "0", 1.0, 5, 6))
                else:
                    store.add(as_finished([self._solved(task, store, fate == "fail")]))
            if chance is not None and chance.random() < 0.5:
                store.flush()
                store.compact()

    def _solved(self, task: Task, store: Store, fails: bool) -> dict[str, Any]:
        cell = cell_of(task, store.answers.attempts(task.key) + 1)
        node = task.node
        if fails:
            return result_rows.failed(
                node.info, cell, result_rows.Provenance(None, None, result_rows.now()), "it broke"
            )
        which = (*vars(node.info).values(),)
        if which not in self._prepared:
            dataset = tasks.load(node.reference, node.info.data_hash)
            self._prepared[which] = tasks.prepare(dataset, node)
        prepared = self._prepared[which]
        assert prepared is not None
        row = tasks.solve_cell(prepared, cell, Run("test"))
        # The report recommends the faster one of two that are as good.
        return row | {n: 1.0 for n in ("seconds", "proof_seconds") if row[n] is not None}


def shown(folder: Path, answered: bool) -> dict[str, Any]:
    """What a user is shown of a folder, without what differs from run to run; and with
    ``answered`` also what the report recommends."""
    results = load_results(folder)
    status = sweep_status(folder).to_dict()
    return {
        "read_results": plain(read_results(folder)),
        "status": {name: value for name, value in status.items() if name not in OF_FOLDER},
        "rows": plain(results.rows),
        "names": [results.name, results.datasets, results.encodings, results.solvers],
        "missing": plain(results.missing.drop(columns="answered_by")),
        "impossible": plain(results.impossible),
        "answers": answers(results) if answered else None,
    }


def plain(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """The columns in their order; what is missing is None, whatever the column's type."""
    kept = frame.columns.difference(VARYING, sort=False)
    return {name: [value(cell) for cell in frame[name].tolist()] for name in kept}


def value(cell: Any) -> Any:
    """A cell, which may hold arrays and dictionaries, so that equal ones compare equal."""
    if isinstance(cell, np.ndarray | list | tuple):
        return [value(one) for one in cell]
    if isinstance(cell, dict):
        return {name: value(one) for name, one in cell.items()}
    return None if pd.isna(cell) else cell


def answers(results: Results) -> list[Any]:
    """What the report recommends."""
    return [
        (
            a.dataset,
            a.headline,
            a.reasons,
            a.warnings,
            a.key,
            a.path and a.path.table["leaves"].tolist(),
        )
        for a in gather(results).recommendations
    ]


def check_same(folder: Path, fresh: Path, answered: bool) -> None:
    found, wanted = (shown(one, answered) for one in (folder, fresh))
    for name, one in wanted.items():
        if isinstance(one, dict):
            assert list(found[name]) == list(one), name
        assert found[name] == one, name


def edits(number: int, home: Path) -> Iterator[tuple[SweepFile, Plan, random.Random]]:
    """A row of specs, each made of the one before, and what they ask."""
    chance, spec = random.Random(number), first_spec()
    while True:
        for _ in range(chance.randint(1, 2)):
            spec = edit(spec, chance)
        try:
            sweep = parsed(spec, home)
            plan = make_plan(sweep)
        except stores.InputError:
            spec = first_spec()
            continue
        yield sweep, plan, chance


def check_edits(
    numbers: range, steps: int, folder: Path, home: Path, patch: pytest.MonkeyPatch
) -> int:
    runner, now, checked = Runner(), result_rows.now, 0
    for number in numbers:
        out = folder / f"edited-{number}"
        for step, (sweep, plan, chance) in enumerate(itertools.islice(edits(number, home), steps)):
            skew = timedelta(hours=chance.randint(-3, 3))
            patch.setattr(result_rows, "now", lambda skew=skew: now() + skew)
            if chance.random() < 0.3:
                runner.run(sweep, plan, out, chance)
            runner.run(sweep, plan, out)
            fresh = folder / f"fresh-{number}-{step}"
            patch.setattr(result_rows, "now", now)
            runner.run(sweep, plan, fresh)
            check_same(out, fresh, answered=step % 5 == 4)
            if step % 5 == 4:
                assert [f.problem for f in verify_sweep(out).findings] == []
            checked += 1
    return checked


@pytest.mark.usefixtures("quick")
def test_a_few_edits(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_edits(range(2), 5, tmp_path, home, monkeypatch) == 10


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("first", range(FIRST, FIRST + FOLDERS, 5))
def test_fifty_edits(
    first: int, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five folders."""
    assert check_edits(range(first, first + 5), 10, tmp_path, home, monkeypatch) == 50
