"""The tables of ``docs/studies/steer.md``: shapes, known labels, links and bursts on labelled sets.

``python -m benchmarks.steer_study shape`` compares the levels that were asked for with free cuts of the same size,
``labels`` what known labels of 1 % and 10 % of the rows do for the others, ``links`` counts broken links, and ``trend``
finds planted bursts. ``--most`` rows are drawn of each set.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

import cladify
from benchmarks.data import real
from cladify.tree import Tree

#: Name -> file, array of labels, metric.
SETS = {
    "newsgroups": ("newsgroups20_minilm", "y1", "cosine"),
    "debian": ("debian_minilm", "y", "cosine"),
    "glove": ("glove100", "y1", "cosine"),
    "mnist": ("mnist", "y", "cosine"),
    "optdigits": ("optdigits", "y", "cosine"),
    "letter": ("letter", "y", "sqeuclidean"),
    "satimage": ("satimage", "y", "sqeuclidean"),
    "segmentation": ("segmentation", "y", "sqeuclidean"),
    "vowel": ("vowel", "y", "sqeuclidean"),
    "vehicle": ("vehicle", "y", "sqeuclidean"),
    "wordnet": ("wordnet_minilm", "y1", "cosine"),
    "spambase": ("spambase", "y", "sqeuclidean"),
    "cancer": ("cancer", "y", "sqeuclidean"),
}
LEVELS = [8, 40, 200]


def load(name: str, most: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Rows with a label, z-scored where columns have different units."""
    file, labels, metric = SETS[name]
    data = real(file)
    rows = np.flatnonzero(data[labels] >= 0)
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    X = data["X"][rows].astype(np.float32)
    if metric == "sqeuclidean":
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6)
    return X, np.unique(data[labels][rows], return_inverse=True)[1], metric


def purity(truth: np.ndarray, labels: np.ndarray) -> float:
    found = np.unique(labels, return_inverse=True)[1]
    table = np.zeros((found.max() + 1, truth.max() + 1))
    np.add.at(table, (found, truth), 1)
    return float(table.max(axis=1).sum() / len(truth))


def level_labels(taxonomy: cladify.Taxonomy, number: int) -> np.ndarray:
    return np.asarray(taxonomy.table(taxonomy.levels[number : number + 1], form="arrow").column("label_1"))


def shape_table(names: list[str], most: int) -> None:
    print("set | rows | groups | single children | smallest, largest / average | purity asked − free")
    for name in names:
        X, y, metric = load(name, most)
        levels = [k for k in LEVELS if k <= len(X) // 10]
        made = cladify.Taxonomy.fit(X, metric=metric, levels=levels)
        free = cladify.fit(X, "graph", metric=metric)
        n = len(X)
        children = np.bincount(made.tree.parent[:-1], minlength=made.tree.n_nodes)[n:]
        single = int((children == 1).sum())
        ratio, gains = [], []
        for number, k in enumerate(levels):
            labels = level_labels(made, number)
            sizes = np.bincount(labels) * k / n
            ratio.append(f"{sizes.min():.2f}, {sizes.max():.1f}")
            gains.append(
                purity(y, labels) - purity(y, free.cut(n_clusters=made.levels[number].n_clusters, by="spread"))
            )
        counts = ", ".join(str(level.n_clusters) for level in made.levels)
        print(
            f"{name} | {n} | {counts} | {single} | {'; '.join(ratio)} | {', '.join(f'{g:+.3f}' for g in gains)}",
            flush=True,
        )


def labels_table(names: list[str], most: int, draws: int) -> None:
    print("set | rows | labels | known | purity: none, labels=, seeds= | ARI: none, labels=, seeds=")
    for name in names:
        X, y, metric = load(name, most)
        k = int(y.max()) + 1
        free = cladify.fit(X, "graph", metric=metric).cut(n_clusters=k, by="spread")
        for share in (0.01, 0.1):
            drawn = []
            for draw in range(draws):
                known = np.random.default_rng(100 + draw).random(len(X)) < share
                some = [int(label) if is_known else None for label, is_known in zip(y, known, strict=True)]
                guide = cladify.graphtree.Guide(labels=np.where(known, y, -1))
                guided = cladify.fit(X, "graph", metric=metric, guide=guide).cut(n_clusters=k, by="spread")
                seeded = level_labels(cladify.Taxonomy.fit(X, metric=metric, levels=[k], seeds=some), 0)
                rest = [labels[~known] for labels in (free, guided, seeded)]
                drawn.append([[score(y[~known], labels) for labels in rest] for score in (purity, adjusted_rand_score)])
            figures = [" ".join(f"{value:.3f}" for value in row) for row in np.mean(drawn, axis=0)]
            print(f"{name} | {len(X)} | {k} | {share:.0%} | {figures[0]} | {figures[1]}", flush=True)


def links_table(names: list[str], most: int) -> None:
    print("set | rows | links of each kind | must_link broken | cannot_link broken (coarsest level)")
    for name in names:
        X, y, metric = load(name, most)
        draw = np.random.default_rng(2)
        m = max(20, len(X) // 50)
        pairs = draw.integers(len(X), size=(20 * m, 2))
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        must = pairs[same & (pairs[:, 0] != pairs[:, 1])][:m].tolist()
        cannot = pairs[~same][:m].tolist()
        made: Any = cladify.Taxonomy.fit(
            X, metric=metric, levels=[20, 100][: 1 + (len(X) > 1500)], must_link=must, cannot_link=cannot
        )
        top, fine = level_labels(made, 0), level_labels(made, len(made.levels) - 1)
        broken = sum(int(fine[a] != fine[b]) for a, b in must)
        close = sum(int(top[a] == top[b]) for a, b in cannot)
        print(f"{name} | {len(X)} | {len(must)}, {len(cannot)} | {broken} | {close}", flush=True)


def trend_table(draws: int = 40) -> None:
    """F1 of bursts: 8 planted in 20 weeks of 10 groups of 300 items, 45 items each."""
    n, g = 3000, 10
    parent = np.concatenate([n + np.arange(n) // 300, np.full(g, n + g), [-1]])
    made = cladify.Taxonomy(Tree(parent, np.concatenate([np.zeros(n), np.ones(g), [2.0]])), [f"i{i}" for i in range(n)])
    own = level_labels(made, 0)
    scores = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        weeks = rng.integers(20, size=n)
        planted = set()
        for _ in range(8):
            group, week = int(rng.integers(g)), int(rng.integers(20))
            weeks[rng.choice(np.flatnonzero(own == group), 45, replace=False)] = week
            planted.add((group, week))
        found = made.trend(np.datetime64("2026-01-05") + 7 * weeks, level=g, every="week")
        bursts = {(found.nodes.index(b.node), found.bins.index(b.bin)) for b in found.bursts()}
        scores.append(2 * len(bursts & planted) / (len(bursts) + len(planted)))
    print(f"bursts: F1 {np.mean(scores):.3f} on average of {draws} draws, {np.min(scores):.3f} at the least")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["shape", "labels", "links", "trend"])
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--draws", type=int, default=5, help="of the labels that are known")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.table == "trend":
        trend_table()
    elif given.table == "labels":
        labels_table(given.sets, given.most, given.draws)
    else:
        {"shape": shape_table, "links": links_table}[given.table](given.sets, given.most)


if __name__ == "__main__":
    main()
