"""The file of a graph of clusters: an archive as :mod:`cladify._kit.container` describes it.

``cladify-dag.json``
    ``format`` ("cladify-dag"), ``version`` (1), ``cladify``, ``n_leaves``, ``n_nodes``, ``info`` and ``sha256``.
``n_parents.npy``
    How many parents each node has, int32.
``parent_ids.npy``
    The parents, node after node, int32 or int64.
``height.npy``
    Heights of the inner nodes, float64 (leaves have height 0).
``spans.npy``
    Triples (node, first round, last round), one after the other, int32 or int64; absent where there are no rounds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.atomic import PathLike
from cladify._kit.container import Format, narrow, plain
from cladify.errors import InvalidInput

if TYPE_CHECKING:
    from cladify.tree.dag import ClusterDag

__all__ = ["FORMAT", "load", "save"]

FORMAT = "cladify-dag"
_FILE = Format(
    name=FORMAT,
    version=1,
    what="graph of clusters",
    writer="ClusterDag.save(path)",
    dtypes={
        "n_parents": ("<i4", "<i8"),
        "parent_ids": ("<i4", "<i8"),
        "height": ("<f8",),
        "spans": ("<i4", "<i8"),
    },
    required=("n_parents", "parent_ids", "height"),
)


def save(dag: ClusterDag, path: PathLike) -> None:
    """Write ``dag`` to ``path``; an existing file stays as it was until the new one is complete."""
    arrays = {
        "n_parents": narrow(np.diff(dag.parent_start)),
        "parent_ids": narrow(dag.parent_ids),
        "height": dag.height[dag.n_leaves :].astype("<f8", copy=False),
    }
    if dag.spans is not None:
        arrays["spans"] = narrow(dag.spans.reshape(-1))
    _FILE.write(path, {"n_leaves": dag.n_leaves, "n_nodes": dag.n_nodes, "info": plain(dag.info)}, arrays)


def load(cls: type[ClusterDag], path: PathLike) -> ClusterDag:
    """The graph in the file ``path``; anything else than a whole file of one is a FileError."""
    return _FILE.read(path, partial(_build, cls))


def _build(cls: type[ClusterDag], figures: dict[str, Any], arrays: dict[str, np.ndarray]) -> ClusterDag:
    m = len(arrays["n_parents"])
    n = m - len(arrays["height"])
    spans = arrays.get("spans")
    if n < 1 or figures.get("n_leaves") != n or (spans is not None and len(spans) % 3):
        raise InvalidInput("its arrays have the wrong lengths")
    return cls(
        np.concatenate([[0], np.cumsum(arrays["n_parents"], dtype=np.int64)]),
        arrays["parent_ids"],
        np.concatenate([np.zeros(n), arrays["height"]]),
        spans=None if spans is None else spans.reshape(-1, 3),
        info=figures["info"],
    )
