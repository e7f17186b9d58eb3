"""The tables of scikit-learn are the same, whoever reads them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from sweep.datasets import scikit_learn_tables
from sweep.datasets.scikit_learn_tables import FEATURES, bundled


@pytest.mark.parametrize("name", FEATURES)
def test_scikit_learn_reads_the_same(name: str, tmp_path: Path, monkeypatch) -> None:
    read = bundled(name)()
    monkeypatch.setattr(scikit_learn_tables, "_folder", lambda: tmp_path)  # no files there
    pd.testing.assert_frame_equal(bundled(name)(), read)
