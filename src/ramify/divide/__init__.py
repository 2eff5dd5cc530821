"""Top-down methods: split the whole set, then the parts, until single points are left."""

from ramify.divide.random_cut import RandomCut
from ramify.divide.random_tree import RandomTree

__all__ = ["RandomCut", "RandomTree"]
