"""``treesweep datasets``, ``encodings``, ``solvers`` and ``warmup``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from click.testing import CliRunner

from pipelines.cli import treesweep
from pipelines.cli.json_and_tables import count
from solver import ENCODINGS, SOLVERS
from solver.catalogue import OURS
from sweep.datasets import BUILTINS


def lines(*command: str) -> list[str]:
    result = CliRunner().invoke(treesweep, command)
    assert result.exit_code == 0, result.output
    return list(result.stdout.splitlines())


def test_every_dataset_is_listed_with_its_size() -> None:
    listed = {line.split()[0]: line.split()[1:4] for line in lines("datasets") if line}
    for name, dataset in BUILTINS.items():
        assert listed[name] == [str(dataset.rows), str(dataset.features), str(dataset.classes)]


@pytest.mark.parametrize(("command", "known"), [("encodings", ENCODINGS), ("solvers", SOLVERS)])
def test_everything_is_listed_with_its_options(command: str, known: Mapping[str, Any]) -> None:
    listed = lines(command)
    for name, one in known.items():
        assert any(line.startswith(f"{name} ") and one.summary in line for line in listed)
        for key, option in one.options.items():
            assert any(line.startswith(f"{name} {key} ") and option.doc in line for line in listed)


def test_warmup_says_how_long_each_search_took() -> None:
    *each, last = lines("warmup")
    assert [line.split(":")[0] for line in each] == [*OURS, "rashomon"]
    assert last.startswith("Ready after ")


def test_the_search_for_good_trees_can_be_warmed_up_alone() -> None:
    first, last = lines("warmup", "rashomon")
    assert first.startswith("rashomon: ready in ")
    assert last.startswith("Ready after ")


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "row", "1 row"),
        (2, "row", "2 rows"),
        (3, "class", "3 classes"),
        (0, "search", "0 searches"),
    ],
)
def test_plurals(number: int, noun: str, text: str) -> None:
    assert count(number, noun) == text


def test_a_solver_that_there_is_not_cannot_be_warmed_up() -> None:
    result = CliRunner().invoke(treesweep, ["warmup", "branch"])
    assert result.exit_code == 2
    assert "there is no solver 'branch'" in result.output
