"""Bottom-up methods: start with every point alone, and merge."""

from cladify.agglomerate.affinity import Affinity
from cladify.agglomerate.birch import Birch
from cladify.agglomerate.condensed import CondensedTree, condense
from cladify.agglomerate.hac import HAC
from cladify.agglomerate.reciprocal import ReciprocalNN
from cladify.agglomerate.robust import RobustSingleLinkage
from cladify.agglomerate.scc import SCC

__all__ = ["HAC", "SCC", "Affinity", "Birch", "CondensedTree", "ReciprocalNN", "RobustSingleLinkage", "condense"]
