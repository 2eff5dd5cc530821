"""BIRCH's tree against the CF-tree it comes from."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import Birch as CFTree
from sklearn.datasets import make_blobs

import cladify
from cladify import Birch
from cladify.errors import InvalidInput


def clusters_of(root, members) -> list[frozenset[int]]:
    """The points below every node and leaf subcluster of a CF-tree, by recursion."""
    found, count = [], 0

    def walk(node):
        nonlocal count
        below = set()
        for subcluster in node.subclusters_:
            if subcluster.child_ is None:
                part = members[tuple(np.asarray(subcluster.centroid_).ravel())]
                count += 1
            else:
                part = walk(subcluster.child_)
            found.append(frozenset(part))
            below |= set(part)
        return below

    found.append(frozenset(walk(root)))
    return found


@pytest.mark.parametrize("branching_factor", [2, 5, 50])
@pytest.mark.parametrize("threshold", [1e-9, 0.3, 1.0, 50.0])
def test_same_clusters_as_the_cf_tree(branching_factor, threshold) -> None:
    X = make_blobs(150, centers=5, random_state=0)[0]
    model = CFTree(threshold=threshold, branching_factor=branching_factor, n_clusters=None).fit(X)
    members = {tuple(center): set() for center in model.subcluster_centers_}
    for i, x in enumerate(X):
        nearest = model.subcluster_centers_[((model.subcluster_centers_ - x) ** 2).sum(axis=1).argmin()]
        members[tuple(nearest)].add(i)
    expected = {cluster for cluster in clusters_of(model.root_, members) if len(cluster) > 1}
    ours = Birch(threshold=threshold, branching_factor=branching_factor).fit(X)
    tree = ours.tree_
    assert {frozenset(tree.members(v).tolist()) for v in range(150, tree.n_nodes)} == expected
    assert ours.n_subclusters_ == sum(len(points) > 0 for points in members.values())
    assert tree.is_monotone
    for v in range(150, tree.n_nodes):
        own = X[tree.members(v)]
        assert tree.height[v] >= np.sqrt(((own - own.mean(axis=0)) ** 2).sum(axis=1).mean()) - 1e-9


def test_finds_separated_clusters() -> None:
    X, y = cladify.datasets.make_delta_separated(300, 6, n_features=3, delta=30.0, random_state=0)
    model = Birch(threshold=1.0, n_clusters=6).fit(X)
    assert len(set(zip(y.tolist(), model.labels_.tolist(), strict=True))) == 6
    assert model.predict(X).tolist() == model.labels_.tolist()
    found = CFTree(threshold=1.0, n_clusters=None).fit(X).labels_
    plain = Birch(threshold=1.0).fit(X)
    assert len(set(zip(found.tolist(), plain.labels_.tolist(), strict=True))) == plain.n_subclusters_
    assert list(dict.fromkeys(plain.labels_.tolist())) == list(range(plain.n_subclusters_))
    assert cladify.fit(X, "birch", threshold=1.0) == model.tree_


def test_sparse_and_small_data() -> None:
    X = np.random.default_rng(0).normal(size=(60, 4)) * (np.random.default_rng(1).random((60, 4)) < 0.7)
    assert Birch().fit(csr_array(X)).tree_.size.tolist() == Birch().fit(X).tree_.size.tolist()
    assert Birch().fit([[1.0]]).tree_.n_leaves == 1
    assert Birch().fit([[1.0], [5.0]]).tree_.height[-1] == 2.0
    assert Birch().fit(np.ones((20, 2))).tree_.height.max() == pytest.approx(0.0, abs=1e-6)


def test_bad_input() -> None:
    with pytest.raises(InvalidInput, match="branching_factor must be an int of at least 2, got 1"):
        Birch(branching_factor=1).fit(np.ones((3, 1)))
