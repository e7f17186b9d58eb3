"""A page in headless Chromium: its picture, and what is wider than the window."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)

_RUN = """
<script>
addEventListener("load", () => {
  const answer = (() => {SCRIPT})();
  parent.postMessage(JSON.stringify(answer), "*");
});
</script>
"""

_MEASURE = """
  for (const fold of document.querySelectorAll("main details")) fold.open = true;
  const wide = innerWidth + 1;
  const scrolls = (e) => e && (scrolls(e.parentElement) || (
    /auto|scroll/.test(getComputedStyle(e).overflowX) && e.getBoundingClientRect().right <= wide));
  const out = [...document.querySelectorAll("body *")].filter((e) =>
    e.getBoundingClientRect().right > wide && !e.closest("svg") && !scrolls(e.parentElement));
  const headline = document.querySelector(".headline");
  return {
    width: innerWidth,
    page: document.documentElement.scrollWidth,
    wider: out.map((e) => e.outerHTML.slice(0, 120)),
    headline: headline ? headline.getBoundingClientRect().top : null,
    contents: document.querySelector("nav").getBoundingClientRect().height,
    broken: [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src),
    paper: getComputedStyle(document.body).backgroundColor,
  };
"""

# A window cannot be as narrow as a phone, but a frame can.
_FRAME = """<!DOCTYPE html><body><script>
addEventListener("message", (event) => { document.body.dataset.measured = event.data; });
</script><iframe src="measured.html" style="border: 0; width: {width}px; height: 900px"></iframe>
</body>
"""


def _chromium(width: int, height: int, page: Path, *options: str) -> str:
    assert CHROMIUM is not None
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--allow-file-access-from-files", f"--window-size={width},{height}", *options,
        page.resolve().as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    return done.stdout


def measure(page: Path, width: int, *options: str) -> dict[str, Any]:
    """The widths of a page in a window, with all of its parts unfolded."""
    answer: dict[str, Any] = run(page, width, _MEASURE, *options)
    return answer


def run(page: Path, width: int, script: str, *options: str) -> Any:
    """What a script returns that runs in a page in a window of some width."""
    copy, frame = page.with_name("measured.html"), page.with_name("frame.html")
    html = page.read_text(encoding="utf-8")
    own = _RUN.replace("SCRIPT", script)
    copy.write_text(html.replace("</body>", f"{own}</body>"), encoding="utf-8")
    frame.write_text(_FRAME.replace("{width}", str(width)), encoding="utf-8")
    shown = _chromium(1600, 1000, frame, "--dump-dom", *options)
    found = re.search(r'data-measured="([^"]*)"', shown)
    for file in (copy, frame):
        file.unlink()
    assert found
    return json.loads(unescape(found[1]))


def picture(page: Path, width: int, to: Path, height: int = 2400) -> bytes:
    """A PNG of the first screens of a page."""
    _chromium(width, height, page, f"--screenshot={to}")
    return to.read_bytes()
