"""``cladify plot``: a picture of a taxonomy or of a tree in a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cladify.cli._common import Items, ItemsColumn, TreeFile, read_named_items, read_tree_file


class Kind(StrEnum):
    """The pictures."""

    map = "map"
    tree = "tree"
    dendrogram = "dendrogram"
    icicle = "icicle"
    sizes = "sizes"
    disk = "disk"
    heatmap = "heatmap"


def plot(
    tree_file: TreeFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the picture goes: .png .svg .pdf")],
    kind: Annotated[
        Kind | None,
        typer.Option("--kind", help="Which picture; by default map for a taxonomy, dendrogram for a tree."),
    ] = None,
    items: Items = None,
    items_column: ItemsColumn = None,
    vectors: Annotated[Path | None, typer.Option("--vectors", help="The rows of a heat map.")] = None,
    branches: Annotated[int, typer.Option(help="Branches of a dendrogram, or coloured clusters of an icicle.")] = 30,
    dpi: Annotated[int, typer.Option(help="Dots per inch of a .png.", min=20, max=1200)] = 150,
    dark: Annotated[bool, typer.Option("--dark", help="A map or tree in light on dark.")] = False,
    title: Annotated[str | None, typer.Option("--title", help="Above a map or tree.")] = None,
) -> None:
    """Draw a taxonomy as a map or a tree, or any tree: its top as a dendrogram or an icicle, the sizes of its clusters,
    a Poincaré disk, or a heat map.

    Examples: [bold]cladify plot posts.taxonomy --out posts.png[/bold],
    [bold]cladify plot names.tree --items names.txt --kind icicle --out names.png[/bold]
    """
    import matplotlib

    from cladify import plot as draw
    from cladify._kit.container import formats_in
    from cladify.errors import FileError
    from cladify.io import check_writable, read_vectors
    from cladify.taxonomy import Taxonomy

    endings = (".png", ".svg", ".pdf")
    if out.suffix.lower() not in endings:
        raise FileError(f"{out}: the ending of a picture says its format; use one of {', '.join(endings)}.")
    check_writable(out)
    is_taxonomy = "cladify-taxonomy" in formats_in(tree_file)
    kind = kind or (Kind.map if is_taxonomy else Kind.dendrogram)
    if kind is Kind.heatmap and vectors is None:
        raise typer.BadParameter("a heat map needs the rows of the tree: --vectors X.npy.")
    if kind in (Kind.map, Kind.tree) and not is_taxonomy:
        raise typer.BadParameter(f"a {kind.value} needs a .taxonomy file; cladify taxonomy makes one.")
    matplotlib.use("Agg")
    if kind in (Kind.map, Kind.tree):
        taxonomy = Taxonomy.load(tree_file)
        axes = taxonomy.plot(kind.value, dark=dark, title=title)
        _write(axes, out, dpi)
        print(f"{out}: {kind.value} of {taxonomy.n_items} items")
        return
    tree = read_tree_file(tree_file)
    names = read_named_items(items, items_column, tree.n_leaves, f"leaves in {tree_file}")
    names = names if names is not None else tree.info.get("names")
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
    _write(axes, out, dpi)
    print(f"{out}: {kind.value} of {tree.n_leaves} leaves")


def _write(axes: Any, out: Path, dpi: int) -> None:
    from cladify.io import atomic_path

    with atomic_path(out) as draft:
        axes.figure.savefig(draft, dpi=dpi, format=out.suffix[1:].lower())
