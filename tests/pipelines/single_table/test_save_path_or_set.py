"""A λ-path as a folder of files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import solver
from pipelines.single_table.predict import load_tree
from pipelines.single_table.save_path_or_set import check_path_folder, save_path
from solver import InputError, Problem

CODES = [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_each_step_is_a_tree(tmp_path: Path) -> None:
    path = solver.regularization_path(Problem.from_codes(CODES, [0, 1, 1, 0]), 0)
    folder = tmp_path / "xor"
    check_path_folder(folder)
    save_path(path, folder, {"dataset": "xor"})
    assert sorted(p.name for p in folder.iterdir()) == [
        "0-splits.json", "3-splits.json", "path.json",
    ]  # fmt: skip
    assert load_tree(folder / "3-splits.json") == path.trees[0]
    stored = json.loads((folder / "path.json").read_text())
    assert stored == {"dataset": "xor", **json.loads(json.dumps(path.to_dict()))}


def test_an_earlier_path_is_replaced(tmp_path: Path) -> None:
    for target in ([0, 1, 1, 0], [0, 0, 1, 1]):
        check_path_folder(tmp_path)
        path = solver.regularization_path(Problem.from_codes(CODES, target), 0)
        save_path(path, tmp_path, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "0-splits.json", "1-split.json", "path.json",
    ]  # fmt: skip


def test_folders_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with pytest.raises(InputError, match=r"holds other files \(notes.txt\); name a new folder"):
        check_path_folder(tmp_path)
    with pytest.raises(InputError, match="it is a file"):
        check_path_folder(file)
    with pytest.raises(InputError, match="there is no folder"):
        check_path_folder(tmp_path / "no" / "such")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="read-only"):
        check_path_folder(tmp_path / "path")
