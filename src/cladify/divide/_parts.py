"""Parts of the data by their weights: a graph, the features of its points or, when small, a dense matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cladify._kit.parallel import map_blocks, row_blocks
from cladify.data._heights import HeightRule
from cladify.data._pairs import pair_features, pair_matrix
from cladify.data._vectors import is_sparse
from cladify.data.features import FeatureMap
from cladify.data.graph import NeighborGraph
from cladify.data.points import Points

__all__ = ["DensePart", "FeaturePart", "GraphPart", "Part", "find_part"]

_DENSE = 128  # points of a part that is solved densely
_BLOCK = 1 << 16  # rows of running sums held at a time
_VALUES = 1 << 20  # entries of a rearranged matrix held at a time
_APART = 1e-9  # a second eigenvalue this near to the first: the part may fall into components


class Part(ABC):
    """Weights W between some points, none of a point with itself; a point may stand for ``mass`` points."""

    size: int
    mass: np.ndarray

    @abstractmethod
    def product(self, x: np.ndarray) -> np.ndarray:
        """W x."""

    @abstractmethod
    def before(self, order: np.ndarray) -> np.ndarray:
        """The similarity of each point, in this order, to all points before it together."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> Part:
        """The part of the rows that are True."""

    @abstractmethod
    def smallest(self) -> float:
        """The smallest weight, as far as it can be had without looking at all pairs."""

    @abstractmethod
    def components(self) -> np.ndarray:
        """Component of each point: points that no similarity above 0 links are in different ones."""

    def small(self) -> Part:
        """The same part, as a matrix if it is small enough for one."""
        return self.take(np.ones(self.size, dtype=bool)) if self.size <= _DENSE else self

    def second(self, root: np.ndarray, random: np.random.Generator) -> tuple[float, np.ndarray]:
        """The second largest eigenvalue of D^-½ W D^-½ and its vector; ``root`` is D^½ 1."""
        return _lanczos(self, root, random)

    def cut(self, random: np.random.Generator) -> tuple[np.ndarray, float]:
        """Which points go to the first side, and the mean similarity between the two sides."""
        if self.size == 2:
            return np.array([True, False]), float(self.before(np.arange(2))[1]) / float(self.mass.prod())
        degree = self.product(np.ones(self.size))
        order = None
        if degree.min() > 0:
            root = np.sqrt(degree)
            value, vector = self.second(root, random)
            order = np.argsort(vector / root, kind="stable")
            if value < 1.0 - _APART:
                return self._sweep(order, degree)
        component = self.components()
        if order is not None and component.max() == 0:
            return self._sweep(order, degree)
        return _halves(component), 0.0

    def _sweep(self, order: np.ndarray, degree: np.ndarray) -> tuple[np.ndarray, float]:
        """The best normalised cut among those that follow the order."""
        inner = self.before(order)
        volume = np.cumsum(degree[order])
        crossing = np.maximum(np.cumsum(degree[order] - 2.0 * inner)[:-1], 0.0)
        rest = np.maximum(volume[-1] - volume[:-1], np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            first = int(np.argmin(crossing / volume[:-1] + crossing / rest)) + 1
        left = np.zeros(self.size, dtype=bool)
        left[order[:first]] = True
        return left, float(crossing[first - 1] / (self.mass[left].sum() * self.mass[~left].sum()))


@dataclass
class DensePart(Part):
    """A matrix of the weights between points, times their masses."""

    W: np.ndarray
    mass: np.ndarray

    def __post_init__(self) -> None:
        self.size = len(self.W)

    @classmethod
    def of(cls, W: np.ndarray, mass: np.ndarray) -> DensePart:
        """From the weights between single points, in whose place they are scaled."""
        W *= mass[:, None]
        W *= mass[None, :]
        np.fill_diagonal(W, 0.0)
        return cls(W, mass)

    def product(self, x: np.ndarray) -> np.ndarray:
        return self.W @ x

    def before(self, order: np.ndarray) -> np.ndarray:
        result = np.empty(self.size)
        for rows in row_blocks(self.size, max(1, _VALUES // self.size)):
            result[rows] = np.tril(self.W[np.ix_(order[rows], order)], rows.start - 1).sum(axis=1)
        return result

    def take(self, rows: np.ndarray) -> Part:
        return DensePart(self.W[np.ix_(rows, rows)], self.mass[rows])

    def smallest(self) -> float:
        return float(self.W.min(initial=0.0))

    def components(self) -> np.ndarray:
        from scipy.sparse import csr_array

        return _components(csr_array(self.W))

    def second(self, root: np.ndarray, random: np.random.Generator) -> tuple[float, np.ndarray]:
        if self.size > 4 * _DENSE:
            return super().second(root, random)
        value, vector = np.linalg.eigh(self.W / root[:, None] / root[None, :])
        return float(value[-2]), vector[:, -2]


@dataclass
class GraphPart(Part):
    """A sparse symmetric matrix of the weights between points, times their masses."""

    W: Any
    mass: np.ndarray

    def __post_init__(self) -> None:
        self.size = int(self.W.shape[0])

    @classmethod
    def of(cls, graph: NeighborGraph, mass: np.ndarray) -> GraphPart:
        from scipy.sparse import diags_array

        scale = diags_array(mass)
        return cls((scale @ graph.symmetrize().to_scipy().astype(np.float64) @ scale).tocsr(), mass)

    def product(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.W @ x)

    def before(self, order: np.ndarray) -> np.ndarray:
        place = np.empty(self.size, dtype=np.int64)
        place[order] = np.arange(self.size)
        coo = self.W.tocoo()
        earlier = place[coo.col] < place[coo.row]
        return np.bincount(place[coo.row[earlier]], coo.data[earlier], minlength=self.size)

    def take(self, rows: np.ndarray) -> Part:
        index = np.flatnonzero(rows)
        W = self.W[index][:, index]
        mass = self.mass[index]
        return DensePart(W.toarray(), mass) if len(index) <= _DENSE else GraphPart(W, mass)

    def smallest(self) -> float:
        return float(self.W.data.min(initial=0.0))

    def components(self) -> np.ndarray:
        return _components(self.W)


@dataclass
class FeaturePart(Part):
    """Weights ``shift + offset_i + offset_j + scale <z_i, z_j>``, times the masses of i and j."""

    z: np.ndarray
    offset: np.ndarray
    scale: float
    shift: float
    mass: np.ndarray
    n_jobs: int | None = -1

    def __post_init__(self) -> None:
        self.size = len(self.z)

    @classmethod
    def of(cls, features: FeatureMap, mass: np.ndarray, n_jobs: int | None = -1) -> FeaturePart:
        return cls(features.z, features.offset, features.scale, features.shift, mass, n_jobs)

    @cached_property
    def self_weight(self) -> np.ndarray:
        """The weight of a point with itself by the formula."""
        square = np.einsum("ij,ij->i", self.z, self.z, dtype=np.float64)
        return self.shift + 2.0 * self.offset + self.scale * square

    def product(self, x: np.ndarray) -> np.ndarray:
        x = self.mass * x
        narrow = x.astype(np.float32)
        total = np.sum(self._by_blocks(lambda rows: narrow[rows] @ self.z[rows]), axis=0)
        inner = np.concatenate(self._by_blocks(lambda rows: self.z[rows] @ total))
        flat = (self.shift + self.offset) * x.sum() + self.offset @ x
        return self.mass * (flat + self.scale * inner.astype(np.float64) - self.self_weight * x)

    def _by_blocks(self, work: Callable[[slice], np.ndarray]) -> list[np.ndarray]:
        """Blocks are the same for any number of threads, and so are their sums."""
        blocks = row_blocks(self.size, _BLOCK)
        return map_blocks(work, blocks, n_jobs=self.n_jobs if len(blocks) > 1 else 1)

    def before(self, order: np.ndarray) -> np.ndarray:
        mass, offset = self.mass[order], self.offset[order]
        count, total = np.cumsum(mass) - mass, np.cumsum(mass * offset) - mass * offset
        result = count * (self.shift + offset) + total
        above = np.zeros(self.z.shape[1])
        for start in range(0, self.size, _BLOCK):
            rows = slice(start, start + _BLOCK)
            z = self.z[order[rows]].astype(np.float64)
            weighted = mass[rows, None] * z
            running = np.cumsum(weighted, axis=0) - weighted + above
            result[rows] += self.scale * np.einsum("ij,ij->i", z, running)
            above += weighted.sum(axis=0)
        return mass * result

    def take(self, rows: np.ndarray) -> Part:
        part = FeaturePart(self.z[rows], self.offset[rows], self.scale, self.shift, self.mass[rows], self.n_jobs)
        return part if part.size > _DENSE else part.dense()

    def dense(self) -> DensePart:
        """Small parts as a matrix; random features may give pairs that are far apart a little less than 0."""
        W = self.scale * (self.z @ self.z.T).astype(np.float64)
        W += self.shift + self.offset[:, None] + self.offset[None, :]
        return DensePart.of(np.maximum(W, 0.0, out=W), self.mass)

    def smallest(self) -> float:
        return 0.0

    def components(self) -> np.ndarray:
        """Points with a degree are taken to be linked; the others have no one."""
        degree = self.product(np.ones(self.size))
        alone = np.flatnonzero(degree <= 0)
        label = np.zeros(self.size, dtype=np.int64)
        label[alone] = np.arange(1, len(alone) + 1)
        return label


def _lanczos(part: Part, root: np.ndarray, random: np.random.Generator) -> tuple[float, np.ndarray]:
    """Lanczos' method on D^-½ W D^-½ without its first eigenvector, which is known: D^½ 1."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    top = root / np.linalg.norm(root)

    def apply(x: np.ndarray) -> np.ndarray:
        x = x.ravel()
        y = part.product((x - top * (top @ x)) / root) / root
        return np.asarray(y - top * (top @ y))

    operator = LinearOperator((part.size, part.size), matvec=apply, dtype=np.float64)
    start = random.standard_normal(part.size)
    try:
        value, vector = eigsh(operator, k=1, which="LA", v0=start, tol=1e-4, ncv=min(part.size - 1, 24), maxiter=100)
    except ArpackNoConvergence:  # many eigenvalues near each other: any mix of their vectors is as good a cut
        x = start
        for _ in range(50):
            x = apply(x) + x
            x /= np.linalg.norm(x)
        return float(x @ apply(x)), x
    return float(value[0]), vector[:, 0]


def _components(W: Any) -> np.ndarray:
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(W > 0, directed=False)[1])


def _halves(component: np.ndarray) -> np.ndarray:
    """Components dealt to two sides, the largest first and always to the smaller side."""
    size = np.bincount(component)
    order = np.argsort(-size, kind="stable")
    left = np.zeros(len(size), dtype=bool)
    first = second = 0
    for c in order:
        if first <= second:
            left[c] = True
            first += size[c]
        else:
            second += size[c]
    return left[component]


def find_part(
    points: Points, random: np.random.Generator, *, weighted: bool = True, n_jobs: int | None = -1
) -> tuple[Part, HeightRule, float]:
    """All points as one part, the height of a mean weight, and the unit of the weights."""
    n = points.n
    mass = np.ones(n) if points.weight is None or not weighted else points.weight
    if points.is_graph:
        graph: NeighborGraph = points.data
        if graph.kind == "distance":  # the largest one, at which all pairs without an edge count
            rule = HeightRule(float(graph.distances().max(initial=0.0)), 0.0)
        else:
            rule = graph.to_height.from_top(float(graph.weight.max(initial=0.0)))
        return GraphPart.of(graph, mass), rule, 1.0
    if points.similarity.has_features:
        features, rule, unit = pair_features(points, random)
        if not is_sparse(features.rows):
            return FeaturePart.of(features, mass, n_jobs), rule, unit
    # The matrix, and once more as much for the two sides that it is cut into.
    what, instead = f"metric {points.metric!r} on {n} points", "use cosine, dot, sqeuclidean or rbf."
    matrix = pair_matrix(points, what, instead, dtype=np.float64, bytes_a_pair=16, n_jobs=n_jobs)
    return DensePart.of(matrix, mass), points.heights, 1.0
