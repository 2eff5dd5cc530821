"""Bottom-up methods: start with every point alone, and merge."""

from ramify.agglomerate.affinity import Affinity
from ramify.agglomerate.hac import HAC
from ramify.agglomerate.reciprocal import ReciprocalNN
from ramify.agglomerate.scc import SCC

__all__ = ["HAC", "SCC", "Affinity", "ReciprocalNN"]
