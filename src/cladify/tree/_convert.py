"""Conversions of `Tree`: merges, parents, linkage matrices, Newick, networkx, JSON and files, each way.

The modules that do the work get arrays, or the class to build; they do not import it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cladify.tree import _build, _file, _formats, _newick

if TYPE_CHECKING:
    import networkx

    from cladify._kit.atomic import PathLike
    from cladify.tree.tree import Tree

__all__ = ["TreeForms"]


class TreeForms:
    """The part of :class:`cladify.Tree` that reads and writes other forms of a tree."""

    @classmethod
    def from_merges(
        cls,
        left: Any,
        right: Any,
        height: Any,
        n_leaves: int,
        *,
        info: Mapping[str, Any] | None = None,
        level: Any = None,
    ) -> Tree:
        """The binary tree of n - 1 merges, the i-th of which joins two nodes to node n + i.

        Merges may come in any order in which a node is made before it is used. When heights never decrease from a
        merge to one that uses it, the nodes are renumbered by (height, order of creation), as SciPy does; otherwise
        they keep their order. ``height`` and ``level`` have one entry a merge.

        >>> from cladify import Tree
        >>> Tree.from_merges([0, 2], [1, 3], [1.0, 4.0], 3).cut(height=2.0).tolist()
        [0, 0, 1]
        """
        parent, height, level = _build.from_merges(left, right, height, n_leaves, level)
        return cast("type[Tree]", cls)(parent, height, level=level, info=info)

    @classmethod
    def from_parents(
        cls,
        parent: Any,
        n_leaves: int,
        height: Any = None,
        level: Any = None,
        info: Mapping[str, Any] | None = None,
    ) -> Tree:
        """A tree from parents in any numbering of the inner nodes; the leaves are ``0 .. n_leaves - 1``.

        Inner nodes with one child, or with no leaf below, vanish. The others are renumbered by (height, levels above
        the leaves, smallest leaf), so the result does not depend on the numbering that came in. The root has parent
        -1. ``height`` and ``level`` have one entry a node; a leaf's own are not looked at.

        >>> from cladify import Tree
        >>> Tree.from_parents([3, 4, 4, -1, 5, 3], 3).parent.tolist()
        [4, 3, 3, 4, -1]
        """
        parent, height, level = _build.from_parents(parent, n_leaves, height, level)
        return cast("type[Tree]", cls)(parent, height, level=level, info=info)

    @classmethod
    def from_linkage(cls, Z: Any, *, info: Mapping[str, Any] | None = None) -> Tree:
        """The tree of a SciPy linkage matrix; row i is node n + i. The counts in its fourth column are not needed.

        The order of the two clusters in each row stays: ``leaf_order`` is SciPy's ``leaves_list(Z)``.
        """
        parent, height, order = _build.from_linkage(Z)
        return cast("type[Tree]", cls)(parent, height, info=info, order=order)

    def to_linkage(self) -> np.ndarray:
        """SciPy's linkage matrix of a binary tree, float64[n - 1, 4]: node n + i is row i.

        >>> from cladify import Tree
        >>> Tree([3, 3, 4, 4, -1]).to_linkage().tolist()
        [[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 2.0, 3.0]]
        """
        return _build.to_linkage(cast("Tree", self))

    def to_newick(self, names: Sequence[Any] | None = None, *, exact: bool = True) -> str:
        """Newick text, with branch lengths from heights.

        Parameters
        ----------
        names : sequence of n strings, optional
            Names of the leaves, quoted where they need it; by default their numbers.
        exact : bool
            Add ``[&cladify_height=...]`` and ``[&cladify_level=...]`` notes where branch lengths alone would not give
            the tree back to the last bit. ``False`` leaves them out, for readers that cannot skip comments.

        Examples
        --------
        >>> from cladify import Tree
        >>> Tree([3, 3, 4, 4, -1]).to_newick(["cat", "dog", "big bus"])
        "('big bus':2,(cat:1,dog:1):1);"
        """
        return _newick.to_newick(cast("Tree", self), names, exact=exact)

    @classmethod
    def from_newick(cls, text: str | bytes, names: Sequence[Any] | None = None) -> Tree:
        """The tree of Newick text.

        Leaves whose names are the numbers 0 .. n-1 get those ids. Otherwise leaves are numbered as they appear and
        ``info["names"]`` has their names; with ``names``, leaf i is the one called ``names[i]``. A node's height is
        the longest way down to a leaf by branch lengths (leaves are at 0 also where the ways differ), unless a note
        ``[&cladify_height=...]`` gives it; without either, see :class:`Tree`. Names of inner nodes and other comments,
        such as BEAST's ``[&height=...]``, are skipped, underscores are kept, inner nodes of one child vanish.

        >>> from cladify import Tree
        >>> tree = Tree.from_newick("((cat:1,dog:1):2,'big bus':3);")
        >>> tree.info["names"], tree.height.tolist()
        (['cat', 'dog', 'big bus'], [0.0, 0.0, 0.0, 1.0, 3.0])
        """
        return _newick.from_newick(cast("type[Tree]", cls), text, names)

    def to_networkx(self) -> networkx.DiGraph:
        """A ``networkx.DiGraph`` with edges from parents to children and node attributes ``height`` and ``size``."""
        return _build.to_networkx(cast("Tree", self))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and strings, for JSON; :meth:`from_dict` reads them back.

        >>> import json
        >>> from cladify import Tree
        >>> tree = Tree([3, 3, 4, 4, -1])
        >>> Tree.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree
        True
        """
        return _file.to_dict(cast("Tree", self))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tree:
        """The tree that :meth:`to_dict` described."""
        return _file.from_dict(cast("type[Tree]", cls), data)

    def save(self, path: PathLike) -> None:
        """Write the tree to a file, whole or not at all; :meth:`load` reads it.

        The ending says the format: Newick for ``.nwk``, ``.newick`` and ``.tre`` (with ``info["names"]``, if there are
        any), JSON for ``.json``, SciPy's linkage for ``.npy``; every other name gets cladify's own, which keeps
        everything. See :mod:`cladify.tree._file`.
        """
        _formats.save(cast("Tree", self), path)

    @classmethod
    def load(cls, path: PathLike) -> Tree:
        """The tree that :meth:`save` wrote; safe on files from strangers."""
        return _formats.load(cast("type[Tree]", cls), path)
