"""`fit`: one function in front of every estimator."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

from cladify._choice import MOST_SECONDS, choose, make_estimator, objective_methods
from cladify._kit.params import check_choice, check_float, optional
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.data.points import Points, as_points
from cladify.data.similarity import METRICS, get_similarity
from cladify.errors import CladifyWarning, InvalidInput
from cladify.methods import METHODS, Method, find_method
from cladify.objectives._objective import get_objective
from cladify.refinement._refine import refine as refine_tree
from cladify.refinement._refine import refined
from cladify.tree import Tree

__all__ = ["fit"]


def fit(
    X: Any,
    method: str = "auto",
    *,
    objective: str | None = None,
    budget_seconds: float | None = None,
    refine: bool | str = False,
    sample_weight: Any = None,
    progress: ProgressLike = None,
    engine: str = "local",
    client: Any = None,
    n_workers: int | None = None,
    checkpoint: Any = None,
    out: Any = None,
    **params: Any,
) -> Any:
    """The tree of the rows of ``X`` by the named method.

    Parameters
    ----------
    X : array of shape (n, d), sparse rows, or what else the method takes
        :mod:`cladify.data.points` has them all. With ``engine="dask"`` also a Dask array, or a folder of shards.
    method : str
        A name of :data:`cladify.methods.METHODS` (``cladify methods`` lists them), or ``"auto"``: ``"graph"``, the
        best tree we know for people to read; exact average linkage for up to 32 rows and for metrics without means,
        such as given distances; a random cut where the graph takes too long. ``tree.info["auto"]`` says why.
    objective : "dasgupta", "mw" or "ckmm", optional
        The best tree for this objective that can be had in the time: several methods, each refined, and the best tree
        of all. Only with ``method="auto"``; the metric is the objective's own unless ``metric`` says otherwise.
    budget_seconds : float, optional
        About how long it may take; 600 if not given. Estimates decide what is tried, and refinement ends in time.
    refine : bool or str
        Improve the tree under an objective ("dasgupta", "mw", "ckmm"; True is "mw" for similarities and graphs, "ckmm"
        for distances) by :func:`cladify.refine`, within what is left of ``budget_seconds``, if given.
    sample_weight : array of shape (n,), optional
    progress : bool or callable ``(stage, done, total)``, optional
    engine : "local" or "dask"
        Where to work: in this process, or in parts on the workers of Dask (``docs/scale.md``).
    client : distributed.Client or str, optional
        For ``engine="dask"``: the client, or the scheduler's address. New processes on this machine if not given.
    n_workers : int, optional
        How many of these; by default as suits the machine.
    checkpoint : path, optional
        For ``engine="dask"``: a folder that all workers see, for what is finished. The same call on the same data goes
        on from there. Needed where workers on several machines share no temporary folder.
    out : path, optional
        For ``engine="dask"``: a new folder that all workers see, for a tree that need not fit in memory; a
        :class:`cladify.distributed.TreeFolder` comes back.
    **params
        Parameters of the method's estimator, such as ``metric``, ``linkage``, ``random_state``, ``n_jobs``.
        ``random_state`` and ``n_jobs`` are accepted by every method, also by those that have no use for them.

    Returns
    -------
    Tree
        Or a ClusterDag, for methods whose clusters overlap ("llama").

    Examples
    --------
    >>> import numpy as np, cladify
    >>> tree = cladify.fit(np.array([[0.0], [1.0], [10.0]]), method="hac")
    >>> tree.cut(n_clusters=2).tolist()
    [0, 0, 1]
    """
    return fit_model(
        X,
        method,
        objective=objective,
        budget_seconds=budget_seconds,
        refine=refine,
        sample_weight=sample_weight,
        progress=progress,
        engine=engine,
        client=client,
        n_workers=n_workers,
        checkpoint=checkpoint,
        out=out,
        **params,
    )[0]


def fit_model(
    X: Any,
    method: str = "auto",
    *,
    objective: str | None = None,
    budget_seconds: float | None = None,
    refine: bool | str = False,
    sample_weight: Any = None,
    progress: ProgressLike = None,
    engine: str = "local",
    client: Any = None,
    n_workers: int | None = None,
    checkpoint: Any = None,
    out: Any = None,
    **params: Any,
) -> tuple[Any, Any]:
    """The result of :func:`fit` and its estimator, or None where refinement changed the tree."""
    optional(lambda name, value: check_float(name, value, low=0.0, open_low=True))("budget_seconds", budget_seconds)
    if method != "auto" and find_method(method).result == "dag" and refine is not False:
        raise InvalidInput(f"method {method!r} gives a graph of overlapping clusters, which refine= cannot improve.")
    deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
    if objective is not None and method != "auto":
        find_method(method)
        raise InvalidInput(
            f"objective={objective!r} chooses among methods and needs method='auto'; to improve the tree of "
            f"method {method!r} under it, use refine={objective!r}."
        )
    if objective is not None and refine not in (True, False, objective):
        raise InvalidInput(
            f"objective={objective!r} refines its trees under that objective, got refine={refine!r}; drop one."
        )
    if check_choice("engine", engine, ["local", "dask"]) == "dask":
        if objective is not None or refine is not False or budget_seconds is not None:
            raise InvalidInput("engine='dask' takes no objective, refine or budget_seconds.")
        options = {"client": client, "n_workers": n_workers, "checkpoint": checkpoint}
        options |= {"sample_weight": sample_weight, "out": out}
        return _fit_dask(X, method, options, progress, params), None
    if client is not None or n_workers is not None or checkpoint is not None or out is not None:
        raise InvalidInput("client, n_workers, checkpoint and out belong to engine='dask'.")
    with reporting(progress) as report:
        budget = MOST_SECONDS if budget_seconds is None else budget_seconds
        if objective is not None:
            return best_tree(X, objective, budget, sample_weight=sample_weight, report=report, **params), None
        why = ""
        if method == "auto":
            X = as_points(X, params.get("metric", "sqeuclidean"), sample_weight)
            method, why = choose(X, budget_seconds=budget, n_jobs=params.get("n_jobs", -1))
        result, model = _build(X, find_method(method), sample_weight, report, params)
        if refine is not False:
            points = model.points_
            goal = _objective_for(points) if refine is True else refine
            left = None if deadline is None else max(deadline - time.monotonic(), 1e-3)
            result, model = _refine(result, points, goal, left, report, params), None
    if why:
        result.info["auto"] = why
    return result, model


def _fit_dask(
    X: Any, method: str, options: dict[str, Any], progress: ProgressLike | Progress, params: dict[str, Any]
) -> Any:
    from cladify.distributed._engine import fit_dask

    column = params.pop("column", None)
    with reporting(progress) as report:
        made = partial(make_estimator, params=params)
        return fit_dask(X, method, **options, column=column, make=made, params=params, report=report)


def _build(X: Any, method: Method, sample_weight: Any, report: Progress, params: dict[str, Any]) -> tuple[Any, Any]:
    """The result of one method on the data, and its estimator."""
    model = make_estimator(method, params)
    weight = None if isinstance(X, Points) else sample_weight
    return getattr(model.fit(X, sample_weight=weight, progress=report), f"{method.result}_"), model


def _refine(
    tree: Tree, points: Points, objective: str, budget: float | None, report: Progress, params: dict[str, Any]
) -> Tree:
    seed, jobs = params.get("random_state", 0), params.get("n_jobs", -1)
    return refine_tree(
        tree, points, None, objective, budget_seconds=budget, random_state=seed, n_jobs=jobs, progress=report
    )


#: Starts that share the time; further ones are made if they fit in what is left of it.
_SHARES = 2


def best_tree(X: Any, objective: str, budget: float, *, sample_weight: Any, report: Progress, **params: Any) -> Tree:
    """The best tree for an objective: every method that fits the budget, refined."""
    goal = get_objective(objective)
    start = time.monotonic()
    seed, jobs = params.setdefault("random_state", 0), params.get("n_jobs", -1)
    points = goal.points(X, params.get("metric"), sample_weight)
    if not points.is_graph:  # by its name, which every method knows, where it has one
        named = points.metric in METRICS and get_similarity(points.metric) == points.similarity
        params["metric"] = points.metric if named else points.similarity
    weights = goal.weights(points, random_state=seed)
    starts = objective_methods(points, budget, jobs)
    tried, best, longest = [], None, 0.0
    for i, method in enumerate(starts):
        began = time.monotonic()
        left = max(budget - (began - start), 0.0)
        if i >= _SHARES and longest > left:
            break
        with warnings.catch_warnings():
            if i >= _SHARES:
                warnings.simplefilter("ignore", CladifyWarning)  # a graph in parts: refinement sees all pairs
            tree, _ = _build(points, METHODS[method], None, report, params)
        share = began + left / max(min(_SHARES, len(starts)) - i, 1) - time.monotonic()
        tree, value = refined(
            tree, points, weights, goal, max(share, 1e-3), random_state=seed, n_jobs=jobs, report=report
        )
        now = time.monotonic()
        longest = max(longest, now - began)
        tried.append(f"{method} + refine {value:.6g} ({now - start:.1f} s)")
        if best is None or (value > best[0] if goal.maximize else value < best[0]):
            best = value, method, tree
    assert best is not None
    _, method, tree = best
    tree.info["auto"] = f"{goal.name}: {', '.join(tried)}; kept {method}"
    return tree


def _objective_for(points: Points) -> str:
    """The objective that takes the weights; a graph of neighbours has similarities."""
    return "ckmm" if points.kind == "distance" and not points.is_graph else "mw"
