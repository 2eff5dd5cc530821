"""Draws a planted tree as it is and in three embeddings, ``docs/pictures/embed.png``: ``python docs/make_embed.py``.

Each panel is scikit-learn's t-SNE of the same 1000 points; colours are the eight components, close ones for siblings.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from sklearn.manifold import TSNE

import cladify
from cladify.datasets import btgm
from cladify.embed import VAE, VaDE
from cladify.metrics import dendrogram_purity

OUT = Path(__file__).resolve().parent / "pictures" / "embed.png"
COLORS = ["#08519c", "#6baed6", "#006d2c", "#74c476", "#a63603", "#fd8d3c", "#54278f", "#9e9ac8"]
TRAINING = {"n_latent": 3, "hidden": "small", "n_epochs": 20, "learning_rate": 2e-3, "n_jobs": 1}


def main() -> None:
    data = btgm(8, 500, margin=4.0, random_state=0)
    vade = VaDE(n_components=8, n_pretrain=20, random_state=0, **TRAINING).fit(data.X)
    vae = VAE(random_state=0, **TRAINING).fit(data.X)
    X, y = data.X[:1000], data.y[:1000]
    spaces = {"as it is": X, "VAE": vae.transform(X), "VaDE": vade.transform(X), "VaDE, rescaled": vade.rescaled(X)}
    figure, axes = pyplot.subplots(1, 4, figsize=(13, 3.6))
    for ax, (name, Z) in zip(axes, spaces.items(), strict=True):
        purity = dendrogram_purity(cladify.fit(Z, "hac", linkage="ward"), y)
        ax.scatter(*TSNE(random_state=0).fit_transform(Z).T, c=[COLORS[c] for c in y], s=5, linewidths=0)
        ax.set_title(f"{name}: purity {purity:.2f}")
        ax.set_xticks([])
        ax.set_yticks([])
    figure.tight_layout()
    figure.savefig(OUT, dpi=110)
    print(OUT)


if __name__ == "__main__":
    main()
