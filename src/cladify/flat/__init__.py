"""Flat clusterings: cuts of a tree by count, height, size or cost, and DP-means without a tree."""

from cladify.flat.cuts import by_count, by_height, by_size
from cladify.flat.dp_means import DPMeans, dp_means, dp_means_pp
from cladify.flat.optimal import OptimalCuts, by_dp_means, dp_means_cuts, optimal_cuts

__all__ = [
    "DPMeans",
    "OptimalCuts",
    "by_count",
    "by_dp_means",
    "by_height",
    "by_size",
    "dp_means",
    "dp_means_cuts",
    "dp_means_pp",
    "optimal_cuts",
]
