"""``cladify dedupe``: the rows of a table that name the same thing."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cladify.cli._common import AsJson, Encoding, ExcelSafe, Quiet, Sheet, count, print_json, seconds, show_progress

if TYPE_CHECKING:
    import pyarrow as pa

_YES = {"yes", "y", "true", "1", "same", "x"}
_NO = {"no", "n", "false", "0", "different"}


def dedupe(
    source: Annotated[Path, typer.Argument(metavar="TABLE", help="Rows: .csv .tsv .jsonl .json .parquet .xlsx .txt …")],
    text: Annotated[
        str | None,
        typer.Option("--text", metavar="COL[:W],…", help="Columns to compare, the name first: name,street:0.5"),
    ] = None,
    same_as: Annotated[
        Path | None, typer.Option("--same-as", help="A review list with yes or no in its column 'same'.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help=".csv .tsv .jsonl .parquet; default: TABLE-deduped.csv")
    ] = None,
    review: Annotated[
        Path | None, typer.Option(help="Write doubtful pairs here, to be filled in; default: TABLE-review.csv")
    ] = None,
    n_review: Annotated[int, typer.Option("--review-pairs", help="Pairs in the review list; 0 for none.", min=0)] = 50,
    threshold: Annotated[
        float, typer.Option(help="Mean chance from which on rows are one entity; more means fewer wrong pairs.")
    ] = 0.5,
    encoding: Encoding = None,
    sheet: Sheet = None,
    excel_safe: ExcelSafe = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find rows that name the same company, person or product, with no labels needed.

    Writes all columns in order with an entity, its canonical name and a confidence, and a list of doubtful pairs: fill
    in yes or no and give it back with --same-as.

    Example: [bold]cladify dedupe customers.csv --text name,street:0.5[/bold]
    """
    import pyarrow as pa

    from cladify.entities import dedupe as find
    from cladify.errors import FileError
    from cladify.io import check_writable
    from cladify.io._write import check_table_name, write_table
    from cladify.taxonomy._sources import Options, join_rows, read_source

    start = time.perf_counter()
    out = out or source.with_name(f"{source.stem}-deduped.csv")
    review = review or source.with_name(f"{source.stem}-review.csv")
    if same_as is not None and n_review and review.resolve() == same_as.resolve():
        review = source.with_name(f"{source.stem}-review-next.csv")
    for path in (out, review):
        check_table_name(path)
        check_writable(path)
        if any(path.resolve() == given.resolve() for given in (source, same_as) if given is not None):
            raise FileError(f"{path} would be overwritten; give another --out or --review.")
    weights = _weights(text)
    rows = read_source(str(source), next(iter(weights), None), options=Options(encoding, sheet))
    if not weights:
        if rows.text_column is None:
            raise FileError(f"{source} has no column of texts; name the columns to compare with --text.")
        weights = {rows.text_column: 1.0}
    columns = {name: rows.column(name) for name in weights}
    answers = [] if same_as is None else _answers(same_as, list(columns), Options(encoding, None))
    found = find(columns, weights=weights, same_as=answers, threshold=threshold, progress=show_progress(quiet))
    table, _ = join_rows(rows.table, found.table(), None)
    write_table(out, table, excel_safe=excel_safe)
    asked = None
    if n_review and len(found.pairs):
        asked = found.review(n_review + len(answers))
        asked = asked.take(pa.array(_unanswered(asked, answers, list(columns))[:n_review], pa.int64()))
        write_table(review, asked, excel_safe=excel_safe)
    n = len(found.entity)
    if as_json:
        print_json(
            {
                "rows": n,
                "entities": found.n_entities,
                "answers": len(answers),
                "ignored": list(found.ignored),
                "out": str(out),
                "review": str(review) if asked is not None else None,
            }
        )
    elif not quiet:
        print(
            f"{count(n, 'row')} are {count(found.n_entities, 'entity', 'entities')}, "
            f"by {', '.join(name for name in columns if name not in found.ignored)}, "
            f"in {seconds(time.perf_counter() - start)}"
        )
        if found.ignored:
            some = ", ".join(found.ignored)
            print(f"left out: {some}, which told nothing of what is the same; {found.ignored[0]}:0.9 makes it count")
        print(f"table: {out}")
        if asked is not None:
            print(f"doubtful: {count(len(asked), 'pair')} in {review}; fill in yes or no, then --same-as {review}")
        if same_as is not None and not answers:
            print(f"{same_as}: no row has yes or no in its column 'same'.", file=sys.stderr)


def _weights(text: str | None) -> dict[str, float]:
    """What ``--text`` means: columns with their weights.

    >>> _weights("name,street:0.5")
    {'name': 1.0, 'street': 0.5}
    """
    out: dict[str, float] = {}
    for part in (text or "").split(","):
        name, colon, number = part.strip().rpartition(":")
        try:
            weight = float(number) if colon else 1.0
        except ValueError:
            name, colon, weight = part.strip(), "", 1.0
        if not colon:
            name = part.strip()
        if name:
            if not 0 < weight < float("inf"):
                raise typer.BadParameter(f"--text takes COLUMN or COLUMN:WEIGHT with a weight above 0, got {part!r}.")
            out[name] = weight
    if text is not None and not out:
        raise typer.BadParameter("--text names no column.")
    return out


def _answers(path: Path, columns: list[str], options: Any) -> list[tuple[tuple[Any, ...], tuple[Any, ...], bool]]:
    """Pairs of records with what a person said of them; rows without a word are left out."""
    from cladify._kit.files import missing_column
    from cladify.errors import FileError
    from cladify.taxonomy._sources import read_join

    table = read_join(path, options)
    wanted = ["same", *(f"{name}_{side}" for side in "ab" for name in columns)]
    for name in wanted:
        if name not in table.column_names:
            raise missing_column(str(path), name, table.column_names)
    sides = [list(zip(*(_cells(table, f"{name}_{side}") for name in columns), strict=True)) for side in "ab"]
    found = []
    for line, (said, a, b) in enumerate(zip(_cells(table, "same"), *sides, strict=True), start=2):
        word = str("" if said is None else said).strip().lower()
        if word and word not in _YES | _NO:
            raise FileError(f"{path}, line {line}: 'same' must be yes, no or empty, got {said!r}.")
        if word:
            found.append((a, b, word in _YES))
    return found


def _cells(table: pa.Table, name: str) -> list[Any]:
    return table.column(name).to_pylist()


def _unanswered(asked: pa.Table, answers: list[Any], columns: list[str]) -> list[int]:
    """The rows of a review list that were not answered before."""
    known = {frozenset((a, b)) for a, b, _ in answers}
    sides = [list(zip(*(_cells(asked, f"{name}_{side}") for name in columns), strict=True)) for side in "ab"]
    return [i for i, ends in enumerate(zip(*sides, strict=True)) if frozenset(ends) not in known]
