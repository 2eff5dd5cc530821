"""The corpus of docstrings."""

import sys

import numpy as np
import pytest

from cladify.datasets import load_docstrings
from cladify.errors import InvalidInput


@pytest.fixture(scope="module")
def corpus():
    return load_docstrings(["numpy"], n_components=50)


def test_shape(corpus) -> None:
    n = len(corpus.names)
    assert n > 500 and corpus.X.shape == (n, 50) and corpus.X.dtype == np.float32
    assert corpus.tfidf.shape == (n, len(corpus.terms))
    assert len(corpus.summaries) == len(corpus.package) == len(corpus.module) == n
    np.testing.assert_allclose(np.linalg.norm(corpus.X, axis=1), 1, rtol=1e-5)


def test_names_are_public_and_unique(corpus) -> None:
    assert len(set(corpus.names)) == len(corpus.names)
    assert {"numpy.linalg.norm", "numpy.polynomial.chebyshev.chebfit", "numpy.sin"} <= set(corpus.names)
    assert not [name for name in corpus.names if any(part.startswith("_") for part in name.split("."))]
    where = corpus.names.index("numpy.polynomial.chebyshev.chebfit")
    assert (corpus.package[where], corpus.module[where]) == ("numpy", "numpy.polynomial")
    assert set(corpus.package) == {"numpy"}


def test_summaries_are_sentences(corpus) -> None:
    assert corpus.summaries[corpus.names.index("numpy.intersect1d")] == "Find the intersection of two arrays."
    assert corpus.summaries[corpus.names.index("numpy.sin")] == "Trigonometric sine, element-wise."


def test_the_vectors_know_the_modules(corpus) -> None:
    similarity = corpus.X @ corpus.X.T
    np.fill_diagonal(similarity, -1)
    assert (corpus.module[similarity.argmax(axis=1)] == corpus.module).mean() > 0.75


def test_same_vectors_again(corpus) -> None:
    np.testing.assert_array_equal(load_docstrings(["numpy"], n_components=50).X, corpus.X)


def test_nothing_is_left_behind() -> None:
    before = set(sys.modules)
    load_docstrings(["numpy"])
    assert not {name for name in set(sys.modules) - before if name.split(".")[0] not in ("numpy", "sklearn", "scipy")}


def test_packages_that_cannot_be_used() -> None:
    with pytest.raises(InvalidInput, match="package 'no_such_package' cannot be imported"):
        load_docstrings(["no_such_package"])
    with pytest.raises(InvalidInput, match="too few docstrings"):
        load_docstrings(["colorsys"])
