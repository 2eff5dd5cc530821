"""Draws what each method does with the same points, ``docs/pictures/methods.png``: ``python docs/make_drawings.py``.

Every panel has the points in the plane, coloured by the method's cut into six clusters, with the outlines of its two
coarsest splits, and below it the top of the tree.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot
from scipy.spatial import ConvexHull

import cladify
from cladify.plot import dendrogram, disk

OUT = Path(__file__).resolve().parent / "pictures"
COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"]
METHODS = {
    "hac": "average linkage",
    "robust": "robust single linkage",
    "reciprocal": "reciprocal neighbours",
    "affinity": "Affinity",
    "scc": "SCC",
    "graph": "the graph, refined",
    "bisect": "Bisect++ and Conquer",
    "kmeans": "bisecting k-means",
    "random-cut": "random projections",
}


def points() -> np.ndarray:
    """Blobs of three sizes, a chain, and noise."""
    rng = np.random.default_rng(3)
    blobs = [
        rng.normal(size=(n, 2)) * s + c for n, s, c in ((40, 0.5, (0, 0)), (25, 0.35, (2.2, 0.4)), (30, 0.6, (1, 3)))
    ]
    chain = (
        np.column_stack([np.linspace(4, 7, 30), 1.6 + np.sin(np.linspace(0, 3, 30))]) + rng.normal(size=(30, 2)) * 0.08
    )
    return np.concatenate([*blobs, chain, rng.uniform((-1, -1.5), (7, 4.5), size=(10, 2))])


def outline(ax: pyplot.Axes, rows: np.ndarray, width: float) -> None:
    if len(rows) > 2:
        ring = rows[ConvexHull(rows).vertices]
        middle = ring.mean(axis=0)
        ring = middle + (ring - middle) * (1 + 0.12 * width)
        ax.plot(*np.append(ring, ring[:1], axis=0).T, color="#55606d", linewidth=width, alpha=0.7)


def panel(axes: np.ndarray, X: np.ndarray, method: str, title: str) -> None:
    params = {"min_samples": 3} if method == "robust" else {}
    tree = cladify.fit(X, method, metric="euclidean" if method == "robust" else "sqeuclidean", **params)
    labels = tree.cut(n_clusters=6, by="spread")
    top, below = axes
    top.scatter(*X.T, c=[COLORS[c % 6] for c in labels], s=9, linewidths=0)
    for k, width in ((2, 1.6), (4, 0.7)):
        coarse = tree.cut(n_clusters=k, by="spread")
        for c in range(coarse.max() + 1):
            outline(top, X[coarse == c], width)
    top.set_title(title, fontsize=9)
    dendrogram(tree, n_branches=14, label=lambda v: "", ax=below)
    below.set_xlabel("")
    for ax in (top, below):
        ax.set_xticks([])
        ax.set_yticks([])
        for spine in ax.spines.values():
            spine.set_visible(False)


def methods() -> None:
    X = points()
    figure, axes = pyplot.subplots(6, 3, figsize=(8.4, 10.5), height_ratios=[3, 1.6] * 3, layout="constrained")
    for i, (method, title) in enumerate(METHODS.items()):
        row, column = 2 * (i // 3), i % 3
        panel(axes[row : row + 2, column], X, method, title)
    figure.savefig(OUT / "methods.png", dpi=80)


def hyperbolic() -> None:
    X = points()
    model = cladify.HypHC(n_steps=300, random_state=0).fit(X)
    figure, axes = pyplot.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained")
    group = np.repeat(["blob", "small blob", "wide blob", "chain", "noise"], [40, 25, 30, 30, 10])
    axes[0].scatter(*X.T, c=[COLORS[list(dict.fromkeys(group)).index(g)] for g in group], s=9, linewidths=0)
    axes[0].set_axis_off()
    axes[0].set_title("points", fontsize=9)
    disk(model.tree_, model.embedding_, labels=group, ax=axes[1])
    axes[1].set_title("their leaves in the disk, by HypHC", fontsize=9)
    axes[1].get_legend().remove()
    figure.savefig(OUT / "hyphc.png", dpi=80)


if __name__ == "__main__":
    methods()
    hyperbolic()
