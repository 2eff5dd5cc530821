"""Entities: linkages learned from labelled pairs, for records that name the same thing."""

from cladify.entities.linkage import BlockLinkage, LearnedLinkage, best_height, pair_features, training_pairs

__all__ = ["BlockLinkage", "LearnedLinkage", "best_height", "pair_features", "training_pairs"]
