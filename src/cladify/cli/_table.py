"""``cladify table``, ``place`` and ``trend``: a taxonomy as rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cladify._kit.text import escape_controls
from cladify.cli._common import (
    AsJson,
    Encoding,
    ExcelSafe,
    Sheet,
    TaxonomyFile,
    Text,
    Vectors,
    columns,
    count,
    numbers,
    print_json,
    several_texts,
)

if TYPE_CHECKING:
    import pyarrow as pa


def table(
    file: TaxonomyFile,
    n_clusters: Annotated[
        str | None,
        typer.Option("--levels", metavar="K,K,...", help="Numbers of clusters; default: the suggested levels"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help=".csv .tsv .jsonl .parquet .h5ad; default: CSV on stdout")
    ] = None,
    h5ad: Annotated[
        Path | None, typer.Option(help="With --out .h5ad: the file the vectors came from; labels are added to a copy.")
    ] = None,
    join: Annotated[
        Path | None,
        typer.Option(help="A table whose columns come first, matched by the column of ids, or else row by row."),
    ] = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    excel_safe: ExcelSafe = False,
) -> None:
    """One row an item: label, name and confidence at every level, and the path of names.

    With --join, the rows of another file with these columns beside them.

    Example: [bold]cladify table posts.taxonomy --levels 10,50 --out posts-labels.parquet[/bold]
    """
    from cladify.taxonomy import Taxonomy

    if out is not None:
        check_output(out, h5ad)
    made = Taxonomy.load(file)
    wanted = None
    if n_clusters is not None:
        wanted = numbers("--levels", n_clusters)
    data = made.table(wanted, form="arrow")
    if join is not None:
        from cladify.taxonomy._sources import Options, join_rows, read_join

        id_name = data.column_names[0] if len(made.id_names) == 1 else None  # ids without a name are called id
        data, missing = join_rows(read_join(join, Options(encoding, sheet)), data, id_name)
        if missing:
            print(f"{join}: {count(missing, 'row')} with an id that is not in {file} have no label.", file=sys.stderr)
    _show_or_write(data, out, h5ad, excel_safe=excel_safe)


def place(
    file: TaxonomyFile,
    source: Annotated[Path, typer.Argument(metavar="NEW", help="New texts or vectors, in the formats of taxonomy.")],
    text: Text = None,
    column: Vectors = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help=".csv .tsv .jsonl .parquet; default: CSV on stdout")
    ] = None,
    excel_safe: ExcelSafe = False,
) -> None:
    """Say where new items belong in a taxonomy, and how sure that is; the taxonomy stays as it is.

    Example: [bold]cladify place posts.taxonomy monday.csv --text body --out placed.csv[/bold]
    """
    from cladify.io import check_writable, read_vectors
    from cladify.io._write import check_table_name
    from cladify.taxonomy import Taxonomy
    from cladify.taxonomy._sources import STDIN, TEXT_KINDS, Options, join_rows, read_source, read_table

    if out is not None:
        check_table_name(out)
        check_writable(out)
    made = Taxonomy.load(file)
    reading = Options(encoding, sheet)
    text = text or several_texts(made)
    if str(source) == STDIN:
        rows = read_source(str(source), text, options=reading)
    elif source.is_dir() or source.suffix.lower() in TEXT_KINDS:
        rows = read_table(source, text, vectors=columns(column), options=reading)
    else:
        rows = None
    if rows is None:
        placed = made.place(read_vectors(source, column=columns(column)), form="arrow")
    else:
        new = ["" if value is None else str(value) for value in rows.texts] if rows.vectors is None else rows.vectors
        placed, _ = join_rows(rows.table, made.place(new, form="arrow"), None)
    lost = placed.column("nowhere").to_pylist().count(True)
    if lost:
        print(f"{source}: {count(lost, 'item')} of {len(placed)} belong nowhere (column nowhere).", file=sys.stderr)
    _show_or_write(placed.drop_columns("path_confidence"), out, None, excel_safe=excel_safe)


def trend(
    file: TaxonomyFile,
    by: Annotated[str, typer.Option("--by", help="Column of the taxonomy: times, numbers or categories.")],
    n_clusters: Annotated[
        int | None, typer.Option("--level", metavar="K", help="Number of clusters; default: the coarsest level.", min=1)
    ] = None,
    every: Annotated[str, typer.Option(help="Bins of times: auto, day, week, month, quarter or year.")] = "auto",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A row a group, a column a bin: .csv .tsv .jsonl .parquet")
    ] = None,
    excel_safe: ExcelSafe = False,
    as_json: AsJson = False,
) -> None:
    """Count groups over time or by any column: which rise and fade, and where there are more than expected.

    Example: [bold]cladify trend tickets.taxonomy --by date --every week --out weeks.csv[/bold]
    """
    from cladify.io import check_writable
    from cladify.io._write import check_table_name, write_table
    from cladify.taxonomy import Taxonomy

    if out is not None:
        check_table_name(out)
        check_writable(out)
    found = Taxonomy.load(file).trend(by, level=n_clusters, every=every)
    if out is not None:
        write_table(out, found.table(), excel_safe=excel_safe)
    if as_json:
        bursts = [burst._asdict() for burst in found.bursts()]
        print_json(
            {"file": str(file), "by": by, "bins": found.bins, "groups": found.table().to_pylist(), "bursts": bursts}
        )
        return
    print(escape_controls(str(found)))
    if out is not None:
        print(f"table: {out}")


def check_output(out: Path, h5ad: Path | None) -> None:
    """Before long work, whether a table can be written to that name."""
    from cladify.errors import FileError
    from cladify.io import check_writable
    from cladify.io._write import check_table_name

    kind = check_table_name(out, (".csv", ".h5ad", ".jsonl", ".parquet", ".tsv"))
    if kind == ".h5ad" and (h5ad is None or h5ad.suffix.lower() != ".h5ad"):
        raise FileError("labels go into a copy of an .h5ad file; say which: --h5ad cells.h5ad")
    check_writable(out)


def _show_or_write(data: pa.Table, out: Path | None, h5ad: Path | None, *, excel_safe: bool) -> None:
    """A table in its file, or as CSV on standard output."""
    from cladify._kit.text import printable
    from cladify.io._write import write_csv

    if out is not None:
        write_output(data, out, h5ad, excel_safe=excel_safe)
        print(f"{out}: {count(len(data), 'row')}")
        return
    if sys.stdout.isatty():  # in a file cells stay as they are; a terminal must not act on them
        for i, field in enumerate(data.schema):
            if str(field.type) in ("string", "large_string"):
                data = data.set_column(i, field.name, [[printable(cell) for cell in data.column(i).to_pylist()]])
    write_csv(sys.stdout.buffer, data, excel_safe=excel_safe)


def write_output(data: pa.Table, out: Path, h5ad: Path | None, *, excel_safe: bool) -> None:
    """The table in the format of the file's ending."""
    from cladify.io._write import write_table

    if out.suffix.lower() != ".h5ad":
        write_table(out, data, excel_safe=excel_safe)
        return
    from cladify.taxonomy._h5ad import write_labels_into

    assert h5ad is not None
    write_labels_into(h5ad, out, data)
