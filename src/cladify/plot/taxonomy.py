"""A taxonomy as one picture: the map of its items with names on their islands, or its tree from left to right."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter

from cladify._kit.params import check_choice, check_int
from cladify.errors import InvalidInput
from cladify.maps._islands import densest
from cladify.plot._figure import make_axes, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cladify.taxonomy import Taxonomy

__all__ = ["draw_taxonomy"]

_GROUND = {False: "#ffffff", True: "#14181d"}
_INK = {False: "#10151a", True: "#eef1f4"}
_GREY = {False: "#9aa4ae", True: "#6d7985"}
#: Those of the explorer (static/colors.js): apart for colour-blind readers, and none too pale for white.
_STRONG = (
    "#2e6ba6", "#c95b14", "#0f7d58", "#ac428e", "#7a5c10", "#6254be",
    "#be3446", "#008094", "#767c18", "#882255", "#5e6872", "#332288",
)  # fmt: skip
_TRIES = ((0, 0), (0, -0.8), (0, 0.8), (0, -1.6), (0, 1.6), (-0.4, -0.8), (0.4, 0.8), (-0.5, 0), (0.5, 0))
_LESS = (1.0, 0.85, 0.72)  # of the size of a name: a smaller one on its island is better than none
_OTHERS = 36  # places of a group that its name may stand on
_ROW = 0.19  # inches of a row of the tree


def draw_taxonomy(
    taxonomy: Taxonomy,
    kind: str = "map",
    *,
    n_groups: int = 14,
    depth: int = 3,
    dark: bool = False,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the map of a taxonomy, or its tree.

    Parameters
    ----------
    taxonomy : Taxonomy
    kind : "map" or "tree"
        The map has a point an item and names where they fit, none over another. The tree has a column a depth and a row
        a group, as tall as its share but never too low to read; what does not fit is counted.
    n_groups : int
        The map is coloured by the level of the taxonomy whose number of groups is nearest to this.
    depth : int
        Columns of the tree below the first.
    dark : bool
        Light on dark.
    title : str, optional
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, cladify
    >>> X = np.repeat(np.eye(3), 8, axis=0) + np.random.default_rng(0).normal(scale=0.1, size=(24, 3))
    >>> taxonomy = cladify.Taxonomy.fit(X, ["oak leaf"] * 8 + ["fast car"] * 8 + ["red wine"] * 8, min_size=4)
    >>> ax = draw_taxonomy(taxonomy)
    >>> {"fast car", "oak leaf", "red wine"} <= {text.get_text() for text in ax.texts}
    True
    """
    check_choice("kind", kind, ["map", "tree"])
    n_groups = check_int("n_groups", n_groups, low=1)
    depth = check_int("depth", depth, low=1)
    ax = make_axes(ax, (10, 7.5))
    ax.figure.set_facecolor(_GROUND[dark])
    ax.set_facecolor(_GROUND[dark])
    ax.set_axis_off()
    if title is not None:
        plain(ax.set_title(title, loc="left", color=_INK[dark]))
    level = min(taxonomy.levels, key=lambda level: abs(np.log(level.n_clusters / n_groups)))
    nodes = np.asarray(level.nodes, dtype=np.int64)
    color = _colors(taxonomy, nodes, dark)
    if kind == "map":
        _map(ax, taxonomy, nodes, color, dark)
    else:
        _tree(ax, taxonomy, color, depth, dark)
    return ax


def _mixed(color: str, other: str, share: float) -> str:
    a, b = (np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) for c in (color, other))
    return "#" + "".join(f"{round(v):02x}" for v in a * (1 - share) + b * share)


def _colors(taxonomy: Taxonomy, nodes: np.ndarray, dark: bool) -> dict[int, str]:
    """A colour a group: the colour-blind safe set, then lighter and darker ones; near groups differ most."""
    palette = (
        [*_STRONG, *(_mixed(c, "#000000", 0.35) for c in _STRONG)]
        if not dark
        else [*(_mixed(c, "#ffffff", 0.3) for c in _STRONG), *(_mixed(c, "#ffffff", 0.6) for c in _STRONG)]
    )
    nodes = nodes[np.argsort(-taxonomy.tree.size[nodes], kind="stable")]
    if taxonomy.points is None:
        return {v: palette[i % len(palette)] for i, v in enumerate(nodes.tolist())}
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in palette], dtype=float)
    alike = np.exp(-np.linalg.norm(rgb[:, None] - rgb[None], axis=2) / 70)
    places = taxonomy.points / max(float(np.ptp(taxonomy.points, axis=0).max()), 1e-9)
    centre = np.array([densest(*places[taxonomy.tree.members(v)].T)[:2] for v in nodes.tolist()])
    chosen: list[int] = []
    for i in range(len(nodes)):
        nearness = 1.0 / (0.003 + ((centre[:i] - centre[i]) ** 2).sum(axis=1))
        again = 200.0 * np.bincount(chosen, minlength=len(palette))
        cost = 0.02 * np.arange(len(palette)) + again + alike[:, chosen] @ nearness
        chosen.append(int(np.argmin(cost)))
    return {v: palette[c] for v, c in zip(nodes.tolist(), chosen, strict=True)}


# --- the map ----------------------------------------------------------------------------------------------------------


def _map(ax: Axes, taxonomy: Taxonomy, nodes: np.ndarray, color: dict[int, str], dark: bool) -> None:
    tree = taxonomy.tree
    if taxonomy.points is None:
        raise InvalidInput("the taxonomy has no map: it was made without vectors. Use kind='tree'.")
    points = taxonomy.points
    shade = np.full(tree.n_leaves, _GREY[dark], dtype="<U7")
    for v in nodes.tolist():
        shade[tree.members(v)] = color[v]
    shown = np.ones(tree.n_leaves, dtype=bool)
    for v in taxonomy.hidden:
        shown[tree.members(v)] = False
    size = float(np.clip(60_000 / tree.n_leaves, 0.3, 14))
    x, y = points[shown].T
    ax.scatter(x, y, s=size, c=shade[shown], alpha=0.85, linewidths=0, rasterized=True)
    low, high = np.quantile(points[shown], [0.002, 0.998], axis=0)  # a few lonely points do not make the rest small
    figure: Any = ax.figure
    figure.canvas.draw()
    frame = ax.get_window_extent(figure.canvas.get_renderer())
    pixels = np.array([frame.width, frame.height])
    half = 0.5 * pixels * float((1.12 * np.maximum(high - low, 1e-6) / pixels).max())  # both axes have one scale
    middle = 0.5 * (low + high)
    ax.set_xlim(middle[0] - half[0], middle[0] + half[0])
    ax.set_ylim(middle[1] + half[1], middle[1] - half[1])  # downwards, as in the explorer
    _regions(ax, points[shown], shade[shown])
    _names(ax, taxonomy, points, nodes, color, dark)


def _regions(ax: Axes, points: np.ndarray, shade: np.ndarray) -> None:
    """Soft land below the points: the mix of their colours, the denser the stronger."""
    (left, right), (low, high) = ax.get_xlim(), sorted(ax.get_ylim())
    wide, tall = 260, max(2, round(260 * (high - low) / (right - left)))
    cell = ((points - [left, low]) / [right - left, high - low] * [wide, tall]).astype(np.int64)
    inside = ((cell >= 0) & (cell < [wide, tall])).all(axis=1)
    flat = cell[inside, 1] * wide + cell[inside, 0]
    names, which = np.unique(shade[inside], return_inverse=True)
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in names.tolist()])[which]
    layers = [np.bincount(flat, weight, tall * wide) for weight in (np.ones(len(flat)), *rgb.T)]
    count, *mixed = (gaussian_filter(layer.reshape(tall, wide), 4.0) for layer in layers)
    land = np.stack([part / np.maximum(count, 1e-12) for part in mixed], axis=2).clip(0, 1)
    usual = np.quantile(count.ravel()[flat], 0.5) if len(flat) else 1.0
    alpha = 0.3 * (1 - np.exp(-1.5 * count / max(usual, 1e-12)))
    frame = (left, right, low, high)
    limits = ax.get_xlim(), ax.get_ylim()
    ax.imshow(np.dstack([land, alpha]), extent=frame, origin="lower", aspect="auto", interpolation="bilinear", zorder=0)
    ax.set(xlim=limits[0], ylim=limits[1])


def _names(
    ax: Axes, taxonomy: Taxonomy, points: np.ndarray, nodes: np.ndarray, color: dict[int, str], dark: bool
) -> None:
    """Names of the groups and then of their parts, large ones first, where there is room."""
    from matplotlib import patheffects

    tree = taxonomy.tree
    figure: Any = ax.figure
    renderer = figure.canvas.get_renderer()
    frame = ax.get_window_extent(renderer)
    taken: list[Any] = []
    halo = [patheffects.withStroke(linewidth=2.5, foreground=_GROUND[dark])]
    said: set[str] = set()
    for v, above, rank in _candidates(taxonomy, nodes):
        bare = re.sub(r" \(\d+\)$", "", taxonomy.names[v])
        if rank > 0 and bare in said:
            continue  # "green (2)" says no more than "green"
        scale = min(1.0, float(np.sqrt(3 * tree.size[v] / tree.n_leaves)))
        middles = _middles(points[tree.members(v)])
        text = ax.text(
            *middles[0],
            "",
            ha="center",
            va="center",
            fontweight="bold" if rank == 0 else "normal",
            color=_mixed(color.get(above, _INK[dark]), _INK[dark], 0.62),
            path_effects=halo,
            zorder=5 - rank,
        )
        plain(text)
        # Near the middle, then smaller, and then on other points of the group.
        for share, at in product(_LESS, (middles[:1], middles[1:])) if rank == 0 else ((1.0, middles[:1]),):
            text.set_text(_lines(taxonomy.names[v]))
            text.set_fontsize(share * (9 + 6 * scale) if rank == 0 else 7)
            box = _free_box(ax, text, at, frame, taken, _TRIES if rank == 0 else _TRIES[:3])
            if box is not None:
                taken.append(box)
                said.add(bare)
                break
        else:
            text.remove()


def _lines(name: str) -> str:
    """A whole name on at most three lines where it can be."""
    widths = (22, 28, 36, 48)
    return next(
        (text for width in widths if (text := textwrap.fill(name, width)).count("\n") < 3), textwrap.fill(name, 60)
    )


def _middles(points: np.ndarray) -> list[tuple[float, float]]:
    """Places for the name of a group: where most of its points are, and some of its points, the nearest first."""
    x, y, _ = densest(*points.T)
    others = points[:: max(1, len(points) // _OTHERS)]
    near = np.argsort(((others - [x, y]) ** 2).sum(axis=1), kind="stable")[: 2 * len(others) // 3]  # no strays
    return [(x, y), *(tuple(place) for place in others[near].tolist())]


def _free_box(ax: Axes, text: Any, middles: Any, frame: Any, taken: list[Any], tries: Any) -> Any:
    """Move a text to the first place where it is in nobody's way; its box, or None."""
    box = text.get_window_extent()
    for middle in middles:
        corner = ax.transData.transform(middle) - [0.5 * box.width, 0.5 * box.height]
        for right, up in tries:
            moved = box.translated(corner[0] + right * box.width - box.x0, corner[1] + up * box.height - box.y0)
            inside = frame.x0 <= moved.x0 and moved.x1 <= frame.x1 and frame.y0 <= moved.y0 and moved.y1 <= frame.y1
            if inside and not any(moved.padded(2).overlaps(other) for other in taken):
                place = np.array([0.5 * (moved.x0 + moved.x1), 0.5 * (moved.y0 + moved.y1)])
                text.set_position(tuple(ax.transData.inverted().transform(place)))
                return moved
    return None


def _candidates(taxonomy: Taxonomy, nodes: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Groups to name with the coloured group around them and their rank: those of the level, then their parts."""
    tree = taxonomy.tree
    ordered = nodes[np.argsort(-tree.size[nodes], kind="stable")].tolist()
    yield from ((v, v, 0) for v in ordered if v not in taxonomy.hidden)
    parts = [(kid, v) for v in ordered for kid in _parts(taxonomy, v) if tree.size[kid] >= 0.004 * tree.n_leaves]
    yield from ((kid, v, 1) for kid, v in sorted(parts, key=lambda pair: -tree.size[pair[0]])[:60])


def _parts(taxonomy: Taxonomy, v: int) -> list[int]:
    """The groups that a group splits into, the largest first."""
    tree = taxonomy.tree
    kids = [kid for kid in tree.children(v).tolist() if kid >= tree.n_leaves and kid not in taxonomy.hidden]
    return sorted(kids, key=lambda kid: -tree.size[kid])


# --- the tree ---------------------------------------------------------------------------------------------------------


def _tree(ax: Axes, taxonomy: Taxonomy, color: dict[int, str], depth: int, dark: bool) -> None:
    tree = taxonomy.tree
    figure: Any = ax.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    frame = ax.get_window_extent(renderer)
    tall = frame.height / figure.dpi / _ROW  # the picture in rows
    ax.set_xlim(0, depth + 0.6)
    ax.set_ylim(tall, 0)
    wide = frame.width / (depth + 0.6)
    stack: list[tuple[int, int, float, float, str]] = [(tree.root, 0, 0.0, tall, _GREY[dark])]
    while stack:
        v, column, top, height, inherited = stack.pop()
        left, width = (0.0, 0.6) if column == 0 else (column - 0.4, 1.0)
        face = color.get(v, inherited)
        soft = _mixed(face, _GROUND[dark], 0.55)  # so soft that the ink reads on every colour
        ax.bar(left, height - 0.12, width - 0.01, top, align="edge", color=soft, linewidth=0)
        middle = top + min(0.5 * height, 0.55) - 0.06
        _write(ax, _forms(taxonomy.names[v], int(tree.size[v])), left, middle, width * wide, dark, renderer)
        kids = _parts(taxonomy, v) if column < depth else []
        room = int(height)
        shown = kids if len(kids) <= room else kids[: max(0, room - 1)]
        spare = height - len(shown) - (len(kids) > len(shown))
        total = max(1, int(tree.size[shown].sum()))
        for kid in shown:
            rows = 1 + max(0.0, spare) * float(tree.size[kid]) / total
            stack.append((kid, column + 1, top, rows, face))
            top += rows
        if len(kids) > len(shown):
            rest = kids[len(shown) :]
            names = [taxonomy.names[kid] for kid in rest]
            more = [(f"{len(rest)} more: " + " · ".join(names[:k]), 7.5) for k in range(len(rest), 0, -1)]
            more.append((f"{len(rest)} more", 7.5))
            reach = (depth + 0.6 - left - width) * wide
            _write(ax, more, left + width, top + 0.5 * min(1.0, height) - 0.06, reach, dark, renderer)


def _forms(name: str, size: int) -> list[tuple[str, float]]:
    """A name with its size, from the best way to write it to the smallest: text and points."""
    line = f"{name}  {size}"
    halves = textwrap.wrap(line, max(12, -(-len(line) // 2) + 4))
    return [
        (line, 7.5),
        (line, 6.5),
        (line, 5.5),
        *([("\n".join(halves), 5.5)] if len(halves) == 2 else []),
        (line, 4.5),
    ]


def _write(
    ax: Axes, forms: list[tuple[str, float]], left: float, middle: float, pixels: float, dark: bool, renderer: Any
) -> None:
    """The first of some forms of a text that ends where its box does; where none does, the beginning of the last."""
    text = ax.text(left + 0.015, middle, "", va="center", ha="left", color=_INK[dark], linespacing=0.95)
    plain(text)
    for words, size in forms:
        text.set(text=words, fontsize=size)
        if text.get_window_extent(renderer).width <= pixels - 10:
            return
    while text.get_window_extent(renderer).width > pixels - 10 and len(words) > 1:
        words = words[: int(len(words) * min(0.97, (pixels - 10) / text.get_window_extent(renderer).width)) - 1]
        text.set_text(words.rstrip() + "…")
