"""``cladify update`` and ``changes``: a taxonomy that is kept up to date."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from cladify.cli._common import (
    AsJson,
    Encoding,
    Quiet,
    Sheet,
    TaxonomyFile,
    Text,
    Vectors,
    columns,
    count,
    print_json,
    seconds,
    several_texts,
    show_progress,
)
from cladify.cli._namer import Cache, NamerName, who_names
from cladify.cli._taxonomy import Ids


def update(
    file: TaxonomyFile,
    source: Annotated[
        Path | None, typer.Argument(metavar="NEW", help="New texts or vectors, in the formats of taxonomy.")
    ] = None,
    remove: Annotated[
        Path | None, typer.Option(help="A table whose column of ids names the items that leave, or one id a line.")
    ] = None,
    text: Text = None,
    column: Vectors = None,
    ids: Ids = None,
    items_column: Annotated[str | None, typer.Option(help="Column that items are shown as; default: the texts")] = None,
    vectors: Annotated[
        Path | None,
        typer.Option("--old-vectors", help="Vectors of the items there, if they are not at hand; needed once."),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="The named model that made the vectors of the texts, once more.")
    ] = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    refresh: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Also search the tree again, for about so long.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take the last update back.")] = False,
    namer: NamerName = None,
    cache: Cache = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Take new items into a taxonomy, and others out; groups keep their keys, names and edits.

    An id that is there already replaces that item. What an update needs is kept in the folder FILE.live.

    Example: [bold]cladify update tickets.taxonomy monday.csv --remove closed.csv[/bold]
    """
    from cladify.io import read_vectors
    from cladify.taxonomy import Taxonomy
    from cladify.taxonomy._sources import STDIN, TEXT_KINDS, Options, read_source, read_table

    if undo == (source is not None or remove is not None or refresh is not None):
        raise typer.BadParameter("give NEW, --remove or --refresh, or --undo alone.")
    start = perf_counter()
    made = Taxonomy.load(file)
    if undo:
        lost = made.undo_update()
        made.save(file)
        if not quiet:
            print(f"{file}: {count(made.n_items, 'item')}, as before the last update")
            for each in lost:
                print(f"edit lost: {each.edit.kind}: {each.why}")
        return
    asked = who_names(namer, file, cache, False, audit=None, about=None, key_env=None, max_calls=None, max_tokens=None)
    show = show_progress(quiet or as_json)
    given = None if vectors is None else read_vectors(vectors)
    options: dict[str, Any] = {"vectors": given, "progress": show}
    reading = Options(encoding, sheet)
    gone = None if remove is None else _ids_of(remove, next(iter(made.id_names), None) or ids, reading)
    results = []
    taken = ""
    if source is not None:
        text = text or several_texts(made)
        id_name = ids or next(iter(made.id_names), None)
        if str(source) == STDIN:
            table = read_source(str(source), text, ids=id_name, options=reading)
        elif source.is_dir() or source.suffix.lower() in TEXT_KINDS:
            table = read_table(source, text, vectors=columns(column), ids=id_name, options=reading)
        else:
            table = None
        shown = None if table is None or items_column is None else table.column(items_column)
        if table is None:
            new: Any = read_vectors(source, column=columns(column))
        else:
            options |= {"ids": table.ids, "columns": table.kept_beside(shown)}
            taken = f" ({table.taken()})"
            told = ["" if value is None else str(value) for value in table.texts]
            new = told if table.vectors is None else table.vectors
            if shown is None and len(table.text_columns) > 1:
                shown = table.column(next(iter(table.text_columns)))
            shown = told if shown is None and table.vectors is not None else shown
        namers = {} if asked is None else {"namer": asked.namer, "cache": asked.cache}
        results.append(made.update(new, items=shown, remove=gone, embedder=embedder, **options, **namers))
    elif gone is not None:
        results.append(made.remove(gone, **options))
    if refresh is not None:
        results.append(made.refresh(refresh, **options))
    made.save(file)
    if as_json:
        print_json({"file": str(file), "n_items": made.n_items, "updates": [_plain(result) for result in results]})
    elif not quiet:
        print(f"{file}: {count(made.n_items, 'item')}{taken}, {seconds(perf_counter() - start)}")
        for result in results:
            print(result)


def changes(
    file: TaxonomyFile,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="Such as 2026-01-31; default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """What became of the groups of a taxonomy: born, split, merged, grown, faded, gone; and its updates.

    Example: [bold]cladify changes tickets.taxonomy --since 2026-01-31[/bold]
    """
    from cladify.taxonomy import Taxonomy

    made = Taxonomy.load(file)
    found = made.changes(since)
    if as_json:
        print_json(found.to_dict())
        return
    print(found)
    for entry in made.history[-10:]:
        print(entry)


def _ids_of(path: Path, name: str | None, reading: Any) -> list[Any]:
    """The ids in a table: its column of that name, the one called id, or its only one."""
    from cladify.errors import FileError
    from cladify.taxonomy._sources import read_join, typed

    table = read_join(path, reading)
    found = next((each for each in (name, "id") if each in table.column_names), None)
    if found is None and table.num_columns != 1:
        raise FileError(f"{path} has no column {name or 'id'!r}. It has: {', '.join(table.column_names)}.")
    return typed(table.column(found or table.column_names[0])).to_pylist()


def _plain(result: Any) -> dict[str, Any]:
    events = {
        kind: [event._asdict() for event in getattr(result, kind)] for kind in ("born", "gone", "split", "merged")
    }
    lost = [{"edit": lost.edit.to_dict(), "name": lost.name, "why": lost.why} for lost in result.lost]
    names = ("added", "replaced", "removed", "named", "fits_nowhere", "expected", "fresh", "searched")
    return {name: getattr(result, name) for name in names} | events | {"lost": lost}
