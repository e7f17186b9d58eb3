"""The command group, and what its exit codes mean."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

import click


class ExitCode(IntEnum):
    """What the shell is told."""

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    INTERRUPTED = 130
    BROKEN_PIPE = 141


# The machine's refusals. Other errors of the system are bugs and keep their traceback.
_REFUSALS = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
}


class App(click.Group):
    """A command group that never shows a traceback for what the user can put right.

    Commands return an :class:`ExitCode` or None. Bad input of every kind, click's own included,
    is one line on stderr and exit code 2.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which they were added."""
        return list(self.commands)

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments."""
        with _own_broken_pipes():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _own_broken_pipes():
            return super().invoke(ctx)

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> None:
        """Run a command and exit with its code."""
        run = super().main
        sys.exit(guarded(lambda: run(args, prog_name or "treesweep", complete_var, False, **extra)))


class _ReaderLeftError(Exception):
    """Whoever read our output has closed it (``| head``)."""


@contextmanager
def _own_broken_pipes() -> Iterator[None]:
    """Keep click from ending a broken pipe with exit code 1, which is ours for failed tasks."""
    try:
        yield
    except BrokenPipeError:
        raise _ReaderLeftError from None


def guarded(run: Callable[[], Any]) -> int:
    """Run a command and turn what the user can put right into a line and an exit code."""
    # A terminal that cannot show λ is no reason to fail.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = run()
        sys.stdout.flush()
        return int(code or ExitCode.DONE)
    except click.ClickException as error:
        return _refuse(_usage(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("treesweep: interrupted", err=True)
        return ExitCode.INTERRUPTED
    except (_ReaderLeftError, BrokenPipeError):
        return _leave_in_silence()
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        where = "" if error.filename is None else f"{error.filename}: "
        return _refuse(f"{where}{error.strerror}")
    except ValueError as error:
        # solver is imported here only if it was not needed before, i.e. the error is another.
        from solver.errors import InputError

        if not isinstance(error, InputError):
            raise
        return _refuse(str(error))


def _refuse(message: str) -> ExitCode:
    click.echo(f"treesweep: error: {' '.join(message.split())}", err=True)
    return ExitCode.BAD_INPUT


def _usage(error: click.ClickException) -> str:
    """click's message with the remedy."""
    message = error.format_message()
    if isinstance(error, click.UsageError):
        command = "treesweep" if error.ctx is None else error.ctx.command_path
        link = " See" if message.endswith("?") else "; see"
        message = f"{message.rstrip('.')}{link} '{command} --help'"
    return message


def _leave_in_silence() -> ExitCode:
    # The interpreter flushes stdout once more on its way out.
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), sys.__stdout__.fileno())  # type: ignore[union-attr]
    return ExitCode.BROKEN_PIPE


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"treesweep {version('treesweep')}")
        ctx.exit()


@click.group(
    cls=App, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version,
    help="Show the version and exit.",
)  # fmt: skip
def treesweep() -> None:
    """Sweeps of provably optimal decision trees over datasets, encodings, λ and solvers.

    Exit codes: 0 done, 1 some tasks failed, 2 bad input, 130 interrupted.
    """
