"""Local search on a finished tree with exact changes of the objective: it improves any method's tree.

The public function is ``cladify.refine``; the package has another name because a submodule would take its place.
"""

from cladify.refinement._refine import refine

__all__ = ["refine"]
