"""``ramify info``, ``ramify cut`` and ``ramify convert``: what to do with a tree."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ramify.cli._common import (
    AsJson,
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
)

if TYPE_CHECKING:
    from ramify.tree import Tree


def info(
    tree_file: TreeFile,
    items: Items = None,
    items_column: ItemsColumn = None,
    branches: Annotated[int, typer.Option(help="Branches of the printed outline; 0 for none.")] = 12,
    as_json: AsJson = False,
) -> None:
    """Show what a tree is: its size and shape, how it was made, and an outline of its top."""
    tree, names = _read(tree_file, items, items_column)
    if as_json:
        print_json({"file": str(tree_file), **tree.describe(), "info": tree.info})
        return
    figures = tree.describe()
    figures.update({key: value for key, value in tree.info.items() if key != "names"})
    print(figures)
    if branches > 0:
        print()
        print_outline(tree, names, branches)


def cut(
    tree_file: TreeFile,
    x: Annotated[Path | None, typer.Argument(metavar="[X]", help="With --dp-means: the vectors of the leaves.")] = None,
    n_clusters: Annotated[int | None, typer.Option("--n-clusters", "-k", help="How many clusters.")] = None,
    height: Annotated[float | None, typer.Option(help="Keep together what was joined at or below.")] = None,
    min_size: Annotated[int | None, typer.Option(help="No cluster smaller than this.")] = None,
    max_size: Annotated[int | None, typer.Option(help="No cluster larger than this.")] = None,
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
    items: Items = None,
    items_column: ItemsColumn = None,
    as_json: AsJson = False,
) -> None:
    """Cut a tree into clusters: one label a leaf, in the order of the input.

    Example: [bold]ramify cut names.tree -k 20 --items names.txt --out clusters.csv[/bold]
    """
    import numpy as np

    from ramify.errors import InvalidInput
    from ramify.flat import by_dp_means
    from ramify.io import write_labels

    tree, names = _read(tree_file, items, items_column)
    if (dp_means is None) != (x is None):
        raise InvalidInput("The DP-means cut takes a price and the vectors: ramify cut TREE X --dp-means PRICE.")
    if dp_means is None or x is None:
        labels = tree.cut(n_clusters, height=height, min_size=min_size, max_size=max_size)
    else:
        if not n_clusters is height is min_size is max_size is None:
            raise InvalidInput("--dp-means chooses the clusters by their cost alone; leave the other rules out.")
        labels = by_dp_means(tree, read_points_of(tree, tree_file, x, columns(column)), dp_means, metric=metric)
    sizes = np.bincount(labels)
    if out is not None:
        write_labels(out, labels, names)
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


def convert(
    source: TreeFile,
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The ending says the format: .tree .nwk .npy .json")],
    items: Items = None,
    items_column: ItemsColumn = None,
    as_json: AsJson = False,
) -> None:
    """Convert a tree between ramify's format, Newick, SciPy linkage and JSON.

    With --items, the leaves of Newick have those names.
    """
    from ramify.io import read_items, read_tree, write_tree
    from ramify.io.trees import check_tree_name

    check_tree_name(target)
    names = None if items is None else read_items(items, items_column)
    tree = read_tree(source, names)
    names = names if names is not None else tree.info.get("names")
    write_tree(tree, target, _checked(names, tree, items))
    if as_json:
        print_json({"file": str(target), "n_leaves": tree.n_leaves, "n_nodes": tree.n_nodes})
    else:
        print(f"{target}: {count(tree.n_leaves, 'leaf', 'leaves')}, {target.stat().st_size / 1e6:.3g} MB")


def _read(tree_file: Path, items: Path | None, items_column: str | None) -> tuple[Tree, list[str] | None]:
    """The tree and the names of its leaves: those given, or those the tree was read with."""
    from ramify.io import read_tree

    tree = read_tree(tree_file)
    names = read_named_items(items, items_column, tree.n_leaves, f"leaves in {tree_file}")
    return tree, names if names is not None else tree.info.get("names")


def _checked(names: list[str] | None, tree: Tree, items: Path | None) -> list[str] | None:
    from ramify.io import check_items

    if names is not None:
        check_items(names, tree.n_leaves, what=f"items in {items}" if items else "names", rows="leaves")
    return names


def _one_line(text: str) -> str:
    return " ".join(text.split())
