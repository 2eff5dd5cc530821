"""`fit`: one function in front of every estimator."""

from __future__ import annotations

import inspect
from typing import Any

from ramify.errors import InvalidInput
from ramify.progress import ProgressLike
from ramify.tree import Tree
from ramify.validate import check_choice

__all__ = ["METHODS", "fit"]

#: Method name -> name of the estimator in ``ramify``.
METHODS: dict[str, str] = {
    "affinity": "Affinity",
    "hac": "HAC",
    "random": "RandomTree",
    "random-cut": "RandomCut",
    "reciprocal": "ReciprocalNN",
    "scc": "SCC",
}


def fit(
    X: Any,
    method: str = "auto",
    *,
    sample_weight: Any = None,
    progress: ProgressLike = None,
    **params: Any,
) -> Tree:
    """The tree of the rows of ``X`` by the named method.

    Parameters
    ----------
    X : array of shape (n, d), sparse rows, or what else the method takes
    method : str
        A name of :data:`METHODS`, or ``"auto"``.
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
    estimator = getattr(ramify, METHODS["hac" if method == "auto" else method])
    known = inspect.signature(estimator).parameters
    for name in ("random_state", "n_jobs"):
        if name not in known:
            params.pop(name, None)
    for name in params:
        if name not in known:
            check = ", ".join(sorted(known))
            raise InvalidInput(f"method {method!r} has no parameter {name!r}. It takes: {check}.")
    return estimator(**params).fit(X, sample_weight=sample_weight, progress=progress).tree_
