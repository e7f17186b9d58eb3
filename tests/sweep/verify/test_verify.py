"""Whatever is wrong with a stored sweep is found."""
# ruff: noqa: E501  a message is easier to read on one line

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from solver.objective.exact_squared_error import tolerance_of
from solver.solution import share_without
from solver.trees.tree import Tree
from sweep.plan.plan import make_plan
from sweep.plan.task_keys import task_key
from sweep.rows.result_rows import as_finished
from sweep.rows.schema import SCHEMA
from sweep.spec.spec import parse_spec
from sweep.store import checksummed_parquet
from sweep.store import store as stores
from sweep.store.plan_file import survey
from sweep.verify.verify import verify_sweep
from tests.helpers import without_dask

Row = dict[str, Any]

_OF_A_TREE = (
    "objective", "objective_exact", "lower_bound", "lower_bound_exact", "gap", "gap_exact",
    "errors", "total_weight", "train_accuracy", "test_accuracy", "test_errors", "splits", "leaves",
    "depth", "iterations", "nodes", "seconds", "compile_seconds", "peak_bytes", "trace", "tree",
    "loss", "tolerance", "extra", "n_features", "n_features_encoded",
)  # fmt: skip


@cache
def _finished(text: str) -> TemporaryDirectory[str]:
    """A folder with a finished sweep, in which nothing is found."""
    folder = TemporaryDirectory()
    rows = without_dask.finish(Path(folder.name) / "out", parse_spec(text))
    found = verify_sweep(Path(folder.name) / "out")
    assert (found.rows, found.findings) == (len(rows), [])
    return folder


def _finish(folder: Path, text: str = without_dask.SPEC) -> Path:
    """Copy a finished sweep, which is solved once for all tests that spoil it; its rows' file."""
    shutil.copytree(Path(_finished(text).name) / "out", folder, symlinks=True)
    (part,) = (folder / "rows").glob("*.parquet")
    return part


def test_a_sound_store_has_no_findings(tmp_path: Path) -> None:
    without_dask.finish(tmp_path / "out")
    found = verify_sweep(tmp_path / "out")
    assert (found.rows, found.trees, found.findings) == (24, 24, [])


def test_planned_tasks_without_a_row_are_counted(tmp_path: Path, small_rows: list[Row]) -> None:
    sweep = without_dask.small_sweep()
    with stores.create(tmp_path / "out", sweep, print) as store:
        survey(make_plan(sweep), store)
        store.add(as_finished(small_rows[1:]))
    found = verify_sweep(tmp_path / "out")
    assert (found.rows, found.planned, found.missing, found.findings) == (23, 24, 1, [])


def test_a_row_that_answered_a_task_and_is_gone_is_a_finding(tmp_path: Path) -> None:
    sweep = without_dask.small_sweep()
    without_dask.finish(tmp_path / "out", sweep)
    with stores.create(tmp_path / "out", sweep, print) as store:
        survey(make_plan(sweep), store)
    (part,) = (tmp_path / "out" / "rows").glob("*.parquet")
    rows = pq.read_table(part).to_pylist()
    part.write_bytes(checksummed_parquet.to_bytes(pa.Table.from_pylist(rows[1:], schema=SCHEMA)))
    (finding,) = verify_sweep(tmp_path / "out").findings
    assert finding.key == rows[0]["key"]
    assert finding.problem == "the row that answered it is not there any more"


def _tree(change: Callable[[dict[str, Any]], None]) -> Callable[[Row], None]:
    def apply(row: Row) -> None:
        tree = json.loads(row["tree"])
        change(tree)
        row["tree"] = json.dumps(tree)

    return apply


def _better(row: Row) -> None:
    value = Fraction(row["objective_exact"]) - Fraction(1, 100)
    for name in ("objective", "lower_bound"):
        row[name], row[f"{name}_exact"] = float(value), str(value)
    row["loss"] = float(value - Fraction(row["lam_exact"]) * row["splits"])
    row["trace"] = []


def _too_good(row: Row) -> None:
    row["errors"] -= 1
    row["train_accuracy"] += 1 / row["total_weight"]
    value = Fraction(row["objective_exact"]) - Fraction(1, row["total_weight"])
    for name in ("objective", "lower_bound"):
        row[name], row[f"{name}_exact"] = float(value), str(value)
    row["loss"] = float(value - Fraction(row["lam_exact"]) * row["splits"])
    row["trace"] = []


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda row: row.update(key="0" * 64), "the key is not that of the row's content"),
        (lambda row: row.update(limits="{}"), "the key is not that of the row's content"),
        (lambda row: row.update(lam=0.3), "λ is 0.3 and exactly"),
        (lambda row: row.update(schema_version=7), "schema version 7"),
        (lambda row: row.update(status="perfect"), "there is no status 'perfect'"),
        (lambda row: row.update(status="error", error="…"), "of status error has results"),
        (lambda row: row.update(tree=None), "has no tree"),
        (lambda row: row.update(objective=0.5), "objective is 0.5 and exactly"),
        (lambda row: row.update(status="time_limit"), "the status is time_limit and the gap is 0"),
        (lambda row: row.update(lower_bound=1.0, lower_bound_exact="1"), "the lower bound 1 is above"),
        (lambda row: row.update(train_accuracy=0.0), "the train accuracy is 0.0"),
        (lambda row: row.update(test_errors=999), "test_errors is 999, the tree and the data say"),
        (lambda row: row.update(test_accuracy=0.123), "test_accuracy is 0.123, the tree and the data say"),
        (lambda row: row.update(test_accuracy=None), "test_accuracy is None, the tree and the data"),
        (lambda row: row.update(test_r2=0.5), "test_r2 is 0.5, the tree and the data say None"),
        (lambda row: row.update(tolerance=0.1), "the tolerance is 0.1, in classification it is 0"),
        (lambda row: row.update(trace=[{"seconds": 0.1, "objective": 0.9, "lower_bound": 0.8}]), "the trace has the lower bound 0.8, above"),
        (lambda row: row.update(trace=[{"seconds": 0.1, "objective": 0.001, "lower_bound": 0.0}]), "the trace has the objective 0.001, the tree"),
        (lambda row: row.update(n_classes=7), "n_classes is 7, the data say"),
        (lambda row: row.update(n_test=1), "n_test is 1"),
        (lambda row: row.update(n_features=1), "n_features is 1, the data say"),
        (lambda row: row.update(n_features_encoded=1), "n_features_encoded is 1, the data say"),
        (lambda row: row.update(seed=77), "the seed is 77, its validation has 0"),
        (lambda row: row.update(seconds=float("nan")), "seconds is nan"),
        (lambda row: row.update(iterations=-1), "iterations is -1"),
        (lambda row: row.update(nodes=None), "nodes is None"),
        (lambda row: row.update(error="it failed"), "a row of status optimal says 'it failed'"),
        (lambda row: row.update(path_cut_by="time_limit"), "path_cut_by is time_limit, such a row has none"),
        (lambda row: row.update(proof_bytes=5), "proof_bytes is 5, such a row has none"),
        (lambda row: row.update(rashomon_trees="9"), "rashomon_trees is 9, such a row has none"),
        (lambda row: row.update(extra="[]"), "extra is '[]', no JSON object"),
        (lambda row: row.update(extra="x"), "it cannot be checked: JSONDecodeError"),
        (lambda row: row.update(leaves=99), "leaves is 99"),
        (_better, "is not that of"),
        (_too_good, "errors is"),
        (_tree(lambda tree: tree["nodes"][-1].update(prediction=1 - tree["nodes"][-1]["prediction"])), "errors is"),
        (_tree(lambda tree: tree.update(format="x")), "not a treesweep tree"),
    ],
)  # fmt: skip
def test_each_wrong_thing_is_found(
    tmp_path: Path, change: Callable[[Row], None], message: str
) -> None:
    text = without_dask.SPEC.replace(", balance-scale", "").replace("0.1, 0.05, ", "")
    part = _finish(tmp_path / "out", text)
    rows = pq.read_table(part).to_pylist()
    assert len(rows) == 4
    row = max(
        (r for r in rows if r["status"] == "optimal"), key=lambda r: (r["splits"], r["errors"])
    )
    change(next(r for r in rows if r is row))
    part.write_bytes(checksummed_parquet.to_bytes(pa.Table.from_pylist(rows, schema=SCHEMA)))
    found = verify_sweep(tmp_path / "out")
    assert found.findings
    assert any(message in finding.problem for finding in found.findings), found.findings
    assert row["key"] in {finding.key for finding in found.findings}


def _forged(folder: Path, text: str, change: Callable[[Row], None]) -> list[str]:
    """What is found in a finished sweep of which the first row was changed."""
    part = _finish(folder / "out", text)
    rows = pq.read_table(part).to_pylist()
    change(rows[0])
    part.write_bytes(checksummed_parquet.to_bytes(pa.Table.from_pylist(rows, schema=SCHEMA)))
    return [finding.problem for finding in verify_sweep(folder / "out").findings]


@pytest.mark.parametrize("node", [0, -1])
def test_counts_that_the_rows_do_not_give_are_found(tmp_path: Path, node: int) -> None:
    """The report draws trees, and says what a leaf holds, from these counts."""
    text = (
        "name: c\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.05]\nsolvers: [branches]\n"
    )
    change = _tree(lambda tree: tree["nodes"][node].update(counts=[999, 999]))
    (problem,) = _forged(tmp_path, text, change)
    assert "says counts [999, 999] of its training rows, the data say counts [" in problem


def test_a_spread_that_the_rows_do_not_have_is_found(tmp_path: Path) -> None:
    """R² and the tolerance, within which a tree is called optimal, are made of the root's."""
    text = "name: r\ndatasets: [diabetes]\nencodings: [continuous]\nlambdas: [100]\n"
    text += "solvers: [quantbnb]\nlimits: {depth: 1}\n"

    def spread(row: Row) -> None:
        tree = json.loads(row["tree"])
        whole = 10**15 * Fraction(tree["nodes"][0]["squared_error"])
        tree["nodes"][0]["squared_error"] = str(whole)
        row["tree"] = json.dumps(tree)
        row["train_r2"] = share_without(Tree.from_json(row["tree"]).errors, whole)
        row["tolerance"] = float(tolerance_of(whole, row["total_weight"]))
        row.update(lower_bound=0.0, lower_bound_exact="0")
        row.update(gap=row["objective"], gap_exact=row["objective_exact"])

    (problem,) = _forged(tmp_path, text, spread)
    assert "its node 0 says 442 rows, squared error " in problem


def test_a_tree_with_too_small_a_leaf_is_found(tmp_path: Path) -> None:
    text = (
        "name: l\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.05]\nsolvers: [branches]\n"
    )

    def limited(row: Row) -> None:
        row["limits"] = '{"min_leaf_size":109}'
        row["key"] = task_key(row)

    problems = _forged(tmp_path, text, limited)
    assert "the tree has a leaf of 108 rows, the limit was 109" in problems


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"status": "heuristic"}, "the status is heuristic, and osdt is no heuristic"),
        ({"status": "time_limit"}, "the status is time_limit, and there is no limit of seconds"),
        ({"status": "node_limit"}, None),
        ({"status": "memory_limit"}, None),  # memory may be short without a limit
    ],
)  # fmt: skip
def test_an_end_that_a_search_cannot_have_is_found(
    tmp_path: Path, changed: Row, problem: str | None
) -> None:
    """A heuristic's row is never run again, and a row that no limit ended answers larger ones."""
    text = "name: e\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.05]\n"
    text += "solvers: [{solver: osdt, options: {nodes: 10}}]\n"
    found = _forged(tmp_path, text, lambda row: row.update(changed))
    assert found == ([] if problem is None else [problem])


def _rename(out: Path, column: str, names: dict[str, str]) -> list[str]:
    """What is found where the plan has other names."""
    assert verify_sweep(out).findings == []
    plan = out / "plan.parquet"
    table, known = pq.read_table(plan), pq.ParquetFile(plan).metadata.metadata
    table = table.replace_schema_metadata({b"treesweep-sweep": known[b"treesweep-sweep"]})
    found = pa.array([names.get(name, name) for name in table[column].to_pylist()])
    table = table.set_column(table.column_names.index(column), column, found)
    plan.write_bytes(checksummed_parquet.to_bytes(table))
    return [finding.problem for finding in verify_sweep(out).findings]


@pytest.mark.parametrize("label", ["0.5", "0.01 = 0.05", "2/n", "x"])
def test_a_lambda_that_the_plan_calls_another_is_found(tmp_path: Path, label: str) -> None:
    """Reports and results have the names of today's plan."""
    text = "name: n\ndatasets: [monks-1]\nencodings: [onehot]\nsolvers: [cart]\n"
    sweep = parse_spec(text + "lambdas: [0.05, {per-row: 3}]\n", tmp_path)
    without_dask.finish(tmp_path / "out", sweep)
    assert len(_rename(tmp_path / "out", "lam_label", {"0.05": label})) == 1


def test_a_dataset_that_the_plan_calls_another_is_found(tmp_path: Path) -> None:
    text = "name: n\ndatasets: [monks-1, monks-2]\nencodings: [onehot]\nlambdas: [0.05]\n"
    without_dask.finish(tmp_path / "out", parse_spec(text + "solvers: [cart]\n", tmp_path))
    swapped = {"monks-1": "monks-2", "monks-2": "monks-1"}
    problems = _rename(tmp_path / "out", "dataset", swapped)
    assert sorted(problems) == [f"it is of another table than dataset {n!r}" for n in swapped]


def test_a_proof_by_a_solver_that_proves_nothing_is_found(tmp_path: Path) -> None:
    """The report would call the tree proven optimal."""
    text = "name: h\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.05]\nsolvers: [cart]\n"

    def prove(row: Row) -> None:
        row.update(status="optimal", gap=0.0, gap_exact="0")
        row.update(lower_bound=row["objective"], lower_bound_exact=row["objective_exact"])

    (problem,) = _forged(tmp_path, text, prove)
    assert problem.startswith("it has the lower bound ")
    assert problem.endswith(", and cart proves nothing")


@pytest.mark.parametrize("kept", ["test_accuracy", "lower_bound_exact", "loss", "n_features"])
def test_a_result_of_a_run_without_a_tree_is_found(tmp_path: Path, kept: str) -> None:
    """Users average these columns over the rows of a sweep."""
    text = "name: x\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.05]\n"
    text += "solvers: [branches]\nvalidation: {kind: holdout}\n"

    def fail(row: Row) -> None:
        value = row[kept]
        row.update(dict.fromkeys(_OF_A_TREE), status="error", error="it failed")
        row[kept] = value

    assert _forged(tmp_path, text, fail) == ["a row of status error has results"]


def test_a_path_that_a_limit_which_it_has_not_cut_is_found(tmp_path: Path) -> None:
    text = "name: c\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.05]\n"
    text += "solvers: [{solver: branches, lam: path}]\n"
    found = _forged(tmp_path, text, lambda row: row.update(path_cut_by="node_limit"))
    assert found == ["the path_cut_by is node_limit, and there is no limit of nodes"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lam_exact", "x"), ("solver", None), ("solver_options", "[]"), ("limits", ""),
        ("limits", "null"), ("objective_exact", None), ("gap_exact", "x"), ("errors", None),
        ("total_weight", 0), ("train_accuracy", None), ("tolerance", float("nan")),
        ("tolerance", float("inf")), ("splits", None), ("n_test", 0), ("task", None),
    ],
)  # fmt: skip
def test_whatever_a_row_holds_is_a_finding(tmp_path: Path, name: str, value: Any) -> None:
    text = (
        "name: f\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.05]\nsolvers: [branches]\n"
    )
    text += "validation: {kind: holdout}\n"
    assert _forged(tmp_path, text, lambda row: row.update({name: value}))


def test_quality_on_held_out_rows_is_not_said_where_none_are(tmp_path: Path) -> None:
    text = (
        "name: q\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.05]\nsolvers: [branches]\n"
    )
    found = _forged(tmp_path, text, lambda row: row.update(test_accuracy=0.99, train_rmse=1.0))
    assert found == [
        "test_accuracy is 0.99, such a row has none",
        "train_rmse is 1.0, such a row has none",
    ]


@pytest.mark.parametrize("name", ["path_test_loss", "path_test_r2"])
def test_test_losses_of_a_path_that_its_trees_do_not_have_are_found(
    tmp_path: Path, name: str
) -> None:
    """Validation chooses λ by them."""
    text = "name: p\ndatasets: [diabetes]\nencodings: [continuous]\nlambdas: [100]\n"
    text += "solvers: [{solver: quantbnb, lam: path}]\nlimits: {depth: 1}\n"
    text += "validation: {kind: holdout}\n"

    def better(row: Row) -> None:
        row[name] = [0.5 * row[name][0], *row[name][1:]]

    (problem,) = _forged(tmp_path, text, better)
    assert problem.startswith(f"{name} is [")


def test_a_tree_of_another_target_or_with_weights_is_found(tmp_path: Path) -> None:
    text = (
        "name: t\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.05]\nsolvers: [branches]\n"
    )
    change = _tree(lambda tree: tree.update(target="price", weight_scale="10"))
    assert _forged(tmp_path, text, change) == [
        "it is a tree for the target 'price'",
        "it has row weights, a sweep has none",
    ]


@pytest.mark.parametrize("outputs", [["t 2", "t 1"], ["t 1", "zz"]])
def test_a_tree_for_the_targets_in_another_order_is_found(
    tmp_path: Path, outputs: list[str]
) -> None:
    table = "x,t 1,t 2\n" + "".join(f"{i},{i % 3},{i * i}\n" for i in range(8))
    (tmp_path / "t.csv").write_text(table)
    text = (
        f"name: t\ndatasets: [{{name: d, path: {tmp_path / 't.csv'}, target: [t 1, t 2], "
        "task: regression}]\nencodings: [continuous]\nlambdas: [0.5]\nsolvers: [quantbnb]\nlimits: {depth: 1}\n"
    )
    found = _forged(tmp_path, text, _tree(lambda tree: tree.update(outputs=outputs)))
    assert f"it gives numbers for the targets {', '.join(map(repr, outputs))}" in found


def test_a_file_that_nobody_reads_is_named(tmp_path: Path) -> None:
    part = _finish(tmp_path / "out")
    part.with_name("mine.parquet").write_bytes(part.read_bytes())
    (finding,) = verify_sweep(tmp_path / "out").findings
    assert finding.task.endswith("mine.parquet")
    assert "its rows are not read" in finding.problem


def test_a_row_that_is_there_twice_is_found(tmp_path: Path) -> None:
    part = _finish(tmp_path / "out")
    part.with_name("part-00000002.parquet").write_bytes(part.read_bytes())
    assert {f.problem for f in verify_sweep(tmp_path / "out").findings} == {
        "the row is there twice"
    }


def test_contradicting_proofs_are_found(tmp_path: Path) -> None:
    """A bound above what another solver reached is a lie, though each row is sound by itself."""
    part = _finish(tmp_path / "out")
    rows = pq.read_table(part).to_pylist()
    cart = next(r for r in rows if r["solver"] == "cart")
    names = ("data_hash", "encoding", "lam_exact", "fold", "repeat")
    other = next(
        r for r in rows if r["solver"] == "branches" and all(r[n] == cart[n] for n in names)
    )
    other.update(lower_bound=0.9, lower_bound_exact="9/10", objective=0.95, objective_exact="19/20")
    part.write_bytes(checksummed_parquet.to_bytes(pa.Table.from_pylist(rows, schema=SCHEMA)))
    problems = [f.problem for f in verify_sweep(tmp_path / "out").findings]
    assert any(("above" in p and "cart reached" in p) or "proved" in p for p in problems), problems


def test_what_is_proven_of_small_trees_says_nothing_of_deeper_ones(tmp_path: Path) -> None:
    """The depth of quantbnb and cart is a limit of the solver alone, tao has none."""
    text = """\
name: depths
datasets: [balance-scale]
encodings: [onehot]
lambdas: [0, 0.01]
solvers:
  - {solver: quantbnb, options: {depth: [1, 2]}}
  - {solver: cart, options: {depth: [2, 3]}}
  - {solver: tao}
limits: {seconds: 60}
"""
    rows = without_dask.finish(tmp_path / "out", without_dask.small_sweep(text))
    assert not [row["error"] for row in rows if row["error"]]
    assert [f.problem for f in verify_sweep(tmp_path / "out").findings] == []
    # Of the same depth, one solver's bound is held against what another has reached.
    (part,) = (tmp_path / "out" / "rows").glob("*.parquet")
    stored = pq.read_table(part).to_pylist()
    two = [r for r in stored if '"depth":2' in r["limits"] and r["lam_exact"] == "1/100"]
    proven = next(r for r in two if r["solver"] == "quantbnb")
    proven.update(lower_bound=1.0, lower_bound_exact="1", objective=1.0, objective_exact="1")
    part.write_bytes(checksummed_parquet.to_bytes(pa.Table.from_pylist(stored, schema=SCHEMA)))
    problems = [f.problem for f in verify_sweep(tmp_path / "out").findings]
    assert any("that quantbnb proved" in p or "cart reached" in p for p in problems), problems


def test_a_dataset_that_changed_is_found(tmp_path: Path) -> None:
    text = "name: mine\ndatasets: [{path: mine.csv, target: y}]\nencodings: [onehot]\n"
    text += "lambdas: [0.1]\nsolvers: [cart]\n"
    (tmp_path / "mine.csv").write_text("a,y\n1,p\n2,q\n1,p\n")
    without_dask.finish(tmp_path / "out", parse_spec(text, base=tmp_path))
    assert verify_sweep(tmp_path / "out").findings == []
    (tmp_path / "mine.csv").write_text("a,y\n1,p\n2,q\n1,q\n")
    found = verify_sweep(tmp_path / "out")
    assert (found.rows, found.trees, found.unscored) == (1, 0, 1)
    (finding,) = found.findings
    assert "dataset 'mine' has changed since" in finding.problem
    (tmp_path / "mine.csv").unlink()
    found = verify_sweep(tmp_path / "out")
    assert (found.rows, found.trees, found.unscored) == (1, 0, 1)
    assert "there is no file" in found.findings[0].problem


def test_trees_that_leave_next_to_nothing_are_sound(tmp_path: Path) -> None:
    """Rounded, R² is 1 and the objective is its lower bound."""
    text = "\n".join(
        f"{i // 4},{i % 2},{1e9 * (i // 8) + (0.5 if i % 2 else 0.25) * (i // 4 % 2)!r}"
        for i in range(16)
    )
    (tmp_path / "t.csv").write_text(f"a,b,y\n{text}\n")
    spec = parse_spec(
        "name: near\ndatasets: [{path: t.csv, task: regression, target: y}]\n"
        "encodings: [continuous]\nlambdas: [1000]\nlimits: {depth: 1}\n"
        "solvers: [quantbnb, cart, {solver: quantbnb, lam: path}]\n",
        tmp_path,
    )
    without_dask.finish(tmp_path / "out", spec)
    found = verify_sweep(tmp_path / "out")
    assert (found.rows, found.trees, found.findings) == (3, 5, [])
