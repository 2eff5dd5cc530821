"""`predict` agrees with `fit`: every fitted row gets its own cluster back, at every cut."""

import numpy as np
import pytest
import scipy.sparse as sp

import cladify
from cladify.errors import InvalidInput

X = np.random.default_rng(0).normal(size=(120, 6)).astype(np.float32)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "dot"])
def test_fitted_rows_get_their_own_cluster_at_every_cut(metric):
    model = cladify.HAC(metric=metric, n_clusters=7).fit(X)
    assert (model.predict(X) == model.labels_).all()
    for k in (1, 2, 40, 120):
        assert (model.predict(X, n_clusters=k) == model.tree_.cut(n_clusters=k)).all()
    height = float(np.median(model.tree_.height[120:]))
    assert (model.predict(X, height=height) == model.tree_.cut(height=height)).all()


def test_new_rows_go_to_the_nearest_fitted_row():
    new = np.random.default_rng(1).normal(size=(50, 6)).astype(np.float32)
    model = cladify.HAC(n_clusters=5).fit(X)
    nearest = ((new[:, None] - X[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert (model.predict(new) == model.labels_[nearest]).all()
    assert (model.predict(sp.csr_array(new)) == model.labels_[nearest]).all()


def test_refusals():
    with pytest.raises(ValueError, match="not fitted"):
        cladify.HAC().predict(X)
    model = cladify.HAC().fit(X)
    with pytest.raises(InvalidInput, match="has 5 features, but HAC is expecting 6"):
        model.predict(X[:, :5])


def test_columns_of_a_data_frame_are_remembered():
    import pandas

    X = np.random.default_rng(0).normal(size=(30, 2))
    frame = pandas.DataFrame(X, columns=["width", "height"])
    model = cladify.HAC(n_clusters=3).fit(frame)
    assert model.feature_names_in_.tolist() == ["width", "height"] and model.n_features_in_ == 2
    assert np.array_equal(model.predict(frame), model.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["height", "width"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(model.predict(X), model.labels_)
    assert not hasattr(model.fit(X), "feature_names_in_")
