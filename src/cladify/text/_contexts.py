"""What words mean in one corpus: static vectors of words, moved towards the texts that have them.

A table of word vectors was made from texts of all kinds. In a corpus about cars "manual" is a gearbox and in one about
software a page to read, and names and words of other languages are not in a table at all. So each word of at least two
texts gets a second vector as long as its own: the direction of the mean text that has it. The vector of a text is then
that of the texts around it, too, which is what a transformer reads out of one text alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from cladify._kit.progress import Progress
from cladify.errors import InvalidInput
from cladify.text._static import StaticModel

__all__ = ["Contexts"]

#: So many texts are enough to learn from, and so many of the most common words are kept.
_SAMPLE, _MAX_WORDS = 100_000, 30_000


class Contexts:
    """Directions of words in one corpus, as small integers.

    Parameters
    ----------
    words : list of str
    directions : int8 array of shape (len(words), d)
        Only their directions count; a row of zeros moves nothing.
    """

    def __init__(self, words: list[str], directions: np.ndarray) -> None:
        self.words = words
        self.directions = directions
        self._row = {word: i for i, word in enumerate(words)}

    @classmethod
    def learn(cls, model: StaticModel, texts: Sequence[str], report: Progress, random_state: int = 0) -> Self:
        """The directions of the words of these texts."""
        from scipy.sparse import csr_array, vstack

        if len(texts) > _SAMPLE:
            some = np.sort(np.random.default_rng(random_state).choice(len(texts), _SAMPLE, replace=False))
            texts = [texts[i] for i in some.tolist()]
        ids: dict[str, int] = {}
        parts, means = [], []
        with report.stage("words in context", len(texts)) as advance:
            for _, counts, words in model.batches(texts):
                means.append(_unit(counts @ model.vectors_of(words)))
                at = np.array([ids.setdefault(word, len(ids)) for word in words], np.int64)
                parts.append((counts.data, at[counts.indices], counts.indptr))
                advance(counts.shape[0])
        shape = max(len(ids), 1)
        counts = vstack([csr_array(part, shape=(len(part[2]) - 1, shape)) for part in parts], format="csr")
        n_texts = np.bincount(counts.indices, minlength=shape)
        kept = np.argsort(-n_texts, kind="stable")[:_MAX_WORDS]
        kept = np.sort(kept[n_texts[kept] >= 2])
        names = list(ids)
        some = counts[:, kept]
        contexts = some.T @ np.vstack(means) if len(kept) else np.zeros((0, model.n_dimensions))
        contexts /= np.maximum(np.asarray(some.sum(axis=0)).reshape(-1, 1), 1e-9)
        if len(kept):
            contexts -= contexts.mean(axis=0)
        largest = np.abs(contexts).max(axis=1, keepdims=True, initial=0.0)
        scaled = np.divide(contexts, largest, out=np.zeros_like(contexts), where=largest > 1e-6)
        return cls([names[i] for i in kept.tolist()], np.rint(127 * scaled).astype(np.int8))

    def move(self, words: Sequence[str], vectors: np.ndarray) -> np.ndarray:
        """Vectors of words, each with that of its texts, as long as itself, added."""
        row = np.array([self._row.get(word, -1) for word in words], np.int64)
        known = np.flatnonzero(row >= 0)
        vectors = vectors.copy()
        length = np.linalg.norm(vectors[known], axis=1, keepdims=True)
        vectors[known] += length * _unit(self.directions[row[known]].astype(np.float32))
        return vectors

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """What a file needs to hold: arrays, and plain values."""
        return {"context_directions": self.directions}, {"context_words": self.words}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], said: Mapping[str, Any]) -> Self | None:
        """What :meth:`to_arrays` described; None for a file without it."""
        if "context_directions" not in arrays:
            return None
        words = [str(word) for word in said["context_words"]]
        directions = arrays["context_directions"]
        if directions.ndim != 2 or len(directions) != len(words) or len(set(words)) != len(words):
            raise InvalidInput("the words of its embedder do not fit their directions")
        return cls(words, directions)


def _unit(X: np.ndarray) -> np.ndarray:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
