"""The page of the explorer as a widget, sent through the notebook's own channel."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

__all__ = ["PageWidget"]

#: The page runs in a frame of its own, without the rights of the notebook's page.
_SCRIPT = """
export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts allow-downloads");
    frame.title = "cladify";
    frame.style.cssText = "width:100%;border:1px solid #8886;border-radius:4px";
    const draw = () => { frame.style.height = model.get("height") + "px"; frame.srcdoc = model.get("page"); };
    model.on("change:page", draw);
    model.on("change:height", draw);
    draw();
    el.append(frame);
    return () => frame.remove();
  },
};
"""


class PageWidget(anywidget.AnyWidget):
    """One page; ``still`` is what is shown where no script runs."""

    _esm = _SCRIPT
    page = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(640).tag(sync=True)

    def __init__(self, page: str, still: str, height: int) -> None:
        super().__init__(page=page, height=height)
        self._still = still

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, with the still picture beside it: a page without widgets shows that."""
        bundle = super()._repr_mimebundle_(**options)
        if bundle is not None:
            (bundle[0] if isinstance(bundle, tuple) else bundle)["text/html"] = self._still
        return bundle
