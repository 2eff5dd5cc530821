"""Bottom-up methods: start with every point alone, and merge."""

from ramify.agglomerate.affinity import Affinity
from ramify.agglomerate.birch import Birch
from ramify.agglomerate.condensed import CondensedTree, condense
from ramify.agglomerate.hac import HAC
from ramify.agglomerate.reciprocal import ReciprocalNN
from ramify.agglomerate.robust import RobustSingleLinkage
from ramify.agglomerate.scc import SCC

__all__ = ["HAC", "SCC", "Affinity", "Birch", "CondensedTree", "ReciprocalNN", "RobustSingleLinkage", "condense"]
