"""Metrics: dendrogram purity against Higra's, and every metric on a tree of many leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.bench_tree import parents
from benchmarks.case import Case

purity = Case(
    "dendrogram-purity",
    "Exact dendrogram purity of random labels on a shuffled balanced tree; bar: 20x faster than Higra at n = 20 000",
    short={"n": 20_000, "n_classes": 100},
    long={"n": 1_000_000, "n_classes": 1000},
)


@purity.prepare
def shuffled(n: int, n_classes: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    parent = parents(n, "balanced")
    parent[:n] = rng.permutation(parent[:n])
    return {"parent": parent, "y": rng.integers(0, n_classes, n)}


@purity.contestant("cladify", needs="cladify.metrics")
def purity_ours(parent: np.ndarray, y: np.ndarray) -> Any:
    from cladify import Tree, metrics

    return float(metrics.dendrogram_purity(Tree(parent), y))


@purity.contestant("higra", needs="higra", max_n=100_000)
def purity_higra(parent: np.ndarray, y: np.ndarray) -> Any:
    import higra

    return float(higra.dendrogram_purity(higra.Tree(np.append(parent[:-1], len(parent) - 1)), y))


@purity.quality("purity")
def value(result: float) -> float:
    return result


several = Case(
    "metrics",
    "Each metric of labels on a tree, preparation included; bar for purity: 3 s on 1 million leaves, 1000 classes",
    short={"n": 100_000, "n_classes": 1000},
    long={"n": 1_000_000},
)
several.prepare(shuffled)


def _metric(name: str, call: Callable[[Any, Any, np.ndarray], Any]) -> None:
    def run(parent: np.ndarray, y: np.ndarray) -> float:
        from cladify import Tree, metrics

        return float(call(metrics, Tree(parent), y))

    several.contestant(name, needs="cladify.metrics")(run)


_metric("dendrogram purity", lambda metrics, tree, y: metrics.dendrogram_purity(tree, y))
_metric(
    "sampled purity", lambda metrics, tree, y: metrics.dendrogram_purity(tree, y, n_samples=100_000, random_state=0)
)
_metric("best F1", lambda metrics, tree, y: metrics.best_f1(tree, y).f1)
_metric("Jaccard per label", lambda metrics, tree, y: metrics.jaccard_per_label(tree, y))
_metric("Jaccard per node", lambda metrics, tree, y: metrics.jaccard_per_node(tree, y))
_metric("label MW", lambda metrics, tree, y: metrics.label_mw(tree, y).ratio)
_metric("triplet agreement", lambda metrics, tree, y: metrics.triplet_agreement(tree, tree, random_state=0))


@several.quality("value")
def several_value(result: float) -> float:
    return result
