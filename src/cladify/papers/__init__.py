"""The figures of the five papers by one command; see ``cladify papers --help`` and ``docs/papers.md``."""

from cladify.papers._row import PAPERS, TIERS, Figure, Row, verdict
from cladify.papers._run import all_rows, load_figures, run_rows, worse_than
from cladify.papers._write import markdown, summary

__all__ = [
    "PAPERS",
    "TIERS",
    "Figure",
    "Row",
    "all_rows",
    "load_figures",
    "markdown",
    "run_rows",
    "summary",
    "verdict",
    "worse_than",
]
