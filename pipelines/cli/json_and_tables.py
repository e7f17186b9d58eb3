"""The output of commands: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_WIDE = 240


def make_console(*, stderr: bool = False) -> Console:
    """A console that does not wrap the output to a file or a pipe at 80 columns."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDE
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def print_json(data: Any) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(data, ensure_ascii=False, allow_nan=False, default=_plain))


def _plain(value: Any) -> Any:
    """Convert scalars of numpy."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} does not go into JSON")


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with aligned columns."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for position, header in enumerate(headers):
        table.add_column(header, no_wrap=position == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    print_plain(table)


def print_lines(lines: Iterable[tuple[str, str]]) -> None:
    """Print a label and a text on each line."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for label, text in lines:
        grid.add_row(Text(label, style="bold"), Text(text))
    print_plain(grid)


def print_plain(*parts: RenderableType) -> None:
    """Print rich's rendering without trailing spaces."""
    console = make_console()
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    for line in capture.get().splitlines():
        click.echo(line.rstrip())


def count(number: int, noun: str) -> str:
    """``1 row``, ``2 rows``, ``2 classes``."""
    from solver.features import number_format

    return number_format.count(number, noun)
