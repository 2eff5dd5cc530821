"""Trees and graphs of clusters in files: the functions of :mod:`cladify.io`."""

from __future__ import annotations

from collections.abc import Sequence

from cladify._kit.container import formats_in
from cladify._kit.files import PathLike, find_file
from cladify.tree import _formats
from cladify.tree._dag_file import FORMAT
from cladify.tree._formats import check_tree_name, write_tree
from cladify.tree.dag import ClusterDag
from cladify.tree.tree import Tree

__all__ = ["check_tree_name", "read_hierarchy", "read_tree", "write_tree"]


def read_tree(path: PathLike, items: Sequence[str] | None = None) -> Tree:
    """The tree in a file: cladify's own format, Newick, a SciPy linkage matrix (``.npy``) or JSON.

    The format is recognised by the content; the name of the file does not matter.

    Parameters
    ----------
    path : str or path
    items : sequence of str, optional
        For Newick: leaf i is the one with the name ``items[i]``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.nwk"
    >>> _ = path.write_text("((0:1,1:1):2,2:3);")
    >>> read_tree(path).height.tolist()
    [0.0, 0.0, 0.0, 1.0, 3.0]
    """
    return _formats.read(Tree, path, items)


def read_hierarchy(path: PathLike, items: Sequence[str] | None = None) -> Tree | ClusterDag:
    """The tree in a file, as :func:`read_tree`, or the graph of overlapping clusters that ``ClusterDag.save`` wrote."""
    find_file(path)
    return ClusterDag.load(path) if FORMAT in formats_in(path) else read_tree(path, items)
