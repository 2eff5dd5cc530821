"""Components of clusters and their nearest ones, where they are too many for one worker.

Every cluster points to one other, so a component is a cycle with trees that lead to it. Pointers double their length in
each step: after k steps a cluster knows the smallest name among the 2ᵏ clusters from it on, and which one comes after
those. The smallest name of the 2ᵏ after that stands for the component as soon as these go all round the cycle, and no
earlier does it stay the same for two steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cladify.distributed._job import Job, Piece, Sent, split
from cladify.distributed._stages.clusters import Homes, Merged, Rule, strongest, unite

__all__ = ["unite_parts"]


def unite_parts(job: Job, chosen: Sequence[Any], rule: Rule, homes: Homes) -> Merged:
    """:func:`unite` over futures of the choices of each part: all the merges.

    Part m has the choices of every so many-th home, from home m on.
    """
    to = {"homes": homes, "n_parts": len(chosen)}
    state = job.map(_begin, chosen, rule=rule)
    stable = 0
    while stable < 2:
        asked = job.map(_ask, state, **to)
        taken = job.exchange(_take, job.exchange(_answer, asked), asked)
        stable = 0 if any(job.notes(taken)) else stable + 1
        state = job.map(_kept, taken)
    sent = job.map(_by_component, chosen, state, **to)
    whole = job.exchange(_receive, sent)
    merged = Merged.join(job.gather(job.map(unite, whole, rule=rule, all_of_them=False)))
    job.notes()
    if not rule.pairs or len(merged.left):
        return merged
    # One pair for all parts, the strongest.
    found = job.gather(job.map(strongest, whole, rule=rule))
    best = sorted((-pair[2][0], pair[0][0], pair[1][0]) for pair in found if len(pair[0]))[:1]
    names = np.array([(left, right) for _, left, right in best], dtype=np.int32).reshape(-1, 2)
    return Merged(names[:, 0], names[:, 1], np.array([-strength for strength, *_ in best]), names)


def _begin(chosen: Piece, *, rule: Rule) -> Piece:
    """Name, next one, smallest name from here on, and the component as far as it is known."""
    name, nearest, similarity = chosen[:3]
    strong = (similarity > 0) & (similarity >= rule.threshold)
    return name, np.where(strong, nearest, name), name, np.full(len(name), -1)


def _ask(state: Piece, *, homes: Homes, n_parts: int) -> Sent:
    wanted = np.unique(state[1])
    return Sent(state, split(homes.part(wanted) % n_parts, n_parts, wanted))


def _answer(state: Piece, asked: list[Piece]) -> Sent:
    name, pointer, low, _ = state
    places = [np.searchsorted(name, wanted) for (wanted,) in asked]
    return Sent(state, [(pointer[at], low[at]) for at in places])


def _take(state: Piece, answers: list[Piece], asked: Sent) -> Sent:
    name, pointer, low, component = state
    wanted = np.concatenate([piece[0] for piece in asked.pieces])
    order = np.argsort(wanted)
    at = order[np.searchsorted(wanted, pointer, sorter=order)]
    there, lowest = (np.concatenate(column)[at] for column in zip(*answers, strict=True))
    return Sent((name, there, np.minimum(low, lowest), lowest), [], bool((lowest != component).any()))


def _kept(sent: Sent) -> Any:
    return sent.kept


def _by_component(chosen: Piece, state: Piece, *, homes: Homes, n_parts: int) -> Sent:
    return Sent(None, split(homes.part(state[3]) % n_parts, n_parts, *chosen))


def _receive(_: None, pieces: list[Piece]) -> Piece:
    whole = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    order = np.argsort(whole[0])
    return tuple(column[order] for column in whole)
