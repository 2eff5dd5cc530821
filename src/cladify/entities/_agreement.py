"""What the columns of a table say of a pair, each compared on its own: the model of Fellegi and Sunter, without labels.

How alike two cells are falls into bands. A band counts for the logarithm of how much more often pairs that are the same
fall into it than any two records do. The latter is counted on pairs drawn from the table itself: that two people were
born in the same month says little, that they have the same rare surname much. The former is found by expectation
maximisation over the pairs that are compared. All others are taken to be different, so that the share of the same is
one of all pairs there are, whatever way the compared ones were chosen.

Two things keep it from finding some other kind of pairs that have something in common, such as places in one town:
other log-odds, which count for one half, and what is usual, which counts as much as the pairs themselves.

References
----------
Fellegi, Sunter. A theory for record linkage. Journal of the American Statistical Association 64, 1969.
Winkler. Using the EM algorithm for weight computation in the Fellegi-Sunter model of record linkage. 1988.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit

from cladify.entities._odds import LEARNED_SHARE
from cladify.entities._pairs import Records
from cladify.entities._telling import NAMED

__all__ = ["Agreement"]

#: Where the bands of likeness begin, above the lowest one; cells of the last one have the same groups of letters.
_BANDS = (0.2, 0.4, 0.6, 0.8, 0.9999)
#: How cells of the same thing usually fall into them, and how many pairs that counts for at the least.
_USUAL = np.array([0.01, 0.03, 0.06, 0.12, 0.18, 0.60])
_LEAST = 5.0
#: How much more the other columns count then, which only count here. Independent ones would count twice as much.
_BESIDE = 1.5
#: Pairs by which it is found how often any two records are so much alike.
_DRAWN = 200_000
_ROUNDS, _STILL = 60, 1e-4
_BLOCK = 100_000


class Agreement:
    """Log-odds of pairs by the bands that their columns fall into.

    Parameters
    ----------
    records : Records
        Of two columns or more.
    factors : sequence of float
        How much each column counts; the largest counts in full.
    random_state : int

    Attributes
    ----------
    is_named : bool
        Whether the first column is a name, which hardly any two records share by chance; unless another one is to
        count more.
    """

    def __init__(self, records: Records, factors: Sequence[float], random_state: int) -> None:
        self.records = records
        n, c = records.n, len(records.columns)
        self._n_pairs = n * (n - 1) / 2
        if self._n_pairs <= _DRAWN:
            drawn = np.stack(np.triu_indices(n, 1), axis=1)
        else:
            drawn = np.random.default_rng(random_state).integers(n, size=(_DRAWN, 2))
            drawn = drawn[drawn[:, 0] != drawn[:, 1]]
        by_chance = _shares(self._counts(self._bands(drawn), np.ones(len(drawn))) + 0.5)
        self._by_chance = np.log(by_chance)
        seldom = by_chance[0, -2:].sum() ** records.there[0] <= n**-NAMED
        self.is_named = bool(seldom and factors[0] == max(factors))
        self._factor = np.asarray(factors, dtype=np.float64)[:, None] / max(factors)
        if self.is_named:
            self._factor[1:] *= _BESIDE
        self._evidence = np.zeros((c, len(_USUAL)))
        self._prior = 0.0

    def fit(self, pairs: np.ndarray, odds: np.ndarray, shift: float) -> float:
        """Learn from pairs that have these log-odds otherwise, to start with moved by ``shift``; returns what to move
        them by in the end."""
        bands = self._bands(pairs)
        chance = expit(odds + shift)
        for _ in range(_ROUNDS):
            seen = self._counts(bands, chance)
            usual = (seen.sum(axis=1, keepdims=True) + _LEAST) * _USUAL
            self._evidence = self._factor * (np.log(_shares(seen + usual)) - self._by_chance)
            # Never more than half of all, or a table of three equal rows had endless odds.
            self._prior = float(logit(np.clip(max(chance.sum(), 1.0) / self._n_pairs, 0.0, 0.5)))
            shift = float(logit(np.clip(chance.mean(), 1e-4, 0.5)) - logit(LEARNED_SHARE))
            before, chance = chance, expit(0.5 * (self._sums(bands) + odds + shift))
            if np.abs(chance - before).max() < _STILL:
                break
        return shift

    def log_odds(self, pairs: np.ndarray) -> np.ndarray:
        """Log-odds that the records of each pair are the same, by their columns alone."""
        return self._sums(self._bands(pairs))

    def _sums(self, bands: np.ndarray) -> np.ndarray:
        there = bands >= 0
        each = self._evidence[np.arange(bands.shape[1]), np.where(there, bands, 0)]
        return np.asarray((each * there).sum(axis=1) + self._prior)

    def _bands(self, pairs: np.ndarray) -> np.ndarray:
        """Band of each column, -1 where one of the cells is empty."""
        out = np.empty((len(pairs), len(self.records.columns)), dtype=np.int8)
        for start in range(0, len(pairs), _BLOCK):
            alike = self.records.alike(pairs[start : start + _BLOCK])
            out[start : start + _BLOCK] = np.where(np.isnan(alike), -1, np.searchsorted(_BANDS, alike, side="right"))
        return out

    @staticmethod
    def _counts(bands: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Sum of the weights of the pairs in each band, column by column."""
        found = [np.bincount(column + 1, weights=weight, minlength=len(_USUAL) + 1)[1:] for column in bands.T]
        return np.array(found)


def _shares(counts: np.ndarray) -> np.ndarray:
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
