"""What a notebook shows of a tree or a taxonomy by itself: a small picture and an outline, without any script."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING, Any

from cladify.plot.dendrogram import dendrogram
from cladify.plot.taxonomy import draw_taxonomy

if TYPE_CHECKING:
    from cladify.taxonomy import Taxonomy
    from cladify.tree import Tree

__all__ = ["taxonomy_html", "tree_html"]

_BRANCHES = 16
_MOST_LINES = 40


def taxonomy_html(taxonomy: Taxonomy) -> str:
    """The map of a taxonomy, or its tree where it has no map, beside its outline."""
    lines = taxonomy.summary(depth=2, max_children=8, n_examples=0, width=70).splitlines()
    kind = "tree" if taxonomy.points is None else "map"
    return _side_by_side(
        _picture(lambda ax: draw_taxonomy(taxonomy, kind, ax=ax), f"{kind} of {taxonomy.n_items} items"),
        repr(taxonomy),
        lines,
    )


def tree_html(tree: Tree) -> str:
    """The top of a tree as a dendrogram."""
    return _side_by_side(
        _picture(lambda ax: dendrogram(tree, n_branches=_BRANCHES, ax=ax), f"tree of {tree.n_leaves} leaves"),
        repr(tree),
        [],
    )


def _picture(draw: Any, alt: str) -> str:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), layout="constrained", dpi=80)  # unknown to pyplot: nothing to close
    FigureCanvasAgg(figure)
    draw(figure.subplots())
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=80)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{escape(alt)}" width="512" src="data:image/png;base64,{data}">'


def _side_by_side(picture: str, title: str, lines: list[str]) -> str:
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines"]
    outline = f'<pre style="margin:0;font-size:12px">{escape(chr(10).join(lines))}</pre>' if lines else ""
    return (
        f'<div><code>{escape(title)}</code><div style="display:flex;flex-wrap:wrap;gap:16px">'
        f"<div>{picture}</div>{outline}</div></div>"
    )
