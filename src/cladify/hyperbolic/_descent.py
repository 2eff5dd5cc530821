"""Gradient descent on the circle: Riemannian Adam, a schedule, and the best tree met on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify.hyperbolic._similarities import Source
from cladify.hyperbolic.decode import decode_angles
from cladify.hyperbolic.embed import tree_angles
from cladify.hyperbolic.geometry import on_circle
from cladify.tree import Tree

__all__ = ["Descent", "Schedule"]

_FIRST_ROOM = 0.7  # 1 − radius of the smallest circle
_BETTER = 1e-9  # share of the cost: smaller differences are rounding


class Adam:
    """Adam for angles. On a circle the exponential map is a rotation, so steps are plain sums of angles."""

    def __init__(self, shape: tuple[int, ...], beta1: float = 0.9, beta2: float = 0.99) -> None:
        self._beta = (beta1, beta2)
        self._mean = np.zeros(shape)
        self._square = np.zeros(shape)
        self._count = 0

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """The step that this gradient leads to, for a rate of 1."""
        beta1, beta2 = self._beta
        self._count += 1
        self._mean += (1.0 - beta1) * (gradient - self._mean)
        self._square += (1.0 - beta2) * (gradient * gradient - self._square)
        mean = self._mean / (1.0 - beta1**self._count)
        square = self._square / (1.0 - beta2**self._count)
        return mean / (np.sqrt(square) + 1e-14)


@dataclass(frozen=True)
class Schedule:
    """Schedule of a start: the learning rate falls, the circle grows towards the rim.

    Small circles are a high temperature: all depths on them are nearly equal. So the radius anneals, from a smooth
    problem with few minima to one that is nearly that of trees.
    """

    rate: tuple[float, float]
    room: tuple[float, float]  # 1 − radius

    @classmethod
    def from_anywhere(cls, rate: float, radius: float) -> Schedule:
        """Of a start at random angles."""
        return cls((rate, rate / 20.0), (_FIRST_ROOM, 1.0 - radius))

    @classmethod
    def from_tree(cls, rate: float, radius: float) -> Schedule:
        """Of a start at a tree, which circles too small would forget."""
        return cls((rate, rate / 20.0), (min(_FIRST_ROOM, 10.0 * (1.0 - radius)), 1.0 - radius))

    def at(self, done: float) -> tuple[float, float]:
        """Learning rate and radius after this share of the steps."""
        rate, room = (first * (last / first) ** done for first, last in (self.rate, self.room))
        return rate, 1.0 - room


@dataclass
class Descent:
    """Several starts side by side.

    Attributes
    ----------
    angle : float64 array of shape (starts, n)
    radius : float
        Of the last step.
    best, cost, start : Tree, float, int
        The tree of the smallest discrete cost so far, that cost, and the start that it came from.
    losses : list of (step, loss, cost)
    snapshots : list of (step, embedding)
        Of that start which the best tree came from.
    """

    source: Source
    angle: np.ndarray
    schedules: list[Schedule]
    temperature: float
    n_jobs: int | None
    threads: int
    best: Tree | None = None
    cost: float = np.inf
    start: int = 0
    best_angle: np.ndarray | None = None
    losses: list[tuple[int, float, float]] = field(default_factory=list)
    snapshots: list[tuple[int, np.ndarray]] = field(default_factory=list)
    _all: list[tuple[int, np.ndarray]] = field(default_factory=list)  # snapshots of all starts
    _before: int = 0  # steps of earlier runs
    _own: np.ndarray | None = None  # smallest cost of each start

    def run(
        self,
        n_steps: int,
        random: np.random.Generator,
        report: Progress,
        *,
        every: int,
        patience: int | None,
        n_snapshots: int,
    ) -> None:
        """Descend; trees are decoded and valued every so many steps, and at the end."""
        adam = Adam(self.angle.shape)
        if not self.losses:
            self._look(0, np.nan)
        keep = set(np.linspace(0, n_steps, n_snapshots).astype(int).tolist()) if n_snapshots else set()
        idle = 0
        with report.stage("triplets", n_steps) as advance:
            for step in range(1, n_steps + 1):
                if step - 1 in keep:
                    self._snap(step - 1, (step - 1) / n_steps)
                plan = [schedule.at((step - 1) / n_steps) for schedule in self.schedules]
                rate, radius = np.array(plan).T
                loss, turning = self.source.gradient(self.angle, radius, self.temperature, random, self.threads)
                self.angle = np.mod(self.angle - rate[:, None] * adam.step(turning), 2 * np.pi)
                if step % every == 0 or step == n_steps:
                    idle = 0 if self._look(step, loss) else idle + 1
                    # In the first half the circle is still small, and trees decoded from it are poor.
                    if patience is not None and idle >= patience and 2 * step >= n_steps:
                        break
                advance()
        if keep:
            self._snap(step, step / n_steps)
            self.snapshots = [(step, embeddings[self.start]) for step, embeddings in self._all]
        self._before += step

    def from_best(self, schedule: Schedule) -> None:
        """Reset all starts to the best tree so far."""
        assert self.best is not None
        self.angle = np.tile(tree_angles(self.best)[0], (len(self.angle), 1))
        self.schedules = [schedule] * len(self.angle)
        self._own = None

    def _look(self, step: int, loss: float) -> bool:
        """Decode all starts; whether one of them is better than it was before."""
        costs = []
        for start, angle in enumerate(self.angle):
            tree = decode_angles(angle, self.radius)
            costs.append(self.source.cost(tree, self.n_jobs))
            if costs[-1] < self.cost:
                self.best, self.cost, self.start = tree, costs[-1], start
                self.best_angle = angle.copy()
        self.losses.append((self._before + step, float(loss), float(min(costs))))
        better = self._own is None or bool((np.array(costs) < self._own - _BETTER * np.abs(self._own)).any())
        self._own = np.array(costs) if self._own is None else np.minimum(self._own, costs)
        return better

    @property
    def radius(self) -> float:
        """Where the embedding ends up."""
        return 1.0 - self.schedules[0].room[1]

    def _snap(self, step: int, done: float) -> None:
        radius = np.array([schedule.at(done)[1] for schedule in self.schedules])
        self._all.append((self._before + step, on_circle(self.angle, radius[:, None])))

    @property
    def embedding(self) -> Any:
        """The points of the best tree."""
        assert self.best_angle is not None
        return on_circle(self.best_angle, self.radius)
