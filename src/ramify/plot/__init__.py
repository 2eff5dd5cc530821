"""Pictures of trees, with matplotlib (``pip install 'ramify[plot]'``); every function returns its axes."""

from ramify.plot.dendrogram import dendrogram
from ramify.plot.disk import animate_disk, disk
from ramify.plot.film import save_film
from ramify.plot.heatmap import clustermap
from ramify.plot.icicle import icicle
from ramify.plot.scores import scores
from ramify.plot.sizes import sizes

__all__ = ["animate_disk", "clustermap", "dendrogram", "disk", "icicle", "save_film", "scores", "sizes"]
