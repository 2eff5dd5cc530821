"""What the papers prove, tried on random instances: every row counts those on which it fails."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import cladify
from cladify import datasets, objectives, similarity
from cladify.errors import CladifyWarning
from cladify.hyperbolic import decode, embed_tree
from cladify.metrics import dendrogram_purity, jaccard_per_label
from cladify.papers._row import Row

__all__ = ["rows"]

#: Exactly as claimed, but for what float64 rounds.
_SLACK = 1e-9


def failures(holds: Callable[[int], bool], count: int, seed: int) -> float:
    """How many of the instances refute the theorem."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CladifyWarning)
        return float(sum(not holds(instance) for instance in range(count)))


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def points(seed: int, n: int = 12, d: int = 3) -> np.ndarray:
    return rng(seed).standard_normal((n, d)).astype(np.float32)


# --- Naumov and others ------------------------------------------------------------------------------------------------


def sat(seed: int) -> bool:
    """Theorem 3.1: B2SAT&C earns .74 of the best CKMM."""
    X = points(seed)
    best = objectives.ckmm(objectives.optimal_tree(X, "ckmm"), X)
    return objectives.ckmm(cladify.SatConquer(theta=1, random_state=seed).fit(X).tree_, X) >= 0.74 * best


def average_ckmm(seed: int) -> bool:
    """Average linkage earns ⅔ of the best CKMM."""
    X = points(seed)
    best = objectives.ckmm(objectives.optimal_tree(X, "ckmm"), X)
    return objectives.ckmm(cladify.fit(X, "hac"), X) >= 2 / 3 * best


def average_mw(seed: int) -> bool:
    """Average linkage earns ⅓ of the best MW."""
    X = points(seed)
    best = objectives.mw(objectives.optimal_tree(X, "mw", "cosine"), X, "cosine")
    return objectives.mw(cladify.HAC(metric="cosine").fit(X).tree_, X, "cosine") >= 1 / 3 * best


def bounded(seed: int) -> bool:
    """No tree lies outside the triple bounds."""
    X = points(seed, 40)
    tree = cladify.fit(X, "random", random_state=seed)
    for name, metric in (("dasgupta", "cosine"), ("mw", "cosine"), ("ckmm", "sqeuclidean")):
        known = objectives.bounds(X, metric, name, method="exact")
        value = getattr(objectives, name)(tree, X, metric)
        if not known.lower * (1 - _SLACK) <= value <= known.upper * (1 + _SLACK):
            return False
    return True


# --- Charikar and others ----------------------------------------------------------------------------------------------


def line(seed: int) -> np.ndarray:
    """40 points on a line, in two scales."""
    random = rng(seed)
    return (random.standard_normal(40) * random.choice([0.1, 1.0], 40))[:, None].astype(np.float32)


def average_line(seed: int) -> bool:
    """Theorem 3.2: in one dimension, average linkage earns half of 1D-SUM-upper."""
    x, metric = line(seed), similarity.rbf(1.0)
    tree = cladify.HAC(metric=metric).fit(x).tree_
    return objectives.mw(tree, x, metric) >= 0.5 * objectives.sum_upper_1d(x, metric) * (1 - 1e-6)


def random_line(seed: int) -> bool:
    """Lemma 3.3: in one dimension, a random cut earns half of 1D-MAX-upper in expectation (mean of 50, two errors)."""
    x, metric = line(seed), similarity.rbf(1.0)
    earned = [objectives.mw(cladify.RandomCut(random_state=i).fit(x).tree_, x, metric) for i in range(50)]
    error = np.std(earned) / np.sqrt(len(earned))
    return float(np.mean(earned) + 2 * error) >= 0.5 * objectives.max_upper_1d(x, metric)


def random_cut(seed: int) -> bool:
    """Theorem 4.1: the projected random cut earns more than a third of MAX-upper (mean of 50, two errors)."""
    X, metric = points(seed, 40, 5), similarity.rbf(0.5)
    earned = [objectives.mw(cladify.RandomCut(random_state=i).fit(X).tree_, X, metric) for i in range(50)]
    error = np.std(earned) / np.sqrt(len(earned))
    return float(np.mean(earned) + 2 * error) >= objectives.bounds(X, metric, "mw", method="exact").upper / 3


def hard_line(seed: int) -> bool:
    """Lemma 5.3: four points on which average linkage earns no more than .751 of the best."""
    data = datasets.make_hard_line(1e-6 * (1 + seed))
    metric = similarity.rbf(data.gamma)
    best = objectives.mw(objectives.optimal_tree(data.X, "mw", metric), data.X, metric)
    return objectives.mw(cladify.HAC(metric=metric).fit(data.X).tree_, data.X, metric) <= 0.751 * best


def hard_grid(seed: int) -> bool:
    """Theorem 5.1: on k³ points average linkage falls towards a third of what a known tree earns: under .6 at k = 6."""
    data = datasets.make_hard_grid(6, random_state=seed)
    metric = similarity.rbf(data.gamma)
    groups = cladify.Tree(np.concatenate([216 + data.y, np.full(6, 222), [-1]]))
    ours = objectives.mw(cladify.HAC(metric=metric).fit(data.X).tree_, data.X, metric)
    return ours < 0.6 * objectives.mw(groups, data.X, metric)


def any_graph(seed: int) -> bool:
    """Theorem 4.3: Gaussian similarities of some unit vectors are those of any graph, 1 and ε, times a constant."""
    linked = np.triu(rng(seed).random((30, 30)) < 0.3, 1)
    data = datasets.make_graph_vectors(linked, epsilon=0.1)
    pairs = np.triu_indices(30, 1)
    square = ((data.X[pairs[0]] - data.X[pairs[1]]) ** 2).sum(axis=1)
    assert data.gamma is not None  # of every set that is made for a Gaussian kernel
    found = np.exp(-data.gamma * square) / 0.1**29
    return bool(np.allclose(found, np.where(linked[pairs], 1.0, 0.1), rtol=1e-6))


# --- Monath -----------------------------------------------------------------------------------------------------------


def pure(tree: Any, y: np.ndarray) -> bool:
    return float(dendrogram_purity(tree, y)) == 1.0


def grinch(seed: int) -> bool:
    """Theorem 3: GRINCH recovers model-separated clusters, in any order of arrival."""
    X, y = datasets.make_model_separated(300, 12, random_state=seed)
    exact: dict[str, Any] = {"cap": None, "single_elimination": False, "single_search": False}
    model = cladify.Grinch(linkage="centroid", **exact).partial_fit(np.asarray(X.toarray()))
    return pure(model.tree_, y)


def separated(seed: int) -> bool:
    """Theorem 4: SCC with doubling thresholds has the clusters of δ-separated data (δ = 6) as one of its rounds."""
    X, y = datasets.make_delta_separated(300, 10, n_features=4, random_state=seed)
    least = float(cladify.neighbors(X, 1, metric="euclidean").distances().min())
    steps = max(least, 1e-3) * 2.0 ** np.arange(40)
    tree = cladify.SCC(metric="euclidean", n_neighbors=len(X) - 1, thresholds=steps).fit(X).tree_
    return pure(tree, y) and float(jaccard_per_label(tree, y)) == 1.0


def strict(seed: int) -> bool:
    """Strictly separated clusters are nodes of every linkage's tree."""
    X, y = datasets.make_strictly_separated(150, 8, n_features=3, spread=30.0, random_state=seed)
    return all(pure(cladify.HAC(linkage=name).fit(X).tree_, y) for name in ("single", "average", "complete"))


def rounds_are_merges(seed: int) -> bool:
    """Proposition 2: with a threshold just above every merge, SCC is average linkage."""
    X = points(seed, 30)
    tree = cladify.HAC(metric="sqeuclidean").fit(X).tree_
    steps = np.unique(tree.height[tree.n_leaves :]) * (1 + 1e-6)
    made = cladify.SCC(n_neighbors=len(X) - 1, thresholds=steps).fit(X).tree_
    return _clusters(tree) == _clusters(made)


def noisy(seed: int) -> bool:
    """Propositions 3 and 4: LLAMA has the noisy-separated clusters as nodes, average linkage has not."""
    X, y = datasets.make_noisy_separated(120, 6, random_state=seed)
    near = cladify.neighbors(X, 119, metric="cosine")
    dag = cladify.Llama(linkage="exact-average", n_rounds=None, max_parents=None).fit(near).dag_
    tree = cladify.HAC(metric="cosine").fit(X).tree_
    return float(jaccard_per_label(dag, y)) == 1.0 and float(jaccard_per_label(tree, y)) < 1.0


def _clusters(tree: Any) -> set[frozenset[int]]:
    return {frozenset(tree.members(v).tolist()) for v in range(tree.n_leaves, len(tree.parent))}


# --- Zhao and others --------------------------------------------------------------------------------------------------


def ward(seed: int) -> bool:
    """Theorems 1 and 2: Ward's linkage recovers well separated Gaussians and the hierarchy above them."""
    data = datasets.btgm(8, 30, n_features=10, margin=40.0, alpha=4.0, shifted=False, random_state=seed)
    tree = cladify.HAC(linkage="ward").fit(data.X).tree_
    return pure(tree, data.y) and pure(tree, data.y // 2) and pure(tree, data.y // 4)


# --- Chami and others -------------------------------------------------------------------------------------------------


def decoded(seed: int) -> bool:
    """Section 4.3: a tree put into the disk is decoded as it was."""
    tree = cladify.fit(points(seed, 60), "hac")
    return _clusters(decode(embed_tree(tree))) == _clusters(tree)


def rows() -> Iterator[Row]:
    """One row a theorem."""
    every: list[tuple[str, str, Callable[[int], bool], int, str]] = [
        ("N", "theorem 3.1", sat, 100, "SatConquer(theta=1), 12 points, objectives.optimal_tree"),
        ("N", "section 1.1, CKMM", average_ckmm, 100, "HAC(), 12 points, objectives.optimal_tree"),
        ("N", "section 1.1, MW", average_mw, 100, "HAC(metric='cosine'), 12 points, objectives.optimal_tree"),
        ("N", "section 1.1, bounds", bounded, 50, "RandomTree(), 40 points, objectives.bounds"),
        ("C", "theorem 3.2", average_line, 100, "HAC(metric=rbf(1)), 40 points on a line"),
        ("C", "lemma 3.3", random_line, 20, "RandomCut(), 40 points on a line"),
        ("C", "theorem 4.1", random_cut, 20, "RandomCut(), 40 points in 5 dimensions"),
        ("C", "theorem 4.3", any_graph, 20, "datasets.make_graph_vectors(graph, epsilon=.1)"),
        ("C", "theorem 5.1", hard_grid, 5, "datasets.make_hard_grid(6)"),
        ("C", "lemma 5.3", hard_line, 50, "datasets.make_hard_line()"),
        ("M", "theorem 3", grinch, 20, "Grinch(linkage='centroid'), datasets.make_model_separated"),
        ("M", "theorem 4", separated, 20, "SCC(thresholds=doubling), datasets.make_delta_separated"),
        ("M", "section 2.5", strict, 20, "HAC(), datasets.make_strictly_separated"),
        ("M", "proposition 2", rounds_are_merges, 50, "SCC(thresholds=heights), 30 points"),
        (
            "M",
            "propositions 3 and 4",
            noisy,
            20,
            "Llama(linkage='exact-average', max_parents=None), datasets.make_noisy_separated",
        ),
        ("Z", "theorems 1 and 2", ward, 50, "HAC(linkage='ward'), datasets.btgm(8, 30, margin=40, alpha=4)"),
        ("H", "section 4.3", decoded, 50, "hyperbolic.decode(embed_tree(tree))"),
    ]
    for paper, where, holds, count, call in every:
        said = str(holds.__doc__).rstrip(".")
        said = said.partition(": ")[2] or said
        yield Row(
            paper,
            "theorems",
            f"{where}: {said}; failures in {count}",
            0.0,
            partial(failures, holds, count),
            call,
            "made",
            claim="at most",
            within=0.0,
        )
