"""What is on its way out: it works for one more minor version, and says what takes its place and when it goes.

Something deprecated in 0.4 warns in every 0.4.x and is gone in 0.5. Both versions stand in the warning, so that a
reader of a log knows how long there is. A test fails where the version of cladify has reached that of a removal.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from cladify.errors import Deprecation, InvalidInput

__all__ = ["deprecated", "removal", "renamed"]

P = ParamSpec("P")
R = TypeVar("R")


def removal(since: str) -> str:
    """The version that no longer has what is deprecated since ``since``: the next minor one.

    >>> removal("0.4"), removal("1.9")
    ('0.5', '1.10')
    """
    major, minor = map(int, since.split("."))
    return f"{major}.{minor + 1}"


def deprecated(*, since: str, instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator for a function or method that goes: calls still work, and warn.

    Parameters
    ----------
    since : str
        The minor version that warns first, such as "0.4".
    instead : str
        What to write in its place.

    Examples
    --------
    >>> import warnings
    >>> @deprecated(since="0.4", instead="total(x)")
    ... def add_up(x):
    ...     return sum(x)
    >>> with warnings.catch_warnings(record=True, action="always") as told:
    ...     add_up([1, 2])
    3
    >>> print(told[0].message)
    add_up is deprecated since cladify 0.4 and goes in 0.5; use total(x).
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def old(*args: P.args, **kwargs: P.kwargs) -> R:
            _warn(function.__name__, since, instead)
            return function(*args, **kwargs)

        return old

    return decorate


def renamed(*, since: str, **names: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """A decorator for a function of which keywords have new names: ``renamed(since="0.4", old="new")``.

    Examples
    --------
    >>> import warnings
    >>> @renamed(since="0.4", k="n_clusters")
    ... def cut(*, n_clusters):
    ...     return n_clusters
    >>> with warnings.catch_warnings(record=True, action="always") as told:
    ...     cut(k=3)
    3
    >>> print(told[0].message)
    k= of cut is deprecated since cladify 0.4 and goes in 0.5; use n_clusters=.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(function)
        def old(*args: Any, **kwargs: Any) -> R:
            for before, now in names.items():
                if before not in kwargs:
                    continue
                if now in kwargs:
                    raise InvalidInput(
                        f"{function.__name__} got {before}= and {now}=, which are the same; give {now}=."
                    )
                _warn(f"{before}= of {function.__name__}", since, f"{now}=")
                kwargs[now] = kwargs.pop(before)
            return function(*args, **kwargs)

        return old

    return decorate


def _warn(what: str, since: str, instead: str) -> None:
    text = f"{what} is deprecated since cladify {since} and goes in {removal(since)}; use {instead}."
    warnings.warn(text, Deprecation, stacklevel=3)
