"""What all pictures share: axes to draw on, and texts that are shown as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cladify.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

    from cladify.tree import Tree

__all__ = ["COLORS", "check_items", "item_text", "make_axes", "plain"]

#: Okabe and Ito's colours, which stay apart for colour-blind people.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")

#: Fonts with the scripts that matplotlib's own font lacks, where the system has one of them.
_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "IPAexGothic",
    "Hiragino Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Malgun Gothic",
)


def make_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The given axes, or those of a new figure of ``size`` inches."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def plain(*texts: Text) -> None:
    """Show texts as they are: ``$`` is a dollar, and scripts such as Chinese use a font that has them."""
    from matplotlib import font_manager, rcParams

    installed = {font.name for font in font_manager.fontManager.ttflist}
    families = [*rcParams["font.sans-serif"][:1], *(font for font in _FONTS if font in installed)]
    for text in texts:
        text.set_parse_math(False)
        if not text.get_text().isascii():
            text.set_fontfamily(families)


def check_items(tree: Tree, items: Sequence[Any] | None) -> None:
    """Raise unless there is one item a leaf."""
    if items is not None and len(items) != tree.n_leaves:
        raise InvalidInput(f"items must have one entry a leaf ({tree.n_leaves}), got {len(items)}.")


def item_text(items: Sequence[Any] | None, leaf: int, most: int = 50) -> str:
    """The item of a leaf on one line."""
    text = " ".join(str(leaf if items is None else items[leaf]).split())
    text = "".join(c for c in text if c.isprintable())
    return text if len(text) <= most else text[: most - 1] + "…"
