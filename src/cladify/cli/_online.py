"""``cladify add``, ``cladify remove`` and ``cladify watch``: a tree in a folder that items come into and leave."""

from __future__ import annotations

import os
from contextlib import closing
from itertools import count as count_from
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cladify.cli._common import (
    AsJson,
    Params,
    Quiet,
    VectorColumn,
    VectorFile,
    columns,
    count,
    parse_params,
    print_json,
    seconds,
    show_progress,
)

if TYPE_CHECKING:
    from cladify.online import OnlineTree

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds the tree.")]
IdsFile = Annotated[Path | None, typer.Option("--ids", help="A file of ids, one a row: .txt .csv .tsv .jsonl .parquet")]
IdsColumn = Annotated[str | None, typer.Option("--ids-column", help="Column or key with the ids.")]
Method = Annotated[
    str | None,
    typer.Option(help="For a new folder: live (default), grinch, mini-batch-scc, rotate, perch, ohac, greedy, …"),
]
Sync = Annotated[bool, typer.Option("--sync", help="Wait for the disk: survives a power cut, too.")]


def add(
    folder: Folder,
    x: VectorFile,
    ids: IdsFile = None,
    ids_column: IdsColumn = None,
    column: VectorColumn = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Items that are there already get the new vectors.")
    ] = False,
    method: Method = None,
    param: Params = None,
    tree: Annotated[
        Path | None, typer.Option("--tree", help="Also write the tree as it is now: .tree .nwk .json")
    ] = None,
    sync: Sync = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Add vectors to the tree in a folder; the folder is made where it is not there.

    Example: [bold]cladify add topics/ monday.npy --ids monday.txt[/bold]
    """
    from cladify.io import check_writable, read_items, read_vectors, write_tree
    from cladify.tree._files import check_tree_name

    if tree is not None:
        check_tree_name(tree)
        check_writable(tree)
    vectors = read_vectors(x, column=columns(column))
    names = None if ids is None else read_items(ids, ids_column)
    start = perf_counter()
    online, is_new = _open(folder, method, parse_params(param), sync)
    with closing(online):
        fresh, called = _replace_known(online, vectors, names) if replace else (vectors, names)
        online.partial_fit(fresh, ids=called, progress=show_progress(quiet or as_json))
        if is_new:
            online.save(folder, sync=sync)
        if tree is not None:
            write_tree(online.tree_, tree, [str(name) for name in online.ids_])
    what = "added or replaced" if replace else "added"
    _done(online, folder, what, vectors.shape[0], perf_counter() - start, as_json=as_json, quiet=quiet)


def remove(
    folder: Folder,
    items: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of the items that go.")] = None,
    ids: IdsFile = None,
    ids_column: IdsColumn = None,
    sync: Sync = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Take items out of the tree in a folder.

    Example: [bold]cladify remove topics/ post-17 post-40[/bold]
    """
    import cladify.online
    from cladify.errors import InvalidInput
    from cladify.io import read_items

    gone: list[Any] = [*(items or []), *([] if ids is None else read_items(ids, ids_column))]
    if not gone:
        raise InvalidInput("Say which items go: ids after the folder, or a file of them with --ids.")
    start = perf_counter()
    with closing(cladify.online.open(folder, sync=sync)) as online:
        online.remove(_as_they_are(online, gone))
    _done(online, folder, "removed", len(gone), perf_counter() - start, as_json=as_json, quiet=quiet)


def watch(
    folder: Folder,
    inbox: Annotated[Path | None, typer.Option(help="Where vectors appear; default: DIR/inbox")] = None,
    method: Method = None,
    param: Params = None,
    every: Annotated[float, typer.Option(help="Seconds between looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Take what is there and stop.")] = False,
    sync: Sync = False,
    quiet: Quiet = False,
) -> None:
    """Add every file of vectors that appears in an inbox, in the order of their names; Ctrl-C ends it.

    A file ``monday.npy`` becomes items ``monday:0``, ``monday:1``, … and moves to the inbox's folder ``done``. Another
    file of that name becomes ``monday-2:0``, …; the same file again is not added twice. Put files there
    under a name that begins with a dot and rename them when they are whole.
    """
    inbox = inbox or folder / "inbox"
    for needed in ("done", "failed"):
        (inbox / needed).mkdir(parents=True, exist_ok=True)
    if not (quiet or once):
        print(f"watching {inbox} every {every:g} s; Ctrl-C ends it")
    with closing(_Watched(folder, method, parse_params(param), sync)) as tree:
        while True:
            _take_all(tree, inbox, quiet=quiet)
            if once:
                return
            sleep(every)


class _Watched:
    """The tree of a folder that is opened, or made, when the first file has come."""

    def __init__(self, folder: Path, method: str | None, params: dict[str, Any], sync: bool) -> None:
        self.folder, self._sync = folder, sync
        self._how = (method, params)
        self.online: OnlineTree | None = None

    def add(self, vectors: Any, stem: str) -> OnlineTree:
        online, is_new = (self.online, False) if self.online is not None else _open(self.folder, *self._how, self._sync)
        self.online = None if is_new else online
        for turn in count_from(1):
            name = stem if turn == 1 else f"{stem}-{turn}"
            named: list[Any] = [f"{name}:{i}" for i in range(vectors.shape[0])]
            if not named or named[0] not in online:
                online.partial_fit(vectors, ids=named)
                break
            if online.holds(named, vectors):  # added before the last stop, but not moved yet
                break
        if is_new:
            online.save(self.folder, sync=self._sync)
        self.online = online
        return online

    def close(self) -> None:
        if self.online is not None:
            self.online.close()


def _take_all(tree: _Watched, inbox: Path, *, quiet: bool) -> None:
    from cladify.errors import CladifyError
    from cladify.io import read_vectors

    for path in sorted(p for p in inbox.iterdir() if p.is_file() and not p.name.startswith(".")):
        start = perf_counter()
        try:
            vectors = read_vectors(path)
            online = tree.add(vectors, path.stem)
        except CladifyError as error:
            typer.echo(f"{path.name}: {error}", err=True)
            _move(path, inbox / "failed")
            continue
        _move(path, inbox / "done")
        took = perf_counter() - start
        _done(online, tree.folder, f"{path.name}: added", vectors.shape[0], took, as_json=False, quiet=quiet)


def _move(path: Path, folder: Path) -> None:
    """Moves a file into a folder, under another name where its own is taken."""
    names = (path.name if turn == 1 else f"{path.stem}-{turn}{path.suffix}" for turn in count_from(1))
    path.rename(next(folder / name for name in names if not os.path.lexists(folder / name)))


def _open(folder: Path, method: str | None, params: dict[str, Any], sync: bool) -> tuple[OnlineTree, bool]:
    """The tree of a folder, and whether it is a new one, which has nothing to save yet."""
    import cladify.online
    from cladify._kit.params import check_choice
    from cladify.errors import InvalidInput
    from cladify.online._storage import NAME

    kinds = {kind._method: kind for kind in vars(cladify.online).values() if _is_method(kind)}
    if method is not None:
        check_choice("method", method, tuple(kinds))
    if not (folder / NAME).exists():
        return kinds[method or "live"](**params), True
    online = cladify.online.open(folder, sync=sync)
    held, wanted = online.get_params(), {"method": method or online._method, **params}
    odd = [name for name, value in wanted.items() if {"method": online._method, **held}.get(name) != value]
    if odd:
        online.close()
        raise InvalidInput(
            f"{folder} holds a tree that was begun with method {online._method!r} and its own parameters, not with "
            f"{odd[0]}={wanted[odd[0]]!r}. Leave that out, or give another folder."
        )
    return online, False


def _is_method(value: Any) -> bool:
    from cladify.online import OnlineTree

    return isinstance(value, type) and issubclass(value, OnlineTree) and value is not OnlineTree


def _replace_known(online: OnlineTree, vectors: Any, names: list[str] | None) -> tuple[Any, list[str] | None]:
    """Gives items that are there already their new vectors; returns the rest."""
    from cladify.errors import InvalidInput

    if names is None:
        raise InvalidInput("--replace needs --ids, to know which items are there already.")
    if len(names) != vectors.shape[0]:
        raise InvalidInput(f"ids and X must be of equal length, got {len(names)} ids for {vectors.shape[0]} rows.")
    items = _as_they_are(online, names)
    known = [i for i, item in enumerate(items) if item in online]
    rest = [i for i, item in enumerate(items) if item not in online]
    online.update([items[i] for i in known], vectors[known])
    return vectors[rest], [items[i] for i in rest]


def _as_they_are(online: OnlineTree, ids: list[str]) -> list[Any]:
    """Ids are text on a command line; those that were counted are numbers in the tree."""
    numbers = [int(name) if name.lstrip("-").isdecimal() else name for name in ids]
    return [
        number if number in online and name not in online else name for name, number in zip(ids, numbers, strict=True)
    ]


def _done(
    online: OnlineTree, folder: Path, what: str, number: int, duration: float, *, as_json: bool, quiet: bool
) -> None:
    if as_json:
        print_json({"folder": str(folder), "changed": number, "items": len(online), "seconds": duration})
    elif not quiet:
        print(f"{what} {count(number, 'item')} in {seconds(duration)}; {folder} holds {count(len(online), 'item')}")
