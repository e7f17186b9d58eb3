"""The report in a browser, as wide as a desk's and as a phone's. The pictures are to be looked at;
what can be measured is asserted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipelines.report.analysis import report_data
from pipelines.report.data.results import label_results
from pipelines.report.write import gather, write_report, write_report_data
from solver.trees.tree import Tree
from sweep.spec.spec import parse_spec
from tests.helpers import browser, without_dask
from tests.helpers.report_rows import as_frame, as_plan, path_row, refused, run_row, sweep_rows

DESK, PHONE = 1400, 400
LINES = [f"{i % 3},{i % 5},{'yn'[i % 3 == 0 or i % 5 > 2]}" for i in range(60)]
pytestmark = pytest.mark.skipif(browser.CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    long = "a_dataset_with_a_name_that_has_no_space_and_does_not_fit_into_a_phone"
    rows = [
        *sweep_rows(("toy", long), n_folds=3),
        *(path_row("paths", fold=fold) for fold in range(3)),
        run_row("whole"),
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


def test_a_phone_shows_the_answer_first(page: Path) -> None:
    found = browser.measure(page, PHONE)
    assert found["contents"] < 60
    assert found["headline"] < 300
    assert browser.measure(page, DESK)["contents"] > 150


_TABLE = """
  const table = document.querySelector("#comparison ~ .scroll table");
  const [body, head] = [table.tBodies[0], table.tHead.rows[1]];
  const column = (name) => [...head.cells].find((cell) => cell.textContent === name);
  const texts = (at) => [...body.rows].map((row) => row.cells[at].textContent);
"""


def test_tables_sort_by_texts_and_by_amounts(page: Path) -> None:
    names, down, times = browser.run(
        page, DESK, f"""{_TABLE}
        column("solver").click();
        const up = texts(1);
        column("solver").click();
        const down = texts(1);
        column("median time").click();
        return [up, down, [...body.rows].map((row) => row.cells[row.cells.length - 3].textContent)];
        """,
    )  # fmt: skip
    assert len(set(names)) > 1
    assert names == sorted(names, key=str.lower)
    assert down == names[::-1] or [*down] == sorted(down, key=str.lower, reverse=True)
    units = {"ms": 1e-3, "s": 1.0}
    seconds = [float(text.split()[0]) * units[text.split()[1]] for text in times]
    assert seconds == sorted(seconds)


def test_tables_of_many_rows_are_filtered(page: Path) -> None:
    shown = browser.run(
        page, DESK, """
        const input = [...document.querySelectorAll("input[type=search]")][0];
        const rows = [...input.nextElementSibling.querySelector("tbody").rows];
        input.value = "cart 0.05";
        input.dispatchEvent(new Event("input"));
        return rows.map((row) => [row.hidden, row.textContent.toLowerCase()]);
        """,
    )  # fmt: skip
    assert {hidden for hidden, _ in shown} == {True, False}
    for hidden, text in shown:
        assert hidden != ("cart" in text and "0.05" in text)


def test_without_scripts_nothing_is_hidden_but_what_they_do(page: Path) -> None:
    html = page.read_text(encoding="utf-8")
    hidden = re.findall(r"<(\w+)[^<>]* hidden\b[^<>]*>", html)
    assert set(hidden) == {"button"}


def test_dark_mode(page: Path) -> None:
    dark = browser.measure(page, DESK, "--blink-settings=preferredColorScheme=0")["paper"]
    assert dark != browser.measure(page, DESK)["paper"]


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_a_picture_can_be_taken(page: Path, width: int, tmp_path: Path) -> None:
    png = browser.picture(page, width, tmp_path / f"{width}.png")
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == width


def test_a_click_copies_the_command(page: Path) -> None:
    before, after, selected, command = browser.run(
        page, DESK, """
        const button = document.querySelector(".command button");
        const before = [button.hidden, button.textContent];
        button.click();
        const text = button.previousElementSibling.textContent;
        return [before, button.textContent, getSelection().toString(), text];
        """,
    )  # fmt: skip
    assert before == [False, "Copy"]
    assert after in ("Copied", "Press Ctrl-C")
    assert selected == command
    assert command.startswith("treesweep ")


@pytest.mark.parametrize("large", [False, True])
def test_one_file_is_the_whole_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    if large:
        monkeypatch.setattr(report_data, "MOST_CHARTS", 0)
    (tmp_path / "t.csv").write_text("\n".join(["a,b,class", *LINES, ""]))
    text = "name: own\ndatasets: [{path: t.csv, target: class}]\nencodings: [thresholds]\n"
    text += "lambdas: [0.1, 0.02]\nsolvers: [cart, branches]\nvalidation: {kind: kfold, folds: 2}\n"
    without_dask.finish(tmp_path / "out", parse_spec(text, tmp_path))
    paths = write_report(tmp_path / "out", single_file=True)
    assert paths.single is not None
    mailed = tmp_path / "mailed" / "report.html"
    mailed.parent.mkdir()
    paths.single.rename(mailed)
    html = mailed.read_text(encoding="utf-8")
    places = re.findall(r'(?:href|src)="([^"]*)"', html)
    assert [place for place in places if not place.startswith(("#", "data:"))] == []
    ids = re.findall(r' id="([^"]*)"', html)
    assert {place[1:] for place in places if place.startswith("#")} <= {*ids}
    assert len({*ids}) == len(ids)
    found = browser.measure(mailed, PHONE)
    assert (found["broken"], found["wider"]) == ([], [])
    images, name, saved = browser.run(
        mailed, DESK, """
        const link = document.querySelector("a[download]");
        const json = atob(link.href.split(",")[1]);
        return [document.images.length, link.download, JSON.parse(json)];
        """,
    )  # fmt: skip
    assert images > 0
    assert Tree.from_dict(saved).target == "class"
    assert f"treesweep predict {name} NEW.csv" in html
