"""A big store as a real sweep would leave it, without running the sweep.

Usage: python benchmarks/make_big_store.py DIR [--rows 1000000] [--shape broad|long] [--done 1.0]

``broad`` is 40 tables x 5 folds x 2 encodings x 3 solvers and as many λ as it takes; ``long`` is
2 tables x 5 folds x 1 encoding x 2 solvers and very many λ. The λ-paths are really found, with the
solvers themselves, so every row is what a run at its λ would have given: keys, trees, figures and
the plan are true, and ``treesweep verify`` has no findings. What a run cannot be known to give
without running it (times, failures, limits that were hit) is drawn with a fixed seed; the bound of
a run that hit a limit is true, too. Rows lie in parts of some ten thousand, small λ first.

The tables are written to DIR-tables beside the store. The last line printed is
``rows=… parts=… seconds=… megabytes=…``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

from solver import Limits, Tree, regularization_path
from solver.catalogue import SOLVERS
from solver.errors import InputError
from solver.solution import Status
from sweep.plan.plan import Block, Plan, make_plan
from sweep.plan.software_versions import git_revision, versions
from sweep.plan.task_keys import canonical
from sweep.rows.schema import SCHEMA
from sweep.rows.schema import VERSION as SCHEMA_VERSION
from sweep.spec.spec import SweepFile, parse_spec
from sweep.store import store as stores
from sweep.store.plan_file import survey
from sweep.worker import tasks

PART_ROWS = 60_000
FAILING = 0.0005
"""Share of runs that fail."""

LIMITED = 0.05
"""Share of the runs of a proving solver, those of the smallest λ, that end at their limit."""

_STARTED = datetime(2026, 1, 5, 8, 0, 0, tzinfo=UTC)

_ERROR = (
    "Traceback (most recent call last):\n"
    '  File "solve.py", line 1, in solve\n'
    "MemoryError: cannot allocate 4 GiB for the memo"
)


class Shape(NamedTuple):
    """The axes of a sweep but for λ."""

    tables: int
    rows: int
    encodings: tuple[str, ...]
    solvers: str
    n_solvers: int
    folds: int = 5

    @property
    def cells(self) -> int:
        """Tasks at each λ."""
        return self.tables * len(self.encodings) * self.n_solvers * self.folds


SHAPES = {
    "broad": Shape(
        40,
        300,
        ("onehot", "onehot-drop-last"),
        "[branches, {solver: branches, options: {depth: 2}}, cart]",
        3,
    ),
    "long": Shape(2, 500, ("onehot",), "[branches, cart]", 2),
}


def make_table(seed: int, n_rows: int) -> pd.DataFrame:
    """A table that some splits explain and noise blurs."""
    draw = np.random.default_rng(seed)
    columns = {f"x{j}": draw.integers(0, 3 if j % 2 else 2, n_rows) for j in range(7)}
    rule = (columns["x0"] == 1) ^ (columns["x1"] == 2) | (columns["x3"] == 0) & (columns["x2"] == 1)
    noise = draw.random(n_rows) < 0.04 + 0.12 * draw.random()
    letters = {name: np.array(["a", "b", "c"])[codes] for name, codes in columns.items()}
    return pd.DataFrame({**letters, "class": np.where(rule ^ noise, "yes", "no")})


def make_spec(shape: Shape, n_lams: int, tables: Path) -> SweepFile:
    """The sweep, whose tables are written on the way."""
    tables.mkdir(parents=True, exist_ok=True)
    names = [f"table-{number:02d}" for number in range(shape.tables)]
    for number, name in enumerate(names):
        make_table(number, shape.rows).to_parquet(tables / f"{name}.parquet")
    lines = [f"  - {{name: {n}, path: {n}.parquet, target: class}}" for n in names]
    text = "\n".join(
        [
            "name: big",
            "datasets:",
            *lines,
            f"encodings: [{', '.join(shape.encodings)}]",
            f"lambdas: {{from: 0.2, to: 0.002, count: {n_lams}}}",
            f"solvers: {shape.solvers}",
            f"validation: {{kind: kfold, folds: {shape.folds}}}",
            "limits: {seconds: 60}",
        ]
    )
    return parse_spec(text + "\n", base=tables.resolve())


class Steps(NamedTuple):
    """What a block's path gives at each of its λ: the step's number, and figures by step."""

    at: NDArray[np.int64]
    trees: list[str]
    figures: NDArray[np.int64]
    """One row a step: errors, splits, leaves, depth, test errors."""

    n_features: int
    n_features_encoded: int


def find_steps(block: Block, prepared: tasks.Prepared) -> Steps:
    """Find the block's λ-path."""
    lams = [lam.exact for lam in block.lams]
    limits = {n: v for n, v in block.solver.limits.items() if n not in ("seconds", "bytes")}
    path = regularization_path(
        prepared.problem, min(lams), block.solver.name, Limits(**limits), **block.solver.options
    )
    starts = np.array([float(step.start) for step in path.steps])
    at = np.searchsorted(starts, np.array([float(lam) for lam in lams]), side="right") - 1
    return Steps(
        at=np.maximum(at, 0),
        trees=[step.tree.to_json() for step in path.steps],
        figures=np.array(
            [
                (s.errors, s.splits, s.tree.leaves, s.tree.depth, wrong(s.tree, prepared))
                for s in path.steps
            ]
        ),
        n_features=prepared.problem.n_features,
        n_features_encoded=prepared.n_features_encoded,
    )


def wrong(tree: Tree, prepared: tasks.Prepared) -> int:
    """Held-out rows that a tree gets wrong."""
    return int((tree.predict(prepared.test) != prepared.truth).sum())


def all_steps(plan: Plan) -> list[Steps]:
    """The paths of all blocks."""
    found: list[Steps] = []
    number, prepared = -1, None
    for block in plan.blocks:
        if block.node.number != number or prepared is None:
            number, node = block.node.number, block.node
            prepared = tasks.prepare(tasks.load(node.reference, node.info.data_hash), node)
        found.append(find_steps(block, prepared))
    return found


def part(plan: Plan, steps: Sequence[Steps], lams: range, draw: np.random.Generator) -> pa.Table:
    """The rows of all blocks at some of their λ, in the order of a random finish."""
    n, blocks = len(lams), plan.blocks
    block_of = np.repeat(np.arange(len(blocks)), n)
    at = np.concatenate([s.at[lams.start : lams.stop] for s in steps])
    figures = np.concatenate([s.figures[s.at[lams.start : lams.stop]] for s in steps])
    offsets = np.cumsum([0, *(len(s.trees) for s in steps)])
    trees = pa.array([tree for s in steps for tree in s.trees]).take(
        pa.array(offsets[block_of] + at)
    )
    exact = exact_columns(blocks, lams, figures)
    heuristic = np.array([b.solver.name == "cart" for b in blocks])[block_of]
    n_test = np.array([b.node.info.n_test for b in blocks])[block_of]
    weight = np.array([b.node.info.n_train for b in blocks])[block_of]
    seconds = 0.002 + draw.gamma(2.0, 0.004, len(block_of))
    finished = np.datetime64(_STARTED.replace(tzinfo=None)) + np.cumsum(
        draw.integers(200, 700, len(block_of))
    ).astype("timedelta64[us]") + np.timedelta64(timedelta(seconds=lams.start))  # fmt: skip
    columns: dict[str, Any] = {
        **shared_columns(plan, steps, block_of),
        **exact,
        "errors": figures[:, 0],
        "total_weight": weight,
        "loss": figures[:, 0] / weight,
        "tolerance": np.zeros(len(block_of)),
        "train_accuracy": 1 - figures[:, 0] / weight,
        "test_accuracy": 1 - figures[:, 4] / n_test,
        "test_errors": figures[:, 4],
        "splits": figures[:, 1].astype(np.int32),
        "leaves": figures[:, 2].astype(np.int32),
        "depth": figures[:, 3].astype(np.int32),
        "iterations": draw.integers(10, 90_000, len(block_of)),
        "nodes": draw.integers(10, 9_000, len(block_of)),
        "seconds": seconds,
        "compile_seconds": np.zeros(len(block_of)),
        "peak_bytes": draw.integers(2**20, 2**24, len(block_of)),
        "started": finished - (seconds * 1e6).astype("timedelta64[us]"),
        "finished": finished,
        "trace": traces(exact["objective"], exact["lower_bound"], seconds),
        "tree": trees,
    }
    failed = draw.random(len(block_of)) < FAILING
    table = with_failures(finish(columns, len(block_of)), failed, heuristic)
    return table.take(pa.array(draw.permutation(len(block_of))))


def exact_columns(
    blocks: Sequence[Block], lams: range, figures: NDArray[np.int64]
) -> dict[str, list[Any]]:
    """Key, λ, status and the exact figures, one row at a time: they are fractions."""
    names = ("key", "lam", "lam_exact", "lam_label", "status")
    figures_of = ("objective", "lower_bound", "gap")
    columns: dict[str, list[Any]] = {n: [] for n in (*names, *figures_of)}
    columns |= {f"{n}_exact": [] for n in figures_of}
    rows = iter(figures[:, :2].tolist())
    for block in blocks:
        weight, proves = block.node.info.n_train, block.solver.name != "cart"
        limited = len(block.lams) * (1 - LIMITED)
        for i in lams:
            lam = block.lams[i]
            errors, splits = next(rows)
            value = Fraction(errors, weight) + lam.exact * splits
            open_ = proves and i >= limited
            bound = value * Fraction(9, 10) if open_ else value
            status = Status.OPTIMAL if proves else Status.HEURISTIC
            status = Status.TIME_LIMIT if open_ and value else status
            told: tuple[Fraction | None, ...] = (bound, value - bound) if proves else (None, None)
            text = str(lam.exact)
            columns["key"].append(block.maker.key(text, block.limits))
            columns["lam"].append(float(lam.exact))
            columns["lam_exact"].append(text)
            columns["lam_label"].append(lam.label)
            columns["status"].append(status.value)
            for name, number in zip(figures_of, (value, *told), strict=True):
                columns[name].append(None if number is None else float(number))
                columns[f"{name}_exact"].append(None if number is None else str(number))
    return columns


def shared_columns(
    plan: Plan, steps: Sequence[Steps], block_of: NDArray[np.int64]
) -> dict[str, Any]:
    """What all rows of a block have in common."""
    records = []
    for block, own in zip(plan.blocks, steps, strict=True):
        info = block.node.info
        records.append(
            {
                **{name: getattr(info, name) for name in info.__dataclass_fields__},
                "n_features": own.n_features,
                "n_features_encoded": own.n_features_encoded,
                "solver": block.solver.name,
                "solver_version": SOLVERS[block.solver.name].version,
                "solver_options": canonical(block.solver.options),
                "limits": block.limits,
            }
        )  # fmt: skip
    values = pa.Table.from_pylist(records)
    rows = pa.array(block_of)
    return {name: values[name].combine_chunks().take(rows) for name in values.column_names}


def traces(
    objective: Sequence[float], bound: Sequence[float | None], seconds: NDArray[np.float64]
) -> pa.Array:
    """Two moments of each search."""
    n = len(seconds)
    value = np.repeat(np.asarray(objective, float), 2)
    low = np.repeat(np.asarray([0.0 if b is None else b for b in bound]), 2)
    low[::2] = 0.0
    times = np.repeat(seconds, 2)
    times[::2] /= 2
    kind = SCHEMA.field("trace").type
    moments = pa.StructArray.from_arrays(
        [pa.array(times), pa.array(value), pa.array(low)], fields=list(kind.value_type)
    )
    return pa.ListArray.from_arrays(pa.array(np.arange(0, 2 * n + 1, 2), pa.int32()), moments)


def finish(columns: dict[str, Any], n: int) -> pa.Table:
    """The columns as a table of the store's schema."""
    constant = {
        "schema_version": SCHEMA_VERSION,
        "host": "big",
        "worker": "tcp://127.0.0.1:1",
        "attempt": 1,
        "versions": versions(),
        "git_revision": git_revision(),
    }
    arrays = []
    for field in SCHEMA:
        if field.name in columns:
            found = columns[field.name]
            array = found if isinstance(found, pa.Array) else pa.array(found)
            arrays.append(array.cast(field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(constant.get(field.name), field.type), n))
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def with_failures(
    table: pa.Table, failed: NDArray[np.bool_], heuristic: NDArray[np.bool_]
) -> pa.Table:
    """The table with some runs turned into failed ones."""
    lost = [
        "n_features", "n_features_encoded",
        *("objective", "objective_exact", "lower_bound", "lower_bound_exact", "gap", "gap_exact"),
        *("errors", "total_weight", "loss", "tolerance", "train_accuracy", "test_accuracy"),
        *("test_errors", "splits"),
        *("leaves", "depth", "iterations", "nodes", "seconds", "compile_seconds", "peak_bytes"),
        *("trace", "tree", "extra"),
    ]  # fmt: skip
    mask = pa.array(failed & ~heuristic)
    numbers = np.arange(len(table))
    kept = pa.array(numbers, mask=failed & ~heuristic)  # null where the run failed
    for name in lost:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, SCHEMA.field(name), table[name].take(kept))
    for name, text in (("status", Status.ERROR.value), ("error", _ERROR)):
        place = table.schema.get_field_index(name)
        changed = pa.compute.if_else(mask, pa.scalar(text), table[name])
        table = table.set_column(place, SCHEMA.field(name), changed)
    return table


def write_store(folder: Path, shape: Shape, n_lams: int, done: float) -> tuple[int, int]:
    """Write the store; the numbers of rows and parts.

    Parameters
    ----------
    done : float
        Share of the tasks that have a row; those of the largest λ lack.
    """
    sweep = make_spec(shape, n_lams, folder.with_name(f"{folder.name}-tables"))
    plan = make_plan(sweep)
    print(f"{plan.n_tasks} tasks in {len(plan.blocks)} blocks; finding their paths", flush=True)
    steps = all_steps(plan)
    print(f"{sum(len(s.trees) for s in steps)} trees; writing rows", flush=True)
    draw = np.random.default_rng(0)
    per_part = max(1, PART_ROWS // len(plan.blocks))
    left = round(n_lams * (1 - done))
    rows = parts = 0
    with stores.create(folder, sweep, print) as store:
        survey(plan, store)
        for stop in range(n_lams, left, -per_part):
            table = part(plan, steps, range(max(stop - per_part, left), stop), draw)
            store.parts.append(table)
            rows, parts = rows + len(table), parts + 1
    return rows, parts


def main(arguments: Sequence[str] | None = None) -> int:
    """Write what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shape", choices=SHAPES, default="broad")
    parser.add_argument("--done", type=float, default=1.0, help="share of tasks with a row [1.0]")
    given = parser.parse_args(arguments)
    began = time.perf_counter()
    shape = SHAPES[given.shape]
    n_lams = max(2, -(-given.rows // shape.cells))
    try:
        if given.folder.exists():
            raise InputError(f"{given.folder} exists; name a folder that does not")
        rows, parts = write_store(given.folder, shape, n_lams, given.done)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    size = sum(file.stat().st_size for file in given.folder.rglob("*.parquet")) / 1e6
    taken = time.perf_counter() - began
    print(f"rows={rows} parts={parts} seconds={taken:.1f} megabytes={size:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
