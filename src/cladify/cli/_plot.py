"""``cladify plot``: a picture of a tree in a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cladify.cli._common import Items, ItemsColumn, TreeFile, read_named_items, read_tree_file


class Kind(StrEnum):
    """The pictures."""

    dendrogram = "dendrogram"
    icicle = "icicle"
    sizes = "sizes"
    disk = "disk"
    heatmap = "heatmap"


def plot(
    tree_file: TreeFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the picture goes: .png .svg .pdf")],
    kind: Annotated[Kind, typer.Option("--kind", help="Which picture.")] = Kind.dendrogram,
    items: Items = None,
    items_column: ItemsColumn = None,
    vectors: Annotated[Path | None, typer.Option("--vectors", help="The rows of a heat map.")] = None,
    branches: Annotated[int, typer.Option(help="Branches of a dendrogram, or coloured clusters of an icicle.")] = 30,
    dpi: Annotated[int, typer.Option(help="Dots per inch of a .png.", min=20, max=1200)] = 150,
) -> None:
    """Draw a tree: its top as a dendrogram or an icicle, the sizes of its clusters, a Poincaré disk, or a heat map.

    Example: [bold]cladify plot names.tree --items names.txt --kind icicle --out names.png[/bold]
    """
    from cladify import plot as draw
    from cladify.errors import FileError, MissingExtra
    from cladify.io import atomic_path, check_writable, read_vectors

    endings = (".png", ".svg", ".pdf")
    if out.suffix.lower() not in endings:
        raise FileError(f"{out}: the ending of a picture says its format; use one of {', '.join(endings)}.")
    check_writable(out)
    if kind is Kind.heatmap and vectors is None:
        raise typer.BadParameter("a heat map needs the rows of the tree: --vectors X.npy.")
    tree = read_tree_file(tree_file)
    names = read_named_items(items, items_column, tree.n_leaves, f"leaves in {tree_file}")
    names = names if names is not None else tree.info.get("names")
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("Drawing", "plot") from None
    matplotlib.use("Agg")
    if kind is Kind.dendrogram:
        axes = draw.dendrogram(tree, names, n_branches=branches)
    elif kind is Kind.icicle:
        axes = draw.icicle(tree, names, n_clusters=branches)
    elif kind is Kind.disk:
        axes = draw.disk(tree, n_branches=3000)
    elif vectors is not None and kind is Kind.heatmap:
        axes = draw.clustermap(read_vectors(vectors), tree, items=names)["heat"]
    else:
        axes = draw.sizes(tree)
    figure: Any = axes.figure
    with atomic_path(out) as draft:
        figure.savefig(draft, dpi=dpi, format=out.suffix[1:].lower())
    print(f"{out}: {kind.value} of {tree.n_leaves} leaves")
