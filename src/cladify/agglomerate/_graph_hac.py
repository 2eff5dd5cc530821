"""HAC on a sparse graph of similarities, where pairs of points without an edge have similarity 0.

Single linkage is the minimum spanning forest of the graph. Average, weighted and complete linkage are reducible, so
merging all pairs of clusters that are each other's nearest, round after round, gives the merges of HAC. Parts of the
graph without a link are joined last, the smallest first, at similarity 0.
"""

from __future__ import annotations

import numpy as np

from cladify import _core
from cladify._kit.memory import check_memory
from cladify._kit.parallel import resolve_jobs
from cladify._kit.progress import Progress
from cladify.agglomerate._links import Links, point_links
from cladify.agglomerate._rounds import RoundMerges, contraction, run_rounds
from cladify.data.points import Points
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["GRAPH_LINKAGES", "binary_tree", "graph_hac"]

GRAPH_LINKAGES = ("average", "single", "complete", "weighted")


def graph_hac(
    points: Points,
    linkage: str,
    *,
    epsilon: float = 0.0,
    stop: float = np.inf,
    n_jobs: int | None = -1,
    report: Progress,
) -> Tree:
    """The binary tree of points that are a graph.

    With ``epsilon`` above 0, rounds also merge pairs within a factor 1 + ε of the best (not for single linkage, which
    is exact in any case); ``tree.info["epsilon"]`` keeps it. With ``stop``, what is higher than that may be missing.
    """
    if linkage not in GRAPH_LINKAGES:
        raise InvalidInput(
            f"linkage {linkage!r} needs vectors or a full matrix, got a graph; on graphs use "
            f"{', '.join(map(repr, GRAPH_LINKAGES))}."
        )
    links = point_links(points, 0, n_jobs=n_jobs, report=report)
    if linkage == "single":
        merges = _single(links, n_jobs)
    else:
        core = contraction(links, linkage, points.weight, n_jobs)
        least = (
            max(links.floor, links.to_height.value(stop) - 1e-6 * abs(links.top)) if np.isfinite(stop) else links.floor
        )
        merges, _ = run_rounds(core, links, [least], pairs=True, epsilon=epsilon, stage="hac", report=report)
    tree = binary_tree(merges, links)
    tree.info.update(method="hac", linkage=linkage, n_parts=merges.n_parts, **links.info)
    if epsilon > 0 and linkage != "single":
        tree.info["epsilon"] = epsilon
    return tree


def binary_tree(merges: RoundMerges, links: Links) -> Tree:
    """The binary tree of merges of pairs."""
    if merges.n_points == 1:
        return Tree([-1])
    left, right, similarity = _core.merge_nodes(merges.left, merges.right, merges.similarity)
    return Tree.from_merges(left, right, links.height(similarity), merges.n_points)


def _single(links: Links, n_jobs: int | None) -> RoundMerges:
    indptr, indices, value = links.take()
    # The forest takes the smallest values first: distances as they are, similarities with their sign turned.
    sign = -links.scale
    check_memory(  # the values with their sign, every edge with its end in order, and some numbers a point
        3 * value.nbytes + 100 * (len(indptr) - 1),
        f"Single linkage of a graph of {len(indptr) - 1} points and {len(indices)} edges",
        "build it with fewer neighbours.",
    )
    nearness = value if sign > 0 else -value
    left, right, order, round_ = _core.single_linkage(indptr, indices, nearness, 1.0, np.inf, resolve_jobs(n_jobs))
    joined = np.isinf(order)
    similarity = np.maximum(links.shift - np.where(joined, np.inf, order), links.floor)
    return RoundMerges(left, right, similarity, round_, n_rounds=1 if len(left) and round_[0] == 1 else 0)
