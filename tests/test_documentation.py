"""What runs the pages of the documentation, on small made-up pages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.run_documentation import Example, examples, prepare, run

Page = Callable[..., list[tuple[int, str]]]


def shown(text: str) -> list[Example]:
    """The examples of a page, which has {F} for a fence."""
    return list(examples(text.replace("{F}", "```")))


@pytest.fixture
def outcomes(tmp_path: Path) -> Page:
    """Runs a page: each line, and what was printed or why it failed."""

    def check(text: str, seconds: float = 60.0) -> list[tuple[int, str]]:
        found = []
        for example in shown(text):
            assert not example.not_run
            try:
                found.append((example.line, run(example, tmp_path, seconds)))
            except pytest.fail.Exception as error:
                found.append((example.line, f"FAILED: {error}"))
        return found

    return check


def test_commands_share_a_folder_and_output_lines_are_not_commands(outcomes: Page) -> None:
    page = (
        "# Title\n\n{F}console\n$ touch made\nfalse\n{F}\n\ntext\n\n"
        "{F}console\n$ test -e made\n$ ls\nmade\n{F}\n"
    )
    assert outcomes(page) == [(4, ""), (11, ""), (12, "made")]


def test_a_failure_is_reported_with_its_output_and_the_rest_goes_on(outcomes: Page) -> None:
    found = outcomes("{F}console\n$ echo why >&2; false\n$ echo 'open\n$ true\n{F}\n")
    assert found[0] == (2, "FAILED: exit 1, exit 0 was expected\nwhy\n")
    assert "FAILED: exit 2" in found[1][1]
    assert found[2] == (4, "")


def test_an_expected_exit_code_must_come(outcomes: Page) -> None:
    found = outcomes(
        "{F}console\n$ (exit 2)  # exit 2\n$ true # exit 2\n$ true # a comment\n"
        "$ exit \\\n  3  # exit 3\n{F}\n"
    )
    assert found == [
        (2, ""),
        (3, "FAILED: exit 0, exit 2 was expected\n"),
        (4, ""),
        (5, ""),
    ]


def test_set_up_commands_and_marked_blocks_are_skipped_with_their_reason() -> None:
    found = shown(
        "{F}console\n$ git clone somewhere\n$ cd somewhere\n$ make test\n{F}\n"
        "<!-- not run: needs a cluster -->\n\n{F}console\n$ false\n{F}\n"
        "{F}console\n$ makes-no-sense || true\n{F}\n"
        "<!-- not run: needs a cluster -->\nA paragraph.\n{F}console\n$ true\n{F}\n"
        "<!-- not run: a sketch -->\n{F}python\nraise SystemExit(1)\n{F}\n"
    )
    reasons = ["set-up"] * 3 + ["needs a cluster", None, None, "a sketch"]
    assert [example.not_run for example in found] == reasons


def test_continued_lines_and_here_documents_belong_to_the_command(outcomes: Page) -> None:
    found = outcomes(
        "{F}console\n$ test 1 \\\n   = 1\n$ cat > a.yaml <<'END'\nname: x\n$ not a command\nEND\n"
        "$ grep -c . a.yaml\n2\n{F}\n"
    )
    assert found == [(2, ""), (4, ""), (8, "2")]


def test_a_block_in_a_list_and_one_with_longer_fences() -> None:
    found = shown(
        "1. first\n\n   {F}console\n   $ true\n   {F}\n\n````text\n{F}console\n$ false\n{F}\n````\n"
    )
    assert [(example.line, example.command[-1]) for example in found] == [(4, "true")]


def test_other_languages_are_left_alone() -> None:
    assert shown("{F}sh\n$ false\n{F}\n{F}\n$ false\n{F}\n{F}yaml\na: b\n{F}\n") == []


def test_a_block_without_end_is_a_failure() -> None:
    with pytest.raises(ValueError, match="never closed"):
        shown("{F}text\n{F}\n{F}console\n$ true\n")


def test_python_blocks_are_one_program_with_the_pages_line_numbers(outcomes: Page) -> None:
    ((line, printed),) = outcomes(
        "{F}python\nvalue = 1\n{F}\n\n\n\n\n\n"
        "{F}python\nassert value == 1\nraise ValueError(value)\n{F}\n"
    )
    assert line == 2
    assert "FAILED: exit 1" in printed
    assert "line 11, in <module>" in printed
    assert "ValueError: 1" in printed


def test_python_runs_where_the_commands_ran(outcomes: Page) -> None:
    found = outcomes(
        "{F}python\nassert open('made').read() == 'x\\n'\n{F}\n{F}console\n$ echo x > made\n{F}\n"
    )
    assert found == [(5, ""), (2, "")]


def test_examples_are_copied_and_the_originals_are_safe(tmp_path: Path, outcomes: Page) -> None:
    root = tmp_path / "root"
    (root / "examples").mkdir(parents=True)
    (root / "examples" / "one.yaml").write_text("name: one\n")
    (root / "cluster.yaml").write_text("kind: local\n")
    prepare(tmp_path, root)
    found = outcomes("{F}console\n$ cat examples/one.yaml cluster.yaml\n$ rm -r examples\n{F}\n")
    assert found == [(2, "name: one\nkind: local"), (3, "")]
    assert (root / "examples" / "one.yaml").exists()


def test_the_running_pythons_directory_comes_first(outcomes: Page) -> None:
    found = outcomes("{F}console\n$ dirname $(command -v python)\n{F}\n")
    assert found == [(2, str(Path(sys.executable).parent))]


@pytest.mark.parametrize(
    "block",
    ["console\n$ sleep 100000", "console\n$ sleep 100000 & wait", "python\nwhile True:\n    pass"],
)
def test_what_is_out_of_time_fails(outcomes: Page, block: str) -> None:
    ((line, printed),) = outcomes(f"{{F}}{block}\n{{F}}\n", 0.5)
    assert line == 2
    assert printed.startswith("FAILED: exit -9, still running after 0.5 s")
