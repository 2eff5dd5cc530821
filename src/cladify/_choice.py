"""The choice of a method for ``method="auto"``: one for all callers and engines."""

from __future__ import annotations

import inspect
from typing import Any

from cladify._kit.memory import available_memory
from cladify._kit.parallel import resolve_jobs
from cladify.data.points import Points, as_points
from cladify.errors import InvalidInput, MissingExtra
from cladify.methods import METHODS, Method, Size

__all__ = ["MOST_SECONDS", "choose", "make_estimator", "objective_methods"]

#: The budget in seconds where none is given.
MOST_SECONDS = 600.0

#: Up to this many rows, exact linkage looks at every pair: a graph of neighbours would leave hardly any pair out.
_TINY = 32


def choose(
    X: Any,
    metric: Any = "sqeuclidean",
    *,
    budget_seconds: float | None = None,
    n_jobs: int | None = -1,
    engine: str = "local",
) -> tuple[str, str]:
    """The method for these data where none is named, and the reason for ``tree.info["auto"]``.

    Parameters
    ----------
    X, metric
        As :func:`cladify.data.as_points` takes them; Points are taken as they are. Not read for ``engine="dask"``.
    budget_seconds : float, optional
        About how long the fit may take; 600 if not given.
    n_jobs : int, optional
        Threads of the fit, for the estimate of its time.
    engine : "local" or "dask"

    Examples
    --------
    >>> import numpy as np
    >>> choose(np.eye(3))
    ('hac', 'hac: 3 rows are few enough for exact average linkage')
    """
    if engine == "dask":
        return "scc", "scc: of the methods that work in parts, the one for large data"
    points = as_points(X, metric)
    if points.is_graph:
        return "graph", "graph: the data is a graph of neighbours"
    budget = MOST_SECONDS if budget_seconds is None else budget_seconds
    n, name = points.n, points.metric
    if n <= _TINY:
        return "hac", f"hac: {n} rows are few enough for exact average linkage"
    size = _size(points, n_jobs)
    if points.similarity.order is None and _exact_fits(points, size, budget):
        return "hac", f"hac: metric {name!r} has no means of rows, which larger scales need"
    seconds = METHODS["graph"].estimate(size)[0]
    if seconds <= budget or not METHODS["random-cut"].takes(name):
        return "graph", f"graph: the neighbours of {n} rows and their tree are a matter of {max(1, round(seconds))} s"
    return "random-cut", f"random-cut: the tree of the neighbours of {n} rows would take about {seconds:.0f} s"


def objective_methods(points: Points, budget: float, n_jobs: int | None) -> list[str]:
    """Methods to refine for an objective that take the metric and the weights, the best first.

    Each of the first two leaves time for refinement; a third is for the time that is left.
    """
    if points.is_graph:
        return ["reciprocal", "bisect", "scc"] if points.uniform else ["reciprocal", "scc"]
    size = _size(points, n_jobs)
    metric = points.metric
    methods = ["hac"] if _exact_fits(points, size, budget / 4) else []
    quick = METHODS["bisect"].estimate(size)[0] < budget / 2
    if quick and (points.uniform or METHODS["kmeans"].takes(metric)):
        methods.append("bisect" if points.uniform else "kmeans")
    if len(methods) == 2:
        methods.append("scc")
    last = "random-cut" if METHODS["random-cut"].takes(metric) else "bisect" if points.uniform else "hac"
    return methods or [last]


def make_estimator(method: Method, params: dict[str, Any]) -> Any:
    """The estimator of a method with these parameters; an unknown one is an error that lists those it has.

    ``random_state`` and ``n_jobs`` are left out where the estimator does not have them.
    """
    try:
        estimator = method.load()
    except ImportError:
        if method.extra is None:
            raise
        raise MissingExtra(f"method {method.name!r}", method.extra) from None
    known = inspect.signature(estimator).parameters
    own = {name: value for name, value in params.items() if name in known or name not in ("random_state", "n_jobs")}
    for name in own:
        if name not in known:
            raise InvalidInput(
                f"method {method.name!r} has no parameter {name!r}. It takes: {', '.join(sorted(known))}."
            )
    return estimator(**own)


def _size(points: Points, n_jobs: int | None) -> Size:
    return Size(points.n, points.d, cores=resolve_jobs(n_jobs))


def _exact_fits(points: Points, size: Size, budget: float) -> bool:
    """Whether exact average linkage ends in time, within the memory that is free."""
    linear = points.similarity.order is not None and points.similarity.exact_features
    return METHODS["hac"].estimate(size)[0] <= budget and (linear or 5 * size.n**2 < available_memory())
