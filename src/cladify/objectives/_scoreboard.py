"""`scoreboard`: one table over trees, objectives and metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cladify._kit.params import check_choice
from cladify._kit.progress import ProgressLike, reporting
from cladify.data.graph import NeighborGraph
from cladify.data.similarity import get_similarity
from cladify.errors import InvalidInput
from cladify.metrics.purity import dendrogram_purity
from cladify.objectives._bounds import BoundMethod
from cladify.objectives._objective import OBJECTIVES, Objective, get_objective
from cladify.objectives._score import Score, Scorer, shown_metric
from cladify.tree import Tree
from cladify.tree._either import check_tree

__all__ = ["Scoreboard", "scoreboard"]


@dataclass(frozen=True)
class Scoreboard:
    """Scores of several trees of the same data; prints as a table, the best of each column in bold.

    Attributes
    ----------
    scores : dict of dicts
        ``scores[tree][objective, metric]`` is a :class:`Score`.
    columns : dict of dicts
        The other columns: ``columns[title][tree]``, such as dendrogram purity.
    """

    scores: Mapping[str, Mapping[tuple[str, str], Score]]
    columns: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def best(self, objective: str | None = None) -> str:
        """The name of the best tree under an objective; without one, under the first column.

        Trees that tie on the first metric keep the order in which they were given.
        """
        keys = [key for key in self._keys() if objective in (None, key[0])]
        if not keys:
            raise InvalidInput(f"objective {objective!r} is not on this scoreboard; it has {_listed(self._keys())}.")
        return max(self.scores, key=lambda name: self._rank(self.scores[name][keys[0]]))

    def to_dict(self) -> list[dict[str, Any]]:
        """One record a tree, for JSON: its name, all scores in full under ``"scores"``, and the other columns."""
        return [
            {
                "tree": name,
                "scores": [score.to_dict() for score in scores.values()],
                **{title: column.get(name) for title, column in self.columns.items()},
            }
            for name, scores in self.scores.items()
        ]

    def to_dataframe(self) -> Any:
        """A pandas DataFrame with one row a tree; columns of scores are named ``objective metric quantity``."""
        import pandas as pd

        rows = {
            name: {
                **{
                    f"{objective} {metric} {quantity}": getattr(score, quantity)
                    for (objective, metric), score in scores.items()
                    for quantity in ("value", "ratio", "normalized")
                },
                **{title: column.get(name, math.nan) for title, column in self.columns.items()},
            }
            for name, scores in self.scores.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("tree")

    def to_markdown(self) -> str:
        """The table in Markdown."""
        title, rows = self._table()
        lines = ["| " + " | ".join(title) + " |", "| --- |" + " ---: |" * (len(title) - 1)]
        lines += ["| " + " | ".join(f"**{text}**" if bold else text for text, bold in row) + " |" for row in rows]
        return "\n".join(lines)

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        title, rows = self._table()
        table = Table(caption="α*: 0 = a random tree, 1 = a bound that no tree can pass", caption_justify="left")
        for i, name in enumerate(title):
            table.add_column(name, justify="right" if i else "left")
        for row in rows:
            table.add_row(*(Text(text, style="bold" if bold else "") for text, bold in row))
        return table

    def __str__(self) -> str:
        return self.to_markdown()

    def _keys(self) -> list[tuple[str, str]]:
        return list(next(iter(self.scores.values())))

    @staticmethod
    def _rank(score: Score) -> float:
        return score.value if score.maximize else -score.value

    def _table(self) -> tuple[list[str], list[list[tuple[str, bool]]]]:
        """Titles, and rows of (text, whether it is the best of its column)."""
        title, columns = ["tree"], []
        for key in self._keys():
            scores = {name: row[key] for name, row in self.scores.items()}
            top = max(map(self._rank, scores.values()))
            best = {name for name, score in scores.items() if self._rank(score) == top}
            title += [f"{' '.join(key)} α*", "value"]
            columns += [
                {name: (_decimals(score.normalized), name in best) for name, score in scores.items()},
                {name: (f"{score.value:.5g}", name in best) for name, score in scores.items()},
            ]
        for name, column in self.columns.items():
            title.append(name)
            # Whether high is good is known for purity alone; other columns, such as time, are not marked.
            top = max(column.values(), default=math.nan) if name == PURITY else math.nan
            columns.append({tree: (_decimals(value), value == top) for tree, value in column.items()})
        rows = [[(name, False), *(column.get(name, ("", False)) for column in columns)] for name in self.scores]
        return title, rows


PURITY = "dendrogram purity"


def scoreboard(
    trees: Mapping[str, Tree],
    X: Any,
    y: Any = None,
    *,
    objectives: Sequence[str] | str | None = None,
    metrics: Sequence[Any] | Any = None,
    columns: Mapping[str, Mapping[str, float]] | None = None,
    bound: BoundMethod = "auto",
    sample_weight: Any = None,
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: ProgressLike = None,
) -> Scoreboard:
    """Compare trees over the same points: every tree under every objective and metric.

    Parameters
    ----------
    trees : dict from names to trees
    X : array of shape (n, d), sparse rows, a graph, or given values
        Row i is leaf i of every tree.
    y : array of shape (n,), optional
        Labels, for dendrogram purity; -1 for points without one.
    objectives : list of str, optional
        Some of ``"dasgupta"``, ``"mw"``, ``"ckmm"``. By default MW for similarities and CKMM for distances.
    metrics : list of metrics, optional
        Every objective takes those of its kind, or its usual one where there is none among them.
    columns : dict of dicts, optional
        More columns for the table: ``{"seconds": {"average": 1.2, ...}}``.
    bound, sample_weight, n_jobs, random_state, progress
        As in :func:`cladify.score`.

    Returns
    -------
    Scoreboard
        Prints well; ``to_markdown()``, ``to_dict()`` and ``to_dataframe()`` give it in other forms.

    Examples
    --------
    >>> import numpy as np, cladify
    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    >>> good, bad = cladify.Tree([4, 4, 5, 5, 6, 6, -1]), cladify.Tree([4, 5, 4, 5, 6, 6, -1])
    >>> print(cladify.scoreboard({"good": good, "bad": bad}, X, objectives="mw"))
    | tree | mw cosine α* | value |
    | --- | ---: | ---: |
    | good | **1.000** | **3.9901** |
    | bad | -0.500 | 2.198 |
    """
    if not isinstance(trees, Mapping) or not trees:
        raise InvalidInput("trees must be a dict with at least one tree, such as {'average': tree}.")
    check_choice("bound", bound, ["auto", "exact", "sampled"])
    pairs = _pairs(X, objectives, metrics)
    scores: dict[str, dict[tuple[str, str], Score]] = {name: {} for name in trees}
    with reporting(progress) as report, report.stage("scores", len(trees) * len(pairs)) as advance:
        for objective, metric in pairs:
            points = objective.points(X, metric, sample_weight)
            weights = objective.weights(points, random_state=random_state)
            for name, tree in trees.items():
                check_tree(tree, weights.n, name=f"tree {name!r}")
            shown = shown_metric(points)
            scorer = Scorer(objective, weights, shown, bound, n_jobs, random_state, report)
            for name, tree in trees.items():
                scores[name][objective.name, shown] = scorer.score(tree)
                advance()
    more: dict[str, Mapping[str, float]] = {}
    if y is not None:
        more[PURITY] = {name: float(dendrogram_purity(tree, y)) for name, tree in trees.items()}
    return Scoreboard(scores, {**more, **(columns or {})})


def _pairs(X: Any, objectives: Sequence[str] | str | None, metrics: Any) -> list[tuple[Objective, Any]]:
    """The objectives and their metrics, None for the usual one."""
    if metrics is None:
        given = []
    else:
        given = list(metrics) if isinstance(metrics, (list, tuple)) else [metrics]
    kinds = [{get_similarity(metric, kind=kind).kind for kind in ("similarity", "distance")} for metric in given]
    if objectives is None:
        if any(len(kind) > 1 for kind in kinds):
            raise InvalidInput(
                "Say objectives=['mw'] for similarities or objectives=['ckmm'] for distances: a function does not tell "
                "which it is."
            )
        wanted = {"similarity"} if isinstance(X, NeighborGraph) else set().union(*kinds) or {"similarity", "distance"}
        chosen = [OBJECTIVES[name] for name in ("mw", "ckmm") if OBJECTIVES[name].kind in wanted]
    else:
        chosen = [get_objective(name) for name in ([objectives] if isinstance(objectives, str) else objectives)]
    pairs: list[tuple[Objective, Any]] = []
    for objective in chosen:
        fitting = [metric for metric, kind in zip(given, kinds, strict=True) if objective.kind in kind]
        pairs += [(objective, metric) for metric in fitting or [None]]
    return pairs


def _decimals(value: float) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.3f}"


def _listed(keys: list[tuple[str, str]]) -> str:
    return ", ".join(dict.fromkeys(repr(objective) for objective, _ in keys))
