"""Makes ``docs/docstrings.png``, the picture in the README, with cladify itself: ``python docs/make_picture.py``."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot
from matplotlib.patches import Patch

import cladify
from cladify.datasets import load_docstrings
from cladify.plot import dendrogram
from cladify.taxonomy._names.names import node_keywords
from cladify.text._terms import count_terms

COLORS = {"numpy": "#4d77cf", "scipy": "#8a5fb0", "sklearn": "#f09837"}
NAMES = {"numpy": "NumPy", "scipy": "SciPy", "sklearn": "scikit-learn"}

corpus = load_docstrings()
tree = cladify.fit(corpus.X, "hac", linkage="average", metric="cosine")
keywords = node_keywords(tree, count_terms(corpus.described))


def label(v: int) -> str:
    return ", ".join(keyword.term for keyword in keywords[v - tree.n_leaves][:3]) + f"  ({tree.size[v]})"


def color(v: int) -> str:
    packages, counts = np.unique(corpus.package[tree.members(v)], return_counts=True)
    return COLORS[str(packages[counts.argmax()])]


figure, ax = pyplot.subplots(figsize=(8.5, 7), layout="constrained")
dendrogram(tree, n_branches=32, label=label, color=color, ax=ax)
ax.set_xlabel("average cosine distance")
handles = [Patch(color=COLORS[name], label=f"mostly {NAMES[name]}") for name in COLORS]
figure.legend(handles=handles, loc="outside upper right", ncols=3, frameon=False, fontsize=8)
ax.set_title(f"{tree.n_leaves} docstrings, average linkage", fontsize=10, loc="left")
figure.savefig(Path(__file__).with_name("docstrings.png"), dpi=110)
