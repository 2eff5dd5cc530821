"""Pictures of trees, with matplotlib; every function returns its axes."""

from cladify.plot.dendrogram import dendrogram
from cladify.plot.disk import animate_disk, disk
from cladify.plot.film import save_film
from cladify.plot.heatmap import clustermap
from cladify.plot.icicle import icicle
from cladify.plot.inline import taxonomy_html, tree_html
from cladify.plot.scores import scores
from cladify.plot.sizes import sizes
from cladify.plot.taxonomy import draw_taxonomy

__all__ = [
    "animate_disk",
    "clustermap",
    "dendrogram",
    "disk",
    "draw_taxonomy",
    "icicle",
    "save_film",
    "scores",
    "sizes",
    "taxonomy_html",
    "tree_html",
]
