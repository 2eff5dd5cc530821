"""Quality against time: which method is worth its seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cladify.plot._figure import COLORS, make_axes, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cladify.objectives import Scoreboard

__all__ = ["scores"]


def scores(board: Scoreboard, seconds: Mapping[str, float], *, ax: Axes | None = None) -> Axes:
    """Draw the normalised objectives of a scoreboard against the time each tree took.

    Parameters
    ----------
    board : Scoreboard
        From :func:`cladify.scoreboard`; the columns of purity and ARI are drawn as well where it has them.
    seconds : mapping from names of trees to seconds
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, cladify
    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    >>> board = cladify.scoreboard({"hac": cladify.fit(X, "hac")}, X, objectives="mw")
    >>> scores(board, {"hac": 0.1}).get_xlabel()
    'seconds'
    """
    ax = make_axes(ax, (8, 5))
    curves: dict[str, dict[str, float]] = {}
    for name, row in board.scores.items():
        for key, score in row.items():
            curves.setdefault(f"{' '.join(key)} α*", {})[name] = score.normalized
    curves.update(
        {title: dict(board.columns[title]) for title in ("dendrogram purity", "ARI") if title in board.columns}
    )
    for i, (title, values) in enumerate(curves.items()):
        names = sorted(values, key=lambda name: seconds[name])
        at = [seconds[name] for name in names]
        ax.plot(at, [values[name] for name in names], "o", color=COLORS[i % len(COLORS)], label=title)
    ax.set_xscale("log")
    for (name, time), place in zip(sorted(seconds.items(), key=lambda entry: entry[1]), _apart(seconds), strict=True):
        ax.axvline(time, color="#d4d9e0", linewidth=0.8, zorder=0)
        plain(ax.text(place, 1.01, name, rotation=60, fontsize=8, transform=ax.get_xaxis_transform()))
    for axis in (ax.xaxis.set_major_formatter, ax.xaxis.set_minor_formatter):
        axis("{x:.2g}")
    ax.tick_params(axis="x", which="both", labelsize=8)
    ax.set_xlabel("seconds")
    ax.set_ylabel("score")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    ax.spines[["right", "top"]].set_visible(False)
    return ax


def _apart(seconds: Mapping[str, float]) -> list[float]:
    """Where the names go, from short to long times: at their time, or as much later as the one before needs."""
    times = sorted(max(time, 1e-9) for time in seconds.values())
    ratio = max(times[-1] / times[0], 10.0) ** (1 / 28) if times else 1.0
    places: list[float] = []
    for time in times:
        places.append(max(time, places[-1] * ratio) if places else time)
    return places
