"""LLAMA: clusters of all rounds of nearest neighbours, where a cluster may have several parents."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._kit.memory import available_memory
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_bool, choice, integer, optional
from cladify._kit.progress import Progress
from cladify.agglomerate._links import point_links
from cladify.data.points import Points
from cladify.errors import CladifyWarning
from cladify.overlap._estimator import DagEstimator
from cladify.tree._rules import read_only
from cladify.tree.dag import ClusterDag

__all__ = ["Llama"]

#: Bytes of a link of the next cover, at most: 8 bytes in its half of the rows, and then 8 more in each direction.
_LINK_BYTES = 24
#: Of the nearest neighbours of vectors. Every cluster follows its very nearest, and those missed are felt: on ALOI
#: Jaccard per label is .653 at .99 and .643 at .97.
_RECALL = 0.99
#: Fewer than this are not worth a thread of their own.
_LINKS_A_THREAD = 20_000


@dataclass(kw_only=True, eq=False, repr=False)
class Llama(DagEstimator):
    r"""Lattices by leveraging agglomerations and multiple ancestors ([1]_, algorithm 11).

    With :math:`\mathcal S^{(0)}` every point on its own, round i unites each cluster with its nearest neighbour:

    .. math:: \mathcal N^{(i)} = \{(C, C') : C' = \arg\max_{B \in \mathcal S^{(i-1)}} f(C, B)\}, \qquad
              \mathcal S^{(i)} = \{C \cup C' : (C, C') \in \mathcal N^{(i)}\},

    where f is the linkage. A cluster that is the nearest of several others gets several parents, so every round is a
    cover of the points, and a point with several senses is in several branches. With ``max_parents`` = p, a pair counts
    only if it is among the p strongest of both its clusters; a cluster without such a pair stays as it is (§5.2).

    Clusters that are the same set are one node. The number of clusters falls in every round; those left after the last
    one are joined by the root. O(R·E) time for R rounds on a graph whose covers have E links, of which the largest
    cover's take 24 bytes each, kept to seven digits. Rounds end early, with a warning, where the nodes pass
    ``max_nodes`` or the next round does not fit in memory.

    Parameters
    ----------
    metric : str, Similarity or callable
        See :mod:`cladify.similarity`.
    n_neighbors : int
        Vectors become the graph of this many nearest neighbours (at most n − 1). With 50 or 100, clusters fit labels
        better (Jaccard per node), for two to five times the time.
    n_rounds : int or None
        How many rounds; None: until nothing is left to unite.
    max_parents : int or None
        At most so many parents a node gets in one round; None: no limit.
    linkage : {"average", "exact-average", "single"}
        On the graph, pairs without an edge have similarity 0. ``"average"`` follows the update rule: the mean of the
        parts' similarities, points counted as often as they came in, and nothing for what a shared part has in itself.
        ``"exact-average"`` takes all pairs of points in every round. ``"single"`` is the largest similarity.
    merge_equal : bool
        False: every pair makes a node of its own, also where another pair has the same union, as the thesis seems to
        count. A point is in half as many clusters again then, and sets that many pairs agree on weigh more in Jaccard
        per node. ``dag_.minimal()`` merges them afterwards.
    max_nodes : int, optional
        No further round once there are so many nodes.
    n_jobs : int
        Threads; -1 is all cores. The result does not depend on it.

    Attributes
    ----------
    dag_ : ClusterDag
        Its ``cover(round)`` gives every round back; the height of a node is that of the similarity it was united at.

    Examples
    --------
    The point in the middle is the nearest of both its neighbours, and in a cluster with each:

    >>> import numpy as np
    >>> dag = Llama(n_neighbors=2).fit(np.array([[0.0], [1.0], [1.9], [9.0]])).dag_
    >>> [dag.members(v).tolist() for v in dag.parents(1)]
    [[0, 1], [1, 2]]

    References
    ----------
    .. [1] Monath. Incremental non-greedy clustering at scale. PhD thesis, University of Massachusetts Amherst, 2022.
    """

    _checks: ClassVar = {
        "n_neighbors": integer(low=1),
        "n_rounds": optional(integer(low=1)),
        "max_parents": optional(integer(low=1)),
        "linkage": choice("average", "exact-average", "single"),
        "merge_equal": check_bool,
        "max_nodes": optional(integer(low=1)),
    }

    metric: Any = "sqeuclidean"
    n_neighbors: int = 25
    n_rounds: int | None = 50
    max_parents: int | None = 5
    linkage: str = "average"
    merge_equal: bool = True
    max_nodes: int | None = None
    n_jobs: int | None = -1

    def _fit(self, points: Points, report: Progress) -> ClusterDag:
        links = point_links(points, self.n_neighbors, n_jobs=self.n_jobs, report=report, recall=_RECALL)
        n = links.n_points
        threads = min(resolve_jobs(self.n_jobs), 1 + len(links.value) // _LINKS_A_THREAD)
        edges, unit = links.take32(), links.ceiling or 1.0  # the largest similarity counts as 1
        core = _core.LlamaRounds(
            *edges,
            shift=links.shift / unit,
            scale=links.scale / unit,
            linkage=self.linkage,
            max_parents=self.max_parents or 0,
            merge_equal=self.merge_equal,
            threads=threads,
        )
        del edges
        n_rounds, stopped = self._run(core, n, report)
        start, parent, size, similarity, *spans = core.finish()
        height = _short(links.height(unit * similarity))
        height[:n] = 0.0
        _core.dag_raise(start, parent, height)
        info = {"method": "llama", "linkage": self.linkage, "max_parents": self.max_parents, "n_rounds": n_rounds}
        if stopped:
            info["stopped"] = stopped
        dag = ClusterDag(start, parent, height, spans=np.stack(spans, axis=1), info={**info, **links.info})
        dag.__dict__["size"] = read_only(size)
        return dag

    def _run(self, core: Any, n: int, report: Progress) -> tuple[int, str]:
        """Rounds until there are enough; how many, and why they ended before."""
        done, stopped = 0, ""
        with report.stage("llama", total=n - 1) as advance:
            while core.n_clusters > 1 and not stopped and (self.n_rounds is None or done < self.n_rounds):
                before = core.n_clusters
                if not core.round(available_memory() // _LINK_BYTES):
                    break
                done += 1
                advance(before - core.n_clusters)
                if core.is_full:
                    stopped = "the next round may not fit in memory; use a smaller n_neighbors or max_parents"
                elif self.max_nodes is not None and core.n_nodes >= self.max_nodes:
                    stopped = f"there are {core.n_nodes} nodes, and max_nodes is {self.max_nodes}"
        if stopped and core.n_clusters > 1:
            warnings.warn(f"LLAMA stopped after {done} rounds: {stopped}.", CladifyWarning, stacklevel=5)
        return done, stopped


def _short(height: np.ndarray) -> np.ndarray:
    """Heights rounded to the 24 bits that links have."""
    fraction, power = np.frexp(height)
    return np.ldexp(np.round(np.ldexp(fraction, 24)), power - 24)
