"""Taxonomies: trees that people read, with items, names, levels and edits in one safe file."""

from cladify.taxonomy._also import Also
from cladify.taxonomy._edits import Edit, Edits
from cladify.taxonomy._embed import TextEmbedder
from cladify.taxonomy._levels import Level
from cladify.taxonomy._namer import ClusterView
from cladify.taxonomy._names import Keyword
from cladify.taxonomy._reading import Examples, Match
from cladify.taxonomy.taxonomy import Taxonomy

__all__ = ["Also", "ClusterView", "Edit", "Edits", "Examples", "Keyword", "Level", "Match", "Taxonomy", "TextEmbedder"]
