"""Starting the explorer: from a file or an object to a page in the browser."""

from __future__ import annotations

import ipaddress
import socket
import sys
import tempfile
import threading
import time
import warnings
import webbrowser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit import system
from cladify._kit.params import check_int
from cladify.data._vectors import is_sparse
from cladify.errors import CladifyWarning, FileError, InvalidInput
from cladify.explore._access import Access
from cladify.explore._document import Document
from cladify.explore._page import page_of
from cladify.explore._server import make_app
from cladify.io import atomic_write, check_items, read_tree
from cladify.taxonomy import Taxonomy
from cladify.taxonomy._steer.reading import reading_tree
from cladify.tree import Tree
from cladify.tree.dag import ClusterDag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cladify.distributed import TreeFolder

__all__ = ["Explorer", "explore", "open_document", "write_page"]

_TRIES = 20


def open_document(
    what: Taxonomy | Tree | ClusterDag | str | Path,
    *,
    items: Sequence[Any] | None = None,
    labels: Sequence[Any] | None = None,
    vectors: Any = None,
    points: Any = None,
    images: Sequence[Any] | None = None,
    compare: Taxonomy | Tree | str | Path | None = None,
    title: str | None = None,
    node: int | None = None,
) -> Document:
    """The document of a taxonomy, a tree or a graph of clusters with or without items, or of a file with one.

    Parameters
    ----------
    what : Taxonomy, Tree, ClusterDag or path
        Edits of a taxonomy that comes from a ``.taxonomy`` file are saved in it. Clusters that overlap are drawn as the
        tree in which each keeps its best parent; cards say what else a cluster or an item belongs to.
    items, labels, vectors, points, images : optional
        One entry a leaf: texts, classes, vectors ("more like this"), places in the plane, and pictures (paths, or an
        array of shape (n, height, width) or (n, height, width, 3)).
    compare : Taxonomy, Tree or path, optional
        Another one of the same items.
    title : str, optional
    node : int, optional
        Of a tree in a folder (:class:`cladify.distributed.TreeFolder`): what is below this node of its top, in place of
        the top itself. Nothing else is read. The page of a top opens what is below a group as it is asked for.
    """
    from cladify.distributed.tree_folder import TreeFolder, is_tree_folder

    if vectors is not None and not is_sparse(vectors):
        vectors = np.asarray(vectors)
    file = dag = below = None
    if isinstance(what, str | Path) and is_tree_folder(what):
        title = title or Path(what).name
        folder = TreeFolder(what)
        if node is None:
            below = partial(_group_of, folder, items, title)
        else:
            title = f"{title}, node {node}"
        what, items = folder.view(node, items)
    elif node is not None:
        raise InvalidInput("node belongs to a tree in a folder, of which it names the part to open.")
    if isinstance(what, str | Path):
        path = Path(what)
        title = title or path.stem
        if path.suffix == ".taxonomy":
            if items is not None:
                raise InvalidInput(f"{path} has its own items; leave --items out, or give the tree alone.")
            what, file = Taxonomy.load(path), path
        elif path.suffix == ".dag":
            what = ClusterDag.load(path)
            items = items if items is not None else what.info.get("names")
        else:
            what = read_tree(path)
            items = items if items is not None else what.info.get("names")
    if isinstance(what, ClusterDag):
        dag, what = what, what.to_tree()
    if isinstance(what, Tree):
        if items is not None:
            check_items(list(items), what.n_leaves, what="items", rows="leaves of the tree")
        if vectors is not None and vectors.shape[0] != what.n_leaves:
            raise InvalidInput(f"vectors must have one entry a leaf ({what.n_leaves}), got {vectors.shape[0]}.")
        what = _readable(what, items, vectors)
    elif not isinstance(what, Taxonomy):
        raise InvalidInput(f"explore takes a Taxonomy, a Tree or a file, got {type(what).__name__}.")
    other_name = Path(compare).stem if isinstance(compare, str | Path) else "the other tree"
    other = _other(Path(compare)) if isinstance(compare, str | Path) else compare
    return Document(
        what,
        title=title or "taxonomy",
        labels=labels,
        vectors=vectors,
        points=points,
        images=images,
        other=other,
        other_name=other_name,
        file=file,
        dag=dag,
        below=below,
    )


def _readable(tree: Tree, items: Sequence[Any] | None, vectors: Any = None) -> Taxonomy:
    readable, ranks = reading_tree(tree)
    return Taxonomy(readable, items, full=tree, ranks=ranks, X=vectors)


def _other(path: Path) -> Taxonomy | Tree:
    return Taxonomy.load(path) if path.suffix == ".taxonomy" else read_tree(path)


def _group_of(folder: TreeFolder, items: Sequence[Any] | None, title: str, group: int) -> Document:
    """What is below one group of the top."""
    check_int("group", group, low=0, high=folder.top.n_leaves - 1)
    return Document(_readable(*folder.view(group, items)), title=f"{title}, group {group}", is_below=True)


def write_page(what: Any, path: str | Path, **options: Any) -> None:
    """Write the readable top as one HTML file that opens without a server; ``options`` as in :func:`open_document`.

    At most some 20 000 nodes and 5 MB; nothing in it asks for anything from elsewhere.
    """
    document = what if isinstance(what, Document) else open_document(what, **options)
    with atomic_write(path) as file:
        file.write(page_of(document.view).encode("utf-8", "replace"))


class Explorer:
    """A running explorer.

    Attributes
    ----------
    url : str
        An address to open. It holds a code that lets one page save edits, once; every reading of ``url`` makes another.
    token : str
        Lets a program save edits, in the header ``x-cladify-token``.
    """

    def __init__(self, document: Document, *, host: str = "127.0.0.1", port: int = 8765, frame: bool = False) -> None:
        import uvicorn

        self.document = document
        self.host = host
        self._socket, self.port = _listen(host, port)
        self._access = Access()
        self.token = self._access.token
        hosts = () if _is_loopback(host) else (host, socket.gethostname(), *_addresses())
        app = make_app(document, token=self._access, hosts=hosts, frame=frame)
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None
        self._opened: list[Path] = []  # files that lead a browser here

    @property
    def url(self) -> str:
        """The address of the page, with a code that works once."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/?code={self._access.new_code()}"

    def serve(self) -> None:
        """Answer until Ctrl-C."""
        threading.Thread(target=self.document.warm, daemon=True).start()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._forget_files()

    def start(self) -> Explorer:
        """Answer in a thread of its own, and return once it does."""
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 10
        while not self._server.started and time.monotonic() < deadline and self._thread.is_alive():
            time.sleep(0.01)
        if not self._server.started:
            raise RuntimeError("The server of the explorer did not start.")
        return self

    def stop(self) -> None:
        """Stop answering."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(5)
        self._socket.close()
        self._forget_files()

    def _forget_files(self) -> None:
        while self._opened:
            self._opened.pop().unlink(missing_ok=True)

    def open_browser(self) -> None:
        """Open the page in a browser, whose command line shows the path of a private file and no code."""
        page = f'<!doctype html><title>cladify</title><meta http-equiv="refresh" content="0;url={self.url}">'
        handle, name = tempfile.mkstemp(prefix="cladify-", suffix=".html")  # only its owner can read it
        with open(handle, "w", encoding="utf-8") as file:
            file.write(page)
        self._opened.append(Path(name))
        webbrowser.open(Path(name).as_uri())

    def _repr_html_(self) -> str:
        """Shown by a notebook: the page in a frame."""
        return f'<iframe src="{self.url}" width="100%" height="640" style="border:0"></iframe>'


def explore(
    what: Any, *, port: int = 8765, host: str = "127.0.0.1", browser: bool | None = None, **options: Any
) -> Explorer:
    """Open a taxonomy or a tree in the browser.

    Parameters
    ----------
    what : Taxonomy, Tree or path
    port : int
        Or the next one that is free.
    host : str
        Anything but the loopback interface lets others on the network read the data, with a warning.
    browser : bool, optional
        Whether to open a browser; by default everywhere but in a notebook, where the page shows in a frame.
    **options
        As in :func:`open_document`.

    Returns
    -------
    Explorer
        Runs until ``stop()`` or the end of the program.
    """
    notebook = _in_notebook()
    explorer = Explorer(open_document(what, **options), host=host, port=port, frame=notebook).start()
    if browser if browser is not None else not notebook:
        explorer.open_browser()
    return explorer


def _listen(host: str, port: int) -> tuple[socket.socket, int]:
    """A socket on the port, or on the next one that is free."""
    if not _is_loopback(host):
        warnings.warn(
            f"The explorer listens on {host}: everybody who reaches this machine there can read these data.",
            CladifyWarning,
            stacklevel=4,
        )
    if not 0 <= port <= 65535:
        raise InvalidInput(f"port must be in [0, 65535], got {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    error: OSError | None = None
    for candidate in [port, *range(port + 1, min(port + _TRIES, 65536))]:
        listener = socket.socket(family, socket.SOCK_STREAM)
        if not system.on_windows():  # where it would let another program take the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(64)  # from here on the port is ours
            return listener, int(listener.getsockname()[1])
        except OSError as problem:
            listener.close()
            error = problem
    raise FileError(
        f"cannot listen on {host}, ports {port} to {port + _TRIES - 1}: {error}; choose another with --port."
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _addresses() -> list[str]:
    """Addresses under which this machine may be asked."""
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)]
    except OSError:
        return []


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
