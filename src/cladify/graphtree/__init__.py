"""Trees of a graph of neighbours: the default method, and how firmly items sit in their clusters."""

from cladify.graphtree._guide import Guide, spread_labels
from cladify.graphtree.confidence import confidence
from cladify.graphtree.graph_tree import GraphTree

__all__ = ["GraphTree", "Guide", "confidence", "spread_labels"]
