"""Debian packages and the source packages they are built from: rows for entity resolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import real

NAME = 256  # columns for the name


def packages(n: int | None = None, seed: int = 0) -> dict[str, Any]:
    """Rows of an embedded description and an embedded name, the source package of each, and the part to learn from.

    A tenth of the source packages is known, with all of its packages; all others are to be found.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.random_projection import SparseRandomProjection

    data = real("debian_minilm")
    names = [text.partition(":")[0] for text in data["names"]]
    # Projected at random, which keeps the angles: the leading directions of an SVD know endings such as -dev and -doc,
    # and not the rare stems that tell sources apart.
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), dtype=np.float32).fit_transform(names)
    name = SparseRandomProjection(NAME, random_state=0, dense_output=True).fit_transform(grams)
    X = np.hstack([data["X"].astype(np.float32), name.astype(np.float32)])
    y = data["y_source"].astype(np.int64)
    rng = np.random.default_rng(seed)
    known = rng.random(y.max() + 1) < 0.1
    if n is not None and n < len(y):  # whole sources
        some = np.isin(y, rng.permutation(y.max() + 1)[: int(n * (y.max() + 1) / len(y))])
        X, y = X[some], y[some]
    return {"X": X, "y": y, "known": known[y], "blocks": np.array([data["X"].shape[1]])}
