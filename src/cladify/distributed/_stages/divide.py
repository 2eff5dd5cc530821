"""BisectConquer and BisectingKMeans over vectors in parts: the top levels by feature sums, whole parts below.

The local estimator splits a sample; the nodes of its tree that stand for more rows than a worker takes are the top.
At each of them a row goes to one side or the other by a product with the difference of the sides' means, so that all
rows find their place in one pass; k-means repeats the pass with the means of all rows until hardly any row moves. Where
the top of a bisection is a trunk of outliers, which leaves nearly all rows together, k-means makes the top. Workers
exchange sums of features, one a node. The rows below each leaf of the top then go to one worker, where the
local estimator builds their tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from cladify import _core
from cladify._estimator import TreeEstimator
from cladify._kit.parallel import row_blocks
from cladify._kit.params import check_random_state
from cladify.data._frame import row_squares
from cladify.data._vectors import squared_norms
from cladify.data.features import FeatureMap
from cladify.data.similarity import Similarity, get_similarity
from cladify.distributed._job import Job, Piece, Sent, split
from cladify.distributed._stages.assemble import Below, put_together
from cladify.distributed.sources import ShardedVectors
from cladify.divide.kmeans import BisectingKMeans
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["divide_tree"]

_SAMPLE = 1 << 14  # rows of the sample
_NODES = 512  # of the top, at most
_PASSES = 10  # of k-means over all rows, at most
_MOVED = 1e-3  # share of the rows; fewer that move end the passes
_FAN_IN = 16  # sums that one task adds up
_BLOCK = 1 << 14  # rows looked at together


def divide_tree(
    vectors: ShardedVectors,
    estimator: TreeEstimator,
    job: Job,
    *,
    most: int | None = None,
) -> Tree:
    """The tree of BisectConquer or BisectingKMeans over vectors in parts.

    Parameters
    ----------
    vectors : ShardedVectors
    estimator : BisectConquer or BisectingKMeans
        The metric is "cosine" or "sqeuclidean" (k-means: also "euclidean").
    job : Job
    most : int, optional
        Rows that one worker takes; by default those that fill an eighth of a task's memory. Where there are no more,
        one worker runs the local estimator.
    """
    if most is None:
        most = max(int(job.memory / 8 / (4 * vectors.d + 64)), 1)
    model = clone(estimator).set_params(n_clusters=None, distance_threshold=None)
    n, parts = vectors.n, vectors.parts
    if n <= most:
        tree: Tree = job.call(_fit, job.compute(list(parts)), model)
        tree.info["distributed"] = {"n_parts": len(parts), "top_leaves": 1, "passes": 0, "bytes_shuffled": []}
        return tree
    metric = estimator.metric
    is_kmeans = isinstance(estimator, BisectingKMeans)
    similarity = get_similarity("sqeuclidean" if metric == "euclidean" and is_kmeans else metric)
    if not similarity.exact_features or similarity.order == "product":
        raise InvalidInput(f"vectors in parts are split under cosine or sqeuclidean, got {str(similarity)!r}.")
    division = _Division(vectors, model, similarity, job, most)
    with job.report.stage("divide", total=2) as advance:
        division.find_top()
        advance()
        tree, info = division.build()
        advance()
    tree.info.update(info)
    return tree


@dataclass(frozen=True)
class _Top:
    """The top of the tree: children of its inner nodes, leaves as −1 − number, and where a row goes at each.

    A row with features z goes left where ``z @ direction[v] > level[v]``. ``centre`` is subtracted from rows. With
    ``by_means``, that is to the nearer mean.
    """

    left: np.ndarray
    right: np.ndarray
    direction: np.ndarray
    level: np.ndarray
    centre: np.ndarray
    similarity: Similarity
    by_means: bool

    @property
    def n_leaves(self) -> int:
        return len(self.left) + 1

    def features(self, rows: np.ndarray) -> FeatureMap:
        features = self.similarity.features(rows)
        if features.centre is None:
            return features
        return replace(features, centre=self.centre, offset=squared_norms(rows, self.centre))

    def leaf_of(self, z: np.ndarray) -> np.ndarray:
        """The leaf that each row comes to."""
        found = np.empty(len(z), dtype=np.int32)
        for rows in row_blocks(len(z), _BLOCK):
            goes_left = z[rows] @ self.direction.T > self.level
            at, every = np.zeros(len(goes_left), dtype=np.int64), np.arange(len(goes_left))
            while (at >= 0).any():
                inner = np.flatnonzero(at >= 0)
                here = at[inner]
                at[inner] = np.where(goes_left[every[inner], here], self.left[here], self.right[here])
            found[rows] = -1 - at
        return found

    def node_sums(self, leaf_sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the left and the right side of every inner node, from those of the leaves."""
        left, right = np.zeros((2, len(self.left), leaf_sums.shape[1]))
        total = np.zeros_like(left)
        for v in range(len(self.left) - 1, -1, -1):  # children have larger numbers
            for child, side in ((self.left[v], left), (self.right[v], right)):
                side[v] = total[child] if child >= 0 else leaf_sums[-1 - child]
            total[v] = left[v] + right[v]
        return left, right


class _Division:
    """The passes over all rows that divide them among the leaves of a top."""

    def __init__(
        self, vectors: ShardedVectors, model: TreeEstimator, similarity: Similarity, job: Job, most: int
    ) -> None:
        self.vectors, self.model, self.similarity, self.job, self.most = vectors, model, similarity, job, most
        self.is_kmeans = isinstance(model, BisectingKMeans)

    def find_top(self) -> None:
        """The top from a sample, and the leaf of it that each row comes to."""
        vectors, job, n = self.vectors, self.job, self.vectors.n
        rng = check_random_state(self.model.random_state)
        some = np.sort(rng.choice(n, size=min(n, _SAMPLE), replace=False))
        sample = job.compute(vectors.take(some))
        self.top: _Top = job.call(_make_top, sample, self.model, self.similarity, self.most / n)
        self.placed: list[Any] = [None] * len(vectors.parts)
        self.passes = 0
        while True:
            moved = self._pass()
            self.passes += 1
            if not self.top.by_means or moved <= _MOVED * n or self.passes == _PASSES:
                return
            self.top = _nearer_means(self.top, self.sums)

    def _pass(self) -> int:
        """Assigns all rows to leaves and adds up the features of every leaf; gives the number of rows reassigned."""
        from dask import delayed

        job, top = self.job, self.job.submit(_same, self.top)
        pairs = zip(self.vectors.parts, self.placed, strict=True)
        self.placed = list(job.compute([delayed(_place, pure=False)(part, top, old) for part, old in pairs]))
        sums = job.map(_sums_of, self.placed)
        while len(sums) > 1:
            sums = [job.submit(_add, sums[i : i + _FAN_IN]) for i in range(0, len(sums), _FAN_IN)]
        self.sums: np.ndarray = sums[0].result()
        return sum(job.gather(job.map(_moved, self.placed)))

    def build(self) -> tuple[Tree, dict[str, Any]]:
        """The trees below the leaves, and all of it together."""
        from dask import delayed

        job, vectors = self.job, self.vectors
        count = self.sums[:, 0].astype(np.int64)
        task = _runs(count, self.most)
        n_tasks = int(task.max()) + 1
        number = np.cumsum(count > 0) - 1  # of the leaves that have rows
        rows = zip(vectors.parts, self.placed, vectors.offsets.tolist(), strict=False)
        sent = job.compute([delayed(_by_task, pure=False)(*each, task, number, n_tasks) for each in rows])
        before = job.bytes
        below = job.gather(job.deliver(_grow, sent, n_tasks, model=self.model))
        job.notes()
        upper = self._upper().prune(count > 0)
        tree = put_together(vectors.n, below, upper.parent, upper.height)
        tree = Tree(tree.parent, np.asarray(_core.tree_largest_heights(tree.parent, tree.height, vectors.n)))
        figures: dict[str, Any] = {
            "n_parts": len(vectors.parts),
            "top_leaves": upper.n_leaves,
            "largest_leaf": int(count.max()),
        }
        figures |= {"passes": self.passes, "sample": min(_SAMPLE, vectors.n)}
        figures["top"] = "kmeans" if self.top.by_means else "bisect"
        figures["bytes_shuffled"] = [self.sums.nbytes * len(vectors.parts)] * self.passes + [job.bytes - before]
        method = {"method": "kmeans", "height": "inertia"} if self.is_kmeans else {"method": "bisect"}
        return tree, {**method, "distributed": figures, "approximations": ["top levels from a sample"]}

    def _upper(self) -> Tree:
        """The top as a tree over all its leaves."""
        top, t = self.top, len(self.top.left)
        parent = np.full(2 * t + 1, -1, dtype=np.int64)
        node = 2 * t - np.arange(t)  # children have larger numbers than their parents, and come first in a tree
        for child in (top.left, top.right):
            parent[np.where(child >= 0, node[np.maximum(child, 0)], -1 - child)] = node
        height = np.zeros(2 * t + 1)
        with np.errstate(divide="ignore", invalid="ignore"):  # sides without rows, which vanish
            height[node] = np.nan_to_num(self._heights(*top.node_sums(self.sums)))
        return Tree(parent, height)

    def _heights(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """As the local estimators have them: inertia, or the height of the mean weight between the sides."""
        if self.is_kmeans:
            both = left + right
            length = np.einsum("ij,ij->i", both[:, 3:], both[:, 3:])
            if self.similarity.order == "angle":
                return np.maximum(both[:, 0] - np.sqrt(length), 0.0)
            return np.maximum(both[:, 2] - length / both[:, 0], 0.0)
        one = self.top.features(np.ones((1, self.vectors.d), dtype=np.float32))
        mean = one.shift + left[:, 1] / left[:, 0] + right[:, 1] / right[:, 0]
        mean += one.scale * np.einsum("ij,ij->i", left[:, 3:], right[:, 3:]) / (left[:, 0] * right[:, 0])
        return np.maximum(self.similarity.to_height(mean), 0.0)


def _runs(count: np.ndarray, most: int) -> np.ndarray:
    """The task of each leaf that has rows, -1 for others: runs of leaves that one worker takes."""
    task = np.full(len(count), -1)
    room, run = 0, -1
    for leaf in np.flatnonzero(count):
        if run < 0 or count[leaf] > room:
            room, run = most, run + 1
        task[leaf] = run
        room -= int(count[leaf])
    return task


# --- the top ----------------------------------------------------------------------------------------------------------


def _make_top(sample: np.ndarray, model: TreeEstimator, similarity: Similarity, share: float) -> _Top:
    """The upper nodes of the tree of a sample, and where they send rows."""
    size = max(1.0, share * len(sample))
    by_means = isinstance(model, BisectingKMeans)
    tree, upper = _sample_tree(model, sample, size)
    if not by_means and upper.largest > 2.0 * size:
        by_means = True
        tree, upper = _sample_tree(BisectingKMeans(metric=str(similarity), random_state=0), sample, size)
    centre = np.zeros(sample.shape[1])
    if similarity.order == "distance":
        centre = sample.mean(axis=0, dtype=np.float64).astype(np.float32).astype(np.float64)
    direction, level = np.zeros((len(upper.nodes), sample.shape[1])), np.zeros(len(upper.nodes))
    top = _Top(upper.left, upper.right, direction, level, centre, similarity, by_means)
    z = top.features(sample).z.astype(np.float64)
    for i, v in enumerate(upper.nodes):
        sides = [z[tree.members(child)] for child in tree.children(v)]
        direction[i], level[i] = _between(sides[0].mean(axis=0), sides[1].mean(axis=0), similarity)
        if not by_means:
            # The sample's sides need not be those of the nearer means: as many of its rows go left.
            score = np.sort(np.concatenate(sides) @ direction[i])[::-1]
            level[i] = score[len(sides[0]) - 1 : len(sides[0]) + 1].mean()
    return replace(top, direction=direction.astype(np.float32), level=level)


class _Upper(NamedTuple):
    """Nodes of a tree, the largest first; their children among them, or −1 − the number of a leaf; its largest leaf."""

    nodes: list[int]
    left: np.ndarray
    right: np.ndarray
    largest: int


def _sample_tree(model: TreeEstimator, sample: np.ndarray, size: float) -> tuple[Tree, _Upper]:
    tree = clone(model).fit(sample).tree_
    tree = tree if tree.is_binary else tree.binarize(0)
    return tree, _upper_nodes(tree, size)


def _upper_nodes(tree: Tree, size: float) -> _Upper:
    """Nodes of more than ``size`` leaves, as far as there are not too many."""
    inner = np.flatnonzero((tree.size > size) & (np.arange(tree.n_nodes) >= tree.n_leaves))
    nodes = inner[np.lexsort((-inner, -tree.size[inner]))][:_NODES].tolist() or [tree.n_nodes - 1]
    place = {v: i for i, v in enumerate(nodes)}
    leaves: list[int] = []
    links = np.empty((len(nodes), 2), dtype=np.int64)
    for index, child in np.ndenumerate(np.array([tree.children(v) for v in nodes])):
        at = place.get(int(child))
        if at is None:
            leaves.append(int(child))
        links[index] = -len(leaves) if at is None else at
    return _Upper(nodes, links[:, 0].copy(), links[:, 1].copy(), int(tree.size[leaves].max()))


def _between(left: np.ndarray, right: np.ndarray, similarity: Similarity) -> tuple[np.ndarray, float]:
    """The direction and level of what is nearer to the left mean: by angle, or by distance."""
    if similarity.order == "angle":
        unit = [mean / max(float(np.linalg.norm(mean)), 1e-300) for mean in (left, right)]
        return unit[0] - unit[1], 0.0
    return left - right, 0.5 * float(left @ left - right @ right)


def _nearer_means(top: _Top, sums: np.ndarray) -> _Top:
    """A round of k-means at every node: sides by the means of all rows."""
    direction, level = top.direction.copy(), top.level.copy()
    for v, (left, right) in enumerate(zip(*top.node_sums(sums), strict=True)):
        if left[0] > 0 and right[0] > 0:
            direction[v], level[v] = _between(left[3:] / left[0], right[3:] / right[0], top.similarity)
    return replace(top, direction=direction, level=level)


def _same(top: _Top) -> _Top:
    """One task that all others read from: it is sent once, and made again where it is lost."""
    return top


# --- rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Placed:
    """The leaf of each row of a part, the sums of all leaves, and how many rows have changed theirs."""

    leaf: np.ndarray
    sums: np.ndarray
    moved: int


def _place(part: np.ndarray, top: _Top, before: _Placed | None) -> _Placed:
    from scipy.sparse import csr_array

    features = top.features(part)
    z = features.z
    leaf = top.leaf_of(z)
    sums = np.zeros((top.n_leaves, 3 + z.shape[1]))
    for rows in row_blocks(len(z), _BLOCK):
        wide, own = z[rows].astype(np.float64), leaf[rows]
        member = csr_array((np.ones(len(own)), own, np.arange(len(own) + 1)), shape=(len(own), top.n_leaves))
        columns = np.stack([np.ones(len(own)), features.offset[rows], row_squares(wide)], axis=1)
        sums += member.T @ np.concatenate([columns, wide], axis=1)
    moved = len(leaf) if before is None else int((leaf != before.leaf).sum())
    return _Placed(leaf, sums, moved)


def _sums_of(placed: _Placed) -> np.ndarray:
    return placed.sums


def _moved(placed: _Placed) -> int:
    return placed.moved


def _add(sums: list[np.ndarray]) -> np.ndarray:
    return np.sum(sums, axis=0)


def _by_task(part: np.ndarray, placed: _Placed, low: int, task: np.ndarray, number: np.ndarray, n_tasks: int) -> Sent:
    """The rows of each task, and the leaf that they are below."""
    ids = np.arange(low, low + len(part))
    return Sent(None, split(task[placed.leaf], n_tasks, ids, number[placed.leaf], part))


def _grow(pieces: list[Piece], *, model: TreeEstimator) -> Below:
    """The local estimator's trees of the rows of each leaf."""
    ids, label, X = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.argsort(label, kind="stable")
    ids, label = ids[order], label[order]
    n, made = len(ids), 0
    parents, heights = [np.full(n, -1, dtype=np.int64)], [np.zeros(n)]
    for rows in np.split(np.arange(n), np.flatnonzero(np.diff(label)) + 1):
        if len(rows) == 1:
            continue
        tree = clone(model).fit(X[order[rows]]).tree_
        name = np.concatenate([rows, n + made + np.arange(tree.n_nodes - len(rows))])
        parent = np.append(name[tree.parent[:-1]], -1)
        parents[0][rows] = parent[: len(rows)]
        parents.append(parent[len(rows) :])
        heights.append(tree.height[len(rows) :])
        made += tree.n_nodes - len(rows)
    return Below(ids, label, np.concatenate(parents), np.concatenate(heights))


def _fit(parts: list[np.ndarray], model: TreeEstimator) -> Tree:
    return clone(model).fit(np.concatenate(parts)).tree_
