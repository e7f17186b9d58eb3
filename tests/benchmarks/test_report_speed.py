"""The benchmark of the report, on a sweep of a few runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import report_speed


def test_the_figures_are_those_of_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = report_speed.SPEC.replace("monks-1, tic-tac-toe, wine", "monks-1")
    spec = spec.replace(", osdt", "").replace("0.1, 0.07, 0.05, 0.04, 0.03, 0.02, ", "")
    assert report_speed.main(["--keep", str(tmp_path / "kept")], spec) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    figures = dict(part.split("=") for part in line.split())
    page = tmp_path / "kept" / "report" / "index.html"
    assert (figures["runs"], figures["index_bytes"]) == ("20", str(page.stat().st_size))
    assert float(figures["first_cpu_seconds"]) > 0
    assert int(figures["single_bytes"]) > int(figures["index_bytes"])
