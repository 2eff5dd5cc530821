"""Top-down methods: split the whole set, then the parts, until single points are left."""

from cladify.divide.bisect import BisectConquer
from cladify.divide.kmeans import BisectingKMeans
from cladify.divide.random_cut import RandomCut
from cladify.divide.random_tree import RandomTree
from cladify.divide.sat import SatConquer
from cladify.divide.spectral import SpectralCut

__all__ = ["BisectConquer", "BisectingKMeans", "RandomCut", "RandomTree", "SatConquer", "SpectralCut"]
