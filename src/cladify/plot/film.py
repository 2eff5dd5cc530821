"""The optimisation of an embedding as a film: a GIF, or a page that needs nothing but a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from cladify._kit.params import check_int
from cladify.errors import FileError, InvalidInput
from cladify.plot._figure import COLORS

__all__ = ["save_film"]

_MOST_BRANCHES = 200  # nodes drawn with their branches, from the root down
_MOST_CLASSES = 12  # in the legend


def save_film(
    snapshots: Sequence[tuple[int, np.ndarray]],
    out: str | os.PathLike[str],
    *,
    labels: Sequence[Any] | None = None,
    interval: int = 100,
) -> Path:
    """Write how an embedding came about: leaves move in the Poincaré disk, with the tree that they decode to.

    Parameters
    ----------
    snapshots : list of (step, embedding)
        :attr:`cladify.HypHC.snapshots_` of a model with ``n_snapshots`` above 0.
    out : path
        ``.html`` is one file with a slider, which loads nothing and needs no matplotlib; ``.gif`` an animated picture.
    labels : sequence of n classes, optional
        Colours of the leaves.
    interval : int
        Milliseconds a frame.

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np, cladify
    >>> from tempfile import mkdtemp
    >>> model = cladify.HypHC(n_steps=20, n_snapshots=5, random_state=0).fit(np.eye(4) + 0.1)
    >>> save_film(model.snapshots_, Path(mkdtemp()) / "film.html", labels=list("aabb")).suffix
    '.html'
    """
    from cladify._kit.atomic import atomic_path

    out = Path(out)
    interval = check_int("interval", interval, low=1)
    if len(snapshots) == 0:
        raise InvalidInput("There are no snapshots; fit the model with n_snapshots above 0.")
    n = len(snapshots[0][1])
    if labels is not None and len(labels) != n:
        raise InvalidInput(f"labels must have one entry a leaf ({n}), got {len(labels)}.")
    if out.suffix.lower() not in (".html", ".gif"):
        raise FileError(f"{out}: the ending of a film says its format; use .html or .gif.")
    if out.suffix.lower() == ".html":
        page = _page(snapshots, labels, interval)
        with atomic_path(out) as draft:
            draft.write_text(page, encoding="utf-8")
        return out
    from matplotlib import pyplot

    from cladify.plot.disk import animate_disk

    film = animate_disk(snapshots, labels=labels, interval=interval)
    with atomic_path(out) as draft:
        film.save(draft, writer=_gif_writer(interval))
    pyplot.close(film._fig)  # type: ignore[attr-defined]
    return out


def _gif_writer(interval: int) -> Any:
    """Pillow's writer; the name of a draft does not end in .gif, so the format is named."""
    from matplotlib.animation import PillowWriter

    class Writer(PillowWriter):
        def finish(self) -> None:
            first, *rest = self._frames  # type: ignore[attr-defined]
            first.save(
                self.outfile,
                format="gif",
                save_all=True,
                append_images=rest,
                duration=interval,
                loop=0,
            )

    return Writer(fps=max(1, 1000 // interval))


def _page(snapshots: Sequence[tuple[int, np.ndarray]], labels: Sequence[Any] | None, interval: int) -> str:
    classes, code = np.unique(np.zeros(len(snapshots[0][1])) if labels is None else labels, return_inverse=True)
    colors = [COLORS[c % len(COLORS)] for c in range(len(classes))]
    legend = labels is not None and len(classes) <= _MOST_CLASSES
    film = {
        "interval": interval,
        "colors": [colors[c] for c in code.reshape(-1)],
        "classes": [[str(name), color] for name, color in zip(classes, colors, strict=True)] if legend else [],
        "frames": [_frame(step, np.asarray(Z, dtype=np.float64)) for step, Z in snapshots],
    }
    # No text of the data can end the element that holds it.
    data = json.dumps(film, separators=(",", ":")).replace("<", "\\u003c")
    page = files("cladify.plot").joinpath("film.html").read_text(encoding="utf-8")
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        page = page.replace(f"@{tag}-hash@", f"sha256-{digest}")
    return page.replace("@film@", data)


def _frame(step: int, Z: np.ndarray) -> dict[str, Any]:
    """Places of the leaves and of the nodes that are drawn, and branches as pairs of places."""
    from cladify.hyperbolic import decode
    from cladify.plot.disk import node_places

    tree = decode(Z, method="greedy")
    place = node_places(tree, Z)
    n = tree.n_leaves
    first = max(tree.root - _MOST_BRANCHES + 1, n)  # of the nodes that are drawn
    child = np.flatnonzero(tree.parent >= first)
    below = child[(child >= n) & (child < first)]
    shown = np.concatenate([np.arange(n), np.arange(first, tree.n_nodes), below])
    number = np.full(tree.n_nodes, -1)
    number[shown] = np.arange(len(shown))
    branches = np.stack([number[child], number[tree.parent[child]]], axis=1)
    return {"step": int(step), "places": np.round(place[shown], 4).tolist(), "branches": branches.tolist()}
