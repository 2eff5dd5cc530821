"""Random changes to an online tree, with everything checked after each of them: for tests and benchmarks alike."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np


def shake(
    online: Any,
    X: np.ndarray,
    steps: int,
    *,
    seed: int = 0,
    batch: int = 1,
    most: int = 2000,
    purge: int | None = None,
    folder: Path | None = None,
    every: int = 25,
) -> dict[str, int]:
    """Items come (rows of ``X``, with weights), leave and change; returns which row each of those left has.

    After each change sizes, sums (to 1e-4), links and the number of items are checked; after each ``every``-th, also
    the rows of the leaves, the lists of neighbours and what nodes keep of them, the snapshot of the tree, the memory it
    takes, and, where there is a ``folder`` it is saved in, that a copy of the folder opens as the same tree.

    Parameters
    ----------
    batch : int
        Items that a change is about, at most.
    most : int
        Items in the tree, at most.
    purge : int, optional
        Each so manieth change may take out any number of items, or all.
    """
    rng = np.random.default_rng(seed)
    row: dict[str, int] = {}
    tree = online._begin().tree
    peak = tree.capacity if tree is not None else 0  # items that there may have been at once
    for step in range(steps):
        kind, number = rng.random(), int(rng.integers(1, batch + 1))
        if purge and step % purge == purge - 1 and row:
            kind, number = 0.5, int(rng.integers(1, len(row) + 1))
        if not row or (kind < 0.45 and len(row) + number <= most):
            ids = [f"{step}-{i}" for i in range(number)]
            at = rng.integers(len(X), size=number)
            online.partial_fit(X[at], ids=ids, sample_weight=rng.integers(1, 4, number).astype(float))
            row.update(zip(ids, at.tolist(), strict=True))
        else:
            names = list(row)
            ids = [names[i] for i in rng.permutation(len(names))[:number]]
            if kind < 0.8:
                online.remove(ids)
                for item in ids:
                    del row[item]
            else:
                at = rng.integers(len(X), size=len(ids))
                online.update(ids, X[at])
                row.update(zip(ids, at.tolist(), strict=True))
        peak = max(peak, len(row))
        _check_links(online, row, step)
        if step % every == 0:
            _check_whole(online, X, row, peak + batch)
            if folder is not None:
                _check_folder(online, folder)
    assert list(online.ids_) == list(row)
    return row


def _check_links(online: Any, row: dict[str, int], step: int) -> None:
    tree = online._begin().tree
    # The tolerance is one of the whole weight, which is at most 3 an item.
    broken = tree.broken_rule(1e-4 / (1.0 + 3.0 * len(row)))
    assert not broken, f"step {step}: {broken}"
    assert tree.n_leaves == len(row) == len(online), f"step {step}: {tree.n_leaves} leaves for {len(row)} items"


def _check_whole(online: Any, X: np.ndarray, row: dict[str, int], peak: int) -> None:
    state = online._begin()
    if not row:
        assert len(online.ids_) == 0
        return
    assert list(online.ids_) == list(row)
    tree = online.tree_  # checked by Tree itself
    assert tree.n_leaves == len(row) and tree.is_monotone
    # Ids of nodes and slots of rows are used again: a tree with n leaves has at most 2n - 1 nodes, and while a change
    # is made both old and new ones are there.
    assert state.tree.capacity <= 4 * peak + 16, f"{state.tree.capacity} nodes for {peak} items at most"
    assert state.search._used <= 2 * peak
    if state.graph is not None:
        broken = state.graph.broken_rule()
        assert not broken, broken
    if state.tree.width:
        leaves = np.array([state.tree.sums(int(v))[:-1] for v in state.items.leaves])
        weight = np.array([state.tree.size(int(v)) for v in state.items.leaves])
        wanted = state.rows.features(X[list(row.values())].astype(np.float64))[:, :-1]
        assert np.allclose(leaves / weight[:, None], wanted, atol=1e-6)


def _check_folder(online: Any, folder: Path) -> None:
    import cladify.online

    with tempfile.TemporaryDirectory() as other:
        copy = Path(other) / "tree"
        shutil.copytree(folder, copy)
        again = cladify.online.open(copy)
        assert again.ids_.tolist() == online.ids_.tolist()
        if len(online):
            assert again.tree_ == online.tree_
        again.close()
    online.save(folder)  # so that the next check has the changes since to replay, not all of them
