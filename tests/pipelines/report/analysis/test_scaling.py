"""One table in several sizes: its lines, its chart, its place on the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from pipelines.report.analysis.scaling import FEATURES, ROWS, Scaling, find_scalings, scaling_table
from pipelines.report.charts.scaling import scaling_chart
from pipelines.report.charts.style import solver_colours, style
from pipelines.report.data.results import Results, label_results
from pipelines.report.write import gather, write_report_data
from sweep.datasets.dataset_reference import DatasetRef, parse_reference
from tests.helpers.report_rows import as_frame, failed, run_row


def sized(dataset: str, rows: int, features: int, seconds: float, **more: Any) -> dict[str, Any]:
    return run_row(dataset, **more) | {"n_rows": rows, "n_features": features, "seconds": seconds}


def reference(name: str, **more: Any) -> DatasetRef:
    return parse_reference({"name": name, "source": "car", **more})


REFERENCES = {
    "car x1": reference("car x1"),
    "car x2": reference("car x2", replicate=2),
    "car x4": reference("car x4", replicate=4),
    "car 3 features": reference("car 3 features", first=3),
    "other": parse_reference({"name": "other", "source": "nursery"}),
}


def results(**more: Any) -> Results:
    rows = [
        sized("car x1", 100, 6, 1.0, **more),
        sized("car x2", 200, 6, 2.0, **more),
        sized("car x4", 400, 6, 4.0, **more),
        sized("car 3 features", 100, 3, 0.5, **more),
        sized("other", 900, 9, 9.0, **more),
    ]
    return label_results(as_frame(rows), None)


def scaling(found: Results) -> Scaling:
    (one,) = find_scalings(found, REFERENCES)
    return one


def test_two_sheets_of_a_file_are_two_tables() -> None:
    book = {
        name: parse_reference({"name": name, "path": "book.xlsx", "sheet": sheet, "replicate": n})
        for name, sheet, n in (("car x1", "one", 1), ("car x2", "two", 2))
    }
    assert find_scalings(results(), book) == []
    same = {name: one.model_copy(update={"sheet": "one"}) for name, one in book.items()}
    (one,) = find_scalings(results(), same)
    assert one.points["size"].tolist() == [100, 200]


def test_sizes_of_one_table_are_lines_against_rows_and_features() -> None:
    found = scaling(results())
    assert found.name == "car"
    lines = {
        axis: list(zip(part["size"], part["seconds"], part["beside"], strict=True))
        for axis, part in found.points.groupby("axis")
    }
    assert lines == {
        ROWS: [(100, 1.0, 6), (200, 2.0, 6), (400, 4.0, 6)],
        FEATURES: [(3, 0.5, 100), (6, 1.0, 100)],
    }
    assert found.points["proven"].all()


def test_other_tables_are_other_families() -> None:
    assert find_scalings(results(), {}) == []
    names = ("car x1", "other")
    assert find_scalings(results(), {name: REFERENCES[name] for name in names}) == []
    dropped = {**REFERENCES, "car x2": reference("car x2", columns={"safety": "drop"}, replicate=2)}
    (one,) = find_scalings(results(), dropped)
    assert set(one.points["dataset"]) == {"car x1", "car x4", "car 3 features"}


def test_naming_all_features_is_the_same_as_taking_the_first_of_all() -> None:
    names = ["buying", "safety"]
    references = {
        "car x1": reference("car x1", features=names, first=2),
        "car x2": reference("car x2", features=names, replicate=2),
    }
    (one,) = find_scalings(results(), references)
    assert one.points["axis"].tolist() == [ROWS, ROWS]


def test_folds_are_medians_and_failures_are_missing() -> None:
    rows = [
        sized(name, n, 6, seconds, fold=fold)
        for name, n in (("car x1", 100), ("car x2", 200))
        for fold, seconds in enumerate([1.0, 5.0, 2.0])
    ]
    rows += [failed(sized("car x4", 400, 6, 1.0, fold=0))]
    found = scaling(label_results(as_frame(rows), None))
    assert found.points["size"].tolist() == [100, 200, 400]
    assert found.points["seconds"].tolist()[:2] == [2.0, 2.0]
    assert found.points["seconds"].isna().tolist() == [False, False, True]
    assert found.points["proven"].tolist() == [True, True, False]


def test_a_line_for_each_solver_and_lambda() -> None:
    rows = [
        sized(name, n, 6, 1.0, name=solver, lam=lam)
        for name, n in (("car x1", 100), ("car x2", 200))
        for solver in ("branches", "cart")
        for lam in ("0.05", "0.01")
    ]
    found = label_results(as_frame(rows), None)
    one = scaling(found)
    with style():
        figure = scaling_chart(one, solver_colours(found.solvers), found.encodings)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "branches, λ = 0.05", "branches, λ = 0.01", "cart, λ = 0.05", "cart, λ = 0.01",
    ]  # fmt: skip
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["Search time (seconds) against rows", "Iterations against rows"]


def test_the_page_has_a_section_and_a_table(tmp_path: Path) -> None:
    report = write_report_data(gather(results(), REFERENCES), tmp_path)
    html = report.page.read_text(encoding="utf-8")
    assert '<h2 id="scaling">Scaling</h2>' in html
    assert (tmp_path / "charts" / "scaling-car.png").exists()
    table = pd.read_csv(tmp_path / "tables" / "scaling.csv")
    assert table["table"].tolist() == ["car"] * 5
    assert {"solver", "encoding", "axis", "size", "seconds", "proven"} <= set(table)
    plain = write_report_data(gather(results()), tmp_path)
    assert "scaling" not in plain.page.read_text(encoding="utf-8")
    assert not (tmp_path / "tables" / "scaling.csv").exists()


def test_a_table_of_nothing() -> None:
    assert scaling_table([]).empty
