"""A notebook's kernel, as far as progress displays look at it."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


class Output:
    """An output that can be replaced, as IPython gives it."""

    def __init__(self, first: Any) -> None:
        self.shown = [first]

    def update(self, bar: Any) -> None:
        self.shown.append(bar)


def be_notebook(monkeypatch: pytest.MonkeyPatch, shell: Any = None) -> list[Output]:
    """Pretend that a kernel (or another ``shell``) runs this program; its outputs come here."""
    outputs: list[Output] = []

    def display(first: Any, *, display_id: bool) -> Output:
        assert display_id
        outputs.append(Output(first))
        return outputs[-1]

    ipython, shown = ModuleType("IPython"), ModuleType("IPython.display")
    kernel = SimpleNamespace(kernel=None) if shell is None else shell
    ipython.get_ipython = lambda: kernel  # type: ignore[attr-defined]
    shown.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return outputs
