import numpy as np
import pytest
from quick import seeds
from scipy.spatial.distance import cdist

import cladify
from cladify.datasets import btgm
from cladify.errors import InvalidInput
from cladify.metrics import dendrogram_purity


@pytest.mark.parametrize("shifted", [False, True])
def test_means_encode_the_tree(shifted):
    k, margin, alpha = 16, 3.0, 2.5
    means = btgm(k, 1, n_features=20, margin=margin, alpha=alpha, shifted=shifted, random_state=0).means
    distance = cdist(means, means)
    i, j = np.triu_indices(k, 1)
    height = np.array([int(a ^ b).bit_length() for a, b in zip(i, j, strict=True)])
    assert distance[i, j].min() == pytest.approx(margin)
    if not shifted:
        assert (distance[i, j] >= margin * alpha ** (height - 1) - 1e-9).all()
    for level in range(1, 4):  # what meets higher up lies farther apart
        assert distance[i, j][height == level + 1].min() > distance[i, j][height == level].max()


def test_true_tree_holds_components():
    data = btgm(8, 5, n_features=10, random_state=0)
    assert dendrogram_purity(data.tree, data.y) == 1.0
    for height, groups in ((1.0, 8), (2.0, 4), (3.0, 2), (4.0, 1)):
        labels = data.tree.cut(height=height)
        assert labels.max() + 1 == groups
        assert len(np.unique(np.column_stack([labels, data.y >> int(height - 1)]), axis=0)) == groups


@pytest.mark.parametrize("seed", seeds(50))
def test_ward_recovers_separated_mixtures(seed):
    """Corollary 1: components far apart beside √d, and each step up much farther."""
    data = btgm(8, 12, n_features=8, margin=40.0, alpha=4.0, shifted=bool(seed % 2), random_state=seed)
    tree = cladify.fit(data.X, "hac", linkage="ward")
    for k, shift in ((8, 0), (4, 1), (2, 2)):
        labels = tree.cut(n_clusters=k)
        assert len(np.unique(np.column_stack([labels, data.y >> shift]), axis=0)) == k


def test_one_point_a_component():
    assert btgm(4, 1, n_features=4, random_state=0).tree.n_leaves == 4


@pytest.mark.parametrize(
    ("given", "message"), [({"n_components": 6}, "power of two"), ({"n_features": 3}, "for 8 comp")]
)
def test_bad_input(given, message):
    with pytest.raises(InvalidInput, match=message):
        btgm(**{"n_per_component": 2, **given})
