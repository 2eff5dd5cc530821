"""`fit`: one function in front of every estimator."""

from __future__ import annotations

import inspect
import time
import warnings
from typing import Any

import numpy as np

from ramify.errors import InvalidInput, RamifyWarning
from ramify.progress import Progress, ProgressLike, reporting
from ramify.similarity import get_similarity
from ramify.tree import Tree
from ramify.validate import available_memory, check_choice, check_float, optional

__all__ = ["METHODS", "fit"]

#: Method name -> name of the estimator in ``ramify``.
METHODS: dict[str, str] = {
    "affinity": "Affinity",
    "birch": "Birch",
    "bisect": "BisectConquer",
    "hac": "HAC",
    "kmeans": "BisectingKMeans",
    "random": "RandomTree",
    "random-cut": "RandomCut",
    "reciprocal": "ReciprocalNN",
    "robust": "RobustSingleLinkage",
    "sat": "SatConquer",
    "scc": "SCC",
    "spectral": "SpectralCut",
}

#: How long to take at most where nobody said.
_MOST_SECONDS = 600.0

# What the estimates of time rest on, from runs on two cores of a modest machine: operations a second in matrix
# products, and how many of them a method takes.
_FLOPS = 5e10
_HAC_WORK = 2.0  # times n² d: one product of all rows, and a little more
_PAIR_WORK = 0.25  # times n² (d + 64): 1.9 s for 50 000 × 64, 5.8 s for 100 000 × 64
_SHARD_WORK = 40.0  # times n^1.5 d: 3.5 s for 200 000 × 64, 7.6 s for GloVe's 198 000 × 100; 23 s for a million × 128
_BISECT_WORK = 500.0  # times n d log₂ n: 2.8 s for GloVe's 198 000 × 100, 1.3 s for ALOI's 108 000 × 128


def fit(
    X: Any,
    method: str = "auto",
    *,
    objective: str | None = None,
    budget_seconds: float | None = None,
    refine: bool | str = False,
    sample_weight: Any = None,
    progress: ProgressLike = None,
    **params: Any,
) -> Tree:
    """The tree of the rows of ``X`` by the named method.

    Parameters
    ----------
    X : array of shape (n, d), sparse rows, or what else the method takes
    method : str
        A name of :data:`METHODS`, or ``"auto"``: exact average linkage where time and memory allow it, SCC on a graph
        of neighbours where they do not (and where X is one), a random cut where even that takes too long.
        ``tree.info["auto"]`` says which and why.
    objective : "dasgupta", "mw" or "ckmm", optional
        The best tree for this objective that can be had in the time: several methods, each refined, and the best tree
        of all. Only with ``method="auto"``; the metric is the objective's own unless ``metric`` says otherwise.
    budget_seconds : float, optional
        About how long it may take; 600 if not given. Estimates decide what is tried, and refinement ends in time.
    refine : bool or str
        Improve the tree under an objective ("dasgupta", "mw", "ckmm"; True is "mw" for similarities and graphs, "ckmm"
        for distances) by :func:`ramify.refine`, within what is left of ``budget_seconds``, if given.
    sample_weight : array of shape (n,), optional
    progress : bool or callable ``(stage, done, total)``, optional
    **params
        Parameters of the method's estimator, such as ``metric``, ``linkage``, ``random_state``, ``n_jobs``.
        ``random_state`` and ``n_jobs`` are accepted by every method, also by those that have no use for them.

    Returns
    -------
    Tree

    Examples
    --------
    >>> import numpy as np, ramify
    >>> tree = ramify.fit(np.array([[0.0], [1.0], [10.0]]), method="hac")
    >>> tree.cut(n_clusters=2).tolist()
    [0, 0, 1]
    """
    from ramify.neighbors.graph import as_graph

    check_choice("method", method, ["auto", *METHODS])
    optional(lambda name, value: check_float(name, value, low=0.0, open_low=True))("budget_seconds", budget_seconds)
    deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
    with reporting(progress) as report:
        if objective is not None:
            if method != "auto":
                raise InvalidInput(
                    f"objective={objective!r} chooses among methods and needs method='auto'; to improve the tree of "
                    f"method {method!r} under it, use refine={objective!r}."
                )
            if refine not in (True, False, objective):
                raise InvalidInput(
                    f"objective={objective!r} refines its trees under that objective, got refine={refine!r}; drop one."
                )
            budget = _MOST_SECONDS if budget_seconds is None else budget_seconds
            return best_tree(X, objective, budget, sample_weight=sample_weight, report=report, **params)
        picked, why = method, ""
        if method == "auto":
            picked, why = _pick(X, params.get("metric", "sqeuclidean"), budget_seconds or _MOST_SECONDS)
        tree, model = _build(X, picked, sample_weight, report, params)
        if refine is not False:
            metric = getattr(model, "metric", "sqeuclidean")
            if tree.info.get("input") == "graph":
                X = as_graph(X, metric)  # a sparse matrix: objectives would take its rows for vectors
            goal = _objective_for(X, metric) if refine is True else refine
            tree = _refined(tree, X, metric, goal, deadline, sample_weight, report, params)
    if why:
        tree.info["auto"] = why
    return tree


def _build(X: Any, method: str, sample_weight: Any, report: Progress, params: dict[str, Any]) -> tuple[Tree, Any]:
    """The tree of one method, and its estimator."""
    import ramify

    estimator = getattr(ramify, METHODS[method])
    known = inspect.signature(estimator).parameters
    own = {name: value for name, value in params.items() if name in known or name not in ("random_state", "n_jobs")}
    for name in own:
        if name not in known:
            raise InvalidInput(f"method {method!r} has no parameter {name!r}. It takes: {', '.join(sorted(known))}.")
    model = estimator(**own)
    return model.fit(X, sample_weight=sample_weight, progress=report).tree_, model


def _refined(
    tree: Tree,
    X: Any,
    metric: Any,
    objective: str,
    deadline: float | None,
    sample_weight: Any,
    report: Progress,
    params: dict[str, Any],
) -> Tree:
    import ramify

    return ramify.refine(
        tree,
        X,
        metric,
        objective,
        budget_seconds=None if deadline is None else max(deadline - time.monotonic(), 1e-3),
        sample_weight=sample_weight,
        random_state=params.get("random_state", 0),
        n_jobs=params.get("n_jobs", -1),
        progress=report,
    )


#: Starts that share the time; further ones are made if they fit in what is left of it.
_SHARES = 2


def best_tree(X: Any, objective: str, budget: float, *, sample_weight: Any, report: Progress, **params: Any) -> Tree:
    """The best tree for an objective: every method that fits the budget, refined."""
    from ramify.agglomerate._links import is_graph
    from ramify.neighbors.graph import as_graph
    from ramify.objectives._objective import get_objective

    goal = get_objective(objective)
    start = time.monotonic()
    metric = params.setdefault("metric", goal.default_metric)
    params.setdefault("random_state", 0)
    if is_graph(X, metric):
        X = as_graph(X, metric)  # a sparse matrix: objectives would take its rows for vectors
    weights = goal.weights(X, metric, sample_weight=sample_weight, random_state=params["random_state"])
    starts = _starts(X, metric, budget, sample_weight)
    told, best, longest = [], None, 0.0
    for i, method in enumerate(starts):
        began = time.monotonic()
        left = max(budget - (began - start), 0.0)
        if i >= _SHARES and longest > left:
            break
        with warnings.catch_warnings():
            if i >= _SHARES:
                warnings.simplefilter("ignore", RamifyWarning)  # a graph in parts: refinement sees all pairs
            tree, _ = _build(X, method, sample_weight, report, params)
        deadline = began + left / max(min(_SHARES, len(starts)) - i, 1)
        tree = _refined(tree, X, metric, goal.name, deadline, sample_weight, report, params)
        value = goal.value(weights.pair_sums(tree, params.get("n_jobs", -1), report), weights.mass)
        now = time.monotonic()
        longest = max(longest, now - began)
        told.append(f"{method} + refine {value:.6g} ({now - start:.1f} s)")
        if best is None or (value > best[0] if goal.maximize else value < best[0]):
            best = value, method, tree
    assert best is not None
    _, method, tree = best
    tree.info["auto"] = f"{goal.name}: {', '.join(told)}; kept {method}"
    return tree


def _starts(X: Any, metric: Any, budget: float, sample_weight: Any) -> list[str]:
    """Methods worth refining that take the metric and the weights, the best first; each leaves time for refinement."""
    from ramify.agglomerate._links import is_graph

    uniform = sample_weight is None or np.ptp(sample_weight) == 0
    if is_graph(X, metric):
        return ["reciprocal", "bisect", "scc"] if uniform else ["reciprocal", "scc"]
    n, d = np.shape(X)
    methods = ["hac"] if _exact_fits(n, d, metric, budget / 4) else []
    quick = _BISECT_WORK * n * d * np.log2(n + 1) / _FLOPS < budget / 2
    if quick and (uniform or _takes("kmeans", metric)):
        methods.append("bisect" if uniform else "kmeans")
    if len(methods) == _SHARES:
        methods.append("scc")
    return methods or ["random-cut" if _takes("random-cut", metric) else "bisect" if uniform else "hac"]


def _pick(X: Any, metric: Any, budget: float) -> tuple[str, str]:
    """The method for data nobody named one for, and why."""
    from ramify.agglomerate._links import is_graph

    if is_graph(X, metric):
        return "scc", "scc: the data is a graph of neighbours"
    shape = np.shape(X)
    if len(shape) != 2:
        return "hac", "hac"  # which says what is wrong with X
    n, d = shape
    seconds = _exact_seconds(n, d)
    if _exact_fits(n, d, metric, budget):
        return "hac", f"hac: exact average linkage of {n} rows is a matter of {max(1, round(seconds))} s"
    if seconds <= budget:
        return "scc", f"scc: average linkage with metric {str(metric)!r} needs {4 * n * n / 1e9:.1f} GB for {n} rows"
    why = f"exact average linkage of {n} rows would take about {seconds / 60:.0f} min"
    if _search_seconds(n, d) <= budget or not _takes("random-cut", metric):
        return "scc", f"scc: {why}"
    return "random-cut", f"random-cut: {why}, and neighbours about {_search_seconds(n, d):.0f} s"


def _takes(method: str, metric: Any) -> bool:
    """Whether the estimator's own check lets the metric pass."""
    import ramify

    try:
        getattr(ramify, METHODS[method])._checks["metric"]("metric", metric)
    except InvalidInput:
        return False
    return True


def _exact_seconds(n: int, d: int) -> float:
    """About how long exact average linkage takes."""
    return _HAC_WORK * n**2 * d / _FLOPS


def _search_seconds(n: int, d: int) -> float:
    """About how long a graph of neighbours takes: all pairs for few rows, overlapping shards of √n cells for many."""
    from ramify.neighbors.build import EXACT_WORK, pair_work

    pairs = pair_work(n, d)
    return (_PAIR_WORK * pairs if pairs <= EXACT_WORK else _SHARD_WORK * n**1.5 * d) / _FLOPS


def _exact_fits(n: int, d: int, metric: Any, budget: float) -> bool:
    """Whether exact average linkage ends in time, within the memory that is free."""
    from ramify.agglomerate._vectors import is_linear

    linear = is_linear("average", get_similarity(metric))
    return _exact_seconds(n, d) <= budget and (linear or 5 * n * n < available_memory())


def _objective_for(X: Any, metric: Any) -> str:
    """The objective that takes the weights; a graph of neighbours has similarities."""
    return "ckmm" if get_similarity(metric).kind == "distance" and not hasattr(X, "to_scipy") else "mw"
