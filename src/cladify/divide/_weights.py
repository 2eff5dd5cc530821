"""The weights that splits are valued by, in the form the native code takes them: features, a graph or a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import row_blocks
from cladify._kit.progress import Progress
from cladify.agglomerate._links import point_links
from cladify.data._heights import HeightRule
from cladify.data._pairs import pair_features, pair_matrix
from cladify.data._vectors import is_sparse, squared_norms
from cladify.data.features import FeatureMap
from cladify.data.points import Points
from cladify.divide._rows import shuffled_features
from cladify.errors import InvalidInput

__all__ = ["Weights", "find_weights"]

_SKETCH = 1024  # columns that random binning features are hashed to


@dataclass
class Weights:
    """Weights between n points in a random order.

    Attributes
    ----------
    n_points : int
    sign : 1.0 or -1.0
        Distances or similarities.
    to_height : HeightRule
        The height of a mean weight.
    run : callable
        ``run(parameters, threads, on_leaves)`` splits them: parents, heights, and ``inside`` as it was used.
    info : dict
        For the tree's info.
    """

    n_points: int
    sign: float
    to_height: HeightRule
    run: Callable[[Any, int, Callable[[int], None]], tuple[np.ndarray, np.ndarray, float]]
    info: dict[str, Any] = field(default_factory=dict)


def find_weights(points: Points, random: np.random.Generator, *, n_jobs: int | None, report: Progress) -> Weights:
    """The weights of vectors, of a graph or of a matrix."""
    if points.is_graph:
        return _graph_weights(points, random, n_jobs, report)
    if points.similarity.has_features:
        return _feature_weights(points, random, n_jobs)
    return _matrix_weights(points, random, n_jobs, report)


def _feature_weights(points: Points, random: np.random.Generator, n_jobs: int | None) -> Weights:
    features, rule, _ = pair_features(points, random)
    if is_sparse(features.rows) and not features.exact:
        features = _sketch(features, random)
    order = random.permutation(features.shape[0])
    z = shuffled_features(features, order, n_jobs)
    offset, shift = features.offset[order], features.shift
    if rule.is_open:
        rule = rule.from_top(float(squared_norms(z).max()) * features.scale)
    if points.kind == "similarity":
        # Rows that share a direction, as embeddings do, differ more clearly about their mean.
        mean = z.mean(axis=0, dtype=np.float64).astype(np.float32)
        z -= mean
        offset = offset + features.scale * (z @ mean)
        shift = shift + features.scale * float(mean.astype(np.float64) @ mean)

    def run(parameters: Any, threads: int, on_leaves: Any) -> tuple[np.ndarray, np.ndarray, float]:
        return _core.bisect_features(z, order, offset, features.scale, shift, parameters, threads, on_leaves)

    info: dict[str, Any] = {"weights": "features" if features.exact else "random features"}
    if not features.exact:
        info["approximations"] = ["random features"]
    return Weights(len(order), _sign(points), rule, run, info)


def _sketch(features: FeatureMap, random: np.random.Generator) -> FeatureMap:
    """Sparse random features hashed to a few dense columns with random signs: the products stay right on average."""
    from scipy.sparse import csr_array

    n, k = features.shape
    column = random.integers(_SKETCH, size=k)
    sign = random.choice(np.array([-1.0, 1.0], dtype=np.float32), size=k)
    hashing = csr_array((sign, column, np.arange(k + 1)), shape=(k, _SKETCH))
    rows = np.empty((n, _SKETCH), dtype=np.float32)
    for block in row_blocks(n, 4096):
        rows[block] = (features.rows[block] @ hashing).toarray()
    return FeatureMap(rows, features.offset, features.scale, features.shift, exact=False)


def _matrix_weights(points: Points, random: np.random.Generator, n_jobs: int | None, report: Progress) -> Weights:
    n = points.n
    order = random.permutation(n)
    weight = pair_matrix(
        points,
        f"BisectConquer with metric {points.metric!r} on {n} points",
        "use a metric with a feature map (cosine, dot, sqeuclidean, rbf, laplacian) or a graph (cladify.neighbors).",
        order=order,
        n_jobs=n_jobs,
        report=report,
    )

    def run(parameters: Any, threads: int, on_leaves: Any) -> tuple[np.ndarray, np.ndarray, float]:
        return _core.bisect_matrix(weight, order, parameters, threads, on_leaves)

    return Weights(n, _sign(points), points.heights.from_top(float(weight.max())), run, {"weights": "matrix"})


def _graph_weights(points: Points, random: np.random.Generator, n_jobs: int | None, report: Progress) -> Weights:
    links = point_links(points, 0, n_jobs=n_jobs, report=report)
    n = links.n_points
    order = random.permutation(n)
    indptr, indices, value = links.take()
    wide = links.shift + links.scale * value
    if (largest := float(np.abs(wide).max(initial=0.0))) > float(np.finfo(np.float32).max):
        raise InvalidInput(f"values of pairs of up to {largest:.1e} are too large; divide the data first.")
    weight = wide.astype(np.float32)

    def run(parameters: Any, threads: int, on_leaves: Any) -> tuple[np.ndarray, np.ndarray, float]:
        return _core.bisect_graph(indptr, indices.copy(), weight, order, parameters, threads, on_leaves)

    return Weights(n, -1.0, links.to_height, run, {**links.info, "weights": "graph"})


def _sign(points: Points) -> float:
    return 1.0 if points.kind == "distance" else -1.0
