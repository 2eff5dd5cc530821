"""The explorer: a taxonomy or a tree in the browser, served from this machine to this machine.

``cladify explore FILE`` from the command line; ``taxonomy.explore()`` or :func:`explore` from Python and notebooks;
:func:`write_page` (``cladify export --html``) for one file that opens without a server; :func:`widget` for
notebooks whose kernel is on another machine.
"""

from cladify.explore.notebook import widget
from cladify.explore.run import Explorer, explore, open_document, write_page

__all__ = ["Explorer", "explore", "open_document", "widget", "write_page"]
