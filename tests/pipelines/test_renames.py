"""Names are those of today's plan, whatever a row was stored under."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.report.data.results import load_results
from pipelines.report.write import gather, write_report
from solver.errors import InputError
from sweep.clusters import Local
from sweep.graph.engine import run_sweep
from sweep.rows.result_rows import Checkpoint
from sweep.spec.spec import parse_spec
from sweep.store.read_results import read_results
from sweep.store.store import create, stored_sweep
from sweep.store.sweep_status import sweep_status
from sweep.verify.verify import verify_sweep
from tests.helpers.without_dask import run_here

SPEC = """\
name: renamed
datasets: [{datasets}]
encodings: [onehot]
lambdas: [{lambdas}]
solvers: [{solvers}]
limits: {{nodes: {nodes}}}
"""


def run(
    out: Path,
    datasets: str,
    lambdas: str = "0.02",
    solvers: str = "branches",
    nodes: int = 1000000,
) -> None:
    text = SPEC.format(datasets=datasets, lambdas=lambdas, solvers=solvers, nodes=nodes)
    run_here(out, parse_spec(text))


def named(name: str, source: str) -> str:
    return f"{{name: {name}, source: {source}}}"


def taken(out: Path) -> list[Any]:
    """What the report recommends, and the λ and leaves of each dataset's trees."""
    found = gather(load_results(out)).recommendations
    assert all(a.path is not None for a in found)
    return [
        (a.dataset, a.headline, a.reasons, a.path.table[["lam_text", "leaves"]].to_numpy().tolist())
        for a in found
        if a.path is not None
    ]


def test_a_renamed_dataset_keeps_its_results_under_the_new_name(tmp_path: Path) -> None:
    run(tmp_path / "out", named("old", "monks-1"))
    run(tmp_path / "out", named("new", "monks-1"), "0.02, 0.3")
    run(tmp_path / "fresh", named("new", "monks-1"), "0.02, 0.3")
    assert taken(tmp_path / "out") == taken(tmp_path / "fresh")
    ((dataset, *_, trees),) = taken(tmp_path / "out")
    assert (dataset, trees) == ("new", [["0.3", 1.0], ["0.02", 7.0]])
    found = read_results(tmp_path / "out")
    assert found[["dataset", "lam"]].to_numpy().tolist() == [["new", 0.02], ["new", 0.3]]
    stored = read_results(tmp_path / "out", every_run=True)
    assert stored["dataset"].tolist() == ["old", "new"]
    status = sweep_status(tmp_path / "out")
    assert (status.total, status.done, status.missing) == (2, 2, 0)
    assert verify_sweep(tmp_path / "out").findings == []
    page = write_report(tmp_path / "out").page.read_text(encoding="utf-8")
    assert ">old<" not in page
    assert ">new<" in page


def test_two_names_that_are_swapped(tmp_path: Path) -> None:
    def pair(one: str, two: str) -> str:
        return f"{named('a', one)}, {named('b', two)}"

    run(tmp_path / "out", pair("monks-1", "monks-3"))
    before = read_results(tmp_path / "out").set_index("dataset")["objective_exact"]
    run(tmp_path / "out", pair("monks-3", "monks-1"))
    run(tmp_path / "fresh", pair("monks-3", "monks-1"))
    after = read_results(tmp_path / "out").set_index("dataset")["objective_exact"]
    assert before["a"] != before["b"]
    assert (after["a"], after["b"]) == (before["b"], before["a"])
    assert taken(tmp_path / "out") == taken(tmp_path / "fresh")
    assert verify_sweep(tmp_path / "out").findings == []


def test_a_name_that_moves_to_another_table_leaves_the_old_one_behind(tmp_path: Path) -> None:
    run(tmp_path / "out", named("a", "monks-1"), "0.02, 0.1")
    run(tmp_path / "out", named("a", "monks-3"), "0.02")
    found = read_results(tmp_path / "out")
    assert len(found) == 1
    assert len(read_results(tmp_path / "out", every_run=True)) == 3
    results = load_results(tmp_path / "out")
    assert (len(results.rows), results.unplanned) == (1, 2)
    checked = verify_sweep(tmp_path / "out")
    assert (checked.rows, checked.trees, checked.former) == (3, 1, 2)
    assert checked.findings == []


def test_other_labels_of_a_lambda_are_those_of_the_plan(tmp_path: Path) -> None:
    run(tmp_path / "out", named("a", "monks-1"), "{per-row: 54}")
    run(tmp_path / "out", named("a", "monks-1"), "1/8")
    assert read_results(tmp_path / "out")["lam_label"].tolist() == ["1/8"]
    assert load_results(tmp_path / "out").rows["lam_key"].tolist() == ["1/8"]


def test_a_limit_that_goes_down_and_up_again(tmp_path: Path) -> None:
    for nodes, status in ((1000000, "optimal"), (5, "node_limit"), (1000000, "optimal")):
        run(tmp_path / "out", named("a", "monks-1"), nodes=nodes)
        found = read_results(tmp_path / "out")
        assert found["status"].tolist() == [status]
        assert found["limits"].tolist() == [f'{{"nodes":{nodes}}}']
        assert load_results(tmp_path / "out").rows["status"].tolist() == [status]
        assert sweep_status(tmp_path / "out").statuses == {status: 1}
    run(tmp_path / "out", named("a", "monks-1"), nodes=2000000)
    (row,) = read_results(tmp_path / "out").to_dict("records")
    assert (row["status"], row["limits"]) == ("optimal", '{"nodes":2000000}')
    assert len(read_results(tmp_path / "out", every_run=True)) == 2


def test_what_is_kept_of_other_tasks_is_not_shown(tmp_path: Path) -> None:
    """Unfinished searches of an earlier plan do not count as unfinished, nor for the gap."""
    run(tmp_path / "out", named("a", "monks-1"))
    with create(tmp_path / "out", stored_sweep(tmp_path / "out"), print) as store:
        store.save_checkpoint(Checkpoint("ab" * 32, "{}", "1/2", "0", 1.0, 5, 6))
    status = sweep_status(tmp_path / "out")
    assert (status.unfinished, status.worst_gap) == (0, 0.0)


def test_without_a_plan_nothing_is_shown_under_old_names(tmp_path: Path) -> None:
    run(tmp_path / "out", named("a", "monks-1"))
    (tmp_path / "out" / "plan.parquet").unlink()
    for look in (read_results, load_results, sweep_status, verify_sweep):
        with pytest.raises(InputError, match=r"has no plan yet; 'treesweep resume .*' makes it"):
            look(tmp_path / "out")
    assert len(read_results(tmp_path / "out", every_run=True)) == 1


def test_on_a_cluster_too(tmp_path: Path) -> None:
    for datasets, lambdas in (
        (f"{named('a', 'monks-1')}, {named('b', 'monks-3')}", "0.1"),
        (f"{named('b', 'monks-1')}, {named('a', 'monks-3')}", "0.1, 0.02"),
        (named("c", "monks-3"), "0.02, 0.3"),
    ):
        text = SPEC.format(datasets=datasets, lambdas=lambdas, solvers="branches", nodes=900000)
        run_sweep(parse_spec(text), tmp_path / "out", Local(workers=1))
    run(tmp_path / "fresh", named("c", "monks-3"), "0.02, 0.3", nodes=900000)
    found, wanted = (read_results(tmp_path / name) for name in ("out", "fresh"))
    names = ["key", "dataset", "lam_label", "limits", "objective_exact", "tree", "iterations"]
    assert found[names].to_numpy().tolist() == wanted[names].to_numpy().tolist()
    assert taken(tmp_path / "out") == taken(tmp_path / "fresh")
    assert verify_sweep(tmp_path / "out").findings == []
