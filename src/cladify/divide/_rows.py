"""The one copy of the data that top-down methods rearrange while they split it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from cladify._kit.memory import available_memory, check_memory
from cladify._kit.parallel import map_blocks, row_blocks
from cladify._kit.progress import Progress
from cladify.data._vectors import is_sparse
from cladify.data.features import FeatureMap
from cladify.errors import InvalidInput

__all__ = ["leaf_counter", "shuffled_features"]

_BLOCK = 1 << 18  # values a block


def shuffled_features(features: FeatureMap, order: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """``z`` in the given order of rows, dense float32, straight from the data: no other copy is made.

    In a random order the first rows of every part are a sample of it.
    """
    n, k = features.shape
    sparse = is_sparse(features.rows)
    need = 4 * n * k
    if sparse and need > available_memory() // 2:
        raise InvalidInput(
            f"X is sparse, and {n} dense rows of {k} columns would take {need / 1e9:.0f} GB; reduce its columns first, "
            "for example with sklearn.decomposition.TruncatedSVD(100).fit_transform(X)."
        )
    check_memory(need, f"a copy of {n} rows of {k} columns", "use method='random-cut', which makes none.")
    z = np.empty((n, k), dtype=np.float32)

    def fill(rows: slice) -> None:
        part = features.take(order[rows])
        z[rows] = part.toarray() if sparse else part

    map_blocks(fill, row_blocks(n, max(1, _BLOCK // k)), n_jobs=n_jobs)
    return z


@contextmanager
def leaf_counter(report: Progress, stage: str, n: int) -> Iterator[Callable[[int], None]]:
    """A callback of native code that gets the number of points that are leaves so far."""
    with report.stage(stage, total=n) as advance:
        seen = 0

        def count(done: int) -> None:
            nonlocal seen
            advance(done - seen)
            seen = done

        yield count
        count(n)
