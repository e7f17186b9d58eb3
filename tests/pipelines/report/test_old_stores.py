"""Reports of stores that earlier versions of the schema wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines.report.data.results import load_results
from pipelines.report.write import write_report

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.parametrize("name", ["store-v1", "store-v2-unfinished", "store-v3"])
def test_an_old_store_is_reported_as_classification(name: str, tmp_path: Path) -> None:
    store = Path(shutil.copytree(FIXTURES / name, tmp_path / "store", symlinks=True))
    results = load_results(store)
    assert set(results.rows["task"]) == {"classification"}
    assert results.validated
    good = results.rows[results.rows["ok"]]
    wrong = good["errors"] / good["total_weight"]
    assert good["loss"].tolist() == pytest.approx(wrong.tolist())
    html = write_report(store).page.read_text(encoding="utf-8")
    assert "of the held-out rows right" in html
    assert "R²" not in html
    assert "nan" not in html
    assert ("Exact λ-path" in html) == (name == "store-v3")
