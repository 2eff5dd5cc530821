"""The explorer inside a notebook, also where the kernel runs on another machine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cladify._kit.params import check_int
from cladify.errors import MissingExtra
from cladify.explore._page import page_of
from cladify.explore.run import open_document

__all__ = ["widget"]


def widget(what: Any, *, height: int = 640, **options: Any) -> Any:
    """The page of a taxonomy or a tree as a widget of a notebook.

    The page is that of :func:`cladify.explore.write_page`, at most some 5 MB, and travels through the notebook's own
    channel: JupyterLab on another machine, VS Code and Colab show it without a port of their own. Edits are made in
    Python or in :func:`cladify.explore.explore`. Needs the extra ``notebook``.

    Parameters
    ----------
    what : Taxonomy, Tree or path
    height : int
        Of the page, in pixels.
    **options
        As in :func:`cladify.explore.open_document`.

    Returns
    -------
    anywidget.AnyWidget
        Where no script runs, a notebook shows the still picture and the outline in its place.

    Examples
    --------
    >>> from cladify.explore import widget
    >>> widget(cladify.Taxonomy.load("posts.taxonomy"), height=800)  # doctest: +SKIP
    """
    height = check_int("height", height, low=100)
    document = open_document(what, **options)
    try:
        module = import_module("cladify.explore._widget")
    except ModuleNotFoundError as error:
        if error.name not in ("anywidget", "traitlets"):
            raise
        raise MissingExtra("a widget in a notebook", "notebook") from None
    return module.PageWidget(page_of(document.view), document.taxonomy._repr_html_(), height)
