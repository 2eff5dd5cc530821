"""What is known beforehand about rows: labels of some, and pairs that belong together or apart.

All of it becomes weights of edges before the search. An edge between rows that are likely to have the same label weighs
more, one between rows that are not weighs less (:mod:`cladify.graphtree._labels`), as far as labels are to be trusted;
and rows known to have the same label get a few edges. Rows that belong together get an edge that outweighs all others,
which contracts them for every purpose; rows that belong apart lose the edge between them. The heights of the tree,
which say what a cut splits first, have a part for labels, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.params import check_random_state
from cladify.data.graph import NeighborGraph
from cladify.errors import InvalidInput
from cladify.graphtree._edges import Edges, neighbor_edges
from cladify.graphtree._heights import settled
from cladify.graphtree._labels import FAR, KnownLabels, walks
from cladify.tree import Tree

__all__ = ["Guide", "guided", "heights_with", "labels_of", "spread_labels"]

#: The least and the most that labels make of the weight of an edge; the graph stays connected.
_LEFT, _GAIN = 0.05, 3.0
#: The part of labels in heights.
_SHARE = 0.5
#: Edges of each labelled row to random ones with its label; and their weight, in that of all edges of a typical row.
_SAME, _WEIGHT = 3, 1.0


@dataclass(frozen=True, eq=False)
class Guide:
    """What is known beforehand, for :class:`GraphTree`.

    Attributes
    ----------
    labels : int array of shape (n,), optional
        Known labels from 0; -1 for a row without one.
    together, apart : int arrays of shape (m, 2), optional
        Pairs of rows that belong together, and that do not.

    Examples
    --------
    >>> import numpy as np, cladify
    >>> X = np.arange(12.0)[:, None]
    >>> guide = Guide(together=np.array([[0, 11]]))
    >>> tree = cladify.GraphTree(n_neighbors=3, guide=guide).fit(X).tree_
    >>> bool(tree.size[tree.lca(0, 11)] < 12)
    True
    """

    labels: np.ndarray | None = None
    together: np.ndarray | None = None
    apart: np.ndarray | None = None

    def __str__(self) -> str:
        known = 0 if self.labels is None else int((np.asarray(self.labels) >= 0).sum())
        pairs = (0 if part is None else len(part) for part in (self.together, self.apart))
        return "{} labels, {} together, {} apart".format(known, *pairs)


def spread_labels(graph: NeighborGraph, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """The most likely label of every row by its neighbours in a graph, and how sure that is.

    Parameters
    ----------
    graph : NeighborGraph
    labels : int array of shape (n,)
        Known labels from 0; -1 for a row without one.

    Returns
    -------
    label : int64 array of shape (n,)
        -1 for a row that no known one can be reached from.
    share : float32 array of shape (n,)
        0 to 1: the share of this label among all that random walks come to, less where hardly one comes to any.

    Examples
    --------
    >>> import numpy as np, cladify
    >>> graph = cladify.neighbors.neighbors(np.array([[0.0], [1.0], [2.0], [10.0], [12.0], [13.0]]), 2)
    >>> spread_labels(graph, [0, -1, -1, -1, 1, -1])[0].tolist()
    [0, 0, 0, 1, 1, 1]
    """
    weight = neighbor_edges(graph, np.ones(graph.n_points), -1).to_scipy()
    n = graph.n_points
    best, label, reached = np.zeros(n, np.float32), np.full(n, -1, np.int64), np.zeros(n, np.float32)
    for start, share in walks(weight, checked_labels(labels, n)):
        reached += share.sum(axis=1)
        first = share.argmax(axis=1)
        value = share[np.arange(n), first]
        better = value > best
        best[better], label[better] = value[better], start + first[better]
    return label, best / (reached + np.float32(FAR))


def check_guide(name: str, value: Any) -> Guide:
    if not isinstance(value, Guide):
        raise InvalidInput(f"{name} must be a cladify.graphtree.Guide, got {type(value).__name__}.")
    return value


def labels_of(edges: Edges, guide: Guide | None, random_state: Any) -> KnownLabels | None:
    """The labels of a guide on these edges; None where it has none."""
    if guide is None or guide.labels is None:
        return None
    known = checked_labels(guide.labels, edges.n_points)
    return KnownLabels(edges.to_scipy(), known, random_state) if (known >= 0).any() else None


def guided(edges: Edges, guide: Guide, labels: KnownLabels | None, tree: Tree | None, random_state: Any) -> Edges:
    """Edges with the weights that a guide gives them; with labels, beside the tree that is found without them."""
    from scipy.sparse import csr_array

    n = edges.n_points
    weight = edges.to_scipy()
    total = np.asarray(weight.sum(axis=1)).ravel()

    def with_edges(a: np.ndarray, b: np.ndarray, value: float) -> Any:
        one = csr_array((np.full(len(a), value, np.float32), (a, b)), shape=(n, n))
        return (weight + one + one.T).tocsr()

    if labels is not None and tree is not None:
        weight.data = (weight.data * np.clip(labels.factors(tree), _LEFT, _GAIN)).astype(np.float32)
        weight = with_edges(*_same_label(labels.known, random_state), _WEIGHT / _SAME * float(np.median(total)))
    if guide.together is not None and len(guide.together):
        weight = with_edges(*_pairs(guide.together, n), float(10 * total.max(initial=1.0)))
    if guide.apart is not None and len(guide.apart):
        a, b = _pairs(guide.apart, n)
        parted = csr_array((np.ones(2 * len(a), np.float32), (np.r_[a, b], np.r_[b, a])), shape=(n, n))
        weight = (weight - weight.multiply(parted > 0)).tocsr()
    return Edges.from_scipy(weight, edges.mass)


def heights_with(labels: KnownLabels | None, tree: Tree, height: np.ndarray) -> np.ndarray:
    """Heights that grow, too, with how mixed the labels of a cluster are."""
    if labels is None:
        return height
    mixed = labels.mixed(tree)
    return settled(tree, height + _SHARE * height[-1] / mixed[-1] * mixed) if mixed[-1] > 0 else height


def _same_label(known: np.ndarray, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of rows with the same label: a few rings in random order."""
    chance = check_random_state(random_state)
    rows = np.flatnonzero(known >= 0)
    one, other = [rows[:0]], [rows[:0]]
    for _ in range(_SAME):
        ring = rows[np.lexsort((chance.permutation(len(rows)), known[rows]))]
        following = np.roll(ring, -1)
        same = (known[ring] == known[following]) & (ring != following)
        one.append(ring[same])
        other.append(following[same])
    return np.concatenate(one), np.concatenate(other)


def checked_labels(labels: Any, n: int) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.shape != (n,) or labels.dtype.kind not in "iu":
        raise InvalidInput(f"labels of a guide must be {n} integers, got shape {labels.shape}, dtype {labels.dtype}.")
    return labels.astype(np.int64)


def _pairs(pairs: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu" or pairs.min() < 0 or pairs.max() >= n:
        raise InvalidInput(f"pairs of a guide must be two rows of 0 .. {n - 1} each.")
    return pairs[:, 0], pairs[:, 1]
