"""Taxonomies that are steered: asked-for numbers of groups, named groups, links and known labels."""
