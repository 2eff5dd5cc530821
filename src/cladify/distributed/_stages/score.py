"""Objectives, dendrogram purity and pairwise F1 by map and reduce: the values of the local engine, to rounding.

The tree goes to the tasks; the data stay in parts. Over vectors, a task takes some columns of all rows: the sums of one
column over all nodes are a single pass over the tree, and objectives need three numbers of them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.params import check_labels
from cladify.data._pairs import PairSums, check_kind, tree_arrays
from cladify.data._vectors import squared_norms
from cladify.data.features import FeatureMap
from cladify.data.similarity import Similarity, get_similarity
from cladify.distributed._edges import Part, even_offsets
from cladify.distributed._job import Job, Piece, Sent
from cladify.distributed.graph_parts import ShardedGraph
from cladify.distributed.sources import ShardedVectors
from cladify.errors import InvalidInput
from cladify.metrics._truth import Cover, labelled
from cladify.metrics.estimate import Estimate
from cladify.metrics.pairs import PairwiseF1, pairs_within
from cladify.objectives._objective import get_objective
from cladify.tree import Tree
from cladify.tree._either import check_tree

__all__ = ["dendrogram_purity", "objective_value", "pairwise_f1"]


def objective_value(
    tree: Tree, data: ShardedVectors | ShardedGraph, objective: str, job: Job, *, metric: Any = None
) -> float:
    """Dasgupta's cost, or the Moseley-Wang or CKMM value, of a tree over vectors or a graph in parts.

    Parameters
    ----------
    tree : Tree
        A task holds its arrays, about 60 bytes a leaf, and 12 a leaf and column.
    data : ShardedVectors or ShardedGraph
    objective : "dasgupta", "mw" or "ckmm"
    job : Job
    metric : "cosine", "dot" or "sqeuclidean"
        By default the objective's own.
    """
    chosen = get_objective(objective)
    check_tree(tree, data.n)
    if isinstance(data, ShardedGraph):
        check_kind("the weights of a neighbour graph", "similarity", chosen.kind, f"objective {objective!r}", "")
        sums = _of_graph(tree, data.symmetrize(), job)
    else:
        similarity = get_similarity(chosen.default_metric if metric is None else metric)
        check_kind(f"metric {str(similarity)!r}", similarity.kind, chosen.kind, f"objective {objective!r}", "")
        if not similarity.exact_features:
            raise InvalidInput(
                f"vectors in parts are scored under cosine, dot or sqeuclidean, got {str(similarity)!r}."
            )
        sums = _of_vectors(tree, data, similarity, job)
    return chosen.value(sums, float(data.n))


# --- vectors ----------------------------------------------------------------------------------------------------------


def _of_vectors(tree: Tree, vectors: ShardedVectors, similarity: Similarity, job: Job) -> PairSums:
    centre = np.zeros(vectors.d)
    if similarity.order == "distance":
        centre = np.sum(job.gather(job.compute(vectors.map(_sum))), axis=0) / vectors.n
        centre = centre.astype(np.float32).astype(np.float64)  # which float32 rows move by without rounding
    width = max(1, int((0.25 * job.memory - 60.0 * vectors.n) / (12 * vectors.n)))
    width = min(width, -(-vectors.d // job.n_workers))
    columns = even_offsets(vectors.d, -(-vectors.d // width))
    sent = job.compute(vectors.map(_by_column, similarity, centre, columns))
    shape = job.client.scatter((tree.parent, tree.size), broadcast=True, hash=False)
    squares = job.deliver(_squares, sent, len(columns) - 1, shape=shape)
    sums, scale = job.call(_flat, job.map(_note, sent), shape)
    return PairSums(*(sums + scale * np.sum(job.gather(squares), axis=0)))


def _sum(part: np.ndarray) -> np.ndarray:
    return part.sum(axis=0, dtype=np.float64)


def _by_column(part: np.ndarray, similarity: Similarity, centre: np.ndarray, columns: np.ndarray) -> Sent:
    """Some columns to each task; offsets, squared lengths, scale and shift for the part that needs no columns."""
    features = similarity.features(part)
    if features.centre is not None:
        features = replace(features, centre=centre, offset=squared_norms(part, centre))
    return Sent(None, [_columns(features, low, high) for low, high in pairwise(columns)], _rest(features))


def _columns(features: FeatureMap, low: int, high: int) -> Piece:
    rows = np.ascontiguousarray(features.rows[:, low:high])
    scale = np.ones(len(rows)) if features.row_scale is None else features.row_scale
    centre = np.zeros(high - low) if features.centre is None else features.centre[low:high]
    return rows, scale, centre


def _rest(features: FeatureMap) -> tuple[np.ndarray, np.ndarray, float, float]:
    length = squared_norms(features.rows, features.centre)
    if features.row_scale is not None:
        length = length * features.row_scale**2
    return features.offset, length, features.scale, features.shift


def _note(sent: Sent) -> Any:
    return sent.note


def _squares(pieces: list[Piece], *, shape: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The share of the products of some columns in the sums over pairs: total, lca and sides."""
    parent, size = shape
    above = parent[:-1]
    factor = size.astype(np.float64)
    factor[:-1] -= size[above]
    rows, scale = (np.concatenate([piece[i] for piece in pieces]) for i in (0, 1))
    centre = pieces[0][2]
    result = np.zeros(3)
    for column in range(rows.shape[1]):
        z = (rows[:, column] - centre[column]) * scale
        sums = np.asarray(_core.node_sums(parent, z))
        square = sums * sums
        result[0] += 0.5 * square[-1]
        result[1] += 0.5 * (factor @ square)
        result[2] += size[:-1] @ (sums[:-1] * sums[above] - square[:-1])
    return result


def _flat(
    notes: list[tuple[np.ndarray, np.ndarray, float, float]], shape: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, float]:
    """The share of shift, offsets and products of points with themselves in these sums; the scale of products."""
    parent, size = shape
    above = parent[:-1]
    offset = np.asarray(_core.node_sums(parent, np.concatenate([note[0] for note in notes])))
    own = np.asarray(_core.node_sums(parent, np.concatenate([note[1] for note in notes])))
    scale, shift = notes[0][2:]
    n = size.astype(np.float64)
    within = 0.5 * shift * n * (n - 1.0) + (n - 1.0) * offset - 0.5 * scale * own
    factor = n.copy()
    factor[:-1] -= n[above]
    rest = n[above] - n[:-1]
    between = shift * n[:-1] * rest + n[:-1] * (offset[above] - offset[:-1]) + rest * offset[:-1]
    return np.array([within[-1], factor @ within, n[:-1] @ between]), scale


# --- graphs -----------------------------------------------------------------------------------------------------------


def _of_graph(tree: Tree, graph: ShardedGraph, job: Job) -> PairSums:
    from dask import delayed

    tree.lca(0, 0)  # prepared once, here
    shared = job.client.scatter(tree, broadcast=True, hash=False)
    to_height = graph.assemble([(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]).to_height
    about = None if graph.values == "weight" else to_height
    tasks = [
        delayed(_edge_sums)(part, int(low), shared, about)
        for part, low in zip(graph.parts, graph.offsets, strict=False)
    ]
    return sum(job.gather(job.compute(tasks)), PairSums(0.0, 0.0, 0.0))


def _edge_sums(part: Part, low: int, tree: Tree, to_height: Any) -> PairSums:
    indptr, columns, value = part
    rows = np.repeat(np.arange(low, low + len(indptr) - 1), np.diff(indptr))
    weight = value if to_height is None else to_height.value(value.astype(np.float64)).astype(value.dtype)
    once = (rows < columns) & (weight != 0)
    if (weight < 0).any():
        raise InvalidInput(f"Weights must not be negative, got {weight.min():.6g} (the graph).")
    u, v, weight = rows[once], columns[once], np.ascontiguousarray(weight[once])
    mass = tree.size.astype(np.float64)
    return PairSums(*_core.edge_pair_sums(*tree_arrays(tree), tree.first, mass, u, v, tree.lca(u, v), weight))


# --- labels -----------------------------------------------------------------------------------------------------------


def dendrogram_purity(tree: Tree, y: Any, job: Job) -> Estimate:
    """:func:`cladify.metrics.dendrogram_purity`, exact: every task takes the pairs of some classes."""
    tree, codes = labelled(tree, y)
    size = np.bincount(codes)
    pairs = size * (size - 1) // 2
    if not pairs.any():
        raise InvalidInput("Dendrogram purity looks at pairs of leaves with equal labels, and y has none.")
    tasks = min(len(size), 2 * job.n_workers)
    # Classes in runs of about as many points.
    cuts = np.searchsorted(np.cumsum(size), np.arange(1, tasks) * len(codes) / tasks)
    cuts = np.concatenate([[0], cuts, [len(size)]])
    tree.lca(0, 0)
    shared = job.client.scatter((tree, codes), broadcast=True, hash=False)
    sums = [job.submit(_purity, shared, int(a), int(b)) for a, b in pairwise(cuts) if a < b]
    return Estimate(np.concatenate(job.gather(sums)).sum() / pairs.sum())


def _purity(shared: tuple[Tree, np.ndarray], low: int, high: int) -> np.ndarray:
    tree, codes = shared
    some = (codes >= low) & (codes < high)
    cover = Cover.of_codes(np.where(some, codes - low, -1))
    return np.asarray(cover.on(tree).purity_sums(tree._lca, tree.size, 1))


def pairwise_f1(labels: Any, y: Any, job: Job, *, n_parts: int | None = None) -> PairwiseF1:
    """:func:`cladify.metrics.pairwise_f1`: every task counts the cells of some points."""
    labels = np.asarray(labels)
    clusters = check_labels(labels, len(labels), name="labels")
    codes = check_labels(y, len(labels))
    width = int(codes.max(initial=-1)) + 1
    cuts = even_offsets(len(labels), n_parts or 2 * job.n_workers)
    parts = [job.submit(_cells, clusters[a:b], codes[a:b], width) for a, b in pairwise(cuts.tolist())]
    found: PairwiseF1 = job.call(_counted, parts, width)
    return found


def _cells(clusters: np.ndarray, codes: np.ndarray, width: int) -> tuple[np.ndarray, ...]:
    kept = codes >= 0
    together = kept & (clusters >= 0)
    cells, count = np.unique(clusters[together] * width + codes[together], return_counts=True)
    return cells, count, np.bincount(codes[kept], minlength=width)


def _counted(parts: list[tuple[np.ndarray, ...]], width: int) -> PairwiseF1:
    cells, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    both = np.bincount(place, np.concatenate([part[1] for part in parts]), minlength=len(cells)).astype(np.int64)
    cluster = np.bincount(cells // max(width, 1), both).astype(np.int64)
    return PairwiseF1.of_counts(
        pairs_within(both), pairs_within(cluster), pairs_within(np.sum([part[2] for part in parts], axis=0))
    )
