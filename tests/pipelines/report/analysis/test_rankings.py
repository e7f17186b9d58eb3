"""Who is best, and by how much."""

from __future__ import annotations

from fractions import Fraction

from pipelines.report.analysis.lambda_paths import make_paths
from pipelines.report.analysis.rankings import (
    add_excess,
    compare,
    encoding_facts,
    proof_times,
    rank,
)
from pipelines.report.data.results import label_results
from tests.helpers.report_rows import as_frame, as_plan, failed, run_row, sweep_rows


def test_the_distance_to_the_best_is_exact_and_within_a_problem() -> None:
    best, other = run_row(lam="0.05"), run_row(lam="0.05", name="cart")
    alone = run_row(lam="0.05", encoding="categorical")
    found = add_excess(label_results(as_frame([best, other, alone]), None).rows)
    above = Fraction(other["objective_exact"]) - Fraction(best["objective_exact"])
    assert above > 0
    assert found["excess_exact"].tolist() == ["0", str(above), "0"]
    assert found["solvers"].tolist() == [2, 2, 1]


def test_the_table_marks_the_best_where_there_was_a_contest() -> None:
    rows = sweep_rows()
    results = label_results(as_frame(rows), None)
    table = compare(make_paths(results), add_excess(results.rows))
    assert len(table) == len(rows)
    onehot = table[table["encoding"] == "onehot"].set_index(["solver", "lam_text"])
    assert onehot.loc["branches", "best"].all()
    assert not onehot.loc[("cart", "0.05"), "best"]
    assert not table.loc[table["encoding"] == "categorical", "best"].any()


def test_the_ranking_counts_what_failed_and_what_is_missing() -> None:
    rows = sweep_rows(n_folds=3)
    done = [failed(rows[0]), *rows[1:-2]]
    results = label_results(as_frame(done), as_plan(rows))
    ranking = rank(results, add_excess(results.rows), ["encoding_label", "solver_label"])
    cells = ranking.set_index(["encoding", "solver"])
    assert cells.loc[("onehot", "branches"), "failed"] == 1
    assert cells.loc[("onehot", "branches"), "optimal"] == 8
    assert cells.loc[("categorical", "branches"), "missing"] == 2
    assert cells.loc[("onehot", "cart"), "heuristic"] == 9
    assert ranking["runs"].sum() == len(done)


def test_proof_times_leave_heuristics_out_and_keep_limits() -> None:
    rows = [run_row(lam="0.01"), run_row(lam="0.05", nodes=1), run_row(name="cart")]
    assert rows[1]["status"] == "node_limit"
    times = proof_times(label_results(as_frame(rows), None))
    assert times["proven"].tolist() == [True, False]
    assert times["seconds"].notna().tolist() == [True, False]


def test_encodings_are_compared_for_information() -> None:
    rows = sweep_rows()
    results = label_results(as_frame(rows), None)
    table = compare(make_paths(results), add_excess(results.rows))
    fact = encoding_facts(table)["toy"]
    assert fact["encoding"] == "categorical"
    assert fact["wins"] == fact["lams"] == 3
    assert fact["where"] == "at 3 of 3 λ (at 2 of them another encoding has the same)"
