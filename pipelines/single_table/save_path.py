"""Save a λ-path as a folder: the path, and each tree for ``treesweep predict``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path as Folder
from typing import Any

from pipelines.single_table.output_folder import check_output_folder, remove_others
from pipelines.single_table.predict import save_tree, write_text
from solver.features.number_format import nouns
from solver.path.path import Path, Step

PATH_FILE = "path.json"
_OURS = re.compile(r"path\.json|\d+-splits?\.json")


def check_folder(folder: Folder) -> None:
    """Refuse a folder that cannot take a path, before the search.

    Raises InputError if it cannot be made or written to, or holds anything but an earlier path.
    """
    check_output_folder(folder, _OURS, "the path")


def name_tree(step: Step) -> str:
    """The file name of a step's tree. All steps have different numbers of splits."""
    return f"{step.splits}-{nouns(step.splits, 'split')}.json"


def save_path(path: Path, folder: Folder, about: Mapping[str, Any]) -> None:
    """Write ``path.json`` (``about``, then the path) and the trees, in place of an earlier path."""
    folder.mkdir(exist_ok=True)
    names = {name_tree(step) for step in path.steps}
    for step in path.steps:
        save_tree(step.tree, folder / name_tree(step))
    text = json.dumps({**about, **path.to_dict()}, ensure_ascii=False, indent=1)
    write_text(text + "\n", folder / PATH_FILE)
    remove_others(folder, _OURS, {PATH_FILE, *names})
