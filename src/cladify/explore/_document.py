"""A document of the explorer: a taxonomy, with further data of its items, and a second tree to compare with.

Threads: a document is read through :class:`Version`, a copy that no edit changes. A question takes the version of the
moment and is answered from it as a whole; readers never wait. One lock per document lets one writer in at a time, who
edits a copy, saves it, and only then makes it the version of the document. An edit that fails leaves no trace.
"""

from __future__ import annotations

import copy
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import InvalidInput, Stale
from cladify.explore._columns import Column, bins_of, shares
from cladify.explore._flows import flows, parts_of
from cladify.explore._picture import picture_of
from cladify.explore._select import selected
from cladify.explore._shared import also_in
from cladify.explore._text import Items
from cladify.explore._view import MOST_CHILDREN, View
from cladify.maps import layout
from cladify.maps._gaps import with_narrow_gaps
from cladify.metrics import triplet_agreement
from cladify.taxonomy import Taxonomy
from cladify.taxonomy._items import as_items

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cladify.tree import Tree
    from cladify.tree.dag import ClusterDag

__all__ = ["Document", "Version"]

_MOST_MOVED = 2000  # items in one edit
_RELEASED = 200_000  # items from which on the memory of a search is worth handing back


@dataclass(frozen=True)
class Version:
    """A taxonomy as it was at one moment, and the view of it."""

    name: str
    taxonomy: Taxonomy
    view: View


class Document:
    """A taxonomy and the version of it that is shown, which follows its edits.

    Nodes go out to the page by their keys, which no edit changes; see :mod:`cladify.taxonomy._edits`.

    Parameters
    ----------
    taxonomy : Taxonomy
    title : str
    labels, vectors, points, images : optional
        As in :class:`~cladify.explore._view.View`.
    other : Taxonomy or Tree, optional
        Another one of the same items.
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
        other: Taxonomy | Tree | None = None,
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
        self._lock = Lock()  # of writers
        self._series = secrets.token_hex(4)  # of versions whose keys mean the same nodes
        self._count = 0
        self._seen = self._stat()
        self._agreement: list[dict[str, Any]] | None = None
        self._binned: list[Column] | None = None
        self._report: tuple[str, dict[str, Any]] | None = None  # of a version
        self._measuring = Lock()
        self._is_firm = False  # whether there is a confidence
        n_other = 0 if other is None else _tree_of(other).n_leaves
        if other is not None and n_other != taxonomy.n_items:
            raise InvalidInput(
                f"{other_name} has {n_other} leaves and the taxonomy {taxonomy.n_items} items; "
                "compare trees of the same items."
            )
        if dag is not None and dag.n_leaves != taxonomy.n_items:
            raise InvalidInput(
                f"the graph of clusters has {dag.n_leaves} leaves and the taxonomy {taxonomy.n_items} items."
            )
        self.now = self._look(taxonomy)

    @property
    def view(self) -> View:
        """The view of the current version."""
        return self.now.view

    def _look(self, taxonomy: Taxonomy) -> Version:
        """A version of the taxonomy as it is now."""
        self._count += 1
        taxonomy = _copy(taxonomy)
        levels = [(np.asarray(level.nodes, dtype=np.int64), level.stability) for level in taxonomy.levels]
        view = View(
            taxonomy.tree,
            keys=taxonomy.keys,
            title=self.title,
            items=Items(taxonomy.arrow_items),
            words=lambda: self.taxonomy.words,  # the same in every version
            names=taxonomy.names,
            hidden=taxonomy.hidden,
            levels=levels,
            describe=lambda v: _describe(taxonomy, v),
            also=lambda v: _also(taxonomy, view, self.dag, v),
            columns=self._columns(taxonomy),
            **self._extra_of(taxonomy),
        )
        return Version(f"{self._series}-{self._count}", taxonomy, view)

    def _extra_of(self, taxonomy: Taxonomy) -> dict[str, Any]:
        """What was given beside the taxonomy; where no coordinates were, those of its own map, or of the vectors."""
        if self._extra["points"] is not None:
            points = self._extra["points"]
        elif taxonomy.points is not None:
            points = taxonomy.points
        elif self._extra["vectors"] is not None and self._extra["vectors"].shape[0] == taxonomy.n_items:
            vectors = self._extra["vectors"]
            has_zeros = (abs(vectors).sum(axis=1) == 0).any()
            made = layout(vectors, metric="sqeuclidean" if has_zeros else "cosine")
            points = self._extra["points"] = with_narrow_gaps(made)
        else:
            points = None
        return {**self._extra, "points": points}

    def _columns(self, taxonomy: Taxonomy) -> list[Column]:
        """The columns to colour and filter by: the labels that were given, those of the taxonomy, and confidence."""
        if self._binned is None:
            labels = self._extra["labels"]
            given = [] if labels is None else [bins_of("label", as_items([str(label) for label in labels]), "category")]
            table, kinds = taxonomy.columns, taxonomy.column_kinds
            given += [
                bins_of(name, table.column(name).combine_chunks(), kinds[name])
                for name in table.column_names
                if kinds[name] in ("number", "category", "time")
            ]
            self._binned = [column for column in given if column is not None]
            self._is_firm = bool(np.isfinite(_firmness(taxonomy)).any())
        firm = [shares("confidence", lambda: _firmness(taxonomy), 0.5)] if self._is_firm else []
        return [*self._binned, *firm]

    def meta(self, now: Version) -> dict[str, Any]:
        """The first answer that the page needs."""
        edits = now.taxonomy.edits
        return {
            **now.view.meta(),
            "version": now.name,
            "compare": self.other is not None,
            "edits": {"done": len(edits.done), "undone": len(edits.undone)},
            "hidden": [now.view.record(v) for v in sorted(now.view.hidden)][:MOST_CHILDREN],
            "saved": self.file is not None,
            "below": self.below is not None,
            "is_below": self.is_below,
        }

    def save_in(self, file: Path) -> None:
        """Save the taxonomy, and from now on its edits, in a file; the document goes on with a copy of it."""
        with self._lock:
            self.taxonomy = _copy(self.taxonomy)
            self.taxonomy.save(file)
            self.file = file
            self._seen = self._stat()

    def search(self, now: Version, query: str) -> dict[str, Any]:
        """Clusters and items that match; the index stays in the file."""
        found = now.view.search(query)
        if now.taxonomy.n_items > _RELEASED:
            self.taxonomy.release()
        return found

    def warm(self) -> None:
        """Do once what the first question of a kind would wait for."""
        now = self.now
        if now.view.plane is not None:
            now.view.plane.islands  # noqa: B018  the page asks for them first
        now.view.cut(n=2)
        self.search(now, "a")
        now.view.items_of(now.view.tree.root, 0, 1, "text")
        if now.taxonomy.n_items > _RELEASED:
            now.taxonomy.release()

    # --- edits --------------------------------------------------------------------------------------------------------

    def edit(self, action: dict[str, Any]) -> dict[str, Any]:
        """Make an edit and save it; one that cannot be made or saved changes nothing.

        Parameters
        ----------
        action : dict
            ``op`` (rename, merge, move, collapse, hide, undo or redo) with ``node``, ``with``, ``to`` and ``name`` as
            it needs them; ``version``, if given, is the version that the edit was made for.

        Raises
        ------
        Stale
            Another page, program or server has changed the document since that version. The document then shows what
            is there now.
        """
        with self._lock:
            self._refresh()
            version = str(action.get("version", self.now.name))
            if version.split("-")[0] != self._series:
                raise Stale("The file was replaced, or the server started again; reload the page.")
            if version != self.now.name:
                raise Stale("The taxonomy was changed by another page or program; reload it.")
            if self.file is None:  # the caller's own taxonomy, which keeps the edits
                made = self._do(self.taxonomy, action)
            else:
                edited = _copy(self.taxonomy)
                made = self._do(edited, action)
                try:
                    edited.save_edits(self.file)
                except Stale:
                    self._seen = None
                    self._refresh()
                    raise
                self.taxonomy, self._seen = edited, self._stat()
            self.now = self._look(self.taxonomy)
            edits = self.now.taxonomy.edits
            counts = {"done": len(edits.done), "undone": len(edits.undone)}
            return {"edits": counts, "node": made, "version": self.now.name}

    def refresh(self) -> dict[str, Any]:
        """Look whether the file, or the taxonomy in this program, was changed by another; the version to show."""
        with self._lock:
            self._refresh()
            return {"version": self.now.name}

    def _refresh(self) -> None:
        found = self._stat()
        if found not in (None, self._seen):
            taxonomy = Taxonomy.load(self.file)  # type: ignore[arg-type]
            if not _same_items(taxonomy, self.taxonomy):
                self._series = secrets.token_hex(4)
            self._binned = None
            try:
                self.now = self._look(taxonomy)
            except InvalidInput:  # labels, vectors or points that were given are of other items
                raise InvalidInput(
                    f"{self.file} was replaced by a taxonomy of {taxonomy.n_items} items; start the explorer again."
                ) from None
            self.taxonomy, self._seen, self._agreement = taxonomy, found, None
        elif self.taxonomy.edits != self.now.taxonomy.edits:  # edited by the program that owns it
            self.now = self._look(self.taxonomy)

    def _stat(self) -> tuple[int, ...] | None:
        """What changes with every change of the file; None where there is no file."""
        try:
            found = None if self.file is None else os.stat(self.file)
        except OSError:
            found = None
        return None if found is None else (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def _do(self, taxonomy: Taxonomy, action: dict[str, Any]) -> int | None:
        """Make an edit; the key of the node that a merge makes."""
        kind = action.get("op")
        if kind == "undo":
            taxonomy.undo()
        elif kind == "redo":
            taxonomy.redo()
        elif kind == "rename":
            taxonomy.rename(self._node(action, "node"), _text(action, "name"))
        elif kind == "merge":
            return int(taxonomy.keys[taxonomy.merge([self._node(action, "node"), self._node(action, "with")])])
        elif kind == "move":
            taxonomy.move(self._moved(action), self._node(action, "to"))
        elif kind == "collapse":
            taxonomy.collapse(self._node(action, "node"))
        elif kind == "hide":
            taxonomy.hide(self._node(action, "node"))
        else:
            raise InvalidInput("op must be rename, merge, move, collapse, hide, undo or redo.")
        return None

    def _moved(self, action: dict[str, Any]) -> int | list[int]:
        """What is to be moved: a node, or the items that ``polygon`` and ``filter`` select."""
        if "polygon" not in action:
            return self._node(action, "node")
        where: dict[str, str] = {name: _text(action, name, 4000) for name in ("polygon", "filter") if name in action}
        found = selected(self.view, where)
        rows = self.view.tree.leaf_order[found & self.view.is_shown].tolist() if found is not None else []
        if not 0 < len(rows) <= _MOST_MOVED:
            raise InvalidInput(f"1 to {_MOST_MOVED} items can be moved at once, {len(rows)} are selected.")
        return rows

    def _node(self, action: dict[str, Any], name: str) -> int:
        key = action.get(name)
        if not isinstance(key, int) or isinstance(key, bool):
            raise InvalidInput(f"{name} must name a node, got {str(key)[:60]!r}.")
        return self.view.node(key)

    # --- compare ------------------------------------------------------------------------------------------------------

    def compare(self, now: Version, v: int, most: int = 15) -> dict[str, Any]:
        """Where the members of a node are in the other tree, cut into as many clusters as the nearest level has."""
        if self.other is None:
            raise InvalidInput("There is no second tree; start with --compare OTHER.")
        view, other = now.view, self.other
        levels = now.taxonomy.levels
        k = next((level.n_clusters for level in levels if level.n_clusters >= 10), levels[-1].n_clusters)
        labels, names = parts_of(other, k, view)
        rows = view.tree.leaf_order[view.tree.first[v] : view.tree.last[v]]
        shared = np.bincount(labels[rows], minlength=len(names))
        size = np.bincount(labels, minlength=len(names))
        found = []
        for c in np.argsort(-shared, kind="stable")[:most].tolist():
            if not shared[c]:
                break
            name = names[c]
            if not isinstance(other, Taxonomy):
                name = " · ".join(view.text(int(row)) for row in rows[labels[rows] == c][:3])
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

    def flows(self, now: Version, **cut: Any) -> dict[str, Any]:
        """The groups of a cut beside those of the other tree, with the items that each two share."""
        if self.other is None:
            raise InvalidInput("There is no second tree; start with --compare OTHER.")
        nodes = now.view.cut_nodes(**cut)
        nodes = nodes[now.view.tree.size[nodes] > 1]
        return {"other": self.other_name, **flows(now.view, nodes, self.other)}

    def report(self, now: Version) -> dict[str, Any]:
        """Figures of the taxonomy, and the groups to look at first; measured once a version."""
        with self._measuring:
            if self._report is None or self._report[0] != now.name:
                labels = self._extra["labels"]
                made = now.taxonomy.report(labels=None if labels is None else list(labels), resamples=0)
                keys = now.taxonomy.keys
                looks = [{**look._asdict(), "id": int(keys[look.node])} for look in made.look_first]
                self._report = now.name, {"overall": made.overall, "look_first": looks}
            return self._report[1]

    def _agree(self, k: int) -> list[dict[str, Any]]:
        """How much the two trees agree as a whole; computed once."""
        if self._agreement is None:
            from sklearn.metrics import adjusted_rand_score

            assert self.other is not None
            full = self.taxonomy.full
            k = min(k, full.n_leaves)
            other = _tree_of(self.other)
            rand = adjusted_rand_score(full.cut(n_clusters=k), other.cut(n_clusters=k))
            triples = triplet_agreement(full, other, n_samples=20_000, random_state=0)
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


def _copy(taxonomy: Taxonomy) -> Taxonomy:
    """The same taxonomy with edits of its own: edits are values, so that the two share everything."""
    return copy.copy(taxonomy)


def _tree_of(other: Taxonomy | Tree) -> Tree:
    return other.full if isinstance(other, Taxonomy) else other


def _same_items(a: Taxonomy, b: Taxonomy) -> bool:
    """Whether two taxonomies are the same but for their edits, so that keys of nodes mean the same."""
    if a.n_items != b.n_items or not a.arrow_items.equals(b.arrow_items):
        return False
    trees = []
    for taxonomy in (a, b):
        plain = _copy(taxonomy)
        while plain.edits.done:
            plain.undo()
        trees.append(plain.tree)
    return np.array_equal(trees[0].parent, trees[1].parent)


def _describe(taxonomy: Taxonomy, v: int) -> dict[str, Any]:
    examples = taxonomy.examples(v)
    return {
        "terms": taxonomy.keywords(v),
        "central": examples.central_rows[:6],
        "boundary": examples.boundary_rows[:6],
        "cohesion": None if v == taxonomy.tree.root else taxonomy.cohesion(v),
    }


def _also(taxonomy: Taxonomy, view: View, dag: ClusterDag | None, v: int) -> list[dict[str, Any]]:
    """What else a node belongs to: by the graph of clusters if there is one, else by its items' neighbours."""
    if dag is not None:
        return also_in(dag, view, v)
    of = "its neighbours are there" if v < taxonomy.n_items else "its items are there, too"
    found = [] if v == taxonomy.tree.root else taxonomy.also_in(v)
    return [
        {"id": int(view.keys[other.node]), "name": other.name, "note": f"{100 * other.share:.0f} % of {of}"}
        for other in found
        if other.share >= 0.005  # less would be shown as 0 %
    ]


def _firmness(taxonomy: Taxonomy) -> np.ndarray:
    """How firmly each item sits in its group of the coarsest level, or where it is."""
    tree, nodes = taxonomy.tree, taxonomy.tree.parent[: taxonomy.n_items].copy()
    for v in taxonomy.levels[0].nodes if taxonomy.levels else ():
        nodes[tree.leaf_order[tree.first[v] : tree.last[v]]] = v
    return taxonomy.confidence(np.maximum(nodes, 0))


def _text(action: dict[str, Any], name: str, most: int = 300) -> str:
    text = action.get(name)
    if not isinstance(text, str) or len(text) > most:
        raise InvalidInput(f"{name} must be a text of at most {most} characters.")
    return text
