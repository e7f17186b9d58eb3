"""Tests of pipelines/report/live_report.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.report import live_report
from pipelines.report.live_report import LIVE, watch_report
from sweep.plan.plan import make_plan
from sweep.rows.result_rows import Checkpoint, as_finished
from sweep.store import store as stores
from sweep.store.plan_file import survey
from sweep.store.sweep_status import sweep_status
from tests.helpers import without_dask
from tests.helpers.commands import refused, run


def test_a_report_is_written_anew_until_the_driver_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = without_dask.small_sweep()
    plan, rows = make_plan(sweep), without_dask.make_rows(sweep)
    pages: list[str] = []
    told: list[str] = []
    now = [0.0]
    states = iter([True, True, True, False])  # asked before a report, and after each second
    monkeypatch.setattr(live_report, "is_live", lambda folder: next(states))
    with stores.create(tmp_path / "out", sweep, print) as store:
        survey(plan, store)
        store.add(as_finished(rows[:-1]))
        store.flush()
        last = rows[-1]
        store.save_checkpoint(Checkpoint(last["key"], last["tree"], "3/4", "1/4", 31.0, 9))

        def sleep(seconds: float) -> None:
            now[0] += seconds
            pages.append((tmp_path / "report" / LIVE).read_text())
            if len(pages) == 2:
                store.add(as_finished(rows[-1:]))
                store.flush()

        found, paths = watch_report(
            tmp_path / "out", tmp_path / "report", 2.0, told.append,
            clock=lambda: now[0], sleep=sleep,
        )  # fmt: skip
    assert [line.split(" ")[0] for line in told] == ["23/24", "24/24"]
    assert 'http-equiv="refresh"' in pages[0]
    assert "<td>0.75</td><td>0.5</td><td>31</td>" in pages[0]
    assert "from 0.5 to 0.5" in pages[0]
    end = (tmp_path / "report" / LIVE).read_text()
    assert "refresh" not in end
    assert "The sweep runs: 23 of 24 tasks done, 0 failed." in pages[0]
    assert "No driver is at work: 24 of 24 tasks done, 0 failed, 0 not run." in end
    assert found.recommendations[0].headline in end
    assert paths.page.exists()
    assert not list((tmp_path / "report").rglob("*.tmp"))


def test_a_finished_sweep_is_written_once(tmp_path: Path) -> None:
    without_dask.finish(tmp_path / "out")
    result = run("report", tmp_path / "out", "--watch")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("24/24 done") == 1
    assert (tmp_path / "out" / "report" / "index.html").exists()


def test_a_checkpoint_of_an_answered_task_is_no_unfinished_search(tmp_path: Path) -> None:
    """A driver that died before it removed the checkpoint leaves both."""
    sweep = without_dask.small_sweep()
    rows = without_dask.finish(tmp_path / "out", sweep)
    with stores.create(tmp_path / "out", sweep, print) as store:
        survey(make_plan(sweep), store)
        done = rows[0]
        store.save_checkpoint(Checkpoint(done["key"], done["tree"], "3/4", "1/4", 31.0, 9))
    assert sweep_status(tmp_path / "out").unfinished == 0
    watch_report(tmp_path / "out", tmp_path / "report", 2.0)
    page = (tmp_path / "report" / LIVE).read_text()
    assert "<h2>Unfinished searches</h2><p>None.</p>" in page


def test_what_cannot_be_watched_is_refused(tmp_path: Path) -> None:
    assert "there is no folder" in refused("report", tmp_path / "no", "--watch")
    line: Any = refused("report", tmp_path, "--watch", "--published", "a.csv")
    assert "leave out --watch" in line
