"""The default family under its short name; see :mod:`cladify.graphtree`."""

from cladify.graphtree import GraphTree, confidence

__all__ = ["GraphTree", "confidence"]
