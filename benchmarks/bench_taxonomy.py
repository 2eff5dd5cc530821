"""Taxonomies: how coherent the names are beside c-TF-IDF, and how long texts take."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.data import real

N_TERMS = 5


def _texts(text_utf8: np.ndarray, text_ptr: np.ndarray) -> list[str]:
    data = text_utf8.tobytes()
    return [data[a:b].decode() for a, b in pairwise(text_ptr)]


def _packed(texts: list[str]) -> dict[str, np.ndarray]:
    data = [text.encode() for text in texts]
    pointers = np.cumsum([0, *(len(text) for text in data)])
    return {"text_utf8": np.frombuffer(b"".join(data), np.uint8), "text_ptr": pointers}


coherence = Case(
    "names-coherence",
    "NPMI over the documents of the five best terms of each of 20 clusters of 20 newsgroups; bar: at least c-TF-IDF's",
    short={"n": 6000, "k": 20},
    long={"n": 18_846},
    repeat=1,
)


@coherence.prepare
def newsgroups(n: int, k: int) -> dict[str, Any]:
    import cladify

    data, texts = real("newsgroups20_minilm"), real("newsgroups20_text")
    rows = np.sort(np.random.default_rng(0).choice(len(data["X"]), n, replace=False))
    tree = cladify.fit(data["X"][rows].astype(np.float32), "graph", metric="cosine", random_state=0)
    every = _texts(texts["text_utf8"], texts["text_ptr"])
    return {"labels": tree.cut(n_clusters=k, by="spread"), **_packed([every[i] for i in rows])}


@coherence.contestant("cladify", needs="cladify.taxonomy")
def ours(text_utf8: np.ndarray, text_ptr: np.ndarray, labels: np.ndarray) -> list[list[str]]:
    from cladify import Tree
    from cladify.taxonomy._names.names import node_keywords
    from cladify.text._terms import count_terms

    n, k = len(labels), int(labels.max()) + 1
    tree = Tree(np.concatenate([n + labels, np.full(k, n + k), [-1]]))
    keywords = node_keywords(tree, count_terms(_texts(text_utf8, text_ptr)))
    return [[keyword.term for keyword in found[:N_TERMS]] for found in keywords[:k]]


def _c_tf_idf(texts: list[str], labels: np.ndarray, stop_words: str | None) -> list[list[str]]:
    """Terms with the largest tf · log(1 + A / f): BERTopic's class-based TF-IDF, one text a cluster."""
    from sklearn.feature_extraction.text import CountVectorizer

    joined = [" ".join(texts[i] for i in np.flatnonzero(labels == c)) for c in range(labels.max() + 1)]
    vectorizer = CountVectorizer(stop_words=stop_words)
    counts = vectorizer.fit_transform(joined).toarray().astype(float)
    score = counts / counts.sum(axis=1, keepdims=True) * np.log(1 + counts.sum(axis=1).mean() / counts.sum(axis=0))
    words = vectorizer.get_feature_names_out()
    return [[str(words[i]) for i in np.argsort(-row)[:N_TERMS]] for row in score]


@coherence.contestant("c-TF-IDF, stop words out", needs="sklearn.feature_extraction.text")
def without_stop_words(text_utf8: np.ndarray, text_ptr: np.ndarray, labels: np.ndarray) -> list[list[str]]:
    return _c_tf_idf(_texts(text_utf8, text_ptr), labels, "english")


@coherence.contestant("c-TF-IDF, BERTopic's default", needs="sklearn.feature_extraction.text")
def with_stop_words(text_utf8: np.ndarray, text_ptr: np.ndarray, labels: np.ndarray) -> list[list[str]]:
    return _c_tf_idf(_texts(text_utf8, text_ptr), labels, None)


@coherence.quality("NPMI")
def npmi(result: list[list[str]], text_utf8: np.ndarray, text_ptr: np.ndarray) -> float:
    """Mean over the pairs of a cluster's terms of log(p(a, b) / p(a) p(b)) / -log p(a, b), then over the clusters.

    A text has a term if its words stand in it one after the other, whatever the case: the same rule for everybody.
    """
    plain = [" " + " ".join(re.findall(r"\w+", text.lower())) + " " for text in _texts(text_utf8, text_ptr)]
    terms = {term: " " + " ".join(re.findall(r"\w+", term.lower())) + " " for found in result for term in found}
    has = {term: np.array([words in text for text in plain]) for term, words in terms.items()}
    return float(np.mean([np.mean([_npmi(has[a], has[b]) for a, b in combinations(f, 2)]) for f in result]))


def _npmi(a: np.ndarray, b: np.ndarray) -> float:
    both = (a & b).mean()
    if both == 0:
        return -1.0
    return float(np.log(both / (a.mean() * b.mean())) / -np.log(both)) if both < 1 else 1.0


names = Case(
    "names",
    "Names of the groups over the lines of Debian's packages; bars: 64 000 in 20 s, a million in 180 s",
    short={"n": 63_620},
    long={"n": 1_000_000},
    repeat=1,
)


@names.prepare
def lines(n: int) -> dict[str, Any]:
    """Lines of the packages, again and again with another word in them; a tree with groups of some hundred lines."""
    given = [str(name) for name in real("debian_minilm")["names"]]
    texts = [given[i % len(given)] + (f" v{i // len(given)}" if i >= len(given) else "") for i in range(n)]
    return _packed(texts)


@names.contestant("cladify", needs="cladify.taxonomy")
def name_lines(text_utf8: np.ndarray, text_ptr: np.ndarray) -> Any:
    from cladify import Tree
    from cladify.taxonomy._names.names import choose_names, node_keywords
    from cladify.text._terms import count_terms

    n = len(text_ptr) - 1
    low = np.arange(n) * (n // 300) // n  # groups of some 300 lines that lie together, twelve of them in each above
    high = np.arange(low[-1] + 1) // 12
    first, root = n + low[-1] + 1, n + low[-1] + 1 + high[-1] + 1
    tree = Tree(np.concatenate([n + low, first + high, np.full(high[-1] + 1, root), [-1]]))
    keywords = node_keywords(tree, count_terms(_texts(text_utf8, text_ptr)))
    return choose_names(tree, keywords, [[]] * len(keywords))


texts = Case(
    "texts-to-taxonomy",
    "Texts to a named taxonomy, vectors included; bar: 60 000 in 120 s",
    short={"n": 6_000},
    long={"n": 60_000},
    repeat=1,
)


@texts.prepare
def packages(n: int) -> dict[str, Any]:
    data = real("debian_minilm")
    rows = np.sort(np.random.default_rng(0).choice(len(data["names"]), n, replace=False))
    return {**_packed([str(data["names"][i]) for i in rows]), "y": data["y"][rows]}


@texts.contestant("cladify", needs="cladify.taxonomy")
def taxonomy_of(text_utf8: np.ndarray, text_ptr: np.ndarray) -> Any:
    from cladify import Taxonomy

    return Taxonomy.from_texts(_texts(text_utf8, text_ptr))


@texts.quality("dendrogram purity")
def purity(result: Any, y: np.ndarray) -> float:
    from cladify.metrics import dendrogram_purity

    return float(dendrogram_purity(result.full, y))
