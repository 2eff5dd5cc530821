"""The base of all estimators: checks of parameters, and the names of columns."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from cladify._kit.arrays import column_names
from cladify._kit.params import Check, check_choice

__all__ = ["Estimator"]


class Estimator(BaseEstimator):
    """A scikit-learn estimator that lists the checks of its parameters in ``_checks``.

    One with a parameter ``preset`` lists in ``_presets`` what each of them sets.
    """

    _checks: ClassVar[dict[str, Check]] = {}
    _presets: ClassVar[dict[str, dict[str, Any]]] = {}

    def check_params(self) -> None:
        """Raise where a parameter cannot be used as it is."""
        if (preset := getattr(self, "preset", None)) is not None:
            check_choice("preset", preset, list(self._presets))
        for name, check in self._checks.items():
            check(name, getattr(self, name))

    def _with_preset(self) -> Self:
        """A copy in which the preset has set the parameters that are at their defaults."""
        given: Any = self
        default = {field.name: field.default for field in dataclasses.fields(given)}
        values = self._presets.get(given.preset, {})
        changes = {name: value for name, value in values.items() if getattr(self, name) == default[name]}
        return dataclasses.replace(given, preset=None, **changes)

    def _check_names(self, X: Any, *, reset: bool) -> None:
        """``feature_names_in_``: the columns of a data frame, which later ones must have too."""
        if column_names(X) is not None or hasattr(self, "feature_names_in_"):
            validate_data(self, X, reset=reset, skip_check_array=True)
