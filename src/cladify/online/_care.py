"""Checks, copies and repairs of the folders of online trees."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Hashable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify._kit.system import OPEN_FLAGS
from cladify.errors import CladifyError, FileError
from cladify.online._base import OnlineTree
from cladify.online._patches import patches_of
from cladify.online._storage import NAME, Content, connect, files_of, read_folder

__all__ = ["backup", "check", "rescue"]


def check(folder: Any) -> dict[str, Any]:
    """The content of a folder and everything that is wrong with it; another process may be writing.

    Returns
    -------
    dict
        ``kind`` (the class), ``version`` (of the tree), ``method``, ``n_items``, ``n_changes`` since the snapshot,
        ``last_change`` (ISO 8601) and ``problems``, a list of lines that is empty where all is well.
    """
    problems: list[str] = []
    content = read_folder(folder, problems)
    with closing(connect(Path(folder) / NAME, "ro")) as database:
        try:
            found = [row[0] for row in database.execute("PRAGMA integrity_check(10)")]
            problems += [f"database: {line}" for line in found if line != "ok"]
            aside = database.execute("SELECT number FROM aside ORDER BY number").fetchall()
            problems += [f"change {number} was set aside: it ended the process" for (number,) in aside]
        except sqlite3.Error as error:
            problems.append(f"database: {error}")
    about: dict[str, Any] = {"kind": content.meta.get("class"), "version": None, "method": content.meta.get("method")}
    about |= {"n_items": None, "n_changes": len(content.changes)}
    about["last_change"] = content.changes[-1].made if content.changes else content.made
    if not [line for line in problems if line.endswith("is damaged")]:
        try:
            tree = OnlineTree._from(content, Path(folder), None)
            state = tree._begin()
            about |= {"version": state.version, "n_items": len(state.items)}
            problems += [line for line in (state.tree.broken_rule(1e-4),) if line]
        except CladifyError as error:
            problems.append(str(error))
    return {**about, "problems": problems}


def backup(folder: Any, to: Any) -> None:
    """Copy a folder as it is at one moment, while another process may be writing; ``to`` must not hold a tree."""
    source, target = Path(folder) / NAME, Path(to) / NAME
    if target.exists() or target.is_symlink():
        raise FileError(f"{to} holds a tree already; give another folder.")
    read_folder(folder, [])
    made = not Path(to).exists()
    try:
        Path(to).mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | OPEN_FLAGS, 0o600))
        with closing(connect(source, "ro")) as held, closing(sqlite3.connect(target)) as copy:
            held.backup(copy)
            for name in files_of(copy):
                shutil.copyfile(source.with_name(name), target.with_name(name), follow_symlinks=False)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            target.unlink(missing_ok=True)
            if made:
                Path(to).rmdir()
        raise FileError(f"{folder} cannot be copied to {to} ({error}).") from None


def rescue(folder: Any, to: Any) -> dict[str, Any]:
    """Save what is whole of a damaged folder as a new one.

    Where the snapshot is whole, the tree is kept and changes that are whole are replayed. Otherwise a new tree is built
    from the rows of the snapshot, if these are whole, and from those of the changes.

    Returns
    -------
    dict
        ``kind``, ``n_items``, ``n_changes`` that were replayed and ``lost``, a line for each thing that is not there.
    """
    if (Path(to) / NAME).exists():
        raise FileError(f"{to} holds a tree already; give another folder.")
    lost: list[str] = []
    content = read_folder(folder, lost)
    kind = OnlineTree._methods.get(content.meta.get("class", ""))
    if kind is None:
        raise FileError(f"{folder} does not say which tree it holds; nothing can be rescued.")
    patches = patches_of(content)
    whole = content._replace(changes=patches)
    try:
        online: Any = OnlineTree._from(whole, Path(folder), None)
    except CladifyError as error:
        lost.append(f"tree: {error}")
        online = kind(**content.meta["parameters"])
        _rebuild(online, content, lost)
    state, replayed = online._begin(), 0
    for change in content.changes[len(patches) :]:
        try:
            online._replay(state, change)
            replayed += 1
        except (ValueError, KeyError, TypeError, IndexError) as error:
            lost.append(f"change {change.number}: {error}")
    if not len(state.items):
        raise FileError(f"Nothing in {folder} is whole; restore it from a copy.")
    online.save(to).close()
    return {"kind": kind.__name__, "n_items": len(online), "n_changes": replayed, "lost": lost}


def _rebuild(online: Any, content: Content, lost: list[str]) -> None:
    """Builds a tree from the ids and rows of a snapshot whose tree is damaged."""
    meta, arrays = content.meta["state"], content.arrays
    try:
        ids: list[Hashable] = meta["items"]["ids"]
        slots = arrays["items_slots"]
        state = online._begin()
        state.rows.load(meta["rows"], {"centre": arrays["rows_centre"]} if "rows_centre" in arrays else {})
        weight = arrays.get("items_weight", np.ones(len(ids)))
        rows = state.rows.originals(arrays["search_z"][slots])
        if not len(ids) == len(set(ids)) == len(slots) == len(weight):
            raise ValueError("ids and rows are of unequal number")
        online._add(state, ids, state.rows.check(rows, type(online).__name__), weight, Progress())
    except (KeyError, ValueError, TypeError, IndexError) as error:
        lost.append(f"rows of the snapshot: {error}")
        online.__dict__.pop("_state", None)
