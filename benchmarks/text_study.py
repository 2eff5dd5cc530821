"""The tables of ``docs/studies/text.md``: trees over vectors of texts, on labelled sets.

``python -m benchmarks.text_study purity --files FOLDER --model FOLDER`` measures all sets that can be found (see
``text_sets``) and prints the tables: TF-IDF alone, static vectors alone, both under several weights of the lexical
part, the default, and a model of sentence-transformers on the same texts with and without the lexical part. Texts,
vectors and results are kept in ``--cache``, so that a stopped run goes on; delete it after a change of the embedder.
``top`` prints the share of the largest top group of a taxonomy, and ``speed`` the seconds a number of texts takes.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.text_sets import all_sets, is_english, sample

Results = dict[str, dict[str, float]]
WEIGHTS = (0.35, 0.5, 0.7, 1.0)
#: What a set is described by, beside purities.
WORDS = "words"


def purity(options: argparse.Namespace) -> None:
    options.cache.mkdir(parents=True, exist_ok=True)
    path = options.cache / f"purity-{options.rows}.json"
    found: Results = json.loads(path.read_text()) if path.exists() else {}
    for name, texts, y in chosen(options):
        row = found.setdefault(name, {WORDS: float(np.median([len(re.findall(r"\w+", text)) for text in texts]))})
        for kind, X in vectors(name, texts, options, set(row)):
            row[kind] = tree_purity(X, y)
            path.write_text(json.dumps(found))
        print(name, len(y), " ".join(f"{kind} {value:.3f}" for kind, value in row.items()), flush=True)
    if not options.kinds:
        print_tables(found)


def vectors(name: str, texts: list[str], options: Any, known: set[str]) -> Iterator[tuple[str, np.ndarray]]:
    """The kinds of vectors that are not known yet."""
    from cladify.text import TextEmbedder

    with_model = options.model is not None and is_english(name)
    kinds = ["tfidf", "static", "default", *map(weighed, WEIGHTS)]
    kinds += ["model", "model + ½ tfidf", "model + ½ tfidf + ½ static"] * with_model
    kinds = [kind for kind in kinds if not options.kinds or kind in options.kinds]
    if known.issuperset(kinds):
        return
    embedder = TextEmbedder()
    X = embedder.fit_transform(texts)
    d = len(embedder.mean) if embedder.mean is not None else 0
    words, static = unit(X[:, :-d]), unit(X[:, -d:])
    every = {"tfidf": words, "static": static, "default": X}
    every |= {weighed(w): np.hstack([w * words, static]) for w in WEIGHTS}
    if with_model:
        model = transformer(name, texts, options)
        centred = unit(model - model.mean(axis=0))
        every |= {"model": model, "model + ½ tfidf": np.hstack([0.5 * words, centred])}
        every["model + ½ tfidf + ½ static"] = np.hstack([0.5 * words, centred, 0.5 * static])
    yield from ((kind, every[kind]) for kind in kinds if kind not in known)


def weighed(weight: float) -> str:
    return f"w = {weight}"


def tree_purity(X: np.ndarray, y: np.ndarray) -> float:
    import cladify
    from cladify.metrics import dendrogram_purity

    X = np.array(X, np.float32)
    blank = ~X.any(axis=1)  # a text of which this part knows no word lies anywhere
    X[blank] = np.random.default_rng(0).standard_normal((blank.sum(), X.shape[1]))
    return dendrogram_purity(cladify.fit(X, metric="cosine"), y)


_MODEL: dict[Path, Any] = {}


def transformer(name: str, texts: list[str], options: Any) -> np.ndarray:
    """Vectors of a model of sentence-transformers that reads 128 tokens, from the cache where they are there."""
    kept = options.cache / f"{file_name(name)}-{options.rows}.model.npy"
    if not kept.exists():
        from sentence_transformers import SentenceTransformer

        if options.model not in _MODEL:
            _MODEL[options.model] = SentenceTransformer(str(options.model))
            _MODEL[options.model].max_seq_length = 128
        np.save(kept, _MODEL[options.model].encode(texts, batch_size=64, show_progress_bar=False))
    return unit(np.load(kept))


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)


def print_tables(found: Results) -> None:
    """A table of all sets, means, and what a rule that was chosen without a set does on it."""
    kinds = list(dict.fromkeys(kind for row in found.values() for kind in row))
    print("\n| set |", " | ".join(kinds), "|\n|", " --- |" * (len(kinds) + 1))
    for name, row in found.items():
        print(f"| {name} |", " | ".join(shown(row.get(kind), kind) for kind in kinds), "|")
    for what, rows in {
        "all": list(found.values()),
        "English": [row for name, row in found.items() if is_english(name)],
        "with the model": [row for row in found.values() if "model" in row],
    }.items():
        if rows:
            both = [kind for kind in kinds if all(kind in row for row in rows)]
            means = {kind: float(np.mean([row[kind] for row in rows])) for kind in both}
            print(f"| mean, {what} ({len(rows)}) |", " | ".join(shown(means.get(kind), kind) for kind in kinds), "|")
    gains = {name: row["default"] - row["tfidf"] for name, row in found.items()}
    worst = min(gains, key=gains.__getitem__)
    print(f"\ndefault - tfidf: mean {np.mean(list(gains.values())):+.3f}, least {gains[worst]:+.3f} ({worst})")
    print_left_out(found)


def shown(value: float | None, kind: str) -> str:
    return "–" if value is None else f"{value:.0f}" if kind == WORDS else f"{value:.3f}".lstrip("0")


def print_left_out(found: Results) -> None:
    """Rules for the weight, each chosen on all sets but one and measured on that one."""
    rules: dict[str, dict[str, float]] = {weighed(w): {n: row[weighed(w)] for n, row in found.items()} for w in WEIGHTS}
    for least in WEIGHTS[:3]:
        for short in (10, 20, 40):
            rules[f"{least} √(words / {short})"] = {
                name: row[weighed(nearest_weight(least * max(1.0, row[WORDS] / short) ** 0.5))]
                for name, row in found.items()
            }
    means = {rule: float(np.mean(list(of.values()))) for rule, of in rules.items()}
    best = max(means, key=means.__getitem__)
    print("rules, in sample:", ", ".join(f"{rule}: {mean:.3f}" for rule, mean in means.items()))
    left_out = []
    for name in found:
        others = {rule: np.mean([value for other, value in of.items() if other != name]) for rule, of in rules.items()}
        left_out.append(rules[max(others, key=others.__getitem__)][name])
    ideal = float(np.mean([max(row[weighed(w)] for w in WEIGHTS) for row in found.values()]))
    gain = np.array(left_out) - [row["tfidf"] for row in found.values()]
    print(f"best in sample {best}: {means[best]:.3f}; left out {np.mean(left_out):.3f}; best of each set {ideal:.3f}")
    print(f"left out - tfidf: mean {gain.mean():+.3f}, least {gain.min():+.3f}")


def nearest_weight(weight: float) -> float:
    return min(WEIGHTS, key=lambda w: abs(w - weight))


def top(options: argparse.Namespace) -> None:
    import cladify

    for name, texts, _ in chosen(options):
        tree = cladify.Taxonomy.from_texts(texts).tree
        largest = max(int(tree.size[v]) for v in tree.children(tree.root))
        print(f"{name}: largest top group {largest / len(texts):.0%} of {len(texts)}", flush=True)


def speed(options: argparse.Namespace) -> None:
    import resource

    from cladify.text import StaticModel, TextEmbedder

    texts, _ = all_sets(None)["packages by section, one line"]()
    rng = np.random.default_rng(0)
    for n in options.texts:
        pairs = rng.integers(len(texts), size=(n, 2))
        drawn = texts[:n] if n <= len(texts) else [f"{texts[i]} {texts[j]}"[:80] for i, j in pairs]
        marks = [(time.perf_counter(), time.process_time())]
        for embed in (StaticModel.load().encode, TextEmbedder().fit_transform):
            embed(drawn)
            marks.append((time.perf_counter(), time.process_time()))
        walls, cpus = np.diff(np.array(marks), axis=0).T
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{n} texts: static {walls[0]:.1f} s ({cpus[0]:.1f} s of processor time), default {walls[1]:.1f} s "
            f"({cpus[1]:.1f} s), at most {memory:.1f} GB",
            flush=True,
        )


def chosen(options: argparse.Namespace) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """Name, texts and labels of each set, sampled once."""
    for name, make in all_sets(options.files).items():
        if options.only and not any(part in name for part in options.only):
            continue
        kept = options.cache / f"{file_name(name)}-{options.rows}.json"
        if not kept.exists():
            texts, y = sample(*make(), options.rows)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps([texts, y.tolist()]))
        texts, labels = json.loads(kept.read_text())
        yield name, texts, np.array(labels)


def file_name(name: str) -> str:
    return re.sub(r"\W+", "-", name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["purity", "top", "speed"])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of sets")
    parser.add_argument("--kinds", nargs="*", default=[], help="kinds of vectors; all if not given")
    parser.add_argument("--files", type=Path, help="a folder with files of others, see text_sets")
    parser.add_argument("--model", type=Path, help="a folder with a model of sentence-transformers")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "cladify" / "text_study")
    parser.add_argument("--texts", type=int, nargs="*", default=[60_000, 1_000_000])
    warnings.simplefilter("ignore")
    arguments = parser.parse_args()
    {"purity": purity, "top": top, "speed": speed}[arguments.table](arguments)
