"""The Moseley-Wang objective under similarities that a hierarchy of labels defines, with its optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from cladify._kit.params import check_labels
from cladify.errors import InvalidInput
from cladify.metrics._truth import Cover, threads_for
from cladify.tree import Tree
from cladify.tree._either import only_tree

__all__ = ["LabelMW", "label_mw"]


@dataclass(frozen=True)
class LabelMW:
    """Value of a tree, the largest value that any tree has, and their ratio."""

    value: float
    optimum: float

    @property
    def ratio(self) -> float:
        """``value / optimum``, at most 1."""
        return self.value / self.optimum

    def __float__(self) -> float:
        return self.ratio


def label_mw(tree: Tree, levels: Any, *, n_jobs: int | None = -1) -> LabelMW:
    r"""Moseley-Wang objective of a tree under a hierarchy of labels.

    .. math:: \mathrm{MW}(T) = \sum_{i < j} w_{ij}\,(n - |\mathrm{lca}(i, j)|), \qquad w_{ij} = 2^{l - 1}

    where l is the deepest level, 1 being the coarsest, on which i and j have the same label; :math:`w_{ij} = 0` where
    they have none in common. On a node v of more than two children, a pair from children a and b also earns a third of
    the :math:`|v| - |a| - |b|` leaves in the others: the mean over random binary resolutions of the node.

    The optimum is exact: a tree that follows the levels and is binary inside them gives each class of s leaves
    :math:`n \binom{s}{2} - s (s^2 - 1) / 3` a unit of weight, which no tree exceeds.

    Parameters
    ----------
    tree : Tree
    levels : array of shape (n,), or a sequence of such arrays from coarse to fine
        Labels of the leaves; each class of a finer level lies in one class of the coarser. Leaves with -1 on the
        coarsest level are left out; -1 on a finer one stands for no label from there on.
    n_jobs : int
        Threads.

    Returns
    -------
    LabelMW
        With ``value``, ``optimum`` and ``ratio``.

    Examples
    --------
    >>> from cladify import Tree
    >>> tree = Tree([4, 4, 5, 5, 6, 6, -1])                     # ((0, 1), (2, 3))
    >>> label_mw(tree, [0, 0, 1, 1]).ratio
    1.0
    >>> label_mw(tree, [[0, 0, 0, 0], [0, 1, 0, 1]])
    LabelMW(value=4.0, optimum=8.0)

    References
    ----------
    Moseley and Wang, Approximation bounds for hierarchical clustering, NeurIPS 2017. Zhao, Hao and Rashtchian,
    Unsupervised embedding of hierarchical structure in Euclidean space, 2020, §5.
    """
    tree = only_tree(tree, "this objective", "jaccard_per_label")
    codes = _read_levels(levels, tree.n_leaves)
    kept = codes[0] >= 0
    if not kept.all():
        if not kept.any():
            raise InvalidInput("levels has no labels: all entries of the coarsest level are -1.")
        tree = tree.prune(kept)
        codes = [level[kept] for level in codes]
    _check_nested(codes)
    n = tree.n_leaves
    value = optimum = 0.0
    # Weights 1, 2, 4, ... of the deepest common level are sums of 1, 1, 2, 4, ... over the common levels.
    for depth, level in enumerate(codes):
        weight = 1.0 if depth == 0 else 2.0 ** (depth - 1)
        cover = Cover.of_codes(level)
        sums = cover.on(tree).outside_sums(
            tree._lca, tree.child_start, tree.child_ids, tree.first, tree.size, n, threads_for(n_jobs, n)
        )
        size = cover.label_size.astype(np.float64)
        value += weight * float(sums.sum())
        optimum += weight * float((n * size * (size - 1) / 2 - size * (size**2 - 1) / 3).sum())
    if not optimum:
        raise InvalidInput(
            "No tree earns anything here: it takes three labelled leaves, two of them with equal labels."
        )
    return LabelMW(value, optimum)


def _read_levels(levels: Any, n: int) -> list[np.ndarray]:
    several = isinstance(levels, Sequence) and len(levels) > 0 and all(np.ndim(level) == 1 for level in levels)
    given = levels if several else list(levels) if np.ndim(levels) == 2 else [levels]
    return [
        check_labels(level, n, name=f"levels[{i}]" if len(given) > 1 else "levels") for i, level in enumerate(given)
    ]


def _check_nested(codes: list[np.ndarray]) -> None:
    for depth, (coarse, fine) in enumerate(pairwise(codes)):
        leaves = np.flatnonzero(fine >= 0)
        lies_in = np.full(fine.max(initial=-1) + 1, -1)
        lies_in[fine[leaves]] = coarse[leaves]
        wrong = leaves[(lies_in[fine[leaves]] != coarse[leaves]) | (coarse[leaves] < 0)]
        if len(wrong):
            raise InvalidInput(
                f"levels must be nested, coarse to fine: leaf {wrong[0]} shares its label of level {depth + 2} "
                f"with a leaf of another label on level {depth + 1}."
            )
