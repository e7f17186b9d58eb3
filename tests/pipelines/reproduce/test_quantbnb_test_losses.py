"""Figure 2 of the Quant-BnB paper: relative losses, their table and their chart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

from pipelines.cli import treesweep
from pipelines.reproduce.experiments import EXPERIMENTS, Experiment
from pipelines.reproduce.quantbnb_test_losses import compare_losses, relative_losses
from pipelines.reproduce.relative_loss_chart import relative_loss_chart


def run(dataset: str, solver: str, depth: int, loss: float, status: str = "heuristic") -> dict:
    squares = dataset.startswith("r")
    return {
        "dataset": dataset, "solver": solver, "limits": json.dumps({"depth": depth}),
        "status": status, "test_errors": np.nan if squares else loss,
        "test_rmse": loss if squares else np.nan,
    }  # fmt: skip


@pytest.fixture
def results() -> pd.DataFrame:
    return pd.DataFrame(
        [
            run("a", "quantbnb", 2, 10, "optimal"), run("a", "cart", 2, 15), run("a", "tao", 2, 8),
            run("a", "quantbnb", 3, 4, "time_limit"), run("a", "cart", 3, 5),
            run("r", "quantbnb", 2, 2.0, "optimal"), run("r", "cart", 2, 3.0),
            run("zero", "quantbnb", 2, 0, "optimal"), run("zero", "cart", 2, 1),
            run("alone", "cart", 2, 1),
        ]
    )  # fmt: skip


def test_losses_are_relative_to_those_of_the_optimal_tree(results: pd.DataFrame) -> None:
    found = relative_losses(results)
    assert [*found.itertuples(index=False, name=None)] == [
        ("a", 2, "cart", 0.5, True), ("a", 2, "tao", pytest.approx(-0.2), True),
        ("a", 3, "cart", 0.25, False), ("r", 2, "cart", 1.25, True),
    ]  # fmt: skip


def test_the_table_counts_where_the_optimal_tree_is_better(results: pd.DataFrame) -> None:
    table = compare_losses(results).set_index("dataset")
    assert table.loc["a"].tolist() == ["+50.0 %", "-20.0 %", "+25.0 % *", ""]
    assert table.loc["optimal tree better"].tolist() == [
        "2 of 2, worse on 0", "0 of 1, worse on 1", "1 of 1, worse on 0", "0 of 0, worse on 0",
    ]  # fmt: skip
    assert table.loc["printed", "cart, depth 2"] == "> 66 %"


def test_the_chart_has_a_bar_for_each_relative_loss(results: pd.DataFrame) -> None:
    figure = relative_loss_chart(results)
    assert [axes.get_title() for axes in figure.axes] == ["depth 2", "depth 3"]
    widths = [[round(bar.get_width(), 3) for bar in axes.patches] for axes in figure.axes]
    assert widths == [[0.5, 1.25, -0.2], [0.25]]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "r"]


@pytest.mark.slow
def test_the_figure_is_one_command(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = yaml.safe_load(EXPERIMENTS["quantbnb-figure2"].text)
    small = {"bank", "raisin", "segment", "concrete", "qsar"}
    spec["datasets"] = [own for own in spec["datasets"] if own["name"] in small]
    monkeypatch.setattr(Experiment, "text", yaml.safe_dump(spec))
    out = tmp_path / "out"
    given = ["quantbnb-figure2", "--data", str(shared_data), "--out", str(out)]
    result = CliRunner().invoke(treesweep, ["reproduce", *given])
    assert result.exit_code == 0, result.output
    assert "optimal tree better" in result.stdout
    assert "*" not in result.stdout.partition("dataset")[2]
    drawn = (out / "report" / "quantbnb-figure2.svg").read_text("utf-8")
    assert all(name in drawn for name in small)
