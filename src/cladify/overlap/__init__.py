"""Clusters that overlap: LLAMA and OHC, and soft membership from a tree and its graph.

======================= ===============================================================================
`Llama`                 rounds of nearest neighbours in which a cluster may get several parents
`OHC`                   overlapping hierarchical clustering, a small baseline
`soft_membership`       which other clusters of a tree's cut the points at its borders belong to
======================= ===============================================================================
"""

from cladify.overlap.llama import Llama
from cladify.overlap.ohc import OHC
from cladify.overlap.soft import SoftMembership, soft_membership

__all__ = ["OHC", "Llama", "SoftMembership", "soft_membership"]
