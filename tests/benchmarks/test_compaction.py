"""Tests of benchmarks/compaction.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import compaction


@pytest.mark.slow
def test_readers_see_every_row_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert compaction.main(["--parts", "60", "--rows", "3", "--readers", "1"]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    found = re.fullmatch(
        r"parts=60 files=1 seconds=\S+ cpu_seconds=\S+ readers=1 reads=(\d+) wrong=0", line
    )
    assert found is not None
    assert int(found[1]) > 0


def test_a_place_that_is_taken_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        compaction.main(["--place", str(tmp_path)])
    assert caught.value.code == 2
