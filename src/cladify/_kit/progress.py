"""Progress of long work: one small object that every algorithm reports to.

A public function takes ``progress=``: ``None`` or ``False`` (silent), ``True`` (a bar in the terminal), or a callback
``(stage, done, total)``. It turns that into a :class:`Progress` once, with :func:`reporting`, and hands it down::

    with reporting(progress) as report:
        with report.stage("neighbours", total=n_blocks) as advance:
            for block in blocks:
                ...
                advance()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from cladify.errors import InvalidInput

__all__ = ["Progress", "ProgressLike", "reporting"]

Callback = Callable[[str, int, int], Any]
ProgressLike = bool | Callback | None


class Progress:
    """Forwards ``(stage, done, total)`` to a callback, if there is one."""

    def __init__(self, callback: Callback | None = None) -> None:
        self._callback = callback

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Callable[..., None]]:
        """Announce a stage of ``total`` steps; yields ``advance(steps=1)``, which any thread may call."""
        done = 0
        lock = Lock()

        def advance(steps: int = 1) -> None:
            nonlocal done
            if self._callback is None:
                return
            with lock:
                done = min(done + steps, total)
                self._callback(name, done, total)

        self.update(name, 0, total)
        yield advance

    def update(self, name: str, done: int, total: int) -> None:
        """Say how far a stage is whose total may still grow."""
        if self._callback is not None:
            self._callback(name, done, total)

    def note(self, name: str, text: str) -> None:
        """A few words beside the bar of a stage, such as its loss; a plain callback does not get them."""
        if isinstance(self._callback, _Bars):
            self._callback.note(name, text)


@contextmanager
def reporting(progress: ProgressLike | Progress) -> Iterator[Progress]:
    """The :class:`Progress` for a public function's ``progress=`` argument."""
    if isinstance(progress, Progress):
        yield progress
    elif progress is None or progress is False:
        yield Progress()
    elif progress is True:
        with _terminal_bars() as callback:
            yield Progress(callback)
    elif callable(progress):
        yield Progress(progress)
    else:
        raise InvalidInput(f"progress must be True, False or a callback (stage, done, total), got {progress!r}.")


@contextmanager
def _terminal_bars() -> Iterator[Callback]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        yield _Bars(bars)


class _Bars:
    """One bar of rich for each stage."""

    def __init__(self, bars: Any) -> None:
        self._bars = bars
        self._tasks: dict[str, Any] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total)
        self._bars.update(self._tasks[stage], completed=done, total=total)

    def note(self, stage: str, text: str) -> None:
        self._bars.update(self._tasks[stage], description=f"{stage}, {text}")
