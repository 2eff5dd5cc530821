"""Runs the rows, one after the other, and keeps every figure as soon as it is known."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from cladify._kit.atomic import atomic_write
from cladify._kit.params import check_choice
from cladify._kit.system import lock_file
from cladify.errors import FileError
from cladify.papers import (
    _chami,
    _charikar,
    _incremental,
    _naumov,
    _overlapping,
    _rounds,
    _theorems,
    _zhao,
)
from cladify.papers._data import DataMissing
from cladify.papers._row import PAPERS, TIERS, Figure, Picture, Row, verdict

__all__ = ["all_pictures", "all_rows", "known_figures", "load_figures", "run_pictures", "run_rows", "worse_than"]

_SOURCES: list[Callable[[], Iterator[Row]]] = [
    _naumov.rows,
    _charikar.rows,
    _incremental.rows,
    _rounds.rows,
    _overlapping.rows,
    _zhao.rows,
    _chami.rows,
    _theorems.rows,
]
_PICTURES: list[Callable[[], Iterator[Picture]]] = [
    _incremental.pictures,
    _rounds.pictures,
    _overlapping.pictures,
    _zhao.pictures,
    _chami.pictures,
]
#: Verdicts that ``--check`` orders, from worst to best.
_ORDER = {"worse": 0, "algorithm differs": 0, "differs": 0, "reproduced": 1, "better": 2}


def all_rows(tier: str = "normal", papers: Iterable[str] = ()) -> list[Row]:
    """The rows of a tier and those before it, of some papers or of all.

    >>> {row.paper for row in all_rows("quick", "CZ")} == {"C", "Z"}
    True
    """
    return _chosen(_SOURCES, tier, papers)


def all_pictures(tier: str = "normal", papers: Iterable[str] = ()) -> list[Picture]:
    """The figures with lines of a tier and those before it."""
    return _chosen(_PICTURES, tier, papers)


def _chosen(sources: Iterable[Callable[[], Iterator[Any]]], tier: str, papers: Iterable[str]) -> list[Any]:
    check_choice("tier", tier, TIERS)
    wanted = [check_choice("paper", name, list(PAPERS)) for name in papers] or list(PAPERS)
    allowed = TIERS[: TIERS.index(tier) + 1]
    every = [item for source in sources for item in source() if item.tier in allowed and item.paper in wanted]
    return sorted(every, key=lambda item: wanted.index(item.paper))


def run_rows(
    rows: list[Row], path: Path, *, again: bool = False, say: Callable[[Row, Figure, int], None] | None = None
) -> dict[str, Figure]:
    """Our figures by row; those that the file at ``path`` has of the same call are not computed again.

    Parameters
    ----------
    rows : list of Row
    path : Path
        A JSON file that has every figure found so far; written after each row, so a run that was stopped goes on, and
        several processes may work on different rows of one file.
    again : bool
        Compute figures that the file has, too.
    say : function (row, figure, how many are done), optional
    """
    return _run_all(rows, path, _compute, again, say)


def run_pictures(
    pictures: list[Picture],
    path: Path,
    *,
    again: bool = False,
    say: Callable[[Picture, Figure, int], None] | None = None,
) -> dict[str, Figure]:
    """The lines of drawn figures, kept in the same file."""
    return _run_all(pictures, path, _trace, again, say)


def _run_all(
    items: list[Any],
    path: Path,
    compute: Callable[[Any], Figure],
    again: bool,
    say: Callable[[Any, Figure, int], None] | None,
) -> dict[str, Figure]:
    found: dict[str, Figure] = {}
    for done, item in enumerate(items, 1):
        old = _same_call(item, _known(path))
        if again or old is None or old.missing or old.failed:
            old = replace(_timed(compute, item), digest=item.digest)
            _keep(path, item.key, old)
        found[item.key] = old
        if say is not None:
            say(item, old, done)
    return found


def known_figures(items: Sequence[Row | Picture], path: Path) -> dict[str, Figure]:
    """What the file at ``path`` has for rows or pictures as they are called now; the others were not run."""
    known = _known(path)
    return {item.key: _same_call(item, known) or Figure() for item in items}


def _same_call(item: Row | Picture, known: dict[str, Figure]) -> Figure | None:
    figure = known.get(item.key)
    return figure if figure is not None and figure.digest == item.digest else None


def worse_than(rows: list[Row], found: dict[str, Figure], recorded: dict[str, Figure]) -> list[str]:
    """Rows whose verdict is worse than the recorded one; seconds are left out."""
    lines = []
    for row in rows:
        now, then = verdict(row, found[row.key]), verdict(row, recorded.get(row.key, Figure()))
        if not row.is_time and now in _ORDER and then in _ORDER and _ORDER[now] < _ORDER[then]:
            lines.append(
                f"{row.key}: {then} before ({recorded[row.key].mean:.4g}), {now} now ({found[row.key].mean:.4g})"
            )
    return lines


def load_figures(path: Path) -> dict[str, Figure]:
    """The figures in a file that :func:`run_rows` wrote."""
    try:
        data = json.loads(path.read_text("utf-8"))
        return {key: _figure(entry) for key, entry in data["figures"].items()}
    except FileNotFoundError:
        raise FileError(f"{path} does not exist; a run writes papers.json into the folder of --out.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise FileError(f"{path} has no figures of the papers; delete it, or give another folder.") from None


def _figure(entry: Any) -> Figure:
    lines = entry.get("lines")
    return Figure(
        tuple(float(v) for v in entry["values"]),
        float(entry["seconds"]),
        str(entry["missing"]),
        str(entry.get("failed", "")),
        tuple(float(v) for v in entry.get("counts", ())),
        None if lines is None else {str(k): [(float(x), float(y)) for x, y in line] for k, line in lines.items()},
        str(entry.get("digest", "")),
    )


def _compute(row: Row) -> Figure:
    values = tuple(float(row.run(seed)) for seed in range(row.seeds))
    counts = [row.count(seed) for seed in range(row.seeds)] if row.count is not None else []
    return Figure(values, counts=tuple(float(v) for v in np.mean(counts, axis=0)) if counts else ())


def _trace(picture: Picture) -> Figure:
    return Figure(lines=picture.lines())


def _timed(compute: Callable[[Any], Figure], item: Any) -> Figure:
    """The figure with its processor time; whatever a row stops with, the others go on."""
    start = time.process_time()
    try:
        figure = compute(item)
    except DataMissing as error:
        return Figure(missing=str(error))
    except ModuleNotFoundError as error:
        return Figure(missing=f"needs {error.name}")
    except Exception as error:
        figure = Figure(failed=" ".join(f"{type(error).__name__}: {error}".split()))
    return replace(figure, seconds=time.process_time() - start)


def _keep(path: Path, key: str, figure: Figure) -> None:
    """Add one figure to the file, beside what other processes have put there by now."""
    with open(path.with_suffix(".lock"), "wb") as lock:
        lock_file(lock.fileno(), wait=True)
        known = {**_known(path), key: figure}
        entries = {key: {k: v for k, v in asdict(one).items() if v or k in _KEPT} for key, one in known.items()}
        with atomic_write(path, "wb") as file:
            file.write(json.dumps({"figures": entries}, ensure_ascii=False, indent=1).encode())


def _known(path: Path) -> dict[str, Figure]:
    return load_figures(path) if path.exists() else {}


#: Fields that every entry has; the others only where they say something.
_KEPT = ("values", "seconds", "missing")
