"""Writing a report: from a sweep's folder to a folder of files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from pipelines.report.analysis.ablations import ablation_table, find_ablations
from pipelines.report.analysis.checks import find_disagreements
from pipelines.report.analysis.comparison import add_excess, compare, proof_times, rank
from pipelines.report.analysis.paths import make_paths
from pipelines.report.analysis.recommendations import answer
from pipelines.report.analysis.report_data import Material
from pipelines.report.analysis.rule_families import family_table, find_families
from pipelines.report.analysis.scaling import find_scalings, scaling_table
from pipelines.report.charts.axes import style
from pipelines.report.charts.figures import Album
from pipelines.report.charts.folder import MOST_LINES, ReportFolder
from pipelines.report.data.results import Results, load_results
from pipelines.report.pages import csv_tables
from pipelines.report.pages.page import INDEX, write_pages
from pipelines.reproduce.published import reproduce
from solver.errors import InputError
from sweep.datasets.reference import DatasetRef
from sweep.storage import Place, is_remote
from sweep.store.store import stored_sweep


@dataclass(frozen=True)
class ReportPaths:
    """Where a report lies.

    Parameters
    ----------
    folder : Path
        It holds ``tables`` (CSV and Parquet), ``charts`` and ``trees`` (SVG and PNG).
    page : Path
        The HTML page.
    """

    folder: Path
    page: Path

    def __str__(self) -> str:
        return str(self.page)


def write_report(
    store_dir: Place,
    out_dir: str | Path | None = None,
    *,
    published: str | Path | None = None,
) -> ReportPaths:
    """Write the report of a sweep, finished or not.

    Parameters
    ----------
    store_dir : str or Path
        The sweep's folder, or where it is on S3: ``s3://bucket/prefix``.
    out_dir : str or Path, optional
        The folder that the report goes to; by default ``report`` in the sweep's, if that is on a
        disk.
    published : str or Path, optional
        A CSV of published results to compare with, see
        :func:`pipelines.reproduce.published.reproduce`.

    Raises
    ------
    InputError
        If it is no sweep's folder, a file in it is damaged, or the report cannot be written.
    """
    folder = report_folder(store_dir, out_dir)
    return write_material(gather_report(store_dir, published), folder)


def report_folder(store_dir: Place, out_dir: str | Path | None = None) -> Path:
    """Where a report goes.

    Raises
    ------
    InputError
        If the sweep's folder is on S3 and no other is named.
    """
    if is_remote(store_dir if out_dir is None else out_dir):
        raise InputError("a report is written to a folder of this machine; name one with --out")
    return Path(out_dir or Path(store_dir) / "report")


def gather_report(store_dir: Place, published: str | Path | None = None) -> Material:
    """Read a sweep and work out all that its report says; errors as :func:`write_report`."""
    return gather(load_results(store_dir), _references(store_dir), published)


def write_material(material: Material, out_dir: Path) -> ReportPaths:
    """Write what :func:`gather` worked out; errors as :func:`write_report`."""
    folder = ReportFolder(out_dir)
    with style():
        album = Album(folder, pngs=not material.is_large)
        write_pages(material, album, f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    for name, table in _tables(material).items():
        folder.write_table(name, [table])
    folder.write_table("runs", csv_tables.run_tables(material.results, material.excess, MOST_LINES))
    folder.finish()
    return ReportPaths(folder.root, folder.root / INDEX)


def _references(root: Place) -> dict[str, DatasetRef]:
    """The datasets as the sweep's file names them; none where it cannot be read any more."""
    try:
        sweep = stored_sweep(root)
    except (InputError, OSError):
        return {}
    return {ref.name: ref.from_directory(sweep.base) for ref in sweep.spec.datasets}


def gather(
    results: Results,
    references: dict[str, DatasetRef] | None = None,
    published: str | Path | None = None,
) -> Material:
    """Work out all that a report says."""
    paths = make_paths(results)
    excess = add_excess(results.at_grid)
    comparison = compare(paths, excess)
    answers = []
    for dataset in results.datasets:
        own = comparison[comparison["dataset"] == dataset] if len(comparison) else comparison
        open_tasks = int((results.missing["dataset"] == dataset).sum())
        refused = results.impossible
        why = refused.loc[refused["dataset"] == dataset, "reason"].astype(str).tolist()
        found = [path for path in paths if path.dataset == dataset]
        answers.append(answer(dataset, found, own, open_tasks, why))
    return Material(
        results=results,
        paths=paths,
        answers=answers,
        excess=excess,
        comparison=comparison,
        disagreements=find_disagreements(results.rows),
        published=None if published is None else reproduce(results.rows, published),
        references=references or {},
        ablations=find_ablations(results),
        scalings=find_scalings(results, references or {}),
        families=find_families(results, references or {}),
    )


def _tables(material: Material) -> dict[str, pd.DataFrame]:
    """Every table by name but for that of the runs."""
    results = material.results
    by = ["dataset", "encoding_label", "solver_label"]
    tables = {
        "paths": csv_tables.path_table(material.paths),
        "steps": csv_tables.step_table(material.paths),
        "choices": csv_tables.choice_table(material.answers, material.paths),
        "trees": csv_tables.tree_table(material.paths),
        "comparison": material.comparison.drop(columns="lam_key", errors="ignore"),
        "ranking": rank(results, material.excess, by),
        "proof_times": proof_times(results),
        "disagreements": material.disagreements,
        "failed": csv_tables.failure_table(results),
        "missing": csv_tables.missing_table(results),
        "impossible": results.impossible.rename(
            columns={"encoding_label": "encoding", "solver_label": "solver"}
        ),
    }
    if material.ablations.cells:
        tables["ablations"] = ablation_table(material.ablations.cells)
    if material.scalings:
        tables["scaling"] = scaling_table(material.scalings)
    if material.families:
        tables["families"] = family_table(material.families)
    if material.published is not None:
        tables["published"] = material.published
    return tables
