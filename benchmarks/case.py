"""How a benchmark is declared: a `Case`, the data it needs, who takes part, and what is good about a result.

A file ``benchmarks/bench_<area>.py`` makes cases; importing it registers them. Every function asks for what it needs
by the names of its arguments: the sizes of the case, the arrays that ``prepare`` returned, and ``result``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

CASES: dict[str, Case] = {}


@dataclass(frozen=True)
class Contestant:
    """One way to do the work of a case."""

    name: str
    run: Callable[..., Any]
    needs: Sequence[str] = ()  # modules imported before the clock starts; a missing one is reported, not fatal
    warm_up: bool = False  # one unmeasured call first, in a process kept for all repeats (for just-in-time compilers)
    max_n: int | None = None  # sits out where the case's size n is larger


def _no_data() -> dict[str, Any]:
    return {}


@dataclass
class Case:
    """A named comparison. The first contestant is ours: all ratios are to it."""

    name: str
    about: str
    short: Mapping[str, Any] = field(default_factory=dict)  # sizes by default
    long: Mapping[str, Any] = field(default_factory=dict)  # what --long changes
    timeout: float = 600.0  # seconds a single call may take
    repeat: int = 3

    def __post_init__(self) -> None:
        if self.name in CASES:
            raise ValueError(f"two benchmark cases are called {self.name!r}")
        CASES[self.name] = self
        self.contestants: dict[str, Contestant] = {}
        self.qualities: dict[str, Callable[..., float]] = {}
        self.make: Callable[..., Mapping[str, Any]] = _no_data

    def sizes(self, long: bool) -> dict[str, Any]:
        return {**self.short, **(self.long if long else {})}

    def prepare(self, function: Callable[..., Mapping[str, Any]]) -> Callable[..., Mapping[str, Any]]:
        """Register what makes the data: sizes in, ``{name: array, sparse matrix or number}`` out."""
        self.make = function
        return function

    def contestant(
        self, name: str, *, needs: str | Sequence[str] = (), warm_up: bool = False, max_n: int | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a contestant; only its call is timed."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            modules = (needs,) if isinstance(needs, str) else tuple(needs)
            self.contestants[name] = Contestant(name, function, modules, warm_up, max_n)
            return function

        return register

    def quality(self, name: str) -> Callable[[Callable[..., float]], Callable[..., float]]:
        """Register a figure of merit of ``result``; taken once a contestant, outside the clock."""

        def register(function: Callable[..., float]) -> Callable[..., float]:
            self.qualities[name] = function
            return function

        return register


def call(function: Callable[..., Any], **known: Any) -> Any:
    """Call ``function`` with those of ``known`` that it names."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return function(**known)
    return function(**{p.name: known[p.name] for p in parameters if p.name in known})


def load_cases() -> dict[str, Case]:
    """All cases of all ``bench_*.py`` files."""
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        import_module(f"benchmarks.{path.stem}")
    return CASES
