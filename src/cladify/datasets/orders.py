"""Orders in which points may arrive at an incremental method."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.params import check_choice, check_labels, check_random_state

__all__ = ["arrival_order"]

_ORDERS = ("random", "round-robin", "sorted")


def arrival_order(y: Any, order: str = "random", *, random_state: Any = None) -> np.ndarray:
    """An order of the points: ``X[arrival_order(y)]`` is the data as it arrives.

    * ``"random"``: any order, all equally likely.
    * ``"round-robin"``: one point of every class in turn, in a random order of the classes; a class that has no points
      left is passed over.
    * ``"sorted"``: class after class, in a random order of the classes.

    Within a class the points come in random order. The last two are the hard orders for incremental methods.

    Parameters
    ----------
    y : array of shape (n,)
        Class of each point; -1 (no class) counts as one class.
    order : {"random", "round-robin", "sorted"}
    random_state : int or Generator, optional

    Returns
    -------
    int64 array of shape (n,)
        A permutation of ``range(n)``.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> y[arrival_order(y, "round-robin", random_state=0)].tolist()
    [1, 0, 1, 0, 1, 0]
    >>> y[arrival_order(y, "sorted", random_state=0)].tolist()
    [1, 1, 1, 0, 0, 0]

    References
    ----------
    Monath, Incremental non-greedy clustering at scale, 2022, §3.5.6.
    """
    rng = check_random_state(random_state)
    check_choice("order", order, _ORDERS)
    y = np.asarray(y)
    codes = check_labels(y, y.shape[0] if y.ndim else 0)
    shuffled = rng.permutation(len(codes))
    if order == "random" or len(codes) == 0:
        return shuffled
    codes = codes - codes.min()
    turn = rng.permutation(int(codes.max()) + 1)[codes[shuffled]]
    by_class = np.argsort(turn, kind="stable")
    if order == "sorted":
        return shuffled[by_class]
    size = np.bincount(turn)
    lap = np.arange(len(codes)) - np.repeat(np.cumsum(size) - size, size)  # which point of its class each one is
    return shuffled[by_class][np.lexsort((turn[by_class], lap))]
