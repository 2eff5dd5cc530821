"""The tables of ``docs/studies/update.md``: taxonomies that are kept up to date, beside ones that are built again.

``python -m benchmarks.update_study quality`` builds a taxonomy of half of the items, adds the rest in ten batches, each
of which also removes some, and prints how many groups keep their keys and names, what became of 50 hand edits, the
dendrogram purity beside that of a tree built at once, and the calls of a namer.

``make FOLDER --n 1000000`` writes a taxonomy with the folder beside it, and new rows; ``speed FOLDER`` loads it, takes
two batches of 1000 rows and saves after each, on a copy. Run that on an idle machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

import cladify
from benchmarks.data import real
from cladify.neighbors import neighbors
from cladify.taxonomy import Taxonomy
from cladify.taxonomy._steer.plan import Plan

_BATCH, _BATCHES = 1000, 2  # rows, and batches that are timed
N_BATCHES = 10
N_EDITS = 50


class Given(NamedTuple):
    """Items with labels, and their vectors where these are not made from the texts."""

    texts: list[str]
    y: np.ndarray
    X: np.ndarray | None


def newsgroups() -> Given:
    """Posts as texts."""
    data, labels = real("newsgroups20_text"), real("newsgroups20_text")
    raw, ptr = data["text_utf8"].tobytes(), data["text_ptr"]
    return Given([raw[ptr[i] : ptr[i + 1]].decode() for i in range(len(ptr) - 1)], labels["y1"], None)


def debian() -> Given:
    """Names of packages with vectors of their descriptions."""
    data = real("debian_minilm")
    X = data["X"].astype(np.float32)
    return Given([str(name) for name in data["names"]], data["y"], X / np.linalg.norm(X, axis=1, keepdims=True))


def words() -> Given:
    """Short lines: words of WordNet with the lexicographer's file as label, by GloVe vectors."""
    data = real("glove100")
    has = np.flatnonzero(data["y1"] >= 0)
    return Given([str(data["names"][i]) for i in has], data["y1"][has], data["X"][has].astype(np.float32))


SETS = {"newsgroups": newsgroups, "debian": debian, "words": words}


class Counter:
    """A namer that counts the groups it is asked about."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, views: list[Any]) -> list[str]:
        self.asked += len(views)
        return [f"{view.name} ({view.size})" for view in views]


def _build(given: Given, rows: np.ndarray) -> Taxonomy:
    texts = [given.texts[i] for i in rows]
    if given.X is None:
        return Taxonomy.from_texts(texts, ids=rows)
    return Taxonomy.fit(given.X[rows], texts, ids=rows)


def _new(given: Given, rows: np.ndarray) -> tuple[Any, dict[str, Any]]:
    texts = [given.texts[i] for i in rows]
    return (texts, {"ids": rows}) if given.X is None else (given.X[rows], {"items": texts, "ids": rows})


def _groups(taxonomy: Taxonomy) -> dict[int, tuple[frozenset[Any], str]]:
    """Ids and name of each group of the edited tree, by key."""
    tree, ids, names = taxonomy.tree, np.array(taxonomy.ids), taxonomy.names
    return {
        int(taxonomy.keys[v]): (frozenset(ids[tree.members(v)].tolist()), names[v])
        for v in range(tree.n_leaves, tree.root)
    }


def _kept(before: dict[int, Any], after: dict[int, Any]) -> tuple[int, int]:
    """Groups with a successor of Jaccard .5 or more, and those of them whose successor has their key and name."""
    of_item: dict[Any, list[int]] = {}
    for key, (members, _) in after.items():
        for item in members:
            of_item.setdefault(item, []).append(key)
    have = kept = 0
    for key, (members, name) in before.items():
        count: dict[int, int] = {}
        for item in members:
            for other in of_item.get(item, ()):
                count[other] = count.get(other, 0) + 1
        index = {other: both / (len(members) + len(after[other][0]) - both) for other, both in count.items()}
        best = max(index.values(), default=0.0)
        if best >= 0.5:
            have += 1
            kept += key in after and index.get(key, 0.0) >= best - 1e-12 and after[key][1] == name
    return have, kept


def _edit(taxonomy: Taxonomy, rng: np.random.Generator) -> None:
    """Fifty edits by hand of all kinds."""
    for i in range(N_EDITS):
        tree, n = taxonomy.tree, taxonomy.n_items
        group = int(rng.integers(n, tree.root))
        kind = ("rename", "hide", "move", "rename", "merge")[i % 5]
        if kind == "rename":
            taxonomy.rename(group, f"by hand {i}")
        elif kind == "hide":
            taxonomy.hide(group)
        elif kind == "move":
            taxonomy.move(int(rng.integers(n)), group)
        else:
            beside = [int(u) for u in tree.children(tree.parent[group]) if u >= n and u != group]
            taxonomy.merge([group, beside[0]]) if beside else taxonomy.rename(group, f"by hand {i}")


def quality(name: str, most: int | None) -> None:
    given = SETS[name]()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(given.texts))[:most]
    n = len(order)
    half = order[: n // 2]
    taxonomy = _build(given, half)
    namer = Counter()
    taxonomy.name(namer)
    asked_at_first = namer.asked
    _edit(taxonomy, rng)
    leaving = np.array_split(rng.permutation(half)[: n // 20], N_BATCHES)
    arriving = np.array_split(order[n // 2 :], N_BATCHES)
    have = kept = n_lost = 0
    seconds = []
    for new, old in zip(arriving, leaving, strict=True):
        before = _groups(taxonomy)
        n_edits = len(taxonomy.edits)
        rows, options = _new(given, np.sort(new))
        counter = Counter()
        start = time.perf_counter()
        result = taxonomy.update(rows, remove=old, namer=counter, **options)
        seconds.append(time.perf_counter() - start)
        namer.asked += counter.asked
        lost = len({(lost.edit.kind, lost.edit.nodes, lost.edit.name) for lost in result.lost})
        assert len(taxonomy.edits) + lost >= n_edits, "an edit is neither there nor reported"
        n_lost += lost
        found = _kept(before, _groups(taxonomy))
        have, kept = have + found[0], kept + found[1]
        print(
            f"  {len(new)} + {len(old)}: {seconds[-1]:.2f} s, groups {len(before)}, of {found[0]} {found[1]} kept, "
            f"born {len(result.born)}, gone {len(result.gone)}, named {len(result.named)}, lost {lost}, "
            f"nowhere {len(result.fits_nowhere)}",
            flush=True,
        )
    rows = np.array(taxonomy.ids)
    y = given.y[rows]
    known = y >= 0
    full = taxonomy.full
    again = _build(given, rows)  # in the same order: another one alone may be worth .04
    purity = [
        cladify.metrics.dendrogram_purity(tree.prune(np.flatnonzero(known)), y[known]) for tree in (full, again.full)
    ]
    calls = namer.asked - asked_at_first
    again_calls = Counter()
    again.name(again_calls)
    print(
        f"{name}: n {n}, kept {kept}/{have} = {kept / max(have, 1):.3f}; lost and said {n_lost} of {N_EDITS} edits; "
        f"purity {purity[0]:.4f}, built at once {purity[1]:.4f}; naming calls {calls} in {N_BATCHES} updates "
        f"({calls / N_BATCHES / again_calls.asked:.3f} of a rebuild's {again_calls.asked} each); "
        f"median update {np.median(seconds):.2f} s",
        flush=True,
    )


def _rows(n: int, d: int) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(max(20, n // 500), d)).astype(np.float32)
    X = centres[rng.integers(len(centres), size=n)] + rng.normal(size=(n, d)).astype(np.float32)
    words = np.array([f"word{i}" for i in range(5000)])
    return X, [" ".join(row) for row in words[rng.integers(5000, size=(n, 6))]]


def _columns(n: int) -> dict[str, np.ndarray]:
    return {"price": np.linspace(0, 1, n), "when": np.arange(n)}


def make(folder: str, n: int, d: int) -> None:
    """A taxonomy of n rows, by Affinity and without a map, for want of time."""
    X, texts = _rows(n + _BATCH * (_BATCHES + 1), d)
    start = time.perf_counter()
    graph = neighbors(X[:n], 15, "cosine", random_state=0)
    full = cladify.Affinity(metric="cosine").fit(graph).tree_
    planned = Plan.of(full if full.is_binary else full.binarize(0), min_size=None, max_children=15)
    named = {"texts": texts[:n], "ids": np.arange(n), "columns": _columns(n)}
    built = {"full": planned.full, "ranks": planned.ranks, "X": X[:n], "info": {"method": "affinity", **planned.info}}
    taxonomy = Taxonomy(planned.tree, texts[:n], **named, **built)
    print(f"n {n}, d {d}: built in {time.perf_counter() - start:.1f} s", flush=True)
    os.makedirs(folder)
    _batch(taxonomy, X[n:], texts[n:], n, 0)
    taxonomy.save(os.path.join(folder, "a.taxonomy"))
    np.save(os.path.join(folder, "new.npy"), X[n:])
    with open(os.path.join(folder, "new.txt"), "w") as file:
        file.write("\n".join(texts[n:]))


def _batch(taxonomy: Taxonomy, X: np.ndarray, texts: list[str], n: int, i: int) -> None:
    rows = slice(_BATCH * i, _BATCH * (i + 1))
    ids = n + np.arange(rows.start, rows.stop)
    taxonomy.update(X[rows], items=texts[rows], ids=ids, columns=_columns(_BATCH))


def speed(folder: str) -> None:
    X = np.load(os.path.join(folder, "new.npy"))
    with open(os.path.join(folder, "new.txt")) as file:
        texts = file.read().split("\n")
    with tempfile.TemporaryDirectory(dir=folder) as copy:
        path = os.path.join(copy, "a.taxonomy")
        shutil.copy(os.path.join(folder, "a.taxonomy"), path)
        shutil.copytree(os.path.join(folder, "a.taxonomy.live"), f"{path}.live")
        os.sync()  # that of the copy is not timed
        start = last = time.perf_counter()

        def said(what: str) -> None:
            nonlocal last
            now = time.perf_counter()
            print(f"{what}: {now - last:.2f} s, since the start {now - start:.2f} s", flush=True)
            last = now

        taxonomy = Taxonomy.load(path)
        said("load")
        n = taxonomy.n_items - _BATCH
        for i in range(1, _BATCHES + 1):
            _batch(taxonomy, X, texts, n, i)
            said(f"update of {_BATCH}")
            taxonomy.save(path)
            said("save")
    print(f"highest resident memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["quality", "make", "speed"])
    parser.add_argument("sets", nargs="*", default=list(SETS), help="sets, or the folder of make and speed")
    parser.add_argument("--most", type=int, help="only so many items of each set")
    parser.add_argument("--n", type=int, default=60_000)
    parser.add_argument("--d", type=int, default=64)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.what == "make":
        make(given.sets[0], given.n, given.d)
    elif given.what == "speed":
        speed(given.sets[0])
    else:
        for each in given.sets:
            quality(each, given.most)
