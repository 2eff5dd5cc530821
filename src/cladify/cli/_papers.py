"""``cladify papers``: the figures of the five papers beside ours."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cladify.papers import Figure, Row


def papers(
    tier: Annotated[str, typer.Argument(help="quick (minutes), normal (half an hour) or all (hours).")] = "quick",
    paper: Annotated[
        list[str] | None,
        typer.Option("--paper", "-p", help="One of N, C, M, Z, H (see docs/papers.md); may be given again."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for papers.json (figures so far) and papers.md.")
    ] = Path("out"),
    again: Annotated[bool, typer.Option("--again", help="Compute figures that the folder has, too.")] = False,
    check: Annotated[
        Path | None,
        typer.Option("--check", help="A papers.json of before: fail where a verdict got worse."),
    ] = None,
) -> None:
    """Compute the figures that the papers print, and say which come out.

    Data are looked for in $CLADIFY_DATA; what is missing is named and left out. A run that was stopped goes on.
    """
    from cladify import papers as figures
    from cladify.errors import CladifyError, FileError

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {out}: {error.strerror}; choose another with --out.") from None
    recorded = None if check is None else figures.load_figures(check)
    rows = figures.all_rows(tier, paper or ())
    total = len(rows)

    def say(row: Row, figure: Figure, done: int) -> None:
        told = figure.missing or f"{figure.mean:.4g}"
        print(f"{done}/{total} {row.key}: {row.published:g} printed, {told} here", file=sys.stderr, flush=True)

    found = figures.run_rows(rows, out / "papers.json", again=again, say=say)
    (out / "papers.md").write_text(figures.markdown(rows, found, tier), encoding="utf-8")
    for line in figures.summary(rows, found):
        print(line)
    worse = [] if recorded is None else figures.worse_than(rows, found, recorded)
    for line in worse:
        print(line, file=sys.stderr)
    if worse:
        raise CladifyError(f"{len(worse)} verdicts are worse than those in {check}.")
