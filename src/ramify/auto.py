"""`fit`: one function in front of every estimator."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ramify.errors import InvalidInput
from ramify.progress import ProgressLike, reporting
from ramify.similarity import get_similarity
from ramify.tree import Tree
from ramify.validate import check_choice

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
    "scc": "SCC",
}

#: Products a second that exact linkage reaches on a modest machine, and how long it may take where nobody chose.
_FLOPS, _MOST_SECONDS = 5e10, 600.0


def fit(
    X: Any,
    method: str = "auto",
    *,
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
        A name of :data:`METHODS`, or ``"auto"``: exact average linkage while it takes minutes, SCC above that and on
        graphs; ``tree.info["auto"]`` says which and why.
    refine : bool or str
        Improve the tree under an objective ("dasgupta", "mw", "ckmm"; True is "mw" for similarities and "ckmm" for
        distances) by :func:`ramify.refine`.
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
    import ramify

    check_choice("method", method, ["auto", *METHODS])
    picked, why = _pick(X) if method == "auto" else (method, "")
    estimator = getattr(ramify, METHODS[picked])
    known = inspect.signature(estimator).parameters
    n_jobs, random_state = params.get("n_jobs", -1), params.get("random_state", 0)
    for name in ("random_state", "n_jobs"):
        if name not in known:
            params.pop(name, None)
    for name in params:
        if name not in known:
            check = ", ".join(sorted(known))
            raise InvalidInput(f"method {picked!r} has no parameter {name!r}. It takes: {check}.")
    model = estimator(**params)
    with reporting(progress) as report:
        tree = model.fit(X, sample_weight=sample_weight, progress=report).tree_
        if refine is not False:
            metric = getattr(model, "metric", "sqeuclidean")
            tree = ramify.refine(
                tree,
                X,
                metric,
                _objective_for(metric) if refine is True else refine,
                sample_weight=sample_weight,
                random_state=random_state,
                n_jobs=n_jobs,
                progress=report,
            )
    if why:
        tree.info["auto"] = why
    return tree


def _pick(X: Any) -> tuple[str, str]:
    """The method for data nobody named one for, and why."""
    from ramify.validate import is_sparse

    if hasattr(X, "to_scipy"):
        return "scc", "scc: the data is a graph of neighbours"
    shape = X.shape if is_sparse(X) else np.shape(X)
    seconds = 2.0 * shape[0] ** 2 * shape[1] / _FLOPS if len(shape) == 2 else 0.0
    if seconds <= _MOST_SECONDS:
        return "hac", f"hac: exact average linkage of {shape[0]} rows is a matter of {max(1, round(seconds))} s"
    return "scc", f"scc: exact average linkage of {shape[0]} rows would take about {seconds / 60:.0f} min"


def _objective_for(metric: Any) -> str:
    return "ckmm" if get_similarity(metric).kind == "distance" else "mw"
