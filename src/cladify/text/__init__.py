"""Texts as terms and as vectors: what `Taxonomy.from_texts` and the names of groups rest on."""

from __future__ import annotations

from cladify.text._embed import TextEmbedder
from cladify.text._static import StaticModel, static_vectors

__all__ = ["StaticModel", "TextEmbedder", "static_vectors"]
