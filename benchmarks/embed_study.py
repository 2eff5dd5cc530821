"""The tables of ``docs/studies/embed.md``: trees on vectors as they are, and on embeddings trained on them.

``python -m benchmarks.embed_study btgm`` repeats table 1 of Zhao, Hao and Rashtchian (2020), ``real [set ...]`` their
tables 2 and 3 with ``method="graph"`` beside Ward's linkage, ``epoch`` times an epoch beside a bare loop of PyTorch.
``--hidden paper --epochs 100 --rate 5e-4`` set the training; the defaults are those of the small preset. One line a
result: dendrogram purity with its spread, and the Moseley-Wang ratio.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.data import real

SETS = ("mnist", "optdigits", "satimage", "letter", "newsgroups20_tfidf", "newsgroups20_minilm")
#: Of the pixels.
LARGEST = {"mnist": 255.0, "optdigits": 16.0}


def figures(
    Z: np.ndarray, levels: list[np.ndarray], samples: list[np.ndarray], methods: list[str], metric: str = "sqeuclidean"
) -> str:
    """Purity on the finest labels and the Moseley-Wang ratio under all of them, for Ward and for ``graph``.

    Means over the samples of rows, with the standard deviation of the purity.
    """
    import cladify
    from cladify.metrics import dendrogram_purity, label_mw

    out = []
    for name in methods:
        options: dict[str, Any] = {"method": "graph", "metric": metric}
        if name == "ward":
            options = {"method": "hac", "linkage": "ward"}
        found = []
        for rows in samples:
            tree = cladify.fit(Z[rows], **options)
            inside = [level[rows] for level in levels]
            found.append((dendrogram_purity(tree, inside[-1]), label_mw(tree, inside).ratio))
        (purity, ratio), spread = np.mean(found, axis=0), np.std(found, axis=0)[0]
        out.append(f"{name} {purity:.3f} ± {spread:.3f}, {ratio:.3f}")
    return "   ".join(out)


def sampled(n: int, rows: int, count: int) -> list[np.ndarray]:
    return [np.sort(np.random.default_rng(seed).permutation(n)[:rows]) for seed in range(count)]


def embeddings(X: np.ndarray, k: int, h: int, options: argparse.Namespace, seed: int) -> dict[str, Any]:
    """Name -> the rows in that embedding, on demand: training one takes long."""
    from sklearn.decomposition import PCA

    from cladify.embed import VAE, VaDE

    shared = {"n_latent": h, "hidden": options.hidden, "n_epochs": options.epochs, "random_state": seed}
    shared |= {"budget_seconds": options.seconds, "learning_rate": options.rate, "batch_size": options.batch}
    shared |= {"precision": options.precision, "n_jobs": options.jobs}
    model = VaDE(n_components=k, n_pretrain=options.pretrain, start=options.start, guide=options.guide, **shared)
    every = {
        "pca": lambda: PCA(h, random_state=seed).fit_transform(X),
        "vae": lambda: VAE(**shared).fit_transform(X),
        "vade": lambda: model.fit(X, progress=options.progress).transform(X),
        "vade, rescaled": lambda: model.rescaled(X),
    }
    return {name: make for name, make in every.items() if name.split(",")[0] in options.embed}


def btgm(options: argparse.Namespace) -> None:
    """Table 1: its rows for the data as they are come out where the nearest means are 4 apart, not 8 as its text says,
    for trees of some thousand points, and with the components alone as labels of the Moseley-Wang objective."""
    from cladify.datasets import btgm

    for k in options.components:
        for seed in options.seed or range(options.seeds):
            mixture = btgm(k, options.per, margin=options.margin, random_state=seed)
            samples = sampled(len(mixture.X), 1000, 10)
            print(
                f"btgm {k:2}  seed {seed}  {'as it is':15} {figures(mixture.X, [mixture.y], samples, options.methods)}",
                flush=True,
            )
            for name, make in embeddings(mixture.X, k, k.bit_length() - 1, options, seed).items():
                start = time.process_time()
                Z = make()
                spent = time.process_time() - start
                told = figures(Z, [mixture.y], samples, options.methods)
                print(f"btgm {k:2}  seed {seed}  {name:15} {told}   {spent:.0f} s of CPU", flush=True)


def labelled(name: str) -> tuple[np.ndarray, list[np.ndarray], str]:
    """Rows (pixels in [0, 1], tables as z-scores), labels coarse to fine, metric of ``graph``."""
    arrays = real(name)
    X = np.asarray(arrays["X"], dtype=np.float32)
    if name in LARGEST:
        return X / LARGEST[name], [arrays["y"].astype(np.int64)], "cosine"
    if "y" in arrays:
        return (X - X.mean(axis=0)) / X.std(axis=0), [arrays["y"].astype(np.int64)], "sqeuclidean"
    full = np.flatnonzero(np.abs(X).sum(axis=1) > 0)
    return X[full], [arrays[level][full].astype(np.int64) for level in ("y0", "y1")], "cosine"


def tables(options: argparse.Namespace) -> None:
    for name in options.set or SETS:
        X, levels, metric = labelled(name)
        k = int(levels[-1].max()) + 1
        samples = sampled(len(X), options.rows, options.seeds)
        print(f"{name:20} {'as it is':15} {figures(X, levels, samples, options.methods, metric)}", flush=True)
        for embedding, make in embeddings(X, k, options.latent, options, 0).items():
            start = time.process_time()
            Z = make()
            spent = time.process_time() - start
            print(
                f"{name:20} {embedding:15} {figures(Z, levels, samples, options.methods)}   {spent:.0f} s of CPU",
                flush=True,
            )


def epoch(options: argparse.Namespace) -> None:
    """CPU seconds of an epoch of the autoencoder, ours and a bare loop in turns."""
    import torch
    from torch import nn

    from cladify.embed import VAE
    from cladify.embed._network import PRESETS, Coder

    X = np.random.default_rng(0).random((8_000, 784), dtype=np.float32).round()
    size = options.batch or 800

    def bare() -> None:
        network = Coder(784, PRESETS[options.hidden], 10, True)
        optimizer = torch.optim.Adam(network.parameters(), lr=5e-4)
        rows = torch.from_numpy(X)
        for batch in torch.randperm(len(X)).split(size):
            x = rows[batch]
            mean, log_variance = network.encode(x)
            z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
            misfit = nn.functional.binary_cross_entropy_with_logits(network.decoder(z), x, reduction="none").sum(1)
            loss = (misfit + 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def ours(precision: str) -> None:
        network = {"hidden": options.hidden, "batch_size": size, "precision": precision}
        VAE(n_epochs=1, random_state=0, **network).fit(X)

    torch.set_num_threads(1)  # CPU seconds that compare
    runs = {"bare": bare, "float32": lambda: ours("float32"), "bfloat16": lambda: ours("bfloat16")}
    spent: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(3):
        for name, run in runs.items():
            start = time.process_time()
            run()
            spent[name].append(time.process_time() - start)
    middle = {name: float(np.median(seconds)) for name, seconds in spent.items()}
    for name, seconds in middle.items():
        print(f"{name:10} {seconds:.2f} s, {seconds / middle['bare']:.2f} of the bare loop")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embed_study", description=__doc__)
    parser.add_argument("what", choices=["btgm", "real", "epoch"])
    parser.add_argument("set", nargs="*", help=f"of {', '.join(SETS)}")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of a sample that the trees are built on")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seed", type=int, nargs="+", help="of the mixtures, instead of the first --seeds")
    parser.add_argument("--per", type=int, default=2000, help="points a component of the mixtures")
    parser.add_argument("--methods", nargs="+", default=["ward", "graph"])
    parser.add_argument("--embed", nargs="+", default=["pca", "vae", "vade"])
    parser.add_argument("--start", default="graph", help="of VaDE: graph, or mixture as in the paper")
    parser.add_argument("--guide", type=float, default=10.0, help="weight of the clusters of the start")
    parser.add_argument("--margin", type=float, default=4.0, help="between the nearest means of the mixtures")
    parser.add_argument("--components", type=int, nargs="+", default=[8, 16, 32])
    parser.add_argument("--hidden", default="small")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--latent", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--pretrain", type=int, default=20)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seconds", type=float, help="budget of a training")
    parser.add_argument("--progress", action="store_true")
    options = parser.parse_args()
    {"btgm": btgm, "real": tables, "epoch": epoch}[options.what](options)


if __name__ == "__main__":
    main()
