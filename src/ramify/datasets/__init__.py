"""Data to try things on."""

from ramify.datasets.docstrings import Docstrings, load_docstrings

__all__ = ["Docstrings", "load_docstrings"]
