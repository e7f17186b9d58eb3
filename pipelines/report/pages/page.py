"""The pages of a report: what they show, part by part, as plain data for their templates."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from pipelines.report.analysis.checks import failure_groups
from pipelines.report.analysis.comparison import proof_times, rank
from pipelines.report.analysis.report_data import Material
from pipelines.report.charts.charts import profile_chart
from pipelines.report.charts.figures import Album
from pipelines.report.charts.folder import MOST_LINES
from pipelines.report.charts.palette import solver_colours
from pipelines.report.charts.scaling import scaling_chart
from pipelines.report.data import formats, metrics
from pipelines.report.data.columns import firsts, groups
from pipelines.report.data.metrics import REGRESSION, is_regression
from pipelines.report.data.results import Results
from pipelines.report.pages.ablations import PAGE as ABLATIONS
from pipelines.report.pages.ablations import ablation_sections
from pipelines.report.pages.facts import describe_sweep
from pipelines.report.pages.sections import answer_card, dataset_section

INDEX = "index.html"


def write_pages(material: Material, album: Album, generated: str) -> None:
    """Write the page, or those of a large report: one for each dataset beside it."""
    results = material.results
    environment = _environment()
    shared = _shared(material) | {"generated": generated}
    colours = shared["colours"]
    by_dataset = rank(results, material.excess, ["dataset", "encoding_label", "solver_label"])
    # Drawn first, so that the trees of the answers are in the page whatever its size.
    answers = [] if material.is_large else [
        answer_card(answer, material, album) for answer in material.answers
    ]  # fmt: skip
    shown = []
    contents: list[dict[str, Any]] = []
    for i, name in enumerate(results.datasets):
        page = f"datasets/{album.folder.name_for('dataset', name)}.html"
        link = page if material.is_large else f"#dataset-{i + 1}"
        if material.is_large:
            album.turn_page("../")
            answers.append(answer_card(material.answers[i], material, album))
        answers[i]["link"] = link
        section = dataset_section(name, answers[i], material, by_dataset, album, colours)
        section |= {"id": f"dataset-{i + 1}", "link": link}
        contents.append({"name": name, "link": link})
        if material.is_large:
            html = environment.get_template("datasetpage.html.j2").render(
                shared | {"d": section, "answers": material.answers, "datasets": results.datasets}
            )
            album.folder.write(page, html)
            # What is drawn is in its own page; the index shows the figures.
            answers[i] |= {"tree": None, "menu": []}
        else:
            shown.append(section)
    album.turn_page("")
    page_data = _page(material, album, colours) | {
        "answers": answers,
        "datasets": shown,
        "contents": contents,
    }
    html = environment.get_template("page.html.j2").render(shared | page_data)
    album.folder.write(INDEX, html)
    if material.ablations.cells:
        html = environment.get_template("ablations.html.j2").render(
            shared
            | {
                "sections": ablation_sections(material.ablations, album),
                "of": material.ablations.of,
                "worked_out": len(material.ablations.cells),
            }
        )
        album.folder.write(ABLATIONS, html)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pipelines.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    for name in ("objective", "bound", "gap", "short", "percent", "points", "seconds", "size",
                 "whole", "mean_count", "exact", "factor", "is_number"):  # fmt: skip
        environment.filters[name] = getattr(formats, name)
    for name in ("r2", "rmse", "test_words", "train_words"):
        environment.filters[name] = getattr(metrics, name)
    environment.globals["plural"] = formats.plural
    environment.globals["status_words"] = status_words
    return environment


def _shared(material: Material) -> dict[str, Any]:
    """What every page is told."""
    style = files("pipelines.report").joinpath("templates/style.css").read_text(encoding="utf-8")
    return {
        "title": material.results.name,
        "validated": material.results.validated,
        "numbers": is_regression(material.results.rows),
        "labels": not bool((material.results.rows["task"] == REGRESSION).all()),
        "has_paths": any(path.stairs for path in material.paths),
        "is_large": material.is_large,
        "colours": solver_colours(material.results.solvers),
        "style": Markup(style),
    }


def _page(material: Material, album: Album, colours: dict[str, str]) -> dict[str, Any]:
    """What the first page shows but for the datasets."""
    results = material.results
    ranking = rank(results, material.excess, ["encoding_label", "solver_label"])
    return {
        "facts": describe_sweep(results),
        "counts": _counts(results),
        "planned": results.planned,
        "unplanned": results.unplanned,
        "ranking": ranking.to_dict("records"),
        "profile": _profile(material, album, colours),
        "ablations": ABLATIONS if material.ablations.cells else None,
        "families": _families(material),
        "scalings": _scalings(material, album, colours),
        "disagreements": material.disagreements.to_dict("records"),
        "failures": failure_groups(results.rows),
        "missing": _missing(results),
        "impossible": _impossible(results),
        "published": None if material.published is None else material.published.to_dict("records"),
        "verdicts": _verdicts(material.published),
        "most_lines": MOST_LINES if len(results.rows) > MOST_LINES else 0,
    }


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
    return ", ".join(
        f"{count} {name}".replace("_", " ") for name, count in (p.rsplit(" ", 1) for p in parts)
    )


def _counts(results: Results) -> list[dict[str, Any]]:
    parts = [
        ("done", "done", results.n_ok),
        ("failed", "failed", results.n_failed),
        ("missing", "not run yet", len(results.missing)),
        ("impossible", "impossible", results.n_impossible),
    ]
    total = max(sum(number for _, _, number in parts), 1)
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


def _profile(material: Material, album: Album, colours: dict[str, str]) -> Markup | None:
    times = proof_times(material.results)
    if material.excess.empty:
        return None
    figure = profile_chart(times, material.excess, colours, material.results.encodings)
    return album.chart(figure, "Performance profile: time to proof, and distance to the best",
                       "performance profile")  # fmt: skip


def _scalings(material: Material, album: Album, colours: dict[str, str]) -> list[dict[str, Any]]:
    """A chart for each table that the sweep has in several sizes."""
    shown = []
    for scaling in material.scalings:
        figure = scaling_chart(scaling, colours, material.results.encodings)
        label = f"{scaling.name}: search time against its size"
        chart = album.chart(figure, label, "scaling", scaling.name)
        shown.append({"name": scaling.name, "chart": chart})
    return shown


def _families(material: Material) -> list[str]:
    """The datasets whose trees have rules of several families."""
    return list(dict.fromkeys(found.dataset for found in material.families))


def _missing(results: Results) -> list[dict[str, Any]]:
    """One entry a dataset, encoding and solver; of its λ a few are named."""
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
    """One entry a reason: it is the same for many datasets."""
    groups: dict[str, dict[str, Any]] = {}
    for row in results.impossible.to_dict("records"):
        reason = str(row["reason"]).removeprefix(f"dataset '{row['dataset']}': ")
        entry = groups.setdefault(reason, {"reason": reason, "tasks": 0, "datasets": {}})
        entry["tasks"] += int(row["tasks"])
        entry["datasets"][row["dataset"]] = None
    return [entry | {"datasets": list(entry["datasets"])} for entry in groups.values()]
