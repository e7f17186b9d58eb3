"""The wheel: README's five commands, from an empty environment to a picture of one's own table."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("solver", "sweep", "pipelines", "treesweep.py", "pyproject.toml", "README.md", "LICENSE")
SECTION = "## From your own CSV to a picture"


def readme_commands() -> list[str]:
    """The commands of the section, without their prompts."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split(SECTION)[1].split("\n## ")[0]
    return re.findall(r"^\$ (.*)$", text, re.MULTILINE)


def build_wheel(folder: Path) -> Path:
    """The wheel of a copy of the sources: a build leaves files among them."""
    copy = folder / "sources"
    copy.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(copy))
    (wheel,) = folder.glob("*.whl")
    return wheel


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    subprocess.run([*command, *arguments, "-qq"], check=True, timeout=300)


@pytest.mark.slow
def test_from_the_wheel_to_a_picture_in_five_commands(tmp_path: Path) -> None:
    make, install, *use = readme_commands()
    assert make == "python3 -m venv mine"
    wheel = build_wheel(tmp_path)
    assert install == f"mine/bin/pip install {wheel.name}"
    assert len(use) == 3
    mine = tmp_path / "mine"
    venv.create(mine, symlinks=True)
    python = mine / "bin" / "python"
    pip("--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    # The locked packages without a download. A path in a .pth file brings no editable install.
    (packages,) = mine.glob("lib/python*/site-packages")
    (packages / "locked.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "loans.csv", tmp_path / "examples")
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    own["PATH"] = f"{mine / 'bin'}:{own['PATH']}"

    where = "import solver, sweep, pipelines, treesweep; print(solver.__file__)"
    found = subprocess.run(
        [python, "-c", where], cwd=tmp_path, env=own, check=True, capture_output=True, text=True
    )
    assert Path(found.stdout.strip()).is_relative_to(mine)
    for command in use:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=500
        )
        assert done.returncode == 0, done.stderr
    picture = (tmp_path / "tree.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert "rows" in picture
