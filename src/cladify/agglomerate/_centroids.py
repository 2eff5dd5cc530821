"""Rounds on vectors, without a graph: linkages that follow from the clusters' means, searched by matrix products.

Where a metric is an affine inner product (:class:`cladify.data.features.FeatureMap`), the average over all pairs of two
clusters is

.. math:: f(A, B) = \\text{shift} + \\bar o_A + \\bar o_B + \\text{scale}\\,\\langle \\bar z_A, \\bar z_B\\rangle,

and Ward's linkage is :math:`\\tfrac{|A||B|}{|A|+|B|}\\,\\|\\bar z_A - \\bar z_B\\|^2`. So every cluster is one row, and
all nearest neighbours of a round are blocks of one matrix product: O(n²k) time, O(nk) memory, no n × n matrix. As in
the graph's contraction, a cluster is searched again only where its neighbour has changed and its old similarity, an
upper bound by reducibility, reaches the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.parallel import map_blocks, row_blocks
from cladify.agglomerate._links import Scale
from cladify.data._frame import row_squares
from cladify.data._heights import HeightRule
from cladify.data._vectors import is_sparse
from cladify.data.points import Points
from cladify.errors import InvalidInput

__all__ = ["CentroidRounds", "VectorScale", "vector_rounds"]

_BLOCK = 1 << 21  # values of a block of similarities


@dataclass
class VectorScale(Scale):
    """The scale of vectors; Ward's similarity is minus the growth of the sum of squares, its height √(2·growth)."""

    core: CentroidRounds | None = None
    ward: bool = False

    def height(self, similarity: Any) -> np.ndarray:
        return np.sqrt(np.maximum(-2.0 * np.asarray(similarity), 0.0)) if self.ward else super().height(similarity)

    def convert(self, threshold: Any) -> np.ndarray:
        return -0.5 * np.asarray(threshold, dtype=np.float64) ** 2 if self.ward else super().convert(threshold)

    def quantiles(self, q: np.ndarray) -> np.ndarray:
        assert self.core is not None
        n = self.core.n_clusters
        some = self.core.values(np.arange(0, n, max(1, n * n >> 20)))
        return np.quantile(some[np.isfinite(some)], q) if n > 1 else np.zeros(len(q))


def vector_rounds(points: Points, linkage: str, n_jobs: int | None) -> tuple[CentroidRounds, VectorScale]:
    """The rounds of the points, which are rows or a matrix, and their scale."""
    similarity = points.similarity
    ward = linkage == "ward"
    if linkage not in ("average", "ward") or not similarity.exact_features:
        raise InvalidInput(
            f"linkage {linkage!r} with metric {str(similarity)!r} does not follow from means; without a graph use "
            "'average' with sqeuclidean, cosine or dot, or 'ward' with sqeuclidean; or set n_neighbors."
        )
    if ward and similarity.name not in ("sqeuclidean", "euclidean"):
        raise InvalidInput(f"linkage 'ward' needs metric 'sqeuclidean', got {str(similarity)!r}.")
    features = similarity.features(points.data)
    z = features.take(slice(None))
    z = z.toarray() if is_sparse(z) else z
    sign = -1.0 if similarity.kind == "distance" else 1.0
    shift, scale, offset = sign * features.shift, sign * features.scale, sign * features.offset
    square = row_squares(z)
    mass = np.ones(len(z)) if points.weight is None else points.weight
    core = CentroidRounds(z, square if ward else offset, (shift, scale), mass, ward, n_jobs)
    if ward:
        floor = -float(mass.sum()) * float(square.max())  # |A||B|/(|A|+|B|) is at most a quarter of all
    else:
        floor = shift + 2.0 * float(offset.min()) - abs(scale) * float(square.max())
    best = core.look_at_all()
    top = float(best.max()) if len(z) > 1 else 0.0
    distance = -best[best < 0] if sign < 0 or ward else np.empty(0)
    return core, VectorScale(
        kind=similarity.kind,
        ceiling=0.0 if sign < 0 else top,
        to_height=HeightRule(0.0, -1.0) if sign < 0 else similarity.to_height.from_top(top),
        top=top,
        floor=min(floor, top),
        nearest=float(distance.min(initial=-min(floor, 0.0))),
        info={"metric": str(similarity)},
        core=core,
        ward=ward,
    )


class CentroidRounds:
    """The state between two rounds: names, sizes, means, and every cluster's nearest neighbour at the last look."""

    def __init__(
        self,
        z: np.ndarray,
        offset: np.ndarray,
        form: tuple[float, float],
        mass: np.ndarray,
        ward: bool,
        n_jobs: int | None,
    ) -> None:
        n = len(z)
        self._z, self._offset, self._form, self._mass = z, offset, form, mass
        self._ward, self._n_jobs = ward, n_jobs
        self._name = np.arange(n)
        self._nearest = np.full(n, -1)  # place, not name
        self._best = np.full(n, np.inf)
        self._stale = np.ones(n, dtype=bool)
        self._rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    @property
    def n_clusters(self) -> int:
        return len(self._name)

    def look_at_all(self) -> np.ndarray:
        """Every point's similarity to its nearest neighbour."""
        if self.n_clusters > 1:
            self._look(np.arange(self.n_clusters))
        return self._best

    def round(self, threshold: float, pairs: bool, epsilon: float = 0.0) -> int:
        """One round; returns the number of merges."""
        look = np.flatnonzero(self._stale & (self._best >= threshold))
        if len(look):
            self._look(look)
        ready = np.flatnonzero(self._best >= threshold)
        other = self._nearest[ready]
        if pairs:
            mutual = (self._nearest[other] == ready) & (ready < other)
            if len(ready) and not mutual.any():  # a circle made by rounding: its strongest link is right in any case
                mutual = np.arange(len(ready)) == np.argmax(self._best[ready])
            ready, other = ready[mutual], other[mutual]
        if len(ready) == 0:
            return 0
        low, high = np.minimum(ready, other), np.maximum(ready, other)
        order = np.lexsort((high, low, -self._best[ready]))
        return self._merge(low[order], high[order], self._best[ready][order])

    def values(self, rows: np.ndarray | slice) -> np.ndarray:
        """Similarities between some clusters and all, −∞ to themselves; distances and Ward's with their sign turned."""
        product = self._z[rows] @ self._z.T
        if self._ward:
            norm = self._offset
            product *= -2.0
            product += norm[rows, None]
            product += norm
            np.maximum(product, 0.0, out=product)
            mass = self._mass[rows, None]
            product *= -(mass * self._mass) / (mass + self._mass)
        else:
            shift, scale = self._form
            product *= scale
            product += shift
            product += self._offset[rows, None]
            product += self._offset
        product[np.arange(len(product)), np.arange(self.n_clusters)[rows]] = -np.inf
        return product

    def _look(self, rows: np.ndarray) -> None:
        def work(part: slice) -> None:
            block = self.values(rows[part])
            nearest = np.argmax(block, axis=1)  # the first of equals: the smaller name
            self._nearest[rows[part]] = nearest
            self._best[rows[part]] = block[np.arange(len(block)), nearest]

        map_blocks(work, row_blocks(len(rows), max(1, _BLOCK // self.n_clusters)), n_jobs=self._n_jobs)
        self._stale[rows] = False

    def _merge(self, low: np.ndarray, high: np.ndarray, similarity: np.ndarray) -> int:
        n = self.n_clusters
        root = np.arange(n)

        def find(i: int) -> int:
            while root[i] != i:
                root[i] = root[root[i]]
                i = int(root[i])
            return i

        kept = []
        for i, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            a, b = find(a), find(b)
            if a != b:
                root[max(a, b)] = min(a, b)
                kept.append((min(a, b), max(a, b), i))
        left, right, which = np.array(kept).T
        self._rows.append((self._name[left], self._name[right], similarity[which]))

        while not np.array_equal(above := root[root], root):
            root = above
        alive = np.flatnonzero(root == np.arange(n))
        place = np.cumsum(root == np.arange(n)) - 1  # of the roots after this round
        group = place[root]
        merged = np.bincount(group) > 1
        mass = np.bincount(group, self._mass)
        z = self._z[alive]
        offset = self._offset[alive]
        grown = np.flatnonzero(merged[group])
        z[merged] = 0.0
        offset[merged] = 0.0
        np.add.at(z, group[grown], self._z[grown] * self._mass[grown, None])
        np.add.at(offset, group[grown], self._offset[grown] * self._mass[grown])
        z[merged] /= mass[merged, None]
        offset[merged] /= mass[merged]
        if self._ward:
            offset = row_squares(z)

        best = np.full(len(alive), -np.inf)
        np.maximum.at(best, group, self._best)
        nearest = self._nearest[alive]
        self._stale = self._stale[alive] | merged | np.where(nearest >= 0, merged[group[nearest]], True)
        self._nearest = np.where(nearest >= 0, group[nearest], -1)
        self._name, self._z, self._offset, self._mass, self._best = self._name[alive], z, offset, mass, best
        return len(kept)

    def finish(self, floor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All merges; the clusters that are left are joined at the similarity ``floor``, as one more round."""
        rows = list(self._rows)
        if left := self.n_clusters - 1:
            rows.append((np.full(left, self._name[0]), self._name[1:], np.full(left, floor)))
        columns = [np.concatenate([row[i] for row in rows] or [np.empty(0)]) for i in range(3)]
        round_ = np.repeat(np.arange(1, len(rows) + 1, dtype=np.int32), [len(row[0]) for row in rows])
        return columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2].astype(np.float64), round_
