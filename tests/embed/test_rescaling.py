import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.pipeline import make_pipeline

from cladify import HAC
from cladify.embed import Rescale, rescale
from cladify.errors import InvalidInput


def test_distances_inside_stay_and_centres_move_apart():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(3, 4))
    assignment = np.repeat(np.arange(3), 20)
    Z = means[assignment] + rng.normal(size=(60, 4))
    moved = rescale(Z, means, assignment, s=3)
    for c in range(3):
        np.testing.assert_allclose(pdist(moved[assignment == c]), pdist(Z[assignment == c]))
    shift = [moved[assignment == c].mean(0) - Z[assignment == c].mean(0) for c in range(3)]
    np.testing.assert_allclose(shift, 3 * means)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [([0, 1], "one whole number a point"), ([0, 1, 2], "one of the 2 means"), ([0.0, 1.0, 0.0], "whole number")],
)
def test_bad_assignment(assignment, message):
    with pytest.raises(InvalidInput, match=message):
        rescale(np.ones((3, 2)), np.ones((2, 2)), assignment)


def test_pipeline_moves_the_clusters_that_it_sees_apart():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 150)
    X = np.column_stack([np.where(y, 3.0, -3.0), np.zeros(300)]) + rng.normal(size=(300, 2)) * [0.8, 2.0]
    step = Rescale(s=30, n_components=2, random_state=0).fit(X)
    np.testing.assert_array_equal(step.transform(X), rescale(X, step.means_, step.labels_, 30))
    for c in range(2):
        np.testing.assert_allclose(step.means_[c], X[step.labels_ == c].mean(0))
    near = X[:5] + 1e-6  # new rows go with the cluster beside them
    np.testing.assert_allclose(step.transform(near) - near, step.transform(X[:5]) - X[:5])
    labels = make_pipeline(step, HAC(linkage="ward", n_clusters=2)).fit_predict(X)
    agree = np.mean(labels == y)
    assert max(agree, 1 - agree) > 0.98


def test_more_components_than_points():
    with pytest.raises(InvalidInput, match="n_components must be an int in"):
        Rescale(n_components=5).fit(np.ones((3, 2)))
