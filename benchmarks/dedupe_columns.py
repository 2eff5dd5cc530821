"""What one more column does to duplicates found without labels: noise must not harm, and what helps is to help.

    python -m benchmarks.dedupe_columns archives [NAME ...]

The sets are those of :mod:`benchmarks.dedupe_study`, which says how to get the archives. Each gets one made column at a
time: those of ``USELESS`` say nothing of which rows are the same, those of ``USEFUL`` are alike in rows that are, but
for what is mistyped, wrong or missing.
"""

from __future__ import annotations

import random
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.dedupe_fresh import typed
from benchmarks.dedupe_names import companies, products
from benchmarks.dedupe_study import Table, cladify_labels, febrl, named, restaurants, rldata
from cladify.metrics import pairwise_f1

#: From the row, its first cell and a source of random numbers to a cell.
Made = Callable[[int, str, random.Random], str]

_WORDS = [
    "river",
    "stone",
    "north",
    "valley",
    "green",
    "delta",
    "summit",
    "harbor",
    "bright",
    "silver",
    "maple",
    "ocean",
    "cedar",
    "apex",
    "orbit",
    "lunar",
    "pioneer",
    "union",
    "prime",
    "atlas",
]


def _digits(rng: random.Random) -> str:
    return "0" + "".join(rng.choice("0123456789") for _ in range(9))


def _day(rng: random.Random) -> str:
    return f"19{rng.randint(30, 99)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


USELESS: dict[str, Made] = {
    "constant": lambda i, cell, rng: "Active",
    "noise": lambda i, cell, rng: " ".join(rng.choice(_WORDS) + rng.choice(_WORDS) for _ in range(rng.randint(2, 6))),
    "long text": lambda i, cell, rng: " ".join(rng.choice(_WORDS) for _ in range(25)),
    "id": lambda i, cell, rng: "".join(rng.choice("0123456789abcdef") for _ in range(10)),
    "number of the row": lambda i, cell, rng: str(100_000 + i),
    "category": lambda i, cell, rng: rng.choice(_WORDS[:8]),
    "flag": lambda i, cell, rng: rng.choice(["yes", "no"]),
    "date": lambda i, cell, rng: _day(rng),
    "half empty": lambda i, cell, rng: f"{rng.choice(_WORDS)} {rng.choice(_WORDS)}" if rng.random() < 0.5 else "",
    "copy": lambda i, cell, rng: cell.upper().replace(" ", "  "),
    "initial": lambda i, cell, rng: cell[:1],
}
#: What an entity has, and what becomes of it in a row.
USEFUL: dict[str, tuple[Callable[[random.Random], str], Callable[[str, random.Random], str]]] = {
    "right category": (lambda rng: rng.choice(_WORDS[:12]), lambda cell, rng: cell),
    "phone, 15 % wrong": (_digits, lambda cell, rng: cell if rng.random() < 0.85 else _digits(rng)),
    "phone, half empty": (_digits, lambda cell, rng: cell if rng.random() < 0.5 else ""),
    "address, 40 % mistyped": (
        lambda rng: f"{rng.randint(1, 99)} {rng.choice(_WORDS)} {rng.choice(['street', 'road', 'lane', 'avenue'])}",
        lambda cell, rng: typed(cell, rng) if rng.random() < 0.4 else cell,
    ),
    "birthday": (_day, lambda cell, rng: cell),
}


def column(kind: str, first: list[str], truth: np.ndarray) -> list[str]:
    """The cells of one kind of column."""
    rng = random.Random(zlib.crc32(kind.encode()))
    if kind in USELESS:
        return [USELESS[kind](i, cell, rng) for i, cell in enumerate(first)]
    of, in_row = USEFUL[kind]
    right = {entity: of(rng) for entity in np.unique(truth).tolist()}
    return [in_row(right[entity], rng) for entity in truth.tolist()]


def sets(folder: Path) -> dict[str, Callable[[], Table]]:
    return {
        "companies": lambda: named(companies(1500, 3)),
        "products": lambda: named(products(1500, 5)),
        "restaurants: name": lambda: restaurants(folder, "name"),
        "restaurants: name, address, city": lambda: restaurants(folder, "name addr city"),
        "FEBRL 3: four columns": lambda: febrl(folder, "3", "given_name surname date_of_birth suburb"),
        "RLdata500": lambda: rldata(folder, 500),
    }


def main(folder: str, *only: str) -> None:
    chosen = {name: load() for name, load in sets(Path(folder)).items() if not only or name in only}
    print("| one more column |", " | ".join(chosen), "|")
    print("| --- |", " | ".join("--:" for _ in chosen), "|")
    for kind in ["none", *USELESS, *USEFUL]:
        found = []
        for columns, truth in chosen.values():
            more = {} if kind == "none" else {"more": column(kind, next(iter(columns.values())), truth)}
            found.append(f"{pairwise_f1(cladify_labels({**columns, **more}, truth), truth):.3f}")
        print(f"| {kind} |", " | ".join(found), "|", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
