"""The documentation's commands are run by .ci/check_docs.py; here on small made-up pages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / ".ci" / "check_docs.py"


def load_script():
    spec = importlib.util.spec_from_file_location("check_docs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_docs"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


check_docs = load_script()


@pytest.fixture
def page(tmp_path):
    """Writes README.md, with {F} for a fence, and runs it."""

    def run(text, timeout=60.0):
        file = tmp_path / "README.md"
        file.write_text(text.replace("{F}", "```"), encoding="utf-8")
        return check_docs.check_file(file, tmp_path, timeout)

    return run


def verdicts(outcomes):
    return [(outcome.line, outcome.verdict) for outcome in outcomes]


def test_commands_share_one_shell_and_output_lines_are_not_commands(page):
    outcomes = page(
        "# Title\n\n{F}console\n$ NAME=one\nfalse\n{F}\n\ntext\n\n"
        "{F}console\n$ test $NAME = one\n$ touch made\n$ ls\nmade\n{F}\n"
    )
    assert verdicts(outcomes) == [(4, "ok"), (11, "ok"), (12, "ok"), (13, "ok")]
    assert outcomes[-1].output == "made"


def test_a_failure_is_reported_with_its_output_and_the_rest_goes_on(page):
    outcomes = page("{F}console\n$ echo why >&2; false\n$ true\n{F}\n")
    assert verdicts(outcomes) == [(2, "FAILED"), (3, "ok")]
    assert outcomes[0].detail == "exit 1, not 0"
    assert outcomes[0].output == "why"


def test_an_expected_exit_code_must_come(page):
    outcomes = page("{F}console\n$ (exit 2)  # exit 2\n$ true # exit 2\n$ true # a comment\n{F}\n")
    assert verdicts(outcomes) == [(2, "ok"), (3, "FAILED"), (4, "ok")]


def test_set_up_commands_and_marked_blocks_are_skipped_with_their_reason(page):
    outcomes = page(
        "{F}console\n$ git clone somewhere\n$ cd somewhere\n$ make test\n{F}\n"
        "<!-- not run: needs a cluster -->\n\n{F}console\n$ false\n{F}\n"
        "{F}console\n$ makes-no-sense || true\n{F}\n"
        "<!-- not run: needs a cluster -->\nA paragraph.\n{F}console\n$ true\n{F}\n"
    )
    assert [outcome.verdict for outcome in outcomes] == ["skipped"] * 4 + ["ok"] * 2
    assert outcomes[2].detail == "set-up"
    assert outcomes[3].detail == "needs a cluster"


def test_continued_lines_and_here_documents_belong_to_the_command(page):
    outcomes = page(
        "{F}console\n$ test 1 \\\n>   = 1\n$ cat > a.yaml <<'END'\nname: x\n$ not a command\nEND\n"
        "$ grep -c . a.yaml\n2\n{F}\n"
    )
    assert verdicts(outcomes) == [(2, "ok"), (4, "ok"), (8, "ok")]
    assert outcomes[-1].output == "2"


def test_a_block_in_a_list_and_one_with_longer_fences(page):
    outcomes = page(
        "1. first\n\n   {F}console\n   $ true\n   {F}\n\n````text\n{F}console\n$ false\n{F}\n````\n"
    )
    assert verdicts(outcomes) == [(4, "ok")]


def test_other_languages_are_left_alone(page):
    assert page("{F}sh\n$ false\n{F}\n{F}\n$ false\n{F}\n{F}yaml\na: b\n{F}\n") == []


def test_a_block_without_end_is_a_failure(page):
    outcomes = page("text\n{F}console\n$ true\n")
    assert verdicts(outcomes) == [(0, "FAILED")]
    assert "line 2" in outcomes[0].detail


def test_python_blocks_are_one_program_with_the_pages_line_numbers(page):
    outcomes = page(
        "{F}python\nvalue = 1\n{F}\n\n<!-- not run: a sketch -->\n{F}python\nraise SystemExit(1)\n"
        "{F}\n\n{F}python\nassert value == 1\nraise ValueError(value)\n{F}\n"
    )
    assert [outcome.verdict for outcome in outcomes] == ["skipped", "FAILED"]
    assert "line 12, in <module>" in outcomes[1].output
    assert "ValueError: 1" in outcomes[1].output


def test_python_runs_where_the_commands_ran(page):
    outcomes = page(
        "{F}python\nassert open('made').read() == 'x\\n'\n{F}\n{F}console\n$ echo x > made\n{F}\n"
    )
    assert [outcome.verdict for outcome in outcomes] == ["ok", "ok"]


def test_examples_are_copied_and_the_originals_are_safe(page, tmp_path):
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "one.yaml").write_text("name: one\n")
    (tmp_path / "cluster.yaml").write_text("kind: local\n")
    outcomes = page("{F}console\n$ cat examples/one.yaml cluster.yaml\n$ rm -r examples\n{F}\n")
    assert [outcome.verdict for outcome in outcomes] == ["ok", "ok"]
    assert outcomes[0].output == "name: one\nkind: local"
    assert (tmp_path / "examples" / "one.yaml").exists()


def test_the_running_pythons_directory_comes_first(page):
    outcomes = page("{F}console\n$ dirname $(command -v python)\n{F}\n")
    assert outcomes[0].output == str(Path(sys.executable).parent)


@pytest.mark.parametrize("command", ["sleep 100000", "cat; sleep 100000 & wait"])
def test_a_command_out_of_time_fails_and_so_does_what_follows(page, command):
    outcomes = page(f"{{F}}console\n$ {command}\n$ true\n{{F}}\n", timeout=0.5)
    assert verdicts(outcomes) == [(2, "FAILED"), (3, "FAILED")]
    assert outcomes[0].detail == "still running after 0.5 s"


def test_python_out_of_time_fails(page):
    outcomes = page("{F}python\nimport time\ntime.sleep(60)\n{F}\n", timeout=0.5)
    assert outcomes[0].detail == "still running after 0.5 s"


def test_a_command_that_ends_the_shell_fails(page):
    outcomes = page("{F}console\n$ exit 0\n$ true\n{F}\n")
    assert verdicts(outcomes) == [(2, "FAILED"), (3, "FAILED")]
    assert outcomes[0].detail == "the command ended the shell"


def test_a_syntax_error_fails_alone(page):
    outcomes = page("{F}console\n$ echo 'open\n$ true\n{F}\n")
    assert verdicts(outcomes) == [(2, "FAILED"), (3, "ok")]


def test_main_runs_readme_and_docs_and_says_what_failed(tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("```console\n$ true\n```\n")
    (tmp_path / "docs" / "use.md").write_text("```console\n$ echo why; false\n```\n")
    assert check_docs.main(["--root", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "docs/use.md:2: echo why; false\n  exit 1, not 0\n  | why" in printed
    assert "Ran 2 from 2 files: 1 failed; 0 were not run." in printed
    (tmp_path / "docs" / "use.md").unlink()
    assert check_docs.main(["--root", str(tmp_path)]) == 0


def test_main_names_a_missing_file(tmp_path, capsys):
    assert check_docs.main([str(tmp_path / "none.md")]) == 2
    assert "none.md: no such file" in capsys.readouterr().err


def test_files_run_side_by_side_and_are_told_in_order(tmp_path, capsys):
    """Each waits for the other."""
    mine, other = tmp_path / "mine", tmp_path / "other"
    wait = "```console\n$ touch {}; until [ -e {} ]; do sleep 0.05; done\n```\n"
    (tmp_path / "a.md").write_text(wait.format(mine, other))
    (tmp_path / "b.md").write_text(wait.format(other, mine))
    files = [str(tmp_path / "a.md"), str(tmp_path / "b.md")]
    assert check_docs.main([*files, "--root", str(tmp_path), "--timeout", "30"]) == 0
    printed = capsys.readouterr().out
    assert printed.index("a.md:2") < printed.index("b.md:2")
