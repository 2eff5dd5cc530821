"""Checks of an argument that is a tree, or a graph of clusters where that makes sense."""

from __future__ import annotations

from typing import Any

from cladify.errors import InvalidInput, InvalidType
from cladify.tree._rules import check_leaves
from cladify.tree.dag import ClusterDag
from cladify.tree.tree import Tree

__all__ = ["as_tree", "check_tree", "only_tree"]


def as_tree(structure: Any) -> Tree:
    """A tree to draw: the tree itself, or the one in which every cluster of a graph keeps its best parent."""
    if isinstance(structure, ClusterDag):
        return structure.to_tree()
    if not isinstance(structure, Tree):
        raise InvalidType(f"a Tree or a ClusterDag is drawn, got {type(structure).__name__}.")
    return structure


def only_tree(structure: Any, what: str, instead: str) -> Tree:
    """The tree itself; a graph of clusters is refused, with the alternative."""
    if isinstance(structure, ClusterDag):
        raise InvalidType(f"{what} is of trees, and in a ClusterDag clusters overlap; use {instead}, or dag.to_tree().")
    tree: Tree = structure
    return tree


def check_tree(tree: Any, n: int, *, name: str = "tree") -> Tree:
    """``tree`` if it is a tree over n leaves."""
    if not isinstance(tree, Tree):
        raise InvalidInput(
            f"{name} must be a cladify.Tree, got {type(tree).__name__}; use Tree.from_linkage(Z) for a linkage matrix."
        )
    check_leaves(tree, n, name=name)
    return tree
