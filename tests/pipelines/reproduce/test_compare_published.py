"""Published results beside ours."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from pipelines.reproduce.compare_published import read_published, reproduce_branches
from solver.errors import InputError
from tests.helpers.report_rows import as_frame, path_row, run_row

HEAD = "dataset,encoding,lambda,h_lambda,accuracy,splits,iterations,seconds,proven_optimal\n"


def table(folder: Path, *lines: str) -> Path:
    path = folder / "published.csv"
    path.write_text(HEAD + "\n".join(lines) + "\n")
    return path


def test_figures_are_compared_to_the_last_printed_digit(tmp_path: Path) -> None:
    row = run_row(lam="0.05")
    h = 1 - Fraction(row["objective_exact"])
    path = table(
        tmp_path,
        f"toy,full,0.05,{float(h):.6f},1.0,3,{4 * row['iterations']},2.5,yes",
        f"toy,full,0.05,{float(h):.6f},1.0,3,9,2.5,no",
        f"toy,full,0.05,{float(h) - 0.001:.6f},1.0,3,9,2.5,no",
        f"toy,full,0.05,{float(h) + 0.001:.6f},1.0,3,9,2.5,yes",
        "toy,f,0.05,0.9,1.0,3,9,2.5,yes",
        "toy,full,0.04,0.9,1.0,3,9,2.5,yes",
    )
    found = reproduce_branches(as_frame([row]), path)
    assert found["verdict"].tolist() == [
        "same", "no worse", "better", "worse", "not run", "not run",
    ]  # fmt: skip
    first = found.iloc[0]
    assert first["our_h"] == f"{float(h):.6f}".rstrip("0")
    assert first["iteration_ratio"] == pytest.approx(0.25)
    assert first["speed_up"] == pytest.approx(2.5 / row["seconds"])
    assert first["our_objective_exact"] == row["objective_exact"]


def test_only_branches_on_the_whole_table_counts_and_the_best_mode_is_taken(
    tmp_path: Path,
) -> None:
    row = run_row(lam="0.05")
    slow = row | {"key": "2", "seconds": 99.0}
    fold, cart = run_row(lam="0.05", fold=0), run_row(lam="0.05", name="cart")
    path = table(tmp_path, "toy,full,0.05,0.5,1.0,3,9,2.5,no")
    (found,) = reproduce_branches(as_frame([fold, cart, slow, row]), path).to_dict("records")
    assert found["our_seconds"] == row["seconds"]
    (none,) = reproduce_branches(as_frame([fold, cart]), path).to_dict("records")
    assert none["verdict"] == "not run"


def test_runs_that_leave_out_trees_or_have_the_seconds_of_a_path_do_not_count(
    tmp_path: Path,
) -> None:
    row = run_row(lam="0.05")
    small = row | {"key": "2", "seconds": 0.0, "limits": '{"depth":2,"seconds":9.0}'}
    slow = row | {"key": "3", "seconds": 99.0, "status": "time_limit"}
    path = table(tmp_path, "toy,full,0.05,0.5,1.0,3,9,2.5,no")
    rows = [small, path_row(lam="0.05"), slow]
    (found,) = reproduce_branches(as_frame(rows), path).to_dict("records")
    assert (found["our_seconds"], found["our_proven"]) == (99.0, False)
    proven = row | {"key": "4", "seconds": 100.0}
    (found,) = reproduce_branches(as_frame([*rows, proven]), path).to_dict("records")
    assert (found["our_seconds"], found["our_proven"]) == (100.0, True)


def test_monks_are_the_published_training_files_where_these_are_there(tmp_path: Path) -> None:
    path = table(tmp_path, "monks-1,full,0.05,0.5,1.0,3,9,2.5,no")
    train = run_row(dataset="monks-1-train") | {"n_rows": 124}
    whole = run_row(dataset="monks-1") | {"seconds": 7.0, "n_rows": 124}
    (found,) = reproduce_branches(as_frame([whole, train]), path).to_dict("records")
    assert found["our_seconds"] == train["seconds"]


def test_runs_on_another_number_of_rows_than_the_published_one_do_not_count(
    tmp_path: Path,
) -> None:
    path = table(tmp_path, "monks-2,full,0.05,0.5,1.0,3,9,2.5,yes")
    complete = run_row(dataset="monks-2") | {"n_rows": 432}
    (found,) = reproduce_branches(as_frame([complete]), path).to_dict("records")
    assert (found["verdict"], found["our_h"]) == ("not run", None)
    train = complete | {"n_rows": 169}
    (found,) = reproduce_branches(as_frame([train]), path).to_dict("records")
    assert found["verdict"] in ("same", "better", "worse")


def test_a_table_that_cannot_be_used_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the published table"):
        read_published(tmp_path / "none.csv")
    path = tmp_path / "other.csv"
    path.write_text("dataset,encoding\nx,o\n")
    with pytest.raises(InputError, match="no column 'lambda'"):
        read_published(path)


def test_the_published_file_itself(shared_data: Path) -> None:
    found = reproduce_branches(as_frame([]), shared_data / "published-branches.csv")
    assert len(found) == 32
    assert set(found["verdict"]) == {"not run"}
