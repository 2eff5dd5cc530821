"""Entities: duplicates found without labels, and linkages learned from labelled pairs."""

from cladify.entities.duplicates import Deduplicated, dedupe
from cladify.entities.linkage import BlockLinkage, LearnedLinkage, best_height, pair_features, training_pairs

__all__ = [
    "BlockLinkage",
    "Deduplicated",
    "LearnedLinkage",
    "best_height",
    "dedupe",
    "pair_features",
    "training_pairs",
]
