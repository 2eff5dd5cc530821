"""Ultrametric fitting: gradient descent on distances, through the single linkage of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._estimator import TreeEstimator
from cladify._kit.memory import check_memory
from cladify._kit.params import check_labels, check_random_state, choice, integer, number
from cladify._kit.progress import Progress
from cladify.data.points import Points
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["UFit"]

_SHARPNESS = 5.0  # of the sigmoid that counts leaves below a height, in units of the mean height
_PATIENCE = 50  # steps within which the loss has to fall by _LEAST of itself, or the search ends
_LEAST = 1e-4


@dataclass(kw_only=True, eq=False, repr=False)
class UFit(TreeEstimator):
    r"""Ultrametric fitting [1]_: the ultrametric that minimises a loss, by gradient descent.

    A matrix M of positive numbers stands for its subdominant ultrametric u, the heights at which single linkage joins
    the points. A loss of u has a gradient by the n − 1 entries of M on the spanning tree, and Adam follows it. M starts
    at the distances d. With the mean over all pairs:

    * ``"closest"``: :math:`(u_{ij} - d_{ij})^2`;
    * ``"closest-size"``: that plus ``gamma`` times :math:`u_{ij} / \min(|A|, |B|)`, for the two sides of the node where
      i and j meet: small clusters should join low;
    * ``"closest-triplet"``: that plus ``gamma`` times :math:`\max(0, u_{ij} - u_{ik} + \text{margin})` for rows i, j of
      one label and k of another (``fit(X, y)`` with -1 where no label is known);
    * ``"dasgupta"``: :math:`|i \vee j| / d_{ij}`, with sigmoids of differences of heights in place of the count. The
      result is the tree with the least of these sums where leaves are counted, so it is never worse than the first one.

    A step takes :math:`n^2` time: a spanning tree, and the sums of d over the pairs that meet in each node. Memory: two
    matrices of :math:`n^2` float32, and one of float64 at first.

    Parameters
    ----------
    metric : str, Similarity or callable
        A distance; similarities count as the heights they have in a linkage (1 − cos for cosine).
    loss : "closest", "closest-size", "closest-triplet" or "dasgupta"
    gamma : float
        Weight of the second term.
    margin : float
        Of the triplets, in units of the mean distance.
    n_steps : int
        At most; fewer where the loss has come to rest.
    learning_rate : float
        In units of the mean distance.
    n_clusters : int, optional
        Cut the tree into this many clusters: ``labels_``.
    distance_threshold : float, optional
        Or cut it at this height.
    random_state : int, Generator or None
        For the triplets.

    Attributes
    ----------
    tree_ : Tree
        Its heights are the fitted ultrametric.
    losses_ : list of float

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.5], [9.0], [10.0]])
    >>> UFit(n_clusters=2, n_steps=20).fit_predict(X).tolist()
    [0, 0, 0, 1, 1]

    References
    ----------
    .. [1] Chierchia, Perret. Ultrametric fitting by gradient descent. NeurIPS 2019.
    """

    _checks: ClassVar = {
        "loss": choice("closest", "closest-size", "closest-triplet", "dasgupta"),
        "gamma": number(low=0.0),
        "margin": number(low=0.0),
        "n_steps": integer(low=1),
        "learning_rate": number(low=0.0, open_low=True),
    }

    metric: Any = "euclidean"
    loss: str = "closest-size"
    gamma: float = 1.0
    margin: float = 0.1
    n_steps: int = 300
    learning_rate: float = 0.1
    distance_threshold: float | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, **options: Any) -> UFit:
        """Build the tree of the rows of ``X``; ``y`` has the labels that the triplet loss is about."""
        self._y = y
        return super().fit(X, y, **options)

    def _fit(self, points: Points, report: Progress) -> Tree:
        if not points.uniform:
            raise InvalidInput("UFit counts every row once and takes no sample_weight; repeat rows.")
        n, X = points.n, points.rows if points.is_graph else points.data
        if n == 1:
            return Tree([-1], info={"method": "ufit"})
        check_memory(16 * n * n, f"UFit on {n} points", "use method='hyphc', whose memory is linear.")
        values = points.similarity.matrix(X, dtype=np.float64, report=report)
        rule = points.heights.from_top(float(values.max()))
        values = np.maximum(rule(values), 0.0)
        np.fill_diagonal(values, 0.0)
        unit = float(values.mean()) * n / (n - 1) or 1.0
        tree = self._descend((values / unit).astype(np.float32), report)
        info = {"method": "ufit", "loss": self.loss, "height": "fitted ultrametric"}
        return Tree(tree.parent, tree.height * unit, info=info)

    def _descend(self, distance: np.ndarray, report: Progress) -> Tree:
        value = self._loss_of(distance)
        fitted = Fitted(distance.copy())
        best, least = fitted.linkage().tree, np.inf
        rest, rest_since = np.inf, 0  # the loss that counts as progress, and the step that had it
        self.losses_: list[float] = []
        with report.stage("ultrametric", self.n_steps) as advance:
            for step in range(self.n_steps):
                linkage = fitted.linkage()
                loss, gradient, worth = value(linkage)
                self.losses_.append(loss)
                if worth < least:
                    best, least = linkage.tree, worth
                if loss < rest - _LEAST * abs(rest) or step == 0:
                    rest, rest_since = loss, step
                elif step - rest_since >= _PATIENCE:
                    break
                fitted.step(linkage, gradient, self.learning_rate)
                advance()
        return best

    def _loss_of(self, distance: np.ndarray) -> Callable[[Linkage], tuple[float, np.ndarray, float]]:
        """The loss of a linkage, its derivative by the height of every inner node, and what its tree is judged by."""
        n = len(distance)
        pairs = n * (n - 1) / 2.0
        if self.loss == "dasgupta":
            near = 1.0 / np.maximum(distance, 1e-3)
            return lambda linkage: dasgupta_loss(linkage, linkage.sums(near) / pairs)
        squares = float(np.square(distance, dtype=np.float64).sum()) / 2.0
        triplets = self._triplets(n) if self.loss == "closest-triplet" else None

        def value(linkage: Linkage) -> tuple[float, np.ndarray, float]:
            h, count, sums = linkage.height, linkage.count, linkage.sums(distance)
            loss = float(h @ (h * count - 2.0 * sums)) + squares
            gradient = 2.0 * (h * count - sums)
            if self.loss == "closest-size":
                share = self.gamma * count / linkage.smaller
                loss, gradient = loss + float(share @ h), gradient + share
            loss, gradient = loss / pairs, gradient / pairs
            if triplets is not None:
                more, extra = triplet_loss(linkage, triplets, self.margin)
                loss, gradient = loss + self.gamma * more, gradient + self.gamma * extra
            return loss, gradient, loss

        return value

    def _triplets(self, n: int) -> np.ndarray:
        """Rows (i, j, k), i and j of one label, k of another; up to 20 000 at random."""
        if self._y is None:
            raise InvalidInput("loss 'closest-triplet' needs labels: fit(X, y), with -1 where none is known.")
        label = check_labels(self._y, n)
        known = np.flatnonzero(label >= 0)
        random = check_random_state(self.random_state)
        i, j, k = known[random.integers(max(len(known), 1), size=(3, 300_000))] if len(known) else np.empty((3, 0), int)
        good = (label[i] == label[j]) & (i != j) & (label[i] != label[k])
        if not good.any():
            raise InvalidInput("loss 'closest-triplet' needs two rows of one label and one of another.")
        return np.stack([i[good], j[good], k[good]])[:, :20_000]


@dataclass(frozen=True)
class Linkage:
    """Single linkage of the matrix that is fitted: node n + v has the height of edge v."""

    tree: Tree
    left: np.ndarray
    right: np.ndarray
    edge: tuple[np.ndarray, np.ndarray]

    @property
    def height(self) -> np.ndarray:
        return self.tree.height[self.tree.n_leaves :]

    @property
    def count(self) -> np.ndarray:
        """Pairs that meet in each inner node."""
        return self.tree.size[self.left].astype(np.float64) * self.tree.size[self.right]

    @property
    def smaller(self) -> np.ndarray:
        """Leaves of the smaller side of each inner node."""
        return np.minimum(self.tree.size[self.left], self.tree.size[self.right])

    def sums(self, matrix: np.ndarray) -> np.ndarray:
        """The sum of a matrix over the pairs that meet in each inner node."""
        tree = self.tree
        return _core.meeting_sums(matrix, tree.leaf_order, tree.first, tree.last, self.left, self.right)


class Fitted:
    """The matrix, and Adam (AMSGrad) for those entries that were ever on a spanning tree: no other one has moved."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix
        self._key = np.empty(0, dtype=np.int64)
        self._moments = np.empty((3, 0))
        self._count = 0

    def linkage(self) -> Linkage:
        n = len(self.matrix)
        source, target, value = _core.prim_matrix(self.matrix)
        value = np.maximum(np.asarray(value), 0.0)
        ends = np.minimum(source, target), np.maximum(source, target)
        order = np.lexsort((ends[1], ends[0], value))
        source, target, value = source[order], target[order], value[order]
        left, right, height = _core.merge_edges(source, target, value, n)
        left, right = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        tree = Tree.from_merges(left, right, height, n)
        return Linkage(tree, left, right, (source, target))

    def step(self, linkage: Linkage, gradient: np.ndarray, rate: float) -> None:
        n = len(self.matrix)
        a, b = linkage.edge
        key = np.minimum(a, b).astype(np.int64) * n + np.maximum(a, b)
        at = np.searchsorted(self._key, key)
        new = key[self._key.take(at, mode="clip") != key] if len(self._key) else key
        if len(new):
            new = np.sort(new)
            before = np.searchsorted(self._key, new)
            self._key = np.insert(self._key, before, new)
            self._moments = np.insert(self._moments, before, 0.0, axis=1)
            at = np.searchsorted(self._key, key)
        full = np.zeros(len(self._key))
        full[at] = gradient
        mean, square, largest = self._moments
        self._count += 1
        mean += 0.1 * (full - mean)
        square += 0.001 * (full * full - square)
        np.maximum(largest, square, out=largest)
        step = mean / (1.0 - 0.9**self._count) / (np.sqrt(largest / (1.0 - 0.999**self._count)) + 1e-12)
        i, j = np.divmod(self._key, n)
        self.matrix[i, j] -= (rate * step).astype(np.float32)
        self.matrix[j, i] = self.matrix[i, j]


def triplet_loss(linkage: Linkage, triplets: np.ndarray, margin: float) -> tuple[float, np.ndarray]:
    """Mean hinge of the triplets, and its derivative by heights."""
    tree, n = linkage.tree, linkage.tree.n_leaves
    i, j, k = triplets
    near, far = tree.lca(i, j), tree.lca(i, k)
    slack = tree.height[near] - tree.height[far] + margin
    active = slack > 0
    gradient = np.bincount(near[active] - n, minlength=n - 1) - np.bincount(far[active] - n, minlength=n - 1)
    return float(np.maximum(slack, 0.0).mean()), gradient / len(i)


def dasgupta_loss(linkage: Linkage, weight: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Σ weight · leaves below, counted by sigmoids, its derivative by heights, and the same with leaves counted.

    Leaves are counted as a leaf of the node sees them on its way up, and the two ends of its spanning edge, one in each
    child, count half each. One of them alone would see a node as small that has that leaf in its smaller child.
    """
    tree, n = linkage.tree, linkage.tree.n_leaves
    h, size, parent = tree.height, tree.size, tree.parent
    area, gradient = np.ones(n - 1), np.zeros(n - 1)
    for end in linkage.edge:
        at = end.astype(np.int64)
        going = np.arange(n - 1)
        while len(going):
            up = parent[at]
            more = 0.5 * (size[up] - size[at])
            share = 1.0 / (1.0 + np.exp(np.clip(-_SHARPNESS * (h[n + going] - h[up]), -50.0, 50.0)))
            area[going] += more * share
            slope = weight[going] * more * _SHARPNESS * share * (1.0 - share)
            gradient[going] += slope
            np.subtract.at(gradient, up - n, slope)
            on = up < tree.root
            going, at = going[on], up[on]
    return float(weight @ area), gradient, float(weight @ size[n:])
