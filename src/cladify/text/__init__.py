"""Texts as terms and as vectors: what `Taxonomy.from_texts` and the names of groups rest on."""

from __future__ import annotations

from cladify.text._embed import TextEmbedder

__all__ = ["TextEmbedder"]
