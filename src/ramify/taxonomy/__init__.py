"""Taxonomies: trees that people read, with items, names, levels and edits in one safe file."""

from ramify.taxonomy.also import Also
from ramify.taxonomy.edits import Edit, Edits
from ramify.taxonomy.embed import TextEmbedder
from ramify.taxonomy.levels import Level
from ramify.taxonomy.namer import ClusterView
from ramify.taxonomy.names import Keyword
from ramify.taxonomy.reading import Examples, Match
from ramify.taxonomy.taxonomy import Taxonomy

__all__ = ["Also", "ClusterView", "Edit", "Edits", "Examples", "Keyword", "Level", "Match", "Taxonomy", "TextEmbedder"]
