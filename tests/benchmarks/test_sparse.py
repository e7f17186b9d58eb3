"""A comparison from the command line to its files, with solvers that are always there."""

import json
import os
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from benchmarks import anytime, many_rows, sparse
from benchmarks.harness import Job, run
from tests.helpers.benchmark_rows import made_up, open_row


@pytest.fixture
def toy(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (60, 6))
    frame = pd.DataFrame(codes, columns=list("abcdef"))
    frame["target"] = (codes[:, 0] & codes[:, 1]) ^ (rng.random(60) < 0.1)
    path = tmp_path / "toy.parquet"
    frame.to_parquet(path)
    return path


@pytest.fixture(autouse=True)
def same_cores():
    """The scripts move the process off the core of the solves; give it back."""
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)


def test_compare_and_resume(toy, tmp_path, capsys):
    out = tmp_path / "out"
    asked = [str(toy), "--lam", "0.02", "--solvers", "cart", "branches", "--seconds", "20"]
    assert sparse.main([*asked, "--out", str(out)]) == 0
    kept = pq.read_table(out / "results.parquet").to_pylist()
    assert [(row["solver"], row["status"]) for row in kept] == [
        ("branches", "optimal"),
        ("cart", "heuristic"),
    ]
    assert kept[0]["peak_bytes"] > 2**20
    assert kept[0]["gap_lams"] == 0
    assert (out / "results.md").read_text().startswith("# Sparse trees")
    assert (out / "profile.png").exists()
    assert sparse.main([*asked, "--out", str(out)]) == 2
    assert "--resume" in capsys.readouterr().err
    finished = [row["finished"] for row in kept]
    assert sparse.main([*asked, "--out", str(out), "--resume"]) == 0
    again = pq.read_table(out / "results.parquet").to_pylist()
    assert [row["finished"] for row in again] == finished
    changed = [*asked[:-1], "21", "--out", str(out), "--resume"]
    assert sparse.main(changed) == 2
    assert "other settings" in capsys.readouterr().err


def test_a_disagreement_is_exit_code_one(toy, tmp_path, monkeypatch, capsys):
    def lie(job, core):
        leaf = {"tree": [[0]], "lower_bound": None, "lower_bound_exact": None}
        split = {"tree": [[0, 1, 2], [0], [1]], "lower_bound": 0.0, "lower_bound_exact": None}
        told = leaf if job.solver == "branches" else split
        return {
            "status": "optimal",
            "seconds": 0.1,
            "peak_bytes": 1,
            "claimed_errors": None,
            **told,
        }

    monkeypatch.setattr(sparse, "run", lie)
    asked = [str(toy), "--lam", "0.02", "--solvers", "branches", "paper"]
    assert sparse.main([*asked, "--out", str(tmp_path / "out")]) == 1
    shout = capsys.readouterr().err
    assert "DISAGREEMENT on" in shout
    assert "branches" in shout
    assert "paper" in shout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--published"),
        (["nowhere.parquet", "--lam", "0.1"], "no file"),
        (["nowhere.parquet"], "--lam"),
        (["x.parquet", "--lam", "much"], "not a number"),
    ],
)
def test_bad_input(arguments, message, tmp_path, capsys):
    assert sparse.main([*arguments, "--out", str(tmp_path / "out"), "--solvers", "branches"]) == 2
    assert message in capsys.readouterr().err


def test_published_rows(shared_data):
    problems = sparse.published(shared_data)
    assert len(problems) == 32
    assert all(path.is_file() and isinstance(lam, Fraction) for path, lam in problems)


def job_of(toy, **fields):
    asked = {"solver": "branches", "seconds": 5.0, "memory": 2**31, "depth": None, "target": None}
    return Job(file=toy, encoding="codes", lam=Fraction("0.02"), **(asked | fields))


def test_memory_is_capped(toy):
    answer = run(job_of(toy, memory=2**24), min(os.sched_getaffinity(0)))
    assert answer["status"] == "memory_limit"
    assert answer["peak_bytes"] > 2**24


def test_an_exception_is_a_row_with_its_text(toy):
    answer = run(job_of(toy, target="nope"), min(os.sched_getaffinity(0)))
    assert answer["status"] == "error"
    assert "no column 'nope'" in answer["error"]


def test_anytime_shows_where_ours_is_worse():
    found = anytime.by_moment(
        [
            open_row("branches"),
            open_row("streed", objective_exact="6/25"),
            open_row("cart", objective_exact="3/10"),
        ]
    )
    (line,) = anytime.losses(found)
    assert "worse than streed by 1 λ on binary/toy" in line
    page = anytime.markdown(
        [made_up("branches"), open_row("cart")],
        dict.fromkeys(("processor", "versions", "revision", "started"), "x"),
    )
    assert "**0.250000** (1 s, *proven*)" in page
    assert "worse in 0" in page


def test_anytime_compares_trees_of_limited_depth_where_splits_are_free():
    told = json.dumps(json.loads(open_row("streed")["settings"]) | {"depth": 4})
    free = {"lam_exact": "0", "settings": told}
    rows = [
        made_up("branches", seconds=0.5, **free),
        made_up("streed", seconds=1.0, objective_exact="6/25", **free),
        open_row("cart", objective_exact="3/10", **free),
    ]
    found = anytime.by_moment(rows)
    assert list(found) == [("binary/toy", "0", 4, found_seconds(rows))]
    (line,) = anytime.losses(found)
    assert "worse than streed by 0.01 on binary/toy, λ = 0, depth 4" in line
    assert anytime.speed(found, "streed").startswith("Proven by both: 1; streed takes 2 times")
    assert "by ours alone: 1, by cart alone: 0" in anytime.speed(found, "cart")


def found_seconds(rows):
    (seconds,) = {json.loads(row["settings"])["seconds"] for row in rows}
    return seconds


def test_replicated_rows_cost_the_same_tree(toy):
    line = many_rows.measure(toy, Fraction("0.02"), 600, 1, 20.0)
    assert (line["same"], line["status"]) == ("True", "optimal, optimal")
    line = many_rows.measure(toy, Fraction("0.02"), 601, 1, 20.0)
    assert line["same"] == "not comparable"
    assert many_rows.show(line).startswith("| ")
