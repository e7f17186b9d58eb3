"""One process of a machine goes first."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest

from sweep.worker.first_on_machine import first_on_machine


def test_one_does_it_first_and_then_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    told: list[str] = []

    def second() -> None:
        with first_on_machine("compile", "1"):
            told.append("second")

    other = threading.Thread(target=second)
    with first_on_machine("compile", "1"):
        other.start()
        other.join(0.2)
        told.append("first")
    other.join()
    assert told == ["first", "second"]
    with first_on_machine("compile", "1"):
        second()  # waits for nobody, or this would never end
    assert told == ["first", "second", "second"]


def test_what_failed_is_done_first_by_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ZeroDivisionError), first_on_machine("compile", "1"):
        raise ZeroDivisionError
    (file,) = tmp_path.iterdir()
    assert not file.read_bytes()
    with first_on_machine("compile", "1"):
        pass
    assert file.read_bytes()
    with first_on_machine("compile", "2"):
        assert len([*tmp_path.iterdir()]) == 2
