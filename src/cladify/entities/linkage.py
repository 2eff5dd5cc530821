"""Linkages learned from labelled pairs: how likely is it that two clusters are one entity?

>>> import numpy as np
>>> from cladify.entities import LearnedLinkage
>>> from cladify.online import Grinch
>>> rng = np.random.default_rng(0)
>>> y = rng.integers(30, size=300)
>>> X = rng.normal(size=(30, 4))[y] + 0.1 * rng.normal(size=(300, 4))
>>> link = LearnedLinkage().fit(X[:150], y[:150])
>>> online = Grinch(linkage=link, distance_threshold=0.5).partial_fit(X[150:])
>>> bool(np.unique(online.labels_).size <= 60)
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from cladify._kit.estimator import Estimator
from cladify._kit.params import Check, check_labels, check_random_state, choice, integer
from cladify.data._frame import row_squares
from cladify.data._vectors import check_vectors
from cladify.errors import InvalidInput
from cladify.neighbors.build import neighbors
from cladify.tree import Tree

__all__ = ["BlockLinkage", "LearnedLinkage", "best_height", "pair_features", "training_pairs"]


def pair_features(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Features of pairs of rows: cosine, distance, and the largest and the mean difference of a column."""
    dot = np.einsum("ij,ij->i", A, B)
    norms = np.linalg.norm(A, axis=1) * np.linalg.norm(B, axis=1)
    apart = np.abs(A - B)
    cosine = np.divide(dot, norms, out=np.zeros(len(A)), where=norms > 0)
    return np.stack([cosine, np.sqrt((apart**2).sum(axis=1)), apart.max(axis=1), apart.mean(axis=1)], axis=1)


@dataclass(eq=False, repr=False)
class LearnedLinkage(Estimator):
    r"""The mean probability, over the pairs of two clusters, that the two items of a pair belong together.

    A classifier is trained on pairs of labelled items: each with its nearest neighbours, which hold the cases that are
    hard to part, and with as many items of its own class. The result is a function of the rows of two clusters, and so
    a ``linkage`` of :class:`~cladify.online.Grinch`; a cut of the tree at height h joins what belongs together with
    probability 1 − h or more.

    Parameters
    ----------
    model : {"logistic", "boosting"}
        Logistic regression, or gradient boosting, which fits more and takes longer.
    features : callable ``f(A, B) -> (m, k)``, optional
        Features of m pairs of rows. The first argument is the item that looks for a place: they need not be symmetric.
    n_neighbors : int
        Neighbours of an item that become training pairs.
    max_pairs : int
        Pairs of two clusters that are looked at, evenly spread, where there are more.
    random_state : int

    References
    ----------
    Monath. Incremental non-greedy clustering at scale. 2022, §3.5.4 and §3.5.7.
    """

    _checks: ClassVar[dict[str, Check]] = {
        "model": choice("logistic", "boosting"),
        "n_neighbors": integer(low=1),
        "max_pairs": integer(low=1),
    }

    model: str = "logistic"
    _: KW_ONLY
    features: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    n_neighbors: int = 10
    max_pairs: int = 64
    random_state: int = 0

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from items whose entities are known.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            The entity of each item.
        """
        self.check_params()
        X = check_vectors(X, accept_sparse=False, min_rows=3)
        y = check_labels(y, len(X))
        a, b = training_pairs(X, y, self.n_neighbors, self.random_state)
        same = y[a] == y[b]
        if same.all() or not same.any():
            raise InvalidInput("Pairs of the same entity and of different ones are needed; y gives only one kind.")
        values = self._features(X[a], X[b])
        if self.model == "logistic":
            from sklearn.linear_model import LogisticRegression
            from sklearn.pipeline import make_pipeline
            from sklearn.preprocessing import StandardScaler

            self.classifier_: Any = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        else:
            from sklearn.ensemble import HistGradientBoostingClassifier

            self.classifier_ = HistGradientBoostingClassifier(random_state=self.random_state)
        self.classifier_.fit(values, same)
        return self

    def probability(self, A: Any, B: Any) -> np.ndarray:
        """How likely row i of ``A`` and row i of ``B`` belong together."""
        check_is_fitted(self, "classifier_")
        values = self._features(np.asarray(A), np.asarray(B))
        if self.model != "logistic":
            return np.asarray(self.classifier_.predict_proba(values)[:, 1])
        # The same sums as in `predict_proba`, whose checks take ten times as long as the few pairs of two clusters.
        scaler, logistic = self.classifier_[0], self.classifier_[1]
        score = ((values - scaler.mean_) / scaler.scale_) @ logistic.coef_.T + logistic.intercept_
        return np.asarray(expit(score.ravel()))

    def __call__(self, A: np.ndarray, B: np.ndarray) -> float:
        """The linkage of two clusters, from their rows."""
        count = len(A) * len(B)
        if count > self.max_pairs:
            pair = np.linspace(0, count - 1, self.max_pairs).astype(np.int64)
        else:
            pair = np.arange(count)
        return float(self.probability(A[pair // len(B)], B[pair % len(B)]).mean())

    def _features(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        values = np.asarray((self.features or pair_features)(A.astype(np.float64), B.astype(np.float64)))
        if values.ndim != 2 or len(values) != len(A):
            raise InvalidInput(f"features must give one row a pair, {len(A)} of them, got shape {values.shape}.")
        if not np.isfinite(values).all():
            raise InvalidInput("features must give finite numbers, got NaN or infinity for some pairs.")
        return values


@dataclass(eq=False, repr=False)
class BlockLinkage(Estimator):
    r"""A learned linkage that a tree's sums give at once: the mean log-odds that two items belong together.

    Rows are made of blocks of columns (a description's embedding, a name's, …). Logistic regression on the cosines of
    the blocks learns weights :math:`w_b \ge 0`. Rows whose blocks are of length :math:`\sqrt{w_b}` then have

    .. math:: \cos(x, y) = \frac{\sum_b w_b \cos(x_b, y_b)}{\sum_b w_b},

    the log-odds up to shift and scale, so that average linkage over the cosine of these rows is the mean log-odds over
    all pairs of two clusters. Every online method has it at its own speed, where a function that is asked for each two
    clusters, such as :class:`LearnedLinkage`, takes a thousand times as long.

    Parameters
    ----------
    blocks : sequence of int
        Where blocks begin, after the first: ``[384]`` for two blocks of rows with an embedding of 384 columns first.
    n_neighbors : int
        Neighbours of an item that become training pairs.
    random_state : int

    Attributes
    ----------
    weights_ : array
        Of the blocks; they sum to 1.
    threshold_ : float
        Height at which two items belong together as likely as not among the training pairs. These are the hard ones:
        where some items with their entities are at hand, choose the height by the tree of these.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify.entities import BlockLinkage
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(40, size=400)
    >>> signal, noise = rng.normal(size=(40, 4))[y] + 0.2 * rng.normal(size=(400, 4)), rng.normal(size=(400, 4))
    >>> link = BlockLinkage([4]).fit(np.hstack([signal, noise]), y)
    >>> link.weights_.round(2).tolist()
    [1.0, 0.0]
    >>> link.transform(np.hstack([signal, noise])).shape
    (400, 8)
    """

    _checks: ClassVar[dict[str, Check]] = {"n_neighbors": integer(low=1)}

    blocks: Any
    _: KW_ONLY
    n_neighbors: int = 10
    random_state: int = 0

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from items whose entities are known; ``X`` and ``y`` as in :meth:`LearnedLinkage.fit`."""
        from sklearn.linear_model import LogisticRegression

        self.check_params()
        X = check_vectors(X, accept_sparse=False, min_rows=3)
        y = check_labels(y, len(X))
        ends = list(self.blocks)
        if ends != sorted(set(ends)) or not all(0 < end < X.shape[1] for end in ends):
            raise InvalidInput(f"blocks must rise and lie between 1 and {X.shape[1] - 1}, got {self.blocks!r}.")
        unit = self._unit(X)
        a, b = training_pairs(unit, y, self.n_neighbors, self.random_state)
        same = y[a] == y[b]
        if same.all() or not same.any():
            raise InvalidInput("Pairs of the same entity and of different ones are needed; y gives only one kind.")
        cosines = np.add.reduceat(unit[a] * unit[b], [0, *ends], axis=1, dtype=np.float64)
        counted = np.ones(cosines.shape[1], dtype=bool)
        while True:  # a block whose weight is negative is left out
            model = LogisticRegression(C=1e3, max_iter=1000).fit(cosines[:, counted], same)
            weight = np.zeros(len(counted))
            weight[counted] = model.coef_[0]
            if (weight >= 0).all():
                break
            counted &= weight > 0
            if not counted.any():
                raise InvalidInput("No block separates entities: items of one entity are no nearer than others.")
        self.weights_: np.ndarray = weight / weight.sum()
        self.threshold_: float = float(1.0 + model.intercept_[0] / weight.sum())
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Rows for ``metric="cosine"``: every block at the length that it has learned."""
        check_is_fitted(self, "weights_")
        X = check_vectors(X, accept_sparse=False)
        sizes = np.diff([0, *self.blocks, X.shape[1]])
        scaled: np.ndarray = self._unit(X) * np.repeat(np.sqrt(self.weights_), sizes).astype(np.float32)
        return scaled

    def _unit(self, X: np.ndarray) -> np.ndarray:
        """Rows whose blocks have length 1, or 0 where there is nothing in them."""
        out = X.astype(np.float32)
        for part in np.split(np.arange(X.shape[1]), list(self.blocks)):
            block = out[:, part[0] : part[-1] + 1]
            length = np.sqrt(row_squares(block, dtype=np.float64))[:, None]
            np.divide(block, length, out=block, where=length > 0, casting="unsafe")
        return out


def best_height(tree: Tree, y: Any, *, n_heights: int = 200) -> float:
    r"""The height at which a cut suits the items whose entities are known, by B³.

    .. math:: \mathrm{Prec} = \operatorname{mean}_i \frac{|K_i \cap R_i|}{|K_i|}, \quad
              \mathrm{Rec} = \operatorname{mean}_i \frac{|K_i \cap R_i|}{|R_i|}

    over the known items i, where :math:`R_i` is the entity of i and :math:`K_i` its whole cluster: an item that is not
    known is one of another entity. That is why this is not the best B³ or F1 among known items alone, which does not
    see the others that a cut too high up puts to them.

    Parameters
    ----------
    tree : Tree
    y : array of shape (n,)
        The entity of each leaf; -1 where it is not known. All items of a known entity are known.
    n_heights : int
        Heights that are tried, evenly spread over those of the nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify import HAC
    >>> from cladify.entities import best_height
    >>> tree = HAC().fit(np.array([[0.0], [1.0], [10.0], [12.0], [30.0]])).tree_
    >>> tree.cut(height=best_height(tree, [0, 0, -1, -1, -1])).tolist()
    [0, 0, 1, 2, 3]
    """
    y = check_labels(y, tree.n_leaves)
    known = y >= 0
    if not known.any():
        raise InvalidInput("No item is known: y is -1 everywhere.")
    entity = y[known]
    of_entity = np.bincount(entity)
    heights = np.unique(np.quantile(tree.height[tree.n_leaves - 1 :], np.linspace(0.0, 1.0, n_heights), method="lower"))
    best, at = -1.0, 0.0
    for height in [0.0, *heights.tolist()]:
        labels = tree.cut(height=height)
        _, which, common = np.unique(labels[known] * len(of_entity) + entity, return_inverse=True, return_counts=True)
        together = common[which]
        precision = (together / np.bincount(labels)[labels[known]]).mean()
        recall = (together / of_entity[entity]).mean()
        f1 = 2.0 * precision * recall / (precision + recall)
        if f1 > best:
            best, at = f1, height
    return float(at)


def training_pairs(X: np.ndarray, y: np.ndarray, k: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
    """Items with their nearest neighbours, and with others of their class that need not be near."""
    n, k = len(X), min(k, len(X) - 1)
    graph = neighbors(X, k, "cosine" if (X != 0).any(axis=1).all() else "sqeuclidean", random_state=0)
    a, b = np.repeat(np.arange(n), np.diff(graph.indptr)), np.asarray(graph.indices, dtype=np.int64)
    # In a random order of the classes' items, each with the next ones.
    rng = check_random_state(random_state)
    order = rng.permutation(n)
    order = order[np.argsort(y[order], kind="stable")]
    near_a, near_b = [a], [b]
    for step in range(1, max(2, k // 2 + 1)):
        together = y[order[:-step]] == y[order[step:]]
        near_a.append(order[:-step][together])
        near_b.append(order[step:][together])
    return np.concatenate(near_a), np.concatenate(near_b)
