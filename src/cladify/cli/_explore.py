"""``cladify explore`` and ``cladify export``: a taxonomy in the browser, and as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cladify.cli._common import Items, ItemsColumn, columns

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A .taxonomy, a tree (.tree .nwk .npy .json, or a folder) or a .dag")
]
Labels = Annotated[Path | None, typer.Option("--labels", help="Classes of the items, shown as histograms.")]
LabelsColumn = Annotated[str | None, typer.Option("--labels-column", help="Column or key with the labels.")]
Images = Annotated[
    Path | None,
    typer.Option("--images", help="Paths of the items' pictures, one a line; or .npy (n, height, width)."),
]
Vectors = Annotated[Path | None, typer.Option("--vectors", help="The vectors, for 'more like this'.")]
Node = Annotated[
    int | None, typer.Option("--node", help="Of a tree in a folder: what is below this group, or node, of its top.")
]
Title = Annotated[str | None, typer.Option("--title", help="What the page is called; default: the file's name.")]


def explore(
    file: File,
    items: Items = None,
    items_column: ItemsColumn = None,
    vectors: Vectors = None,
    labels: Labels = None,
    labels_column: LabelsColumn = None,
    points: Annotated[
        Path | None, typer.Option("--points", help="Places of the items in the plane (n × 2), such as UMAP's.")
    ] = None,
    points_column: Annotated[
        str | None, typer.Option("--points-column", help="Columns or array with them, such as X_umap of an .h5ad.")
    ] = None,
    images: Images = None,
    compare: Annotated[Path | None, typer.Option("--compare", help="Another tree or taxonomy of these items.")] = None,
    node: Node = None,
    title: Title = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save", help="Keep what is prepared of a tree, and all edits, in this .taxonomy; explore that next time."
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", help="Or the next one that is free.")] = 8765,
    host: Annotated[
        str, typer.Option("--host", help="Another address lets others on the network read the data.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Look at a taxonomy or a tree in the browser: zoom, search, levels, names, edits.

    Example: [bold]cladify explore posts.taxonomy[/bold], or [bold]cladify explore names.tree --items names.txt[/bold]
    """
    from cladify.explore import Explorer
    from cladify.io import check_writable

    if save is not None:
        if save.suffix != ".taxonomy":
            raise typer.BadParameter(f"--save takes a name that ends in .taxonomy, got {save}.")
        check_writable(save, file, items)
    document = _document(
        file, items, items_column, vectors, labels, labels_column, points, points_column, images, compare, title, node
    )
    if save is not None:
        document.save_in(save)
    explorer = Explorer(document, host=host, port=port)
    if port not in (0, explorer.port):
        print(f"Port {port} is taken; using {explorer.port}.")
    print(f"{explorer.document.title}: {explorer.url}\nCtrl-C stops it.", flush=True)
    if browser:
        explorer.open_browser()
    explorer.serve()


def export(
    file: File,
    html: Annotated[Path, typer.Option("--html", help="Where the page goes; it opens without a server.")],
    items: Items = None,
    items_column: ItemsColumn = None,
    labels: Labels = None,
    labels_column: LabelsColumn = None,
    images: Images = None,
    node: Node = None,
    title: Title = None,
) -> None:
    """Write a taxonomy or a tree as one HTML file: its readable top, with search, to mail to a colleague.

    Example: [bold]cladify export posts.taxonomy --html posts.html[/bold]
    """
    from cladify.explore import write_page
    from cladify.io import check_writable

    check_writable(html)
    document = _document(file, items, items_column, None, labels, labels_column, None, None, images, None, title, node)
    write_page(document, html)
    print(f"{html}: {html.stat().st_size / 1e6:.1f} MB")


def _document(
    file: Path,
    items: Path | None,
    items_column: str | None,
    vectors: Path | None,
    labels: Path | None,
    labels_column: str | None,
    points: Path | None,
    points_column: str | None,
    images: Path | None,
    compare: Path | None,
    title: str | None,
    node: int | None,
) -> Any:
    from cladify.explore import open_document
    from cladify.io import read_items, read_labels, read_vectors

    return open_document(
        file,
        items=None if items is None else read_items(items, items_column),
        labels=None if labels is None else list(read_labels(labels, labels_column)),
        vectors=None if vectors is None else read_vectors(vectors),
        points=None if points is None else read_vectors(points, column=columns(points_column)),
        images=None if images is None else _images(images),
        compare=compare,
        title=title,
        node=node,
    )


def _images(file: Path) -> Any:
    """An array of pictures, or their paths, which are relative to the folder of the list."""
    import numpy as np

    from cladify.errors import FileError
    from cladify.io import read_items

    if file.suffix.lower() != ".npy":
        return [file.parent / str(path) for path in read_items(file)]
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FileError(f"{file} is no array of pictures: {error}") from None
