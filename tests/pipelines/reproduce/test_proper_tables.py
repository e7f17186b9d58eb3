"""The proper-trees paper's figures and claims: each table says what the paper says, or why not."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from pipelines.cli import treesweep
from pipelines.reproduce import proper_tables as proper
from solver.theory.proper_family.bsp import Segments, best_partition, parts
from sweep.store.read_results import read_results


def test_as_many_trees_as_printed() -> None:
    table = proper.tree_counts()
    assert len(table) == 8
    assert (table["printed"] == table["found"]).all()


def test_narrower_spaces_of_feature_trees_miss_trees() -> None:
    table = proper.feature_trees()
    spaces = [*proper.READINGS]
    for wide, narrow in zip(spaces[1:], spaces, strict=False):
        assert (table[wide] <= table[narrow]).all()
        assert (table[wide] < table[narrow]).any() or narrow == "genMurtrees"
    assert (table["any rule anywhere"] == table["branches"]).all()


def test_the_smallest_partition_is_no_larger_than_that_of_any_order() -> None:
    table = proper.partitions().set_index("segments")
    assert (table["smallest"] <= table["best of all orders"]).all()
    crossing = table.loc["5 that cross"]
    assert (crossing["smallest"], crossing["best of all orders"]) == (9, 11)
    assert (table["mean of random orders"].astype(float) >= table["best of all orders"]).all()


@pytest.mark.parametrize("n", range(1, 10))
def test_segments_in_squares_do_not_meet(n: int) -> None:
    given = proper.separate_segments(n)
    squares = {(x // 10, y // 10) for x, y, _, _ in given}
    assert squares == {(x // 10, y // 10) for _, _, x, y in given}
    assert len(squares) == n
    assert len(parts(best_partition(Segments(given[:5])).tree)) >= min(n, 5)


def test_the_best_kd_tree_depends_on_the_searches() -> None:
    table = proper.kd_trees()
    assert (table["best tree"] <= table["a balanced tree"]).all()
    assert (table["best axes"] <= table["best tree"]).all()
    assert (table["best tree"] < table["a balanced tree"]).any()
    assert (table["best axes"] < table["best tree"]).any()
    assert table["best tree"].tolist()[0] == 1 + 2 * 2 + 4 * 3


def test_a_memo_hits_in_chains_and_less_in_decision_trees() -> None:
    table = proper.memo_hits()
    shares = table["hits"] / table["lookups"]
    assert (table["lookups"] > 0).all()
    chains, trees = shares[table["printed"] == "hits"], shares[table["printed"] == "hardly any"]
    assert chains.min() > 0.9 > trees.max()
    assert shares[table["trees"].str.startswith("polynomial")].tolist() == [0]


def run(rules: str, limit: int, errors: int, splits: int, status: str = "optimal") -> dict:
    return {
        "dataset": "d", "solver": "proper", "errors": errors, "splits": splits, "status": status,
        "solver_options": json.dumps({"rules": rules, "degree": 2}), "n_features_encoded": 2,
        "extra": json.dumps({"rules": 7 * limit}),
    }  # fmt: skip


def test_families_are_compared_at_their_fewest_errors() -> None:
    runs = [run("axis", 1, 5, 1), run("axis", 2, 3, 2), run("axis", 3, 3, 2, "time_limit"),
            run("polynomial", 1, 0, 1), {**run("axis", 1, 0, 0), "solver": "cart"}]  # fmt: skip
    table = proper.compare_families(pd.DataFrame(runs))
    assert table["rules"].tolist() == ["axis", "polynomial"]
    assert table["found"].tolist() == [1, 5]
    assert table["fewest errors"].tolist() == [3, 0]
    assert table["splits"].tolist() == [2, 1]
    assert table["proven"].tolist() == ["no", "yes"]


@pytest.mark.slow
def test_figure_3_is_one_command_without_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(treesweep, ["reproduce", "proper-figure3"])
    assert result.exit_code == 0, result.output
    table = proper.compare_families(read_results("results/proper-figure3"))
    assert (table["points that fix one, printed"] == table["found"].astype(str)).all()
    assert (table["proven"] == "yes").all()
    for _, own in table.groupby("dataset"):
        assert own["splits"].is_monotonic_decreasing
        assert own["fewest errors"].is_monotonic_decreasing
        assert own["splits"].iloc[0] > own["splits"].iloc[-1]
