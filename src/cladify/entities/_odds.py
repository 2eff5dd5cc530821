"""How likely a pair of records is the same: weights learned on other data, and what the data at hand say.

The log-odds of a pair are a weighted sum of its features. The weights come from tables whose duplicates are known (see
docs/studies/dedupe.md). How common duplicates are differs from table to table, and shifts all odds; that share is found
without labels, by expectation maximisation (Saerens et al.). Answers of a person move the weights themselves.

References
----------
Saerens, Latinne, Decaestecker. Adjusting the outputs of a classifier to new a priori probabilities. Neural Computation
14, 2002.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from cladify.entities._pairs import FEATURES

__all__ = ["LEARNED_SHARE", "learned_weights", "log_odds", "prior_shift", "starting_weights"]

#: Intercept, then the weight of each feature, and the share of duplicates among the pairs these were learned from. What
#: is 0 only counts once a person's answers speak for it.
_WEIGHTS = {"letters": 9.1, "gap": 5.0, "numbers": -7.1}
_INTERCEPT = -7.36
LEARNED_SHARE = 0.059
#: How firmly the weights are held against a person's answers: a penalty on their squared change.
_TRUST = 2.0


def starting_weights() -> np.ndarray:
    """The intercept and the weights of :data:`FEATURES`."""
    return np.array([_INTERCEPT, *(_WEIGHTS.get(name, 0.0) for name in FEATURES)])


def log_odds(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Log-odds that the records of each pair are the same."""
    odds: np.ndarray = features @ weights[1:] + weights[0]
    return odds


def prior_shift(odds: np.ndarray) -> float:
    """What to add to the log-odds of these pairs, because duplicates are more or less common among them."""
    share = LEARNED_SHARE
    for _ in range(200):
        new = float(np.clip(expit(odds + logit(share) - logit(LEARNED_SHARE)).mean(), 1e-4, 0.5))
        if abs(new - share) < 1e-6:
            break
        share = new
    return float(logit(share) - logit(LEARNED_SHARE))


def learned_weights(
    features: np.ndarray, same: np.ndarray, weights: np.ndarray, beside: np.ndarray | None = None
) -> np.ndarray:
    """Weights that suit a person's answers, and stay near the given ones where these say nothing.

    Where there are other log-odds ``beside`` those of the weights, the mean of both counts.
    """
    from scipy.optimize import minimize

    signs = np.where(same, 1.0, -1.0)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        odds = log_odds(features, w)
        margin = signs * (odds if beside is None else 0.5 * (odds + beside))
        slope = -signs * expit(-margin) * (1.0 if beside is None else 0.5)
        away = w - weights
        value = np.logaddexp(0.0, -margin).sum() + 0.5 * _TRUST * (away @ away)
        return float(value), np.concatenate([[slope.sum()], features.T @ slope]) + _TRUST * away

    return np.asarray(minimize(loss, weights, jac=True, method="L-BFGS-B").x)
