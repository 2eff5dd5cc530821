"""``cladify papers``: the figures of the five papers beside ours."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cladify.papers import Figure, Picture, Row


def papers(
    tier: Annotated[
        str,
        typer.Argument(
            help="quick (a minute), normal (half an hour) or all (hours); or data: what is read, and from where."
        ),
    ] = "quick",
    paper: Annotated[
        list[str] | None,
        typer.Option("--paper", "-p", help="One of N, C, M, Z, H (see docs/papers.md); may be given again."),
    ] = None,
    only: Annotated[
        str, typer.Option("--only", help="Rows and figures with this in their name, for example 'table 5.1'.")
    ] = "",
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for papers.json (figures so far), papers.md and papers.html.")
    ] = Path("out"),
    report: Annotated[
        bool, typer.Option("--report", help="Compute nothing: write the pages of what the folder has by now.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Compute figures that the folder has, too.")] = False,
    check: Annotated[
        Path | None,
        typer.Option("--check", help="A papers.json of before: fail where a verdict got worse."),
    ] = None,
) -> None:
    """Compute the figures that the papers print, and say which come out.

    Data are looked for in $CLADIFY_DATA; what is missing is named and left out. A run that was stopped goes on.
    Several runs may share one folder, each with other rows (--paper, --only); --report then makes one page of them. A
    row that stops with an error is listed as failed, the others go on, and the command ends with code 1.
    """
    from cladify import papers as figures
    from cladify.errors import CladifyError, FileError

    if tier == "data":
        _data()
        return

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {out}: {error.strerror}; choose another with --out.") from None
    recorded = None if check is None else figures.load_figures(check)
    rows = [row for row in figures.all_rows(tier, paper or ()) if only in row.key]
    pictures = [picture for picture in figures.all_pictures(tier, paper or ()) if only in picture.key]
    total = len(rows) + len(pictures)

    def say(row: Row, figure: Figure, done: int) -> None:
        told = figure.missing or figure.failed or f"{figure.mean:.4g} here, {figures.verdict(row, figure)}"
        print(f"{done}/{total} {row.key}: {row.published:g} printed, {told}", file=sys.stderr, flush=True)

    def drew(picture: Picture, figure: Figure, done: int) -> None:
        print(
            f"{len(rows) + done}/{total} {picture.key}: {figure.missing or figure.failed or 'drawn'}",
            file=sys.stderr,
            flush=True,
        )

    kept = out / "papers.json"
    if report:
        found, drawn = figures.known_figures(rows, kept), figures.known_figures(pictures, kept)
    else:
        found = figures.run_rows(rows, kept, again=again, say=say)
        drawn = figures.run_pictures(pictures, kept, again=again, say=drew)
    (out / "papers.md").write_text(figures.markdown(rows, found, tier), encoding="utf-8")
    (out / "papers.html").write_text(figures.page(rows, found, pictures, drawn), encoding="utf-8")
    for line in figures.summary(rows, found):
        print(line)
    worse = [] if recorded is None else figures.worse_than(rows, found, recorded)
    for line in worse:
        print(line, file=sys.stderr)
    failed = [key for key, figure in {**found, **drawn}.items() if figure.failed]
    if failed:
        raise CladifyError(f"{len(failed)} rows failed, {failed[0]!r} first; see {out / 'papers.md'}.")
    if worse:
        raise CladifyError(f"{len(worse)} verdicts are worse than those in {check}.")


def _data() -> None:
    """Make the sets that can be made, and list all."""
    from cladify import papers as figures
    from cladify.papers._data import folder

    place = folder()
    try:
        made = figures.make_data(place)
    except OSError:
        made = []  # a folder that only others write to
    for path in made:
        print(f"made {path}")
    for name, (told, here) in figures.needed().items():
        print(f"{'here   ' if here else 'missing'} {name}.npz: {told}")
    print(f"Files are looked for in {place} (CLADIFY_DATA), each with arrays X (n, d) and y (n,).")
