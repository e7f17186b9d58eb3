"""What a sweep is, in words and commands."""

from __future__ import annotations

import re
from pathlib import Path

from pipelines.report.data.results import load_results
from pipelines.report.output_folder import ReportFolder
from pipelines.report.pages.exact_path import exact_section
from pipelines.report.pages.exported_tables import run_tables
from pipelines.report.save_figures import Figures
from pipelines.report.write import gather, write_report
from sweep.spec.spec import parse_spec
from tests.helpers import without_dask


def _finish(folder: Path, solvers: str, lambdas: str) -> None:
    lines = [f"{i % 3},{i % 2},{'yn'[(i % 3 > 0) ^ (i % 2) ^ (i == 7)]}" for i in range(18)]
    (folder / "t.csv").write_text("\n".join(["a,b,class", *lines, ""]))
    text = "name: own\ndatasets: [{path: t.csv, target: class}]\nencodings: [onehot]\n"
    text += f"lambdas: {lambdas}\nsolvers: {solvers}\n"
    without_dask.finish(folder / "out", parse_spec(text, folder))


def test_a_certificate_that_is_gone_is_not_said_to_be_there(tmp_path: Path) -> None:
    _finish(tmp_path, "[{solver: branches, lam: path, proof: true}]", "[0.02]")
    (path,) = gather(load_results(tmp_path / "out")).paths
    figures = Figures(ReportFolder(tmp_path / "report"), False)
    words = "Its certificate is in the sweep's folder proofs"
    assert exact_section(path, figures, 9, False)["certificates"].startswith(words)
    (file,) = (tmp_path / "out" / "proofs").iterdir()
    file.unlink()
    (path,) = gather(load_results(tmp_path / "out")).paths
    assert exact_section(path, figures, 9, False)["certificates"] == ""


def test_a_path_among_all_runs_has_the_excess_of_its_own_lambda(tmp_path: Path) -> None:
    _finish(tmp_path, "[branches, {solver: cart, lam: path}]", "[0.3, 0.02]")
    report = gather(load_results(tmp_path / "out"))
    count = len(report.excess)
    excess = report.excess.assign(excess_exact=[f"{i}/7" for i in range(1, count + 1)])
    assert sorted(excess["lam_exact"]) == ["1/50", "1/50", "3/10", "3/10"]
    (table,) = run_tables(report.results, excess)
    own = excess.set_index(["key", "lam_exact"])["excess_exact"]
    for row in table.to_dict("records"):
        assert row["excess_exact"] == own[row["key"], row["lam_exact"]]
    assert len(table) == 3
    elsewhere = excess[excess["lam_exact"] != "1/50"]
    (table,) = run_tables(report.results, elsewhere)
    assert table["excess_exact"].notna().tolist() == (table["lam_exact"] == "3/10").tolist()


def test_lambdas_that_are_equal_as_floats_are_side_by_side_apart(tmp_path: Path) -> None:
    near = "0.10000000000000000000001"
    _finish(tmp_path, "[branches, cart]", f"[0.1, '{near}', 0.02]")
    page = write_report(tmp_path / "out").page.read_text(encoding="utf-8")
    table = page.partition("Side by side at each λ")[2].partition("</table>")[0]
    found = re.findall(r"<tr[^>]*><td>([^<]*)</td>", table)
    assert found == [near, near, "0.1", "0.1", "0.02", "0.02"]
