"""Runs the rows, one after the other, and keeps every figure as soon as it is known."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cladify._kit.atomic import atomic_write
from cladify._kit.params import check_choice
from cladify.errors import FileError
from cladify.papers import _chami, _charikar, _monath, _naumov, _zhao
from cladify.papers._data import DataMissing
from cladify.papers._row import PAPERS, TIERS, Figure, Row, verdict

__all__ = ["all_rows", "load_figures", "run_rows", "worse_than"]

_SOURCES: dict[str, Callable[[], Iterator[Row]]] = {
    "N": _naumov.rows,
    "C": _charikar.rows,
    "M": _monath.rows,
    "Z": _zhao.rows,
    "H": _chami.rows,
}


def all_rows(tier: str = "normal", papers: Iterable[str] = ()) -> list[Row]:
    """The rows of a tier and those before it, of some papers or of all.

    >>> {row.paper for row in all_rows("quick", "CZ")} == {"C", "Z"}
    True
    """
    check_choice("tier", tier, TIERS)
    wanted = [check_choice("paper", name, list(PAPERS)) for name in papers] or list(PAPERS)
    allowed = TIERS[: TIERS.index(tier) + 1]
    return [row for name in wanted for row in _SOURCES[name]() if row.tier in allowed]


def run_rows(
    rows: list[Row], path: Path, *, again: bool = False, say: Callable[[Row, Figure, int], None] | None = None
) -> dict[str, Figure]:
    """Our figures by row; those in the file at ``path`` are not computed again.

    Parameters
    ----------
    rows : list of Row
    path : Path
        A JSON file that has every figure found so far; written after each row, so a run that was stopped goes on.
    again : bool
        Compute figures that the file has, too.
    say : function (row, figure, how many are done), optional
    """
    known = load_figures(path) if path.exists() else {}
    found: dict[str, Figure] = {}
    for done, row in enumerate(rows, 1):
        old = known.get(row.key)
        if again or old is None or not old.values:
            known[row.key] = old = _run(row)
            _save(path, known)
        found[row.key] = old
        if say is not None:
            say(row, old, done)
    return found


def worse_than(rows: list[Row], found: dict[str, Figure], recorded: dict[str, Figure]) -> list[str]:
    """Rows whose verdict is worse than the recorded one."""
    order = {"worse": 0, "differs": 0, "reproduced": 1, "better": 2}
    lines = []
    for row in rows:
        now, then = verdict(row, found[row.key]), verdict(row, recorded.get(row.key, Figure()))
        if now in order and then in order and order[now] < order[then]:
            lines.append(
                f"{row.key}: {then} before ({recorded[row.key].mean:.4g}), {now} now ({found[row.key].mean:.4g})"
            )
    return lines


def load_figures(path: Path) -> dict[str, Figure]:
    """The figures in a file that :func:`run_rows` wrote."""
    try:
        data = json.loads(path.read_text("utf-8"))
        return {key: _figure(entry) for key, entry in data["figures"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise FileError(f"{path} has no figures of the papers; delete it, or give another folder.") from None


def _figure(entry: Any) -> Figure:
    return Figure(tuple(float(v) for v in entry["values"]), float(entry["seconds"]), str(entry["missing"]))


def _run(row: Row) -> Figure:
    start = time.perf_counter()
    try:
        values = tuple(float(row.run(seed)) for seed in range(row.seeds))
    except DataMissing as error:
        return Figure(missing=str(error))
    except ImportError as error:
        return Figure(missing=f"needs {error.name}")
    return Figure(values, time.perf_counter() - start)


def _save(path: Path, known: dict[str, Figure]) -> None:
    with atomic_write(path, "wb") as file:
        entries = {key: asdict(figure) for key, figure in known.items()}
        file.write(json.dumps({"figures": entries}, ensure_ascii=False, indent=1).encode())
