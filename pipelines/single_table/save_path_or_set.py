"""Save a λ-path or a Rashomon set as a folder: its numbers, and trees for ``treesweep predict``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from pipelines.single_table.predict import save_tree, write_text
from solver.errors import InputError, UnsupportedError
from solver.features.number_format import nouns
from solver.path.path import Path as LamPath
from solver.path.path import Step
from solver.rashomon.rashomon_set import RashomonSet

_PATH_FILE = "path.json"
_OF_PATH = re.compile(r"path\.json|\d+-splits?\.json")
_SET_FILE, _TABLE, _TIMBERTREK = "rashomon.json", "trees.csv", "timbertrek.json"
_OF_SET = re.compile(r"rashomon\.json|trees\.csv|timbertrek\.json|tree-\d+\.json")


def check_path_folder(folder: Path) -> None:
    """Refuse a folder that cannot take a path, before the search.

    Raises InputError if it cannot be made or written to, or holds anything but an earlier path.
    """
    _check_folder(folder, _OF_PATH, "the path")


def _name_tree(step: Step) -> str:
    """The file name of a step's tree. All steps have different numbers of splits."""
    return f"{step.splits}-{nouns(step.splits, 'split')}.json"


def save_path(path: LamPath, folder: Path, about: Mapping[str, Any]) -> None:
    """Write ``path.json`` (``about``, then the path) and the trees, in place of an earlier path."""
    folder.mkdir(exist_ok=True)
    names = {_name_tree(step) for step in path.steps}
    for step in path.steps:
        save_tree(step.tree, folder / _name_tree(step))
    text = json.dumps({**about, **path.to_dict()}, ensure_ascii=False, indent=1)
    write_text(text + "\n", folder / _PATH_FILE)
    _remove_others(folder, _OF_PATH, {_PATH_FILE, *names})


def check_set_folder(folder: Path) -> None:
    """Refuse a folder that cannot take a set, before the search.

    Raises InputError if it cannot be made or written to, or holds anything but an earlier set.
    """
    _check_folder(folder, _OF_SET, "the trees")


def save_set(found: RashomonSet, folder: Path, n: int, about: Mapping[str, Any]) -> int:
    """Write ``rashomon.json`` (``about``, then the set) and the ``n`` best trees, in place of an
    earlier set; return the number of trees.

    The trees are also a table, ``trees.csv``, and, where TimberTrek can show such trees,
    ``timbertrek.json``.
    """
    folder.mkdir(exist_ok=True)
    written = {_SET_FILE}
    for number, tree in enumerate(islice(found.trees(), n), start=1):
        written.add(f"tree-{number}.json")
        save_tree(tree, folder / f"tree-{number}.json")
    table = found.to_frame(n).drop(columns=["tree", "rules"])
    written.add(_TABLE)
    columns = table["columns"].map(json.dumps)
    write_text(table.assign(columns=columns).to_csv(index=False), folder / _TABLE)
    with suppress(UnsupportedError):
        shown = json.dumps(found.to_timbertrek(n), ensure_ascii=False)
        write_text(shown + "\n", folder / _TIMBERTREK)
        written.add(_TIMBERTREK)
    text = json.dumps({**about, **found.to_dict()}, ensure_ascii=False, indent=1)
    write_text(text + "\n", folder / _SET_FILE)
    _remove_others(folder, _OF_SET, written)
    return len(table)


def _check_folder(folder: Path, ours: re.Pattern[str], what: str) -> None:
    """Refuse a folder for ``what``, e.g. "the path", that holds other files than ``ours``."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"cannot write {what} to {folder}: it is a file; name a folder")
    if folder.is_dir():
        others = sorted(p.name for p in folder.iterdir() if not ours.fullmatch(p.name))
        if others:
            raise InputError(
                f"cannot write {what} to {folder}: it holds other files ({others[0]}); "
                "name a new folder"
            )
    elif not folder.parent.is_dir():
        raise InputError(f"cannot write {what} to {folder}: there is no folder {folder.parent}")
    writable = folder if folder.is_dir() else folder.parent
    if not os.access(writable, os.W_OK):
        raise InputError(f"cannot write {what} to {folder}: the folder {writable} is read-only")


def _remove_others(folder: Path, ours: re.Pattern[str], written: set[str]) -> None:
    """Remove files of an earlier call that were not written anew."""
    for file in folder.iterdir():
        if ours.fullmatch(file.name) and file.name not in written:
            file.unlink()
