"""The command line: parses, calls the public API, prints. No algorithm lives here.

Results go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 it could not be done, 2 the command was
written wrongly, 130 stopped with Ctrl-C, 141 whoever read the output closed it.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import cladify
from cladify._kit.text import escape_controls
from cladify.cli import (
    _build,
    _care,
    _compare,
    _dedupe,
    _demo,
    _edit,
    _explore,
    _online,
    _papers,
    _plot,
    _refine,
    _report,
    _score,
    _table,
    _taxonomy,
    _trees,
    _update,
)
from cladify.cli._guard import guarded
from cladify.errors import CladifyError, CladifyWarning

__all__ = ["app", "main"]


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"cladify {cladify.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Build, score and read hierarchies over embedding vectors.

    A first taxonomy: [bold]cladify taxonomy posts.csv --text body[/bold]. A look around: [bold]cladify demo[/bold].
    """


NEED_ARGUMENTS: tuple[Callable[..., None], ...] = (
    _taxonomy.taxonomy,
    _taxonomy.name,
    _edit.edit,
    _table.table,
    _table.place,
    _update.update,
    _update.changes,
    _table.trend,
    _dedupe.dedupe,
    _build.fit,
    _trees.info,
    _trees.cut,
    _trees.levels,
    _trees.condense,
    _trees.convert,
    _report.report,
    _score.score,
    _refine.refine,
    _compare.compare,
    _plot.plot,
    _explore.explore,
    _explore.export,
    _online.add,
    _online.remove,
    _online.watch,
    _care.check,
    _care.backup,
    _care.rescue,
)
ALONE: tuple[Callable[..., None], ...] = (_build.methods, _demo.demo, _papers.papers)


class _Commands(TyperGroup):
    def get_help_option(self, ctx: Any) -> Any:
        """As ever, but False where it is not given: None makes newer versions of typer load all of pydantic."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


def _typer(commands: Iterable[Callable[..., None]]) -> typer.Typer:
    made = typer.Typer(
        name="cladify",
        cls=_Commands,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_options)
    for command in commands:
        made.command(no_args_is_help=command in NEED_ARGUMENTS)(guarded(command))
    return made


app = _typer(NEED_ARGUMENTS + ALONE)


def main() -> None:
    """Run the command line and exit; every failure is one line on stderr."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    _open_standard_streams()
    debug = "--debug" in arguments
    # The option is taken anywhere, because it is added at the end of a line that failed.
    arguments = [argument for argument in arguments if argument != "--debug"]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal of another encoding cannot show is spelled out
            stream.reconfigure(errors="cladify-spelled")
    with warnings.catch_warnings():
        warnings.simplefilter("always", CladifyWarning)
        if not debug:
            warnings.showwarning = _show_warning
        try:
            # Building all commands takes as long as reading this package: the one that is called is built alone.
            called = [command for command in NEED_ARGUMENTS + ALONE if arguments[:1] == [command.__name__]]
            code = (_typer(called) if called else app)(arguments, standalone_mode=False, prog_name="cladify")
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except (KeyboardInterrupt, typer.Abort):
            return 130
        except SystemExit as error:  # rich ends the program so where its output is closed
            return _output_closed() if isinstance(error.__context__, BrokenPipeError) else int(error.code or 0)
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                return _output_closed()
            if debug:
                raise
            return _explain(error)


def _output_closed() -> int:
    """The reader of the output has closed it (``cladify ... | head``): the exit code of SIGPIPE, and no more output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _open_standard_streams() -> None:
    """Put the null device in place of streams that are closed (``>&-``), so that no file gets their number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _explain(error: Exception) -> int:
    """Say in one line what went wrong; returns the exit code."""
    format_message = getattr(error, "format_message", None)
    if format_message is not None:  # a usage error, from whichever copy of click typer uses
        command = getattr(getattr(error, "ctx", None), "command_path", "cladify")
        message = " ".join(format_message().split()).rstrip(".")
        if message:  # a command without arguments has shown its help instead
            _say("error", f"{message}. See: {command} --help")
        return int(getattr(error, "exit_code", 2))
    if isinstance(error, CladifyError):
        message = str(error)
    elif isinstance(error, MemoryError):
        message = f"not enough memory. {error}".strip()
    elif isinstance(error, OSError):
        message = f"{error.filename or ''}: {error.strerror or error}".lstrip(": ")
    else:
        message = f"{type(error).__name__}: {error} (a bug in cladify; --debug shows where)"
    _say("error", " ".join(message.split()))
    return 1


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    _say("warning", " ".join(str(message).split()))


#: In ASCII, what this program's own lines are drawn with.
_SPELLED = str.maketrans(
    {"…": "...", "→": "->", "×": "x", "–": "-", "−": "-", "·": "*", "├": "|", "└": "`", "│": "|", "─": "-"}
)


def _spelled(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_SPELLED)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


codecs.register_error("cladify-spelled", _spelled)


def _say(kind: str, message: str) -> None:
    colour = {"error": "31", "warning": "33"}[kind]
    label = f"\033[{colour}m{kind}\033[0m" if sys.stderr.isatty() and "NO_COLOR" not in os.environ else kind
    print(f"cladify: {label}: {escape_controls(message)}", file=sys.stderr)
