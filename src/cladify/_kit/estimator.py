"""The base of all estimators: checks of parameters, and the names of columns."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from cladify._kit.arrays import column_names
from cladify._kit.params import Check

__all__ = ["Estimator"]


class Estimator(BaseEstimator):
    """A scikit-learn estimator that lists the checks of its parameters in ``_checks``."""

    _checks: ClassVar[dict[str, Check]] = {}

    def check_params(self) -> None:
        """Raise where a parameter cannot be used as it is."""
        for name, check in self._checks.items():
            check(name, getattr(self, name))

    def _check_names(self, X: Any, *, reset: bool) -> None:
        """``feature_names_in_``: the columns of a data frame, which later ones must have too."""
        if column_names(X) is not None or hasattr(self, "feature_names_in_"):
            validate_data(self, X, reset=reset, skip_check_array=True)
