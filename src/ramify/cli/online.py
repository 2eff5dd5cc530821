"""``ramify add``, ``ramify remove`` and ``ramify watch``: a tree in a folder that items come into and leave."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli._common import (
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
    from ramify.online import OnlineTree

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds the tree.")]
IdsFile = Annotated[Path | None, typer.Option("--ids", help="A file of ids, one a row: .txt .csv .tsv .jsonl .parquet")]
IdsColumn = Annotated[str | None, typer.Option("--ids-column", help="Column or key with the ids.")]
Method = Annotated[str, typer.Option(help="For a new folder: live, grinch, rotate or greedy.")]
Sync = Annotated[bool, typer.Option("--sync", help="Wait for the disk: survives a power cut, too.")]


def add(
    folder: Folder,
    x: VectorFile,
    ids: IdsFile = None,
    ids_column: IdsColumn = None,
    column: VectorColumn = None,
    method: Method = "live",
    param: Params = None,
    tree: Annotated[
        Path | None, typer.Option("--tree", help="Also write the tree as it is now: .tree .nwk .json")
    ] = None,
    sync: Sync = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Add vectors to the tree in a folder; the folder is made where it is not there.

    Example: [bold]ramify add topics/ monday.npy --ids monday.txt[/bold]
    """
    from ramify.io import check_writable, read_items, read_vectors, write_tree
    from ramify.io.trees import check_tree_name

    if tree is not None:
        check_tree_name(tree)
        check_writable(tree)
    vectors = read_vectors(x, column=columns(column))
    names = None if ids is None else read_items(ids, ids_column)
    start = perf_counter()
    online, is_new = _open(folder, method, parse_params(param), sync)
    with closing(online):
        online.partial_fit(vectors, ids=names, progress=show_progress(quiet or as_json))
        if is_new:
            online.save(folder, sync=sync)
        if tree is not None:
            write_tree(online.tree_, tree, [str(name) for name in online.ids_])
    _done(online, folder, "added", vectors.shape[0], perf_counter() - start, as_json=as_json, quiet=quiet)


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

    Example: [bold]ramify remove topics/ post-17 post-40[/bold]
    """
    import ramify.online
    from ramify.errors import InvalidInput
    from ramify.io import read_items

    gone: list[Any] = [*(items or []), *([] if ids is None else read_items(ids, ids_column))]
    if not gone:
        raise InvalidInput("Say which items go: ids after the folder, or a file of them with --ids.")
    start = perf_counter()
    with closing(ramify.online.open(folder, sync=sync)) as online:
        online.remove(_as_they_are(online, gone))
    _done(online, folder, "removed", len(gone), perf_counter() - start, as_json=as_json, quiet=quiet)


def watch(
    folder: Folder,
    inbox: Annotated[Path | None, typer.Option(help="Where vectors appear; default: DIR/inbox")] = None,
    method: Method = "live",
    param: Params = None,
    every: Annotated[float, typer.Option(help="Seconds between looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Take what is there and stop.")] = False,
    sync: Sync = False,
    quiet: Quiet = False,
) -> None:
    """Add every file of vectors that appears in an inbox, in the order of their names; Ctrl-C ends it.

    A file ``monday.npy`` becomes items ``monday:0``, ``monday:1``, … and moves to the inbox's folder ``done``. Put
    files there under a name that begins with a dot and rename them when they are whole.
    """
    inbox = inbox or folder / "inbox"
    for needed in ("done", "failed"):
        (inbox / needed).mkdir(parents=True, exist_ok=True)
    with closing(_Watched(folder, method, parse_params(param), sync)) as tree:
        while True:
            _take_all(tree, inbox, quiet=quiet)
            if once:
                return
            sleep(every)


class _Watched:
    """The tree of a folder that is opened, or made, when the first file has come."""

    def __init__(self, folder: Path, method: str, params: dict[str, Any], sync: bool) -> None:
        self.folder, self._sync = folder, sync
        self._how = (method, params)
        self.online: OnlineTree | None = None

    def add(self, vectors: Any, named: list[str]) -> OnlineTree:
        online, is_new = (self.online, False) if self.online is not None else _open(self.folder, *self._how, self._sync)
        self.online = None if is_new else online
        # A file that was added before the last stop, but not moved yet, is not added twice.
        if not (named and named[0] in online):
            online.partial_fit(vectors, ids=named)
        if is_new:
            online.save(self.folder, sync=self._sync)
        self.online = online
        return online

    def close(self) -> None:
        if self.online is not None:
            self.online.close()


def _take_all(tree: _Watched, inbox: Path, *, quiet: bool) -> None:
    from ramify.errors import RamifyError
    from ramify.io import read_vectors

    for path in sorted(p for p in inbox.iterdir() if p.is_file() and not p.name.startswith(".")):
        start = perf_counter()
        try:
            vectors = read_vectors(path)
            online = tree.add(vectors, [f"{path.stem}:{i}" for i in range(vectors.shape[0])])
        except RamifyError as error:
            typer.echo(f"{path.name}: {error}", err=True)
            path.rename(inbox / "failed" / path.name)
            continue
        path.rename(inbox / "done" / path.name)
        took = perf_counter() - start
        _done(online, tree.folder, f"{path.name}: added", vectors.shape[0], took, as_json=False, quiet=quiet)


def _open(folder: Path, method: str, params: dict[str, Any], sync: bool) -> tuple[OnlineTree, bool]:
    """The tree of a folder, and whether it is a new one, which has nothing to save yet."""
    import ramify.online
    from ramify.validate import check_choice

    if (folder / "current.json").exists():
        return ramify.online.open(folder, sync=sync), False
    kinds = {
        "live": ramify.online.LiveTree,
        "grinch": ramify.online.Grinch,
        "rotate": ramify.online.Rotate,
        "greedy": ramify.online.Greedy,
    }
    check_choice("method", method, tuple(kinds))
    return kinds[method](**params), True


def _as_they_are(online: OnlineTree, ids: list[str]) -> list[Any]:
    """Ids are text on a command line; those that were counted are numbers in the tree."""
    return [int(name) if name not in online and name.lstrip("-").isdigit() else name for name in ids]


def _done(
    online: OnlineTree, folder: Path, what: str, number: int, duration: float, *, as_json: bool, quiet: bool
) -> None:
    if as_json:
        print_json({"folder": str(folder), "changed": number, "items": len(online), "seconds": duration})
    elif not quiet:
        print(f"{what} {count(number, 'item')} in {seconds(duration)}; {folder} holds {count(len(online), 'item')}")
