"""The figures of the five papers by one command; see ``cladify papers --help`` and ``docs/papers.md``."""

from cladify.papers._data import make_data, needed
from cladify.papers._row import PAPERS, TIERS, Figure, Picture, Row, verdict
from cladify.papers._run import (
    all_pictures,
    all_rows,
    known_figures,
    load_figures,
    run_pictures,
    run_rows,
    worse_than,
)
from cladify.papers._write import markdown, page, share, summary

__all__ = [
    "PAPERS",
    "TIERS",
    "Figure",
    "Picture",
    "Row",
    "all_pictures",
    "all_rows",
    "known_figures",
    "load_figures",
    "make_data",
    "markdown",
    "needed",
    "page",
    "run_pictures",
    "run_rows",
    "share",
    "summary",
    "verdict",
    "worse_than",
]
