"""Jaccard metrics: for trees, flat clusterings and DAGs alike, against a partition or a cover.

On a tree they come from native walks, on a DAG from one native pass that streams the members of its nodes. Anything
else is a set of clusters, given as a sparse matrix of nodes by points, and the overlaps with the labels are one sparse
product, taken block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import row_blocks
from cladify._kit.params import check_labels
from cladify.data._vectors import is_sparse
from cladify.errors import InvalidInput
from cladify.metrics._truth import Cover, read_cover, threads_for
from cladify.tree import Tree
from cladify.tree.dag import ClusterDag

__all__ = ["BudgetCurve", "jaccard_curve", "jaccard_per_label", "jaccard_per_node", "jaccard_per_point"]


def jaccard_per_label(structure: Any, truth: Any, *, n_jobs: int | None = -1) -> float:
    r"""How well each label is found: mean over labels of the best Jaccard similarity with a node.

    .. math:: \mathrm{Jacc/label} = \frac{1}{|\mathcal{C}^\star|} \sum_{C^\star \in \mathcal{C}^\star}
              \max_{C \in \mathcal{D}} \frac{|C \cap C^\star|}{|C \cup C^\star|}

    where :math:`\mathcal{D}` are the nodes of the structure (all nodes of a tree, leaves included) and
    :math:`\mathcal{C}^\star` the labels. O(n) on a tree with a partition as truth.

    Parameters
    ----------
    structure : Tree, ClusterDag, labels, sparse matrix or sequence of clusters
        A tree or a DAG; flat clusters as labels of shape (n,), where -1 (noise) is no cluster; a sparse matrix of shape
        (nodes, n) whose non-zeros are memberships; an object with ``n_nodes`` and ``members(v)``; or a list of
        clusters, each a collection of point numbers.
    truth : labels or cover
        One label a point, shape (n,), -1 for none; or several: a sparse indicator of shape (n, labels), a pair
        ``(indptr, indices)``, or a list of n collections of labels. Points without a label are left out, and so are
        labels without points.
    n_jobs : int
        Threads.

    Examples
    --------
    >>> from cladify import Tree
    >>> tree = Tree([4, 4, 5, 5, 6, 6, -1])                     # ((0, 1), (2, 3))
    >>> jaccard_per_label(tree, ["a", "a", "b", "b"])
    1.0
    >>> jaccard_per_label(tree, [{"a"}, {"a", "b"}, {"b"}, {"b"}])       # {0, 1} is a; the root is 3/4 of b
    0.875

    References
    ----------
    Monath, Incremental non-greedy clustering at scale, University of Massachusetts Amherst, 2022, eq. 2.5-2.7.
    """
    best, _ = _best_per_label(structure, truth, n_jobs)
    return float(best.mean())


def jaccard_per_point(structure: Any, truth: Any, *, n_jobs: int | None = -1) -> float:
    r"""As `jaccard_per_label`, each label weighted by its points.

    .. math:: \mathrm{Jacc/point} = \frac{1}{\sum_x |\mathcal{C}^\star_x|} \sum_x \sum_{C^\star \in \mathcal{C}^\star_x}
              \max_{C \in \mathcal{D}} \frac{|C \cap C^\star|}{|C \cup C^\star|}

    where :math:`\mathcal{C}^\star_x` are the labels of point x. Of the three it follows dendrogram purity most closely,
    and unlike that it is defined for covers and DAGs. Parameters as in `jaccard_per_label`.

    >>> jaccard_per_point([0, 0, 0, 1], ["a", "a", "a", "b"])
    1.0
    """
    best, cover = _best_per_label(structure, truth, n_jobs)
    return float(best @ cover.label_size / cover.label_size.sum())


def jaccard_per_node(structure: Any, truth: Any, *, n_jobs: int | None = -1) -> float:
    r"""How well each node is explained: mean over nodes of the best Jaccard similarity with a label.

    .. math:: \mathrm{Jacc/node} = \frac{1}{|\mathcal{D}|} \sum_{C \in \mathcal{D}}
              \max_{C^\star \in \mathcal{C}^\star} \frac{|C \cap C^\star|}{|C \cup C^\star|}

    Parameters as in `jaccard_per_label`. O(n log² n) on a tree with a partition as truth.

    >>> from cladify import Tree
    >>> jaccard_per_node(Tree([2, 2, -1]), ["a", "a"])          # both leaves 1/2, the root 1
    0.6666666666666666
    """
    if isinstance(structure, ClusterDag):
        best = _walk(structure, _labels(structure, truth))[0]
        return float(best[best >= 0].mean())
    nodes, cover = _read(structure, truth)
    threads = threads_for(n_jobs, cover.label.size)
    if isinstance(nodes, Tree):
        layout = (nodes.size, nodes.leaf_order, nodes.first, nodes.last)
        best = _core.best_labels(nodes.parent, *layout, cover.start, cover.label, cover.label_size, threads)
    else:
        best = np.concatenate(
            [np.asarray(block.max(axis=1).todense()).ravel() for block in _similarities(nodes, cover)]
        )
    return float(best.mean())


@dataclass(frozen=True)
class BudgetCurve:
    """Quality of the first nodes of a structure, for some numbers of nodes.

    Attributes
    ----------
    n_nodes : int64 array
        How many nodes were kept, leaves included.
    per_label, per_point, per_node : float64 arrays
        The three Jaccard metrics of those nodes.
    """

    n_nodes: np.ndarray
    per_label: np.ndarray
    per_point: np.ndarray
    per_node: np.ndarray


def jaccard_curve(structure: Tree | ClusterDag, truth: Any, *, budgets: Any = None) -> BudgetCurve:
    """Quality against size: the Jaccard metrics of a tree or DAG if only its first nodes are kept.

    Nodes are kept in the order in which they were made: by round where the structure has rounds, else by height; the
    leaves come first. So the curves of two structures compare at the same number of nodes.

    Parameters
    ----------
    structure : Tree or ClusterDag
    truth : labels or cover
        As in `jaccard_per_label`.
    budgets : sequence of ints, optional
        Numbers of nodes; by default 20 from the number of leaves to all nodes, a constant factor apart.

    Examples
    --------
    >>> from cladify import Tree
    >>> curve = jaccard_curve(Tree([4, 4, 5, 5, 6, 6, -1]), ["a", "a", "b", "b"], budgets=[4, 5, 7])
    >>> curve.per_label.tolist()
    [0.5, 0.75, 1.0]
    """
    n, m = structure.n_leaves, structure.n_nodes
    if budgets is None:
        budgets = np.unique(np.geomspace(n, m, 20).round().astype(np.int64))
    budgets = np.asarray(budgets)
    if budgets.ndim != 1 or not len(budgets) or budgets.dtype.kind not in "iu" or (np.diff(budgets) <= 0).any():
        raise InvalidInput("budgets must be rising integers, at least one.")
    if budgets[0] < 1 or budgets[-1] > m:
        raise InvalidInput(f"budgets must lie in [1, {m}] for {m} nodes, got {budgets[0]} to {budgets[-1]}.")
    cover = _labels(structure, truth)
    rank = np.empty(m, dtype=np.int64)
    rank[np.lexsort((np.arange(m), structure.height, _made_in(structure)))] = np.arange(m)
    group = np.searchsorted(budgets, rank, side="right").astype(np.int32)
    group[group == len(budgets)] = -1
    node, label = _walk(structure, cover, group, len(budgets))
    label = np.maximum.accumulate(label, axis=0)
    counted = (node >= 0) & (group >= 0)
    count = np.cumsum(np.bincount(group[counted], minlength=len(budgets)))
    total = np.cumsum(np.bincount(group[counted], weights=node[counted], minlength=len(budgets)))
    return BudgetCurve(
        budgets.astype(np.int64),
        label.mean(axis=1),
        label @ cover.label_size / cover.label_size.sum(),
        total / np.maximum(count, 1),
    )


def _made_in(structure: Tree | ClusterDag) -> np.ndarray:
    """The round in which each node was made; 0 where there are no rounds."""
    made = np.zeros(structure.n_nodes, dtype=np.int64)
    if isinstance(structure, Tree):
        return made if structure.level is None else structure.level
    if structure.spans is not None:
        made[:] = np.iinfo(np.int64).max
        np.minimum.at(made, structure.spans[:, 0], structure.spans[:, 1])
    return made


def _labels(structure: Tree | ClusterDag, truth: Any) -> Cover:
    cover = read_cover(truth, structure.n_leaves)
    if not cover.has_label().any():
        raise InvalidInput("truth has no labels: no point has one.")
    return cover


def _walk(
    structure: Tree | ClusterDag, cover: Cover, group: np.ndarray | None = None, n_groups: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Best similarity of each node (-1 without labelled points), and of each label with the nodes of each group."""
    if group is None:
        group = np.zeros(structure.n_nodes, dtype=np.int32)
    sizes = np.ascontiguousarray(cover.label_size, dtype=np.int64)
    children = (structure.child_start, structure.child_ids, structure.n_leaves)
    node, label = _core.dag_jaccard(*children, cover.start, cover.label, sizes, group, n_groups)
    return node, label.reshape(n_groups, cover.n_labels)


def _best_per_label(structure: Any, truth: Any, n_jobs: int | None) -> tuple[np.ndarray, Cover]:
    if isinstance(structure, ClusterDag):
        cover = _labels(structure, truth)
        return _walk(structure, cover)[1][0], cover
    nodes, cover = _read(structure, truth)
    if isinstance(nodes, Tree):
        return cover.on(nodes).best_nodes(nodes._lca, nodes.size, threads_for(n_jobs, cover.label.size)), cover
    best = np.zeros(cover.n_labels)
    for block in _similarities(nodes, cover):
        np.maximum(best, np.asarray(block.max(axis=0).todense()).ravel(), out=best)
    return best, cover


def _read(structure: Any, truth: Any) -> tuple[Any, Cover]:
    """The structure, as a tree or as a CSR matrix of nodes by points, and the labels, over the points that have one."""
    nodes = structure if isinstance(structure, Tree) else _memberships(structure, truth)
    n = nodes.n_leaves if isinstance(nodes, Tree) else nodes.shape[1]
    cover = read_cover(truth, n)
    kept = cover.has_label()
    if not kept.any():
        raise InvalidInput("truth has no labels: no point has one.")
    if not kept.all():
        cover = cover.without_unlabelled()
        if isinstance(nodes, Tree):
            nodes = nodes.prune(kept)
        else:
            nodes = nodes[:, np.flatnonzero(kept)]
            nodes = _nonempty(nodes)
    return nodes, cover


def _memberships(structure: Any, truth: Any) -> Any:
    from scipy.sparse import csr_array

    if is_sparse(structure):
        nodes = csr_array(structure != 0)
    elif hasattr(structure, "members") and hasattr(structure, "n_nodes"):
        nodes = _stacked([structure.members(v) for v in range(structure.n_nodes)], structure.n_leaves)
    elif isinstance(structure, Sequence) and any(np.ndim(c) or isinstance(c, (set, frozenset)) for c in structure):
        nodes = _stacked(structure, truth.shape[0] if is_sparse(truth) else _n_points(truth))
    else:
        codes = check_labels(structure, np.size(structure), name="labels")
        point = np.flatnonzero(codes >= 0)
        shape = (int(codes.max(initial=-1)) + 1, len(codes))
        nodes = csr_array((np.ones(len(point)), (codes[point], point)), shape=shape)
    return _nonempty(nodes).astype(np.float64)


def _nonempty(nodes: Any) -> Any:
    nodes = nodes[np.diff(nodes.indptr) > 0]
    if not nodes.shape[0]:
        raise InvalidInput("The structure has no clusters: every labelled point is noise.")
    return nodes


def _n_points(truth: Any) -> int:
    return len(truth[0]) - 1 if isinstance(truth, tuple) and len(truth) == 2 else len(truth)


def _stacked(clusters: Sequence[Any], n: int) -> Any:
    """CSR rows from collections of points."""
    from scipy.sparse import csr_array

    rows = [np.unique(np.fromiter(cluster, dtype=np.int64)) for cluster in clusters]
    point = np.concatenate(rows)
    if len(point) and (point.min() < 0 or point.max() >= n):
        wrong = point[(point < 0) | (point >= n)][0]
        raise InvalidInput(f"A cluster holds the point {wrong}; there are points 0 .. {n - 1}.")
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return csr_array((np.ones(len(point)), point, start), shape=(len(rows), n))


def _similarities(nodes: Any, cover: Cover) -> Any:
    """Sparse Jaccard similarities of nodes (rows) and labels, for one block of nodes after the other."""
    from scipy.sparse import csr_array

    indicator = csr_array((np.ones(len(cover.label)), cover.label, cover.start), shape=(nodes.shape[1], cover.n_labels))
    size = np.diff(nodes.indptr)
    for rows in row_blocks(nodes.shape[0], 65_536):
        shared = (nodes[rows] @ indicator).tocsr()
        node = np.repeat(np.arange(shared.shape[0]), np.diff(shared.indptr))
        union = size[rows][node] + cover.label_size[shared.indices] - shared.data
        yield csr_array((shared.data / union, shared.indices, shared.indptr), shape=shared.shape)
