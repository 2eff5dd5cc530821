"""Which items have which words: what makes search instant on a million items.

The words of all items, sorted, with the items of each: a query looks for its words in the words, which are far fewer
bytes than the items, and not in the items. Built once; a large taxonomy keeps it in its file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["WordIndex", "as_strings", "fold", "index_words"]

_MOST_CHARACTERS = 2000  # of an item; a longer one is found by its beginning
_MOST_WORDS = 8  # of a query
_BLOCK = 2**17  # rows marked at once


@dataclass(frozen=True)
class WordIndex:
    """The words of the items in alphabetical order, in lower case, and the rows that have each.

    Attributes
    ----------
    words : Arrow array of text
    start : int array, one longer than ``words``
    rows : int32 array
        Word i is in the items ``rows[start[i]:start[i + 1]]``.
    order : int32 array of shape (n,)
        The rows in the alphabetical order of their texts.
    """

    words: pa.Array
    start: np.ndarray
    rows: np.ndarray
    order: np.ndarray

    def find(self, query: str) -> tuple[np.ndarray, np.ndarray]:
        """Rows whose words have all words of the query in them, ascending, and which of these have them as whole words.

        A single letter is looked for at the beginning of words only.

        Examples
        --------
        >>> index = index_words(["Oak tree", "an oakum rope", "pine"])
        >>> index.find("oak")
        (array([0, 1]), array([ True, False]))
        """
        rows: np.ndarray | None = None
        whole: np.ndarray | None = None
        for word in sorted(set(query.lower().split()), key=len, reverse=True)[:_MOST_WORDS]:
            codes = self._codes(word)
            has = self._mark(codes)
            rows = np.flatnonzero(has) if rows is None else rows[has[rows]]
            exact = self._mark(codes[self._is(codes, word)])
            whole = exact if whole is None else whole & exact
            if not len(rows):
                break
        if rows is None or whole is None:
            return np.empty(0, np.int64), np.empty(0, bool)
        return rows, whole[rows]

    def sorted_rows(self, rows: np.ndarray) -> np.ndarray:
        """Rows in the alphabetical order of their texts."""
        marked = np.zeros(len(self.order), bool)
        marked[self._rank[rows]] = True
        return self.order[marked]

    @cached_property
    def _rank(self) -> np.ndarray:
        rank = np.empty(len(self.order), np.int32)
        rank[self.order] = np.arange(len(self.order), dtype=np.int32)
        return rank

    def _codes(self, word: str) -> np.ndarray:
        import pyarrow.compute as pc

        match = pc.starts_with if len(word) == 1 else pc.match_substring
        return np.flatnonzero(match(self.words, pattern=word).to_numpy(zero_copy_only=False))

    def _is(self, codes: np.ndarray, word: str) -> np.ndarray:
        """Which of the codes is the word itself; words that begin with it follow it."""
        import pyarrow.compute as pc

        return pc.equal(self.words.take(codes), word).to_numpy(zero_copy_only=False)

    def _mark(self, codes: np.ndarray) -> np.ndarray:
        """Whether each item has one of the words."""
        marked = np.zeros(len(self.order), bool)
        first = self.start[codes].astype(np.int64)
        end = np.cumsum(self.start[codes + 1] - first)  # in all rows of these words, one after the other
        begin = 0
        while begin < len(codes):  # in blocks: a word may be in every item, and a query match every word
            done = int(end[begin - 1]) if begin else 0
            stop = max(begin + 1, int(np.searchsorted(end, done + _BLOCK, side="right")))
            before = np.concatenate([[done], end[begin : stop - 1]])
            at = np.repeat(first[begin:stop] - before, end[begin:stop] - before) + np.arange(done, end[stop - 1])
            marked[self.rows[at]] = True
            begin = stop
        return marked

    # --- files --------------------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The index as arrays of numbers."""
        text, offsets = _bytes_of(self.words)
        return {
            "words_utf8": text,
            "words_offset": offsets,
            "words_start": np.asarray(self.start, np.int32),
            "words_rows": np.asarray(self.rows, np.int32),
            "words_order": np.asarray(self.order, np.int32),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n: int) -> WordIndex:
        """The index in arrays of a file, each checked: nothing in it may point outside."""
        import pyarrow as pa

        names = ("words_utf8", "words_offset", "words_start", "words_rows", "words_order")
        text, offset, start, rows, order = (arrays[name] for name in names)
        kinds = [array.dtype for array in (text, offset, start, rows, order)]
        good = kinds == [np.uint8, np.int64, np.int32, np.int32, np.int32] and len(offset) == len(start) > 0
        good = good and len(order) == n and _rises(offset, len(text)) and _rises(start, len(rows))
        if not good or not (_inside(rows, n) and _inside(order, n)):
            raise InvalidInput("its index of words points outside")
        buffers = [None, pa.py_buffer(offset), pa.py_buffer(text)]
        words = pa.Array.from_buffers(pa.large_string(), len(offset) - 1, buffers)
        words.validate(full=True)
        return cls(words, start, rows, order)


def index_words(items: Any) -> WordIndex:
    """The index of items: texts, or an Arrow array of anything that can be written as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    folded = fold(items)
    parts = pc.utf8_split_whitespace(folded)
    row = pc.list_parent_indices(parts).to_numpy()
    # The split leaves the blank behind some last words that are not ASCII (seen with pyarrow 26).
    coded = pc.utf8_trim_whitespace(pc.list_flatten(parts)).dictionary_encode()
    by_name = pc.sort_indices(coded.dictionary).to_numpy()
    words = coded.dictionary.take(pa.array(by_name))
    code = np.empty(len(by_name), np.int32)
    code[by_name] = np.arange(len(by_name), dtype=np.int32)
    word = code[coded.indices.to_numpy()]
    if len(words) and words[0].as_py() == "":  # what whitespace at an end splits off
        row, word = row[word > 0], word[word > 0] - 1
        words = words[1:]
    start = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=len(words)))]).astype(np.int32)
    rows = row[np.argsort(word, kind="stable")].astype(np.int32)
    order = pc.sort_indices(folded).to_numpy().astype(np.int32)
    return WordIndex(pc.cast(words, pa.large_string()), start, rows, order)


def fold(items: Any) -> pa.Array:
    """The beginnings of the items in lower case; a missing item is empty."""
    import pyarrow.compute as pc

    return pc.utf8_lower(pc.utf8_slice_codeunits(as_strings(items), 0, _MOST_CHARACTERS))


def as_strings(items: Any) -> pa.Array:
    """Items as an Arrow array of texts; a missing item is empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        texts = pc.cast(items if isinstance(items, pa.Array) else pa.array(items), pa.large_string())
    except (pa.ArrowException, TypeError):
        values = items.to_pylist() if isinstance(items, pa.Array) else items
        texts = pa.array([None if value is None else str(value) for value in values], pa.large_string())
    return pc.fill_null(texts, "")


def _bytes_of(words: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of all words, one after the other, and where each begins."""
    buffers = words.buffers()
    offsets = np.frombuffer(buffers[1], np.int64)[words.offset : words.offset + len(words) + 1]
    text = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None else np.empty(0, np.uint8)
    return text[offsets[0] : offsets[-1]], offsets - offsets[0]


def _rises(values: np.ndarray, last: int) -> bool:
    return bool(values[0] == 0 and values[-1] == last and (np.diff(values) >= 0).all())


def _inside(values: np.ndarray, n: int) -> bool:
    return not len(values) or bool(values.min() >= 0 and values.max() < n)
