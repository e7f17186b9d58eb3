"""``treesweep show``: a stored tree in other forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from solver import Tree
from sweep.datasets import load_dataset
from tests.helpers.commands import refused, run

PNG = b"\x89PNG\r\n\x1a\n"
BEGINS = {"tree.svg": "<svg ", "tree.dot": "digraph tree {", "tree.sql": "CASE\n", "tree.txt": "a"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trees") / "tree.json"
    solved = run("solve", "monks-1", "--encoding", "onehot", "--lam", "0.01", "--save", path)
    assert solved.exit_code == 0, solved.stderr
    return path


def test_text_is_the_default_and_as_solve_prints_it(tree: Path) -> None:
    shown = run("show", tree)
    assert shown.exit_code == 0, shown.stderr
    solved = run("solve", "monks-1", "--encoding", "onehot", "--lam", "0.01")
    assert shown.stdout in solved.stdout
    assert len(shown.stdout.splitlines()) > 2


@pytest.mark.parametrize("name", BEGINS)
def test_the_suffix_of_the_file_says_the_form(tree: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    assert run("show", tree, "--out", out).exit_code == 0
    assert out.read_text().startswith(BEGINS[name])
    form = {"txt": "text"}.get(out.suffix[1:], out.suffix[1:])
    assert run("show", tree, "--format", form).stdout == out.read_text()


def test_a_picture_is_written(tree: Path, tmp_path: Path) -> None:
    assert run("show", tree, "--out", tmp_path / "tree.png").exit_code == 0
    assert (tmp_path / "tree.png").read_bytes().startswith(PNG)


def test_the_function_predicts(tree: Path) -> None:
    module: dict[str, Any] = {}
    exec(run("show", tree, "--format", "python").stdout, module)
    rows = load_dataset("monks-1").frame
    model = Tree.from_json(tree.read_text())
    assert [*map(module["predict"], rows.to_dict("records"))] == model.predict(rows).tolist()


@pytest.mark.parametrize(
    "options, message",
    [
        (["--format", "png"], "a picture cannot go to a terminal; add --out tree.png"),
        (["--format", "sql", "--merge"], "--merge is for pictures and text; leave it out for sql"),
        (
            ["--out", "nowhere/tree.svg"],
            "cannot write nowhere/tree.svg: there is no folder nowhere",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused(tree: Path, options: list[str], message: str) -> None:
    assert message in refused("show", tree, *options)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    assert "this is not a treesweep tree" in refused("show", tmp_path / "a.json")
    assert "there is no file" in refused("show", tmp_path / "b.json")
