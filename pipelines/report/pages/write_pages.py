"""The pages of a report: writes all of them, and has the parts of the first page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from pipelines.report.analysis.contradictions import has_compared_proofs
from pipelines.report.analysis.rankings import proof_times
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.charts.proven_within_time import profile_chart
from pipelines.report.charts.scaling import scaling_chart
from pipelines.report.charts.solver_comparison import profile_and_anytime_chart, rank_chart
from pipelines.report.charts.style import solver_colours
from pipelines.report.data import formatting, metrics
from pipelines.report.data.group_statistics import firsts, groups, lam_ranks
from pipelines.report.data.metrics import REGRESSION, is_regression
from pipelines.report.data.results import Results, failure_groups
from pipelines.report.output_folder import MOST_LINES
from pipelines.report.pages.ablations import PAGE as ABLATIONS
from pipelines.report.pages.ablations import ablation_sections
from pipelines.report.pages.dataset_section import dataset_section
from pipelines.report.pages.recommendation_cards import draw_card, make_cards
from pipelines.report.pages.single_file import embed_files
from pipelines.report.save_figures import Figures

INDEX = "index.html"


def write_pages(
    report: ReportData,
    figures: Figures,
    generated: str,
    tables: Sequence[str],
    single: str | None = None,
) -> None:
    """Write the page, in a large report also one for each dataset, and the page of ablations.

    Parameters
    ----------
    report : ReportData
        What they show.
    figures : Figures
        Draws the pictures.
    generated : str
        When.
    tables : sequence of str
        The names of the tables in the report's folder.
    single : str, optional
        The name of one more page that holds all datasets and pictures and needs no other file.
    """
    results = report.results
    environment = _environment()
    shared = _shared(report) | {"generated": generated}

    cards = make_cards(report, figures)
    recommendations: list[dict[str, Any]] = []
    shown = []
    contents: list[dict[str, Any]] = []
    whole: list[dict[str, Any]] = []
    for i, name in enumerate(results.datasets):
        page = f"datasets/{figures.folder.name_for('dataset', name)}.html"
        link = page if report.is_large else f"#dataset-{i + 1}"
        figures.turn_page("../" if report.is_large else "")
        recommendations.append(draw_card(cards[name], report.recommendations[i], figures))
        recommendations[i] |= {"link": link, "base": "../" if report.is_large else ""}
        section = dataset_section(name, recommendations[i], report, figures)
        section |= {"id": f"dataset-{i + 1}", "link": link}
        contents.append({"name": name, "link": link})
        whole.append(_on_one_page(section))
        if report.is_large:
            html = environment.get_template("dataset_page.html.j2").render(
                shared,
                d=section,
                recommendations=report.recommendations,
                datasets=results.datasets,
            )
            figures.folder.write(page, html)
            # The pictures are in the dataset's own page.
            recommendations[i] |= {"tree": None, "final": None, "menu": [], "commands": []}
        else:
            shown.append(section)
    figures.turn_page("")
    template, page_data = environment.get_template("index_page.html.j2"), _page(report, figures)
    html = template.render(
        shared | page_data,
        recommendations=recommendations,
        datasets=shown,
        contents=contents,
        tables=tables,
    )
    figures.folder.write(INDEX, html)
    if single is not None:
        html = template.render(
            shared | page_data | {"single": True, "is_large": False, "ablations": None},
            recommendations=[section["recommendation"] for section in whole],
            datasets=whole,
            contents=[{"name": one["name"], "link": one["link"]} for one in whole],
            tables=tables,
        )
        figures.folder.write(single, embed_files(html, figures.folder.root))
    if report.ablations.cells:
        html = environment.get_template("ablations.html.j2").render(
            shared,
            sections=ablation_sections(report.ablations, figures),
            of=report.ablations.of,
            worked_out=len(report.ablations.cells),
        )
        figures.folder.write(ABLATIONS, html)


def _on_one_page(section: dict[str, Any]) -> dict[str, Any]:
    """The section of a dataset for the page that needs no other file."""
    link = f"#{section['id']}"
    answer = section["recommendation"] | {"link": link, "base": ""}
    if answer["final"]:
        file = answer["final"]["file"]
        name = file.rpartition("/")[2]
        *others, predict = answer["commands"]
        answer["commands"] = [*others, predict.replace(file, name)]
    return section | {"link": link, "recommendation": answer}


@cache
def _environment() -> jinja2.Environment:
    """The templates, which are compiled once a process: it takes as long as a small report."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pipelines.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    for name in ("objective", "bound", "most", "gap", "short", "percent", "points", "seconds",
                 "size", "whole", "mean_count", "exact", "factor", "ratio",
                 "is_number"):  # fmt: skip
        environment.filters[name] = getattr(formatting, name)
    for name in ("r2", "rmse", "rmse_error", "test_words", "train_words"):
        environment.filters[name] = getattr(metrics, name)
    environment.globals["plural"] = formatting.plural
    environment.globals["status_words"] = status_words
    return environment


def _shared(report: ReportData) -> dict[str, Any]:
    """The data of every page."""
    style, script = (
        files("pipelines.report").joinpath("templates", name).read_text(encoding="utf-8")
        for name in ("style.css", "report.js")
    )
    return {
        "title": report.results.name,
        "validated": report.results.validated,
        "numbers": is_regression(report.results.rows),
        "labels": not bool((report.results.rows["task"] == REGRESSION).all()),
        "has_paths": any(path.exact_paths for path in report.paths),
        "is_large": report.is_large,
        "single": False,
        "report_has_ablations": bool(report.ablations.cells),
        "colours": solver_colours(report.results.solvers),
        "style": Markup(style),
        "script": Markup(script),
    }


def _page(report: ReportData, figures: Figures) -> dict[str, Any]:
    """The data of the first page, except the datasets."""
    results = report.results
    return {
        "facts": describe_sweep(results),
        "counts": _counts(results),
        "planned": results.planned,
        "unplanned": results.unplanned,
        "ranking": report.ranking.to_dict("records"),
        "outcomes": _outcomes(report),
        "duels": [duel._asdict() for duel in report.outcomes.duels],
        **_comparison_charts(report, figures),
        "profile": _profile(report, figures),
        "ablations": ABLATIONS if report.ablations.cells else None,
        "families": [found.dataset for found in report.families],
        "good_trees": [found.dataset for found in report.good_trees],
        "scalings": _scalings(report, figures),
        "disagreements": report.disagreements.to_dict("records"),
        "compared_proofs": has_compared_proofs(results.rows),
        "failures": failure_groups(results.rows),
        "missing": _missing(results),
        "impossible": _impossible(results),
        "published": None if report.published is None else report.published.to_dict("records"),
        "verdicts": _verdicts(report.published),
        "most_lines": MOST_LINES if len(results.rows) > MOST_LINES else 0,
    }


def _outcomes(report: ReportData) -> list[dict[Any, Any]]:
    """What became of each solver's runs, for each kind of features."""
    if not report.outcomes.is_of_interest:
        return []
    return report.outcomes.table.to_dict("records")


def _comparison_charts(report: ReportData, figures: Figures) -> dict[str, Markup | None]:
    """The pictures of solvers on equal problems."""
    shown: dict[str, Markup | None] = {"solver_profile": None, "ranks": None}
    if not report.outcomes.is_of_interest:
        return shown
    colours = solver_colours(report.results.solvers)
    figure = profile_and_anytime_chart(report.outcomes.problems, report.curves, colours)
    if figure is not None:
        label = "Performance profiles, and objective against time"
        shown["solver_profile"] = figures.chart(figure, label, "solver profiles", inline=False)
    if report.ranks:
        figure = rank_chart(report.ranks, colours)
        label = "Critical differences of mean ranks over datasets"
        shown["ranks"] = figures.chart(figure, label, "mean ranks", inline=False)
    return shown


def status_words(point: dict[str, Any]) -> str:
    """How the runs at a λ ended."""
    runs, failed = int(point["runs"]), int(point["failed"])
    if not failed:
        for name in ("optimal", "heuristic"):
            if runs and point[name] == runs:
                return name
    parts = str(point["status"]).split(", ")
    if len(parts) == 1:
        return parts[0].rsplit(" ", 1)[0].replace("_", " ")
    pairs = (part.rsplit(" ", 1) for part in parts)
    return ", ".join(f"{count} {name}".replace("_", " ") for name, count in pairs)


def _counts(results: Results) -> list[dict[str, Any]]:
    parts = [
        ("done", "done", results.n_ok),
        ("failed", "failed", results.n_failed),
        ("missing", "not run yet", len(results.missing)),
        ("impossible", "impossible, left out", results.n_impossible),
    ]
    total = max(sum(number for _, _, number in parts[:3]), 1)
    return [
        {"kind": kind, "label": label, "number": number, "share": 100 * number / total}
        for kind, label, number in parts
    ]


def _verdicts(published: pd.DataFrame | None) -> str:
    """``22 same, 10 no worse``, with the best first."""
    if published is None:
        return ""
    counts = published["verdict"].value_counts().to_dict()
    order = ("same", "better", "no worse", "worse", "not run")
    return ", ".join(f"{counts[name]} {name}" for name in order if name in counts)


def _profile(report: ReportData, figures: Figures) -> Markup | None:
    if report.excess.empty:
        return None
    results, colours = report.results, solver_colours(report.results.solvers)
    figure = profile_chart(proof_times(results), report.excess, colours, results.encodings)
    return figures.chart(figure, "Performance profile: time to proof, and distance to the best",
                       "performance profile")  # fmt: skip


def _scalings(report: ReportData, figures: Figures) -> list[dict[str, Any]]:
    """A chart for each table that the sweep has in several sizes."""
    shown, colours = [], solver_colours(report.results.solvers)
    for scaling in report.scalings:
        figure = scaling_chart(scaling, colours, report.results.encodings)
        label = f"{scaling.name}: search time against its size"
        chart = figures.chart(figure, label, "scaling", scaling.name)
        shown.append({"name": scaling.name, "chart": chart})
    return shown


def _missing(results: Results) -> list[dict[str, Any]]:
    """One entry a dataset, encoding and solver, with its λ."""
    by = ["dataset", "encoding_label", "solver_label"]
    missing = results.sort(results.missing)
    cell = groups(missing, by)
    tasks = pd.Series(cell).value_counts()
    points = missing.iloc[firsts(groups(missing.assign(_cell=cell), ["_cell", "lam_text"]))]
    found: dict[tuple[Any, ...], list[str]] = {}
    for *names, lam in points[[*by, "lam_text"]].astype(object).itertuples(index=False, name=None):
        found.setdefault(tuple(names), []).append(str(lam))
    return [
        dict(zip(("dataset", "encoding", "solver"), names, strict=True))
        | {"tasks": int(tasks[number]), "lams": lams}
        for number, (names, lams) in enumerate(found.items())
    ]


def _impossible(results: Results) -> list[dict[str, Any]]:
    """One entry a reason, which may be the same for many datasets."""
    groups: dict[str, dict[str, Any]] = {}
    for row in results.impossible.to_dict("records"):
        reason = str(row["reason"]).removeprefix(f"dataset '{row['dataset']}': ")
        entry = groups.setdefault(reason, {"reason": reason, "tasks": 0, "datasets": {}})
        entry["tasks"] += int(row["tasks"])
        entry["datasets"][row["dataset"]] = None
    return [entry | {"datasets": list(entry["datasets"])} for entry in groups.values()]


def describe_sweep(results: Results) -> list[tuple[str, str]]:
    """Name and text of each fact for the head of the report."""
    rows = results.rows
    if rows.empty:
        return [("Datasets", ", ".join(results.datasets) or formatting.NONE)]
    return [
        ("Datasets", _dataset_words(results)),
        ("Encodings", ", ".join(results.encodings)),
        ("λ", _lambda_words(results)),
        ("Solvers", _solver_words(rows)),
        ("Validation", "; ".join(dict.fromkeys(map(_validation, rows["validation"].unique())))),
        ("Limits of a run", "; ".join(dict.fromkeys(map(_limits, rows["limits"].unique())))),
        ("Run", _run(rows)),
        ("Versions", _versions(rows)),
    ]


def _dataset_words(results: Results) -> str:
    first = results.rows.drop_duplicates("dataset").set_index("dataset")
    if len(results.datasets) > 6:
        n = first["n_rows"]
        return (
            f"{len(results.datasets)} tables of {formatting.whole(n.min())} to "
            f"{formatting.whole(n.max())} rows"
        )
    parts = []
    for name in results.datasets:
        if name not in first.index:
            parts.append(name)
            continue
        n_rows, n_classes = (int(first[column].loc[name]) for column in ("n_rows", "n_classes"))
        numbers = first["task"].loc[name] == REGRESSION
        what = "regression" if numbers else formatting.plural(n_classes, "class")
        parts.append(f"{name} ({formatting.plural(n_rows, 'row')}, {what})")
    return ", ".join(parts)


def _lambda_words(results: Results) -> str:
    both = pd.concat([results.by_lambda, results.missing_by_lambda], ignore_index=True)
    both = both.assign(rank=lam_ranks(both))
    exact = both["exact"].astype(bool)
    words = []
    if exact.any():
        ends = list(dict.fromkeys(both[exact].sort_values("rank")["lam_text"]))
        start = ends[0].removeprefix("path from ")
        words.append(f"every λ from {start}{' or more' if len(ends) > 1 else ''} up")
        both = both[~exact]
    if both.empty:
        return words[0]
    lams = both.groupby("lam_key").agg(
        lam=("lam", "mean"), rank=("rank", "mean"), text=("lam_text", "first")
    )
    texts = lams.sort_values(["lam", "rank"], ascending=False)["text"].tolist()
    single = ", ".join(texts)
    if len(texts) > 8:
        single = f"{len(texts)} values from {texts[0]} down to {texts[-1]}"
    return "; ".join([*words, f"single λ {single}" if words else single])


def _solver_words(rows: pd.DataFrame) -> str:
    pairs = rows[["solver_label", "solver_version"]].drop_duplicates()
    return ", ".join(
        f"{name} (version {version})" if str(version)[:1].isdigit() else f"{name} ({version})"
        for name, version in pairs.itertuples(index=False)
    )


def _validation(text: str) -> str:
    data = json.loads(text)
    if not data:
        return "none: trees are trained and scored on the same rows"
    if data["kind"] == "given":
        return "the rows that each table calls its test rows are held out"
    extra = (", stratified" if data.get("stratify") else "") + f", seed {data.get('seed')}"
    if data["kind"] == "kfold":
        return f"{data['folds']}-fold cross-validation{extra}"
    return f"{formatting.percent(data['test'], 0)} of the rows held out once{extra}"


def _limits(text: str) -> str:
    data = json.loads(text)
    words: dict[str, Callable[[Any], str]] = {
        "seconds": lambda value: f"{value:g} s",
        "bytes": formatting.size,
        "nodes": lambda value: formatting.plural(value, "branch"),
        "depth": lambda value: f"depth {value}",
        "splits": lambda value: formatting.plural(value, "split"),
        "min_leaf_size": lambda value: f"leaves of at least {value}",
    }
    return ", ".join(words[name](value) if name in words else f"{name} {value}"
                     for name, value in data.items() if value is not None) or "none"  # fmt: skip


def _run(rows: pd.DataFrame) -> str:
    started, finished = rows["started"].min(), rows["finished"].max()
    hosts = sorted(rows["host"].dropna().unique())
    total = formatting.seconds(rows["seconds"].sum())
    when = (
        "" if pd.isna(started) else
        f"{started:%Y-%m-%d %H:%M} to {finished:%Y-%m-%d %H:%M} UTC, "
    )  # fmt: skip
    where = ""
    if hosts:
        where = f" on {hosts[0] if len(hosts) == 1 else f'{len(hosts)} machines'}"
    return f"{when}{total} of search{where}"


def _versions(rows: pd.DataFrame) -> str:
    combinations = rows[["versions", "git_revision"]].astype(object).value_counts(dropna=False)
    versions, revision = combinations.index[0]
    data = json.loads(versions) if isinstance(versions, str) else {}
    text = ", ".join(f"{name} {version}" for name, version in data.items())
    if isinstance(revision, str):
        text += f", revision {revision[:10]}{'+ (changed)' if revision.endswith('+') else ''}"
    others = len(combinations) - 1
    more = formatting.plural(others, "other combination")
    return text + (f" (most of the runs; {more})" if others else "")
