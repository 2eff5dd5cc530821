"""RandomCut over vectors in parts: one pass for the projections, then the line of n numbers on one worker."""

from __future__ import annotations

import numpy as np

from cladify import _core
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_random_state
from cladify.distributed._job import Job
from cladify.distributed.sources import ShardedVectors
from cladify.divide.random_cut import RandomCut, cut_line
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["random_cut_tree"]


def random_cut_tree(vectors: ShardedVectors, estimator: RandomCut, job: Job) -> Tree:
    """The tree of the local engine for the same seed: every row becomes one number where it lies.

    8 bytes a row go to one worker, which needs about 40 a row for the tree.
    """
    normalize = estimator.metric == "cosine"
    if normalize and vectors.zero_row >= 0:
        raise InvalidInput(f"row {vectors.zero_row} of all is zero, which has no direction for cosine; drop such rows.")
    random = check_random_state(estimator.random_state)
    direction = random.standard_normal(vectors.d) if vectors.d > 1 else np.ones(1)
    seed = int(random.integers(2**63))
    with job.report.stage("random cut", total=1) as advance:
        places = job.compute(vectors.map(_project, direction.astype(np.float32), normalize))
        parent, height = job.call(_cut_line, places, seed, estimator.n_jobs)
        advance()
    parent.flags.writeable = height.flags.writeable = False
    figures = {"n_parts": len(vectors.parts), "bytes_shuffled": [8 * vectors.n]}
    return Tree(parent, height, info={"method": "random-cut", "height": "projected extent", "distributed": figures})


def _project(part: np.ndarray, direction: np.ndarray, normalize: bool) -> np.ndarray:
    place = np.empty(len(part))
    _core.project_rows(part, direction, normalize, place)
    if not np.isfinite(place).all():
        raise InvalidInput("X has values too large to project; divide it by its largest absolute value.")
    return place


def _cut_line(places: list[np.ndarray], seed: int, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    n = sum(map(len, places))
    parent, height = np.empty(2 * n - 1, dtype=np.int64), np.empty(2 * n - 1)
    np.concatenate(places, out=height[:n])
    cut_line(parent, height, seed, resolve_jobs(n_jobs))
    return parent, height
