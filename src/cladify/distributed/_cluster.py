"""Workers to run tasks on, and what happens when one is lost.

:func:`run` is the one way in which a stage runs: it starts the tasks, tells how many are done, and turns what Dask says
about a failure into one line of what happened and the way out. Dask itself starts the tasks of a lost worker again.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from cladify._kit.memory import available_memory
from cladify._kit.progress import Progress
from cladify.errors import CladifyError, FileError, MissingExtra

__all__ = ["connected", "explained", "run", "task_memory", "task_room"]


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


def task_memory(client: Any) -> float:
    """Bytes that a task may count on: a worker's limit over its threads, the least of all workers."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [info["memory_limit"] / info["nthreads"] for info in workers if info.get("memory_limit")]
    return float(min(limits, default=available_memory() / 2))


def task_room(client: Any) -> float:
    """Bytes that the arrays of one task may fill: at three quarters of its limit Dask is about to stop a worker, and a
    bare one holds 200 MB."""
    memory = task_memory(client)
    return max(0.75 * memory - 2e8, memory / 8)


# --- what went wrong --------------------------------------------------------------------------------------------------


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
