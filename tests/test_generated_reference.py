"""The tables of the reference that docs/_ext/from_the_code.py writes."""

from __future__ import annotations

import re
import sys
from importlib import import_module

import pytest
from pydantic import BaseModel

from solver import SOLVERS
from sweep.clusters.open_cluster import KINDS
from sweep.clusters.slurm_config import OPTIONS
from tests.helpers import ROOT, documentation_pages

sys.path.insert(0, str(ROOT / "docs" / "_ext"))
from_the_code = import_module("from_the_code")

REFERENCE = ROOT / "docs" / "reference"


def models() -> list[str]:
    """The models whose keys the pages of the reference show."""
    pages = [REFERENCE / "yaml.md", REFERENCE / "cluster-yaml.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    return re.findall(r"\{yaml-keys\} (\S+)", text)


def model(name: str) -> type[BaseModel]:
    """A model by its full name."""
    module, _, last = name.rpartition(".")
    found = getattr(import_module(module), last)
    assert issubclass(found, BaseModel)
    return found


@pytest.mark.parametrize("name", models())
def test_every_key_has_a_line_with_its_meaning(name: str) -> None:
    kind = model(name)
    _, _, *rows = from_the_code.keys_of(kind)
    cells = [re.split(r"(?<!\\)\|", row) for row in rows]
    written = [field.alias or key for key, field in kind.model_fields.items()]
    assert [cell[1].strip() for cell in cells] == [f"`{key}`" for key in written]
    silent = [cell[1] for cell in cells if not cell[4].strip()]
    assert silent in ([], [" `kind` "])  # its value says it


def test_every_kind_of_cluster_has_its_keys_in_the_reference() -> None:
    shown = [model(name) for name in models()]
    assert [kind for kind in KINDS.values() if kind not in shown] == []


def test_names_of_a_tuple_are_a_sentence() -> None:
    directive = from_the_code.CodeNames.__new__(from_the_code.CodeNames)
    directive.arguments = ["sweep.clusters.slurm_config.OPTIONS"]
    (line,) = directive.lines()
    assert line.startswith("`begin`, ")
    assert line.endswith(".")
    assert line.count("`") == 2 * len(OPTIONS)


def test_shown_searches_are_of_the_solvers_versions() -> None:
    """A new version may search otherwise, so that what a page shows of it is to be run again."""
    pages = [page.read_text(encoding="utf-8") for page in documentation_pages()]
    shown = [found for text in pages for found in re.findall(r"^search +(\w+) (\d+): ", text, re.M)]
    assert shown
    assert {(name, str(SOLVERS[name].version)) for name, _ in shown} == {*shown}
