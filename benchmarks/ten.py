"""Ten taxonomies of 4000 items of real data: what pictures of them are judged by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.data import real

__all__ = ["SETS", "taxonomies"]

ROWS = 4000
SETS = (
    "debian_minilm",
    "wordnet_minilm",
    "newsgroups20_minilm",
    "glove100",
    "mnist",
    "aloi",
    "optdigits",
    "letter",
    "satimage",
    "docstrings",
)


def taxonomies(wanted: list[str] | None = None) -> Iterator[tuple[str, Any]]:
    """The name and the taxonomy of each, or of those that are wanted."""
    import cladify

    for name in SETS:
        short = name.split("_")[0]
        if not wanted or short in wanted:
            yield short, cladify.Taxonomy.fit(*_vectors_and_items(name), metric="cosine")


def _vectors_and_items(name: str) -> tuple[np.ndarray, list[str]]:
    if name == "docstrings":
        from cladify.datasets import load_docstrings

        corpus = load_docstrings()
        return corpus.X, list(corpus.names)
    data = real(name)
    rows = np.random.default_rng(0).permutation(len(data["X"]))[:ROWS]
    return data["X"][rows].astype(np.float32), _items_of(data, rows)


def _items_of(data: dict[str, np.ndarray], rows: np.ndarray) -> list[str]:
    if "names" in data:
        return [str(name) for name in data["names"][rows]]
    y = data["y"][rows]
    return [str(data["class_names"][label]) if "class_names" in data else f"class {label}" for label in y]
