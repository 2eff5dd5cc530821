"""``cladify info``, ``cut``, ``levels``, ``condense`` and ``convert``: what to do with a tree."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cladify._kit.text import escape_controls
from cladify.cli._common import (
    AsJson,
    ExcelSafe,
    Items,
    ItemsColumn,
    TreeFile,
    VectorColumn,
    columns,
    count,
    print_json,
    print_outline,
    read_named_items,
    read_points_of,
    read_tree_file,
)

if TYPE_CHECKING:
    import numpy as np

    from cladify.tree import Tree
    from cladify.tree.protocol import Hierarchy


def info(
    tree_file: TreeFile,
    items: Items = None,
    items_column: ItemsColumn = None,
    branches: Annotated[int, typer.Option(help="Branches of the printed outline; 0 for none.")] = 12,
    as_json: AsJson = False,
) -> None:
    """Show what a tree is: its size and shape, how it was made, and an outline of its top.

    For a taxonomy: its levels, columns, edits and updates, and the named outline. For overlapping clusters (.dag):
    their figures, and items that are in several clusters.
    """
    from cladify._kit.container import formats_in
    from cladify.io import read_hierarchy

    if tree_file.is_dir():
        _folder_info(tree_file, branches, as_json)
        return
    if "cladify-taxonomy" in formats_in(tree_file):
        _taxonomy_info(tree_file, items, branches, as_json)
        return
    tree = read_hierarchy(tree_file)
    names = _names(tree, tree_file, items, items_column)
    if as_json:
        info = {key: value for key, value in tree.info.items() if key != "names"}
        print_json({"file": str(tree_file), **tree.describe(), "info": info})
        return
    figures = tree.describe()
    figures.update({key: value for key, value in tree.info.items() if key != "names"})
    print(escape_controls(str(figures)))
    if branches > 0:
        print()
        print_outline(tree, names, branches)


def _taxonomy_info(file: Path, items: Path | None, branches: int, as_json: bool) -> None:
    from cladify.cli._about import about, about_json, outline_of
    from cladify.errors import InvalidInput
    from cladify.taxonomy import Taxonomy

    if items is not None:
        raise InvalidInput(f"{file} has its items; --items is for trees without.")
    made = Taxonomy.load(file)
    if as_json:
        print_json({"file": str(file), **about_json(made), **made.tree.describe(), "info": made.info})
        return
    print(about(made, file))
    if branches > 0:
        print()
        print(outline_of(made, 2, branches, 2))


def _folder_info(folder: Path, branches: int, as_json: bool) -> None:
    from cladify.distributed import TreeFolder

    tree = TreeFolder(folder)
    figures = {"n_leaves": tree.n_leaves, "n_groups": tree.top.n_leaves}
    if as_json:
        print_json({"file": str(folder), **figures, "info": tree.info})
        return
    print(escape_controls("\n".join(f"{name:12} {value}" for name, value in {**figures, **tree.info}.items())))
    if branches > 0:
        print()
        top, groups = tree.view()
        print_outline(top, groups, branches)


def cut(
    tree_file: TreeFile,
    x: Annotated[Path | None, typer.Argument(metavar="[X]", help="With --dp-means: the vectors of the leaves.")] = None,
    n_clusters: Annotated[int | None, typer.Option("--n-clusters", "-k", help="How many clusters.")] = None,
    height: Annotated[float | None, typer.Option(help="Keep together what was joined at or below.")] = None,
    min_size: Annotated[int | None, typer.Option(help="No cluster smaller than this.")] = None,
    max_size: Annotated[int | None, typer.Option(help="No cluster larger than this.")] = None,
    by: Annotated[
        str, typer.Option(help="What is split first: height, or spread for clusters worth reading, without outliers.")
    ] = "height",
    dp_means: Annotated[
        float | None,
        typer.Option(help="Price of a cluster: the cheapest of all cuts, in squared distances to the means of X."),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="With --dp-means: sqeuclidean, or cosine for rows at length 1.")
    ] = "sqeuclidean",
    column: VectorColumn = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help=".csv .tsv .txt .npy .parquet; default: one label a line on stdout"),
    ] = None,
    excel_safe: ExcelSafe = False,
    items: Items = None,
    items_column: ItemsColumn = None,
    as_json: AsJson = False,
) -> None:
    """Cut a tree into clusters: one label a leaf, in the order of the input.

    Example: [bold]cladify cut names.tree -k 20 --by spread --items names.txt --out clusters.csv[/bold]
    """
    import numpy as np

    from cladify.errors import InvalidInput
    from cladify.flat import by_dp_means
    from cladify.io import check_writable, write_labels

    if out is not None:
        check_writable(out)
    if tree_file.is_dir():
        if not x is dp_means is min_size is max_size is items is None or by != "height":
            raise InvalidInput("A tree in a folder is cut by --n-clusters or --height alone, without --items.")
        _cut_folder(tree_file, n_clusters, height, out, as_json)
        return
    tree, names = _read(tree_file, items, items_column)
    if (dp_means is None) != (x is None):
        raise InvalidInput("The DP-means cut takes a price and the vectors: cladify cut TREE X --dp-means PRICE.")
    if dp_means is None or x is None:
        labels = tree.cut(n_clusters, height=height, min_size=min_size, max_size=max_size, by=by)
    else:
        if not n_clusters is height is min_size is max_size is None or by != "height":
            raise InvalidInput("--dp-means chooses the clusters by their cost alone; leave the other rules out.")
        labels = by_dp_means(tree, read_points_of(tree, tree_file, x, columns(column)), dp_means, metric=metric)
    sizes = np.bincount(labels)
    if out is not None:
        write_labels(out, labels, names, excel_safe=excel_safe)
    if as_json:
        shown = {} if out is not None else {"labels": labels}
        print_json({"n_clusters": len(sizes), "sizes": sizes, "file": None if out is None else str(out), **shown})
    elif out is not None:
        spread = f"{sizes.min()} to {sizes.max()} leaves"
        print(f"{out}: {count(len(sizes), 'cluster')} of {spread}, median {np.median(sizes):g}")
    elif names is not None:
        sys.stdout.writelines(
            f"{label}\t{_one_line(name)}\n" for label, name in zip(labels.tolist(), names, strict=True)
        )
    else:
        sys.stdout.writelines(f"{label}\n" for label in labels.tolist())


def _cut_folder(folder: Path, n_clusters: int | None, height: float | None, out: Path | None, as_json: bool) -> None:
    """Labels part by part, never all in memory."""
    from cladify.distributed import TreeFolder

    tree = TreeFolder(folder)
    if out is None:
        for labels in tree.cut(n_clusters, height=height):
            sys.stdout.writelines(f"{label}\n" for label in labels.tolist())
        return
    sizes = tree.write_labels(out, n_clusters, height=height)
    if as_json:
        print_json({"n_clusters": len(sizes), "sizes": sizes, "file": str(out)})
    else:
        print(f"{out}: {count(len(sizes), 'cluster')} of {sizes.min()} to {sizes.max()} leaves")


def levels(
    tree_file: Annotated[Path, typer.Argument(metavar="FILE", help="A tree, or a .taxonomy file.")],
    x: Annotated[
        Path | None, typer.Argument(metavar="[X]", help="The vectors of the leaves, for trees of graphs.")
    ] = None,
    min_size: Annotated[int | None, typer.Option(help="The smallest part that counts on the finest level.")] = None,
    max_levels: Annotated[int, typer.Option(help="No more levels than this.")] = 6,
    metric: Annotated[str | None, typer.Option(help="With X: sqeuclidean or cosine; default: the tree's own.")] = None,
    column: VectorColumn = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A column of labels a level: .csv .tsv .jsonl .parquet"),
    ] = None,
    excel_safe: ExcelSafe = False,
    items: Items = None,
    items_column: ItemsColumn = None,
    as_json: AsJson = False,
) -> None:
    """Suggest numbers of clusters: the granularities at which the clusters of a tree or a taxonomy last.

    Example: [bold]cladify levels names.tree --items names.txt --out levels.csv[/bold]
    """
    import numpy as np

    from cladify.io import check_writable
    from cladify.io._write import check_table_name
    from cladify.taxonomy._steer.reading import reading_levels

    if out is not None:
        check_table_name(out)
        check_writable(out)
    if tree_file.suffix.lower() == ".taxonomy":
        from cladify.taxonomy import Taxonomy

        made = Taxonomy.load(tree_file)
        shown = [(made.tree.size[list(level.nodes)], level.stability) for level in made.levels]
    else:
        tree, names = _read(tree_file, items, items_column)
        vectors = None if x is None else read_points_of(tree, tree_file, x, columns(column))
        found = reading_levels(tree, vectors, metric=metric, min_size=min_size)[:max_levels]
        shown = [(np.bincount(labels), stability) for labels, stability in found]
        if out is not None:
            _write_levels(out, [labels for labels, _ in found], names, excel_safe=excel_safe)
    if as_json:
        rows = [{"n_clusters": len(sizes), "stability": stability, "sizes": sizes} for sizes, stability in shown]
        print_json({"file": str(tree_file), "out": None if out is None else str(out), "levels": rows})
        return
    print("clusters  stability  leaves a cluster")
    for sizes, stability in shown:
        firm = "-" if stability is None else f"{stability:.2f}"
        print(f"{len(sizes):8}  {firm:>9}  {sizes.min()} to {sizes.max()}, median {np.median(sizes):g}")
    if out is not None:
        print(f"labels: {out}")


def _write_levels(out: Path, found: list[np.ndarray], names: list[str] | None, *, excel_safe: bool) -> None:
    """A row a leaf: its number or name, and its cluster on every level."""
    import pyarrow as pa

    from cladify.io._write import write_table

    n = len(found[0]) if found else 0
    items = pa.array(range(n) if names is None else names)
    columns = {f"clusters_{labels.max() + 1}": pa.array(labels) for labels in found}
    write_table(out, pa.table({"item": items, **columns}), excel_safe=excel_safe)


def condense(
    tree_file: TreeFile,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The ending says the format: .tree .nwk .json")],
    min_size: Annotated[int | None, typer.Option(help="The smallest cluster; default: about √n / 3.")] = None,
    max_children: Annotated[int, typer.Option(help="The most clusters that one is split into.")] = 15,
    items: Items = None,
    items_column: ItemsColumn = None,
    branches: Annotated[int, typer.Option(help="Branches of the printed outline; 0 for none.")] = 12,
    as_json: AsJson = False,
) -> None:
    """Make the tree that a person reads: few branches a node, outliers with their siblings.

    Example: [bold]cladify condense names.tree short.tree --items names.txt[/bold]
    """
    from cladify.io import check_writable, write_tree
    from cladify.tree._files import check_tree_name

    check_tree_name(out)
    check_writable(out)
    tree, names = _read(tree_file, items, items_column)
    condensed = tree.condense(min_size=min_size, max_children=max_children)
    write_tree(condensed, out, names)
    if as_json:
        print_json({"file": str(out), **condensed.describe()})
        return
    n_inner = condensed.n_nodes - condensed.n_leaves
    print(f"{out}: {count(condensed.n_leaves, 'leaf', 'leaves')} in {count(n_inner, 'node')}, depth {condensed.depth}")
    if branches > 0:
        print()
        print_outline(condensed, names, branches)


def convert(
    source: TreeFile,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The ending says the format: .tree .nwk .npy .json; of a taxonomy also .ttl .jsonld .md .opml .mmd; "
            "of SKOS .taxonomy",
        ),
    ],
    items: Items = None,
    items_column: ItemsColumn = None,
    base: Annotated[
        str | None, typer.Option(help="With .ttl and .jsonld: how addresses begin, as https://example.org/topics/")
    ] = None,
    groups_only: Annotated[
        bool, typer.Option("--groups-only", help="With .ttl and .jsonld: without the items.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Convert a tree between cladify's format, Newick, SciPy linkage and JSON; a taxonomy also to and from SKOS.

    With --items, the leaves of Newick and JSON have those names. A taxonomy goes to SKOS (.ttl .jsonld) and outlines
    (.md .opml .mmd); SKOS and JSON of a taxonomy go back to .taxonomy.
    """
    from cladify.io import check_writable, read_items, write_tree
    from cladify.taxonomy._sharing import EXPORTS
    from cladify.tree._files import check_tree_name

    if target.suffix.lower() in (*EXPORTS, ".taxonomy"):
        _convert_taxonomy(source, target, base, not groups_only, as_json)
        return
    check_tree_name(target)
    check_writable(target)
    names = None if items is None else read_items(items, items_column)
    tree = read_tree_file(source, names)
    names = names if names is not None else tree.info.get("names")
    write_tree(tree, target, _checked(names, tree, items))
    if as_json:
        print_json({"file": str(target), "n_leaves": tree.n_leaves, "n_nodes": tree.n_nodes})
    else:
        print(f"{target}: {count(tree.n_leaves, 'leaf', 'leaves')}, {target.stat().st_size / 1e6:.3g} MB")


def _convert_taxonomy(source: Path, target: Path, base: str | None, items: bool, as_json: bool) -> None:
    """A taxonomy in another format, or from one."""
    import json

    from cladify.io import check_writable
    from cladify.taxonomy import Taxonomy

    check_writable(target)
    kind = source.suffix.lower()
    if kind in (".ttl", ".jsonld"):
        made = Taxonomy.from_skos(source)
    elif kind == ".json":
        made = Taxonomy.from_dict(json.loads(source.read_bytes()))
    else:
        made = Taxonomy.load(source)
    if target.suffix.lower() == ".taxonomy":
        made.save(target)
    else:
        made.export(target, items=items, base=base)
    if as_json:
        print_json({"file": str(target), "n_items": made.n_items, "n_groups": len(made.names)})
    else:
        shown = f"{count(made.n_items, 'item')} in {count(len(made.names), 'group')}"
        print(f"{target}: {shown}, {target.stat().st_size / 1e6:.3g} MB")


def _read(tree_file: Path, items: Path | None, items_column: str | None) -> tuple[Tree, list[str] | None]:
    """The tree and the names of its leaves: those given, or those the tree was read with."""
    tree = read_tree_file(tree_file)
    return tree, _names(tree, tree_file, items, items_column)


def _names(tree: Hierarchy, tree_file: Path, items: Path | None, items_column: str | None) -> list[str] | None:
    """The names of the leaves: those given, or those the tree was read with."""
    names = read_named_items(items, items_column, tree.n_leaves, f"leaves in {tree_file}")
    return names if names is not None else tree.info.get("names")


def _checked(names: list[str] | None, tree: Tree, items: Path | None) -> list[str] | None:
    from cladify.io import check_items

    if names is not None:
        check_items(names, tree.n_leaves, what=f"items in {items}" if items else "names", rows="leaves")
    return names


def _one_line(text: str) -> str:
    from cladify._kit.text import one_line

    return escape_controls(one_line(text, len(text)))
