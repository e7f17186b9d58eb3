"""The page and its files."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipelines.report import output_folder, save_figures, write_report
from pipelines.report.analysis import report_data as report
from pipelines.report.data.results import label_results
from pipelines.report.pages import dataset_section
from pipelines.report.write import gather, gather_report, write_report_data
from solver.errors import InputError
from sweep.graph.engine import run_sweep
from sweep.spec.spec import parse_spec
from tests.helpers import without_dask
from tests.helpers.report_rows import (
    as_frame,
    as_plan,
    failed,
    path_row,
    refused,
    run_row,
    sweep_rows,
)

VOID = {"meta", "br", "link", "img", "path", "use", "rect", "input", "hr"}


class Reader(HTMLParser):
    """Checks that tags are balanced and collects text, ids and references."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert tag != "script" or not attrs  # no script but the page's own
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "src", "xlink:href"):
                self.links.append(str(value))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def make(
    out: Path, rows: list[dict[str, Any]], plan: pd.DataFrame | None = None
) -> tuple[str, Reader]:
    """Write a report; its HTML, which is checked to stand alone, and what is in it."""
    report = write_report_data(gather(label_results(as_frame(rows), plan)), out)
    html = report.page.read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    others = [link for link in reader.links if not link.startswith("#")]
    assert all((out / link).is_file() for link in others)
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", html.replace("xlink:href", "href"))
    assert "@import" not in html
    inner = {link[1:] for link in reader.links if link.startswith("#")}
    assert inner <= set(reader.ids)
    return html, reader


@pytest.fixture(autouse=True)
def _without_pngs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave PNG files empty but for those of ``validated``: the SVG files show the same figures."""
    monkeypatch.setattr(save_figures, "to_png", lambda *_: b"")


@pytest.fixture(scope="module")
def validated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("validated")
    rows = sweep_rows(n_folds=3)
    html, _ = make(folder, rows, as_plan(rows, [refused()]))
    return folder, html


def test_the_page_has_answers_paths_and_marked_lambdas(validated: tuple[Path, str]) -> None:
    _, html = validated
    for text in ("Take ", "one-SE rule", "best mean", "λ-path:", "How to read this", "impossible"):
        assert text in html
    assert html.count("<svg") + html.count("<img") > 8
    assert "No proofs were compared" in html
    assert "None: on the same problems" not in html


def test_every_chart_is_svg_and_every_table_csv_and_parquet(
    validated: tuple[Path, str],
) -> None:
    folder, _ = validated
    charts = {path.name for path in (folder / "charts").iterdir()}
    stems = ("path-toy-categorical-branches", "path-toy-onehot-branches", "path-toy-onehot-cart",
             "toy-comparison", "performance-profile")  # fmt: skip
    assert charts == {*(f"{stem}.svg" for stem in stems), "performance-profile.png"}
    for path in (folder / "tables").glob("*.parquet"):
        assert len(pd.read_parquet(path)) == len(_csv(path.with_suffix(".csv")))
    runs = pd.read_parquet(folder / "tables" / "runs.parquet")
    assert len(runs) == 27
    assert "objective_exact" in runs
    trees = pd.read_parquet(folder / "tables" / "trees.parquet")
    assert trees["rules"].str.contains("colour").any()
    pngs = list(folder.rglob("*.png"))
    assert {png.parent.name for png in pngs} == {"charts", "trees"}
    assert all(png.read_bytes().startswith(b"\x89PNG") for png in pngs)


def _csv(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()


def test_a_large_report_has_a_page_a_dataset_and_small_charts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_CHARTS", 3)
    names = ("one", "two & a half")
    rows = sweep_rows(names, n_folds=3)
    html, reader = make(tmp_path, [*rows, *(path_row("one", fold=f) for f in range(3))])
    pages = sorted((tmp_path / "datasets").iterdir())
    assert [page.name for page in pages] == ["dataset-one.html", "dataset-two-a-half.html"]
    assert {f"datasets/{page.name}" for page in pages} <= set(reader.links)
    assert "λ-path:" not in html
    for page, name in zip(pages, names, strict=True):
        inner = Reader()
        text = page.read_text(encoding="utf-8")
        inner.feed(text)
        assert inner.open == []
        assert len(inner.ids) == len(set(inner.ids))
        assert {link[1:] for link in inner.links if link.startswith("#")} <= set(inner.ids)
        assert any(name in words for words in inner.words)
        assert "Take " in text
        assert "λ-path" in text
    assert not list(tmp_path.rglob("*.png"))[1:]  # but for the profile
    assert (tmp_path / "charts" / "path-one-onehot-branches-path.svg").exists()


def test_a_path_of_very_many_lambdas_has_a_small_chart_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_section, "MOST_POINTS", 40)
    lams = [str(round(0.3 * 0.95**i, 6)) for i in range(41)]
    html, _ = make(tmp_path, sweep_rows(encodings=("onehot",), lams=lams))
    assert "of the points that share a pixel" in html
    assert not list((tmp_path / "charts").glob("path*.png"))


def test_a_table_of_many_rows_is_parquet_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_folder, "MOST_LINES", 3)
    make(tmp_path, sweep_rows(encodings=("onehot",), lams=("0.2", "0.05")))
    assert not (tmp_path / "tables" / "runs.csv").exists()
    assert len(pd.read_parquet(tmp_path / "tables" / "runs.parquet")) == 4
    assert (tmp_path / "tables" / "choices.csv").exists()


def test_proofs_that_agree_are_told_from_proofs_that_never_met(tmp_path: Path) -> None:
    row = run_row(lam="0.05")
    html, _ = make(tmp_path, [row, row | {"solver": "rival", "key": "rival"}])
    assert "None: on the same problems" in html
    assert "No proofs were compared" not in html


def test_contradictions_are_red(tmp_path: Path) -> None:
    row = run_row(lam="0.05")
    liar = row | {"solver": "liar", "key": "liar", "objective_exact": "9/10",
                  "lower_bound_exact": "9/10"}  # fmt: skip
    html, _ = make(tmp_path, [row, liar])
    assert "Do not rely on this sweep" in html
    assert "two optima" in html
    found = pd.read_csv(tmp_path / "tables" / "disagreements.csv")
    assert set(found["kind"]) >= {"two optima", "own figures"}


def test_names_are_text_and_not_markup(tmp_path: Path) -> None:
    name = "<script>alert('x')</script> & 日本語 $\\alpha$ " + "very long " * 12
    html, reader = make(tmp_path, sweep_rows((name,), ("onehot",), ("0.05", "0.01")))
    assert "<script>alert" not in html
    assert any(name.strip() in " ".join(words.split()) for words in reader.words)


def test_a_half_finished_sweep_says_what_is_missing(tmp_path: Path) -> None:
    rows = sweep_rows(n_folds=3)
    some = [failed(rows[0], error="<b>Boom</b>"), *rows[1::2]]
    html, _ = make(tmp_path, some, as_plan(rows))
    assert "not run yet" in html
    assert "treesweep resume" in html
    assert "&lt;b&gt;Boom&lt;/b&gt;" in html
    assert len(pd.read_csv(tmp_path / "tables" / "missing.csv")) == len(rows) - len(some)


@pytest.mark.parametrize("planned", [True, False])
def test_nothing_has_been_run(tmp_path: Path, planned: bool) -> None:
    html, _ = make(tmp_path, [], as_plan(sweep_rows()) if planned else None)
    assert "No run has been stored yet" in html


def test_every_run_has_failed(tmp_path: Path) -> None:
    html, _ = make(tmp_path, [failed(row) for row in sweep_rows()])
    assert "every run has failed" in html
    assert "Boom: no luck" in html


def test_one_lambda_has_no_path_to_draw(tmp_path: Path) -> None:
    html, _ = make(tmp_path, sweep_rows(lams=("0.05",)))
    assert "One λ only" in html


def test_lambda_zero_and_many_lambdas(tmp_path: Path) -> None:
    lams = ["0", *(str(round(0.3 / 1.07**i, 5)) for i in range(60))]
    html, _ = make(tmp_path, sweep_rows(lams=lams, encodings=("onehot",)))
    assert "30 of 61 λ" in html
    assert len(pd.read_csv(tmp_path / "tables" / "paths.csv")) == 2 * 61


def test_many_datasets_have_a_table_of_contents(tmp_path: Path) -> None:
    names = [f"set {i}" for i in range(9)]
    rows = sweep_rows(datasets=names, encodings=("onehot",), lams=("0.05",), solvers=("branches",))
    html, reader = make(tmp_path, rows)
    assert html.count('href="#dataset-9"') >= 2
    assert "dataset-9" in reader.ids


def test_a_new_report_removes_what_the_old_one_wrote_and_nothing_else(tmp_path: Path) -> None:
    few = {"encodings": ("onehot",), "lams": ("0.2", "0.05")}
    make(tmp_path, sweep_rows(datasets=("old",), **few))
    mine = tmp_path / "charts" / "mine.svg"
    mine.write_text("mine")
    assert (tmp_path / "charts" / "path-old-onehot-cart.svg").exists()
    make(tmp_path, sweep_rows(datasets=("new",), **few))
    assert mine.exists()
    assert not (tmp_path / "charts" / "path-old-onehot-cart.svg").exists()
    assert (tmp_path / "charts" / "path-new-onehot-cart.svg").exists()


def test_the_published_table(tmp_path: Path) -> None:
    row = run_row(lam="0.05")
    published = tmp_path / "published.csv"
    published.write_text(
        "dataset,encoding,lambda,h_lambda,iterations,seconds,proven_optimal\n"
        f"toy,full,0.05,{1 - row['objective']:.6f},9,2.5,yes\n"
        "other,o,0.05,0.9,9,2.5,yes\n"
    )
    results = label_results(as_frame([row]), None)
    report = write_report_data(gather(results, published=published), tmp_path / "report")
    html = report.page.read_text(encoding="utf-8")
    assert "1 same, 1 not run" in html
    table = pd.read_csv(report.folder / "tables" / "published.csv")
    assert table["verdict"].tolist() == ["same", "not run"]


def test_exact_paths_with_folds(tmp_path: Path) -> None:
    rows = [*(path_row(fold=fold) for fold in range(3)), *sweep_rows(n_folds=3)]
    html, reader = make(tmp_path, rows, as_plan(rows))
    text = " ".join(" ".join(reader.words).split())
    for words in ("Exact λ-path: onehot", "Breakpoints", "Least mean loss on held-out rows",
                  "One-standard-error rule: the largest λ", "every λ from 0.01 up; single λ",
                  "all proven optimal, at every λ", "A λ-path is one run"):  # fmt: skip
        assert words in text
    assert html.count('<details class="step">') > 1
    steps = pd.read_parquet(tmp_path / "tables" / "steps.parquet")
    assert len(steps) == sum(len(row["path"] or []) for row in rows if "path" in row)
    assert steps["lam_end_exact"].isna().sum() == 3
    choices = pd.read_parquet(tmp_path / "tables" / "choices.parquet")
    assert choices["minimum_lam_start_exact"].notna().sum() == 1
    assert "path" not in pd.read_parquet(tmp_path / "tables" / "runs.parquet")


def test_an_exact_path_without_folds_names_what_changes_from_tree_to_tree(tmp_path: Path) -> None:
    rows = [path_row(), *sweep_rows(encodings=("onehot",))]
    _, reader = make(tmp_path, rows)
    text = " ".join(" ".join(reader.words).split())
    assert "look first at the tree of" in text
    assert "at the root" in text
    assert "1 added, 0 kept" in text
    assert (tmp_path / "charts" / "path-toy-onehot-branches-path.svg").exists()


def test_a_path_with_a_certificate_says_how_to_check_it(tmp_path: Path) -> None:
    html, _ = make(tmp_path, [path_row() | {"proof": "proofs/0.parquet"}])
    assert "Its certificate is in the sweep" in html
    assert "treesweep verify --proof" in html


@pytest.mark.parametrize(
    "options",
    [{"nodes": 2}, {"name": "cart"}, {"lam": "0"}, {"lam": "0.9"}, {"fold": 0}],
    ids=["open", "heuristic", "from zero", "no split", "held out once"],
)
def test_paths_of_all_kinds_are_drawn(tmp_path: Path, options: dict[str, Any]) -> None:
    row = path_row(**options)
    _, reader = make(tmp_path, [row], as_plan([row]))
    text = " ".join(" ".join(reader.words).split())
    assert "Breakpoints" in text
    assert ("open: between the line and its bound" in text) == (row["status"] == "node_limit")
    assert ("nothing is proven" in text) == (row["status"] == "heuristic")


def test_the_report_of_a_real_sweep_of_paths(tmp_path: Path) -> None:
    spec = parse_spec(
        "name: real\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.05, {per-row: 4}]\n"
        "solvers: [{solver: branches, lam: path}, cart]\nvalidation: {kind: kfold, folds: 2}\n"
    )
    without_dask.finish(tmp_path / "store", spec)
    html = write_report(tmp_path / "store").page.read_text(encoding="utf-8")
    assert "Exact λ-path" in html
    assert "treesweep solve monks-1 --encoding onehot" in html
    assert "No proofs were compared" in html


def test_the_report_of_a_real_store(tmp_path: Path) -> None:
    spec = parse_spec(
        "name: real\ndatasets: [monks-1]\nencodings: [categorical, onehot]\n"
        "lambdas: [0.05, {per-row: 4}]\nsolvers: [branches, cart]\n"
        "validation: {kind: kfold, folds: 2}\n"
    )
    run_sweep(spec, tmp_path / "store")
    report = write_report(tmp_path / "store")
    assert report.page == tmp_path / "store" / "report" / "index.html"
    html = report.page.read_text(encoding="utf-8")
    assert "treesweep solve monks-1 --encoding" in html
    assert "needs binary or continuous features" in html
    missing = pd.read_csv(report.folder / "tables" / "missing.csv")
    assert len(missing) == 0


def test_a_folder_that_is_no_store_or_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sweep's folder"):
        write_report(tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    report = gather(label_results(as_frame([]), None))
    with pytest.raises(InputError, match="cannot make the folder"):
        write_report_data(report, file)


def test_a_tree_within_limits_is_not_taken_where_another_limit_has_a_better_one(
    tmp_path: Path,
) -> None:
    text = "name: own\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.01]\n"
    path = "{solver: branches, lam: path, options: {depth: [1, null]}}"
    for solver in (path, "{solver: branches, options: {depth: [1, null]}}"):
        out = tmp_path / str(len(solver))
        without_dask.finish(out, parse_spec(f"{text}solvers: [{solver}]\n", tmp_path))
        (own,) = gather_report(out).recommendations
        assert own.path is not None
        assert own.path.solver == "branches (depth=none)"
