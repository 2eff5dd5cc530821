"""Every call on a file fails once, in a process with ``io_faults.c`` preloaded; prints what came of it as JSON.

A call of the library must then end well or raise one line, and the files must hold the state before or, where it ended
well, after it.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cladify import Tree, online
from cladify.errors import CladifyError
from cladify.taxonomy import Taxonomy


def arm(folder: Path | None, at: int = 0, code: int = 0, count: int = 1) -> int:
    """Lets call number ``at`` on files of a folder fail; returns how many calls there were since the last time."""
    faults = ctypes.CDLL(None).io_faults
    faults.argtypes, faults.restype = [ctypes.c_char_p, *[ctypes.c_long] * 2, ctypes.c_int], ctypes.c_long
    return int(faults(b"" if folder is None else os.fsencode(folder), at, count, code))


class Case(NamedTuple):
    """A call, and the state of a folder as a value that can be compared."""

    prepare: Callable[[Path], Any]
    act: Callable[[Path, Any], Any]
    state: Callable[[Path], Any]


def rows(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 4))


def held(folder: Path) -> Any:
    if not (folder / "tree" / "tree.sqlite").exists():
        return None
    try:
        with online.open(folder / "tree") as tree:
            return tree.ids_.tolist(), tree.tree_.parent.tolist()
    except CladifyError as error:
        if "holds no tree" in str(error):  # a first save that failed
            return None
        raise


def kept(folder: Path) -> Any:
    tree = online.LiveTree(metric="sqeuclidean", n_jobs=1, n_neighbors=3).partial_fit(rows(15))
    return tree.save(folder / "tree", sync=True).partial_fit(rows(3, 1)).remove([2])


def closed(folder: Path) -> None:
    kept(folder).close()


def edited(folder: Path) -> Taxonomy:
    taxonomy = Taxonomy(Tree([4, 4, 5, 5, 6, 6, -1]), ["a", "b", "c", "d"])
    taxonomy.save(folder / "x.taxonomy")
    with taxonomy.editing(folder / "x.taxonomy"):
        taxonomy.rename(6, "first")
    return taxonomy


def rename(folder: Path, taxonomy: Taxonomy) -> None:
    with taxonomy.editing(folder / "x.taxonomy"):
        taxonomy.rename(6, "second")


def names(folder: Path) -> Any:
    path = folder / "x.taxonomy"
    return [edit.name for edit in Taxonomy.load(path).edits] if path.exists() else None


def small_tree(folder: Path) -> Tree:
    Tree([2, 2, -1]).save(folder / "x.tree")
    return Tree([4, 4, 5, 5, 6, 6, -1])


def parents(folder: Path) -> Any:
    return Tree.load(folder / "x.tree").parent.tolist()


CASES = {
    "online: first save": Case(
        lambda _: online.Grinch(n_jobs=1).partial_fit(rows(9)), lambda folder, tree: tree.save(folder / "tree"), held
    ),
    "online: save again": Case(kept, lambda folder, tree: tree.save(folder / "tree", sync=True), held),
    "online: add": Case(kept, lambda _, tree: tree.partial_fit(rows(4, 2)), held),
    "online: remove": Case(kept, lambda _, tree: tree.remove([0, 5]), held),
    "online: update": Case(kept, lambda _, tree: tree.update([1, 4], rows(2, 3)), held),
    "online: refresh": Case(kept, lambda _, tree: tree.refresh(0.05), held),
    "online: open": Case(closed, lambda folder, _: online.open(folder / "tree").close(), held),
    "online: read": Case(closed, lambda folder, _: online.open(folder / "tree", read_only=True).tree_, held),
    "online: backup": Case(closed, lambda folder, _: online.backup(folder / "tree", folder / "copy"), held),
    "taxonomy: save": Case(edited, lambda folder, it: it.save(folder / "x.taxonomy"), names),
    "taxonomy: edit": Case(edited, rename, names),
    "taxonomy: load": Case(edited, lambda folder, _: Taxonomy.load(folder / "x.taxonomy"), names),
    "tree: save": Case(small_tree, lambda folder, tree: tree.save(folder / "x.tree"), parents),
    "tree: load": Case(small_tree, lambda folder, _: parents(folder), parents),
}


def attempt(case: Case, at: int, code: int, count: int) -> tuple[int, bool, str]:
    """How many calls there were, whether one ended in an error, and what is wrong with that, if anything."""
    folder = Path(tempfile.mkdtemp())
    made = case.prepare(folder)
    is_online = isinstance(made, online.OnlineTree)
    before = made.ids_.tolist() if is_online else None
    problem, failed = "", False
    arm(folder, at, code, count)
    try:
        case.act(folder, made)
    except CladifyError as error:
        failed = True
        problem = "several lines" if "\n" in str(error) else ""
    except BaseException as error:
        failed, problem = True, f"raw {error!r}"
    calls = arm(None)
    try:
        if is_online:
            if failed and made.ids_.tolist() != before:
                problem = problem or "memory was changed"
            memory = made.ids_.tolist(), made.tree_.parent.tolist()
            made.close()
            now = case.state(folder)
            if now != memory and not (failed and now is None):
                problem = problem or "memory and folder differ"
        else:
            now = case.state(folder)
        possible = [reference(case, before=failed)]
        if failed and count > 1 and not is_online:  # an edit that is whole, but cannot be taken back
            possible.append(reference(case, before=False))
        if now not in possible:
            problem = problem or f"the files hold {now}, not {possible}"
    except BaseException as error:
        problem = problem or f"afterwards {error!r}"
    shutil.rmtree(folder, ignore_errors=True)
    return calls, failed, problem


_references: dict[tuple[int, bool], Any] = {}


def reference(case: Case, *, before: bool) -> Any:
    """The state of the files before or after the call, without a fault."""
    key = id(case), before
    if key not in _references:
        folder = Path(tempfile.mkdtemp())
        made = case.prepare(folder)
        if not before:
            case.act(folder, made)
        if isinstance(made, online.OnlineTree):
            made.close()
        _references[key] = case.state(folder)
        shutil.rmtree(folder)
    return _references[key]


def run(case: Case, count: int, codes: list[int]) -> dict[str, Any]:
    """Every call in turn fails, and the next ones until ``count`` of them have."""
    done: dict[str, Any] = {"calls": 0, "failed": 0, "problems": []}
    for code in codes:
        for at in range(1, 1000):
            calls, failed, problem = attempt(case, at, code, count)
            if problem:
                done["problems"].append(f"call {at}, {errno.errorcode[code]}: {problem}")
            if calls < at:
                break
            done["calls"] += 1
            done["failed"] += failed
    return done


if __name__ == "__main__":
    warnings.simplefilter("error")
    chosen = [getattr(errno, name) for name in sys.argv[2:]]
    print(json.dumps({name: run(case, int(sys.argv[1]), chosen) for name, case in CASES.items()}))
