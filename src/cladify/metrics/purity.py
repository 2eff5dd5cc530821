"""Dendrogram purity, exact in one walk over the classes, or sampled with a confidence interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.params import check_bool, check_int, check_random_state
from cladify.errors import InvalidInput
from cladify.metrics._truth import Cover, labelled, threads_for
from cladify.metrics.estimate import Estimate
from cladify.tree import Tree
from cladify.tree._either import only_tree

__all__ = ["dendrogram_purity"]


def dendrogram_purity(
    tree: Tree,
    y: Any,
    *,
    self_pairs: bool = False,
    n_samples: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> Estimate:
    r"""Purity of the smallest node around two points of the same class, on average over all such pairs.

    .. math:: \mathrm{DP}(T, y) = \frac{1}{|P|} \sum_{(i, j) \in P}
              \frac{|\{k \in \mathrm{lca}(i, j) : y_k = y_i\}|}{|\mathrm{lca}(i, j)|}

    where P holds the pairs i < j with equal labels and a node stands for its leaves. It is 1 exactly when every class
    of two leaves or more is a node of the tree. Trees need not be binary.

    The exact value takes O(n) time after the tree's own preparation: the points of a class span a small tree whose
    inner nodes come from one lowest common ancestor a point.

    Parameters
    ----------
    tree : Tree
    y : array of shape (n,)
        Class of each leaf; leaves with -1 are left out.
    self_pairs : bool
        Count all ordered pairs, also of a point and itself (which is pure), over :math:`\sum_c |C_c|^2`, as in [3]_.
    n_samples : int, optional
        Sample so many pairs, with replacement, in place of the exact value.
    random_state : None, int or Generator
        For sampling.
    n_jobs : int
        Threads; the result does not depend on it.

    Returns
    -------
    Estimate
        A float with ``exact`` and ``interval``.

    Examples
    --------
    >>> from cladify import Tree
    >>> tree = Tree([4, 4, 5, 5, 6, 6, -1])        # ((0, 1), (2, 3))
    >>> dendrogram_purity(tree, ["a", "a", "b", "b"])
    Estimate(1, exact)
    >>> dendrogram_purity(tree, ["a", "b", "a", "b"])
    Estimate(0.5, exact)

    References
    ----------
    .. [1] Heller and Ghahramani. Bayesian hierarchical clustering. ICML 2005.
    .. [2] Kobren, Monath, Krishnamurthy and McCallum. A hierarchical algorithm for extreme clustering. KDD 2017.
    .. [3] Naumov, Yaroslavtsev and Avdiukhin. Objective-based hierarchical clustering of deep embedding vectors. AAAI
       2021, appendix D.
    """
    tree = only_tree(tree, "dendrogram purity", "jaccard_per_point")
    tree, codes = labelled(tree, y)
    cover = Cover.of_codes(codes)
    pairs = cover.label_size * (cover.label_size - 1) // 2
    check_bool("self_pairs", self_pairs)
    if not pairs.any() and not (self_pairs and len(pairs)):
        raise InvalidInput("Dendrogram purity looks at pairs of leaves with equal labels, and y has none.")
    if n_samples is not None:
        found = _sampled(tree, codes, pairs, check_int("n_samples", n_samples, low=2), random_state)
    else:
        sums = cover.on(tree).purity_sums(tree._lca, tree.size, threads_for(n_jobs, tree.n_leaves))
        found = Estimate(sums.sum() / max(pairs.sum(), 1))
    return _with_self_pairs(found, int(pairs.sum()), len(codes)) if self_pairs else found


def _with_self_pairs(found: Estimate, pairs: int, n: int) -> Estimate:
    """Every pair twice, and n pairs of purity 1."""
    share = n / (2 * pairs + n)
    low, high = (share + (1.0 - share) * end for end in found.interval)
    value = share + (1.0 - share) * float(found)
    return Estimate(value) if found.exact else Estimate(value, (low, high), found.n_samples)


def _sampled(tree: Tree, codes: np.ndarray, pairs: np.ndarray, n_samples: int, random_state: Any) -> Estimate:
    rng = check_random_state(random_state)
    # Leaves by class, and by place inside: the leaves of a class below a node are a slice.
    by_class = np.lexsort((tree.first[: len(codes)], codes))
    size = np.bincount(codes)
    start = np.concatenate([[0], np.cumsum(size)])
    key = codes[by_class] * len(codes) + tree.first[by_class]

    label = rng.choice(len(pairs), n_samples, p=pairs / pairs.sum())
    i = rng.integers(0, size[label])
    j = rng.integers(0, size[label] - 1)
    j += j >= i
    node = tree.lca(by_class[start[label] + i], by_class[start[label] + j])
    same = np.searchsorted(key, label * len(codes) + tree.last[node]) - np.searchsorted(
        key, label * len(codes) + tree.first[node]
    )
    purity = same / tree.size[node]
    value = purity.mean()
    reach = 1.959964 * purity.std(ddof=1) / np.sqrt(n_samples)
    return Estimate(value, (max(0.0, float(value - reach)), min(1.0, float(value + reach))), n_samples)
