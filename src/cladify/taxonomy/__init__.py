"""Taxonomies: trees that people read, with items, names, levels and edits in one safe file."""

from cladify.taxonomy.also import Also
from cladify.taxonomy.edits import Edit, Edits
from cladify.taxonomy.embed import TextEmbedder
from cladify.taxonomy.levels import Level
from cladify.taxonomy.namer import ClusterView
from cladify.taxonomy.names import Keyword
from cladify.taxonomy.reading import Examples, Match
from cladify.taxonomy.taxonomy import Taxonomy

__all__ = ["Also", "ClusterView", "Edit", "Edits", "Examples", "Keyword", "Level", "Match", "Taxonomy", "TextEmbedder"]
