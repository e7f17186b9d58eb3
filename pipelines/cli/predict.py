"""The command ``treesweep predict``: predict the rows of a table with a stored tree."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pipelines.cli.json_and_tables import count
from pipelines.cli.problem_options import (
    charset_option,
    remedies_of_predict,
    separator_option,
    sheet_option,
)


@click.command()
@click.argument("tree", type=click.Path(path_type=Path, dir_okay=False), metavar="TREE.json")
@click.argument("data")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write here (CSV, or Parquet if it ends in .parquet) instead of to stdout.",
)  # fmt: skip
@click.option("--proba", is_flag=True, help="Add the frequency of each class.")
@click.option(
    "--keep", "kept", multiple=True, metavar="COLUMN",
    help="Copy this column of DATA, e.g. an id, before the predictions; * for all.",
)  # fmt: skip
@separator_option
@charset_option
@sheet_option
def predict(
    tree: Path,
    data: str,
    out: Path | None,
    proba: bool,
    kept: tuple[str, ...],
    **given: str | None,
) -> None:
    """Predict the rows of a table with a stored tree, as CSV.

    TREE.json is what 'treesweep solve --save' or '--json' wrote. DATA is a table as for 'solve'; if
    it has the target column, the accuracy (in regression R² and RMSE) is written to stderr.
    """
    import pandas as pd

    from pipelines.single_table.predict import (
        check_writable,
        load_tree,
        measure_accuracy,
        measure_fit,
        names_to_keep,
        predict_table,
        write_table,
    )
    from pipelines.single_table.solve import read_frame, read_kept
    from solver.features.number_format import share, significant

    model = load_tree(tree)
    if out is not None:
        check_writable(out)
    with remedies_of_predict():
        frame = read_frame(data, model, **given)
        table = predict_table(model, frame, proba=proba)
        fits = measure_fit(model, frame, table)
        accuracy = None if model.outputs else measure_accuracy(model, frame, table)
    if names := names_to_keep(frame, kept, table):
        as_text = out is None or out.suffix != ".parquet"
        own = read_kept(data, names, as_text=as_text, **given)
        table = pd.concat([own, table], axis="columns")
    if out is not None:
        write_table(table, out)
    else:
        table.to_csv(sys.stdout, index=False)
    for fit in fits:
        r2 = "not defined" if fit.r2 is None else share(fit.r2)
        rows = f"{count(fit.known, 'row')} of column {fit.column!r}"
        click.echo(f"R² {r2}, RMSE {significant(fit.rmse)}: {rows}", err=True)
    if accuracy is not None and accuracy.known:
        right, known, foreign = accuracy
        rows = f"{right} of {count(known, 'row')} as in column {model.target!r}"
        if foreign:
            rows += f", {count(foreign, 'row')} with a label that is no class of the tree"
        click.echo(f"accuracy {share(right / known)}: {rows}", err=True)
