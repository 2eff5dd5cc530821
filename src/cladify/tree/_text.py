"""A tree in words: its figures, and an outline of its top."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.params import check_int
from cladify._kit.text import one_line
from cladify.errors import CladifyWarning, InvalidInput

if TYPE_CHECKING:
    from cladify.tree.tree import Tree

__all__ = ["Description", "branches", "describe", "skeleton", "summary"]


class Description(dict[str, Any]):
    """Figures of a tree; prints as a small table."""

    def __str__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name.replace('_', ' '):<{width}}  {figure(value)}" for name, value in self.items())


def figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def describe(tree: Tree) -> Description:
    """Sizes, depth and balance.

    ``balance`` is log2(n) / mean leaf depth, at most 1: about 1 when balanced, near 0 for a path (Sackin's index).
    """
    n = tree.n_leaves
    leaf_depth = tree.node_depth[:n]
    arity = np.diff(tree.child_start)
    mean_depth = float(leaf_depth.mean())
    figures = Description(
        n_leaves=n,
        n_nodes=tree.n_nodes,
        depth=tree.depth,
        mean_leaf_depth=mean_depth,
        balance=min(1.0, math.log2(n) / mean_depth) if n > 1 else 1.0,
        is_binary=tree.is_binary,
        max_children=int(arity.max()) if n > 1 else 0,
        is_monotone=tree.is_monotone,
        root_height=float(tree.height[-1]),
        top_sizes=sorted((int(tree.size[c]) for c in tree.children(tree.root)[:1000]), reverse=True)[:10],
    )
    if tree.level is not None:
        figures["n_rounds"] = int(tree.level[-1])
    if "method" in tree.info:
        figures["method"] = tree.info["method"]
    return figures


def summary(tree: Tree, items: Sequence[Any] | None, *, n_clusters: int, n_examples: int) -> str:
    """Outline of the top of the tree, larger branches first: a cut that leaves outliers in place, with examples."""
    n = tree.n_leaves
    if items is not None and len(items) != n:
        raise InvalidInput(f"items must have one entry a leaf ({n}), got {len(items)}.")
    k = min(check_int("n_clusters", n_clusters, low=1), n)
    n_examples = check_int("n_examples", n_examples, low=0)
    top, children = skeleton(tree, branches(tree, k))
    if top != tree.root:  # the leaves above the shown branches belong to the outline as well
        children[tree.root] = children.pop(top)

    lines: list[str] = []
    stack: list[tuple[int | str, str, str]] = [(tree.root, "", "")]
    while stack:
        v, lead, below = stack.pop()
        if isinstance(v, str):
            lines.append(lead + v)
            continue
        text = f"{lead}{_count(tree, v)}"
        if v not in children:
            text += _examples(tree, v, items, n_examples)
        lines.append(text)
        shown = sorted(children.get(v, []), key=lambda child: -int(tree.size[child]))
        kids: list[int | str] = [*shown, *(_rest(tree, v, shown) if shown else [])]
        for i in reversed(range(len(kids))):
            last = i == len(kids) - 1
            stack.append((kids[i], below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))
    return "\n".join(lines)


def _rest(tree: Tree, v: int, shown: list[int]) -> list[str]:
    """A line for the leaves of node ``v`` outside the branches shown below it, if there are any."""
    n_items = int(tree.size[v]) - sum(int(tree.size[child]) for child in shown)
    if n_items == 0:
        return []
    between = [above[above <= v] for above in map(tree.ancestors, shown)]
    ways = np.unique(np.concatenate(between))
    n_branches = int(np.diff(tree.child_start)[ways - tree.n_leaves].sum()) - (len(ways) - 1) - len(shown)
    branch, item = "branch" if n_branches == 1 else "branches", "item" if n_items == 1 else "items"
    return [f"… and {_spaced(n_branches)} smaller {branch}, {_spaced(n_items)} {item}"]


def branches(tree: Tree, k: int) -> list[int]:
    """Nodes that the outline ends in: one for each cluster of a cut for reading, in the order of the leaves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CladifyWarning)
        _, ends = tree.cut(n_clusters=k, by="spread", return_nodes=True)
    return [int(v) for v in ends[np.argsort(tree.first[ends])]]


def skeleton(tree: Tree, ends: list[int]) -> tuple[int, dict[int, list[int]]]:
    """The root and the children of the tree that the end nodes span, without its nodes of one child."""
    if len(ends) == 1:
        return ends[0], {}
    children: dict[int, list[int]] = {}
    joints = tree.lca(ends[:-1], ends[1:])
    # Ends come in depth-first order: the spanned tree is the Cartesian tree of their neighbours' ancestors.
    spine: list[int] = []
    done: dict[int, None] = {}
    for i, end in enumerate(ends):
        child = end
        joint = int(joints[i]) if i < len(joints) else None
        while spine and (joint is None or spine[-1] < joint):
            above = spine.pop()
            children[above].append(child)
            child = above
        if joint is None:
            done[child] = None
        elif spine and spine[-1] == joint:
            children[joint].append(child)
        else:
            spine.append(joint)
            children[joint] = [child]
    return next(iter(done)), children


def _count(tree: Tree, v: int) -> str:
    size = int(tree.size[v])
    if size == 1:
        return "1 leaf"
    return f"{_spaced(size)} leaves, height {figure(float(tree.height[v]))}"


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _examples(tree: Tree, v: int, items: Sequence[Any] | None, n_examples: int) -> str:
    """Items spread evenly over a branch, in the order of the tree."""
    size = int(tree.size[v])
    take = min(n_examples, size)
    if take == 0:
        return ""
    where = tree.first[v] + (2 * np.arange(take) + 1) * size // (2 * take)
    names = (one_line(leaf if items is None else items[leaf]) for leaf in tree.leaf_order[where].tolist())
    return ": " + " · ".join(names) + (" …" if take < size else "")
