"""Looking after ``.taxonomy`` files: what is in one, and saving what is whole in a damaged one."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from cladify._kit.atomic import PathLike, check_writable
from cladify._kit.container import first_line
from cladify.taxonomy._file.archive import VERSION, read_archive, refusing, write_archive
from cladify.taxonomy._file.store import Parts, from_archive, header_and_arrays

__all__ = ["check", "rescue"]


def check(path: PathLike) -> dict[str, Any]:
    """What a ``.taxonomy`` file holds, and what is wrong with it.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict
        ``kind`` ("taxonomy"), ``version``, ``n_items``, ``n_groups``, ``n_edits``, ``last_change`` (UTC, ISO 8601) and
        ``problems``: a line for every damaged part, empty for a file that is whole. Figures that cannot be read are
        None.
    """
    problems: list[str] = []
    found: dict[str, Any] = dict.fromkeys(("version", "n_items", "n_groups", "n_edits"))
    with refusing(path):
        changed = datetime.fromtimestamp(os.stat(path).st_mtime, UTC).isoformat(timespec="seconds")
    try:
        now = _salvage(path, problems).now
        n = now.n_items
        found = {"version": VERSION, "n_items": n, "n_groups": now.facts.base.n_nodes - n, "n_edits": len(now.edits)}
    except Exception as error:  # nothing can be read
        problems.append(f"it lacks {error}" if isinstance(error, KeyError) else first_line(error))
    return {"kind": "taxonomy", **found, "last_change": changed, "problems": problems}


def rescue(path: PathLike, to: PathLike) -> dict[str, Any]:
    """Write what is whole in a damaged ``.taxonomy`` file to a new one.

    The tree must be readable. Names that are lost become numbers, and so do items; examples are chosen again, edits are
    kept up to the first that is damaged, everything else that is lost is left out.

    Parameters
    ----------
    path : str or path
        The damaged file, which stays as it is.
    to : str or path
        The new one.

    Returns
    -------
    dict
        ``kind``, ``n_items``, ``n_groups``, ``n_edits`` of the new file, and ``lost``: a line for every part that is
        not in it.
    """
    check_writable(to, path)
    lost: list[str] = []
    with refusing(path):
        parts = _salvage(path, lost)
    meta, items, arrays = header_and_arrays(parts)
    write_archive(to, meta, items, arrays, parts.now.edits)
    base = parts.now.facts.base
    figures = {"n_items": base.n_leaves, "n_groups": base.n_nodes - base.n_leaves, "n_edits": len(parts.now.edits)}
    return {"kind": "taxonomy", **figures, "lost": lost}


def _salvage(path: PathLike, lost: list[str]) -> Parts:
    return from_archive(read_archive(path, lost), lost)
