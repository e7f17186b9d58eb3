"""The command ``treesweep show``: a stored tree as a picture, as text, or as a program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from solver.trees.tree import Tree

_SUFFIXES = {
    ".txt": "text", ".svg": "svg", ".png": "png", ".dot": "dot", ".py": "python", ".sql": "sql",
}  # fmt: skip
_DOTS = 150


@click.command()
@click.argument("tree", type=click.Path(path_type=Path, dir_okay=False), metavar="TREE.json")
@click.option(
    "--format", "form", type=click.Choice([*_SUFFIXES.values()]),
    help="Default: the format that the suffix of --out names, or text.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write here instead of to stdout.",
)  # fmt: skip
@click.option("--merge", is_flag=True, help="Join leaves of a split that have the same class.")
def show(tree: Path, form: str | None, out: Path | None, merge: bool) -> None:
    """Show a stored tree as text, as a picture, or as a program that predicts without treesweep.

    TREE.json is what 'treesweep solve --save', 'treesweep path --save' or '--json' wrote.

    The format python is a function that needs only the standard library; sql is a CASE expression.
    """
    from pipelines.single_table.predict import check_writable, load_tree, write_text
    from solver.errors import InputError

    model = load_tree(tree)
    form = form or (_SUFFIXES.get(out.suffix.lower(), "text") if out else "text")
    if merge and form in ("python", "sql"):
        raise InputError(f"--merge is for pictures and text; leave it out for {form}")
    if out is not None:
        check_writable(out)
    if form == "png":
        if out is None:
            raise InputError("a picture cannot go to a terminal", "add --out tree.png")
        _write_png(model, out, merge)
        return
    text = _text(model, form, merge)
    if out is None:
        click.echo(text)
    else:
        write_text(text + "\n", out)


def _text(tree: Tree, form: str, merge: bool) -> str:
    from solver.trees.export import export_dot, export_svg, export_text
    from solver.trees.export_code import export_python, export_sql

    if form == "python":
        return export_python(tree).rstrip("\n")
    if form == "sql":
        return export_sql(tree)
    write = {"text": export_text, "dot": export_dot, "svg": export_svg}[form]
    return write(tree, merge=merge)


def _write_png(tree: Tree, path: Path, merge: bool) -> None:
    from pipelines.single_table.predict import replacing
    from solver.trees.export import plot_tree

    with replacing(path) as part:
        plot_tree(tree, merge=merge).savefig(part, dpi=_DOTS, format="png")
