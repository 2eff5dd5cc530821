"""Overlapping hierarchical clustering: clusters may overlap until enough of their pairs are close."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from cladify._kit.params import integer, number
from cladify._kit.progress import Progress
from cladify.data._pairs import pair_matrix
from cladify.data.points import Points
from cladify.errors import InvalidType
from cladify.overlap._estimator import DagEstimator
from cladify.tree._rules import read_only
from cladify.tree.dag import ClusterDag, numbered

__all__ = ["OHC"]


@dataclass(kw_only=True, eq=False, repr=False)
class OHC(DagEstimator):
    r"""Overlapping hierarchical clustering by density, after [1]_: the small baseline for :class:`Llama`.

    Pairs of points are linked in order of their distance, a batch at a time. The density between two clusters is the
    share of their pairs that are linked (a point counts as linked to itself),

    .. math:: \rho(A, B) = \frac{|\{(a, b) \in A \times B : a = b \text{ or } d(a, b) \le \delta\}|}{|A|\,|B|}.

    While some pair has :math:`\rho \ge \lambda`, every cluster is united with the densest such partner; a partner of
    several is in the union with each, and these unions overlap until the density between them reaches λ too. Clusters
    inside others leave the cover. Small λ comes close to single linkage, λ = 1 to complete linkage.

    O(n²) memory, and n times the memberships of the cover for each batch: for some thousand points.

    Parameters
    ----------
    metric : str, Similarity or callable
    merging : float in (0, 1]
        λ.
    n_batches : int
        Batches of pairs; their sizes grow by a constant factor.

    Attributes
    ----------
    dag_ : ClusterDag
        The height of a node is the distance δ at which it was made.

    Examples
    --------
    >>> import numpy as np
    >>> dag = OHC(merging=0.9).fit(np.array([[0.0], [1.0], [1.9], [9.0]])).dag_
    >>> [dag.members(v).tolist() for v in range(4, dag.n_nodes)]
    [[1, 2], [0, 1, 2], [0, 1, 2, 3]]

    References
    ----------
    .. [1] Jeantet, Miklós, Gross-Amblard. Overlapping hierarchical clustering (OHC). Intelligent Data Analysis 2020.
    """

    _checks: ClassVar = {"merging": number(low=0.0, high=1.0, open_low=True), "n_batches": integer(low=1)}

    metric: Any = "sqeuclidean"
    merging: float = 0.5
    n_batches: int = 200

    def _fit(self, points: Points, report: Progress) -> ClusterDag:
        if points.is_graph:
            raise InvalidType(
                "X is a graph of neighbours, and this method takes vectors or the distances of all pairs; use Llama."
            )
        similarity = points.similarity
        what, instead = f"OHC on {points.n} points", "use Llama, which needs linear memory, or fewer points."
        values = pair_matrix(points, what, instead, dtype=np.float64, bytes_a_pair=30)
        distance = values if similarity.kind == "distance" else values.max(initial=0.0) - values
        distance = np.maximum((distance + distance.T) / 2, 0.0)
        return _Growth(distance, self.merging, self.n_batches).run(report, str(similarity))


class _Growth:
    """The cover while pairs are linked, and the nodes made so far."""

    def __init__(self, distance: np.ndarray, merging: float, n_batches: int) -> None:
        n = len(distance)
        self._distance, self._merging = distance, merging
        pairs = np.sort(distance[np.triu_indices(n, 1)])
        ranks = np.unique(np.geomspace(1, max(len(pairs), 1), n_batches).astype(np.int64)) - 1
        self._levels = np.unique(pairs[ranks]) if len(pairs) else np.empty(0)
        self._cover = np.eye(n, dtype=np.float32)
        self._node = list(range(n))
        self._known = {row.tobytes(): i for i, row in enumerate(np.packbits(self._cover > 0, axis=1))}
        self._size = [1] * n
        self._height = [0.0] * n
        self._edges: list[tuple[int, int]] = []

    def run(self, report: Progress, metric: str) -> ClusterDag:
        n = len(self._distance)
        with report.stage("ohc", total=len(self._levels)) as advance:
            for level in self._levels.tolist():
                linked = (self._distance <= level).astype(np.float32)
                np.fill_diagonal(linked, 1.0)
                while len(self._cover) > 1 and self._unite(linked, level):
                    pass
                advance()
        if len(self._cover) > 1:
            root = self._node_of(np.ones(n, dtype=np.float32), float(self._levels[-1]))
            self._edges += [(v, root) for v in self._node if v != root]
        m = len(self._size)
        child, parent = np.array(self._edges, dtype=np.int64).reshape(-1, 2).T
        start, ids, order = numbered(child, parent, np.arange(m), np.array(self._size))
        height = np.array(self._height)[order]
        info = {"method": "ohc", "metric": metric, "merging": self._merging}
        return ClusterDag(start, ids, read_only(np.ascontiguousarray(height)), info=info)

    def _unite(self, linked: np.ndarray, level: float) -> bool:
        """Unites every cluster with its densest partner above the criterion; whether there was one."""
        cover = self._cover
        size = cover.sum(axis=1)
        rows = csr_array(cover)
        density = (rows @ (rows @ linked).T) / np.outer(size, size)
        np.fill_diagonal(density, -1.0)
        partner = density.argmax(axis=1)
        willing = np.flatnonzero(density[np.arange(len(cover)), partner] >= self._merging)
        if not len(willing):
            return False
        pairs = {(min(c, p), max(c, p)) for c, p in zip(willing.tolist(), partner[willing].tolist(), strict=True)}
        merged = {c for pair in pairs for c in pair}
        nodes = {self._node[c]: cover[c] for c in range(len(cover)) if c not in merged}
        for a, b in sorted(pairs):
            union = np.maximum(cover[a], cover[b])
            node = self._node_of(union, level)
            nodes[node] = union
            self._edges += [(self._node[c], node) for c in (a, b) if self._node[c] != node]
        self._node = list(nodes)
        self._cover = np.stack(list(nodes.values()))
        self._drop_inner()
        return True

    def _drop_inner(self) -> None:
        """Clusters inside others leave the cover, as children of the smallest of those."""
        size = self._cover.sum(axis=1)
        rows = csr_array(self._cover)
        inside = (rows @ rows.T).toarray() >= size[:, None]
        np.fill_diagonal(inside, False)
        for c in np.flatnonzero(inside.any(axis=1)).tolist():
            around = np.flatnonzero(inside[c])
            self._edges.append((self._node[c], self._node[int(around[size[around].argmin()])]))
        kept = np.flatnonzero(~inside.any(axis=1))
        self._node = [self._node[c] for c in kept.tolist()]
        self._cover = self._cover[kept]

    def _node_of(self, row: np.ndarray, level: float) -> int:
        key = np.packbits(row > 0).tobytes()
        if key not in self._known:
            self._known[key] = len(self._size)
            self._size.append(int(row.sum()))
            self._height.append(level)
        return self._known[key]
