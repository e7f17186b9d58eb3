"""The command group, its exit codes, and what Ctrl-C does in a command."""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from types import FrameType
from typing import Any

import click


class ExitCode(IntEnum):
    """The exit codes of all commands."""

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    INTERRUPTED = 130
    BROKEN_PIPE = 141


# The user can fix these errors of the system. Others are bugs and keep their traceback.
_REFUSALS = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOENT,
    errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG,
}  # fmt: skip


class App(click.Group):
    """A command group that shows bad input as one line on stderr, with exit code 2.

    Commands return an :class:`ExitCode` or None.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which they were added."""
        return list(self.commands)

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments."""
        with _own_broken_pipes():
            _check_text(args)
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
    """The reader of our output has closed it (``| head``)."""


@contextmanager
def _own_broken_pipes() -> Iterator[None]:
    """Keep click from exiting with 1 for a broken pipe: 1 means failed tasks."""
    try:
        yield
    except BrokenPipeError:
        raise _ReaderLeftError from None


def guarded(run: Callable[[], Any]) -> int:
    """Run a command; turn errors that the user can fix into a line and an exit code."""
    _mend_streams()
    try:
        with _own_warnings():
            return _explained(run)
    except (_ReaderLeftError, BrokenPipeError):
        return ExitCode.BROKEN_PIPE
    finally:
        _drop_unread()


@contextmanager
def _own_warnings() -> Iterator[None]:
    """Show what the user should know about the input as a line on stderr, like errors."""
    with warnings.catch_warnings():
        usual, said = warnings.showwarning, set[str]()

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            from solver.errors import InputWarning  # now, so that --help is fast

            if not issubclass(category, InputWarning):
                usual(message, category, *where, **more)
            elif str(message) not in said:  # a table may be read twice
                said.add(str(message))
                _say(f"treesweep: {message}")

        warnings.showwarning = show
        yield


def _explained(run: Callable[[], Any]) -> int:
    try:
        code = run()
        sys.stdout.flush()
        return int(code or ExitCode.DONE)
    except click.ClickException as error:
        return _refuse(_usage(error))
    except (click.Abort, KeyboardInterrupt):
        _say("treesweep: interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        where = "" if error.filename is None else f"{error.filename}: "
        return _refuse(f"{where}{error.strerror}")
    except RuntimeError as error:
        from solver.errors import ClaimError, PeerError

        if not isinstance(error, (ClaimError, PeerError)):
            raise
        _say(f"treesweep: error: {error}")
        return ExitCode.FAILED
    except ValueError as error:
        # solver is imported here only if it was not needed before, i.e. the error is another.
        from solver.errors import InputError

        if not isinstance(error, InputError):
            raise
        return _refuse(str(error))


def _check_text(args: Sequence[str]) -> None:
    """Refuse arguments that are not UTF-8: no result, JSON or page could hold them."""
    for arg in args:
        try:
            arg.encode()
        except UnicodeEncodeError:
            raise click.UsageError(
                f"the argument {arg!a} is not text in UTF-8; rename the file, or write it otherwise"
            ) from None


def _mend_streams() -> None:
    """Replace closed streams (``>&-``), and let every command print what it must in any charset."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, "w" if number else "r")  # noqa: SIM115  it stays open
            # Otherwise the next opened file would get this number, and the output.
            if not _is_open(number):
                os.dup2(stream.fileno(), number)
            setattr(sys, name, stream)
    for shown in (sys.stdout, sys.stderr):
        if not hasattr(shown, "reconfigure"):
            continue
        if shown is sys.stdout and not shown.isatty():
            # Files and pipes take data, which the terminal's charset must not change.
            shown.reconfigure(encoding="utf-8")
        else:
            shown.reconfigure(errors="backslashreplace")  # for a terminal that cannot show λ


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _refuse(message: str) -> ExitCode:
    _say(f"treesweep: error: {' '.join(message.split())}")
    return ExitCode.BAD_INPUT


def _say(line: str) -> None:
    with suppress(OSError):  # closed, or the disk is full: the exit code remains
        click.echo(line, err=True)


def _usage(error: click.ClickException) -> str:
    """click's message with a remedy."""
    message = error.format_message()
    if isinstance(error, click.UsageError):
        command = "treesweep" if error.ctx is None else error.ctx.command_path
        link = " See" if message.endswith("?") else "; see"
        message = f"{message.rstrip('.')}{link} '{command} --help'"
    return message


def _drop_unread() -> None:
    """Drop unwritable output: the interpreter flushes the streams again at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with open(os.devnull, "w") as nothing:
                os.dup2(nothing.fileno(), stream.fileno())


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


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether Ctrl-C was pressed. A second one raises as usual."""
    stopped = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True
        click.echo("treesweep: stopping; Ctrl-C again to leave at once", err=True)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: stopped
    finally:
        signal.signal(signal.SIGINT, before)
