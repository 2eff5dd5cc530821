"""Objectives of trees: values, bounds, scores, and the exact optimum of a few points.

Each objective is a sum over all pairs i < j of points, each pair counted once:

============= ========================= ============ ==========================
objective     value                     goal         weights
============= ========================= ============ ==========================
``dasgupta``  Σ w·\\|LCA\\|               minimise     similarities, w ≥ 0
``mw``        Σ w·(n − \\|LCA\\|)         maximise     similarities, w ≥ 0
``ckmm``      Σ d·\\|LCA\\|               maximise     distances, d ≥ 0
============= ========================= ============ ==========================

Dasgupta's cost and MW add up to n·Σw on every tree, so they order trees in the same way. Nodes with more than two
children count as the average over all ways to split them, see :func:`dasgupta`.
"""

from cladify.objectives._bounds import Bounds, bounds, max_upper, max_upper_1d, random_value, sum_upper_1d
from cladify.objectives._objective import ckmm, dasgupta, mw
from cladify.objectives._optimal import optimal_tree
from cladify.objectives._score import Score, score
from cladify.objectives._scoreboard import Scoreboard, scoreboard

__all__ = [
    "Bounds",
    "Score",
    "Scoreboard",
    "bounds",
    "ckmm",
    "dasgupta",
    "max_upper",
    "max_upper_1d",
    "mw",
    "optimal_tree",
    "random_value",
    "score",
    "scoreboard",
    "sum_upper_1d",
]
