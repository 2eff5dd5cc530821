"""What the explorer shows of a tree: every question of the page, answered from arrays in a few milliseconds.

The page asks for children as they come into sight, so an answer is as large as what is on the screen and not as the
tree. Items keep one line of places: node v holds the places ``first[v] .. last[v]``, item ``leaf_order[p]`` at place p.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cladify.data._vectors import is_sparse
from cladify.errors import InvalidInput
from cladify.explore._columns import Column, Columns
from cladify.explore._plane import Plane
from cladify.explore._similar import most_similar
from cladify.explore._text import Items, Texts, one_line
from cladify.taxonomy._items import as_items
from cladify.taxonomy._names.words import WordIndex
from cladify.tree import Tree

__all__ = ["View"]

MOST_CHILDREN = 300  # shown one by one; what is beyond them is one box that says how much it holds
MOST_CLUSTERS = 10_000  # coloured at once
MOST_TEXT = 5000  # characters of an item on its card
MOST_TIP = 240  # characters of an item beside the pointer
MOST_LABEL = 44  # characters of an item beside its point
MOST_BYTES = 180_000  # of names and their places in one answer
MOST_ITEMS = 200  # a page of items


class View:
    """A tree with its items, names, labels and vectors, as the page asks for them.

    Parameters
    ----------
    tree : Tree
        As it is to be read: with few children a node, see :meth:`cladify.Tree.condense`.
    keys : int array, optional
        What the page calls each node; by default its id.
    title : str
    items : sequence of n str, optional
    names : mapping from nodes to str
        What the inner nodes are called; a node without a name is called by some of its items.
    hidden : set of nodes
        Left out of the picture, with all below them.
    levels : sequence of (nodes, stability)
        Suggested granularities, coarse to fine, as nodes of the tree.
    describe : callable from a node to a mapping, optional
        More for a node's card: ``terms``, ``central`` and ``boundary`` rows, ``cohesion``.
    labels : sequence of n, optional
        The class of every item.
    vectors : array of shape (n, d), optional
        For "more like this".
    points : array of shape (n, 2), optional
        Where the items lie in the plane.
    images : sequence of n paths or array of pictures, optional
    words : callable that returns a WordIndex, optional
        Where the items have been indexed already.
    columns : sequence of Column
        More about each item, to colour and filter by.
    also : callable from a node to a list, optional
        What else a node belongs to, where clusters overlap: ``name``, ``id`` to go to, and ``note``.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        keys: np.ndarray | None = None,
        title: str = "tree",
        items: Items | Sequence[Any] | None = None,
        names: Mapping[int, str] | None = None,
        hidden: frozenset[int] = frozenset(),
        levels: Sequence[tuple[np.ndarray, float | None]] = (),
        describe: Any = None,
        labels: Sequence[Any] | None = None,
        vectors: Any = None,
        points: Any = None,
        images: Any = None,
        words: Callable[[], WordIndex] | None = None,
        also: Callable[[int], list[dict[str, Any]]] | None = None,
        columns: Sequence[Column] = (),
    ) -> None:
        self.tree = tree
        self.keys = np.arange(tree.n_nodes) if keys is None else keys
        self.hidden = hidden
        self.title = title
        self.items = items if items is None or isinstance(items, Items) else Items(as_items(items))
        self.names = {} if names is None else names
        self.levels = levels
        self.describe = describe
        self.vectors = vectors
        self.images = images
        self._words = words
        self._also = also
        n = tree.n_leaves
        given = {"items": items, "labels": labels, "vectors": vectors, "points": points, "images": images}
        for what, values in given.items():
            size = None if values is None else values.shape[0] if is_sparse(values) else len(values)
            if size not in (None, n):
                raise InvalidInput(f"{what} must have one entry a leaf ({n}), got {size}.")
        self.classes: list[str] | None = None
        self._class: np.ndarray | None = None
        if labels is not None:
            self.classes, self._class = _classes(labels)
        self.columns = Columns(columns, tree.leaf_order)
        self.plane = None if points is None else Plane(self, points)

    # --- nodes --------------------------------------------------------------------------------------------------------

    def node(self, key: int) -> int:
        """The node that the page calls ``key``."""
        if not self.has(key):
            raise InvalidInput(f"There is no node {key} any more.")
        return key if self._position is None else int(self._position[key])

    def has(self, key: int) -> bool:
        """Whether there is a node that the page calls ``key``."""
        if self._position is None:
            return 0 <= key < self.tree.n_nodes
        return 0 <= key < len(self._position) and bool(self._position[key] >= 0)

    @cached_property
    def _position(self) -> np.ndarray | None:
        """The node of each key; None where keys are the nodes themselves, as before any edit."""
        if len(self.keys) == self.tree.n_nodes and (self.keys == np.arange(len(self.keys))).all():
            return None
        position = np.full(int(self.keys.max()) + 1, -1, dtype=np.int64)
        position[self.keys] = np.arange(len(self.keys))
        return position

    def name(self, v: int) -> str:
        """What node ``v`` is called."""
        if v < self.tree.n_leaves:
            return self.text(v)
        given = self.names.get(v)
        if given:
            return given
        if self.items is None:
            return f"cluster {v}"
        some = self.tree.leaf_order[np.linspace(self.tree.first[v], self.tree.last[v] - 1, 3).astype(np.int64)]
        return " · ".join(dict.fromkeys(one_line(self.items[i], 40) for i in some.tolist()))

    def text(self, row: int) -> str:
        """The item of a leaf on one line."""
        return f"item {row}" if self.items is None else one_line(self.items[row])

    def record(self, v: int) -> dict[str, Any]:
        """What the page keeps of a node."""
        tree = self.tree
        return {
            "id": int(self.keys[v]),
            "size": int(tree.size[v]),
            "height": float(tree.height[v]),
            "name": self.name(v),
            "first": int(tree.first[v]),
            "kids": min(self._n_shown(v), MOST_CHILDREN),
        }

    def shown(self, v: int) -> list[int]:
        """The children of ``v`` that are not hidden, in the order of the tree."""
        kids = self.visible(v)
        return kids[np.argsort(self.tree.first[kids], kind="stable")].tolist()

    def kept(self, v: int) -> np.ndarray:
        """Rows of the items below ``v`` that are in no hidden node below it, in the order of the tree."""
        first, last = self.tree.first, self.tree.last
        keep = np.ones(last[v] - first[v], dtype=bool)
        for u in self.hidden - {v}:
            if first[v] <= first[u] and last[u] <= last[v]:
                keep[first[u] - first[v] : last[u] - first[v]] = False
        return self.tree.leaf_order[first[v] : last[v]][keep]

    def kept_size(self, v: int) -> tuple[np.ndarray, np.ndarray]:
        """How many of the items that are kept below ``v`` each node has, and which these are."""
        kept = np.zeros(self.tree.n_leaves, dtype=bool)
        kept[self.kept(v)] = True
        count = np.concatenate([[0], np.cumsum(kept[self.tree.leaf_order])])
        return count[self.tree.last] - count[self.tree.first], kept

    def visible(self, v: int) -> np.ndarray:
        """The children of ``v`` that are not hidden."""
        kids = self.tree.children(v)
        return kids[~np.isin(kids, list(self.hidden))] if self.hidden else kids

    def _n_shown(self, v: int) -> int:
        if v < self.tree.n_leaves or self.hidden:
            return len(self.visible(v))
        i = v - self.tree.n_leaves
        return int(self.tree.child_start[i + 1] - self.tree.child_start[i])

    def children(self, v: int) -> list[dict[str, Any]]:
        """Records of the children of ``v``, in the order of the tree; of very many the largest, and what they leave."""
        kids, first, size = self.visible(v), self.tree.first, self.tree.size
        if len(kids) <= MOST_CHILDREN:
            return [self.record(kid) for kid in kids[np.argsort(first[kids], kind="stable")].tolist()]
        # Among equals the first: one key that orders by size, then by place.
        key = -size[kids] * np.int64(self.tree.n_leaves) + first[kids]
        shown = kids[np.argpartition(key, MOST_CHILDREN - 1)[: MOST_CHILDREN - 1]]
        held = int(size[kids].sum() - size[shown].sum())
        more = {
            "id": -1 - int(self.keys[v]),
            "size": held,
            "height": 0.0,
            "name": f"… and {len(kids) - len(shown)} more, {held} items",
            "first": int(first[v]),
            "kids": 0,
            "more": True,
        }
        return [*(self.record(kid) for kid in shown[np.argsort(first[shown])].tolist()), more]

    def families(self, nodes: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
        """Children of several nodes, as many families as fit into one answer; the page asks again for the others."""
        found: dict[int, list[dict[str, Any]]] = {}
        room = MOST_BYTES
        for v in nodes:
            records = self.children(v)
            room -= sum(120 + len(record["name"].encode()) for record in records)
            if found and room < 0:
                break
            found[int(self.keys[v])] = records
        return found

    def path(self, v: int) -> list[dict[str, Any]]:
        """Records from the root to ``v``."""
        return [self.record(int(node)) for node in (*self.tree.ancestors(v)[::-1], v)]

    def card(self, v: int) -> dict[str, Any]:
        """All about one node."""
        tree = self.tree
        card = {
            **self.record(v),
            "share": float(tree.size[v] / tree.n_leaves),
            "n_items": int(tree.size[v]),
            "leaf": v < tree.n_leaves,
            **self._parts(v),
        }
        about = {} if self.describe is None or v < tree.n_leaves else self.describe(v)
        for key in ("central", "boundary"):
            card[key] = [self.item(int(row)) for row in about.get(key, ())]
        if not card["central"] and self.items is not None and v >= tree.n_leaves:
            take = min(6, int(tree.size[v]))
            spread = tree.first[v] + (2 * np.arange(take) + 1) * int(tree.size[v]) // (2 * take)
            card["central"] = [self.item(int(row)) for row in tree.leaf_order[spread]]
        card["terms"] = [one_line(term, 60) for term in about.get("terms", ())]
        card["cohesion"] = about.get("cohesion")
        if self._class is not None and self.classes is not None:
            card["classes"] = self.histogram(v)
        if v < tree.n_leaves:
            card.update(self.item(v))
            card["text"] = "" if self.items is None else self.items[v][:MOST_TEXT]
            card["columns"] = self.columns.of_row(int(tree.first[v]))
        if self._also is not None:
            card["also"] = self._also(v)
        return card

    def _parts(self, v: int) -> dict[str, Any]:
        """The clusters that a node splits into, and how many items are directly in it."""
        kids = self.visible(v) if v >= self.tree.n_leaves else np.empty(0, dtype=np.int64)
        groups = kids[kids >= self.tree.n_leaves]
        groups = groups[np.argsort(-self.tree.size[groups], kind="stable")]
        return {"children": [self.record(kid) for kid in groups[:60].tolist()], "alone": len(kids) - len(groups)}

    def histogram(self, v: int) -> list[dict[str, Any]]:
        """The most frequent labels below ``v``."""
        inside = self._class[self.tree.leaf_order[self.tree.first[v] : self.tree.last[v]]]  # type: ignore[index]
        count = np.bincount(inside, minlength=len(self.classes or ()))
        top = np.argsort(-count, kind="stable")[:8]
        return [
            {"name": self.classes[i], "count": int(count[i]), "share": float(count[i] / len(inside))}  # type: ignore[index]
            for i in top.tolist()
            if count[i]
        ]

    # --- items --------------------------------------------------------------------------------------------------------

    def item(self, row: int) -> dict[str, Any]:
        """One item, as the page lists it."""
        shown: dict[str, Any] = {"row": row, "text": self.text(row)}
        if self._class is not None and self.classes is not None:
            shown["label"] = self.classes[self._class[row]]
        return shown

    def items_of(self, v: int, offset: int = 0, limit: int = 50, sort: str = "tree") -> dict[str, Any]:
        """A page of the items below ``v``: in the order of the tree, of their texts or of the rows."""
        rows = self.tree.leaf_order[self.tree.first[v] : self.tree.last[v]]
        limit = max(1, min(limit, MOST_ITEMS))
        if sort == "row":
            inside = np.zeros(self.tree.n_leaves, bool)
            inside[rows] = True
            rows = np.flatnonzero(inside)
        elif sort == "text" and self.items is not None:
            rows = self.texts.words.sorted_rows(rows)
        page = rows[max(0, offset) : max(0, offset) + limit]
        return {"items": [self.item(int(row)) for row in page], "total": len(rows)}

    @cached_property
    def texts(self) -> Texts:
        """The items and the names, to search in; what is hidden is not found."""
        items = Items(as_items([])) if self.items is None else self.items
        words = items.index() if self._words is None else self._words()
        if not self.hidden:
            return Texts(items, words, self.names, self.tree.size)
        size, kept = self.kept_size(self.tree.root)
        return Texts(items, words, {v: name for v, name in self.names.items() if size[v]}, self.tree.size, kept)

    def search(self, query: str, limit: int = 30) -> dict[str, Any]:
        """Clusters and items that have all the words, names first, short items before long ones."""
        nodes, rows, total = self.texts.find(query, limit)
        results: list[dict[str, Any]] = [
            {"node": int(self.keys[v]), "text": self.name(v), "size": int(self.tree.size[v])} for v in nodes
        ]
        for row in rows:
            above = int(self.tree.parent[row])
            results.append({"node": row, "row": row, "text": self.text(row), "path": self.name(above)})
        return {"results": results[:limit], "total": total}

    def like(self, row: int, k: int = 20) -> dict[str, Any]:
        """The items whose vectors are most similar by cosine."""
        if self.vectors is None:
            raise InvalidInput("'More like this' needs the vectors; start with --vectors X.npy.")
        found = most_similar(self.vectors, row, k)
        above = self.tree.parent[found].tolist() if found else []
        names = [self.name(v) if v >= 0 else "" for v in above]
        return {
            "results": [
                {"node": i, "row": i, "text": self.text(i), "path": name} for i, name in zip(found, names, strict=True)
            ]
        }

    @cached_property
    def is_shown(self) -> np.ndarray:
        """Which places of the line of items are in no hidden node."""
        shown = np.ones(self.tree.n_leaves, dtype=bool)
        for v in self.hidden:
            shown[self.tree.first[v] : self.tree.last[v]] = False
        return shown

    def at(self, place: int) -> dict[str, Any]:
        """The item at a place of the line of items, with its columns and the names of the groups around it."""
        row = int(self.tree.leaf_order[place])
        above = [v for v in self.tree.ancestors(row)[::-1].tolist() if v != self.tree.root]
        text = self.text(row) if self.items is None else one_line(self.items[row], MOST_TIP)
        return {
            **self.item(row),
            "text": text,
            "path": [self.name(v) for v in above],
            "columns": self.columns.of_row(place)[:6],
        }

    def short(self, place: int) -> str:
        """The item at a place of the line of items, as it is read beside its point; nothing for a mere number."""
        return "" if self.items is None else one_line(self.items[int(self.tree.leaf_order[place])], MOST_LABEL)

    def hits(self, query: str, most: int = 20_000) -> dict[str, Any]:
        """Places of the items that a search finds, evenly along the line of items, and how many there are in all."""
        places = np.flatnonzero(self.found(query))
        return {"places": places[:: max(1, -(-len(places) // most))].tolist(), "total": len(places)}

    def found(self, query: str) -> np.ndarray:
        """Which places of the line of items hold what a search finds."""
        here = np.zeros(self.tree.n_leaves, dtype=bool)
        if self.items is not None and query.strip():
            here[self.tree.first[self.texts.words.find(query)[0]]] = True
        return here & self.is_shown

    # --- cuts ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _splits(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rank in which inner nodes are split from the top, the clusters after each split, and their heights.

        A parent comes before its children, also where heights are equal or fall.
        """
        tree, order = self.tree, self.tree.split_order
        rank = np.empty(tree.n_nodes - tree.n_leaves, dtype=np.int64)
        rank[order - tree.n_leaves] = np.arange(len(order))
        added = np.diff(tree.child_start)[order - tree.n_leaves] - 1
        return rank, 1 + np.cumsum(added), np.minimum.accumulate(tree.height[order])

    @cached_property
    def _n_single(self) -> np.ndarray:
        """How many children of each inner node are leaves."""
        tree = self.tree
        return np.bincount(tree.parent[: tree.n_leaves] - tree.n_leaves, minlength=tree.n_nodes - tree.n_leaves)

    def cut(self, n: int | None = None, height: float | None = None, level: int | None = None) -> dict[str, Any]:
        """The clusters of a level, of a number of clusters (or the nearest number below), or at a height."""
        tree = self.tree
        groups, split = self._cut(n, height, level)
        sizes = np.sort(tree.size[groups])
        alone = int(self._n_single[split - tree.n_leaves].sum()) if len(split) else 0  # clusters of one leaf
        total = alone + len(groups)
        middle = [1 if i < alone else int(sizes[i - alone]) for i in ((total - 1) // 2, total // 2)]
        shown = groups[np.argsort(-tree.size[groups], kind="stable")[:MOST_CLUSTERS]]
        shown = np.concatenate([shown, self._leaves_below(split, MOST_CLUSTERS - len(shown))])
        shown = shown[np.argsort(tree.first[shown], kind="stable")]
        answer = {
            "nodes": self.keys[shown].tolist(),
            "n": total,
            "smallest": 1 if alone else int(sizes[0]),
            "median": sum(middle) // 2,
            "largest": int(sizes[-1]) if len(sizes) else 1,
        }
        if self.plane is not None:
            answer["starts"] = tree.first[shown].tolist()
            answer["ends"] = tree.last[shown].tolist()
        return answer

    def cut_nodes(self, n: int | None = None, height: float | None = None, level: int | None = None) -> np.ndarray:
        """The nodes of a cut, in the order of the line of items."""
        groups, split = self._cut(n, height, level)
        nodes = np.concatenate([groups, self._leaves_below(split, self.tree.n_leaves)])
        return nodes[np.argsort(self.tree.first[nodes], kind="stable")]

    def _cut(self, n: int | None, height: float | None, level: int | None) -> tuple[np.ndarray, np.ndarray]:
        """The clusters that are inner nodes, and the nodes above them that are split; their leaves are clusters."""
        tree = self.tree
        none = np.empty(0, dtype=np.int64)
        if level is not None:
            if not 0 <= level < len(self.levels):
                raise InvalidInput(f"level must be in [0, {len(self.levels) - 1}], got {level}.")
            return np.asarray(self.levels[level][0], dtype=np.int64), none
        if tree.n_leaves == 1:
            return np.zeros(1, dtype=np.int64), none
        rank, clusters, heights = self._splits
        if height is not None:
            made = int(np.searchsorted(-heights, -height, side="left"))
        else:
            made = int(np.searchsorted(clusters, 1 if n is None else n, side="right"))
        if made == 0:
            return np.array([tree.root]), none
        whole = np.flatnonzero(rank[:-1] >= made)
        groups = whole[rank[tree.parent[whole + tree.n_leaves] - tree.n_leaves] < made] + tree.n_leaves
        return groups, tree.split_order[:made]

    def _leaves_below(self, nodes: np.ndarray, most: int) -> np.ndarray:
        """Leaves that are children of the nodes, at most so many."""
        if not len(nodes) or most <= 0:
            return np.empty(0, dtype=np.int64)
        tree = self.tree
        enough = int(np.searchsorted(np.cumsum(self._n_single[nodes - tree.n_leaves]), most)) + 1
        if enough >= len(nodes):
            split = np.zeros(tree.n_nodes - tree.n_leaves, dtype=bool)
            split[nodes - tree.n_leaves] = True
            return np.flatnonzero(split[tree.parent[: tree.n_leaves] - tree.n_leaves])[:most]
        found = np.concatenate([tree.children(v) for v in nodes[:enough].tolist()])
        return found[found < tree.n_leaves][:most]

    def labels(self, nodes: np.ndarray) -> np.ndarray:
        """The place in ``nodes`` of the cluster of every item."""
        label = np.empty(self.tree.n_leaves, dtype=np.int64)
        for i, v in enumerate(nodes.tolist()):
            label[self.tree.leaf_order[self.tree.first[v] : self.tree.last[v]]] = i
        return label

    # --- the rest -----------------------------------------------------------------------------------------------------

    def meta(self) -> dict[str, Any]:
        """What the page has to know first."""
        levels = [{"n_clusters": len(nodes), "stability": stability} for nodes, stability in self.levels]
        return {
            "title": self.title,
            "n": self.tree.n_leaves,
            "most_clusters": int(min(self.tree.n_leaves, 100_000)),
            "height": float(self.tree.height[self.tree.root]),
            "root": self.record(self.tree.root),
            "levels": levels,
            "vectors": self.vectors is not None,
            "images": self.images is not None,
            "points": self.plane is not None,
            "columns": self.columns.meta(),
        }


def _classes(labels: Sequence[Any]) -> tuple[list[str], np.ndarray]:
    values, codes = np.unique(np.asarray([str(label) for label in labels]), return_inverse=True)
    return [one_line(value, 60) for value in values.tolist()], codes.reshape(-1)
