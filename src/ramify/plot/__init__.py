"""Pictures of trees, with matplotlib (``pip install 'ramify[plot]'``)."""

from ramify.plot.dendrogram import dendrogram

__all__ = ["dendrogram"]
