"""Taxonomies for other programs, and from them: SKOS, JSON, outlines."""
