"""`Job`: the one way in which tasks run on workers, with progress, errors and what tasks send each other.

Tasks never change their arguments: Dask may run one again on another worker, and gets the same result. A failure of the
cluster becomes one line that says what happened and the way out. Dask itself restarts the tasks of a lost worker.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from cladify._kit.memory import available_memory
from cladify._kit.progress import Progress
from cladify.distributed._storage.work_folder import Receipt, WorkFolder, damaged_pieces, finish_piece, temporary_folder
from cladify.errors import CladifyError, FileError, MissingExtra

__all__ = ["Job", "Piece", "Sent", "connected", "explained", "require_dask", "run", "split"]

Piece = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Sent:
    """The result of a task that sends: data it keeps, one piece for each receiver, and a note for the driver."""

    kept: Any
    pieces: Sequence[Piece]
    note: Any = None


def split(to: np.ndarray, n_parts: int, *arrays: np.ndarray) -> list[Piece]:
    """The rows of some arrays by the part that each goes to, in their order."""
    order = np.argsort(to, kind="stable")
    cuts = np.searchsorted(to[order], np.arange(n_parts + 1))
    return [tuple(array[order[a:b]] for array in arrays) for a, b in pairwise(cuts)]


@dataclass
class Job:
    """A run of a distributed method.

    Attributes
    ----------
    client : distributed.Client
    work : WorkFolder, optional
        The folder in which stages keep their files.
    report : Progress
    label : str
        Names the stages in progress and errors.
    bytes : int
        Sent from one part to another so far, as :meth:`notes` counted them.
    """

    client: Any
    work: WorkFolder | None = None
    report: Progress = field(default_factory=Progress)
    label: str = "dask"
    bytes: int = 0
    _counts: list[Any] = field(default_factory=list)

    # --- workers ------------------------------------------------------------------------------------------------------

    @property
    def n_workers(self) -> int:
        return len(self.client.nthreads())

    @property
    def n_threads(self) -> int:
        return sum(self.client.nthreads().values())

    @property
    def memory(self) -> float:
        """Bytes that a task may count on: a worker's limit over its threads, the least of all workers."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [info["memory_limit"] / info["nthreads"] for info in workers if info.get("memory_limit")]
        return float(min(limits, default=available_memory() / 2))

    @property
    def room(self) -> float:
        """Bytes that the arrays of one task may fill.

        At three quarters of its limit Dask is about to stop a worker, and an idle worker holds 200 MB.
        """
        memory = self.memory
        return max(0.75 * memory - 2e8, memory / 8)

    # --- files --------------------------------------------------------------------------------------------------------

    def below(self, name: str, *, quiet: bool = False) -> Job:
        """The job in a folder inside its own; with ``quiet``, without progress."""
        assert self.work is not None
        report = Progress() if quiet else self.report
        return replace(self, work=self.work.below(name), report=report, bytes=0, _counts=[])

    @contextmanager
    def working(self, label: str) -> Iterator[Job]:
        """The job under another label, in a temporary folder where it has none of its own."""
        if self.work is not None:
            yield replace(self, label=label, bytes=0, _counts=[])
            return
        with temporary_folder() as work:
            yield replace(self, work=work, label=label, bytes=0, _counts=[])

    def path(self, name: str) -> str:
        assert self.work is not None
        return self.work.path(name)

    def stage(self, names: Sequence[str], tasks: Callable[[int], tuple[Any, ...]], label: str = "") -> list[Receipt]:
        """The receipts of some files; runs the task of each file that has none yet.

        ``tasks(i)`` is a function and its arguments, some of them delayed. It is called with the path of the file in
        front of them, writes the file, and returns the receipt.
        """
        from dask import delayed

        work = self.work
        assert work is not None
        found = [work.receipt(name) for name in names]
        waiting = [i for i, receipt in enumerate(found) if receipt is None]
        todo = [delayed(finish_piece)(work, names[i], *tasks(i)) for i in waiting]
        # Without a label of its own a stage is one step of several, which the caller reports as a whole.
        results = self.run(todo, label) if label else self.run(todo, self.label, Progress())
        for i, receipt in zip(waiting, results, strict=True):
            found[i] = receipt
        return [receipt for receipt in found if receipt is not None]

    def repair(self) -> list[str]:
        """Checks what earlier runs left in the work folder and removes damaged pieces, whose stages then run again.

        Gives the paths of these pieces.
        """
        from dask import delayed

        work = self.work
        assert work is not None
        folders = work.folders()
        checks = [delayed(damaged_pieces)(folder, names) for folder in folders for names in folder.batches()]
        owners = [folder for folder in folders for _ in folder.batches()]
        damaged: dict[str, list[str]] = {}
        for folder, found in zip(owners, self.run(checks, "check the checkpoint") if checks else [], strict=True):
            damaged.setdefault(folder.folder, []).extend(found)
        return [path for folder in folders for path in folder.forget(damaged.get(folder.folder, []))]

    # --- tasks --------------------------------------------------------------------------------------------------------

    def run(self, tasks: Sequence[Any], label: str, report: Progress | None = None) -> list[Any]:
        """The results of delayed tasks, in their order."""
        return run(self.client, tasks, stage=label, report=self.report if report is None else report)

    def submit(self, task: Callable[..., Any], *args: Any, **same: Any) -> Any:
        """A future of ``task(*args, **same)``."""
        return self.client.submit(task, *args, pure=False, **same)

    def call(self, task: Callable[..., Any], *args: Any, **same: Any) -> Any:
        """The result of one task."""
        return self.submit(task, *args, **same).result()

    def compute(self, delayed: Any) -> Any:
        """Futures of delayed values."""
        return self.client.compute(delayed)

    def gather(self, futures: Any) -> Any:
        return self.client.gather(futures)

    def map(self, task: Callable[..., Any], *columns: Sequence[Any], **same: Any) -> list[Any]:
        """Futures of ``task(*row, **same)``, one for each part."""
        return [self.submit(task, *row, **same) for row in zip(*columns, strict=True)]

    def exchange(
        self, task: Callable[..., Any], sent: Sequence[Any], *columns: Sequence[Any], **same: Any
    ) -> list[Any]:
        """Futures of ``task(kept, pieces, *row, **same)``, where ``pieces`` came from all parts, in their order.

        ``sent`` are futures of :class:`Sent`, one a part. The task of part j depends on its own part and on the pieces
        for j alone.
        """
        self._counts += [self.submit(_leaving, one, i) for i, one in enumerate(sent)]
        pieces = [
            [one if i == j else self.submit(_piece, one, j) for i, one in enumerate(sent)] for j in range(len(sent))
        ]
        return [
            self.submit(_received, task, sent[j], pieces[j], j, list(row), same)
            for j, row in enumerate(zip(*columns, strict=True) if columns else [()] * len(sent))
        ]

    def deliver(self, task: Callable[..., Any], sent: Sequence[Any], n_to: int, **same: Any) -> list[Any]:
        """Futures of ``task(pieces, **same)`` for each of ``n_to`` receivers that are not the parts themselves."""
        self._counts += [self.submit(_leaving, one, -1) for one in sent]
        pieces = [[self.submit(_piece, one, j) for one in sent] for j in range(n_to)]
        return [self.submit(task, each, **same) for each in pieces]

    def notes(self, sent: Sequence[Any] = ()) -> list[Any]:
        """The notes of the tasks; also adds the bytes sent so far to ``bytes``."""
        notes, counts = self.gather([self.map(_note, sent), self._counts])
        self.bytes += sum(counts)
        self._counts = []
        return list(notes)


def _piece(sent: Sent, j: int) -> Piece:
    return sent.pieces[j]


def _note(sent: Sent) -> Any:
    return sent.note


def _leaving(sent: Sent, i: int) -> int:
    return sum(array.nbytes for j, one in enumerate(sent.pieces) if j != i for array in one)


def _received(
    task: Callable[..., Any], own: Sent, pieces: list[Any], j: int, row: list[Any], same: dict[str, Any]
) -> Any:
    return task(own.kept, [own.pieces[j] if i == j else other for i, other in enumerate(pieces)], *row, **same)


# --- clients ----------------------------------------------------------------------------------------------------------


def require_dask() -> None:
    """Raise with the install line where Dask is missing."""
    try:
        import dask.array  # noqa: F401
        import distributed  # noqa: F401
    except ImportError:
        raise MissingExtra("engine='dask'", "dask") from None


@contextmanager
def connected(client: Any = None, *, n_workers: int | None = None, memory_limit: Any = "auto") -> Iterator[Any]:
    """A client: the given one, that of a scheduler's address, or that of new worker processes on this machine.

    Workers started here have one thread each, listen on the loopback only, and end with the block.
    """
    require_dask()
    from logging import CRITICAL

    from distributed import Client, LocalCluster

    if client is not None and not isinstance(client, str):
        yield client
        return
    if client is not None:
        with explained(client, "connecting"), Client(client, set_as_default=False) as own:
            yield own
        return
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=memory_limit,
            silence_logs=CRITICAL,  # errors of tasks come back and are raised here
        ) as cluster,
        Client(cluster, set_as_default=False) as own,
    ):
        yield own


def run(client: Any, tasks: Sequence[Any], *, stage: str, report: Progress | None = None) -> list[Any]:
    """The results of delayed tasks, in their order.

    Parameters
    ----------
    client : distributed.Client
    tasks : sequence of Delayed
    stage : str
        What they do, for progress and errors.
    """
    from distributed import as_completed

    with explained(client, stage), (report or Progress()).stage(stage, total=len(tasks)) as advance:
        futures = client.compute(list(tasks))
        try:
            for future in as_completed(futures, loop=client.loop):
                if future.status == "error":
                    raise future.exception()
                if future.status != "finished":
                    raise CancelledError
                advance()
            return list(client.gather(futures))
        except BaseException:
            _stop(client, futures)
            raise


# --- failures ---------------------------------------------------------------------------------------------------------


@contextmanager
def explained(client: Any, stage: str) -> Iterator[None]:
    """Failures of the cluster as one line of what happened and the way out; ``client`` may be an address."""
    address = client if isinstance(client, str) else _address(client)
    from distributed import KilledWorker

    try:
        yield
    except CladifyError:
        raise
    except KilledWorker as error:
        raise CladifyError(
            f"{stage}: workers died again and again on the same task (last: {error.last_worker.address}), mostly for "
            "want of memory. Give workers more memory, or cut the data into smaller shards."
        ) from None
    except (CancelledError, OSError) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            where = f" at {error.filename}" if error.filename else ""
            raise FileError(
                f"{stage}: a worker's disk is full{where}. Free some space, or choose another disk with "
                "checkpoint=FOLDER."
            ) from None
        # Dask's own errors of a connection have no number.
        if isinstance(error, OSError) and not isinstance(error, ConnectionError) and error.errno is not None:
            raise
        if isinstance(error, CancelledError) and getattr(client, "status", None) == "running":
            raise CladifyError(
                f"{stage}: rows that this process had sent to a worker were lost with it. Save the array as shards, "
                "which another worker reads again."
            ) from None
        raise CladifyError(
            f"{stage}: the scheduler at {address} was lost or cannot be reached. Start it again and make the same "
            "call; with checkpoint=FOLDER it goes on from what was finished."
        ) from None


def _stop(client: Any, futures: Sequence[Any]) -> None:
    """Leave nothing running behind an error; the cluster may be gone."""
    from contextlib import suppress

    with suppress(Exception):
        client.cancel(futures)


def _address(client: Any) -> str:
    scheduler = client.scheduler
    return scheduler.address if scheduler is not None else "unknown"
