"""Algorithms 1, 2, 4 and 5 of Naumov, Yaroslavtsev and Avdiukhin, line by line on a matrix, in plain NumPy.

The random numbers are those of the native core (``core/common/random.hpp``), so that trees can be compared.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

_ALL = (1 << 64) - 1


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _ALL
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _ALL
    return z ^ (z >> 31)


class SplitMix:
    def __init__(self, seed):
        self.state = seed

    def unit(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & _ALL
        return ((mix(self.state) >> 11) + 0.5) * 2.0**-53

    def normal(self):
        radius = math.sqrt(-2.0 * math.log(self.unit()))
        return radius * math.cos(2.0 * math.pi * self.unit())


def nearest_in_box(y, total):
    """The nearest x with -1 ≤ x ≤ 1 and Σx = total, by bisection of the level that is taken off."""
    low, high = y.min() - 1.0, y.max() + 1.0
    for _ in range(200):
        level = 0.5 * (low + high)
        if np.clip(y - level, -1.0, 1.0).sum() > total:
            low = level
        else:
            high = level
    return np.clip(y - level, -1.0, 1.0)


def gradient_partition(W, delta, noise, rate, n_iter, random):
    """Algorithm 1 for distances W: who is in V₁."""
    n = len(W)
    x = nearest_in_box(np.array([math.sqrt(noise) * random.normal() for _ in range(n)]), 2.0 * delta * n)
    for _ in range(n_iter):
        x = nearest_in_box(x - rate * (W @ x), 2.0 * delta * n)
    return np.array([random.unit() < (1.0 + value) / 2.0 for value in x])


def bisect_and_conquer(W, order, theta, seed, **partition):
    """Algorithm 2: the clusters above parts of up to ``theta`` points, and these parts.

    A part is a range of positions in ``order``. Those of V₁ come first: what is on the wrong side changes places.
    """
    order = np.array(order)
    above, parts, waiting = set(), set(), [(0, len(order))]
    while waiting:
        first, last = waiting.pop()
        rows = order[first:last]
        if len(rows) <= max(theta, 1):
            parts.add(frozenset(rows.tolist()))
            continue
        above.add(frozenset(rows.tolist()))
        second = np.arange(len(rows)) > 0  # of two points the second
        if len(rows) > 2:
            random = SplitMix(mix(seed ^ mix((first * 0x9E3779B97F4A7C15 + last) & _ALL)))
            second = ~gradient_partition(W[np.ix_(rows, rows)], random=random, **partition)
            if second.all() or not second.any():  # an empty side: halves
                second = 2 * np.arange(len(rows)) >= len(rows)
        middle = first + int((~second).sum())
        side = np.zeros(len(order), dtype=bool)
        side[first:last] = second
        here = np.arange(first, last)
        left, right = here[side[here] & (here < middle)], here[~side[here] & (here >= middle)]
        order[left], order[right] = order[right], order[left]
        waiting += [(first, middle), (middle, last)]
    return above, parts


def most_satisfied(W):
    """Algorithm 3 over all assignments: the largest weight of satisfied clauses with half of the variables true."""
    n = len(W)
    false = (np.array(side) for side in combinations(range(n), n // 2))
    return W.sum() / 2 - min(W[np.ix_(side, side)].sum() / 2 for side in false)


def path_value(W, order):
    """CKMM of the path on which the points leave in this order, by adding up what leaves."""
    return sum((len(order) - i) * W[v, order[i + 1 :]].sum() for i, v in enumerate(order))
