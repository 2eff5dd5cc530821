"""The live tree of a taxonomy: rows and neighbours of its items, in memory and in a folder beside its file.

The file is what counts. The folder ``FILE.live`` has what an update needs and readers do not: the vectors, the lists of
neighbours and the changing tree. It is written after the file: what has changed, in one transaction, or, the first time
and now and then, all of it under another name, which then takes its place. The file has the rows that the folder of
before lacks, so that a crash at any moment leaves a file and a folder that fit: what the folder has too much is taken
out, and what it lacks is added, when it is next opened.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from cladify.data._vectors import is_sparse
from cladify.errors import CladifyError, InvalidInput
from cladify.neighbors import NeighborGraph
from cladify.online import LiveTree
from cladify.taxonomy._facts import Facts
from cladify.taxonomy._steer.reading import with_groups
from cladify.taxonomy._update.past import Past
from cladify.tree import Tree

__all__ = ["before_file", "fresh_tree", "keep_beside", "live_metric", "open_beside", "synced"]

_TREE, _SERIES, _BEFORE = "tree", "series.txt", "before.taxonomy"


def live_metric(metric: str) -> str:
    """The metric that a live tree has for one of a taxonomy."""
    known = {"cosine": "cosine", "dot": "dot", "sqeuclidean": "sqeuclidean", "euclidean": "sqeuclidean"}
    if metric not in known:
        raise InvalidInput(
            f"a taxonomy with metric {metric!r} cannot be updated; cosine, dot, euclidean and sqeuclidean can."
        )
    return known[metric]


def fresh_tree(facts: Facts, X: Any, metric: str, rows: np.ndarray) -> tuple[Tree, LiveTree]:
    """The live tree of a taxonomy that has none yet, with neighbours searched once.

    It is the binary tree with all groups as nodes, so that they are found again in what it becomes.
    """
    if X is None or isinstance(X, NeighborGraph):
        raise InvalidInput(
            "the vectors of this taxonomy are not at hand, and an update needs them: give vectors=, --old-vectors (one "
            "row an item, in its order), or vectors_at= when it is made."
        )
    X = np.asarray(X.toarray() if is_sparse(X) else X)
    if len(X) != len(rows):
        raise InvalidInput(f"X has {len(X)} rows and the taxonomy {len(rows)} items; give one a row, in its order.")
    if len(rows) < 3:
        raise InvalidInput(f"a taxonomy of {len(rows)} items is too small to be updated; make it again with all items.")
    full = facts.full if facts.full.is_binary else facts.full.binarize(0)
    full = with_groups(full, facts.base, facts.ranks)
    return full, LiveTree.from_tree(full, X, ids=rows, metric=metric)


def _folder(path: str) -> Path:
    return Path(f"{path}.live")


def _is_of(folder: Path, series: str) -> bool:
    with suppress(OSError):
        return (folder / _SERIES).read_text().strip() == series
    return False


def open_beside(path: str, series: str) -> LiveTree | None:
    """The live tree beside a file, if there is one of this series; it changes in memory only."""
    for folder in (_folder(path), Path(f"{_folder(path)}.new")):
        with suppress(OSError, CladifyError):
            if _is_of(folder, series):
                return LiveTree._read_marked(folder / _TREE)
    return None


def synced(live: LiveTree, past: Past) -> LiveTree | None:
    """The live tree with exactly the rows of the taxonomy, in any order; None where rows are lacking."""
    assert past.rows is not None
    has = live.ids_
    if past.new is not None:  # a row may have been replaced since
        there = np.isin(past.new[0], has)
        if there.any() and not live.holds(past.new[0][there], past.new[1][there]):
            live.update(past.new[0][there], past.new[1][there])
    if len(has) == len(past.rows) and np.array_equal(has, past.rows):
        return live
    kept = [pair for pair in (past.new, past.gone) if pair is not None]
    at_hand = {int(row): vector for rows, vectors in kept for row, vector in zip(rows, vectors, strict=True)}
    lacking = np.setdiff1d(past.rows, has)
    if any(int(row) not in at_hand for row in lacking):
        return None
    extra = np.setdiff1d(has, past.rows)
    if len(lacking):  # in the order of an update, so that the tree becomes the same
        live.partial_fit(np.array([at_hand[int(row)] for row in lacking]), ids=lacking)
    if len(extra):
        live.remove(extra)
    return live


def keep_beside(path: str, live: LiveTree, series: str, before: str | None) -> None:
    """Write the folder beside a file; ``before`` is the file of before the update, to undo it."""
    folder = _folder(path)
    if _is_of(folder, series) and live._save_changes(folder / _TREE):
        if before is not None:
            with suppress(OSError):
                os.replace(before, folder / _BEFORE)
        return
    fresh = Path(f"{folder}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    live._save_marked(fresh / _TREE)
    if before is not None:
        with suppress(OSError):
            os.replace(before, fresh / _BEFORE)
    (fresh / _SERIES).write_text(series)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(fresh, folder)


def before_file(path: str) -> Path | None:
    """The file as it was before the last update, if it is kept."""
    found = _folder(path) / _BEFORE
    return found if found.is_file() else None
