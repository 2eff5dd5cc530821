"""HypHC: a tree as points of the Poincaré disk, found by gradient descent on a relaxation of Dasgupta's cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify._estimator import TreeEstimator
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_bool, check_choice, check_random_state, choice, integer, number, optional
from cladify._kit.progress import Progress
from cladify.data.points import Points
from cladify.divide import BisectConquer
from cladify.errors import InvalidInput
from cladify.hyperbolic._descent import Descent, Schedule
from cladify.hyperbolic._similarities import PairSource, Source, find_pairs, find_source
from cladify.hyperbolic.decode import decode
from cladify.hyperbolic.embed import tree_angles
from cladify.refinement import refine
from cladify.tree import Tree
from cladify.tree._either import check_tree

__all__ = ["HypHC"]


# Later rounds start with blocks of few points, whose noise leads out of narrow minima, and with these shares of the
# learning rate.
_SMALL_BLOCK = 32
_TREES = 8  # to choose the starts of few points from
_ANEW = (0.1, 0.3, 0.1, 0.3, 0.1, 0.3, 0.1, 0.1)


@dataclass(kw_only=True, eq=False, repr=False)
class HypHC(TreeEstimator):
    r"""Hyperbolic hierarchical clustering [1]_: gradient descent on a continuous form of Dasgupta's cost.

    Every point has a place :math:`z_i` on a circle in the Poincaré disk. The cost of a tree is a sum over triplets of
    points (all but the similarity of the pair that parts last), and the pair that parts last is relaxed to a softmax of
    the depths of the hyperbolic common ancestors (:func:`cladify.hyperbolic.lca_depth`):

    .. math:: C(Z) = \sum_{ijk} \Bigl( w_{ij} + w_{ik} + w_{jk} - (w_{ij}, w_{ik}, w_{jk}) \cdot
        \mathrm{softmax}\bigl((d_{ij}, d_{ik}, d_{jk}) / \tau\bigr) \Bigr) + 2 \sum_{ij} w_{ij}.

    A step draws the points into random blocks and takes all triplets within each block, which is an unbiased estimate
    of the gradient: a block of m points has :math:`m^3/6` triplets for the price of :math:`m^2/2` depths. With up to
    ``block_size`` points it is the whole sum. Angles follow Riemannian Adam while the circle grows from
    :math:`r = 0.3` to ``radius``, which anneals the temperature. Trees are decoded and valued on the way, and the best
    one of all starts is the result, so no step makes it worse.

    Distances work too: they are similarities with their sign turned, and the objective is then CKMM.

    Time: n · block_size² / 6 triplets a step, several :math:`10^8` of them a second on a core; memory linear in n.

    Parameters
    ----------
    metric : str, Similarity or callable
        See :mod:`cladify.similarity`; "cosine", as in the paper, dot, sqeuclidean and "precomputed" are read in the
        kernel, others block by block.
    init : "auto", "random" or Tree
        Where the starts come from. "random": uniform angles. A tree: the leaves of the tree on the circle, as
        :func:`cladify.hyperbolic.embed_tree` places them. "auto": half of the starts from trees of
        :class:`cladify.BisectConquer`, up to 1000 points the best of eight, the others from random angles.
    n_init : int, optional
        Number of starts. None: 8 up to 150 points, or 500 with ``init="random"``, 4 up to 5000, 2 up to 20 000, then 1.
    sampling : "blocks" or "paper"
        "blocks" as above. "paper": every pair of points in random order, each with a third point drawn for it, over and
        over, so many triplets a step as ``block_size`` says; n² memory, no graphs.
    n_steps : int, optional
        Steps of a start. None: 500, and fewer below 100 points, 5 n; with ``sampling="paper"`` 50 times every pair.
    n_rounds : int in [0, 8]
        How often all starts are reset to the best tree so far, embedded again, with blocks of 32 points and half as
        many steps.
    learning_rate : float
        Of the first step, in radians; it falls to a twentieth of that. A start from a tree begins with a tenth.
    temperature : float
        τ of the softmax.
    radius : float in (0, 1)
        Of the last circle.
    block_size : int, optional
        Points a block. None: 64 up to 1000 points, where some noise leads to better trees than the whole sum, then 128.
        With ``sampling="paper"`` triplets a step. None: 256, or more where 50 times every pair would be over 10 000
        steps.
    decoding : "greedy" or "exact"
        How the result is read off the embedding (:func:`cladify.hyperbolic.decode`); on a circle both give the same
        tree but for ties, and "exact" takes n² time.
    refine : bool
        Improve the tree by :func:`cladify.refine` under the same objective. The embedding stays that of the first tree.
    patience : int, optional
        Stop when so many looks at the discrete cost, one every twentieth of the steps, have brought nothing better, but
        not in the first half.
    preset : "paper", optional
        The printed algorithm: one random start, the printed sampling, no returns to the best tree, no early stop. It
        sets parameters that are at their defaults. The paper takes the best of five seeds and of nine pairs of a
        learning rate and a temperature, and moves points in the disk where here they turn on a growing circle.
    n_snapshots : int
        How many embeddings to keep on the way, for :func:`cladify.plot.save_film`: those of the start that has the best
        tree after its first descent.
    n_clusters : int, optional
        Cut the tree into this many clusters: ``labels_``.
    distance_threshold : float, optional
        Or cut it at this height.
    random_state : int, Generator or None
    n_jobs : int
        Threads; -1 is all of them. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
    embedding_ : float64 array of shape (n, 2)
        The leaves in the disk.
    cost_ : float
        Dasgupta's cost of the decoded tree, every pair once (for distances the CKMM objective).
    losses_ : list of (step, loss, cost)
        Mean loss of a triplet and best discrete cost at every look.
    snapshots_ : list of (step, embedding)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.9, 0.2], [0.0, 1.0], [0.1, 1.0]])
    >>> HypHC(n_clusters=2, n_steps=50, random_state=0).fit_predict(X).tolist()
    [0, 0, 0, 1, 1]

    References
    ----------
    .. [1] Chami, Gu, Chatziafratis, Ré. From trees to continuous embeddings and back: hyperbolic hierarchical
       clustering. NeurIPS 2020.
    """

    _checks: ClassVar = {
        "n_init": optional(integer(low=1)),
        "n_steps": optional(integer(low=1)),
        "n_rounds": integer(low=0, high=len(_ANEW)),
        "learning_rate": number(low=0.0, open_low=True),
        "temperature": number(low=1e-3),
        "radius": number(low=0.3, high=1.0 - 1e-9, open_low=True),
        "sampling": choice("blocks", "paper"),
        "block_size": optional(integer(low=3)),
        "decoding": choice("greedy", "exact"),
        "refine": check_bool,
        "patience": optional(integer(low=1)),
        "n_snapshots": integer(low=0),
    }

    _presets: ClassVar = {
        "paper": {"init": "random", "sampling": "paper", "n_rounds": 0, "n_init": 1, "patience": None}
    }

    metric: Any = "cosine"
    init: str | Tree = "auto"
    sampling: str = "blocks"
    n_init: int | None = None
    n_steps: int | None = None
    n_rounds: int = 3
    learning_rate: float = 0.1
    temperature: float = 0.05
    radius: float = 0.999
    block_size: int | None = None
    decoding: str = "greedy"
    refine: bool = False
    patience: int | None = 10
    n_snapshots: int = 0
    preset: str | None = None
    distance_threshold: float | None = None
    random_state: Any = None
    n_jobs: int | None = -1

    def _fit(self, points: Points, report: Progress) -> Tree:
        if self.preset is not None:
            asked = self._with_preset()
            tree = asked._fit(points, report)
            for name in ("embedding_", "losses_", "snapshots_", "cost_"):
                setattr(self, name, getattr(asked, name))
            return tree
        if not points.uniform:
            raise InvalidInput(
                "Triplets count every row once and take no sample_weight; repeat rows, or use method='kmeans'."
            )
        if not isinstance(self.init, Tree):
            check_choice("init", self.init, ["auto", "random"])
        random = check_random_state(self.random_state)
        block_size = self.block_size or (64 if points.n <= 1000 else 128)
        source: Source
        if self.sampling == "paper":
            source = find_pairs(points, self.block_size, self.n_jobs)
        else:
            source = find_source(points, block_size, self.n_jobs)
        n = source.n_points
        if isinstance(self.init, Tree):
            check_tree(self.init, n, name="init")
        descent = self._starts(points, source, random, report)
        usual = source.n_steps if isinstance(source, PairSource) else min(500, 5 * n)
        steps = (self.n_steps or usual) if n > 2 else 1
        look = max(1, steps // 20)
        descent.run(steps, random, report, every=look, patience=self.patience, n_snapshots=self.n_snapshots)
        if n > 2:
            source.use_blocks(min(block_size, _SMALL_BLOCK))
            for rate in _ANEW[: self.n_rounds]:
                descent.from_best(Schedule.from_tree(rate * self.learning_rate, self.radius))
                descent.run(max(1, steps // 2), random, report, every=look, patience=self.patience, n_snapshots=0)
        self.embedding_: np.ndarray = descent.embedding
        self.losses_ = descent.losses
        self.snapshots_ = descent.snapshots
        self.cost_: float = abs(descent.cost)
        assert descent.best is not None
        tree = decode(self.embedding_, method="exact") if self.decoding == "exact" else descent.best
        tree = tree.with_info(
            method="hyphc",
            init="tree" if isinstance(self.init, Tree) else self.init,
            n_starts=len(descent.angle),
            temperature=self.temperature,
            radius=self.radius,
            cost=self.cost_,
            height="hyperbolic depth below the common ancestor",
        )
        return self._refined(tree, points, source, report) if self.refine else tree

    def _starts(self, points: Points, source: Source, random: np.random.Generator, report: Progress) -> Descent:
        """The angles that the starts begin at, and how they go on."""
        n = source.n_points
        few = 500 if self.init == "random" else 150
        count = self.n_init or (8 if n <= few else 4 if n <= 5000 else 2 if n <= 20_000 else 1)
        angle = random.uniform(0.0, 2.0 * np.pi, size=(count, n))
        schedules = [Schedule.from_anywhere(self.learning_rate, self.radius)] * count
        trees = [self.init] if isinstance(self.init, Tree) else []
        if self.init == "auto" and n > 2:
            trees = self._bisected((count + 1) // 2, points, source, random, report)
        for start, tree in enumerate(trees):
            angle[start] = tree_angles(tree)[0]
            schedules[start] = Schedule.from_tree(self.learning_rate / 10.0, self.radius)
        # A step of few points is done before a thread has started.
        threads = min(resolve_jobs(self.n_jobs), 1 + n // 100)
        return Descent(source, angle, schedules, self.temperature, self.n_jobs, threads)

    def _bisected(
        self, count: int, points: Points, source: Source, random: np.random.Generator, report: Progress
    ) -> list[Tree]:
        """Trees of BisectConquer; of few points, which it parts in no time, the best of several."""
        seeds = random.integers(2**31, size=_TREES if points.n <= 1000 else count).tolist()
        trees = [
            BisectConquer(random_state=seed, n_jobs=self.n_jobs).fit(points, progress=report).tree_ for seed in seeds
        ]
        return sorted(trees, key=lambda tree: source.cost(tree, self.n_jobs))[:count]

    def _refined(self, tree: Tree, points: Points, source: Source, report: Progress) -> Tree:
        return refine(tree, points, None, source.objective, random_state=0, n_jobs=self.n_jobs, progress=report)
