"""`Tree`, the one result type, and `ClusterDag`, its sibling whose clusters overlap."""

from cladify.tree.dag import ClusterDag
from cladify.tree.protocol import Hierarchy
from cladify.tree.tree import Tree

__all__ = ["ClusterDag", "Hierarchy", "Tree"]
