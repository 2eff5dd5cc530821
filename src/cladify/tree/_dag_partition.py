"""The cheapest partition of the leaves into nodes of a graph of clusters.

Choosing nodes that are disjoint and cover everything is set partitioning, which is hard in general and easy here: most
nodes are no use, because the nodes below them split the same leaves for less. The rest falls into small parts.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.params import check_float
from cladify.errors import InvalidInput

if TYPE_CHECKING:
    from cladify.tree.dag import ClusterDag

__all__ = ["Partition", "best_partition"]


@dataclass(frozen=True)
class Partition:
    """A partition of the leaves into nodes.

    Attributes
    ----------
    nodes : int64 array
        Its clusters, in order of their smallest leaf.
    labels : int64 array of shape (n,)
        Cluster of each leaf, as a position in ``nodes``.
    cost : float
    bound : float
        No partition into nodes of this graph is cheaper.
    """

    nodes: np.ndarray
    labels: np.ndarray
    cost: float
    bound: float

    @property
    def gap(self) -> float:
        """How much cheaper another partition could be, at most; 0 where this one is proven to be the best."""
        return max(self.cost - self.bound, 0.0)


def best_partition(dag: ClusterDag, cost: Any, *, budget_seconds: float) -> Partition:
    """See :meth:`cladify.ClusterDag.best_partition`."""
    cost = np.asarray(cost, dtype=np.float64)
    if cost.shape != (dag.n_nodes,) or not np.isfinite(cost).all():
        raise InvalidInput(f"cost must have one finite number a node, shape ({dag.n_nodes},), got shape {cost.shape}.")
    deadline = time.monotonic() + check_float("budget_seconds", budget_seconds, low=0.0, open_low=True)
    useful = np.flatnonzero(~_replaced(dag, cost))
    matrix = dag.memberships(useful).astype(np.float64)
    part = _parts(matrix)
    chosen: list[int] = []
    bound = 0.0
    for rows in part:
        picked, least = _solve(matrix[rows], cost[useful[rows]], deadline)
        chosen.extend(useful[rows[picked]].tolist())
        bound += least
    nodes = np.array(chosen, dtype=np.int64)
    members = dag.memberships(nodes)
    nodes = nodes[np.argsort(members.indices[members.indptr[:-1]])]
    members = dag.memberships(nodes)
    labels = np.empty(dag.n_leaves, dtype=np.int64)
    labels[members.indices] = np.repeat(np.arange(len(nodes)), np.diff(members.indptr))
    total = float(cost[nodes].sum())
    return Partition(nodes, labels, total, min(bound, total))


def _replaced(dag: ClusterDag, cost: np.ndarray) -> np.ndarray:
    """Mask of the nodes that disjoint nodes below replace for no more."""
    n = dag.n_leaves
    cheapest = cost.tolist()
    size = dag.size.tolist()
    split = np.zeros(dag.n_nodes, dtype=bool)
    start, child = dag.child_start.tolist(), dag.child_ids.tolist()
    for i in range(dag.n_nodes - n):
        below = child[start[i] : start[i + 1]]
        if sum(size[c] for c in below) > size[n + i]:  # they overlap
            continue
        total = sum(cheapest[c] for c in below)
        if total <= cheapest[n + i]:
            cheapest[n + i] = total
            split[n + i] = True
    return split


def _parts(matrix: Any) -> list[np.ndarray]:
    """Rows that share no leaf with the rows of another part."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    m, n = matrix.shape
    row = np.repeat(np.arange(m), np.diff(matrix.indptr))
    graph = csr_array((np.ones(len(row)), (row, m + matrix.indices)), shape=(m + n, m + n))
    _, part = connected_components(graph, directed=False)
    order = np.argsort(part[:m], kind="stable")
    cuts = np.flatnonzero(np.diff(part[:m][order])) + 1
    return np.split(order, cuts)


def _solve(matrix: Any, cost: np.ndarray, deadline: float) -> tuple[np.ndarray, float]:
    """Rows of the cheapest partition of the columns that they cover, and a lower bound of its cost."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    matrix = matrix[:, np.flatnonzero(matrix.sum(axis=0))]
    size = np.diff(matrix.indptr)
    if matrix.shape[0] == 1:
        return np.array([0]), float(cost[0])
    # Each leaf pays at least the smallest share of a node that it is in: a bound that needs no search.
    share = np.full(matrix.shape[1], np.inf)
    np.minimum.at(share, matrix.indices, np.repeat(cost / size, size))
    least = float(share.sum())
    left = deadline - time.monotonic()
    if left > 0.01:
        found = milp(
            cost,
            constraints=LinearConstraint(matrix.T, 1.0, 1.0),
            integrality=np.ones(len(cost)),
            bounds=Bounds(0.0, 1.0),
            options={"time_limit": left, "mip_rel_gap": 0.0, "presolve": _presolve_is_safe()},
        )
        if found.x is not None:
            bound = found.mip_dual_bound if found.mip_dual_bound is not None else least
            picked = np.flatnonzero(found.x > 0.5)
            return picked, float(cost[picked].sum()) if found.status == 0 else max(least, float(bound))
    return _greedy(matrix, cost / size), least


def _presolve_is_safe() -> bool:
    """The HiGHS that SciPy had up to 1.17.0 may end the process while it simplifies a problem of many overlaps."""
    import scipy

    return tuple(int(part) for part in re.findall(r"\d+", scipy.__version__)[:3]) >= (1, 17, 1)


def _greedy(matrix: Any, price: np.ndarray) -> np.ndarray:
    """Disjoint rows, the cheapest a leaf first; leaves are rows of their own, so that all are covered."""
    covered = np.zeros(matrix.shape[1], dtype=bool)
    picked = []
    for row in np.argsort(price, kind="stable").tolist():
        columns = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        if not covered[columns].any():
            covered[columns] = True
            picked.append(row)
    return np.array(picked)
