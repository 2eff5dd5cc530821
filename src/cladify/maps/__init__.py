"""Points of a neighbour graph in the plane, to look at.

The public function is ``cladify.layout``; the package has another name because a submodule would take its place.
"""

from cladify.maps.layout import layout

__all__ = ["layout"]
