"""The report in a browser, as wide as a desk's and as a phone's. The pictures are to be looked at;
what can be measured is asserted."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.report.data.results import label_results
from pipelines.report.write import gather, write_report_data
from tests.helpers import browser
from tests.helpers.report_rows import as_frame, as_plan, path_row, refused, sweep_rows

DESK, PHONE = 1400, 400
pytestmark = pytest.mark.skipif(browser.CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    long = "a_dataset_with_a_name_that_has_no_space_and_does_not_fit_into_a_phone"
    rows = [
        *sweep_rows(("toy", long), n_folds=3),
        *(path_row("paths", fold=fold) for fold in range(3)),
    ]
    results = label_results(as_frame(rows), as_plan(rows, [refused()]))
    return write_report_data(gather(results), tmp_path_factory.mktemp("report")).page


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_nothing_is_wider_than_the_window(page: Path, width: int) -> None:
    found = browser.measure(page, width)
    assert found["width"] == width
    assert found["page"] <= width
    assert found["wider"] == []
    assert found["broken"] == []
    assert found["sorts"] > 0


def test_a_phone_shows_the_answer_first(page: Path) -> None:
    found = browser.measure(page, PHONE)
    assert found["contents"] < 60
    assert found["headline"] < 300
    assert browser.measure(page, DESK)["contents"] > 150


def test_dark_mode(page: Path) -> None:
    dark = browser.measure(page, DESK, "--blink-settings=preferredColorScheme=0")["paper"]
    assert dark != browser.measure(page, DESK)["paper"]


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_a_picture_can_be_taken(page: Path, width: int, tmp_path: Path) -> None:
    png = browser.picture(page, width, tmp_path / f"{width}.png")
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == width
