"""Tests of solver/verbose.py."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import pytest

import treesweep
from solver.monitor import Monitor, Snapshot
from solver.verbose import Verbose, is_notebook
from tests.helpers.notebook import be_notebook

PROBLEM = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
TREE = PROBLEM.grow(-1)


def at(objective: str, bound: str, lam: str | None = None) -> Snapshot:
    exact = None if lam is None else Fraction(lam)
    return Snapshot(TREE, Fraction(objective), Fraction(bound), 1.5, 9, 9, None, exact)


def told(monitor: Monitor, *snapshots: Snapshot) -> None:
    assert monitor.snapshot is not None
    for snapshot in snapshots:
        monitor.snapshot(snapshot)


def test_each_better_objective_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Verbose()
    told(shown.monitor(None), at("1/2", "1/8"), at("1/2", "1/4"), at("3/8", "1/4"))
    shown.ended("optimal")
    assert capsys.readouterr().err.splitlines() == [
        "treesweep: objective 0.5, lower bound 0.125, gap 0.375, 0 splits, 1.5 s",
        "treesweep: objective 0.375, lower bound 0.25, gap 0.125, 0 splits, 1.5 s",
        "treesweep: optimal",
    ]


def test_each_lambda_of_a_path_has_its_own_lines(capsys: pytest.CaptureFixture[str]) -> None:
    told(Verbose().monitor(None), at("1/4", "1/8", "1/10"), at("1/2", "1/8", "1/5"))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["treesweep: λ = 0.1", "treesweep: λ = 0.2"]


def test_the_callers_own_monitor_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[Snapshot] = []
    own = Monitor(stop=lambda: True, snapshot=heard.append, interval=7.0)
    both = Verbose().monitor(own)
    told(both, at("1/2", "0"))
    assert (both.stop(), both.interval, len(heard)) == (True, 7.0, 1)
    assert "objective 0.5" in capsys.readouterr().err


def test_a_notebook_has_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = be_notebook(monkeypatch)
    shown = Verbose()
    told(shown.monitor(None), at("1/2", "0"), at("1/2", "3/8"))
    shown.ended("optimal")
    (output,) = outputs
    assert [bar.share for bar in output.shown] == [0.0, 0.0, 0.75, 1.0]
    assert '<progress max="1" value="0.7500"' in output.shown[2]._repr_html_()
    assert repr(output.shown[3]) == "100% optimal"
    assert capsys.readouterr().err == ""


def test_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not is_notebook()
    be_notebook(monkeypatch, shell=object())
    assert not is_notebook()
    be_notebook(monkeypatch)
    assert is_notebook()


@pytest.mark.parametrize(
    ("call", "last"),
    [
        (treesweep.solve, "treesweep: optimal: objective 0.1, 2 splits, "),
        (treesweep.regularization_path, "treesweep: optimal: 2 steps, "),
    ],
)
def test_a_verbose_search_gives_the_same_and_says_how_it_ended(
    call: Any, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet = call(PROBLEM, "0.05", solver="branches")
    assert "objective" not in capsys.readouterr().err
    loud = call(PROBLEM, "0.05", verbose=True)
    assert capsys.readouterr().err.splitlines()[-1].startswith(last)
    if call is treesweep.solve:
        assert (loud.tree, loud.objective) == (quiet.tree, quiet.objective)
    else:
        assert loud.steps == quiet.steps
