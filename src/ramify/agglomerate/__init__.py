"""Bottom-up methods: start with every point alone, and merge."""

from ramify.agglomerate.hac import HAC

__all__ = ["HAC"]
