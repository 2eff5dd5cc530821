"""Trees that do not look at the data: the zero point of every normalised score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._estimator import TreeEstimator
from cladify._kit.params import check_random_state, choice
from cladify._kit.progress import Progress
from cladify.data.points import Points
from cladify.tree import Tree

__all__ = ["RandomTree"]


@dataclass(kw_only=True, eq=False, repr=False)
class RandomTree(TreeEstimator):
    r"""A random binary tree over the rows of ``X``, whatever they hold.

    Both kinds treat all leaves alike, so each of three leaves is equally likely to be split off first. The expected
    value of an objective over such trees depends on nothing else: :math:`\tfrac13 (n - 2) \sum w_{ij}` for
    Moseley-Wang and :math:`\tfrac23 (n + 1) \sum d_{ij}` for CKMM, whichever kind is drawn (and also for random
    coin-flip splits, or for random merges as in :meth:`cladify.Tree.binarize`).

    Heights count the edges on the longest way down. O(n) time and memory.

    Parameters
    ----------
    kind : "uniform" or "path"
        * "uniform": each of the :math:`(2n - 3)!!` binary trees is equally likely; a depth of about :math:`\sqrt n`.
        * "path": leaves are split off one at a time, in random order (``PATH(RANDOM(V))`` of [1]_).
    n_clusters : int, optional
        Cut the tree into this many clusters: ``labels_``.
    random_state : int, Generator or None

    Examples
    --------
    >>> import numpy as np
    >>> RandomTree(random_state=0).fit(np.zeros((6, 1))).tree_.is_binary
    True
    >>> RandomTree(kind="path", random_state=0).fit(np.zeros((6, 1))).tree_.depth
    5

    References
    ----------
    .. [1] Naumov, Yaroslavtsev, Avdiukhin. Objective-based hierarchical clustering of deep embedding vectors. AAAI
       2021.
    """

    _checks: ClassVar = {"kind": choice("uniform", "path")}

    kind: str = "uniform"
    random_state: Any = None

    def _fit(self, points: Points, report: Progress) -> Tree:
        n = points.n
        random = check_random_state(self.random_state)
        info = {"method": "random", "kind": self.kind, "height": "edges to the deepest leaf"}
        with report.stage("random tree", total=1) as advance:
            if self.kind == "path":
                tree = Tree(path_parents(random.permutation(n)), info=info)
            else:
                tree = Tree.from_parents(_core.uniform_tree(n, int(random.integers(2**63))), n, info=info)
            advance()
        return tree


def path_parents(order: np.ndarray) -> np.ndarray:
    """Parents of the path-shaped tree that splits off ``order[0]`` first, then ``order[1]``, and so on.

    >>> path_parents(np.array([2, 0, 1])).tolist()
    [3, 3, 4, 4, -1]
    """
    n = len(order)
    parent = np.empty(2 * n - 1, dtype=np.int64)
    parent[n:] = np.arange(n + 1, 2 * n)
    parent[-1] = -1
    parent[order[::-1]] = np.maximum(n - 1 + np.arange(n), n) if n > 1 else -1
    return parent
