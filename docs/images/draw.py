"""Draws the pictures of README.md anew, from the report of the quickstart.

Usage: make quickstart && .venv/bin/python docs/images/draw.py [REPORT]

REPORT is the folder of a report, by default that of the quickstart. It takes headless Chromium.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # Where `tests` is.

from tests.helpers import browser

IMAGES = Path(__file__).resolve().parent
ROOT = IMAGES.parents[1]
_PATH_ALONE = """
  const found = [...document.querySelectorAll("details.path")].find(
    (path) => path.querySelector(".pick") && path.textContent.includes("Exact"));
  found.open = true;
  document.body.replaceChildren(found);
  document.body.style.padding = "0";
"""
_END = """
  const after = document.querySelector(".path h4, .path h5, .path .scroll, .path .tree");
  return after.getBoundingClientRect().top;
"""


def draw_path(report: Path) -> None:
    """The λ-path of the first answer, which ends where its tables and trees begin."""
    html = (report / "index.html").read_text(encoding="utf-8")
    alone = report / "path-alone.html"
    script = f"<script>{_PATH_ALONE}</script></body>"
    alone.write_text(html.replace("</body>", script), encoding="utf-8")
    try:
        height = int(browser.run(alone, 1000, _END)) - 8
        browser.picture(alone, 1000, IMAGES / "lambda-path.png", height)
    finally:
        alone.unlink()


def main() -> int:
    """Draw both."""
    report = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "results" / "quickstart" / "report")
    if browser.CHROMIUM is None or not (report / "index.html").exists():
        print(f"this takes Chromium, and a report in {report}: make quickstart", file=sys.stderr)
        return 2
    browser.picture(report / "index.html", 1200, IMAGES / "report.png", 1135)
    draw_path(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
