"""The report as one file that can be mailed: pictures and trees are within the page."""

from __future__ import annotations

import base64
import re
from html import unescape
from pathlib import Path

_PICTURE = re.compile(
    r'<a class="full" href="[^"]*">(<img) loading="lazy" src="([^"]*)"([^>]*>)</a>'
)
_DRAWN = re.compile(r'<a class="full" href="[^"]*">')
_TREE = re.compile(r'<a href="((?:\.\./)?final-trees/([^"/]+))">')


def embed_files(html: str, folder: Path) -> str:
    """A page of a report without a link to a file of its folder.

    Pictures come as data. A link to a picture in full goes, because browsers open no data as a
    page. The link to a tree's JSON saves it.
    """

    def data(kind: str, place: str) -> str:
        content = (folder / unescape(place).removeprefix("../")).read_bytes()
        return f"data:{kind};base64,{base64.b64encode(content).decode()}"

    html = _PICTURE.sub(lambda m: f'{m[1]} src="{data("image/svg+xml", m[2])}"{m[3]}', html)
    html = _DRAWN.sub('<a class="full">', html)
    return _TREE.sub(
        lambda m: f'<a download="{m[2]}" href="{data("application/json", m[1])}">', html
    )
