"""HypHC in PyTorch (``pip install 'cladify[torch]'``): the native loss with autograd, and training end to end.

The kernel is the one that :class:`cladify.HypHC` uses, wrapped as an ``autograd.Function``::

    tree = HyperbolicTree(X, metric="cosine")
    head = HyperbolicLogisticRegression(n_classes=3)
    loss = tree() + torch.nn.functional.cross_entropy(head(tree.embedding)[known], y[known])
    loss.backward()

:class:`HyperbolicClassifier` is that loop as a scikit-learn estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from cladify import _core
from cladify._kit.estimator import Estimator
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import Check, check_random_state, integer, number, optional
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.data.points import as_points
from cladify.divide import BisectConquer
from cladify.errors import InvalidInput, MissingExtra
from cladify.hyperbolic._similarities import Source, find_source
from cladify.hyperbolic.decode import decode
from cladify.hyperbolic.embed import tree_angles
from cladify.hyperbolic.geometry import check_triplets
from cladify.neighbors.build import neighbors
from cladify.tree import Tree
from cladify.tree._either import check_tree

try:
    import torch
    from torch import Tensor, nn
except ImportError:
    raise MissingExtra("cladify.hyperbolic.torch", "torch") from None

__all__ = ["HyperbolicClassifier", "HyperbolicLogisticRegression", "HyperbolicTree", "triplet_loss"]

_INSIDE = 0.95  # lines of classes pass the origin within this radius
_FIRST_ROOM = 0.7  # 1 − radius of the first circle


class _Triplets(torch.autograd.Function):
    """The mean loss of a list of triplets; gradients by the points and by the similarities."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, ids: np.ndarray, weight: Tensor, temperature: float, threads: int) -> Tensor:
        points = np.ascontiguousarray(z.detach().numpy())
        values = np.ascontiguousarray(weight.detach().numpy().astype(points.dtype, copy=False))
        gradient, share = np.empty_like(points), np.empty_like(values)
        loss = _core.triplet_loss(points, ids, values, temperature, gradient, share, threads)
        count = max(1, len(ids))
        ctx.save_for_backward(
            torch.from_numpy(gradient / count), torch.from_numpy((1.0 - share) / count).to(weight.dtype)
        )
        return torch.tensor(loss / count, dtype=z.dtype)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> Any:
        by_points, by_weight = ctx.saved_tensors
        return outer[0] * by_points, None, outer[0] * by_weight, None, None


def triplet_loss(
    z: Tensor, triplets: Tensor, similarities: Tensor, *, temperature: float = 0.05, n_jobs: int | None = -1
) -> Tensor:
    """The mean of HypHC's relaxed cost over triplets, differentiable by points and by similarities.

    Parameters
    ----------
    z : float32 or float64 tensor of shape (n, 2), on the CPU
        Points inside the unit disk.
    triplets : integer tensor of shape (b, 3)
    similarities : tensor of shape (b, 3)
        Of points i and j, i and k, j and k.
    temperature : float
    n_jobs : int

    Examples
    --------
    >>> z = torch.tensor([[0.9, 0.0], [0.8, 0.4], [-0.9, 0.0]], requires_grad=True)
    >>> loss = triplet_loss(z, torch.tensor([[0, 1, 2]]), torch.tensor([[1.0, 0.2, 0.1]]))
    >>> loss.backward()
    >>> round(float(loss.detach()), 4), tuple(z.grad.shape)
    (0.3, (3, 2))
    """
    if z.device.type != "cpu" or z.ndim != 2 or z.shape[1] != 2 or z.dtype not in (torch.float32, torch.float64):
        raise InvalidInput(
            f"z must be a float32 or float64 tensor of shape (n, 2) on the CPU, got {z.dtype}, {tuple(z.shape)} on "
            f"{z.device}."
        )
    ids = check_triplets(triplets.numpy(), len(z))
    if tuple(similarities.shape) != ids.shape:
        raise InvalidInput(
            f"similarities must have the shape of triplets, {ids.shape}, got {tuple(similarities.shape)}."
        )
    return _Triplets.apply(z, ids, similarities, temperature, resolve_jobs(n_jobs))


class _Draw(torch.autograd.Function):
    """The mean loss of a random draw of triplets from a source of similarities."""

    @staticmethod
    def forward(
        ctx: Any, angle: Tensor, radius: float, source: Source, temperature: float, random: Any, threads: int
    ) -> Tensor:
        at = np.ascontiguousarray(angle.detach().numpy(), dtype=np.float64)[None]
        loss, gradient = source.gradient(at, np.array([radius]), temperature, random, threads)
        ctx.save_for_backward(torch.from_numpy(gradient[0]).to(angle.dtype))
        return torch.tensor(loss, dtype=angle.dtype)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> Any:
        return outer[0] * ctx.saved_tensors[0], None, None, None, None, None


class HyperbolicTree(nn.Module):
    """The leaves of a tree on a circle in the Poincaré disk; calling it gives HypHC's loss of a draw of triplets.

    Parameters
    ----------
    X : array, sparse rows, graph or matrix
        As in :class:`cladify.HypHC`.
    metric : str, Similarity or callable
    init : Tree, optional
        Where to start; by default at random angles.
    temperature, radius, block_size, random_state, n_jobs
        As in :class:`cladify.HypHC`.

    Attributes
    ----------
    angle : Parameter of shape (n,)
    radius : float
        May be changed between steps; a radius that grows towards 1 anneals.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    >>> model = HyperbolicTree(X, random_state=0)
    >>> loss = model()
    >>> loss.backward()
    >>> model.angle.grad.shape, model.tree().n_leaves
    (torch.Size([4]), 4)
    """

    def __init__(
        self,
        X: Any,
        *,
        metric: Any = "cosine",
        init: Tree | None = None,
        temperature: float = 0.05,
        radius: float = 0.999,
        block_size: int = 128,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        super().__init__()
        self._source = find_source(as_points(X, metric), block_size, n_jobs)
        self._random = check_random_state(random_state)
        self._threads = resolve_jobs(n_jobs)
        self.temperature = temperature
        self.radius = radius
        n = self._source.n_points
        angle = self._random.uniform(0.0, 2.0 * np.pi, size=n) if init is None else tree_angles(init)[0]
        self.angle = nn.Parameter(torch.from_numpy(angle))

    @property
    def embedding(self) -> Tensor:
        """The points, a tensor of shape (n, 2) that gradients flow through."""
        return self.radius * torch.stack([torch.cos(self.angle), torch.sin(self.angle)], dim=1)

    def forward(self) -> Tensor:
        """Mean loss of a triplet, over all triplets within random blocks of points."""
        return _Draw.apply(self.angle, self.radius, self._source, self.temperature, self._random, self._threads)

    def tree(self) -> Tree:
        """The tree that the embedding decodes to."""
        return decode(self.embedding.detach().numpy(), method="greedy")


class HyperbolicLogisticRegression(nn.Module):
    r"""Logistic regression in the Poincaré ball [1]_: a logit is the signed distance to a geodesic hyperplane.

    .. math:: \frac{2\,|a_k|}{1 - |p_k|^2}\, \sinh^{-1} \frac{2 \langle -p_k \oplus x, a_k \rangle}
        {(1 - |-p_k \oplus x|^2)\, |a_k|}

    Parameters
    ----------
    n_classes : int
    n_features : int
    random_state : int, optional
        For the first normals :math:`a_k`.

    References
    ----------
    .. [1] Ganea, Bécigneul, Hofmann. Hyperbolic neural networks. NeurIPS 2018.
    """

    def __init__(self, n_classes: int, n_features: int = 2, random_state: Any = None) -> None:
        super().__init__()
        normal = check_random_state(random_state).standard_normal((n_classes, n_features))
        self.normal = nn.Parameter(torch.from_numpy(normal))
        self.point = nn.Parameter(torch.zeros(n_classes, n_features, dtype=torch.float64))

    def start_at(self, angle: np.ndarray, target: np.ndarray) -> None:
        """Put the line of every class across the arc where its points lie, on a circle near the rim of the disk.

        From anywhere else the lines have a long way to go, and points that learn with them are led astray.
        """
        with torch.no_grad():
            for c in range(len(self.normal)):
                mean = complex(np.exp(1j * angle[target == c]).mean())
                spread = np.arccos(min(abs(mean), 1.0))
                half = min(1.5 * spread + 0.15, 1.5)  # of the arc
                nearest = (1.0 - np.sin(half)) / np.cos(half)  # of the line that cuts it off, to the origin
                way = torch.tensor([mean.real, mean.imag], dtype=self.normal.dtype) / max(abs(mean), 1e-12)
                self.point[c] = way * float(np.arctanh(min(nearest / _INSIDE, 0.99)))
                self.normal[c] = way

    def forward(self, x: Tensor) -> Tensor:
        """Logits of points of the ball, shape (m, n_classes)."""
        # Inside the ball without a constraint: the exponential map at the origin.
        length = self.point.norm(dim=1, keepdim=True).clamp_min(1e-12)
        p = -torch.tanh(length) * self.point / length * _INSIDE
        x = x[:, None, :].to(p.dtype)
        px, pp, xx = (p * x).sum(-1), (p * p).sum(-1), (x * x).sum(-1)
        bottom = 1 + 2 * px + pp * xx
        moved = ((1 + 2 * px + xx)[..., None] * p + (1 - pp)[..., None] * x) / bottom[..., None]
        # 1 − |p ⊕ x|², without the cancellation near the boundary.
        room = (1 - pp) * (1 - xx) / bottom
        size = self.normal.norm(dim=1).clamp_min(1e-12)
        inner = (moved * self.normal).sum(-1)
        return 2 * size / (1 - pp) * torch.asinh(2 * inner / (room.clamp_min(1e-15) * size))


@dataclass(kw_only=True, eq=False, repr=False)
class HyperbolicClassifier(ClassifierMixin, Estimator):
    """Classes of rows of which some have a label, from a tree that is learnt together with them (section 6.4 of [1]_).

    All rows take part in HypHC's loss, here over a graph of neighbours; those with a label also in the cross-entropy of
    a hyperbolic logistic regression on the embedding. The circle grows as in :class:`cladify.HypHC`. First the rows are
    embedded without any label. End to end they then start again, grouped by class, each row with the labelled one that
    is nearest to it on the circle: from there classes and tree are learnt together.

    Parameters
    ----------
    metric : str, Similarity or callable
    n_neighbors : int, optional
        Rows have similarities to so many neighbours. None: to all others, as in the paper; then a labelled row that
        moves takes few others with it. Graphs and matrices are taken as they are.
    joint : bool
        Train embedding and classifier together, end to end. False: two steps, first the embedding without any label,
        then the classifier on it.
    weight : float
        Of the cross-entropy against the loss of the tree.
    n_steps : int
        Of each of the two parts.
    learning_rate : float
    temperature, radius, random_state, n_jobs
        As in :class:`cladify.HypHC`.

    Attributes
    ----------
    classes_ : array
    transduction_ : array of shape (n,)
        The class of every row.
    embedding_ : float64 array of shape (n, 2)
    tree_ : Tree

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.2, 1.0]])
    >>> model = HyperbolicClassifier(n_neighbors=2, n_steps=50, random_state=0)
    >>> model.fit(X, [0, -1, -1, 1, -1, -1]).transduction_.tolist()
    [0, 0, 0, 1, 1, 1]

    References
    ----------
    .. [1] Chami, Gu, Chatziafratis, Ré. From trees to continuous embeddings and back. NeurIPS 2020.
    """

    _checks: ClassVar[dict[str, Check]] = {
        "n_neighbors": optional(integer(low=1)),
        "weight": number(low=0.0),
        "n_steps": integer(low=1),
        "learning_rate": number(low=0.0, open_low=True),
        "temperature": number(low=1e-3),
        "radius": number(low=0.3, high=1.0 - 1e-9, open_low=True),
    }

    metric: Any = "cosine"
    n_neighbors: int | None = 7
    joint: bool = True
    weight: float = 0.1
    n_steps: int = 300
    learning_rate: float = 0.05
    temperature: float = 0.05
    radius: float = 0.999
    random_state: Any = None
    n_jobs: int | None = -1

    def fit(self, X: Any, y: Any, *, init: Tree | None = None, progress: ProgressLike = None) -> Self:
        """Learn from the labels in ``y``; -1 stands for none. ``init`` is a tree whose order of leaves to start from
        instead of that of :class:`cladify.BisectConquer`."""
        self.check_params()
        label = np.asarray(y)
        known = np.flatnonzero(label != -1)
        if len(known) == 0:
            raise InvalidInput("y has no labels; at least one row of every class needs one (-1 stands for none).")
        self.classes_, target = np.unique(label[known], return_inverse=True)
        target = target.reshape(-1)
        points = as_points(X, self.metric)
        if len(label) != points.n:
            raise InvalidInput(f"y must have one label a row ({points.n}), got {len(label)}.")
        random = check_random_state(self.random_state)
        seeds = random.integers(2**31, size=3)
        with reporting(progress) as report:
            if init is None:
                model = BisectConquer(metric=self.metric, random_state=int(seeds[0]), n_jobs=self.n_jobs)
                init = model.fit(points, progress=report).tree_
            check_tree(init, points.n, name="init")
            if points.form == "rows" and self.n_neighbors is not None and points.n > 1:
                k = min(self.n_neighbors, points.n - 1)
                points = as_points(neighbors(X, k, self.metric, n_jobs=self.n_jobs, progress=report))
            tree = HyperbolicTree(
                points,
                metric=self.metric,
                temperature=self.temperature,
                radius=self.radius,
                block_size=3 if points.is_graph else 128,  # edges of even a small graph, one scale for all sizes
                random_state=int(seeds[1]),
                n_jobs=self.n_jobs,
            )
            _place(tree, init.leaf_order)
            head = HyperbolicLogisticRegression(len(self.classes_), random_state=int(seeds[2]))
            self._embed(tree, None, known, target, report)
            if self.joint:
                guess = _nearest(tree.angle.detach().numpy(), known, target)
                _place(tree, _by_class(tree.angle.detach().numpy(), guess))
                head.start_at(tree.angle.detach().numpy(), guess)
                self._embed(tree, head, known, target, report)
            else:
                self._classify(tree, head, known, target, report)
        with torch.no_grad():
            logits = head(tree.embedding)
        self.transduction_ = self.classes_[logits.argmax(dim=1).numpy()]
        self.embedding_ = tree.embedding.detach().numpy()
        self.tree_ = tree.tree()
        return self

    def _embed(
        self, tree: HyperbolicTree, head: HyperbolicLogisticRegression | None, known: Any, target: Any, report: Progress
    ) -> None:
        """The embedding, with a classifier or without; only the loss of the tree sees the smaller circles."""
        groups = [{"params": part.parameters()} for part in (tree, head) if part is not None]
        rows, classes = torch.from_numpy(known), torch.from_numpy(target)
        room = 1.0 - self.radius
        with report.stage("embedding" if head is None else "end to end", self.n_steps) as advance:
            for step, descend in self._descent(groups):
                tree.radius = 1.0 - _FIRST_ROOM * (room / _FIRST_ROOM) ** (step / self.n_steps)
                loss = tree()
                tree.radius = self.radius
                if head is not None:
                    loss = loss + self.weight * nn.functional.cross_entropy(head(tree.embedding[rows]), classes)
                descend(loss)
                advance()

    def _classify(
        self, tree: HyperbolicTree, head: HyperbolicLogisticRegression, known: Any, target: Any, report: Progress
    ) -> None:
        """The classifier on the finished embedding."""
        head.start_at(tree.angle.detach().numpy()[known], target)
        x, classes = tree.embedding.detach()[torch.from_numpy(known)], torch.from_numpy(target)
        with report.stage("classifier", self.n_steps) as advance:
            for _, descend in self._descent([{"params": head.parameters()}]):
                descend(nn.functional.cross_entropy(head(x), classes))
                advance()

    def _descent(self, groups: list[dict[str, Any]]) -> Iterator[tuple[int, Callable[[Tensor], None]]]:
        """Steps of Adam, whose rate falls to a twentieth: their numbers, and a function for one step."""
        optimizer = torch.optim.Adam(groups, lr=self.learning_rate)
        decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.05 ** (1.0 / self.n_steps))

        def descend(loss: Tensor) -> None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            decay.step()

        for step in range(self.n_steps):
            yield step, descend


def _place(tree: HyperbolicTree, order: np.ndarray) -> None:
    """Spread the leaves evenly over the circle, in this order."""
    n = len(order)
    with torch.no_grad():
        tree.angle[torch.from_numpy(order.copy())] = 2.0 * np.pi / n * torch.arange(n, dtype=torch.float64)


def _nearest(angle: np.ndarray, known: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The class of the nearest labelled point on the circle."""
    angle = np.mod(angle, 2 * np.pi)
    along = np.argsort(angle[known], kind="stable")
    place = angle[known][along]
    after = np.searchsorted(place, angle)
    before, after = (after - 1) % len(place), after % len(place)  # the circle closes
    back, on = (np.mod(way, 2 * np.pi) for way in (angle - place[before], place[after] - angle))
    guess = target[along][np.where(back <= on, before, after)]
    guess[known] = target
    return guess


def _by_class(angle: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """An order of the points that has classes together; classes follow each other as they do on the circle."""
    middle = [np.angle(np.exp(1j * angle[guess == c]).mean()) % (2 * np.pi) for c in range(guess.max() + 1)]
    return np.lexsort((np.mod(angle, 2 * np.pi), np.argsort(np.argsort(middle))[guess]))
