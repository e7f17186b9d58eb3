"""Writing a report: from a sweep's folder to a folder of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from pipelines.report.analysis.ablations import ablation_table, find_ablations
from pipelines.report.analysis.contradictions import find_disagreements
from pipelines.report.analysis.good_trees import (
    column_table,
    find_good_trees,
    row_table,
    set_table,
)
from pipelines.report.analysis.lambda_paths import make_paths
from pipelines.report.analysis.rankings import add_excess, compare, proof_times
from pipelines.report.analysis.recommendations import recommend
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.analysis.rule_families import family_table, find_families
from pipelines.report.analysis.scaling import find_scalings, scaling_table
from pipelines.report.analysis.solvers.anytime import anytime_curves, without_split
from pipelines.report.analysis.solvers.mean_ranks import mean_ranks
from pipelines.report.analysis.solvers.solver_comparison import compare_outcomes
from pipelines.report.charts.style import style
from pipelines.report.data.results import LABELS, Results, load_results
from pipelines.report.data.store_reader import read_traces
from pipelines.report.data.stored_good_trees import StoredSets
from pipelines.report.output_folder import MOST_LINES, ReportFolder
from pipelines.report.pages import exported_tables
from pipelines.report.pages.solver_comparison_markdown import comparison_markdown
from pipelines.report.pages.write_pages import INDEX, write_pages
from pipelines.report.save_figures import Figures
from pipelines.reproduce.compare_published import reproduce
from solver.errors import InputError
from sweep.datasets.dataset_reference import DatasetRef
from sweep.filesystem import Place, is_remote
from sweep.store.store import stored_sweep

SINGLE = "report.html"
"""The page that needs no other file."""
MARKDOWN = "solvers.md"
"""The comparison of solvers for documents."""
RUNS = "runs"
"""The name of the table of all runs."""


@dataclass(frozen=True)
class ReportPaths:
    """Where a report is."""

    folder: Path  # with tables (CSV and Parquet), charts and trees (SVG and PNG)
    page: Path  # HTML
    single: Path | None = None  # the page that needs no other file, if it was asked for

    def __str__(self) -> str:
        return str(self.page)


def write_report(
    store_dir: Place,
    out_dir: str | Path | None = None,
    *,
    published: str | Path | None = None,
    single_file: bool = False,
) -> ReportPaths:
    """Write the report of a sweep, finished or not.

    Parameters
    ----------
    store_dir : str or Path
        The sweep's folder, or where it is on S3: ``s3://bucket/prefix``.
    out_dir : str or Path, optional
        The report's folder, on this machine; by default ``report`` in the sweep's folder. Needed if
        the sweep's folder is on S3.
    published : str or Path, optional
        A CSV of published results to compare with, see
        :func:`pipelines.reproduce.compare_published.reproduce`.
    single_file : bool
        Whether to write also a single page that contains everything, e.g. to send by mail.

    Raises
    ------
    InputError
        If the folder is not a sweep's, a file in it is damaged, or the report cannot be written.

    Examples
    --------
    >>> import treesweep
    >>> treesweep.write_report("results/first").page.name
    'index.html'
    """
    folder = report_folder(store_dir, out_dir)
    return write_report_data(gather_report(store_dir, published), folder, single_file=single_file)


def report_folder(store_dir: Place, out_dir: str | Path | None = None) -> Path:
    """The folder of a report; InputError if it would be on S3."""
    if is_remote(store_dir if out_dir is None else out_dir):
        raise InputError("a report is written to a folder of this machine; name one with --out")
    return Path(out_dir or Path(store_dir) / "report")


def gather_report(store_dir: Place, published: str | Path | None = None) -> ReportData:
    """Read a sweep and compute all that its report says; errors as :func:`write_report`."""
    results, references = load_results(store_dir), stored_references(store_dir)
    return gather(results, references, published, StoredSets(store_dir), [store_dir])


def write_report_data(
    report: ReportData, out_dir: Path, *, single_file: bool = False
) -> ReportPaths:
    """Write what :func:`gather` computed; errors as :func:`write_report`."""
    single = SINGLE if single_file else None
    folder, tables = ReportFolder(out_dir), _tables(report)
    with style():
        figures = Figures(folder, pngs=not report.is_large)
        now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        write_pages(report, figures, now, [RUNS, *tables], single)
    for name, table in tables.items():
        folder.write_table(name, [table])
    if report.outcomes.is_of_interest or report.published is not None:
        folder.write(MARKDOWN, comparison_markdown(report))
    folder.write_table(RUNS, exported_tables.run_tables(report.results, report.excess, MOST_LINES))
    folder.finish()
    return ReportPaths(
        folder.root, folder.root / INDEX, None if single is None else folder.root / single
    )


def stored_references(root: Place) -> dict[str, DatasetRef]:
    """The datasets as the sweep's file names them; none if the file cannot be read any more."""
    try:
        sweep = stored_sweep(root)
    except (InputError, OSError):
        return {}
    return {ref.name: ref.from_directory(sweep.base) for ref in sweep.spec.datasets}


def gather(
    results: Results,
    references: dict[str, DatasetRef] | None = None,
    published: str | Path | None = None,
    stored: StoredSets | None = None,
    places: Sequence[Place] = (),
) -> ReportData:
    """Compute all that a report says; without ``stored``, nothing about sets of good trees, and
    without ``places``, the stores, nothing about objectives while searches ran."""
    paths = make_paths(results)
    excess = add_excess(results.at_grid)
    comparison = compare(paths, excess)
    recommendations = []
    for dataset in results.datasets:
        own = comparison[comparison["dataset"] == dataset] if len(comparison) else comparison
        open_tasks = int((results.missing["dataset"] == dataset).sum())
        refused = results.impossible
        why = refused.loc[refused["dataset"] == dataset, "reason"].astype(str).tolist()
        found = [path for path in paths if path.dataset == dataset]
        recommendations.append(recommend(dataset, found, own, open_tasks, why))
    outcomes = compare_outcomes(results.rows)
    curves = []
    if outcomes.is_of_interest:
        keys = {i.key for found in outcomes.problems.values() for one in found for i in one}
        runs = {key: results.stored_keys.get(key, key) for key in sorted(keys)}
        read = read_traces(places, {*runs.values()}) if places else {}
        traces = {key: read[run] for key, run in runs.items() if run in read}
        curves = anytime_curves(outcomes.problems, traces, without_split(results.rows))
    return ReportData(
        results=results,
        paths=paths,
        recommendations=recommendations,
        excess=excess,
        comparison=comparison,
        disagreements=find_disagreements(results.rows),
        outcomes=outcomes,
        curves=curves,
        ranks=mean_ranks(outcomes.problems),
        published=None if published is None else reproduce(results.rows, published),
        references=references or {},
        ablations=find_ablations(results),
        scalings=find_scalings(results, references or {}),
        families=find_families(results, references or {}),
        good_trees=[]
        if stored is None
        else find_good_trees(results, paths, recommendations, stored),
    )


def _tables(report: ReportData) -> dict[str, pd.DataFrame]:
    """Every table by name, except that of the runs."""
    results = report.results
    tables = {
        "paths": exported_tables.path_table(report.paths),
        "steps": exported_tables.step_table(report.paths),
        "choices": exported_tables.choice_table(report.recommendations, report.paths),
        "trees": exported_tables.tree_table(report.paths),
        "comparison": report.comparison.drop(columns=["lam_key", "lam_exact"], errors="ignore"),
        "ranking": report.ranking_by_dataset,
        "proof_times": proof_times(results),
        "disagreements": report.disagreements,
        "failed": exported_tables.failure_table(results),
        "missing": exported_tables.missing_table(results),
        "impossible": results.impossible.rename(columns=LABELS),
    }
    if report.outcomes.is_of_interest:
        tables["outcomes"] = report.outcomes.table
        tables["duels"] = pd.DataFrame(report.outcomes.duels)
        tables["instances"] = exported_tables.instance_table(report.outcomes.problems)
    if report.ranks:
        tables["mean_ranks"] = exported_tables.rank_table(report.ranks)
    if report.ablations.cells:
        tables["ablations"] = ablation_table(report.ablations.cells)
    if report.scalings:
        tables["scaling"] = scaling_table(report.scalings)
    if report.families:
        tables["families"] = family_table(report.families)
    if report.good_trees:
        tables["good_trees"] = set_table(report.good_trees)
        tables["good_trees_columns"] = column_table(report.good_trees)
        tables["good_trees_rows"] = row_table(report.good_trees)
    if report.published is not None:
        tables["published"] = report.published
    return tables
