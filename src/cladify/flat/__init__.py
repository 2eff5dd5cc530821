"""Flat clusterings: the cuts of a tree of least cost, and DP-means without a tree; see also `Tree.cut`."""

from cladify.flat.dp_means import DPMeans, dp_means, dp_means_pp
from cladify.flat.optimal import OptimalCuts, by_dp_means, dp_means_cuts, optimal_cuts

__all__ = [
    "DPMeans",
    "OptimalCuts",
    "by_dp_means",
    "dp_means",
    "dp_means_cuts",
    "dp_means_pp",
    "optimal_cuts",
]
