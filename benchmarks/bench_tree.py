"""Trees: ten million lowest common ancestors, cuts, conversions and files on a million leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import Case


def parents(n: int, shape: str) -> np.ndarray:
    """Parents of a binary tree of n leaves: "path" joins leaf after leaf, "balanced" neighbours."""
    parent = np.full(2 * n - 1, -1)
    if shape == "balanced":
        parent[:-1] = n + np.arange(2 * n - 2) // 2
    else:
        parent[0] = n
        parent[1:n] = np.arange(n, 2 * n - 1)
        parent[n:-1] = np.arange(n + 1, 2 * n - 1)
    return parent


def _tree(parent: np.ndarray) -> Any:
    from cladify import Tree

    return Tree(parent, np.concatenate([np.zeros(len(parent) // 2 + 1), np.sqrt(np.arange(len(parent) // 2) + 1.0)]))


lca = Case(
    "lca",
    "Lowest common ancestors of random pairs of leaves, with preparation; bar: 10 million on 1 million leaves in 2 s",
    short={"n": 100_000, "q": 1_000_000, "shape": "balanced"},
    long={"n": 1_000_000, "q": 10_000_000},
)


@lca.prepare
def pairs(n: int, q: int, shape: str) -> dict[str, Any]:
    i, j = np.random.default_rng(0).integers(0, n, (2, q))
    return {"parent": parents(n, shape), "i": i, "j": j}


@lca.contestant("cladify", needs="cladify.tree")
def lca_ours(parent: np.ndarray, i: np.ndarray, j: np.ndarray) -> Any:
    return _tree(parent).lca(i, j)


@lca.contestant("higra", needs="higra")
def lca_higra(parent: np.ndarray, i: np.ndarray, j: np.ndarray) -> Any:
    import higra

    return higra.Tree(np.append(parent[:-1], len(parent) - 1)).lowest_common_ancestor(i, j)


cut = Case(
    "tree-cut",
    "A flat clustering of n / 100 clusters from a linkage matrix",
    short={"n": 100_000, "shape": "balanced"},
    long={"n": 1_000_000},
)


@cut.prepare
def linkage(n: int, shape: str) -> dict[str, Any]:
    return {"Z": _tree(parents(n, shape)).to_linkage()}


@cut.contestant("cladify", needs="cladify.tree")
def cut_ours(Z: np.ndarray) -> Any:
    from cladify import Tree

    return Tree.from_linkage(Z).cut(n_clusters=len(Z) // 100)


@cut.contestant("scipy fcluster", needs="scipy.cluster.hierarchy")
def cut_scipy(Z: np.ndarray) -> Any:
    from scipy.cluster import hierarchy

    return hierarchy.fcluster(Z, len(Z) // 100, "maxclust")


methods = Case(
    "tree-methods",
    "Each conversion of a tree and back; bar: 2 s each on 1 million leaves",
    short={"n": 100_000, "shape": "path"},
    long={"n": 1_000_000},
    repeat=1,
)


@methods.prepare
def path(n: int, shape: str) -> dict[str, Any]:
    return {"parent": parents(n, shape)}


@methods.contestant("file", needs="cladify.tree._file")
def through_file(parent: np.ndarray) -> Any:
    import tempfile

    from cladify import Tree

    with tempfile.NamedTemporaryFile(suffix=".tree") as file:
        _tree(parent).save(file.name)
        return Tree.load(file.name).height


@methods.contestant("newick", needs="cladify.tree._newick")
def through_newick(parent: np.ndarray) -> Any:
    from cladify import Tree

    return Tree.from_newick(_tree(parent).to_newick()).height


@methods.contestant("linkage", needs="cladify.tree")
def through_linkage(parent: np.ndarray) -> Any:
    from cladify import Tree

    return Tree.from_linkage(_tree(parent).to_linkage()).height


@methods.contestant("dict", needs="cladify.tree._file")
def through_dict(parent: np.ndarray) -> Any:
    from cladify import Tree

    return Tree.from_dict(_tree(parent).to_dict()).height


@methods.contestant("networkx", needs="networkx")
def to_networkx(parent: np.ndarray) -> Any:
    return len(_tree(parent).to_networkx())
