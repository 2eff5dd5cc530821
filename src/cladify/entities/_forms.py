"""Texts as they are compared: one case, without accents and punctuation, each distinct record once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import category, normalize

import numpy as np

__all__ = ["Forms", "distinct_forms", "folded"]

#: Scripts whose marks above and below a letter are accents; in others, such as those of India, they are vowels.
_ACCENTED_UP_TO = "\u052f"
_DOTTED = re.compile(r"\b((?:\w\.){2,}\w?)(?!\w)")
_AND = re.compile(r"\s*[&+]\s*")
_APOSTROPHES = re.compile(r"['’`´]")
_OTHER = re.compile(r"[^\w]+|_+")
#: Letters that Unicode does not take apart into a letter and an accent.
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ı": "i", "ð": "d", "þ": "th"})


def folded(value: Any) -> str:
    """A cell as it is compared; empty for None, for NaN and for what has no letter or digit.

    >>> folded("  Crème-Brûlée & Co., S.A. "), folded("O'Neill"), folded("株式会社トヨタ"), folded(None)
    ('creme brulee and co sa', 'oneill', '株式会社トヨタ', '')
    """
    if value is None or value != value:  # NaN
        return ""
    text = normalize("NFKC", str(value)).casefold()
    if not text.isascii():
        parts = normalize("NFD", text)
        kept, base = [], ""
        for char in parts:
            if category(char)[0] != "M":
                base = char
            elif base <= _ACCENTED_UP_TO:
                continue
            kept.append(char)
        text = normalize("NFC", "".join(kept)).translate(_LETTERS)
    text = _DOTTED.sub(lambda found: found[0].replace(".", ""), text)
    text = _AND.sub(" and ", _APOSTROPHES.sub("", text))
    return " ".join(_marks_kept(text).split())


def _marks_kept(text: str) -> str:
    """Spaces in place of what is neither letter, digit nor a mark that belongs to one."""
    if text.isascii():
        return _OTHER.sub(" ", text)
    return "".join(
        char if char.isalnum() or category(char)[0] == "M" or char in "\u200c\u200d" else " " for char in text
    )


@dataclass(frozen=True)
class Forms:
    """The distinct records of a table.

    Attributes
    ----------
    columns : list of lists of str
        For every column its folded cells, one a distinct record.
    of_row : int array
        The distinct record of each row; -1 for rows without any text.
    count : int array
        Rows of each distinct record.
    """

    columns: list[list[str]]
    of_row: np.ndarray
    count: np.ndarray

    def __len__(self) -> int:
        return len(self.count)


def distinct_forms(columns: Sequence[Sequence[Any]]) -> Forms:
    """Fold every cell; records that are the same then are one."""
    known: dict[tuple[str, ...], int] = {}
    of_row = np.empty(len(columns[0]), dtype=np.int64)
    memory: dict[Any, str] = {}
    for row, cells in enumerate(zip(*columns, strict=True)):
        key = []
        for cell in cells:
            if not isinstance(cell, str):
                key.append(folded(cell))
                continue
            if cell not in memory:
                memory[cell] = folded(cell)
            key.append(memory[cell])
        of_row[row] = known.setdefault(tuple(key), len(known)) if any(key) else -1
    records = list(known)
    return Forms(
        [[record[c] for record in records] for c in range(len(columns))],
        of_row,
        np.bincount(of_row[of_row >= 0], minlength=len(records)),
    )
