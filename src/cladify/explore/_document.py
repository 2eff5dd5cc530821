"""What is explored: a taxonomy, with what else is known of its items, and a second tree to compare with."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import CladifyError, InvalidInput, Stale
from cladify.explore._picture import picture_of
from cladify.explore._shared import also_in
from cladify.explore._text import Items
from cladify.explore._view import MOST_CHILDREN, View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cladify.taxonomy import Taxonomy
    from cladify.tree import Tree
    from cladify.tree.dag import ClusterDag

__all__ = ["Document"]

_RELEASED = 200_000  # items from which on the memory of a search is worth handing back


class Document:
    """A taxonomy and its view, which follows its edits.

    Nodes go out to the page by their keys, which no edit changes; see :mod:`cladify.taxonomy._edits`.

    Parameters
    ----------
    taxonomy : Taxonomy
    title : str
    labels, vectors, points, images : optional
        As in :class:`~cladify.explore._view.View`.
    other : Tree, optional
        Another tree of the same items.
    other_name : str
    file : path, optional
        The file of the taxonomy: edits are saved there. Without one they last as long as the server.
    dag : ClusterDag, optional
        Clusters of the same items that may overlap: cards say what else a cluster or an item belongs to.
    below : callable from an item to a Document, optional
        Where an item stands for a tree of its own, which the page opens.
    is_below : bool
        Whether this is such a tree, from which the page leads back.
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        *,
        title: str = "taxonomy",
        labels: Sequence[Any] | None = None,
        vectors: Any = None,
        points: Any = None,
        images: Any = None,
        other: Tree | None = None,
        other_name: str = "the other tree",
        file: Path | None = None,
        dag: ClusterDag | None = None,
        below: Callable[[int], Document] | None = None,
        is_below: bool = False,
    ) -> None:
        self.taxonomy = taxonomy
        self.title = title
        self.file = file
        self.other = other
        self.other_name = other_name
        self.dag = dag
        self.below = below
        self.is_below = is_below
        self._extra = {"labels": labels, "vectors": vectors, "points": points, "images": images}
        self._lock = Lock()
        self._agreement: list[dict[str, Any]] | None = None
        if other is not None and other.n_leaves != taxonomy.n_items:
            raise InvalidInput(
                f"{other_name} has {other.n_leaves} leaves and the taxonomy {taxonomy.n_items} items; "
                "compare trees of the same items."
            )
        if dag is not None and dag.n_leaves != taxonomy.n_items:
            raise InvalidInput(
                f"the graph of clusters has {dag.n_leaves} leaves and the taxonomy {taxonomy.n_items} items."
            )
        self.view = self._look()

    def _look(self) -> View:
        taxonomy = self.taxonomy
        levels = [(np.asarray(level.nodes, dtype=np.int64), level.stability) for level in taxonomy.levels]
        return View(
            taxonomy.tree,
            keys=taxonomy.keys,
            title=self.title,
            items=Items(taxonomy.arrow_items),
            words=lambda: taxonomy.words,
            names=taxonomy.names,
            hidden=taxonomy.hidden,
            levels=levels,
            describe=self._describe,
            also=self._also,
            **self._extra,
        )

    def _describe(self, v: int) -> dict[str, Any]:
        examples = self.taxonomy.examples(v)
        return {
            "terms": self.taxonomy.keywords(v),
            "central": examples.central_rows[:6],
            "boundary": examples.boundary_rows[:6],
            "cohesion": None if v == self.taxonomy.tree.root else self.taxonomy.cohesion(v),
        }

    def _also(self, v: int) -> list[dict[str, Any]]:
        """What else a node belongs to: by the graph of clusters if there is one, else by its items' neighbours."""
        if self.dag is not None:
            return also_in(self.dag, self.view, v)
        of = "its neighbours are there" if v < self.taxonomy.n_items else "its items are there, too"
        found = [] if v == self.taxonomy.tree.root else self.taxonomy.also_in(v)
        return [
            {"id": int(self.view.keys[other.node]), "name": other.name, "note": f"{100 * other.share:.0f} % of {of}"}
            for other in found
            if other.share >= 0.005  # "0 %" says nothing
        ]

    def meta(self) -> dict[str, Any]:
        """What the page has to know first."""
        edits = self.taxonomy.edits
        return {
            **self.view.meta(),
            "compare": self.other is not None,
            "edits": {"done": len(edits.done), "undone": len(edits.undone)},
            "hidden": [self.view.record(v) for v in sorted(self.view.hidden)][:MOST_CHILDREN],
            "saved": self.file is not None,
            "below": self.below is not None,
            "is_below": self.is_below,
        }

    def save_in(self, file: Path) -> None:
        """Save the taxonomy, and from now on its edits, in a file."""
        self.taxonomy.save(file)
        self.file = file

    def search(self, query: str) -> dict[str, Any]:
        """Clusters and items that match; the index stays in the file."""
        found = self.view.search(query)
        if self.taxonomy.n_items > _RELEASED:
            self.taxonomy.release()
        return found

    def warm(self) -> None:
        """Do once what the first question of a kind would wait for."""
        view = self.view
        view.cut(n=2)
        self.search("a")
        view.items_of(view.tree.root, 0, 1, "text")

    # --- edits --------------------------------------------------------------------------------------------------------

    def edit(self, action: dict[str, Any]) -> dict[str, Any]:
        """Do what the page asks for and save it; an edit that cannot be done or saved changes nothing.

        Where another has changed the file meanwhile, that is :class:`~cladify.errors.Stale`, and the document shows the
        file as it is now.
        """
        with self._lock:
            try:
                with self.taxonomy.editing(self.file) as taxonomy:
                    made = self._do(taxonomy, action)
            except Stale:
                self._reload()
                raise
            self.view = self._look()
        return {"edits": {"done": len(taxonomy.edits.done), "undone": len(taxonomy.edits.undone)}, "node": made}

    def _do(self, taxonomy: Taxonomy, action: dict[str, Any]) -> int | None:
        """Do an edit; returns the key of the group that it made."""
        kind = action.get("op")
        if kind == "undo":
            taxonomy.undo()
        elif kind == "redo":
            taxonomy.redo()
        elif kind == "rename":
            taxonomy.rename(self._node(action, "node"), _text(action, "name"))
        elif kind == "merge":
            node = taxonomy.merge([self._node(action, "node"), self._node(action, "with")])
            return int(taxonomy.keys[node])
        elif kind == "move":
            taxonomy.move(self._node(action, "node"), self._node(action, "to"))
        elif kind == "collapse":
            taxonomy.collapse(self._node(action, "node"))
        elif kind == "hide":
            taxonomy.hide(self._node(action, "node"))
        else:
            raise InvalidInput("op must be rename, merge, move, collapse, hide, undo or redo.")
        return None

    def _reload(self) -> None:
        """Show the file as it is now; labels, vectors and images of other items are dropped."""
        assert self.file is not None
        try:
            taxonomy = type(self.taxonomy).load(self.file)
        except CladifyError:
            return
        if not taxonomy.arrow_items.equals(self.taxonomy.arrow_items):
            self._extra = dict.fromkeys(self._extra)
            self.other = self.dag = self._agreement = None
        self.taxonomy = taxonomy
        self.view = self._look()

    def _node(self, action: dict[str, Any], name: str) -> int:
        key = action.get(name)
        if not isinstance(key, int) or isinstance(key, bool):
            raise InvalidInput(f"{name} must name a node, got {key!r}.")
        return self.view.node(key)

    # --- compare ------------------------------------------------------------------------------------------------------

    def compare(self, v: int, most: int = 15) -> dict[str, Any]:
        """Where the members of a node are in the other tree, cut into as many clusters as the nearest level has."""
        if self.other is None:
            raise InvalidInput("There is no second tree; start with --compare OTHER.")
        view, other = self.view, self.other
        levels = self.taxonomy.levels
        k = next((level.n_clusters for level in levels if level.n_clusters >= 10), levels[-1].n_clusters)
        labels, nodes = other.cut(n_clusters=min(k, other.n_leaves), return_nodes=True)
        rows = view.tree.leaf_order[view.tree.first[v] : view.tree.last[v]]
        shared = np.bincount(labels[rows], minlength=len(nodes))
        size = np.bincount(labels, minlength=len(nodes))
        found = []
        for c in np.argsort(-shared, kind="stable")[:most].tolist():
            if not shared[c]:
                break
            inside = rows[labels[rows] == c][:3]
            name = " · ".join(view.text(int(row)) for row in inside)
            found.append(
                {
                    "name": name,
                    "shared": int(shared[c]),
                    "size": int(size[c]),
                    "share": float(shared[c] / len(rows)),
                }
            )
        return {
            "other": self.other_name,
            "name": view.name(v),
            "size": len(rows),
            "rows": found,
            "agreement": self._agree(k),
        }

    def _agree(self, k: int) -> list[dict[str, Any]]:
        """How much the two trees agree as a whole; worked out once."""
        if self._agreement is None:
            from sklearn.metrics import adjusted_rand_score

            from cladify.metrics import triplet_agreement

            assert self.other is not None
            full = self.taxonomy.full
            k = min(k, full.n_leaves)
            rand = adjusted_rand_score(full.cut(n_clusters=k), self.other.cut(n_clusters=k))
            triples = triplet_agreement(full, self.other, n_samples=20_000, random_state=0)
            self._agreement = [
                {"name": f"adjusted Rand index at {k} clusters", "value": float(rand)},
                {"name": "triples of items joined alike", "value": float(triples)},
            ]
        return self._agreement

    # --- images -------------------------------------------------------------------------------------------------------

    def image(self, row: int) -> tuple[bytes, str]:
        """The picture of an item and its type: a file that was named at the start, never one that a request names."""
        images = self._extra["images"]
        if images is None:
            raise InvalidInput("There are no images; start with --images.")
        return picture_of(images[row])


def _text(action: dict[str, Any], name: str) -> str:
    text = action.get(name)
    if not isinstance(text, str) or len(text) > 300:
        raise InvalidInput(f"{name} must be a text of at most 300 characters.")
    return text
