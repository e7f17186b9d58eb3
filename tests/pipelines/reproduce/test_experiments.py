"""The papers' experiments: their files are sweeps, and one command runs and compares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.reproduce.compare_published import read_published
from pipelines.reproduce.experiments import COMPUTED, EXPERIMENTS, Experiment
from sweep.plan.plan import make_plan
from tests.helpers import ROOT


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda own: own.name)
def test_every_experiment_is_a_sweep_of_the_printed_rows(
    experiment: Experiment, shared_data: Path
) -> None:
    sweep = experiment.sweep(shared_data, None)
    assert sweep.spec.name == experiment.name
    if experiment.published is None:
        return
    printed = read_published(shared_data / experiment.published)
    planned = {block.node.info.dataset for block in make_plan(sweep).blocks}
    assert {*printed["dataset"]} <= planned


def test_the_limit_of_each_run_can_be_given(shared_data: Path) -> None:
    for experiment in EXPERIMENTS.values():
        own = experiment.sweep(shared_data, None)
        given = experiment.sweep(shared_data, 2.5)
        assert own.spec.limits.seconds != given.spec.limits.seconds == 2.5
        assert own.spec.limits.memory == given.spec.limits.memory
        assert own.spec.solvers == given.spec.solvers


def test_the_guide_lists_every_experiment() -> None:
    guide = (ROOT / "docs" / "guides" / "cli.md").read_text("utf-8")
    for own in (*EXPERIMENTS.values(), *COMPUTED.values()):
        assert f"\n{own.name:18} {own.summary}\n" in guide


def test_examples_show_the_same_files() -> None:
    examples = ROOT / "examples" / "papers"
    for experiment in EXPERIMENTS.values():
        assert (examples / f"{experiment.name}.yaml").read_text("utf-8") == experiment.text
