"""Top-down methods: split the whole set, then the parts, until single points are left."""

from ramify.divide.bisect import BisectConquer
from ramify.divide.kmeans import BisectingKMeans
from ramify.divide.random_cut import RandomCut
from ramify.divide.random_tree import RandomTree
from ramify.divide.sat import SatConquer
from ramify.divide.spectral import SpectralCut

__all__ = ["BisectConquer", "BisectingKMeans", "RandomCut", "RandomTree", "SatConquer", "SpectralCut"]
