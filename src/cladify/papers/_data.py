"""The papers' data: made by code, or read from a folder of ``.npz`` files."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from cladify._kit.atomic import atomic_write
from cladify.errors import CladifyError, FileError

__all__ = ["EXPECTED", "DataMissing", "absent", "folder", "labels", "make_data", "needed", "raw", "unit_scores"]

#: Sets that cannot be made: the file each is expected in, with arrays X (n, d) and y (n,), and where it comes from.
EXPECTED = {
    "zoo": "UCI Zoo, 101 x 16",
    "iris": "UCI Iris, 150 x 4",
    "wine": "UCI Wine, 178 x 13",
    "glass": "UCI Glass, 214 x 9 (without the id)",
    "segmentation": "UCI Image Segmentation, 2310 x 19",
    "spambase": "UCI Spambase, 4601 x 57",
    "letter": "UCI Letter Recognition, 20 000 x 16",
    "optdigits": "UCI Optical Digits, 5620 x 64",
    "aloi": "ALOI colour histograms, 108 000 x 128",
    "mnist": "MNIST, 70 000 x 784",
    "bibtex": "Mulan Bibtex, with y_indptr and y_indices",
    "delicious": "Mulan Delicious, with y_indptr and y_indices",
    "newsgroups20_tfidf": "20 newsgroups, TF-IDF of 2000 words, with y0 (6 groups) and y1 (20)",
    "glove100": "GloVe vectors of 100 dimensions, with WordNet synsets as y_indptr and y_indices",
    "rexa": "Rexa author coreference (no public copy known)",
    "ecb+": "ECB+ mentions, embedded (the corpus is public, the thesis' vectors are not)",
    "wn18rr": "WN18RR entities (the case-based reasoner of the thesis is not part of cladify)",
    "reuters": "Reuters RCV1, TF-IDF of 2000 words, four classes",
    "cifar25": "CIFAR-100, 25 classes of five superclasses",
}
#: Rows of Iris that UCI's copy has otherwise than Fisher and scikit-learn.
_UCI_IRIS = {34: (4.9, 3.1, 1.5, 0.1), 37: (4.9, 3.1, 1.5, 0.1)}
#: Those that scikit-learn has a copy of.
_SKLEARN = {"iris": "load_iris", "wine": "load_wine"}


class DataMissing(CladifyError):
    """A set is not on this machine."""


def folder() -> Path:
    """``$CLADIFY_DATA``, or ``../shared/datasets`` beside the repository or the folder one is in."""
    given = os.environ.get("CLADIFY_DATA")
    if given:
        return Path(given)
    beside = [Path(__file__).resolve().parents[4], Path.cwd().parent]
    found = (place / "shared" / "datasets" for place in beside)
    return next((place for place in found if place.is_dir()), Path("data"))


def needed() -> dict[str, tuple[str, bool]]:
    """Every set, what it is, and whether it can be had here."""
    found = {name: (told, (folder() / f"{name}.npz").exists() or name in _SKLEARN) for name, told in EXPECTED.items()}
    return dict(sorted(found.items()))


def make_data(place: Path) -> list[Path]:
    """Write the sets that scikit-learn has a copy of into a folder; those that are there stay."""
    made = []
    place.mkdir(parents=True, exist_ok=True)
    for name in _SKLEARN:
        path = place / f"{name}.npz"
        if not path.exists():
            with atomic_write(path, "wb") as file:
                np.savez_compressed(file, **_of_sklearn(name), allow_pickle=False)
            made.append(path)
    return made


def _of_sklearn(name: str) -> dict[str, np.ndarray]:
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, _SKLEARN[name])()
    return {"X": bunch.data, "y": bunch.target}


def absent(name: str, seed: int) -> float:
    """In place of a figure that is not computed, for want of its data."""
    raise DataMissing(f"{EXPECTED[name]} ({name}.npz in $CLADIFY_DATA)")


@cache
def raw(name: str) -> dict[str, np.ndarray]:
    """The arrays of a set; integers and halves become float32."""
    path = folder() / f"{name}.npz"
    if path.exists():
        found = _arrays(path)
    elif name in _SKLEARN:
        found = _of_sklearn(name)
    else:
        raise DataMissing(f"{name}.npz ({EXPECTED.get(name, 'a set')}) is not in $CLADIFY_DATA.")
    found["X"] = np.asarray(found["X"], np.float32)
    return found


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (OSError, ValueError, EOFError, BadZipFile):
        raise FileError(f"{path} is not an .npz file of arrays.") from None
    if "X" not in arrays or not {"y", "y0", "y_indptr"} & arrays.keys():
        raise FileError(f"{path} needs arrays X (n, d) and y (n,); it has {', '.join(arrays) or 'none'}.")
    return arrays


def labels(name: str) -> np.ndarray:
    """The classes of a set."""
    return np.asarray(raw(name)["y"], np.int64)


@cache
def unit_scores(name: str) -> np.ndarray:
    """Columns as z-scores, then rows of length 1: the rows of Chami and others, table 1; Iris is UCI's."""
    X = raw(name)["X"].astype(np.float64)
    for row, values in (_UCI_IRIS if name == "iris" else {}).items():
        X[row] = values
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return (X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)).astype(np.float32)
