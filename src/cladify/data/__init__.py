"""Input data: rows, graphs and given pairs, with the metric between them, checked once."""

from cladify.data.features import FeatureMap
from cladify.data.graph import NeighborGraph
from cladify.data.points import Points, as_points

__all__ = ["FeatureMap", "NeighborGraph", "Points", "as_points"]
