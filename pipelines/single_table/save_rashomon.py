"""Save a Rashomon set as a folder: its numbers, and its best trees for ``treesweep predict``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from pipelines.single_table.output_folder import check_output_folder, remove_others
from pipelines.single_table.predict import save_tree, write_text
from solver.errors import UnsupportedError
from solver.rashomon import RashomonSet

SET_FILE, TABLE, TIMBERTREK = "rashomon.json", "trees.csv", "timbertrek.json"
_OURS = re.compile(r"rashomon\.json|trees\.csv|timbertrek\.json|tree-\d+\.json")


def check_set_folder(folder: Path) -> None:
    """Refuse a folder that cannot take a set, before the search.

    Raises InputError if it cannot be made or written to, or holds anything but an earlier set.
    """
    check_output_folder(folder, _OURS, "the trees")


def save_set(found: RashomonSet, folder: Path, n: int, about: Mapping[str, Any]) -> int:
    """Write ``rashomon.json`` (``about``, then the set) and the ``n`` best trees, in place of an
    earlier set; return the number of trees.

    The trees are also a table, ``trees.csv``, and, where TimberTrek can show such trees,
    ``timbertrek.json``.
    """
    folder.mkdir(exist_ok=True)
    written = {SET_FILE}
    for number, tree in enumerate(islice(found.trees(), n), start=1):
        written.add(f"tree-{number}.json")
        save_tree(tree, folder / f"tree-{number}.json")
    table = found.to_frame(n).drop(columns=["tree", "rules"])
    written.add(TABLE)
    columns = table["columns"].map(json.dumps)
    write_text(table.assign(columns=columns).to_csv(index=False), folder / TABLE)
    with suppress(UnsupportedError):
        shown = json.dumps(found.to_timbertrek(n), ensure_ascii=False)
        write_text(shown + "\n", folder / TIMBERTREK)
        written.add(TIMBERTREK)
    text = json.dumps({**about, **found.to_dict()}, ensure_ascii=False, indent=1)
    write_text(text + "\n", folder / SET_FILE)
    remove_others(folder, _OURS, written)
    return len(table)
