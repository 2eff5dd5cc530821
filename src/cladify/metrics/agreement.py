"""How far two trees over the same leaves agree: on triples of leaves, and on the heights of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import row_blocks
from cladify._kit.params import check_int, check_random_state
from cladify.errors import InvalidInput
from cladify.metrics._truth import threads_for
from cladify.metrics.estimate import Estimate
from cladify.tree import Tree

__all__ = ["cophenetic_correlation", "triplet_agreement"]

#: Up to here the exact value is taken unless asked otherwise: O(n² log depth) and O(n²), a second or two.
EXACT_TRIPLES = 5_000
EXACT_PAIRS = 20_000
DEFAULT_SAMPLES = 1_000_000
_Z = 1.959964  # half-width of a 95 % interval in standard deviations


def triplet_agreement(
    tree: Tree, other: Tree, *, n_samples: int | None = None, random_state: Any = None, n_jobs: int | None = -1
) -> Estimate:
    r"""Share of the triples of leaves that two trees resolve alike.

    A tree resolves leaves i, j, k as ij|k when lca(i, j) lies below lca(i, k) = lca(j, k), and leaves them unresolved
    when the three are equal. Two trees agree on a triple when they have the same closest pair, or none in either.
    1 for equal shapes, 1/3 on average for random binary trees; heights do not matter.

    Parameters
    ----------
    tree, other : Tree
        Over the same n ≥ 3 leaves.
    n_samples : int, optional
        Sample so many triples. By default all of them are counted up to 5000 leaves, in O(n² log depth), and a million
        are sampled above.
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
    >>> a, b = Tree.from_newick("((0,1),(2,3));"), Tree.from_newick("(((0,1),2),3);")
    >>> triplet_agreement(a, b)
    Estimate(0.5, exact)

    References
    ----------
    Critchlow, Pearl and Qian, The triples distance for rooted bifurcating phylogenetic trees, 1996.
    """
    _check_same_leaves(tree, other)
    n = tree.n_leaves
    if n < 3:
        raise InvalidInput(f"Triples need at least 3 leaves, the trees have {n}.")
    if n_samples is None and n <= EXACT_TRIPLES:
        resolved, unresolved = _core.same_triples(_view(tree), _view(other), threads_for(n_jobs, n * n))
        return Estimate((resolved + unresolved) / (n * (n - 1) * (n - 2) // 6))
    n_samples = DEFAULT_SAMPLES if n_samples is None else check_int("n_samples", n_samples, low=1)
    i, j, k = _distinct(n, 3, n_samples, check_random_state(random_state))
    share = float((_shape(tree, i, j, k) == _shape(other, i, j, k)).mean())
    # Wilson's interval stays right near 0 and 1.
    middle = (share + _Z**2 / (2 * n_samples)) / (1 + _Z**2 / n_samples)
    reach = _Z * np.sqrt(share * (1 - share) / n_samples + (_Z / (2 * n_samples)) ** 2) / (1 + _Z**2 / n_samples)
    return Estimate(share, (float(middle - reach), float(middle + reach)), n_samples)


def _shape(tree: Tree, i: np.ndarray, j: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Which pair is closest: 0 for ij, 1 for ik, 2 for jk, 3 for none."""
    ancestors = np.stack([tree.lca(i, j), tree.lca(i, k), tree.lca(j, k)])
    lowest = ancestors.argmin(axis=0)
    lowest[ancestors.min(axis=0) == ancestors.max(axis=0)] = 3
    return lowest


def cophenetic_correlation(
    tree: Tree, other: Any, *, n_samples: int | None = None, random_state: Any = None, n_jobs: int | None = -1
) -> Estimate:
    r"""Correlation, over pairs of leaves, of the heights at which two trees join them.

    .. math:: r = \frac{\sum_{i<j} (a_{ij} - \bar a)(b_{ij} - \bar b)}
              {\sqrt{\sum_{i<j} (a_{ij} - \bar a)^2 \sum_{i<j} (b_{ij} - \bar b)^2}}

    where :math:`a_{ij}` is the height of lca(i, j) in the one tree and :math:`b_{ij}` in the other, or a distance
    between i and j.

    Parameters
    ----------
    tree : Tree
    other : Tree, or distances
        Another tree over the same leaves; or the distances the tree was made from, condensed as SciPy's ``pdist`` gives
        them or as an n × n matrix.
    n_samples : int, optional
        Sample so many pairs. By default all are taken up to 20 000 leaves (for distances: always), in O(n²), and a
        million are sampled above.
    random_state : None, int or Generator
        For sampling.
    n_jobs : int
        Threads.

    Returns
    -------
    Estimate
        A float with ``exact`` and ``interval`` (Fisher's, when sampled).

    Examples
    --------
    >>> from cladify import Tree
    >>> tree = Tree([3, 3, 4, 4, -1], [0, 0, 0, 1.0, 3.0])
    >>> cophenetic_correlation(tree, tree)
    Estimate(1, exact)
    >>> cophenetic_correlation(tree, [1.0, 2.0, 4.0])
    Estimate(0.755929, exact)

    References
    ----------
    Sokal and Rohlf, The comparison of dendrograms by objective methods, 1962.
    """
    n = tree.n_leaves
    distances = None if isinstance(other, Tree) else _condensed(other, n)
    if distances is None:
        _check_same_leaves(tree, other)
    if n < 3:
        raise InvalidInput(f"A correlation over pairs needs at least 3 leaves, the tree has {n}.")
    if n_samples is None and distances is not None:
        return Estimate(_with_distances(tree, distances))
    if n_samples is None and n <= EXACT_PAIRS:
        return Estimate(_with_tree(tree, other, threads_for(n_jobs, n * n)))
    n_samples = DEFAULT_SAMPLES if n_samples is None else check_int("n_samples", n_samples, low=4)
    i, j = _distinct(n, 2, n_samples, check_random_state(random_state))
    if distances is None:
        b = other.height[other.lca(i, j)]
    else:
        low, high = np.minimum(i, j), np.maximum(i, j)
        b = distances[low * (2 * n - low - 3) // 2 + high - 1]
    a = tree.height[tree.lca(i, j)]
    a, b = _centred(a), _centred(b)
    r = _correlation(float(a @ b), float(a @ a), float(b @ b))
    z, reach = np.arctanh(np.clip(r, -1 + 1e-15, 1 - 1e-15)), _Z / np.sqrt(n_samples - 3)
    return Estimate(r, (float(np.tanh(z - reach)), float(np.tanh(z + reach))), n_samples)


def _with_tree(tree: Tree, other: Tree, threads: int) -> float:
    (mean_a, square_a), (mean_b, square_b) = _moments(tree), _moments(other)
    product = _core.cophenetic_product(_view(tree), _view(other), tree.height, other.height, mean_a, mean_b, threads)
    return _correlation(product, square_a, square_b)


def _moments(tree: Tree) -> tuple[float, float]:
    """Mean of the heights at which pairs are joined, and the sum of squares around it."""
    inside = tree.size * (tree.size - 1) // 2
    joined = inside.copy()
    np.subtract.at(joined, tree.parent[:-1], inside[:-1])
    mean = float(joined @ tree.height / joined.sum())
    spread = np.ptp(tree.height[tree.n_leaves :]) > 0  # else rounding would leave a little
    return mean, float(joined @ (tree.height - mean) ** 2) if spread else 0.0


def _centred(values: np.ndarray) -> np.ndarray:
    return values - (values.mean() if np.ptp(values) > 0 else values[0])


def _with_distances(tree: Tree, distances: np.ndarray) -> float:
    n = tree.n_leaves
    mean_a, square_a = _moments(tree)
    mean_b = float(distances.mean(dtype=np.float64) if np.ptp(distances) > 0 else distances[0])
    product = square_b = 0.0
    starts = np.arange(n) * (2 * n - np.arange(n) - 1) // 2  # where row i begins in the condensed form
    for rows in row_blocks(n - 1, max(1, 2**22 // n)):
        i = np.repeat(np.arange(rows.start, rows.stop), n - 1 - np.arange(rows.start, rows.stop))
        j = np.arange(len(i)) - (starts[i] - starts[rows.start]) + i + 1
        b = distances[starts[rows.start] : starts[rows.stop]] - mean_b
        product += float((tree.height[tree.lca(i, j)] - mean_a) @ b)
        square_b += float(b @ b)
    return _correlation(product, square_a, square_b)


def _correlation(product: float, square_a: float, square_b: float) -> float:
    if square_a <= 0 or square_b <= 0:
        raise InvalidInput("All pairs are at the same height or distance on one side, so there is no correlation.")
    return min(1.0, max(-1.0, product / float(np.sqrt(square_a) * np.sqrt(square_b))))


def _condensed(distances: Any, n: int) -> np.ndarray:
    distances = np.asarray(distances)
    if distances.dtype.kind not in "iuf":
        raise InvalidInput(f"other must be a Tree or distances, got {type(distances).__name__} of {distances.dtype}.")
    if distances.shape == (n, n):
        distances = distances[np.triu_indices(n, 1)]
    if distances.shape != (n * (n - 1) // 2,):
        raise InvalidInput(
            f"Distances must be condensed, shape ({n * (n - 1) // 2},) for {n} leaves, or a matrix ({n}, {n}), "
            f"got shape {distances.shape}."
        )
    if not np.isfinite(distances).all():
        raise InvalidInput("The distances have NaN or inf.")
    return distances


def _check_same_leaves(tree: Tree, other: Any) -> None:
    if not isinstance(other, Tree):
        raise InvalidInput(f"other must be a Tree, got {type(other).__name__}.")
    if tree.n_leaves != other.n_leaves:
        raise InvalidInput(f"The trees must have the same leaves, got {tree.n_leaves} and {other.n_leaves} of them.")


def _view(tree: Tree) -> Any:
    return _core.ViewedTree(
        tree.parent, tree.leaf_order, tree.first, tree.last, tree.child_start, tree.child_ids, tree.n_leaves
    )


def _distinct(n: int, k: int, n_samples: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Columns of random draws of k different leaves."""
    columns: list[np.ndarray] = []
    for taken in range(k):
        # Among the leaves not drawn yet: step over the drawn ones in ascending order.
        column = rng.integers(0, n - taken, n_samples)
        for drawn in np.sort(np.stack(columns), axis=0) if columns else []:
            column += column >= drawn
        columns.append(column)
    return columns
