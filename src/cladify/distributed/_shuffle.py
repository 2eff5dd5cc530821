"""Tasks over parts, and what they send each other: one piece a destination.

A task that sends returns a :class:`Sent`. The task of part j then depends on its own part and on the pieces for j
alone, so that no worker sees what is meant for another. Tasks never change what they are given: Dask may run one again
on another worker, and gets the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["Piece", "Sent", "Shuffle", "nbytes", "piece", "split"]

Piece = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Sent:
    """What a task keeps, what it sends to each part, and what the caller should know."""

    kept: Any
    pieces: Sequence[Piece]
    note: Any = None


class Shuffle:
    """Runs one task a part and counts the bytes that go from one part to another."""

    def __init__(self, client: Any, n_parts: int) -> None:
        self.client, self.n_parts = client, n_parts
        self.bytes = 0
        self._counts: list[Any] = []

    def map(self, task: Callable[..., Any], *columns: Sequence[Any], **same: Any) -> list[Any]:
        """Futures of ``task(*row, **same)``, one for each part."""
        return [self.client.submit(task, *row, pure=False, **same) for row in zip(*columns, strict=True)]

    def exchange(
        self, task: Callable[..., Any], sent: Sequence[Any], *columns: Sequence[Any], **same: Any
    ) -> list[Any]:
        """Futures of ``task(kept, pieces, *row, **same)``, where ``pieces`` came from all parts, in their order.

        ``sent`` are futures of :class:`Sent`, one a part.
        """
        self._counts += [self.client.submit(_leaving, one, i, pure=False) for i, one in enumerate(sent)]
        pieces = [
            [one if i == j else self.client.submit(piece, one, j, pure=False) for i, one in enumerate(sent)]
            for j in range(self.n_parts)
        ]
        return [
            self.client.submit(_received, task, sent[j], pieces[j], j, list(row), same, pure=False)
            for j, row in enumerate(zip(*columns, strict=True) if columns else [()] * self.n_parts)
        ]

    def deliver(self, task: Callable[..., Any], sent: Sequence[Any], n_to: int, **same: Any) -> list[Any]:
        """Futures of ``task(pieces, **same)`` for each of ``n_to`` receivers that are not the parts themselves."""
        self._counts += [self.client.submit(_leaving, one, -1, pure=False) for one in sent]
        pieces = [[self.client.submit(piece, one, j, pure=False) for one in sent] for j in range(n_to)]
        return [self.client.submit(task, each, pure=False, **same) for each in pieces]

    def notes(self, sent: Sequence[Any]) -> list[Any]:
        """The notes of the tasks, and the bytes sent so far added up."""
        notes, counts = self.client.gather([self.map(_note, sent), self._counts])
        self.bytes += sum(counts)
        self._counts = []
        return notes


def split(to: np.ndarray, n_parts: int, *arrays: np.ndarray) -> list[Piece]:
    """The rows of some arrays by the part that each goes to, in their order."""
    order = np.argsort(to, kind="stable")
    cuts = np.searchsorted(to[order], np.arange(n_parts + 1))
    return [tuple(array[order[a:b]] for array in arrays) for a, b in pairwise(cuts)]


def nbytes(sent: Piece) -> int:
    return sum(array.nbytes for array in sent)


def piece(sent: Sent, j: int) -> Piece:
    return sent.pieces[j]


def _note(sent: Sent) -> Any:
    return sent.note


def _leaving(sent: Sent, i: int) -> int:
    return sum(nbytes(one) for j, one in enumerate(sent.pieces) if j != i)


def _received(
    task: Callable[..., Any], own: Sent, pieces: list[Any], j: int, row: list[Any], same: dict[str, Any]
) -> Any:
    return task(own.kept, [own.pieces[j] if i == j else other for i, other in enumerate(pieces)], *row, **same)
