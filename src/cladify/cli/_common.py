"""Options and output that several commands share."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cladify._kit.text import escape_controls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cladify.taxonomy import Taxonomy
    from cladify.tree import Tree
    from cladify.tree.dag import ClusterDag

TreeFile = Annotated[
    Path,
    typer.Argument(
        metavar="TREE",
        help="A tree: cladify's own file, a .taxonomy, Newick, SciPy linkage (.npy), JSON, or a folder.",
    ),
]
VectorFile = Annotated[
    Path, typer.Argument(metavar="X", help="Vectors: .npy .npz .parquet .arrow .csv .tsv .fvecs .bvecs .h5ad")
]
VectorColumn = Annotated[
    str | None, typer.Option("--column", help="Column(s) or array with the vectors, separated by commas.")
]
Items = Annotated[
    Path | None, typer.Option("--items", help="Names of the rows: .txt .csv .tsv .jsonl .parquet .arrow .npy .npz")
]
ItemsColumn = Annotated[str | None, typer.Option("--items-column", help="Column or key with the names.")]
TaxonomyFile = Annotated[Path, typer.Argument(metavar="TAXONOMY", help="A .taxonomy file.")]
Text = Annotated[str | None, typer.Option("--text", help="Column or key with the texts, or several: title:2,body")]
Vectors = Annotated[
    str | None,
    typer.Option("--vectors", "--column", help="Column(s) or array with the vectors; in Parquet and Arrow found."),
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of a text file; what is not UTF-8 is guessed and said.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an .xlsx file, table of a database or a LanceDB folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
ExcelSafe = Annotated[
    bool, typer.Option("--excel-safe", help="In .csv and .tsv, keep spreadsheets from taking a name for a formula.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars and no text; errors still show.")]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", metavar="NAME=VALUE", help="Any parameter of the method; may be given again."),
]


def read_named_items(path: Path | None, column: str | None, n: int, rows: str) -> list[str] | None:
    """The items, one a row, or None where none were given."""
    from cladify.io import check_items, read_items

    if path is None:
        return None
    items = read_items(path, column)
    check_items(items, n, what=f"items in {path}", rows=rows)
    return items


def read_tree_file(path: Path, items: Sequence[str] | None = None) -> Tree:
    """The tree in a file, or that of a taxonomy, with its items as the names of the leaves.

    A taxonomy stands for the binary tree that it was condensed from. One with edits stands for the tree for reading,
    since the binary one does not have them.
    """
    from cladify._kit.container import formats_in
    from cladify.io import read_tree

    if "cladify-taxonomy" not in formats_in(path):
        return read_tree(path, items)
    from cladify.taxonomy import Taxonomy

    made = Taxonomy.load(path)
    if len(made.edits):
        print(f"{path} has edits: its tree for reading is taken, not the binary one.", file=sys.stderr)
    tree = made.tree if len(made.edits) else made.full
    return tree.with_info(names=["" if item is None else str(item) for item in made.items])


def read_points_of(tree: Tree, tree_file: Path, x: Path, column: str | list[str] | None) -> Any:
    """The vectors that a tree is over."""
    from cladify.errors import InvalidInput
    from cladify.io import read_vectors

    vectors = read_vectors(x, column=column)
    if vectors.shape[0] != tree.n_leaves:
        raise InvalidInput(
            f"{x} has {vectors.shape[0]} vectors and {tree_file} has {tree.n_leaves} leaves; "
            "give the vectors the tree was built from."
        )
    return vectors


def columns(text: str | None) -> str | list[str] | None:
    """What ``--column`` means: a name, or several."""
    return text if text is None or "," not in text else [name.strip() for name in text.split(",")]


def parse_params(pairs: Sequence[str] | None) -> dict[str, Any]:
    """Values of ``--param``: Python numbers, true, false and none; everything else is text.

    >>> parse_params(["epsilon=0.1", "n_rounds=30", "balanced=true", "linkage=ward"])
    {'epsilon': 0.1, 'n_rounds': 30, 'balanced': True, 'linkage': 'ward'}
    """
    import ast

    words = {"true": True, "false": False, "none": None}
    params: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"--param takes NAME=VALUE, got {pair!r}.")
        try:
            params[name] = words[text.lower()] if text.lower() in words else ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            params[name] = text
    return params


def print_json(data: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    from cladify._kit.container import plain

    print(escape_controls(json.dumps(plain(data), ensure_ascii=False)))


def show_progress(quiet: bool) -> bool:
    """Bars are for people: only in a terminal, on stderr."""
    return not quiet and sys.stderr.isatty()


def numbers(option: str, given: str) -> list[int]:
    """Numbers of clusters with commas between them."""
    parts = [part.strip() for part in given.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise typer.BadParameter(f"{option} takes numbers of clusters, such as 10,50; got {given!r}.")
    return [int(part) for part in parts]


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number of things, in words that read well.

    >>> count(1, "leaf", "leaves"), count(12345, "leaf", "leaves")
    ('1 leaf', '12 345 leaves')
    """
    return f"{number:,} ".replace(",", " ") + (noun if number == 1 else plural or f"{noun}s")


def seconds(duration: float) -> str:
    """A duration a person can read.

    >>> seconds(0.0123), seconds(4.56), seconds(200)
    ('12 ms', '4.6 s', '3 min 20 s')
    """
    if duration < 1:
        return f"{1000 * duration:.0f} ms"
    return f"{duration:.1f} s" if duration < 60 else f"{duration // 60:.0f} min {duration % 60:.0f} s"


def print_outline(tree: Tree | ClusterDag, items: Sequence[str] | None, branches: int) -> None:
    """The top of the tree, or items with their senses, as text; in a terminal, each line fits in its width."""
    import shutil

    from cladify.tree.dag import ClusterDag

    if branches < 1:
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if isinstance(tree, ClusterDag):
        text = tree.summary(items, n_items=branches)
    else:
        text = tree.summary(items, n_clusters=min(branches, tree.n_leaves))
    for line in map(escape_controls, text.splitlines()):
        print(line if width is None or len(line) <= width else line[: width - 1] + "…")


def several_texts(made: Taxonomy) -> str | None:
    """The columns of texts that a taxonomy was made from, where there were several, as one would name them."""
    column = (made.info.get("source") or {}).get("column")
    return ",".join(f"{name}:{weight}" for name, weight in column.items()) if isinstance(column, dict) else None
